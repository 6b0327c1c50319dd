//! SPEC

mod decode;
mod define;
mod encode;
mod gunzip;
mod header;
mod heap;
mod index;
mod known;
mod losses;
mod merge;
mod names;
mod number;
mod output;
mod raw;
mod replay;
mod tally;

pub use decode::Decoder;
pub use encode::Encoder;

use names::kind_of;

/// The first bytes of a log profile.
pub const MAGIC: &[u8] = &FILE_ID.to_le_bytes();
/// The first bytes of one that is compressed.
pub const GZIP_MAGIC: &[u8] = b"\x1f\x8b";

/// The data versions that there are here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DataVersion {
    /// The first one.
    #[default]
    V1,
    /// The last one.
    V17,
}

/// Name of the format in errors.
const FORMAT: &str = "mlpd";

const FILE_ID: u32 = 0x4d50_5a01;
const BUFFER_ID: u32 = 0x4d50_4c01;
const BUFFER_HEADER: usize = 48;
/// Bytes of the largest buffer that is read. Those that programs write have some hundred thousand.
const LARGEST_BUFFER: usize = 32 << 20;
/// Bytes of the longest name that is written.
const LONGEST_NAME: usize = 1 << 20;
/// Numbers from here on are read wrongly in the headers of buffers.
const FARTHEST: u64 = 1 << 56;
/// Calls that are looked through for the one that a leave means.
const FARTHEST_LEAVE: usize = 1000;

/// The startup time on the clock of our files: a day, in nanoseconds.
const CLOCK_START: u64 = 86_400_000_000_000;
/// The reserved thread of definitions, in our files.
const DEFINITIONS: u64 = 1 << 48;
/// The reserved thread of what has no thread, in our files.
const VM: u64 = DEFINITIONS + 1;

/// The loader of classes of which none is told.
const UNKNOWN_LOADER: &str = "unknown";
/// What names of undefined classes begin with.
const UNRESOLVED: &str = "unresolved class ";

const ALLOC: u8 = 0x00;
const ALLOC_BACKTRACE: u8 = 0x10;
const GC_EVENT: u8 = 0x11;
const GC_RESIZE: u8 = 0x21;
const GC_MOVE: u8 = 0x31;
const METADATA_NAME: u8 = 0x02;
const METADATA_LOAD: u8 = 0x22;
const METADATA_UNLOAD: u8 = 0x42;
const METADATA_FAILED: u8 = 0xa2;
/// A failed load as the first description had it, without the mark of a load.
const SEED_FAILED: u8 = 0x82;
const LEAVE: u8 = 0x13;
const ENTER: u8 = 0x23;
const EXC_LEAVE: u8 = 0x33;
const JIT: u8 = 0x43;
const THROW: u8 = 0x04;
const THROW_BACKTRACE: u8 = 0x84;
const CLAUSE: u8 = 0x14;
const MONITOR: u8 = 0x05;
const MONITOR_BACKTRACE: u8 = 0x80;
const HEAP_START: u8 = 0x06;
const HEAP_END: u8 = 0x16;
const HEAP_OBJECT: u8 = 0x26;
const HEAP_ROOT: u8 = 0x36;
const SYNC_POINT: u8 = 0x0a;

const CLASS: u8 = 1;
const IMAGE: u8 = 2;
const ASSEMBLY: u8 = 3;
const DOMAIN: u8 = 4;
const THREAD: u8 = 5;
const CONTEXT: u8 = 6;
const VTABLE: u8 = 7;

const GC_START: u64 = 0;
const GC_END: u64 = 5;

const CONTENTION: u8 = 1;
const DONE: u8 = 2;
const FAIL: u8 = 3;

/// Kinds of roots. The address that version 17 gives a root is its place here and one.
const ROOT_KINDS: [&str; 7] = [
    "JNI_GLOBAL",
    "SYSTEM_CLASS",
    "MONITOR",
    "STACK_LOCAL",
    "JNI_LOCAL",
    "THREAD",
    "OTHER",
];
