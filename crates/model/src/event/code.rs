//! What the JIT compiler made of methods, and which of their lines ran.

use super::Frame;
use crate::{MethodId, Timestamp};

/// A range of compiled code that came from one method, itself or inlined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodeRange<'a> {
    /// First byte of the range, counted from the start of the code.
    pub offset: i64,
    /// The frames at that place: innermost (inlined) method first, the compiled method last. Lines
    /// as in [`Frame`]. None where nothing is told of the range but that the one before it ends
    /// there.
    pub frames: Vec<Frame<'a>>,
}

/// See [`crate::Event::MethodCompile`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodCompile<'a> {
    /// The method.
    pub method: MethodId,
    /// When.
    pub time: Timestamp,
    /// Address of the code.
    pub address: u64,
    /// Bytes of the code.
    pub size: i64,
    /// Where the code of which line is, where the JVM says so.
    pub ranges: Vec<CodeRange<'a>>,
}

/// See [`crate::Event::MethodUncompile`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodUncompile {
    /// The method.
    pub method: MethodId,
    /// When.
    pub time: Timestamp,
    /// Address of the code.
    pub address: u64,
}

/// How often one line was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineCount {
    /// Source line.
    pub line: u32,
    /// How often one of its line table entries was executed; several entries of one line are added
    /// up.
    pub count: u64,
}

/// See [`crate::Event::LineCounts`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineCounts {
    /// The method.
    pub method: MethodId,
    /// When they were read.
    pub time: Timestamp,
    /// How often the method was called.
    pub calls: u64,
    /// All lines of its line table, ascending, each once. Replaces what was told of this method
    /// before.
    pub lines: Vec<LineCount>,
}
