//! Compiled code of methods, and line counts.

use super::Frame;
use crate::{MethodId, Timestamp};

/// A range of compiled code that comes from one method: the compiled method or an inlined one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodeRange<'a> {
    /// Offset of the range's first byte from the start of the code.
    pub offset: i64,
    /// The frames of the range: the innermost (inlined) method first, the compiled method last.
    /// Lines are as in [`Frame`]. Empty if nothing is known of the range. It then only marks the
    /// end of the preceding range.
    pub frames: Vec<Frame<'a>>,
}

/// The compilation of a method ([`crate::Event::MethodCompile`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodCompile<'a> {
    /// The method.
    pub method: MethodId,
    /// Time of the compilation.
    pub time: Timestamp,
    /// Address of the code.
    pub address: u64,
    /// Size of the code in bytes.
    pub size: i64,
    /// The source lines of ranges of the code, if the JVM reports them.
    pub ranges: Vec<CodeRange<'a>>,
}

/// The unloading of compiled code ([`crate::Event::MethodUncompile`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodUncompile {
    /// The method.
    pub method: MethodId,
    /// Time of the event.
    pub time: Timestamp,
    /// Address of the code.
    pub address: u64,
}

/// Number of times that one line was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct LineCount {
    /// Source line.
    pub line: u32,
    /// Number of executions of the line. If the line has several entries in the line table, their
    /// numbers are added up.
    pub count: u64,
}

/// Line counts of a method ([`crate::Event::LineCounts`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineCounts {
    /// The method.
    pub method: MethodId,
    /// Time at which the counters were read.
    pub time: Timestamp,
    /// Number of calls of the method.
    pub calls: u64,
    /// All lines of the method's line table, in ascending order, each once. Replaces earlier counts
    /// of this method.
    pub lines: Vec<LineCount>,
}
