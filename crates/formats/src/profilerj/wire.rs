//! Numbers and names in files of the format.

/// The root element.
pub(super) const ROOT: &str = "doc";
/// The text before the sections.
pub(super) const HEAD: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<doc>\n";
/// The text after the sections.
pub(super) const END: &[u8] = b"</doc>\n";

/// The section elements.
pub(super) const PROFILE: &str = "profile";
pub(super) const SAMPLER: &str = "sampler";
pub(super) const MEMORY: &str = "memory";
pub(super) const COVERAGE: &str = "coverage";

/// A thread in the first three sections.
pub(super) const THREAD: &str = "thread";
/// A node of a call tree or a tree of samples.
pub(super) const NODE: &str = "profile";
/// The objects of one class that a thread allocated.
pub(super) const ROW: &str = "memory";
/// A class, its methods, and the lines of a method, in section `coverage`.
pub(super) const CLASS: &str = "class";
pub(super) const METHOD: &str = "method";
pub(super) const FOOTPRINTS: &str = "footprints";

/// This constant and the next ones list the attributes of an element, in the order in which our
/// encoder writes them. Here: attributes of a thread in `profile`.
pub(super) const CALLING: &[&str; 3] = &["name", "cpuTime", "isAlive"];
/// Attributes of a node in a call tree.
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
/// Attributes of a thread in `sampler`.
pub(super) const SAMPLED: &[&str; 6] = &[
    "name",
    "cumulated",
    "cpuTime",
    "cumulatedElapsed",
    "elapsedTime",
    "isAlive",
];
/// Attributes of a node in a tree of samples.
pub(super) const FRAME: &[&str; 5] = &["name", "hits", "elapsed", "cumulated", "cumulatedElapsed"];
/// Attributes of a thread in `memory`.
pub(super) const ALLOCATING: &[&str; 1] = &["name"];
/// Attributes of a row of `memory`.
pub(super) const OBJECTS: &[&str; 3] = &["class", "count", "max"];
/// Attributes of a class in `coverage`. The attribute `class` is read, but never written.
pub(super) const COVERED_CLASS: &[&str; 3] = &["name", "source", "class"];
/// Attributes of a method in `coverage`.
pub(super) const COVERED_METHOD: &[&str; 4] = &["name", "signature", "firstline", "count"];

/// Value of a line without code in footprints.
pub(super) const NO_CODE: &str = "-1";
/// The largest line number that a class file can contain.
pub(super) const LAST_LINE: u32 = u16::MAX as u32;
/// Nanoseconds in a microsecond, the unit of times.
pub(super) const MICROSECOND: u64 = 1000;
/// Line number that the model uses for a frame in a native method.
pub(super) const NATIVE: i64 = -2;
