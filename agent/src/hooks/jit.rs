//! Methods are compiled, and their code is thrown away.
//!
//! The JVM tells of it on a service thread of its own, some time after. What it says of the code is, at best, the stack of
//! inlined methods at each place where the compiler kept one (`jvmticmlr.h`), else one frame for each.

use crate::agent::{self, Agent};
use crate::instrument::FrameMethod;
use jni::sys::{jint, jmethodID};
use jtrail_guard::{guard, log};
use jtrail_jvm::jvmti::Failure;
use jtrail_jvm::jvmti::abi::{Event, RawEnv};
use jtrail_recorder::buffer::record;
use jtrail_records::Announcement;
use jtrail_records::announce::Compilation;
use jtrail_records::announce::CompiledInfo;
use jvmti_sys::jvmtiAddrLocationMap;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::ffi::c_void;

/// Most ranges of one method's code that are written; the rest of it belongs to the last one.
const MOST_RANGES: usize = 4096;
/// Most places with a stack that are looked at, and most frames of one: beyond, the record can't be true.
const MOST_PLACES: usize = 1 << 20;
const MOST_FRAMES: usize = 1024;

/// The compiled code that is there, by address and method: an address may be taken again before its former code
/// is told to be gone. Known is the method's number.
#[derive(Default)]
pub(crate) struct CompiledCode(Mutex<FxHashMap<(usize, usize), u32>>);

/// `jvmtiCompiledMethodLoadRecordHeader`.
#[repr(C)]
struct Header {
    kind: jint,
    major: jint,
    minor: jint,
    next: *const Header,
}

/// `jvmtiCompiledMethodLoadInlineRecord`.
#[repr(C)]
struct InlineRecord {
    header: Header,
    count: jint,
    places: *const Place,
}

/// `PCStackInfo`.
#[repr(C)]
struct Place {
    pc: *const c_void,
    count: jint,
    methods: *const jmethodID,
    locations: *const jint,
}

/// Has the JVM tell of the code that is there, and of what follows.
pub(super) fn begin(agent: &Agent) {
    let enabled = agent
        .jvmti
        .enable(Event::CompiledMethodUnload)
        .and_then(|()| agent.jvmti.enable(Event::CompiledMethodLoad));
    match enabled {
        Ok(()) => tell(agent),
        Err(error) => are_missing(&error),
    }
}

/// Has the JVM tell of the code that is there.
pub(crate) fn tell(agent: &Agent) {
    if let Err(error) = agent.jvmti.generate_compiled_methods() {
        are_missing(&error);
    }
}

fn are_missing(error: &Failure) {
    log::say(&format!(
        "{error}; compiled methods are missing in the trace"
    ));
}

pub(super) unsafe extern "system" fn loaded(
    _jvmti: RawEnv,
    method: jmethodID,
    size: jint,
    address: *const c_void,
    map_length: jint,
    map: *const jvmtiAddrLocationMap,
    records: *const c_void,
) {
    guard::run("a method's compilation", || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: the JVM's own method, alive during the callback.
        let Some(found) = (unsafe { agent.classes.frame_method(agent, method) }) else {
            return; // its class is gone
        };
        let size = u32::try_from(size).unwrap_or_default();
        let key = (address as usize, method as usize);
        agent.compiled.0.lock().insert(key, found.number);
        // SAFETY: the JVM's records and map, alive during the callback.
        let ranges = unsafe {
            match inline_record(records.cast()) {
                Some(record) => ranges_of_places(agent, address, record),
                None => ranges_of_map(&found, address, array(map, map_length, MOST_PLACES)),
            }
        };
        let told = Compilation::Made(Box::new(CompiledInfo {
            method: found.number,
            time: (agent.now)(),
            address: address as u64,
            size,
            ranges,
        }));
        agent.announce(Announcement::Compilation(told));
    });
}

/// The method may be gone: it is not looked at.
pub(super) unsafe extern "system" fn unloaded(
    _jvmti: RawEnv,
    method: jmethodID,
    address: *const c_void,
) {
    guard::run("the end of compiled code", || {
        let Some(agent) = agent::get() else { return };
        let key = (address as usize, method as usize);
        let known = agent.compiled.0.lock().remove(&key);
        if let Some(method) = known {
            agent.announce(Announcement::Compilation(Compilation::Gone {
                method,
                time: (agent.now)(),
                address: address as u64,
            }));
        }
    });
}

/// The inlining record among the compiler's records.
///
/// # Safety
/// They are null, or as `jvmticmlr.h` has them.
unsafe fn inline_record<'a>(mut record: *const Header) -> Option<&'a InlineRecord> {
    const INLINE_INFO: jint = 2;
    const MAJOR: jint = 1;
    // SAFETY: the caller's promise.
    while let Some(header) = unsafe { record.as_ref() } {
        if header.kind == INLINE_INFO && header.major == MAJOR {
            // SAFETY: records of this kind begin with the header.
            return unsafe { record.cast::<InlineRecord>().as_ref() };
        }
        record = header.next;
    }
    None
}

/// # Safety
/// `start` is null, or has that many elements.
unsafe fn array<'a, T>(start: *const T, count: jint, most: usize) -> &'a [T] {
    let count = usize::try_from(count).unwrap_or_default().min(most);
    match start.is_null() {
        true => &[],
        // SAFETY: the caller's promise.
        false => unsafe { std::slice::from_raw_parts(start, count) },
    }
}

type Ranges = Vec<(i64, Box<[u64]>)>;

/// Adds a range, unless it has the frames of the one before.
fn add(ranges: &mut Ranges, offset: i64, frames: Vec<u64>) {
    let goes_on = ranges.last().is_some_and(|(_, last)| **last == *frames);
    if !goes_on && !frames.is_empty() {
        ranges.push((offset, frames.into()));
    }
}

/// # Safety
/// The record is the JVM's, and its methods are alive.
unsafe fn ranges_of_places(agent: &Agent, address: *const c_void, record: &InlineRecord) -> Ranges {
    let mut ranges = Ranges::new();
    // SAFETY: the caller's promise.
    for place in unsafe { array(record.places, record.count, MOST_PLACES) } {
        // SAFETY: likewise.
        let (methods, locations) = unsafe {
            (
                array(place.methods, place.count, MOST_FRAMES),
                array(place.locations, place.count, MOST_FRAMES),
            )
        };
        let frames = methods.iter().zip(locations).map(|(method, location)| {
            // SAFETY: likewise; the JVM knows which methods are gone.
            let found = unsafe { agent.classes.frame_method(agent, *method) }?;
            Some(frame(&found, (*location).into()))
        });
        // With a frame missing, the others would be in the wrong place.
        if let Some(frames) = frames.collect::<Option<Vec<u64>>>() {
            let offset = (place.pc as i64).wrapping_sub(address as i64);
            add(&mut ranges, offset, frames);
        }
        if ranges.len() == MOST_RANGES {
            break;
        }
    }
    ranges
}

fn ranges_of_map(
    method: &FrameMethod,
    address: *const c_void,
    map: &[jvmtiAddrLocationMap],
) -> Ranges {
    let mut ranges = Ranges::new();
    for entry in map {
        let offset = (entry.start_address as i64).wrapping_sub(address as i64);
        add(&mut ranges, offset, vec![frame(method, entry.location)]);
        if ranges.len() == MOST_RANGES {
            break;
        }
    }
    ranges
}

fn frame(method: &FrameMethod, location: i64) -> u64 {
    // What stands before a method's first instruction has the location -1 here, not a native method's.
    record::frame(method.number, method.lines.at(location.max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn the_inline_record_is_found_behind_others() {
        let mut inline = InlineRecord {
            header: Header {
                kind: 2,
                major: 1,
                minor: 0,
                next: null(),
            },
            count: 7,
            places: null(),
        };
        let dummy = Header {
            kind: 1,
            major: 1,
            minor: 0,
            next: (&raw const inline).cast(),
        };
        // SAFETY: these are such records.
        unsafe {
            assert_eq!(inline_record(&dummy).map(|r| r.count), Some(7));
            assert!(inline_record(null()).is_none());
            inline.header.major = 2; // of a later JVM, maybe laid out otherwise
            assert!(inline_record((&raw const inline).cast()).is_none());
        }
    }

    #[test]
    fn ranges_with_the_same_frames_are_one() {
        let mut ranges = Ranges::new();
        add(&mut ranges, 0, vec![1, 2]);
        add(&mut ranges, 8, vec![1, 2]);
        add(&mut ranges, 16, vec![]);
        add(&mut ranges, 24, vec![3]);
        let offsets: Vec<i64> = ranges.iter().map(|r| r.0).collect();
        assert_eq!(offsets, [0, 24]);
    }
}
