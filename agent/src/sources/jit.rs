//! Compiled methods: the JVM installs their code, and discards it later.
//!
//! The JVM reports both on a service thread, with a delay. The report lists instructions of the
//! code. If the compiler has kept inlining information, each instruction has a stack of inlined
//! methods. Otherwise each instruction has only a location in the compiled method.

use super::{Need, Source, Tracer};
use crate::instrument::FrameMethod;
use jtrail_guard::log;
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_jvm::jvmti::{CompiledCode, Failure, InlinedStack, Method};
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::record;
use jtrail_records::Definition;
use jtrail_records::definition::Compilation;
use jtrail_records::definition::CompiledInfo;

/// Maximum number of recorded ranges of a method's code. If there are more, the last recorded range
/// covers the rest of the code.
const MAX_RANGES: usize = 4096;

/// The source of `events=jit`.
pub(super) struct CompiledMethods;

impl Source for CompiledMethods {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::JIT)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let compiled = Capability::GenerateCompiledMethodLoadEvents;
        vec![Need::of(compiled, "report compiled methods")]
    }

    fn begin(&self, tracer: &'static Tracer, _env: &mut Env<'_>) {
        enable(tracer);
    }
}

/// Enables the events of compiled code, and replays them for the code that exists.
pub(crate) fn enable(tracer: &Tracer) {
    let jvmti = tracer.session.jvmti;
    let enabled = jvmti
        .enable(Event::CompiledMethodUnload)
        .and_then(|()| jvmti.enable(Event::CompiledMethodLoad));
    match enabled {
        Ok(()) => replay(tracer),
        Err(error) => report_missing(&error),
    }
}

/// Replays the events of compiled code for the code that exists.
pub(crate) fn replay(tracer: &Tracer) {
    if let Err(error) = tracer.session.jvmti.generate_compiled_methods() {
        report_missing(&error);
    }
}

fn report_missing(error: &Failure) {
    log::say(&format!(
        "{error}; compiled methods are missing in the trace"
    ));
}

/// Defines a method's new compiled code.
pub(crate) fn compiled(tracer: &Tracer, env: &Env<'_>, code: &CompiledCode<'_>) {
    let Some(found) = tracer.frame_method(env, code.method()) else {
        return; // its class was unloaded
    };
    let key = (code.address(), code.method().address());
    tracer.compiled.0.lock().insert(key, found.number);
    let ranges = match code.inlined() {
        Some(stacks) => ranges_of_stacks(tracer, env, stacks),
        None => ranges_of_map(&found, code.map()),
    };
    let loaded = Compilation::Loaded(Box::new(CompiledInfo {
        method: found.number,
        time: tracer.session.now(),
        address: code.address(),
        size: code.size(),
        ranges,
    }));
    tracer.session.define(Definition::Compilation(loaded));
}

/// Defines that compiled code was discarded. The method may have been unloaded, so nothing is read
/// about it from the JVM.
pub(crate) fn discarded(tracer: &Tracer, method: Method, address: u64) {
    let key = (address, method.address());
    let known = tracer.compiled.0.lock().remove(&key);
    if let Some(method) = known {
        let unloaded = Compilation::Unloaded {
            method,
            time: tracer.session.now(),
            address,
        };
        tracer.session.define(Definition::Compilation(unloaded));
    }
}

type Ranges = Vec<(i64, Box<[u64]>)>;

/// Adds a range, unless it has the same frames as the preceding one.
fn add(ranges: &mut Ranges, offset: i64, frames: Vec<u64>) {
    let goes_on = ranges.last().is_some_and(|(_, last)| **last == *frames);
    if !goes_on && !frames.is_empty() {
        ranges.push((offset, frames.into()));
    }
}

fn ranges_of_stacks<'c>(
    tracer: &Tracer,
    env: &Env<'_>,
    stacks: impl Iterator<Item = InlinedStack<'c>>,
) -> Ranges {
    let mut ranges = Ranges::new();
    for stack in stacks {
        let frames = stack.frames().map(|(method, location)| {
            let found = tracer.frame_method(env, method)?; // `None` if the method was unloaded
            Some(frame(&found, location))
        });
        // If one frame is missing, the others would be at the wrong depth.
        if let Some(frames) = frames.collect::<Option<Vec<u64>>>() {
            add(&mut ranges, stack.offset(), frames);
        }
        if ranges.len() == MAX_RANGES {
            break;
        }
    }
    ranges
}

fn ranges_of_map(method: &FrameMethod, map: impl Iterator<Item = (i64, i64)>) -> Ranges {
    let mut ranges = Ranges::new();
    for (offset, location) in map {
        add(&mut ranges, offset, vec![frame(method, location)]);
        if ranges.len() == MAX_RANGES {
            break;
        }
    }
    ranges
}

fn frame(method: &FrameMethod, location: i64) -> u64 {
    // In compiled code, the location -1 means the code before the method's first instruction.
    // Elsewhere, it means a native method.
    record::frame(method.number, method.lines.at(location.max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
