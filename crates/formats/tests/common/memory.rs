//! The memory that reading takes, measured by the allocator: of all threads, so one test at a time
//! may ask. The fuzz targets use it too.

use jtrail_formats::Format;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What a reader takes whatever it reads: buffers, tables.
const ALWAYS: usize = 4 << 20;
/// What it may take for each byte of input.
const FACTOR: usize = 200;

/// Input for whose sake a reader of that format may take memory though it is not there: a segment
/// of a trail has limits, and may say in few bytes what reaches them.
pub fn unpacked(format: Format) -> usize {
    match format {
        Format::Trail => 600 << 10,
        _ => 0,
    }
}

/// Runs `read`, and tests that its peak of memory was in proportion to the bytes that it read.
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
