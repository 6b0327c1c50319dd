//! Target: the decoder of log profiles.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::decoder(jtrail_formats::Format::Mlpd, data));
