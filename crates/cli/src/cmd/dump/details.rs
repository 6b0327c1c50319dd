//! Lines for events with details of threads, classes, methods and objects.

use super::line::{Quoted, Stack, frame, list, method};
use jtrail_analysis::Names;
use jtrail_model::{ClassId, CodeRange, Event, Generation, LineCount, Member, ThreadState, Ticks};
use std::io::{self, Write};

pub(super) fn write(out: &mut dyn Write, names: &Names, event: &Event<'_>) -> io::Result<()> {
    let class = |class: ClassId| Quoted(names.class(class));
    match event {
        Event::ObjectDef(e) => write!(
            out,
            "object object={} class={} size={} kind={}",
            e.object,
            class(e.class),
            e.size,
            e.kind.0
        ),
        Event::ExceptionThrow(e) => write!(
            out,
            "throw object={} class={} stack={}",
            e.object,
            class(e.class),
            Stack(&e.stack)
        ),
        Event::ExceptionCatch(e) => write!(
            out,
            "catch object={} class={} frame={}",
            e.object,
            class(e.class),
            Quoted(frame(&e.frame))
        ),
        Event::CatchDetail(e) => write!(out, "catch-detail entry={} all={}", e.entry, e.takes_all),
        Event::ThreadName(e) => write!(out, "thread-name name={}", Quoted(&e.name)),
        Event::ThreadCpu(e) => write!(out, "thread-cpu cpu={}", e.cpu_time),
        Event::ThreadMount(e) => write!(out, "mount carrier=#{}", e.carrier),
        Event::ThreadUnmount(e) => write!(out, "unmount carrier=#{}", e.carrier),
        Event::ThreadPark(e) => {
            write!(out, "park object={} stack={}", e.object, Stack(&e.stack))
        }
        Event::ThreadUnpark(_) => write!(out, "unpark"),
        Event::ClassDetail(e) => write!(
            out,
            "class-detail class={} flags={:#x} super={} interfaces={} loader={} size={} \
             fields={} methods={}",
            class(e.class),
            e.access,
            Quoted(&e.super_name),
            list(&e.interfaces, |i| i.to_string()),
            Quoted(&e.loader),
            e.size,
            list(&e.fields, member),
            list(&e.methods, member)
        ),
        Event::ClassUnload(e) => write!(out, "class-unload class={}", class(e.class)),
        Event::ClassRedefine(e) => {
            write!(
                out,
                "class-redefine class={} size={}",
                class(e.class),
                e.size
            )
        }
        Event::ClassInitStart(e) => write!(out, "class-init class={}", class(e.class)),
        Event::ClassInitEnd(e) => {
            write!(
                out,
                "class-init-end class={} failed={}",
                class(e.class),
                e.failed
            )
        }
        Event::MethodDetail(e) => {
            write!(out, "method-detail ")?;
            method(out, names, e.method)?;
            write!(out, " size={}", e.size)
        }
        Event::MethodCompile(e) => {
            write!(out, "compile ")?;
            method(out, names, e.method)?;
            write!(
                out,
                " address={:#x} size={} ranges={}",
                e.address,
                e.size,
                list(&e.ranges, range)
            )
        }
        Event::MethodUncompile(e) => {
            write!(out, "uncompile ")?;
            method(out, names, e.method)?;
            write!(out, " address={:#x}", e.address)
        }
        Event::Sample(e) => {
            write!(out, "sample state={}", state(e.state))?;
            if e.ticks > Ticks::default() {
                write!(out, " ticks={}", e.ticks.get())?;
            }
            write!(out, " stack={}", Stack(&e.stack))
        }
        Event::GcDetail(e) => write!(
            out,
            "gc-detail collector={} cause={} generation={}",
            Quoted(&e.collector),
            Quoted(&e.cause),
            generation(e.generation)
        ),
        Event::HeapObject(e) => write!(
            out,
            "heap-object dump={} object={} class={} size={}",
            e.dump,
            e.object,
            class(e.class),
            e.size
        ),
        Event::HeapDumpEnd(e) => write!(out, "heap-dump-end id={}", e.dump),
        Event::LineCounts(e) => {
            write!(out, "lines ")?;
            method(out, names, e.method)?;
            write!(out, " calls={} counts={}", e.calls, list(&e.lines, count))
        }
        Event::AggregatedDetail(e) => {
            write!(out, "aggregated-detail ")?;
            method(out, names, e.method)?;
            let (exceptions, overhead) = (e.exceptions, e.overhead);
            write!(out, " exceptions={exceptions} overhead={overhead}")
        }
        Event::SampleSum(e) => write!(
            out,
            "sample-sum depth={} frame={} runnable={} all={}",
            e.depth,
            Quoted(frame(&e.frame)),
            e.runnable,
            e.all
        ),
        Event::ObjectCounts(e) => {
            let (live, peak) = (e.live, e.peak);
            write!(
                out,
                "object-counts class={} live={live} peak={peak}",
                class(e.class)
            )
        }
        Event::ClassSource(e) => write!(
            out,
            "class-source class={} source={}",
            class(e.class),
            Quoted(&e.source_name)
        ),
        Event::TracePause(_) => write!(out, "pause"),
        Event::TraceResume(_) => write!(out, "resume"),
        Event::ThreadOsId(e) => write!(out, "thread-os os={}", e.os_id),
        Event::ProcessCpu(e) => write!(out, "process-cpu cpu={}", e.cpu_time),
        Event::AllocationSum(e) => {
            let (objects, bytes) = (e.objects, e.bytes);
            let class = class(e.class);
            write!(
                out,
                "allocations class={class} objects={objects} bytes={bytes}"
            )
        }
        Event::LiveObjects(e) => {
            write!(out, "live-objects")?;
            e.classes.iter().try_for_each(|live| {
                let (objects, bytes) = (live.objects, live.bytes);
                write!(out, " {}:{objects}:{bytes}", class(live.class))
            })
        }
        _ => write!(out, "other"),
    }
}

fn member(m: &Member<'_>) -> String {
    format!("{}:{}:{:#x}", m.name, m.signature, m.access)
}

fn range(range: &CodeRange<'_>) -> String {
    let frames: Vec<String> = range.frames.iter().map(frame).collect();
    format!("{}:{}", range.offset, frames.join("<"))
}

fn count(line: &LineCount) -> String {
    format!("{}:{}", line.line, line.count)
}

const fn state(state: ThreadState) -> &'static str {
    match state {
        ThreadState::Runnable => "runnable",
        ThreadState::Blocked => "blocked",
        ThreadState::Waiting => "waiting",
        ThreadState::Parked => "parked",
        ThreadState::Sleeping => "sleeping",
    }
}

const fn generation(generation: Generation) -> &'static str {
    match generation {
        Generation::Unknown => "unknown",
        Generation::Young => "young",
        Generation::Full => "full",
        Generation::Concurrent => "concurrent",
    }
}
