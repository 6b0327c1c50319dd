//! Measures the memory that reading takes, in the allocator. The figure covers all threads, so only
//! one test at a time may measure. The fuzz targets use it too.

use jtrail_formats::{Format, Readable};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes that a reader may take whatever it reads, for buffers and tables.
const ALWAYS: usize = 4 << 20;
/// Bytes that a reader may take for each byte of input.
const FACTOR: usize = 200;

/// Returns how much extra input to assume for a format when bounding its reader's memory. A trail
/// needs this: a few bytes may declare a segment at its size limits.
pub fn unpacked(format: impl Into<Readable>) -> usize {
    match format.into() {
        Readable::Trace(Format::Trail) => 600 << 10,
        _ => 0,
    }
}

/// Runs `read`, and tests that its peak memory was in proportion to the `bytes` that it read.
pub fn bounded<T>(bytes: usize, read: impl FnOnce() -> T) -> T {
    let (result, peak) = peak(read);
    within(peak, bytes);
    result
}

/// Runs `read`, and returns its peak memory.
pub fn peak<T>(read: impl FnOnce() -> T) -> (T, usize) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = read();
    (result, MEMORY.peak_usage().saturating_sub(before))
}

/// Tests that a peak of memory is in proportion to the `bytes` that were read.
pub fn within(peak: usize, bytes: usize) {
    assert!(
        peak <= ALWAYS + FACTOR * bytes,
        "{peak} bytes of memory for {bytes} bytes of input"
    );
}
