//! JinsightLive traces: `.trc`.

mod decode;
mod encode;
mod record;
mod text;

pub use decode::Decoder;
pub use encode::Encoder;

/// The first bytes of a JinsightLive trace: the tag and the version.
pub const MAGIC: &[u8] = b"b\x08\0\0\0";

/// Name of the format in errors.
const FORMAT: &str = "jinsight";
const TAG: u8 = b'b';
const VERSION: u32 = 8;
/// The platform that we write.
const LINUX_X86: u32 = 44;
const HEADER_SIZE: usize = 45;
/// Where numberOfEvents, maxThreads and maxClasses are.
const EVENTS_AT: usize = 9;
/// Where startTicks, vmStartTime and connectionStartTime are.
const START_AT: usize = 25;
/// maxThreads and maxClasses while the file is open.
const OPEN_THREADS: u32 = 1024;
const OPEN_CLASSES: u32 = 16384;
/// Ticks a microsecond.
const TICKS: u32 = 1000;
