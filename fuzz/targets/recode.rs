//! Target: a trace that is read, written, and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::recode(data));
