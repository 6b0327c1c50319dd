//! JinsightLive traces: `.trc`.
//!
//! JinsightLive shows the execution of Java programs on IBM System z. Its file format dates from
//! the days of JVMPI: a header, and then one record for each event. The format's description leaves
//! some points open. Choices made here are marked *(choice)*.
//!
//! # File
//!
//! A file is a header of 45 bytes, records without padding and without a length, and END_FILE. All
//! numbers are unsigned. The header is always little-endian. The byte order of the records depends
//! on the header's platform: 11 (Windows) and 44 (Linux x86) are little-endian; 22 (AIX), 33
//! (OS/390) and 55 (Linux/390) are big-endian. We write 44 and read all five.
//!
//! | Offset | Bytes | Field | We write |
//! |--:|--:|---|---|
//! | 0 | 1 | tag | `b` |
//! | 1 | 4 | version | 8 |
//! | 5 | 4 | platform | 44 |
//! | 9 | 4 | numberOfEvents: records after the header, without END_FILE | 0, patched at the end unless the number is too large |
//! | 13 | 4 | maxThreads, at least the highest thread id | 1024, patched at the end |
//! | 17 | 4 | maxClasses, at least the number of classes | 16384, patched at the end |
//! | 21 | 4 | ticksPerMicrosecond, not 0 | 1000 |
//! | 25 | 8 | startTicks, at most the ticks of any record | the start of the trace |
//! | 33 | 4 | vmStartTime, in seconds since 1970 | the start of the process |
//! | 37 | 4 | connectionStartTime, not before vmStartTime | the second of startTicks |
//! | 41 | 4 | overhead: ticks that one callback costs | [the option](jtrail_model::RECORD_OVERHEAD); 0 without it |
//!
//! **Time.** startTicks stand for the later of vmStartTime and connectionStartTime; all other ticks
//! count from there. These two fields are precise only to the second. To be more precise, we write
//! ticks as nanoseconds since 1970. A reader converts startTicks as if they were nanoseconds since
//! 1970. If the result is in the second of connectionStartTime, all ticks are nanoseconds since
//!       1970 *(choice)*. The header is written with the first event that has a time. If an earlier
//!       event follows, startTicks are patched. A reader that can't wait for the patch finds
//!       smaller ticks.
//!
//! # Records
//!
//! Each record but END_FILE starts with its type in one byte and its ticks in eight bytes. Numbers
//! of 1, 2, 4 and 8 bytes are b, h, i, q; s is a text: its length in two bytes, then its bytes. We
//! write texts in UTF-8. We read UTF-8, or else the JVM's modified UTF-8, or else Latin-1.
//!
//! | Type | Name | Fields after the ticks |
//! |---|---|---|
//! | 04 | CLASS_DEFINE | h class, i object of the class (0) |
//! | 05 | ARRAY_CLASS_DEFINED | i object, h class of the **elements**, i size |
//! | 0a | THREAD_DEFINE | i thread, i its object (0: none), h class of the object, s name |
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
//! | 6e | CLASS_LOAD | h class, h size (0), s name, h number of methods, methods, h number of fields, fields, h superclass, h number of interfaces, h each interface |
//!
//! In CLASS_LOAD, each method and field is s name, s descriptor, h access.
//!
//! Element types have two numbers, *type* in ARRAY_DEFINED and *kind* in ARRAY_CREATED: int 1 and
//! 10, long 2 and 11, float 3 and 6, double 4 and 7, boolean 5 and 4, byte 6 and 8, char 7 and 5,
//! short 8 and 9. Arrays of references have ARRAY_CLASS_DEFINED, and kind 2. Sizes are bytes on the
//! heap; plain objects have no size.
//!
//! **Ids.** Classes count from 0: `java/lang/Object` is 0, `java/lang/Thread` is 1, the others are
//! 2, 3, 4 … in the order of the file, up to 65534. The id of a method is its index in the list of
//! its class. Threads and objects count from 1, and no id is used twice.
//!
//! # Rules over the whole file
//!
//! - Definitions come before use. The first class is Object. CLASS_DEFINE and CLASS_LOAD of a class
//!   are adjacent, after those of its superclass and interfaces.
//! - THREAD_START comes after the thread's THREAD_DEFINE. We write it for threads that start after
//!   the JVM is initialized, because only their start is seen *(choice)*. No record of a thread
//!   follows its THREAD_EXIT.
//! - A leave ends the innermost call of its thread. A leave by exception has no mark.
//! - Ticks never decrease along the records of one thread, and are never below those of the
//!   preceding BEGIN_BURST. An event with lower ticks is moved up, and counted *(choice)*. In the
//!   first burst, events from before the start of the trace keep their own ticks *(choice)*.
//! - `*_CREATED` comes after the definition of its object, once.
//! - Starts and ends of collections alternate, inside a burst.
//! - All our records except END_FILE are between BEGIN_BURST and END_BURST. A trace without pauses
//!   has one burst.
//! - At the end of a burst, all open calls have leaves with the ticks of END_BURST. If END_BURST
//!   would have the same ticks as a real leave, it is moved by one tick.
//! - At the start of the next burst, all calls in progress have enters with the ticks of
//!   BEGIN_BURST. This includes calls that began during the pause
//!   ([`Encode::open_call`](crate::Encode::open_call)), but not those that ended during the pause.
//!   If a real enter would have the same ticks as BEGIN_BURST, it is moved by one tick.
//! - If a collection ends during a pause, its end is written where the pause begins.
//! - Events between two bursts are written after the BEGIN_BURST of the next burst, with its ticks.
//!   They are dropped if no burst follows.
//!
//! # Classes, written once
//!
//! A class must list its methods when it is defined. A trace may define the methods one by one.
//!
//! - With [`ClassDetail`](jtrail_model::ClassDetail), a class is written when this event is
//!   reported, with all methods and fields.
//! - Without this event, or if it holds only the loader, a class is written when a record needs it,
//!   with the methods known by then. A method that is defined later is written in a further class
//!   with the same name and another id. Readers assume that the further class has another loader.
//!   These classes are counted as *classes split* *(choice)*.
//! - Superclasses and interfaces that are not written yet are written first, with all that is known
//!   about them. If only the name is known, the next class that is defined under this name gets the
//!   same id.
//! - Once all ids are assigned, class 65535 (`*overflow*`) stands for all further classes. Its one
//!   method `*overflow*()V` stands for all their calls.
//!
//! Names have slashes. Dots and slashes are exchanged between the format and the model. So the
//! names of hidden classes, which contain both, are preserved.
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
//! Ids are those of the file; `-` is an absent id. In quotes, `\"` and `\\` stand for a quotation
//! mark and a backslash. The texts of parks and of the runtime's start and end are our additions
//! *(choice)*. Notes of jtrail itself are written unchanged, with two exceptions: their thread ids
//! become ids of the file, and totals exclude events that the file does not hold. Free text has the
//! ticks of the preceding record. A text in any other form is free text.
//!
//! The thread named `*unknown*` stands for no thread *(choice)*.
//!
//! # What a reader does
//!
//! | Found | Done |
//! |---|---|
//! | short header; other tag, version or platform; 0 ticks per microsecond | refused |
//! | enter with the ticks of BEGIN_BURST, call was open at the preceding END_BURST | skipped: the call continues |
//! | enter with the ticks of BEGIN_BURST, other call | skipped with its leave |
//! | leaves directly before END_BURST, with its ticks | skipped; the calls continue or stay open |
//! | call that is open before a pause and has no enter at the next BEGIN_BURST | left at the time of the pause, before the resume |
//! | definition of an object, directly followed by `*_CREATED` | one allocation |
//! | `*_CREATED` apart from the definition | an allocation, counted |
//! | first record BEGIN_BURST | the start of the trace; other bursts are pauses |
//! | class, thread or method that is not defined | gets a name (`class#7`); counted as a fault |
//! | leave without a call | skipped, counted as a fault |
//! | receivers, lines and overheads of calls; times of free texts | skipped, counted |
//! | ticks of a definition that differ from those of the defined load, creation or start | skipped, counted |
//! | maxThreads, maxClasses | skipped: hints for readers that allocate tables in advance *(choice)* |
//! | ticks below startTicks | read, counted |
//! | truncated record, no END_FILE | truncated there |
//! | unknown type | refused: nothing after it can be read |
//! | bytes after END_FILE | skipped, counted as a fault |
//! | numberOfEvents that differs from the number of records | counted |
//!
//! `docs/formats.md` lists everything that is skipped or counted. Everything that is counted is
//! reported at the end, in one remark for each kind. Reading continues after each fault *(choice)*:
//! only `jtrail verify` rejects a trace for its faults.
//!
//! Plain objects are read with size 0. `jtrail convert` prints their number if the output format
//! has a field for sizes.
//!
//! Methods are reported as defined at their first call. Classes with superclass 0, including
//! interfaces, have the superclass `java.lang.Object`.
//!
//! # What is dropped
//!
//! - **Receivers of calls** *(choice)*. Calls are recorded without `this`: otherwise each call
//!   would have to look up the object's id.
//! - **Calls that began before the method was instrumented.** When the trace begins or the agent is
//!   attached, some calls are already in progress. The first burst does not contain them. The JVM
//!   can list these calls, but it can't report their ends: running code has no hooks, and an agent
//!   that is attached to a running JVM can't enable events for stack frames.
//!
//! [`Encode::dropped`](crate::Encode::dropped) counts all of it by kind. The most important kinds
//! are exceptions, samples, CPU times, sizes of plain objects, stacks of monitor events, and data
//! on the machine and the agent. Tickets and depths are counted anew. A collection that is in
//! progress at a pause or at the end of the trace is ended there. A split class is read back as
//! several classes, each with some of the methods. A class that is known only by name is read back
//! as a class without methods.

mod decode;
mod encode;
mod names;
mod text;
mod wire;

pub use decode::Decoder;
pub(crate) use decode::remarks::Remarked;
pub use encode::Encoder;

/// First bytes of a JinsightLive trace: the tag and the version.
pub const MAGIC: &[u8] = b"b\x08\0\0\0";

/// Name of the format in error messages.
const FORMAT: &str = "jinsight";
