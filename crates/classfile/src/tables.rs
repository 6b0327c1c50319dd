//! Writes what follows the code in a `Code` attribute: the exception table, the moved attributes,
//! and all frames.

use std::collections::HashMap;

use crate::class::{Code, Method};
use crate::frames::{Frame, FrameWriter, Type, expand, initial_locals};
use crate::handlers::Ranges;
use crate::reader::{Reader, u2_at};
use crate::relocate::{Exceptions, Island};
use crate::rewrite::Rewriter;
use crate::{Refusal, attributes};

/// An added handler: its new pc, the ranges that it covers, and the type of local 0 in it, if
/// known.
pub(crate) type Handler = (u16, Ranges, Option<Type>);

impl Rewriter<'_, '_> {
    pub(crate) fn exception_table(
        &mut self,
        exceptions: Exceptions<'_>,
        handlers: &[Handler],
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
                layout.range_start(&e),
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

    pub(crate) fn attributes(
        &mut self,
        method: &Method<'_>,
        code: &Code<'_>,
        islands: &[(usize, Island)],
        handlers: &[Handler],
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
                // Dropped, because the JVM does not read it: CLDC and classes before version 50
                // have their frames here.
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

    /// Returns all frames of the method; `None` if it needs none.
    fn frames(
        &mut self,
        method: &Method<'_>,
        table: Option<Reader<'_>>,
        islands: &[(usize, Island)],
        handlers: &[Handler],
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let mut writer = FrameWriter::new();
        // A method of version 50 may lack frames: the JVM then uses the old verifier, which reads
        // none.
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

/// Returns the frame of an island, which is that of its target.
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
