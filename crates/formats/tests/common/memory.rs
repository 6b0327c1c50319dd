//! Measures the memory that reading takes, in the allocator. The figure covers all threads, so only
//! one test at a time may measure. The fuzz targets use it too.

use jtrail_formats::Format;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes that a reader may take whatever it reads, for buffers and tables.
const ALWAYS: usize = 4 << 20;
/// Bytes that a reader may take for each byte of input.
const FACTOR: usize = 200;

/// Returns how much extra input to assume for a format when bounding its reader's memory. A trail
/// needs this: a few bytes may declare a segment at its size limits.
pub fn unpacked(format: Format) -> usize {
    match format {
        Format::Trail => 600 << 10,
        _ => 0,
    }
}

/// Runs `read`, and tests that its peak memory was in proportion to the `bytes` that it read.
pub fn bounded<T>(bytes: usize, read: impl FnOnce() -> T) -> T {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = read();
    let peak = MEMORY.peak_usage().saturating_sub(before);
    assert!(
        peak <= ALWAYS + FACTOR * bytes,
        "{peak} bytes of memory for {bytes} bytes of input"
    );
    result
}
