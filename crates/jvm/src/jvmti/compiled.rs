//! Compiled code as the CompiledMethodLoad event describes it, with the compiler's records
//! (`jvmticmlr.h`).

use super::method::Method;
use jni::sys::{jint, jmethodID};
use jvmti_sys::jvmtiAddrLocationMap;
use std::ffi::c_void;

/// Limits: the instructions of a record, and the frames of an instruction. Records with more must
/// be corrupt.
const MAX_INSTRUCTIONS: usize = 1 << 20;
const MAX_FRAMES: usize = 1024;

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

/// The compiled code of a method, valid until the callback that got it returns.
pub struct CompiledCode<'c> {
    method: Method,
    address: u64,
    size: u32,
    map: &'c [jvmtiAddrLocationMap],
    places: Option<&'c [PcLocation]>,
}

impl<'c> CompiledCode<'c> {
    /// Wraps the arguments of a CompiledMethodLoad event.
    ///
    /// # Safety
    /// The JVM passed these arguments to a CompiledMethodLoad callback, which does not return
    /// during `'c`.
    pub unsafe fn new(
        method: jmethodID,
        size: jint,
        address: *const c_void,
        (map, map_length): (*const jvmtiAddrLocationMap, jint),
        records: *const c_void,
    ) -> Self {
        // SAFETY: the JVM passed a method id, an array with `map_length` elements, and null or the
        // compiler's records. All are valid until the callback returns, which is after `'c`.
        unsafe {
            let inlined = inline_record(records.cast());
            Self {
                method: Method::new(method),
                address: address.addr() as u64,
                size: u32::try_from(size).unwrap_or_default(),
                map: array(map, map_length, MAX_INSTRUCTIONS),
                places: inlined.map(|record| array(record.places, record.count, MAX_INSTRUCTIONS)),
            }
        }
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The address of the code.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The size of the code in bytes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the stacks of inlined methods, in ascending order of offset; `None` if the compiler
    /// recorded none.
    pub fn inlined(&self) -> Option<impl Iterator<Item = InlinedStack<'c>>> {
        let address = self.address;
        let stack = move |place: &'c PcLocation| {
            // SAFETY: the JVM's record has arrays of `count` elements, valid during `'c`, as the
            // caller of [`Self::new`] ensured.
            let (methods, locations) = unsafe {
                (
                    array(place.methods, place.count, MAX_FRAMES),
                    array(place.locations, place.count, MAX_FRAMES),
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

    /// Returns pairs of an offset in the compiled code and its location in the method's bytecode.
    pub fn map(&self) -> impl Iterator<Item = (i64, i64)> {
        let entries = self.map.iter();
        entries.map(|entry| (offset(entry.start_address, self.address), entry.location))
    }
}

/// The stack of inlined methods at one instruction of compiled code.
pub struct InlinedStack<'c> {
    offset: i64,
    methods: &'c [jmethodID],
    locations: &'c [jint],
}

impl InlinedStack<'_> {
    /// The offset of the instruction in the code.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Returns the methods, innermost first, each with a location in its bytecode.
    pub fn frames(&self) -> impl Iterator<Item = (Method, i64)> {
        let frames = self.methods.iter().zip(self.locations);
        frames.map(|(method, location)| {
            // SAFETY: the JVM wrote the method id into the record.
            (unsafe { Method::new(*method) }, (*location).into())
        })
    }
}

/// Returns the distance of an instruction from the start of the code.
fn offset(instruction: *const c_void, code: u64) -> i64 {
    (instruction.addr() as i64).wrapping_sub(code as i64)
}

/// Returns the inlining record among the compiler's records, if there is one.
///
/// # Safety
/// `record` is null, or points to a list of records as `jvmticmlr.h` defines it, valid during `'a`.
unsafe fn inline_record<'a>(mut record: *const Header) -> Option<&'a InlineRecord> {
    const INLINE_INFO: jint = 2;
    const MAJOR: jint = 1;
    // SAFETY: `record` is null or points to a record, whose header's `next` is null or another
    // record, as the caller ensures.
    while let Some(header) = unsafe { record.as_ref() } {
        if header.kind == INLINE_INFO && header.major == MAJOR {
            // SAFETY: a record of this kind and major version is an inlining record.
            return unsafe { record.cast::<InlineRecord>().as_ref() };
        }
        record = header.next;
    }
    None
}

/// Returns an array that the JVM owns, without the elements after the first `most`.
///
/// # Safety
/// `start` is null, or points to `count` elements that are valid during `'a`.
unsafe fn array<'a, T>(start: *const T, count: jint, most: usize) -> &'a [T] {
    let count = usize::try_from(count).unwrap_or_default().min(most);
    match start.is_null() {
        true => &[],
        // SAFETY: the array has at least `count` elements, as the caller ensures.
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
        // SAFETY: both records are laid out as `jvmticmlr.h` defines them.
        unsafe {
            assert_eq!(inline_record(&dummy).map(|r| r.count), Some(7));
            assert!(inline_record(null()).is_none());
            inline.header.major = 2; // a future version, whose layout may differ
            assert!(inline_record((&raw const inline).cast()).is_none());
        }
    }
}
