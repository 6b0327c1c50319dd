//! Damage in the formats other than TPTP's: each row changes a seed of the fuzz targets.

use super::traces::{Given, Row, row};

const JINSIGHT: &[u8] = include_bytes!("../../fuzz/seeds/jinsight/every-event");
const MLPD: &[u8] = include_bytes!("../../fuzz/seeds/mlpd/every-event");
const MLPD_GZIP: &[u8] = include_bytes!("../../fuzz/seeds/mlpd/every-event-17-gzip");
const TRACELOG: &[u8] = include_bytes!("../../fuzz/seeds/tracelog/example");
const PROFILERJ: &[u8] = include_bytes!("../../fuzz/seeds/profilerj/example");

fn bytes(bytes: &[u8]) -> Given {
    Given::Bytes(bytes.to_vec())
}

fn cut(whole: &[u8], at: usize) -> Given {
    bytes(&whole[..at])
}

/// With other bytes from a place on.
fn patch(whole: &[u8], at: usize, patch: &[u8]) -> Given {
    let mut whole = whole.to_vec();
    whole[at..at + patch.len()].copy_from_slice(patch);
    Given::Bytes(whole)
}

fn behind(whole: &[u8], more: &[u8]) -> Given {
    Given::Bytes([whole, more].concat())
}

/// With other bytes where these stand first, which they must.
fn swapped(whole: &[u8], old: &[u8], new: &[u8]) -> Given {
    let at = whole.windows(old.len()).position(|part| part == old);
    let at = at.expect("the seed has it");
    Given::Bytes([&whole[..at], new, &whole[at + old.len()..]].concat())
}

/// With `\r\n` at the ends of lines.
fn carriage_returns(whole: &[u8]) -> Given {
    let lines = whole.split_inclusive(|&byte| byte == b'\n');
    Given::Bytes(
        lines
            .flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat())
            .collect(),
    )
}

/// Damage in JinsightLive.
#[rustfmt::skip]
pub(super) fn jinsight() -> Vec<Row> {
    vec![
        row("the tag alone", cut(JINSIGHT, 1), "can't read FILE: not a trace: its first bytes are those of no format that jtrail knows", (2, 2)),
        row("a header of 44 bytes", cut(JINSIGHT, 44), "can't read FILE: jinsight: at byte 0: the file is shorter than its header of 45 bytes", (2, 2)),
        row("version 9", patch(JINSIGHT, 1, b"\x09"), "can't read FILE: not a trace: its first bytes are those of no format that jtrail knows", (2, 2)),
        row("platform 66", patch(JINSIGHT, 5, b"B"), "can't read FILE: jinsight: at byte 5: platform 66 is not known", (2, 2)),
        row("no ticks a microsecond", patch(JINSIGHT, 21, b"\0\0\0\0"), "can't read FILE: jinsight: at byte 21: no ticks a microsecond: no time can be read", (2, 2)),
        row("numbers of 2³² - 1 in the header", patch(JINSIGHT, 9, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "", (0, 0)),
        row("a big-endian header over a little-endian body", patch(JINSIGHT, 5, b"!"), "at byte 69: truncated (structure): the trace breaks off inside a record", (3, 3)),
        row("a header and nothing else", cut(JINSIGHT, 45), "at byte 45: truncated (structure): the trace ends without END_FILE", (3, 3)),
        row("an unknown record", behind(&JINSIGHT[..45], b"\xff"), "jinsight: at byte 45: record type 0xff is not known; records have no length, so nothing behind it can be read", (1, 1)),
        row("a record that breaks off", cut(JINSIGHT, 200), "at byte 177: truncated (structure): the trace breaks off inside a record", (3, 3)),
        row("END_FILE is missing", cut(JINSIGHT, 1107), "at byte 1107: truncated (structure): the trace ends without END_FILE", (3, 3)),
        row("other numbers in END_FILE", patch(JINSIGHT, 1108, b"\x01\x02\x03\x04"), "", (0, 0)),
        row("bytes behind END_FILE", behind(JINSIGHT, b"more"), "at byte 1116: fault (structure): bytes behind the end of the file: 4, first here", (1, 1)),
        row("two traces, one behind the other", behind(JINSIGHT, JINSIGHT), "at byte 1116: fault (structure): bytes behind the end of the file: 1116, first here", (1, 1)),
        row("a thread of an unknown class", behind(&JINSIGHT[..45], b"\n\0\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x09\0\x01\0x"), "at byte 67: truncated (structure): the trace ends without END_FILE", (3, 3)),
        row("a start of an unknown thread", behind(&JINSIGHT[..45], b"\x0b\0\0\0\0\0\0\0\0\xff\xff\xff\xff"), "at byte 45: fault (structure): threads that were not defined: 1, first here", (1, 1)),
        row("a name that goes on behind the end", behind(&JINSIGHT[..45], b"\n\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\xff\xffx"), "at byte 45: truncated (structure): the trace breaks off inside a record", (3, 3)),
        row("a name that is no UTF-8", swapped(JINSIGHT, b"main\x09thread", b"main\xfethread"), "", (0, 0)),
        row("a burst that ends twice", behind(&JINSIGHT[..45], b"f\0\0\0\0\0\0\0\0f\0\0\0\0\0\0\0\0"), "at byte 45: fault (structure): ends of bursts that did not begin: 2, first here", (1, 1)),
    ]
}

/// Damage in log profiles.
#[rustfmt::skip]
pub(super) fn mlpd() -> Vec<Row> {
    vec![
        row("the id alone", cut(MLPD, 4), "can't read FILE: mlpd: at byte 0: the file is shorter than its header", (2, 2)),
        row("a header of 31 bytes", cut(MLPD, 31), "can't read FILE: mlpd: at byte 0: the file is shorter than its header", (2, 2)),
        row("data version 2", patch(MLPD, 6, b"\x02"), "can't read FILE: mlpd: at byte 6: unsupported data version 2", (2, 2)),
        row("data version 255", patch(MLPD, 6, b"\xff"), "can't read FILE: mlpd: at byte 6: unsupported data version 255", (2, 2)),
        row("pointers of 9 bytes", patch(MLPD, 7, b"\x09"), "can't read FILE: mlpd: at byte 7: pointers of 9 bytes", (2, 2)),
        row("unknown flags", patch(MLPD, 20, b"\x01"), "can't read FILE: mlpd: at byte 20: flags 0x1: none are known", (2, 2)),
        row("a header and nothing else", cut(MLPD, 32), "", (0, 0)),
        row("no buffer where one must start", behind(&MLPD[..32], b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), "mlpd: at byte 32: no buffer starts here", (1, 1)),
        row("half of a buffer's header", cut(MLPD, 60), "at byte 32: truncated (structure): the trace breaks off: 28 bytes of a buffer are dropped", (3, 3)),
        row("half of a buffer", cut(MLPD, 100), "at byte 32: truncated (structure): the trace breaks off: 68 bytes of a buffer are dropped", (3, 3)),
        row("a buffer of 4 GB", patch(MLPD, 36, b"\xff\xff\xff\xff"), "mlpd: at byte 36: a buffer of 4294967295 bytes", (1, 1)),
        row("a buffer that is one byte short", patch(MLPD, 36, b"\xb2"), "at byte 502: fault (structure): mlpd: rests of buffers skipped, because a text has no end (1 times, here first)", (1, 1)),
        row("an unknown event", patch(MLPD, 80, b"\x0f"), "at byte 80: fault (structure): mlpd: rests of buffers skipped, because an event is unknown (1 times, here first)", (1, 1)),
        row("a number above 64 bits", patch(MLPD, 81, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "at byte 80: fault (structure): mlpd: rests of buffers skipped, because a number has more than 64 bits (1 times, here first)", (1, 1)),
        row("a name without end", patch(MLPD, 106, b"x"), "", (0, 0)),
        row("a name that is no UTF-8", swapped(MLPD, b"jtrail", b"\xfe\xffrail"), "", (0, 0)),
        row("texts of 4 GB in the header of version 17", bytes(b"\x01ZPM\x03\0\x11\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff"), "can't read FILE: mlpd: at byte 38: a text of 4294967295 bytes in the header", (2, 2)),
        row("two traces, one behind the other", behind(MLPD, MLPD), "mlpd: at byte 878: no buffer starts here", (1, 1)),
        row("a compressed trace that breaks off", cut(MLPD_GZIP, 300), "at byte 82: truncated (structure): the trace breaks off: 323 bytes of a buffer are dropped", (3, 3)),
        row("damage inside of a compressed trace", patch(MLPD_GZIP, 250, b"\0\xff\0\xff"), "at byte 301: fault (structure): mlpd: rests of buffers skipped, because an event is unknown (1 times, here first)", (1, 1)),
        row("another checksum behind a compressed trace", patch(MLPD_GZIP, 532, b"\0\0\0\0"), "at byte 540: truncated (structure): mlpd: the compressed stream breaks off", (3, 3)),
        row("text behind a compressed trace", behind(MLPD_GZIP, b"more"), "at byte 544: truncated (structure): mlpd: the compressed stream breaks off", (3, 3)),
        row("two compressed traces, one behind the other", behind(MLPD_GZIP, MLPD_GZIP), "mlpd: at byte 930: no buffer starts here (unpacked)", (1, 1)),
    ]
}

/// Damage in trace logs.
#[rustfmt::skip]
pub(super) fn tracelog() -> Vec<Row> {
    vec![
        row("the first word alone", cut(TRACELOG, 8), "can't read FILE: tracelog: at byte 0: no line of it is a record of this format", (2, 2)),
        row("a byte order mark", swapped(TRACELOG, b"prf stm", b"\xef\xbb\xbfprf stm"), "", (0, 0)),
        row("`\\r\\n` at the ends of lines", carriage_returns(TRACELOG), "", (0, 0)),
        row("no `prf stm`", swapped(TRACELOG, b"prf stm", b"prf cfg"), "at byte 0: fault (structure): the trace: does not begin with its start time (1 times, first in line 1)", (1, 1)),
        row("a day that is none", swapped(TRACELOG, b"2026-01-02", b"2026-13-42"), "at byte 0: fault (structure): prf stm: fields that do not fit the record; passed over (1 times, first in line 1)", (1, 1)),
        row("an unknown record", behind(TRACELOG, b"xyz abc 1 2 3\n"), "", (0, 0)),
        row("NULs", behind(TRACELOG, b"\0\0\0\0\n"), "at byte 1525: fault (structure): lines: that begin like no record; passed over (1 times, first in line 40)", (1, 1)),
        row("text that is no UTF-8", behind(TRACELOG, b"cls nam 0x00000000 \"\xfe\xff\"\n"), "at byte 1525: fault (structure): cls nam: of a class that has a name; passed over (1 times, first in line 40)", (1, 1)),
        row("a quoted text without end", behind(TRACELOG, b"cls nam 0x00000000 \"x\n"), "at byte 1525: fault (structure): cls nam: fields that do not fit the record; passed over (1 times, first in line 40)", (1, 1)),
        row("a number beyond 64 bits", behind(TRACELOG, b"prf tps 99999999999999999999\n"), "at byte 1525: fault (structure): prf tps: fields that do not fit the record; passed over (1 times, first in line 40)", (1, 1)),
        row("a number with 400 digits", behind(TRACELOG, b"prf tps 9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999\n"), "at byte 1525: fault (structure): prf tps: fields that do not fit the record; passed over (1 times, first in line 40)", (1, 1)),
        row("a negative number", behind(TRACELOG, b"prf tps -1\n"), "at byte 1525: fault (structure): prf tps: fields that do not fit the record; passed over (1 times, first in line 40)", (1, 1)),
        row("a missing field", behind(TRACELOG, b"thr cpu 0x00000000 5\n"), "at byte 1525: fault (structure): thr cpu: fields that do not fit the record; passed over (1 times, first in line 40)", (1, 1)),
        row("a class that was not defined", behind(TRACELOG, b"sam mem 0x00000000 2000 0x99:1:24\n"), "at byte 1525: fault (structure): classes: used and not named (1 times, first in line 40)", (1, 1)),
        row("a thread that was not defined", behind(TRACELOG, b"thr dst 0xFFFFFFFF\n"), "at byte 1525: fault (structure): threads: used and not created (1 times, first in line 40)", (1, 1)),
        row("a stack that is not as deep", behind(TRACELOG, b"sam str 0x00000000 2000 0 900:900\n"), "at byte 1525: fault (structure): sam str: another depth than that of the stack; what fits of it stays (1 times, first in line 40)", (1, 1)),
        row("18446744073709551615 ticks", behind(TRACELOG, b"sam str 0x00000000 2000 18446744073709551615 0:0 0x0\n"), "", (0, 0)),
        row("2⁶³ objects alive", behind(TRACELOG, b"gch alt 2000 0x0:9223372036854775808:9223372036854775808\n"), "", (0, 0)),
        row("a collection that ends and did not begin", behind(TRACELOG, b"gch gcf ? 2000\n"), "at byte 1525: fault (collections): a collection ends, and did not begin", (1, 0)),
        row("the last line breaks off", cut(TRACELOG, 1500), "at byte 1478: truncated (structure): the trace breaks off: line 38 has no end; it is not read", (3, 3)),
        row("two traces, one behind the other", behind(TRACELOG, TRACELOG), "at byte 1525: fault (structure): prf stm: behind the first line; passed over (1 times, first in line 40)", (1, 1)),
    ]
}

/// Damage in ProfilerJ snapshots.
#[rustfmt::skip]
pub(super) fn profilerj() -> Vec<Row> {
    vec![
        row("the begin of the root", cut(PROFILERJ, 44), "at byte 44: truncated (structure): the document breaks off: </doc> is missing", (3, 3)),
        row("an empty root", bytes(b"<doc/>"), "", (0, 0)),
        row("a byte order mark", swapped(PROFILERJ, b"<?xml", b"\xef\xbb\xbf<?xml"), "", (0, 0)),
        row("`\\r\\n` at the ends of lines", carriage_returns(PROFILERJ), "", (0, 0)),
        row("`</doc>` is missing", swapped(PROFILERJ, b"</doc>", b""), "at byte 1920: truncated (structure): the document breaks off: </doc> is missing", (3, 3)),
        row("a tag that breaks off", cut(PROFILERJ, 400), "at byte 328: truncated (structure): the document breaks off: </doc> is missing", (3, 3)),
        row("a document type", swapped(PROFILERJ, b"<doc>", b"<!DOCTYPE doc><doc>"), "can't read FILE: xml: at byte 39: a document type is not allowed", (2, 2)),
        row("an entity bomb", bytes(b"<doc><!DOCTYPE d [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;&a;&a;\">]></doc>"), "can't read FILE: profilerj: at byte 5: a document type is not allowed", (2, 2)),
        row("an entity that is not known", swapped(PROFILERJ, b"name=\"main\"", b"name=\"&bomb;\""), "can't read FILE: profilerj: at byte 69: &bomb; is no reference that is known", (2, 2)),
        row("a reference to a zero", swapped(PROFILERJ, b"name=\"main\"", b"name=\"&#0;\""), "can't read FILE: profilerj: at byte 69: &#0; is no reference that is known", (2, 2)),
        row("a control character", swapped(PROFILERJ, b"name=\"main\"", b"name=\"\x01\""), "can't read FILE: profilerj: at byte 69: character U+0001 is not allowed", (2, 2)),
        row("a NUL", swapped(PROFILERJ, b"name=\"main\"", b"name=\"\0\""), "can't read FILE: profilerj: at byte 69: character U+0000 is not allowed", (2, 2)),
        row("Latin-1 where UTF-8 is declared", swapped(PROFILERJ, b"name=\"main\"", b"name=\"\xe9\""), "can't read FILE: profilerj: at byte 69: not UTF-8", (2, 2)),
        row("an encoding that is declared and not known", swapped(PROFILERJ, b"UTF-8", b"UTF-7"), "can't read FILE: profilerj: at byte 0: encoding=\"UTF-7\" is not known in a declaration", (2, 2)),
        row("text between elements", swapped(PROFILERJ, b"<profile>\n", b"<profile>\nx"), "", (0, 0)),
        row("text behind the root", behind(PROFILERJ, b"x"), "profilerj: at byte 1926: text outside of the root", (1, 1)),
        row("two roots", behind(PROFILERJ, PROFILERJ), "profilerj: at byte 1926: a declaration that is not at the begin", (1, 1)),
        row("an end tag that closes nothing", swapped(PROFILERJ, b"</doc>", b"</thread></doc>"), "profilerj: at byte 1919: an end tag that does not close doc", (1, 1)),
        row("a count that is no number", swapped(PROFILERJ, b"count=\"1\"", b"count=\"x\""), "profilerj: at byte 105: count of profile is no number", (1, 1)),
        row("a count beyond 64 bits", swapped(PROFILERJ, b"count=\"1\"", b"count=\"18446744073709551616\""), "profilerj: at byte 105: count of profile is no number", (1, 1)),
        row("a negative time", swapped(PROFILERJ, b"methodElapsed=\"3000\"", b"methodElapsed=\"-3000\""), "profilerj: at byte 105: methodElapsed of profile is no number", (1, 1)),
        row("a time beyond 64 bits of nanoseconds", swapped(PROFILERJ, b"methodElapsed=\"3000\"", b"methodElapsed=\"9223372036854775807\""), "", (0, 0)),
        row("a call without a name", swapped(PROFILERJ, b"name=\"app.Main.main(java.lang.String[])\" ", b""), "profilerj: at byte 105: profile lacks name", (1, 1)),
        row("an attribute twice", swapped(PROFILERJ, b"count=\"1\"", b"count=\"1\" count=\"2\""), "profilerj: at byte 200: an attribute is repeated", (1, 1)),
        row("unknown elements and attributes", swapped(PROFILERJ, b"<profile>\n", b"<profile x=\"1\">\n<y z=\"2\"/>"), "", (0, 0)),
    ]
}
