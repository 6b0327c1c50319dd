//! Computes the new pc of each instruction of a method.
//!
//! Code is only ever inserted, so one monotone map relates old and new pcs. Up to two pieces of
//! code are inserted at an instruction, so its old pc has three new values:
//!
//! ```text
//!   … previous instruction, with its allocation probe
//!   before(pc) ─▶ enter probe (pc 0), or probe after this()/super()    not run by jumps to pc
//!   target(pc) ─▶ caught probe, line probe, super_call probe, leave probe    run by jumps to pc
//!   instruction(pc) ─▶ the instruction itself
//! ```
//!
//! Jumps, handlers, frames, starts of ranges and line numbers move to `target`. The ends of ranges
//! move to `before`, so that a range covers exactly what belongs to its instructions. A `new` that
//! a frame or type annotation names moves to `instruction`.
//!
//! If the distance of a jump no longer fits in 16 bits, `goto` and `jsr` become `goto_w` and
//! `jsr_w`. A conditional jump goes to an *island*: a `goto_w` in the first or last bytes of the
//! method, whichever is in the jump's half and so always within reach. The usual alternative is a
//! jump with the inverted condition over a `goto_w`. It would need a new frame after the `goto_w`,
//! and so the types of all locals and stack slots. An island needs only a copy of the frame of its
//! target.

use crate::Refusal;
use crate::opcodes::*;
use crate::reader::{put_u4, u2_at};

/// An instruction begins here.
pub(crate) const START: u8 = 0x01;
/// A return, preceded by a leave probe.
pub(crate) const LEAVE: u8 = 0x02;
/// The start of a source line, preceded by a line probe.
pub(crate) const LINE: u8 = 0x04;
/// The instruction may throw. The value equals that of the opcode's property.
pub(crate) const THROWS: u8 = MAY_THROW;
/// An exception handler, preceded by a `caught` probe.
pub(crate) const CAUGHT: u8 = 0x10;
/// The `this()` or `super()` call, preceded by a `super_call` probe.
pub(crate) const SUPER_CALL: u8 = 0x20;
/// The instruction after the `this()` or `super()` call, preceded by a `super_returned` probe.
pub(crate) const SUPER_RETURNED: u8 = 0x40;
/// A jump that needs a 32-bit offset.
pub(crate) const FAR: u8 = 0x80;
/// An allocation, or a call that creates an object, followed by a probe. An allocation is never a
/// jump, so it can share the bit of [`FAR`].
pub(crate) const ALLOCATION: u8 = FAR;
/// All marks for a probe before the instruction.
pub(crate) const PROBES: u8 = LEAVE | LINE | CAUGHT | SUPER_CALL | SUPER_RETURNED;

/// The maximum size of a method in the JVM.
pub(crate) const MAX_CODE: usize = 65_535;
/// The length of a `goto_w`.
const ISLAND: usize = 5;
/// The length of a probe with a number: `sipush` or `ldc_w`, and `invokestatic`.
const NUMBERED_PROBE: usize = 6;
/// The length of a probe that computes its number.
const COMPUTED_PROBE: usize = 13;

fn malformed(what: &'static str, pc: usize) -> Refusal {
    Refusal::Malformed { what, pc }
}

/// An exception table that was checked.
#[derive(Clone, Copy)]
pub(crate) struct Exceptions<'a>(&'a [u8]);

/// An entry of the exception table.
pub(crate) struct Entry {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) handler: usize,
    pub(crate) catch_type: u16,
}

impl Entry {
    pub(crate) fn covers(&self, pc: usize) -> bool {
        (self.start..self.end).contains(&pc)
    }

    /// Returns true if the range of this handler begins with the handler itself. javac generates
    /// such ranges, for the `astore` there, which can't throw.
    pub(crate) fn covers_own_start(&self) -> bool {
        self.start == self.handler
    }

    /// Returns true if the range contains the line probe before `pc`: see [`Layout::range_start`].
    pub(crate) fn covers_line_probe(&self, pc: usize) -> bool {
        self.covers(pc) && !(pc == self.start && self.covers_own_start())
    }
}

impl<'a> Exceptions<'a> {
    /// Checks that all ranges and handlers begin and end at instructions.
    pub(crate) fn check(table: &'a [u8], marks: &[u8]) -> Result<Self, Refusal> {
        let exceptions = Exceptions(table);
        let starts = |pc: usize| marks.get(pc).is_some_and(|mark| mark & START != 0);
        for entry in exceptions.iter() {
            // The end of the code counts as the start of an instruction.
            if entry.start >= entry.end || !starts(entry.start) || !starts(entry.end) {
                return Err(malformed(
                    "a broken range in the exception table",
                    entry.start,
                ));
            }
            if !starts(entry.handler) || entry.handler + 1 == marks.len() {
                return Err(malformed(
                    "an exception handler that is no instruction",
                    entry.handler,
                ));
            }
        }
        Ok(exceptions)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Entry> {
        self.0.chunks_exact(8).map(|entry| {
            let field = |at| usize::from(u2_at(entry, at));
            Entry {
                start: field(0),
                end: field(2),
                handler: field(4),
                catch_type: u2_at(entry, 6),
            }
        })
    }

    pub(crate) fn len(self) -> usize {
        self.0.len() / 8
    }
}

/// Returns the jump targets of the instruction at `pc`, each checked to be an instruction.
pub(crate) fn jump_targets(
    code: &[u8],
    marks: &[u8],
    pc: usize,
) -> impl Iterator<Item = Result<usize, Refusal>> {
    let op = code[pc];
    let check = move |target: Option<usize>| {
        let target = target.filter(|&target| marks[target] & START != 0);
        target.ok_or(malformed("a jump to what is no instruction", pc))
    };
    let direct = is_jump(op).then(|| check(jump_target(code, pc)));
    let switched = is_switch(op).then(|| {
        switch_offsets(code, pc)
            .map(move |at| check(jump(code, pc, crate::reader::i4_at(code, at))))
    });
    direct.into_iter().chain(switched.into_iter().flatten())
}

/// A conditional jump that goes through an island.
#[derive(Clone, Copy)]
pub(crate) struct Island {
    /// The old pc of the jump.
    pub(crate) jump: usize,
    /// The old pc of the jump's target.
    pub(crate) target: usize,
    at_end: bool,
}

/// The layout of one method. One value serves all methods of a class in turn, to reuse its buffers.
#[derive(Default)]
pub(crate) struct Layout {
    /// The flags above, for each old pc and for the end.
    pub(crate) marks: Vec<u8>,
    /// The old pcs at which code is inserted or changes, ascending.
    pub(crate) sites: Vec<usize>,
    pub(crate) islands: Vec<Island>,
    /// The `target` of each old pc, and of the end.
    map: Vec<u16>,
    /// The length of a probe around calls; 0 if there are none.
    probe: usize,
    /// The length of a probe with a number.
    numbered: usize,
    /// True if the probe after the creation of an array gets the array.
    passes_arrays: bool,
}

impl Layout {
    pub(crate) fn new(passes_arrays: bool) -> Self {
        Self {
            passes_arrays,
            ..Self::default()
        }
    }

    /// Returns the number of bytes with which the probe after an array's creation pushes the array
    /// and its length. The result is also the number of stack slots that the probe takes, including
    /// the one of the site's number.
    pub(crate) fn array_copies(&self) -> usize {
        2 + usize::from(self.passes_arrays)
    }

    /// Finds the instructions. Marks the returns and allocations that are to get probes. Returns,
    /// allocations, jumps and switches become sites.
    pub(crate) fn scan(
        &mut self,
        code: &[u8],
        returns: bool,
        allocations: bool,
    ) -> Result<(), Refusal> {
        let sites = if allocations {
            SPECIAL | ALLOCATES
        } else {
            SPECIAL
        };
        let leave = if returns { LEAVE } else { 0 };
        self.marks.clear();
        self.marks.resize(code.len() + 1, 0);
        self.sites.clear();
        self.islands.clear();
        let mut pc = 0;
        while pc < code.len() {
            let op = code[pc];
            let properties = PROPERTIES[usize::from(op)];
            self.marks[pc] = START | properties & THROWS;
            if properties & sites != 0 {
                self.sites.push(pc);
                if is_return(op) {
                    self.marks[pc] |= leave;
                } else if properties & ALLOCATES != 0 {
                    self.marks[pc] |= ALLOCATION;
                }
            }
            let len = usize::from(properties & LENGTH);
            pc += if len != 0 {
                len
            } else {
                length(code, pc).ok_or(malformed("no instruction", pc))?
            };
        }
        if pc != code.len() {
            return Err(malformed("an instruction that is cut off", pc));
        }
        self.marks[pc] = START;
        Ok(())
    }

    /// Adds a mark at pcs, and makes them sites.
    pub(crate) fn mark(&mut self, pcs: impl Iterator<Item = usize>, mark: u8) {
        let known = self.sites.len();
        for pc in pcs {
            self.marks[pc] |= mark;
            self.sites.push(pc);
        }
        if self.sites.len() > known {
            self.sites.sort_unstable();
            self.sites.dedup();
        }
    }

    /// Returns true if probes compute their numbers.
    pub(crate) fn computes(&self) -> bool {
        self.numbered == COMPUTED_PROBE
    }

    /// Returns the length of the probe after an allocation. The probe duplicates an array, or the
    /// result of a call, and takes an array's length.
    fn allocation_probe(&self, op: u8) -> usize {
        match op {
            NEW => self.numbered,
            NEWARRAY | ANEWARRAY => self.array_copies() + self.numbered,
            _ => 1 + self.numbered,
        }
    }

    /// Computes the new pcs of all instructions. Probes around calls have `probe` bytes. If
    /// `computed`, the other probes compute their numbers.
    pub(crate) fn place(
        &mut self,
        code: &[u8],
        probe: usize,
        computed: bool,
    ) -> Result<(), Refusal> {
        self.probe = probe;
        self.numbered = match computed {
            true => COMPUTED_PROBE,
            false => NUMBERED_PROBE,
        };
        self.assign(code)?;
        if self.body_end() <= i16::MAX as usize {
            return Ok(());
        }
        // Each round widens the jumps that are too short, which may move other jumps and targets
        // further apart. Should this take many rounds, the falling limit ends the loop, at the
        // latest when all jumps are wide.
        let mut limit = i64::from(i16::MAX);
        while self.widen(code, limit)? {
            limit = (limit - 1024).max(0);
            self.assign(code)?;
        }
        Ok(())
    }

    fn assign(&mut self, code: &[u8]) -> Result<(), Refusal> {
        self.map.resize(code.len() + 1, 0);
        // New pc minus old pc. Switch padding may shrink, but never by more than was inserted
        // before it.
        let mut shift = self.prefix() + self.entry();
        let mut from = 0;
        for &pc in &self.sites {
            fill(&mut self.map[from..pc], from + shift);
            let mark = self.marks[pc];
            if mark & SUPER_RETURNED != 0 {
                shift += self.probe;
            }
            self.map[pc] = (pc + shift) as u16;
            shift += self.lead(mark);
            match code[pc] {
                GOTO | JSR if mark & FAR != 0 => shift += 2,
                op if !is_jump(op) && mark & ALLOCATION != 0 => shift += self.allocation_probe(op),
                TABLESWITCH | LOOKUPSWITCH => {
                    let new = pc + shift;
                    shift = switch_operands(new) - switch_operands(pc);
                }
                _ => {}
            }
            from = pc + 1;
        }
        fill(&mut self.map[from..], from + shift);
        if code.len() + shift + self.islands_at_end() * ISLAND > MAX_CODE {
            return Err(Refusal::CodeTooLarge);
        }
        Ok(())
    }

    /// Marks the jumps whose distance exceeds `limit`. Returns true if anything changed.
    fn widen(&mut self, code: &[u8], limit: i64) -> Result<bool, Refusal> {
        let mut changed = false;
        for at in 0..self.sites.len() {
            let pc = self.sites[at];
            if !is_jump(code[pc]) || matches!(code[pc], GOTO_W | JSR_W) || self.marks[pc] & FAR != 0
            {
                continue;
            }
            let Some(target) = jump_target(code, pc) else {
                return Err(malformed("a jump out of the code", pc));
            };
            let distance = i64::from(self.target(target)) - i64::from(self.instruction(pc));
            if distance.abs() <= limit {
                continue;
            }
            self.marks[pc] |= FAR;
            changed = true;
            if !matches!(code[pc], GOTO | JSR) {
                self.islands.push(Island {
                    jump: pc,
                    target,
                    at_end: false,
                });
            }
        }
        // An island at the end never moves back to the beginning, so that this terminates.
        for at in 0..self.islands.len() {
            let island = self.islands[at];
            if !island.at_end && usize::from(self.instruction(island.jump)) > i16::MAX as usize {
                self.islands[at].at_end = true;
                changed = true;
            }
        }
        Ok(changed)
    }

    fn islands_at_end(&self) -> usize {
        self.islands.iter().filter(|island| island.at_end).count()
    }

    /// Returns the number of bytes before the enter probe: the islands there and a jump over them.
    pub(crate) fn prefix(&self) -> usize {
        match self.islands.len() - self.islands_at_end() {
            0 => 0,
            islands => ISLAND + islands * ISLAND,
        }
    }

    /// Returns the number of bytes between the prefix and the first instruction: the enter probe.
    /// If there is none, a `nop` separates the frame after a prefix from a frame of the first
    /// instruction.
    pub(crate) fn entry(&self) -> usize {
        match self.probe {
            0 => usize::from(self.prefix() > 0),
            probe => probe,
        }
    }

    /// Returns the islands with their new pcs, ascending.
    pub(crate) fn placed_islands(&self) -> Vec<(usize, Island)> {
        let place = |at_end: bool, base: usize| {
            let there = self
                .islands
                .iter()
                .filter(move |island| island.at_end == at_end);
            there
                .enumerate()
                .map(move |(n, &island)| (base + n * ISLAND, island))
        };
        place(false, ISLAND)
            .chain(place(true, self.body_end()))
            .collect()
    }

    /// Returns the new pc of the original code's end. Islands and handlers follow.
    pub(crate) fn body_end(&self) -> usize {
        usize::from(self.map.last().copied().unwrap_or(0))
    }

    /// Returns the end of the code with its islands.
    pub(crate) fn islands_end(&self) -> usize {
        self.body_end() + self.islands_at_end() * ISLAND
    }

    pub(crate) fn is_start(&self, pc: usize) -> bool {
        pc + 1 < self.marks.len() && self.marks[pc] & START != 0
    }

    /// Returns the new pc for jumps to the old `pc`.
    pub(crate) fn target(&self, pc: usize) -> u16 {
        self.map[pc]
    }

    /// Returns the new start of the range of an exception table's entry. A line probe at the start
    /// of a handler is excluded from this handler's range: if it failed, an endless loop would
    /// follow.
    pub(crate) fn range_start(&self, entry: &Entry) -> u16 {
        let start = self.target(entry.start);
        // A handler that covers itself has no `caught` probe before the line probe.
        match self.marks[entry.start] & LINE {
            LINE if entry.covers_own_start() => start + self.numbered as u16,
            _ => start,
        }
    }

    /// Returns the new pc of the instruction itself.
    pub(crate) fn instruction(&self, pc: usize) -> u16 {
        self.map[pc] + self.lead(self.marks[pc]) as u16
    }

    /// Returns the length of the probes directly before an instruction, except `enter` and
    /// `super_returned`.
    fn lead(&self, mark: u8) -> usize {
        let around_calls = (mark & (LEAVE | CAUGHT | SUPER_CALL)).count_ones() as usize;
        let line = if mark & LINE != 0 { self.numbered } else { 0 };
        self.probe * around_calls + line
    }

    /// Returns the new end of the code that belongs to the instructions before `pc`.
    pub(crate) fn before(&self, pc: usize) -> u16 {
        match self.marks[pc] & SUPER_RETURNED {
            0 if pc == 0 => 0,
            0 => self.map[pc],
            _ => self.map[pc] - self.probe as u16,
        }
    }

    /// Returns the new pc of the leave probe of the return at `pc`.
    pub(crate) fn leave_probe(&self, pc: usize) -> u16 {
        self.instruction(pc) - self.probe as u16
    }

    /// Returns the new start of a table row that begins at `pc`. A row at pc 0 begins at pc 0
    /// again. A row beyond the end of the code, which the JVM rejects, stays beyond it.
    pub(crate) fn row_start(&self, pc: usize) -> u16 {
        match pc {
            0 => 0,
            pc if pc < self.map.len() => self.target(pc),
            _ => u16::MAX,
        }
    }

    /// Returns the new end of a table row.
    pub(crate) fn row_end(&self, pc: usize) -> u16 {
        if pc < self.map.len() {
            self.before(pc)
        } else {
            u16::MAX
        }
    }
}

fn fill(map: &mut [u16], first: usize) {
    // Values above 65,535 are truncated here; the method is refused for its size afterwards.
    for (n, new) in map.iter_mut().enumerate() {
        *new = (first + n) as u16;
    }
}

/// Writes the jump or switch at `pc` for its new position. `out` holds the new code from
/// `code_start` on.
pub(crate) fn write_jump(
    layout: &Layout,
    code: &[u8],
    pc: usize,
    islands: &[(usize, Island)],
    out: &mut Vec<u8>,
    code_start: usize,
) -> Result<(), Refusal> {
    let here = i64::from(layout.instruction(pc));
    let op = code[pc];
    if is_switch(op) {
        let old_head = switch_operands(pc);
        let len = length(code, pc).ok_or(malformed("no instruction", pc))?;
        out.push(op);
        out.resize(code_start + switch_operands(here as usize), 0);
        let head = out.len();
        out.extend_from_slice(&code[old_head..pc + len]);
        for (at, target) in switch_offsets(code, pc).zip(jump_targets(code, &layout.marks, pc)) {
            let offset = i64::from(layout.target(target?)) - here;
            put_u4(out, head + at - old_head, offset as i32 as u32);
        }
        return Ok(());
    }
    let target = jump_target(code, pc).filter(|&target| layout.is_start(target));
    let target = target.ok_or(malformed("a jump to what is no instruction", pc))?;
    let far = layout.marks[pc] & FAR != 0;
    let mut offset = i64::from(layout.target(target)) - here;
    if matches!(op, GOTO_W | JSR_W) || (far && matches!(op, GOTO | JSR)) {
        out.push(match op {
            GOTO => GOTO_W,
            JSR => JSR_W,
            wide => wide,
        });
        out.extend_from_slice(&(offset as i32).to_be_bytes());
        return Ok(());
    }
    if far {
        let island = islands.iter().find(|(_, island)| island.jump == pc);
        let (at, _) = island.ok_or(Refusal::CodeTooLarge)?;
        offset = *at as i64 - here;
    }
    let offset = i16::try_from(offset).map_err(|_| Refusal::CodeTooLarge)?;
    out.push(op);
    out.extend_from_slice(&offset.to_be_bytes());
    Ok(())
}
