//! Random events through both spellings, and damaged traces.

mod common;

use common::layout::big_endian;
use common::random::{event, trace, with_text};
use common::{decode, decode_pieces, encoded, every_event, recoded, shown};
use jtrail_formats::{Format, Severity};
use jtrail_model::*;
use proptest::prelude::*;
use quick_xml::events::Event as Markup;
use quick_xml::{Reader, XmlVersion};

fn after_binary(event: Event<'static>) -> Event<'static> {
    typed(with_text(event, &|text| text.replace('\0', "\u{fffd}")))
}

/// Text that reads as an event comes back as that event.
fn typed(event: Event<'static>) -> Event<'static> {
    match event {
        Event::Custom(e) => text::parse(&e.body).unwrap_or(Event::Custom(e)),
        event => event,
    }
}

/// As XML gives events back.
fn after_xml(events: &[Event<'static>]) -> Vec<Event<'static>> {
    let mut trace = String::new();
    let mut one = |event: &Event<'static>| {
        let mut event = one_after_xml(event.clone());
        match &mut event {
            // A filter belongs to the trace that began before it.
            Event::Filter(e) => e.trace_id = trace.clone().into(),
            Event::TraceStart(e) => trace = e.trace_id.clone().into_owned(),
            _ => {}
        }
        event
    };
    events.iter().map(&mut one).collect()
}

fn one_after_xml(event: Event<'static>) -> Event<'static> {
    let forbidden =
        |c: char| (c < ' ' && !"\t\n\r".contains(c)) || matches!(c, '\u{fffe}' | '\u{ffff}');
    match typed(with_text(event, &|text| {
        text.replace(forbidden, "\u{fffd}")
    })) {
        // A constructor is told by its descriptor; what is none loses its brackets.
        Event::MethodDef(e)
            if e.name == "<init>" && !e.signature.is_empty() && !e.signature.ends_with(")V") =>
        {
            Event::MethodDef(MethodDef {
                name: "-init-".into(),
                ..e
            })
        }
        event => event,
    }
}

/// Tests with another parser that a document is well formed, and answers with what is in it: names,
/// and attributes with their values.
fn well_formed(document: &str) -> Vec<String> {
    let mut reader = Reader::from_str(document);
    reader.config_mut().check_comments = true;
    let mut found = Vec::new();
    loop {
        match reader.read_event().expect("well-formed XML") {
            Markup::Start(e) | Markup::Empty(e) => {
                let mut shown = format!("{:?}", e.name().as_ref());
                for attribute in e.attributes() {
                    let attribute = attribute.expect("an attribute");
                    let value = attribute
                        .normalized_value(XmlVersion::Explicit1_0)
                        .expect("a value");
                    shown += &format!(" {:?}={value:?}", attribute.key.as_ref());
                }
                found.push(shown);
            }
            Markup::Text(e) => assert!(e.trim().is_empty(), "text"),
            Markup::Eof => return found,
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn events_come_back_from_binary(events in trace(), piece in 1_usize..300) {
        let bytes = encoded(Format::TptpBinary, &events);
        let decoding = decode_pieces(Format::TptpBinary, &bytes, piece);
        prop_assert!(decoding.is_clean(), "{:?}", decoding.remarks);
        let expected: Vec<_> = events.into_iter().map(after_binary).collect();
        prop_assert_eq!(decoding.events, shown(&expected));
        let turned = big_endian(&bytes, |ns| ns, 1_000_000_000);
        prop_assert_eq!(decode(Format::TptpBinary, &turned).events, shown(&expected));
    }

    #[test]
    fn events_come_back_from_xml(events in trace(), piece in 1_usize..300) {
        let bytes = encoded(Format::TptpXml, &events);
        let decoding = decode_pieces(Format::TptpXml, &bytes, piece);
        prop_assert!(decoding.is_clean(), "{:?} {:?}", decoding.remarks, decoding.error);
        let expected = after_xml(&events);
        prop_assert_eq!(decoding.events, shown(&expected));
    }

    #[test]
    fn xml_in_between_loses_only_what_it_must(events in trace()) {
        let binary = encoded(Format::TptpBinary, &events);
        let document = recoded(Format::TptpBinary, &binary, Format::TptpXml);
        let back = recoded(Format::TptpXml, &document, Format::TptpBinary);
        let expected: Vec<_> = events.into_iter().map(after_binary).collect();
        prop_assert_eq!(decode(Format::TptpBinary, &back).events, shown(&after_xml(&expected)));
    }

    #[test]
    fn what_we_write_is_well_formed_xml(events in trace()) {
        let bytes = encoded(Format::TptpXml, &events);
        let found = well_formed(std::str::from_utf8(&bytes).unwrap());
        prop_assert!(found.len() > events.len());
    }

    /// Two texts that differ only in what does not matter decode to the same.
    #[test]
    fn the_short_way_and_the_long_way_agree(events in prop::collection::vec(event(), 1..4)) {
        let bytes = encoded(Format::TptpXml, &events);
        let document = String::from_utf8(bytes).unwrap();
        let blanks = document.replace("<methodEntry ", "<methodEntry  ").replace("<methodExit ", "<methodExit  ");
        let (a, b) = (decode(Format::TptpXml, document.as_bytes()), decode(Format::TptpXml, blanks.as_bytes()));
        prop_assert_eq!(a.events, b.events);
    }

    #[test]
    fn bytes_without_sense_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), piece in 1_usize..50) {
        for (format, head) in [
            (Format::TptpXml, &b"<TRACE><custom body=\""[..]),
            (Format::TptpXml, b""),
            (Format::TptpBinary, b"0TBF\x01\x00\x01\x01\x0c\x00\x00\x00"),
            (Format::TptpBinary, b""),
        ] {
            decode_pieces(format, &[head, &bytes].concat(), piece);
        }
    }
}

/// The same trace in every spelling that can be read.
fn spellings() -> Vec<(Format, Vec<u8>)> {
    let binary = encoded(Format::TptpBinary, &every_event());
    let turned = big_endian(&binary, |ns| ns, 1_000_000_000);
    let document = encoded(Format::TptpXml, &every_event());
    vec![
        (Format::TptpBinary, binary),
        (Format::TptpBinary, turned),
        (Format::TptpXml, document),
    ]
}

#[test]
fn a_flipped_byte_anywhere_does_no_harm() {
    for (format, bytes) in spellings() {
        let whole = decode(format, &bytes);
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            for flip in [0x01, 0x08, 0x20, 0x80, 0xff] {
                damaged[at] ^= flip;
                let decoding = decode(format, &damaged);
                // What is whole before the place is there, whatever follows.
                let before = decode(format, &bytes[..at]).events.len();
                assert!(decoding.events.len() >= before, "{format:?} {at} {flip:#x}");
                assert_eq!(decoding.events[..before], whole.events[..before]);
                assert!(decoding.count(Severity::Truncated) <= 1);
                damaged[at] = bytes[at];
            }
        }
    }
}

#[test]
fn a_trace_cut_anywhere_is_truncated_there() {
    for (format, bytes) in spellings() {
        let whole = decode(format, &bytes);
        for cut in 0..bytes.len() {
            let decoding = decode(format, &bytes[..cut]);
            assert_eq!(decoding.events[..], whole.events[..decoding.events.len()]);
            assert_eq!(decoding.count(Severity::Fault), 0, "{format:?} {cut}");
            // Only a part of the binary header is no trace at all.
            let headless = format == Format::TptpBinary && cut < 12;
            assert_eq!(decoding.error.is_some(), headless, "{format:?} {cut}");
            assert!(decoding.count(Severity::Truncated) <= 1);
        }
    }
}

#[test]
fn both_parsers_find_the_same_in_odd_documents() {
    for elements in [
        "<custom body='a &quot;&apos; b'/>",
        "<custom\n\tbody\r\n=\n\"&#65;\u{a0}&amp;lt;\"\n/>",
        "<custom body=\">'/>\"></custom >",
        "<!-- <custom body=\"no\"/> --><custom body=\"\u{feff}\u{85}\"/><?pi <x> ?>",
        "<custom body=\"a\tb\nc\r\nd\re&#9;&#10;&#13;f\"/>",
    ] {
        let document = format!("<TRACE>{elements}</TRACE>");
        let found = well_formed(&document);
        let decoding = decode(Format::TptpXml, document.as_bytes());
        assert!(decoding.is_clean(), "{decoding:?}");
        let [event] = &decoding.events[..] else {
            panic!("{decoding:?}")
        };
        let body = event
            .strip_prefix("Custom(Custom { body: ")
            .unwrap()
            .strip_suffix(" })")
            .unwrap();
        assert_eq!(
            found[1],
            format!("\"custom\" \"body\"={body}"),
            "{elements}"
        );
    }
}

/// A few seconds of damage of all kinds: bytes changed, cut out, doubled, inserted.
#[test]
fn damage_of_all_kinds_does_no_harm() {
    let corpus = spellings();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let start = std::time::Instant::now();
    let mut rounds = 0;
    while start.elapsed().as_secs() < 3 && rounds < 20_000 {
        rounds += 1;
        let (format, bytes) = &corpus[random.below(corpus.len())];
        let mut bytes = bytes.clone();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len());
            let end = bytes.len().min(at + 1 + random.below(40));
            match random.below(5) {
                0 => bytes[at] = random.next() as u8,
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let part = bytes[at..end].to_vec();
                    let to = random.below(bytes.len());
                    bytes.splice(to..to, part);
                }
                3 => bytes.insert(at, b"<>\"'&;/=\0\xff"[random.below(10)]),
                _ => bytes[at..end].fill(random.next() as u8),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        let whole = decode(*format, &bytes);
        let piece = 1 + random.below(bytes.len());
        assert_eq!(
            decode_pieces(*format, &bytes, piece),
            whole,
            "{format:?} {piece} {bytes:?}"
        );
    }
}

/// A generator of numbers that are the same in each run (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit
    }
}
