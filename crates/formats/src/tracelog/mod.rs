//! Trace logs: the text trace of Tizen's CoreProfiler (`.log`).
//!
//! A trace log has one record per line. CoreProfiler traces .NET programs. Here, its application
//! domain is the JVM, its assemblies are class loaders, and its functions are methods. Where
//! CoreProfiler's description, its source and the tools that read its traces disagree, this module
//! follows the description. Our own choices are marked *(choice)*.
//!
//! # Lines
//!
//! Text is UTF-8. Every line ends with `\n`. One blank separates two fields; no blank ends a line.
//! A line starts with a type and a sub-type of three letters each.
//!
//! | Name | Text |
//! |---|---|
//! | `dec` | decimal number, no leading zeros |
//! | `h32`, `h64` | `0x` and 8 or 16 hex digits, in upper case |
//! | `hex` | `0x` and the fewest possible hex digits, in lower case; used inside of items |
//! | `str` | text in quotes; `"`, `\`, characters below U+0020, and U+007F are written as `\uXXXX` |
//! | `iid` | internal id: threads, classes and functions each count from 0, in the order of their lines |
//! | `th` | thread that did the JVM's own work: `?`, or the process id with [`Settings::os_thread_ids`] |
//! | `ms` | whole milliseconds since the start, `dec` |
//! | `us` | microseconds, `dec` |
//!
//! The value of a `prf cfg` line is text without quotes, up to the end of the line. In a value,
//! control characters, leading and trailing blanks, and a backslash before a `u` are written as
//! `\uXXXX`.
//!
//! | Record | Fields | Meaning |
//! |---|---|---|
//! | `prf stm` | `YYYY-MM-DD hh:mm:ss.mmm` | start, local time; readers accept a zone (`+hh:mm`) after it |
//! | `prf cfg` | name, value | what the trace contains, and options of the trace |
//! | `prf tps`, `prf trs` | `ms` | pause, resume |
//! | `prc cpu` | `ms us` | CPU time of the process since the preceding line of this type |
//! | `thr crt` | `h64` id, `h32` iid | new thread; id = iid + 1 |
//! | `thr aos` | `h32` iid, `dec` | the operating system's id of the thread |
//! | `thr dst` | `h32` iid | end of the thread |
//! | `thr cpu` | `h32` iid, `ms us` | CPU time of the thread since its preceding `thr cpu` |
//! | `apd crf` | `h64` 1, `h64` process id, `h32` 0, `str` | the process and its name |
//! | `asm ldf` | `h64` id, `h64` 1, `h64` module, `h32` 0, `str` | class loader |
//! | `mod ldf` | `h64` id, `h64` 0, `h64` assembly, `h32` 0, `str` | module of the loader, with the loader's id and name |
//! | `mod ata` | `h64` module, `h64` assembly | the module belongs to the assembly |
//! | `cls ldf` | `h64` id, `h32` iid, `h64` module, `h32` token, `h32` 0 | class |
//! | `cls nam` | `h32` iid, `str` | name of the class in source form: `a.B$C`, `int[]` |
//! | `fun inf` | `h32` iid, `h64` id, `h64` class, `h64` module, `h32` token, blocks `h64:hex`, map `hex:hex:hex` | method; a further `fun inf` adds code |
//! | `fun nam` | `h32` iid, `str str str` | full name (its last dot precedes the method), return type, `(t1,t2)` |
//! | `jit cmf` | `th ms`, `h64` function, `h32` 0 | the method was compiled; follows the `fun inf` that contains the code |
//! | `gch gcs` | `th ms`, `induced` or `?`, four of `t`, `f` | start of a collection |
//! | `gch gcf` | `th ms` | end of the collection |
//! | `gch alt` | `ms`, items `hex:dec:dec` | live objects; an item is class iid, objects, bytes |
//! | `sam str` | `h32` iid, `ms`, `dec` ticks, `dec:dec` match and size, frames `hex` | change of a stack |
//! | `sam mem` | `h32` iid, `ms`, items `hex:dec:dec` | what a thread allocated since its preceding `sam mem` |
//!
//! - `asm ldf`: loader 1 is `bootstrap`. It is also the loader of all classes whose loader the
//!   trace does not name *(choice)*.
//! - `cls ldf`: id = iid + 1, and the token is `0x02000000` + id *(choice)*. A JVM has no tokens,
//!   and no class ids that stay unique after a class is unloaded.
//! - `fun inf`: the id is the model's id of the method. The token is `0x06000000` + the number of
//!   the method among the written methods of its class, from 1 *(choice)*. The JVM's own id of a
//!   method is an address. The JVM may reuse it.
//! - `fun inf`: a block is address and size of code. [Code maps](#code-maps) describes the map.
//! - `gch gcs`: the four letters are `tttt` if the JVM reports a full collection, whatever its
//!   cause, and `tfff` otherwise. The reason is `induced` if the program (`System.gc()`), a tool or
//!   an agent requested the collection *(choice)*.
//! - `sam mem`: the allocations belong to the calls that are open on the thread *(choice)*. The
//!   record has no field for the method and line of an allocation event.
//!
//! ## Code maps
//!
//! An item of a map is a source line, the offset of its first byte of code, and the offset after
//! its last byte *(choice)*. CoreProfiler writes offsets of bytecode in place of source lines, but
//! our events contain only lines. Lines are those of the compiled method, not of inlined methods.
//!
//! A trace with such maps has the configuration line `CodeMapUnit SourceLine`. Without that line,
//! maps contain bytecode offsets. Readers skip such maps, because they contain no lines.
//!
//! ## Names
//!
//! Some characters of names are written as `\uXXXX`, so that a name reads back unchanged
//! *(choice)*:
//!
//! - the first character of a class that is named like a primitive type, in signatures and as the
//!   element type of an array;
//! - blanks, dots, commas and parentheses inside of class names in signatures;
//! - dots in method names;
//! - `[` in names of classes that are not arrays.
//!
//! A signature that is not a descriptor is written unchanged, with an empty return type *(choice)*.
//! Functions that occur in stacks only have ids from 2⁶³ on *(choice)*.
//!
//! # Stacks
//!
//! Each thread has a stack of functions, which starts empty. `size` of a `sam str` is the depth
//! before the record. The outermost `match` frames stay. Then the frames of the record are pushed,
//! outermost first. `ticks` is the number of samples of the stack after the change.
//!
//! - **Instrumentation.** A record contains leaves and then enters of one millisecond. It never
//!   contains both the enter and the leave of a call: each call pushes a frame, so its leave
//!   belongs to a later record. Ticks are 0. Calls that are open at the end of the trace stay open.
//! - **Sampling.** Consecutive samples of one stack on a thread are one record, at the time of the
//!   last sample. With HighGranularityEnabled, each sample is a record of its own.
//!
//! In instrumentation mode, a record ends for exactly three reasons: a line that is not a
//! definition, a new millisecond, and a leave after an enter. Leaves that a pause causes are
//! ordinary leaves. An event that is not written does not end a record. So reading our log and
//! writing it again gives the same log.
//!
//! # Order
//!
//! - The first lines are `prf stm`, all `prf cfg`, thread 0, `apd crf` and loader 1. Thread 0
//!   stands for the process. Its `thr aos` is the process id, because readers look for a thread
//!   with this id.
//! - Classes and functions are written directly before the first line that refers to them. `cls
//!   nam` directly follows its `cls ldf`; `fun nam` directly follows the first `fun inf`.
//! - Times never decrease within each of these groups: the `sam` lines of a thread, the `thr cpu`
//!   lines of a thread, all `gch` lines, all `prc cpu` lines, all pauses and resumes. An earlier
//!   time is replaced by the preceding one of its group.
//! - A `sam mem` ends where the open calls of its thread change, and at multiples of
//!   CpuTraceTimeoutMs *(choice)*. If the trace itself contains sums, they keep their times. All
//!   sums of a thread in one millisecond are one line, unless another line comes between them.
//! - `gch alt` follows the frees of a collection. If more frees follow, another `gch alt` precedes
//!   the next collection *(choice)*. These tables are written only if frees are recorded.
//! - `thr cpu` lines come from CPU times of threads, and every CpuTraceTimeoutMs from CPU times of
//!   calls. `prc cpu` is the sum over all threads, unless the trace contains CPU times of the
//!   process.
//!
//! A pause ends all open calls for good, and a collection in progress. During a pause, only these
//! lines are written: definitions, starts and ends of threads, `thr aos`, and compilations.
//!
//! # What a trace holds
//!
//! `prf cfg` lines come in this order:
//!
//! 1. CollectionMethod: `None`, `Sampling` or `Instrumentation`
//! 2. SamplingTimeoutMs
//! 3. HighGranularityEnabled
//! 4. TracingSuspendedOnStart
//! 5. LineTraceEnabled: always `F` *(choice)*, because line tracing adds addresses to frames, and
//!    our events contain no addresses
//! 6. CpuTraceProcessEnabled
//! 7. CpuTraceThreadEnabled
//! 8. CpuTraceTimeoutMs
//! 9. ExecutionTraceEnabled
//! 10. MemoryTraceEnabled
//! 11. StackTrackingEnabled: `T` in instrumentation mode
//! 12. GcTraceEnabled
//! 13. GcAllocTableEnabled
//! 14. CodeMapUnit: only if the trace has code maps *(choice)*
//! 15. options of the trace whose names consist of letters and digits *(choice)*
//!
//! Lines of a kind that is switched off are not written.
//!
//! If the caller passes no [`Settings`], the encoder takes them from the first of these sources
//! that the trace has *(choice)*:
//!
//! - Options with the names above, which come from a trace log that was read.
//! - The option `events` of jtrail's own traces. Calls take precedence over samples. A kind of
//!   lines is switched on if the kind of events that it shows is recorded.
//! - The first call or sample, which decides the collection method. All other kinds are switched
//!   on. Up to 64 KiB of lines are held back until this event. If there are more lines before it,
//!   the method is `Instrumentation`. If the trace ends before it, the method is `None`.
//!
//! # What a reader does
//!
//! | Found | Done |
//! |---|---|
//! | other width or case of hex digits, more blanks, blank lines, `\r\n`, a byte order mark | read |
//! | quotes inside of quoted text, backslashes that begin no `\uXXXX` | read as part of the text |
//! | no `prf stm` at the start | fault; times count from 1970 |
//! | no record in any line | refused |
//! | unknown type or sub-type | skipped, counted by type and sub-type |
//! | fields that do not fit | fault; skipped, counted by type and sub-type |
//! | thread, class or function that is not defined | fault; its name contains its number |
//! | `size` that differs from the depth | fault; `match` frames stay if the stack has that many |
//! | `match` above the depth | fault; the stack is emptied; records of the thread are skipped up to one with match 0 |
//! | `thr dst` with two numbers | the last one is the iid |
//! | last line without `\n` | read if its fields fit; the trace is truncated there |
//! | line above 16 MiB | fault; skipped |
//! | sample with more than 4096 frames or 1 MiB of names | its outermost frames are cut; counted |
//! | code map with more than 1 MiB of names | cut there; counted |
//! | records that no event holds: `jit cms`, `jit css`, `jit csf`, `gch gen`, `lin src`, `fil src` | skipped, counted by kind |
//! | instruction pointers; threads of `jit` and `gch` lines | skipped, counted by kind |
//! | ids and tokens that are not made of internal ids; base addresses other than 0 | skipped, counted by kind |
//! | names of modules that differ from the name of their assembly | skipped, counted by kind |
//! | assemblies of no class, classes and functions without a name | skipped, counted by kind |
//! | a code map in a trace without `CodeMapUnit SourceLine` | skipped, counted |
//! | a range of code that ends before the next one starts | read; a range without frames follows it |
//! | `fun nam` without `fun inf` | a method of class `?` |
//! | code without `jit cmf` in the next record, `fun nam` aside | compiled at the latest time so far |
//!
//! `docs/formats.md` lists everything that is skipped or counted. The end of the trace has one
//! remark for each kind. [`Decoder::strict`] refuses the trace at the first fault.
//!
//! A thread is named `thread` and its iid. Thread 0 is defined when the first event on it occurs.
//! Ids of threads and classes are iid + 1. The id of a method is its function id, if that is
//! unique, not 0, and below 2⁶³.
//!
//! Of the opening events, only that of the process has a name. A trace log has no record for the
//! end of the trace. A trace log of samples also converts into formats of single calls *(choice)*.
//! The result contains everything except the samples.
//!
//! # What is dropped
//!
//! - fractions of milliseconds, also in times of calls
//! - times of single allocations
//! - ids of objects; sizes are kept as sums
//! - frees, except for their effect on tables of live objects
//! - exceptions, monitors, parks, heap dumps and line counts
//! - members of classes, names of threads, and lines of frames
//! - notes and other free text
//! - data on the machine and the agent
//! - the time zone: local time is read as UTC
//!
//! [`Encode::dropped`](crate::Encode::dropped) counts them.

mod clock;
mod decode;
mod encode;
mod names;
mod settings;
mod value;
mod wire;

pub use decode::Decoder;
pub(crate) use decode::is_begin;
pub(crate) use decode::remarks::Remarked;
pub use encode::Encoder;
pub use settings::{Collection, Settings};

/// Name of the format in errors.
const FORMAT: &str = "tracelog";
