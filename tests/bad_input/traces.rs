//! Trace files that are not what they should be, each with what `jtrail verify` says of it.

use jtrail_formats::Format;
use jtrail_model::*;
use std::io::{self, Write};
use std::path::Path;

/// How a file is given.
pub(super) enum Given {
    Bytes(Vec<u8>),
    /// What is there without us.
    Path(&'static str),
    Directory,
    /// A link to itself.
    Loop,
    /// A file without the right to read it; a superuser has it anyway.
    Locked,
    /// A pipe, and its writer.
    Pipe(fn(&mut dyn Write) -> io::Result<()>),
}

/// A row of the table.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) given: Given,
    /// The line of `jtrail verify` that tells, with `FILE` for the file's name.
    pub(super) says: &'static str,
    /// Exit codes of `verify`, and of `report`, `dump` and `convert`.
    pub(super) codes: (u8, u8),
}

fn row(what: &'static str, given: Given, says: &'static str, codes: (u8, u8)) -> Row {
    Row {
        what,
        given,
        says,
        codes,
    }
}

fn bytes(bytes: impl AsRef<[u8]>) -> Given {
    Given::Bytes(bytes.as_ref().to_vec())
}

/// Files that are no traces.
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
        row(
            "no file",
            Given::Path("/nonexistent/trace"),
            "can't read FILE: No such file or directory (os error 2)",
            FAILED,
        ),
        row(
            "a directory",
            Given::Directory,
            "can't read FILE: it is a directory; name the trace file in it",
            FAILED,
        ),
        row(
            "a link to itself",
            Given::Loop,
            "can't read FILE: Too many levels of symbolic links (os error 40)",
            FAILED,
        ),
        row(
            "a file without the right to read it",
            Given::Locked,
            "can't read FILE: Permission denied (os error 13)",
            FAILED,
        ),
        row(
            "a file whose first read fails (`/proc/self/mem`)",
            Given::Path("/proc/self/mem"),
            "can't read FILE: Input/output error (os error 5)",
            FAILED,
        ),
        alien("one byte", b"0"),
        alien("three bytes of the magic", b"0TB"),
        alien("another magic", b"1TBF\x01\x00\x01\x01\x0c\x00\x00\x00"),
        alien("plain text", b"Hello, world\n"),
        alien("zeros", &[0; 4096]),
        row("`/dev/zero`, which has no end", Given::Path("/dev/zero"), UNKNOWN, FAILED),
        row(
            "a ZIP archive",
            bytes(b"PK\x03\x04\x14\x00\x00\x00"),
            "can't read FILE: not a trace: it is a ZIP archive; unpack it first and read the XML documents in it",
            FAILED,
        ),
        alien("a gzip file", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"),
        row("an ELF program (this test)", Given::Path("/proc/self/exe"), UNKNOWN, FAILED),
        alien("a PNG image", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"),
        alien("a class file", b"\xca\xfe\xba\xbe\x00\x00\x00\x41"),
        alien("XML in UTF-16", b"\xff\xfe<\x00T\x00R\x00A\x00C\x00E\x00/\x00>\x00"),
        alien("a heap dump of the JVM", b"JAVA PROFILE 1.0.2\0\0\0\0\x08"),
    ]
}

/// Header of a little-endian stream whose data start at byte 12.
const HEADER: &[u8] = b"0TBF\x01\x00\x01\x01\x0c\x00\x00\x00";
const NOW: i64 = 1_700_000_000_000_000_000;

fn message(id: u16, size: u32, body: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &size.to_le_bytes(), body].concat()
}

/// A message with its right size.
fn sized(id: u16, body: &[u8]) -> Vec<u8> {
    message(id, 6 + body.len() as u32, body)
}

fn header(at: usize, byte: u8) -> Given {
    let mut whole = encoded(Format::TptpBinary, &sample());
    whole[at] = byte;
    bytes(whole)
}

/// The sample, and these messages behind it.
fn behind(messages: &[Vec<u8>]) -> Given {
    bytes([&encoded(Format::TptpBinary, &sample())[..], &messages.concat()].concat())
}

/// A header, these bytes, and nothing else.
fn alone(messages: &[Vec<u8>]) -> Given {
    bytes([HEADER, &messages.concat()].concat())
}

/// monWait with no frame, but with this number of frames.
fn frames(n: i32) -> Vec<u8> {
    let longs: Vec<u8> = [1, NOW, 2, 0].iter().flat_map(|n: &i64| n.to_le_bytes()).collect();
    sized(1032, &[&longs[..], &n.to_le_bytes()].concat())
}

/// Damage in the binary spelling.
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
        failed("a big-endian header over a little-endian body", header(7, 0), "can't read FILE: binary: at byte 8: the data start behind the end of the file"),
        failed("data that start inside the header", header(8, 11), "can't read FILE: binary: at byte 8: the data start at byte 11, inside the header"),
        failed("data that start behind the end", header(11, 255), "can't read FILE: binary: at byte 8: the data start behind the end of the file"),
        row("a header and nothing else", alone(&[]), "", (0, 0)),
        failed("an encoding that is not known", alone(&[sized(1, b"EBCDIC\0")]), ""),
        failed("an encoding without end", alone(&[sized(1, b"UTF8")]), ""),
        faulty("the encoding behind the data", behind(&[sized(1, b"UTF8\0")]), ""),
        failed("no ticks in a second", alone(&[sized(2, &[0; 8])]), ""),
        failed("-1 ticks in a second", alone(&[sized(2, &[255; 8])]), ""),
        faulty("a time beyond 64 bits of nanoseconds", alone(&[sized(2, &1_i64.to_le_bytes()), sized(1023, &[255; 26]), sized(1023, &[[0; 16], [127; 16]].concat()[..26])]), ""),
        faulty("a message of size 0", behind(&[message(1041, 0, b"")]), ""),
        faulty("a message of size 5", behind(&[message(1041, 5, b"")]), ""),
        failed("a message of size 0 as the first", alone(&[message(1041, 0, b"")]), ""),
        row("a message of size 0xffffffff", behind(&[message(1041, u32::MAX, b"x")]), "", (3, 3)),
        row("an unknown message of size 0xffffffff", behind(&[message(1999, u32::MAX, b"x")]), "", (3, 3)),
        row("half of a message's head", behind(&[vec![0xf1, 0x03, 9]]), "", (3, 3)),
        row("half of a message", behind(&[message(1009, 74, &[0; 40])]), "", (3, 3)),
        row("a message with an unknown id", behind(&[sized(1013, b"xyz")]), "", (0, 0)),
        faulty("message id 0", behind(&[sized(0, b"")]), ""),
        faulty("message id 65535", behind(&[sized(65535, b"")]), ""),
        faulty("a message that is one byte short", behind(&[sized(1023, &[0; 25])]), ""),
        faulty("a message that is one byte long", behind(&[sized(1023, &[0; 27])]), ""),
        faulty("a text without end", behind(&[sized(1041, b"no zero")]), ""),
        faulty("a text that is no UTF-8", behind(&[sized(1041, b"\xff\xfe\0")]), ""),
        faulty("-1 frames", behind(&[frames(-1)]), ""),
        faulty("2147483647 frames", behind(&[frames(i32::MAX)]), ""),
        faulty("two traces, one behind the other", behind(&[HEADER.to_vec(), vec![0; 8]]), ""),
    ]
}

fn xml(text: impl AsRef<str>) -> Given {
    bytes(text.as_ref())
}

/// A document with this inside, behind one good event.
fn inside(text: &str) -> Given {
    xml(format!("<TRACE>\n<gcStart time=\"1.0\"/>\n{text}\n</TRACE>\n"))
}

/// Damage in the XML spelling.
pub(super) fn document() -> Vec<Row> {
    let faulty = |what, given, says| row(what, given, says, (1, 1));
    let failed = |what, given, says| row(what, given, says, (2, 2));
    let cut = |what, given, says| row(what, given, says, (3, 3));
    vec![
        cut("`<` alone", xml("<"), ""),
        failed("HTML", xml("<html><body>no</body></html>"), ""),
        failed("another root", xml("<trace>\n</trace>\n"), ""),
        failed("text before the root", xml("<?xml version=\"1.0\"?>\nhello <TRACE/>\n"), ""),
        row("an empty root", xml("<TRACE/>"), "", (0, 0)),
        cut("`</TRACE>` is missing", xml("<TRACE>\n<gcStart time=\"1.0\"/>\n"), ""),
        cut("a tag that breaks off", xml("<TRACE>\n<gcStart time=\"1."), ""),
        failed("text behind the root", xml("<TRACE>\n</TRACE>\nmore"), ""),
        failed("two roots", xml("<TRACE>\n</TRACE>\n<TRACE>\n</TRACE>\n"), ""),
        failed("a document type", xml("<!DOCTYPE TRACE SYSTEM \"file:///etc/passwd\">\n<TRACE>\n</TRACE>\n"), ""),
        failed(
            "an entity bomb",
            xml("<?xml version=\"1.0\"?>\n<!DOCTYPE TRACE [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n<TRACE><custom body=\"&b;\"/></TRACE>\n"),
            "",
        ),
        faulty("an entity that is not known", inside("<custom body=\"&bomb;\"/>"), ""),
        faulty("a reference without end", inside("<custom body=\"&#65\"/>"), ""),
        faulty("a reference to a zero", inside("<custom body=\"&#0;\"/>"), ""),
        faulty("a reference to half a surrogate pair", inside("<custom body=\"&#xD800;\"/>"), ""),
        faulty("a control character", inside("<custom body=\"\u{1}\"/>"), ""),
        failed("an encoding that is declared and not known", xml("<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n<TRACE/>"), ""),
        failed("a declaration with 100,000 characters", xml(format!("<?xml version=\"{}\"?>\n<TRACE/>", "2".repeat(100_000))), ""),
        faulty("Latin-1 where UTF-8 is declared", bytes(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<TRACE>\n<gcStart time=\"1.0\"/>\n<custom body=\"caf\xe9\"/>\n</TRACE>\n"), ""),
        faulty("UTF-16 inside of UTF-8", bytes(b"<TRACE>\n<gcStart time=\"1.0\"/>\n<\0c\0u\0s\0t\0o\0m\0/\0>\0\n</TRACE>\n"), ""),
        faulty("a CDATA section", inside("<![CDATA[x]]>"), ""),
        faulty("a comment without end", inside("<!-- <gcFinish time=\"2.0\"/>"), ""),
        faulty("an end tag that closes nothing", inside("</gcStart>"), ""),
        faulty("a tag that is not closed", inside("<custom body=\"x\">"), ""),
        faulty("an attribute twice", inside("<custom body=\"x\" body=\"y\"/>"), ""),
        faulty("a value without quotation marks", inside("<custom body=x/>"), ""),
        faulty("elements 33 deep", inside(&format!("{}{}", "<a>".repeat(33), "</a>".repeat(33))), ""),
        faulty("elements 1,000,000 deep", inside(&"<a>".repeat(1_000_000)), ""),
        faulty("65 attributes", inside(&format!("<custom {}/>", (0..65).map(|n| format!("a{n}=\"\" ")).collect::<String>())), ""),
        row("unknown elements and attributes", inside("<nothing a=\"b\"><c/></nothing><gcFinish time=\"2.0\" colour=\"red\"/>"), "", (0, 0)),
        faulty("a time that is no number", inside("<gcFinish time=\"NaN\"/>"), ""),
        faulty("a time with 400 digits", inside(&format!("<gcFinish time=\"{}\"/>", "9".repeat(400))), ""),
        faulty("an id beyond 64 bits", inside("<threadEnd threadIdRef=\"18446744073709551616\" time=\"2.0\"/>"), ""),
        faulty("a negative id", inside("<threadEnd threadIdRef=\"-1\" time=\"2.0\"/>"), ""),
        faulty("a ticket that is no number", inside("<methodExit threadIdRef=\"1\" methodIdRef=\"2\" classIdRef=\"3\" ticket=\"one\" time=\"2.0\"/>"), ""),
    ]
}

fn at(ns: i64) -> Timestamp {
    Timestamp(NOW + ns)
}

fn enter(thread: u64, ns: i64, method: u64, ticket: u32, depth: i64) -> Event<'static> {
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

fn leave(thread: u64, ns: i64, method: u64, ticket: u32) -> Event<'static> {
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
        Event::ProcessCreate(ProcessCreate {
            process_id: "p".into(),
            node_id: "n".into(),
            time,
            ..ProcessCreate::default()
        }),
        Event::AgentCreate(AgentCreate {
            agent_id: "a".into(),
            process_id: "p".into(),
            name: "jtrail".into(),
            time,
            ..AgentCreate::default()
        }),
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
fn sample() -> Vec<Event<'static>> {
    let middle = vec![thread(1), class(2), method(3, 2), enter(1, 10, 3, 1, 1), leave(1, 20, 3, 1)];
    [opening(), middle, ending()].concat()
}

/// The sample with these events before its end.
fn with(events: &[Event<'static>]) -> Given {
    let mut all = sample();
    let end = all.len() - 2;
    all.splice(end..end, events.iter().cloned());
    bytes(encoded(Format::TptpBinary, &all))
}

fn encoded(format: Format, events: &[Event<'_>]) -> Vec<u8> {
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

/// Events that are well spelled and make no sense.
pub(super) fn meaning() -> Vec<Row> {
    const MOST: u64 = u64::MAX;
    // Reading such a trace is no trouble; only the checker sees what is wrong.
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
    let closing = || Event::GcFinish(GcFinish { time: at(30), ..GcFinish::default() });
    vec![
        row("nothing but an opening", bytes(encoded(Format::TptpBinary, &opening())), "", (0, 0)),
        faulty("no opening", bytes(encoded(Format::TptpBinary, &sample()[4..])), ""),
        faulty("two openings", bytes(encoded(Format::TptpBinary, &[opening(), sample()].concat())), ""),
        faulty("an event behind the end", bytes(encoded(Format::TptpBinary, &[sample(), vec![closing()]].concat())), ""),
        faulty("a leave without an enter", with(&[leave(1, 30, 3, 2)]), ""),
        faulty("a leave of another method", with(&[method(4, 2), enter(1, 30, 3, 2, 1), leave(1, 40, 4, 2)]), ""),
        faulty("a leave with another ticket", with(&[enter(1, 30, 3, 2, 1), leave(1, 40, 3, 3)]), ""),
        faulty("a leave that skips calls", with(&[enter(1, 30, 3, 2, 1), enter(1, 31, 3, 3, 2), leave(1, 40, 3, 2)]), ""),
        faulty("a call of an unknown thread", with(&[enter(9, 30, 3, 1, 1)]), ""),
        faulty("a call of an unknown method", with(&[enter(1, 30, 9, 2, 1), leave(1, 31, 9, 2)]), ""),
        faulty("a call before its method is announced", with(&[enter(1, 30, 4, 2, 1), method(4, 2), leave(1, 31, 4, 2)]), ""),
        faulty("a method of an unknown class", with(&[method(4, 9)]), ""),
        faulty("a call after the end of its thread", with(&[end.clone(), enter(1, 40, 3, 2, 1)]), ""),
        faulty("a thread that ends twice", with(&[end.clone(), end.clone()]), ""),
        faulty("a thread that ends inside of a call", with(&[enter(1, 25, 3, 2, 1), end.clone()]), ""),
        faulty("a thread announced twice", with(&[thread(1)]), ""),
        faulty("a class announced twice", with(&[class(2)]), ""),
        faulty("a method announced twice", with(&[method(3, 2)]), ""),
        faulty("a thread with id 0", with(&[thread(0)]), ""),
        row("ids of 18446744073709551615", with(&[thread(MOST), class(MOST - 1), method(MOST, MOST - 1)]), "", (0, 0)),
        faulty("calls of unknown threads with huge ids", with(&[enter(MOST, 30, MOST, u32::MAX, 1), leave(MOST, 31, MOST, u32::MAX)]), ""),
        faulty("depth -1", with(&[enter(1, 30, 3, 2, -1), leave(1, 31, 3, 2)]), ""),
        faulty("depth 2147483647", with(&[enter(1, 30, 3, 2, i64::from(i32::MAX)), leave(1, 31, 3, 2)]), ""),
        faulty("depth -9223372036854775808", with(&[enter(1, 30, 3, 2, i64::MIN), leave(1, 31, 3, 2)]), ""),
        faulty("a ticket again", with(&[enter(1, 30, 3, 1, 1), leave(1, 31, 3, 1)]), ""),
        faulty("time that falls", with(&[enter(1, 15, 3, 2, 1), leave(1, 16, 3, 2)]), ""),
        faulty("a call from the smallest to the largest time", with(&[early.clone(), late.clone()]), ""),
        faulty("calls over all time, three deep", with(&[early.clone(), enter(1, 30, 3, 3, 2), early, late.clone(), leave(1, 30, 3, 3), late]), ""),
        faulty("the end of a collection that did not begin", with(&[closing()]), ""),
        faulty("an object that dies twice", with(&[alloc(50), free(50), free(50)]), ""),
        faulty("an object that dies and was not there", with(&[free(51)]), ""),
        faulty("an object announced twice", with(&[alloc(50), alloc(50)]), ""),
        faulty("aggregated calls of the longest time", with(&[aggregated(i64::MAX), aggregated(i64::MAX)]), ""),
        faulty("totals that do not agree", with(&[custom("jtrail totals enters=18446744073709551615 leaves=1 repaired=0 lost=0 open=0 classes=1 methods=1 uncovered=0")]), ""),
        faulty("losses of an unknown thread, more than can be counted", with(&[custom("jtrail lost thread=9 events=18446744073709551615 from=0.000000000 to=1.000000000 reason=overflow"), custom("jtrail lost thread=9 events=18446744073709551615 from=0.000000000 to=1.000000000 reason=overflow")]), ""),
        row("a note that is none", with(&[custom("jtrail totals enters=many"), custom("jtrail \u{1b}[2J")]), "", (0, 0)),
    ]
}

/// 64 KiB blocks of this text, `megabytes` in all.
fn flood(to: &mut dyn Write, text: &str, megabytes: usize) -> io::Result<()> {
    let block = text.repeat((64 << 10) / text.len());
    for _ in 0..megabytes * 16 {
        to.write_all(block.as_bytes())?;
    }
    Ok(())
}

const BEGIN: &[u8] = b"<TRACE>\n<gcStart time=\"1.0\"/>\n";

/// Input that would take much memory or time, read in a process of its own with little of both. Written
/// while it is read, so that its size costs no room on the disk.
pub(super) fn huge() -> Vec<Row> {
    vec![
        row(
            "an attribute of 100 MB",
            Given::Pipe(|to| {
                to.write_all(BEGIN)?;
                to.write_all(b"<custom body=\"")?;
                flood(to, "x", 100)?;
                to.write_all(b"\"/>\n</TRACE>\n")
            }),
            "",
            (1, 1),
        ),
        row(
            "a name of 100 MB",
            Given::Pipe(|to| {
                to.write_all(b"<TRACE>\n<")?;
                flood(to, "x", 100)
            }),
            "",
            (2, 2),
        ),
        row(
            "a comment of 15 MB, full of `>`",
            Given::Pipe(|to| {
                to.write_all(BEGIN)?;
                to.write_all(b"<!--")?;
                flood(to, ">", 15)?;
                to.write_all(b"-->\n</TRACE>\n")
            }),
            "",
            (0, 0),
        ),
        row(
            "100 MB of white space",
            Given::Pipe(|to| {
                to.write_all(BEGIN)?;
                flood(to, " ", 100)?;
                to.write_all(b"</TRACE>\n")
            }),
            "",
            (0, 0),
        ),
        row(
            "500,000 unknown elements and attributes, each with a name of its own",
            Given::Pipe(|to| {
                to.write_all(BEGIN)?;
                let mut to = io::BufWriter::new(to);
                for n in 0..500_000 {
                    writeln!(to, "<e{n} a{n}=\"\"/><custom body=\"\" b{n}=\"\"/>")?;
                }
                to.write_all(b"</TRACE>\n")
            }),
            "",
            (0, 0),
        ),
        row(
            "frames of one event, 100 MB",
            Given::Pipe(|to| {
                to.write_all(BEGIN)?;
                to.write_all(b"<monWait threadIdRef=\"1\" time=\"1.0\" objIdRef=\"1\" timeout=\"0\">\n")?;
                flood(to, "<annotation key=\"stackFrame\" value=\"a.B.c\" line=\"1\"/>\n", 100)?;
                to.write_all(b"</monWait>\n</TRACE>\n")
            }),
            "",
            (1, 1),
        ),
        row(
            "a binary event of 100 MB",
            Given::Pipe(|to| {
                to.write_all(&encoded(Format::TptpBinary, &sample()))?;
                to.write_all(&message(1041, 6 + (100 << 20), b""))?;
                flood(to, "x", 100)
            }),
            "",
            (1, 1),
        ),
        row(
            "binary data that start at 100 MB",
            Given::Pipe(|to| {
                let whole = encoded(Format::TptpBinary, &sample());
                to.write_all(&whole[..8])?;
                to.write_all(&(12 + (100_u32 << 20)).to_le_bytes())?;
                flood(to, "x", 100)?;
                to.write_all(&whole[12..])
            }),
            "",
            (0, 0),
        ),
        row(
            "1,000,000 leaves without an enter",
            Given::Pipe(|to| {
                to.write_all(&encoded(Format::TptpBinary, &sample()[..7]))?;
                let leave = encoded(Format::TptpBinary, &[leave(1, 30, 3, 2)]);
                let leave = &leave[leave.len() - 85..];
                let block = leave.repeat(1_000);
                (0..1_000).try_for_each(|_| to.write_all(&block))
            }),
            "",
            (1, 0),
        ),
        row(
            "300,000 calls inside of each other",
            Given::Pipe(|to| {
                let mut encoder = Format::TptpBinary.encoder();
                let mut out = Vec::new();
                encoder.begin(&mut out);
                sample()[..7].iter().for_each(|e| encoder.event(e, &mut out));
                for n in 1..=300_000_u32 {
                    encoder.event(&enter(1, i64::from(n), 3, n, i64::from(n)), &mut out);
                }
                to.write_all(&out)
            }),
            "",
            (0, 0),
        ),
    ]
}

/// A thread's name that would take a terminal over; binary only, for XML forbids it.
pub(super) fn hostile_names() -> Vec<u8> {
    let mut events = sample();
    let Some(Event::ThreadStart(e)) = events.get_mut(4) else {
        unreachable!("the fifth event of the sample");
    };
    e.name = "\u{1b}]0;pwned\u{7}\u{1b}[2J\r\n\u{202e}".into();
    encoded(Format::TptpBinary, &events)
}

/// Makes what `given` says, at `path` where it has no place of its own. A pipe is made without its
/// writer. `None` where this user can't make it.
pub(super) fn place<'a>(given: &Given, path: &'a Path) -> Option<&'a Path> {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    match given {
        Given::Bytes(bytes) => fs::write(path, bytes).expect("written"),
        Given::Path(path) => return Some(Path::new(*path)),
        Given::Directory => fs::create_dir(path).expect("a directory"),
        Given::Loop => symlink(path, path).expect("a link"),
        Given::Locked => {
            fs::write(path, "0TBF").expect("written");
            fs::set_permissions(path, Permissions::from_mode(0)).expect("its own file");
            if fs::File::open(path).is_ok() {
                return None;
            }
        }
        Given::Pipe(_) => {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.expect("mkfifo is there").success());
        }
    }
    Some(path)
}
