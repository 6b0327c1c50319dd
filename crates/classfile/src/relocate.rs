//! Where each instruction of a method goes.
//!
//! Code is only ever inserted, so old and new pcs are related by one monotone map. At an
//! instruction at `pc`, up to two pieces are inserted, and so a pc has three new values:
//!
//! ```text
//!   … previous instruction, with its allocation probe
//!   before(pc) ─▶ enter probe (pc 0), or mark behind this()/super()     not run by jumps to pc
//!   target(pc) ─▶ mark of a caught exception, line probe, mark before super(), leave probe     run by jumps to pc
//!   instruction(pc) ─▶ the instruction itself
//! ```
//!
//! Jumps, handlers, frames, range starts and line numbers move to `target`; the ends of ranges to
//! `before`, so that a range keeps covering exactly what belongs to its instructions; a `new` that
//! a frame or type annotation names to `instruction`.
//!
//! A jump that no longer fits in 16 bits: `goto` and `jsr` become `goto_w` and `jsr_w`. A
//! conditional jump goes to an *island*, a `goto_w` in the first or the last bytes of the method,
//! whichever half the jump is in; one of them is always within reach. The usual inversion over a
//! `goto_w` would need a new frame behind it, and so the types of all locals and stack slots there;
//! an island needs only a copy of its target's frame.

use crate::Refusal;
use crate::opcodes::*;
use crate::reader::{put_u4, u2_at};

/// An instruction begins here.
pub(crate) const START: u8 = 0x01;
/// A return, with a leave probe in front.
pub(crate) const LEAVE: u8 = 0x02;
/// A line of the source, with a probe in front.
pub(crate) const LINE: u8 = 0x04;
/// The instruction may throw (the value is that of the opcode's property).
pub(crate) const THROWS: u8 = MAY_THROW;
/// An exception handler with a mark in front.
pub(crate) const CAUGHT: u8 = 0x10;
/// The `this()` or `super()` call, with a mark in front.
pub(crate) const SUPER_CALL: u8 = 0x20;
/// The instruction behind that call, with a mark in between.
pub(crate) const SUPER_RETURNED: u8 = 0x40;
/// A jump that needs 32 bits.
pub(crate) const FAR: u8 = 0x80;
/// An allocation, or a call that makes an object, with a probe behind. No jump is one, so the two
/// share a bit.
pub(crate) const ALLOCATION: u8 = FAR;
/// All marks that stand for a probe in front of the instruction.
pub(crate) const PROBES: u8 = LEAVE | LINE | CAUGHT | SUPER_CALL | SUPER_RETURNED;

/// The largest method that the JVM takes.
pub(crate) const MAX_CODE: usize = 65_535;
/// A `goto_w`.
const ISLAND: usize = 5;
/// The length of a probe with a number: `sipush` or `ldc_w`, and `invokestatic`.
const NUMBERED_PROBE: usize = 6;
/// The same, where the number is computed.
const COMPUTED_PROBE: usize = 13;

fn malformed(what: &'static str, pc: usize) -> Refusal {
    Refusal::Malformed { what, pc }
}

/// A checked exception table.
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

    /// Whether the range of this handler begins with the handler itself. javac does so, for the
    /// `astore` there, which cannot throw.
    pub(crate) fn covers_own_start(&self) -> bool {
        self.start == self.handler
    }

    /// Whether the line probe in front of `pc` lies in the range: see [`Layout::range_start`].
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
            // The end of the code counts as a start.
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

/// The jump targets of the instruction at `pc`, each checked to be an instruction.
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

/// A conditional jump that goes by an island.
#[derive(Clone, Copy)]
pub(crate) struct Island {
    /// The old pc of the jump.
    pub(crate) jump: usize,
    /// The old pc that it jumps to.
    pub(crate) target: usize,
    at_end: bool,
}

/// The layout of one method. It is used for one method after the other, to keep its buffers.
#[derive(Default)]
pub(crate) struct Layout {
    /// Per old pc, and one for the end: the flags above.
    pub(crate) marks: Vec<u8>,
    /// The old pcs at which something is inserted or changes, ascending.
    pub(crate) sites: Vec<usize>,
    pub(crate) islands: Vec<Island>,
    /// Per old pc, and one for the end: its `target`.
    map: Vec<u16>,
    /// The length of a probe around calls; 0 if there are none.
    probe: usize,
    /// The length of a probe with a number.
    numbered: usize,
    /// The probe behind the creation of an array gets the array.
    hands_over_arrays: bool,
}

impl Layout {
    pub(crate) fn new(hands_over_arrays: bool) -> Self {
        Self {
            hands_over_arrays,
            ..Self::default()
        }
    }

    /// Bytes, and slots of the stack with the number, that the probe behind the creation of an
    /// array has for the array and its length.
    pub(crate) fn array_copies(&self) -> usize {
        2 + usize::from(self.hands_over_arrays)
    }

    /// Finds the instructions, and among them jumps and switches, and what is to get probes:
    /// returns, allocations.
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

    /// Adds marks at pcs that may not be sites yet.
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

    /// Whether the numbers of probes are computed.
    pub(crate) fn computes(&self) -> bool {
        self.numbered == COMPUTED_PROBE
    }

    /// The length of the probe behind an allocation; arrays and what calls answer are copied for
    /// it, and arrays may be asked for their length.
    fn allocation_probe(&self, op: u8) -> usize {
        match op {
            NEW => self.numbered,
            NEWARRAY | ANEWARRAY => self.array_copies() + self.numbered,
            _ => 1 + self.numbered,
        }
    }

    /// Gives every instruction its place, with probes of `probe` bytes around calls; `computed`:
    /// the others' numbers are computed.
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
        // Each round makes far what does not fit, which may push others apart. Should that go on
        // and on, the limit comes down until nothing is left to change.
        let mut limit = i64::from(i16::MAX);
        while self.widen(code, limit)? {
            limit = (limit - 1024).max(0);
            self.assign(code)?;
        }
        Ok(())
    }

    fn assign(&mut self, code: &[u8]) -> Result<(), Refusal> {
        self.map.resize(code.len() + 1, 0);
        // New pc minus old pc. Switch padding may shrink, but never by more than was inserted in
        // front of it.
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

    /// Marks the jumps that do not reach; whether there were any.
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
        // An island at the end is never taken back, so that this comes to rest.
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

    /// The bytes in front of the enter probe: the islands there and a jump over them.
    pub(crate) fn prefix(&self) -> usize {
        match self.islands.len() - self.islands_at_end() {
            0 => 0,
            islands => ISLAND + islands * ISLAND,
        }
    }

    /// The length of what stands behind the prefix, in front of the first instruction: the enter
    /// probe. Without it, a `nop` keeps the frame behind a prefix apart from a frame of the first
    /// instruction.
    pub(crate) fn entry(&self) -> usize {
        match self.probe {
            0 => usize::from(self.prefix() > 0),
            probe => probe,
        }
    }

    /// The islands with their new pcs, ascending.
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

    /// The new pc of the original code's end; islands and handlers follow.
    pub(crate) fn body_end(&self) -> usize {
        usize::from(self.map.last().copied().unwrap_or(0))
    }

    /// The end of the code with its islands.
    pub(crate) fn islands_end(&self) -> usize {
        self.body_end() + self.islands_at_end() * ISLAND
    }

    pub(crate) fn is_start(&self, pc: usize) -> bool {
        pc + 1 < self.marks.len() && self.marks[pc] & START != 0
    }

    /// Where jumps to `pc` go.
    pub(crate) fn target(&self, pc: usize) -> u16 {
        self.map[pc]
    }

    /// Where the range of an exception table's entry begins. A line probe at the start of a handler
    /// lies in no range of that handler: were it to fail, the two would run in a circle.
    pub(crate) fn range_start(&self, entry: &Entry) -> u16 {
        let start = self.target(entry.start);
        // A handler that covers itself has no mark of a caught exception in front of the line
        // probe.
        match self.marks[entry.start] & LINE {
            LINE if entry.covers_own_start() => start + self.numbered as u16,
            _ => start,
        }
    }

    /// The instruction itself.
    pub(crate) fn instruction(&self, pc: usize) -> u16 {
        self.map[pc] + self.lead(self.marks[pc]) as u16
    }

    /// The length of the probes that stand directly in front of an instruction.
    fn lead(&self, mark: u8) -> usize {
        let around_calls = (mark & (LEAVE | CAUGHT | SUPER_CALL)).count_ones() as usize;
        let line = if mark & LINE != 0 { self.numbered } else { 0 };
        self.probe * around_calls + line
    }

    /// The end of what belongs to the instructions before `pc`.
    pub(crate) fn before(&self, pc: usize) -> u16 {
        match self.marks[pc] & SUPER_RETURNED {
            0 if pc == 0 => 0,
            0 => self.map[pc],
            _ => self.map[pc] - self.probe as u16,
        }
    }

    /// Where the leave probe of the return at `pc` begins.
    pub(crate) fn leave_probe(&self, pc: usize) -> u16 {
        self.instruction(pc) - self.probe as u16
    }

    /// The new start of a table row that begins at `pc`. What begins with the method still does;
    /// what lies behind the end, which the JVM refuses, still does too.
    pub(crate) fn row_start(&self, pc: usize) -> u16 {
        match pc {
            0 => 0,
            pc if pc < self.map.len() => self.target(pc),
            _ => u16::MAX,
        }
    }

    /// The new end of a table row.
    pub(crate) fn row_end(&self, pc: usize) -> u16 {
        if pc < self.map.len() {
            self.before(pc)
        } else {
            u16::MAX
        }
    }
}

fn fill(map: &mut [u16], first: usize) {
    // Values over 65,535 are cut off here; the method is refused for its size then.
    for (n, new) in map.iter_mut().enumerate() {
        *new = (first + n) as u16;
    }
}

/// Writes the jump or switch at `pc` for its new place. `out` holds the new code, which begins at
/// `code_start`.
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
