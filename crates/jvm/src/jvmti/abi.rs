//! JVMTI as `jvmti.h` lays it out: functions by slot, events by number, capabilities by bit.
//!
//! The crate `jvmti-sys` covers JVMTI 1.2 and returns errors as a closed enum: undefined behaviour
//! for any newer error code. So this module uses only its plain structs. A test compares the slot
//! numbers with the function table of `jvmti-sys`, for the functions that it has.

use jni::sys::{JNIEnv, jclass, jfieldID, jint, jlong, jmethodID, jobject};
use jvmti_sys::{
    jvmtiAddrLocationMap, jvmtiExtensionEventInfo, jvmtiExtensionFunctionInfo, jvmtiFrameInfo,
    jvmtiLineNumberEntry, jvmtiMonitorUsage, jvmtiStackInfo, jvmtiThreadGroupInfo, jvmtiThreadInfo,
};
use std::ffi::{c_char, c_uchar, c_void};

/// The first argument of every function: a pointer to the pointer to the function table.
pub type RawEnv = *mut *const Table;

/// The function table. The function of slot `n` has the index `n - 1`.
pub type Table = [*const c_void; 156];

/// The result of a JVMTI function. Not an enum, since a newer JVM may return other codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Error(pub i32);

impl Error {
    /// Success.
    pub const NONE: Self = Self(0);
    /// The function is not allowed in the JVM's current phase: too early or too late.
    pub const WRONG_PHASE: Self = Self(112);
    /// The JVM does not allow changes to this class.
    pub const UNMODIFIABLE_CLASS: Self = Self(79);
    /// The class of the method was unloaded.
    pub const INVALID_METHOD: Self = Self(23);
    /// The class file lacks the requested information, such as line numbers.
    pub const ABSENT_INFORMATION: Self = Self(101);
}

/// A capability: the number of its bit in the header's bit field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the specification has them by these names")]
#[repr(u32)]
pub enum Capability {
    TagObjects = 0,
    GetMonitorInfo = 7,
    GetSourceFileName = 11,
    GetLineNumbers = 12,
    AccessLocalVariables = 14,
    MaintainOriginalMethodOrder = 15,
    GenerateExceptionEvents = 17,
    GetThreadCpuTime = 23,
    GenerateMethodEntryEvents = 24,
    GenerateMethodExitEvents = 25,
    GenerateAllClassHookEvents = 26,
    GenerateCompiledMethodLoadEvents = 27,
    GenerateMonitorEvents = 28,
    GenerateVmObjectAllocEvents = 29,
    GenerateGarbageCollectionEvents = 31,
    GenerateObjectFreeEvents = 32,
    RetransformClasses = 37,
    RetransformAnyClass = 38,
    GenerateResourceExhaustionHeapEvents = 39,
    GenerateSampledObjectAllocEvents = 43,
    SupportVirtualThreads = 44,
}

/// A set of capabilities: the header's bit field `jvmtiCapabilities`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Capabilities([u32; 4]);

const _: () = assert!(size_of::<Capabilities>() == size_of::<jvmti_sys::jvmtiCapabilities>());

impl Capabilities {
    fn place(capability: Capability) -> (usize, u32) {
        let bit = capability as u32;
        // Compilers for big-endian targets fill bit fields from the most significant bit on.
        let shift = if cfg!(target_endian = "big") {
            31 - bit % 32
        } else {
            bit % 32
        };
        ((bit / 32) as usize, 1 << shift)
    }

    /// Adds a capability.
    pub fn add(&mut self, capability: Capability) {
        let (word, mask) = Self::place(capability);
        self.0[word] |= mask;
    }

    /// Returns true if the capability is in the set.
    pub fn has(&self, capability: Capability) -> bool {
        let (word, mask) = Self::place(capability);
        self.0[word] & mask != 0
    }
}

/// The number of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the specification has them by these names")]
#[repr(i32)]
pub enum Event {
    VmInit = 50,
    VmDeath = 51,
    ThreadStart = 52,
    ThreadEnd = 53,
    ClassFileLoadHook = 54,
    ClassPrepare = 56,
    VmStart = 57,
    Exception = 58,
    ExceptionCatch = 59,
    MethodEntry = 65,
    MethodExit = 66,
    DataDumpRequest = 71,
    CompiledMethodLoad = 68,
    CompiledMethodUnload = 69,
    MonitorWait = 73,
    MonitorWaited = 74,
    MonitorContendedEnter = 75,
    MonitorContendedEntered = 76,
    ResourceExhausted = 80,
    GarbageCollectionStart = 81,
    GarbageCollectionFinish = 82,
    ObjectFree = 83,
    VmObjectAlloc = 84,
    SampledObjectAlloc = 86,
    VirtualThreadStart = 87,
    VirtualThreadEnd = 88,
}

const FIRST_EVENT: usize = 50;
const LAST_EVENT: usize = 88;

/// The table of callbacks: one entry for each event number.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Callbacks([*const c_void; LAST_EVENT - FIRST_EVENT + 1]);

impl Default for Callbacks {
    fn default() -> Self {
        Self([std::ptr::null(); LAST_EVENT - FIRST_EVENT + 1])
    }
}

macro_rules! callbacks {
    ($($setter:ident $event:ident $type:ident;)*) => {
        impl Callbacks {
            $(
                /// Sets the callback of this event. Its type is the one in `jvmti.h`.
                pub fn $setter(&mut self, callback: callback::$type) {
                    self.0[Event::$event as usize - FIRST_EVENT] = callback as *const c_void;
                }
            )*
        }
    };
}

callbacks! {
    vm_init VmInit Thread;
    vm_death VmDeath Vm;
    thread_start ThreadStart Thread;
    thread_end ThreadEnd Thread;
    class_file_load_hook ClassFileLoadHook ClassFileLoadHook;
    class_prepare ClassPrepare ClassPrepare;
    vm_start VmStart Vm;
    method_entry MethodEntry MethodEntry;
    method_exit MethodExit MethodExit;
    data_dump_request DataDumpRequest Gc;
    compiled_method_load CompiledMethodLoad CompiledMethodLoad;
    compiled_method_unload CompiledMethodUnload CompiledMethodUnload;
    resource_exhausted ResourceExhausted ResourceExhausted;
    garbage_collection_start GarbageCollectionStart Gc;
    garbage_collection_finish GarbageCollectionFinish Gc;
    object_free ObjectFree ObjectFree;
    vm_object_alloc VmObjectAlloc ObjectAlloc;
    sampled_object_alloc SampledObjectAlloc ObjectAlloc;
    monitor_contended_enter MonitorContendedEnter Monitor;
    monitor_contended_entered MonitorContendedEntered Monitor;
    monitor_wait MonitorWait MonitorWait;
    monitor_waited MonitorWaited MonitorWaited;
    exception Exception Exception;
    exception_catch ExceptionCatch ExceptionCatch;
    virtual_thread_start VirtualThreadStart Thread;
    virtual_thread_end VirtualThreadEnd Thread;
}

macro_rules! functions {
    ($($slot:literal $name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            /// Calls the function of this name in the JVM's table.
            ///
            /// # Safety
            /// The environment is not disposed of, and the arguments are those that the
            /// specification asks for.
            #[inline]
            pub unsafe fn $name(env: RawEnv $(, $arg: $ty)*) -> Error {
                type Function = unsafe extern "system" fn(RawEnv $(, $ty)*) -> Error;
                // SAFETY: `env` points to the JVM's own table (ensured by the caller), whose
                // function in this slot has this type (JVMTI specification, "Function Table").
                unsafe {
                    let function: Function = std::mem::transmute((**env)[$slot - 1]);
                    function(env $(, $arg)*)
                }
            }
        )*

        #[cfg(test)]
        const SLOTS: &[(usize, &str)] = &[$(($slot, stringify!($name))),*];
    };
}

functions! {
    2 set_event_notification_mode(mode: jint, event: jint, thread: jobject);
    4 get_all_threads(count: *mut jint, threads: *mut *mut jobject);
    9 get_thread_info(thread: jobject, info: *mut jvmtiThreadInfo);
    12 run_agent_thread(thread: jobject, function: callback::AgentThread, argument: *mut c_void, priority: jint);
    13 get_top_thread_groups(count: *mut jint, groups: *mut *mut jobject);
    14 get_thread_group_info(group: jobject, info: *mut jvmtiThreadGroupInfo);
    16 get_frame_count(thread: jobject, count: *mut jint);
    17 get_thread_state(thread: jobject, state: *mut jint);
    18 get_current_thread(thread: *mut jobject);
    21 get_local_object(thread: jobject, depth: jint, slot: jint, object: *mut jobject);
    45 is_modifiable_class(class: jclass, answer: *mut c_uchar);
    47 deallocate(memory: *mut c_uchar);
    48 get_class_signature(class: jclass, signature: *mut *mut c_char, generic: *mut *mut c_char);
    49 get_class_status(class: jclass, status: *mut jint);
    50 get_source_file_name(class: jclass, name: *mut *mut c_char);
    51 get_class_modifiers(class: jclass, modifiers: *mut jint);
    52 get_class_methods(class: jclass, count: *mut jint, methods: *mut *mut jmethodID);
    53 get_class_fields(class: jclass, count: *mut jint, fields: *mut *mut jfieldID);
    54 get_implemented_interfaces(class: jclass, count: *mut jint, interfaces: *mut *mut jclass);
    57 get_class_loader(class: jclass, loader: *mut jobject);
    59 get_object_monitor_usage(object: jobject, usage: *mut jvmtiMonitorUsage);
    60 get_field_name(class: jclass, field: jfieldID, name: *mut *mut c_char, descriptor: *mut *mut c_char, generic: *mut *mut c_char);
    62 get_field_modifiers(class: jclass, field: jfieldID, modifiers: *mut jint);
    64 get_method_name(method: jmethodID, name: *mut *mut c_char, descriptor: *mut *mut c_char, generic: *mut *mut c_char);
    65 get_method_declaring_class(method: jmethodID, class: *mut jclass);
    66 get_method_modifiers(method: jmethodID, modifiers: *mut jint);
    70 get_line_number_table(method: jmethodID, count: *mut jint, table: *mut *mut jvmtiLineNumberEntry);
    71 get_method_location(method: jmethodID, start: *mut jlong, end: *mut jlong);
    78 get_loaded_classes(count: *mut jint, classes: *mut *mut jclass);
    100 get_all_stack_traces(depth: jint, stacks: *mut *mut jvmtiStackInfo, count: *mut jint);
    101 get_thread_list_stack_traces(count: jint, threads: *const jobject, depth: jint, stacks: *mut *mut jvmtiStackInfo);
    102 get_thread_local_storage(thread: jobject, data: *mut *mut c_void);
    103 set_thread_local_storage(thread: jobject, data: *const c_void);
    104 get_stack_trace(thread: jobject, start: jint, most: jint, frames: *mut jvmtiFrameInfo, count: *mut jint);
    106 get_tag(object: jobject, tag: *mut jlong);
    107 set_tag(object: jobject, tag: jlong);
    108 force_garbage_collection();
    114 get_objects_with_tags(count: jint, tags: *const jlong, found: *mut jint, objects: *mut *mut jobject, found_tags: *mut *mut jlong);
    115 follow_references(filter: jint, class: jclass, object: jobject, callbacks: *const HeapCallbacks, data: *const c_void);
    116 iterate_through_heap(filter: jint, class: jclass, callbacks: *const HeapCallbacks, data: *const c_void);
    122 set_event_callbacks(callbacks: *const Callbacks, size: jint);
    123 generate_events(event: jint);
    124 get_extension_functions(count: *mut jint, functions: *mut *mut jvmtiExtensionFunctionInfo);
    125 get_extension_events(count: *mut jint, events: *mut *mut jvmtiExtensionEventInfo);
    126 set_extension_event_callback(index: jint, callback: *const c_void);
    127 dispose_environment();
    131 get_system_property(name: *const c_char, value: *mut *mut c_char);
    133 get_phase(phase: *mut jint);
    137 get_thread_cpu_time(thread: jobject, nanoseconds: *mut jlong);
    140 get_potential_capabilities(capabilities: *mut Capabilities);
    142 add_capabilities(capabilities: *const Capabilities);
    152 retransform_classes(count: jint, classes: *const jclass);
    154 get_object_size(object: jobject, size: *mut jlong);
    156 set_heap_sampling_interval(bytes: jint);
}

/// The header's `jvmtiHeapCallbacks`.
#[repr(C)]
pub struct HeapCallbacks {
    iteration: Option<callback::HeapIteration>,
    reference: Option<callback::HeapReference>,
    /// Callbacks for the values of fields, arrays and strings, and reserved entries: unused.
    others: [*const c_void; 14],
}

const _: () = assert!(size_of::<HeapCallbacks>() == size_of::<jvmti_sys::jvmtiHeapCallbacks>());

impl HeapCallbacks {
    /// Returns callbacks that report references only.
    pub fn references(callback: callback::HeapReference) -> Self {
        Self {
            iteration: None,
            reference: Some(callback),
            others: [std::ptr::null(); 14],
        }
    }

    /// Returns callbacks that report objects only.
    pub fn objects(callback: callback::HeapIteration) -> Self {
        Self {
            iteration: Some(callback),
            reference: None,
            others: [std::ptr::null(); 14],
        }
    }
}

/// The types of the callbacks, as the header defines them.
#[expect(missing_docs, reason = "the specification has them by these names")]
pub mod callback {
    use super::*;

    pub type Vm = unsafe extern "system" fn(RawEnv, *mut JNIEnv);
    pub type Thread = unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject);
    pub type Gc = unsafe extern "system" fn(RawEnv);
    pub type ResourceExhausted =
        unsafe extern "system" fn(RawEnv, *mut JNIEnv, jint, *const c_void, *const c_char);
    /// Entry point of an agent thread.
    pub type AgentThread = unsafe extern "system" fn(RawEnv, *mut JNIEnv, *mut c_void);
    pub type MethodEntry = unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject, jmethodID);
    /// The last argument is a `jvalue`, which the agent does not read. The supported targets pass
    /// it as a word.
    pub type MethodExit =
        unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject, jmethodID, c_uchar, u64);
    pub type ObjectFree = unsafe extern "system" fn(RawEnv, jlong);
    pub type ObjectAlloc =
        unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject, jobject, jclass, jlong);
    pub type Monitor = unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject, jobject);
    pub type MonitorWait = unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject, jobject, jlong);
    pub type MonitorWaited =
        unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject, jobject, c_uchar);
    /// Arguments after the environments: thread, method, location, exception, and the method and
    /// location of the handler.
    pub type Exception = unsafe extern "system" fn(
        RawEnv,
        *mut JNIEnv,
        jobject,
        jmethodID,
        jlong,
        jobject,
        jmethodID,
        jlong,
    );
    pub type ExceptionCatch =
        unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject, jmethodID, jlong, jobject);
    /// Arguments: kind and details of the reference, tag of the object's class, tag of the
    /// referrer's class, size, tag, tag of the referrer, array length, user data.
    pub type HeapReference = unsafe extern "system" fn(
        jint,
        *const c_void,
        jlong,
        jlong,
        jlong,
        *mut jlong,
        *mut jlong,
        jint,
        *mut c_void,
    ) -> jint;
    /// Arguments: tag of the class, size, tag, array length, user data.
    pub type HeapIteration =
        unsafe extern "system" fn(jlong, jlong, *mut jlong, jint, *mut c_void) -> jint;
    pub type ClassPrepare = unsafe extern "system" fn(RawEnv, *mut JNIEnv, jobject, jclass);
    /// Arguments after the environment: method, size and address of the code, length of the address
    /// map, the map, and the compiler's records (`jvmticmlr.h`).
    pub type CompiledMethodLoad = unsafe extern "system" fn(
        RawEnv,
        jmethodID,
        jint,
        *const c_void,
        jint,
        *const jvmtiAddrLocationMap,
        *const c_void,
    );
    pub type CompiledMethodUnload = unsafe extern "system" fn(RawEnv, jmethodID, *const c_void);
    pub type ClassFileLoadHook = unsafe extern "system" fn(
        RawEnv,
        *mut JNIEnv,
        jclass,
        jobject,
        *const c_char,
        jobject,
        jint,
        *const c_uchar,
        *mut jint,
        *mut *mut c_uchar,
    );
}

/// Calls `Allocate` (slot 46). The memory is meant for the JVM, which frees it.
///
/// # Safety
/// The environment is not disposed of, and `memory` points to a variable that receives the address.
pub unsafe fn allocate(env: RawEnv, size: jlong, memory: *mut *mut c_uchar) -> Error {
    type Function = unsafe extern "system" fn(RawEnv, jlong, *mut *mut c_uchar) -> Error;
    // SAFETY: `env` points to the JVM's own table (ensured by the caller), whose function in slot
    // 46 has this type.
    unsafe {
        let function: Function = std::mem::transmute((**env)[46 - 1]);
        function(env, size, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmti_sys::jvmtiInterface_1 as Theirs;
    use std::mem::offset_of;

    #[test]
    fn slots_are_those_of_jvmti_sys() {
        macro_rules! theirs {
            ($($ours:literal = $theirs:ident),* $(,)?) => {
                &[$(($ours, offset_of!(Theirs, $theirs) / size_of::<usize>() + 1)),*]
            };
        }
        let theirs: &[(&str, usize)] = theirs![
            "set_event_notification_mode" = SetEventNotificationMode,
            "get_all_threads" = GetAllThreads,
            "get_thread_info" = GetThreadInfo,
            "run_agent_thread" = RunAgentThread,
            "get_top_thread_groups" = GetTopThreadGroups,
            "get_all_stack_traces" = GetAllStackTraces,
            "get_thread_list_stack_traces" = GetThreadListStackTraces,
            "get_extension_functions" = GetExtensionFunctions,
            "get_thread_cpu_time" = GetThreadCpuTime,
            "get_thread_group_info" = GetThreadGroupInfo,
            "get_frame_count" = GetFrameCount,
            "get_thread_state" = GetThreadState,
            "get_current_thread" = GetCurrentThread,
            "get_local_object" = GetLocalObject,
            "is_modifiable_class" = IsModifiableClass,
            "deallocate" = Deallocate,
            "get_class_signature" = GetClassSignature,
            "get_class_status" = GetClassStatus,
            "get_source_file_name" = GetSourceFileName,
            "get_class_modifiers" = GetClassModifiers,
            "get_class_methods" = GetClassMethods,
            "get_class_fields" = GetClassFields,
            "get_implemented_interfaces" = GetImplementedInterfaces,
            "get_class_loader" = GetClassLoader,
            "get_object_monitor_usage" = GetObjectMonitorUsage,
            "get_field_name" = GetFieldName,
            "get_field_modifiers" = GetFieldModifiers,
            "get_method_name" = GetMethodName,
            "get_method_declaring_class" = GetMethodDeclaringClass,
            "get_method_modifiers" = GetMethodModifiers,
            "get_line_number_table" = GetLineNumberTable,
            "get_method_location" = GetMethodLocation,
            "get_loaded_classes" = GetLoadedClasses,
            "get_thread_local_storage" = GetThreadLocalStorage,
            "set_thread_local_storage" = SetThreadLocalStorage,
            "get_stack_trace" = GetStackTrace,
            "get_tag" = GetTag,
            "set_tag" = SetTag,
            "force_garbage_collection" = ForceGarbageCollection,
            "get_objects_with_tags" = GetObjectsWithTags,
            "follow_references" = FollowReferences,
            "iterate_through_heap" = IterateThroughHeap,
            "set_event_callbacks" = SetEventCallbacks,
            "generate_events" = GenerateEvents,
            "get_extension_events" = GetExtensionEvents,
            "set_extension_event_callback" = SetExtensionEventCallback,
            "dispose_environment" = DisposeEnvironment,
            "get_system_property" = GetSystemProperty,
            "get_phase" = GetPhase,
            "get_potential_capabilities" = GetPotentialCapabilities,
            "add_capabilities" = AddCapabilities,
            "retransform_classes" = RetransformClasses,
            "get_object_size" = GetObjectSize,
        ];
        // New in Java 11, unknown to `jvmti-sys`.
        let newer = ("set_heap_sampling_interval", 156);
        assert_eq!(SLOTS.len(), theirs.len() + 1);
        for (slot, name) in SLOTS {
            assert!(
                theirs.contains(&(name, *slot)) || (*name, *slot) == newer,
                "{name} is not at slot {slot}"
            );
        }
        assert_eq!(offset_of!(Theirs, Allocate) / size_of::<usize>() + 1, 46);
    }

    #[test]
    fn capabilities_are_single_bits() {
        let mut capabilities = Capabilities::default();
        capabilities.add(Capability::RetransformClasses);
        assert!(capabilities.has(Capability::RetransformClasses));
        assert!(!capabilities.has(Capability::RetransformAnyClass));
    }
}
