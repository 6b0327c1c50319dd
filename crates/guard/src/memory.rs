//! Settings of the process's memory.

/// Makes all threads share two heaps. By default, glibc has eight for each processor, and each of
/// them keeps what was freed there: long-lived programs with many threads take twice the memory.
/// Does nothing with other C libraries.
pub fn share_heaps() {
    #[cfg(target_env = "gnu")]
    {
        const HEAPS: libc::c_int = 2;
        // SAFETY: the call takes only numbers, and may be made at any time.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, HEAPS) };
    }
}
