//! Frames that arrive in any pieces, and bytes that are not frames.

use jtrail_control::frame::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn frames(decoder: &mut Decoder) -> Result<Vec<Frame>, FrameError> {
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next_frame()? {
        frames.push(frame);
    }
    Ok(frames)
}

fn frame(kind: FrameKind, payload: &[u8]) -> Frame {
    let payload = payload.to_vec();
    Frame { kind, payload }
}

fn bytes(frames: &[Frame]) -> Vec<u8> {
    let mut out = Vec::new();
    for frame in frames {
        encode(frame.kind, &frame.payload, &mut out);
    }
    out
}

#[test]
fn the_bytes_are_those_of_the_specification() {
    let bytes = bytes(&[frame(FrameKind::Command, b"<stop/>")]);
    assert_eq!(bytes, b"JT\x01\x00\x07\x00\x00\x00<stop/>");
}

#[test]
fn two_frames_at_every_boundary() {
    let sent = [
        frame(FrameKind::Answer, b"<done/>"),
        frame(FrameKind::Data, b""),
        frame(FrameKind::Notice, b"<x/>"),
    ];
    let bytes = bytes(&sent);
    for cut in 0..=bytes.len() {
        let mut decoder = Decoder::for_client();
        let mut got = Vec::new();
        for piece in [&bytes[..cut], &bytes[cut..]] {
            decoder.feed(piece);
            got.extend(frames(&mut decoder).expect("frames"));
        }
        assert_eq!(got, sent, "cut at {cut}");
        assert!(!decoder.is_within_frame());
    }
}

proptest! {
    #[test]
    fn any_frames_in_any_pieces(
        payloads in vec(vec(any::<u8>(), 0..40), 0..6),
        sizes in vec(1_usize..20, 1..40),
    ) {
        let sent: Vec<Frame> = payloads.iter().map(|p| frame(FrameKind::Command, p)).collect();
        let bytes = bytes(&sent);
        let mut decoder = Decoder::for_agent();
        let (mut got, mut rest) = (Vec::new(), &bytes[..]);
        for size in sizes.iter().cycle() {
            let piece = rest.split_off(..rest.len().min(*size)).expect("within");
            decoder.feed(piece);
            got.extend(frames(&mut decoder).expect("frames"));
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(got, sent);
    }

    #[test]
    fn any_bytes_are_frames_or_an_error(bytes in vec(any::<u8>(), 0..64)) {
        let mut decoder = Decoder::for_agent();
        decoder.feed(&bytes);
        if let Err(error) = frames(&mut decoder) {
            prop_assert!(error.at <= bytes.len() as u64);
            decoder.feed(b"JT\x01\0\0\0\0\0");
            prop_assert_eq!(frames(&mut decoder), Err(error));
        }
    }
}

fn problem(bytes: &[u8]) -> String {
    let mut decoder = Decoder::for_agent();
    decoder.feed(bytes);
    frames(&mut decoder).expect_err("no frames").to_string()
}

#[test]
fn what_is_no_frame_is_refused_at_once() {
    let good = b"JT\x01\0\x07\0\0\0<stop/>";
    for (bytes, expected) in [
        (&b"G"[..], "JT is missing in the frame at byte 0"),
        (b"Jx", "JT is missing in the frame at byte 0"),
        (b"JT\0", "kind 0 is not expected in the frame at byte 0"),
        (b"JT\x02", "kind 2 is not expected in the frame at byte 0"),
        (b"JT\x05", "kind 5 is not expected in the frame at byte 0"),
        (
            b"JT\x01\x01",
            "the fourth byte is 1, not 0 in the frame at byte 0",
        ),
        (
            b"JT\x01\0\x01\0\x01\0",
            "65537 bytes for a command, at most 65536 are allowed in the frame at byte 0",
        ),
        (
            b"JT\x01\0\xff\xff\xff\xff",
            "4294967295 bytes for a command, at most 65536 are allowed in the frame at byte 0",
        ),
    ] {
        assert_eq!(problem(bytes), expected);
        let after = [&good[..], bytes].concat();
        assert_eq!(problem(&after), expected.replace("byte 0", "byte 15"));
    }
    let mut largest = b"JT\x01\0\0\0\x01\0".to_vec();
    largest.resize(HEADER + MAX_DOCUMENT_BYTES, b' ');
    let mut decoder = Decoder::for_agent();
    decoder.feed(&largest);
    assert_eq!(frames(&mut decoder).expect("allowed").len(), 1);
}
