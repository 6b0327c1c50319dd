//! JVMTI's functions as safe Rust: memory that the JVM allocated is copied and freed, errors are
//! values, and references have lifetimes ([`crate::jni::Handle`]).

use super::abi::{self, Capabilities, Error, RawEnv};
use super::method::Method;
use crate::jni::{ClassRef, Env, Handle, LoaderRef, ThreadRef};
use jni::sys::{jint, jobject};
use jtrail_classfile::text::from_modified_utf8;
use jvmti_sys::jvmtiThreadGroupInfo;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::ptr;

/// A JVMTI environment, usable until [`Self::dispose`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jvmti(pub(super) RawEnv);

// SAFETY: any thread may use a JVMTI environment, says the specification.
unsafe impl Send for Jvmti {}
// SAFETY: several threads may use an environment at the same time, says the specification.
unsafe impl Sync for Jvmti {}

/// A JVMTI function that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The function's name in the specification.
    pub function: &'static str,
    /// The error that the function returned.
    pub error: Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the JVM's {} answered error {}",
            self.function, self.error.0
        )
    }
}

impl std::error::Error for Failure {}

/// The result of a JVMTI function, or its failure.
pub type Result<T> = std::result::Result<T, Failure>;

pub(super) fn check(function: &'static str, error: Error) -> Result<()> {
    if error == Error::NONE {
        Ok(())
    } else {
        Err(Failure { function, error })
    }
}

/// The phases of the JVM's life that the agent distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Java code can't run: not yet, or no longer.
    Other,
    /// Java code can run, but the program has not started.
    Start,
    /// The live phase: the program runs.
    Live,
}

/// An event that only some JVMs have, beyond the specification.
pub struct ExtensionEvent {
    pub index: jint,
    pub id: String,
}

/// The names of a thread and of its thread groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadNames {
    /// The thread's name; empty if it has none.
    pub name: String,
    /// The name of the thread's group.
    pub group: String,
    /// The name of the group's parent.
    pub parent_group: String,
}

/// A method's line table: where in the bytecode each source line begins, sorted by location.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines(Box<[(i64, u32)]>);

impl Lines {
    /// Returns the smallest and the largest line number; zeros if the table is empty.
    pub fn range(&self) -> (u32, u32) {
        let lines = self.0.iter().map(|(_, line)| *line);
        (lines.clone().min().unwrap_or(0), lines.max().unwrap_or(0))
    }

    /// Returns the source line at a bytecode location, as it is written to traces: -2 means native
    /// code, -1 unknown.
    pub fn at(&self, location: i64) -> i32 {
        const NATIVE: i32 = -2;
        const UNKNOWN: i32 = -1;
        if location < 0 {
            return NATIVE;
        }
        let after = self.0.partition_point(|(start, _)| *start <= location);
        match after.checked_sub(1).or((!self.0.is_empty()).then_some(0)) {
            Some(at) => self.0[at].1 as i32,
            None => UNKNOWN,
        }
    }
}

/// Decodes the JVM's modified UTF-8.
pub fn text(bytes: &[u8]) -> String {
    from_modified_utf8(bytes).into_owned()
}

impl Jvmti {
    /// Frees memory that the JVM allocated for the agent.
    ///
    /// # Safety
    /// `memory` is null, or was returned by a function of this environment and is not freed yet. It
    /// is not used after this call.
    pub(super) unsafe fn free<T>(self, memory: *mut T) {
        if !memory.is_null() {
            // SAFETY: this environment allocated `memory`, as the caller ensures.
            unsafe { abi::deallocate(self.0, memory.cast()) };
        }
    }

    /// Copies a string that the JVM allocated, and frees the original. Returns an empty string for
    /// null.
    ///
    /// # Safety
    /// `string` is null, or a zero-terminated string that a function of this environment returned
    /// and that is not freed yet.
    pub(super) unsafe fn take_text(self, string: *mut c_char) -> String {
        if string.is_null() {
            return String::new();
        }
        // SAFETY: a zero-terminated string that this environment allocated, as the caller ensures;
        // it is not used after the copy.
        unsafe {
            let copy = text(CStr::from_ptr(string).to_bytes());
            self.free(string);
            copy
        }
    }

    /// Copies an array that the JVM allocated, and frees the original. Returns an empty vector for
    /// null.
    ///
    /// # Safety
    /// `array` is null, or an array of `count` elements that a function of this environment
    /// returned and that is not freed yet.
    pub(super) unsafe fn take_array<T: Copy>(self, count: jint, array: *mut T) -> Vec<T> {
        if array.is_null() {
            return Vec::new();
        }
        let count = usize::try_from(count).unwrap_or_default();
        // SAFETY: an array of `count` elements that this environment allocated, as the caller
        // ensures; it is not used after the copy.
        unsafe {
            let copy = std::slice::from_raw_parts(array, count).to_vec();
            self.free(array);
            copy
        }
    }

    /// Takes an array of local references that the JVM allocated:
    ///
    /// 1. Copies the array, and frees the original.
    /// 2. Declares the references to the JVM ([`Env::reserve_locals`]).
    /// 3. Returns a handle for each reference that is not null.
    ///
    /// # Safety
    /// `array` is null, or a function of this environment has just returned it: `count` local
    /// references to objects of the kind `K`, created in the current frame of the running thread,
    /// whose environment is `env`.
    pub(super) unsafe fn take_locals<'e, K>(
        self,
        env: &Env<'e>,
        count: jint,
        array: *mut jobject,
    ) -> Vec<Handle<'e, K>> {
        // SAFETY: the JVM has just returned the array with new local references of the current
        // frame, as the caller ensures.
        unsafe {
            let locals = self.take_array(count, array);
            env.reserve_locals(locals.len());
            let handles = locals.into_iter().filter_map(|local| env.local(local));
            handles.collect()
        }
    }

    /// Returns the capabilities that this environment can still add.
    ///
    /// # Errors
    /// If the JVM returns an error.
    pub fn potential_capabilities(self) -> Result<Capabilities> {
        let mut capabilities = Capabilities::default();
        // SAFETY: `capabilities` receives the result.
        check("GetPotentialCapabilities", unsafe {
            abi::get_potential_capabilities(self.0, &mut capabilities)
        })?;
        Ok(capabilities)
    }

    /// Adds capabilities to this environment.
    ///
    /// # Errors
    /// If the JVM does not have them all, or another agent has one that only one agent may have.
    pub fn add_capabilities(self, capabilities: Capabilities) -> Result<()> {
        // SAFETY: the JVM reads `capabilities` during the call only.
        check("AddCapabilities", unsafe {
            abi::add_capabilities(self.0, &capabilities)
        })
    }

    /// Returns the JVM's current phase.
    pub fn phase(self) -> Phase {
        const START: jint = 6;
        const LIVE: jint = 4;
        let mut phase = 0;
        // SAFETY: `phase` receives the result.
        match (unsafe { abi::get_phase(self.0, &mut phase) }, phase) {
            (Error::NONE, START) => Phase::Start,
            (Error::NONE, LIVE) => Phase::Live,
            _ => Phase::Other,
        }
    }

    /// Returns the Java version (11, 17 …); `None` if it is unknown.
    pub fn java_version(self) -> Option<u32> {
        let mut value = ptr::null_mut();
        let name = c"java.vm.specification.version"; // set from the start
        // SAFETY: `name` is a C string, and `value` receives the result.
        check("GetSystemProperty", unsafe {
            abi::get_system_property(self.0, name.as_ptr(), &mut value)
        })
        .ok()?;
        // SAFETY: GetSystemProperty succeeded, so `value` is a string that this environment
        // allocated.
        unsafe { self.take_text(value) }.parse().ok()
    }

    /// Returns all live platform threads.
    pub fn all_threads<'e>(self, env: &Env<'e>) -> Result<Vec<ThreadRef<'e>>> {
        let (mut count, mut threads) = (0, ptr::null_mut());
        // SAFETY: the variables receive the result, an array of new local references to threads.
        unsafe {
            let error = abi::get_all_threads(self.0, &mut count, &mut threads);
            check("GetAllThreads", error)?;
            Ok(self.take_locals(env, count, threads))
        }
    }

    /// Returns the running thread; `None` while native code attaches it and its `Thread` object
    /// does not exist yet.
    pub fn current_thread<'e>(self, env: &Env<'e>) -> Result<Option<ThreadRef<'e>>> {
        let mut thread = ptr::null_mut();
        // SAFETY: `thread` receives the result: null, or a new local reference to a thread.
        unsafe {
            let error = abi::get_current_thread(self.0, &mut thread);
            check("GetCurrentThread", error)?;
            Ok(env.local(thread))
        }
    }

    /// Returns the names of a thread and its groups. `None` means the running thread.
    pub fn thread_names(self, thread: Option<ThreadRef<'_>>) -> Result<ThreadNames> {
        let info = self.thread_info(thread)?;
        // SAFETY: the name is a string that the JVM allocated; the group and its parent are null,
        // or local references that the JVM has just returned.
        unsafe {
            let name = self.take_text(info.name);
            let (group, parent) = self.group(info.thread_group);
            let (parent_group, _) = self.group(parent);
            Ok(ThreadNames {
                name,
                group,
                parent_group,
            })
        }
    }

    /// Returns the name and the parent of a thread group. The group of a dead thread is null: then
    /// the name is empty, and the parent is null.
    ///
    /// # Safety
    /// `group` is null, or a valid reference to a thread group.
    unsafe fn group(self, group: jobject) -> (String, jobject) {
        let nothing = (String::new(), ptr::null_mut());
        if group.is_null() {
            return nothing;
        }
        let mut info = jvmtiThreadGroupInfo::default();
        // SAFETY: `group` is a valid reference, as the caller ensures; `info` receives the result,
        // whose name is a string of the JVM's.
        unsafe {
            if abi::get_thread_group_info(self.0, group, &mut info) != Error::NONE {
                return nothing;
            }
            (self.take_text(info.name), info.parent)
        }
    }

    /// Returns the number that [`Self::set_thread_number`] stored for the running thread; 0 if
    /// none.
    ///
    /// Passes null for the running thread. A reference, even one to the running thread, would
    /// trigger JDK-8319935, a bug of HotSpot 19 to 21 that is fixed in 22:
    ///
    /// 1. A native thread attaches, and the allocation of its `Thread` object is reported. HotSpot
    ///    creates a `JvmtiThreadState` for the thread: state A.
    /// 2. A function gets a reference to the `Thread` object. HotSpot does not find state A by this
    ///    object, and creates state B.
    /// 3. The thread ends. HotSpot frees the thread and state B. State A remains, and refers to the
    ///    freed thread.
    /// 4. An agent enables or disables an event. Each time, HotSpot decrements a counter in the
    ///    freed memory of the thread, because of state A.
    pub fn thread_number(self) -> Result<u32> {
        let mut data = ptr::null_mut();
        // SAFETY: null means the running thread; `data` receives the result.
        check("GetThreadLocalStorage", unsafe {
            abi::get_thread_local_storage(self.0, ptr::null_mut(), &mut data)
        })?;
        Ok(data as usize as u32)
    }

    /// Stores a number for the running thread.
    pub fn set_thread_number(self, number: u32) -> Result<()> {
        let data = ptr::without_provenance::<c_void>(number as usize);
        // SAFETY: null means the running thread; the JVM only stores the value.
        check("SetThreadLocalStorage", unsafe {
            abi::set_thread_local_storage(self.0, ptr::null_mut(), data)
        })
    }

    /// Returns the number of stack frames of the running thread.
    pub fn frame_count(self) -> Result<i32> {
        let mut count = 0;
        // SAFETY: null means the running thread; `count` receives the result.
        check("GetFrameCount", unsafe {
            abi::get_frame_count(self.0, ptr::null_mut(), &mut count)
        })?;
        Ok(count)
    }

    /// Returns all loaded classes.
    pub fn loaded_classes<'e>(self, env: &Env<'e>) -> Result<Vec<ClassRef<'e>>> {
        let (mut count, mut classes) = (0, ptr::null_mut());
        // SAFETY: the variables receive the result, an array of new local references to classes.
        unsafe {
            let error = abi::get_loaded_classes(self.0, &mut count, &mut classes);
            check("GetLoadedClasses", error)?;
            Ok(self.take_locals(env, count, classes))
        }
    }

    /// Returns true if a class can be retransformed.
    pub fn is_modifiable(self, class: ClassRef<'_>) -> Result<bool> {
        let mut answer = 0;
        // SAFETY: the handle refers to a class; `answer` receives the result.
        check("IsModifiableClass", unsafe {
            abi::is_modifiable_class(self.0, class.as_raw(), &mut answer)
        })?;
        Ok(answer != 0)
    }

    /// Returns a class's signature (`Ljava/lang/String;`, `[I`).
    pub fn class_signature(self, class: ClassRef<'_>) -> Result<String> {
        let mut signature = ptr::null_mut();
        // SAFETY: the handle refers to a class; `signature` receives the result, a string of the
        // JVM's.
        unsafe {
            let generic = ptr::null_mut();
            let error = abi::get_class_signature(self.0, class.as_raw(), &mut signature, generic);
            check("GetClassSignature", error)?;
            Ok(self.take_text(signature))
        }
    }

    /// Returns the name of a class's source file; empty if the class file has none.
    pub fn source_file(self, class: ClassRef<'_>) -> Result<String> {
        let mut name = ptr::null_mut();
        // SAFETY: the handle refers to a class; `name` receives the result, a string of the JVM's.
        unsafe {
            match abi::get_source_file_name(self.0, class.as_raw(), &mut name) {
                Error::ABSENT_INFORMATION => Ok(String::new()),
                error => check("GetSourceFileName", error).map(|()| self.take_text(name)),
            }
        }
    }

    /// Returns a class's loader; `None` for the boot loader.
    pub fn class_loader<'e>(
        self,
        env: &Env<'e>,
        class: ClassRef<'_>,
    ) -> Result<Option<LoaderRef<'e>>> {
        let mut loader = ptr::null_mut();
        // SAFETY: the handle refers to a class; `loader` receives the result: null, or a new local
        // reference to a class loader.
        unsafe {
            let error = abi::get_class_loader(self.0, class.as_raw(), &mut loader);
            check("GetClassLoader", error)?;
            Ok(env.local(loader))
        }
    }

    /// Returns a method's name and descriptor.
    pub fn method_name(self, method: Method) -> Result<(String, String)> {
        let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the id is from the JVM ([`Method`]); the variables receive two strings of the
        // JVM's.
        unsafe {
            let generic = ptr::null_mut();
            let error =
                abi::get_method_name(self.0, method.as_raw(), &mut name, &mut descriptor, generic);
            check("GetMethodName", error)?;
            Ok((self.take_text(name), self.take_text(descriptor)))
        }
    }

    /// Returns the class that declares a method.
    pub fn declaring_class<'e>(self, env: &Env<'e>, method: Method) -> Result<ClassRef<'e>> {
        let mut class = ptr::null_mut();
        // SAFETY: the id is from the JVM ([`Method`]); `class` receives the result, a new local
        // reference to a class.
        let class = unsafe {
            let error = abi::get_method_declaring_class(self.0, method.as_raw(), &mut class);
            check("GetMethodDeclaringClass", error)?;
            env.local(class)
        };
        let unloaded = Failure {
            function: "GetMethodDeclaringClass",
            error: Error::INVALID_METHOD,
        };
        class.ok_or(unloaded)
    }

    /// Returns a method's line table; empty if the class file has none or the method is native.
    pub fn lines(self, method: Method) -> Lines {
        let (mut count, mut table) = (0, ptr::null_mut());
        // SAFETY: the id is from the JVM ([`Method`]); the variables receive an array of the JVM's.
        let table = unsafe {
            let method = method.as_raw();
            match abi::get_line_number_table(self.0, method, &mut count, &mut table) {
                Error::NONE => self.take_array(count, table),
                _ => return Lines::default(),
            }
        };
        let mut lines: Vec<(i64, u32)> = table
            .iter()
            .map(|entry| (entry.start_location, entry.line_number.max(0) as u32))
            .collect();
        lines.sort_unstable();
        Lines(lines.into())
    }

    /// Returns the size of a method's bytecode in bytes; 0 if it has none.
    pub fn code_length(self, method: Method) -> u32 {
        let (mut first, mut last) = (-1, -1);
        // SAFETY: the id is from the JVM ([`Method`]); the variables receive the result.
        match unsafe { abi::get_method_location(self.0, method.as_raw(), &mut first, &mut last) } {
            Error::NONE => u32::try_from(last + 1).unwrap_or_default(),
            _ => 0,
        }
    }

    /// Retransforms classes: the JVM sends ClassFileLoadHook for each of them again.
    pub fn retransform(self, classes: &[ClassRef<'_>]) -> Result<()> {
        let classes: Vec<_> = classes.iter().map(|class| class.as_raw()).collect();
        let count = jint::try_from(classes.len()).unwrap_or(jint::MAX);
        // SAFETY: the handles refer to classes; the JVM reads the array during the call only.
        check("RetransformClasses", unsafe {
            abi::retransform_classes(self.0, count, classes.as_ptr())
        })
    }

    /// Copies bytes into memory that the JVM will free.
    pub fn copy_for_jvm(self, bytes: &[u8]) -> Result<*mut u8> {
        let mut memory = ptr::null_mut();
        // SAFETY: `memory` receives the result.
        check("Allocate", unsafe {
            abi::allocate(self.0, bytes.len() as i64, &mut memory)
        })?;
        // SAFETY: the JVM has just allocated `bytes.len()` bytes at `memory`.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok(memory)
    }

    /// Returns the events that this JVM has beyond the specification.
    pub fn extension_events(self) -> Result<Vec<ExtensionEvent>> {
        let (mut count, mut events) = (0, ptr::null_mut());
        // SAFETY: the variables receive the result.
        check("GetExtensionEvents", unsafe {
            abi::get_extension_events(self.0, &mut count, &mut events)
        })?;
        // SAFETY: GetExtensionEvents succeeded, so this is an array of `count` elements that the
        // environment allocated.
        let events = unsafe { self.take_array(count, events) };
        let take = |event: jvmti_sys::jvmtiExtensionEventInfo| {
            // SAFETY: an element of this array; the agent has to free its strings and arrays, once.
            unsafe {
                self.free(event.short_description);
                self.free_params(event.param_count, event.params);
                ExtensionEvent {
                    index: event.extension_event_index,
                    id: self.take_text(event.id),
                }
            }
        };
        Ok(events.into_iter().map(take).collect())
    }
}
