//! JinsightLive traces: `.trc`.
//!
//! JinsightLive shows the execution of Java programs on IBM System z. Its file format dates from
//! the days of JVMPI: a header, and then records, one for each event. The format's description
//! leaves points open; where it does, the choice made here is marked *(choice)*.
//!
//! # File
//!
//! A header of 45 bytes, records without padding and without a length, and END_FILE. All numbers
//! are unsigned. The header is always little-endian; the records are as its platform says: 11
//! (Windows) and 44 (Linux x86) little-endian, 22 (AIX), 33 (OS/390) and 55 (Linux/390) big-endian.
//! We write 44 and read all five.
//!
//! | Offset | Bytes | Field | We write |
//! |--:|--:|---|---|
//! | 0 | 1 | tag | `b` |
//! | 1 | 4 | version | 8 |
//! | 5 | 4 | platform | 44 |
//! | 9 | 4 | numberOfEvents: records behind the header, END_FILE left out | 0, patched at the end; 0 stays if it does not fit |
//! | 13 | 4 | maxThreads, not below the highest thread id | 1024, patched at the end |
//! | 17 | 4 | maxClasses, not below the number of classes | 16384, patched at the end |
//! | 21 | 4 | ticksPerMicrosecond, not 0 | 1000 |
//! | 25 | 8 | startTicks: no record has smaller ones | the start of the trace |
//! | 33 | 4 | vmStartTime, in seconds since 1970 | the start of the process |
//! | 37 | 4 | connectionStartTime, not before that | the second of startTicks |
//! | 41 | 4 | overhead: ticks that one callback costs | [the option](jtrail_model::RECORD_OVERHEAD); 0 without it |
//!
//! **Time.** startTicks stand for the later of vmStartTime and connectionStartTime; all other ticks
//! count from there. These fields say the second only. So our ticks are nanoseconds since 1970, and
//! when startTicks, taken for such, fall into the second of connectionStartTime, all ticks are
//! taken so *(choice)*. The header is written with the first event that has a time. When an earlier
//! one turns up later, startTicks are patched; a reader that can't wait for that finds smaller
//! ticks.
//!
//! # Records
//!
//! Each but END_FILE starts with its type in one byte and its ticks in eight. Numbers of 1, 2, 4
//! and 8 bytes are b, h, i, q; s is a text: its length in two bytes, then its bytes. We write
//! UTF-8, and read UTF-8, or else the JVM's modified UTF-8, or else Latin-1.
//!
//! | Type | Name | Fields behind the ticks |
//! |---|---|---|
//! | 04 | CLASS_DEFINE | h class, i object of the class (0) |
//! | 05 | ARRAY_CLASS_DEFINED | i object, h class of the **elements**, i size |
//! | 0a | THREAD_DEFINE | i thread, i its object (0: none), h class of that, s name |
//! | 0b | THREAD_START | i thread |
//! | 0c | THREAD_EXIT | i thread |
//! | 14 | OBJECT_DEFINED | i object, h class |
//! | 15 | OBJECT_CREATED | i object, h class, i thread |
//! | 16 | ARRAY_DEFINED | b type, i object, i size |
//! | 17 | ARRAY_CREATED | b kind, i object, i size, i thread |
//! | 18 | OBJECT_RECLAIMED | i object |
//! | 1f | METHOD_LEAVE | q overhead (0), i thread |
//! | 46, 47 | GC_START, GC_STOP | |
//! | 4e | USER_EVENT | s text |
//! | 5b | WIDE_METHOD_ENTER | i thread, h class, h method, i receiver (ffffffff: none), h line (0) |
//! | 64 | END_FILE | no ticks: i 5705, i adde0000 |
//! | 65, 66 | BEGIN_BURST, END_BURST | |
//! | 6e | CLASS_LOAD | h class, h size (0), s name, h methods and each (s name, s descriptor, h access), h fields and each as a method, h superclass, h interfaces and each h |
//!
//! Element types have two numbers, *type* in ARRAY_DEFINED and *kind* in ARRAY_CREATED: int 1 and
//! 10, long 2 and 11, float 3 and 6, double 4 and 7, boolean 5 and 4, byte 6 and 8, char 7 and 5,
//! short 8 and 9. References have ARRAY_CLASS_DEFINED, and kind 2. Sizes are bytes on the heap;
//! plain objects have none.
//!
//! **Ids.** Classes count from 0: `java/lang/Object` is 0, `java/lang/Thread` 1, the others 2, 3, 4
//! … in the order of the file, up to 65534. Methods are numbers in the list of their class. Threads
//! and objects count from 1, and no id is used twice.
//!
//! # Rules over the whole file
//!
//! - Definitions come before use. The first class is Object. CLASS_DEFINE and CLASS_LOAD of a
//!   class stand together, behind its superclass and interfaces.
//! - THREAD_START stands behind the THREAD_DEFINE of a thread that was seen to start. We write it
//!   for those that come after the JVM is ready *(choice)*. Nothing of a thread follows
//!   THREAD_EXIT.
//! - A leave closes the innermost call of its thread. Leaves by exception are no different.
//! - Ticks never fall among the records of one thread, nor below those of the BEGIN_BURST before
//!   them. What comes with lower ones is moved up, and counted *(choice)*. Only the first burst has
//!   what was earlier than the start of the trace with its own ticks *(choice)*.
//! - *_CREATED stands behind the definition of its object, once.
//! - Collections begin and end in turn, inside of a burst.
//! - Everything of ours stands between BEGIN_BURST and END_BURST, but for END_FILE. A trace without
//!   pauses has one burst. At its end, all open calls have leaves with the ticks of END_BURST; at
//!   the begin of the next, all calls that are under way have enters with the ticks of BEGIN_BURST,
//!   those that began in between too ([`Encode::under_way`](crate::Encode::under_way)); those that
//!   ended in between have not. An enter of ours with those ticks is moved by one, and so is the
//!   end behind a leave.
//! - A collection that ends in a pause ended where that began.
//! - What happens between bursts is written behind the next BEGIN_BURST with its ticks, and dropped
//!   if there is none.
//!
//! # Classes, written once
//!
//! A class must list its methods when it is defined. An event stream may tell of them one by one.
//!
//! - With [`ClassDetail`](jtrail_model::ClassDetail), a class is written when that comes, with all
//!   methods and fields.
//! - Without, or with one that tells only the loader, it is written when something needs it, with
//!   the methods known by then. A method that turns up later is written in a further class of the
//!   same name and another id: for the format, one of another loader. These are counted as *classes
//!   split* *(choice)*.
//! - Superclasses and interfaces that are not written yet are written first, with no more than is
//!   known. One that was only a name is the class that is defined next under that name.
//! - When all ids are given, there is class 65535, `*overflow*`, with one method `*overflow*()V`,
//!   for all calls and objects of further classes.
//!
//! Names have slashes. A dot in a name of the format is a slash in the model, so that hidden
//! classes keep theirs.
//!
//! # Texts
//!
//! ```text
//! monitor-enter thread=1 object=9 class="a/B" owner=2
//! monitor-entered thread=1 object=9 class="a/B"
//! monitor-wait thread=1 object=9 class="a/B" timeout=250
//! monitor-waited thread=1 object=9 class="a/B" timedout=0
//! park thread=1 object=- class=""
//! unpark thread=1
//! runtime-init thread=1
//! runtime-shutdown thread=-
//! mark "free text, with \" and \\"
//! lost kind=objects count=3
//! jtrail lost thread=1 events=1200 from=… to=… reason=overflow
//! ```
//!
//! Ids are those of the file, `-` is none. In quotes, `\"` and `\\` stand for a quotation mark and
//! a backslash. Parks and the two of the runtime go beyond the format's usual texts *(choice)*.
//! Notes of jtrail itself stand as they are, but that a thread is one of the file, and that totals
//! leave out what the file does not hold. Free text has the ticks of the record before. What does
//! not read exactly so is free text.
//!
//! The thread called `*unknown*` stands for none *(choice)*.
//!
//! # What a reader does
//!
//! | Found | Done |
//! |---|---|
//! | short header, other tag, version or platform, no ticks a microsecond | refused |
//! | enters with the ticks of their burst's begin | left out with their leaves, unless the call was open at the end of the burst before: then it goes on |
//! | leaves with the ticks of END_BURST right before it | left out; the call goes on or stays open |
//! | calls open before a pause that the next burst does not show | left at the pause, before its end |
//! | definition of an object, and right behind it how it was made | one allocation |
//! | the latter apart from the former | an allocation too, counted |
//! | first record BEGIN_BURST | the start of the trace; other bursts are pauses |
//! | class, thread or method that was not defined | gets a name (`class#7`), counted as a fault |
//! | leave without a call | skipped, counted as a fault |
//! | receivers, lines, overheads, times of free texts, other ticks in a definition than in what it defines | skipped, counted. `docs/formats.md` has the list |
//! | maxThreads, maxClasses | skipped: hints to those who want to know sizes in advance *(choice)* |
//! | ticks below startTicks | read, counted |
//! | record cut off, no END_FILE | truncated there |
//! | unknown type | refused: nothing behind it can be read |
//! | bytes after END_FILE | skipped, counted as a fault |
//! | other number of events than promised | counted |
//!
//! What is counted has one remark for each kind at the end. No fault ends the reading
//! *(choice)*: `jtrail verify` is what refuses a trace for them.
//!
//! Plain objects come with size 0. `jtrail convert` says how many, for formats that have a field
//! for sizes.
//!
//! Methods are announced at their first call. Classes with superclass 0 have `java.lang.Object`
//! above them, interfaces too.
//!
//! # What is dropped
//!
//! - **Receivers of calls** *(choice)*. Calls are recorded without `this`, as it would cost each of
//!   them the look for the object's number.
//! - **Calls that ran before hooks came.** Bursts do not begin with calls that were under way when
//!   the trace began, or the agent came. The JVM would tell them, but not when they end: code that
//!   runs then has no hooks, and an agent that came to a running JVM has no events of frames.
//!
//! [`Encode::dropped`](crate::Encode::dropped) counts all of it by kind. Most of all: exceptions,
//! samples, CPU times, sizes of plain objects, stacks of monitor events, and what the trace says of
//! the machine and the agent. Tickets and depths are counted anew. A collection that a pause or the
//! end cuts is ended there. A class that is split, or known only by name, comes back as one that
//! has no other methods.

mod decode;
mod encode;
mod names;
mod text;
mod wire;

pub use decode::Decoder;
pub(crate) use decode::remarks::Remarked;
pub use encode::Encoder;

/// The first bytes of a JinsightLive trace: the tag and the version.
pub const MAGIC: &[u8] = b"b\x08\0\0\0";

/// Name of the format in errors.
const FORMAT: &str = "jinsight";
