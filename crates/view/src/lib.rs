//! Parts of a trace of any size, for a viewer.
//!
//! A trail is read in parts: each segment lists the calls that are open at its begin. So a span of
//! time takes only its own segments, however long the trace is.
//!
//! | Module | Contents |
//! |---|---|
//! | `slice` | calls and waits of a thread |
//! | `methods` | numbers of methods, which are shorter than their ids |
//! | `walk` | pairs begins and ends in a segment |
//! | `segment` | the slices of a segment |
//! | `readers` | the readers of segments |
//! | `remaining` | the segments that an answer still needs |
//! | `cache` | segments that were decoded lately |
//! | `gaps` | what is missing of a trace |
//! | `trace` | an open trail: its threads and names |
//! | `opening` | what is read of a trail when it is opened |
//! | `growing` | a trail that is still being written |
//! | `slices` | the slices of a thread in a span |
//! | `index` | what pictures and sums of long spans need, beside the trail |
//! | `finer` | blocks at a higher resolution than the index has |
//! | `coarse` | what is known of a long trail without reading its events |
//! | `picture` | pictures of long spans |
//! | `tile` | a picture of a thread's slices in a span |
//! | `overview` | numbers of what happens, by interval of time and thread |
//! | `cpu` | readings of the CPU time of threads |
//! | `events` | allocations by class, and exceptions by class and site |
//! | [`api`] | what the page asks, and the answers |
//! | [`page`] | the page of the viewer |
//! | `standalone` | a page that has a part of a trace in itself |
//! | `occurrences` | calls of a method by interval of time, and the longest one |
//! | `search` | finds calls of a method, and the ends of long calls |
//! | `waits` | waits with what they are for |
//! | `longest` | the longest waits of a span |
//! | `classes` | classes of the objects that threads wait for |
//! | `totals` | what calls took in a span, by method and thread |
//! | `sums` | what calls took in a span, by call path and thread |
//! | `net` | the same without the time of recording |

#![forbid(unsafe_code)]

pub mod api;
mod cache;
mod classes;
mod coarse;
mod cpu;
mod events;
mod finer;
mod gaps;
mod growing;
mod index;
mod longest;
mod methods;
mod net;
mod occurrences;
mod opening;
mod overview;
pub mod page;
mod picture;
mod readers;
mod remaining;
mod search;
mod segment;
mod slice;
mod slices;
mod standalone;
mod sums;
mod tile;
mod totals;
mod trace;
mod waits;
mod walk;

pub use events::{Allocated, Events, Throws};
pub use gaps::Gap;
pub use growing::Growth;
pub use index::{EXTENSION, IndexSizes, save_analysis, saved_analysis};
pub use methods::NO_METHOD;
pub use occurrences::Occurrences;
pub use overview::{Collection, Counts, Overview};
pub use search::Found;
pub use slice::{Kind, Slice};
pub use standalone::{MAX_SLICES, Page, PageError, Selection};
pub use sums::{Edge, Method, MethodSum, PathSum, SHORTER, Sums, ThreadSum};
pub use tile::{Rectangle, Tile};
pub use totals::Totals;
pub use trace::Trace;
pub use waits::Wait;
