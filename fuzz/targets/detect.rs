//! Target: the reader, with any bytes, whatever format they look like.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::reader(data));
