//! Inserts probes into methods: the code itself.
//!
//! A class is written in one pass. The bytes between rewritten `Code` attributes are copied
//! unchanged. The new pool entries are collected on the way, and inserted after the old pool at the
//! end.

use crate::Refusal;
use crate::class::{Class, Code, Method};
use crate::frames::Type;
use crate::handlers;
use crate::lines::Lines;
use crate::opcodes::*;
use crate::pool::PoolEditor;
use crate::probes::*;
use crate::prologue::{self, AFTER, BEFORE, Prologue};
use crate::reader::put_u4;
use crate::relocate::*;

/// Inserts into each method the probes that `probes_of` requests for it.
///
/// If a method has no room for all its probes, is too complex for them, or would no longer be
/// compiled, it gets only those around calls, if they were requested. Then [`Inserted::reduced`]
/// has the reason.
///
/// # Errors
/// Only if a hook's name is too long for a class file. Methods that can't be rewritten are not
/// changed; [`Rewritten::outcomes`] has the reasons.
pub fn instrument(
    class: &Class<'_>,
    hooks: &Hooks<'_>,
    mut probes_of: impl FnMut(usize, &Method<'_>) -> Probes,
) -> Result<Rewritten, Refusal> {
    let methods = hooks.methods();
    // Modified UTF-8 takes at most twice as many bytes as UTF-8.
    let fits = |name: &str| name.len() <= usize::from(u16::MAX) / 2;
    if !fits(hooks.class) || !methods.iter().all(|(name, _)| fits(name)) {
        return Err(Refusal::HookName);
    }
    let mut rewriter = Rewriter {
        class,
        pool: PoolEditor::new(&class.pool),
        owner: hooks.class,
        large_numbers: hooks.large_numbers,
        compiled_up_to: hooks.compiled_up_to,
        hooks: methods.map(|(name, descriptor)| (name, descriptor, None)),
        layout: Layout::new(hooks.passes_arrays),
        out: Vec::with_capacity(class.bytes.len() + class.bytes.len() / 4),
        copied: class.pool.end(),
    };
    let mut outcomes = Vec::new();
    for (index, method) in class.methods.iter().enumerate() {
        let probes = probes_of(index, method);
        if probes != Probes::NONE {
            outcomes.push((index, rewriter.method(method, probes)));
        }
    }
    Ok(Rewritten {
        bytes: rewriter.finish(),
        outcomes,
    })
}

/// The length of the probe that passes `this`: `aload_0` and `invokestatic`.
const CONSTRUCTED_PROBE: usize = 4;

/// Returns true if a number, as an `int`, needs more than 16 bits.
fn is_large(number: u32) -> bool {
    i16::try_from(number as i32).is_err()
}

pub(crate) struct Rewriter<'r, 'a> {
    pub(crate) class: &'r Class<'a>,
    pub(crate) pool: PoolEditor<'r, 'a>,
    owner: &'r str,
    large_numbers: LargeNumbers,
    compiled_up_to: Option<usize>,
    /// The names and descriptors of the hooks, and their pool indices once they are needed.
    hooks: [(&'r str, &'static str, Option<u16>); HOOKS],
    pub(crate) layout: Layout,
    /// The new class file, from the end of the pool on.
    pub(crate) out: Vec<u8>,
    /// The offset in the old class up to which the bytes were copied to `out`, or replaced.
    copied: usize,
}

/// The instructions that push a number.
#[derive(Clone, Copy, Default)]
struct Push {
    bytes: [u8; 10],
    len: usize,
}

impl Push {
    fn new(bytes: &[u8]) -> Self {
        let mut push = Self {
            len: bytes.len(),
            ..Self::default()
        };
        push.bytes[..bytes.len()].copy_from_slice(bytes);
        push
    }

    /// Pushes any number by computing it, which takes one more stack slot.
    fn computed(value: i32) -> Self {
        let low = value as i16;
        // The sign extension of the lower half is compensated in the upper half.
        let high = ((value ^ i32::from(low)) >> 16) as i16;
        let ([h, i], [l, m]) = (high.to_be_bytes(), low.to_be_bytes());
        Self::new(&[SIPUSH, h, i, BIPUSH, 16, ISHL, SIPUSH, l, m, IXOR])
    }

    /// Returns the length of a probe: the push and an `invokestatic`.
    fn probe(self) -> usize {
        self.len + 3
    }
}

/// The inputs for writing the body of a method.
struct Plan {
    /// Pushes the method's id; `None` without probes around calls.
    id: Option<Push>,
    hooks: CallHooks,
    /// The numbers of the line probes, by ascending pc.
    lines: Vec<u32>,
    /// The number of the first allocation site.
    allocations: u32,
    /// True if a probe at the entry passes `this`.
    constructed: bool,
    islands: Vec<(usize, Island)>,
}

/// The hooks for calls, returns, and exceptions that leave the method.
#[derive(Clone, Copy)]
struct CallHooks {
    enter: Hook,
    leave: Hook,
    leave_by_exception: Hook,
}

impl CallHooks {
    fn of(probes: Probes) -> Self {
        match probes.calls_to {
            CallsTo::Calls => Self {
                enter: Hook::Enter,
                leave: Hook::Leave,
                leave_by_exception: Hook::LeaveByException,
            },
            CallsTo::Initialisations => Self {
                enter: Hook::InitialiserEnter,
                leave: Hook::InitialiserLeave,
                leave_by_exception: Hook::InitialiserLeaveByException,
            },
            CallsTo::InitialisationsAndCalls => Self {
                enter: Hook::CalledInitialiserEnter,
                leave: Hook::CalledInitialiserLeave,
                leave_by_exception: Hook::CalledInitialiserLeaveByException,
            },
            CallsTo::Triggers => Self {
                enter: Hook::TriggerEnter,
                leave: Hook::TriggerLeave,
                leave_by_exception: Hook::TriggerLeaveByException,
            },
        }
    }
}

impl Rewriter<'_, '_> {
    fn finish(self) -> Vec<u8> {
        let old = self.class.bytes;
        if self.copied == self.class.pool.end() {
            return old.to_vec();
        }
        let (head, tail) = (&old[..self.class.pool.end()], &old[self.copied..]);
        let mut bytes =
            Vec::with_capacity(head.len() + self.pool.added().len() + self.out.len() + tail.len());
        bytes.extend_from_slice(&head[..8]);
        bytes.extend_from_slice(&self.pool.count().to_be_bytes());
        for part in [&head[10..], self.pool.added(), &self.out, tail] {
            bytes.extend_from_slice(part);
        }
        bytes
    }

    /// Rewrites a method, or changes nothing if it can't.
    fn method(&mut self, method: &Method<'_>, probes: Probes) -> Result<Inserted, Refusal> {
        let Some(code) = &method.code else {
            return Err(Refusal::NoCode);
        };
        if code.bytes == [RETURN] && method.name == b"finalize" && method.descriptor == b"()V" {
            return Err(Refusal::EmptyFinalizer);
        }
        let calls_only = Probes {
            calls_to: probes.calls_to,
            ..Probes::calls(probes.calls)
        };
        let refusal = match self.attempt(method, code, probes) {
            Err(refusal) if probes.calls.is_some() && probes != calls_only => refusal,
            outcome => return outcome,
        };
        let mut inserted = self.attempt(method, code, calls_only)?;
        if probes.lines.is_some() {
            let entries = method.line_entries();
            inserted.lines = entries
                .map(|_| LineProbe::NoProbe(NoProbe::Reduced))
                .collect();
        }
        inserted.reduced = Some(refusal);
        Ok(inserted)
    }

    /// Inserts exactly these probes into a method, or changes nothing if it can't.
    fn attempt(
        &mut self,
        method: &Method<'_>,
        code: &Code<'_>,
        probes: Probes,
    ) -> Result<Inserted, Refusal> {
        let (pool, out, copied) = (self.pool.checkpoint(), self.out.len(), self.copied);
        let outcome = self.code(method, code, probes);
        if outcome.is_err() {
            self.pool.roll_back(pool);
            let count = self.pool.count();
            for (_, _, index) in &mut self.hooks {
                *index = index.filter(|&index| index < count);
            }
            self.out.truncate(out);
            self.copied = copied;
        }
        outcome
    }

    fn code(
        &mut self,
        method: &Method<'_>,
        code: &Code<'_>,
        probes: Probes,
    ) -> Result<Inserted, Refusal> {
        let old = code.bytes;
        let with_calls = probes.calls.is_some();
        let allocations = probes
            .allocations
            .filter(|_| !self.class.is_allocating_method(method));
        self.layout.scan(old, with_calls, allocations.is_some())?;
        if allocations.is_some() {
            let calls = self.class.allocating_call_sites(old).into_iter();
            self.layout.mark(calls, ALLOCATION);
        }
        let exceptions = Exceptions::check(code.exceptions, &self.layout.marks)?;
        let is_constructor = method.name == b"<init>" && self.class.super_name.is_some();
        let prologue = match is_constructor && with_calls {
            true => Some(prologue::analyze(
                &self.class.pool,
                old,
                &self.layout.marks,
                exceptions,
            )?),
            false => None,
        };
        let super_marks = match &prologue {
            Some(prologue) => self.mark_super_calls(prologue, old),
            None => SuperMarks::None,
        };
        if with_calls && exceptions.len() > 0 {
            let handlers = handlers::caught(old, exceptions);
            let is_catch = |&pc: &usize| {
                prologue
                    .as_ref()
                    .is_none_or(|p| p.states[pc] & (BEFORE | AFTER) == AFTER)
            };
            self.layout
                .mark(handlers.into_iter().filter(is_catch), CAUGHT);
        }
        let lines = match probes.lines {
            Some(first) => Lines::place(&code.lines, first, old, exceptions, &mut self.layout)?,
            None => Lines::default(),
        };
        let mut inserted = Inserted {
            super_marks,
            lines: lines.outcome,
            added_handlers: None,
            reduced: None,
        };
        let allocates = |&pc: &usize| !is_jump(old[pc]) && self.layout.marks[pc] & ALLOCATION != 0;
        let is_entered = with_calls || probes.constructed;
        if !is_entered && lines.numbers.is_empty() && !self.layout.sites.iter().any(allocates) {
            return Ok(inserted);
        }
        let id = match probes.calls {
            Some(id) => Some(self.push(id)?),
            None => None,
        };
        let computes = self.large_numbers == LargeNumbers::Computed;
        // The highest number of the line probes, and an upper bound of those of the allocation
        // probes. Numbers that wrap are ignored here.
        let last = |first: u32, count: usize| first.saturating_add(count as u32);
        let numbers = [
            lines.numbers.iter().copied().max(),
            allocations.map(|first| last(first, self.layout.sites.len())),
        ];
        let computed = computes && numbers.into_iter().flatten().any(is_large);
        let entry = match (id, probes.constructed) {
            (Some(id), _) => id.probe(),
            (None, true) => CONSTRUCTED_PROBE,
            (None, false) => 0,
        };
        self.layout.place(old, entry, computed)?;
        let plan = Plan {
            id,
            hooks: CallHooks::of(probes),
            lines: lines.numbers,
            allocations: probes.allocations.unwrap_or_default(),
            constructed: probes.constructed,
            islands: self.layout.placed_islands(),
        };

        self.out
            .extend_from_slice(&self.class.bytes[self.copied..code.span.start + 2]);
        self.copied = code.span.end;
        let length_at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        // A probe pushes one slot. After an allocation it pushes up to two, or three if hooks get
        // the arrays. An added handler has the exception and the id on the stack. Computing a
        // number takes one more slot.
        let more = u16::from(computes);
        let at_allocations = match probes.allocations {
            Some(_) => self.layout.array_copies() as u16 - 1,
            None => 0,
        };
        let max_stack = code
            .max_stack
            .checked_add(1 + at_allocations + more)
            .ok_or(Refusal::TableFull("stack slot"))?
            .max(2 + more);
        self.out.extend_from_slice(&max_stack.to_be_bytes());
        self.out.extend_from_slice(&code.max_locals.to_be_bytes());
        self.out.extend_from_slice(&[0; 4]);
        let start = self.out.len();
        self.body(old, &plan, start)?;

        let mut handlers = Vec::with_capacity(2);
        if let Some(id) = plan.id {
            let (before, after) = match &prologue {
                Some(prologue) => (
                    handlers::ranges_in(&self.layout, prologue, BEFORE),
                    handlers::ranges_in(&self.layout, prologue, AFTER),
                ),
                None => (Vec::new(), handlers::ranges(&self.layout, old.len())),
            };
            for (ranges, this) in [(before, Some(Type::UNINITIALIZED_THIS)), (after, None)] {
                if !ranges.is_empty() {
                    handlers.push(((self.out.len() - start) as u16, ranges, this));
                    self.probe(id, plan.hooks.leave_by_exception)?;
                    self.out.push(ATHROW);
                }
            }
        }
        inserted.added_handlers = handlers.first().map(|(at, ..)| *at);
        let len = self.out.len() - start;
        if len > MAX_CODE {
            return Err(Refusal::CodeTooLarge);
        }
        if let Some(limit) = self.compiled_up_to
            && (old.len()..len).contains(&limit)
            && !method.runs_once()
        {
            return Err(Refusal::NeverCompiled(limit));
        }
        put_u4(&mut self.out, start - 4, len as u32);
        self.exception_table(exceptions, &handlers)?;
        self.attributes(method, code, &plan.islands, &handlers)?;
        let len = self.out.len() - length_at - 4;
        put_u4(&mut self.out, length_at, len as u32);
        Ok(inserted)
    }

    /// Marks the positions of the probes around `this()` and `super()`, where they are needed.
    fn mark_super_calls(&mut self, prologue: &Prologue, code: &[u8]) -> SuperMarks {
        let is_reported = |index: u16| {
            let owner = self.class.pool.member_class(index);
            owner == Some(self.class.name) || self.class.super_name != Some(b"java/lang/Object")
        };
        let calls = || {
            prologue
                .calls
                .iter()
                .filter(|(_, index)| is_reported(*index))
                .map(|(pc, _)| *pc)
        };
        if prologue.runs_java {
            self.layout.mark(calls(), SUPER_CALL);
        }
        self.layout.mark(
            calls().map(|pc| pc + 3).filter(|&pc| pc < code.len()),
            SUPER_RETURNED,
        );
        match (calls().next(), prologue.runs_java) {
            (None, _) => SuperMarks::None,
            (Some(_), false) => SuperMarks::After,
            (Some(_), true) => SuperMarks::Around,
        }
    }

    fn push(&mut self, number: u32) -> Result<Push, Refusal> {
        let value = number as i32;
        let [.., high, low] = value.to_be_bytes();
        Ok(match value {
            0..=5 => Push::new(&[ICONST_0 + low]),
            -128..=127 => Push::new(&[BIPUSH, low]),
            -32768..=32767 => Push::new(&[SIPUSH, high, low]),
            _ if self.large_numbers == LargeNumbers::Computed => Push::computed(value),
            _ => match self.pool.integer(value)?.to_be_bytes() {
                [0, index] => Push::new(&[LDC, index]),
                [high, low] => Push::new(&[LDC_W, high, low]),
            },
        })
    }

    /// Returns a push of a fixed length: three bytes, or ten if numbers are computed. So all line
    /// and allocation probes of a method have the same length.
    fn wide_push(&mut self, number: u32) -> Result<Push, Refusal> {
        let value = number as i32;
        if self.layout.computes() {
            return Ok(Push::computed(value));
        }
        let (op, [high, low]) = match i16::try_from(value) {
            Ok(value) => (SIPUSH, value.to_be_bytes()),
            Err(_) => (LDC_W, self.pool.integer(value)?.to_be_bytes()),
        };
        Ok(Push::new(&[op, high, low]))
    }

    fn probe(&mut self, push: Push, hook: Hook) -> Result<(), Refusal> {
        let (name, descriptor, index) = &mut self.hooks[hook as usize];
        let index = match index {
            Some(index) => *index,
            None => *index.insert(self.pool.method(self.owner, name, descriptor)?),
        };
        self.out.extend_from_slice(&push.bytes[..push.len]);
        self.out.push(INVOKESTATIC);
        self.out.extend_from_slice(&index.to_be_bytes());
        Ok(())
    }

    /// Writes the islands, the original code, and the probes in it.
    fn body(&mut self, old: &[u8], plan: &Plan, start: usize) -> Result<(), Refusal> {
        let prefix = self.layout.prefix();
        if prefix > 0 {
            self.out.push(GOTO_W);
            self.out.extend_from_slice(&(prefix as u32).to_be_bytes());
        }
        self.islands(plan.islands.iter().filter(|(at, _)| *at < prefix));
        match plan.id {
            Some(id) => self.probe(id, plan.hooks.enter)?,
            None if plan.constructed => {
                self.probe(Push::new(&[ALOAD_0]), Hook::Constructed)?;
            }
            None => self.out.resize(start + prefix + self.layout.entry(), NOP),
        }
        let id = plan.id.unwrap_or_default();
        let mut lines = plan.lines.iter().copied();
        let mut allocations = (0..).map(|k| plan.allocations.wrapping_add(k));
        let mut copied = 0;
        for at in 0..self.layout.sites.len() {
            let pc = self.layout.sites[at];
            self.out.extend_from_slice(&old[copied..pc]);
            copied = pc;
            let mark = self.layout.marks[pc];
            if mark & PROBES != 0 {
                self.probes(mark, id, plan.hooks.leave, &mut lines)?;
            }
            let op = old[pc];
            if is_jump(op) || is_switch(op) {
                write_jump(&self.layout, old, pc, &plan.islands, &mut self.out, start)?;
                copied += length(old, pc).unwrap_or(1);
            } else if mark & ALLOCATION != 0 {
                copied += length(old, pc).unwrap_or(1);
                self.out.extend_from_slice(&old[pc..copied]);
                let number = allocations.next().unwrap_or_default();
                self.allocation(&old[pc..copied], number)?;
            }
        }
        self.out.extend_from_slice(&old[copied..]);
        self.islands(plan.islands.iter().filter(|(at, _)| *at >= prefix));
        debug_assert_eq!(self.out.len() - start, self.layout.islands_end());
        Ok(())
    }

    /// Writes the probes before an instruction, in the order that jumps and ranges rely on.
    fn probes(
        &mut self,
        mark: u8,
        id: Push,
        leave: Hook,
        lines: &mut impl Iterator<Item = u32>,
    ) -> Result<(), Refusal> {
        if mark & SUPER_RETURNED != 0 {
            self.probe(id, Hook::SuperReturned)?;
        }
        if mark & CAUGHT != 0 {
            self.probe(id, Hook::Caught)?;
        }
        if mark & LINE != 0 {
            let number = self.wide_push(lines.next().unwrap_or_default())?;
            self.probe(number, Hook::Line)?;
        }
        if mark & SUPER_CALL != 0 {
            self.probe(id, Hook::SuperCall)?;
        }
        if mark & LEAVE != 0 {
            self.probe(id, leave)?;
        }
        Ok(())
    }

    /// Writes the probe after an allocation.
    fn allocation(&mut self, instruction: &[u8], number: u32) -> Result<(), Refusal> {
        let (copies, hook): (&[u8], _) = match instruction[0] {
            NEW => (&[], Hook::Allocated),
            NEWARRAY | ANEWARRAY => match self.layout.array_copies() {
                2 => (&[DUP, ARRAYLENGTH], Hook::ArrayAllocated),
                _ => (&[DUP, DUP, ARRAYLENGTH], Hook::ArrayAllocated),
            },
            MULTIANEWARRAY => (&[DUP], Hook::MultiAllocated),
            _ if self.class.call(instruction) == Some(true) => (&[DUP], Hook::MultiAllocated),
            _ => (&[DUP], Hook::CallAllocated),
        };
        self.out.extend_from_slice(copies);
        let push = self.wide_push(number)?;
        self.probe(push, hook)
    }

    fn islands<'i>(&mut self, islands: impl Iterator<Item = &'i (usize, Island)>) {
        for (at, island) in islands {
            let offset = i32::from(self.layout.target(island.target)) - *at as i32;
            self.out.push(GOTO_W);
            self.out.extend_from_slice(&offset.to_be_bytes());
        }
    }
}
