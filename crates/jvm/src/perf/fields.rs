//! The JVM's own tables of its types and their fields: where they are in memory, made for tools
//! that look into a JVM.
//!
//! `libjvm.so` exports them as data: arrays, and variables that say how their entries are laid out.
//! So only names of types and fields are known here; a JVM that does not have a name tells nothing.

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More than any JVM has: an array without an end is none.
const MOST_ENTRIES: usize = 100_000;

/// The tables.
pub(super) struct Fields {
    fields: Table,
    /// Places in a field's entry.
    field_name: usize,
    is_static: usize,
    offset: usize,
    address: usize,
    types: Table,
    /// Place in a type's entry.
    size: usize,
}

/// An array of entries. One without a type's name ends it.
struct Table {
    entries: *const u8,
    /// From one entry to the next.
    stride: usize,
    /// Place of the type's name in an entry.
    type_name: usize,
}

impl Fields {
    /// That of the running JVM.
    pub(super) fn find() -> Option<Self> {
        // SAFETY: a name with a zero byte; nothing is loaded that is not there already.
        let library =
            unsafe { libc::dlopen(c"libjvm.so".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        let library = NonNull::new(library)?;
        let word_at = |name: &CStr| -> Option<usize> {
            // SAFETY: the library is open; those that are asked for below are words, and never
            // change.
            unsafe {
                let place = libc::dlsym(library.as_ptr(), name.as_ptr()).cast::<usize>();
                (!place.is_null()).then(|| place.read())
            }
        };
        let table = |entries, stride, type_name| {
            Some(Table {
                entries: std::ptr::with_exposed_provenance(word_at(entries)?),
                stride: word_at(stride)?,
                type_name: word_at(type_name)?,
            })
            .filter(|table| !table.entries.is_null())
        };
        let tables = || {
            Some(Self {
                fields: table(
                    c"gHotSpotVMStructs",
                    c"gHotSpotVMStructEntryArrayStride",
                    c"gHotSpotVMStructEntryTypeNameOffset",
                )?,
                field_name: word_at(c"gHotSpotVMStructEntryFieldNameOffset")?,
                is_static: word_at(c"gHotSpotVMStructEntryIsStaticOffset")?,
                offset: word_at(c"gHotSpotVMStructEntryOffsetOffset")?,
                address: word_at(c"gHotSpotVMStructEntryAddressOffset")?,
                types: table(
                    c"gHotSpotVMTypes",
                    c"gHotSpotVMTypeEntryArrayStride",
                    c"gHotSpotVMTypeEntryTypeNameOffset",
                )?,
                size: word_at(c"gHotSpotVMTypeEntrySizeOffset")?,
            })
        };
        let tables = tables();
        // SAFETY: opened above. The JVM keeps it, and so the table, until the process is gone.
        unsafe { libc::dlclose(library.as_ptr()) };
        tables
    }

    /// Where the field is: in an object of its type, or in memory if it is static. The first of
    /// these types that has it counts: JVMs of several versions call it by several names.
    pub(super) fn place(&self, types: &[&CStr], field: &CStr) -> Option<usize> {
        types.iter().find_map(|of| self.place_in(of, field))
    }

    fn place_in(&self, of: &CStr, field: &CStr) -> Option<usize> {
        // SAFETY: the JVM describes the entries so.
        unsafe {
            let is_it = |entry| text_in(entry, self.field_name) == Some(field);
            let entry = self.fields.of_type(of).find(|entry| is_it(*entry))?;
            let is_static = entry.add(self.is_static).cast::<i32>().read() != 0;
            let place = if is_static { self.address } else { self.offset };
            Some(word_in(entry, place))
        }
    }

    /// Bytes that something of this type takes.
    pub(super) fn size_of(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the JVM describes the entries so.
        unsafe {
            let entry = self.types.of_type(name).next()?;
            Some(word_in(entry, self.size))
        }
    }
}

impl Table {
    /// The entries with this name of a type.
    ///
    /// # Safety
    /// `entries` is the address of an array of libjvm's with this layout, whose last entry has no
    /// name.
    unsafe fn of_type(&self, name: &CStr) -> impl Iterator<Item = *const u8> {
        // SAFETY: the array has an entry after each that has a name, and no entry after the first
        // without one is read.
        let entry = |number| unsafe {
            let entry = self.entries.add(number * self.stride);
            text_in(entry, self.type_name).map(|name| (name, entry))
        };
        let named = (0..MOST_ENTRIES).map_while(entry);
        named.filter_map(move |(of, entry)| (of == name).then_some(entry))
    }
}

/// The word at a place in an entry.
///
/// # Safety
/// `entry` is an entry of one of libjvm's arrays, and has a word at that offset.
pub(super) unsafe fn word_in(entry: *const u8, place: usize) -> usize {
    // SAFETY: the word lies in the entry, which libjvm never changes.
    unsafe { entry.add(place).cast::<usize>().read() }
}

/// The text whose address is at a place in an entry; none if that is null.
///
/// # Safety
/// `entry` is an entry of one of libjvm's arrays, and has at that offset null or the address of a
/// text that lives as long as libjvm.
pub(super) unsafe fn text_in<'a>(entry: *const u8, place: usize) -> Option<&'a CStr> {
    // SAFETY: the word lies in the entry; the text is static and ends with a zero byte.
    unsafe {
        let text = std::ptr::with_exposed_provenance::<c_char>(word_in(entry, place));
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}

/// The word at an address.
///
/// # Safety
/// It is the address of an aligned word of libjvm's, which stays readable.
pub(super) unsafe fn word(address: usize) -> usize {
    let place = std::ptr::with_exposed_provenance::<AtomicUsize>(address);
    // SAFETY: the word is readable and aligned; threads of the JVM may write it at the same time,
    // hence the atomic.
    unsafe { &*place }.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// As HotSpot has it.
    #[repr(C)]
    struct Entry {
        type_name: *const c_char,
        field_name: *const c_char,
        type_string: *const c_char,
        is_static: i32,
        offset: u64,
        address: *const usize,
    }

    #[repr(C)]
    struct TypeEntry {
        name: *const c_char,
        size: u64,
    }

    fn entry(of: &'static CStr, field: &'static CStr, offset: u64) -> Entry {
        for name in [of, field] {
            name.as_ptr().expose_provenance();
        }
        Entry {
            type_name: of.as_ptr(),
            field_name: field.as_ptr(),
            type_string: std::ptr::null(),
            is_static: 0,
            offset,
            address: std::ptr::null(),
        }
    }

    #[test]
    fn fields_are_found_by_type_and_name() {
        static HEAP: usize = 77;
        let mut variable = entry(c"Universe", c"_heap", 0);
        (variable.is_static, variable.address) = (1, &HEAP);
        variable.address.expose_provenance();
        let mut end = entry(c"", c"", 0);
        end.type_name = std::ptr::null();
        let table = [
            entry(c"Space", c"_top", 8),
            entry(c"Region", c"_top", 16),
            variable,
            end,
        ];
        let types = [
            TypeEntry {
                name: c"Region".as_ptr(),
                size: 24,
            },
            TypeEntry {
                name: std::ptr::null(),
                size: 0,
            },
        ];
        let fields = Fields {
            fields: Table {
                entries: table.as_ptr().cast(),
                stride: size_of::<Entry>(),
                type_name: offset_of!(Entry, type_name),
            },
            field_name: offset_of!(Entry, field_name),
            is_static: offset_of!(Entry, is_static),
            offset: offset_of!(Entry, offset),
            address: offset_of!(Entry, address),
            types: Table {
                entries: types.as_ptr().cast(),
                stride: size_of::<TypeEntry>(),
                type_name: offset_of!(TypeEntry, name),
            },
            size: offset_of!(TypeEntry, size),
        };
        assert_eq!(fields.size_of(c"Region"), Some(24));
        assert_eq!(fields.size_of(c"Space"), None);
        assert_eq!(fields.place(&[c"Region", c"Space"], c"_top"), Some(16));
        assert_eq!(fields.place(&[c"Other", c"Space"], c"_top"), Some(8));
        assert_eq!(fields.place(&[c"Region"], c"_bottom"), None);
        let place = fields.place(&[c"Universe"], c"_heap").expect("a place");
        // SAFETY: the variable's.
        assert_eq!(unsafe { word(place) }, 77);
    }

    #[test]
    fn a_process_without_a_jvm_has_none() {
        assert!(Fields::find().is_none());
    }
}
