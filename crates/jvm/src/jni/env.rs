//! The JVM, and the running thread's environment.

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
// SAFETY: as for `Send`; several threads may do so at the same time.
unsafe impl Sync for Vm {}

impl Vm {
    /// The JVM that loads the agent. [`super::GlobalRef`]s and [`super::WeakRef`]s use it to delete
    /// themselves.
    ///
    /// # Safety
    /// `vm` is the pointer that the JVM passed to `Agent_OnLoad`, `Agent_OnAttach` or
    /// `Agent_OnUnload`. It stays valid until the process ends.
    pub unsafe fn new(vm: *mut JavaVM) -> Option<Self> {
        let vm = Self(NonNull::new(vm)?);
        StaticVm::set(vm);
        Some(vm)
    }

    /// The raw pointer.
    pub fn as_ptr(self) -> *mut JavaVM {
        self.0.as_ptr()
    }

    /// Runs `f` with the running thread's environment. Returns `None` if the thread is not attached
    /// to the JVM.
    ///
    /// The environment is shared, for the thread may use another [`Env`] further up its stack: so
    /// `f` can open no local frame, in which that one could create references.
    pub fn with_env<T>(self, f: impl FnOnce(&Env<'_>) -> T) -> Option<T> {
        // SAFETY: `f` gets the environment shared.
        unsafe { self.with_env_mut(|env| f(env)) }
    }

    /// As [`Self::with_env`], where no other one is in use.
    ///
    /// # Safety
    /// The running thread uses no other [`Env`] until `f` returns.
    pub unsafe fn with_env_mut<T>(self, f: impl FnOnce(&mut Env<'_>) -> T) -> Option<T> {
        let mut env: *mut c_void = ptr::null_mut();
        let vm = self.as_ptr();
        // SAFETY: the JVM is alive (`Vm::new`); `env` receives the answer.
        let code = unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, jni::sys::JNI_VERSION_1_6) };
        if code != 0 {
            return None;
        }
        // SAFETY: the JVM returned it for the running thread. Local references that `f` creates
        // live until the thread returns to Java, which is after `f`.
        let mut env = unsafe { Env::from_raw(env.cast()) }?;
        Some(f(&mut env))
    }
}

/// The JNI environment of the running thread, while a callback, a native method or a local frame
/// lasts.
///
/// Local references that come from it live as long (`'e`). Methods that open a local frame borrow
/// it mutably, so that no reference of an outer frame can be created inside.
pub struct Env<'e> {
    raw: NonNull<JNIEnv>,
    /// Neither `Send` nor `Sync`: an environment belongs to its thread.
    lifetime: PhantomData<(&'e (), *mut ())>,
}

impl<'e> Env<'e> {
    /// The environment at `raw`; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or the environment that the JVM passed to the running thread; `'e` ends
    /// before the thread returns to the JVM from the callback or native method that it was passed
    /// to.
    pub unsafe fn from_raw(raw: *mut JNIEnv) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            lifetime: PhantomData,
        })
    }

    /// The raw pointer.
    pub fn as_ptr(&self) -> *mut JNIEnv {
        self.raw.as_ptr()
    }

    /// The table of JNI's functions. All up to version 1.2 are there in every JVM.
    pub(crate) fn functions(&self) -> &JNINativeInterface__1_2 {
        // SAFETY: the environment is alive (`Env::from_raw`), and its table is static.
        unsafe { &(**self.as_ptr()).v1_2 }
    }

    /// A local reference that the JVM created in the current frame; `None` for null.
    ///
    /// # Safety
    /// The JVM returned `raw` to the running thread just now, as a reference to an object of the
    /// kind `K`, or it is null.
    pub(crate) unsafe fn local<K>(&self, raw: jni::sys::jobject) -> Option<Handle<'e, K>> {
        // SAFETY: a local reference of the current frame lives as long as `'e`.
        unsafe { Handle::from_raw(self, raw) }
    }

    /// Runs `f` in a local frame of its own, and frees the local references that were created in
    /// it.
    pub fn with_frame<T>(&mut self, f: impl for<'f> FnOnce(&mut Env<'f>) -> T) -> T {
        const ROOM: i32 = 1024;
        let raw = self.as_ptr();
        // SAFETY: the environment is the running thread's. Without a frame (no memory), the
        // references live until the thread returns to the JVM, which is longer.
        let has_frame = unsafe { (self.functions().PushLocalFrame)(raw, ROOM) } == 0;
        let result = f(&mut Env {
            raw: self.raw,
            lifetime: PhantomData,
        });
        if has_frame {
            // SAFETY: the frame was pushed above; none of its references can leave `f`, which takes
            // any lifetime.
            unsafe { (self.functions().PopLocalFrame)(raw, ptr::null_mut()) };
        }
        result
    }

    /// Runs `f` with the environment of the `jni` crate. No exception stays pending.
    ///
    /// # Errors
    /// When `f` fails.
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
            Outcome::Panic(panic) => std::panic::resume_unwind(panic), // up to our own guard
        }
    }

    /// Clears a pending exception.
    pub(crate) fn clear_exception(&self) {
        // SAFETY: the environment is the running thread's.
        unsafe { (self.functions().ExceptionClear)(self.as_ptr()) }
    }

    /// Announces `count` local references that the JVM has just created for the running thread, and
    /// that as many may follow.
    ///
    /// With `-Xcheck:jni`, JVMs up to 17 print a warning on the program's output for each 32 local
    /// references that were not announced. Those of outer frames count too, so nothing that may
    /// lead to callbacks should run with many references outside of [`Self::with_frame`].
    pub(crate) fn reserve_locals(&self, count: usize) {
        // `-XX:MaxJNILocalCapacity`; the JVM refuses more, which then is one warning.
        const MOST: usize = 65_536;
        const FREE: usize = 32; // accepted without an announcement
        if count >= FREE {
            let room = count.clamp(FREE, MOST) as i32;
            // SAFETY: the environment is the running thread's. The answer does not matter:
            // references are not limited.
            unsafe { (self.functions().EnsureLocalCapacity)(self.as_ptr(), room) };
        }
    }
}
