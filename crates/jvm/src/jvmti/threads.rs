//! Threads seen from another one: their names, CPU times and stacks.

use super::abi::{self, Error, RawEnv};
use super::env::{Jvmti, Result, check};
use super::method::{Frame, Stack};
use crate::jni::{Env, ObjectRef, ThreadRef};
use jni::sys::{JNIEnv, jint, jobject};
use jvmti_sys::{jvmtiEnv, jvmtiError, jvmtiParamInfo, jvmtiStackInfo, jvmtiThreadInfo};
use std::ffi::c_void;
use std::ptr;

/// A function that a JVM has beyond the specification.
type ExtensionFunction = unsafe extern "C" fn(RawEnv, ...) -> Error;

/// A function of HotSpot's that takes a thread and returns another one.
#[derive(Clone, Copy)]
pub struct ThreadFunction(ExtensionFunction);

/// What an agent thread runs.
pub type AgentThread = Box<dyn FnOnce(&mut Env<'_>) + Send>;

impl Jvmti {
    /// A thread's name.
    pub fn thread_name(self, thread: ThreadRef<'_>) -> Result<String> {
        let info = self.thread_info(Some(thread))?;
        // SAFETY: the JVM's string.
        Ok(unsafe { self.take_text(info.name) })
    }

    /// What the JVM says of a thread, or of the running one. The name has to be freed.
    pub(super) fn thread_info(self, thread: Option<ThreadRef<'_>>) -> Result<jvmtiThreadInfo> {
        let mut info = jvmtiThreadInfo::default();
        // SAFETY: a valid reference to a thread, or null for the running one; `info` takes the
        // answer.
        check("GetThreadInfo", unsafe {
            abi::get_thread_info(self.0, Env::raw_thread(thread), &mut info)
        })?;
        Ok(info)
    }

    /// Returns true if a thread runs code that is not Java's, such as a callback.
    pub fn is_in_native(self, thread: ThreadRef<'_>) -> Result<bool> {
        const IN_NATIVE: jint = 0x40_0000;
        let mut state = 0;
        // SAFETY: a valid reference to a thread; `state` takes the answer.
        check("GetThreadState", unsafe {
            abi::get_thread_state(self.0, thread.as_raw(), &mut state)
        })?;
        Ok(state & IN_NATIVE != 0)
    }

    /// Nanoseconds of CPU time that a platform thread has used.
    pub fn thread_cpu_time(self, thread: ThreadRef<'_>) -> Result<u64> {
        let mut time = 0;
        // SAFETY: a valid reference to a thread; `time` takes the answer.
        check("GetThreadCpuTime", unsafe {
            abi::get_thread_cpu_time(self.0, thread.as_raw(), &mut time)
        })?;
        Ok(u64::try_from(time).unwrap_or_default())
    }

    /// Thread groups without a parent.
    pub fn top_groups<'e>(self, env: &Env<'e>) -> Result<Vec<ObjectRef<'e>>> {
        let (mut count, mut groups) = (0, ptr::null_mut());
        // SAFETY: they take the answer, an array of local references.
        unsafe {
            let error = abi::get_top_thread_groups(self.0, &mut count, &mut groups);
            check("GetTopThreadGroups", error)?;
            Ok(self.take_locals(env, count, groups))
        }
    }

    /// Starts an agent thread: a daemon which Java code does not see. `thread` was never started.
    /// `body` must not panic.
    pub fn run_agent_thread(self, thread: ThreadRef<'_>, body: AgentThread) -> Result<()> {
        const NORMAL_PRIORITY: jint = 5;
        let body = Box::into_raw(Box::new(body));
        // SAFETY: a valid reference to a thread; the function gets the box as its argument.
        let started = check("RunAgentThread", unsafe {
            abi::run_agent_thread(self.0, thread.as_raw(), run, body.cast(), NORMAL_PRIORITY)
        });
        started.inspect_err(|_| {
            // SAFETY: made by `Box::into_raw` above, and no thread was started that would take it.
            drop(unsafe { Box::from_raw(body) });
        })
    }

    /// Fills `frames` with a thread's frames from `start` on, innermost first, and returns how many
    /// there were. A negative `start` counts from the outermost frame, and is refused where there
    /// are not so many.
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
        // for `most`.
        check("GetStackTrace", unsafe {
            abi::get_stack_trace(self.0, thread, start, most, frames, &mut count)
        })?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Fills `frames` with the running thread's innermost frames, less `skip`, and returns how many
    /// there were.
    pub fn own_stack(self, skip: i32, frames: &mut [Frame]) -> Result<usize> {
        self.stack_of(None, skip, frames)
    }

    /// Shows `f` the states and innermost `depth` frames of all platform threads, as they were at
    /// one moment.
    pub fn with_all_stacks<'e, T>(
        self,
        env: &mut Env<'e>,
        depth: u16,
        f: impl FnOnce(&mut Env<'e>, &[Stack<'e>]) -> T,
    ) -> Result<T> {
        let (mut stacks, mut count) = (ptr::null_mut(), 0);
        // SAFETY: they take the answer, whose threads are local references of the current frame.
        unsafe {
            let error = abi::get_all_stack_traces(self.0, depth.into(), &mut stacks, &mut count);
            check("GetAllStackTraces", error)?;
            env.reserve_locals(usize::try_from(count).unwrap_or_default());
            Ok(self.show_stacks(env, stacks, count, f))
        }
    }

    /// As [`Self::with_all_stacks`], of these threads, which may be virtual ones.
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
        // SAFETY: valid references to threads; `stacks` takes the answer, whose threads are local
        // references of the current frame.
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

    /// Shows stacks to `f`, and frees them.
    ///
    /// # Safety
    /// This environment returned `count` stacks at `stacks` just now, with threads that are local
    /// references of the frame of `env`.
    unsafe fn show_stacks<'e, T>(
        self,
        env: &mut Env<'e>,
        stacks: *mut jvmtiStackInfo,
        count: jint,
        f: impl FnOnce(&mut Env<'e>, &[Stack<'e>]) -> T,
    ) -> T {
        // SAFETY: the caller has the stacks from the JVM; together with their frames they are one
        // piece of memory, which is freed when `f` is done with it.
        unsafe {
            let result = f(env, Stack::slice(stacks, count));
            self.free(stacks);
            result
        }
    }

    /// HotSpot's `GetVirtualThread`, for [`Self::other_thread`]: the virtual thread that runs on a
    /// platform thread. `None` in a JVM without virtual threads.
    pub fn get_virtual_thread(self) -> Result<Option<ThreadFunction>> {
        self.thread_function("com.sun.hotspot.functions.GetVirtualThread")
    }

    /// HotSpot's `GetCarrierThread`, for [`Self::other_thread`]: the platform thread that a virtual
    /// one runs on. `None` in a JVM without virtual threads.
    pub fn get_carrier_thread(self) -> Result<Option<ThreadFunction>> {
        self.thread_function("com.sun.hotspot.functions.GetCarrierThread")
    }

    /// A function of that name, which takes a thread, and a place for another one.
    fn thread_function(self, id: &str) -> Result<Option<ThreadFunction>> {
        let (mut count, mut functions) = (0, ptr::null_mut());
        // SAFETY: they take the answer.
        check("GetExtensionFunctions", unsafe {
            abi::get_extension_functions(self.0, &mut count, &mut functions)
        })?;
        let mut found = None;
        // SAFETY: the JVM's array, of strings and arrays that are ours to free. The error that the
        // function returns is a number for us, as everywhere.
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
    /// This environment returned `count` parameters at `params`, or null; nobody uses them any
    /// more.
    pub(super) unsafe fn free_params(self, count: jint, params: *mut jvmtiParamInfo) {
        // SAFETY: the JVM's array, with a string in each element.
        unsafe {
            for i in 0..usize::try_from(count).unwrap_or_default() {
                self.free((*params.add(i)).name);
            }
            self.free(params);
        }
    }

    /// What a function answers of a thread; `None` if there is no other thread.
    pub fn other_thread<'e>(
        self,
        env: &Env<'e>,
        function: ThreadFunction,
        thread: ThreadRef<'_>,
    ) -> Result<Option<ThreadRef<'e>>> {
        let mut other: jobject = ptr::null_mut();
        // SAFETY: one of the two functions that take a valid reference to a thread, and a place for
        // a new local reference to another one, or null.
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
/// `body` is the box that [`Jvmti::run_agent_thread`] passed; `env` is the environment of the new
/// thread.
unsafe extern "system" fn run(_jvmti: RawEnv, env: *mut JNIEnv, body: *mut c_void) {
    // SAFETY: the JVM calls it once, with the box from `Box::into_raw`, on the new thread with its
    // environment.
    let (body, env) = unsafe {
        let body = Box::from_raw(body.cast::<AgentThread>());
        (body, Env::from_raw(env))
    };
    if let Some(mut env) = env {
        body(&mut env);
    }
}
