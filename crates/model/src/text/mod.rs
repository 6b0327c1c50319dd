//! Events as text, for formats that have free text but no message for an event.
//!
//! The grammar is that of [`crate::Note`]: `jtrail`, a kind, and `key=value` pairs. All keys are
//! present, in the order of the lines below. For a list, the key is repeated for each entry, so an
//! empty list has no pair. Times are in nanoseconds since 1970-01-01 UTC, lengths of time in
//! nanoseconds. Ids and all other numbers are decimal.
//!
//! ```text
//! jtrail object id=9 time=1700000000000000007 kind=0 size=24 class=3
//! jtrail throw thread=1 time=1700000000000000008 object=9 class=3 frame="12 a.B.run()V" frame="-2 java.lang.Object.wait(J)V"
//! jtrail catch thread=1 time=1700000000000000009 object=9 class=3 frame="14 a.B.run()V"
//! jtrail thread-name thread=1 time=1700000000000000010 name="worker \"7\""
//! jtrail thread-cpu thread=1 time=1700000000000000011 cpu=2500000
//! jtrail mount thread=4 time=1700000000000000012 carrier=1
//! jtrail unmount thread=4 time=1700000000000000013 carrier=1
//! jtrail park thread=1 time=1700000000000000014 object=0 frame="341 java.util.concurrent.locks.LockSupport.park()V"
//! jtrail unpark thread=1 time=1700000000000000015
//! jtrail class-detail class=3 time=1700000000000000016 access=33 super=java.lang.Object loader=app size=812 interface=java.lang.Runnable interface=a.I field=count type=I flags=2 method=run type=()V flags=1
//! jtrail class-unload class=3 time=1700000000000000017
//! jtrail class-redefine class=3 time=1700000000000000018 size=840
//! jtrail compile method=5 time=1700000000000000019 address=140191364083712 size=416 code=0 frame="12 a.B.run()V" code=32 frame="7 a.B.get()I" frame="13 a.B.run()V"
//! jtrail uncompile method=5 time=1700000000000000020 address=140191364083712
//! jtrail sample thread=1 time=1700000000000000021 state=runnable frame="13 a.B.run()V"
//! jtrail sample thread=1 time=1700000000000000021 state=sleeping ticks=3 frame="13 a.B.run()V"
//! jtrail gc-detail time=1700000000000000022 collector="G1 Young Generation" cause="G1 Evacuation Pause" generation=young
//! jtrail heap-object dump=10 object=9 class=3 size=24
//! jtrail heap-end dump=10 time=1700000000000000023
//! jtrail lines method=5 time=1700000000000000024 calls=3 line=12:3 line=13:300
//! jtrail pause time=1700000000000000025
//! jtrail resume time=1700000000000000026
//! jtrail aggregated-detail thread=1 method=5 exceptions=2 overhead=4000
//! jtrail sample-sum thread=1 time=1700000000000000025 depth=1 frame="-1 a.B.run()" runnable=8 all=28
//! jtrail object-counts thread=1 time=1700000000000000026 class=3 live=61 peak=1446
//! jtrail class-source class=3 source=B.java
//! jtrail method-detail method=5 size=47
//! jtrail catch-detail thread=1 time=1700000000000000009 entry=2 all=1
//! jtrail thread-os thread=1 time=1700000000000000027 os=4243
//! jtrail process-cpu time=1700000000000000028 cpu=7500000
//! jtrail allocation-sum thread=1 time=1700000000000000029 class=3 objects=3 bytes=72
//! jtrail live-objects time=1700000000000000030 class=3:1:24 class=6:12:480
//! jtrail class-init thread=1 time=1700000000000000031 class=3
//! jtrail class-init-end thread=1 time=1700000000000000032 class=3 failed=0
//! ```
//!
//! - A frame is its line, a blank, and its method. The innermost frame comes first.
//! - `field=` and `method=` begin a member: name, descriptor (`type`), access flags (`flags`).
//! - `code=` begins a range of compiled code at that offset; its frames follow.
//! - `line=` is a line, a colon, and the number of times that it was reached.
//! - `class=3:1:24` means that one object of class 3 is alive, with 24 bytes.
//! - `failed=1` means that an exception ended a class's initialisation, `failed=0` that none did.
//! - `all=1` means that a handler catches all exceptions, `all=0` that it does not.
//! - `ticks=3` after the state of a sample means that it stands for three samples. Without it, the
//!   sample stands for one.
//! - `state` is a name of [`crate::ThreadState`], `generation` one of [`crate::Generation`], `kind`
//!   the number of an [`ObjectKind`](crate::ObjectKind).
//!
//! A text that is not exactly as this version would write it is treated as free text. So an event
//! of a later version, with additional pairs, is kept unchanged.

mod value;

use crate::grammar::{PREFIX, Pairs};
use crate::{
    AggregatedDetail, AllocationSum, CatchDetail, ClassDetail, ClassInitEnd, ClassInitStart,
    ClassRedefine, ClassSource, ClassUnload, Event, ExceptionCatch, ExceptionThrow, GcDetail,
    HeapDumpEnd, HeapObject, LineCounts, LiveObjects, MethodCompile, MethodDetail, MethodUncompile,
    ObjectCounts, ObjectDef, ProcessCpu, Sample, SampleSum, Text, ThreadCpu, ThreadMount,
    ThreadName, ThreadOsId, ThreadPark, ThreadUnmount, ThreadUnpark, TracePause, TraceResume,
};
use std::borrow::Cow;
use value::{Source, Value};

/// Each row has the kind, the variant and the payload type of an event, and its keys and fields in
/// order.
macro_rules! texts {
    ($($kind:literal $variant:ident($payload:ident) { $($key:literal = $field:ident)* })*) => {
        /// Appends the text of an event to `out`. Returns false, and appends nothing, if the event
        /// has no text form here.
        pub fn write(event: &Event<'_>, out: &mut String) -> bool {
            match event {
                $(Event::$variant(e) => {
                    out.push_str(PREFIX);
                    out.push_str($kind);
                    $(e.$field.write($key, out);)*
                    true
                })*
                _ => false,
            }
        }

        fn read<'a>(kind: &str, source: &mut Source<'_, 'a>) -> Option<Event<'a>> {
            Some(match kind {
                $($kind => Event::$variant($payload {
                    $($field: Value::read($key, source)?,)*
                }.into()),)*
                _ => return None,
            })
        }
    };
}

texts! {
    "object" ObjectDef(ObjectDef) {
        "id" = object "time" = time "kind" = kind "size" = size "class" = class
    }
    "throw" ExceptionThrow(ExceptionThrow) {
        "thread" = thread "time" = time "object" = object "class" = class "frame" = stack
    }
    "catch" ExceptionCatch(ExceptionCatch) {
        "thread" = thread "time" = time "object" = object "class" = class "frame" = frame
    }
    "thread-name" ThreadName(ThreadName) { "thread" = thread "time" = time "name" = name }
    "thread-cpu" ThreadCpu(ThreadCpu) { "thread" = thread "time" = time "cpu" = cpu_time }
    "mount" ThreadMount(ThreadMount) { "thread" = thread "time" = time "carrier" = carrier }
    "unmount" ThreadUnmount(ThreadUnmount) { "thread" = thread "time" = time "carrier" = carrier }
    "park" ThreadPark(ThreadPark) {
        "thread" = thread "time" = time "object" = object "frame" = stack
    }
    "unpark" ThreadUnpark(ThreadUnpark) { "thread" = thread "time" = time }
    "class-detail" ClassDetail(ClassDetail) {
        "class" = class "time" = time "access" = access "super" = super_name "loader" = loader
        "size" = size "interface" = interfaces "field" = fields "method" = methods
    }
    "class-unload" ClassUnload(ClassUnload) { "class" = class "time" = time }
    "class-redefine" ClassRedefine(ClassRedefine) { "class" = class "time" = time "size" = size }
    "compile" MethodCompile(MethodCompile) {
        "method" = method "time" = time "address" = address "size" = size "code" = ranges
    }
    "uncompile" MethodUncompile(MethodUncompile) {
        "method" = method "time" = time "address" = address
    }
    "sample" Sample(Sample) { "thread" = thread "time" = time "state" = state "ticks" = ticks "frame" = stack }
    "gc-detail" GcDetail(GcDetail) {
        "time" = time "collector" = collector "cause" = cause "generation" = generation
    }
    "heap-object" HeapObject(HeapObject) {
        "dump" = dump "object" = object "class" = class "size" = size
    }
    "heap-end" HeapDumpEnd(HeapDumpEnd) { "dump" = dump "time" = time }
    "lines" LineCounts(LineCounts) {
        "method" = method "time" = time "calls" = calls "line" = lines
    }
    "pause" TracePause(TracePause) { "time" = time }
    "resume" TraceResume(TraceResume) { "time" = time }
    "aggregated-detail" AggregatedDetail(AggregatedDetail) {
        "thread" = thread "method" = method "exceptions" = exceptions "overhead" = overhead
    }
    "sample-sum" SampleSum(SampleSum) {
        "thread" = thread "time" = time "depth" = depth "frame" = frame "runnable" = runnable
        "all" = all
    }
    "object-counts" ObjectCounts(ObjectCounts) {
        "thread" = thread "time" = time "class" = class "live" = live "peak" = peak
    }
    "class-source" ClassSource(ClassSource) { "class" = class "source" = source_name }
    "thread-os" ThreadOsId(ThreadOsId) { "thread" = thread "time" = time "os" = os_id }
    "process-cpu" ProcessCpu(ProcessCpu) { "time" = time "cpu" = cpu_time }
    "allocation-sum" AllocationSum(AllocationSum) {
        "thread" = thread "time" = time "class" = class "objects" = objects "bytes" = bytes
    }
    "method-detail" MethodDetail(MethodDetail) { "method" = method "size" = size }
    "catch-detail" CatchDetail(CatchDetail) {
        "thread" = thread "time" = time "entry" = entry "all" = takes_all
    }
    "live-objects" LiveObjects(LiveObjects) { "time" = time "class" = classes }
    "class-init" ClassInitStart(ClassInitStart) { "thread" = thread "time" = time "class" = class }
    "class-init-end" ClassInitEnd(ClassInitEnd) {
        "thread" = thread "time" = time "class" = class "failed" = failed
    }
}

/// Parses the text of an event. Returns `None` if the text is damaged or is not the text of an
/// event. Never panics. The event borrows from the text if possible. Its size is proportional to
/// the size of the text.
pub fn parse<'a>(text: &Text<'a>) -> Option<Event<'a>> {
    match text {
        Cow::Borrowed(text) => parse_with(text, |part| part),
        Cow::Owned(text) => parse_with(text, |part| part.into_owned().into()),
    }
}

fn parse_with<'t, 'a>(text: &'t str, keep: fn(Cow<'t, str>) -> Text<'a>) -> Option<Event<'a>> {
    let (kind, rest) = text.strip_prefix(PREFIX)?.split_once(' ')?;
    let mut source = Source {
        pairs: Pairs::new(rest),
        keep,
    };
    let event = read(kind, &mut source)?;
    source.pairs.is_empty().then_some(event)
}

#[cfg(test)]
mod tests;
