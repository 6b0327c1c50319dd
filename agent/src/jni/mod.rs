//! The few things that the agent asks of Java itself.

mod api;
mod objects;
mod threads;

pub(crate) use api::{ApiFunctions, bind_api, new_text, text_of};
pub(crate) use objects::{
    address, allocate, array_length, first_element, forget, is_instance, named_class, new_array,
    object_class, with_garbage,
};
pub(crate) use threads::{new_thread, park_blocker, with_local_frame};

use jni::objects::{JClass, JClassLoader, JValue};
use jni::strings::JNIStr;
use jni::sys::{JNIEnv, JavaVM, JavaVMAttachArgs, jclass, jobject};
use jni::{EnvUnowned, NativeMethod, Outcome, jni_sig, jni_str};
use std::ffi::{CStr, c_void};
use std::ptr;

/// Bytes of `java.lang.JtrailHook`, compiled by the build script.
const HOOK_CLASS: &[u8] = include_bytes!(env!("JTRAIL_HOOK_CLASS"));
/// Bytes of `jtrail.Binder`, likewise.
const BINDER_CLASS: &[u8] = include_bytes!(env!("JTRAIL_BINDER_CLASS"));

/// The native method of the binder: `(env, binder, hook class)`.
pub(crate) type Bind = unsafe extern "system" fn(*mut JNIEnv, jclass, jclass);

/// The hook's functions.
pub(crate) struct HookFunctions {
    pub(crate) enter: *mut c_void,
    pub(crate) leave: *mut c_void,
    pub(crate) leave_by_exception: *mut c_void,
    pub(crate) caught: *mut c_void,
    pub(crate) super_call: *mut c_void,
    pub(crate) super_returned: *mut c_void,
    pub(crate) allocated: *mut c_void,
    /// Has two arguments: length and site.
    pub(crate) array_allocated: *mut c_void,
    /// Has two arguments: an object and the site.
    pub(crate) multi_allocated: *mut c_void,
    /// Likewise.
    pub(crate) call_allocated: *mut c_void,
    pub(crate) trigger_enter: *mut c_void,
    pub(crate) trigger_leave: *mut c_void,
    pub(crate) trigger_leave_by_exception: *mut c_void,
    pub(crate) park: *mut c_void,
    pub(crate) unpark: *mut c_void,
    /// Has no argument, and answers a `long`.
    pub(crate) line_counters: *mut c_void,
}

/// Runs `f` with a safe environment; what goes wrong is told as text, and no exception stays behind.
fn with<T>(
    env: *mut JNIEnv,
    f: impl FnOnce(&mut jni::Env<'_>) -> Result<T, jni::errors::Error>,
) -> Result<T, String> {
    if env.is_null() {
        return Err("the JVM gave no environment".into());
    }
    // SAFETY: callbacks and native methods get the running thread's environment from the JVM.
    let mut env = unsafe { EnvUnowned::from_raw(env) };
    let outcome = env.with_env_no_catch(|env| -> Result<_, jni::errors::Error> {
        let result = f(env).map_err(|e| e.to_string());
        if result.is_err() && env.exception_check() {
            env.exception_clear();
        }
        Ok(result)
    });
    match outcome.into_outcome() {
        Outcome::Ok(result) => result,
        Outcome::Err(error) => Err(error.to_string()),
        Outcome::Panic(panic) => std::panic::resume_unwind(panic), // up to our own guard
    }
}

/// Defines the hook class into the boot loader, where it is not there from an earlier time, and has `bind` called to bind its methods.
pub(crate) fn define_hook(env: *mut JNIEnv, bind: Bind) -> Result<(), String> {
    with(env, |env| {
        let hook = define_once(env, jni_str!("java/lang/JtrailHook"), HOOK_CLASS)?;
        let binder = define_once(env, jni_str!("jtrail/Binder"), BINDER_CLASS)?;
        // SAFETY: that is the method's signature.
        let method = unsafe {
            NativeMethod::from_raw_parts(
                jni_str!("bindNatives"),
                jni_str!("(Ljava/lang/Class;)V"),
                bind as *mut c_void,
            )
        };
        // SAFETY: as above.
        unsafe { env.register_native_methods(&binder, &[method]) }?;
        env.call_static_method(
            binder,
            jni_str!("bind"),
            jni_sig!("(Ljava/lang/Class;)V"),
            &[JValue::Object(&hook)],
        )?
        .v()
    })
}

/// A class of the boot loader, which is defined unless it is there.
fn define_once<'local>(
    env: &mut jni::Env<'local>,
    name: &'static JNIStr,
    bytes: &[u8],
) -> Result<JClass<'local>, jni::errors::Error> {
    let defined = env.define_class(Some(name), JClassLoader::null(), bytes);
    if defined.is_ok() {
        return defined;
    }
    if env.exception_check() {
        env.exception_clear();
    }
    env.find_class(name)
}

/// Binds the methods of the hook class.
///
/// # Safety
/// The functions are static native methods of Java with one `int`, where nothing else is said.
pub(crate) unsafe fn bind_hook(
    env: *mut JNIEnv,
    class: jclass,
    functions: &HookFunctions,
) -> Result<(), String> {
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
                jni_str!("lineCounters"),
                jni_str!("()J"),
                functions.line_counters,
            ),
            (
                jni_str!("arrayAllocated"),
                jni_str!("(II)V"),
                functions.array_allocated,
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

/// Tells the hook class where its gate is.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to the hook class.
pub(crate) unsafe fn set_gate(
    env: *mut JNIEnv,
    class: jclass,
    address: usize,
) -> Result<(), String> {
    // SAFETY: the caller's promise; the functions are there since the first version.
    unsafe {
        let functions = &(**env).v1_1;
        let field = (functions.GetStaticFieldID)(env, class, c"gate".as_ptr(), c"J".as_ptr());
        if field.is_null() {
            (functions.ExceptionClear)(env);
            return Err("it has no gate; it is that of another version of jtrail".into());
        }
        (functions.SetStaticLongField)(env, class, field, address as i64);
    }
    Ok(())
}

/// The JVM, for threads that have no environment of it.
#[derive(Clone, Copy)]
pub(crate) struct Vm(*mut JavaVM);

// SAFETY: it may be used on any thread.
unsafe impl Send for Vm {}
// SAFETY: likewise, at the same time.
unsafe impl Sync for Vm {}

impl Vm {
    /// # Safety
    /// It is the JVM.
    pub(crate) unsafe fn new(vm: *mut JavaVM) -> Self {
        Self(vm)
    }
}

/// The JVM of an environment.
///
/// # Safety
/// `env` is the running thread's.
pub(crate) unsafe fn vm_of(env: *mut JNIEnv) -> Option<Vm> {
    let mut vm = ptr::null_mut();
    // SAFETY: the caller's promise; `vm` takes the answer.
    let code = unsafe { ((**env).v1_1.GetJavaVM)(env, &mut vm) };
    (code == 0 && !vm.is_null()).then_some(Vm(vm))
}

/// The running thread's environment, if it has one.
///
/// # Safety
/// The JVM runs.
pub(crate) unsafe fn env_of(vm: Vm) -> Option<*mut JNIEnv> {
    let mut env: *mut c_void = ptr::null_mut();
    // SAFETY: the caller's promise; `env` takes the answer.
    let code = unsafe { ((**vm.0).v1_2.GetEnv)(vm.0, &mut env, jni::sys::JNI_VERSION_1_6) };
    (code == 0 && !env.is_null()).then_some(env.cast())
}

/// Makes the running thread one of Java's, which does not keep the JVM from ending.
///
/// # Safety
/// The JVM runs.
pub(crate) unsafe fn attach_daemon(vm: Vm, name: &CStr) -> Option<*mut JNIEnv> {
    let mut env: *mut c_void = ptr::null_mut();
    let mut arguments = JavaVMAttachArgs {
        version: jni::sys::JNI_VERSION_1_6,
        name: name.as_ptr().cast_mut(),
        group: ptr::null_mut(),
    };
    // SAFETY: the caller's promise; the arguments are read during the call, `env` takes the answer.
    let code = unsafe {
        let attach = (**vm.0).v1_4.AttachCurrentThreadAsDaemon;
        attach(vm.0, &mut env, ptr::from_mut(&mut arguments).cast())
    };
    (code == 0 && !env.is_null()).then_some(env.cast())
}

/// Runs `f`, and then frees the local references that it made.
///
/// # Safety
/// `env` is the running thread's, and none of those references leaves `f`.
pub(crate) unsafe fn with_frame<T>(env: *mut JNIEnv, f: impl FnOnce() -> T) -> T {
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

/// An object's class, as a local reference.
///
/// # Safety
/// `env` is the running thread's, and `object` a live reference, not null.
pub(crate) unsafe fn class_of(env: *mut JNIEnv, object: jobject) -> jclass {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.GetObjectClass)(env, object) }
}

/// A class's superclass, as a local reference; null for an interface, and where there is none.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to a class.
pub(crate) unsafe fn superclass_of(env: *mut JNIEnv, class: jclass) -> jclass {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.GetSuperclass)(env, class) }
}

/// Whether two references are to the same object; a weak one may be to nothing any more.
///
/// # Safety
/// `env` is the running thread's; the references are null, alive or weak.
pub(crate) unsafe fn is_same(env: *mut JNIEnv, one: jobject, other: jobject) -> bool {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.IsSameObject)(env, one, other) }
}

/// A weak global reference; null when there is no memory for it.
///
/// # Safety
/// `env` is the running thread's, and `object` a live reference.
pub(crate) unsafe fn weak_reference(env: *mut JNIEnv, object: jobject) -> jobject {
    // SAFETY: the caller's promise; the function is there since version 1.2.
    unsafe { ((**env).v1_2.NewWeakGlobalRef)(env, object) }
}

/// A global reference, never given up; null when there is no memory for it.
///
/// # Safety
/// `env` is the running thread's, and `object` a live reference.
pub(crate) unsafe fn global_reference(env: *mut JNIEnv, object: jobject) -> jobject {
    // SAFETY: the caller's promise; the function is there since the first version.
    unsafe { ((**env).v1_1.NewGlobalRef)(env, object) }
}

/// `jdk.internal.misc.VM`, as a global reference that is never given up.
pub(crate) fn vm_class(env: *mut JNIEnv) -> Result<jclass, String> {
    with(env, |env| {
        let class = env.find_class(jni_str!("jdk/internal/misc/VM"))?;
        Ok(env.new_global_ref(class)?.into_raw())
    })
}

/// Its `initLevel`: how far the JVM has come.
///
/// # Safety
/// `class` is the answer of [`vm_class`].
pub(crate) unsafe fn vm_level(env: *mut JNIEnv, class: jclass) -> Result<i32, String> {
    with(env, |env| {
        // SAFETY: the caller's promise.
        let class = unsafe { JClass::from_raw(env, class) };
        env.get_static_field(class, jni_str!("initLevel"), jni_sig!("I"))?
            .i()
    })
}

/// `ClassLoader.getPlatformClassLoader()`, handed to `f` as a local reference.
pub(crate) fn with_platform_loader<T>(
    env: *mut JNIEnv,
    f: impl FnOnce(jobject) -> T,
) -> Result<T, String> {
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
