//! JVMTI's functions as safe Rust: memory of the JVM is copied and freed, errors are values.
//!
//! Object references are plain pointers here (`jobject`), as callbacks get them. Passing one that is not
//! alive is the one thing that this module can't check; the functions that take one are `unsafe` for it.

use super::abi::{self, Capabilities, Error, RawEnv};
use crate::jni::make_room;
use jni::sys::{JNIEnv, jclass, jint, jmethodID, jobject};
use jvmti_sys::jvmtiThreadGroupInfo;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::ptr;

/// A JVMTI environment.
#[derive(Clone, Copy)]
pub struct Jvmti(pub(super) RawEnv);

// SAFETY: an environment may be used on any thread.
unsafe impl Send for Jvmti {}
// SAFETY: likewise, at the same time.
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
        let behind = self.0.partition_point(|(start, _)| *start <= location);
        match behind.checked_sub(1).or((!self.0.is_empty()).then_some(0)) {
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
    /// Frees memory that the JVM gave us.
    ///
    /// # Safety
    /// It did, and nobody uses it any more.
    pub(super) unsafe fn free<T>(self, memory: *mut T) {
        if !memory.is_null() {
            // SAFETY: the caller's promise.
            unsafe { abi::deallocate(self.0, memory.cast()) };
        }
    }

    /// Copies and frees a string of the JVM's.
    ///
    /// # Safety
    /// It is null, or a string that the JVM gave us.
    pub(super) unsafe fn take_text(self, string: *mut c_char) -> String {
        if string.is_null() {
            return String::new();
        }
        // SAFETY: the caller's promise.
        let copy = text(unsafe { CStr::from_ptr(string) }.to_bytes());
        // SAFETY: likewise.
        unsafe { self.free(string) };
        copy
    }

    /// Copies and frees an array of the JVM's.
    ///
    /// # Safety
    /// The JVM gave it to us, with that many elements.
    pub(super) unsafe fn take_array<T: Copy>(self, count: jint, array: *mut T) -> Vec<T> {
        if array.is_null() {
            return Vec::new();
        }
        let count = usize::try_from(count).unwrap_or_default();
        // SAFETY: the caller's promise.
        let copy = unsafe { std::slice::from_raw_parts(array, count) }.to_vec();
        // SAFETY: likewise.
        unsafe { self.free(array) };
        copy
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

    /// All live platform threads, as local references of the running thread, whose environment `env` is.
    #[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the JVM's own environment")]
    pub fn all_threads(self, env: *mut JNIEnv) -> Result<Vec<jobject>> {
        let (mut count, mut threads) = (0, ptr::null_mut());
        // SAFETY: they take the answer.
        check("GetAllThreads", unsafe {
            abi::get_all_threads(self.0, &mut count, &mut threads)
        })?;
        // SAFETY: the JVM's array, and the running thread's environment.
        unsafe {
            let threads = self.take_array(count, threads);
            make_room(env, threads.len());
            Ok(threads)
        }
    }

    /// The running thread, as a local reference.
    pub fn current_thread(self) -> Result<jobject> {
        let mut thread = ptr::null_mut();
        // SAFETY: it takes the answer.
        check("GetCurrentThread", unsafe {
            abi::get_current_thread(self.0, &mut thread)
        })?;
        Ok(thread)
    }

    /// Names of a thread and its groups.
    ///
    /// # Safety
    /// `thread` is a live reference to a thread; null means the running one.
    pub unsafe fn thread_names(self, thread: jobject) -> Result<ThreadNames> {
        // SAFETY: the caller's promise.
        let info = unsafe { self.thread_info(thread) }?;
        // SAFETY: the JVM's string.
        let name = unsafe { self.take_text(info.name) };
        // SAFETY: references that the JVM gave us.
        let (group, parent) = unsafe { self.group(info.thread_group) };
        // SAFETY: likewise.
        let (parent_group, _) = unsafe { self.group(parent) };
        Ok(ThreadNames {
            name,
            group,
            parent_group,
        })
    }

    /// Name and parent of a thread group; nothing for a thread that has died.
    ///
    /// # Safety
    /// `group` is null or a live reference to a thread group.
    unsafe fn group(self, group: jobject) -> (String, jobject) {
        let nothing = (String::new(), ptr::null_mut());
        if group.is_null() {
            return nothing;
        }
        let mut info = jvmtiThreadGroupInfo::default();
        // SAFETY: the caller's promise; `info` takes the answer.
        if unsafe { abi::get_thread_group_info(self.0, group, &mut info) } != Error::NONE {
            return nothing;
        }
        // SAFETY: the JVM's string.
        (unsafe { self.take_text(info.name) }, info.parent)
    }

    /// The number that we keep with the running thread; 0 if none.
    ///
    /// Never asked by a reference, be it to the same thread: HotSpot 19 to 21 (JDK-8319935, mended in 22) makes what it keeps of a native thread when that
    /// attaches and the allocation of its own `Thread` is told, does not find it by that `Thread`, and makes another one (`JvmtiThreadState`). Only that one goes
    /// with the thread, and each event that is switched later, by whatever agent, counts down in the freed memory of the thread that the first one is of.
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

    /// All loaded classes, as local references of the running thread, whose environment `env` is.
    #[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the JVM's own environment")]
    pub fn loaded_classes(self, env: *mut JNIEnv) -> Result<Vec<jclass>> {
        let (mut count, mut classes) = (0, ptr::null_mut());
        // SAFETY: they take the answer.
        check("GetLoadedClasses", unsafe {
            abi::get_loaded_classes(self.0, &mut count, &mut classes)
        })?;
        // SAFETY: the JVM's array, and the running thread's environment.
        unsafe {
            let classes = self.take_array(count, classes);
            make_room(env, classes.len());
            Ok(classes)
        }
    }

    /// Whether a class may be retransformed.
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub unsafe fn is_modifiable(self, class: jclass) -> Result<bool> {
        let mut answer = 0;
        // SAFETY: the caller's promise; `answer` takes the answer.
        check("IsModifiableClass", unsafe {
            abi::is_modifiable_class(self.0, class, &mut answer)
        })?;
        Ok(answer != 0)
    }

    /// A class's signature (`Ljava/lang/String;`, `[I`).
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub unsafe fn class_signature(self, class: jclass) -> Result<String> {
        let mut signature = ptr::null_mut();
        // SAFETY: the caller's promise; `signature` takes the answer.
        check("GetClassSignature", unsafe {
            abi::get_class_signature(self.0, class, &mut signature, ptr::null_mut())
        })?;
        // SAFETY: the JVM's string.
        Ok(unsafe { self.take_text(signature) })
    }

    /// A class's source file, empty if it does not say.
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub unsafe fn source_file(self, class: jclass) -> Result<String> {
        let mut name = ptr::null_mut();
        // SAFETY: the caller's promise; `name` takes the answer.
        match unsafe { abi::get_source_file_name(self.0, class, &mut name) } {
            Error::ABSENT_INFORMATION => return Ok(String::new()),
            error => check("GetSourceFileName", error)?,
        }
        // SAFETY: the JVM's string.
        Ok(unsafe { self.take_text(name) })
    }

    /// A class's loader as a local reference, null for the boot loader.
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub unsafe fn class_loader(self, class: jclass) -> Result<jobject> {
        let mut loader = ptr::null_mut();
        // SAFETY: the caller's promise; `loader` takes the answer.
        check("GetClassLoader", unsafe {
            abi::get_class_loader(self.0, class, &mut loader)
        })?;
        Ok(loader)
    }

    /// A method's name and descriptor.
    ///
    /// # Safety
    /// `method` is alive.
    pub unsafe fn method_name(self, method: jmethodID) -> Result<(String, String)> {
        let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller's promise; they take the answers.
        check("GetMethodName", unsafe {
            abi::get_method_name(self.0, method, &mut name, &mut descriptor, ptr::null_mut())
        })?;
        // SAFETY: the JVM's strings.
        Ok(unsafe { (self.take_text(name), self.take_text(descriptor)) })
    }

    /// A method's class, as a local reference.
    ///
    /// # Safety
    /// `method` is alive.
    pub unsafe fn declaring_class(self, method: jmethodID) -> Result<jclass> {
        let mut class = ptr::null_mut();
        // SAFETY: the caller's promise; `class` takes the answer.
        check("GetMethodDeclaringClass", unsafe {
            abi::get_method_declaring_class(self.0, method, &mut class)
        })?;
        Ok(class)
    }

    /// The line table of a method, by the place in its code; empty if it does not say, or is native.
    ///
    /// # Safety
    /// `method` is alive.
    pub unsafe fn lines(self, method: jmethodID) -> Lines {
        let (mut count, mut table) = (0, ptr::null_mut());
        // SAFETY: the caller's promise; they take the answers.
        if unsafe { abi::get_line_number_table(self.0, method, &mut count, &mut table) }
            != Error::NONE
        {
            return Lines::default();
        }
        // SAFETY: the JVM's array.
        let table = unsafe { self.take_array(count, table) };
        let mut lines: Vec<(i64, u32)> = table
            .iter()
            .map(|entry| (entry.start_location, entry.line_number.max(0) as u32))
            .collect();
        lines.sort_unstable();
        Lines(lines.into())
    }

    /// Bytes of a method's code; 0 if it has none.
    ///
    /// # Safety
    /// `method` is alive.
    pub unsafe fn code_length(self, method: jmethodID) -> u32 {
        let (mut first, mut last) = (-1, -1);
        // SAFETY: the caller's promise; they take the answers.
        match unsafe { abi::get_method_location(self.0, method, &mut first, &mut last) } {
            Error::NONE => u32::try_from(last + 1).unwrap_or_default(),
            _ => 0,
        }
    }

    /// Has classes pass the load hook again.
    ///
    /// # Safety
    /// They are live references to classes.
    pub unsafe fn retransform(self, classes: &[jclass]) -> Result<()> {
        let count = jint::try_from(classes.len()).unwrap_or(jint::MAX);
        // SAFETY: the caller's promise; the array is read during the call.
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
        // SAFETY: the JVM's array, of strings and arrays that are ours to free.
        let events = unsafe { self.take_array(count, events) };
        let take = |event: jvmti_sys::jvmtiExtensionEventInfo| {
            // SAFETY: likewise.
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
