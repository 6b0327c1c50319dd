//! Damage in the formats other than TPTP's. Each row changes a seed of the fuzz targets.

use super::traces::{Given, Row, row};

pub(super) const JINSIGHT: &[u8] = include_bytes!("../../fuzz/seeds/jinsight/every-event");
pub(super) const MLPD: &[u8] = include_bytes!("../../fuzz/seeds/mlpd/every-event");
const MLPD_17: &[u8] = include_bytes!("../../fuzz/seeds/mlpd/every-event-17");
const MLPD_GZIP: &[u8] = include_bytes!("../../fuzz/seeds/mlpd/every-event-17-gzip");
pub(super) const TRACELOG: &[u8] = include_bytes!("../../fuzz/seeds/tracelog/example");
const PROFILERJ: &[u8] = include_bytes!("../../fuzz/seeds/profilerj/example");

fn bytes(bytes: &[u8]) -> Given {
    Given::Bytes(bytes.to_vec())
}

fn cut(whole: &[u8], at: usize) -> Given {
    bytes(&whole[..at])
}

/// Overwrites bytes, from the offset `at` on.
fn patch(whole: &[u8], at: usize, patch: &[u8]) -> Given {
    let mut whole = whole.to_vec();
    whole[at..at + patch.len()].copy_from_slice(patch);
    Given::Bytes(whole)
}

fn after(whole: &[u8], more: &[u8]) -> Given {
    Given::Bytes([whole, more].concat())
}

/// Replaces the first occurrence of `old`, which must exist.
fn swapped(whole: &[u8], old: &[u8], new: &[u8]) -> Given {
    let at = whole.windows(old.len()).position(|part| part == old);
    let at = at.expect("the seed has it");
    Given::Bytes([&whole[..at], new, &whole[at + old.len()..]].concat())
}

/// Returns the offset of the last buffer of a log profile.
fn last_buffer(whole: &[u8]) -> usize {
    let begins = |part: &[u8]| part == b"\x01LPM";
    whole.windows(4).rposition(begins).expect("a buffer")
}

/// Ends the lines with `\r\n`.
fn carriage_returns(whole: &[u8]) -> Given {
    let lines = whole.split_inclusive(|&byte| byte == b'\n');
    Given::Bytes(
        lines
            .flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat())
            .collect(),
    )
}

/// A row whose file can't be read at all.
fn refused(what: &'static str, given: Given, why: &str) -> Row {
    row(what, given, format!("can't read FILE: {why}"), (2, 2))
}

/// A row whose trace is truncated.
fn truncated(what: &'static str, given: Given, at: usize, how: &str) -> Row {
    row(
        what,
        given,
        format!("at byte {at}: truncated (structure): {how}"),
        (3, 3),
    )
}

/// A row about a file with damage that the reader skips.
fn fault(what: &'static str, given: Given, at: usize, expected: &str) -> Row {
    row(
        what,
        given,
        format!("at byte {at}: fault (structure): {expected}"),
        (1, 1),
    )
}

/// A row whose file is read up to an offset.
fn gives_up(what: &'static str, given: Given, format: &str, at: usize, why: &str) -> Row {
    row(
        what,
        given,
        format!("{format}: at byte {at}: {why}"),
        (1, 1),
    )
}

/// A row whose file is sound.
fn sound(what: &'static str, given: Given) -> Row {
    row(what, given, "", (0, 0))
}

/// Damage in JinsightLive.
#[rustfmt::skip]
pub(super) fn jinsight() -> Vec<Row> {
    vec![
        refused("the tag alone", cut(JINSIGHT, 1), "not a trace: its first bytes are those of no format that jtrail knows"),
        refused("a header of 44 bytes", cut(JINSIGHT, 44), "jinsight: at byte 0: the file is shorter than its header of 45 bytes"),
        refused("version 9", patch(JINSIGHT, 1, b"\x09"), "not a trace: its first bytes are those of no format that jtrail knows"),
        refused("platform 66", patch(JINSIGHT, 5, b"B"), "jinsight: at byte 5: platform 66 is not known"),
        refused("no ticks a microsecond", patch(JINSIGHT, 21, b"\0\0\0\0"), "jinsight: at byte 21: no ticks a microsecond: no time can be read"),
        sound("numbers of 2³² - 1 in the header", patch(JINSIGHT, 9, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")),
        truncated("a big-endian header over a little-endian body", patch(JINSIGHT, 5, b"!"), 69, "the trace is truncated inside a record"),
        truncated("a header and nothing else", cut(JINSIGHT, 45), 45, "the trace ends without END_FILE"),
        gives_up("an unknown record", after(&JINSIGHT[..45], b"\xff"), "jinsight", 45, "record type 0xff is not known; records have no length, so nothing after it can be read"),
        truncated("a record that is truncated", cut(JINSIGHT, 200), 177, "the trace is truncated inside a record"),
        truncated("END_FILE is missing", cut(JINSIGHT, 1107), 1107, "the trace ends without END_FILE"),
        sound("other numbers in END_FILE", patch(JINSIGHT, 1108, b"\x01\x02\x03\x04")),
        fault("bytes after END_FILE", after(JINSIGHT, b"more"), JINSIGHT.len(), "skipped: bytes after the end of the file (4)"),
        fault("two traces, one after the other", after(JINSIGHT, JINSIGHT), JINSIGHT.len(), "skipped: bytes after the end of the file (1116)"),
        truncated("a thread of an unknown class", after(&JINSIGHT[..45], b"\n\0\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x09\0\x01\0x"), 67, "the trace ends without END_FILE"),
        fault("a start of an unknown thread", after(&JINSIGHT[..45], b"\x0b\0\0\0\0\0\0\0\0\xff\xff\xff\xff"), 45, "threads that are not defined (1)"),
        truncated("a name that goes on after the end", after(&JINSIGHT[..45], b"\n\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\xff\xffx"), 45, "the trace is truncated inside a record"),
        sound("a name that is no UTF-8", swapped(JINSIGHT, b"main\x09thread", b"main\xfethread")),
        fault("a burst that ends twice", after(&JINSIGHT[..45], b"f\0\0\0\0\0\0\0\0f\0\0\0\0\0\0\0\0"), 45, "ends of bursts that did not begin (2)"),
    ]
}

/// Damage in log profiles.
#[rustfmt::skip]
pub(super) fn mlpd() -> Vec<Row> {
    vec![
        refused("the id alone", cut(MLPD, 4), "mlpd: at byte 0: the file is shorter than its header"),
        refused("a header of 31 bytes", cut(MLPD, 31), "mlpd: at byte 0: the file is shorter than its header"),
        refused("data version 2", patch(MLPD, 6, b"\x02"), "mlpd: at byte 6: unsupported data version 2"),
        refused("data version 255", patch(MLPD, 6, b"\xff"), "mlpd: at byte 6: unsupported data version 255"),
        refused("pointers of 9 bytes", patch(MLPD, 7, b"\x09"), "mlpd: at byte 7: pointers of 9 bytes"),
        refused("unknown flags", patch(MLPD, 20, b"\x01"), "mlpd: at byte 20: flags 0x1: none are known"),
        sound("a header and nothing else", cut(MLPD, 32)),
        gives_up("no buffer where one must start", after(&MLPD[..32], b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), "mlpd", 32, "no buffer starts here"),
        truncated("half of a buffer's header", cut(MLPD, 60), 32, "the trace is truncated: 28 bytes of a buffer are skipped"),
        truncated("half of a buffer", cut(MLPD, 100), 32, "the trace is truncated: 68 bytes of a buffer are skipped"),
        truncated("the last buffer is missing", cut(MLPD, last_buffer(MLPD)), last_buffer(MLPD), "the trace is truncated: the end is missing"),
        gives_up("a buffer of 4 GB", patch(MLPD, 36, b"\xff\xff\xff\xff"), "mlpd", 36, "a buffer of 4294967295 bytes"),
        fault("a buffer that is one byte short", patch(MLPD, 36, b"\xb2"), 502, "skipped: rests of buffers, as a text has no end (1)"),
        fault("an unknown event", patch(MLPD, 80, b"\x0f"), 80, "skipped: rests of buffers, as an event is unknown (1)"),
        fault("a number above 64 bits", patch(MLPD, 81, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 80, "skipped: rests of buffers, as a number has more than 64 bits (1)"),
        sound("a name without end", patch(MLPD, 106, b"x")),
        sound("a name that is no UTF-8", swapped(MLPD, b"jtrail", b"\xfe\xffrail")),
        refused("texts of 4 GB in the header of version 17", bytes(b"\x01ZPM\x03\0\x11\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff"), "mlpd: at byte 38: a text of 4294967295 bytes in the header"),
        gives_up("two traces, one after the other", after(MLPD, MLPD), "mlpd", MLPD.len(), "no buffer starts here"),
        truncated("a compressed trace that is truncated", cut(MLPD_GZIP, 300), 82, "the trace is truncated: 324 bytes of a buffer are skipped"),
        fault("damage inside of a compressed trace", patch(MLPD_GZIP, 250, b"\0\xff\0\xff"), 0, "the compressed stream has another size or checksum than it should"),
        fault("another checksum after a compressed trace", patch(MLPD_GZIP, MLPD_GZIP.len() - 8, b"\0\0\0\0"), MLPD_GZIP.len(), "the compressed stream has another size or checksum than it should"),
        fault("text after a compressed trace", after(MLPD_GZIP, b"more"), 0, "something that is not gzip follows the compressed stream"),
        gives_up("two compressed traces, one after the other", after(MLPD_GZIP, MLPD_GZIP), "mlpd", MLPD_17.len(), "no buffer starts here (unpacked)"),
    ]
}

/// Damage in trace logs.
#[rustfmt::skip]
pub(super) fn tracelog() -> Vec<Row> {
    // Appends a line.
    let odd = |what, line: &'static [u8], expected: &str| {
        let expected = format!("{expected} (1, first in line 40)");
        fault(what, after(TRACELOG, line), TRACELOG.len(), &expected)
    };
    let unfit = |what, line, record: &str| odd(what, line, &format!("skipped: {record}: fields that do not fit the record"));
    vec![
        refused("the first word alone", cut(TRACELOG, 8), "tracelog: at byte 0: no line of it is a record of this format"),
        sound("a byte order mark", swapped(TRACELOG, b"prf stm", b"\xef\xbb\xbfprf stm")),
        sound("`\\r\\n` at the ends of lines", carriage_returns(TRACELOG)),
        fault("no `prf stm`", swapped(TRACELOG, b"prf stm", b"prf cfg"), 0, "no start time in the first line (1, first in line 1)"),
        fault("a day that is none", swapped(TRACELOG, b"2026-01-02", b"2026-13-42"), 0, "skipped: prf stm: fields that do not fit the record (1, first in line 1)"),
        sound("an unknown record", after(TRACELOG, b"xyz abc 1 2 3\n")),
        odd("NULs", b"\0\0\0\0\n", "skipped: lines that begin like no record"),
        odd("text that is no UTF-8", b"cls nam 0x00000000 \"\xfe\xff\"\n", "skipped: cls nam: names of classes that have one"),
        unfit("a quoted text without end", b"cls nam 0x00000000 \"x\n", "cls nam"),
        unfit("a number beyond 64 bits", b"prf tps 99999999999999999999\n", "prf tps"),
        unfit("a number with 400 digits", b"prf tps 9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999\n", "prf tps"),
        unfit("a negative number", b"prf tps -1\n", "prf tps"),
        unfit("a missing field", b"thr cpu 0x00000000 5\n", "thr cpu"),
        odd("a class that was not defined", b"sam mem 0x00000000 2000 0x99:1:24\n", "classes used before they have a name"),
        odd("a thread that was not defined", b"thr dst 0xFFFFFFFF\n", "threads used before their definition"),
        odd("a stack that is not as deep", b"sam str 0x00000000 2000 0 900:900\n", "sam str: depths that are not those of the stack; frames that fit stay"),
        sound("18446744073709551615 ticks", after(TRACELOG, b"sam str 0x00000000 2000 18446744073709551615 0:0 0x0\n")),
        sound("2⁶³ objects alive", after(TRACELOG, b"gch alt 2000 0x0:9223372036854775808:9223372036854775808\n")),
        row("a collection that ends and did not begin", after(TRACELOG, b"gch gcf ? 2000\n"), "at byte 1525: fault (collections): a collection ends, and did not begin", (1, 0)),
        truncated("the last line is truncated", cut(TRACELOG, 1500), 1478, "the trace is truncated: line 38 has no end; it is not read"),
        fault("two traces, one after the other", after(TRACELOG, TRACELOG), 1525, "skipped: prf stm: start times after the first line (1, first in line 40)"),
    ]
}

/// Damage in ProfilerJ snapshots.
#[rustfmt::skip]
pub(super) fn profilerj() -> Vec<Row> {
    // Another attribute instead of the thread's name.
    let named = |what, attribute: &[u8], why: &str| {
        let given = swapped(PROFILERJ, b"name=\"main\"", attribute);
        refused(what, given, &format!("profilerj: at byte 69: {why}"))
    };
    let counted = |what, attribute: &[u8], at, why: &str| {
        let given = swapped(PROFILERJ, b"count=\"1\"", attribute);
        gives_up(what, given, "profilerj", at, why)
    };
    vec![
        truncated("the begin of the root", cut(PROFILERJ, 44), 44, "the document is truncated: missing </doc>"),
        sound("an empty root", bytes(b"<doc/>")),
        sound("a byte order mark", swapped(PROFILERJ, b"<?xml", b"\xef\xbb\xbf<?xml")),
        sound("`\\r\\n` at the ends of lines", carriage_returns(PROFILERJ)),
        truncated("`</doc>` is missing", swapped(PROFILERJ, b"</doc>", b""), 1920, "the document is truncated: missing </doc>"),
        truncated("a tag that is truncated", cut(PROFILERJ, 400), 328, "the document is truncated: missing </doc>"),
        refused("a document type", swapped(PROFILERJ, b"<doc>", b"<!DOCTYPE doc><doc>"), "xml: at byte 39: a document type is not allowed"),
        refused("an entity bomb", bytes(b"<doc><!DOCTYPE d [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;&a;&a;\">]></doc>"), "profilerj: at byte 5: a document type is not allowed"),
        named("an entity that is not known", b"name=\"&bomb;\"", "&bomb; is no reference that is known"),
        named("a reference to a zero", b"name=\"&#0;\"", "&#0; is no reference that is known"),
        named("a control character", b"name=\"\x01\"", "character U+0001 is not allowed"),
        named("a NUL", b"name=\"\0\"", "character U+0000 is not allowed"),
        named("Latin-1 where UTF-8 is declared", b"name=\"\xe9\"", "not UTF-8"),
        refused("an encoding that is declared and not known", swapped(PROFILERJ, b"UTF-8", b"UTF-7"), "profilerj: at byte 0: encoding=\"UTF-7\" is not known in a declaration"),
        sound("text between elements", swapped(PROFILERJ, b"<profile>\n", b"<profile>\nx")),
        gives_up("text after the root", after(PROFILERJ, b"x"), "profilerj", 1926, "text outside of the root"),
        gives_up("two roots", after(PROFILERJ, PROFILERJ), "profilerj", 1926, "a declaration that is not at the begin"),
        gives_up("an end tag that closes nothing", swapped(PROFILERJ, b"</doc>", b"</thread></doc>"), "profilerj", 1919, "an end tag that does not close doc"),
        counted("a count that is no number", b"count=\"x\"", 105, "count of profile is no number"),
        counted("a count beyond 64 bits", b"count=\"18446744073709551616\"", 105, "count of profile is no number"),
        gives_up("a negative time", swapped(PROFILERJ, b"methodElapsed=\"3000\"", b"methodElapsed=\"-3000\""), "profilerj", 105, "methodElapsed of profile is no number"),
        sound("a time beyond 64 bits of nanoseconds", swapped(PROFILERJ, b"methodElapsed=\"3000\"", b"methodElapsed=\"9223372036854775807\"")),
        gives_up("a call without a name", swapped(PROFILERJ, b"name=\"app.Main.main(java.lang.String[])\" ", b""), "profilerj", 105, "profile lacks name"),
        counted("an attribute twice", b"count=\"1\" count=\"2\"", 200, "an attribute is repeated"),
        sound("unknown elements and attributes", swapped(PROFILERJ, b"<profile>\n", b"<profile x=\"1\">\n<y z=\"2\"/>")),
    ]
}
