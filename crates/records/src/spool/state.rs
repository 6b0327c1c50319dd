//! State of a commit: how far a trace is written.

use crate::read::ReadPosition;
use crate::translate::Saved;
use serde::{Deserialize, Serialize};

/// State that is valid from one commit to the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// Number of the state, from 1 on. Only the state whose number is in `memory` is valid.
    pub number: u64,
    /// The active trace, if there is one.
    pub trace: Option<TraceState>,
    /// Number of definitions that the writer had handled.
    pub defined: u64,
    /// Offsets in `named` at which the trace's names begin and end.
    pub named: (u64, u64),
    /// Positions up to which buffers are read.
    pub buffers: Vec<BufferState>,
    /// Numbers of the buffers that have ended since the last state and are read completely.
    pub done: Vec<u64>,
}

/// A trace that is being written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceState {
    /// Identity of the agent in the trace, which distinguishes it from other agents.
    pub agent_id: String,
    /// Opening events of the trace, as a trail, if nothing of the trace is written
    /// (`overflow=ring`). The recovered trace begins at the tick `written`, with the calls that are
    /// open there.
    pub opening: Option<Vec<u8>>,
    /// Number of bytes written.
    pub length: u64,
    /// Tick up to which all records are written or passed over, except those that arrived late.
    pub written: u64,
    /// With a coarse clock: the configured interval between ticks, and the longest one so far, in
    /// nanoseconds.
    pub clock: Option<(i64, i64)>,
    /// State of the trace's translator.
    pub saved: Saved,
}

/// Position up to which a buffer is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BufferState {
    /// Number of the buffer.
    pub number: u64,
    /// Sequence number of the last chunk that is read completely; 0 if there is none.
    pub after: u64,
    /// Position in the next chunk.
    pub place: ReadPosition,
}
