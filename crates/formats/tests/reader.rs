//! The reader detects the format, and drives its decoder over streams of all kinds.

use crate::common::{encoded, every_event};
use jtrail_formats::{Format, Item, ReadError, Reader};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// Formats that return every event unchanged.
const LOSSLESS: [Format; 2] = [Format::TptpXml, Format::TptpBinary];

/// A stream that returns few bytes at a time, with interruptions in between.
struct Slow<'a> {
    rest: &'a [u8],
    most: usize,
    interrupted: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = self.most.min(buffer.len());
        self.rest.read(&mut buffer[..most])
    }
}

fn events<R: Read>(reader: &mut Reader<R>) -> Result<usize, ReadError> {
    let mut count = 0;
    let end = reader.for_each(|item| {
        assert!(matches!(item, Item::Event { .. }), "{item:?}");
        count += 1;
        ControlFlow::<()>::Continue(())
    });
    end.map(|_| count)
}

#[test]
fn the_format_is_found_by_content() {
    for format in LOSSLESS {
        let bytes = encoded(format, &every_event());
        assert_eq!(Format::detect(&bytes), Some(format));
        for most in [1, 7, 4096] {
            let (rest, interrupted) = (&bytes[..], false);
            let mut reader = Reader::new(Slow {
                rest,
                most,
                interrupted,
            })
            .unwrap();
            assert_eq!(reader.format(), format);
            assert_eq!(events(&mut reader).unwrap(), every_event().len());
            assert_eq!(reader.offset(), bytes.len() as u64);
        }
    }
    for format in Format::ALL {
        assert_eq!(Format::by_name(format.name()), Some(format));
        assert_eq!(Format::by_extension(format.extension()), Some(format));
    }
    assert_eq!(
        Format::detect("\u{feff}\n <TRACE/>".as_bytes()),
        Some(Format::TptpXml)
    );
    for other in [&b""[..], b"0TB", b"1TBF", b"TRACE", b"\xff\xfe<\0"] {
        assert_eq!(Format::detect(other), None);
    }
}

#[test]
fn what_is_no_trace_is_refused_with_a_reason() {
    for (bytes, reason) in [
        (&b""[..], "not a trace: it is empty"),
        (
            b"PK\x05\x06",
            "not a trace: it is a ZIP archive without a file",
        ),
        (b"PK\x03\x04", "not a trace: the ZIP archive is truncated"),
        (b"\x7fELF", "not a trace: its first bytes"),
    ] {
        let error = Reader::new(bytes).err().expect("an error").to_string();
        assert!(error.starts_with(reason), "{error}");
    }
}

#[test]
fn reading_can_be_broken_off_and_taken_up_again() {
    for format in LOSSLESS {
        let bytes = encoded(format, &every_event());
        let mut reader = Reader::new(&bytes[..]).unwrap();
        let mut seen = 0;
        let mut place = 0;
        while let Some(()) = reader.for_each(|_| ControlFlow::Break(())).unwrap() {
            seen += 1;
            assert!(reader.offset() > place);
            place = reader.offset();
        }
        assert_eq!(seen, every_event().len());
    }
}

#[test]
fn errors_of_the_stream_and_of_the_decoder_are_distinguished() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    assert!(matches!(Reader::new(Broken), Err(ReadError::Io(_))));
    let bytes = encoded(Format::TptpBinary, &every_event());
    let mut reader = Reader::new((&bytes[..200]).chain(Broken)).unwrap();
    assert!(matches!(events(&mut reader), Err(ReadError::Io(_))));
    let mut reader = Reader::new(&b"<TRACE>x"[..]).unwrap();
    let error = events(&mut reader).unwrap_err();
    assert_eq!(
        error.to_string(),
        "xml: at byte 7: text where an element is expected"
    );
}

/// Elements and messages may be larger than the reader's first buffer.
#[test]
fn large_events_are_read() {
    use jtrail_model::{Custom, Event};
    let body = "x".repeat(5 << 20);
    let custom = || {
        Event::Custom(Custom {
            body: body.as_str().into(),
        })
    };
    for format in LOSSLESS {
        let bytes = encoded(format, &[custom(), custom()]);
        let mut reader = Reader::new(&bytes[..]).unwrap();
        assert_eq!(events(&mut reader).unwrap(), 2);
    }
}
