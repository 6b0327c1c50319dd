//! JDK Flight Recorder recordings (`.jfr`): what `jfr`, JDK Mission Control, async-profiler's
//! converter and IDEs read.
//!
//! A recording is a sequence of chunks. Each has a header, events, the constants that the events
//! refer to, and metadata that describe all types. A chunk is complete in itself. It is kept in
//! memory until it is written: at some 32 MB, or when a million call paths are known. While the
//! program runs, a chunk is written once a second, or after 10 s if it is smaller than 64 KB. A key
//! stands for the same constant in all chunks.
//!
//! | Module | Contents |
//! |---|---|
//! | `sink` | what becomes which events |
//! | `events` | the events that take more than a few lines |
//! | `recording` | the recording that is being written |
//! | `threads` | what is open on a thread, and samples made from calls |
//! | `chunk` | chunks and their headers |
//! | `flush` | when a chunk ends while the program runs |
//! | `constants` | names, classes and methods |
//! | `pool` | keys of constants, and which of them a chunk uses |
//! | `paths` | call paths, which become stack traces |
//! | `schema` | the types, and the metadata |
//! | `encoding` | integers, texts and the frames of events |
//!
//! # Bytes
//!
//! | Part of a chunk | Contents |
//! |---|---|
//! | header | `FLR\0`, version 2.1, size, offsets of checkpoint and metadata, start and length in ns, start in ticks, ticks per second (10⁹), flags: 1 for compressed integers, 2 for the last chunk |
//! | events | size, type, fields in the order of the metadata |
//! | checkpoint | all constants by type and key; key 0 is null, but for types of frames |
//! | metadata | strings, and a tree of types with fields and annotations |
//!
//! An export in several files is one recording that is cut between chunks: nothing is told twice
//! but the process and the recording itself.
//!
//! Ticks are ns since the first time of the trace, plus one. Chunks have different time ranges: JDK
//! Mission Control takes chunks with equal ranges for one. A call that began in an earlier chunk is
//! in the chunk in which it ends.
//!
//! # Events
//!
//! | Event | From | Remarks |
//! |---|---|---|
//! | `jdk.MethodTrace` | calls | the stack trace begins with the caller, as in JDK 25 |
//! | `jdk.JavaMonitorEnter` | blocked threads | the address is the object's number |
//! | `jdk.JavaMonitorWait` | `Object.wait` | the notifier is unknown |
//! | `jdk.ThreadPark` | parks | the time limit is unknown |
//! | `jdk.JavaExceptionThrow` | throws, also of errors | the message is unknown |
//! | `jdk.ObjectAllocationSample` | allocations | one event for each object, or for each sum; the weight is the exact size |
//! | `jdk.ThreadAllocationStatistics` | allocations | bytes of each thread since its start, at the end |
//! | `jdk.ExecutionSample` | samples of running threads | see below |
//! | `jdk.NativeMethodSample` | samples in native methods, and of waiting threads | |
//! | `jdk.ThreadStart`, `jdk.ThreadEnd` | threads | a thread that ran before the trace starts where it is first seen |
//! | `jdk.ClassLoad` | definitions of classes | no length; a class that was loaded before the trace is loaded where it is first seen |
//! | `jdk.ClassUnload` | class unloads | |
//! | `jdk.GarbageCollection`, `jdk.GCPhasePause`, `jdk.YoungGarbageCollection`, `jdk.OldGarbageCollection` | collections | all of it is one pause |
//! | `jdk.GCHeapSummary` | bytes in use after a collection | |
//! | `jdk.JVMInformation` | the process | its id only; the program file is a note |
//! | `jdk.Shutdown` | the start of the shutdown | the reason is unknown |
//! | `jdk.ActiveRecording`, `jdk.ActiveSetting` | | name of the recording, period of samples made from calls |
//! | `jtrail.MethodSum` | calls that were recorded as sums | the time is that of the sum, not of the calls |
//! | `jtrail.CpuTime` | CPU times | `jdk.ThreadCPULoad` needs the number of processors, which traces do not have |
//! | `jtrail.Note` | marks, and what the trace lacks | |
//!
//! Fields that the trace does not have are null, 0, or the smallest number, which JDK tools show as
//! "N/A".
//!
//! # Samples
//!
//! There is a sample for each tick of the sampler, up to the last 65,536 of successive ones. If the
//! trace has no samples up to the end of a chunk, that chunk has samples made from the calls: one
//! for each 1 ms at which a thread is in a call and not in a recorded wait. After each 500,000 such
//! samples, the interval doubles: a day in one call is 4 million samples. A note and the setting
//! `period` of `jdk.ExecutionSample` tell.
//!
//! # Stack traces
//!
//! Calls, allocations and samples made from calls have the call path: recorded methods, and no
//! lines but that of an allocation. Waits, throws and samples have the recorded stack with its
//! lines, or the call path if there is none. A stack trace has at most 256 frames. It is marked as
//! truncated if there are more, or if the recorded stack is as long as the option `stackdepth` of
//! the trace allows.

mod chunk;
mod constants;
mod encoding;
mod events;
mod flush;
mod paths;
mod pool;
mod recording;
mod schema;
mod sink;
mod threads;

pub(crate) use recording::Recording;

#[cfg(test)]
mod tests;
