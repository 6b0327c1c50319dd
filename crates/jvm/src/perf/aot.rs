//! Detection of a JVM that starts from an ahead-of-time cache.
//!
//! From JDK 24 on, HotSpot can map classes that are already linked (`-XX:AOTCache`, or an archive
//! created with `-XX:+AOTClassLinking`). If ClassFileLoadHook is enabled when HotSpot maps them,
//! before VMStart, it refuses the cache and prints three lines on standard output.
//!
//! Events can be enabled during Agent_OnLoad and in the live phase, but not in between. So with
//! such a cache, the agent waits for the live phase.

use super::fields::{Fields, text_in, word, word_in};
use std::ffi::CStr;

/// An upper limit, higher than the number of flags of any JVM.
const MAX_FLAGS: usize = 10_000;

/// Flags that hold paths of archives with possibly linked classes.
const ARCHIVES: [&CStr; 2] = [c"AOTCache", c"SharedArchiveFile"];

/// Returns true if this JVM supports ahead-of-time caches and is to start from an archive.
pub fn starts_from_cache() -> bool {
    let Some(flags) = Fields::find().and_then(|fields| Flags::find(&fields)) else {
        return false;
    };
    let knows_caches = flags.entry(ARCHIVES[0]).is_some();
    knows_caches && ARCHIVES.iter().any(|name| flags.has_text(name))
}

/// HotSpot's array of flags.
struct Flags {
    first: *const u8,
    stride: usize,
    count: usize,
    /// Offset of the name in an entry; `address` is the offset of the value's address.
    name: usize,
    address: usize,
}

impl Flags {
    fn find(fields: &Fields) -> Option<Self> {
        let of_flag = |name| fields.place(&[c"JVMFlag"], name);
        let (first, count) = (of_flag(c"flags")?, of_flag(c"numFlags")?);
        // SAFETY: both are addresses of static words in libjvm, found in its own tables.
        let (first, count) = unsafe { (word(first), word(count)) };
        Some(Self {
            first: std::ptr::with_exposed_provenance(first),
            stride: fields.size_of(c"JVMFlag")?,
            count: count.min(MAX_FLAGS),
            name: of_flag(c"_name")?,
            address: of_flag(c"_addr")?,
        })
    }

    fn entry(&self, name: &CStr) -> Option<*const u8> {
        // SAFETY: according to libjvm's tables there are `count` entries of `stride` bytes, each
        // with a pointer to a name at offset `name`. In the last entries this pointer is null.
        unsafe {
            (0..self.count)
                .map(|number| self.first.add(number * self.stride))
                .find(|entry| text_in(*entry, self.name) == Some(name))
        }
    }

    /// Returns true if the flag with this name has a non-empty string as its value.
    fn has_text(&self, name: &CStr) -> bool {
        self.entry(name).is_some_and(|entry| {
            // SAFETY: the entry holds the address of the flag's variable. Both flags in `ARCHIVES`
            // are of type `ccstr`, so the variable is null or a pointer to a C string.
            unsafe {
                let variable = std::ptr::with_exposed_provenance(word_in(entry, self.address));
                text_in(variable, 0).is_some_and(|text| !text.is_empty())
            }
        })
    }
}
