//! Log profiles: the `.mlpd` files of Mono's log profiler.
//!
//! Mono's profiler wrote what happens in a program as buffers of small events, one buffer after the
//! other for each thread. Data version 1 is the first one that was described, version 17 the last.
//! Both are written and read here; the versions between are refused. Where the description leaves a
//! point open, the choice made here is marked *(choice)*.
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
//! | Module | Holds |
//! |---|---|
//! | `wire` | numbers and names that stand in files |
//! | `header` | the file's header |
//! | `value`, `names`, `index` | numbers and text; names; tables by id |
//! | `encode` | events to buffers; definitions, heap dumps, what is dropped, and the buffers themselves |
//! | `decode` | the stream: compressed files, a buffer's events, several buffers in order, classes and methods, events of the model, remarks |
//!
//! # Fields
//!
//! | Name | Encoding |
//! |---|---|
//! | u8, u16, u32, u64 | fixed width, little-endian |
//! | uleb | unsigned, 7 bits a byte, low ones first; bit 7 says that more follow. At most 10 bytes, below 2⁶⁴; the shortest form is written |
//! | sleb | the same, two's complement; bit 6 of the last byte is the sign |
//! | str | UTF-8 and one zero. A zero inside becomes U+FFFD |
//! | time | uleb: nanoseconds since the last timed event of the buffer, or since its time base |
//! | ptr | sleb: difference from the buffer's pointer base |
//! | obj | sleb: difference from the buffer's object base; both are addresses divided by 8 |
//! | meth | sleb: difference from the last meth of the buffer, or from its method base |
//!
//! Arithmetic is modulo 2⁶⁴.
//!
//! # File
//!
//! A header, and buffers to the end of the file. All of it may be compressed with gzip: read, not
//! written.
//!
//! | Offset | Size | Header of version 1 | |
//! |--:|--:|---|---|
//! | 0 | 4 | id | `01 5a 50 4d` |
//! | 4 | 3 | major, minor, data version | 0, 1, 1 |
//! | 7 | 1 | size of pointers | 8; more is refused |
//! | 8 | 8 | startup | milliseconds since 1970-01-01 UTC |
//! | 16 | 4 | overhead of a clock read | nanoseconds |
//! | 20 | 4 | flags | 0; anything else is refused |
//! | 24 | 4 | process id | |
//! | 28 | 4 | system | 0 |
//!
//! Version 17 has major 3, minor 0, data version 17, and from offset 16: startup on the buffers'
//! clock (u64 nanoseconds), overhead, flags, process id, port of a server (u16, 0), and three
//! texts: arguments, architecture, operating system, each a u32 size that counts its zero, the
//! bytes, and the zero.
//!
//! | Offset | Size | Header of a buffer |
//! |--:|--:|---|
//! | 0 | 4 | id, `01 4c 50 4d` |
//! | 4 | 4 | bytes of events behind this header |
//! | 8 | 8 | time base, nanoseconds of a clock of its own, not 0 |
//! | 16 | 8 | pointer base |
//! | 24 | 8 | object base |
//! | 32 | 8 | thread, not 0 |
//! | 40 | 8 | method base |
//!
//! The five long fields stay below 2⁵⁶, because Mono's own reader gets larger ones wrong. Buffers
//! of one thread are in order of time, those of different threads in any.
//!
//! # Events
//!
//! The low four bits of the first byte are the type. A time follows, except for 26 in version 1.
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
//! | 14 | clause | type uleb, number uleb, meth | type u8, …, obj |
//! | 15, 25, 35 | monitor: contention, entered, given up | obj | one byte 05: event u8 (1, 2, 3), obj |
//! | 95 | contention with a backtrace | obj, backtrace | 85, for all three |
//! | 06, 16 | heap dump: start, end | | |
//! | 26 | object of a dump | obj, class ptr, size uleb, count uleb, obj × count | table ptr; generation u8 behind the size; (offset uleb, obj) × count |
//! | 36 | roots | | count uleb, (address ptr, obj) × count |
//! | 0a | synchronization | | u8 |
//!
//! A backtrace is flags (uleb 0, version 1 only), count uleb, and methods, innermost first: ptr in
//! version 1, meth in version 17. Collections: 0 starts, 5 ends, the others are phases. Clauses: 0
//! catch, 1 filter, 2 finally, 4 fault. An object of size 0 in a dump adds references to one that
//! stood there before.
//!
//! Metadata are a type u8, an id ptr, and:
//!
//! | Type | Loaded, unloaded | Name |
//! |---|---|---|
//! | 1 class | image ptr, flags, name str | |
//! | 2 image | flags, name str; version 17: and module id str | |
//! | 3 assembly | flags, name str; version 17: image ptr before the name | |
//! | 4 domain, 5 thread | flags | flags, name str |
//! | 6 context, 7 table | version 17: domain ptr; 7: and class ptr | |
//!
//! Flags are a uleb 0 in version 1, and absent in version 17. The description says nothing of
//! threads and assemblies, and marks only failures; classes and images are read in its spelling too
//! (02, 82).
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
//! # What we write
//!
//! - **Times.** Startup is the whole millisecond in which the agent was loaded, and a day on the
//!   buffers' clock *(choice)*. Version 1 does not say what its clock means; there the first
//!   buffer's time base is the startup, as our readers take it.
//! - **Batches** *(choice)*. Buffers are written together, when half a megabyte waits, when one
//!   spans a second, before an event that is earlier than the one before it, and at the end. Each
//!   batch begins with a buffer of the reserved thread 2⁴⁸ (named `jtrail`), which holds the
//!   definitions that the others need, and may be empty. A file that begins with such a buffer is
//!   ours. In it, readers take a batch's definitions first, and merge the other buffers by time; so
//!   events come back in the order in which they happened. The buffer of the last event is the last
//!   one of its batch.
//! - **Threads** keep their ids, which must be below 2⁴⁸. Events without a thread (collections,
//!   heap dumps, class unloads) are those of the reserved thread 2⁴⁸ + 1 (named `VM`). The reserved
//!   threads are loaded when agent and trace begin, and unloaded when they end. A thread that the
//!   trace does not define is loaded before its first event, with an empty name.
//! - **Compilations** *(choice)* are those of the reserved thread 2⁴⁸ + 2 (named `compiler`), which
//!   begins with the first of them: a trace may report compilations before earlier events, and the
//!   time of a thread must not decrease.
//! - **The end** *(choice)*. The format has none. A file of ours ends with the unload of the
//!   agent's reserved thread, or, when it was made of a whole trace that does not say when the
//!   agent ended, with an empty buffer of definitions. One with neither is truncated.
//! - **Objects** keep their ids: object *n* is at address 8·*n*.
//! - **Classes, methods, loaders** are numbered in the order of their definitions; number *n*, from
//!   1, has the id 4·*n*. A loader is a domain, an image and an assembly of its name; a class whose
//!   loader is not reported yet is in the loader named `unknown`, and is repeated in its own loader
//!   later. In version 17 each class has one table, of the class's id. There is one image for a
//!   loader, not for each jar or module *(choice)*: events hold only the loader. The jar of a class
//!   is known to its protection domain, and reading that takes Java code, which the agent must not
//!   run while the class loads.
//! - **Names** are those of Java sources: `java.lang.String[]`; `demo.Main:main
//!   (java.lang.String[])`. A method belongs to the last class defined under its class name; the
//!   class is repeated where necessary.
//! - **Methods** are named by an event 43 whose address is the method's id and whose size is the
//!   length of the bytecode, or 0 where none is told right behind the method: no code yet. It is
//!   told with the details of classes. Any other address is that of compiled code. Methods and
//!   classes that only stand in frames are defined too. What names no class belongs to `unresolved
//!   class 0x0`, whose name frames do not show.
//! - **Exceptions**: before throw and clause, in the thread's own buffer, the class of the
//!   exception is repeated *(choice)*: neither event tells it.
//! - **Clauses** are of type 2 where the handler takes all, as `finally` and `synchronized` are
//!   made, and else of type 0. Their number is that of the first entry of the method's exception
//!   table that leads to the handler. Of a handler of which nothing is told both are 0: in our
//!   files, readers take zeros for that, though they may be a first handler *(choice)*. The agent
//!   knows the handlers of classes that passed its load hook, which is there when classes are
//!   rewritten, and with `details`.
//! - **Allocations** have a backtrace of one frame where the allocating method is known.
//! - **Collections**: young ones are of generation 0, full ones and parts of concurrent ones 1,
//!   unknown ones 0. The generation is set when it is reported, unless the batch is written by
//!   then. A full batch is held until the collection ends, or until the batch has twice its size.
//! - **Calls** nest: a leave without an open call is dropped; a leave that skips open calls ends
//!   them.
//! - **References** of a heap dump are written as they are told, whether or not the dump lists
//!   their targets *(choice)*: these may follow. Our agent's dumps list all; `jtrail verify` tells
//!   of others.
//! - **Roots** in version 17 have as address the number of their kind: 1 `JNI_GLOBAL`, 2
//!   `SYSTEM_CLASS`, 3 `MONITOR`, 4 `STACK_LOCAL`, 5 `JNI_LOCAL`, 6 `THREAD`, 7 `OTHER` *(choice)*.
//!
//! What is written reads back as the same bytes when it is written again.
//!
//! # What a reader does
//!
//! | Found | Done |
//! |---|---|
//! | short header, wrong id, other data version, pointers above 8 bytes, flags | refused |
//! | no buffer where one must start, a buffer above 32 MiB *(choice)* | refused; what came before is kept |
//! | unknown event or metadata, value out of range, number above 64 bits, count above what is left, event past the end | fault; the rest of the buffer is skipped |
//! | the file ends inside a buffer | the trace is truncated there; the buffer is skipped whole. `jtrail` uses what came before and exits with 3, though `mprof-report` does so with 0 *(choice)* |
//! | the end of a file of ours is missing | the trace is truncated at the end of the file |
//! | a method or class used before its definition | fault; it gets a name that says so, and its definition is another one |
//! | a leave of a call that is not the innermost one | fault; those inside of it are closed, or it is skipped when it is not among the 1000 innermost |
//! | time falls along a thread | fault; raised to the last one |
//! | parts of heap dumps or ends of collections without a begin | fault; skipped |
//! | a reference to an object that its dump does not list, neither before nor behind it | kept: what is behind is not known yet. It is a fault of the check that `jtrail verify` makes when the dump ends *(choice)* |
//! | what no event has a place for: images and domains, phases of collections, contentions given up, filter and fault clauses, callers of allocations … | counted where it says something, with one remark for each kind at the end. `docs/formats.md` has the list |
//! | module ids, domains of tables, offsets and generations in heap dumps, addresses of roots | the same, where they are not 0 or empty. Ours are, but for the domains of tables and the images: those stand for loaders, and are not counted in our files |
//!
//! Files that are not ours: buffers are read in the order of the file, so that times go back and
//! forth between threads. Threads and objects get ids from 1 in the order of appearance; an
//! allocation at an address begins a new object, and moves take objects along. A thread begins with
//! its first buffer. An exception has the class that its object was allocated with; a catch that
//! names none has that of the thread's last throw. Code addresses are compilations.
//!
//! The header comes as node, process, agent (named `log profiler`) and trace, with options for what
//! else it says: `timerOverhead`, `architecture`, `operatingSystem`, `pointerSize`, `system`.
//!
//! # What is dropped
//!
//! Free text, and with it our notes; names of machine, process and agent; waits and parks; frees,
//! and objects older than the trace; samples; CPU times; lines; result types; aggregated calls;
//! most of class details. Version 1 also drops roots, the objects of caught exceptions, and stacks
//! of monitors that were entered; version 17 class unloads.
//! [`Encode::dropped`](crate::Encode::dropped) counts all of it by kind.
//! Tickets and depths are counted anew.

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
