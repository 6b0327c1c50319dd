//! The TPTP binary format: reading streams of other agents, and damaged ones.

use crate::common::layout::{HEAD, messages};
use crate::common::stream::{ENCODING, FREQUENCY, HEADER, binary, free, message, stream};
use crate::common::{decode_pieces, encoded, every_event, shown};
use jtrail_formats::{Format, Severity};
use jtrail_model::*;

#[test]
fn a_wrong_header_is_refused() {
    for (bytes, place, reason) in [
        (&b""[..], 0, "shorter than its header"),
        (b"0TB", 0, "shorter than its header"),
        (
            b"0TBF\x01\x00\x01\x01\x0c\x00\x00",
            0,
            "shorter than its header",
        ),
        (b"1TBF\x01\x00\x01\x01\x0c\x00\x00\x00", 0, "not 0TBF"),
        (b"X", 0, "not 0TBF"),
        (
            b"0TBF\x02\x00\x01\x01\x0c\x00\x00\x00",
            4,
            "major version 2",
        ),
        (
            b"0TBF\x00\x00\x01\x01\x0c\x00\x00\x00",
            4,
            "major version 0",
        ),
        (b"0TBF\x01\x00\x01\x02\x0c\x00\x00\x00", 7, "byte order 2"),
        (
            b"0TBF\x01\x00\x01\x01\x0b\x00\x00\x00",
            8,
            "inside the header",
        ),
        (b"0TBF\x01\x00\x01\x01\x0d\x00\x00\x00", 8, "after the end"),
        (
            b"0TBF\x01\x00\x01\x00\x0c\x00\x00\x00xx",
            8,
            "after the end",
        ),
    ] {
        let decoding = binary(bytes);
        let (at, text) = decoding.refused();
        assert!(text.contains(reason), "{text}");
        assert_eq!(at, place, "{text}");
        assert!(decoding.events.is_empty());
    }
}

#[test]
fn the_platform_is_noted_and_another_is_an_error() {
    for (platform, faults) in [(0, 0), (1, 0), (2, 1), (255, 1)] {
        let mut bytes = encoded(Format::TptpBinary, &[free()]);
        bytes[6] = platform;
        let decoding = binary(&bytes);
        assert_eq!(decoding.count(Severity::Fault), faults);
        assert_eq!(decoding.events, shown(&[free()]));
    }
}

#[test]
fn bytes_between_header_and_data_are_skipped() {
    let ours = encoded(Format::TptpBinary, &[free()]);
    for gap in [1, 7, 1000] {
        let mut bytes = ours[..8].to_vec();
        bytes.extend_from_slice(&(12 + gap as u32).to_le_bytes());
        bytes.resize(12 + gap, 0xaa);
        bytes.extend_from_slice(&ours[12..]);
        for piece in [1, 5, bytes.len()] {
            let decoding = decode_pieces(Format::TptpBinary, &bytes, piece);
            assert!(decoding.is_clean());
            assert_eq!(decoding.events, shown(&[free()]));
        }
    }
    let mut bytes = ours[..12].to_vec();
    bytes[8] = 13;
    bytes.push(0);
    assert!(binary(&bytes).is_clean());
}

#[test]
fn both_forms_of_system_messages_are_read() {
    let short_encoding = &ENCODING[..2]
        .iter()
        .chain(&ENCODING[6..])
        .copied()
        .collect::<Vec<_>>();
    let short_frequency = &FREQUENCY[..2]
        .iter()
        .chain(&FREQUENCY[6..])
        .copied()
        .collect::<Vec<_>>();
    let data = message(&free());
    for parts in [
        vec![ENCODING, FREQUENCY],
        vec![short_encoding, FREQUENCY],
        vec![ENCODING, short_frequency],
        vec![short_encoding, short_frequency],
        vec![short_frequency],
        vec![ENCODING],
        vec![],
        vec![b"\x01\x00utf-8\x00"],
    ] {
        let bytes = [HEADER, &parts.concat(), &data].concat();
        for piece in 1..=bytes.len() {
            let decoding = decode_pieces(Format::TptpBinary, &bytes, piece);
            assert!(decoding.is_clean(), "{parts:?} {decoding:?}");
            assert_eq!(decoding.events, shown(&[free()]));
        }
    }
}

#[test]
fn encodings_are_known_or_refused_by_name() {
    let custom = b"\x11\x04\x0d\0\0\0\xf0\xd2\xc9\xd7\xc5\xd4\0";
    let decoding = binary(&[HEADER, b"\x01\x00KOI8-R\x00", custom].concat());
    assert!(decoding.is_clean());
    assert_eq!(
        decoding.events,
        shown(&[Event::Custom(Custom {
            body: "Привет".into()
        })])
    );
    let decoding = binary(&[HEADER, b"\x01\x00EBCDIC\x00", custom].concat());
    assert!(decoding.refused().1.contains("EBCDIC"));
    let decoding = binary(&[HEADER, b"\x01\x00\x01\x02\x03\x04\x00", custom].concat());
    assert!(decoding.refused().1.contains("no name of an encoding"));
    let unended = [HEADER, b"\x01\x00", &[0x8d; 200]].concat();
    let whole = binary(&unended);
    assert!(whole.refused().1.contains("no name of an encoding"));
    for piece in [1, 15, 100] {
        assert_eq!(decode_pieces(Format::TptpBinary, &unended, piece), whole);
    }
}

#[test]
fn system_messages_late_or_repeated_are_errors() {
    let data = message(&free());
    for (parts, reason, at) in [
        (
            [ENCODING, ENCODING, &data],
            "skipped: message 1: it is repeated",
            23,
        ),
        (
            [FREQUENCY, FREQUENCY, &data],
            "skipped: message 2: it is repeated",
            26,
        ),
        (
            [FREQUENCY, ENCODING, &data],
            "message 1 comes after message 2",
            26,
        ),
        (
            [&data, ENCODING, &data],
            "skipped: message 1: it comes after the first data",
            12 + data.len(),
        ),
        (
            [&data, FREQUENCY, &data],
            "skipped: message 2: it comes after the first data",
            12 + data.len(),
        ),
    ] {
        let decoding = binary(&[HEADER, &parts.concat()].concat());
        let (place, text) = decoding.only(Severity::Fault);
        assert!(text.contains(reason), "{text}");
        assert_eq!(place, at as u64);
        let events = parts.iter().filter(|part| **part == data).count();
        assert_eq!(decoding.events, shown(&vec![free(); events]));
        assert_eq!(decoding.error, None);
    }
}

#[test]
fn a_later_minor_version_may_have_more_fields() {
    let mut longer = message(&free());
    longer.extend_from_slice(b"more");
    longer[2] += 4;
    let data = [longer, message(&free())].concat();
    let mut bytes = [HEADER, ENCODING, FREQUENCY, &data].concat();
    assert_eq!(binary(&bytes).count(Severity::Fault), 1);
    bytes[5] = 1;
    let decoding = binary(&bytes);
    assert_eq!(decoding.remarks.len(), 1);
    assert_eq!(
        decoding.only(Severity::Info).1,
        "skipped: objFree: bytes after the last field, of a later minor version (1)"
    );
    assert_eq!(decoding.events, shown(&[free(), free()]));
}

#[test]
fn unknown_ids_are_skipped_and_reported_once_each() {
    let unknown = |id: u16, body: usize| {
        let size = (6 + body as u32).to_le_bytes();
        [&id.to_le_bytes()[..], &size, &vec![0x55; body]].concat()
    };
    let data = message(&free());
    let parts = [
        unknown(1042, 0),
        data.clone(),
        unknown(1013, 5),
        unknown(1042, 300),
        unknown(3, 4),
        unknown(32767, 1),
        data.clone(),
        unknown(1042, 1),
    ];
    let bytes = [HEADER, ENCODING, FREQUENCY, &parts.concat()].concat();
    for piece in [1, 3, 100, bytes.len()] {
        let decoding = decode_pieces(Format::TptpBinary, &bytes, piece);
        assert_eq!(decoding.events, shown(&[free(), free()]));
        assert_eq!(decoding.remarks.len(), 4);
        assert_eq!(decoding.count(Severity::Info), 4);
        let reported = decoding
            .remarks
            .iter()
            .find(|r| r.message.contains("1042"))
            .unwrap();
        assert_eq!(reported.offset, HEAD as u64);
        assert_eq!(reported.message, "skipped: messages of unknown id 1042 (3)");
    }
}

#[test]
fn what_comes_before_a_hopeless_place_is_kept() {
    let data = message(&free());
    for (wrong, reason) in [
        (&b"\x00\x80\x07\x00\x00\x00\x00"[..], "message id 32768"),
        (b"\xff\xff\x07\x00\x00\x00\x00", "message id 65535"),
        (b"\xe9\x03\x05\x00\x00\x00", "a message of 5 bytes"),
        (b"\x00\x20\x00\x00\x00\x00", "a message of 0 bytes"),
    ] {
        let unknown = b"\x12\x04\x06\x00\x00\x00";
        let decoding = stream(&[&data, unknown, wrong, &data]);
        assert_eq!(decoding.events, shown(&[free()]));
        let (place, text) = decoding.refused();
        assert!(text.contains(reason), "{text}");
        assert_eq!(place, (HEAD + data.len() + 6) as u64);
        // The remark about counted findings is reported even after an error.
        assert_eq!(decoding.count(Severity::Info), 1);
    }
}

#[test]
fn a_truncated_tail_is_reported_once_with_its_offset() {
    let events = every_event();
    let bytes = encoded(Format::TptpBinary, &events);
    let mut ends = vec![HEAD];
    for message in messages(&bytes) {
        ends.push(ends.last().unwrap() + message.len());
    }
    for cut in 12..bytes.len() {
        let decoding = binary(&bytes[..cut]);
        let whole = ends
            .iter()
            .filter(|end| **end <= cut)
            .count()
            .saturating_sub(1);
        assert_eq!(decoding.events, shown(&events[..whole]), "{cut}");
        assert_eq!(decoding.error, None, "{cut}");
        if ends.contains(&cut) || cut == 12 || cut == 23 {
            assert!(decoding.is_clean(), "{cut}");
        } else {
            let place = [12, 23]
                .iter()
                .chain(&ends)
                .filter(|end| **end <= cut)
                .max()
                .unwrap();
            assert_eq!(decoding.remarks.len(), 1, "{cut}");
            assert_eq!(decoding.only(Severity::Truncated).0, *place as u64, "{cut}");
        }
    }
}

#[test]
fn a_size_beyond_the_end_is_a_truncated_tail() {
    for size in [100, 1 << 20, 1 << 30, u32::MAX] {
        for id in [1001_u16, 1042] {
            let head = [&id.to_le_bytes()[..], &size.to_le_bytes(), b"rest"].concat();
            let decoding = stream(&[&message(&free()), &head]);
            assert_eq!(decoding.events.len(), 1);
            assert_eq!(decoding.remarks.len(), 1);
            let place = HEAD + message(&free()).len();
            assert_eq!(decoding.only(Severity::Truncated).0, place as u64);
        }
    }
}

#[test]
fn a_huge_message_is_skipped_piece_by_piece() {
    let size = (20_u32 << 20) + 6;
    let mut bytes = [HEADER, &1041_u16.to_le_bytes()[..], &size.to_le_bytes()].concat();
    bytes.resize(bytes.len() + (20 << 20), b'x');
    bytes.extend_from_slice(&message(&free()));
    let decoding = decode_pieces(Format::TptpBinary, &bytes, 1 << 16);
    assert_eq!(decoding.events, shown(&[free()]));
    assert!(decoding.only(Severity::Fault).1.contains("larger than"));
}

#[test]
fn bad_text_loses_one_message() {
    for (body, reason) in [
        (
            &b"no end"[..],
            "body: the text has no end inside the message",
        ),
        (b"bad \xff\0", "body: not text in UTF-8"),
        (b"half \xed\xa0\x80\0", "body: not text in UTF-8"),
        (b"two-byte zero \xc0\x80\0", "body: not text in UTF-8"),
        (b"two\0ends\0", "5 bytes are left after the last field"),
        (b"", "body: the text has no end inside the message"),
    ] {
        let size = (6 + body.len() as u32).to_le_bytes();
        let wrong = [&1041_u16.to_le_bytes()[..], &size, body].concat();
        let decoding = stream(&[&message(&free()), &wrong, &message(&free())]);
        assert_eq!(decoding.events, shown(&[free(), free()]));
        let (place, text) = decoding.only(Severity::Fault);
        assert_eq!(place, (HEAD + message(&free()).len()) as u64);
        assert_eq!(text, format!("skipped: custom (1041): {reason}"));
    }
}

#[test]
fn an_impossible_stack_depth_loses_one_message() {
    let wait = |depth: i32, rest: &[u8]| {
        let body = [&[0; 32][..], &depth.to_le_bytes(), rest].concat();
        let size = (6 + body.len() as u32).to_le_bytes();
        [&1032_u16.to_le_bytes()[..], &size, &body].concat()
    };
    for (depth, rest) in [(-1, 0), (i32::MIN, 90), (1, 8), (i32::MAX, 90), (11, 90)] {
        let decoding = stream(&[&wait(depth, &vec![0; rest]), &message(&free())]);
        let (_, text) = decoding.only(Severity::Fault);
        assert!(text.contains(&format!("stack: {depth} frames")), "{text}");
        assert_eq!(decoding.events, shown(&[free()]));
    }
    assert!(stream(&[&wait(10, &[0; 90])]).is_clean());
}

#[test]
fn a_call_that_is_not_as_ours_is_read_all_the_same() {
    let method = MethodId(3);
    let enter = Event::MethodEnter(MethodEnter {
        method,
        ticket: 1,
        ..Default::default()
    });
    let ours = message(&enter);
    // Text in the unused fields, and values in fields that we write as unset.
    let mut foreign = ours[..82].to_vec();
    foreign.extend_from_slice(b"c\0trace\0");
    foreign[2] = foreign.len() as u8;
    foreign[6] = 9;
    foreign[66] = 9;
    let decoding = stream(&[&foreign, &ours]);
    assert_eq!(decoding.remarks.len(), 1);
    assert_eq!(
        decoding.only(Severity::Info).1,
        "skipped: methodEntry: unused fields that are set (1)"
    );
    assert_eq!(decoding.events, shown(&[enter.clone(), enter.clone()]));
    // A call message of our size with one nonzero byte in any of the skipped fields.
    let leave = Event::MethodLeave(MethodLeave {
        method,
        ticket: 1,
        ..Default::default()
    });
    for (call, unused) in [
        (&enter, &[6..14, 42..50, 66..74][..]),
        (&leave, &[6..14, 50..74]),
    ] {
        for at in unused.iter().cloned().flatten() {
            let mut set = message(call);
            set[at] = 1;
            let decoding = stream(&[&set, &message(call)]);
            assert!(
                decoding.only(Severity::Info).1.contains("unused fields"),
                "{at}"
            );
            assert_eq!(decoding.events, shown(&[call.clone(), call.clone()]));
        }
    }
    // The right size, but text without its terminator.
    let mut wrong = ours.clone();
    wrong[83] = b'x';
    let decoding = stream(&[&wrong, &ours]);
    assert!(
        decoding
            .only(Severity::Fault)
            .1
            .contains("methodEntry (1015)")
    );
    assert_eq!(decoding.events, shown(&[enter]));
}

#[test]
fn a_zero_inside_of_text_is_replaced() {
    let body = "\0a\0\0b\0";
    let bytes = encoded(
        Format::TptpBinary,
        &[Event::Custom(Custom { body: body.into() })],
    );
    let body = "\u{fffd}a\u{fffd}\u{fffd}b\u{fffd}".into();
    assert_eq!(
        binary(&bytes).events,
        shown(&[Event::Custom(Custom { body })])
    );
}
