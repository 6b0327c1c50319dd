//! Packets, sequences and tracks.

use super::wire::*;
use crate::per_thread::PerThread;
use crate::protobuf::{bytes, bytes_head, integer, message, varint_len};
use crate::sink::{ThreadIndex, ThreadInfo, ThreadTime};
use jtrail_model::{MethodId, Timestamp};
use rustc_hash::FxHashMap;

pub(super) const PROCESS: u64 = 1;
pub(super) const COLLECTIONS: u64 = 2;
pub(super) const HEAP_USED: u64 = 3;
pub(super) const ALLOCATION_RATE: u64 = 4;
pub(super) const LIVE_THREADS: u64 = 5;
pub(super) const PROCESS_CPU: u64 = 6;
const FIRST_THREAD: u64 = 16;

/// Sequence of what belongs to no thread.
const GLOBAL: u64 = 1;

/// What has been written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    pub(super) out: Vec<u8>,
    pub(super) has_global: bool,
    pub(super) process_id: u64,
    pub(super) program: String,
    /// For each track below the first thread's, true if it is described.
    pub(super) described: [bool; FIRST_THREAD as usize],
    /// Number of slices of threads.
    pub(super) slices: u64,
    pub(super) threads: PerThread<Thread>,
    pub(super) methods: FxHashMap<MethodId, u32>,
    pub(super) texts: FxHashMap<String, u32>,
    pub(super) last_name: u32,
    pub(super) last_flow: u64,
    /// Room for the fields of the next event.
    pub(super) fields: Vec<u8>,
}

/// The sequence of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    pub(super) is_begun: bool,
    pub(super) latest: i64,
    /// A bit for each name, set if the name is interned in this sequence.
    pub(super) named: Vec<u64>,
    pub(super) info: ThreadInfo,
    pub(super) has_cpu: bool,
}

impl Packets {
    pub(super) fn thread(&mut self, index: ThreadIndex) -> &mut Thread {
        &mut self.threads[index]
    }

    /// Writes an event of no thread, whose fields `fill` appends.
    pub(super) fn global(&mut self, time: Timestamp, fill: impl FnOnce(&mut Vec<u8>)) {
        self.begin_global(time);
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::TIMESTAMP, nanoseconds(time));
            integer(out, packet::SEQUENCE_ID, GLOBAL);
            integer(
                out,
                packet::SEQUENCE_FLAGS,
                sequence_flags::NEEDS_INCREMENTAL_STATE,
            );
            message(out, packet::TRACK_EVENT, fill);
        });
    }

    pub(super) fn begin_global(&mut self, time: Timestamp) {
        if self.has_global {
            return;
        }
        self.has_global = true;
        begin_sequence(&mut self.out, GLOBAL, time, BOOT_TIME, |_| {});
        let (pid, name) = (self.process_id, std::mem::take(&mut self.program));
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::SEQUENCE_ID, GLOBAL);
            message(out, packet::TRACK_DESCRIPTOR, |out| {
                integer(out, track::UUID, PROCESS);
                message(out, track::PROCESS, |out| {
                    integer(out, process::PID, pid);
                    bytes(out, process::NAME, name.as_bytes());
                });
            });
        });
    }

    /// Describes a track below the process, unless this was done before.
    pub(super) fn describe_once(&mut self, uuid: u64, name: &str) {
        if !std::mem::replace(&mut self.described[uuid as usize], true) {
            self.describe(uuid, name, |_| {});
        }
    }

    pub(super) fn describe(&mut self, uuid: u64, name: &str, fill: impl FnOnce(&mut Vec<u8>)) {
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::SEQUENCE_ID, GLOBAL);
            message(out, packet::TRACK_DESCRIPTOR, |out| {
                integer(out, track::UUID, uuid);
                integer(out, track::PARENT_UUID, PROCESS);
                bytes(out, track::NAME, name.as_bytes());
                fill(out);
            });
        });
    }

    /// Writes a value of a counter of the process.
    pub(super) fn process_counter(
        &mut self,
        (uuid, name): (u64, &str),
        time: Timestamp,
        value: i64,
    ) {
        self.begin_global(time);
        if !std::mem::replace(&mut self.described[uuid as usize], true) {
            let unit = match uuid {
                HEAP_USED | ALLOCATION_RATE => unit::SIZE_BYTES,
                LIVE_THREADS => unit::COUNT,
                _ => unit::TIME_NS,
            };
            self.describe(uuid, name, |out| counter_descriptor(out, unit));
        }
        self.global(time, |out| counter_value(out, uuid, value));
    }

    /// Writes the CPU time of a thread.
    pub(super) fn thread_cpu(&mut self, index: ThreadIndex, time: Timestamp, cpu: i64) {
        self.begin_thread(index, time);
        self.describe_cpu(index);
        self.global(time, |out| counter_value(out, cpu_uuid(index), cpu));
    }

    pub(super) fn describe_cpu(&mut self, index: ThreadIndex) {
        if !std::mem::replace(&mut self.thread(index).has_cpu, true) {
            message(&mut self.out, trace::PACKET, |out| {
                integer(out, packet::SEQUENCE_ID, GLOBAL);
                message(out, packet::TRACK_DESCRIPTOR, |out| {
                    integer(out, track::UUID, cpu_uuid(index));
                    integer(out, track::PARENT_UUID, thread_uuid(index));
                    bytes(out, track::NAME, b"CPU time");
                    counter_descriptor(out, unit::TIME_NS);
                });
            });
        }
    }

    /// Begins the sequence of a thread, unless it has begun.
    #[inline]
    pub(super) fn begin_thread(&mut self, index: ThreadIndex, time: Timestamp) {
        if !self.threads[index].is_begun {
            self.begin_new_thread(index, time);
        }
    }

    #[cold]
    pub(super) fn begin_new_thread(&mut self, index: ThreadIndex, time: Timestamp) {
        self.begin_global(time);
        let thread = self.thread(index);
        thread.is_begun = true;
        thread.latest = time.0;
        self.describe_thread(index);
        begin_sequence(
            &mut self.out,
            sequence(index),
            time,
            SEQUENCE_CLOCK,
            |out| {
                integer(out, track_defaults::TRACK_UUID, thread_uuid(index));
                integer(
                    out,
                    track_defaults::EXTRA_COUNTER_TRACK_UUIDS,
                    cpu_uuid(index),
                );
            },
        );
    }

    pub(super) fn describe_thread(&mut self, index: ThreadIndex) {
        let pid = self.process_id;
        let info = self.thread(index).info.clone();
        let name = info.label();
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::SEQUENCE_ID, GLOBAL);
            message(out, packet::TRACK_DESCRIPTOR, |out| {
                integer(out, track::UUID, thread_uuid(index));
                integer(out, track::PARENT_UUID, PROCESS);
                if info.is_virtual {
                    bytes(out, track::NAME, name.as_bytes());
                    integer(out, track::SIBLING_MERGE_BEHAVIOR, track::MERGE_NONE);
                    return;
                }
                message(out, track::THREAD, |out| {
                    integer(out, thread::PID, pid);
                    let made_up = made_up_tid(index);
                    let tid = if info.os_id > 0 { info.os_id } else { made_up };
                    integer(out, thread::TID, tid);
                    bytes(out, thread::NAME, name.as_bytes());
                });
            });
        });
    }

    /// Returns the id of a method's name in the sequence of a thread, and whether it is new there.
    #[inline]
    pub(super) fn method_name(&mut self, index: ThreadIndex, method: MethodId) -> (u32, bool) {
        let next = self.last_name + 1;
        let iid = *self.methods.entry(method).or_insert(next);
        self.last_name = self.last_name.max(iid);
        (iid, self.intern(index, iid))
    }

    pub(super) fn text_name(&mut self, index: ThreadIndex, text: &str) -> (u32, bool) {
        let iid = match self.texts.get(text) {
            Some(iid) => *iid,
            None => {
                self.last_name += 1;
                self.texts.insert(text.to_owned(), self.last_name);
                self.last_name
            }
        };
        (iid, self.intern(index, iid))
    }

    /// Returns true if the name is new in the sequence.
    #[inline]
    pub(super) fn intern(&mut self, index: ThreadIndex, iid: u32) -> bool {
        let named = &mut self.threads[index].named;
        let (word, bit) = (iid as usize / 64, 1 << (iid % 64));
        if named.len() <= word {
            named.resize(word + 1, 0);
        }
        let is_new = named[word] & bit == 0;
        named[word] |= bit;
        is_new
    }

    /// Writes an event of a thread with an interned name, and further fields of its packet and
    /// event.
    #[inline]
    pub(super) fn thread_packet(
        &mut self,
        index: ThreadIndex,
        time: Timestamp,
        new_name: Option<(u32, &str)>,
        event: &[u8],
    ) {
        let thread = &mut self.threads[index];
        let time = time.0.max(thread.latest);
        let delta = time.abs_diff(thread.latest);
        thread.latest = time;
        let sequence = sequence(index);
        if let Some((iid, name)) = new_name {
            return self.named_packet(sequence, delta, (iid, name), event);
        }
        // Each field has a key of one byte.
        let event_len = varint_len(event.len() as u64) + event.len();
        let len = 1 + varint_len(delta) + 1 + varint_len(sequence) + 2 + 1 + event_len;
        let out = &mut self.out;
        bytes_head(out, trace::PACKET, len);
        integer(out, packet::TIMESTAMP, delta);
        integer(out, packet::SEQUENCE_ID, sequence);
        integer(
            out,
            packet::SEQUENCE_FLAGS,
            sequence_flags::NEEDS_INCREMENTAL_STATE,
        );
        bytes(out, packet::TRACK_EVENT, event);
    }

    #[cold]
    pub(super) fn named_packet(
        &mut self,
        sequence: u64,
        delta: u64,
        name: (u32, &str),
        event: &[u8],
    ) {
        message(&mut self.out, trace::PACKET, |out| {
            integer(out, packet::TIMESTAMP, delta);
            integer(out, packet::SEQUENCE_ID, sequence);
            integer(
                out,
                packet::SEQUENCE_FLAGS,
                sequence_flags::NEEDS_INCREMENTAL_STATE,
            );
            message(out, packet::INTERNED_DATA, |out| {
                message(out, interned::EVENT_NAMES, |out| {
                    integer(out, event_name::IID, name.0.into());
                    bytes(out, event_name::NAME, name.1.as_bytes());
                });
            });
            bytes(out, packet::TRACK_EVENT, event);
        });
    }

    pub(super) fn take_fields(&mut self) -> Vec<u8> {
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        fields
    }

    /// Appends the CPU time of the thread to an event, if it was measured.
    #[inline]
    pub(super) fn cpu(&mut self, at: ThreadTime, fields: &mut Vec<u8>) {
        if at.cpu != 0 {
            self.describe_cpu(at.thread);
            integer(fields, event::EXTRA_COUNTER_VALUES, at.cpu as u64);
        }
    }

    /// Writes an event of a thread whose name is a text, with further fields.
    pub(super) fn text_event(
        &mut self,
        at: ThreadTime,
        kind: u64,
        name: &str,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        self.begin_thread(at.thread, at.time);
        let (iid, is_new) = self.text_name(at.thread, name);
        let mut fields = Vec::new();
        integer(&mut fields, event::TYPE, kind);
        integer(&mut fields, event::NAME_IID, iid.into());
        fill(&mut fields);
        self.thread_packet(at.thread, at.time, is_new.then_some((iid, name)), &fields);
    }
}

/// Appends the first packet of a sequence: its clocks, and the defaults of its events.
fn begin_sequence(
    out: &mut Vec<u8>,
    sequence: u64,
    time: Timestamp,
    clock_id: u64,
    track_event: impl FnOnce(&mut Vec<u8>),
) {
    message(out, trace::PACKET, |out| {
        integer(out, packet::SEQUENCE_ID, sequence);
        integer(
            out,
            packet::SEQUENCE_FLAGS,
            sequence_flags::INCREMENTAL_STATE_CLEARED,
        );
        message(out, packet::CLOCK_SNAPSHOT, |out| {
            for id in [REAL_TIME, BOOT_TIME, SEQUENCE_CLOCK] {
                message(out, clock_snapshot::CLOCKS, |out| {
                    integer(out, clock::ID, id);
                    integer(out, clock::TIMESTAMP, nanoseconds(time));
                    if id == SEQUENCE_CLOCK {
                        integer(out, clock::IS_INCREMENTAL, 1);
                    }
                });
            }
            integer(out, clock_snapshot::PRIMARY_TRACE_CLOCK, BOOT_TIME);
        });
        message(out, packet::DEFAULTS, |out| {
            integer(out, defaults::TIMESTAMP_CLOCK_ID, clock_id);
            message(out, defaults::TRACK_EVENT, track_event);
        });
    });
}

fn counter_descriptor(out: &mut Vec<u8>, unit: u64) {
    message(out, track::COUNTER, |out| integer(out, counter::UNIT, unit));
}

fn counter_value(out: &mut Vec<u8>, uuid: u64, value: i64) {
    integer(out, event::TYPE, event_type::COUNTER);
    integer(out, event::TRACK_UUID, uuid);
    integer(out, event::COUNTER_VALUE, value as u64);
}

/// Returns a time stamp of a packet. Times before 1970 become 0.
fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.0).unwrap_or(0)
}

fn sequence(index: ThreadIndex) -> u64 {
    GLOBAL + 1 + u64::from(index.0)
}

pub(super) fn thread_uuid(index: ThreadIndex) -> u64 {
    FIRST_THREAD + 2 * u64::from(index.0)
}

fn cpu_uuid(index: ThreadIndex) -> u64 {
    thread_uuid(index) + 1
}

/// Returns an id for a thread whose id in the operating system is not in the trace. It is above all
/// that Linux assigns.
fn made_up_tid(index: ThreadIndex) -> u64 {
    (1 << 22) + 1 + u64::from(index.0)
}

pub(super) fn text_annotation(out: &mut Vec<u8>, name: &str, value: &str) {
    if !value.is_empty() {
        message(out, event::DEBUG_ANNOTATIONS, |out| {
            bytes(out, annotation::NAME, name.as_bytes());
            bytes(out, annotation::STRING_VALUE, value.as_bytes());
        });
    }
}

pub(super) fn number_annotation(out: &mut Vec<u8>, name: &str, value: i64) {
    message(out, event::DEBUG_ANNOTATIONS, |out| {
        bytes(out, annotation::NAME, name.as_bytes());
        integer(out, annotation::INT_VALUE, value as u64);
    });
}
