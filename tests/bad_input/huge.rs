//! Input that would take much memory or time. It is written while it is read, so that its size costs no room on the
//! disk, and read in a process of its own that has little memory.

use super::traces::{Given, Row, begin, encoded, end, enter, leave, message, row, sample};
use jtrail_formats::Format;
use std::io::{self, Write};

/// 64 KiB blocks of this text, `megabytes` in all.
fn flood(to: &mut dyn Write, text: &str, megabytes: usize) -> io::Result<()> {
    let block = text.repeat((64 << 10) / text.len());
    for _ in 0..megabytes * 16 {
        to.write_all(block.as_bytes())?;
    }
    Ok(())
}

/// The table.
pub(super) fn rows() -> Vec<Row> {
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
            "at byte 542: fault (structure): custom (1041) is passed over: it is larger than 16777216 bytes",
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
