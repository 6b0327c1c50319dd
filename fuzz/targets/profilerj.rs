//! Target: the decoder of ProfilerJ's snapshots.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::decoder(
    jtrail_formats::Format::ProfilerJ,
    data
));
