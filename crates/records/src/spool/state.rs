//! How far a trace is written.

use crate::read::ReadPosition;
use crate::translate::Saved;
use serde::{Deserialize, Serialize};

/// What counts from one commit to the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// From 1 on. Only the one whose number is in `memory` counts.
    pub number: u64,
    /// The trace under way, if there is one.
    pub trace: Option<TraceState>,
    /// How many announcements the writer had taken.
    pub defined: u64,
    /// Bytes of `named` that are of the trace, and where they begin.
    pub named: (u64, u64),
    /// Of all buffers, how far they are read.
    pub buffers: Vec<BufferState>,
    /// Buffers that ended since the last state, and are read to their end.
    pub done: Vec<u64>,
}

/// A trace that is being written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceState {
    /// The identity of the agent in the trace, which tells it from others.
    pub agent_id: String,
    /// What opens it, as a trail, where nothing of it is written (`overflow=ring`): it begins at
    /// the tick `written` with the calls that are open there.
    pub opening: Option<Vec<u8>>,
    /// Bytes that are written.
    pub length: u64,
    /// Up to which tick all is written, or passed over, but records that came late.
    pub written: u64,
    /// With a coarse clock, how often it ticks, and the longest that a tick took so far, in ns.
    pub clock: Option<(i64, i64)>,
    /// What its translator knows.
    pub saved: Saved,
}

/// How far a buffer is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BufferState {
    /// Its number.
    pub number: u64,
    /// Sequence number of the last chunk that is read to its end; 0 if there was none.
    pub after: u64,
    /// How far the chunk behind it is read.
    pub place: ReadPosition,
}
