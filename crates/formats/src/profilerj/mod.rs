//! ProfilerJ snapshots: `.xml`.
//!
//! ProfilerJ is a profiler that kept totals in the traced process: a call tree and a tree of
//! samples for each thread, live objects, and line coverage. A document contains the totals at one
//! moment, and no single events. The vendor's page leaves points open; choices made here are marked
//! *(choice)*.
//!
//! # Document
//!
//! XML 1.0 in UTF-8, without document type or namespaces. The root `doc` contains four sections,
//! always all four, in this order:
//!
//! ```text
//! doc
//! ├ profile  ─ thread*  ─ profile* (nested)
//! ├ sampler  ─ thread*  ─ profile* (nested)
//! ├ memory   ─ thread*  ─ memory*
//! └ coverage ─ class*   ─ method*  ─ footprints
//! ```
//!
//! | Element | Attributes, in the order in which we write them |
//! |---|---|
//! | `thread` in `profile` | name, cpuTime, isAlive |
//! | `profile` in `profile` | name, signature, count, methodElapsed, method, cumulatedElapsed, cumulated, overheadCumulated, overheadMethod, exceptions |
//! | `thread` in `sampler` | name, cumulated, cpuTime, cumulatedElapsed, elapsedTime, isAlive |
//! | `profile` in `sampler` | name, hits, elapsed, cumulated, cumulatedElapsed |
//! | `thread` in `memory` | name |
//! | `memory` | class, count, max |
//! | `class` | name, \[source] |
//! | `method` | name, signature, firstline, count |
//! | `footprints` | none; its text is numbers |
//!
//! Numbers are decimal, without sign or leading zeros. `isAlive` is `true` or `false`. The start
//! and end tags of sections, threads and classes are on lines of their own. Each row of `memory`
//! and each method is a line. The end tag of a `profile` is followed by a line feed; its start tag
//! is followed immediately by its first child or its end tag:
//!
//! ```xml
//! <profile name="a.B.run()" …><profile name="a.B.go()" …></profile>
//! </profile>
//! ```
//!
//! The characters `& < > " '` are escaped by name; tab, line feed and carriage return are escaped
//! by number. Characters that XML 1.0 forbids become U+FFFD.
//!
//! ## Names
//!
//! Types are in source form: dots between packages, `$` before inner names, `[]` after the element
//! type of arrays, commas without blanks between parameters.
//!
//! | Method | `profile` | `sampler` |
//! |---|---|---|
//! | ordinary | `java.util.List.add(int,java.lang.Object)` | `java.util.List.add()` |
//! | constructor | `java.awt.AWTEvent(java.lang.Object,int)` | `java.awt.AWTEvent()` *(choice)* |
//! | class initialiser | `a.B.<clinit>()` *(choice)* | `a.B.<clinit>()` |
//! | native | as ordinary | `java.lang.Object.wait(native)` |
//!
//! `signature` is the descriptor with slashes. Section `coverage` has raw method names. Undefined
//! classes and methods are called `class-7` and `method-7`; an undefined thread has no name.
//!
//! ## Section `profile`
//!
//! Each distinct call path has a node. Siblings have different names or different signatures.
//! `count` is the number of calls, including open ones. `cumulatedElapsed`, `cumulated` and
//! `overheadCumulated` are elapsed time, CPU time, and CPU time of the agent itself, in µs and with
//! callees. `methodElapsed`, `method` and `overheadMethod` are these three times without callees.
//! `exceptions` is the number of calls that an exception ended *(choice)*. Every node satisfies:
//!
//! ```text
//! cumulatedElapsed  = methodElapsed  + Σ cumulatedElapsed of its children
//! cumulated         = method         + Σ cumulated
//! overheadCumulated = overheadMethod + Σ overheadCumulated
//! exceptions       <= count
//! ```
//!
//! Times are summed in nanoseconds. Each sum with callees is rounded down to µs once; the sum
//! without callees is the difference. The time of an open call ends with its thread, or else with
//! the trace. CPU time is 0 where it was not measured. `cpuTime` of a thread is its latest recorded
//! CPU time, in ns.
//!
//! A pause ends every open call for good. If such a call makes further calls after the trace
//! resumes, these are at the top of the tree.
//!
//! ## Section `sampler`
//!
//! Siblings differ in name; overloads and lines are not distinguished. `hits` is the number of
//! samples that ended in this frame while the thread was runnable; `elapsed` is the number of all
//! samples that ended in this frame. `cumulated` is `hits` including the children, and
//! `cumulatedElapsed` is `elapsed` including the children. Threads have them, too. Each node, or
//! one of its descendants, has at least one sample. Samples without a stack do not count.
//! `elapsedTime` is the time from the thread's start to its end, or to the end of the trace, in ns
//! *(choice)*: the vendor's page shows the attribute without an explanation.
//!
//! ## Section `memory`
//!
//! Each class that the thread allocated has a row. `count` is the number of live objects, and `max`
//! is the maximum of this number so far *(choice)*. Rows are sorted by descending number of
//! objects, then by name. A row remains after its objects were freed. An object belongs to the
//! thread that allocated it, even after this thread's end.
//!
//! ## Section `coverage`
//!
//! The section contains all methods whose lines are counted. Classes, and the methods of a class,
//! are in the order of their appearance. Methods without a line table are included if their calls
//! are recorded, because no other section would count them *(choice)*. `firstline` is the smallest
//! line of the line table, 0 without one. `count` is the number of calls. `footprints` has a value
//! for each line up to the method's largest line. A blank follows each value. The value is -1 (no
//! code), 0 (not reached), or how often an entry of the line was reached (at most 2⁶³ − 1).
//!
//! # Writing
//!
//! The document after `<doc>` is written at the end, a mebibyte at a time. Memory grows with the
//! number of distinct call paths, names, lines, and threads that a section contains; an object
//! takes 8 bytes. Sections list threads in the order of their first call, sample or object;
//! children are in the order of their appearance. Classes and methods of the same name count as
//! one, except in section `coverage`.
//!
//! Limits: 2¹⁹ nodes of calls and 2¹⁸ of samples in the document; 2¹⁰ nested nodes of one name, and
//! 2¹⁴ nested nodes of any name. Beyond these limits, a call path is folded: it continues at the
//! innermost node of the same name, or at the top. So counts and own times of each method stay
//! exact. The callers of folded calls and samples are counted as dropped. If a trace contains
//! aggregated calls or sums of samples, four times as many nodes are allowed for them. All sums of
//! one kind together stay below 2⁶³.
//!
//! At a pause, the times of open calls end. Their CPU times end at the latest recorded value. The
//! leaves of these calls, before or after the trace resumes, are not counted as dropped. Any other
//! leave without an open call is dropped. A leave of an outer call also ends the calls inside of
//! it. [`Encode::dropped`](crate::Encode::dropped) counts what else is dropped.
//!
//! # Reading
//!
//! | Found | Event |
//! |---|---|
//! | node of `profile` | aggregated enter and leave; the minimum and maximum time are unknown: 0 |
//! | exceptions, overhead | [`AggregatedDetail`](jtrail_model::AggregatedDetail) after the enter, if one of the two is not 0 |
//! | node of `sampler` | [`SampleSum`](jtrail_model::SampleSum), whose time is `elapsedTime` |
//! | row of `memory` | [`ObjectCounts`](jtrail_model::ObjectCounts) |
//! | method of `coverage` | line counts |
//! | source of a class that a preceding section named | [`ClassSource`](jtrail_model::ClassSource) |
//! | cpuTime, isAlive | CPU time of the thread; its end, as the last event |
//!
//! A snapshot also converts to formats of single events *(choice)*. The result contains only the
//! definitions, such as threads and classes.
//!
//! Ids count from 1, for threads, classes and methods together. The document contains no times of
//! events. All times are 0, except the times of samples and of thread ends: these count from the
//! thread's start.
//!
//! - **Threads** have names only. Threads of two sections are the same if name, `cpuTime` and
//!   `isAlive` agree; for `memory`, if the name agrees. If several threads of one section have the
//!   same values, they are matched in order.
//! - **Constructors** have no method name of their own, so they are recognised by convention. The
//!   descriptor ends in `)V`. Also, either the name is a class that was named before, or the last
//!   part of the name starts with a capital letter and the part before it does not.
//! - A method of section `sampler` has the descriptor `()`.
//! - `methodElapsed` and `elapsed` may be missing. The value is then the sum with callees, minus
//!   the sums of the children. At most 2¹⁹ events wait for the end of such an element.
//!
//! | Found | Done |
//! |---|---|
//! | other root, document type, CDATA, entity other than the five, not well formed | refused |
//! | name missing, number or boolean of another type, line above 65,535, deeper than 65,536, piece above 16 MiB | refused; preceding events are kept |
//! | document ends before `</doc>` | truncated there; whole elements are used |
//! | section missing, repeated, in another order; attributes in another order; `class` for `name` of a class | read |
//! | unknown element or attribute, text | skipped, counted by kind |
//! | missing number or boolean (read as 0 or true), sums that do not agree, number above 63 bits | read, counted by kind |
//! | `elapsedTime` of a live thread without frames, footprints after line 65,535 | skipped, counted by kind |
//! | `class` of a class that has a `name` | skipped, counted |
//! | sum with callees, if the value without callees is present | checked and skipped |
//!
//! The end of the trace has one remark for each kind that is counted.

mod decode;
mod encode;
mod names;
mod wire;

use jtrail_xml::{Scanner, Token};

pub use decode::Decoder;
pub(crate) use decode::remarks::Remarked;
pub use encode::Encoder;

/// Name of the format in errors.
const FORMAT: &str = "profilerj";

/// Maximum number of nodes of all call trees together. Beyond this number, call paths are folded.
pub const MAX_CALL_NODES: usize = 1 << 19;

/// True if `head` starts a document with the root of a snapshot, after declaration and comments.
pub(crate) fn is_snapshot(head: &[u8]) -> bool {
    let mut scanner = Scanner::default();
    let mut rest = head.trim_ascii_start();
    loop {
        if let Some(name) = rest.strip_prefix(b"<doc") {
            let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'>' | b'/');
            return name.first().is_some_and(ends);
        }
        match scanner.scan(rest, 0, true) {
            Ok(Some((Token::Declaration { .. } | Token::Skipped, size))) => {
                rest = rest[size..].trim_ascii_start();
            }
            _ => return false,
        }
    }
}
