use super::{Decoder, is_begin};
use crate::Severity;
use crate::testing::{Decoding, decoded, decoded_in_pieces};

fn read(file: impl AsRef<[u8]>) -> Decoding {
    decoded::<Decoder>(file.as_ref())
}

/// Returns the one remark on a file without events.
fn remark(file: impl AsRef<[u8]>) -> (Severity, String) {
    let mut decoding = read(file);
    assert_eq!((decoding.events.len(), decoding.remarks.len()), (0, 1));
    decoding.remarks.remove(0)
}

#[test]
fn lines_are_paths_with_self_times() {
    let decoding = read("a.B.c(int);d/E.f 12\n\na.B.c(int) 5\r\n[main];a.B.c(int);g 7");
    let events = [
        "thread 1 \"all threads\" \"\" at 0",
        "class 2 \"a.B\"",
        "method 3 2 \"c\" \"(int)\"",
        "class 4 \"d.E\"",
        "method 5 4 \"f\" \"\"",
        "1 begins 3 for 0 ns, 1 calls",
        "1 begins 5 for 12 ns, 1 calls",
        "1 ends 5",
        "1 ends 3",
        "1 begins 3 for 5 ns, 1 calls",
        "thread 6 \"main\" \"\" at 0",
        "class 7 \"?\"",
        "method 8 7 \"g\" \"\"",
        "1 ends 3",
        "6 begins 3 for 0 ns, 1 calls",
        "6 begins 8 for 7 ns, 1 calls",
        "6 ends 8",
        "6 ends 3",
    ];
    assert_eq!(decoding.events, events);
    assert_eq!((decoding.remarks, decoding.error), (vec![], None));
}

#[test]
fn paths_share_the_calls_that_begin_both() {
    let calls = |file: &str| {
        let mut events = read(file).events;
        events.retain(|event| event.contains(" begins "));
        events
    };
    let expected = [
        "1 begins 3 for 1 ns, 1 calls",
        "1 begins 4 for 2 ns, 1 calls",
        "1 begins 5 for 3 ns, 1 calls",
        "1 begins 5 for 4 ns, 1 calls",
    ];
    assert_eq!(calls("a 1\na;b 2\na;b;c 3\na;b;c 4\n"), expected);
}

#[test]
fn odd_names_pass_through() {
    let long = "é".repeat(1 << 15);
    for name in ["\"\\", "</script>", "\u{1b}", "🦀", "a b  c", long.as_str()] {
        let decoding = read(format!("{name};x 1\n"));
        assert_eq!(decoding.events[2], format!("method 3 2 {name:?} \"\""));
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let fault = |message: &str| (Severity::Fault, message.to_owned());
    let info = |message: &str| (Severity::Info, message.to_owned());
    let none = fault("skipped: lines without a number (1)");
    for line in ["a;b", "a;b -1\n", "a;b 1e5", "12", "a 1x", " 7", "a ."] {
        assert_eq!(remark(line), none, "{line}");
    }
    for line in ["[main] 16\n", "[main]; 16", ";; 1"] {
        let outside = info("skipped: figures of threads outside of calls (1)");
        assert_eq!(remark(line), outside, "{line}");
    }
    let deep = format!("{}a 1", "a;".repeat(1 << 16));
    let message = "skipped: lines with more than 65,536 frames (1)";
    assert_eq!(
        decoded_in_pieces(Decoder::default(), deep.as_bytes(), 1 << 16).remarks,
        [fault(message)]
    );
    for (file, event, message) in [
        (
            "a 1.9",
            "1 ns",
            "fractions of numbers, which were cut off (1)",
        ),
        (
            "a 9223372036854775808",
            "9223372036854775807 ns",
            "numbers above 63 bits, read as the largest (1)",
        ),
        ("a\0 3", "3 ns", "texts with NUL or not in UTF-8 (1)"),
    ] {
        let decoding = read(file);
        assert!(decoding.events[3].contains(event), "{:?}", decoding.events);
        assert_eq!(decoding.remarks, [info(message)]);
    }
    let decoding = read(b"\xff 3");
    assert_eq!(decoding.events[2], "method 3 2 \"\u{fffd}\" \"\"");
    assert_eq!(decoding.remarks.len(), 1);
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let mut file = vec![b'x'; (16 << 20) + 9];
    file.extend(b" 3\na 1\n");
    let decoding = decoded_in_pieces(Decoder::default(), &file, 4 << 20);
    let message = "skipped: lines above 16 MiB (1)".to_owned();
    assert_eq!(decoding.remarks, [(Severity::Fault, message)]);
    assert_eq!(decoding.events.len(), 5);
}

#[test]
fn the_first_line_is_recognized() {
    for head in ["a;b 1", "a 1\n", "\n a 1\r\nrest", "main 12.5\n", "[x];a 1"] {
        assert!(is_begin(head.as_bytes(), true), "{head}");
    }
    for head in ["a;b", "", "a\0 1\n", "12\n", "\x7fELF 1\n", "a b\nc 1\n"] {
        assert!(!is_begin(head.as_bytes(), true), "{head}");
    }
    assert!(!is_begin(b"a;b 1", false));
    assert!(is_begin(b"a;b 1\n", false));
    let long = "a;".repeat(1 << 15);
    assert!(is_begin(long.as_bytes(), true));
    assert!(!is_begin(long.replace(';', "a").as_bytes(), true));
}
