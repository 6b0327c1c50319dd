//! The JVM, and the running thread's JNI environment.

use super::refs::{Handle, StaticVm};
use crate::Error;
use jni::sys::{JNIEnv, JNINativeInterface__1_2, JavaVM};
use jni::{EnvUnowned, Outcome};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// The JVM of this process. HotSpot creates at most one.
#[derive(Clone, Copy)]
pub struct Vm(NonNull<JavaVM>);

// SAFETY: JNI lets any thread use the invocation interface of the JVM.
unsafe impl Send for Vm {}
// SAFETY: several threads may use the invocation interface at the same time, says JNI.
unsafe impl Sync for Vm {}

impl Vm {
    /// Wraps the JVM that loads the agent; `None` for null. [`super::GlobalRef`] and
    /// [`super::WeakRef`] use it to delete their references when they are dropped.
    ///
    /// # Safety
    /// `vm` is the pointer that the JVM passed to `Agent_OnLoad`, `Agent_OnAttach` or
    /// `Agent_OnUnload`. It stays valid until the process ends.
    pub unsafe fn new(vm: *mut JavaVM) -> Option<Self> {
        let vm = Self(NonNull::new(vm)?);
        StaticVm::set(vm);
        Some(vm)
    }

    /// Returns the raw pointer.
    pub fn as_ptr(self) -> *mut JavaVM {
        self.0.as_ptr()
    }

    /// Runs `f` with the running thread's environment. Returns `None` if the thread is not attached
    /// to the JVM.
    ///
    /// `f` gets `&Env`, so it can't open a local frame. Otherwise a caller further up the stack
    /// might create references in that frame with its own [`Env`], and use them after the frame has
    /// ended.
    pub fn with_env<T>(self, f: impl FnOnce(&Env<'_>) -> T) -> Option<T> {
        // SAFETY: `f` gets a shared borrow, with which other `Env`s of the thread may coexist.
        unsafe { self.with_env_mut(|env| f(env)) }
    }

    /// Like [`Self::with_env`], but lets `f` open local frames.
    ///
    /// # Safety
    /// The running thread uses no other [`Env`] until `f` returns.
    pub unsafe fn with_env_mut<T>(self, f: impl FnOnce(&mut Env<'_>) -> T) -> Option<T> {
        let mut env: *mut c_void = ptr::null_mut();
        let vm = self.as_ptr();
        // SAFETY: the JVM is alive (`Vm::new`), and `env` is a variable that receives the result.
        let code = unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, jni::sys::JNI_VERSION_1_6) };
        if code != 0 {
            return None;
        }
        // SAFETY: GetEnv succeeded, so this is the running thread's environment. Local references
        // that `f` creates live until the thread returns to Java, which is after `f`.
        let mut env = unsafe { Env::from_raw(env.cast()) }?;
        Some(f(&mut env))
    }
}

/// The running thread's JNI environment, valid during one callback, native method or local frame.
///
/// Local references that an `Env` returns live as long as it does (`'e`). Methods that open a local
/// frame borrow the `Env` mutably, so that code in the frame uses only the frame's own `Env`.
pub struct Env<'e> {
    raw: NonNull<JNIEnv>,
    /// Makes the type neither `Send` nor `Sync`: an environment belongs to its thread.
    lifetime: PhantomData<(&'e (), *mut ())>,
}

impl<'e> Env<'e> {
    /// Wraps the environment at `raw`; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or the environment that the JVM passed to the running thread. `'e` ends
    /// before the thread returns to the JVM from the callback or native method that got the
    /// environment.
    pub unsafe fn from_raw(raw: *mut JNIEnv) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            lifetime: PhantomData,
        })
    }

    /// Returns the raw pointer.
    pub fn as_ptr(&self) -> *mut JNIEnv {
        self.raw.as_ptr()
    }

    /// Returns JNI's function table. Functions up to version 1.2 exist in every JVM.
    pub(crate) fn functions(&self) -> &JNINativeInterface__1_2 {
        // SAFETY: the environment is alive (`Env::from_raw`), and the JVM never frees its table.
        unsafe { &(**self.as_ptr()).v1_2 }
    }

    /// Wraps a local reference that the JVM created in the current frame; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or a local reference to an object of the kind `K` that the JVM has just
    /// returned to the running thread.
    pub(crate) unsafe fn local<K>(&self, raw: jni::sys::jobject) -> Option<Handle<'e, K>> {
        // SAFETY: a local reference of the current frame lives as long as `'e`.
        unsafe { Handle::from_raw(self, raw) }
    }

    /// Runs `f` in a new local frame. All local references that `f` creates are freed afterwards.
    pub fn with_frame<T>(&mut self, f: impl for<'f> FnOnce(&mut Env<'f>) -> T) -> T {
        const ROOM: i32 = 1024;
        let raw = self.as_ptr();
        // SAFETY: the environment is the running thread's. If the JVM has no memory for a frame,
        // the references live until the thread returns to the JVM, which is longer than needed.
        let has_frame = unsafe { (self.functions().PushLocalFrame)(raw, ROOM) } == 0;
        let result = f(&mut Env {
            raw: self.raw,
            lifetime: PhantomData,
        });
        if has_frame {
            // SAFETY: the frame was pushed above. Its references can't leave `f`, which accepts an
            // `Env` of any lifetime.
            unsafe { (self.functions().PopLocalFrame)(raw, ptr::null_mut()) };
        }
        result
    }

    /// Runs `f` with the `jni` crate's environment. If `f` fails with a Java exception, the
    /// exception is cleared.
    ///
    /// # Errors
    /// If `f` fails.
    pub fn with_jni<T>(
        &self,
        f: impl FnOnce(&mut jni::Env<'_>) -> Result<T, jni::errors::Error>,
    ) -> Result<T, Error> {
        // SAFETY: the environment is the running thread's.
        let mut env = unsafe { EnvUnowned::from_raw(self.as_ptr()) };
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
            Outcome::Panic(panic) => std::panic::resume_unwind(panic), // to the agent's guard
        }
    }

    /// Clears a pending exception.
    pub(crate) fn clear_exception(&self) {
        // SAFETY: the environment is the running thread's.
        unsafe { (self.functions().ExceptionClear)(self.as_ptr()) }
    }

    /// Declares to the JVM the `count` local references that it has just created for the running
    /// thread, and room for `count` more.
    ///
    /// With `-Xcheck:jni`, JVMs up to 17 print a warning to the program's output for each 32 local
    /// references beyond the declared capacity. References of outer frames count too. So code that
    /// may lead to callbacks should not hold many references outside of [`Self::with_frame`].
    pub(crate) fn reserve_locals(&self, count: usize) {
        // The default of `-XX:MaxJNILocalCapacity`. The JVM refuses a higher number, which costs
        // one warning.
        const MAX_FREE: usize = 65_536;
        const FREE: usize = 32; // accepted unannounced
        if count >= FREE {
            let room = count.clamp(FREE, MAX_FREE) as i32;
            // SAFETY: the environment is the running thread's. The result does not matter: the JVM
            // creates references beyond the capacity too.
            unsafe { (self.functions().EnsureLocalCapacity)(self.as_ptr(), room) };
        }
    }
}
