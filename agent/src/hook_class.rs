//! The hook classes: what instrumented code calls.
//!
//! A class of the boot loader is there for ever, and so are calls to it in methods that are on a
//! stack when the agent leaves. So each agent that comes to a JVM uses another hook class than the
//! one before: what is left of an earlier one calls methods that do nothing. There are [`HOOKS`]
//! such classes, all alike; then comes the first one again. How many agents there have been says a
//! field of the first class, for the next one may be another library than ours. If it is another
//! build, whose classes differ from ours, ours have other names than its own.
//!
//! The methods of each class have functions of their own, which look whether it is the present
//! one's ([`is_present`]), and stay bound to them: for methods that are bound anew the JVM compiles
//! new entries, and later ones (20 and up) never let the old go.

use crate::error::Error;
use jni::jni_str;
use jtrail_jvm::jni::{Env, GlobalRef, Native, kind};
use rustc_hash::FxHasher;
use std::ffi::CStr;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of `java.lang.JtrailHook`, compiled by the build script.
const HOOK_CLASS: &[u8] = include_bytes!(env!("JTRAIL_HOOK_CLASS"));
/// Bytes of `jtrail.Binder`, likewise.
const BINDER_CLASS: &[u8] = include_bytes!(env!("JTRAIL_BINDER_CLASS"));

/// The name of the first hook class; those of others have a number behind it, and their build's if
/// another build was there before.
pub(crate) const HOOK_NAME: &str = "java/lang/JtrailHook";
const BINDER_NAME: &str = "jtrail/Binder";
/// How many there are at most.
pub(crate) const HOOKS: u32 = 8;

/// A hook class.
pub(crate) struct Hook {
    /// Below [`HOOKS`].
    pub(crate) number: u32,
    pub(crate) name: String,
    /// No agent was in this JVM before.
    pub(crate) is_first: bool,
    pub(crate) class: GlobalRef<kind::Class>,
}

/// The number of the hook class whose agent is here.
static PRESENT: AtomicU32 = AtomicU32::new(NOBODY);
const NOBODY: u32 = u32::MAX;

/// Whether the agent of the hook class with that number is here.
#[inline(always)]
pub(crate) fn is_present(number: u32) -> bool {
    PRESENT.load(Ordering::Relaxed) == number
}

impl Hook {
    /// The hook class of the next agent, which is defined into the boot loader where it is not
    /// there from an earlier time. Its methods are not bound, or do nothing.
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
            // It has the same descriptor. Older JVMs have no such method.
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

    /// Makes `bind`, the native method of the binder, bind the methods. The JVM prints a warning
    /// when native code binds methods of java.base on its own account, and none when a class of the
    /// same loader asks for it.
    pub(crate) fn bind(&self, env: &Env<'_>, bind: Native) -> Result<(), Error> {
        let (_, binder) = own(env, BINDER_NAME, BINDER_NAME, BINDER_CLASS)?;
        env.register_natives(binder.get(), &[bind])?;
        let hook = self.class.get();
        Ok(env.call_with_class(binder.get(), jni_str!("bind"), hook)?)
    }

    /// From now on, its methods do something.
    pub(crate) fn arrive(&self) {
        PRESENT.store(self.number, Ordering::Release);
    }

    /// From now on, its methods do nothing.
    pub(crate) fn leave(&self) {
        PRESENT.store(NOBODY, Ordering::SeqCst);
    }

    /// Says where lines are counted; 0 for nowhere.
    pub(crate) fn set_lines(&self, env: &Env<'_>, address: usize) -> Result<(), Error> {
        self.set_address(env, c"lines", address)
    }

    /// Says where the gate is; 0 for one that is shut for ever.
    pub(crate) fn set_gate(&self, env: &Env<'_>, address: usize) -> Result<(), Error> {
        self.set_address(env, c"gate", address)
    }

    /// Says where the coarse clock is; 0 where there is none (any more).
    ///
    /// # Errors
    /// Where hooks could not find their threads' buffers, as a sentence.
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

/// What the field `build` of our classes holds: classes of other contents have another number.
fn build() -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(HOOK_CLASS);
    hasher.write(BINDER_CLASS);
    hasher.finish()
}

/// A class of this build, and its name: the one that is wanted, unless another build has a class of
/// that name. In its bytes, its name is `written`.
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

/// Returns true if a class is of this build. A new one is from now on. Builds before there was such
/// a field have other classes.
fn is_ours(env: &Env<'_>, class: &GlobalRef<kind::Class>) -> bool {
    match env.static_long(class.get(), c"build") {
        None => false,
        Some(0) => env.set_static_long(class.get(), c"build", build() as i64),
        Some(found) => found as u64 == build(),
    }
}

/// The class file with another name in place of one that it has once.
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
