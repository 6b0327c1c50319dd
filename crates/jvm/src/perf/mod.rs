//! The JVM's performance counters, which `jstat` also reads.
//!
//! HotSpot keeps them in a file that it maps into its own memory (`hsperfdata_USER/PID`) until the
//! process ends. The agent reads this mapping with plain loads and without calls of the JVM, so
//! even a GC callback may read counters. No counters are found if the JVM has no such file
//! (`-XX:-UsePerfData`, `-XX:+PerfDisableSharedMem`) or if the system has no `/proc`.
//!
//! Numbers are in the machine's byte order, which the header names. The header has 32 bytes:
//!
//! | At | Type | What |
//! |---|---|---|
//! | 0 | 4 bytes | `ca fe c0 c0` |
//! | 4 | u8 | byte order: 0 big, 1 little |
//! | 5 | u8 | major version, 2 |
//! | 24 | i32 | offset of the first entry |
//! | 28 | i32 | number of entries |
//!
//! Offsets in an entry count from its own start:
//!
//! | At | Type | What |
//! |---|---|---|
//! | 0 | i32 | length of the entry |
//! | 4 | i32 | offset of the name, which is zero-terminated |
//! | 8 | i32 | number of elements of the value; 0 for a single one |
//! | 12 | u8 | type of an element, as in class files: `J` long, `B` byte |
//! | 16 | i32 | offset of the value |
//!
//! JDK 11 marks the file as complete (byte 7) only after VMInit. The agent reads the file earlier
//! and ignores the mark, because all counters of the collectors are already in the file.
//!
//! A text is an array of bytes. It ends at a zero byte, or at the end of the array.
//!
//! Some counters are updated too late. The agent reads variables of the heap instead ([`sizes`]),
//! and finds their addresses in the JVM's tables ([`fields`]).

mod aot;
mod barrier;
mod fields;
mod flags;
mod gc;
mod sizes;

pub use aot::starts_from_cache;
pub use barrier::FenceFlag;
pub use flags::leaves_huge_methods_alone;
pub use gc::{Collection, GcCounters, Generation};

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

const HEADER: usize = 32;
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const VERSION: u8 = 2;
/// An upper limit, higher than the size of any JVM's file: it bounds the copy.
const MAX_BYTES: usize = 16 << 20;

/// The performance counters of this JVM.
pub struct PerfData {
    memory: &'static [AtomicU8],
    entries: Vec<Entry>,
}

/// A counter: its name, type, and where its value is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    name: String,
    kind: Kind,
    /// The value's offsets in the file.
    place: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Long,
    Text,
}

/// A numeric counter.
pub struct Long(&'static AtomicI64);

impl Long {
    /// Returns the current value.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A text counter.
pub struct Text(&'static [AtomicU8]);

impl Text {
    /// Returns the current value. Reads it twice, because the JVM may be writing it. Returns an
    /// empty text if the two readings differ.
    pub fn get(&self) -> String {
        let look = || -> Vec<u8> {
            self.0
                .iter()
                .map(|byte| byte.load(Ordering::Acquire))
                .take_while(|byte| *byte != 0)
                .collect()
        };
        let text = look();
        match text == look() {
            true => String::from_utf8(text).unwrap_or_default(),
            false => String::new(),
        }
    }
}

impl PerfData {
    /// Finds the counters of the running JVM; `None` if it has none.
    pub fn find() -> Option<Self> {
        let maps = std::fs::read("/proc/self/maps").ok()?;
        let name = std::process::id().to_string();
        let range = mapping(&String::from_utf8_lossy(&maps), &name)?;
        if range.len() < HEADER || range.len() > MAX_BYTES {
            return None;
        }
        let start = std::ptr::with_exposed_provenance::<AtomicU8>(range.start);
        // SAFETY: the JVM's own mapping, which lasts until the process ends. The bytes are atomic
        // because the JVM may write them at the same time.
        let memory: &'static [AtomicU8] = unsafe { std::slice::from_raw_parts(start, range.len()) };
        let copy: Vec<u8> = memory.iter().map(|b| b.load(Ordering::Acquire)).collect();
        Some(Self {
            memory,
            entries: parse(&copy)?,
        })
    }

    fn place(&self, name: &str, kind: Kind) -> Option<&'static [AtomicU8]> {
        let entry = self
            .entries
            .iter()
            .find(|e| e.kind == kind && e.name == name)?;
        self.memory.get(entry.place.clone())
    }

    /// Returns the numeric counter with this name.
    pub fn long(&self, name: &str) -> Option<Long> {
        let bytes = self.place(name, Kind::Long)?;
        let value = bytes.as_ptr().cast::<AtomicI64>();
        // SAFETY: eight aligned bytes of the JVM's mapping, which lasts until the process ends.
        (bytes.len() == 8 && value.is_aligned()).then(|| Long(unsafe { &*value }))
    }

    /// Returns the text counter with this name.
    pub fn text(&self, name: &str) -> Option<Text> {
        self.place(name, Kind::Text).map(Text)
    }

    /// Returns the names of all counters that begin with `begin` and end with `end`.
    fn names<'a>(&'a self, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
        self.entries
            .iter()
            .map(|entry| entry.name.as_str())
            .filter(move |name| name.starts_with(begin) && name.ends_with(end))
    }
}

/// Returns the address range at which the file of the process `name` is mapped, according to `maps`
/// (`/proc/self/maps`).
fn mapping(maps: &str, name: &str) -> Option<Range<usize>> {
    maps.lines().find_map(|line| {
        // Addresses, access, offset, device, inode, path. " (deleted)" follows the path of a
        // deleted file.
        let mut words = line.split_whitespace();
        let addresses = words.next()?;
        let path = line.get(line.find('/')?..)?;
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let (folder, file) = path.rsplit_once('/')?;
        let folder = folder.rsplit('/').next()?;
        if file != name || !folder.starts_with("hsperfdata_") || words.nth(1)? != "00000000" {
            return None;
        }
        let (start, end) = addresses.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(number(start)?..number(end)?)
    })
}

/// Returns the counters in a file, without invalid ones; `None` if it is not a counter file.
fn parse(bytes: &[u8]) -> Option<Vec<Entry>> {
    let header = bytes.get(..HEADER)?;
    let native = u8::from(cfg!(target_endian = "little"));
    if header[..4] != MAGIC || header[4] != native || header[5] != VERSION {
        return None;
    }
    let number = |at: usize| -> Option<usize> {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        usize::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok()
    };
    let (mut at, count) = (number(24)?, number(28)?);
    let mut entries = Vec::new();
    for _ in 0..count {
        let Some(length) = number(at).filter(|length| *length > 0) else {
            break; // the next entry can't be found
        };
        let entry = || -> Option<Entry> {
            let entry = bytes.get(at..at.checked_add(length)?)?;
            let name = entry.get(number(at + 4)?..)?;
            let name = &name[..name.iter().position(|byte| *byte == 0)?];
            let (kind, size) = match (entry.get(12)?, number(at + 8)?) {
                (b'J', 0) => (Kind::Long, 8),
                (b'B', size @ 1..) => (Kind::Text, size),
                _ => return None,
            };
            let start = number(at + 16)?;
            let end = start.checked_add(size)?;
            (end <= length).then_some(Entry {
                name: str::from_utf8(name).ok()?.to_owned(),
                kind,
                place: at + start..at + end,
            })
        };
        entries.extend(entry());
        at = at.checked_add(length)?;
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: u8, elements: u32, value: &[u8]) -> Vec<u8> {
        let data = (20 + name.len() + 1).next_multiple_of(8);
        let length = (data + value.len()).next_multiple_of(8);
        let mut bytes = Vec::new();
        for number in [length as u32, 20, elements] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend([kind, 0, 0, 0]);
        bytes.extend((data as u32).to_ne_bytes());
        bytes.extend(name.bytes());
        bytes.resize(data, 0);
        bytes.extend(value);
        bytes.resize(length, 0);
        bytes
    }

    fn file(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([u8::from(cfg!(target_endian = "little")), VERSION, 0, 1]);
        bytes.resize(24, 0);
        bytes.extend(32u32.to_ne_bytes());
        bytes.extend((entries.len() as u32).to_ne_bytes());
        bytes.extend(entries.concat());
        bytes
    }

    #[test]
    fn counters_are_found() {
        let bytes = file(&[
            entry("sun.gc.cause", b'B', 6, b"No GC\0"),
            entry("sun.gc.odd", b'I', 0, &[0; 4]),
            entry(
                "sun.gc.collector.0.invocations",
                b'J',
                0,
                &7i64.to_ne_bytes(),
            ),
        ]);
        let entries = parse(&bytes).expect("sound");
        assert_eq!(
            entries
                .iter()
                .map(|e| (e.name.as_str(), e.kind))
                .collect::<Vec<_>>(),
            [
                ("sun.gc.cause", Kind::Text),
                ("sun.gc.collector.0.invocations", Kind::Long)
            ]
        );
        assert_eq!(bytes[entries[0].place.clone()], *b"No GC\0");
        assert_eq!(bytes[entries[1].place.clone()], 7i64.to_ne_bytes());
    }

    #[test]
    fn hostile_files_do_no_harm() {
        let good = file(&[
            entry("a", b'B', 6, b"text\0\0"),
            entry("b", b'J', 0, &[1; 8]),
        ]);
        for cut in 0..good.len() {
            let _ = parse(&good[..cut]);
        }
        // Replaces each byte of header and entries by values that are likely to cause trouble.
        for at in 0..good.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] = value;
                for entry in parse(&bad).unwrap_or_default() {
                    assert!(entry.place.end <= bad.len(), "byte {at} = {value}");
                }
            }
        }
        assert_eq!(parse(&[]), None);
    }

    #[test]
    fn the_mapping_is_the_one_of_this_process() {
        let maps = "\
            7f0000000000-7f0000008000 rw-s 00000000 08:01 42    /tmp/hsperfdata_me/77\n\
            7f1000000000-7f1000008000 rw-s 00000000 08:01 43    /var/with blank/hsperfdata_a b/78 (deleted)\n\
            7f2000000000-7f2000008000 rw-p 00000000 00:00 0\n\
            7f3000000000-7f3000001000 r--p 00000000 08:01 44    /tmp/other/79\n";
        let start = |name| mapping(maps, name).map(|range| range.start);
        assert_eq!(start("77"), Some(0x7f00_0000_0000));
        assert_eq!(start("78"), Some(0x7f10_0000_0000));
        assert_eq!(start("79"), None);
    }
}
