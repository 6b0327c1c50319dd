//! ProfilerJ snapshots: `.xml`.
//!
//! The snapshot of a profiler that kept totals in the traced process: for each thread a tree of
//! calls and one of samples, objects alive, lines reached. One document is the state at one moment;
//! it holds no single event. The vendor's page leaves points open; the choice made here is marked
//! *(choice)*.
//!
//! # Document
//!
//! XML 1.0 in UTF-8, without document type or namespaces. Four sections inside of the root `doc`,
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
//! Numbers are decimal, without sign and leading zeros. `isAlive` is `true` or `false`. Each
//! section's begin and end, each thread's, and each class's stand on lines of their own. Each row
//! of `memory` and each method is a line. A `profile` is followed by a line feed, and its begin by
//! its first child or its end at once:
//!
//! ```xml
//! <profile name="a.B.run()" …><profile name="a.B.go()" …></profile>
//! </profile>
//! ```
//!
//! The characters `& < > " '` are escaped by name, tab, line feed and carriage return by number.
//! What XML 1.0 forbids becomes U+FFFD.
//!
//! ## Names
//!
//! Types are in source form: dots between packages, `$` before inner names, `[]` behind the
//! elements of arrays, commas between parameters without blanks.
//!
//! | Method | `profile` | `sampler` |
//! |---|---|---|
//! | ordinary | `java.util.List.add(int,java.lang.Object)` | `java.util.List.add()` |
//! | constructor | `java.awt.AWTEvent(java.lang.Object,int)` | `java.awt.AWTEvent()` *(choice)* |
//! | class initialiser | `a.B.<clinit>()` *(choice)* | `a.B.<clinit>()` |
//! | native | as ordinary | `java.lang.Object.wait(native)` |
//!
//! `signature` is the descriptor with slashes. Section `coverage` has raw method names. What was
//! never announced is `class-7`, `method-7`, or a thread without a name.
//!
//! ## Section `profile`
//!
//! A node for each distinct path; siblings differ in name or signature. `count`: calls, open ones
//! included. `cumulatedElapsed`, `cumulated`, `overheadCumulated`: µs of time, of CPU time, and of
//! CPU time that the agent itself took, with callees. `methodElapsed`, `method`, `overheadMethod`:
//! the same without callees. `exceptions`: calls that an exception ended *(choice)*. On every node:
//!
//! ```text
//! cumulatedElapsed  = methodElapsed  + Σ cumulatedElapsed of its children
//! cumulated         = method         + Σ cumulated
//! overheadCumulated = overheadMethod + Σ overheadCumulated
//! exceptions       <= count
//! ```
//!
//! Nanoseconds are added up. What is with callees is rounded down to µs once, and what is without
//! is the difference. A call that is open counts up to the end of its thread or of the trace. CPU
//! time is 0 where it was not measured. `cpuTime` of a thread is the latest that was told, in ns.
//!
//! A pause ends every open call for good. What such a call calls when collection goes on stands at
//! the top.
//!
//! ## Section `sampler`
//!
//! Siblings differ in name; overloads and lines are not told apart. `hits` and `elapsed`: samples
//! that ended in this frame while the thread was runnable, and all. `cumulated` and
//! `cumulatedElapsed`: the same with those of its children, and for a thread. A node has at least
//! one sample below it. Samples without a stack do not count. `elapsedTime`: ns from the thread's
//! begin to its end, or to the end of the trace *(choice)*: the page shows the attribute, and does
//! not say what it counts.
//!
//! ## Section `memory`
//!
//! A row for each class that the thread allocated: objects alive, and the most that ever were
//! *(choice)*. By number of objects, most first, and then by name. A row whose objects died stays.
//! The thread of an object is the one that allocated it, also after its end.
//!
//! ## Section `coverage`
//!
//! All methods whose lines are counted, in their order, also those without a line table, when their
//! calls are recorded: otherwise nobody would count these *(choice)*. `firstline`: the smallest
//! line of the line table, 0 without one. `count`: calls. `footprints`: for each line up to the
//! largest one -1 (no code), 0 (not reached), or how often one of its entries was reached, with a
//! blank behind each; at most 2⁶³ − 1.
//!
//! # Writing
//!
//! Everything behind `<doc>` is written at the end, a mebibyte at a time. Memory grows with
//! distinct paths, names, lines and with threads that a section names; an object takes 8 bytes.
//! Sections list threads in the order of their first call, sample or object; children stand in the
//! order of their appearance. Classes and methods of the same name count as one, but for section
//! `coverage`.
//!
//! Bounds: 2¹⁹ nodes of calls and 2¹⁸ of samples in the document, 2¹⁰ of one name and 2¹⁴ of any
//! inside of each other. Behind them a path is folded: it goes on at the innermost node of its
//! name, or at the top. So counts and own times of each method stay exact, and what is dropped are
//! the callers of so many calls and samples. Sums of aggregated calls and samples get four times
//! the nodes. All sums of one kind together stay below 2⁶³.
//!
//! At a pause calls count up to there, in CPU time up to what was told last; their leaves, before
//! collection goes on or after that, are not counted as dropped. Any other leave without an open
//! call is dropped; one of an outer call ends those inside of it. What else is dropped,
//! [`Encode::dropped`](crate::Encode::dropped) counts.
//!
//! # Reading
//!
//! | Found | Told as |
//! |---|---|
//! | node of `profile` | aggregated enter and leave; smallest and largest time are not known: 0 |
//! | exceptions, overhead | [`AggregatedDetail`](jtrail_model::AggregatedDetail) behind the enter, where one is not 0 |
//! | node of `sampler` | [`SampleSum`](jtrail_model::SampleSum), whose time is `elapsedTime` |
//! | row of `memory` | [`ObjectCounts`](jtrail_model::ObjectCounts) |
//! | method of `coverage` | line counts |
//! | source of a class that other sections named | [`ClassSource`](jtrail_model::ClassSource) |
//! | cpuTime, isAlive | CPU time of the thread; its end, behind all else |
//!
//! A snapshot converts into formats of single events, too *(choice)*: they get what is left of it,
//! such as threads and classes; the rest is dropped.
//!
//! Ids count from 1, for threads, classes and methods together. There are no times: all are 0, but
//! for those of samples and of the ends of threads, which count from the thread's begin.
//!
//! - **Threads** have names only. Those of two sections are the same when name, `cpuTime` and
//!   `isAlive` agree; for `memory`, when the name does. Of several, the first stands for the first.
//! - **Constructors** are told by custom, as their class may be a package: the name ends in `)V`,
//!   and it is a class that was named before, or its last part has a capital and the one before has
//!   none.
//! - A method of the sampler has `()` for its descriptor.
//! - `methodElapsed` and `elapsed` may be missing: they are what the sum of the children leaves.
//!   Events wait for the end of such an element, at most 2¹⁹ of them.
//!
//! | Found | Done |
//! |---|---|
//! | other root, document type, CDATA, entity other than the five, not well formed | refused |
//! | name missing, number or boolean of another type, line above 65,535, deeper than 65,536, piece above 16 MiB | refused; what came before is kept |
//! | broken off | truncated there; whole elements are used |
//! | section missing, repeated, in another order; attributes in another order; `class` for `name` of a class | read |
//! | unknown element or attribute, text, missing number (read as 0), sums that do not agree, number above 63 bits | counted by kind; a remark for each at the end |
//! | `elapsedTime` of a living thread without frames, lines above 65,535, `class` of a class that has a `name` | skipped, and counted in the same way |
//! | `cumulated` and the like, where the own parts are there | checked, and skipped |

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

/// Nodes of all call trees together that are written. Behind them paths are folded.
pub const MOST_CALL_NODES: usize = 1 << 19;

/// Whether a document that starts with `head` has the root of a snapshot, behind declaration and
/// comments.
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
