//! Compares the constants of the Java sources with those of Rust, at compile time.
//!
//! The build script turns every `static final` field that holds a number into a Rust constant. If a
//! constant is neither used nor compared, the compiler reports dead code. So none is forgotten.

use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::buffer::{CHUNK_BYTES, CacheLine};
use jtrail_recorder::ticks::{LINES, LINES_OFFSET};

/// Constants of `java.lang.JtrailHook`.
mod hook {
    include!(concat!(env!("OUT_DIR"), "/hook_constants.rs"));
}

/// Constants of `jtrail.Trace`: the codes of the commands that a program may give.
pub(crate) mod trace {
    include!(concat!(env!("OUT_DIR"), "/trace_constants.rs"));
}

const _: () = assert!(
    hook::FIRST_LINE == LINES_OFFSET as i64
        && hook::LINES == LINES as i64
        && 1 << hook::LINE_BITS == size_of::<CacheLine>()
        && hook::LINE_ID == CacheLine::THREAD_ID_OFFSET as i64
        && hook::LINE_TICK == CacheLine::TICK_OFFSET as i64
        && hook::LINE_STAMP == CacheLine::STAMP_OFFSET as i64
        && hook::CHUNK == CHUNK_BYTES as i64
);

const _: () = assert!(
    1 << hook::METHOD_SHIFT == record::enter(1)
        && hook::LEAVE as u64 == record::leave(0)
        && hook::LEAVE_BY_EXCEPTION as u64 == record::coded(Code::LeaveByException)
        && hook::CAUGHT as u64 == record::coded(Code::Caught)
        && hook::SUPER_CALL as u64 == record::coded(Code::SuperCall)
        && hook::SUPER_RETURNED as u64 == record::coded(Code::SuperReturned)
);
