//! The records that application threads write into their chunks. An enter or a leave is one 64-bit
//! word.
//!
//! ```text
//! bit 63                    25 24                  1 0
//!    +------------------------+---------------------+-+
//!    | time, low 39 bits      | method id or code   |k|   k: 0 enter, 1 leave
//!    +------------------------+---------------------+-+
//! ```
//!
//! All other records have a code in place of the method id, followed by one or more words of
//! payload ([`Code::payload`]). Bits 39 and up of the time are called the epoch. At the start of a
//! chunk, the epoch is that of the chunk's start time. The recording thread writes a [`Code::Time`]
//! record with the full time whenever the epoch changes. So a chunk can be read without any other
//! data.
//!
//! In payloads, an *object* word is `object number << 24 | low`, where `low` is a class number or a
//! count. A *frame* word is `method number << 32 | line`, with the line as in
//! [`jtrail_model::Frame`].

use jtrail_classfile::Handler;
use std::cmp::Ordering;

/// Bits of the time in a record.
pub const TIME_BITS: u32 = 39;
const TIME_SHIFT: u32 = 64 - TIME_BITS;
/// Mask of the bits of a word that are not its time.
pub const LOW: u64 = (1 << TIME_SHIFT) - 1;
/// First number that is not a method id. Numbers from here on are codes ([`Code`]).
pub const METHOD_LIMIT: u32 = 0xff_ff00;

/// Thread number of records that belong to no Java thread.
pub const NO_THREAD: u32 = 0;

/// When a heap snapshot is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotMoment {
    /// On request: the snapshot shows all reachable objects.
    Any,
    /// Before a collection that the agent starts: the snapshot shows all objects on the heap.
    BeforeCollection,
    /// After that collection: the snapshot shows all objects on the heap.
    AfterCollection,
}

impl SnapshotMoment {
    /// Returns the suffix of a snapshot's name. `word` is the moment, as in a record.
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

/// Number of words that follow the first word of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// A fixed number of words.
    Words(usize),
    /// A stack has these words: an object word whose low part is the number of frames; a second
    /// word, which depends on the code ("stack, with …"); one frame word for each frame.
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

            /// Returns how many payload words a record has.
            pub const fn payload(self) -> Payload {
                use Payload::*;
                match self {
                    $(Self::$code => $payload,)*
                }
            }

            /// Returns true if a thread without room may drop such a record instead of waiting. The
            /// thread counts what it drops.
            pub const fn may_drop(self) -> bool {
                match self {
                    $(Self::$code => $drop,)*
                }
            }
        }
    };
}

codes! {
    /// The full time, after the epoch has changed. Payload: the time.
    Time Words(1), false;
    /// An exception left a call. Payload: the method.
    LeaveByException Words(1), true;
    /// A method caught an exception. Payload: the method.
    Caught Words(1), true;
    /// A constructor is about to call `this(...)` or `super(...)`. Payload: the method.
    SuperCall Words(1), true;
    /// A constructor is back from `this(...)` or `super(...)`. Payload: the method.
    SuperReturned Words(1), true;
    /// The following records belong to another thread: a virtual thread on its carrier, or the
    /// carrier itself. Payload: the thread.
    Running Words(1), false;
    /// A thread started. Payload: the thread.
    ThreadStart Words(1), false;
    /// A thread ended. Payload: the thread.
    ThreadEnd Words(1), false;
    /// Events of the running thread were lost here. Payload: a word of [`lost`]; the number of lost
    /// events other than calls; the number of lost enters that are repeated after this record. The
    /// first word does not count these enters.
    Lost Words(3), false;
    /// A collection began. Payload: the highest object number given so far.
    GcStart Words(1), false;
    /// A collection ended. Payload: size of the heap in bytes; bytes in use; zeros if unknown.
    GcFinish Words(2), false;
    /// Details of the collection that the next [`Self::GcFinish`] ends. Payload: `collector << 32 |
    /// cause`, both as numbers of texts; generation.
    GcDetail Words(2), false;
    /// The JVM has reported on the running thread that it is initialised. Payload: 0.
    InitDone Words(1), false;
    /// The JVM has reported on the running thread that it shuts down. Payload: 0.
    Shutdown Words(1), false;
    /// CPU time of the running thread, for the enter or leave that follows. Payload: nanoseconds.
    Cpu Words(1), true;
    /// CPU time that a thread has used so far. Payload: the thread; nanoseconds.
    ThreadCpu Words(2), false;
    /// A virtual thread was mounted. Payload: `virtual thread << 32 | carrier`.
    Mount Words(1), false;
    /// A virtual thread was unmounted. Payload: `virtual thread << 32 | carrier`.
    Unmount Words(1), false;
    /// The running thread allocated an object. Payload: object and class; bytes.
    Alloc Words(2), true;
    /// Like [`Self::Alloc`], with the allocating method and line. Payload: object and class; bytes;
    /// frame.
    AllocAt Words(3), true;
    /// The running thread allocated an object at a site. Payload: `site << 32 | array length`.
    AllocSite Words(1), true;
    /// Like [`Self::AllocSite`], where objects have identity. Payload: `site << 32 | array length`;
    /// object.
    AllocSiteObject Words(2), true;
    /// A call at a site allocated an object, where objects have identity. Payload: `site << 32 |
    /// class`; bytes; object.
    AllocCallObject Words(3), true;
    /// The running thread allocated several objects at once at a site. Payload: `site << 32 |
    /// class`; bytes of each object; number of objects.
    AllocMany Words(3), true;
    /// First mention of an object whose allocation was not recorded. Payload: object and class;
    /// bytes.
    ObjectDef Words(2), true;
    /// An object was collected. Payload: the object.
    ObjectFree Words(1), true;
    /// The running thread blocks on a monitor. Payload: stack, with the number of the thread that
    /// owns the monitor.
    MonitorContendedEnter Stack, true;
    /// The running thread got the monitor that it blocked on. Payload: stack, with 0.
    MonitorContendedEntered Stack, true;
    /// The running thread begins to wait on a monitor. Payload: stack, with the limit in
    /// milliseconds.
    MonitorWait Stack, true;
    /// The running thread stopped waiting. Payload: stack, with 1 if the limit ended the wait,
    /// otherwise 0.
    MonitorWaited Stack, true;
    /// The running thread parks. Payload: stack, with 0; the object is the blocker.
    Park Stack, true;
    /// The running thread is back from parking. Payload: 0.
    Unpark Words(1), true;
    /// The running thread threw an exception. Payload: stack, with the exception's class.
    Throw Stack, true;
    /// The running thread caught an exception. Payload: stack of one frame, with the exception's
    /// class and its [`handler`].
    Catch Stack, true;
    /// A sample of a thread. Payload: stack, with the thread in place of the object, and the
    /// thread's state. [`INNERMOST_MISSING`] is set if the innermost frames are missing.
    Sample Stack, true;
    /// A class was unloaded. Payload: the class.
    ClassUnload Words(1), true;
    /// A class is redefined. Payload: the class; bytes of the new class file.
    ClassRedefine Words(2), true;
    /// A heap snapshot begins; its parts follow in this buffer. Payload: number of the snapshot;
    /// its [`SnapshotMoment`].
    HeapDump Words(2), false;
    /// A root of a heap snapshot. Payload: object and class; kind of the root.
    HeapRoot Words(2), false;
    /// An object in a heap snapshot. Payload: object and class; bytes.
    HeapObject Words(2), false;
    /// A reference in a heap snapshot. Payload: the object that holds the reference; the object
    /// referred to.
    HeapReference Words(2), false;
    /// A heap snapshot ends. Payload: number of the snapshot, or [`INCOMPLETE`].
    HeapDumpEnd Words(1), false;
    /// A thread gets a new name, which a `ThreadName` definition holds. Payload: the thread.
    ThreadName Words(1), false;
    /// Operating-system thread that runs a Java thread. Payload: the thread; the operating system's
    /// thread id.
    ThreadOs Words(2), false;
    /// A client requests the document of a format of totals, as it would be if the trace ended now.
    /// Payload: 0.
    Snapshot Words(1), false;
    /// The program sets a mark. Payload: number of the mark's text, as in its definition.
    Mark Words(1), false;
    /// A burst begins. Payload: number of its trigger.
    Burst Words(1), false;
    /// The loader of a class was collected. All records of the class's methods came before.
    /// Payload: the class.
    ClassForgotten Words(1), true;
    /// The running thread begins to initialise a class. Payload: its method `<clinit>`.
    ClassInit Words(1), true;
    /// The running thread has initialised a class. Payload: its method `<clinit>`; 1 if an
    /// exception ended it, otherwise 0.
    ClassInitEnd Words(2), true;
}

impl Code {
    const fn low(self) -> u64 {
        (METHOD_LIMIT as u64 + self as u64) << 1
    }

    /// Returns the number of payload words of a record. `first` is the first payload word. Returns
    /// `None` if no version of jtrail writes such a record.
    pub fn words(self, first: u64) -> Option<usize> {
        match self.payload() {
            Payload::Words(count) => Some(count),
            Payload::Stack => {
                let frames = object_parts(first).1 as usize;
                (frames <= MAX_FRAMES).then_some(2 + frames)
            }
        }
    }
}

/// Maximum number of frames of a record. The record must fit into the smallest chunk.
pub const MAX_FRAMES: usize = 1024;
/// Payload of [`Code::HeapDumpEnd`] for an incomplete snapshot.
pub const INCOMPLETE: u64 = 0;
/// Flag in the second payload word of [`Code::Sample`]: the innermost frames are missing.
pub const INNERMOST_MISSING: u64 = 1 << 32;

/// Returns an object word.
pub const fn object(number: u64, low: u32) -> u64 {
    number << 24 | (low as u64 & 0xff_ffff)
}

/// Splits an object word into the object's number and the low part. Reverses [`object`].
pub const fn object_parts(word: u64) -> (u64, u32) {
    (word >> 24, word as u32 & 0xff_ffff)
}

/// Returns a frame word.
pub const fn frame(method: u32, line: i32) -> u64 {
    (method as u64) << 32 | line as u32 as u64
}

/// Splits a frame word into the method's number and the line. Reverses [`frame`].
pub const fn frame_parts(word: u64) -> (u32, i32) {
    ((word >> 32) as u32, word as u32 as i32)
}

/// Returns the upper half of the second payload word of [`Code::Catch`]: the handler that caught
/// the exception, or 0 for an unknown handler (`None`). The lower half is the exception's class.
pub fn handler(known: Option<Handler>) -> u64 {
    let bits = known.map_or(0, |handler| {
        1 << 17 | u64::from(handler.takes_all) << 16 | u64::from(handler.entry)
    });
    bits << 32
}

/// Reverses [`handler`]. Returns the index of the handler's first entry in the exception table, and
/// true if the handler takes all exceptions.
pub const fn handler_parts(word: u64) -> Option<(u16, bool)> {
    let bits = word >> 32;
    if bits & 1 << 17 == 0 {
        return None;
    }
    Some((bits as u16, bits & 1 << 16 != 0))
}

/// Returns the first payload word of [`Code::AllocSite`] and of similar records.
pub const fn site(site: u32, low: u32) -> u64 {
    (site as u64) << 32 | low as u64
}

/// Splits a word into the allocation site and the low part. Reverses [`site`].
pub const fn site_parts(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Kind of a record, according to its first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A call of the method begins.
    Enter(u32),
    /// A call of the method returns.
    Leave(u32),
    /// The record has a code and a payload.
    Coded(Code),
}

/// Returns the lower part of a word for an enter of `method`. The lower part does not depend on the
/// time.
pub const fn enter(method: u32) -> u64 {
    (method as u64) << 1
}

/// Like [`enter`], for a leave by return.
pub const fn leave(method: u32) -> u64 {
    (method as u64) << 1 | 1
}

/// Like [`enter`], for a record with a payload.
pub const fn coded(code: Code) -> u64 {
    code.low()
}

/// Returns the first word of a record, from its time and lower part.
#[inline(always)]
pub const fn word(time: u64, low: u64) -> u64 {
    time << TIME_SHIFT | low
}

/// Returns the part of a word that depends on the time alone.
#[inline(always)]
pub const fn stamp(word: u64) -> u64 {
    word >> TIME_SHIFT << TIME_SHIFT
}

/// Returns the epoch of a time: the bits that a word does not hold.
#[inline(always)]
pub const fn epoch(time: u64) -> u64 {
    time >> TIME_BITS
}

/// Returns the full time of a word of the given epoch.
#[inline(always)]
pub const fn time(word: u64, epoch: u64) -> u64 {
    epoch << TIME_BITS | tick(word)
}

/// Returns the part of the time that a word holds.
#[inline(always)]
pub const fn tick(word: u64) -> u64 {
    word >> TIME_SHIFT
}

/// Returns the last [`tick`] in the given epoch that is not later than the time `limit`. Returns
/// `None` if all are later.
pub fn last_tick(limit: u64, in_epoch: u64) -> Option<u64> {
    const LAST: u64 = (1 << TIME_BITS) - 1;
    match epoch(limit).cmp(&in_epoch) {
        Ordering::Less => None,
        Ordering::Equal => Some(limit & LAST),
        Ordering::Greater => Some(LAST),
    }
}

/// Returns true if a word is an enter or a leave by return, which is a whole record.
#[inline(always)]
pub const fn is_call(word: u64) -> bool {
    method(word) < METHOD_LIMIT
}

/// Returns the method of an enter or a leave.
#[inline(always)]
pub const fn method(word: u64) -> u32 {
    (word >> 1) as u32 & 0xff_ffff
}

/// Returns an enter or a leave without its time. Bit 0 is set for a leave; the bits above are the
/// method.
#[inline(always)]
pub const fn step(word: u64) -> u32 {
    word as u32 & 0x1ff_ffff
}

/// Returns true for a leave. The word must be an enter or a leave.
#[inline(always)]
pub const fn is_leave(word: u64) -> bool {
    word & 1 != 0
}

/// Returns the kind of the record that begins with `word`. Returns `None` if no version of jtrail
/// writes such a word.
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

/// Returns the first payload word of [`Code::Lost`]. `events` is the number of lost enters and
/// leaves; `closed` is the number of calls that were open before the gap and ended in it.
pub fn lost(events: u64, closed: u64) -> u64 {
    let most = (1 << LOST_POPS_BITS) - 1;
    events.min(u64::MAX >> LOST_POPS_BITS) << LOST_POPS_BITS | closed.min(most)
}

/// Splits the word into its two numbers: lost events, and ended calls. Reverses [`lost`].
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
