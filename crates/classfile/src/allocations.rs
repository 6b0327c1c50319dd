//! The allocation sites of methods: instructions that create objects, and calls of JDK methods that
//! are known to create them.
//!
//! Such a JDK method is native, or the JIT compilers replace its calls (an intrinsic). So the
//! objects are reported where the method is called, and the method's own code has no sites.

use std::borrow::Cow;

use crate::class::{Class, Method};
use crate::opcodes::*;
use crate::reader::u2_at;
use crate::text::from_modified_utf8;

/// An instruction that creates an object or an array, or a call of a method that does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocationSite<'a> {
    /// The pc of the instruction.
    pub pc: u16,
    /// The source line; 0 if unknown.
    pub line: u16,
    /// What the site creates.
    pub kind: Allocation<'a>,
}

/// What an [`AllocationSite`] creates. A name is empty if the class file is malformed there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Allocation<'a> {
    /// `new`: an object of this class (`java/util/Map$Entry`).
    New {
        /// The class in internal form.
        class: Cow<'a, str>,
    },
    /// `newarray` and `anewarray`: an array with this element type.
    Array {
        /// The descriptor of the element type: `I`, `Ljava/lang/String;`, `[I`.
        element: Cow<'a, str>,
    },
    /// `multianewarray`: an array together with the arrays in it.
    MultiArray {
        /// The descriptor of the array itself: `[[I`.
        class: Cow<'a, str>,
        /// The number of dimensions with a length. The arrays of the last one hold zeros or nulls.
        dimensions: u8,
    },
    /// A call of a method that returns a new object. Only the object itself tells its class.
    Call {
        /// True if the object may be an array whose elements are new arrays.
        multi: bool,
    },
}

/// A JDK method that returns a new object: its class, name and descriptor, and true if the object
/// may be an array of new arrays.
struct AllocatingMethod(&'static [u8], &'static [u8], &'static [u8], bool);

const ALLOCATING_METHODS: [AllocatingMethod; 9] = [
    AllocatingMethod(
        b"java/lang/Object",
        b"clone",
        b"()Ljava/lang/Object;",
        false,
    ),
    AllocatingMethod(
        b"java/util/Arrays",
        b"copyOf",
        b"([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;",
        false,
    ),
    AllocatingMethod(
        b"java/util/Arrays",
        b"copyOfRange",
        b"([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object;",
        false,
    ),
    AllocatingMethod(
        b"java/lang/reflect/Array",
        b"newInstance",
        b"(Ljava/lang/Class;I)Ljava/lang/Object;",
        false,
    ),
    AllocatingMethod(
        b"java/lang/reflect/Array",
        b"newInstance",
        b"(Ljava/lang/Class;[I)Ljava/lang/Object;",
        true,
    ),
    AllocatingMethod(
        b"jdk/internal/misc/Unsafe",
        b"allocateInstance",
        b"(Ljava/lang/Class;)Ljava/lang/Object;",
        false,
    ),
    AllocatingMethod(
        b"jdk/internal/misc/Unsafe",
        b"allocateUninitializedArray0",
        b"(Ljava/lang/Class;I)Ljava/lang/Object;",
        false,
    ),
    AllocatingMethod(b"java/lang/StringUTF16", b"toBytes", b"([CII)[B", false),
    // `toBytes` calls this one.
    AllocatingMethod(b"java/lang/StringUTF16", b"newBytesFor", b"(I)[B", false),
];

impl AllocatingMethod {
    /// Finds the JDK method that a call names by class, name and descriptor. The `clone` of an
    /// array is that of `Object`.
    fn of(class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<&'static AllocatingMethod> {
        let class = match class {
            [b'[', ..] => b"java/lang/Object",
            class => class,
        };
        let is_it =
            |maker: &&AllocatingMethod| (maker.0, maker.1, maker.2) == (class, name, descriptor);
        ALLOCATING_METHODS.iter().find(is_it)
    }
}

impl<'a> Class<'a> {
    /// Returns the allocation sites of one of this class's methods, in the order of its code.
    /// [`Probes::allocations`](crate::Probes::allocations) gives site `k` of the result the number
    /// `first + k`.
    pub fn allocation_sites(&self, method: &Method<'a>) -> Vec<AllocationSite<'a>> {
        let Some(code) = &method.code else {
            return Vec::new();
        };
        if self.is_allocating_method(method) {
            return Vec::new();
        }
        let mut sites = Vec::new();
        let mut pc = 0;
        while let Some(len) = length(code.bytes, pc) {
            if let Some(kind) = self.allocation(&code.bytes[pc..pc + len]) {
                sites.push(AllocationSite {
                    pc: pc as u16,
                    line: 0,
                    kind,
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

    /// Returns true if the objects that the method creates are reported at its calls.
    pub(crate) fn is_allocating_method(&self, method: &Method<'a>) -> bool {
        AllocatingMethod::of(self.name, method.name, method.descriptor).is_some()
    }

    /// Returns the method references in the pool that create objects: the index, and true if the
    /// object may be an array of new arrays.
    fn allocating_calls(&self) -> &[(u16, bool)] {
        self.allocating_calls.get_or_init(|| {
            let maker = |index: u16| {
                let (name, descriptor) = self.pool.member(index)?;
                // Rejects nearly all entries.
                if !ALLOCATING_METHODS.iter().any(|maker| maker.1 == name) {
                    return None;
                }
                let maker = AllocatingMethod::of(self.pool.member_class(index)?, name, descriptor)?;
                Some((index, maker.3))
            };
            (1..self.pool.count()).filter_map(maker).collect()
        })
    }

    /// Returns the pcs of the calls in a method's code that create objects.
    pub(crate) fn allocating_call_sites(&self, code: &[u8]) -> Vec<usize> {
        let mut pcs = Vec::new();
        if self.allocating_calls().is_empty() {
            return pcs;
        }
        let mut pc = 0;
        while let Some(len) = length(code, pc) {
            if self.call(&code[pc..pc + len]).is_some() {
                pcs.push(pc);
            }
            pc += len;
        }
        pcs
    }

    /// Returns `Some` if an instruction is a call that creates an object: `Some(true)` if the
    /// object may be an array of new arrays.
    pub(crate) fn call(&self, instruction: &[u8]) -> Option<bool> {
        if !is_plain_call(instruction[0]) {
            return None;
        }
        let calls = self.allocating_calls();
        let at = calls.binary_search_by_key(&u2_at(instruction, 1), |(index, _)| *index);
        // A virtual call of `clone` on an `Object` is excluded: the receiver's class may override
        // it.
        let call = calls.get(at.ok()?)?;
        let class = self.pool.member_class(call.0)?;
        let is_virtual = instruction[0] == INVOKEVIRTUAL && class == b"java/lang/Object";
        (!is_virtual).then_some(call.1)
    }

    fn allocation(&self, instruction: &[u8]) -> Option<Allocation<'a>> {
        let class = || {
            let name = self.pool.class_name(u2_at(instruction, 1));
            name.map(from_modified_utf8).unwrap_or_default()
        };
        Some(match instruction[0] {
            NEW => Allocation::New { class: class() },
            NEWARRAY => {
                // The type codes of `newarray` are 4 to 11.
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
            MULTIANEWARRAY => Allocation::MultiArray {
                class: class(),
                dimensions: instruction[3],
            },
            _ => Allocation::Call {
                multi: self.call(instruction)?,
            },
        })
    }
}
