//! The hook classes: the classes that instrumented code calls.
//!
//! The boot loader never unloads a class. Methods that are on a stack when the agent detaches
//! continue to call its hook class. So each agent that is loaded into a JVM uses the next hook
//! class, and the methods of earlier hook classes do nothing. There are [`HOOKS`] hook classes.
//! They differ in their names only. After the last one, the first one is used again.
//!
//! A static field of the first hook class counts the agents. The count is not in this library,
//! because the next agent may come from another library. A different build has different hook
//! classes. If these are in the JVM already, the classes of this build get other names.
//!
//! Each hook class has functions of its own, to which its methods are bound once. Each function
//! checks whether its class is the current one ([`is_present`]). Methods are never bound to other
//! functions later: the JVM would compile new entries, and JVMs from 20 on never free the old ones.

use crate::error::Error;
use jni::jni_str;
use jtrail_jvm::jni::{Env, GlobalRef, Native, kind};
use rustc_hash::FxHasher;
use std::ffi::CStr;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU32, Ordering};

/// Class file of `java.lang.JtrailHook`, compiled by the build script.
const HOOK_CLASS: &[u8] = include_bytes!(env!("JTRAIL_HOOK_CLASS"));
/// Class file of `jtrail.Binder`, compiled by the build script.
const BINDER_CLASS: &[u8] = include_bytes!(env!("JTRAIL_BINDER_CLASS"));

/// Internal name of the first hook class. For the other hook classes, a number is appended. If the
/// JVM has classes of another build, a hash of the build is appended, too.
pub(crate) const HOOK_NAME: &str = "java/lang/JtrailHook";
const BINDER_NAME: &str = "jtrail/Binder";
/// Number of hook classes.
pub(crate) const HOOKS: u32 = 8;

/// A hook class that is defined in the JVM.
pub(crate) struct Hook {
    /// Number of the hook class, below [`HOOKS`].
    pub(crate) number: u32,
    pub(crate) name: String,
    /// True if this JVM has had no agent before.
    pub(crate) is_first: bool,
    pub(crate) class: GlobalRef<kind::Class>,
}

/// Number of the hook class of the loaded agent; [`NOBODY`] if there is none.
static PRESENT: AtomicU32 = AtomicU32::new(NOBODY);
const NOBODY: u32 = u32::MAX;

/// Returns true if the loaded agent uses the hook class with that number.
#[inline(always)]
pub(crate) fn is_present(number: u32) -> bool {
    PRESENT.load(Ordering::Relaxed) == number
}

impl Hook {
    /// Returns the hook class for the next agent, and defines it in the boot loader if the JVM does
    /// not have it yet. Its methods are not bound yet, or do nothing yet.
    pub(crate) fn next(env: &Env<'_>) -> Result<Self, Error> {
        let first = Self::define(env, 0)?;
        let class = first.class.get();
        let count = env.static_int(class, c"agents");
        let count = count.ok_or_else(|| first.missing_field(c"agents"))? as u32;
        env.set_static_int(class, c"agents", count.wrapping_add(1) as i32);
        match count % HOOKS {
            0 => Ok(Self {
                is_first: count == 0,
                ..first
            }),
            number => Self::define(env, number),
        }
    }

    fn define(env: &Env<'_>, number: u32) -> Result<Self, Error> {
        let name = match number {
            0 => HOOK_NAME.to_owned(),
            number => format!("{HOOK_NAME}{number}"),
        };
        let mut bytes = HOOK_CLASS.to_vec();
        if env.has_carriers()? {
            // `currentCarrierThread` has the same descriptor. Older JVMs lack it.
            bytes = renamed(&bytes, "currentThread", "currentCarrierThread");
        }
        let (name, class) = own(env, &name, HOOK_NAME, &bytes)?;
        Ok(Self {
            number,
            name,
            is_first: false,
            class,
        })
    }

    /// Binds the hook methods by a call of `bind`, the native method of the binder class. The JVM
    /// prints a warning when native code binds methods of java.base. It prints none if a class of
    /// the boot loader calls the native code.
    pub(crate) fn bind(&self, env: &Env<'_>, bind: Native) -> Result<(), Error> {
        let (_, binder) = own(env, BINDER_NAME, BINDER_NAME, BINDER_CLASS)?;
        env.register_natives(binder.get(), &[bind])?;
        let hook = self.class.get();
        Ok(env.call_with_class(binder.get(), jni_str!("bind"), hook)?)
    }

    /// Makes the methods of this hook class record.
    pub(crate) fn arrive(&self) {
        PRESENT.store(self.number, Ordering::Release);
    }

    /// Makes the methods of this hook class do nothing.
    pub(crate) fn leave(&self) {
        PRESENT.store(NOBODY, Ordering::SeqCst);
    }

    /// Sets the address of the line counters; 0 if lines are not counted.
    pub(crate) fn set_lines(&self, env: &Env<'_>, address: usize) -> Result<(), Error> {
        self.set_address(env, c"lines", address)
    }

    /// Sets the address of the gate; 0 for a gate that stays closed.
    pub(crate) fn set_gate(&self, env: &Env<'_>, address: usize) -> Result<(), Error> {
        self.set_address(env, c"gate", address)
    }

    /// Sets the address of the coarse clock; 0 if there is none.
    ///
    /// # Errors
    /// If `address` is not 0, and hooks can't find the buffers of their threads in this JVM.
    pub(crate) fn set_ticks(&self, env: &Env<'_>, address: usize) -> Result<(), Error> {
        let offset = env.static_long(self.class.get(), c"ID");
        match offset.ok_or_else(|| self.missing_field(c"ID"))? {
            ..0 if address != 0 => Err(
                "this JVM does not say where threads have their ids; clock=exact does without"
                    .into(),
            ),
            _ => self.set_address(env, c"ticks", address),
        }
    }

    fn set_address(&self, env: &Env<'_>, name: &CStr, address: usize) -> Result<(), Error> {
        match env.set_static_long(self.class.get(), name, address as i64) {
            true => Ok(()),
            false => Err(self.missing_field(name)),
        }
    }

    fn missing_field(&self, field: &CStr) -> Error {
        let field = field.to_string_lossy();
        Error::Request(format!("{} has no field {field}", self.name))
    }
}

/// Returns the value for the field `build` of our classes: a hash of their contents.
fn build() -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(HOOK_CLASS);
    hasher.write(BINDER_CLASS);
    hasher.finish()
}

/// Returns a class of this build, and its name. The name is `class_name`, unless another build has
/// defined a class of that name. The class file `bytes` holds the name `written`, which is
/// replaced.
fn own(
    env: &Env<'_>,
    class_name: &str,
    written: &str,
    bytes: &[u8],
) -> Result<(String, GlobalRef<kind::Class>), Error> {
    for name in [
        class_name.to_owned(),
        format!("{class_name}_{:016x}", build()),
    ] {
        let class = env.find_or_define(&name, &renamed(bytes, written, &name))?;
        if is_ours(env, &class) {
            return Ok((name, class));
        }
    }
    let problem = format!("{class_name} is a class of another program");
    Err(Error::Request(problem))
}

/// Returns true if a class is of this build. Marks a new class as one of this build. A class
/// without the field `build` is of another build.
fn is_ours(env: &Env<'_>, class: &GlobalRef<kind::Class>) -> bool {
    match env.static_long(class.get(), c"build") {
        None => false,
        Some(0) => env.set_static_long(class.get(), c"build", build() as i64),
        Some(found) => found as u64 == build(),
    }
}

/// Returns the class file with the first occurrence of the name `from` replaced by `to`.
fn renamed(class: &[u8], from: &str, to: &str) -> Vec<u8> {
    let utf8 = |name: &str| {
        let length = u16::try_from(name.len()).unwrap_or_default();
        [&[1][..], &length.to_be_bytes(), name.as_bytes()].concat()
    };
    let old = utf8(from);
    match class.windows(old.len()).position(|bytes| bytes == old) {
        Some(at) => [&class[..at], &utf8(to), &class[at + old.len()..]].concat(),
        None => class.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_classfile::Class;

    #[test]
    fn all_hook_classes_are_alike_but_for_their_names() {
        let first = Class::parse(HOOK_CLASS).expect("a class");
        assert_eq!(first.name(), HOOK_NAME);
        assert_eq!(renamed(HOOK_CLASS, HOOK_NAME, HOOK_NAME), HOOK_CLASS);
        let name = format!("{HOOK_NAME}{}", HOOKS - 1);
        let bytes = renamed(HOOK_CLASS, HOOK_NAME, &name);
        let other = Class::parse(&bytes).expect("a class");
        assert_eq!(other.name(), name);
        assert_eq!(first.methods().len(), other.methods().len());
    }

    #[test]
    fn where_threads_have_carriers_the_hook_asks_for_them() {
        let count = |bytes: &[u8], name: &str| {
            let name = name.as_bytes();
            bytes.windows(name.len()).filter(|at| *at == name).count()
        };
        let bytes = renamed(HOOK_CLASS, "currentThread", "currentCarrierThread");
        assert_eq!(count(HOOK_CLASS, "currentThread"), 1);
        assert_eq!(count(&bytes, "currentThread"), 0);
        assert_eq!(count(&bytes, "currentCarrierThread"), 1);
        assert!(Class::parse(&bytes).is_ok());
    }
}
