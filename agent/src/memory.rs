//! Memory from the system, for what lives as long as the process.

use std::io;
use std::ptr::NonNull;

/// Maps that many bytes of zeros, page-aligned. They are only used up as they are written to, and never given back.
///
/// # Errors
/// When the system has no such range of addresses.
pub(crate) fn map(bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: asks for new memory, which concerns no other.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?)
}
