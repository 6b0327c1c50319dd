//! JVMTI's functions as safe Rust: memory of the JVM is copied and freed, errors are values, and
//! references have lifetimes ([`crate::jni::Handle`]).

use super::abi::{self, Capabilities, Error, RawEnv};
use super::method::Method;
use crate::jni::{ClassRef, Env, Handle, LoaderRef, ThreadRef};
use jni::sys::{jint, jobject};
use jvmti_sys::jvmtiThreadGroupInfo;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::ptr;

/// A JVMTI environment. It is alive until [`Self::dispose`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jvmti(pub(super) RawEnv);

// SAFETY: JVMTI lets any thread use an environment.
unsafe impl Send for Jvmti {}
// SAFETY: as for `Send`; several threads may do so at the same time.
unsafe impl Sync for Jvmti {}

/// A function of the JVM that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Its name in the specification.
    pub function: &'static str,
    /// What it returned.
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

/// What a function of the JVM gave, or its failure.
pub type Result<T> = std::result::Result<T, Failure>;

pub(super) fn check(function: &'static str, error: Error) -> Result<()> {
    if error == Error::NONE {
        Ok(())
    } else {
        Err(Failure { function, error })
    }
}

/// The phases of the JVM's life that matter here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Before Java code can run, or already over.
    Other,
    /// Java code runs, the program does not.
    Start,
    /// The program runs.
    Live,
}

/// An event that only some JVMs have.
pub struct ExtensionEvent {
    pub index: jint,
    pub id: String,
}

/// What a thread is called, and where it belongs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadNames {
    /// Its own name; empty where the JVM has none.
    pub name: String,
    /// That of its group.
    pub group: String,
    /// That of the group which has its group.
    pub parent_group: String,
}

/// A method's line table: where in the code each line begins, in the order of the code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines(Box<[(i64, u32)]>);

impl Lines {
    /// Smallest and largest line; zeros if there is none.
    pub fn range(&self) -> (u32, u32) {
        let lines = self.0.iter().map(|(_, line)| *line);
        (lines.clone().min().unwrap_or(0), lines.max().unwrap_or(0))
    }

    /// The line of a place in the code, as a trace has it.
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

/// Text in the JVM's own spelling of UTF-8.
pub fn text(bytes: &[u8]) -> String {
    simd_cesu8::mutf8::decode_lossy(bytes).into_owned()
}

impl Jvmti {
    /// Frees memory that the JVM allocated for us.
    ///
    /// # Safety
    /// A function of this environment returned `memory`, which is null or not freed yet, and nobody
    /// uses it any more.
    pub(super) unsafe fn free<T>(self, memory: *mut T) {
        if !memory.is_null() {
            // SAFETY: the caller hands over memory that this environment allocated.
            unsafe { abi::deallocate(self.0, memory.cast()) };
        }
    }

    /// Copies and frees a string.
    ///
    /// # Safety
    /// A function of this environment returned `string`, which is null, or zero-terminated and not
    /// freed yet.
    pub(super) unsafe fn take_text(self, string: *mut c_char) -> String {
        if string.is_null() {
            return String::new();
        }
        // SAFETY: a zero-terminated string that this environment allocated; it is not used after
        // the copy.
        unsafe {
            let copy = text(CStr::from_ptr(string).to_bytes());
            self.free(string);
            copy
        }
    }

    /// Copies and frees an array.
    ///
    /// # Safety
    /// A function of this environment returned `array`, which is null, or has `count` elements and
    /// is not freed yet.
    pub(super) unsafe fn take_array<T: Copy>(self, count: jint, array: *mut T) -> Vec<T> {
        if array.is_null() {
            return Vec::new();
        }
        let count = usize::try_from(count).unwrap_or_default();
        // SAFETY: an array of so many elements that this environment allocated; it is not used
        // after the copy.
        unsafe {
            let copy = std::slice::from_raw_parts(array, count).to_vec();
            self.free(array);
            copy
        }
    }

    /// Copies and frees an array of local references, less those that are null.
    ///
    /// # Safety
    /// A function of this environment returned `array` just now, with `count` local references of
    /// the running thread, whose environment `env` is, to objects of the kind `K`; or it is null.
    pub(super) unsafe fn take_locals<'e, K>(
        self,
        env: &Env<'e>,
        count: jint,
        array: *mut jobject,
    ) -> Vec<Handle<'e, K>> {
        // SAFETY: the caller has the array from the JVM, with new local references of the current
        // frame.
        unsafe {
            let locals = self.take_array(count, array);
            env.reserve_locals(locals.len());
            let handles = locals.into_iter().filter_map(|local| env.local(local));
            handles.collect()
        }
    }

    /// The capabilities that this environment could still be given.
    ///
    /// # Errors
    /// When the JVM does not say.
    pub fn potential_capabilities(self) -> Result<Capabilities> {
        let mut capabilities = Capabilities::default();
        // SAFETY: it takes the answer.
        check("GetPotentialCapabilities", unsafe {
            abi::get_potential_capabilities(self.0, &mut capabilities)
        })?;
        Ok(capabilities)
    }

    /// Has the JVM give these capabilities to this environment.
    ///
    /// # Errors
    /// When it can't, or another agent has one that only one may have.
    pub fn add_capabilities(self, capabilities: Capabilities) -> Result<()> {
        // SAFETY: it is read during the call.
        check("AddCapabilities", unsafe {
            abi::add_capabilities(self.0, &capabilities)
        })
    }

    /// How far the JVM is.
    pub fn phase(self) -> Phase {
        const START: jint = 6;
        const LIVE: jint = 4;
        let mut phase = 0;
        // SAFETY: it takes the answer.
        match (unsafe { abi::get_phase(self.0, &mut phase) }, phase) {
            (Error::NONE, START) => Phase::Start,
            (Error::NONE, LIVE) => Phase::Live,
            _ => Phase::Other,
        }
    }

    /// Java's version (11, 17 …).
    pub fn java_version(self) -> Option<u32> {
        let mut value = ptr::null_mut();
        let name = c"java.vm.specification.version"; // set from the beginning on
        // SAFETY: it reads the name, and takes the answer.
        check("GetSystemProperty", unsafe {
            abi::get_system_property(self.0, name.as_ptr(), &mut value)
        })
        .ok()?;
        // SAFETY: the JVM's string.
        unsafe { self.take_text(value) }.parse().ok()
    }

    /// All live platform threads.
    pub fn all_threads<'e>(self, env: &Env<'e>) -> Result<Vec<ThreadRef<'e>>> {
        let (mut count, mut threads) = (0, ptr::null_mut());
        // SAFETY: they take the answer, an array of local references to threads.
        unsafe {
            let error = abi::get_all_threads(self.0, &mut count, &mut threads);
            check("GetAllThreads", error)?;
            Ok(self.take_locals(env, count, threads))
        }
    }

    /// The running thread; `None` where native code is attaching it and its `Thread` does not exist
    /// yet.
    pub fn current_thread<'e>(self, env: &Env<'e>) -> Result<Option<ThreadRef<'e>>> {
        let mut thread = ptr::null_mut();
        // SAFETY: it takes the answer, a new local reference to a thread, or null.
        unsafe {
            let error = abi::get_current_thread(self.0, &mut thread);
            check("GetCurrentThread", error)?;
            Ok(env.local(thread))
        }
    }

    /// Names of a thread and its groups; of the running thread, if there is none.
    pub fn thread_names(self, thread: Option<ThreadRef<'_>>) -> Result<ThreadNames> {
        let info = self.thread_info(thread)?;
        // SAFETY: the JVM's string, and local references to thread groups that it returned just
        // now.
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

    /// Name and parent of a thread group; nothing for a thread that has died.
    ///
    /// # Safety
    /// `group` is null or a valid reference to a thread group.
    unsafe fn group(self, group: jobject) -> (String, jobject) {
        let nothing = (String::new(), ptr::null_mut());
        if group.is_null() {
            return nothing;
        }
        let mut info = jvmtiThreadGroupInfo::default();
        // SAFETY: the caller has the reference from the JVM; `info` takes the answer, with a
        // string.
        unsafe {
            if abi::get_thread_group_info(self.0, group, &mut info) != Error::NONE {
                return nothing;
            }
            (self.take_text(info.name), info.parent)
        }
    }

    /// The number that we keep with the running thread; 0 if none.
    ///
    /// Never asked by a reference, be it to the same thread: HotSpot 19 to 21 (JDK-8319935, mended
    /// in 22) makes what it keeps of a native thread when that attaches and the allocation of its
    /// own `Thread` is told, does not find it by that `Thread`, and makes another one
    /// (`JvmtiThreadState`). Only that one goes with the thread, and each event that is switched
    /// later, by whatever agent, counts down in the freed memory of the thread that the first one
    /// is of.
    pub fn thread_number(self) -> Result<u32> {
        let mut data = ptr::null_mut();
        // SAFETY: a null thread is the running one; `data` takes the answer.
        check("GetThreadLocalStorage", unsafe {
            abi::get_thread_local_storage(self.0, ptr::null_mut(), &mut data)
        })?;
        Ok(data as usize as u32)
    }

    /// Keeps a number with the running thread.
    pub fn set_thread_number(self, number: u32) -> Result<()> {
        let data = ptr::without_provenance::<c_void>(number as usize);
        // SAFETY: a null thread is the running one; the JVM only keeps the value.
        check("SetThreadLocalStorage", unsafe {
            abi::set_thread_local_storage(self.0, ptr::null_mut(), data)
        })
    }

    /// How many frames the running thread has.
    pub fn frame_count(self) -> Result<i32> {
        let mut count = 0;
        // SAFETY: a null thread is the running one; `count` takes the answer.
        check("GetFrameCount", unsafe {
            abi::get_frame_count(self.0, ptr::null_mut(), &mut count)
        })?;
        Ok(count)
    }

    /// All loaded classes.
    pub fn loaded_classes<'e>(self, env: &Env<'e>) -> Result<Vec<ClassRef<'e>>> {
        let (mut count, mut classes) = (0, ptr::null_mut());
        // SAFETY: they take the answer, an array of local references to classes.
        unsafe {
            let error = abi::get_loaded_classes(self.0, &mut count, &mut classes);
            check("GetLoadedClasses", error)?;
            Ok(self.take_locals(env, count, classes))
        }
    }

    /// Returns true if a class may be retransformed.
    pub fn is_modifiable(self, class: ClassRef<'_>) -> Result<bool> {
        let mut answer = 0;
        // SAFETY: the handle refers to a class; `answer` takes the answer.
        check("IsModifiableClass", unsafe {
            abi::is_modifiable_class(self.0, class.as_raw(), &mut answer)
        })?;
        Ok(answer != 0)
    }

    /// A class's signature (`Ljava/lang/String;`, `[I`).
    pub fn class_signature(self, class: ClassRef<'_>) -> Result<String> {
        let mut signature = ptr::null_mut();
        // SAFETY: the handle refers to a class; `signature` takes the answer, a string.
        unsafe {
            let generic = ptr::null_mut();
            let error = abi::get_class_signature(self.0, class.as_raw(), &mut signature, generic);
            check("GetClassSignature", error)?;
            Ok(self.take_text(signature))
        }
    }

    /// A class's source file, empty if the class file does not name it.
    pub fn source_file(self, class: ClassRef<'_>) -> Result<String> {
        let mut name = ptr::null_mut();
        // SAFETY: the handle refers to a class; `name` takes the answer, a string.
        unsafe {
            match abi::get_source_file_name(self.0, class.as_raw(), &mut name) {
                Error::ABSENT_INFORMATION => Ok(String::new()),
                error => check("GetSourceFileName", error).map(|()| self.take_text(name)),
            }
        }
    }

    /// A class's loader; `None` for the boot loader.
    pub fn class_loader<'e>(
        self,
        env: &Env<'e>,
        class: ClassRef<'_>,
    ) -> Result<Option<LoaderRef<'e>>> {
        let mut loader = ptr::null_mut();
        // SAFETY: the handle refers to a class; `loader` takes the answer, a new local reference to
        // a class loader, or null.
        unsafe {
            let error = abi::get_class_loader(self.0, class.as_raw(), &mut loader);
            check("GetClassLoader", error)?;
            Ok(env.local(loader))
        }
    }

    /// A method's name and descriptor.
    pub fn method_name(self, method: Method) -> Result<(String, String)> {
        let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: an id that the JVM gave ([`Method`]); they take the answers, strings.
        unsafe {
            let generic = ptr::null_mut();
            let error =
                abi::get_method_name(self.0, method.as_raw(), &mut name, &mut descriptor, generic);
            check("GetMethodName", error)?;
            Ok((self.take_text(name), self.take_text(descriptor)))
        }
    }

    /// A method's class.
    pub fn declaring_class<'e>(self, env: &Env<'e>, method: Method) -> Result<ClassRef<'e>> {
        let mut class = ptr::null_mut();
        // SAFETY: an id that the JVM gave ([`Method`]); `class` takes the answer, a new local
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

    /// The line table of a method, by the location in its code; empty if the class file has none,
    /// or the method is native.
    pub fn lines(self, method: Method) -> Lines {
        let (mut count, mut table) = (0, ptr::null_mut());
        // SAFETY: an id that the JVM gave ([`Method`]); they take the answer, an array.
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

    /// Bytes of a method's code; 0 if it has none.
    pub fn code_length(self, method: Method) -> u32 {
        let (mut first, mut last) = (-1, -1);
        // SAFETY: an id that the JVM gave ([`Method`]); they take the answers.
        match unsafe { abi::get_method_location(self.0, method.as_raw(), &mut first, &mut last) } {
            Error::NONE => u32::try_from(last + 1).unwrap_or_default(),
            _ => 0,
        }
    }

    /// Retransforms classes: they pass the load hook again.
    pub fn retransform(self, classes: &[ClassRef<'_>]) -> Result<()> {
        let classes: Vec<_> = classes.iter().map(|class| class.as_raw()).collect();
        let count = jint::try_from(classes.len()).unwrap_or(jint::MAX);
        // SAFETY: the handles refer to classes; the array is read during the call.
        check("RetransformClasses", unsafe {
            abi::retransform_classes(self.0, count, classes.as_ptr())
        })
    }

    /// Copies bytes into memory that the JVM will free.
    pub fn copy_for_jvm(self, bytes: &[u8]) -> Result<*mut u8> {
        let mut memory = ptr::null_mut();
        // SAFETY: it takes the answer.
        check("Allocate", unsafe {
            abi::allocate(self.0, bytes.len() as i64, &mut memory)
        })?;
        // SAFETY: fresh memory of that length.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok(memory)
    }

    /// The events that this JVM has beyond the specification.
    pub fn extension_events(self) -> Result<Vec<ExtensionEvent>> {
        let (mut count, mut events) = (0, ptr::null_mut());
        // SAFETY: they take the answer.
        check("GetExtensionEvents", unsafe {
            abi::get_extension_events(self.0, &mut count, &mut events)
        })?;
        // SAFETY: the JVM's array.
        let events = unsafe { self.take_array(count, events) };
        let take = |event: jvmti_sys::jvmtiExtensionEventInfo| {
            // SAFETY: an element of that array, whose strings and arrays are ours to free.
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
