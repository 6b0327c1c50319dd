//! Compiled code, as the JVM's CompiledMethodLoad event describes it, with the compiler's records
//! (`jvmticmlr.h`).

use super::method::Method;
use jni::sys::{jint, jmethodID};
use jvmti_sys::jvmtiAddrLocationMap;
use std::ffi::c_void;

/// Most instructions that are looked at, and most frames of one: beyond, the records can't be true.
const MOST_PLACES: usize = 1 << 20;
const MOST_FRAMES: usize = 1024;

/// `jvmtiCompiledMethodLoadRecordHeader`.
#[repr(C)]
struct Header {
    kind: jint,
    major: jint,
    minor: jint,
    next: *const Header,
}

/// `jvmtiCompiledMethodLoadInlineRecord`.
#[repr(C)]
struct InlineRecord {
    header: Header,
    count: jint,
    places: *const PcLocation,
}

/// `PCStackInfo`.
#[repr(C)]
struct PcLocation {
    pc: *const c_void,
    count: jint,
    methods: *const jmethodID,
    locations: *const jint,
}

/// The compiled code of a method, while the JVM reports it.
pub struct CompiledCode<'c> {
    method: Method,
    address: u64,
    size: u32,
    map: &'c [jvmtiAddrLocationMap],
    places: Option<&'c [PcLocation]>,
}

impl<'c> CompiledCode<'c> {
    /// The code that a CompiledMethodLoad event describes by these arguments.
    ///
    /// # Safety
    /// The JVM passed the arguments to the callback of that event, which does not return during
    /// `'c`.
    pub unsafe fn new(
        method: jmethodID,
        size: jint,
        address: *const c_void,
        (map, map_length): (*const jvmtiAddrLocationMap, jint),
        records: *const c_void,
    ) -> Self {
        // SAFETY: the JVM passed the id, an array of that length, and records of the compiler's or
        // null, all of which are valid until the callback returns.
        unsafe {
            let inlined = inline_record(records.cast());
            Self {
                method: Method::new(method),
                address: address.addr() as u64,
                size: u32::try_from(size).unwrap_or_default(),
                map: array(map, map_length, MOST_PLACES),
                places: inlined.map(|record| array(record.places, record.count, MOST_PLACES)),
            }
        }
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Where the code begins.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes of the code.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The stacks of inlined methods, by ascending offset; `None` if the compiler kept none.
    pub fn inlined(&self) -> Option<impl Iterator<Item = InlinedStack<'c>>> {
        let address = self.address;
        let stack = move |place: &'c PcLocation| {
            // SAFETY: arrays of the JVM's, of that many elements, which are valid during `'c`
            // ([`Self::new`]).
            let (methods, locations) = unsafe {
                (
                    array(place.methods, place.count, MOST_FRAMES),
                    array(place.locations, place.count, MOST_FRAMES),
                )
            };
            InlinedStack {
                offset: offset(place.pc, address),
                methods,
                locations,
            }
        };
        Some(self.places?.iter().map(stack))
    }

    /// Offsets in the code, and the locations in the method's bytecode that they belong to.
    pub fn map(&self) -> impl Iterator<Item = (i64, i64)> {
        let entries = self.map.iter();
        entries.map(|entry| (offset(entry.start_address, self.address), entry.location))
    }
}

/// The inlined methods that one instruction of compiled code belongs to.
pub struct InlinedStack<'c> {
    offset: i64,
    methods: &'c [jmethodID],
    locations: &'c [jint],
}

impl InlinedStack<'_> {
    /// Where in the code the instruction is.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The methods, innermost first, with locations in their bytecode.
    pub fn frames(&self) -> impl Iterator<Item = (Method, i64)> {
        let frames = self.methods.iter().zip(self.locations);
        frames.map(|(method, location)| {
            // SAFETY: the JVM has put the id into the record.
            (unsafe { Method::new(*method) }, (*location).into())
        })
    }
}

/// How far an instruction is from the beginning of the code.
fn offset(instruction: *const c_void, code: u64) -> i64 {
    (instruction.addr() as i64).wrapping_sub(code as i64)
}

/// The inlining record among the compiler's records.
///
/// # Safety
/// They are null, or as `jvmticmlr.h` has them, and valid during `'a`.
unsafe fn inline_record<'a>(mut record: *const Header) -> Option<&'a InlineRecord> {
    const INLINE_INFO: jint = 2;
    const MAJOR: jint = 1;
    // SAFETY: each record begins with a header, whose `next` is null or another record's (the
    // caller's promise).
    while let Some(header) = unsafe { record.as_ref() } {
        if header.kind == INLINE_INFO && header.major == MAJOR {
            // SAFETY: a record of this kind and version is an inlining record.
            return unsafe { record.cast::<InlineRecord>().as_ref() };
        }
        record = header.next;
    }
    None
}

/// An array of the JVM's, of at most `most` elements.
///
/// # Safety
/// `start` is null, or has `count` elements, which are valid during `'a`.
unsafe fn array<'a, T>(start: *const T, count: jint, most: usize) -> &'a [T] {
    let count = usize::try_from(count).unwrap_or_default().min(most);
    match start.is_null() {
        true => &[],
        // SAFETY: the array has at least so many elements (the caller's promise).
        false => unsafe { std::slice::from_raw_parts(start, count) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn the_inline_record_is_found_after_others() {
        let mut inline = InlineRecord {
            header: Header {
                kind: 2,
                major: 1,
                minor: 0,
                next: null(),
            },
            count: 7,
            places: null(),
        };
        let dummy = Header {
            kind: 1,
            major: 1,
            minor: 0,
            next: (&raw const inline).cast(),
        };
        // SAFETY: these are such records.
        unsafe {
            assert_eq!(inline_record(&dummy).map(|r| r.count), Some(7));
            assert!(inline_record(null()).is_none());
            inline.header.major = 2; // of a later JVM, maybe laid out otherwise
            assert!(inline_record((&raw const inline).cast()).is_none());
        }
    }
}
