//! The places where a method creates objects.

use std::borrow::Cow;

use crate::class::{Class, Method};
use crate::mutf8;
use crate::opcodes::*;
use crate::reader::u2_at;

/// An instruction that creates an object or an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocationSite<'a> {
    /// Its pc.
    pub pc: u16,
    /// Its source line; 0 if unknown.
    pub line: u16,
    /// What it creates.
    pub kind: Allocation<'a>,
}

/// What an [`AllocationSite`] creates. A name is empty if the class file is broken there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Allocation<'a> {
    /// `new`: an object of this class (`java/util/Map$Entry`).
    New {
        /// In internal form.
        class: Cow<'a, str>,
    },
    /// `newarray` and `anewarray`: an array with elements of this type.
    Array {
        /// A descriptor: `I`, `Ljava/lang/String;`, `[I`.
        element: Cow<'a, str>,
    },
    /// `multianewarray`: an array, and the arrays in it, to some depth.
    MultiArray {
        /// The array's own descriptor: `[[I`.
        class: Cow<'a, str>,
        /// How many dimensions get a length; the arrays of the last of them hold zeros or nulls.
        dimensions: u8,
    },
}

impl<'a> Class<'a> {
    /// The allocation sites of one of this class's methods, in the order of its code: site `k` of these is the one that
    /// [`Probes::allocations`](crate::Probes::allocations) gives the number `first + k`.
    pub fn allocation_sites(&self, method: &Method<'a>) -> Vec<AllocationSite<'a>> {
        let Some(code) = &method.code else {
            return Vec::new();
        };
        let mut sites = Vec::new();
        let mut pc = 0;
        while let Some(len) = length(code.bytes, pc) {
            if is_allocation(code.bytes[pc]) {
                sites.push(AllocationSite {
                    pc: pc as u16,
                    line: 0,
                    kind: self.allocation(&code.bytes[pc..pc + len]),
                });
            }
            pc += len;
        }
        if !sites.is_empty() {
            let lines = code.lines.lines_at(sites.iter().map(|site| site.pc.into()));
            for (site, line) in sites.iter_mut().zip(lines) {
                site.line = line;
            }
        }
        sites
    }

    fn allocation(&self, instruction: &[u8]) -> Allocation<'a> {
        let class = || {
            let name = self.pool.class_name(u2_at(instruction, 1));
            name.map(mutf8::decode).unwrap_or_default()
        };
        match instruction[0] {
            NEW => Allocation::New { class: class() },
            NEWARRAY => {
                // The codes of the types are 4 to 11.
                const ELEMENTS: [&str; 8] = ["Z", "C", "F", "D", "B", "S", "I", "J"];
                let index = usize::from(instruction[1]).wrapping_sub(4);
                let element = ELEMENTS.get(index).copied().unwrap_or_default();
                Allocation::Array {
                    element: element.into(),
                }
            }
            ANEWARRAY => {
                let class = class();
                let is_plain = !class.is_empty() && !class.starts_with('[');
                Allocation::Array {
                    element: match is_plain {
                        true => format!("L{class};").into(),
                        false => class,
                    },
                }
            }
            _ => Allocation::MultiArray {
                class: class(),
                dimensions: instruction[3],
            },
        }
    }
}
