//! Puts probes into methods.
//!
//! A class is written in one pass: the untouched bytes between rewritten `Code` attributes are copied, the pool's
//! new entries are collected on the way and put between the old pool and the rest at the end.

use std::collections::HashMap;

use crate::class::{Class, Code, Method};
use crate::frames::{Frame, FrameWriter, Type, expand, initial_locals};
use crate::handlers::{self, Ranges};
use crate::opcodes::*;
use crate::pool::PoolEditor;
use crate::prologue::{self, BEFORE, BEHIND, Prologue};
use crate::reader::{Reader, put_u4, u2_at};
use crate::relocate::*;
use crate::{Refusal, attributes};

/// The hook methods: all are `static (I)V` methods of one class, and get the method's id.
#[derive(Clone, Copy, Debug)]
pub struct Hooks<'a> {
    /// The class in internal form. It must be visible from every class that is instrumented.
    pub class: &'a str,
    /// Called at a method's entry.
    pub enter: &'a str,
    /// Called before each return.
    pub leave: &'a str,
    /// Called when an exception leaves the method.
    pub leave_by_exception: &'a str,
    /// Called when a handler of the method has caught an exception.
    pub caught: &'a str,
    /// Called in a constructor right before the call of `this()` or `super()`.
    pub super_call: &'a str,
    /// Called in a constructor right behind that call.
    pub super_returned: &'a str,
}

/// What [`instrument`] has made.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The new class file; equal to the old one if no method was rewritten.
    pub bytes: Vec<u8>,
    /// For each method that got an id: its index in [`Class::methods`], and whether it was rewritten.
    pub outcomes: Vec<(usize, Result<SuperMarks, Refusal>)>,
}

/// Which hooks stand around the `this()` or `super()` call of a rewritten constructor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SuperMarks {
    /// None: no constructor, or one that calls `Object`'s.
    #[default]
    None,
    /// [`Hooks::super_returned`] only: nothing before the call can run other code.
    Behind,
    /// [`Hooks::super_call`] as well.
    Around,
}

/// Puts probes into each method for which `id_of` gives an id, which the probes hand to the hooks (as an `int` with the
/// same bits).
///
/// # Errors
/// Only if a hook's name is too long for a class file. Methods that cannot be rewritten are listed in
/// [`Rewritten::outcomes`] and stay as they were.
pub fn instrument(
    class: &Class<'_>,
    hooks: &Hooks<'_>,
    mut id_of: impl FnMut(usize, &Method<'_>) -> Option<u32>,
) -> Result<Rewritten, Refusal> {
    let Hooks {
        class: owner,
        enter,
        leave,
        leave_by_exception,
        caught,
        super_call,
        super_returned,
    } = *hooks;
    // Modified UTF-8 takes at most two bytes where UTF-8 takes one.
    let names = [
        owner,
        enter,
        leave,
        leave_by_exception,
        caught,
        super_call,
        super_returned,
    ];
    if names
        .iter()
        .any(|name| name.len() > usize::from(u16::MAX) / 2)
    {
        return Err(Refusal::HookName);
    }
    let mut rewriter = Rewriter {
        class,
        pool: PoolEditor::new(&class.pool),
        owner,
        hooks: [
            enter,
            leave,
            leave_by_exception,
            caught,
            super_call,
            super_returned,
        ]
        .map(|name| (name, None)),
        layout: Layout::default(),
        out: Vec::with_capacity(class.bytes.len() + class.bytes.len() / 4),
        copied: class.pool.end(),
    };
    let mut outcomes = Vec::new();
    for (index, method) in class.methods.iter().enumerate() {
        if let Some(id) = id_of(index, method) {
            outcomes.push((index, rewriter.method(method, id)));
        }
    }
    Ok(Rewritten {
        bytes: rewriter.finish(),
        outcomes,
    })
}

/// Indices into [`Rewriter::hooks`].
#[derive(Clone, Copy)]
enum Hook {
    Enter,
    Leave,
    LeaveByException,
    Caught,
    SuperCall,
    SuperReturned,
}

struct Rewriter<'r, 'a> {
    class: &'r Class<'a>,
    pool: PoolEditor<'r, 'a>,
    owner: &'r str,
    /// The hooks' names, and their pool indices once they are needed.
    hooks: [(&'r str, Option<u16>); 6],
    layout: Layout,
    /// Everything behind the pool.
    out: Vec<u8>,
    /// How much of the old class is in `out` (or replaced there).
    copied: usize,
}

/// The instruction that pushes a method's id.
#[derive(Clone, Copy)]
struct Push {
    bytes: [u8; 3],
    len: usize,
}

impl Push {
    /// The length of a probe: the push and an `invokestatic`.
    fn probe(self) -> usize {
        self.len + 3
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

    /// Rewrites a method, or changes nothing.
    fn method(&mut self, method: &Method<'_>, id: u32) -> Result<SuperMarks, Refusal> {
        let Some(code) = &method.code else {
            return Err(Refusal::NoCode);
        };
        if code.bytes == [RETURN] && method.name == b"finalize" && method.descriptor == b"()V" {
            return Err(Refusal::EmptyFinalizer);
        }
        let (pool, out, copied) = (self.pool.checkpoint(), self.out.len(), self.copied);
        let outcome = self.code(method, code, id);
        if outcome.is_err() {
            self.pool.roll_back(pool);
            let count = self.pool.count();
            self.hooks
                .iter_mut()
                .for_each(|(_, index)| *index = index.filter(|&index| index < count));
            self.out.truncate(out);
            self.copied = copied;
        }
        outcome
    }

    fn code(
        &mut self,
        method: &Method<'_>,
        code: &Code<'_>,
        id: u32,
    ) -> Result<SuperMarks, Refusal> {
        let old = code.bytes;
        self.layout.scan(old)?;
        let exceptions = Exceptions::check(code.exceptions, &self.layout.marks)?;
        let is_constructor = method.name == b"<init>" && self.class.super_name.is_some();
        let prologue = match is_constructor {
            true => Some(prologue::analyze(
                &self.class.pool,
                old,
                &self.layout.marks,
                exceptions,
            )?),
            false => None,
        };
        let marks = match &prologue {
            Some(prologue) => self.mark_super_calls(prologue, old),
            None => SuperMarks::None,
        };
        if exceptions.len() > 0 {
            let handlers = handlers::caught(old, exceptions);
            let wanted = |&pc: &usize| {
                prologue
                    .as_ref()
                    .is_none_or(|p| p.states[pc] & (BEFORE | BEHIND) == BEHIND)
            };
            self.layout
                .mark(handlers.into_iter().filter(wanted), CAUGHT);
        }
        let push = self.push(id)?;
        self.layout.place(old, push.probe())?;

        self.out
            .extend_from_slice(&self.class.bytes[self.copied..code.span.start + 2]);
        self.copied = code.span.end;
        let length_at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        // At most one slot more than before; in a handler the exception and the id.
        let max_stack = code
            .max_stack
            .checked_add(1)
            .ok_or(Refusal::TableFull("stack slot"))?
            .max(2);
        self.out.extend_from_slice(&max_stack.to_be_bytes());
        self.out.extend_from_slice(&code.max_locals.to_be_bytes());
        self.out.extend_from_slice(&[0; 4]);
        let start = self.out.len();
        let islands = self.layout.placed_islands();
        self.body(old, push, &islands, start)?;

        let (before, behind) = match &prologue {
            Some(prologue) => (
                handlers::ranges_in(&self.layout, prologue, BEFORE),
                handlers::ranges_in(&self.layout, prologue, BEHIND),
            ),
            None => (Vec::new(), handlers::ranges(&self.layout, old.len())),
        };
        let mut handlers = Vec::with_capacity(2);
        for (ranges, this) in [(before, Some(Type::UNINITIALIZED_THIS)), (behind, None)] {
            if !ranges.is_empty() {
                handlers.push(((self.out.len() - start) as u16, ranges, this));
                self.probe(push, Hook::LeaveByException)?;
                self.out.push(ATHROW);
            }
        }
        let len = self.out.len() - start;
        if len > MAX_CODE {
            return Err(Refusal::CodeTooLarge);
        }
        put_u4(&mut self.out, start - 4, len as u32);
        self.exception_table(exceptions, &handlers)?;
        self.attributes(method, code, &islands, &handlers)?;
        let len = self.out.len() - length_at - 4;
        put_u4(&mut self.out, length_at, len as u32);
        Ok(marks)
    }

    /// Marks the places around `this()` and `super()`, where marks are called for.
    fn mark_super_calls(&mut self, prologue: &Prologue, code: &[u8]) -> SuperMarks {
        let is_told = |index: u16| {
            let owner = self.class.pool.member_class(index);
            owner == Some(self.class.name) || self.class.super_name != Some(b"java/lang/Object")
        };
        let calls = || {
            prologue
                .calls
                .iter()
                .filter(|(_, index)| is_told(*index))
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
            (Some(_), false) => SuperMarks::Behind,
            (Some(_), true) => SuperMarks::Around,
        }
    }

    fn push(&mut self, id: u32) -> Result<Push, Refusal> {
        let value = id as i32;
        let [.., high, low] = value.to_be_bytes();
        let (bytes, len) = match value {
            0..=5 => ([ICONST_0 + low, 0, 0], 1),
            -128..=127 => ([BIPUSH, low, 0], 2),
            -32768..=32767 => ([SIPUSH, high, low], 3),
            _ => match self.pool.integer(value)?.to_be_bytes() {
                [0, index] => ([LDC, index, 0], 2),
                [high, low] => ([LDC_W, high, low], 3),
            },
        };
        Ok(Push { bytes, len })
    }

    fn probe(&mut self, push: Push, hook: Hook) -> Result<(), Refusal> {
        let (name, index) = &mut self.hooks[hook as usize];
        let index = match index {
            Some(index) => *index,
            None => *index.insert(self.pool.method(self.owner, name, "(I)V")?),
        };
        self.out.extend_from_slice(&push.bytes[..push.len]);
        self.out.push(INVOKESTATIC);
        self.out.extend_from_slice(&index.to_be_bytes());
        Ok(())
    }

    /// Writes the islands, the original code and the probes in it.
    fn body(
        &mut self,
        old: &[u8],
        push: Push,
        islands: &[(usize, Island)],
        start: usize,
    ) -> Result<(), Refusal> {
        let prefix = self.layout.prefix();
        if prefix > 0 {
            self.out.push(GOTO_W);
            self.out.extend_from_slice(&(prefix as u32).to_be_bytes());
        }
        self.islands(islands.iter().filter(|(at, _)| *at < prefix));
        self.probe(push, Hook::Enter)?;
        let mut copied = 0;
        for at in 0..self.layout.sites.len() {
            let pc = self.layout.sites[at];
            self.out.extend_from_slice(&old[copied..pc]);
            copied = pc;
            let mark = self.layout.marks[pc];
            for (flag, hook) in [
                (SUPER_RETURNED, Hook::SuperReturned),
                (CAUGHT, Hook::Caught),
                (SUPER_CALL, Hook::SuperCall),
                (LEAVE, Hook::Leave),
            ] {
                if mark & flag != 0 {
                    self.probe(push, hook)?;
                }
            }
            if is_jump(old[pc]) || is_switch(old[pc]) {
                write_jump(&self.layout, old, pc, islands, &mut self.out, start)?;
                copied += length(old, pc).unwrap_or(1);
            }
        }
        self.out.extend_from_slice(&old[copied..]);
        self.islands(islands.iter().filter(|(at, _)| *at >= prefix));
        debug_assert_eq!(self.out.len() - start, self.layout.islands_end());
        Ok(())
    }

    fn islands<'i>(&mut self, islands: impl Iterator<Item = &'i (usize, Island)>) {
        for (at, island) in islands {
            let offset = i32::from(self.layout.target(island.target)) - *at as i32;
            self.out.push(GOTO_W);
            self.out.extend_from_slice(&offset.to_be_bytes());
        }
    }

    fn exception_table(
        &mut self,
        exceptions: Exceptions<'_>,
        handlers: &[(u16, Ranges, Option<Type>)],
    ) -> Result<(), Refusal> {
        let ours: usize = handlers.iter().map(|(_, ranges, _)| ranges.len()).sum();
        let count = u16::try_from(exceptions.len() + ours)
            .map_err(|_| Refusal::TableFull("exception handler"))?;
        self.out.extend_from_slice(&count.to_be_bytes());
        let mut entry = |fields: [u16; 4]| {
            self.out
                .extend(fields.into_iter().flat_map(u16::to_be_bytes))
        };
        let layout = &self.layout;
        for e in exceptions.iter() {
            entry([
                layout.target(e.start),
                layout.before(e.end),
                layout.target(e.handler),
                e.catch_type,
            ]);
        }
        for (handler, ranges, _) in handlers {
            for &(start, end) in ranges {
                entry([start, end, *handler, 0]);
            }
        }
        Ok(())
    }

    fn attributes(
        &mut self,
        method: &Method<'_>,
        code: &Code<'_>,
        islands: &[(usize, Island)],
        handlers: &[(u16, Ranges, Option<Type>)],
    ) -> Result<(), Refusal> {
        let pool = &self.class.pool;
        let count_at = self.out.len();
        self.out.extend_from_slice(&[0; 2]);
        let mut count = 0;
        let mut frames: Option<(u16, Reader<'_>)> = None;
        let mut r = Reader::new(code.attributes, 0);
        for _ in 0..code.attribute_count {
            let header = r.take(6)?;
            let len = u32::from_be_bytes([header[2], header[3], header[4], header[5]]) as usize;
            let body = r.sub(len)?;
            let name = pool.utf8(u2_at(header, 0)).unwrap_or_default();
            match name {
                // Frames of CLDC and of classes before version 50 are not read by the JVM: they go.
                b"StackMap" => {}
                b"StackMapTable" if frames.is_some() => {
                    return Err(Refusal::Malformed {
                        what: "a second StackMapTable",
                        pc: 0,
                    });
                }
                b"StackMapTable" => frames = Some((u2_at(header, 0), body)),
                _ => {
                    count += 1;
                    self.out.extend_from_slice(header);
                    let at = self.out.len();
                    self.out.extend_from_slice(body.rest());
                    attributes::relocate(name, &mut self.out[at..], &self.layout)?;
                }
            }
        }
        if self.class.major >= 50 {
            let name = frames.as_ref().map(|(name, _)| *name);
            let table = self.frames(method, frames.map(|(_, body)| body), islands, handlers)?;
            if let Some(table) = table {
                let name = match name {
                    Some(name) => name,
                    None => self.pool.stack_map_table()?,
                };
                count += 1;
                self.out.extend_from_slice(&name.to_be_bytes());
                self.out
                    .extend_from_slice(&(table.len() as u32).to_be_bytes());
                self.out.extend_from_slice(&table);
            }
        }
        let count = u16::try_from(count).map_err(|_| Refusal::TableFull("attribute"))?;
        self.out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }

    /// All frames of the method; none if it needs none.
    fn frames(
        &mut self,
        method: &Method<'_>,
        table: Option<Reader<'_>>,
        islands: &[(usize, Island)],
        handlers: &[(u16, Ranges, Option<Type>)],
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let mut writer = FrameWriter::new();
        // A method of version 50 may do without frames: then the old verifier takes over, which reads none.
        let with_islands = !islands.is_empty() && (table.is_some() || self.class.major > 50);
        let mut at_targets = HashMap::new();
        if with_islands {
            let this = match method.name {
                _ if method.is_static() => None,
                b"<init>" if self.class.super_name.is_some() => Some(Type::UNINITIALIZED_THIS),
                _ => Some(Type::object(self.class.this_class)),
            };
            let locals = initial_locals(&mut self.pool, this, method.descriptor)?;
            at_targets = islands
                .iter()
                .map(|(_, island)| (island.target, None))
                .collect();
            expand(table.clone(), &locals, &mut at_targets, &self.layout)?;
            let prefix = self.layout.prefix();
            for (at, island) in islands.iter().filter(|(at, _)| *at < prefix) {
                writer.full(*at as u16, frame_at(&at_targets, island)?);
            }
            if prefix > 0 {
                writer.full(
                    prefix as u16,
                    &Frame {
                        locals,
                        stack: Vec::new(),
                    },
                );
            }
        }
        if let Some(table) = table {
            writer.moved(table, &self.layout)?;
        }
        if with_islands {
            for (at, island) in islands
                .iter()
                .filter(|(at, _)| *at >= self.layout.body_end())
            {
                writer.full(*at as u16, frame_at(&at_targets, island)?);
            }
        }
        for (handler, _, this) in handlers {
            let throwable = Type::object(self.pool.throwable()?);
            writer.full(
                *handler,
                &Frame {
                    locals: this.iter().copied().collect(),
                    stack: vec![throwable],
                },
            );
        }
        writer.finish()
    }
}

/// An island has the frame of the instruction that it leads to.
fn frame_at<'f>(
    frames: &'f HashMap<usize, Option<Frame>>,
    island: &Island,
) -> Result<&'f Frame, Refusal> {
    // Every jump target has a frame, unless the code does not verify.
    let missing = Refusal::Malformed {
        what: "a jump target without a stack map frame",
        pc: island.target,
    };
    frames
        .get(&island.target)
        .and_then(Option::as_ref)
        .ok_or(missing)
}
