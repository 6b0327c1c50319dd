//! Target: the decoder of Chrome's trace events.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::decoder(
    jtrail_formats::Import::Chrome,
    data
));
