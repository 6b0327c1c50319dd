//! Trace files that are damaged, each with the output of `jtrail verify`.

use jtrail_formats::Format;
use jtrail_model::*;
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

/// A file that nobody may read, not even a superuser.
const WRITE_ONLY: &str = "/proc/sys/vm/compact_memory";

/// The kinds of files.
pub(super) enum Given {
    Bytes(Vec<u8>),
    /// A file that the test need not create.
    Path(&'static str),
    Directory,
    /// A link to itself.
    Loop,
    /// A pipe, and its writer.
    Pipe(fn(&mut dyn Write) -> io::Result<()>),
}

/// A row of the table.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) given: Given,
    /// The decisive line of `jtrail verify`, with `FILE` for the file's name.
    pub(super) says: Cow<'static, str>,
    /// Two exit codes: that of `verify`, and that of `report`, `dump` and `convert`.
    pub(super) codes: (u8, u8),
}

pub(super) fn row(
    what: &'static str,
    given: Given,
    says: impl Into<Cow<'static, str>>,
    codes: (u8, u8),
) -> Row {
    Row {
        what,
        given,
        says: says.into(),
        codes,
    }
}

fn bytes(bytes: impl AsRef<[u8]>) -> Given {
    Given::Bytes(bytes.as_ref().to_vec())
}

/// Files that are no traces.
#[rustfmt::skip]
pub(super) fn strange() -> Vec<Row> {
    const UNKNOWN: &str =
        "can't read FILE: not a trace: its first bytes are those of no format that jtrail knows";
    const EMPTY: &str = "can't read FILE: not a trace: it is empty";
    const FAILED: (u8, u8) = (2, 2);
    let alien = |what, head: &[u8]| row(what, bytes(head), UNKNOWN, FAILED);
    vec![
        row("an empty file", bytes(""), EMPTY, FAILED),
        row("`/dev/null`", Given::Path("/dev/null"), EMPTY, FAILED),
        row("a pipe that closes at once", Given::Pipe(|_| Ok(())), EMPTY, FAILED),
        row("no file", Given::Path("/nonexistent/trace"), "can't read FILE: No such file or directory (os error 2)", FAILED),
        row("a directory", Given::Directory, "can't read FILE: it is a directory; name the trace file in it", FAILED),
        row("a link to itself", Given::Loop, "can't read FILE: Too many levels of symbolic links (os error 40)", FAILED),
        row("a file without the right to read it", Given::Path(WRITE_ONLY), "can't read FILE: Permission denied (os error 13)", FAILED),
        row("a file whose first read fails (`/proc/self/mem`)", Given::Path("/proc/self/mem"), "can't read FILE: Input/output error (os error 5)", FAILED),
        alien("one byte", b"0"),
        alien("three bytes of the magic", b"0TB"),
        alien("another magic", b"1TBF\x01\x00\x01\x01\x0c\x00\x00\x00"),
        alien("plain text", b"Hello, world\n"),
        alien("zeros", &[0; 4096]),
        row("`/dev/zero`, which has no end", Given::Path("/dev/zero"), UNKNOWN, FAILED),
        row("a ZIP archive that is truncated", bytes(b"PK\x03\x04\x14\x00\x00\x00"), "can't read FILE: not a trace: the ZIP archive is truncated", FAILED),
        row("a gzip file with nothing in it", bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), "can't read FILE: mlpd: at byte 0: the file is shorter than its header (unpacked)", FAILED),
        row("an ELF program (this test)", Given::Path("/proc/self/exe"), UNKNOWN, FAILED),
        alien("a PNG image", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"),
        alien("a class file", b"\xca\xfe\xba\xbe\x00\x00\x00\x41"),
        alien("XML in UTF-16", b"\xff\xfe<\x00T\x00R\x00A\x00C\x00E\x00/\x00>\x00"),
        alien("a heap dump of the JVM", b"JAVA PROFILE 1.0.2\0\0\0\0\x08"),
    ]
}

/// Header of a little-endian trace whose data start at byte 12.
const HEADER: &[u8] = b"0TBF\x01\x00\x01\x01\x0c\x00\x00\x00";
const NOW: i64 = 1_700_000_000_000_000_000;

pub(super) fn message(id: u16, size: u32, body: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &size.to_le_bytes(), body].concat()
}

/// A message with its correct size.
fn sized(id: u16, body: &[u8]) -> Vec<u8> {
    message(id, 6 + body.len() as u32, body)
}

fn header(at: usize, byte: u8) -> Given {
    let mut whole = encoded(Format::TptpBinary, &sample());
    whole[at] = byte;
    bytes(whole)
}

/// The sample, with a header that says big-endian.
fn swapped() -> Given {
    let mut whole = encoded(Format::TptpBinary, &sample());
    whole[7..12].copy_from_slice(&[0, 0, 0, 0, 12]);
    bytes(whole)
}

/// The sample, followed by these messages.
fn after(messages: &[Vec<u8>]) -> Given {
    bytes(
        [
            &encoded(Format::TptpBinary, &sample())[..],
            &messages.concat(),
        ]
        .concat(),
    )
}

/// A header, these bytes, and nothing else.
fn alone(messages: &[Vec<u8>]) -> Given {
    bytes([HEADER, &messages.concat()].concat())
}

/// A monWait message that claims to have `n` frames, but has none.
fn frames(n: i32) -> Vec<u8> {
    let longs: Vec<u8> = [1, NOW, 2, 0]
        .iter()
        .flat_map(|n: &i64| n.to_le_bytes())
        .collect();
    sized(1032, &[&longs[..], &n.to_le_bytes()].concat())
}

/// Damage in the binary format.
#[rustfmt::skip]
pub(super) fn binary() -> Vec<Row> {
    let faulty = |what, given, says| row(what, given, says, (1, 1));
    let failed = |what, given, says| row(what, given, says, (2, 2));
    vec![
        failed("the magic alone", bytes("0TBF"), "can't read FILE: binary: at byte 0: the file is shorter than its header of 12 bytes"),
        failed("a header of 11 bytes", bytes(&HEADER[..11]), "can't read FILE: binary: at byte 0: the file is shorter than its header of 12 bytes"),
        failed("major version 2", header(4, 2), "can't read FILE: binary: at byte 4: major version 2: only 1 is known"),
        failed("major version 0", header(4, 0), "can't read FILE: binary: at byte 4: major version 0: only 1 is known"),
        row("minor version 255", header(5, 255), "", (0, 0)),
        faulty("platform 7", header(6, 7), "at byte 6: fault (structure): platform 7: neither 0 (32 bit) nor 1 (64 bit)"),
        failed("byte order 2", header(7, 2), "can't read FILE: binary: at byte 7: byte order 2: neither 0 (big) nor 1 (little)"),
        failed("a big-endian header over a little-endian body", header(7, 0), "can't read FILE: binary: at byte 8: the data start after the end of the file"),
        row("a big-endian header, made well, over a little-endian body", swapped(), "at byte 12: truncated (structure): the trace is truncated inside a message", (3, 3)),
        row("a pipe whose writer stops inside of an event", Given::Pipe(|to| to.write_all(encoded(Format::TptpBinary, &sample()).split_at(500).0)), "at byte 424: truncated (structure): the trace is truncated inside a message", (3, 3)),
        failed("data that start inside the header", header(8, 11), "can't read FILE: binary: at byte 8: the data start at byte 11, inside the header"),
        failed("data that start after the end", header(11, 255), "can't read FILE: binary: at byte 8: the data start after the end of the file"),
        row("a header and nothing else", alone(&[]), "", (0, 0)),
        failed("an encoding that is not known", alone(&[sized(1, b"EBCDIC\0")]), r#"can't read FILE: binary: at byte 12: text in "EBCDIC": this encoding is not known"#),
        failed("an encoding without end", alone(&[sized(1, b"UTF8")]), r#"can't read FILE: binary: at byte 14: "\n" is no name of an encoding"#),
        faulty("the encoding after the data", after(&[sized(1, b"UTF8\0")]), "at byte 542: fault (structure): skipped: message 1: it comes after the first data message"),
        failed("no ticks in a second", alone(&[sized(2, &[0; 8])]), "can't read FILE: binary: at byte 12: 0 ticks a second: no time can be read"),
        failed("-1 ticks in a second", alone(&[sized(2, &[255; 8])]), "can't read FILE: binary: at byte 12: -1 ticks a second: no time can be read"),
        faulty("a time beyond 64 bits of nanoseconds", alone(&[sized(2, &1_i64.to_le_bytes()), sized(1023, &[&[0; 16][..], &[127; 8], &[0; 2]].concat())]), "at byte 26: fault (structure): skipped: gcStart (1023): time: 9187201950435737471 ticks are out of range"),
        faulty("a message of size 0", after(&[message(1041, 0, b"")]), "binary: at byte 542: a message of 0 bytes: none is shorter than 6"),
        faulty("a message of size 5", after(&[message(1041, 5, b"")]), "binary: at byte 542: a message of 5 bytes: none is shorter than 6"),
        failed("a message of size 0 as the first", alone(&[message(1041, 0, b"")]), "can't read FILE: binary: at byte 12: a message of 0 bytes: none is shorter than 6"),
        row("a message of size 0xffffffff", after(&[message(1041, u32::MAX, b"x")]), "at byte 542: truncated (structure): the trace is truncated inside a message", (3, 3)),
        row("an unknown message of size 0xffffffff", after(&[message(1999, u32::MAX, b"x")]), "at byte 542: truncated (structure): the trace is truncated inside a message", (3, 3)),
        row("half of a message's head", after(&[vec![0xf1, 0x03, 9]]), "at byte 542: truncated (structure): the trace is truncated inside a message", (3, 3)),
        row("half of a message", after(&[message(1009, 74, &[0; 40])]), "at byte 542: truncated (structure): the trace is truncated inside a message", (3, 3)),
        row("a message with an unknown id", after(&[sized(1013, b"xyz")]), "", (0, 0)),
        row("message id 0", after(&[sized(0, b"")]), "", (0, 0)),
        faulty("message id 65535", after(&[sized(65535, b"")]), "binary: at byte 542: message id 65535: the last one possible is 32767"),
        faulty("a message that is one byte short", after(&[sized(1023, &[0; 25])]), "at byte 542: fault (structure): skipped: gcStart (1023): an unused field: the text has no end inside the message"),
        faulty("a message that is one byte long", after(&[sized(1023, &[0; 27])]), "at byte 542: fault (structure): skipped: gcStart (1023): 1 bytes are left after the last field"),
        faulty("a text without end", after(&[sized(1041, b"no zero")]), "at byte 542: fault (structure): skipped: custom (1041): body: the text has no end inside the message"),
        faulty("a text that is no UTF-8", after(&[sized(1041, b"\xff\xfe\0")]), "at byte 542: fault (structure): skipped: custom (1041): body: not text in UTF-8"),
        faulty("-1 frames", after(&[frames(-1)]), "at byte 542: fault (structure): skipped: monWait (1032): stack: -1 frames can't stand in this message"),
        faulty("2147483647 frames", after(&[frames(i32::MAX)]), "at byte 542: fault (structure): skipped: monWait (1032): stack: 2147483647 frames can't stand in this message"),
        row("two traces, one after the other", after(&[HEADER.to_vec(), vec![0; 8]]), "at byte 542: truncated (structure): the trace is truncated inside a message", (3, 3)),
    ]
}

fn xml(text: impl AsRef<str>) -> Given {
    bytes(text.as_ref())
}

/// The beginning of a sound document, without its end.
pub(super) fn begin() -> Vec<u8> {
    let mut whole = encoded(Format::TptpXml, &opening());
    whole.truncate(whole.len() - "</TRACE>\n".len());
    whole
}

/// The end of the document that [`begin`] begins.
pub(super) fn end() -> Vec<u8> {
    encoded(Format::TptpXml, &[opening(), ending()].concat()).split_off(begin().len())
}

/// A document that is sound except for the text inside it.
fn inside(text: impl AsRef<[u8]>) -> Given {
    bytes([&begin(), text.as_ref(), b"\n", &end()].concat())
}

/// Damage in the XML format.
#[rustfmt::skip]
pub(super) fn document() -> Vec<Row> {
    let faulty = |what, given, says| row(what, given, says, (1, 1));
    let failed = |what, given, says| row(what, given, says, (2, 2));
    let cut = |what, given, says| row(what, given, says, (3, 3));
    vec![
        cut("`<` alone", xml("<"), "at byte 0: truncated (structure): the trace is truncated: missing </TRACE>"),
        failed("HTML", xml("<html><body>no</body></html>"), "can't read FILE: xml: at byte 0: the root is not TRACE"),
        failed("another root", xml("<trace>\n</trace>\n"), "can't read FILE: xml: at byte 0: the root is not TRACE"),
        failed("text before the root", xml("<?xml version=\"1.0\"?>\nhello <TRACE/>\n"), "can't read FILE: xml: at byte 22: text where an element is expected"),
        row("an empty root", xml("<TRACE/>"), "", (0, 0)),
        cut("`</TRACE>` is missing", bytes(begin()), "at byte 416: truncated (structure): the trace is truncated: missing </TRACE>"),
        cut("a tag that is truncated", bytes([&begin(), &b"<gcStart time=\"1."[..]].concat()), "at byte 416: truncated (structure): the trace is truncated: missing </TRACE>"),
        failed("text after the root", xml("<TRACE>\n</TRACE>\nmore"), "can't read FILE: xml: at byte 17: text where an element is expected"),
        failed("two roots", xml("<TRACE>\n</TRACE>\n<TRACE>\n</TRACE>\n"), "can't read FILE: xml: at byte 17: only one TRACE is allowed, and nothing outside of it"),
        failed("a document type", xml("<!DOCTYPE TRACE SYSTEM \"file:///etc/passwd\">\n<TRACE>\n</TRACE>\n"), "can't read FILE: xml: at byte 0: a document type is not allowed"),
        failed("an entity bomb", xml("<?xml version=\"1.0\"?>\n<!DOCTYPE TRACE [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n<TRACE><custom body=\"&b;\"/></TRACE>\n"), "can't read FILE: xml: at byte 22: a document type is not allowed"),
        faulty("an entity that is not known", inside("<custom body=\"&bomb;\"/>"), "xml: at byte 430: &bomb; is no reference that is known"),
        faulty("a reference without end", inside("<custom body=\"&#65\"/>"), "xml: at byte 430: & is no begin of a reference"),
        faulty("a reference to a zero", inside("<custom body=\"&#0;\"/>"), "xml: at byte 430: &#0; is no reference that is known"),
        faulty("a reference to half a surrogate pair", inside("<custom body=\"&#xD800;\"/>"), "xml: at byte 430: &#xD800; is no reference that is known"),
        faulty("a control character", inside("<custom body=\"\u{1}\"/>"), "xml: at byte 430: character U+0001 is not allowed"),
        failed("an encoding that is declared and not known", xml("<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n<TRACE/>"), r#"can't read FILE: xml: at byte 0: encoding="UTF-16" is not known in a declaration"#),
        faulty("Latin-1 where UTF-8 is declared", inside(b"<custom body=\"caf\xe9\"/>"), "xml: at byte 433: not UTF-8"),
        faulty("UTF-16 inside of UTF-8", inside(b"<\0g\0c\0S\0t\0a\0r\0t\0/\0>\0"), "xml: at byte 417: a name is expected"),
        faulty("a CDATA section", inside("<![CDATA[x]]>"), "xml: at byte 416: text where an element is expected"),
        cut("a comment without end", inside("<!-- <gcFinish time=\"2.0\"/>"), "at byte 416: truncated (structure): the trace is truncated: missing </TRACE>"),
        faulty("an end tag that closes nothing", inside("</gcStart>"), "xml: at byte 416: an end tag that does not close TRACE"),
        faulty("a tag that is not closed", inside("<custom body=\"x\">"), "xml: at byte 548: an end tag that does not close custom"),
        faulty("an attribute twice", inside("<custom body=\"x\" body=\"y\"/>"), "xml: at byte 433: an attribute is repeated"),
        faulty("a value without quotation marks", inside("<custom body=x/>"), "xml: at byte 429: the value of an attribute stands in quotation marks"),
        faulty("elements 33 deep", inside(format!("{}{}", "<a>".repeat(33), "</a>".repeat(33))), "xml: at byte 512: elements nest deeper than 32"),
        faulty("elements 1,000,000 deep", inside("<a>".repeat(1_000_000)), "xml: at byte 512: elements nest deeper than 32"),
        faulty("65 attributes", inside(format!("<custom {}/>", (0..65).map(|n| format!("a{n}=\"\" ")).collect::<String>())), "xml: at byte 862: an element has more than 64 attributes"),
        row("unknown elements and attributes", inside("<nothing a=\"b\"><c/></nothing><gcStart time=\"2.0\" colour=\"red\"/>"), "", (0, 0)),
        faulty("a time that is no number", inside("<gcFinish time=\"NaN\"/>"), "at byte 416: fault (structure): skipped: gcFinish: the value of time is not of its type"),
        faulty("a time with 400 digits", inside(format!("<gcFinish time=\"{}\"/>", "9".repeat(400))), "at byte 416: fault (structure): skipped: gcFinish: the value of time is not of its type"),
        faulty("an id beyond 64 bits", inside("<threadEnd threadIdRef=\"18446744073709551616\" time=\"2.0\"/>"), "at byte 416: fault (structure): skipped: threadEnd: the value of threadIdRef is not of its type"),
        faulty("a negative id", inside("<threadEnd threadIdRef=\"-1\" time=\"2.0\"/>"), "at byte 416: fault (structure): skipped: threadEnd: the value of threadIdRef is not of its type"),
        faulty("a ticket that is no number", inside("<methodExit threadIdRef=\"1\" methodIdRef=\"2\" classIdRef=\"3\" ticket=\"one\" time=\"2.0\"/>"), "at byte 416: fault (structure): skipped: methodExit: the value of ticket is not of its type"),
    ]
}

fn at(ns: i64) -> Timestamp {
    Timestamp(NOW + ns)
}

pub(super) fn enter(thread: u64, ns: i64, method: u64, ticket: u32, depth: i64) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: ThreadId(thread),
        time: at(ns),
        method: MethodId(method),
        class: ClassId(2),
        ticket,
        stack_depth: depth,
        ..MethodEnter::default()
    })
}

pub(super) fn leave(thread: u64, ns: i64, method: u64, ticket: u32) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: ThreadId(thread),
        time: at(ns),
        method: MethodId(method),
        class: ClassId(2),
        ticket,
        ..MethodLeave::default()
    })
}

fn thread(id: u64) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread: ThreadId(id),
        time: at(1),
        group: "main".into(),
        name: "main".into(),
        ..ThreadStart::default()
    })
}

fn class(id: u64) -> Event<'static> {
    Event::ClassDef(ClassDef {
        class: ClassId(id),
        time: at(2),
        name: "a.B".into(),
        ..ClassDef::default()
    })
}

fn method(id: u64, class: u64) -> Event<'static> {
    Event::MethodDef(MethodDef {
        method: MethodId(id),
        class: ClassId(class),
        name: "run".into(),
        signature: "()V".into(),
        ..MethodDef::default()
    })
}

fn opening() -> Vec<Event<'static>> {
    let time = at(0);
    vec![
        Event::Node(Node {
            node_id: "n".into(),
            time,
            ..Node::default()
        }),
        ProcessCreate {
            process_id: "p".into(),
            node_id: "n".into(),
            time,
            ..ProcessCreate::default()
        }
        .into(),
        AgentCreate {
            agent_id: "a".into(),
            process_id: "p".into(),
            name: "jtrail".into(),
            time,
            ..AgentCreate::default()
        }
        .into(),
        Event::TraceStart(TraceStart {
            trace_id: "t".into(),
            agent_id: "a".into(),
            time,
        }),
    ]
}

fn ending() -> Vec<Event<'static>> {
    let time = at(1_000);
    vec![
        Event::TraceEnd(TraceEnd {
            trace_id: "t".into(),
            time,
        }),
        Event::AgentDestroy(AgentDestroy {
            agent_id: "a".into(),
            time,
        }),
    ]
}

/// A small sound trace: thread 1, class 2, method 3, one call.
pub(super) fn sample() -> Vec<Event<'static>> {
    let middle = vec![
        thread(1),
        class(2),
        method(3, 2),
        enter(1, 10, 3, 1, 1),
        leave(1, 20, 3, 1),
    ];
    [opening(), middle, ending()].concat()
}

/// The sample with these events before its end.
fn with(events: &[Event<'static>]) -> Given {
    let mut all = sample();
    let end = all.len() - 2;
    all.splice(end..end, events.iter().cloned());
    bytes(encoded(Format::TptpBinary, &all))
}

pub(super) fn encoded(format: Format, events: &[Event<'_>]) -> Vec<u8> {
    let mut encoder = format.encoder();
    let mut out = Vec::new();
    encoder.begin(&mut out);
    events.iter().for_each(|e| encoder.event(e, &mut out));
    encoder.end(&mut out);
    out
}

fn custom(body: &'static str) -> Event<'static> {
    Event::Custom(Custom { body: body.into() })
}

/// Events that are encoded correctly and make no sense.
#[rustfmt::skip]
pub(super) fn meaning() -> Vec<Row> {
    const MAX_ID: u64 = u64::MAX;
    // Readers accept these traces; only the checker reports what is wrong.
    let faulty = |what, given, says| row(what, given, says, (1, 0));
    let end = Event::ThreadEnd(ThreadEnd {
        thread: ThreadId(1),
        time: at(30),
    });
    let mut early = enter(1, 30, 3, 2, 1);
    if let Event::MethodEnter(e) = &mut early {
        e.time = Timestamp(i64::MIN);
    }
    let mut late = leave(1, 30, 3, 2);
    if let Event::MethodLeave(e) = &mut late {
        e.time = Timestamp(i64::MAX);
    }
    let alloc = |object| {
        Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(1),
            time: at(30),
            object: ObjectId(object),
            size: i64::MIN,
            class: ClassId(2),
            ..ObjectAlloc::default()
        })
    };
    let free = |object| {
        Event::ObjectFree(ObjectFree {
            time: at(40),
            object: ObjectId(object),
            ..ObjectFree::default()
        })
    };
    let aggregated = |calls| {
        Event::AggregatedEnter(AggregatedEnter {
            thread: ThreadId(1),
            method: MethodId(3),
            base_time: Duration(i64::MAX),
            min_time: Duration(i64::MIN),
            max_time: Duration(i64::MAX),
            calls,
            ..AggregatedEnter::default()
        })
    };
    let closing = || {
        Event::GcFinish(GcFinish {
            time: at(30),
            ..GcFinish::default()
        })
    };
    vec![
        row("nothing but an opening", bytes(encoded(Format::TptpBinary, &opening())), "at byte 111: truncated (order): the trace does not say that collection ended", (3, 0)),
        faulty("no opening", bytes(encoded(Format::TptpBinary, &sample()[4..])), "at byte 37: fault (order): the trace opens without node"),
        faulty("two openings", bytes(encoded(Format::TptpBinary, &[opening(), sample()].concat())), "at byte 130: fault (order): node is repeated"),
        faulty("an event after the end", bytes(encoded(Format::TptpBinary, &[sample(), vec![closing()]].concat())), "at byte 542: fault (order): events after agent end"),
        faulty("a leave without an enter", with(&[leave(1, 30, 3, 2)]), "at byte 509: fault (calls): thread 1: the leave of method 3, ticket 2, has no open call"),
        faulty("a leave of another method", with(&[method(4, 2), enter(1, 30, 3, 2, 1), leave(1, 40, 4, 2)]), "at byte 655: fault (calls): thread 1: the call with ticket 2 entered method 3 and leaves 4"),
        faulty("a leave with another ticket", with(&[enter(1, 30, 3, 2, 1), leave(1, 40, 3, 3)]), "at byte 593: fault (calls): thread 1: the leave of method 3, ticket 3, has no open call"),
        faulty("a leave that skips calls", with(&[enter(1, 30, 3, 2, 1), enter(1, 31, 3, 3, 2), leave(1, 40, 3, 2)]), "at byte 677: fault (calls): thread 1: the leave of method 3, ticket 2, skips 1 open calls"),
        faulty("a call of an unknown thread", with(&[enter(9, 30, 3, 1, 1)]), "at byte 509: fault (definitions): thread 9 was not defined"),
        faulty("a call of an unknown method", with(&[enter(1, 30, 9, 2, 1), leave(1, 31, 9, 2)]), "at byte 509: fault (definitions): method 9 was not defined"),
        faulty("a call before its method is defined", with(&[enter(1, 30, 4, 2, 1), method(4, 2), leave(1, 31, 4, 2)]), "at byte 509: fault (definitions): method 4 was not defined"),
        faulty("a method of an unknown class", with(&[method(4, 9)]), "at byte 509: fault (definitions): class 9 was not defined"),
        faulty("a call after the end of its thread", with(&[end.clone(), enter(1, 40, 3, 2, 1)]), "at byte 541: fault (thread-end): thread 1 has ended already"),
        faulty("a thread that ends twice", with(&[end.clone(), end.clone()]), "at byte 541: fault (thread-end): thread 1 has ended already"),
        faulty("a thread that ends inside of a call", with(&[enter(1, 25, 3, 2, 1), end.clone()]), "at byte 593: fault (thread-end): thread 1 ends with 1 calls open"),
        faulty("a thread defined twice", with(&[thread(1)]), "at byte 509: fault (ids): thread 1 is defined again"),
        faulty("a class defined twice", with(&[class(2)]), "at byte 509: fault (ids): class 2 is defined again"),
        faulty("a method defined twice", with(&[method(3, 2)]), "at byte 509: fault (ids): method 3 is defined again"),
        faulty("a thread with id 0", with(&[thread(0)]), "at byte 509: fault (ids): a thread is defined with id 0, which means none"),
        row("ids of 18446744073709551615", with(&[thread(MAX_ID), class(MAX_ID - 1), method(MAX_ID, MAX_ID - 1)]), "", (0, 0)),
        faulty("calls of unknown threads with huge ids", with(&[enter(MAX_ID, 30, MAX_ID, u32::MAX, 1), leave(MAX_ID, 31, MAX_ID, u32::MAX)]), "at byte 509: fault (definitions): method 18446744073709551615 was not defined"),
        faulty("depth -1", with(&[enter(1, 30, 3, 2, -1), leave(1, 31, 3, 2)]), "at byte 509: fault (depth): thread 1: a call at depth -1 is not deeper than its caller at 0"),
        faulty("depth 2147483647", with(&[enter(1, 30, 3, 2, i64::from(i32::MAX)), leave(1, 31, 3, 2)]), "at byte 509: fault (depth): thread 1: a call at depth 2147483647, with 0 calls open"),
        faulty("depth -9223372036854775808", with(&[enter(1, 30, 3, 2, i64::MIN), leave(1, 31, 3, 2)]), "at byte 509: fault (depth): thread 1: a call at depth -9223372036854775808 is not deeper than its caller at 0"),
        faulty("a ticket again", with(&[enter(1, 30, 3, 1, 1), leave(1, 31, 3, 1)]), "at byte 509: fault (tickets): thread 1: ticket 1 follows 1: tickets must rise"),
        faulty("time that falls", with(&[enter(1, 15, 3, 2, 1), leave(1, 16, 3, 2)]), "at byte 509: fault (time): thread 1: time falls from 1700000000.000000020 to 1700000000.000000015"),
        faulty("a call from the smallest to the largest time", with(&[early.clone(), late.clone()]), "at byte 509: fault (time): thread 1: time falls from 1700000000.000000020 to -9223372036.854775808"),
        faulty("calls over all time, three deep", with(&[early.clone(), enter(1, 30, 3, 3, 2), early, late.clone(), leave(1, 30, 3, 3), late]), "at byte 509: fault (time): thread 1: time falls from 1700000000.000000020 to -9223372036.854775808"),
        faulty("the end of a collection that did not begin", with(&[closing()]), "at byte 509: fault (collections): a collection ends, and did not begin"),
        faulty("an object that dies twice", with(&[alloc(50), free(50), free(50)]), "at byte 671: fault (collections): object 50 was freed already"),
        faulty("an object that dies and was not there", with(&[free(51)]), "at byte 509: fault (definitions): object 51 was not defined"),
        faulty("an object defined twice", with(&[alloc(50), alloc(50)]), "at byte 599: fault (ids): object 50 is defined again"),
        faulty("aggregated calls of the longest time", with(&[aggregated(i64::MAX), aggregated(i64::MAX)]), "at byte 509: fault (aggregated): calls and aggregated calls stand in one trace"),
        faulty("totals that do not agree", with(&[custom("jtrail totals enters=18446744073709551615 leaves=1 repaired=0 lost=0 open=0 classes=1 methods=1 uninstrumented=0")]), "at byte 645: fault (totals): the agent counted 18446744073709551615 enters, the trace has 1"),
        faulty("losses of an unknown thread, more than can be counted", with(&[custom("jtrail lost thread=9 events=18446744073709551615 from=0 to=1 reason=overflow"), custom("jtrail lost thread=9 events=18446744073709551615 from=0 to=1 reason=overflow")]), "at byte 509: fault (definitions): thread 9 was not defined"),
        row("a note that is none", with(&[custom("jtrail totals enters=many"), custom("jtrail \u{1b}[2J")]), "", (0, 0)),
    ]
}

/// Returns a trace whose thread has a name that would control a terminal. The trace is binary,
/// because XML forbids such a name.
pub(super) fn hostile_names() -> Vec<u8> {
    let mut events = sample();
    let Some(Event::ThreadStart(e)) = events.get_mut(4) else {
        unreachable!("the fifth event of the sample");
    };
    e.name = "\u{1b}]0;pwned\u{7}\u{1b}[2J\r\n\u{202e}".into();
    encoded(Format::TptpBinary, &events)
}

/// Creates the file that `given` describes at `path`, unless the file exists elsewhere. Returns the
/// file's path. A pipe gets no writer.
pub(super) fn place<'a>(given: &Given, path: &'a Path) -> &'a Path {
    use std::fs;
    use std::os::unix::fs::symlink;
    match given {
        Given::Bytes(bytes) => fs::write(path, bytes).expect("written"),
        Given::Path(path) => return Path::new(*path),
        Given::Directory => fs::create_dir(path).expect("a directory"),
        Given::Loop => symlink(path, path).expect("a link"),
        Given::Pipe(_) => {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.expect("mkfifo is there").success());
        }
    }
    path
}
