//! Numbers and names that stand in files of the format.

/// The root.
pub(super) const ROOT: &str = "doc";
/// What stands before the sections.
pub(super) const HEAD: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<doc>\n";
/// What stands after the sections.
pub(super) const END: &[u8] = b"</doc>\n";

/// The sections.
pub(super) const PROFILE: &str = "profile";
pub(super) const SAMPLER: &str = "sampler";
pub(super) const MEMORY: &str = "memory";
pub(super) const COVERAGE: &str = "coverage";

/// A thread in the first three sections.
pub(super) const THREAD: &str = "thread";
/// A node of a tree of calls or of samples.
pub(super) const NODE: &str = "profile";
/// The objects that a thread allocated of one class.
pub(super) const ROW: &str = "memory";
/// A class, a method in it, and the lines of that, in section `coverage`.
pub(super) const CLASS: &str = "class";
pub(super) const METHOD: &str = "method";
pub(super) const FOOTPRINTS: &str = "footprints";

/// Attributes of elements, in the order in which we write them: a thread in `profile`.
pub(super) const CALLING: &[&str; 3] = &["name", "cpuTime", "isAlive"];
/// A node of calls.
pub(super) const CALL: &[&str; 10] = &[
    "name",
    "signature",
    "count",
    "methodElapsed",
    "method",
    "cumulatedElapsed",
    "cumulated",
    "overheadCumulated",
    "overheadMethod",
    "exceptions",
];
/// A thread in `sampler`.
pub(super) const SAMPLED: &[&str; 6] = &[
    "name",
    "cumulated",
    "cpuTime",
    "cumulatedElapsed",
    "elapsedTime",
    "isAlive",
];
/// A node of samples.
pub(super) const FRAME: &[&str; 5] = &["name", "hits", "elapsed", "cumulated", "cumulatedElapsed"];
/// A thread in `memory`.
pub(super) const ALLOCATING: &[&str; 1] = &["name"];
/// A row of `memory`.
pub(super) const OBJECTS: &[&str; 3] = &["class", "count", "max"];
/// A class of `coverage`. The last one is read only.
pub(super) const COVERED_CLASS: &[&str; 3] = &["name", "source", "class"];
/// A method of `coverage`.
pub(super) const COVERED_METHOD: &[&str; 4] = &["name", "signature", "firstline", "count"];

/// A line without code, in footprints.
pub(super) const NO_CODE: &str = "-1";
/// The largest line that a class file can name.
pub(super) const LAST_LINE: u32 = u16::MAX as u32;
/// Nanoseconds of a microsecond, the unit of times.
pub(super) const MICROSECOND: u64 = 1000;
/// The line of a frame in a native method, as the model has it.
pub(super) const NATIVE: i64 = -2;
