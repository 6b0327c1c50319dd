//! What application threads write into their chunks: one 64-bit word for an enter or a leave.
//!
//! ```text
//! bit 63                    25 24                  1 0
//!    +------------------------+---------------------+-+
//!    | time, low 39 bits      | method id or code   |k|   k: 0 enter, 1 leave
//!    +------------------------+---------------------+-+
//! ```
//!
//! Everything else has a code in the place of the method id, and one or more words of payload
//! behind it ([`Code::payload`]). Bits 39 and up of the time ("the epoch") are those of the chunk's
//! start, until a [`Code::Time`] record brings the full time: the recording thread writes one
//! whenever its epoch changed, so a chunk can be read with nothing but itself.
//!
//! In payloads, an *object* word is `object number << 24 | low`, where `low` is a class number or a
//! count, and a *frame* word is `method number << 32 | line`, with the line as in
//! [`jtrail_model::Frame`].

use jtrail_classfile::Handler;
use std::cmp::Ordering;

/// Bits of the time in a record.
pub const TIME_BITS: u32 = 39;
const TIME_SHIFT: u32 = 64 - TIME_BITS;
/// The bits of a word that are not its time.
pub const LOW: u64 = (1 << TIME_SHIFT) - 1;
/// Method ids are below this; what is above is a [`Code`].
pub const METHOD_LIMIT: u32 = 0xff_ff00;

/// Number of records that belong to no Java thread.
pub const NO_THREAD: u32 = 0;

/// When a snapshot of the heap is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotMoment {
    /// Whenever it was asked for: it shows what can be reached.
    Any,
    /// Before a collection of ours: it shows all that the heap holds.
    BeforeCollection,
    /// After that collection; likewise.
    AfterCollection,
}

impl SnapshotMoment {
    /// What the name of a snapshot ends with, by its moment as a word of a record.
    pub fn suffix(word: u64) -> &'static str {
        const BEFORE: u64 = SnapshotMoment::BeforeCollection as u64;
        const AFTER: u64 = SnapshotMoment::AfterCollection as u64;
        match word {
            BEFORE => "-before-gc",
            AFTER => "-after-gc",
            _ => "",
        }
    }
}

/// How many words a record has behind its first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// So many.
    Words(usize),
    /// An object word, whose low part counts frames; one more word; the frames.
    Stack,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident $payload:expr, $drop:literal;)*) => {
        /// Kinds of records with a payload.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            const ALL: &[Self] = &[$(Self::$code),*];

            /// What stands behind the first word.
            pub const fn payload(self) -> Payload {
                use Payload::*;
                match self {
                    $(Self::$code => $payload,)*
                }
            }

            /// Whether a thread that must not wait may leave such a record out, and count it.
            pub const fn may_drop(self) -> bool {
                match self {
                    $(Self::$code => $drop,)*
                }
            }
        }
    };
}

codes! {
    /// The full time. The epoch changed.
    Time Words(1), false;
    /// Method. A leave by exception.
    LeaveByException Words(1), true;
    /// Method, which caught an exception.
    Caught Words(1), true;
    /// Constructor, about to call `this(...)` or `super(...)`.
    SuperCall Words(1), true;
    /// Constructor, back from `this(...)` or `super(...)`.
    SuperReturned Words(1), true;
    /// Thread. What follows belongs to it (virtual threads on their carrier).
    Running Words(1), false;
    /// Thread. It started.
    ThreadStart Words(1), false;
    /// Thread. It ended.
    ThreadEnd Words(1), false;
    /// See [`lost`]; how many records of other kinds are missing; how many more enters are, which
    /// follow anew. Events of the running thread are missing here.
    Lost Words(3), false;
    /// How many objects had numbers. A collection began.
    GcStart Words(1), false;
    /// Bytes of the heap, and bytes in use; zeros if unknown. A collection ended.
    GcFinish Words(2), false;
    /// Text of the collector `<< 32 |` text of the cause; generation. For the [`Self::GcFinish`]
    /// behind it.
    GcDetail Words(2), false;
    /// 0. The JVM told the running thread that it is ready.
    InitDone Words(1), false;
    /// 0. The JVM told the running thread that it stops.
    Shutdown Words(1), false;
    /// Nanoseconds of CPU time that the running thread has used, for the enter or leave behind it.
    Cpu Words(1), true;
    /// Thread, and its CPU time so far in nanoseconds.
    ThreadCpu Words(2), false;
    /// Virtual thread `<< 32 |` carrier.
    Mount Words(1), false;
    /// Virtual thread `<< 32 |` carrier.
    Unmount Words(1), false;
    /// Object and class; bytes. The running thread made it.
    Alloc Words(2), true;
    /// Object and class; bytes; frame. The running thread made it there.
    AllocAt Words(3), true;
    /// Allocation site `<< 32 |` length of the array. The running thread made it there.
    AllocSite Words(1), true;
    /// Allocation site `<< 32 |` length of the array; object. As [`Self::AllocSite`], where objects
    /// have identity.
    AllocSiteObject Words(2), true;
    /// Allocation site `<< 32 |` class; bytes; object. A call made it there, where objects have
    /// identity.
    AllocCallObject Words(3), true;
    /// Allocation site `<< 32 |` class; bytes of each; how many. The running thread made them there
    /// at once.
    AllocMany Words(3), true;
    /// Object and class; bytes. First mention of an object that was there before.
    ObjectDef Words(2), true;
    /// Object. It was found dead.
    ObjectFree Words(1), true;
    /// Stack of the running thread, with the owner's thread number.
    MonitorContendedEnter Stack, true;
    /// Stack; 0.
    MonitorContendedEntered Stack, true;
    /// Stack; milliseconds.
    MonitorWait Stack, true;
    /// Stack; 1 if the time was over, else 0.
    MonitorWaited Stack, true;
    /// Stack; 0. The object is the blocker.
    Park Stack, true;
    /// 0.
    Unpark Words(1), true;
    /// Stack; class of the exception.
    Throw Stack, true;
    /// Stack of one frame; class of the exception, with its [`handler`].
    Catch Stack, true;
    /// Stack, with the sampled thread in place of the object; its state, with [`CUT`] if innermost
    /// frames are left out.
    Sample Stack, true;
    /// Class. It was unloaded.
    ClassUnload Words(1), true;
    /// Class; bytes of its new class file. It is redefined.
    ClassRedefine Words(2), true;
    /// Number of the snapshot; its [`SnapshotMoment`]. Its parts follow in this buffer.
    HeapDump Words(2), false;
    /// Object and class; kind of the root.
    HeapRoot Words(2), false;
    /// Object and class; bytes.
    HeapObject Words(2), false;
    /// Object; object referred to.
    HeapReference Words(2), false;
    /// Number of the snapshot, or [`BROKEN_OFF`].
    HeapDumpEnd Words(1), false;
    /// Thread. It has the name that was announced for this record.
    ThreadName Words(1), false;
    /// Thread; the operating system's number of the thread that runs it.
    ThreadOs Words(2), false;
    /// 0. Somebody asks for the document of a format of totals, as it is now.
    Snapshot Words(1), false;
    /// Number of a text that was announced for this record. The program marks this place.
    Mark Words(1), false;
    /// Number of a trigger, which begins a burst here.
    Burst Words(1), false;
    /// Class. Its loader was found gone: all that its methods recorded is older.
    ClassForgotten Words(1), true;
    /// Method, a `<clinit>`. The running thread begins to initialise its class.
    ClassInit Words(1), true;
    /// Method, a `<clinit>`; 1 if an exception ended it, else 0. The class is initialised.
    ClassInitEnd Words(2), true;
}

impl Code {
    const fn low(self) -> u64 {
        (METHOD_LIMIT as u64 + self as u64) << 1
    }

    /// Words behind the first one, by the first of them; `None` if no version of jtrail wrote it.
    pub fn words(self, first: u64) -> Option<usize> {
        match self.payload() {
            Payload::Words(count) => Some(count),
            Payload::Stack => {
                let frames = object_parts(first).1 as usize;
                (frames <= MOST_FRAMES).then_some(2 + frames)
            }
        }
    }
}

/// Most frames of one record: it has to fit into the smallest chunk.
pub const MOST_FRAMES: usize = 1024;
/// Of a snapshot that is not whole.
pub const BROKEN_OFF: u64 = 0;
/// Beside the state of a sampled thread.
pub const CUT: u64 = 1 << 32;

/// An object word.
pub const fn object(number: u64, low: u32) -> u64 {
    number << 24 | (low as u64 & 0xff_ffff)
}

/// Reverses [`object`].
pub const fn object_parts(word: u64) -> (u64, u32) {
    (word >> 24, word as u32 & 0xff_ffff)
}

/// A frame word.
pub const fn frame(method: u32, line: i32) -> u64 {
    (method as u64) << 32 | line as u32 as u64
}

/// Reverses [`frame`].
pub const fn frame_parts(word: u64) -> (u32, i32) {
    ((word >> 32) as u32, word as u32 as i32)
}

/// Beside the class of an exception: what is known of the handler that caught it.
pub fn handler(known: Option<Handler>) -> u64 {
    let bits = known.map_or(0, |handler| {
        1 << 17 | u64::from(handler.takes_all) << 16 | u64::from(handler.entry)
    });
    bits << 32
}

/// Reverses [`handler`]: its first entry in the exception table, and whether it takes all.
pub const fn handler_parts(word: u64) -> Option<(u16, bool)> {
    let bits = word >> 32;
    if bits & 1 << 17 == 0 {
        return None;
    }
    Some((bits as u16, bits & 1 << 16 != 0))
}

/// The first word of [`Code::AllocSite`] and the like.
pub const fn site(site: u32, low: u32) -> u64 {
    (site as u64) << 32 | low as u64
}

/// Reverses [`site`].
pub const fn site_parts(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// A record as its first word tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A call of that method begins.
    Enter(u32),
    /// A call of that method returns.
    Leave(u32),
    /// A payload follows.
    Coded(Code),
}

/// The part of a word that does not depend on the time: an enter of `method`.
pub const fn enter(method: u32) -> u64 {
    (method as u64) << 1
}

/// As [`enter`], for a leave by return.
pub const fn leave(method: u32) -> u64 {
    (method as u64) << 1 | 1
}

/// As [`enter`], for a record with a payload.
pub const fn coded(code: Code) -> u64 {
    code.low()
}

/// The word of a record.
#[inline(always)]
pub const fn word(time: u64, low: u64) -> u64 {
    time << TIME_SHIFT | low
}

/// The part of a word that depends on the time alone.
#[inline(always)]
pub const fn stamp(word: u64) -> u64 {
    word >> TIME_SHIFT << TIME_SHIFT
}

/// What must be the same for two times to share a [`Code::Time`] record.
#[inline(always)]
pub const fn epoch(time: u64) -> u64 {
    time >> TIME_BITS
}

/// The full time of a word, in the epoch given.
#[inline(always)]
pub const fn time(word: u64, epoch: u64) -> u64 {
    epoch << TIME_BITS | tick(word)
}

/// The part of the time that a word has.
#[inline(always)]
pub const fn tick(word: u64) -> u64 {
    word >> TIME_SHIFT
}

/// The last [`tick`] that is not behind the time `limit`, in the epoch given; `None` if all are.
pub fn last_tick(limit: u64, in_epoch: u64) -> Option<u64> {
    const LAST: u64 = (1 << TIME_BITS) - 1;
    match epoch(limit).cmp(&in_epoch) {
        Ordering::Less => None,
        Ordering::Equal => Some(limit & LAST),
        Ordering::Greater => Some(LAST),
    }
}

/// Whether a word is an enter or a leave by return, and so a whole record.
#[inline(always)]
pub const fn is_call(word: u64) -> bool {
    method(word) < METHOD_LIMIT
}

/// The method of an enter or a leave.
#[inline(always)]
pub const fn method(word: u64) -> u32 {
    (word >> 1) as u32 & 0xff_ffff
}

/// An enter or a leave without its time: from the low end, whether it is a leave, and the method.
#[inline(always)]
pub const fn step(word: u64) -> u32 {
    word as u32 & 0x1ff_ffff
}

/// Whether an enter or a leave is the latter.
#[inline(always)]
pub const fn is_leave(word: u64) -> bool {
    word & 1 != 0
}

/// What a word says besides its time; `None` if no version of jtrail wrote it.
#[inline(always)]
pub fn kind(word: u64) -> Option<Kind> {
    let id = method(word);
    if !is_call(word) {
        return Code::ALL
            .get((id - METHOD_LIMIT) as usize)
            .map(|c| Kind::Coded(*c));
    }
    Some(match is_leave(word) {
        false => Kind::Enter(id),
        true => Kind::Leave(id),
    })
}

const LOST_POPS_BITS: u32 = 24;

/// First word of [`Code::Lost`]'s payload: how many enters and leaves are missing, and how many of
/// the calls that were open before the gap ended in it.
pub fn lost(events: u64, closed: u64) -> u64 {
    let most = (1 << LOST_POPS_BITS) - 1;
    events.min(u64::MAX >> LOST_POPS_BITS) << LOST_POPS_BITS | closed.min(most)
}

/// Reverses [`lost`].
pub const fn lost_parts(payload: u64) -> (u64, u64) {
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
            assert_eq!(kind(word(now, coded(*code))), Some(Kind::Coded(*code)));
        }
        assert_eq!(kind(enter(METHOD_LIMIT + Code::ALL.len() as u32)), None);
    }

    #[test]
    fn the_last_tick_is_that_of_the_limit() {
        let limit = 7 << TIME_BITS | 1234;
        assert_eq!(last_tick(limit, 7), Some(1234));
        assert_eq!(last_tick(limit, 6), Some(tick(u64::MAX)));
        assert_eq!(last_tick(limit, 8), None);
        assert_eq!(tick(word(limit, coded(Code::Burst))), 1234);
    }

    #[test]
    fn stacks_have_as_many_words_as_frames_and_two() {
        assert_eq!(Code::Throw.words(object(7, 3)), Some(5));
        assert_eq!(Code::Throw.words(object(7, 0)), Some(2));
        assert_eq!(Code::Throw.words(u64::MAX), None);
        assert_eq!(Code::AllocAt.words(u64::MAX), Some(3));
    }

    #[test]
    fn payload_words_read_back() {
        assert_eq!(
            object_parts(object(1 << 39, 0xff_ffff)),
            (1 << 39, 0xff_ffff)
        );
        assert_eq!(site_parts(site(u32::MAX, 7)), (u32::MAX, 7));
        for line in [0, 1, -1, -2, i32::MAX] {
            assert_eq!(frame_parts(frame(u32::MAX, line)), (u32::MAX, line));
        }
    }

    #[test]
    fn handlers_read_back() {
        let class = u64::from(u32::MAX);
        for entry in [0, 7, u16::MAX] {
            for takes_all in [false, true] {
                let pc = 12;
                let word = class
                    | handler(Some(Handler {
                        pc,
                        entry,
                        takes_all,
                    }));
                assert_eq!(handler_parts(word), Some((entry, takes_all)));
                assert_eq!(word as u32, u32::MAX);
            }
        }
        assert_eq!(handler_parts(class | handler(None)), None);
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
