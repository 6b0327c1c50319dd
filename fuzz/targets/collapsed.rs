//! Target: the decoder of collapsed stacks.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::decoder(
    jtrail_formats::Import::Collapsed,
    data
));
