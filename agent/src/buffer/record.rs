//! What application threads write into their chunks: one 64-bit word for an enter or a leave.
//!
//! ```text
//! bit 63                    25 24                  1 0
//!    +------------------------+---------------------+-+
//!    | time, low 39 bits      | method id or code   |k|   k: 0 enter, 1 leave
//!    +------------------------+---------------------+-+
//! ```
//!
//! Everything else is two words: the first has a code in the place of the method id, the second is
//! the payload. Bits 39 and up of the time ("the epoch") are those of the chunk's start, until a
//! [`Code::Time`] record brings the full time: the recording thread writes one whenever its epoch
//! changed, so a chunk can be read with nothing but itself.

/// Bits of the time in a record.
pub(crate) const TIME_BITS: u32 = 39;
const TIME_SHIFT: u32 = 64 - TIME_BITS;
/// Method ids are below this; what is above is a [`Code`].
pub(crate) const METHOD_LIMIT: u32 = 0xff_ff00;

/// Kinds of two-word records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Code {
    /// Payload: the full time. The epoch changed.
    Time = METHOD_LIMIT,
    /// Payload: method. A leave by exception.
    LeaveByException,
    /// Payload: method, which caught an exception.
    Caught,
    /// Payload: constructor, about to call `this(...)` or `super(...)`.
    SuperCall,
    /// Payload: constructor, back from `this(...)` or `super(...)`.
    SuperReturned,
    /// Payload: thread. What follows belongs to it (virtual threads on their carrier).
    Running,
    /// Payload: thread. It started.
    ThreadStart,
    /// Payload: thread. It ended.
    ThreadEnd,
    /// Payload: see [`lost`]. Events of the running thread are missing here.
    Lost,
    /// Payload: 0. A collection began.
    GcStart,
    /// Payload: 0. A collection ended.
    GcFinish,
    /// Payload: 0. The JVM told the running thread that it is ready.
    InitDone,
    /// Payload: 0. The JVM told the running thread that it stops.
    Shutdown,
}

impl Code {
    const ALL: [Self; 13] = [
        Self::Time,
        Self::LeaveByException,
        Self::Caught,
        Self::SuperCall,
        Self::SuperReturned,
        Self::Running,
        Self::ThreadStart,
        Self::ThreadEnd,
        Self::Lost,
        Self::GcStart,
        Self::GcFinish,
        Self::InitDone,
        Self::Shutdown,
    ];

    const fn low(self) -> u64 {
        (self as u64) << 1
    }
}

/// A record as its first word tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Enter(u32),
    Leave(u32),
    /// A payload word follows.
    Coded(Code),
}

/// The part of a word that does not depend on the time: an enter of `method`.
pub(crate) const fn enter(method: u32) -> u64 {
    (method as u64) << 1
}

/// As [`enter`], for a leave by return.
pub(crate) const fn leave(method: u32) -> u64 {
    (method as u64) << 1 | 1
}

/// As [`enter`], for a two-word record.
pub(crate) const fn coded(code: Code) -> u64 {
    code.low()
}

/// The word of a record.
#[inline(always)]
pub(crate) const fn word(time: u64, low: u64) -> u64 {
    time << TIME_SHIFT | low
}

/// What must be the same for two times to share a [`Code::Time`] record.
#[inline(always)]
pub(crate) const fn epoch(time: u64) -> u64 {
    time >> TIME_BITS
}

/// The full time of a word, in the epoch given.
#[inline(always)]
pub(crate) const fn time(word: u64, epoch: u64) -> u64 {
    epoch << TIME_BITS | word >> TIME_SHIFT
}

/// What a word says besides its time; `None` if no version of jtrail wrote it.
#[inline(always)]
pub(crate) fn kind(word: u64) -> Option<Kind> {
    let id = (word >> 1) as u32 & 0xff_ffff;
    if id >= METHOD_LIMIT {
        return Code::ALL
            .get((id - METHOD_LIMIT) as usize)
            .map(|c| Kind::Coded(*c));
    }
    Some(if word & 1 == 0 {
        Kind::Enter(id)
    } else {
        Kind::Leave(id)
    })
}

const LOST_POPS_BITS: u32 = 24;

/// Payload of [`Code::Lost`]: how many enters and leaves are missing, and how many of the calls that
/// were open before the gap ended in it.
pub(crate) fn lost(events: u64, closed: u64) -> u64 {
    let most = (1 << LOST_POPS_BITS) - 1;
    events.min(u64::MAX >> LOST_POPS_BITS) << LOST_POPS_BITS | closed.min(most)
}

/// Reverses [`lost`].
pub(crate) const fn lost_parts(payload: u64) -> (u64, u64) {
    (
        payload >> LOST_POPS_BITS,
        payload & ((1 << LOST_POPS_BITS) - 1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        let now = 0x0123_4567_89ab_cdef;
        for (low, expected) in [
            (enter(0), Kind::Enter(0)),
            (leave(METHOD_LIMIT - 1), Kind::Leave(METHOD_LIMIT - 1)),
            (coded(Code::Shutdown), Kind::Coded(Code::Shutdown)),
        ] {
            let w = word(now, low);
            assert_eq!(kind(w), Some(expected));
            assert_eq!(time(w, epoch(now)), now);
        }
        for code in Code::ALL {
            assert_eq!(kind(word(now, coded(code))), Some(Kind::Coded(code)));
        }
        assert_eq!(kind(enter(METHOD_LIMIT + Code::ALL.len() as u32)), None);
    }

    #[test]
    fn losses_read_back() {
        assert_eq!(lost_parts(lost(7, 3)), (7, 3));
        assert_eq!(
            lost_parts(lost(u64::MAX, u64::MAX)),
            (u64::MAX >> 24, (1 << 24) - 1)
        );
    }
}
