//! A value of one thread that another thread uses while the first one waits.
//!
//! The JVM runs the visitors of a heap walk on a thread of its own, at a safepoint, while the
//! thread that asked for the walk waits. What that thread has for itself alone may be used then as
//! if it ran the visitor itself.

/// A value that may be lent to another thread.
///
/// # Safety
/// The implementation is sound if another thread uses [`Self::Lent`] as [`Self::lend`] allows.
pub unsafe trait Lend {
    /// What the other thread uses.
    type Lent: Send;

    /// Lends the value.
    ///
    /// # Safety
    /// The thread that the value belongs to calls it, and then makes a call in which it waits for
    /// the thread that uses the result. No thread uses the result after that call, and one at a
    /// time during it.
    unsafe fn lend(&self) -> Self::Lent;
}
