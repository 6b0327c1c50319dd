//! Finds the `this(...)` or `super(...)` call of a constructor, and the code that runs before and
//! after it.
//!
//! Counting `new` and `<init>` instructions can't find the call: the prologue may create other
//! objects, branch, contain several calls on different paths, loop and (since Java 22) catch
//! exceptions. So the paths from the entry are followed with a small abstract state: the depth of
//! the stack, and the stack slots and locals that hold the uninitialised `this`. If `<init>` is
//! called on such a slot, this is the call. For the code after it, only its reachability is
//! computed.

use std::collections::HashMap;

use crate::Refusal;
use crate::opcodes::*;
use crate::pool::Pool;
use crate::reader::u2_at;
use crate::relocate::{Exceptions, START, jump_targets};

/// The instruction is reachable before the call.
pub(crate) const BEFORE: u8 = 1;
/// The instruction is reachable after the call.
pub(crate) const AFTER: u8 = 2;
/// The instruction is reachable before the call, and local 0 does not hold `this` there.
pub(crate) const LOST_THIS: u8 = 4;
/// The instruction is the call.
pub(crate) const CALL: u8 = 8;

/// The result of the analysis of a constructor.
pub(crate) struct Prologue {
    /// The flags above, for each pc.
    pub(crate) states: Vec<u8>,
    /// The pcs of the calls, each with the pool index of its method.
    pub(crate) calls: Vec<(usize, u16)>,
    /// True if code before the calls may run other Java code.
    pub(crate) runs_java: bool,
}

/// The work allowed for one constructor. Real ones need less than a hundredth of it.
const BUDGET: usize = 1 << 24;
/// The maximum number of copies of `this` before the call. javac creates one or two.
const MAX_COPIES: usize = 64;
/// Slot numbers of the stack begin here, those of locals at 0.
const STACK: u32 = 1 << 16;

/// The abstract state before an instruction.
#[derive(Clone)]
struct State {
    depth: u32,
    /// The slots that hold the uninitialised `this`.
    this: Vec<u32>,
}

impl State {
    fn pop(&mut self, count: u32) -> Option<()> {
        self.depth = self.depth.checked_sub(count)?;
        let top = STACK + self.depth;
        self.this.retain(|&slot| slot < top);
        Some(())
    }

    fn push(&mut self, is_this: bool) -> Option<()> {
        if is_this {
            self.add(STACK + self.depth)?;
        }
        self.depth = Some(self.depth + 1).filter(|&depth| depth <= u32::from(u16::MAX))?;
        Some(())
    }

    fn add(&mut self, slot: u32) -> Option<()> {
        self.this.push(slot);
        (self.this.len() <= MAX_COPIES).then_some(())
    }

    /// Returns true if the slot `below` slots under the top of the stack holds `this`.
    fn peek(&self, below: u32) -> bool {
        self.depth
            .checked_sub(below + 1)
            .is_some_and(|slot| self.this.contains(&(STACK + slot)))
    }

    fn store(&mut self, local: u32, slots: u32, is_this: bool) -> Option<()> {
        self.this
            .retain(|slot| !(local..local + slots).contains(slot));
        if is_this { self.add(local) } else { Some(()) }
    }

    /// Pops `take` slots and pushes those listed in `order`, where 0 is the lowest popped slot.
    fn shuffle(&mut self, take: u32, order: &[u8]) -> Option<()> {
        let mut taken = [false; 4];
        for slot in 0..take {
            taken[slot as usize] = self.peek(take - 1 - slot);
        }
        self.pop(take)?;
        order
            .iter()
            .try_for_each(|&slot| self.push(taken[usize::from(slot)]))
    }
}

/// Analyses a constructor. `marks` must have [`START`] at each instruction.
pub(crate) fn analyze(
    pool: &Pool<'_>,
    code: &[u8],
    marks: &[u8],
    exceptions: Exceptions<'_>,
) -> Result<Prologue, Refusal> {
    let mut joins = vec![false; code.len()];
    let mut returns_of_jsr = Vec::new();
    let mut pc = 0;
    while let Some(len) = length(code, pc) {
        for target in jump_targets(code, marks, pc) {
            joins[target?] = true;
        }
        pc += len;
        if matches!(code[pc - len], JSR | JSR_W) && pc < code.len() {
            joins[pc] = true;
            returns_of_jsr.push(pc);
        }
    }
    for entry in exceptions.iter() {
        joins[entry.handler] = true;
    }
    let walk = Walk {
        pool,
        code,
        marks,
        exceptions,
        joins,
        returns_of_jsr,
        states: vec![0; code.len()],
        calls: Vec::new(),
        runs_java: false,
        known: HashMap::new(),
        before: Vec::new(),
        fallthrough: Vec::new(),
        budget: BUDGET,
    };
    walk.run()
}

struct Walk<'w> {
    pool: &'w Pool<'w>,
    code: &'w [u8],
    marks: &'w [u8],
    exceptions: Exceptions<'w>,
    /// For each pc, true if paths may meet there.
    joins: Vec<bool>,
    returns_of_jsr: Vec<usize>,
    states: Vec<u8>,
    calls: Vec<(usize, u16)>,
    runs_java: bool,
    /// The state at each join that was reached before the call.
    known: HashMap<usize, State>,
    /// The joins before the call from which a path is still to be followed.
    before: Vec<usize>,
    /// The pcs after the call from which a path is still to be followed.
    fallthrough: Vec<usize>,
    budget: usize,
}

impl Walk<'_> {
    fn run(mut self) -> Result<Prologue, Refusal> {
        self.path_before(
            0,
            State {
                depth: 0,
                this: vec![0],
            },
        )?;
        while let Some(pc) = self.before.pop() {
            if let Some(state) = self.known.get(&pc).cloned() {
                self.path_before(pc, state)?;
            }
        }
        while let Some(pc) = self.fallthrough.pop() {
            self.follow_path(pc)?;
        }
        self.calls.sort_unstable();
        self.calls.dedup();
        Ok(Prologue {
            states: self.states,
            calls: self.calls,
            runs_java: self.runs_java,
        })
    }

    fn spend(&mut self, work: usize) -> Result<(), Refusal> {
        self.budget = self.budget.checked_sub(work).ok_or(Refusal::TooComplex)?;
        Ok(())
    }

    /// Follows one path from `pc` until it ends, reaches a join, or reaches the call.
    fn path_before(&mut self, mut pc: usize, mut state: State) -> Result<(), Refusal> {
        let broken = |pc| Refusal::Malformed {
            what: "a constructor that does not verify",
            pc,
        };
        let mut fresh = false;
        loop {
            // The first instruction of a queued path needs no merge: its state is already in
            // `known`.
            if fresh && self.joins[pc] {
                self.meet(pc, &state)?;
                return Ok(());
            }
            if pc == 0 && self.joins[0] && !self.known.contains_key(&0) {
                self.known.insert(0, state.clone());
            }
            fresh = true;
            self.states[pc] |= if state.this.contains(&0) {
                BEFORE
            } else {
                BEFORE | LOST_THIS
            };
            self.spend(1 + self.exceptions.len())?;
            for entry in self.exceptions.iter().filter(|entry| entry.covers(pc)) {
                let mut caught = state.clone();
                caught.pop(caught.depth).ok_or(broken(pc))?;
                caught.push(false).ok_or(broken(pc))?;
                self.meet(entry.handler, &caught)?;
            }
            let op = self.code[pc];
            let next = pc + length(self.code, pc).ok_or(broken(pc))?;
            if op == INVOKESPECIAL
                && let index = u2_at(self.code, pc + 1)
                && let Some((b"<init>", descriptor)) = self.pool.member(index)
                && let (slots, _) = call_slots(descriptor).ok_or(broken(pc))?
                && state.peek(slots)
            {
                self.states[pc] |= CALL;
                self.calls.push((pc, index));
                self.queue_path(next);
                return Ok(());
            }
            self.runs_java |= self.runs_java(pc);
            self.step(&mut state, pc).ok_or(broken(pc))?;
            for target in jump_targets(self.code, self.marks, pc) {
                self.meet(target?, &state)?;
            }
            if op == RET || (op == WIDE && self.code[pc + 1] == RET) {
                for at in 0..self.returns_of_jsr.len() {
                    self.spend(1)?;
                    self.meet(self.returns_of_jsr[at], &state)?;
                }
                return Ok(());
            }
            if ends_block(op) {
                return Ok(());
            }
            if next == self.code.len() {
                return Err(broken(pc));
            }
            pc = next;
        }
    }

    /// Merges the state of a path into a join: only slots that hold `this` on all paths remain.
    fn meet(&mut self, pc: usize, state: &State) -> Result<(), Refusal> {
        self.spend(1 + state.this.len())?;
        match self.known.get_mut(&pc) {
            None => {
                self.known.insert(pc, state.clone());
                self.before.push(pc);
            }
            Some(known) if known.depth != state.depth => {
                return Err(Refusal::Malformed {
                    what: "paths that meet with stacks of different depth",
                    pc,
                });
            }
            Some(known) => {
                let copies = known.this.len();
                known.this.retain(|slot| state.this.contains(slot));
                if known.this.len() < copies {
                    self.before.push(pc);
                }
            }
        }
        Ok(())
    }

    fn runs_java(&self, pc: usize) -> bool {
        let constant = match self.code[pc] {
            LDC => u16::from(self.code[pc + 1]),
            LDC_W | LDC2_W => u2_at(self.code, pc + 1),
            op => return PROPERTIES[usize::from(op)] & RUNS_JAVA != 0,
        };
        // Class, method handle, method type and dynamic constants may run Java code; numbers and
        // strings don't.
        matches!(self.pool.tag(constant), Some(7 | 15 | 16 | 17))
    }

    /// Applies an instruction other than the call to the state.
    fn step(&self, state: &mut State, pc: usize) -> Option<()> {
        let code = self.code;
        let op = code[pc];
        let local = |narrow: usize| match op {
            WIDE => u32::from(u2_at(code, pc + 2)),
            _ => u32::from(code[pc + narrow]),
        };
        match if op == WIDE { code[pc + 1] } else { op } {
            ALOAD => state.push(state.this.contains(&local(1))),
            ALOAD_0..=ALOAD_3 => state.push(state.this.contains(&u32::from(op - ALOAD_0))),
            store @ 54..=ASTORE_3 => {
                // Five kinds: int, long, float, double and reference; first the general forms, then
                // four short forms of each.
                let (kind, local) = if store <= ASTORE {
                    (store - 54, local(1))
                } else {
                    ((store - 59) / 4, u32::from((store - 59) % 4))
                };
                let slots = if matches!(kind, 1 | 3) { 2 } else { 1 };
                let is_this = kind == 4 && state.peek(0);
                state.pop(slots)?;
                state.store(local, slots, is_this)
            }
            DUP => state.shuffle(1, &[0, 0]),
            90 => state.shuffle(2, &[1, 0, 1]),
            91 => state.shuffle(3, &[2, 0, 1, 2]),
            92 => state.shuffle(2, &[0, 1, 0, 1]),
            93 => state.shuffle(3, &[1, 2, 0, 1, 2]),
            94 => state.shuffle(4, &[2, 3, 0, 1, 2, 3]),
            SWAP => state.shuffle(2, &[1, 0]),
            MULTIANEWARRAY => {
                state.pop(u32::from(code[pc + 3]))?;
                state.push(false)
            }
            GETSTATIC..=INVOKEDYNAMIC => {
                let (_, descriptor) = self.pool.member(u2_at(code, pc + 1))?;
                let (takes, gives) = if op <= PUTFIELD {
                    let (slots, _) = field_slots(descriptor)?;
                    match op {
                        GETSTATIC => (0, slots),
                        PUTSTATIC => (slots, 0),
                        GETFIELD => (1, slots),
                        _ => (1 + slots, 0),
                    }
                } else {
                    let (arguments, result) = call_slots(descriptor)?;
                    (
                        arguments + u32::from(!matches!(op, INVOKESTATIC | INVOKEDYNAMIC)),
                        result,
                    )
                };
                state.pop(takes)?;
                (0..gives).try_for_each(|_| state.push(false))
            }
            plain => {
                let (takes, gives) = stack_effect(plain)?;
                state.pop(u32::from(takes))?;
                (0..gives).try_for_each(|_| state.push(false))
            }
        }
    }

    fn queue_path(&mut self, pc: usize) {
        if let Some(state) = self.states.get_mut(pc)
            && *state & AFTER == 0
        {
            *state |= AFTER;
            self.fallthrough.push(pc);
        }
    }

    /// Follows one path after the call, and marks the code that it can reach.
    fn follow_path(&mut self, mut pc: usize) -> Result<(), Refusal> {
        loop {
            self.spend(1 + self.exceptions.len())?;
            for entry in self.exceptions.iter().filter(|entry| entry.covers(pc)) {
                self.queue_path(entry.handler);
            }
            let op = self.code[pc];
            for target in jump_targets(self.code, self.marks, pc) {
                self.queue_path(target?);
            }
            let Some(len) = length(self.code, pc) else {
                return Ok(());
            };
            pc += len;
            // A subroutine counts as returning to the code after its `jsr`.
            let ends = ends_block(op) && !matches!(op, JSR | JSR_W);
            if ends
                || pc >= self.code.len()
                || self.states[pc] & AFTER != 0
                || self.marks[pc] & START == 0
            {
                return Ok(());
            }
            self.states[pc] |= AFTER;
        }
    }
}
