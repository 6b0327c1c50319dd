//! The few things that the agent asks of Java itself.

mod loaders;
mod objects;
mod text;
mod threads;

pub use loaders::{Answer, ask_loader, resolve_for};
pub use objects::{
    address, allocate, array_length, element, field, forget, is_instance, is_set, named_class,
    new_array, object_class, with_garbage,
};
pub use text::{new_text, text_of};
pub use threads::{new_thread, park_blocker, thread_id, with_local_frame};

use crate::Error;
use jni::objects::JClass;
use jni::sys::{JNIEnv, JavaVM, jclass, jobject};
use jni::{EnvUnowned, Outcome, jni_sig, jni_str};
use std::ffi::c_void;
use std::ptr;

/// Runs `f` with a safe environment; what goes wrong is told as text, and no exception stays behind.
///
/// # Errors
/// When there is no environment, or `f` fails.
#[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the JVM's own environment")]
pub fn with<T>(
    env: *mut JNIEnv,
    f: impl FnOnce(&mut jni::Env<'_>) -> Result<T, jni::errors::Error>,
) -> Result<T, Error> {
    if env.is_null() {
        return Err(Error::NoEnvironment);
    }
    // SAFETY: callbacks and native methods get the running thread's environment from the JVM.
    let mut env = unsafe { EnvUnowned::from_raw(env) };
    let outcome = env.with_env_no_catch(|env| -> Result<_, jni::errors::Error> {
        let result = f(env);
        if result.is_err() && env.exception_check() {
            env.exception_clear();
        }
        Ok(result)
    });
    match outcome.into_outcome() {
        Outcome::Ok(result) => result.map_err(Error::Jni),
        Outcome::Err(error) => Err(Error::Jni(error)),
        Outcome::Panic(panic) => std::panic::resume_unwind(panic), // up to our own guard
    }
}

/// The JVM, for threads that have no environment of it.
#[derive(Clone, Copy)]
pub struct Vm(*mut JavaVM);

// SAFETY: it may be used on any thread.
unsafe impl Send for Vm {}
// SAFETY: likewise, at the same time.
unsafe impl Sync for Vm {}

impl Vm {
    /// # Safety
    /// It is the JVM.
    pub unsafe fn new(vm: *mut JavaVM) -> Self {
        Self(vm)
    }
}

/// The JVM of an environment.
///
/// # Safety
/// `env` is the running thread's.
pub unsafe fn vm_of(env: *mut JNIEnv) -> Option<Vm> {
    let mut vm = ptr::null_mut();
    // SAFETY: the caller's promise; `vm` takes the answer.
    let code = unsafe { ((**env).v1_1.GetJavaVM)(env, &mut vm) };
    (code == 0 && !vm.is_null()).then_some(Vm(vm))
}

/// The running thread's environment, if it has one.
///
/// # Safety
/// The JVM runs.
pub unsafe fn env_of(vm: Vm) -> Option<*mut JNIEnv> {
    let mut env: *mut c_void = ptr::null_mut();
    // SAFETY: the caller's promise; `env` takes the answer.
    let code = unsafe { ((**vm.0).v1_2.GetEnv)(vm.0, &mut env, jni::sys::JNI_VERSION_1_6) };
    (code == 0 && !env.is_null()).then_some(env.cast())
}

/// Runs `f`, and then frees the local references that it made.
///
/// # Safety
/// `env` is the running thread's, and none of those references leaves `f`.
pub unsafe fn with_frame<T>(env: *mut JNIEnv, f: impl FnOnce() -> T) -> T {
    const ROOM: i32 = 1024;
    // SAFETY: the caller's promise. Without a frame (no memory) they live until the thread goes back into Java.
    let has_frame = unsafe { ((**env).v1_2.PushLocalFrame)(env, ROOM) } == 0;
    let result = f();
    if has_frame {
        // SAFETY: the caller's promise, and the frame made above.
        unsafe { ((**env).v1_2.PopLocalFrame)(env, ptr::null_mut()) };
    }
    result
}

/// Tells the JVM of `count` local references that it just gave the running thread, and that there may be
/// as many again before the thread goes back: with `-Xcheck:jni`, up to 17, it prints a warning on the
/// program's output for each 32 that nobody spoke of. Those of frames further out count, too: so
/// nothing that may lead to callbacks should run with many references outside of a [`with_frame`].
///
/// # Safety
/// `env` is the running thread's.
pub unsafe fn make_room(env: *mut JNIEnv, count: usize) {
    // `-XX:MaxJNILocalCapacity`; the JVM refuses more, which then is one warning.
    const MOST: usize = 65_536;
    const FREE: usize = 32; // those that the JVM lets pass anyway
    if count >= FREE {
        let room = count.clamp(FREE, MOST) as i32;
        // SAFETY: the caller's promise. Nothing depends on the answer: references are not limited.
        unsafe { ((**env).v1_2.EnsureLocalCapacity)(env, room) };
    }
}

/// An object's class, as a local reference.
///
/// # Safety
/// `env` is the running thread's, and `object` a live reference, not null.
pub unsafe fn class_of(env: *mut JNIEnv, object: jobject) -> jclass {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.GetObjectClass)(env, object) }
}

/// A class's superclass, as a local reference; null for an interface, and where there is none.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to a class.
pub unsafe fn superclass_of(env: *mut JNIEnv, class: jclass) -> jclass {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.GetSuperclass)(env, class) }
}

/// Whether two references are to the same object; a weak one may be to nothing any more.
///
/// # Safety
/// `env` is the running thread's; the references are null, alive or weak.
pub unsafe fn is_same(env: *mut JNIEnv, one: jobject, other: jobject) -> bool {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.IsSameObject)(env, one, other) }
}

/// A weak global reference; null when there is no memory for it.
///
/// # Safety
/// `env` is the running thread's, and `object` a live reference.
pub unsafe fn weak_reference(env: *mut JNIEnv, object: jobject) -> jobject {
    // SAFETY: the caller's promise; the functions are there since version 1.2.
    unsafe {
        let weak = ((**env).v1_2.NewWeakGlobalRef)(env, object);
        if weak.is_null() {
            ((**env).v1_1.ExceptionClear)(env);
        }
        weak
    }
}

/// Gives a weak global reference up.
///
/// # Safety
/// `env` is the running thread's, the reference is one of [`weak_reference`], or null, and nobody uses it any more.
pub unsafe fn forget_weak(env: *mut JNIEnv, weak: jobject) {
    // SAFETY: the caller's promise; the function is there since version 1.2.
    unsafe { ((**env).v1_2.DeleteWeakGlobalRef)(env, weak) }
}

/// A weak global reference, which lasts until it is given up; its object need not.
pub struct Weak(jobject);

// SAFETY: a global reference may be used on any thread.
unsafe impl Send for Weak {}

impl Weak {
    /// One to that object; to nothing when there is no memory for it.
    ///
    /// # Safety
    /// `env` is the running thread's, and `object` a live reference.
    pub unsafe fn new(env: *mut JNIEnv, object: jobject) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { weak_reference(env, object) })
    }

    /// Whether the object is gone. It is no use of it.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub unsafe fn is_cleared(&self, env: *mut JNIEnv) -> bool {
        // SAFETY: the caller's promise, and a reference that was not given up.
        unsafe { is_same(env, self.0, ptr::null_mut()) }
    }

    /// The object, as a local reference; null if it is gone.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub unsafe fn to_local(&self, env: *mut JNIEnv) -> jobject {
        // SAFETY: the caller's promise, and a reference that was not given up; the function is there since version 1.2.
        unsafe { ((**env).v1_2.NewLocalRef)(env, self.0) }
    }

    /// Gives it up.
    ///
    /// # Safety
    /// `env` is the running thread's, and nobody uses the reference any more.
    pub unsafe fn forget(&self, env: *mut JNIEnv) {
        // SAFETY: the caller's promise.
        unsafe { forget_weak(env, self.0) }
    }
}

/// A global reference, which lasts until it is given up.
pub struct Lasting(jobject);

// SAFETY: a global reference may be used on any thread.
unsafe impl Send for Lasting {}
// SAFETY: likewise, at the same time.
unsafe impl Sync for Lasting {}

impl Lasting {
    /// One to that object; to nothing when there is no memory for it.
    ///
    /// # Safety
    /// `env` is the running thread's, and `object` a live reference.
    pub unsafe fn new(env: *mut JNIEnv, object: jobject) -> Self {
        // SAFETY: the caller's promise; the function is there since the first version.
        Self(unsafe { ((**env).v1_1.NewGlobalRef)(env, object) })
    }

    /// The reference.
    pub fn get(&self) -> jobject {
        self.0
    }

    /// Gives it up.
    ///
    /// # Safety
    /// `env` is the running thread's, and nobody uses the reference any more.
    pub unsafe fn forget(&self, env: *mut JNIEnv) {
        // SAFETY: the caller's promise.
        unsafe { delete_global(env, self.0) }
    }
}

/// Deletes a global reference.
///
/// # Safety
/// `env` is the running thread's, and nobody uses the reference any more.
pub unsafe fn delete_global(env: *mut JNIEnv, reference: jobject) {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.DeleteGlobalRef)(env, reference) }
}

/// `jdk.internal.misc.VM`.
pub fn vm_class(env: *mut JNIEnv) -> Result<Lasting, Error> {
    with(env, |env| {
        let class = env.find_class(jni_str!("jdk/internal/misc/VM"))?;
        Ok(Lasting(env.new_global_ref(class)?.into_raw()))
    })
}

/// Its `initLevel`: how far the JVM has come.
///
/// # Safety
/// `class` is the answer of [`vm_class`].
pub unsafe fn vm_level(env: *mut JNIEnv, class: jclass) -> Result<i32, Error> {
    with(env, |env| {
        // SAFETY: the caller's promise.
        let class = unsafe { JClass::from_raw(env, class) };
        env.get_static_field(class, jni_str!("initLevel"), jni_sig!("I"))?
            .i()
    })
}

/// `ClassLoader.getPlatformClassLoader()`, handed to `f` as a local reference.
pub fn with_platform_loader<T>(env: *mut JNIEnv, f: impl FnOnce(jobject) -> T) -> Result<T, Error> {
    with(env, |env| {
        let loader = env
            .call_static_method(
                jni_str!("java/lang/ClassLoader"),
                jni_str!("getPlatformClassLoader"),
                jni_sig!("()Ljava/lang/ClassLoader;"),
                &[],
            )?
            .l()?;
        Ok(f(loader.as_raw()))
    })
}
