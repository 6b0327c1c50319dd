//! TPTP trace files: `.trcbin` and `.trcxml`.
//!
//! The profiling agents of the Eclipse Test and Performance Tools Platform wrote traces as XML,
//! with one element per event. A later design gave the same events a binary form. Both forms
//! contain the same thirty events, so each file converts to the other.
//!
//! The design leaves points open. Choices made here are marked *(choice)*.
//!
//! # Binary stream
//!
//! A header of twelve bytes:
//!
//! | Offset | Bytes | Field | We write |
//! |--:|--:|---|---|
//! | 0 | 4 | magic | `0TBF` |
//! | 4 | 1 | major version | 1 *(choice)* |
//! | 5 | 1 | minor version | 0 *(choice)* |
//! | 6 | 1 | platform of the traced process: 0 is 32 bit, 1 is 64 bit | its own |
//! | 7 | 1 | byte order: 0 is big-endian, 1 is little-endian | 1 |
//! | 8 | 4 | where the data start, from the first byte of the file *(choice)* | 12 |
//!
//! All numbers after byte 7 have that byte order. The platform does not change any field.
//!
//! Messages follow without padding: id (2 bytes), size (4 bytes), and the fields in a fixed order,
//! none omitted. The size counts the whole message including its first six bytes. Ids up to 1000
//! belong to system messages, 1001 to 32767 to data messages.
//!
//! | Type | Bytes | Unset | Encoding |
//! |---|--:|---|---|
//! | Byte | 1 | 0 | unsigned |
//! | Integer | 4 | 0 | two's complement |
//! | Long | 8 | 0 | two's complement; ids are read as unsigned |
//! | String | text + 1 | one `00` | in the encoding of message 1, ended by `00`; absent and empty are the same |
//! | Timestamp | 8 | 0 | a Long: ticks since 1970-01-01 UTC |
//! | Duration | 8 | 0 | a Long: ticks |
//! | Frames | | 0 | Integer *n*, *n* Strings, *n* Longs: innermost frame first *(choice)* |
//!
//! Two system messages precede the data, once each, in this order. The design shows them without a
//! size, against its own rule; our encoder writes the size, and our decoder reads both forms
//! *(choice)*:
//!
//! | Id | We write | Meaning |
//! |--:|---|---|
//! | 1 | `01 00 0b 00 00 00 55 54 46 38 00` | encoding of all text: `UTF8` |
//! | 2 | `02 00 0e 00 00 00 00 ca 9a 3b 00 00 00 00` | ticks a second, a Long: 10⁹ |
//!
//! Message 2 has a size if the four bytes after its id have the value 14. Message 1 has a size if
//! these bytes have a value from 7 to 128, and a message of that size is printable ASCII up to a
//! final `00`. Without these messages, text is UTF-8 and a tick is a nanosecond. With `f` ticks per
//! second, a time in nanoseconds is `ticks · 10⁹ / f` rounded down.
//!
//! Text is standard UTF-8. A zero inside of a text is written as U+FFFD.
//!
//! ## A message, byte by byte
//!
//! ```
//! use jtrail_formats::{Decode, Step, tptp};
//! use jtrail_model::{Event, ObjectId, ThreadId, ThreadStart, Timestamp};
//!
//! let hex = "
//!     30 54 42 46  01 00  01  01  0c 00 00 00               0TBF, 1.0, 64 bit, little-endian, 12
//!     f1 03                                                 id 1009, threadStart
//!     4a 00 00 00                                           size 74
//!     00 00 00 00 00 00 00 00                               transient thread id, unset
//!     01 00 00 00 00 00 00 00                               thread id 1
//!     05 6a 69 42 0f 21 75 10                               1185890426.304424453 s
//!     73 79 73 74 65 6d 00                                  group `system`
//!     00                                                    group above, empty
//!     00 00 00 00 00 00 00 00                               transient object id, unset
//!     01 00 00 00 00 00 00 00                               object id 1
//!     52 65 66 65 72 65 6e 63 65 20 48 61 6e 64 6c 65 72 00 thread name `Reference Handler`
//!     00 00                                                 collation value, trace id: empty
//! ";
//! let bytes: Vec<u8> = hex
//!     .lines()
//!     .flat_map(|line| line.split_at(line.len().min(58)).0.split_whitespace())
//!     .map(|pair| u8::from_str_radix(pair, 16).unwrap())
//!     .collect();
//!
//! let mut decoder = tptp::binary::Decoder::default();
//! let header = decoder.step(&bytes, true).unwrap();
//! assert_eq!(header.used, 12);
//! let message = decoder.step(&bytes[12..], true).unwrap();
//! assert_eq!(message.used, 74);
//! let Step::Event(event) = message.step else { panic!() };
//! assert_eq!(
//!     event,
//!     Event::ThreadStart(ThreadStart {
//!         thread: ThreadId(1),
//!         time: Timestamp(1_185_890_426_304_424_453),
//!         group: "system".into(),
//!         parent_group: "".into(),
//!         object: ObjectId(1),
//!         name: "Reference Handler".into(),
//!     })
//! );
//! ```
//!
//! # XML document
//!
//! ```xml
//! <?xml version="1.0" encoding="UTF-8"?>
//! <TRACE>
//! <gcStart time="1171278677.882812500"/>
//! …
//! </TRACE>
//! ```
//!
//! The document is UTF-8 without a document type, and has one event per line. Elements are empty,
//! except for the four monitor events, whose frames are children *(choice)*: `<annotation
//! key="stackFrame" value="…" line="…"/>`.
//!
//! Integers are in decimal. Times and durations are seconds with exactly nine digits after the
//! point. The characters `& < > "` are escaped by name; tab, line feed and carriage return are
//! escaped by number. Characters that XML 1.0 forbids become U+FFFD. A constructor is called
//! `-init-` and a class initialiser `-clinit-`, also in frames. Reading turns `-init-` into
//! `<init>` if the descriptor ends in `)V`, and `-clinit-` into `<clinit>` if the descriptor is
//! `()V`; an empty descriptor allows both *(choice)*.
//!
//! # Messages and elements
//!
//! Fields are in the order of the message: S string, I integer, L long, T timestamp, D duration, B
//! byte, F frames. Fields that our encoder writes as unset are in small letters. Attributes are in
//! the order of the element; those in brackets are omitted if their field is unset.
//!
//! | Id | Bytes at least | Fields | Element and attributes |
//! |--:|--:|---|---|
//! | 1001 | 21 | S id, S host name, S addresses, I minutes west of UTC, T | `node` nodeId hostname ipaddress timezone time |
//! | 1002 | 22 | S id, S name, I pid, S node, T, S executable | `processCreate` processId \[name] pid nodeIdRef time \[executable] |
//! | 1003 | 20 | S id, S process, S name, S type, T, S parameters, S version | `agentCreate` agentId version processIdRef agentName agentType agentParameters time |
//! | 1004 | 15 | S agent, T | `agentDestroy` agentIdRef time |
//! | 1005 | 17 | S id, S agent, T, s collation value | `traceStart` traceId agentIdRef time |
//! | 1006 | 16 | S trace, T, s collation value | `traceEnd` \[traceIdRef] time |
//! | 1007 | 13 | S trace, S pattern, S generic pattern, S mode, S method pattern, S method generic pattern, S method mode | `filter` pattern mode genericPattern methodPattern methodMode methodGenericPattern |
//! | 1008 | 9 | s trace, S key, S value | `option` key value |
//! | 1009 | 51 | l transient id, L id, T, S group, S group above, l transient object, L object, S name, s collation value, s trace | `threadStart` threadId time threadName groupName parentName objIdRef |
//! | 1010 | 32 | l transient id, L thread, T, s, s | `threadEnd` threadIdRef time |
//! | 1011 | 86 | l transient thread, L thread, T, i interfaces, s their names, l transient id, L id, S source, s loader, s super class, l transient object, L object, S name, s access, i static fields, i methods, i fields, s, s | `classDef` \[threadIdRef] name \[sourceName] classId \[objIdRef] time |
//! | 1012 | 56 | S name, S signature, b native, b abstract, b static, b synchronized, s exceptions, L first line, L last line, s notation, l transient class, L class, L id, s, s | `methodDef` name signature \[startLineNumber] \[endLineNumber] methodId classIdRef |
//! | 1014 | 90 | l transient thread, L thread, T, B kind, l transient id, L id, L size, L line, L method, l transient class, L class, s context, s, s | `objAlloc` \[threadIdRef] time isArray objId size \[lineNumber] \[methodIdRef] classIdRef |
//! | 1015 | 84 | l transient thread, L thread, T, L method, I ticket, l transient object, L class, D CPU time, l sequence, L depth, s, s | `methodEntry` threadIdRef time methodIdRef classIdRef ticket \[threadCPUTime] stackDepth |
//! | 1016 | 85 | l transient thread, L thread, T, I ticket, D CPU time, L method, l transient object, l object, l transient class, L class, s sequence, s, s | `methodExit` threadIdRef methodIdRef classIdRef ticket time \[threadCPUTime] |
//! | 1023 | 32 | l transient thread, l thread, T, s, s | `gcStart` time |
//! | 1024 | 72 | l transient thread, l thread, T, l transient object, L object, L age, l sequence, l depth, s, s | `objFree` time objIdRef objAge |
//! | 1027 | 56 | l transient thread, l thread, T, L total space, L used space, L used objects, s, s | `gcFinish` time \[totalObjSpace] \[usedObjSpace] \[usedObjects] |
//! | 1030 | 32 | l transient thread, L thread, T, s, s | `runtimeInitDone` \[threadIdRef] time |
//! | 1031 | 32 | l transient thread, L thread, T, s, s | `runtimeShutdown` \[threadIdRef] time |
//! | 1032 | 42 | L thread, T, L object, L limit in milliseconds, F | `monWait` threadIdRef time objIdRef timeout |
//! | 1033 | 42 | L thread, T, L object, L 1 if the limit ended it, F | `monWaited` threadIdRef time objIdRef timeout |
//! | 1034 | 42 | L thread, T, L object, L owner, F | `monContendedEnter` threadIdRef time objIdRef \[threadOwnerIdRef] |
//! | 1035 | 34 | L thread, T, L object, F | `monContendedEntered` threadIdRef time objIdRef |
//! | 1036 | 62 | L thread, L method, D base, D smallest, D largest, D CPU, L calls | `agMethodEntry` threadIdRef methodIdRef baseTime minTime maxTime baseCPUTime numCalls |
//! | 1037 | 22 | L thread, L method | `agMethodExit` threadIdRef methodIdRef |
//! | 1038 | 31 | L id, T, S name, T trace start | `heapDumpDef` heapDumpId time name baseTime |
//! | 1039 | 23 | L class, L object, S kind | `gcRoot` \[classIdRef] objIdRef type |
//! | 1040 | 30 | L source, L target, L dump | `objReference` sourceIdRef targetIdRef heapDumpIdRef |
//! | 1041 | 7 | S text | `custom` body |
//!
//! Events without a message of their own are written as message 1041, as text in the grammar of
//! [`jtrail_model::text`], and are read back from that text *(choice)*. That text contains raw
//! class and method names, in XML, too. Every other message 1041 is free text.
//!
//! Our encoder writes two fields although the design flags them as unused. One is the signature in
//! 1012, without which overloads look alike. The other is method and class in 1016, where the flags
//! seem to be shifted by one row. The ids missing between 1001 and 1041 belong to an older format.
//!
//! # Rules over the whole trace
//!
//! - **Order.** 1001, 1002, 1003 and 1005 open the trace, once each. All filters, all options, and
//!   everything else follow in this order. 1006 and then 1004 close the trace.
//! - **Ids.** One counter numbers threads, classes, methods and dumps from 1; objects have a
//!   counter of their own *(choice)*. Readers keep a table for each kind. 0 means none.
//! - **Definitions** come before use, and once. After `threadEnd` no event of that thread follows.
//! - **Calls.** Entries and exits nest on each thread. An exit has the ticket and method of the
//!   innermost open entry. Calls open when the JVM stops stay open.
//! - **Tickets** count the calls of a thread from 1, unsigned in 32 bits; 1 follows the largest
//!   number. Readers require only that tickets rise.
//! - **Depth.** Our agent counts recorded calls from 1. Readers require only that a call is deeper
//!   than its caller.
//! - **Time** never falls along a thread, except in definitions. Between threads it may.
//! - **Objects** are defined once before any other event refers to them: by allocation, by
//!   definition, or by the thread or class that they represent. They are freed once. A free is
//!   written later than the collection that found the object dead. Our agent writes it after the
//!   collection's finish. No event that happened after the free refers to the object.
//! - **Collections** begin and end alternately. The JVM's details of a collection come once, with
//!   its begin or later.
//! - **Monitors.** Begin and end of waiting, and of blocking, pair up by thread and object; park
//!   and unpark pair up by thread. A wait of a thread that does not own the monitor has no end; a
//!   wait of the JVM itself has no begin. What is open at the end of the trace stays open.
//! - **Threads.** Names, CPU times and samples belong to live threads. CPU time never falls along a
//!   thread. Virtual threads mount and unmount alternately. An event of an undefined thread has
//!   thread 0.
//! - **Exceptions** have a class that was defined, and a place.
//! - **Classes** are unloaded once. Compiled code that is unloaded was loaded before, with the same
//!   method and address.
//! - **Lines** of a method ascend, each listed once.
//! - **Heap dumps** that have an end contain their roots, objects and references before it. A dump
//!   that lists objects lists each object once, and every object that it refers to.
//! - **Aggregated calls** are written as a tree for each thread, in a trace without single calls.
//! - **Totals** that the agent reports match the trace.
//!
//! [`Checker`](crate::Checker) checks these rules.
//!
//! # What a reader does
//!
//! | Found | Done |
//! |---|---|
//! | wrong magic, short header, byte order above 1, other major version, data inside the header or past the end | refused |
//! | platform above 1 | fault |
//! | minor version above 0 | bytes left at the end of a known message are skipped, and counted by its name |
//! | unknown id up to 32767 | skipped by its size, and counted by id |
//! | id above 32767, size below 6 | refused; what came before is kept |
//! | message not whole | the trace is truncated there |
//! | size and fields disagree, text without end or in another encoding, impossible number of frames, time out of range | fault; the message is skipped |
//! | event larger than 16 MiB *(choice)* | fault in binary, refused in XML; never written |
//! | system message late or repeated | fault; skipped |
//! | unknown encoding, no ticks | refused |
//! | XML ends early | the trace is truncated there; whole elements are used |
//! | XML not well formed, document type, forbidden character, entity other than the five | refused |
//! | value of another type | fault; the element is skipped |
//! | unknown element or attribute | skipped, and counted by name |
//! | missing attribute, other order | read, and counted by name |
//! | `overhead`, `collationValue`, transient ids and the like, and the fields in small letters | skipped; counted by name where they are not 0 or empty |
//!
//! For each kind of thing that is counted, there is one remark at the end.
//!
//! # What is dropped
//!
//! Neither form says whether an exception ended a call. XML has no trace id in filters: a filter
//! belongs to the trace that began before it. It has no characters that XML forbids either. A
//! method named `<init>` that is no constructor is read back as `-init-`, and a constructor-like
//! method named `-init-` as `<init>`.

pub mod binary;
mod custom;
mod dropped;
pub mod xml;

/// Maximum bytes of an event that is written or read. Class files and thread names stay far below.
/// The limit bounds how much input a decoder buffers because of a corrupt size.
const MAX_EVENT_BYTES: usize = 16 << 20;
