//! Measures a physical lower bound for the cost of a call with exact hooks on this machine: two
//! readings of the clock and two stores of a record. Prints the nanoseconds for one call: the
//! minimum of several rounds.

use std::hint::black_box;
use std::time::Instant;

const PAIRS: usize = 7_049_155; // the number of calls in fib(32)
const ROUNDS: usize = 15;
/// The size of a chunk in words. The stores start again at the front when the chunk is full.
const WORDS: usize = 32 << 10;

#[inline(always)]
fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    {
        use std::sync::LazyLock;
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    }
}

fn main() {
    let mut chunk = vec![0_u64; WORDS];
    let mut round = || {
        let start = Instant::now();
        let mut at = 0;
        for _ in 0..PAIRS {
            for kind in 0..2 {
                chunk[at & (WORDS - 1)] = now() << 25 | kind;
                at += 1;
            }
            black_box(&mut chunk);
        }
        start.elapsed().as_secs_f64() * 1e9 / PAIRS as f64
    };
    let least = (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min);
    println!("{least:.2}");
}
