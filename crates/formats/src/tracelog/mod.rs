//! Trace logs: the text trace of Tizen's CoreProfiler (`.log`).
//!
//! One record a line. The profiler was made for .NET; what it says of application domains,
//! assemblies and functions we say of the JVM, class loaders and methods. Where its description,
//! its source and the tools that read its traces disagree, the description counts; further choices
//! are marked *(choice)*.
//!
//! # Lines
//!
//! UTF-8, `\n` at the end of every line, one blank between fields, none at the end. A line starts
//! with a type and a sub-type of three letters each.
//!
//! | Name | Text |
//! |---|---|
//! | `dec` | decimal number, no leading zeros |
//! | `h32`, `h64` | `0x` and 8 or 16 digits, capital letters |
//! | `hex` | `0x` and as few digits as it takes, small letters; inside of items |
//! | `str` | text in quotes: `"`, `\`, characters below U+0020 and U+007F are `\uXXXX`, all else stands as it is |
//! | `iid` | internal id: threads, classes and functions count from 0, each in the order of their lines |
//! | `th` | thread of the JVM's own work: `?` (or the number of the process, by [`Settings::os_thread_ids`]) |
//! | `ms` | whole milliseconds since the start, `dec` |
//! | `us` | microseconds, `dec` |
//!
//! Values of `prf cfg` are bare text to the end of the line. In them control characters, blanks at
//! either end, and a backslash before a `u` are `\uXXXX`.
//!
//! | Record | Fields | Meaning |
//! |---|---|---|
//! | `prf stm` | `YYYY-MM-DD hh:mm:ss.mmm` | start, local time; readers take a zone (`+hh:mm`) behind it |
//! | `prf cfg` | name, value | what the trace holds, and options of the trace |
//! | `prf tps`, `prf trs` | `ms` | pause, resume |
//! | `prc cpu` | `ms us` | CPU time of the process since the last such line |
//! | `thr crt` | `h64` id, `h32` iid | thread; id = iid + 1 |
//! | `thr aos` | `h32` iid, `dec` | its number of the operating system |
//! | `thr dst` | `h32` iid | its end |
//! | `thr cpu` | `h32` iid, `ms us` | its CPU time since the last such line |
//! | `apd crf` | `h64` 1, `h64` process id, `h32` 0, `str` | the process and its name |
//! | `asm ldf` | `h64` id, `h64` 1, `h64` module, `h32` 0, `str` | class loader; 1 is `bootstrap`, and all classes whose loader is not told are its *(choice)* |
//! | `mod ldf` | `h64` id, `h64` 0, `h64` assembly, `h32` 0, `str` | its module; same id, same name |
//! | `mod ata` | `h64` module, `h64` assembly | |
//! | `cls ldf` | `h64` id, `h32` iid, `h64` module, `h32` token, `h32` 0 | class; id = iid + 1, token `0x02000000` + id *(choice)*: a JVM has no tokens, and no id that lives longer than the class |
//! | `cls nam` | `h32` iid, `str` | its name in source form: `a.B$C`, `int[]` |
//! | `fun inf` | `h32` iid, `h64` id, `h64` class, `h64` module, `h32` token, blocks `h64:hex` address and size, map `hex:hex:hex` | method; id is that of the model, token `0x06000000` + its place among those written of its class, from 1 *(choice)*: a JVM's id of a method is an address, and is used again. A later one adds code |
//! | `fun nam` | `h32` iid, `str str str` | full name (split at the last dot), return type, `(t1,t2)` |
//! | `jit cmf` | `th ms`, `h64` function, `h32` 0 | compiled; stands behind the `fun inf` that has the code |
//! | `gch gcs` | `th ms`, `induced` or `?`, four of `t`, `f` | collection; `tttt` when the JVM says that it was full, whoever asked for it, else `tfff`; `induced` when its cause is a request, of the program's (`System.gc()`), a tool's or an agent's *(choice)* |
//! | `gch gcf` | `th ms` | its end |
//! | `gch alt` | `ms`, items `hex:dec:dec` | live objects: class iid, objects, bytes |
//! | `sam str` | `h32` iid, `ms`, `dec` ticks, `dec:dec` match and size, frames `hex` | how a stack changed |
//! | `sam mem` | `h32` iid, `ms`, items `hex:dec:dec` | what a thread allocated since its last such line, in the calls that are open *(choice)*: the method and line that an allocation names are no stack, and have no place |
//!
//! The map of a method's code has source lines where .NET has offsets of its bytecode, for that is
//! what events tell *(choice)*: line, first byte, first byte behind, of the method itself and not
//! of what is inlined. A trace with such maps says so in its configuration: `CodeMapUnit
//! SourceLine`. In one that does not say so, maps have offsets, of which no line can be made:
//! readers skip them.
//!
//! A class, a parameter or a result that is called as a primitive type is has its first character
//! as `\uXXXX`, and so have blank, dot, comma and brackets inside of class names in signatures,
//! dots in method names and `[` in class names *(choice)*. A signature that is no descriptor stands
//! as it is, and its return type is empty *(choice)*. Functions that only stacks name have ids from
//! 2⁶³ on *(choice)*.
//!
//! # Stacks
//!
//! Each thread has a stack of functions, empty at first. `size` of a `sam str` is its depth before
//! the record; `match` frames of it stay, and the frames of the record come on top, outermost
//! first. `ticks` belong to the stack behind the change.
//!
//! - **Instrumentation.** A record tells leaves and then enters of one millisecond, never an enter
//!   followed by its leave: each call pushes one frame. Ticks are 0. Calls that are open at the end
//!   stay open. The record ends where a line of anything but a definition follows, another
//!   millisecond, or a leave behind an enter, and nowhere else: leaves that a pause makes are
//!   leaves like others, and an event that is not written ends nothing. So a log of ours is the
//!   same when it is read and written again.
//! - **Sampling.** Samples of one stack that follow each other on a thread are one record, at the
//!   time of the last; with HighGranularityEnabled each is a record of its own.
//!
//! # Order
//!
//! - `prf stm`, all `prf cfg`, thread 0, `apd crf`, loader 1, and then the rest. Thread 0 stands
//!   for the process, whose number it has: readers look for it.
//! - Classes and functions are written when a line first names them, before that line; `cls nam`
//!   right behind its `cls ldf`, `fun nam` right behind the first `fun inf`.
//! - Times do not fall among the `sam` lines of a thread, its `thr cpu` lines, all `gch` lines, all
//!   `prc cpu` lines, and all pauses. A time that would is the last one.
//! - A `sam mem` ends where its calls change, and at multiples of CpuTraceTimeoutMs *(choice)*.
//!   Sums that the trace tells keep their times; those of one thread and millisecond that no line
//!   parts are one line.
//! - `gch alt` comes behind the frees of a collection; when more of them follow, again before the
//!   next collection *(choice)*. It is written only if frees are told.
//! - `thr cpu` comes from CPU times of threads, and from those of calls every CpuTraceTimeoutMs.
//!   `prc cpu` is their sum, unless the trace tells it.
//! - At a pause all stacks are emptied, and a collection ends. While the trace pauses only
//!   definitions, starts and ends of threads and compilations are written. A call that is open at a
//!   pause is left there, for good.
//!
//! # What a trace holds
//!
//! `prf cfg` lines, in this order: CollectionMethod (`None`, `Sampling`, `Instrumentation`),
//! SamplingTimeoutMs, HighGranularityEnabled, TracingSuspendedOnStart, LineTraceEnabled (always `F`
//! *(choice)*: places in frames are addresses here, and events tell lines), CpuTraceProcessEnabled,
//! CpuTraceThreadEnabled, CpuTraceTimeoutMs, ExecutionTraceEnabled, MemoryTraceEnabled,
//! StackTrackingEnabled (`T` with calls), GcTraceEnabled, GcAllocTableEnabled; CodeMapUnit where
//! compilations are told *(choice)*; then options of the trace whose names are letters and digits
//! *(choice)*. What is switched off is not written.
//!
//! An encoder that is not told by [`Settings`] learns *(choice)*:
//!
//! - from options by these names, which are those of a trace log that was read;
//! - or else from the option `events` of our own traces: calls before samples, and a kind of lines
//!   where its events are recorded;
//! - or else everything is switched on, and the first call or sample says which of the two the
//!   trace has. Up to 64 KiB of lines wait for it; longer ones are taken for calls, and a trace
//!   that ends without either has `None`.
//!
//! # What a reader does
//!
//! | Found | Done |
//! |---|---|
//! | other width or case of hex digits, more blanks, blank lines, `\r\n`, a byte order mark | read |
//! | quotes inside of quoted text, backslashes that begin no `\uXXXX` | they are part of the text |
//! | no `prf stm` at the begin | fault; times count from 1970. Refused if no line at all is a record |
//! | unknown type or sub-type | skipped, counted for each |
//! | fields that do not fit | fault; skipped, counted by type and sub-type |
//! | thread, class or function that was not defined | fault; it gets a name made of its number |
//! | `size` that is not the depth | fault. `match` frames stay if there are as many; else all calls are left, and records of the thread are skipped up to one with match 0 |
//! | `thr dst` with two numbers | the last is the iid |
//! | last line without its end | read if it fits; the trace is truncated there |
//! | line above 16 MiB | fault; skipped |
//! | more ticks than anybody can wait for (a thousand frames by byte of the trace, and a million) | fault; so many are read |
//! | instruction pointers, threads of `jit` and `gch` lines, `jit cms`, `css`, `csf`, `gch gen`, `lin src`, `fil src`, and all else that no event holds | skipped, counted by kind. `docs/formats.md` has the list |
//! | ids, tokens, base addresses and names of modules | the same, where they are not as we write them: made of internal ids, 0, that of the assembly |
//! | assemblies of no class, classes and functions without a name | the same |
//! | a code map in a trace without `CodeMapUnit SourceLine` | skipped, counted |
//! | a range of code that ends before the next one starts | read, with a range without frames behind it |
//! | `fun nam` without `fun inf` | a method of class `?` |
//! | code without `jit cmf` in the next line | compiled at the latest time so far |
//!
//! What is counted has one remark for each kind at the end. [`Decoder::strict`] refuses at the
//! first fault. Threads are called `thread` and their iid; thread 0 is announced when something
//! happens on it. Ids of threads and classes are iid + 1, those of methods the function ids, as
//! long as each is used once and below 2⁶³. The opening events have no names but the process's; a
//! trace log has no end of its own. One of samples converts into formats of single calls, too
//! *(choice)*: they get what else it has.
//!
//! # What is dropped
//!
//! Fractions of milliseconds, of calls too; times of single allocations; objects, sizes apart;
//! frees, but for the counts; exceptions, monitors, parks, heap dumps, line counts, members of
//! classes, names of threads, lines of frames, notes and other free text; the machine, the agent,
//! and the zone of the clock: local time is read as UTC.
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
