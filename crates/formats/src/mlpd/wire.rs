//! Constants of the file format.

pub(super) const FILE_ID: u32 = 0x4d50_5a01;
pub(super) const BUFFER_ID: u32 = 0x4d50_4c01;
pub(super) const BUFFER_HEADER: usize = 48;

/// Maximum size of a buffer that is read, in bytes. Usual buffers have some hundred thousand bytes.
pub(super) const MAX_BUFFER_BYTES: usize = 32 << 20;

/// Maximum length of a name that is written, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 1 << 20;

/// Limit of the fields in a buffer header, because Mono's own reader misreads larger numbers.
pub(super) const FARTHEST: u64 = 1 << 56;

/// Maximum number of innermost calls that are searched for the call that a leave ends.
pub(super) const FARTHEST_LEAVE: usize = 1000;

/// Startup time on the clock of files that jtrail writes: a day, in nanoseconds.
pub(super) const CLOCK_START: u64 = 86_400_000_000_000;

/// Reserved thread of definitions, in files that jtrail writes.
pub(super) const DEFINITIONS: u64 = 1 << 48;

/// Reserved thread of events without a thread, in files that jtrail writes.
pub(super) const VM: u64 = DEFINITIONS + 1;

/// Reserved thread of compilations, in files that jtrail writes.
pub(super) const COMPILER: u64 = DEFINITIONS + 2;

/// Name of the loader of classes whose loader is not reported.
pub(super) const UNKNOWN_LOADER: &str = "unknown";

/// Prefix of the names of undefined classes.
pub(super) const UNRESOLVED: &str = "unresolved class ";

/// Name of the class of methods and frames that name no class.
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

/// Failed load according to the description of version 1: [`METADATA_FAILED`] without the bit for a
/// load.
pub(super) const METADATA_FAILED_V1: u8 = 0x82;
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

/// Kinds of roots. In version 17, the address of a root is the index of its kind plus 1.
pub(super) const ROOT_KINDS: [&str; 7] = [
    "JNI_GLOBAL",
    "SYSTEM_CLASS",
    "MONITOR",
    "STACK_LOCAL",
    "JNI_LOCAL",
    "THREAD",
    "OTHER",
];

/// Keys of options that have a field in the header.
pub(super) const ARCHITECTURE: &str = "architecture";
pub(super) const OPERATING_SYSTEM: &str = "operatingSystem";

/// Name that readers give the agent.
pub(super) const AGENT: &str = "log profiler";
