//! The hook classes: what instrumented code calls.
//!
//! A class of the boot loader is there for ever, and so are calls to it in methods that are on a stack when the agent leaves. So each agent that comes to
//! a JVM uses another hook class than the one before: what is left of an earlier one calls methods that do nothing. There
//! are [`HOOKS`] such classes, all alike; then comes the first one again. How many agents there have been says a field of the first class,
//! for the next one may be another library than ours. If it is another build, whose classes differ from ours, ours have other names than its own.
//!
//! The methods of each class have functions of their own, which look whether it is the present one's ([`is_present`]), and stay bound
//! to them: for methods that are bound anew the JVM compiles new entries, and later ones (20 and up) never let the old go.

use crate::error::Error;
use jni::objects::{JClass, JClassLoader, JObject, JValue};
use jni::strings::JNIString;
use jni::sys::{JNIEnv, jclass, jfieldID, jint, jlong};
use jni::{NativeMethod, jni_sig, jni_str};
use jtrail_jvm::jni::{Lasting, with};
use rustc_hash::FxHasher;
use std::ffi::{CStr, c_void};
use std::hash::Hasher;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of `java.lang.JtrailHook`, compiled by the build script.
const HOOK_CLASS: &[u8] = include_bytes!(env!("JTRAIL_HOOK_CLASS"));
/// Bytes of `jtrail.Binder`, likewise.
const BINDER_CLASS: &[u8] = include_bytes!(env!("JTRAIL_BINDER_CLASS"));

/// The name of the first hook class; those of others have a number behind it, and their build's if another build was there before.
pub(crate) const HOOK_NAME: &str = "java/lang/JtrailHook";
const BINDER_NAME: &str = "jtrail/Binder";
/// How many there are at most.
pub(crate) const HOOKS: u32 = 8;

/// The native method of the binder: `(env, binder, hook class)`.
pub(crate) type Bind = unsafe extern "system" fn(*mut JNIEnv, jclass, jclass);

/// A hook class.
pub(crate) struct Hook {
    /// Below [`HOOKS`].
    pub(crate) number: u32,
    pub(crate) name: String,
    /// No agent was in this JVM before.
    pub(crate) is_first: bool,
    pub(crate) class: Lasting,
}

/// The hook's functions.
pub(crate) struct HookFunctions {
    pub(crate) enter: *mut c_void,
    pub(crate) leave: *mut c_void,
    pub(crate) leave_by_exception: *mut c_void,
    pub(crate) caught: *mut c_void,
    pub(crate) super_call: *mut c_void,
    pub(crate) super_returned: *mut c_void,
    /// Has two arguments: the lower part of a record, and the id of a thread.
    pub(crate) stamp: *mut c_void,
    /// Has three arguments: the lower part of a record, a method, and the id of a thread.
    pub(crate) stamp_with_method: *mut c_void,
    pub(crate) allocated: *mut c_void,
    /// Has two arguments: length and site.
    pub(crate) array_allocated: *mut c_void,
    /// Has three arguments: the array, its length and the site.
    pub(crate) array_handed_over: *mut c_void,
    /// Has two arguments: an object and the site.
    pub(crate) multi_allocated: *mut c_void,
    /// Likewise.
    pub(crate) call_allocated: *mut c_void,
    /// Has one argument, the object.
    pub(crate) constructed: *mut c_void,
    pub(crate) trigger_enter: *mut c_void,
    pub(crate) trigger_leave: *mut c_void,
    pub(crate) trigger_leave_by_exception: *mut c_void,
    pub(crate) park: *mut c_void,
    pub(crate) unpark: *mut c_void,
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
    /// The hook class of the next agent, which is defined into the boot loader where it is not there from an earlier time. Its methods are
    /// not bound, or do nothing.
    pub(crate) fn next(env: *mut JNIEnv) -> Result<Self, Error> {
        let first = Self::define(env, 0)?;
        // SAFETY: the running thread's environment, which `define` has looked at.
        let count = unsafe {
            let place = first.field(env, c"agents", c"I")?;
            let functions = &(**env).v1_1;
            let class = first.class.get();
            let count = (functions.GetStaticIntField)(env, class, place) as u32;
            (functions.SetStaticIntField)(env, class, place, count.wrapping_add(1) as jint);
            count
        };
        match count % HOOKS {
            0 => Ok(Self {
                is_first: count == 0,
                ..first
            }),
            number => {
                // SAFETY: the running thread's environment; nobody else knows the reference.
                unsafe { first.class.forget(env) };
                Self::define(env, number)
            }
        }
    }

    fn define(env: *mut JNIEnv, number: u32) -> Result<Self, Error> {
        let name = match number {
            0 => HOOK_NAME.to_owned(),
            number => format!("{HOOK_NAME}{number}"),
        };
        let mut bytes = HOOK_CLASS.to_vec();
        if threads_have_carriers(env)? {
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

    /// Has `bind` called to bind the methods. The JVM prints a warning when native code binds methods of java.base on its own account, and none when
    /// a class of the same loader asks for it.
    pub(crate) fn bind(&self, env: *mut JNIEnv, bind: Bind) -> Result<(), Error> {
        let (_, binder) = own(env, BINDER_NAME, BINDER_NAME, BINDER_CLASS)?;
        let result = with(env, |env| {
            // SAFETY: that is the method's signature.
            let method = unsafe {
                NativeMethod::from_raw_parts(
                    jni_str!("bindNatives"),
                    jni_str!("(Ljava/lang/Class;)V"),
                    bind as *mut c_void,
                )
            };
            // SAFETY: live global references to classes.
            let (binder, hook) = unsafe {
                (
                    JClass::from_raw(env, binder.get()),
                    JClass::from_raw(env, self.class.get()),
                )
            };
            // SAFETY: as above.
            unsafe { env.register_native_methods(&binder, &[method]) }?;
            env.call_static_method(
                &binder,
                jni_str!("bind"),
                jni_sig!("(Ljava/lang/Class;)V"),
                &[JValue::Object(&hook)],
            )?
            .v()
        });
        // SAFETY: the running thread's environment; nobody else knows the reference.
        unsafe { binder.forget(env) };
        Ok(result?)
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
    pub(crate) fn set_lines(&self, env: *mut JNIEnv, address: usize) -> Result<(), Error> {
        self.set_address(env, c"lines", address)
    }

    /// Says where the gate is; 0 for one that is shut for ever.
    pub(crate) fn set_gate(&self, env: *mut JNIEnv, address: usize) -> Result<(), Error> {
        self.set_address(env, c"gate", address)
    }

    /// Says where the coarse clock is; 0 where there is none (any more).
    ///
    /// # Errors
    /// Where hooks could not find their threads' buffers, as a sentence.
    pub(crate) fn set_ticks(&self, env: *mut JNIEnv, address: usize) -> Result<(), Error> {
        // SAFETY: the running thread's environment; the class has such a field.
        let place = unsafe {
            let field = self.field(env, c"ID", c"J")?;
            ((**env).v1_1.GetStaticLongField)(env, self.class.get(), field)
        };
        match place {
            ..0 if address != 0 => Err(
                "this JVM does not say where threads have their ids; clock=exact does without"
                    .into(),
            ),
            _ => self.set_address(env, c"ticks", address),
        }
    }

    fn set_address(&self, env: *mut JNIEnv, name: &CStr, address: usize) -> Result<(), Error> {
        // SAFETY: the class was found with the running thread's environment, and has such a field.
        unsafe {
            let place = self.field(env, name, c"J")?;
            ((**env).v1_1.SetStaticLongField)(env, self.class.get(), place, address as jlong);
        }
        Ok(())
    }

    /// # Safety
    /// `env` is the running thread's.
    unsafe fn field(&self, env: *mut JNIEnv, name: &CStr, kind: &CStr) -> Result<jfieldID, Error> {
        // SAFETY: the caller's promise, and a live reference.
        let field = unsafe { static_field(env, &self.class, name, kind) };
        field.ok_or_else(|| {
            let name = name.to_string_lossy();
            Error::Request(format!("{} has no field {name}", self.name))
        })
    }
}

/// # Safety
/// `env` is the running thread's, and the reference was not given up.
unsafe fn static_field(
    env: *mut JNIEnv,
    class: &Lasting,
    name: &CStr,
    kind: &CStr,
) -> Option<jfieldID> {
    // SAFETY: the caller's promise; the functions are there since the first version.
    unsafe {
        let functions = &(**env).v1_1;
        let field = (functions.GetStaticFieldID)(env, class.get(), name.as_ptr(), kind.as_ptr());
        if field.is_null() {
            (functions.ExceptionClear)(env);
            return None;
        }
        Some(field)
    }
}

/// What the field `build` of our classes holds: classes of other contents have another number.
fn build() -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(HOOK_CLASS);
    hasher.write(BINDER_CLASS);
    hasher.finish()
}

/// A class of this build, and its name: the one that is wanted, unless another build has a class of that name. In its bytes, its name is
/// `written`.
fn own(
    env: *mut JNIEnv,
    wanted: &str,
    written: &str,
    bytes: &[u8],
) -> Result<(String, Lasting), Error> {
    for name in [wanted.to_owned(), format!("{wanted}_{:016x}", build())] {
        let class = define_once(env, &name, &renamed(bytes, written, &name))?;
        // SAFETY: the running thread's environment, which has found the class or defined it.
        unsafe {
            if is_ours(env, &class) {
                return Ok((name, class));
            }
            class.forget(env);
        }
    }
    let problem = format!("{wanted} is a class of another program");
    Err(Error::Request(problem))
}

/// Whether a class is of this build. A new one is from now on.
///
/// # Safety
/// `env` is the running thread's, and the reference was not given up.
unsafe fn is_ours(env: *mut JNIEnv, class: &Lasting) -> bool {
    // SAFETY: the caller's promise; the field has that type. Builds before there was such a field have other classes.
    unsafe {
        let functions = &(**env).v1_1;
        let Some(field) = static_field(env, class, c"build", c"J") else {
            return false;
        };
        match (functions.GetStaticLongField)(env, class.get(), field) as u64 {
            0 => (functions.SetStaticLongField)(env, class.get(), field, build() as jlong),
            found => return found == build(),
        }
        true
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

/// Whether this JVM tells a thread from the carrier that runs it.
fn threads_have_carriers(env: *mut JNIEnv) -> Result<bool, jtrail_jvm::Error> {
    with(env, |env| {
        let thread = env.find_class(jni_str!("java/lang/Thread"))?;
        let name = jni_str!("currentCarrierThread");
        let found = env.get_static_method_id(&thread, name, jni_sig!("()Ljava/lang/Thread;"));
        if found.is_err() {
            env.exception_clear();
        }
        Ok(found.is_ok())
    })
}

/// A class of the boot loader, which is defined unless it is there. No other loader is asked: it may be the program's own.
fn define_once(env: *mut JNIEnv, name: &str, bytes: &[u8]) -> Result<Lasting, jtrail_jvm::Error> {
    let found = with(env, |env| {
        let name = env.new_string(name.replace('/', "."))?;
        let found = env.call_static_method(
            jni_str!("java/lang/Class"),
            jni_str!("forName"),
            jni_sig!("(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;"),
            &[
                JValue::Object(&name),
                JValue::Bool(false),
                JValue::Object(&JObject::null()),
            ],
        )?;
        let class = found.l()?;
        // SAFETY: the running thread's environment, and a live local reference.
        Ok(unsafe { Lasting::new(env.get_raw(), class.as_raw()) })
    });
    found.or_else(|_| {
        let name = JNIString::from(name);
        with(env, |env| {
            let class = env.define_class(Some(&name), JClassLoader::null(), bytes)?;
            // SAFETY: as above.
            Ok(unsafe { Lasting::new(env.get_raw(), class.as_raw()) })
        })
    })
}

/// Binds the methods of the hook class.
///
/// # Safety
/// The functions are static native methods of Java with one `int`, where nothing else is said.
pub(crate) unsafe fn bind_functions(
    env: *mut JNIEnv,
    class: jclass,
    functions: &HookFunctions,
) -> Result<(), jtrail_jvm::Error> {
    with(env, |env| {
        let methods = [
            (jni_str!("enter"), functions.enter),
            (jni_str!("leave"), functions.leave),
            (jni_str!("leaveByException"), functions.leave_by_exception),
            (jni_str!("caught"), functions.caught),
            (jni_str!("superCall"), functions.super_call),
            (jni_str!("superReturned"), functions.super_returned),
            (jni_str!("allocated"), functions.allocated),
            (jni_str!("triggerEnter"), functions.trigger_enter),
            (jni_str!("triggerLeave"), functions.trigger_leave),
            (
                jni_str!("triggerLeaveByException"),
                functions.trigger_leave_by_exception,
            ),
            (jni_str!("park"), functions.park),
            (jni_str!("unpark"), functions.unpark),
        ]
        .map(|(name, function)| (name, jni_str!("(I)V"), function));
        let others = [
            (
                jni_str!("arrayAllocated"),
                jni_str!("(II)V"),
                functions.array_allocated,
            ),
            (
                jni_str!("arrayAllocated"),
                jni_str!("(Ljava/lang/Object;II)V"),
                functions.array_handed_over,
            ),
            (
                jni_str!("constructed"),
                jni_str!("(Ljava/lang/Object;)V"),
                functions.constructed,
            ),
            (
                jni_str!("multiAllocated"),
                jni_str!("(Ljava/lang/Object;I)V"),
                functions.multi_allocated,
            ),
            (
                jni_str!("callAllocated"),
                jni_str!("(Ljava/lang/Object;I)V"),
                functions.call_allocated,
            ),
            (jni_str!("stamp"), jni_str!("(IJ)V"), functions.stamp),
            (
                jni_str!("stamp"),
                jni_str!("(IIJ)V"),
                functions.stamp_with_method,
            ),
        ];
        let methods: Vec<_> = methods
            .into_iter()
            .chain(others)
            // SAFETY: the caller's promise.
            .map(|(name, signature, function)| unsafe {
                NativeMethod::from_raw_parts(name, signature, function)
            })
            .collect();
        // SAFETY: the JVM's own reference.
        let class = unsafe { JClass::from_raw(env, class) };
        // SAFETY: the caller's promise.
        unsafe { env.register_native_methods(class, &methods) }
    })
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
