//! Target: the decoder of jtrail's own format.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::trail(data));
