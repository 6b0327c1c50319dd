//! Trace logs of CoreProfiler itself: the parts for which there is no event.

use crate::common::{Decoding, decode, is_verbose, recoded, reports};
use jtrail_formats::{Format, Severity};

/// A trace in which all numbers are written as our encoder would write them.
const USUAL: &str = "prf stm 2026-01-02 03:04:05.678\n\
    thr crt 0x1 0x0\nthr aos 0x0 77\napd crf 0x1 0x4d 0x0 \"a\"\n\
    asm ldf 0x1 0x1 0x1 0x0 \"bootstrap\"\nmod ldf 0x1 0x0 0x1 0x0 \"bootstrap\"\nmod ata 0x1 0x1\n\
    cls ldf 0x1 0x0 0x1 0x02000001 0x0\ncls nam 0x0 \"A\"\n\
    fun inf 0x0 0x40 0x1 0x1 0x06000001\nfun nam 0x0 \"A.b\" \"void\" \"()\"\n\
    thr crt 0x2 0x1\n";
/// The configuration line for code maps with source lines.
const LINES: &str = "prf cfg CodeMapUnit SourceLine\n";
const CODE: &str = "fun inf 0x0 0x40 0x1 0x1 0x06000001 0x7f00:0x10";

fn read(log: &[u8]) -> Decoding {
    decode(Format::TraceLog, log)
}

/// Decodes lines after a configuration with source lines in code maps.
fn read_map(lines: &[u8]) -> Decoding {
    let (start, rest) = USUAL.split_once('\n').expect("a start time");
    read(
        &[
            start.as_bytes(),
            b"\n",
            LINES.as_bytes(),
            rest.as_bytes(),
            lines,
        ]
        .concat(),
    )
}

fn read_after(lines: &[u8]) -> Decoding {
    read(&[USUAL.as_bytes(), lines].concat())
}

#[test]
fn what_no_event_holds_is_counted() {
    let deep = format!("sam str 0x1 1 2 0:0{}\n", " 0x0".repeat(4097));
    // Two stack frames have this long name; with a third one, the names would exceed 1 MiB.
    let long = "n".repeat(500_000);
    let named =
        format!("fun inf 0x1 0x41 0x1 0x1 0x06000002\nfun nam 0x1 \"A.{long}\" \"void\" \"()\"\n");
    let long_stack = format!("{named}sam str 0x1 1 2 0:0 0x1 0x1 0x1\n");
    let long_map = format!(
        "{named}fun inf 0x1 0x41 0x1 0x1 0x06000002 0x7f00:0x10 0x1:0x0:0x4 0x2:0x4:0x8 0x3:0x8:0x10\njit cmf ? 1 0x41 0x0\n"
    );
    let map = |map: &str| format!("{CODE} {map}\njit cmf ? 1 0x40 0x0\n");
    let (backwards, beyond) = (map("0x1:0x8:0x4"), map("0x1:0x0:0x8 0x2:0x4:0x10"));
    let after: &[(&[u8], &[&str])] = &[
        (b"", &[]),
        (
            b"jit cms ? 1 0x40\njit cms ? 1 0x40\ngch gen\n",
            &[
                "skipped: jit cms: records that no event holds (2, first in line 13)",
                "skipped: gch gen: records that no event holds (1,",
            ],
        ),
        (b"new one 1\n", &["skipped: new one: unknown records (1,"]),
        (
            b"cls ldf 0x2 0x1 0x1 0x02000002 0x0\ncls nam 0x1 \"\xff\"\n",
            &["cls nam: texts not in UTF-8, read with U+FFFD (1,"],
        ),
        (
            b"apd crf 0x2 0x4d 0x0 \"b\"\n",
            &[
                "skipped: apd crf: further application domains (1,",
                "skipped: apd crf: ids that are not made of internal ones (1,",
            ],
        ),
        (
            b"mod ldf 0x1 0x0 0x1 0x5 \"bootstrap\"\n",
            &["skipped: mod ldf: statuses other than 0 (1,"],
        ),
        (
            b"thr crt 0xab 0x2\nthr dst 0xab 0x2\nthr dst 0x1\n",
            &[
                "skipped: thr crt: ids that are not made of internal ones (1,",
                "skipped: thr dst: ids that are not made of internal ones (1,",
            ],
        ),
        (
            b"cls ldf 0x99 0x1 0x1 0x02000077 0x0\ncls nam 0x1 \"B\"\n",
            &[
                "skipped: cls ldf: ids that are not made of internal ones (1,",
                "skipped: cls ldf: tokens that are not made of internal ids (1,",
            ],
        ),
        // An id that another function has already, and then a second id for a function that has
        // one.
        (
            b"fun inf 0x1 0x40 0x1 0x1 0x06000002\nfun nam 0x1 \"A.c\" \"void\" \"()\"\n\
              fun inf 0x1 0x41 0x1 0x1 0x06000002 0x7f00:0x10\njit cmf ? 1 0x40 0x0\n",
            &["skipped: fun inf: ids that are not made of internal ones (2,"],
        ),
        (
            b"fun inf 0x1 0x41 0x1 0x5 0x06000077\nfun nam 0x1 \"A.c\" \"void\" \"()\"\n",
            &[
                "skipped: fun inf: modules that are not those of their classes (1,",
                "skipped: fun inf: tokens that are not made of internal ids (1,",
            ],
        ),
        (
            b"thr aos 0x0 78\n",
            &["skipped: thr aos: numbers of a thread 0 on which nothing happens (1,"],
        ),
        (
            b"asm ldf 0x2 0x1 0x2 0x0 \"x\"\nasm ldf 0x2 0x1 0x2 0x0 \"y\"\n",
            &["skipped: asm ldf: assemblies of no class (2,"],
        ),
        (
            b"asm ldf 0x2 0x7 0x2 0x0 \"x\"\nmod ata 0x2 0x2\n\
              cls ldf 0x2 0x1 0x2 0x02000002 0x0\ncls nam 0x1 \"B\"\n",
            &["skipped: asm ldf: ids that are not made of internal ones (1,"],
        ),
        (
            b"mod ldf 0x1 0x7f00 0x1 0x0 \"a.dll\"\n",
            &[
                "skipped: mod ldf: base addresses (1,",
                "skipped: mod ldf: names that are not those of their assemblies (1,",
            ],
        ),
        (
            b"cls ldf 0x2 0x1 0x9 0x02000002 0x0\ncls nam 0x1 \"B\"\n",
            &["cls ldf: classes of modules that are not loaded, read without a loader (1,"],
        ),
        (
            b"cls ldf 0x2 0x1 0x1 0x02000002 0x0\ncls ldf 0x3 0x2 0x1 0x02000003 0x0\n",
            &["skipped: cls ldf: classes that get no name (2,"],
        ),
        (
            b"fun inf 0x1 0x41 0x1 0x1 0x06000002\n",
            &["skipped: fun inf: functions that get no name (1,"],
        ),
        (
            b"fun inf 0x0 0x40 0x1 0x1 0x06000001 0x1:0x0:0x8\n",
            &["skipped: fun inf: code maps without code (1,"],
        ),
        (
            beyond.as_bytes(),
            &["skipped: fun inf: code maps of offsets in bytecode instead of lines (1,"],
        ),
        (
            b"jit cmf ? 1 0x40 0x80004005\n",
            &["skipped: jit cmf: compilations that failed (1,"],
        ),
        (
            b"jit cmf ? 1 0x99 0x0\n",
            &["skipped: jit cmf: compilations of functions that are not yet defined (1,"],
        ),
        (
            b"jit cmf 77 1 0x40 0x0\ngch gcs 0x1 2 ? tfff\ngch gcf ? 3\n",
            &[
                "skipped: jit cmf: threads of the JVM's own work (1,",
                "skipped: gch gcs: threads of the JVM's own work (1,",
            ],
        ),
        (
            b"gch gcs ? 1 ? ttff\ngch gcf ? 2\n",
            &["gch gcs: generations, read as young or full (1,"],
        ),
        (
            b"sam str 0x1 1 0 0:0 0x0:0x7f00\nsam mem 0x1 2 0x0:1:24:0x7f00\n",
            &[
                "skipped: sam str: instruction pointers (1,",
                "skipped: sam mem: instruction pointers (1,",
            ],
        ),
        (
            b"sam str 0x1 1 0 0:0 0x0\nsam str 0x1 2 0 2:5 0x0\nsam str 0x1 3 0 1:1\n",
            &["skipped: sam str: records of threads whose stack is not known (1,"],
        ),
        (
            b"sam str 0x1 1 0 0:0 0x0\nsam str 0x1 2 3 1:1\n",
            &["skipped: sam str: ticks in a trace of calls (1,"],
        ),
        (
            deep.as_bytes(),
            &["sam str: samples with more than 4096 frames or 1 MiB of names, cut (1,"],
        ),
        (
            long_stack.as_bytes(),
            &["sam str: samples with more than 4096 frames or 1 MiB of names, cut (1,"],
        ),
        (
            b"sam str 0x1 1 2 0:0 0x0\nsam str 0x1 2 0 1:1 0x0\nsam mem 0x1 2 0x0:1:24\n",
            &["skipped: sam str: stacks of allocations in a trace of samples (1,"],
        ),
    ];
    let mut decodings = Vec::new();
    for (lines, expected) in after {
        let decoding = read_after(lines);
        reports(&decoding, expected);
        decodings.push(decoding);
    }
    for (lines, expected) in [
        (
            backwards,
            "fun inf: ranges of code that end before they start (1,",
        ),
        (
            beyond,
            "fun inf: ranges of code that reach into the next one, cut there (1,",
        ),
        (
            long_map,
            "fun inf: code maps with more than 1 MiB of names, cut (1,",
        ),
    ] {
        let decoding = read_map(lines.as_bytes());
        reports(&decoding, &[expected]);
        decodings.push(decoding);
    }
    let large = USUAL.replace("0x4d", "0x100000000");
    let decoding = read(large.as_bytes());
    reports(
        &decoding,
        &[
            "apd crf: process numbers above 31 bits, read as 0 (1,",
            "skipped: thr aos: numbers of a thread 0 on which nothing happens (1,",
        ],
    );
    decodings.push(decoding);
    is_verbose(Format::TraceLog, &decodings);
}

#[test]
fn maps_of_offsets_give_no_lines() {
    let map = format!("{CODE} 0x1:0x0:0x4 0x2:0x4:0x10\njit cmf ? 1 0x40 0x0\n");
    let reported = "skipped: fun inf: code maps of offsets in bytecode instead of lines (1,";
    let decoding = read_after(map.as_bytes());
    reports(&decoding, &[reported]);
    let code = decoding
        .events
        .iter()
        .find(|e| e.starts_with("MethodCompile("));
    let code = code.expect("compiled code");
    assert!(
        code.contains("address: 32512, size: 16, ranges: [] }"),
        "{code}"
    );
    assert!(read_map(map.as_bytes()).is_clean());
    // Any other unit of code maps is treated as unknown.
    let other = USUAL.replacen('\n', "\nprf cfg CodeMapUnit Offset\n", 1);
    reports(&read((other + &map).as_bytes()), &[reported]);
}

#[test]
fn gaps_between_ranges_of_code_stay() {
    let map = "0x7f00:0x10 0x1:0x0:0x4 0x2:0x8:0xc 0x3:0xc:0xf\n";
    let log = USUAL.replacen('\n', &format!("\n{LINES}"), 1);
    let log = format!("{log}fun inf 0x0 0x40 0x1 0x1 0x06000001 {map}jit cmf ? 1 0x40 0x0\n");
    let decoding = read(log.as_bytes());
    assert!(decoding.is_clean(), "{decoding:?}");
    let code = decoding.events.iter().find(|e| e.contains("CodeRange"));
    let code = code.expect("compiled code");
    for (offset, frames) in [(0, 1), (4, 0), (8, 1), (12, 1), (15, 0)] {
        let range = format!("offset: {offset}, frames: [{}", ["]", "Frame"][frames]);
        assert!(code.contains(&range), "{range}: {code}");
    }
    assert_eq!(code.matches("CodeRange").count(), 5);
    let again = recoded(Format::TraceLog, log.as_bytes(), Format::TraceLog);
    let again = String::from_utf8(again).expect("a log");
    assert!(again.contains(&map["0x7f00:".len()..]), "{again}");
}

#[test]
fn a_last_line_without_its_end_is_remarked_too() {
    let decoding = read_after(b"jit cmf 77 1 0x40 0x0");
    reports(
        &decoding,
        &["skipped: jit cmf: threads of the JVM's own work (1,"],
    );
    let (_, message) = decoding.only(Severity::Truncated);
    assert!(message.ends_with("it is read nevertheless"), "{message}");
    let last = decoding.events.last().expect("an event");
    assert!(last.starts_with("MethodCompile"), "{last}");
}
