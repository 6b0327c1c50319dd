//! Where a probe could leave a monitor locked.
//!
//! A compiler covers everything in a `synchronized` block that may throw by a handler which leaves
//! the monitor. It need not cover what cannot throw: the way from `monitorenter` into the block, or
//! to the `monitorexit`. A probe there can fail all the same, and then the monitor stays locked;
//! besides, the JIT compilers give up on a method in which an exception can get out with it. So the
//! paths of the method are followed, to know how many monitors are held at each instruction. A
//! probe at an instruction is harmless if no more are held there than its handlers expect, which is
//! what they are reached with from instructions that may throw.

use crate::Refusal;
use crate::handlers::leaves_monitor;
use crate::opcodes::*;
use crate::relocate::{Entry, Exceptions, jump_targets};

/// Work allowed for one method; real ones need less than a hundredth.
const BUDGET: usize = 1 << 22;
/// More monitors are not counted.
const MOST: u8 = 200;

/// How many monitors are held where.
pub(crate) struct Locks<'e> {
    exceptions: Exceptions<'e>,
    /// Per pc: one more than the monitors held on the path with the most; 0 if it is not reached.
    held: Vec<u8>,
}

impl<'e> Locks<'e> {
    /// Follows the paths of a method; `marks` has [`START`] at each instruction.
    pub(crate) fn find(
        code: &[u8],
        marks: &[u8],
        exceptions: Exceptions<'e>,
    ) -> Result<Self, Refusal> {
        let mut locks = Locks {
            exceptions,
            held: vec![0; code.len()],
        };
        let mut budget = BUDGET;
        let mut paths = Vec::new();
        locks.reach(0, 1, &mut paths);
        while let Some(mut pc) = paths.pop() {
            loop {
                let held = locks.held[pc];
                let op = code[pc];
                let mut work = 1;
                if PROPERTIES[usize::from(op)] & MAY_THROW != 0 {
                    work += exceptions.len();
                    for entry in handlers_of(exceptions, |entry| entry.covers(pc)) {
                        // A `monitorexit` that fails has left the monitor, unless the handler is
                        // there to try again.
                        let left = op == MONITOREXIT && !leaves_monitor(code, entry.handler);
                        let held = if left { (held - 1).max(1) } else { held };
                        locks.reach(entry.handler, held, &mut paths);
                    }
                }
                let held = match op {
                    MONITORENTER => (held + 1).min(MOST),
                    MONITOREXIT => (held - 1).max(1),
                    _ => held,
                };
                for target in jump_targets(code, marks, pc) {
                    locks.reach(target?, held, &mut paths);
                    work += 1;
                }
                budget = budget.checked_sub(work).ok_or(Refusal::TooComplex)?;
                pc += length(code, pc).unwrap_or(code.len());
                // A subroutine returns behind its call.
                let ends = ends_block(op) && !matches!(op, JSR | JSR_W);
                if ends || pc >= code.len() || locks.held[pc] >= held {
                    break;
                }
                locks.held[pc] = held;
            }
        }
        Ok(locks)
    }

    /// A path comes to `pc`; it is followed if it holds more than any before.
    fn reach(&mut self, pc: usize, held: u8, paths: &mut Vec<usize>) {
        if self.held[pc] < held {
            self.held[pc] = held;
            paths.push(pc);
        }
    }

    /// Whether a line probe at `pc` can fail and leave no monitor locked that should not be.
    pub(crate) fn may_fail_at(&self, pc: usize) -> bool {
        let held = self.held[pc];
        if held <= 1 {
            return true;
        }
        let mut caught = false;
        for entry in handlers_of(self.exceptions, |entry| entry.covers_line_probe(pc)) {
            if self.held[entry.handler] < held {
                return false;
            }
            caught = entry.catch_type == 0;
        }
        caught
    }
}

/// The handlers that an exception may go to: of those that cover it, all up to the first that
/// catches everything.
fn handlers_of(
    exceptions: Exceptions<'_>,
    covers: impl Fn(&Entry) -> bool,
) -> impl Iterator<Item = Entry> {
    let mut open = true;
    exceptions.iter().filter(covers).take_while(move |entry| {
        let is_open = open;
        open &= entry.catch_type != 0;
        is_open
    })
}
