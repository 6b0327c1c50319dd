//! Record types, and constants for the values of their fields.

use jtrail_model::ObjectKind;

pub(super) const TAG: u8 = b'b';
pub(super) const VERSION: u32 = 8;

/// Platform number that the encoder writes.
pub(super) const LINUX_X86: u32 = 44;
pub(super) const HEADER_SIZE: usize = 45;

/// Offset of numberOfEvents, maxThreads and maxClasses in the header.
pub(super) const EVENTS_AT: usize = 9;

/// Offset of startTicks, vmStartTime and connectionStartTime in the header.
pub(super) const START_AT: usize = 25;

/// Offset of the overhead field in the header.
pub(super) const OVERHEAD_AT: usize = 41;

/// Values of maxThreads and maxClasses in the header, until the header is patched at the end of the
/// trace.
pub(super) const OPEN_THREADS: u32 = 1024;
pub(super) const OPEN_CLASSES: u32 = 16384;

/// Ticks per microsecond.
pub(super) const TICKS: u32 = 1000;

pub(super) const CLASS_DEFINE: u8 = 0x04;
pub(super) const ARRAY_CLASS_DEFINED: u8 = 0x05;
pub(super) const THREAD_DEFINE: u8 = 0x0a;
pub(super) const THREAD_START: u8 = 0x0b;
pub(super) const THREAD_EXIT: u8 = 0x0c;
pub(super) const OBJECT_DEFINED: u8 = 0x14;
pub(super) const OBJECT_CREATED: u8 = 0x15;
pub(super) const ARRAY_DEFINED: u8 = 0x16;
pub(super) const ARRAY_CREATED: u8 = 0x17;
pub(super) const OBJECT_RECLAIMED: u8 = 0x18;
pub(super) const METHOD_LEAVE: u8 = 0x1f;
pub(super) const GC_START: u8 = 0x46;
pub(super) const GC_STOP: u8 = 0x47;
pub(super) const USER_EVENT: u8 = 0x4e;
pub(super) const WIDE_METHOD_ENTER: u8 = 0x5b;
pub(super) const END_FILE: u8 = 0x64;
pub(super) const BEGIN_BURST: u8 = 0x65;
pub(super) const END_BURST: u8 = 0x66;
pub(super) const CLASS_LOAD: u8 = 0x6e;

/// Whole END_FILE record: the type and its two numbers.
pub(super) const END_FILE_RECORD: [u8; 9] = [END_FILE, 0x49, 0x16, 0, 0, 0, 0, 0xde, 0xad];

/// Size of a record's type and ticks, in bytes.
pub(super) const HEAD: usize = 9;
/// Size of a WIDE_METHOD_ENTER record, in bytes.
pub(super) const ENTER_SIZE: usize = 23;
/// Size of a METHOD_LEAVE record, in bytes.
pub(super) const LEAVE_SIZE: usize = 21;

/// Object id for no object, or for an object that is not tracked.
pub(super) const NO_OBJECT: u32 = u32::MAX;

/// Fixed class ids, defined nowhere else.
pub(super) const OBJECT_CLASS: u16 = 0;
pub(super) const THREAD_CLASS: u16 = 1;
/// First class id that has no fixed class.
pub(super) const FIRST_CLASS: u16 = 2;
/// Id of the class that stands for all classes beyond the largest ordinary class id.
pub(super) const OVERFLOW_CLASS: u16 = u16::MAX;
/// Name of the [`OVERFLOW_CLASS`] class and of its only method.
pub(super) const OVERFLOW: &str = "*overflow*";
/// Name of the thread that stands for no thread.
pub(super) const UNKNOWN_THREAD: &str = "*unknown*";

pub(super) const JAVA_OBJECT: &str = "java/lang/Object";
pub(super) const JAVA_THREAD: &str = "java/lang/Thread";
pub(super) const JAVA_CLASS: &str = "java/lang/Class";

/// Arrays of primitives: type in ARRAY_DEFINED, kind in ARRAY_CREATED, class name.
pub(super) const PRIMITIVE_ARRAYS: [(u8, ObjectKind, &str); 8] = [
    (1, ObjectKind::INT, "[I"),
    (2, ObjectKind::LONG, "[J"),
    (3, ObjectKind::FLOAT, "[F"),
    (4, ObjectKind::DOUBLE, "[D"),
    (5, ObjectKind::BOOLEAN, "[Z"),
    (6, ObjectKind::BYTE, "[B"),
    (7, ObjectKind::CHAR, "[C"),
    (8, ObjectKind::SHORT, "[S"),
];
