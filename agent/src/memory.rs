//! Memory from the system.

use std::io;
use std::ptr::NonNull;

/// Bytes of the system's own, page-aligned; unmapped when it is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain memory; who may touch which part of it is the users' business.
unsafe impl Send for Mapping {}
// SAFETY: likewise.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps that many bytes of zeros. They are only used up as they are written to.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
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
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    /// Address of the first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`. Nothing is left that points there: the owner's promise.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// What may be all zeros.
///
/// # Safety
/// It is a value of the type, and the type needs no drop.
pub(crate) unsafe trait Zeroed {}

// SAFETY: 0.
unsafe impl Zeroed for std::sync::atomic::AtomicU32 {}
// SAFETY: 0.
unsafe impl Zeroed for std::sync::atomic::AtomicU64 {}
// SAFETY: `false`.
unsafe impl Zeroed for std::sync::atomic::AtomicBool {}

/// Zeros in a row that never move. Memory is used up as they are written to.
#[derive(Debug)]
pub(crate) struct Zeros<T> {
    mapping: Mapping,
    count: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: Zeroed> Zeros<T> {
    /// So many of them.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        Ok(Self {
            mapping: Mapping::new(count * size_of::<T>())?,
            count,
            of: std::marker::PhantomData,
        })
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[T] {
        // SAFETY: zeroed, page-aligned memory of that length, mapped as long as `self`.
        unsafe { NonNull::slice_from_raw_parts(self.mapping.start.cast(), self.count).as_ref() }
    }
}
