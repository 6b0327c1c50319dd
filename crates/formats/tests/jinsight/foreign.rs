//! Files of other writers: bursts with calls already under way, receivers, odd ids, other clocks.

use super::{FORMAT, again, hex};
use crate::common::{Decoding, decode};
use jtrail_formats::Severity;

/// A file: a header, and records. A tick is one nanosecond, and tick 1000 is the time 1 s.
pub(super) struct File(Vec<u8>);

impl File {
    pub(super) fn new() -> Self {
        Self::with(44, 0, 1000, 1000)
    }

    pub(super) fn with(platform: u32, events: u32, per_us: u32, start: u64) -> Self {
        let mut bytes = b"b\x08\0\0\0".to_vec();
        for field in [platform, events, 1024, 16384, per_us] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&start.to_le_bytes());
        for field in [1_u32, 1, 0] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        Self(bytes)
    }

    /// Appends a record, whose fields are given as hexadecimal text.
    pub(super) fn put(mut self, kind: u8, ticks: u64, fields: &str) -> Self {
        self.0.push(kind);
        self.0.extend_from_slice(&ticks.to_le_bytes());
        self.0.extend(hex(fields));
        self
    }

    /// Appends class a/B with the methods f and g.
    pub(super) fn class(self, id: u8) -> Self {
        let fields = format!(
            "{id:02x}00 0000 0300 612f42 0200 0100 66 0300 282956 0900 0100 67 0300 282956 0900 0000 0000 0000"
        );
        self.put(0x04, 1001, &format!("{id:02x}00 00000000"))
            .put(0x6e, 1001, &fields)
    }

    pub(super) fn thread(self) -> Self {
        self.put(0x0a, 1002, "01000000 00000000 0100 0400 6d61696e")
    }

    pub(super) fn enter(self, ticks: u64, method: u8) -> Self {
        self.put(
            0x5b,
            ticks,
            &format!("01000000 0200 {method:02x}00 ffffffff 0000"),
        )
    }

    pub(super) fn leave(self, ticks: u64) -> Self {
        self.put(0x1f, ticks, "0000000000000000 01000000")
    }

    pub(super) fn begin(self, ticks: u64) -> Self {
        self.put(0x65, ticks, "")
    }

    pub(super) fn end(self, ticks: u64) -> Self {
        self.put(0x66, ticks, "")
    }

    pub(super) fn whole(mut self) -> Vec<u8> {
        self.0.extend(hex("64 49160000 0000dead"));
        self.0
    }
}

/// Returns a text for each event: its kind, its ticket if it has one, and its time in nanoseconds
/// after 1 s.
fn reported(decoding: &Decoding) -> Vec<String> {
    let field = |event: &str, name: &str| {
        let at = event.find(&format!("{name}: "))? + name.len() + 2;
        let rest = &event[at..];
        let digits = rest.find(|c: char| c.is_ascii_digit())?;
        let rest = &rest[digits..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse::<i64>().ok()
    };
    let mut found = Vec::new();
    for event in &decoding.events {
        let time = field(event, "time").map_or(0, |time| time - 1_000_000_000);
        let kind = event.split('(').next().unwrap();
        let ticket = field(event, "ticket").map(|n| format!(" #{n}"));
        if !matches!(
            kind,
            "Node" | "ProcessCreate" | "AgentCreate" | "AgentDestroy"
        ) {
            found.push(format!("{kind}{} {time}", ticket.unwrap_or_default()));
        }
    }
    found
}

fn remarks(decoding: &Decoding, severity: Severity) -> Vec<&str> {
    let found = decoding.remarks.iter().filter(|r| r.severity == severity);
    found.map(|r| r.message.as_str()).collect()
}

/// Calls that were under way when the trace's first burst began are dropped with their leaves.
/// Calls inside the dropped calls stay.
#[test]
fn calls_that_ran_before_are_left_out() {
    let bytes = File::new()
        .class(2)
        .thread()
        .begin(1010)
        .enter(1010, 0)
        .enter(1010, 1)
        .enter(1011, 0)
        .leave(1012)
        .leave(1013)
        .enter(1014, 1)
        .leave(1020)
        .leave(1020)
        .end(1020)
        .whole();
    let decoding = decode(FORMAT, &bytes);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(
        reported(&decoding),
        [
            "TraceStart 0",
            "ClassDef 1",
            "ClassDetail 1",
            "ThreadStart 2",
            "TraceResume 10",
            "MethodDef 0",
            "MethodEnter #1 11",
            "MethodLeave #1 12",
            "MethodDef 0",
            "MethodEnter #2 14",
            "TraceEnd 20",
        ]
    );
    // Stack depths do not count the dropped calls.
    assert!(decoding.events.iter().any(|e| e.contains("stack_depth: 1")));
}

/// f is open during the pause and continues after it; g ended during the pause.
#[test]
fn calls_go_on_after_a_pause() {
    let file = || {
        File::new()
            .begin(1000)
            .class(2)
            .thread()
            .enter(1010, 0)
            .enter(1011, 1)
            .leave(1020)
            .leave(1020)
            .end(1020)
    };
    let bytes = file()
        .begin(1030)
        .enter(1030, 0)
        .enter(1030, 0)
        .leave(1031)
        .leave(1032)
        .end(1040)
        .whole();
    let decoding = decode(FORMAT, &bytes);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(
        reported(&decoding)[4..],
        [
            "MethodDef 0",
            "MethodEnter #1 10",
            "MethodDef 0",
            "MethodEnter #2 11",
            "TracePause 20",
            "MethodLeave #2 20",
            "TraceResume 30",
            "MethodLeave #1 32",
            "TraceEnd 40",
        ]
    );
    // Here the second burst begins with no calls under way, so both calls ended in the pause.
    let bytes = file()
        .begin(1030)
        .enter(1031, 0)
        .leave(1032)
        .end(1040)
        .whole();
    assert_eq!(
        reported(&decode(FORMAT, &bytes))[8..],
        [
            "TracePause 20",
            "MethodLeave #2 20",
            "MethodLeave #1 20",
            "TraceResume 30",
            "MethodEnter #3 31",
            "MethodLeave #3 32",
            "TraceEnd 40",
        ]
    );
    // The trace is truncated after the first burst, so nothing says that it paused.
    let cut = decode(FORMAT, &file().0);
    assert_eq!(
        cut.only(Severity::Truncated).1,
        "the trace ends without END_FILE"
    );
    assert_eq!(reported(&cut).len(), 8);
}

/// Events of a pause, such as the end of an object or a thread, are written after the begin of the
/// next burst, with the ticks of that begin.
#[test]
fn what_a_pause_brought_belongs_to_it() {
    let bytes = File::new()
        .begin(1000)
        .class(2)
        .thread()
        .put(0x0a, 1003, "02000000 00000000 0100 0400 6d61696e")
        .put(0x14, 1012, "01000000 0200")
        .enter(1010, 0)
        .put(0x5b, 1011, "02000000 0200 0000 ffffffff 0000")
        .leave(1020)
        .put(0x1f, 1020, "0000000000000000 02000000")
        .end(1020)
        .begin(1030)
        .enter(1030, 0)
        .put(0x18, 1030, "01000000")
        .put(0x0c, 1030, "02000000")
        .enter(1031, 1)
        .leave(1032)
        .leave(1040)
        .end(1040)
        .whole();
    let decoding = decode(FORMAT, &bytes);
    assert!(decoding.is_clean(), "{decoding:#?}");
    let from_pause = |events: &[String]| -> Vec<String> {
        let at = events.iter().position(|line| line == "TracePause 20");
        events[at.expect("a pause")..].to_vec()
    };
    let events = from_pause(&reported(&decoding));
    assert_eq!(
        events,
        [
            "TracePause 20",
            "ObjectFree 30",
            "MethodLeave #1 20",
            "ThreadEnd 30",
            "TraceResume 30",
            "MethodDef 0",
            "MethodEnter #2 31",
            "MethodLeave #2 32",
            "TraceEnd 40",
        ]
    );
    let ours = again(&bytes);
    super::rules::check(&ours.bytes);
    let reported_again = reported(&decode(FORMAT, &ours.bytes));
    assert_eq!(from_pause(&reported_again), events);
    assert_eq!(again(&ours.bytes).bytes, ours.bytes);
}

/// Leaves at the tick of the burst's end are synthesised. Leaves at an earlier tick are real, even
/// if several have the same tick.
#[test]
fn leaves_at_one_time_are_real_if_the_burst_goes_on() {
    let bytes = File::new()
        .begin(1000)
        .class(2)
        .thread()
        .enter(1010, 0)
        .enter(1010, 1)
        .leave(1020)
        .leave(1020)
        .end(1021)
        .whole();
    let decoding = decode(FORMAT, &bytes);
    assert!(decoding.is_clean());
    assert_eq!(
        reported(&decoding)[8..],
        ["MethodLeave #2 20", "MethodLeave #1 20", "TraceEnd 21"]
    );
}

#[test]
fn what_the_model_does_not_hold_is_reported() {
    let bytes = File::new()
        .class(2)
        .put(0x0a, 1002, "01000000 00000000 0200 0400 6d61696e")
        .put(0x14, 1003, "01000000 0200")
        .put(0x5b, 1004, "01000000 0200 0100 01000000 0700")
        .put(0x15, 1005, "01000000 0200 01000000")
        .put(0x1f, 1006, "0500000000000000 01000000")
        .put(0x4e, 1099, "0500 68656c6c6f")
        .put(0x18, 1100, "01000000")
        .whole();
    let decoding = decode(FORMAT, &bytes);
    assert_eq!(remarks(&decoding, Severity::Fault), Vec::<&str>::new());
    assert_eq!(
        remarks(&decoding, Severity::Info),
        [
            "skipped: classes of threads (1)",
            "skipped: receivers of calls (1)",
            "skipped: lines of calls (1)",
            "objects created apart from their definition (1)",
            "skipped: overheads of calls (1)",
            "skipped: times of texts (1)",
        ]
    );
    assert_eq!(
        reported(&decoding)[3..],
        [
            "ThreadStart 2",
            "ObjectDef 3",
            "MethodDef 0",
            "MethodEnter #1 4",
            "ObjectAlloc 5",
            "MethodLeave #1 6",
            "Custom 0",
            "ObjectFree 100",
            "TraceEnd 100",
        ]
    );
    assert!(decoding.events.join("").contains("body: \"hello\""));
}

#[test]
fn a_definition_and_what_follows_it_have_one_time() {
    for (later, count) in [(0, 0), (1, 3)] {
        let bytes = File::new()
            .put(0x04, 1001, "0200 00000000")
            .put(
                0x6e,
                1001 + later,
                "0200 0000 0300 612f42 0000 0000 0000 0000",
            )
            .put(0x0a, 1005, "01000000 00000000 0100 0400 6d61696e")
            .put(0x0b, 1005 + later, "01000000")
            .put(0x14, 1010, "01000000 0200")
            .put(0x15, 1010 + later, "01000000 0200 01000000")
            .whole();
        let decoding = decode(FORMAT, &bytes);
        let expected = format!(
            "skipped: times of definitions other than those of the load, creation or start after them ({count})"
        );
        let infos = remarks(&decoding, Severity::Info);
        match count {
            0 => assert!(infos.is_empty(), "{infos:?}"),
            _ => assert_eq!(infos, [expected]),
        }
        assert_eq!(remarks(&decoding, Severity::Fault), Vec::<&str>::new());
    }
}

#[test]
fn what_was_never_defined_gets_a_name() {
    let bytes = File::new()
        .leave(1001)
        .enter(1002, 3)
        .put(0x14, 1003, "01000000 0900")
        .put(0x16, 1004, "09 02000000 10000000")
        .put(0x17, 1005, "08 03000000 10000000 07000000")
        .put(0x6e, 1006, "0300 0000 0100 43 0000 0000 0800 0000")
        .put(0x0c, 1007, "01000000")
        .whole();
    let decoding = decode(FORMAT, &bytes);
    let reported = decoding.events.join("\n");
    for name in [
        "thread#1", "thread#7", "class#2", "class#9", "method#3", "class#8", "[B",
    ] {
        assert!(
            reported.contains(&format!("name: \"{name}\"")),
            "{name} {reported}"
        );
    }
    assert_eq!(
        remarks(&decoding, Severity::Fault),
        [
            "threads that are not defined (2)",
            "skipped: leaves without an open call (1)",
            "classes that are not defined (2)",
            "methods that their class does not list (1)",
            "arrays of an unknown type (1)",
            "loads of classes without a definition (1)",
            "supers and interfaces that are not defined (1)",
        ]
    );
    assert_eq!(decoding.error, None);
    assert!(reported.contains("ThreadEnd"));
}

#[test]
fn other_ticks_and_other_starts() {
    // 2.5 ticks per nanosecond are 2500 per microsecond.
    let bytes = File::with(44, 0, 2500, 50)
        .put(0x46, 50, "")
        .put(0x47, 57, "")
        .put(0x46, 20, "")
        .put(0x47, u64::MAX, "")
        .whole();
    let decoding = decode(FORMAT, &bytes);
    let times = reported(&decoding);
    assert_eq!(times[1..4], ["GcStart 0", "GcFinish 2", "GcStart -12"]);
    assert_eq!(times[4], "GcFinish 7378697629483820626");
    // If ticks count from 1970, they give the fraction of a second in the time of the start.
    let bytes = File::with(44, 0, 1000, 1_250_000_000)
        .put(0x46, 1_250_000_007, "")
        .whole();
    assert_eq!(
        reported(&decode(FORMAT, &bytes))[..2],
        ["TraceStart 250000000", "GcStart 250000007"]
    );
}

#[test]
fn what_is_no_trace_is_refused() {
    let refused = |bytes: &[u8]| {
        let decoding = decode(FORMAT, bytes);
        let (offset, message) = decoding.refused();
        (offset, message.to_owned())
    };
    let sound = File::new().whole();
    assert_eq!(refused(&sound[..44]).0, 0);
    let mut other = sound.clone();
    other[0] = b'a';
    assert_eq!(refused(&other), (0, "the first byte is not b".into()));
    let mut version = sound.clone();
    version[1] = 9;
    assert_eq!(refused(&version), (1, "version 9: only 8 is known".into()));
    assert_eq!(
        refused(&File::with(45, 0, 1000, 0).whole()),
        (5, "platform 45 is not known".into())
    );
    assert_eq!(refused(&File::with(44, 0, 0, 0).whole()).0, 21);
    let unknown = File::new().put(0x46, 1000, "").put(0x99, 1000, "").whole();
    let (offset, message) = refused(&unknown);
    assert_eq!(offset, 45 + 9);
    assert!(message.starts_with("record type 0x99 is not known"));
    assert_eq!(decode(FORMAT, &unknown).events.len(), 5);
}

/// Records with ticks before the trace's start are read nevertheless. Each such record is counted
/// once.
#[test]
fn records_from_before_the_trace_are_reported() {
    let bytes = File::with(44, 0, 1000, 1000)
        .class(2)
        .thread()
        .put(0x46, 999, "")
        .put(0x47, 1000, "")
        .put(0x5b, 998, "01000000 0200 0100 ffffffff 0000")
        .put(0x1f, 1001, "0000000000000000 01000000")
        .whole();
    let decoding = decode(FORMAT, &bytes);
    assert_eq!(remarks(&decoding, Severity::Fault), Vec::<&str>::new());
    assert_eq!(
        remarks(&decoding, Severity::Info),
        ["records from before startTicks (2)"]
    );
    let offset = decoding.only(Severity::Info).0 as usize;
    assert_eq!(bytes[offset], 0x46);
}

#[test]
fn the_end_is_looked_at() {
    let file = || File::with(44, 3, 1000, 1000).put(0x46, 1000, "");
    let decoding = decode(FORMAT, &file().whole());
    assert!(
        decoding
            .only(Severity::Info)
            .1
            .starts_with("skipped: numbers of events")
    );
    assert_eq!(decoding.only(Severity::Info).0, 9);
    let file = || File::with(44, 1, 1000, 1000).put(0x46, 1000, "");
    assert!(decode(FORMAT, &file().whole()).is_clean());
    let more = [file().whole(), b"more".to_vec()].concat();
    let decoding = decode(FORMAT, &more);
    assert_eq!(decoding.only(Severity::Fault).0, 45 + 18);
    let mut numbers = file().whole();
    *numbers.last_mut().unwrap() = 0;
    assert_eq!(decode(FORMAT, &numbers).only(Severity::Info).0, 45 + 9);
}

/// A class lists its interfaces by number, so a short record could otherwise repeat long names
/// without bound.
#[test]
fn interfaces_have_bounded_names() {
    let count = 40_u16;
    let name = "6e".repeat(60_000);
    let fields = format!(
        "0300 0000 0100 44 0000 0000 0000 {count:02x}00 {}",
        "0200".repeat(count.into())
    );
    let bytes = File::new()
        .begin(1000)
        .put(0x04, 1001, "0200 00000000")
        .put(
            0x6e,
            1001,
            &format!("0200 0000 60ea {name} 0000 0000 0000 0000"),
        )
        .put(0x04, 1001, "0300 00000000")
        .put(0x6e, 1001, &fields)
        .end(1020)
        .whole();
    let decoding = decode(FORMAT, &bytes);
    let infos = remarks(&decoding, Severity::Info);
    let reported = infos
        .iter()
        .find(|r| r.contains("interfaces"))
        .expect("told");
    assert!(reported.contains("more than 1 MiB of names"), "{reported}");
    let detail = decoding.events.iter().find(|e| e.contains("nnn\", \"nnn"));
    let kept = detail.expect("the first").matches(", \"nnn").count() + 1;
    assert_eq!(kept, (1 << 20) / 60_000);
}

/// Returns a file of two bursts. The first leaves two calls open, one of which continues in the
/// second. An object is allocated and freed.
pub(super) fn bursts() -> Vec<u8> {
    File::new()
        .begin(1000)
        .put(0x04, 1000, "0000 00000000")
        .put(
            0x6e,
            1000,
            "0000 0000 1000 6a6176612f6c616e672f4f626a656374 0000 0000 0000 0000",
        )
        .put(0x04, 1000, "0100 00000000")
        .put(
            0x6e,
            1000,
            "0100 0000 1000 6a6176612f6c616e672f546872656164 0000 0000 0000 0000",
        )
        .class(2)
        .thread()
        .enter(1010, 0)
        .enter(1011, 1)
        .put(0x14, 1012, "01000000 0200")
        .put(0x46, 1015, "")
        .put(0x18, 1016, "01000000")
        .put(0x47, 1020, "")
        .leave(1020)
        .leave(1020)
        .end(1020)
        .begin(1030)
        .enter(1030, 0)
        .put(0x46, 1030, "")
        .put(0x47, 1031, "")
        .enter(1033, 1)
        .leave(1034)
        .leave(1040)
        .end(1040)
        .whole()
}

/// A file with bursts of this encoder is recoded without change, including calls that span the
/// pause.
#[test]
fn bursts_of_our_own_come_out_as_they_went_in() {
    let bytes = bursts();
    // After the first recoding, ticks count from 1970.
    let ours = again(&bytes);
    super::rules::check(&ours.bytes);
    assert_eq!(ours.dropped("times"), 0);
    let decoding = decode(FORMAT, &ours.bytes);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(reported(&decoding), reported(&decode(FORMAT, &bytes)));
    assert_eq!(again(&ours.bytes).bytes, ours.bytes);
}
