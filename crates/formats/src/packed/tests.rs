use super::*;
use crate::{Item, ReadError, Reader};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use std::io::Write as _;
use std::ops::ControlFlow;

const TRACE: &[u8] = b"<TRACE>\n<node nodeId=\"n\" hostname=\"h\" ipaddress=\"\" timezone=\"0\" time=\"1.0\"/>\n</TRACE>\n";

/// Returns the events and remarks of a file that is read in small pieces.
fn read(file: &[u8], most: usize) -> Result<(u64, Vec<(Severity, String)>), ReadError> {
    struct Slow<'a>(&'a [u8], usize);
    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(buffer.len());
            self.0.read(&mut buffer[..most])
        }
    }
    let (mut events, mut remarks) = (0, Vec::new());
    let mut reader = Reader::new(Slow(file, most))?;
    reader.for_each(|item| {
        match item {
            Item::Event { .. } => events += 1,
            Item::Remark(remark) => remarks.push((remark.severity, remark.message)),
        }
        ControlFlow::<()>::Continue(())
    })?;
    Ok((events, remarks))
}

fn is_read(file: &[u8]) {
    for most in [1, 7, file.len()] {
        assert_eq!(read(file, most).expect("a trace"), (1, Vec::new()));
    }
}

/// Asserts what is remarked on the file, whose trace is complete.
fn has_remark(file: &[u8], severity: Severity, message: &str) {
    for most in [1, file.len()] {
        let (events, remarks) = read(file, most).expect("a trace");
        assert_eq!(events, 1);
        assert_eq!(remarks, [(severity, message.to_owned())]);
    }
}

fn refusal(file: &[u8]) -> String {
    read(file, file.len()).expect_err("refused").to_string()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

/// A file of a ZIP archive.
#[derive(Clone)]
struct Entry {
    name: &'static str,
    flags: u16,
    method: u16,
    content: &'static [u8],
    /// True if the header has 64-bit sizes.
    is_64: bool,
    /// What follows the file.
    descriptor: fn(u32, u32, u32) -> Vec<u8>,
}

const STORED: Entry = Entry {
    name: "ResourceContents",
    flags: 0,
    method: 0,
    content: TRACE,
    is_64: false,
    descriptor: |_, _, _| Vec::new(),
};

const DEFLATED: Entry = Entry {
    method: 8,
    ..STORED
};

const WITH_DESCRIPTOR: Entry = Entry {
    flags: 8,
    descriptor: |checksum, packed, unpacked| {
        let mut bytes = b"PK\x07\x08".to_vec();
        bytes.extend(
            [checksum, packed, unpacked]
                .iter()
                .flat_map(|n| n.to_le_bytes()),
        );
        bytes
    },
    ..DEFLATED
};

fn checksum(content: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    crc.sum()
}

fn entry(entry: &Entry) -> Vec<u8> {
    let packed = match entry.method {
        8 => deflate(entry.content),
        _ => entry.content.to_vec(),
    };
    let sizes = [packed.len() as u32, entry.content.len() as u32];
    let (checksum, is_after) = (checksum(entry.content), entry.flags & 8 != 0);
    let mut extra = Vec::new();
    if entry.is_64 {
        extra.extend([9, 9, 1, 0, 7, 1, 0, 16, 0]);
        for size in [sizes[1], sizes[0]] {
            extra.extend(u64::from(size).to_le_bytes());
        }
    }
    let mut out = b"PK\x03\x04\x14\x00".to_vec();
    out.extend(entry.flags.to_le_bytes());
    out.extend(entry.method.to_le_bytes());
    out.extend([0; 4]);
    for number in [checksum, sizes[0], sizes[1]] {
        let number = match (is_after, entry.is_64 && number != checksum) {
            (true, _) => 0,
            (false, true) => u32::MAX,
            (false, false) => number,
        };
        out.extend(number.to_le_bytes());
    }
    out.extend((entry.name.len() as u16).to_le_bytes());
    out.extend((extra.len() as u16).to_le_bytes());
    out.extend(entry.name.bytes());
    out.extend(extra);
    out.extend(packed);
    out.extend((entry.descriptor)(checksum, sizes[0], sizes[1]));
    out
}

/// Returns an archive. Of its central directory, there is only the start.
fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut out: Vec<u8> = entries.iter().flat_map(entry).collect();
    out.extend(b"PK\x01\x02");
    out.extend([0; 60]);
    out
}

#[test]
fn a_gzip_file_is_read_as_its_content() {
    is_read(&gzip(TRACE));
    let (first, second) = TRACE.split_at(20);
    is_read(&[gzip(first), gzip(second)].concat());
    let mut named = gzip(TRACE);
    named[3] = 8;
    let name = [vec![b'x'; 30_000], vec![0]].concat();
    named.splice(10..10, name);
    is_read(&named);
}

/// A log profile is recognized by its first bytes. A content without as many is none.
#[test]
fn a_gzip_file_may_have_a_short_content() {
    let stacks = b"a 1";
    let plain = read(stacks, 9).expect("collapsed stacks");
    assert_eq!(plain, (5, Vec::new()));
    for most in [1, 9] {
        assert_eq!(read(&gzip(stacks), most).expect("a trace"), plain);
    }
    assert_eq!(refusal(&gzip(b"")), "not a trace: it is empty");
    is_read(&[gzip(b""), gzip(TRACE)].concat());
}

#[test]
fn a_damaged_gzip_file_is_read_up_to_the_damage() {
    let whole = gzip(TRACE);
    let message = "the compressed stream is truncated";
    has_remark(&whole[..whole.len() - 4], Severity::Truncated, message);
    let (events, remarks) = read(&gzip(&TRACE[..TRACE.len() - 5]), 9).expect("a trace");
    assert_eq!((events, remarks.len()), (1, 1));
    let cut = &whole[..whole.len() - 12];
    let (_, remarks) = read(cut, 9).expect("a trace");
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert_eq!(remarks[0].0, Severity::Truncated);
}

#[test]
fn zeros_may_follow_a_gzip_file() {
    for zeros in [1, 8, 511, 20_000] {
        is_read(&[gzip(TRACE), vec![0; zeros]].concat());
    }
    let junk = "something that is not gzip follows the compressed stream";
    for tail in [&b"a"[..], b"junk", &[7; 20_000], b"\0\0a", b"\0\x1f\x8b"] {
        has_remark(&[&gzip(TRACE), tail].concat(), Severity::Fault, junk);
    }
}

#[test]
fn a_wrong_checksum_is_no_truncation() {
    let wrong = "the compressed stream has another size or checksum than it should";
    for at in [1, 4, 5, 8] {
        let mut bad = gzip(TRACE);
        let byte = bad.len() - at;
        bad[byte] ^= 1;
        has_remark(&bad, Severity::Fault, wrong);
        has_remark(&[bad, gzip(b"\n")].concat(), Severity::Fault, wrong);
    }
    let whole = gzip(TRACE);
    for missing in 1..9 {
        let message = "the compressed stream is truncated";
        has_remark(
            &whole[..whole.len() - missing],
            Severity::Truncated,
            message,
        );
    }
}

#[test]
fn a_packed_file_in_a_packed_file_is_refused() {
    let packed: &'static [u8] = gzip(TRACE).leak();
    let archive = zip(&[STORED]);
    let in_archive = Entry {
        content: packed,
        ..STORED
    };
    for (file, what) in [
        (gzip(packed), "a gzip file in a gzip file"),
        (gzip(&archive), "a ZIP archive in a gzip file"),
        (zip(&[in_archive]), "a gzip file in a ZIP archive"),
    ] {
        let expected = format!("not a trace: {what}; unpack the outer one first");
        for most in [1, file.len()] {
            let error = read(&file, most).expect_err("refused").to_string();
            assert_eq!(error, expected);
        }
    }
}

#[test]
fn a_file_in_an_archive_is_read_as_its_content() {
    let without_signature: fn(u32, u32, u32) -> Vec<u8> =
        |a, b, c| [a, b, c].iter().flat_map(|n| n.to_le_bytes()).collect();
    let with_64: fn(u32, u32, u32) -> Vec<u8> = |checksum, packed, unpacked| {
        let mut bytes = b"PK\x07\x08".to_vec();
        bytes.extend(checksum.to_le_bytes());
        bytes.extend(
            [packed, unpacked]
                .iter()
                .flat_map(|n| u64::from(*n).to_le_bytes()),
        );
        bytes
    };
    for file in [
        STORED,
        DEFLATED,
        WITH_DESCRIPTOR,
        Entry {
            is_64: true,
            ..STORED
        },
        Entry {
            is_64: true,
            ..DEFLATED
        },
        Entry {
            descriptor: without_signature,
            ..WITH_DESCRIPTOR
        },
        Entry {
            descriptor: with_64,
            ..WITH_DESCRIPTOR
        },
    ] {
        is_read(&zip(&[file]));
    }
}

#[test]
fn folders_and_empty_files_before_it_are_skipped() {
    let folder = Entry {
        name: "a/",
        content: b"",
        ..STORED
    };
    let of_macos = Entry {
        name: "__MACOSX/._a",
        content: b"<no trace>",
        ..DEFLATED
    };
    let empty = Entry {
        content: b"",
        ..STORED
    };
    is_read(&zip(&[folder, of_macos.clone(), empty, STORED, of_macos]));
}

#[test]
fn a_second_file_is_a_fault() {
    let other = Entry {
        name: "b.trcxml",
        ..STORED
    };
    let message = "the ZIP archive has several files; only the first is read, \"b.trcxml\" is not";
    has_remark(&zip(&[DEFLATED, other]), Severity::Fault, message);
}

#[test]
fn a_damaged_archive_is_read_up_to_the_damage() {
    let whole = entry(&WITH_DESCRIPTOR);
    let wrong = "the file in the ZIP archive has another size or checksum than it should";
    for size in [
        whole.len() - 16,
        whole.len() - 9,
        whole.len() - 1,
        whole.len(),
    ] {
        has_remark(
            &whole[..size],
            Severity::Truncated,
            "the ZIP archive is truncated",
        );
    }
    for at in [12, 8, 4] {
        let mut bad = zip(&[WITH_DESCRIPTOR]);
        bad[whole.len() - at] ^= 1;
        has_remark(&bad, Severity::Fault, wrong);
    }
    let mut bad = zip(&[STORED]);
    bad[14] ^= 1;
    has_remark(&bad, Severity::Fault, wrong);
    let mut bad = whole.clone();
    bad.extend([7; 40]);
    let message = "the ZIP archive is damaged after its file";
    has_remark(&bad, Severity::Fault, message);
}

#[test]
fn what_can_not_be_unpacked_is_refused_with_a_reason() {
    for (file, reason) in [
        (Entry { flags: 1, ..STORED }, "is encrypted"),
        (
            Entry {
                method: 14,
                ..STORED
            },
            "is compressed by method 14; only stored and deflated files can be read",
        ),
        (
            Entry {
                method: 0,
                ..WITH_DESCRIPTOR
            },
            "unpack the archive first",
        ),
        (
            Entry {
                content: b"no trace",
                ..STORED
            },
            "not of a trace in a known format",
        ),
        (
            Entry {
                name: "a/",
                content: b"",
                ..STORED
            },
            "the ZIP archive has no file with content",
        ),
    ] {
        let error = refusal(&zip(&[file]));
        assert!(error.starts_with("not a trace: "), "{error}");
        assert!(error.ends_with(reason), "{error}");
    }
    let error = refusal(&gzip(b"no trace"));
    assert!(
        error.ends_with("not of a trace in a known format"),
        "{error}"
    );
    let error = refusal(&entry(&STORED)[..40]);
    assert_eq!(error, "not a trace: the ZIP archive is truncated");
}

#[test]
fn whatever_the_bytes_are_reading_ends() {
    for file in [zip(&[WITH_DESCRIPTOR]), zip(&[STORED]), gzip(TRACE)] {
        for at in 0..file.len() {
            for bit in [0, 3, 7] {
                let mut bad = file.clone();
                bad[at] ^= 1 << bit;
                if let Ok((events, remarks)) = read(&bad, bad.len()) {
                    assert!(events <= 1 && remarks.len() < 10);
                }
            }
        }
    }
}
