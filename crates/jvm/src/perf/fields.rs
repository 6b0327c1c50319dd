//! The JVM's own tables of its types and fields, which exist for tools that inspect a JVM's memory.
//!
//! `libjvm.so` exports the tables as data: arrays, and variables that describe the layout of their
//! entries. So the agent has to know only names of types and fields. Looking up a name that the JVM
//! lacks returns `None`.

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An upper limit, higher than the number of entries in any JVM. It ends a search in a table
/// without an end.
const MAX_ENTRIES: usize = 100_000;

/// HotSpot's tables of fields and of types.
pub(super) struct Fields {
    fields: Table,
    /// Offsets in an entry of the field table: of the field's name, the flag `isStatic`, the
    /// field's offset and the field's address.
    field_name: usize,
    is_static: usize,
    offset: usize,
    address: usize,
    types: Table,
    /// Offset of the size in a type's entry.
    size: usize,
}

/// An array of entries. The entry after the last one has no type name.
struct Table {
    entries: *const u8,
    /// Bytes from one entry to the next.
    stride: usize,
    /// Offset of the type name in an entry.
    type_name: usize,
}

impl Fields {
    /// Finds the tables of the running JVM; `None` in a process without one.
    pub(super) fn find() -> Option<Self> {
        // SAFETY: the name is a C string; `RTLD_NOLOAD` prevents that a library is loaded.
        let library =
            unsafe { libc::dlopen(c"libjvm.so".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        let library = NonNull::new(library)?;
        let word_at = |name: &CStr| -> Option<usize> {
            // SAFETY: the library is open, and the variables requested below are words that never
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
        // SAFETY: opened above. The JVM itself keeps the library, and so the tables, loaded until
        // the process ends.
        unsafe { libc::dlclose(library.as_ptr()) };
        tables
    }

    /// Returns the offset of a field in an object of its type. For a static field, returns the
    /// field's address.
    ///
    /// The first of `types` that has the field counts: the type's name depends on the JVM's
    /// version.
    pub(super) fn place(&self, types: &[&CStr], field: &CStr) -> Option<usize> {
        types.iter().find_map(|of| self.place_in(of, field))
    }

    fn place_in(&self, of: &CStr, field: &CStr) -> Option<usize> {
        // SAFETY: the entries are laid out as libjvm's own variables describe.
        unsafe {
            let is_it = |entry| text_in(entry, self.field_name) == Some(field);
            let entry = self.fields.of_type(of).find(|entry| is_it(*entry))?;
            let is_static = entry.add(self.is_static).cast::<i32>().read() != 0;
            let place = if is_static { self.address } else { self.offset };
            Some(word_in(entry, place))
        }
    }

    /// Returns the size of a type in bytes.
    pub(super) fn size_of(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the entries are laid out as libjvm's own variables describe.
        unsafe {
            let entry = self.types.of_type(name).next()?;
            Some(word_in(entry, self.size))
        }
    }
}

impl Table {
    /// Returns the entries of the type `name`.
    ///
    /// # Safety
    /// `entries` is the address of a static array of libjvm's with this layout, and the entry after
    /// its last one has no type name.
    unsafe fn of_type(&self, name: &CStr) -> impl Iterator<Item = *const u8> {
        // SAFETY: each entry with a name is followed by another entry, and nothing after the first
        // entry without a name is read.
        let entry = |number| unsafe {
            let entry = self.entries.add(number * self.stride);
            text_in(entry, self.type_name).map(|name| (name, entry))
        };
        let named = (0..MAX_ENTRIES).map_while(entry);
        named.filter_map(move |(of, entry)| (of == name).then_some(entry))
    }
}

/// Returns the word at an offset in an entry.
///
/// # Safety
/// `entry` is an entry of one of libjvm's arrays and has a word at this offset.
pub(super) unsafe fn word_in(entry: *const u8, place: usize) -> usize {
    // SAFETY: the word lies within the entry, as the caller ensures, and libjvm never changes it.
    unsafe { entry.add(place).cast::<usize>().read() }
}

/// Returns the string whose address is at an offset in an entry; `None` if the address is null.
///
/// # Safety
/// `entry` is an entry of one of libjvm's arrays. At this offset it has null, or the address of a
/// string that lives as long as libjvm.
pub(super) unsafe fn text_in<'a>(entry: *const u8, place: usize) -> Option<&'a CStr> {
    // SAFETY: the address lies within the entry, as the caller ensures; the string is static and
    // zero-terminated.
    unsafe {
        let text = std::ptr::with_exposed_provenance::<c_char>(word_in(entry, place));
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}

/// Returns the word at an address.
///
/// # Safety
/// `address` is the address of an aligned word of libjvm's that stays readable.
pub(super) unsafe fn word(address: usize) -> usize {
    let place = std::ptr::with_exposed_provenance::<AtomicUsize>(address);
    // SAFETY: the word is readable and aligned, as the caller ensures. The load is atomic because
    // threads of the JVM may write the word at the same time.
    unsafe { &*place }.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// An entry of the field table, laid out as in HotSpot.
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
        // SAFETY: the place is the address of the static variable `HEAP`.
        assert_eq!(unsafe { word(place) }, 77);
    }

    #[test]
    fn a_process_without_a_jvm_has_none() {
        assert!(Fields::find().is_none());
    }
}
