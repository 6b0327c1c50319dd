//! Input that could take much memory or time. It is generated while it is read, so it needs no room
//! on the disk. A process of its own, with little memory, reads it.

use super::formats::{JINSIGHT, MLPD, TRACELOG};
use super::traces::{Given, Row, begin, encoded, end, enter, leave, message, row, sample};
use flate2::{Compression, write::GzEncoder};
use jtrail_formats::Format;
use std::io::{self, Write};

/// Writes `megabytes` MB in blocks of 64 KiB, which repeat the text.
fn flood(to: &mut dyn Write, text: &str, megabytes: usize) -> io::Result<()> {
    let block = text.repeat((64 << 10) / text.len());
    for _ in 0..megabytes * 16 {
        to.write_all(block.as_bytes())?;
    }
    Ok(())
}

/// Returns a buffer of a log profile with `bytes` bytes of events: sizes of the heap, all 0.
fn mlpd_buffer(bytes: usize) -> Vec<u8> {
    let events = b"\x21\0\0".repeat(bytes / 3);
    let mut buffer = b"\x01LPM".to_vec();
    buffer.extend((events.len() as u32).to_le_bytes());
    for field in [1_u64, 0, 0, 77, 0] {
        buffer.extend(field.to_le_bytes());
    }
    [buffer, events].concat()
}

/// Returns the rows about huge input.
pub(super) fn rows() -> Vec<Row> {
    [tptp(), others()].into_iter().flatten().collect()
}

fn others() -> Vec<Row> {
    vec![
        row(
            "JinsightLive: a class of 65,535 methods, whose names take 2 GB",
            Given::Pipe(|to| {
                to.write_all(&JINSIGHT[..45])?;
                // The fields are ticks, id and size; name; number of methods. The `x` that follow
                // claim that each text has 0x7878 bytes.
                to.write_all(b"\x6e\0\0\0\0\0\0\0\0\x02\0\0\0\x01\0x\xff\xff")?;
                flood(to, "x", 2000)
            }),
            "jinsight: at byte 45: a record larger than 33554432 bytes",
            (1, 1),
        ),
        row(
            "mlpd: a buffer of 32 MiB",
            Given::Pipe(|to| {
                to.write_all(&MLPD[..32])?;
                to.write_all(&mlpd_buffer(32 << 20))
            }),
            "",
            (0, 0),
        ),
        row(
            "mlpd: 100 MB of events, compressed",
            Given::Pipe(|to| {
                let mut to = GzEncoder::new(to, Compression::fast());
                to.write_all(&MLPD[..32])?;
                let buffer = mlpd_buffer(1 << 20);
                (0..100).try_for_each(|_| to.write_all(&buffer))?;
                to.finish().map(drop)
            }),
            "",
            (0, 0),
        ),
        row(
            "mlpd: 2 GB of zeros, compressed",
            Given::Pipe(|to| {
                let mut to = GzEncoder::new(to, Compression::fast());
                to.write_all(&MLPD[..32])?;
                flood(&mut to, "\0", 2000)?;
                to.finish().map(drop)
            }),
            "mlpd: at byte 32: no buffer starts here (unpacked)",
            (1, 1),
        ),
        row(
            "TraceLog: a line of 100 MB",
            Given::Pipe(|to| {
                to.write_all(TRACELOG)?;
                flood(to, "x", 100)?;
                to.write_all(b"\n")
            }),
            "at byte 1525: fault (structure): skipped: lines longer than 16 MiB (1, first in line 40)",
            (1, 1),
        ),
        row(
            "ProfilerJ: elements inside of each other, 100 MB",
            Given::Pipe(|to| {
                to.write_all(b"<doc>")?;
                flood(to, "<x>\n", 100)
            }),
            "can't read FILE: profilerj: at byte 262149: elements nest deeper than 65536",
            (2, 2),
        ),
        row(
            "ProfilerJ: calls inside of each other, 100 MB",
            Given::Pipe(|to| {
                to.write_all(b"<doc><profile><thread name=\"main\">")?;
                flood(
                    to,
                    "<profile name=\"a.B.c()\" signature=\"()V\" count=\"1\" methodElapsed=\"1\" method=\"1\" cumulatedElapsed=\"1\" \
                     cumulated=\"1\" overheadCumulated=\"0\" overheadMethod=\"0\" exceptions=\"0\">\n",
                    100,
                )
            }),
            "profilerj: at byte 11206348: elements nest deeper than 65536",
            (1, 1),
        ),
        row(
            "ProfilerJ: a text of 100 MB",
            Given::Pipe(|to| {
                to.write_all(b"<doc><x>")?;
                flood(to, "x", 100)
            }),
            "can't read FILE: profilerj: at byte 8: one tag or text is larger than 16777216 bytes",
            (2, 2),
        ),
    ]
}

fn tptp() -> Vec<Row> {
    vec![
        row(
            "an attribute of 100 MB",
            Given::Pipe(|to| {
                to.write_all(&begin())?;
                to.write_all(b"<custom body=\"")?;
                flood(to, "x", 100)?;
                to.write_all(b"\"/>\n")?;
                to.write_all(&end())
            }),
            "xml: at byte 416: one element is larger than 16777216 bytes",
            (1, 1),
        ),
        row(
            "a name of 100 MB",
            Given::Pipe(|to| {
                to.write_all(b"<TRACE>\n<")?;
                flood(to, "x", 100)
            }),
            "can't read FILE: xml: at byte 8: one element is larger than 16777216 bytes",
            (2, 2),
        ),
        row(
            "a comment of 8 MB, full of `>`",
            Given::Pipe(|to| {
                to.write_all(&begin())?;
                to.write_all(b"<!--")?;
                flood(to, ">", 8)?;
                to.write_all(b"-->\n")?;
                to.write_all(&end())
            }),
            "",
            (0, 0),
        ),
        row(
            "100 MB of white space",
            Given::Pipe(|to| {
                to.write_all(&begin())?;
                flood(to, " ", 100)?;
                to.write_all(&end())
            }),
            "",
            (0, 0),
        ),
        row(
            "200,000 unknown elements and attributes, each with a name of its own",
            Given::Pipe(|to| {
                to.write_all(&begin())?;
                let mut to = io::BufWriter::new(to);
                for n in 0..200_000 {
                    writeln!(to, "<e{n} a{n}=\"\"/><custom body=\"\" b{n}=\"\"/>")?;
                }
                to.write_all(&end())
            }),
            "",
            (0, 0),
        ),
        row(
            "frames of one event, 100 MB",
            Given::Pipe(|to| {
                to.write_all(&begin())?;
                to.write_all(
                    b"<monWait threadIdRef=\"1\" time=\"1.0\" objIdRef=\"1\" timeout=\"0\">\n",
                )?;
                flood(
                    to,
                    "<annotation key=\"stackFrame\" value=\"a.B.c\" line=\"1\"/>\n",
                    100,
                )?;
                to.write_all(b"</monWait>\n")?;
                to.write_all(&end())
            }),
            "xml: at byte 24486130: the frames of one event are larger than 16777216 bytes",
            (1, 1),
        ),
        row(
            "a binary event of 100 MB",
            Given::Pipe(|to| {
                to.write_all(&encoded(Format::TptpBinary, &sample()))?;
                to.write_all(&message(1041, 6 + (100 << 20), b""))?;
                flood(to, "x", 100)
            }),
            "at byte 542: fault (structure): skipped: custom (1041): it is larger than 16777216 bytes",
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
            "at byte 340: fault (calls): thread 1: the leave of method 3, ticket 2, has no open call",
            (1, 0),
        ),
        row(
            "300,000 calls inside of each other",
            Given::Pipe(|to| {
                let mut encoder = Format::TptpBinary.encoder();
                let mut out = Vec::new();
                encoder.begin(&mut out);
                sample()[..7]
                    .iter()
                    .for_each(|e| encoder.event(e, &mut out));
                for n in 1..=300_000_u32 {
                    encoder.event(&enter(1, i64::from(n), 3, n, i64::from(n)), &mut out);
                }
                to.write_all(&out)
            }),
            "at byte 25200256: truncated (order): the trace does not say that collection ended",
            (3, 0),
        ),
    ]
}
