//! Finds where a probe could leave a monitor locked.
//!
//! In a `synchronized` block, compilers cover all code that may throw with a handler that exits the
//! monitor. They need not cover code that can't throw: between `monitorenter` and the block, or
//! before `monitorexit`. But a probe there can fail, and the monitor would stay locked. Besides,
//! the JIT compilers give up on a method that an exception can leave with a locked monitor.
//!
//! So the paths of the method are followed to count the monitors held at each instruction. A
//! handler expects the highest number of monitors that are held at any covered instruction that may
//! throw. A probe is harmless if no monitor is held at it. It is also harmless if handlers catch
//! every exception of the probe, and none of them expects fewer monitors than are held at the
//! probe.

use crate::Refusal;
use crate::handlers::leaves_monitor;
use crate::opcodes::*;
use crate::relocate::{Entry, Exceptions, jump_targets};

/// The work allowed for one method. Real methods need less than a hundredth of it.
const BUDGET: usize = 1 << 22;
/// The highest count of monitors.
const MAX_MONITORS: u8 = 200;

/// The number of monitors held at each instruction.
pub(crate) struct Locks<'e> {
    exceptions: Exceptions<'e>,
    /// For each pc, one more than the highest number of monitors held on any path; 0 if
    /// unreachable.
    held: Vec<u8>,
}

impl<'e> Locks<'e> {
    /// Follows the paths of a method. `marks` must have [`crate::relocate::START`] at each
    /// instruction.
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
                        // A failing `monitorexit` has exited the monitor, unless the handler is
                        // there to try again.
                        let left = op == MONITOREXIT && !leaves_monitor(code, entry.handler);
                        let held = if left { (held - 1).max(1) } else { held };
                        locks.reach(entry.handler, held, &mut paths);
                    }
                }
                let held = match op {
                    MONITORENTER => (held + 1).min(MAX_MONITORS),
                    MONITOREXIT => (held - 1).max(1),
                    _ => held,
                };
                for target in jump_targets(code, marks, pc) {
                    locks.reach(target?, held, &mut paths);
                    work += 1;
                }
                budget = budget.checked_sub(work).ok_or(Refusal::TooComplex)?;
                pc += length(code, pc).unwrap_or(code.len());
                // A subroutine counts as returning to the code after its `jsr`.
                let ends = ends_block(op) && !matches!(op, JSR | JSR_W);
                if ends || pc >= code.len() || locks.held[pc] >= held {
                    break;
                }
                locks.held[pc] = held;
            }
        }
        Ok(locks)
    }

    /// Records that a path reaches `pc`. Queues the path if it holds more monitors than all earlier
    /// ones.
    fn reach(&mut self, pc: usize, held: u8, paths: &mut Vec<usize>) {
        if self.held[pc] < held {
            self.held[pc] = held;
            paths.push(pc);
        }
    }

    /// Returns true if a line probe at `pc` can fail without leaving a monitor locked.
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

/// Returns the handlers that an exception may reach: those that cover its instruction, up to the
/// first one that catches everything.
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
