//! The file of an index.
//!
//! | Part | Contents |
//! |---|---|
//! | head | [`MAGIC`] and the [`Fingerprint`] of the trail |
//! | sections | compressed parts, one after another |
//! | directory | where the sections are: [`Directory`] |
//! | end | position, size and checksum of the directory, and [`MAGIC`] |
//!
//! Each section has a checksum, where its position is. What is damaged is as good as missing.

use super::encode::{SliceRow, pack, unpack};
use jtrail_model::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// The first and the last bytes of an index, with its version.
pub(super) const MAGIC: [u8; 8] = *b"JTRidx\x00\x03";
/// Size of the end of a file in bytes.
const END: usize = 8 + 4 + 4 + 8;
/// Number of bytes at both ends of a trail that its fingerprint depends on.
const ENDS: u64 = 64 << 10;

/// What tells a trail from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fingerprint {
    size: u64,
    first: u32,
    last: u32,
}

impl Fingerprint {
    const BYTES: usize = 16;

    /// Returns the fingerprint of a trail.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(super) fn of(file: &mut File) -> io::Result<Self> {
        let size = file.seek(SeekFrom::End(0))?;
        let mut checksum = |at: u64| -> io::Result<u32> {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(at))?;
            file.take(ENDS).read_to_end(&mut bytes)?;
            Ok(crc32c::crc32c(&bytes))
        };
        Ok(Self {
            first: checksum(0)?,
            last: checksum(size.saturating_sub(ENDS))?,
            size,
        })
    }

    fn bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.first.to_le_bytes());
        bytes[12..].copy_from_slice(&self.last.to_le_bytes());
        bytes
    }
}

/// Where a section is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Section {
    at: u64,
    length: u32,
    checksum: u32,
}

/// Where everything is.
#[derive(Serialize, Deserialize, Default, Debug)]
pub(super) struct Directory {
    /// Nodes by their levels. Those of a level follow each other, and each one has up to four of
    /// the level below.
    pub(super) levels: Vec<Vec<Entry>>,
    /// Ids of methods by their numbers.
    pub(super) methods: Option<Section>,
    /// Waits from one block into another, and slices that never end.
    pub(super) across: Option<Section>,
    /// What the waits among these are for.
    pub(super) reasons: Option<Section>,
    /// Sites of exceptions by their numbers.
    pub(super) sites: Option<Section>,
    /// Sums of all threads.
    pub(super) facts: Option<Section>,
    /// The analysis that a report shows.
    pub(super) analysis: Option<Section>,
}

/// A node in the directory.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Entry {
    /// The segments, from the first one up to the one after the last.
    pub(super) segments: [u32; 2],
    /// The first and the last time in ns since the trace's first time.
    pub(super) times: Option<[i64; 2]>,
    pub(super) power: u8,
    pub(super) lane_power: u8,
    pub(super) threads: Option<Section>,
    pub(super) lanes: Option<Section>,
    pub(super) methods: Option<Section>,
    pub(super) edges: Option<Section>,
    pub(super) paths: Option<Section>,
    /// True if each call path is there by itself, and none stands for several.
    pub(super) has_all_paths: bool,
    /// The first and the last readings of CPU time.
    pub(super) readings: Option<Section>,
    /// Allocations and exceptions.
    pub(super) events: Option<Section>,
    /// The longest waits.
    pub(super) waits: Option<Section>,
    /// Calls of each method, in bins of 2^`call_power` ns.
    pub(super) calls: Option<Section>,
    pub(super) call_power: u8,
}

impl Entry {
    /// Returns the powers of all kinds of bins.
    pub(super) fn powers(&self) -> [u8; 3] {
        [self.power, self.lane_power, self.call_power]
    }
}

/// Waits from one block into another, and slices that never end, by thread.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Across(pub(super) Vec<(u64, Vec<SliceRow>)>);

/// Objects and owners of the waits in [`Across`], by thread.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Reasons(pub(super) Vec<(u64, Vec<[u64; 2]>)>);

/// Where the slices of the threads of a node are. A thread without room has no section.
#[derive(Serialize, Deserialize, Default, Debug, Clone)]
pub(super) struct OfThreads(pub(super) Vec<(u64, Option<Section>)>);

/// Writes an index.
pub(super) struct Output<W> {
    out: W,
    at: u64,
}

impl<W: Write> Output<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If the output fails.
    pub(super) fn new(mut out: W, fingerprint: Fingerprint) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        out.write_all(&fingerprint.bytes())?;
        let at = (MAGIC.len() + Fingerprint::BYTES) as u64;
        Ok(Self { out, at })
    }

    /// Returns the number of bytes so far.
    pub(super) fn size(&self) -> u64 {
        self.at
    }

    /// Writes compressed bytes.
    ///
    /// # Errors
    /// If the output fails.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<Section> {
        let section = Section {
            at: self.at,
            length: bytes.len() as u32,
            checksum: crc32c::crc32c(bytes),
        };
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(section)
    }

    /// Writes a value. Returns `None` if it is too large for the index.
    ///
    /// # Errors
    /// If the output fails.
    pub(super) fn section(&mut self, value: &impl Serialize) -> io::Result<Option<Section>> {
        pack(value).map(|bytes| self.bytes(&bytes)).transpose()
    }

    /// Ends the file. Returns the output.
    ///
    /// # Errors
    /// If the output fails.
    pub(super) fn end(mut self, directory: &Directory) -> io::Result<W> {
        let Some(section) = self.section(directory)? else {
            return Err(io::Error::other("the index is too large"));
        };
        self.out.write_all(&section.at.to_le_bytes())?;
        self.out.write_all(&section.length.to_le_bytes())?;
        self.out.write_all(&section.checksum.to_le_bytes())?;
        self.out.write_all(&MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Returns true if a file is an index of any trail, or empty.
pub(super) fn is_index(file: &mut File) -> io::Result<bool> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
    Ok(bytes.is_empty() || bytes.starts_with(&MAGIC[..6]))
}

/// Reads the directory of an index. Returns `None` if it is that of another trail, or damaged.
///
/// # Errors
/// If the file can't be read.
pub(super) fn directory(file: &mut File, of: Fingerprint) -> io::Result<Option<Directory>> {
    let place = place_of_directory(file, of)?;
    place.map_or(Ok(None), |section| read(file, section))
}

/// Returns where the directory of an index is. Returns `None` if it is that of another trail, or
/// damaged.
fn place_of_directory(file: &mut File, of: Fingerprint) -> io::Result<Option<Section>> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    let length = MAGIC.len() + Fingerprint::BYTES;
    (&mut *file).take(length as u64).read_to_end(&mut head)?;
    if head != [&MAGIC[..], &of.bytes()].concat() || size < (length + END) as u64 {
        return Ok(None);
    }
    let mut end = [0; END];
    file.read_exact_at(&mut end, size - END as u64)?;
    let number = |at: usize| u32::from_le_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]);
    let section = Section {
        at: u64::from(number(0)) | u64::from(number(4)) << 32,
        length: number(8),
        checksum: number(12),
    };
    Ok((end[16..] == MAGIC).then_some(section))
}

/// Adds the analysis that a report shows to an index. Returns false if the index is that of another
/// trail, or damaged.
///
/// # Errors
/// If the file can't be read or written. It is damaged then.
pub(super) fn add_analysis(file: &mut File, of: Fingerprint, bytes: &[u8]) -> io::Result<bool> {
    let Some(place) = place_of_directory(file, of)? else {
        return Ok(false);
    };
    let Some(mut directory) = read::<Directory>(file, place)? else {
        return Ok(false);
    };
    file.set_len(place.at)?;
    file.seek(SeekFrom::End(0))?;
    let mut out = Output {
        out: file,
        at: place.at,
    };
    directory.analysis = Some(out.bytes(bytes)?);
    out.end(&directory)?;
    Ok(true)
}

/// Reads a section. Returns `None` if it is damaged.
///
/// # Errors
/// If the file can't be read.
pub(super) fn read<T: DeserializeOwned>(file: &File, section: Section) -> io::Result<Option<T>> {
    Ok(bytes(file, section)?.and_then(|bytes| unpack(&bytes)))
}

/// Reads the bytes of a section. Returns `None` if they are damaged.
///
/// # Errors
/// If the file can't be read.
pub(super) fn bytes(file: &File, section: Section) -> io::Result<Option<Vec<u8>>> {
    let size = file.metadata()?.len();
    let end = section.at.checked_add(section.length.into());
    if end.is_none_or(|end| end > size) {
        return Ok(None);
    }
    let mut bytes = vec![0; section.length as usize];
    file.read_exact_at(&mut bytes, section.at)?;
    Ok((crc32c::crc32c(&bytes) == section.checksum).then_some(bytes))
}

/// Returns a time as the directory has it.
pub(super) fn since(time: Timestamp, origin: Timestamp) -> i64 {
    time.0.wrapping_sub(origin.0)
}
