//! Lossless, append-only rewriting of class files.
//!
//! [`Class::parse`] gives a view of a class file, [`instrument`] puts calls of static hook methods
//! into chosen methods. There are three kinds, of which each method gets those that [`Probes`] asks
//! for:
//!
//! | kind | where | hook |
//! | --- | --- | --- |
//! | calls | at the entry; in constructors too, so before `this()` or `super()` | `enter` |
//! | | before each return | `leave` |
//! | | in a handler over the whole body, last in the exception table, which throws on | `leave_by_exception` |
//! | | at the start of the method's own exception handlers | `caught` |
//! | | in constructors, right before the call of `this()` or `super()`, if code in front of it may run other methods | `super_call` |
//! | | right behind that call, unless the superclass is `java/lang/Object` | `super_returned` |
//! | lines | right before the instruction at which an entry of the line number table begins | `line` |
//! | allocations | right behind `new` | `allocated` |
//! | | right behind `newarray` and `anewarray` | `array_allocated` |
//! | | right behind `multianewarray` and calls that make such arrays | `multi_allocated` |
//! | | right behind calls of some methods of the JDK that make objects (`clone` and others) | `call_allocated` |
//!
//! The constant pool is copied and added to, never renumbered; untouched methods, fields and
//! attributes are copied byte for byte; no local variable is added. A method that cannot be
//! rewritten stays exactly as it was, and the caller is told why.
//!
//! Hooks are called under these rules:
//! - An exception that a hook throws (a stack overflow) is not reported twice: the probes of
//!   `enter` and `leave` lie outside of the range of the handler that calls `leave_by_exception`,
//!   and so does the return itself.
//! - The `enter` probe lies in no range of the method's own handlers. All other probes belong to
//!   the instruction that follows them; `super_returned` and the probes of allocations belong to
//!   the one in front.
//! - At one instruction the order is `enter`, `super_returned`, `caught`, `line`, `super_call`,
//!   `leave`.
//! - A jump to the first instruction goes behind the `enter` probe. Jumps to a line, a return or a
//!   handler run the probe there: a line's hits tell how often the instruction was run at which it
//!   begins.
//! - `caught` is left out where a failing hook could run in circles or leave a monitor locked: at
//!   handlers that are covered by themselves or by one that stands further up, and at those that
//!   begin by leaving a monitor. It is also left out at handlers in front of `this()` or `super()`.
//! - `line` is left out for the same two reasons, and [`Inserted::lines`] tells where: in a range
//!   whose handler is not further down (one at the very start of a handler lies outside of this
//!   handler's own range, and stays), and where a monitor is held that no handler leaves. In the
//!   JDK this concerns one entry in a thousand, mostly the end of a `synchronized` block when an
//!   exception leaves it.
//! - An allocation that fails runs no probe. The object behind `new` has not been initialized when
//!   its probe runs; a later exception out of its constructor changes nothing.
//! - The JVM takes no handler over the `this()` or `super()` call of a constructor. An exception
//!   that leaves a constructor out of that call is reported by no hook; `super_call` and
//!   `super_returned` let a reader see it.
//! - A part of the body, between two returns, in which nothing can throw gets no handler.
//!
//! Layout of the crate: `reader`, `pool` and `class` read; `opcodes` knows the instruction set;
//! `relocate` moves code, `frames` and `attributes` what refers to it; `prologue` understands
//! constructors; `lines` and `allocations` find the places of these probes; `handlers` and `locks`
//! say where a probe does no harm, and what the added handlers cover; `rewrite` writes a method's
//! code, `tables` what follows it; `probes` holds what the caller asks for and gets.

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
mod trivial;

pub use allocations::{Allocation, AllocationSite};
pub use catches::Handler;
pub use class::{Class, Method};
pub use lines::LineEntry;
pub use probes::{
    CallsTo, Hooks, Inserted, LargeNumbers, LineProbe, NoProbe, Probes, Rewritten, SuperMarks,
};
pub use rewrite::instrument;

/// Why bytes are no class file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The magic number is missing.
    #[error("not a class file")]
    NotAClass,
    /// The file ends too early, or a length inside it is too large.
    #[error("the class file is cut off at offset {offset}")]
    Truncated {
        /// Where the missing bytes should begin.
        offset: usize,
    },
    /// The constant pool has an entry of a kind that no class file version defines.
    #[error("unknown constant pool tag {tag} at offset {offset}")]
    UnknownConstant {
        /// The entry's tag.
        tag: u8,
        /// Where the entry begins.
        offset: usize,
    },
    /// Something that the format does not allow.
    #[error("{what} at offset {offset}")]
    Malformed {
        /// What was found.
        what: &'static str,
        /// Where.
        offset: usize,
    },
    /// Bytes behind the end of the class.
    #[error("the class file ends at offset {offset}, but more bytes follow")]
    TrailingBytes {
        /// Where the class ends.
        offset: usize,
    },
}

/// Why a method (or, from [`instrument`] itself, a class) was left as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// An abstract or native method.
    #[error("the method has no bytecode")]
    NoCode,
    /// A `finalize()V` that only returns. With code in it, the JVM would register every object of
    /// the class.
    #[error("an empty finalize() must stay empty")]
    EmptyFinalizer,
    /// The JVM takes no method over 65,535 bytes.
    #[error("the method would grow over 64 KiB")]
    CodeTooLarge,
    /// The method would grow beyond [`Hooks::compiled_up_to`], over which the JVM compiles no
    /// method.
    #[error("with hooks it would be over {0} bytes, and the JVM compiles no such method")]
    NeverCompiled(usize),
    /// Over 65,535 exception table entries, attributes or stack slots.
    #[error("the method has no room for another {0}")]
    TableFull(&'static str),
    /// The constant pool holds at most 65,534 entries.
    #[error("the constant pool is full")]
    PoolFull,
    /// A hook's name is longer than the 65,535 bytes that a name may have.
    #[error("the name of a hook is too long")]
    HookName,
    /// A method made to waste time or memory.
    #[error("the method is too complex to analyze")]
    TooComplex,
    /// Bytecode, frames or tables that no compiler makes and the verifier refuses.
    #[error("malformed bytecode: {what} (pc {pc})")]
    Malformed {
        /// What was found.
        what: &'static str,
        /// The pc it was found at; 0 if unknown.
        pc: usize,
    },
    /// An attribute of the method that cannot be read.
    #[error("malformed attribute: {0}")]
    Attribute(#[from] ParseError),
}
