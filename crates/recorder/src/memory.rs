//! Memory from the operating system.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A page-aligned mapping of the process's memory, unmapped when it is dropped.
#[derive(Debug)]
pub struct Mapping {
    /// Address of the first mapped byte.
    start: NonNull<u8>,
    bytes: usize,
    /// Number of bytes before the first aligned address, which users of the mapping skip.
    skipped: usize,
}

// SAFETY: a mapping hands out only its address. Code that dereferences the address proves that
// nobody else uses that part of the memory.
unsafe impl Send for Mapping {}
// SAFETY: no method accesses the memory, or changes the mapping, through a shared reference.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes of zeros. Pages take up memory only once they are written to.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without `MAP_FIXED`, the system returns addresses that nobody uses.
        let start = unsafe { map(ptr::null_mut(), bytes, access, private, -1, 0) }?;
        Ok(Self {
            start,
            bytes,
            skipped: 0,
        })
    }

    /// Maps the first `bytes` bytes of a file, at an address that is a multiple of `alignment`.
    /// Bytes written to the mapping are in the file, too.
    ///
    /// # Errors
    /// When the system has no such range of addresses, or can't map files of this kind.
    pub fn of_file(file: &File, bytes: usize, alignment: usize) -> io::Result<Self> {
        let all = bytes
            .checked_add(alignment)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: without `MAP_FIXED`, the system returns addresses that nobody uses.
        let start = unsafe { map(ptr::null_mut(), all, libc::PROT_NONE, private, -1, 0) }?;
        let mapping = Self {
            start,
            bytes: all,
            skipped: start.align_offset(alignment),
        };
        let at = mapping.start().as_ptr().cast();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let shared = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: `at` and the `bytes` bytes after it are inside of the range that was just mapped,
        // which nobody uses yet.
        unsafe { map(at, bytes, access, shared, file.as_raw_fd(), 0) }?;
        Ok(mapping)
    }

    /// Turns read-ahead off for the first `bytes` bytes. Otherwise the first access to a new file
    /// makes the system fill megabytes with zeros. Only speed depends on this. Memory that is
    /// written from start to end is faster with read-ahead.
    pub fn read_nothing_ahead(&self, bytes: usize) {
        let bytes = bytes.min(self.bytes - self.skipped);
        // SAFETY: these addresses are mapped, and `MADV_RANDOM` does not change the memory's
        // contents.
        unsafe { libc::madvise(self.start().as_ptr().cast(), bytes, libc::MADV_RANDOM) };
    }

    /// Maps `bytes` bytes of a file, from the offset `at`, which is a multiple of the page size.
    fn of_part(file: &File, at: u64, bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::off_t::try_from(at).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let file = file.as_raw_fd();
        // SAFETY: without `MAP_FIXED`, the system returns addresses that nobody uses.
        let start = unsafe { map(ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, at) }?;
        Ok(Self {
            start,
            bytes,
            skipped: 0,
        })
    }

    /// Returns the address of the first byte.
    pub fn start(&self) -> NonNull<u8> {
        // SAFETY: `skipped` is less than the number of bytes mapped at `start`.
        unsafe { self.start.add(self.skipped) }
    }
}

/// Maps memory with `mmap`.
///
/// # Safety
/// With `MAP_FIXED`, the addresses are inside of a mapping that the caller owns, and nobody uses
/// the memory there.
unsafe fn map(
    at: *mut libc::c_void,
    bytes: usize,
    access: libc::c_int,
    flags: libc::c_int,
    file: libc::c_int,
    from: libc::off_t,
) -> io::Result<NonNull<u8>> {
    // SAFETY: `mmap` replaces existing mappings only with `MAP_FIXED`. In that case the caller
    // promises that nobody uses their memory.
    let start = unsafe { libc::mmap(at, bytes, access, flags, file, from) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `map` mapped these bytes. Safe users (`Zeros`, `Growing`) keep the mapping as
        // long as they refer to its memory; users of the address itself drop the mapping last.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A file that grows at its end. It is written to through a mapping, without a system call per
/// write. The written bytes are in the file even if the process is killed. The unused rest of the
/// file is zeros.
#[derive(Debug)]
pub struct Growing {
    file: File,
    /// The mapped part of the file that is being written to.
    part: Option<Mapping>,
    used: usize,
    /// Size of the file in bytes.
    bytes: u64,
}

impl Growing {
    /// Number of bytes by which the file grows, a multiple of every page size.
    const PART: usize = 64 << 10;

    /// Returns a writer for an empty file.
    pub fn new(file: File) -> Self {
        Self {
            file,
            part: None,
            used: 0,
            bytes: 0,
        }
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// When the file system has no room, or the file can't be mapped. A part of the bytes may have
    /// been written.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let part = match &self.part {
                Some(part) if self.used < Self::PART => part,
                _ => {
                    self.part = None; // unmaps the previous part first
                    make_room(&self.file, self.bytes, Self::PART)?;
                    let part = Mapping::of_part(&self.file, self.bytes, Self::PART)?;
                    self.bytes += Self::PART as u64;
                    self.used = 0;
                    self.part.insert(part)
                }
            };
            let (now, then) = bytes.split_at(bytes.len().min(Self::PART - self.used));
            // SAFETY: the part has `PART` bytes, of which `used` are written and at least
            // `now.len()` are left. `make_room` has reserved space in the file for the part, and
            // nobody else has the mapping.
            unsafe {
                let to = part.start().add(self.used);
                ptr::copy_nonoverlapping(now.as_ptr(), to.as_ptr(), now.len());
            }
            self.used += now.len();
            bytes = then;
        }
        Ok(())
    }
}

/// Makes the file system reserve space for `bytes` bytes of a file from the offset `at`. Without
/// this, a write to a mapped page would kill the program if the disk had no space for the page.
///
/// # Errors
/// When there is no space.
pub fn make_room(file: &File, at: u64, bytes: usize) -> io::Result<()> {
    let range = (at as libc::off_t, bytes as libc::off_t);
    // SAFETY: the call takes the descriptor of an open file and two numbers.
    match unsafe { libc::fallocate(file.as_raw_fd(), 0, range.0, range.1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A type for which all-zero bytes are a valid value.
///
/// # Safety
/// All zeros are a value of the type, and the type needs no drop.
pub unsafe trait Zeroed {}

// SAFETY: zeros are the value 0, and the type needs no drop.
unsafe impl Zeroed for u8 {}
// SAFETY: zeros are the value 0, and the type needs no drop.
unsafe impl Zeroed for std::sync::atomic::AtomicU32 {}
// SAFETY: zeros are the value 0, and the type needs no drop.
unsafe impl Zeroed for std::sync::atomic::AtomicU64 {}
// SAFETY: a zero is `false`, and the type needs no drop.
unsafe impl Zeroed for std::sync::atomic::AtomicBool {}

/// A zeroed array that never moves. Its pages take up memory only once they are written to.
#[derive(Debug)]
pub struct Zeros<T> {
    mapping: Arc<Mapping>,
    /// Offset of the array in the mapping, in bytes.
    at: usize,
    count: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: Zeroed> Zeros<T> {
    /// Maps an array of `count` values.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub fn new(count: usize) -> io::Result<Self> {
        let mapping = Mapping::new(count * size_of::<T>())?;
        Ok(Self {
            mapping: Arc::new(mapping),
            at: 0,
            count,
            of: std::marker::PhantomData,
        })
    }

    /// Returns the array of `count` values at the offset `at` of a mapping.
    ///
    /// # Safety
    /// From byte `at` on, the mapping holds zeros for `count` values. They are aligned for their
    /// type, and nobody else uses them.
    pub unsafe fn within(mapping: &Arc<Mapping>, at: usize, count: usize) -> Self {
        Self {
            mapping: Arc::clone(mapping),
            at,
            count,
            of: std::marker::PhantomData,
        }
    }

    /// Returns all values.
    pub fn all(&self) -> &[T] {
        // SAFETY: by `new` or the contract of `within`, `count` aligned values of the type are
        // there. They are valid because zeros are, and `self` keeps the mapping.
        unsafe {
            let first = self.mapping.start().add(self.at);
            NonNull::slice_from_raw_parts(first.cast(), self.count).as_ref()
        }
    }
}

impl Zeros<u8> {
    /// Returns the same memory as one value of another type. Returns `None` if the type has another
    /// size, or if the memory is not aligned for it.
    pub(crate) fn into_one<T: Zeroed>(self) -> Option<Zeros<T>> {
        let first = self.all().as_ptr();
        let fits = self.count == size_of::<T>() && first.cast::<T>().is_aligned();
        fits.then_some(Zeros {
            mapping: self.mapping,
            at: self.at,
            count: 1,
            of: std::marker::PhantomData,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn zeroed_bytes_become_a_value_that_fits_them() {
        let bytes = |count| Zeros::<u8>::new(count).expect("memory");
        let word = bytes(8).into_one::<AtomicU64>().expect("it fits");
        assert_eq!(word.all()[0].fetch_add(1, Ordering::Relaxed), 0);
        assert_eq!(word.all()[0].load(Ordering::Relaxed), 1);
        assert!(bytes(9).into_one::<AtomicU64>().is_none());
        let mapping = Arc::new(Mapping::new(16).expect("memory"));
        // SAFETY: this is a new mapping of 16 zeros, which nobody else uses.
        let askew = unsafe { Zeros::<u8>::within(&mapping, 4, 8) };
        assert!(askew.into_one::<AtomicU64>().is_none());
    }
}
