//! Lossless, append-only rewriting of class files.
//!
//! [`Class::parse`] returns a view of a class file. [`instrument`] inserts calls of static hook
//! methods into selected methods. There are three kinds of probes; [`Probes`] selects those of each
//! method:
//!
//! | kind | where | hook |
//! | --- | --- | --- |
//! | calls | at the entry; in constructors too, hence before `this()` or `super()` | `enter` |
//! | | before each return | `leave` |
//! | | in an added handler, which covers the whole body, comes last in the exception table and rethrows | `leave_by_exception` |
//! | | at the start of the method's own exception handlers | `caught` |
//! | | in constructors, directly before the call of `this()` or `super()` (not of `Object`'s constructor), if code before the call may run other methods | `super_call` |
//! | | directly after the call of `this()` or `super()` (not of `Object`'s constructor) | `super_returned` |
//! | lines | directly before the instruction at which an entry of the line number table begins | `line` |
//! | allocations | directly after `new` | `allocated` |
//! | | directly after `newarray` and `anewarray` | `array_allocated` |
//! | | directly after `multianewarray` and calls that create such arrays | `multi_allocated` |
//! | | directly after calls of some JDK methods that create objects (`clone` and others) | `call_allocated` |
//!
//! The constant pool is copied and extended, never renumbered. Other methods, fields and attributes
//! are copied byte for byte. No local variable is added. A method that can't be rewritten stays
//! exactly as it was, and the caller gets the reason.
//!
//! Hooks are called by these rules:
//! - An exception that a hook throws (a stack overflow) is not reported twice: the `enter` and
//!   `leave` probes, and the return itself, are not covered by the handler that calls
//!   `leave_by_exception`.
//! - The `enter` probe is covered by none of the method's own handlers. `super_returned` and the
//!   allocation probes belong to the instruction before them. All other probes belong to the
//!   instruction after them.
//! - At one instruction the order is `enter`, `super_returned`, `caught`, `line`, `super_call`,
//!   `leave`.
//! - A jump to the first instruction goes to the code after the `enter` probe. Jumps to a line, a
//!   return or a handler run the probe there: the hits of a line tell how often its first
//!   instruction was executed.
//! - `caught` is omitted where a failing hook could cause an endless loop or leave a monitor
//!   locked: at handlers covered by themselves or by a handler at a lower pc, and at those that
//!   begin with exiting a monitor. It is also omitted at handlers for code before `this()` or
//!   `super()`.
//! - `line` is omitted for the same two reasons: in a range whose handler is at the same or a lower
//!   pc, and where a monitor is held that no handler exits. A `line` probe at the very start of a
//!   handler is inserted, because the handler's own range excludes it. [`Inserted::lines`] tells
//!   which entries have no probe. In the JDK they are one in a thousand, mostly at the end of a
//!   `synchronized` block that an exception leaves.
//! - A failing allocation runs no probe. When the probe after `new` runs, the object is not
//!   initialised yet; a later exception in its constructor has no effect.
//! - The JVM accepts no handler over the `this()` or `super()` call of a constructor. So no hook
//!   reports an exception that leaves a constructor from this call. A reader can infer the
//!   exception from `super_call` and `super_returned`.
//! - A part of the body between two returns gets no handler if nothing in it can throw.
//!
//! Layout of the crate: `reader`, `pool` and `class` parse; `opcodes` knows the instruction set;
//! `relocate` moves code, `frames` and `attributes` move the data that refers to code; `prologue`
//! analyses constructors; `lines` and `allocations` find the positions of their probes; `handlers`
//! and `locks` decide where a probe does no harm, and what the added handlers cover; `rewrite`
//! writes a method's code, and `tables` writes what follows the code; `probes` has the types of
//! requests and results; [`text`] decodes texts.

#![forbid(unsafe_code)]

mod allocations;
mod attributes;
mod catches;
mod class;
mod frames;
mod handlers;
mod lines;
mod locks;
mod opcodes;
mod pool;
mod probes;
mod prologue;
mod reader;
mod relocate;
mod rewrite;
mod tables;
pub mod text;
mod trivial;

pub use allocations::{Allocation, AllocationSite};
pub use catches::Handler;
pub use class::{Class, Method};
pub use lines::LineEntry;
pub use probes::{
    CallsTo, Hooks, Inserted, LargeNumbers, LineProbe, NoProbe, Probes, Rewritten, SuperMarks,
};
pub use rewrite::instrument;

/// The reason why bytes are not a valid class file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The magic number is missing.
    #[error("not a class file")]
    NotAClass,
    /// The file ends too early, or a length inside it is too large.
    #[error("the class file is cut off at offset {offset}")]
    Truncated {
        /// The offset at which the missing bytes should begin.
        offset: usize,
    },
    /// The constant pool has an entry of a kind that no class file version defines.
    #[error("unknown constant pool tag {tag} at offset {offset}")]
    UnknownConstant {
        /// The entry's tag.
        tag: u8,
        /// The offset of the entry.
        offset: usize,
    },
    /// Content that the format does not allow.
    #[error("{what} at offset {offset}")]
    Malformed {
        /// The content found.
        what: &'static str,
        /// Its offset.
        offset: usize,
    },
    /// There are bytes after the end of the class.
    #[error("the class file ends at offset {offset}, but more bytes follow")]
    TrailingBytes {
        /// The offset at which the class ends.
        offset: usize,
    },
}

/// The reason why a method (or, from [`instrument`] itself, a class) was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The method is abstract or native.
    #[error("the method has no bytecode")]
    NoCode,
    /// The method is a `finalize()V` that only returns. If it had code, the JVM would register
    /// every object of the class for finalization.
    #[error("an empty finalize() must stay empty")]
    EmptyFinalizer,
    /// The method would exceed the JVM's limit of 65,535 bytes.
    #[error("the method would grow over 64 KiB")]
    CodeTooLarge,
    /// The method would exceed [`Hooks::compiled_up_to`], the JVM's limit for compilation.
    #[error("with hooks it would be over {0} bytes, and the JVM compiles no such method")]
    NeverCompiled(usize),
    /// The method would have more than 65,535 exception table entries, attributes or stack slots.
    #[error("the method has no room for another {0}")]
    TableFull(&'static str),
    /// The constant pool would exceed its maximum of 65,534 entries.
    #[error("the constant pool is full")]
    PoolFull,
    /// A hook's name exceeds the maximum of 65,535 bytes.
    #[error("the name of a hook is too long")]
    HookName,
    /// The method would take too much time or memory to analyse.
    #[error("the method is too complex to analyze")]
    TooComplex,
    /// The method has bytecode, frames or tables that no compiler generates and the verifier
    /// rejects.
    #[error("malformed bytecode: {what} (pc {pc})")]
    Malformed {
        /// The content found.
        what: &'static str,
        /// The pc of this content; 0 if unknown.
        pc: usize,
    },
    /// The method has an attribute that can't be parsed.
    #[error("malformed attribute: {0}")]
    Attribute(#[from] ParseError),
}
