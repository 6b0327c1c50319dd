//! Target: the decoder of TPTP's XML documents.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jtrail_fuzz::decoder(
    jtrail_formats::Format::TptpXml,
    data
));
