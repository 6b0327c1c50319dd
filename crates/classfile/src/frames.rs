//! The `StackMapTable`: every frame moves with its instruction, and some frames are added.
//!
//! The offset of a frame counts from the preceding frame. The locals are encoded as a change of the
//! preceding frame's locals, except in a `full_frame`. Moved frames keep their kind; only their
//! offsets are recomputed.
//!
//! Added frames are full frames. Those of handlers and of islands at the end of the method come
//! last, so they affect no other frame. Islands at the beginning come first; so the frame after
//! them, at the method's old beginning, restores the initial locals.

use std::collections::HashMap;

use crate::Refusal;
use crate::opcodes::field_slots;
use crate::pool::PoolEditor;
use crate::reader::Reader;
use crate::relocate::Layout;

/// A verification type: its tag, and the class or the pc of the `new` instruction if the tag has
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    tag: u8,
    data: u16,
}

impl Type {
    pub(crate) const UNINITIALIZED_THIS: Type = Type::plain(6);
    const UNINITIALIZED: u8 = 8;

    const fn plain(tag: u8) -> Type {
        Type { tag, data: 0 }
    }

    pub(crate) fn object(class: u16) -> Type {
        Type {
            tag: 7,
            data: class,
        }
    }

    fn read(r: &mut Reader<'_>) -> Result<Type, Refusal> {
        match r.u1()? {
            tag @ 0..=6 => Ok(Type::plain(tag)),
            tag @ 7..=8 => Ok(Type { tag, data: r.u2()? }),
            _ => Err(malformed("an unknown type in a stack map frame")),
        }
    }

    /// Returns the type with its pc moved to the new code.
    fn moved(self, layout: &Layout) -> Result<Type, Refusal> {
        match self.tag {
            Self::UNINITIALIZED if !layout.is_start(self.data.into()) => {
                Err(malformed("a stack map frame that names no instruction"))
            }
            Self::UNINITIALIZED => Ok(Type {
                data: layout.instruction(self.data.into()),
                ..self
            }),
            _ => Ok(self),
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        out.push(self.tag);
        if self.tag >= 7 {
            out.extend_from_slice(&self.data.to_be_bytes());
        }
    }
}

fn malformed(what: &'static str) -> Refusal {
    Refusal::Malformed { what, pc: 0 }
}

/// A full frame: the types of locals and stack.
#[derive(Clone, Default)]
pub(crate) struct Frame {
    pub(crate) locals: Vec<Type>,
    pub(crate) stack: Vec<Type>,
}

/// Writes frames in ascending order of pc.
pub(crate) struct FrameWriter {
    out: Vec<u8>,
    count: usize,
    /// The pc of the last frame; -1 before the first one. A frame's offset is its distance from the
    /// pc after `last`; so the first offset is the pc itself.
    last: i32,
}

impl FrameWriter {
    pub(crate) fn new() -> Self {
        FrameWriter {
            out: vec![0, 0],
            count: 0,
            last: -1,
        }
    }

    fn delta(&mut self, pc: u16) -> u16 {
        let delta = i32::from(pc) - self.last - 1;
        self.last = i32::from(pc);
        self.count += 1;
        delta as u16
    }

    /// Writes a frame's tag and offset. A small offset is added to the tag `short`. A larger one
    /// follows the tag `extended`.
    fn short_or_extended(&mut self, pc: u16, short: u8, extended: u8) {
        let delta = self.delta(pc);
        if delta < 64 {
            self.out.push(short + delta as u8);
        } else {
            self.extended(extended, delta);
        }
    }

    fn extended(&mut self, tag: u8, delta: u16) {
        self.out.push(tag);
        self.out.extend_from_slice(&delta.to_be_bytes());
    }

    pub(crate) fn full(&mut self, pc: u16, frame: &Frame) {
        let delta = self.delta(pc);
        self.extended(255, delta);
        for types in [&frame.locals, &frame.stack] {
            self.out
                .extend_from_slice(&(types.len() as u16).to_be_bytes());
            types.iter().for_each(|t| t.write(&mut self.out));
        }
    }

    /// Writes all frames of a `StackMapTable` body, moved to the new code.
    pub(crate) fn moved(&mut self, mut r: Reader<'_>, layout: &Layout) -> Result<(), Refusal> {
        let mut old = -1;
        for _ in 0..r.u2()? {
            let tag = r.u1()?;
            let pc = layout.target(next_pc(&mut old, tag, &mut r, layout)?);
            let mut types = 0;
            match tag {
                0..64 | 251 => self.short_or_extended(pc, 0, 251),
                64..248 => {
                    self.short_or_extended(pc, 64, 247);
                    types = 1;
                }
                248..=254 => {
                    let delta = self.delta(pc);
                    self.extended(tag, delta);
                    types = tag.saturating_sub(251);
                }
                255 => {
                    let delta = self.delta(pc);
                    self.extended(tag, delta);
                    self.counted_types(&mut r, layout)?;
                    self.counted_types(&mut r, layout)?;
                }
            }
            for _ in 0..types {
                Type::read(&mut r)?.moved(layout)?.write(&mut self.out);
            }
        }
        if r.is_empty() {
            Ok(())
        } else {
            Err(malformed("bytes after the stack map frames"))
        }
    }

    fn counted_types(&mut self, r: &mut Reader<'_>, layout: &Layout) -> Result<(), Refusal> {
        let count = r.u2()?;
        self.out.extend_from_slice(&count.to_be_bytes());
        for _ in 0..count {
            Type::read(r)?.moved(layout)?.write(&mut self.out);
        }
        Ok(())
    }

    /// Returns the attribute's body; `None` if there are no frames.
    pub(crate) fn finish(mut self) -> Result<Option<Vec<u8>>, Refusal> {
        let count = u16::try_from(self.count).map_err(|_| Refusal::TooComplex)?;
        self.out[..2].copy_from_slice(&count.to_be_bytes());
        Ok((count > 0).then_some(self.out))
    }
}

/// Reads a frame's offset, after its tag. Returns the frame's old pc.
fn next_pc(old: &mut i32, tag: u8, r: &mut Reader<'_>, layout: &Layout) -> Result<usize, Refusal> {
    let delta = match tag {
        0..64 => u16::from(tag),
        64..128 => u16::from(tag - 64),
        128..247 => return Err(malformed("a stack map frame of an unknown kind")),
        247.. => r.u2()?,
    };
    *old += i32::from(delta) + 1;
    match usize::try_from(*old) {
        Ok(pc) if layout.is_start(pc) => Ok(pc),
        _ => Err(malformed("a stack map frame at no instruction")),
    }
}

/// Fills in the values of `at_pcs`, whose keys are old pcs: the frame at each, as a full frame with
/// moved pcs. `initial` holds the locals at the method's start.
pub(crate) fn expand(
    table: Option<Reader<'_>>,
    initial: &[Type],
    at_pcs: &mut HashMap<usize, Option<Frame>>,
    layout: &Layout,
) -> Result<(), Refusal> {
    /// The maximum number of types stored, against classes made to waste memory.
    const MAX_TYPES: usize = 1 << 20;
    let Some(mut r) = table else { return Ok(()) };
    let mut kept = 0;
    let mut frame = Frame {
        locals: initial.to_vec(),
        stack: Vec::new(),
    };
    let mut old = -1;
    for _ in 0..r.u2()? {
        let tag = r.u1()?;
        let pc = next_pc(&mut old, tag, &mut r, layout)?;
        frame.stack.clear();
        match tag {
            0..64 | 251 => {}
            64..248 => read_types(1, &mut r, &mut frame.stack, layout)?,
            248..=250 => {
                let left = frame.locals.len().checked_sub(usize::from(251 - tag));
                frame.locals.truncate(
                    left.ok_or(malformed("a stack map frame that takes too many locals"))?,
                );
            }
            252..=254 => read_types(u16::from(tag - 251), &mut r, &mut frame.locals, layout)?,
            255 => {
                frame.locals.clear();
                let locals = r.u2()?;
                read_types(locals, &mut r, &mut frame.locals, layout)?;
                let stack = r.u2()?;
                read_types(stack, &mut r, &mut frame.stack, layout)?;
            }
        }
        if let Some(found) = at_pcs.get_mut(&pc) {
            kept += frame.locals.len() + frame.stack.len();
            if kept > MAX_TYPES || frame.locals.len() > usize::from(u16::MAX) {
                return Err(Refusal::TooComplex);
            }
            *found = Some(frame.clone());
        }
    }
    Ok(())
}

fn read_types(
    count: u16,
    r: &mut Reader<'_>,
    to: &mut Vec<Type>,
    layout: &Layout,
) -> Result<(), Refusal> {
    for _ in 0..count {
        to.push(Type::read(r)?.moved(layout)?);
    }
    Ok(())
}

/// Returns the types of the locals at a method's start.
pub(crate) fn initial_locals(
    pool: &mut PoolEditor<'_, '_>,
    this: Option<Type>,
    descriptor: &[u8],
) -> Result<Vec<Type>, Refusal> {
    let broken = malformed("a broken method descriptor");
    let mut locals: Vec<Type> = this.into_iter().collect();
    let Some(mut rest) = descriptor.strip_prefix(b"(") else {
        return Err(broken);
    };
    while !rest.starts_with(b")") {
        let Some((_, len)) = field_slots(rest) else {
            return Err(broken);
        };
        let (field, tail) = rest.split_at(len);
        locals.push(match field[0] {
            b'F' => Type::plain(2),
            b'D' => Type::plain(3),
            b'J' => Type::plain(4),
            b'L' => Type::object(pool.class(&field[1..len - 1])?),
            b'[' => Type::object(pool.class(field)?),
            _ => Type::plain(1),
        });
        rest = tail;
    }
    Ok(locals)
}
