//! Whether the JVM starts from an ahead-of-time cache.
//!
//! From 24 on, HotSpot can map classes that are linked already (`-XX:AOTCache`, or an archive that
//! was made with `-XX:+AOTClassLinking`). It refuses to, with three lines on standard output, if
//! ClassFileLoadHook is enabled when it maps them, which is before VMStart. Events can be enabled
//! during Agent_OnLoad and in the live phase, but not in between: with such a cache, the agent
//! waits for the live phase.

use super::fields::{Fields, text_in, word, word_in};
use std::ffi::CStr;

/// More than any JVM has.
const MOST_FLAGS: usize = 10_000;

/// Flags with paths of archives that may hold linked classes.
const ARCHIVES: [&CStr; 2] = [c"AOTCache", c"SharedArchiveFile"];

/// Returns true if this JVM knows ahead-of-time caches, and is told to start from an archive.
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
    /// Offsets in an entry.
    name: usize,
    address: usize,
}

impl Flags {
    fn find(fields: &Fields) -> Option<Self> {
        let of_flag = |name| fields.place(&[c"JVMFlag"], name);
        let (first, count) = (of_flag(c"flags")?, of_flag(c"numFlags")?);
        // SAFETY: both are addresses of static words in libjvm, which its own tables give.
        let (first, count) = unsafe { (word(first), word(count)) };
        Some(Self {
            first: std::ptr::with_exposed_provenance(first),
            stride: fields.size_of(c"JVMFlag")?,
            count: count.min(MOST_FLAGS),
            name: of_flag(c"_name")?,
            address: of_flag(c"_addr")?,
        })
    }

    fn entry(&self, name: &CStr) -> Option<*const u8> {
        // SAFETY: libjvm's tables say that there are `count` entries of `stride` bytes with the
        // address of a name at that offset; the last ones have a null there.
        unsafe {
            (0..self.count)
                .map(|number| self.first.add(number * self.stride))
                .find(|entry| text_in(*entry, self.name) == Some(name))
        }
    }

    /// Returns true if the flag, whose value is a text, has one that is not empty.
    fn has_text(&self, name: &CStr) -> bool {
        self.entry(name).is_some_and(|entry| {
            // SAFETY: the entry's address leads to the flag's variable. Both flags in `ARCHIVES`
            // are of type `ccstr`: the variable is null, or the address of a C string.
            unsafe {
                let variable = std::ptr::with_exposed_provenance(word_in(entry, self.address));
                text_in(variable, 0).is_some_and(|text| !text.is_empty())
            }
        })
    }
}
