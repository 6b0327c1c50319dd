//! Moves the pcs in the attributes of a `Code` attribute. These attributes keep their size, so each
//! is copied and patched in place. Only stack map frames may change their size; `frames` writes
//! them.
//!
//! Unknown attributes are copied: HotSpot does not read them, and no tool looks for them in the
//! class that the JVM runs. Pcs in an unknown attribute are not moved: they remain those of the
//! class file on disk.

use crate::class::skip_element_pairs;
use crate::reader::{Reader, put_u2, u2_at};
use crate::relocate::Layout;
use crate::{ParseError, Refusal};

/// Moves the pcs in `body`, the copied content of the attribute `name`.
pub(crate) fn relocate(name: &[u8], body: &mut [u8], layout: &Layout) -> Result<(), Refusal> {
    match name {
        b"LineNumberTable" => rows(body, 4, |row| {
            let start = layout.row_start(u2_at(row, 0).into());
            put_u2(row, 0, start);
        }),
        b"LocalVariableTable" | b"LocalVariableTypeTable" => {
            rows(body, 10, |row| range(row, 0, layout))
        }
        b"CharacterRangeTable" => rows(body, 14, |row| {
            // Written by javac -Xjcov. The end pc is inclusive.
            let (start, last) = (usize::from(u2_at(row, 0)), usize::from(u2_at(row, 2)));
            put_u2(row, 0, layout.row_start(start));
            put_u2(row, 2, layout.row_end(last + 1).saturating_sub(1));
        }),
        b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
            type_annotations(body, layout)
        }
        _ => Ok(()),
    }
}

/// Calls `each` with every row of a table that begins with a 16-bit count.
fn rows(body: &mut [u8], len: usize, each: impl FnMut(&mut [u8])) -> Result<(), Refusal> {
    let wrong = Refusal::Malformed {
        what: "a table of the wrong length",
        pc: 0,
    };
    let Some((count, table)) = body.split_first_chunk_mut::<2>() else {
        return Err(wrong);
    };
    if table.len() != usize::from(u16::from_be_bytes(*count)) * len {
        return Err(wrong);
    }
    table.chunks_exact_mut(len).for_each(each);
    Ok(())
}

/// Moves a range: a start and a length, two 16-bit fields at `at`.
fn range(bytes: &mut [u8], at: usize, layout: &Layout) {
    let (start, len) = (
        usize::from(u2_at(bytes, at)),
        usize::from(u2_at(bytes, at + 2)),
    );
    let (new_start, new_end) = (layout.row_start(start), layout.row_end(start + len));
    put_u2(bytes, at, new_start);
    put_u2(bytes, at + 2, new_end.saturating_sub(new_start));
}

fn type_annotations(body: &mut [u8], layout: &Layout) -> Result<(), Refusal> {
    // Offsets of the fields to patch: ranges of local variables, and pcs of instructions. They are
    // collected first, because the reader borrows the bytes.
    let (mut ranges, mut offsets) = (Vec::new(), Vec::new());
    let copy = &*body;
    let mut r = Reader::new(copy, 0);
    for _ in 0..r.u2()? {
        let start = r.offset();
        match r.u1()? {
            0x40 | 0x41 => {
                for _ in 0..r.u2()? {
                    ranges.push(r.offset());
                    r.take(6)?;
                }
            }
            // A catch target is an index into the exception table. It stays valid, because added
            // entries follow all others.
            0x42 | 0x10 | 0x17 => _ = r.u2()?,
            0x43..=0x46 => {
                offsets.push(r.offset());
                r.u2()?;
            }
            0x47..=0x4b => {
                offsets.push(r.offset());
                r.take(3)?;
            }
            0x00 | 0x01 | 0x16 => _ = r.u1()?,
            0x11 | 0x12 => _ = r.u2()?,
            0x13..=0x15 => {}
            _ => {
                return Err(ParseError::Malformed {
                    what: "an unknown type annotation target",
                    offset: start,
                }
                .into());
            }
        }
        let path = usize::from(r.u1()?);
        r.take(path * 2)?;
        r.u2()?;
        skip_element_pairs(&mut r)?;
    }
    for at in ranges {
        range(body, at, layout);
    }
    for at in offsets {
        let pc = usize::from(u2_at(body, at));
        if !layout.is_start(pc) {
            return Err(Refusal::Malformed {
                what: "a type annotation of what is no instruction",
                pc,
            });
        }
        put_u2(body, at, layout.instruction(pc));
    }
    Ok(())
}
