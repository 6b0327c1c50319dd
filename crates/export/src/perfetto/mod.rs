//! Perfetto traces (`.pftrace`): what the Perfetto UI and its trace processor read.
//!
//! A trace is a `Trace` message of Perfetto's protocol-buffer schema: packets (field 1), one after
//! another. Traces can be concatenated.
//!
//! | Module | Contents |
//! |---|---|
//! | `sink` | what becomes which packets |
//! | `packets` | packets, sequences and tracks |
//! | `wire` | field numbers |
//!
//! # Sequences and times
//!
//! | Sequence | Packets | Time stamps |
//! |---|---|---|
//! | 1 | process, collections, counters, marks, flows | in ns since 1970-01-01 UTC |
//! | 2, 3, 4 … | one for each thread: calls, waits, exceptions, samples | in ns since the preceding packet |
//!
//! The first packet of each sequence has `sequence_flags` 1 (incremental state cleared), defaults
//! for its track, and a clock snapshot. The snapshot sets the trace clock (6, boot time) and the
//! real-time clock (1) to the same value, the first time of the sequence. Thread sequences use the
//! clock 64, which belongs to the sequence and is incremental.
//!
//! # Tracks
//!
//! | Track | Uuid | Events |
//! |---|---|---|
//! | process | 1 | marks, notes on what is missing |
//! | collections | 2 | a slice for each collection, with collector, cause and heap used |
//! | heap used | 3 | counter in bytes, after each collection |
//! | allocation rate | 4 | counter in bytes per second, for each 10 ms |
//! | live threads | 5 | counter |
//! | CPU time of the process | 6 | counter in ns |
//! | thread n | 16 + 2n | calls, waits and parks as slices; exceptions and samples as instants |
//! | CPU time of thread n | 17 + 2n | counter in ns |
//!
//! A platform thread has a thread track. A virtual thread has a plain track below the process,
//! because it has no id of the operating system. Tracks of one name are not merged. A thread
//! without a name is called like `virtual thread 912`.
//!
//! # Names
//!
//! Names of slices are interned (`event_names`), for each sequence by itself. The id of a name is
//! the same in all sequences, and not 0. A call is named like `com.acme.Shop.pay(Order, int)`.
//!
//! # Flows
//!
//! A flow leads from the owner of a monitor to the thread that is blocked: an instant on the
//! owner's track and the begin of the blocked slice have the same flow id.

mod packets;
mod sink;
mod wire;

pub(crate) use packets::Packets;

#[cfg(test)]
mod tests;
