//! Target: the command channel, from a client's bytes to the answers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::control(data));
