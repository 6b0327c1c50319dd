//! Lends a thread's value to another thread while the first one waits.
//!
//! The JVM runs the visitors of a heap walk on a thread of its own, at a safepoint, while the
//! thread that requested the walk waits. During this time, the visitor may use values of the
//! waiting thread.

/// A value that may be lent to another thread.
///
/// # Safety
/// Another thread may use [`Self::Lent`] under the conditions of [`Self::lend`].
pub unsafe trait Lend {
    /// The type that the other thread uses.
    type Lent: Send;

    /// Lends the value.
    ///
    /// # Safety
    /// The caller is the thread that owns the value. It then makes a call in which it waits for the
    /// threads that use the result. The result is used by one thread at a time, and not after that
    /// call.
    unsafe fn lend(&self) -> Self::Lent;
}
