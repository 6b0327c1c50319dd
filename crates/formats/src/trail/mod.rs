//! `trail`: jtrail's own format (`.trail`), compact, and made to be read when it is damaged.
//!
//! # Layout
//!
//! A trace is a row of segments, each written at once and never changed. A segment is a header and a payload:
//!
//! | Bytes | Header |
//! |---|---|
//! | 0–3 | `B5 4A 54 52` |
//! | 4 | version, 1 |
//! | 5 | kind: 1 definitions, 2 events, 3 index |
//! | 6, 7 | 0 |
//! | 8–11 | number of the segment, from 0 |
//! | 12–15 | bytes of the payload, 32 MiB at most |
//! | 16–19 | CRC-32C of the payload |
//! | 20–23 | events in this segment, 0 but for kind 2 |
//! | 24–31 | events of the trace before this segment |
//! | 32–39, 40–47 | smallest and largest time in it, in ns since 1970-01-01 UTC; 0 and 0 if there is none |
//! | 48–51 | which trace it is of: bytes 16–19 of segment 1, 0 in segment 0; other segments that have 0 do not say |
//! | 52–55 | CRC-32C of bytes 0–51 |
//!
//! All fixed numbers are little-endian. A *number* is LEB128: seven bits a byte, low ones first, bit 7 says that more follow. A *signed*
//! number is a number: `2n` for n ≥ 0, `-2n - 1` for n < 0. Sums and differences wrap at 64 bits.
//!
//! A payload begins with *columns*. First their sizes: for each column two numbers, its size, and its size as stored. Then their bytes: where the two
//! are equal, as they are, else as one LZ4 block. All columns of a segment together have 32 MiB at most; a segment has at most 2²⁰ events, 2¹⁴ threads, 60,002 symbols and
//! 2²⁰ texts.
//!
//! The first segment has kind 2 and no events, so a file shows what it is from its first bytes on.
//!
//! ## Events (kind 2)
//!
//! Seven columns. Each segment can be read by itself: nothing but the definitions of ids stands elsewhere.
//!
//! 1. *Threads*: signed: base time. A byte: 1 if calls have CPU times, else 0. A number: how many threads have events here. For each: its id (signed, less the id
//!    before it), its events before this segment (number), the ticket of its last call (number), its open calls (signed). A thread that ended
//!    begins anew. Events of no thread belong to thread 0.
//! 2. *Symbols*: symbols are numbered from 1 in the order in which they stand here; 0 is "the last call of this thread ends".
//!    - `00` method (number), class (number): a call begins.
//!    - `FF`: the last call of this thread ends by an exception.
//!    - another byte: a record of that code.
//! 3. *Runs*: pairs of numbers: place of a thread in the first column from 0, and how many of the next events belong to it.
//! 4. *Hits*: a bit for each event, low bits first: its symbol is the one foreseen.
//! 5. *Misses*: the symbols (numbers) of the others.
//! 6. *Times*: for each call that begins or ends, the step from the last time of its thread: a byte `b` below 240 is a step of `b` ns; for 240 to 254 a second byte `c`
//!    follows, and the step is `240 + 256 (b - 240) + c`; behind 255 follows a signed number. A thread's first step is from the base time.
//! 7. *Records*: for each call, if calls have CPU times, the step (signed) from the CPU time of the thread's last such call, from 0; for each record, its fields.
//!
//! **Foreseen** is what followed the same history of the thread before. There is a table of 2¹⁵ symbols, all 0 at a segment's begin, and a history for each
//! thread, 0 at a segment's begin. The foreseen symbol is the table's at the history; the true one then takes its place. Then the history
//! becomes `(history × 2⁵ xor (v × 9E3779B1₁₆ mod 2³²) ÷ 2¹⁷) mod 2¹⁵`, where v is `2s + 1` when a call ends that the symbol s began (s = 0 if
//! it began in an earlier segment), and else `2s` with s the symbol of the event itself.
//!
//! **A call that begins** has the ticket behind the thread's last one, and one more open call than there were. **A call that ends** is
//! the last that began in this segment and is open. Calls for which this is not true, or which end and began in an earlier segment, are
//! records (16, 17); these count as calls all the same. A record 16 sets ticket and depth.
//!
//! ## Records
//!
//! The fields of an event in the order of the table in `record.rs`, which lists all codes. By type:
//!
//! | Field | As |
//! |---|---|
//! | class, method, heap dump, unsigned | number |
//! | length of time, signed | signed number |
//! | thread | signed: less the thread that the event belongs to |
//! | time | signed: less the last time of that thread |
//! | object | 0 for none, else signed: less the last object of that thread; if that is 0, less 0 |
//! | kind of object, yes or no, thread state, generation | a byte |
//! | samples in a row (ticks) | number, less one |
//! | text | number: `2n`, and n bytes of UTF-8; or `2k + 1` for the k-th text, from 0, that was written out and is not empty |
//! | list | number of entries (2²⁰ at most), and each |
//!
//! ## Definitions (kind 1)
//!
//! One column: the definitions among the events of the next segment (nodes, processes, agents, starts, filters, options, threads, their names, classes, methods), each its code and its
//! fields, as if all were of thread 0 with a last time of 0, with texts of their own. A reader passes over them, unless the next segment is lost.
//!
//! ## Index (kind 3)
//!
//! One column: the place of the index before this one in bytes from the start of the trace, and 1; 0 for the first (number). How many segments are told (number), and for
//! each since then: a byte, 1 for events and 0 for definitions; its place less the last one's (number); its events (number); its first time, less the last one's
//! (signed); its last time less its first (signed); how many threads (number), and their ids, each less the one before (signed). Then a byte: 0 more follows,
//! 1 the trace is whole, 2 it broke off. With 1 and 2: all events (number), how many codes (number), for each code with events: the code, and how many
//! (number); and behind the column, as the trace's last 16 bytes, the place of this index (8 bytes) and `4A 54 52 20 65 6E 64 B5`.
//!
//! A trace without such an end broke off.

mod block;
mod calls;
mod columns;
mod copies;
mod decode;
mod encode;
mod filling;
mod index;
mod record;
pub mod recover;
mod segment;
mod symbols;
mod times;
mod value;

pub use decode::Decoder;
pub use encode::Encoder;
pub(crate) use segment::MAGIC;
