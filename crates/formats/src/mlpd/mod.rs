//! Log profiles: the `.mlpd` files of Mono's log profiler.
//!
//! Mono's profiler wrote the events of a program to buffers. Each buffer holds events of one
//! thread. A thread fills one buffer after the other. Data version 1 is the first version with a
//! published description, and version 17 is the last version. This module reads and writes both. It
//! refuses the versions between them. The mark *(choice)* means that the description leaves a point
//! open and jtrail decides it.
//!
//! ```
//! use jtrail_formats::{Encode, mlpd};
//! use jtrail_model::Event;
//!
//! let mut encoder = mlpd::Encoder::new(mlpd::DataVersion::V17);
//! let mut out = Vec::new();
//! encoder.begin(&mut out);
//! encoder.end(&mut out);
//! assert_eq!(out[..8], [0x01, 0x5a, 0x50, 0x4d, 3, 0, 17, 8]);
//! ```
//!
//! | Module | Contents |
//! |---|---|
//! | `wire` | constants of the format: numbers and reserved names |
//! | `header` | the file header |
//! | `value`, `names`, `index` | numbers and texts; names; tables by id |
//! | `encode` | the encoder: events, definitions, heap dumps, dropped data, and buffers |
//! | `decode` | the decoder: decompression, events of a buffer, merging of buffers, definitions, events of the model, remarks |
//!
//! # Fields
//!
//! | Name | Encoding |
//! |---|---|
//! | u8, u16, u32, u64 | fixed width, little-endian |
//! | uleb | unsigned LEB128: 7 bits per byte, low bits first; bit 7 means that another byte follows |
//! | sleb | signed LEB128: like uleb, in two's complement; bit 6 of the last byte is the sign |
//! | str | UTF-8 and a terminating zero byte; a zero inside the text becomes U+FFFD |
//! | time | uleb: nanoseconds since the preceding timed event of the buffer, or since its time base |
//! | ptr | sleb: difference from the buffer's pointer base |
//! | obj | sleb: difference from the buffer's object base; both are addresses divided by 8 |
//! | meth | sleb: difference from the preceding meth of the buffer, or from its method base |
//!
//! LEB128 numbers have at most 64 bits and 10 bytes. Writers use the shortest form. Arithmetic is
//! modulo 2⁶⁴.
//!
//! # File
//!
//! A file is a header followed by buffers. The whole file may be compressed with gzip: jtrail reads
//! such files, but does not write them.
//!
//! | Offset | Size | Header of version 1 | Value |
//! |--:|--:|---|---|
//! | 0 | 4 | id | `01 5a 50 4d` |
//! | 4 | 3 | major, minor, data version | 0, 1, 1 |
//! | 7 | 1 | size of pointers | 8; larger sizes are refused |
//! | 8 | 8 | startup | milliseconds since 1970-01-01 UTC |
//! | 16 | 4 | overhead of reading the clock | nanoseconds |
//! | 20 | 4 | flags | 0; other values are refused |
//! | 24 | 4 | process id | |
//! | 28 | 4 | system | 0 |
//!
//! In version 17, the major version is 3, the minor version 0, and the data version 17. From offset
//! 16 on, the header has these fields:
//!
//! | Size | Header of version 17 | Value |
//! |--:|---|---|
//! | 8 | startup on the buffers' clock | nanoseconds |
//! | 4, 4, 4 | overhead, flags, process id | as in version 1 |
//! | 2 | port of a server | 0 |
//! | | arguments, architecture, operating system | three texts |
//!
//! Each text is a u32 size, which counts the terminating zero, followed by the bytes and the zero.
//!
//! | Offset | Size | Header of a buffer |
//! |--:|--:|---|
//! | 0 | 4 | id, `01 4c 50 4d` |
//! | 4 | 4 | size of the events after this header, in bytes |
//! | 8 | 8 | time base: nanoseconds of the buffers' clock, not 0 |
//! | 16 | 8 | pointer base |
//! | 24 | 8 | object base |
//! | 32 | 8 | thread, not 0 |
//! | 40 | 8 | method base |
//!
//! The five fields of 8 bytes are below 2⁵⁶, because Mono's own reader misreads larger values.
//! Buffers of one thread are in order of time. Buffers of different threads are in any order.
//!
//! # Events
//!
//! The low four bits of an event's first byte are its type. A time follows, except after 26 in
//! version 1. An empty last cell means that version 17 has the fields of version 1.
//!
//! | Byte | Event | Fields of version 1 | Version 17 |
//! |---|---|---|---|
//! | 00, 10 | allocation | class ptr, obj, size uleb; 10: backtrace | table ptr instead of the class |
//! | 11 | collection | event uleb, generation uleb (0 to 2) | both u8 |
//! | 21 | heap size | uleb | |
//! | 31 | moves | count uleb (even), obj × count: from, to, from, to … | |
//! | 22, 42, a2 | metadata: loaded, unloaded, failed | see below | no a2 |
//! | 02 | metadata: name | see below | |
//! | 23, 13, 33 | enter, leave, leave by exception | meth | |
//! | 43 | code | meth, address ptr, size uleb, full name str | |
//! | 04, 84 | throw | obj; 84: backtrace | |
//! | 14 | clause | type uleb, number uleb, meth | type u8, number uleb, meth, obj |
//! | 15, 25, 35 | monitor: contention, entered, failed | obj | one byte 05: event u8 (1, 2, 3), obj |
//! | 95 | contention with a backtrace | obj, backtrace | 85, for all three events |
//! | 06, 16 | heap dump: start, end | | |
//! | 26 | object of a dump | obj, class ptr, size uleb, count uleb, obj × count | see below |
//! | 36 | roots | no such event | count uleb, (address ptr, obj) × count |
//! | 0a | synchronization | no such event | u8 |
//!
//! - **Backtraces** are flags (uleb 0, in version 1 only), count uleb, and the methods, innermost
//!   first. Each method is a ptr in version 1 and a meth in version 17.
//! - **Collections**: event 0 is the start, 5 is the end, and the others are phases.
//! - **Clauses**: type 0 is catch, 1 is filter, 2 is finally, and 4 is fault.
//! - **Objects of dumps**, in version 17: obj, table ptr, size uleb, generation u8, count uleb,
//!   (offset uleb, obj) × count. An object of size 0 adds references to an object that the dump has
//!   listed before.
//!
//! Metadata events have a type u8, an id ptr, and these fields:
//!
//! | Type | Loaded, unloaded, failed | Name |
//! |---|---|---|
//! | 1 class | image ptr, flags, name str | |
//! | 2 image | flags, name str; version 17: and module id str | |
//! | 3 assembly | flags, name str; version 17: image ptr before the name | |
//! | 4 domain, 5 thread | flags | flags, name str |
//! | 6 context, 7 table | only in version 17: domain ptr; 7: and class ptr | |
//!
//! Flags are a uleb 0 in version 1, and absent in version 17. In version 17, classes and images are
//! only loaded.
//!
//! The description of version 1 omits threads and assemblies. It has a bit for failures (80), but
//! none for loads (20): a loaded class or image is 02, and a failed one is 82. For classes and
//! images, readers accept 02 and 82, too.
//!
//! # A file, byte by byte
//!
//! ```
//! use jtrail_formats::{Decode, Step, mlpd};
//! use jtrail_model::Event;
//!
//! let hex = "
//!     01 5a 50 4d 00 01 01 08                          id, 0.1, data version 1, 8 bytes a pointer
//!     00 68 e5 cf 8b 01 00 00                          1700000000000 ms
//!     2a 00 00 00 00 00 00 00                          42 ns, no flags
//!     92 10 00 00 00 00 00 00                          process 4242
//!     01 4c 50 4d 35 00 00 00                          a buffer of 53 bytes
//!     00 f2 05 2a 01 00 00 00                          time base 5000000000
//!     00 00 00 10 00 00 00 00                          pointer base
//!     00 00 00 04 00 00 00 00                          object base
//!     00 10 00 00 00 7f 00 00                          thread 0x7f0000001000
//!     00 00 00 30 00 00 00 00                          method base
//!     43 0a 00 80 80 80 80 03 40                       code: +10 ns, the base's method, 64 bytes
//!     64 65 6d 6f 2e 4d 61 69 6e 3a 6d 61 69 6e 20 28  demo.Main:main (
//!     6a 61 76 61 2e 6c 61 6e 67 2e 53 74 72 69 6e 67  java.lang.String
//!     5b 5d 29 00                                      [])
//!     23 0a 00                                         enter, +10 ns, the same method
//!     13 80 89 7a 00                                   leave, +2000000 ns
//! ";
//! let bytes: Vec<u8> = hex
//!     .lines()
//!     .flat_map(|line| line.split_at(line.len().min(51)).0.split_whitespace())
//!     .map(|pair| u8::from_str_radix(pair, 16).unwrap())
//!     .collect();
//! assert_eq!(bytes.len(), 133);
//!
//! let mut decoder = mlpd::Decoder::default();
//! let (mut at, mut calls) = (0, Vec::new());
//! loop {
//!     let decoded = decoder.step(&bytes[at..], true).unwrap();
//!     at += decoded.used;
//!     match decoded.step {
//!         Step::Event(Event::MethodEnter(e)) => calls.push(e.time.0),
//!         Step::Event(Event::MethodLeave(e)) => calls.push(e.time.0),
//!         Step::End => break,
//!         _ => {}
//!     }
//! }
//! assert_eq!(calls, [1_700_000_000_000_000_020, 1_700_000_000_002_000_020]);
//! ```
//!
//! # What jtrail writes
//!
//! Reading a written file and writing it again gives the same bytes.
//!
//! - **Times.** The startup is the time at which the agent was loaded, rounded down to a whole
//!   millisecond. On the buffers' clock, it is one day *(choice)*. Version 1 does not say when the
//!   buffers' clock starts. Our decoder assumes that it starts at the time base of the first
//!   buffer. So the encoder writes the startup as this time base.
//! - **Batches** *(choice)*. The encoder writes the buffers of all threads together: this is called
//!   a batch. A batch ends when it has 512 KiB of events, when one of its buffers spans a second,
//!   and at a flush. It also ends before an event that is earlier than the preceding one, and at
//!   the end of the trace. Each batch begins with a buffer of the reserved thread 2⁴⁸ (named
//!   `jtrail`). This buffer has the definitions that the other buffers need, and may be empty. The
//!   buffer with the last event is the last one of its batch.
//! - **Own files.** A file that begins with a buffer of thread 2⁴⁸ was written by jtrail. Readers
//!   take the definitions of each batch first, and merge its other buffers by time. So events come
//!   back in the order in which they happened.
//! - **Threads** keep their ids, which must be below 2⁴⁸. Events without a thread (collections,
//!   heap dumps, class unloads) belong to the reserved thread 2⁴⁸ + 1 (named `VM`). The thread
//!   `jtrail` is loaded when the agent begins, and unloaded when the agent ends. The thread `VM` is
//!   loaded when the trace begins, and unloaded when the trace ends. A thread that the trace does
//!   not define is loaded before its first event, with an empty name.
//! - **Compilations** *(choice)* belong to the reserved thread 2⁴⁸ + 2 (named `compiler`), which
//!   begins with the first compilation. They need their own thread because the time of a thread
//!   must not decrease: a trace may report a compilation before earlier events.
//! - **The end** *(choice)*. The format does not mark the end of a file. Our files end with the
//!   unload of the thread `jtrail`. If a complete trace does not report the end of the agent, its
//!   file ends with an empty buffer of definitions instead. A file with neither of these two ends
//!   is truncated.
//! - **Objects** keep their ids: object *n* has the address 8·*n*.
//! - **Classes, methods and loaders** are each numbered from 1 in the order of their definitions.
//!   Number *n* has the id 4·*n*. In version 17, each class has one table with the id of the class.
//! - **Loaders.** A loader is written as a domain, an image and an assembly with its name. A class
//!   first belongs to the loader named `unknown`. When its loader is reported, the class is
//!   repeated with this loader.
//! - **Images.** There is one image for each loader, not for each jar or module *(choice)*, because
//!   events hold only the loader. The jar is known only to the class's protection domain. Reading
//!   the protection domain would run Java code, which the agent must not do while the class loads.
//! - **Names** are those of Java sources: `java.lang.String[]`; `demo.Main:main
//!   (java.lang.String[])`. A method's name contains the name of its class. Readers assign the
//!   method to the last class defined under this name. If this is a different class, the encoder
//!   repeats the definition of the right class before the method.
//! - **Methods.** An event 43 whose address is the method's id defines a method that is not
//!   compiled yet. Its size is the length of the bytecode. The size is 0 if the trace does not
//!   report the length right after the method; the agent reports it with class details. An event 43
//!   with any other address is a compilation. Methods and classes that only stack frames mention
//!   are defined, too. Methods and frames that name no class belong to `unresolved class 0x0`,
//!   which frames omit.
//! - **Exceptions.** Throws and clauses have no field for the class of the exception. So the
//!   definition of the class is repeated before each throw and clause, in the thread's own buffer
//!   *(choice)*.
//! - **Clauses** are of type 2 if the handler catches all exceptions, and of type 0 otherwise.
//!   Compilers generate handlers for all exceptions for `finally` and `synchronized`. The number of
//!   a clause is the first entry of the method's exception table that leads to the handler. Type
//!   and number are 0 if the trace does not describe the handler. But two zeros may also stand for
//!   the first entry. So readers of our files report no details for two zeros *(choice)*.
//! - **Handlers.** The agent knows the handlers of classes that passed through its load hook. The
//!   hook is enabled if the agent rewrites classes, or records `details`.
//! - **Allocations** have a backtrace of one frame if the allocating method is known.
//! - **Collections.** Young collections have generation 0, full ones and parts of concurrent ones
//!   1, and unknown ones 0. The trace reports the generation after the start of the collection. The
//!   encoder then sets it in the buffer, unless the batch is already written. For this, a full
//!   batch is held back until the collection ends, or until the batch has twice its maximum size.
//! - **Calls** nest. A leave without an open call is dropped. A leave of an outer call ends the
//!   open calls inside it.
//! - **References** of a heap dump are written even if the dump has not listed their targets
//!   *(choice)*: the targets may follow. Dumps of our agent list all targets. `jtrail verify`
//!   reports dumps in which a target is not listed.
//! - **Roots**, in version 17, have the number of their kind as address *(choice)*: 1 `JNI_GLOBAL`,
//!   2 `SYSTEM_CLASS`, 3 `MONITOR`, 4 `STACK_LOCAL`, 5 `JNI_LOCAL`, 6 `THREAD`, 7 `OTHER`.
//!
//! # What a reader does
//!
//! | Found | Action |
//! |---|---|
//! | short header, wrong id, unknown data version, pointers above 8 bytes, flags | refused |
//! | no buffer where one must start, a buffer above 32 MiB *(choice)* | refused; the events before it are kept |
//! | unknown event or metadata, value out of range, number above 64 bits | fault; the rest of the buffer is skipped |
//! | count above the bytes left, event or text past the end of the buffer | fault; the rest of the buffer is skipped |
//! | the file ends inside a buffer | truncated; the whole buffer is skipped |
//! | a file that jtrail wrote has no end | truncated at the end of the file |
//! | a method or class used before its definition | fault; a placeholder is used, which stays separate from the later definition |
//! | a leave of a call that is not the innermost one | fault; the calls inside it are ended |
//! | a leave of a call that is not among the 1000 innermost ones | fault; skipped |
//! | a time below the preceding one of its thread | fault; raised to the preceding time |
//! | parts of heap dumps, or ends of collections, without a start | fault; skipped |
//! | a reference to an object that its dump does not list | kept *(choice)* |
//! | data that no event has a field for | skipped, and counted unless it is 0 or empty |
//!
//! - **Truncated files.** `jtrail` uses the events before the truncation and exits with 3
//!   *(choice)*. `mprof-report` exits with 0.
//! - **Unlisted objects.** The dump may still list the object after the reference. When the dump
//!   ends, the check of `jtrail verify` counts a fault for objects that are not listed.
//! - **Skipped data** has one remark for each kind at the end; `docs/formats.md` has the list.
//!   Examples are images, domains, phases of collections, failed contentions, filter and fault
//!   clauses, callers of allocations, module ids, and field offsets. In our files, domains and
//!   images stand for loaders, so they are read and not counted.
//!
//! The contents of the header become the events node, process, agent (named `log profiler`) and
//! trace start. Options hold the rest: `timerOverhead`, `architecture`, `operatingSystem`,
//! `pointerSize`, `system`.
//!
//! Files that jtrail did not write differ in these points:
//!
//! - **Order.** Buffers are read in the order of the file. So an event may be earlier than a
//!   preceding event of another thread.
//! - **Threads and objects** get ids from 1 on, in the order of appearance. A thread begins with
//!   its first buffer. An allocation at an address begins a new object. Moves keep the id of the
//!   object.
//! - **Exceptions.** A thrown object has the class with which it was allocated or listed in a heap
//!   dump. A caught exception has the class of the thread's last throw. A throw without a backtrace
//!   is in the innermost open call.
//! - **Code.** An event 43 is a compilation, unless its address is the method's id.
//!
//! # What is dropped
//!
//! - free text, including our notes; names of the machine, the process and the agent
//! - waits and parks; samples; CPU times; aggregated calls
//! - frees, and objects older than the trace
//! - lines; result types; most class details
//! - in version 1: roots, the objects of caught exceptions, and stacks of entered monitors
//! - in version 17: class unloads
//!
//! [`Encode::dropped`](crate::Encode::dropped) counts all of it by kind. The format has no tickets
//! and depths, so readers count them anew.

mod decode;
mod encode;
mod header;
mod index;
mod names;
mod value;
mod wire;

pub use decode::Decoder;
pub(crate) use decode::remarks::Remarked;
pub use encode::Encoder;
use wire::FILE_ID;

use names::kind_of;

/// First bytes of an uncompressed log profile.
pub const MAGIC: &[u8] = &FILE_ID.to_le_bytes();
/// First bytes of a compressed log profile: the magic number of gzip.
pub const GZIP_MAGIC: &[u8] = b"\x1f\x8b";

/// Data versions that are supported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DataVersion {
    /// Data version 1, the first one described.
    #[default]
    V1,
    /// Data version 17, the last one.
    V17,
}

/// Name of the format in error messages.
const FORMAT: &str = "mlpd";
