//! Memory from the system.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Bytes of the system's own, page-aligned; unmapped when it is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// All that is mapped.
    start: NonNull<u8>,
    bytes: usize,
    /// Where what was asked for begins.
    skipped: usize,
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
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: asks for new memory, which concerns no other.
        let start = unsafe { map(ptr::null_mut(), bytes, access, private, -1) }?;
        Ok(Self {
            start,
            bytes,
            skipped: 0,
        })
    }

    /// Maps the first bytes of a file, at an address that is a multiple of `alignment`. What is written there is in the file, too.
    ///
    /// # Errors
    /// When the system has no such range of addresses, or can't map such files.
    pub(crate) fn of_file(file: &File, bytes: usize, alignment: usize) -> io::Result<Self> {
        let all = bytes
            .checked_add(alignment)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: asks for addresses alone, which concerns no other.
        let start = unsafe { map(ptr::null_mut(), all, libc::PROT_NONE, private, -1) }?;
        let mapping = Self {
            start,
            bytes: all,
            skipped: start.align_offset(alignment),
        };
        let at = mapping.start().as_ptr().cast();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let shared = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: these addresses are ours, and nobody uses them yet.
        unsafe { map(at, bytes, access, shared, file.as_raw_fd()) }?;
        Ok(mapping)
    }

    /// Address of the first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        // SAFETY: so many bytes are mapped, at least.
        unsafe { self.start.add(self.skipped) }
    }
}

/// # Safety
/// With `MAP_FIXED`, the addresses are the caller's to give away.
unsafe fn map(
    at: *mut libc::c_void,
    bytes: usize,
    access: libc::c_int,
    flags: libc::c_int,
    file: libc::c_int,
) -> io::Result<NonNull<u8>> {
    // SAFETY: the caller's promise.
    let start = unsafe { libc::mmap(at, bytes, access, flags, file, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` or `of_file`. Nothing is left that points there: the owner's promise.
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
    mapping: Arc<Mapping>,
    /// Where they are in it, in bytes.
    at: usize,
    count: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: Zeroed> Zeros<T> {
    /// So many of them.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        let mapping = Mapping::new(count * size_of::<T>())?;
        Ok(Self {
            mapping: Arc::new(mapping),
            at: 0,
            count,
            of: std::marker::PhantomData,
        })
    }

    /// Those at a place of other memory.
    ///
    /// # Safety
    /// They are zeros, inside of the mapping and where their type may be, and nobody else uses them.
    pub(crate) unsafe fn within(mapping: &Arc<Mapping>, at: usize, count: usize) -> Self {
        Self {
            mapping: Arc::clone(mapping),
            at,
            count,
            of: std::marker::PhantomData,
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[T] {
        // SAFETY: zeroed memory of that length, where such a type may be, mapped as long as `self`.
        unsafe {
            let first = self.mapping.start().add(self.at);
            NonNull::slice_from_raw_parts(first.cast(), self.count).as_ref()
        }
    }
}
