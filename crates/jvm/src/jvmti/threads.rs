//! Names, states, CPU times and stacks of threads; agent threads.

use super::abi::{self, Error, RawEnv};
use super::env::{Jvmti, Result, check};
use super::method::{Frame, Stack};
use crate::jni::{Env, ObjectRef, ThreadRef};
use jni::sys::{JNIEnv, jint, jobject};
use jvmti_sys::{jvmtiEnv, jvmtiError, jvmtiParamInfo, jvmtiStackInfo, jvmtiThreadInfo};
use std::ffi::c_void;
use std::ptr;

/// A JVMTI extension function.
type ExtensionFunction = unsafe extern "C" fn(RawEnv, ...) -> Error;

/// A function of HotSpot's that takes a thread and returns another one.
#[derive(Clone, Copy)]
pub struct ThreadFunction(ExtensionFunction);

/// The body of an agent thread.
pub type AgentThread = Box<dyn FnOnce(&mut Env<'_>) + Send>;

impl Jvmti {
    /// Returns a thread's name.
    pub fn thread_name(self, thread: ThreadRef<'_>) -> Result<String> {
        let info = self.thread_info(Some(thread))?;
        // SAFETY: GetThreadInfo succeeded, so the name is a string that the environment allocated.
        Ok(unsafe { self.take_text(info.name) })
    }

    /// Returns the JVM's information about a thread; `None` means the running thread. The caller
    /// frees the name.
    pub(super) fn thread_info(self, thread: Option<ThreadRef<'_>>) -> Result<jvmtiThreadInfo> {
        let mut info = jvmtiThreadInfo::default();
        // SAFETY: a valid reference to a thread, or null for the running one; `info` receives the
        // result.
        check("GetThreadInfo", unsafe {
            abi::get_thread_info(self.0, Env::raw_thread(thread), &mut info)
        })?;
        Ok(info)
    }

    /// Returns true if a thread runs native code, such as a callback.
    pub fn is_in_native(self, thread: ThreadRef<'_>) -> Result<bool> {
        const IN_NATIVE: jint = 0x40_0000;
        let mut state = 0;
        // SAFETY: the handle refers to a thread; `state` receives the result.
        check("GetThreadState", unsafe {
            abi::get_thread_state(self.0, thread.as_raw(), &mut state)
        })?;
        Ok(state & IN_NATIVE != 0)
    }

    /// Returns the CPU time that a platform thread has used, in nanoseconds.
    pub fn thread_cpu_time(self, thread: ThreadRef<'_>) -> Result<u64> {
        let mut time = 0;
        // SAFETY: the handle refers to a thread; `time` receives the result.
        check("GetThreadCpuTime", unsafe {
            abi::get_thread_cpu_time(self.0, thread.as_raw(), &mut time)
        })?;
        Ok(u64::try_from(time).unwrap_or_default())
    }

    /// Returns the thread groups without a parent.
    pub fn top_groups<'e>(self, env: &Env<'e>) -> Result<Vec<ObjectRef<'e>>> {
        let (mut count, mut groups) = (0, ptr::null_mut());
        // SAFETY: the variables receive the result, an array of new local references.
        unsafe {
            let error = abi::get_top_thread_groups(self.0, &mut count, &mut groups);
            check("GetTopThreadGroups", error)?;
            Ok(self.take_locals(env, count, groups))
        }
    }

    /// Starts an agent thread: a daemon thread that Java code does not see. `thread` must not have
    /// been started, and `body` must not panic.
    pub fn run_agent_thread(self, thread: ThreadRef<'_>, body: AgentThread) -> Result<()> {
        const NORMAL_PRIORITY: jint = 5;
        let body = Box::into_raw(Box::new(body));
        // SAFETY: the handle refers to a thread; `run` gets the box as its argument.
        let started = check("RunAgentThread", unsafe {
            abi::run_agent_thread(self.0, thread.as_raw(), run, body.cast(), NORMAL_PRIORITY)
        });
        started.inspect_err(|_| {
            // SAFETY: the box is from `Box::into_raw` above, and no thread was started that would
            // own it.
            drop(unsafe { Box::from_raw(body) });
        })
    }

    /// Fills `frames` with a thread's frames from depth `start` on, innermost first. Returns the
    /// number of frames.
    ///
    /// A negative `start` counts from the outermost frame; the JVM refuses it if the stack has
    /// fewer frames. `None` means the running thread.
    pub fn stack_of(
        self,
        thread: Option<ThreadRef<'_>>,
        start: jint,
        frames: &mut [Frame],
    ) -> Result<usize> {
        let most = jint::try_from(frames.len()).unwrap_or(jint::MAX);
        let mut count = 0;
        let thread = Env::raw_thread(thread);
        let frames = Frame::as_mut_ptr(frames);
        // SAFETY: a valid reference to a thread, or null for the running one; the array has room
        // for `most` frames.
        check("GetStackTrace", unsafe {
            abi::get_stack_trace(self.0, thread, start, most, frames, &mut count)
        })?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Fills `frames` with the running thread's frames, innermost first. Leaves out the `skip`
    /// innermost frames. Returns the number of frames.
    pub fn own_stack(self, skip: i32, frames: &mut [Frame]) -> Result<usize> {
        self.stack_of(None, skip, frames)
    }

    /// Passes the states and the innermost `depth` frames of all platform threads to `f`. All are
    /// from one safepoint.
    pub fn with_all_stacks<'e, T>(
        self,
        env: &mut Env<'e>,
        depth: u16,
        f: impl FnOnce(&mut Env<'e>, &[Stack<'e>]) -> T,
    ) -> Result<T> {
        let (mut stacks, mut count) = (ptr::null_mut(), 0);
        // SAFETY: the variables receive the result, whose threads are new local references of the
        // current frame.
        unsafe {
            let error = abi::get_all_stack_traces(self.0, depth.into(), &mut stacks, &mut count);
            check("GetAllStackTraces", error)?;
            env.reserve_locals(usize::try_from(count).unwrap_or_default());
            Ok(self.show_stacks(env, stacks, count, f))
        }
    }

    /// Like [`Self::with_all_stacks`], but for these threads, which may be virtual.
    pub fn with_stacks_of<'e, T>(
        self,
        env: &mut Env<'e>,
        threads: &[ThreadRef<'_>],
        depth: u16,
        f: impl FnOnce(&mut Env<'e>, &[Stack<'e>]) -> T,
    ) -> Result<T> {
        let threads: Vec<jobject> = threads.iter().map(|thread| thread.as_raw()).collect();
        let count = jint::try_from(threads.len()).unwrap_or(jint::MAX);
        let mut stacks = ptr::null_mut();
        // SAFETY: the handles refer to threads; `stacks` receives the result, whose threads are new
        // local references of the current frame.
        unsafe {
            let error = abi::get_thread_list_stack_traces(
                self.0,
                count,
                threads.as_ptr(),
                depth.into(),
                &mut stacks,
            );
            check("GetThreadListStackTraces", error)?;
            Ok(self.show_stacks(env, stacks, count, f))
        }
    }

    /// Passes stacks to `f`, and frees them.
    ///
    /// # Safety
    /// This environment has just returned `count` stacks at `stacks`, whose threads are local
    /// references of the current frame of `env`.
    unsafe fn show_stacks<'e, T>(
        self,
        env: &mut Env<'e>,
        stacks: *mut jvmtiStackInfo,
        count: jint,
        f: impl FnOnce(&mut Env<'e>, &[Stack<'e>]) -> T,
    ) -> T {
        // SAFETY: the JVM returned the stacks, as the caller ensures. They and their frames are one
        // block of memory, which is freed after `f` has returned.
        unsafe {
            let result = f(env, Stack::slice(stacks, count));
            self.free(stacks);
            result
        }
    }

    /// Returns HotSpot's function `GetVirtualThread`, which [`Self::other_thread`] can call. The
    /// function takes a platform thread, and returns the virtual thread that is mounted on it.
    /// `None` if the JVM has no virtual threads.
    pub fn get_virtual_thread(self) -> Result<Option<ThreadFunction>> {
        self.thread_function("com.sun.hotspot.functions.GetVirtualThread")
    }

    /// Returns HotSpot's function `GetCarrierThread`, which [`Self::other_thread`] can call. The
    /// function takes a virtual thread, and returns its carrier. `None` if the JVM has no virtual
    /// threads.
    pub fn get_carrier_thread(self) -> Result<Option<ThreadFunction>> {
        self.thread_function("com.sun.hotspot.functions.GetCarrierThread")
    }

    /// Returns the extension function with this id. Its parameters must be a thread, and a pointer
    /// that receives another thread.
    fn thread_function(self, id: &str) -> Result<Option<ThreadFunction>> {
        let (mut count, mut functions) = (0, ptr::null_mut());
        // SAFETY: the variables receive the result.
        check("GetExtensionFunctions", unsafe {
            abi::get_extension_functions(self.0, &mut count, &mut functions)
        })?;
        let mut found = None;
        // SAFETY: the environment returned an array of `count` elements, whose strings and arrays
        // the agent has to free, once. The transmute changes only the function's result, from an
        // enum to the `i32` that the enum is made of.
        unsafe {
            for function in self.take_array(count, functions) {
                self.free(function.short_description);
                self.free_params(function.param_count, function.params);
                self.free(function.errors);
                if self.take_text(function.id) == id {
                    found = function.func.map(|func| {
                        ThreadFunction(std::mem::transmute::<
                            unsafe extern "C" fn(*mut jvmtiEnv, ...) -> jvmtiError,
                            ExtensionFunction,
                        >(func))
                    });
                }
            }
        }
        Ok(found)
    }

    /// Frees the description of an extension's parameters.
    ///
    /// # Safety
    /// `params` is null, or this environment returned it with `count` parameters, which are not
    /// used afterwards.
    pub(super) unsafe fn free_params(self, count: jint, params: *mut jvmtiParamInfo) {
        // SAFETY: the JVM's array with `count` elements, as the caller ensures; each has a name of
        // its own.
        unsafe {
            for i in 0..usize::try_from(count).unwrap_or_default() {
                self.free((*params.add(i)).name);
            }
            self.free(params);
        }
    }

    /// Calls a thread function; returns `None` if there is no other thread.
    pub fn other_thread<'e>(
        self,
        env: &Env<'e>,
        function: ThreadFunction,
        thread: ThreadRef<'_>,
    ) -> Result<Option<ThreadRef<'e>>> {
        let mut other: jobject = ptr::null_mut();
        // SAFETY: [`ThreadFunction`]s take a valid reference to a thread, and a pointer that
        // receives null or a new local reference to another thread.
        unsafe {
            let error = (function.0)(self.0, thread.as_raw(), &raw mut other);
            check("an extension function", error)?;
            Ok(env.local(other))
        }
    }
}

/// Entry point of agent threads.
///
/// # Safety
/// `body` is the box that [`Jvmti::run_agent_thread`] passed, and `env` the environment of the new
/// thread.
unsafe extern "system" fn run(_jvmti: RawEnv, env: *mut JNIEnv, body: *mut c_void) {
    // SAFETY: the JVM calls this function once, on the new thread, with that thread's environment
    // and the box from `Box::into_raw`.
    let (body, env) = unsafe {
        let body = Box::from_raw(body.cast::<AgentThread>());
        (body, Env::from_raw(env))
    };
    if let Some(mut env) = env {
        body(&mut env);
    }
}
