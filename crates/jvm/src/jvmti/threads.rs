//! Threads seen from another one: their names, CPU times and stacks.

use super::abi::callback::AgentThread;
use super::abi::{self, Error, RawEnv};
use super::env::{Jvmti, Result, check};
use crate::jni::make_room;
use jni::sys::{JNIEnv, jint, jobject};
use jvmti_sys::{
    jvmtiEnv, jvmtiError, jvmtiFrameInfo, jvmtiParamInfo, jvmtiStackInfo, jvmtiThreadInfo,
};
use std::ffi::c_void;
use std::ptr;

/// A function that a JVM has beyond the specification.
pub type ExtensionFunction = unsafe extern "C" fn(RawEnv, ...) -> Error;

/// The frames of a stack that the JVM shows, innermost first.
pub fn frames(stack: &jvmtiStackInfo) -> &[jvmtiFrameInfo] {
    match usize::try_from(stack.frame_count) {
        Ok(1..) if !stack.frame_buffer.is_null() => {
            // SAFETY: the JVM's array, of that many elements.
            unsafe { std::slice::from_raw_parts(stack.frame_buffer, stack.frame_count as usize) }
        }
        _ => &[],
    }
}

impl Jvmti {
    /// A thread's name.
    ///
    /// # Safety
    /// `thread` is a live reference to a thread; null means the running one.
    pub unsafe fn thread_name(self, thread: jobject) -> Result<String> {
        // SAFETY: the caller's promise, and the JVM's string.
        Ok(unsafe { self.take_text(self.thread_info(thread)?.name) })
    }

    /// What the JVM says of a thread; the name is ours to free.
    ///
    /// # Safety
    /// As for [`Self::thread_name`].
    pub(super) unsafe fn thread_info(self, thread: jobject) -> Result<jvmtiThreadInfo> {
        let mut info = jvmtiThreadInfo::default();
        // SAFETY: the caller's promise; `info` takes the answer.
        check("GetThreadInfo", unsafe {
            abi::get_thread_info(self.0, thread, &mut info)
        })?;
        Ok(info)
    }

    /// Whether a thread runs code that is not Java's, such as a callback.
    ///
    /// # Safety
    /// As for [`Self::thread_name`].
    pub unsafe fn is_in_native(self, thread: jobject) -> Result<bool> {
        const IN_NATIVE: jint = 0x40_0000;
        let mut state = 0;
        // SAFETY: the caller's promise; `state` takes the answer.
        check("GetThreadState", unsafe {
            abi::get_thread_state(self.0, thread, &mut state)
        })?;
        Ok(state & IN_NATIVE != 0)
    }

    /// Nanoseconds of CPU time that a platform thread has used.
    ///
    /// # Safety
    /// As for [`Self::thread_name`].
    pub unsafe fn thread_cpu_time(self, thread: jobject) -> Result<u64> {
        let mut time = 0;
        // SAFETY: the caller's promise; `time` takes the answer.
        check("GetThreadCpuTime", unsafe {
            abi::get_thread_cpu_time(self.0, thread, &mut time)
        })?;
        Ok(u64::try_from(time).unwrap_or_default())
    }

    /// Thread groups without a parent, as local references.
    pub fn top_groups(self) -> Result<Vec<jobject>> {
        let (mut count, mut groups) = (0, ptr::null_mut());
        // SAFETY: they take the answer.
        check("GetTopThreadGroups", unsafe {
            abi::get_top_thread_groups(self.0, &mut count, &mut groups)
        })?;
        // SAFETY: the JVM's array.
        Ok(unsafe { self.take_array(count, groups) })
    }

    /// Runs a function on a thread of its own, a daemon which Java code can't see.
    ///
    /// # Safety
    /// `thread` is a live reference to a `Thread` that was never started; `function` may be run with `argument` on any thread.
    pub unsafe fn run_agent_thread(
        self,
        thread: jobject,
        function: AgentThread,
        argument: *mut c_void,
    ) -> Result<()> {
        const NORMAL_PRIORITY: jint = 5;
        // SAFETY: the caller's promise.
        check("RunAgentThread", unsafe {
            abi::run_agent_thread(self.0, thread, function, argument, NORMAL_PRIORITY)
        })
    }

    /// A thread's frames from `start` on, innermost first, into `frames`; the answer is how many there were. A negative `start` counts
    /// from the outermost frame, and is refused where there are not so many.
    ///
    /// # Safety
    /// As for [`Self::thread_name`].
    pub unsafe fn stack_of(
        self,
        thread: jobject,
        start: jint,
        frames: &mut [jvmtiFrameInfo],
    ) -> Result<usize> {
        let most = jint::try_from(frames.len()).unwrap_or(jint::MAX);
        let mut count = 0;
        // SAFETY: the caller's promise; the array has room for `most`.
        check("GetStackTrace", unsafe {
            abi::get_stack_trace(self.0, thread, start, most, frames.as_mut_ptr(), &mut count)
        })?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// The states and innermost `depth` frames of all platform threads, as they were at one moment, for `f` to look at. The threads are
    /// local references of the running thread, whose environment `env` is.
    #[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the JVM's own environment")]
    pub fn with_all_stacks<T>(
        self,
        env: *mut JNIEnv,
        depth: u16,
        f: impl FnOnce(&[jvmtiStackInfo]) -> T,
    ) -> Result<T> {
        let (mut stacks, mut count) = (ptr::null_mut(), 0);
        // SAFETY: they take the answer.
        check("GetAllStackTraces", unsafe {
            abi::get_all_stack_traces(self.0, depth.into(), &mut stacks, &mut count)
        })?;
        // SAFETY: the running thread's environment.
        unsafe { make_room(env, usize::try_from(count).unwrap_or_default()) };
        // SAFETY: the JVM's answer.
        Ok(unsafe { self.show_stacks(stacks, count, f) })
    }

    /// As [`Self::with_all_stacks`], of these threads, which may be virtual ones.
    ///
    /// # Safety
    /// They are live references to threads.
    pub unsafe fn with_stacks_of<T>(
        self,
        threads: &[jobject],
        depth: u16,
        f: impl FnOnce(&[jvmtiStackInfo]) -> T,
    ) -> Result<T> {
        let count = jint::try_from(threads.len()).unwrap_or(jint::MAX);
        let mut stacks = ptr::null_mut();
        // SAFETY: the caller's promise; `stacks` takes the answer.
        check("GetThreadListStackTraces", unsafe {
            abi::get_thread_list_stack_traces(
                self.0,
                count,
                threads.as_ptr(),
                depth.into(),
                &mut stacks,
            )
        })?;
        // SAFETY: the JVM's answer.
        Ok(unsafe { self.show_stacks(stacks, count, f) })
    }

    /// Shows stacks to `f`, and frees them.
    ///
    /// # Safety
    /// The JVM gave us so many.
    unsafe fn show_stacks<T>(
        self,
        stacks: *mut jvmtiStackInfo,
        count: jint,
        f: impl FnOnce(&[jvmtiStackInfo]) -> T,
    ) -> T {
        let all = match usize::try_from(count) {
            // SAFETY: the caller's promise.
            Ok(count) if !stacks.is_null() => unsafe { std::slice::from_raw_parts(stacks, count) },
            _ => &[],
        };
        let result = f(all);
        // SAFETY: with the frames, it is one piece of memory.
        unsafe { self.free(stacks) };
        result
    }

    /// The function of that name that this JVM has beyond the specification.
    pub fn extension_function(self, id: &str) -> Result<Option<ExtensionFunction>> {
        let (mut count, mut functions) = (0, ptr::null_mut());
        // SAFETY: they take the answer.
        check("GetExtensionFunctions", unsafe {
            abi::get_extension_functions(self.0, &mut count, &mut functions)
        })?;
        let mut found = None;
        // SAFETY: the JVM's array, of strings and arrays that are ours to free.
        unsafe {
            for function in self.take_array(count, functions) {
                self.free(function.short_description);
                self.free_params(function.param_count, function.params);
                self.free(function.errors);
                if self.take_text(function.id) == id {
                    // The error that it returns is a number for us, as everywhere.
                    found = function.func.map(|func| {
                        std::mem::transmute::<
                            unsafe extern "C" fn(*mut jvmtiEnv, ...) -> jvmtiError,
                            ExtensionFunction,
                        >(func)
                    });
                }
            }
        }
        Ok(found)
    }

    /// Frees what the JVM says of the parameters of an extension.
    ///
    /// # Safety
    /// The JVM gave us so many.
    pub(super) unsafe fn free_params(self, count: jint, params: *mut jvmtiParamInfo) {
        for i in 0..usize::try_from(count).unwrap_or_default() {
            // SAFETY: the caller's promise.
            unsafe { self.free((*params.add(i)).name) };
        }
        // SAFETY: likewise.
        unsafe { self.free(params) };
    }

    /// The virtual thread that runs on a platform thread, or the platform thread that a virtual one runs on, as a local reference; null
    /// if there is none.
    ///
    /// # Safety
    /// `function` is HotSpot's `GetVirtualThread` or `GetCarrierThread`, and `thread` a live reference to a thread.
    pub unsafe fn other_thread(
        self,
        function: ExtensionFunction,
        thread: jobject,
    ) -> Result<jobject> {
        let mut other: jobject = ptr::null_mut();
        // SAFETY: the caller's promise; `other` takes the answer.
        check("an extension function", unsafe {
            function(self.0, thread, &raw mut other)
        })?;
        Ok(other)
    }
}
