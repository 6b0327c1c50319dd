//! Flame graphs (`.html`): a page of one file that shows where the calls of a trace spend their
//! time, or what differs between two traces.
//!
//! The page needs no other file and no network. Its content security policy allows the one script
//! and the one style sheet in it, by their hashes, and nothing else.
//!
//! | Module | Contents |
//! |---|---|
//! | `tree` | the call paths of one or two traces, by names |
//! | `prune` | removes the smallest call paths of a tree that is too large |
//! | `data` | the embedded data |
//! | `write` | the page |
//! | `base` | reads the trace that another one is compared with |
//! | `page.html`, `page.css`, `page/*.js` | the page itself, without a build step |
//!
//! # Embedded data
//!
//! The element `<script type="text/plain" id="profile">` holds base64 (RFC 4648) of a zlib stream
//! (RFC 1950) of the data, which has these parts in this order:
//!
//! | Part | Contents |
//! |---|---|
//! | version | 1 |
//! | traces | count (1, or 2 with the base after the exported trace); for each: texts title and program, zigzag number start in ns since 1970-01-01 UTC, number duration in ns, number threads, texts marks |
//! | left out | number of call paths that were left out for the size |
//! | classes | sorted texts |
//! | names | sorted texts: the names of methods |
//! | descriptors | sorted texts |
//! | threads | texts names; then for each trace the column of how many threads have the name |
//! | methods | count; columns class, name, descriptor |
//! | paths | count; columns level, frame |
//! | weights | for each trace: a number whose bit `n` says that the column of weight `n` follows |
//!
//! | Notation | Encoding |
//! |---|---|
//! | number | LEB128, the low 7 bits first |
//! | text | number of bytes, and UTF-8 |
//! | texts | count, and that many texts |
//! | sorted texts | count; for each text the number of bytes that it shares with the one before, and the rest as a text |
//! | column | numbers, one for each row |
//!
//! Paths are the nodes of the call tree without its root, in preorder. The level of a path is the
//! number of levels that it lies above the deepest place it could have: 0 for a callee of the path
//! before, 1 for another callee of the same caller.
//!
//! Frame 0 stands for the paths that were left out below the same caller. Frame 1 is above the
//! callers of calls that were recorded as sums and whose paths are unknown (see `profile`). Frames
//! from 2 on are threads, and methods follow. Threads are the first level of the tree. Threads of
//! the same name are one, and so are methods of the same class name, name and descriptor.
//!
//! A path has at most 1,024 calls. Calls within so many others are, by method, below a method of no
//! class with the name `(deeper calls)`.
//!
//! | Bit | Weight | Unit | Numbers are |
//! |--:|---|---|---|
//! | 0 | calls | 1 | unsigned |
//! | 1 | time | ns | zigzag |
//! | 2 | CPU time | ns | zigzag |
//! | 3 | allocated objects | 1 | unsigned |
//! | 4 | allocated bytes | byte | zigzag |
//! | 5 | blocked on monitors | ns | zigzag |
//! | 6 | in `Object.wait` and parked | ns | zigzag |
//!
//! A column of zeros is omitted. Weights are those of the path itself, without its callees; times
//! blocked and waiting are part of the time. The time of a caller of sums is negative if the trace
//! lacks calls of it.
//!
//! The whole page is in memory before it is written. So are all call paths while the trace is read.

mod base;
mod data;
mod prune;
mod tree;
mod write;

pub use base::{Base, BaseEncoder};
pub(crate) use write::Writer;

#[cfg(test)]
mod tests;
