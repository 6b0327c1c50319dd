//! A parsed view of a class file. All lengths are checked, and nothing is copied.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use crate::ParseError;
use crate::lines::LineTables;
use crate::pool::Pool;
use crate::reader::{Reader, u2_at};
use crate::text::from_modified_utf8;
use simd_cesu8::mutf8;

const MAGIC: u32 = 0xcafe_babe;
const ACC_STATIC: u16 = 0x0008;

/// A parsed class file, which borrows its bytes.
pub struct Class<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pool: Pool<'a>,
    pub(crate) major: u16,
    access: u16,
    pub(crate) this_class: u16,
    pub(crate) name: &'a [u8],
    pub(crate) super_name: Option<&'a [u8]>,
    source_file: Option<&'a [u8]>,
    pub(crate) methods: Vec<Method<'a>>,
    /// The result of `allocating_calls`, filled on first use.
    pub(crate) allocating_calls: OnceLock<Vec<(u16, bool)>>,
}

/// A method of a [`Class`].
pub struct Method<'a> {
    access: u16,
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
    pub(crate) code: Option<Code<'a>>,
    /// The descriptors of the annotations, both visible and invisible at run time.
    annotations: Vec<&'a [u8]>,
}

/// A `Code` attribute.
pub(crate) struct Code<'a> {
    /// The offsets of the whole attribute in the file, with its header.
    pub(crate) span: Range<usize>,
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    pub(crate) bytes: &'a [u8],
    /// The exception table, eight bytes per entry: start, end, handler, catch type.
    pub(crate) exceptions: &'a [u8],
    pub(crate) attribute_count: u16,
    /// The attributes, without their count.
    pub(crate) attributes: &'a [u8],
    pub(crate) lines: LineTables<'a>,
}

impl Code<'_> {
    /// Returns the file offset of the exception table's first entry. It follows the attribute's
    /// name and length, two sizes, the code and its length, and the table's count.
    pub(crate) fn exceptions_at(&self) -> usize {
        self.span.start + 2 + 4 + 2 + 2 + 4 + self.bytes.len() + 2
    }
}

impl<'a> Class<'a> {
    /// Parses a class file. Checks the pool, the fields, the methods, and the length of every
    /// attribute, but not the instructions.
    ///
    /// # Errors
    /// If the bytes are not a class file, are truncated, or continue after the end of the class.
    pub fn parse(bytes: &'a [u8]) -> Result<Class<'a>, ParseError> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(ParseError::Malformed {
                what: "a class of 4 GiB or more",
                offset: 0,
            });
        }
        let mut r = Reader::new(bytes, 0);
        if r.u4()? != MAGIC {
            return Err(ParseError::NotAClass);
        }
        let _minor = r.u2()?;
        let major = r.u2()?;
        let pool = Pool::parse(bytes, &mut r)?;
        let header = r.offset();
        let access = r.u2()?;
        let this_class = r.u2()?;
        let super_class = r.u2()?;
        let malformed = |what| ParseError::Malformed {
            what,
            offset: header,
        };
        let name = pool
            .class_name(this_class)
            .ok_or(malformed("a class without a name"))?;
        let super_name = match super_class {
            0 => None,
            index => Some(
                pool.class_name(index)
                    .ok_or(malformed("a superclass without a name"))?,
            ),
        };
        let interfaces = usize::from(r.u2()?);
        r.take(interfaces * 2)?;
        for _ in 0..r.u2()? {
            r.take(6)?;
            for_each_attribute(&pool, &mut r, |_, _, _| Ok(()))?;
        }
        let count = r.u2()?;
        let mut methods = Vec::with_capacity(usize::from(count).min(bytes.len() / 8));
        for _ in 0..count {
            methods.push(Method::parse(&pool, &mut r)?);
        }
        let mut source_file = None;
        for_each_attribute(&pool, &mut r, |name, _, mut body| {
            if name == b"SourceFile" {
                source_file = pool.utf8(body.u2()?);
            }
            Ok(())
        })?;
        if !r.is_empty() {
            return Err(ParseError::TrailingBytes { offset: r.offset() });
        }
        Ok(Class {
            bytes,
            pool,
            major,
            access,
            this_class,
            name,
            super_name,
            source_file,
            methods,
            allocating_calls: OnceLock::new(),
        })
    }

    /// Returns the major version: 45 is Java 1.1, 69 is Java 25.
    pub fn major_version(&self) -> u16 {
        self.major
    }

    /// Returns the class's access flags, as in the file.
    pub fn access_flags(&self) -> u16 {
        self.access
    }

    /// Returns the class's name in internal form, such as `java/util/Map$Entry`.
    pub fn name(&self) -> Cow<'_, str> {
        from_modified_utf8(self.name)
    }

    /// Returns the superclass's name in internal form; `None` for `java/lang/Object` and
    /// `module-info`.
    pub fn super_name(&self) -> Option<Cow<'_, str>> {
        self.super_name.map(from_modified_utf8)
    }

    /// Returns the source file's name, from the `SourceFile` attribute.
    pub fn source_file(&self) -> Option<Cow<'_, str>> {
        self.source_file.map(from_modified_utf8)
    }

    /// Returns the methods in the order of the file.
    pub fn methods(&self) -> &[Method<'a>] {
        &self.methods
    }
}

impl<'a> Method<'a> {
    fn parse(pool: &Pool<'a>, r: &mut Reader<'a>) -> Result<Method<'a>, ParseError> {
        let offset = r.offset();
        let access = r.u2()?;
        let malformed = |what| ParseError::Malformed { what, offset };
        let name = pool
            .utf8(r.u2()?)
            .ok_or(malformed("a method without a name"))?;
        let descriptor = pool
            .utf8(r.u2()?)
            .ok_or(malformed("a method without a descriptor"))?;
        let mut method = Method {
            access,
            name,
            descriptor,
            code: None,
            annotations: Vec::new(),
        };
        for_each_attribute(pool, r, |name, start, body| {
            match name {
                b"Code" if method.code.is_some() => {
                    return Err(ParseError::Malformed {
                        what: "a second Code attribute",
                        offset: start,
                    });
                }
                b"Code" => method.code = Some(Code::parse(pool, start, body)?),
                b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations" => {
                    // A malformed annotation is ignored. The JVM also ignores it until a program
                    // asks for it.
                    let _ = annotation_types(pool, body, &mut method.annotations);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(method)
    }

    /// Returns the method's name, such as `run` or `<init>`.
    pub fn name(&self) -> Cow<'_, str> {
        from_modified_utf8(self.name)
    }

    /// Returns the method's descriptor, such as `(ILjava/lang/String;)V`.
    pub fn descriptor(&self) -> Cow<'_, str> {
        from_modified_utf8(self.descriptor)
    }

    /// Returns the method's access flags, as in the file.
    pub fn access_flags(&self) -> u16 {
        self.access
    }

    /// Returns true if the method has bytecode: it is neither abstract nor native.
    pub fn has_code(&self) -> bool {
        self.code.is_some()
    }

    /// Returns the length of the bytecode in bytes; 0 without code.
    pub fn code_len(&self) -> usize {
        self.code.as_ref().map_or(0, |code| code.bytes.len())
    }

    /// Returns the smallest and the largest source line in the `LineNumberTable`.
    pub fn lines(&self) -> Option<(u16, u16)> {
        let mut lines = self.line_entries().map(|entry| entry.line);
        let first = lines.next()?;
        Some(lines.fold((first, first), |(low, high), line| {
            (low.min(line), high.max(line))
        }))
    }

    /// Returns true if the method has an annotation of this type, visible at run time or not. The
    /// type is a descriptor such as `Ljdk/internal/vm/annotation/IntrinsicCandidate;`.
    pub fn has_annotation(&self, descriptor: &str) -> bool {
        !self.annotations.is_empty() && self.annotations.contains(&&*mutf8::encode(descriptor))
    }

    pub(crate) fn is_static(&self) -> bool {
        self.access & ACC_STATIC != 0
    }
}

impl<'a> Code<'a> {
    fn parse(pool: &Pool<'a>, start: usize, mut r: Reader<'a>) -> Result<Code<'a>, ParseError> {
        let max_stack = r.u2()?;
        let max_locals = r.u2()?;
        let offset = r.offset();
        let len = r.u4()? as usize;
        if len == 0 || len > usize::from(u16::MAX) {
            return Err(ParseError::Malformed {
                what: "a code length of 0 or over 65535",
                offset,
            });
        }
        let bytes = r.take(len)?;
        let handlers = usize::from(r.u2()?);
        let exceptions = r.take(handlers * 8)?;
        let attribute_count = u2_at(r.clone().take(2)?, 0);
        let attributes = &r.rest()[2..];
        let mut lines = LineTables::default();
        for_each_attribute(pool, &mut r, |name, _, mut body| {
            if name == b"LineNumberTable" {
                let count = usize::from(body.u2()?);
                lines.add(body.take(count * 4)?);
            }
            Ok(())
        })?;
        if !r.is_empty() {
            return Err(ParseError::Malformed {
                what: "bytes after the attributes of a method",
                offset: r.offset(),
            });
        }
        let span = start..r.offset();
        Ok(Code {
            span,
            max_stack,
            max_locals,
            bytes,
            exceptions,
            attribute_count,
            attributes,
            lines,
        })
    }
}

/// Reads an attribute count and that many attributes. Passes each one's name, header offset and
/// body to `each`.
pub(crate) fn for_each_attribute<'a>(
    pool: &Pool<'a>,
    r: &mut Reader<'a>,
    mut each: impl FnMut(&'a [u8], usize, Reader<'a>) -> Result<(), ParseError>,
) -> Result<(), ParseError> {
    for _ in 0..r.u2()? {
        let start = r.offset();
        let name = pool.utf8(r.u2()?);
        let name = name.ok_or(ParseError::Malformed {
            what: "an attribute without a name",
            offset: start,
        })?;
        let len = r.u4()? as usize;
        each(name, start, r.sub(len)?)?;
    }
    Ok(())
}

fn annotation_types<'a>(
    pool: &Pool<'a>,
    mut r: Reader<'a>,
    types: &mut Vec<&'a [u8]>,
) -> Result<(), ParseError> {
    for _ in 0..r.u2()? {
        let index = r.u2()?;
        types.extend(pool.utf8(index));
        skip_element_pairs(&mut r)?;
    }
    Ok(())
}

/// Skips `num_element_value_pairs` and the pairs, at any nesting depth. Iterative, so that a
/// hostile file can't overflow the stack.
pub(crate) fn skip_element_pairs(r: &mut Reader<'_>) -> Result<(), ParseError> {
    // For each level: the number of elements left, and whether they have names.
    let mut levels = vec![(r.u2()?, true)];
    while let Some((left, named)) = levels.last_mut() {
        if *left == 0 {
            levels.pop();
            continue;
        }
        *left -= 1;
        if *named {
            r.u2()?;
        }
        let offset = r.offset();
        match r.u1()? {
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => _ = r.u2()?,
            b'e' => _ = r.u4()?,
            b'@' => {
                r.u2()?;
                levels.push((r.u2()?, true));
            }
            b'[' => levels.push((r.u2()?, false)),
            _ => {
                return Err(ParseError::Malformed {
                    what: "an unknown annotation value",
                    offset,
                });
            }
        }
    }
    Ok(())
}
