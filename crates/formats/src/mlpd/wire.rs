//! Numbers and names that stand in files of the format.

pub(super) const FILE_ID: u32 = 0x4d50_5a01;
pub(super) const BUFFER_ID: u32 = 0x4d50_4c01;
pub(super) const BUFFER_HEADER: usize = 48;

/// Bytes of the largest buffer that is read. Those that programs write have some hundred thousand.
pub(super) const LARGEST_BUFFER: usize = 32 << 20;

/// Bytes of the longest name that is written.
pub(super) const LONGEST_NAME: usize = 1 << 20;

/// Numbers from here on are read wrongly in the headers of buffers.
pub(super) const FARTHEST: u64 = 1 << 56;

/// Calls that are looked through for the one that a leave means.
pub(super) const FARTHEST_LEAVE: usize = 1000;

/// The startup time on the clock of our files: a day, in nanoseconds.
pub(super) const CLOCK_START: u64 = 86_400_000_000_000;

/// The reserved thread of definitions, in our files.
pub(super) const DEFINITIONS: u64 = 1 << 48;

/// The reserved thread of what has no thread, in our files.
pub(super) const VM: u64 = DEFINITIONS + 1;

/// The reserved thread of compilations, in our files.
pub(super) const COMPILER: u64 = DEFINITIONS + 2;

/// The loader of classes of which none is told.
pub(super) const UNKNOWN_LOADER: &str = "unknown";

/// What names of undefined classes begin with.
pub(super) const UNRESOLVED: &str = "unresolved class ";

/// The class of methods and frames that name none.
pub(super) const NO_CLASS: &str = "unresolved class 0x0";
pub(super) const ALLOC: u8 = 0x00;
pub(super) const ALLOC_BACKTRACE: u8 = 0x10;
pub(super) const GC_EVENT: u8 = 0x11;
pub(super) const GC_RESIZE: u8 = 0x21;
pub(super) const GC_MOVE: u8 = 0x31;
pub(super) const METADATA_NAME: u8 = 0x02;
pub(super) const METADATA_LOAD: u8 = 0x22;
pub(super) const METADATA_UNLOAD: u8 = 0x42;
pub(super) const METADATA_FAILED: u8 = 0xa2;

/// A failed load as the first description had it, without the mark of a load.
pub(super) const SEED_FAILED: u8 = 0x82;
pub(super) const LEAVE: u8 = 0x13;
pub(super) const ENTER: u8 = 0x23;
pub(super) const EXC_LEAVE: u8 = 0x33;
pub(super) const JIT: u8 = 0x43;
pub(super) const THROW: u8 = 0x04;
pub(super) const THROW_BACKTRACE: u8 = 0x84;
pub(super) const CLAUSE: u8 = 0x14;
pub(super) const MONITOR: u8 = 0x05;
pub(super) const MONITOR_BACKTRACE: u8 = 0x80;
pub(super) const HEAP_START: u8 = 0x06;
pub(super) const HEAP_END: u8 = 0x16;
pub(super) const HEAP_OBJECT: u8 = 0x26;
pub(super) const HEAP_ROOT: u8 = 0x36;
pub(super) const SYNC_POINT: u8 = 0x0a;
pub(super) const CLASS: u8 = 1;
pub(super) const IMAGE: u8 = 2;
pub(super) const ASSEMBLY: u8 = 3;
pub(super) const DOMAIN: u8 = 4;
pub(super) const THREAD: u8 = 5;
pub(super) const CONTEXT: u8 = 6;
pub(super) const VTABLE: u8 = 7;
pub(super) const CLAUSE_CATCH: u64 = 0;
pub(super) const CLAUSE_FINALLY: u64 = 2;
pub(super) const GC_START: u64 = 0;
pub(super) const GC_END: u64 = 5;
pub(super) const CONTENTION: u8 = 1;
pub(super) const DONE: u8 = 2;
pub(super) const FAIL: u8 = 3;

/// Kinds of roots. The address that version 17 gives a root is its place here and one.
pub(super) const ROOT_KINDS: [&str; 7] = [
    "JNI_GLOBAL",
    "SYSTEM_CLASS",
    "MONITOR",
    "STACK_LOCAL",
    "JNI_LOCAL",
    "THREAD",
    "OTHER",
];

/// Keys of options that the header has a field for.
pub(super) const ARCHITECTURE: &str = "architecture";
pub(super) const OPERATING_SYSTEM: &str = "operatingSystem";

/// The name that readers give the agent.
pub(super) const AGENT: &str = "log profiler";
