//! Memory from the system.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Bytes of the system's own, page-aligned; unmapped when it is dropped.
#[derive(Debug)]
pub struct Mapping {
    /// All that is mapped.
    start: NonNull<u8>,
    bytes: usize,
    /// Where what was asked for begins.
    skipped: usize,
}

// SAFETY: a mapping gives out its address alone; whoever dereferences that says which part is its
// own.
unsafe impl Send for Mapping {}
// SAFETY: no method touches the memory, or changes the mapping, through a shared reference.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps that many bytes of zeros. They are only used up as they are written to.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without `MAP_FIXED`, the system answers with addresses that nobody uses.
        let start = unsafe { map(ptr::null_mut(), bytes, access, private, -1, 0) }?;
        Ok(Self {
            start,
            bytes,
            skipped: 0,
        })
    }

    /// Maps the first bytes of a file, at an address that is a multiple of `alignment`. What is
    /// written there is in the file, too.
    ///
    /// # Errors
    /// When the system has no such range of addresses, or can't map such files.
    pub fn of_file(file: &File, bytes: usize, alignment: usize) -> io::Result<Self> {
        let all = bytes
            .checked_add(alignment)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: without `MAP_FIXED`, the system answers with addresses that nobody uses.
        let start = unsafe { map(ptr::null_mut(), all, libc::PROT_NONE, private, -1, 0) }?;
        let mapping = Self {
            start,
            bytes: all,
            skipped: start.align_offset(alignment),
        };
        let at = mapping.start().as_ptr().cast();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let shared = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: `at` and the `bytes` behind it are inside of what was just mapped, which nobody
        // uses yet.
        unsafe { map(at, bytes, access, shared, file.as_raw_fd(), 0) }?;
        Ok(mapping)
    }

    /// Of the first so many bytes, only what is touched is read: of a new file, the system would
    /// else fill megabytes with zeros at the first touch. It is a matter of speed alone, and memory
    /// that is written from its begin to its end is faster without.
    pub fn read_nothing_ahead(&self, bytes: usize) {
        let bytes = bytes.min(self.bytes - self.skipped);
        // SAFETY: these addresses are mapped, and the advice leaves alone what they hold.
        unsafe { libc::madvise(self.start().as_ptr().cast(), bytes, libc::MADV_RANDOM) };
    }

    /// Maps so many bytes of a file, from a multiple of a page on.
    fn of_part(file: &File, at: u64, bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::off_t::try_from(at).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let file = file.as_raw_fd();
        // SAFETY: without `MAP_FIXED`, the system answers with addresses that nobody uses.
        let start = unsafe { map(ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, at) }?;
        Ok(Self {
            start,
            bytes,
            skipped: 0,
        })
    }

    /// Address of the first byte.
    pub fn start(&self) -> NonNull<u8> {
        // SAFETY: `skipped` is less than the bytes that are mapped from `start` on.
        unsafe { self.start.add(self.skipped) }
    }
}

/// Maps memory, as `mmap` does.
///
/// # Safety
/// With `MAP_FIXED`, the addresses are a mapping of the caller's, in which nobody uses any memory.
unsafe fn map(
    at: *mut libc::c_void,
    bytes: usize,
    access: libc::c_int,
    flags: libc::c_int,
    file: libc::c_int,
    from: libc::off_t,
) -> io::Result<NonNull<u8>> {
    // SAFETY: `mmap` replaces what is mapped with `MAP_FIXED` only, and then nobody uses that, as
    // the caller says.
    let start = unsafe { libc::mmap(at, bytes, access, flags, file, from) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `map` mapped these bytes. Safe users (`Zeros`, `Growing`) keep the mapping as
        // long as they look into it; who uses the address itself drops the mapping last.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A file that grows at its end, written to without a call of the system for each piece: what is
/// written is in the file, whatever becomes of the process. Behind that, the file has zeros.
#[derive(Debug)]
pub struct Growing {
    file: File,
    /// The part that is written to, and how far it is.
    part: Option<Mapping>,
    used: usize,
    /// Bytes of the file.
    bytes: u64,
}

impl Growing {
    /// By so much it grows: a multiple of any page.
    const PART: usize = 64 << 10;

    /// An empty file.
    pub fn new(file: File) -> Self {
        Self {
            file,
            part: None,
            used: 0,
            bytes: 0,
        }
    }

    /// Writes behind what is there.
    ///
    /// # Errors
    /// When the file system has no room for it, or the file can't be mapped. A part of the bytes
    /// may be there.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let part = match &self.part {
                Some(part) if self.used < Self::PART => part,
                _ => {
                    self.part = None; // there is one at a time
                    make_room(&self.file, self.bytes, Self::PART)?;
                    let part = Mapping::of_part(&self.file, self.bytes, Self::PART)?;
                    self.bytes += Self::PART as u64;
                    self.used = 0;
                    self.part.insert(part)
                }
            };
            let (now, then) = bytes.split_at(bytes.len().min(Self::PART - self.used));
            // SAFETY: the part has `PART` bytes, of which `used` are written and `now.len()` more
            // are left. `make_room` has made the file as long, and nobody else has the mapping.
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

/// Has the file system keep room for a part of a file: a mapped place that the disk has no room for
/// would be the program's end.
///
/// # Errors
/// When there is none.
pub fn make_room(file: &File, at: u64, bytes: usize) -> io::Result<()> {
    let range = (at as libc::off_t, bytes as libc::off_t);
    // SAFETY: the call takes the descriptor of an open file and two numbers.
    match unsafe { libc::fallocate(file.as_raw_fd(), 0, range.0, range.1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What may be all zeros.
///
/// # Safety
/// It is a value of the type, and the type needs no drop.
pub unsafe trait Zeroed {}

// SAFETY: zeros are a byte's value 0, and it needs no drop.
unsafe impl Zeroed for u8 {}
// SAFETY: zeros are the value 0, and it needs no drop.
unsafe impl Zeroed for std::sync::atomic::AtomicU32 {}
// SAFETY: zeros are the value 0, and it needs no drop.
unsafe impl Zeroed for std::sync::atomic::AtomicU64 {}
// SAFETY: a zero is `false`, and it needs no drop.
unsafe impl Zeroed for std::sync::atomic::AtomicBool {}

/// Zeros in a row that never move. Memory is used up as they are written to.
#[derive(Debug)]
pub struct Zeros<T> {
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
    pub fn new(count: usize) -> io::Result<Self> {
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
    /// From byte `at` of the mapping on there are zeros for `count` values, aligned for their type,
    /// which nobody else uses.
    pub unsafe fn within(mapping: &Arc<Mapping>, at: usize, count: usize) -> Self {
        Self {
            mapping: Arc::clone(mapping),
            at,
            count,
            of: std::marker::PhantomData,
        }
    }

    /// All of them.
    pub fn all(&self) -> &[T] {
        // SAFETY: `new` or `within` has `count` values of the type there, which are valid since
        // zeros are, and the mapping stays as long as `self`.
        unsafe {
            let first = self.mapping.start().add(self.at);
            NonNull::slice_from_raw_parts(first.cast(), self.count).as_ref()
        }
    }
}

impl Zeros<u8> {
    /// The same memory as one value of another type; none if it has another size, or is not aligned
    /// for it.
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
        // SAFETY: a new mapping of 16 zeros, which nobody else uses.
        let askew = unsafe { Zeros::<u8>::within(&mapping, 4, 8) };
        assert!(askew.into_one::<AtomicU64>().is_none());
    }
}
