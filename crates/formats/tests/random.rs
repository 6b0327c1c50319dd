//! Random events through both TPTP formats.

use crate::common::layout::big_endian;
use crate::common::random::{event, trace, with_text};
use crate::common::{decode, decode_pieces, encoded, recoded, shown};
use jtrail_formats::Format;
use jtrail_model::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use quick_xml::events::Event as Markup;
use quick_xml::{Reader, XmlVersion};
use std::collections::HashSet;

fn after_binary(event: Event<'static>) -> Event<'static> {
    typed(with_text(event, &|text| text.replace('\0', "\u{fffd}")))
}

/// Returns the event that a text represents, if it represents one.
fn typed(event: Event<'static>) -> Event<'static> {
    match event {
        Event::Custom(e) => text::parse(&e.body).unwrap_or(Event::Custom(e)),
        event => event,
    }
}

/// Returns the events as XML gives them back.
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
        // XML marks a constructor by its descriptor, so a method with another descriptor loses the
        // angle brackets of its name.
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

/// Tests with a second parser that a document is well formed. Returns its names, and its attributes
/// with their values.
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

    /// Two documents that differ only in insignificant blanks decode to the same events.
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

/// A kind of event that the generator never makes would stay untested.
#[test]
fn every_kind_is_made() {
    let mut runner = TestRunner::deterministic();
    let mut missing: HashSet<Kind> = Kind::ALL.iter().copied().collect();
    for _ in 0..10_000 {
        let made = event().new_tree(&mut runner).expect("an event").current();
        missing.remove(&made.kind());
    }
    assert!(missing.is_empty(), "{missing:?}");
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
