//! Target: gzip files and ZIP archives of traces.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::packed(data));
