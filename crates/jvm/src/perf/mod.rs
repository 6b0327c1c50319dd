//! The JVM's performance counters: what `jstat` reads.
//!
//! HotSpot keeps them in a file that it maps into its own memory (`hsperfdata_USER/PID`), and
//! leaves mapped until the process is gone. We read that mapping in place: plain loads, no function
//! of the JVM, so a GC callback may do it. A JVM that keeps no such file (`-XX:-UsePerfData`,
//! `-XX:+PerfDisableSharedMem`), and one on a system without `/proc`, tells nothing here.
//!
//! Numbers are in the machine's byte order, which the header tells; its size is 32 bytes:
//!
//! | At | Type | What |
//! |---|---|---|
//! | 0 | 4 bytes | `ca fe c0 c0` |
//! | 4 | u8 | byte order: 0 big, 1 little |
//! | 5 | u8 | major version, 2 |
//! | 24 | i32 | where the first entry is |
//! | 28 | i32 | how many entries there are |
//!
//! An entry, whose inner places count from its own beginning:
//!
//! | At | Type | What |
//! |---|---|---|
//! | 0 | i32 | its length |
//! | 4 | i32 | where its name is, which ends with a zero byte |
//! | 8 | i32 | elements of its value; 0 for a single one |
//! | 12 | u8 | type of an element, as in class files: `J` long, `B` byte |
//! | 16 | i32 | where its value is |
//!
//! JVM 11 marks the file as complete (byte 7) only after VMInit, where ours is read; all of the
//! collectors' counters are in it by then.
//!
//! A text is an array of bytes with a zero byte behind it, or none if it fills the array.
//!
//! What the counters do not tell in time is read from the heap's own variables ([`sizes`]), whose
//! places the JVM tells ([`fields`]).

mod aot;
mod barrier;
mod fields;
mod flags;
mod gc;
mod sizes;

pub use aot::starts_from_cache;
pub use barrier::Returns;
pub use flags::leaves_huge_methods_alone;
pub use gc::{Collection, GcCounters, Generation};

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

const HEADER: usize = 32;
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const VERSION: u8 = 2;
/// More than any JVM has; keeps what we copy in bounds.
const MOST_BYTES: usize = 16 << 20;

/// The counters of this JVM.
pub struct PerfData {
    memory: &'static [AtomicU8],
    entries: Vec<Entry>,
}

/// A counter.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    name: String,
    kind: Kind,
    /// Where its value is.
    place: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Long,
    Text,
}

/// A counter that is a number.
pub struct Long(&'static AtomicI64);

impl Long {
    /// What it says now.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A counter that is a text.
pub struct Text(&'static [AtomicU8]);

impl Text {
    /// What it says now. The JVM may be writing: two equal looks are one that can be trusted. Empty
    /// otherwise.
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
    /// Those of the running JVM; `None` if it has none.
    pub fn find() -> Option<Self> {
        let maps = std::fs::read("/proc/self/maps").ok()?;
        let name = std::process::id().to_string();
        let range = mapping(&String::from_utf8_lossy(&maps), &name)?;
        if range.len() < HEADER || range.len() > MOST_BYTES {
            return None;
        }
        let start = std::ptr::with_exposed_provenance::<AtomicU8>(range.start);
        // SAFETY: the JVM's own mapping, which it keeps until the process is gone. It is written to
        // by others, hence the atomics.
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

    /// The number of that name.
    pub fn long(&self, name: &str) -> Option<Long> {
        let bytes = self.place(name, Kind::Long)?;
        let value = bytes.as_ptr().cast::<AtomicI64>();
        // SAFETY: eight bytes that live for ever, at an aligned place.
        (bytes.len() == 8 && value.is_aligned()).then(|| Long(unsafe { &*value }))
    }

    /// The text of that name.
    pub fn text(&self, name: &str) -> Option<Text> {
        self.place(name, Kind::Text).map(Text)
    }

    /// Names of all counters that begin and end so.
    fn names<'a>(&'a self, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
        self.entries
            .iter()
            .map(|entry| entry.name.as_str())
            .filter(move |name| name.starts_with(begin) && name.ends_with(end))
    }
}

/// Where the file of the process `name` is mapped, in a list of mappings (`/proc/self/maps`).
fn mapping(maps: &str, name: &str) -> Option<Range<usize>> {
    maps.lines().find_map(|line| {
        // Addresses, access, offset, device, inode, path; a file that was deleted has a word behind
        // it.
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

/// The counters in a file. Those that make no sense are left out; `None` if it is no such file.
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
            break; // beyond it, nothing can be found
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
        // Each byte of header and entries replaced by what is likely to hurt.
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
