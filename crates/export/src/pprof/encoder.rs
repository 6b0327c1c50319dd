//! The parts of the message.
//!
//! The message is compressed in pieces, so that it is never complete in memory. It is much larger
//! than the profile, because each sample repeats the whole path. Readers accept the fields in any
//! order: samples come before their functions, and the strings are last.

use super::functions::Functions;
use super::wire::{function, label, line, location, mapping, profile as field, sample, value_type};
use crate::per_thread::PerThread;
use crate::profile::{Frame, Profile};
use crate::protobuf::{bytes, integer, message, varint};
use crate::sink::ThreadIndex;
use crate::weights::Weights;
use flate2::Compression;
use flate2::write::GzEncoder;
use jtrail_model::names::Names;
use rustc_hash::FxHashMap;
use std::io::Write;

/// Number of bytes that are compressed at once.
const PIECE: usize = 1 << 16;

/// Id of the only mapping.
const MAPPING: u64 = 1;

/// A kind of values.
struct SampleType {
    name: &'static str,
    unit: &'static str,
    /// True if the type is written even if all its values are 0.
    is_always_there: bool,
    value: fn(&Weights) -> i64,
}

const SELF: SampleType = SampleType {
    name: "self",
    unit: "nanoseconds",
    is_always_there: true,
    value: |weights| weights.self_time,
};

const TYPES: [SampleType; 7] = [
    SampleType {
        name: "calls",
        unit: "count",
        is_always_there: true,
        value: |weights| clamp(weights.calls),
    },
    SELF,
    SampleType {
        name: "cpu",
        unit: "nanoseconds",
        is_always_there: false,
        value: |weights| weights.cpu,
    },
    SampleType {
        name: "alloc_objects",
        unit: "count",
        is_always_there: false,
        value: |weights| clamp(weights.objects),
    },
    SampleType {
        name: "alloc_space",
        unit: "bytes",
        is_always_there: false,
        value: |weights| weights.bytes,
    },
    SampleType {
        name: "blocked",
        unit: "nanoseconds",
        is_always_there: false,
        value: |weights| weights.blocked,
    },
    SampleType {
        name: "waiting",
        unit: "nanoseconds",
        is_always_there: false,
        value: |weights| weights.waiting,
    },
];

fn clamp(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The strings of the message. Others refer to them by index.
#[derive(Debug)]
struct Strings {
    index: FxHashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(index) = self.index.get(text) {
            return *index;
        }
        let next = self.all.len() as u64;
        self.index.insert(text.to_owned(), next);
        self.all.push(text.to_owned());
        next
    }
}

/// Writes the message.
pub(super) struct Encoder<'a> {
    profile: &'a Profile,
    names: &'a Names,
    gzip: GzEncoder<&'a mut Vec<u8>>,
    /// Bytes that are not compressed yet.
    piece: Vec<u8>,
    strings: Strings,
    functions: Functions,
    types: Vec<SampleType>,
}

impl<'a> Encoder<'a> {
    /// Begins a message that is appended to `out`.
    pub(super) fn new(profile: &'a Profile, names: &'a Names, out: &'a mut Vec<u8>) -> Self {
        let occurs = |t: &SampleType| profile.nodes.iter().any(|n| (t.value)(&n.weights) != 0);
        let types = TYPES.into_iter().filter(|t| t.is_always_there || occurs(t));
        let mut strings = Strings {
            index: FxHashMap::default(),
            all: Vec::new(),
        };
        // The format demands that the first string is empty.
        strings.index("");
        Self {
            profile,
            names,
            gzip: GzEncoder::new(out, Compression::default()),
            piece: Vec::with_capacity(PIECE + PIECE / 4),
            strings,
            functions: Functions::default(),
            types: types.collect(),
        }
    }

    /// Writes what is known of the whole profile.
    pub(super) fn write_head(&mut self) {
        for index in 0..self.types.len() {
            let t = &self.types[index];
            let (name, unit) = (t.name, t.unit);
            self.value_type(field::SAMPLE_TYPE, name, unit);
        }
        self.value_type(field::PERIOD_TYPE, SELF.name, SELF.unit);
        integer(&mut self.piece, field::PERIOD, 1);
        let default = self.strings.index(SELF.name);
        integer(&mut self.piece, field::DEFAULT_SAMPLE_TYPE, default);
        if let Some((first, last)) = self.profile.span {
            integer(&mut self.piece, field::TIME_NANOS, first.0 as u64);
            let duration = last.since(first).0 as u64;
            integer(&mut self.piece, field::DURATION_NANOS, duration);
        }
        let profile = self.profile;
        for mark in &profile.marks {
            self.comment(mark);
        }
        let program = match profile.program.as_str() {
            "" => "java",
            program => program,
        };
        let file = self.strings.index(program);
        message(&mut self.piece, field::MAPPING, |out| {
            integer(out, mapping::ID, MAPPING);
            integer(out, mapping::FILENAME, file);
            // Tools look for the names of functions elsewhere otherwise.
            integer(out, mapping::HAS_FUNCTIONS, 1);
            integer(out, mapping::HAS_FILENAMES, 1);
            integer(out, mapping::HAS_LINE_NUMBERS, 1);
        });
    }

    fn value_type(&mut self, field: u32, name: &str, unit: &str) {
        let (name, unit) = (self.strings.index(name), self.strings.index(unit));
        message(&mut self.piece, field, |out| {
            integer(out, value_type::TYPE, name);
            integer(out, value_type::UNIT, unit);
        });
    }

    fn comment(&mut self, text: &str) {
        let index = self.strings.index(text);
        integer(&mut self.piece, field::COMMENT, index);
    }

    /// Writes a sample for each node that has values.
    pub(super) fn write_samples(&mut self) {
        let labels = self.labels();
        let (mut values, mut path) = (Vec::new(), Vec::new());
        let profile = self.profile;
        for node in profile.nodes.iter() {
            values.clear();
            values.extend(self.types.iter().map(|t| (t.value)(&node.weights)));
            if values.iter().all(|value| *value == 0) {
                continue;
            }
            let Some(thread) = self.path(node.number, &mut path) else {
                continue;
            };
            message(&mut self.piece, field::SAMPLE, |out| {
                message(out, sample::LOCATION_ID, |out| {
                    path.iter().for_each(|id| varint(out, *id));
                });
                message(out, sample::VALUE, |out| {
                    values.iter().for_each(|value| varint(out, *value as u64));
                });
                out.extend(&labels[thread]);
            });
            self.compress_piece(PIECE);
        }
    }

    /// Returns the encoded labels of each thread.
    fn labels(&mut self) -> PerThread<Vec<u8>> {
        let keys = ["thread", "thread_id"].map(|key| self.strings.index(key));
        let mut labels = PerThread::<Vec<u8>>::default();
        for (index, thread) in self.profile.threads.iter() {
            let is_one = self.profile.nameless != Some(index);
            let name = match is_one {
                true => thread.label(),
                false => thread.shared_label().to_owned(),
            };
            let name = self.strings.index(&name);
            let out = &mut labels[index];
            message(out, sample::LABEL, |out| {
                integer(out, label::KEY, keys[0]);
                integer(out, label::STR, name);
            });
            if is_one {
                message(out, sample::LABEL, |out| {
                    integer(out, label::KEY, keys[1]);
                    integer(out, label::NUM, thread.id.0);
                });
            }
        }
        labels
    }

    /// Sets `path` to the locations of a node, the innermost first. Returns the thread.
    fn path(&mut self, node: u32, path: &mut Vec<u64>) -> Option<ThreadIndex> {
        path.clear();
        let mut at = node;
        loop {
            let frame = self.profile.nodes.frame(at);
            match frame {
                // Each function has one location, with the same id.
                Frame::Method(_) | Frame::Sums | Frame::Deeper => {
                    path.push(self.functions.id(frame))
                }
                Frame::Thread(index) => {
                    if path.is_empty() {
                        path.push(self.functions.id(Frame::Root));
                    }
                    return Some(index);
                }
                Frame::Root => return None,
            }
            at = self.profile.nodes.parent(at);
        }
    }

    /// Writes what the samples refer to, and ends the message.
    pub(super) fn finish(mut self) {
        let functions = std::mem::take(&mut self.functions);
        functions.for_each(self.names, |function| {
            let name = self.strings.index(&function.name);
            let system_name = self.strings.index(&function.system_name);
            let file = self.strings.index(&function.file);
            message(&mut self.piece, field::FUNCTION, |out| {
                integer(out, function::ID, function.id);
                integer(out, function::NAME, name);
                integer(out, function::SYSTEM_NAME, system_name);
                integer(out, function::FILENAME, file);
                integer(out, function::START_LINE, function.line);
            });
            message(&mut self.piece, field::LOCATION, |out| {
                integer(out, location::ID, function.id);
                integer(out, location::MAPPING_ID, MAPPING);
                message(out, location::LINE, |out| {
                    integer(out, line::FUNCTION_ID, function.id);
                    integer(out, line::LINE, function.line);
                });
            });
            self.compress_piece(PIECE);
        });
        for text in std::mem::take(&mut self.strings.all) {
            bytes(&mut self.piece, field::STRING_TABLE, text.as_bytes());
            self.compress_piece(PIECE);
        }
        self.compress_piece(0);
        let _ = self.gzip.finish(); // writing to a Vec can't fail
    }

    /// Compresses the bytes so far if they are at least `minimum`.
    fn compress_piece(&mut self, minimum: usize) {
        if self.piece.len() >= minimum {
            let _ = self.gzip.write_all(&self.piece); // writing to a Vec can't fail
            self.piece.clear();
        }
    }
}
