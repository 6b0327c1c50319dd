//! Events.

use super::{ADDRESS, BYTES, Class, Field, Role, Type, class, field, key, unit};

const TICKS: &[(Type, &str)] = &[(Type::Timespan, "TICKS")];
const MILLISECONDS: &[(Type, &str)] = &[(Type::Timespan, "MILLISECONDS")];
const EPOCH_MILLISECONDS: &[(Type, &str)] = &[(Type::Timestamp, "MILLISECONDS_SINCE_EPOCH")];

const START: Field = unit("startTime", "Start Time", &[(Type::Timestamp, "TICKS")]);
const DURATION: Field = unit("duration", "Duration", TICKS);
const THREAD: Field = key("eventThread", "Event Thread", Type::Thread);
const STACK: Field = key("stackTrace", "Stack Trace", Type::StackTrace);
const GC_ID: Field = Field {
    units: &[(Type::Unsigned, "")],
    ..field("gcId", "GC Identifier", Type::Int)
};

const JVM: &str = "Java Virtual Machine";
const APPLICATION: &[&str] = &["Java Application"];
const PROFILING: &[&str] = &[JVM, "Profiling"];
const COLLECTOR: &[&str] = &[JVM, "GC", "Collector"];
const LOADING: &[&str] = &[JVM, "Class Loading"];
const RECORDER: &[&str] = &["Flight Recorder"];

const fn event(
    id: Type,
    name: &'static str,
    label: &'static str,
    category: &'static [&'static str],
    fields: &'static [Field],
) -> Class {
    Class {
        role: Role::Event,
        label,
        category,
        ..class(id, name, fields)
    }
}

/// An event of jtrail's own.
const fn own_event(
    id: Type,
    name: &'static str,
    label: &'static str,
    description: &'static str,
    fields: &'static [Field],
) -> Class {
    Class {
        description,
        ..event(id, name, label, &["jtrail"], fields)
    }
}

/// The types of events.
pub(super) const EVENTS: &[Class] = &[
    event(
        Type::MethodTrace,
        "jdk.MethodTrace",
        "Method Trace",
        &[JVM, "Method Tracing"],
        &[
            START,
            DURATION,
            THREAD,
            STACK,
            key("method", "Method", Type::Method),
        ],
    ),
    event(
        Type::ExecutionSample,
        "jdk.ExecutionSample",
        "Java Execution Sample",
        PROFILING,
        &[
            START,
            key("sampledThread", "Thread", Type::Thread),
            STACK,
            key("state", "Thread State", Type::ThreadState),
        ],
    ),
    event(
        Type::NativeMethodSample,
        "jdk.NativeMethodSample",
        "Native Sample",
        PROFILING,
        &[
            START,
            key("sampledThread", "Thread", Type::Thread),
            STACK,
            key("state", "Thread State", Type::ThreadState),
        ],
    ),
    event(
        Type::MonitorEnter,
        "jdk.JavaMonitorEnter",
        "Java Monitor Blocked",
        APPLICATION,
        &[
            START,
            DURATION,
            THREAD,
            STACK,
            key("monitorClass", "Monitor Class", Type::Class),
            key("previousOwner", "Previous Monitor Owner", Type::Thread),
            unit("address", "Monitor Address", ADDRESS),
        ],
    ),
    event(
        Type::MonitorWait,
        "jdk.JavaMonitorWait",
        "Java Monitor Wait",
        APPLICATION,
        &[
            START,
            DURATION,
            THREAD,
            STACK,
            key("monitorClass", "Monitor Class", Type::Class),
            key("notifier", "Notifier Thread", Type::Thread),
            unit("timeout", "Timeout", MILLISECONDS),
            field("timedOut", "Timed Out", Type::Boolean),
            unit("address", "Monitor Address", ADDRESS),
        ],
    ),
    event(
        Type::ThreadPark,
        "jdk.ThreadPark",
        "Java Thread Park",
        APPLICATION,
        &[
            START,
            DURATION,
            THREAD,
            STACK,
            key("parkedClass", "Class Parked On", Type::Class),
            unit(
                "timeout",
                "Park Timeout",
                &[(Type::Timespan, "NANOSECONDS")],
            ),
            unit("until", "Park Until", EPOCH_MILLISECONDS),
            unit("address", "Address of Object Parked", ADDRESS),
        ],
    ),
    event(
        Type::ExceptionThrow,
        "jdk.JavaExceptionThrow",
        "Java Exception",
        APPLICATION,
        &[
            START,
            THREAD,
            STACK,
            field("message", "Message", Type::String),
            key("thrownClass", "Class", Type::Class),
        ],
    ),
    // Views of `jfr` need the type, even if there are no such events.
    event(
        Type::ErrorThrow,
        "jdk.JavaErrorThrow",
        "Java Error",
        APPLICATION,
        &[
            START,
            THREAD,
            STACK,
            field("message", "Message", Type::String),
            key("thrownClass", "Class", Type::Class),
        ],
    ),
    event(
        Type::AllocationSample,
        "jdk.ObjectAllocationSample",
        "Object Allocation Sample",
        APPLICATION,
        &[
            START,
            THREAD,
            STACK,
            key("objectClass", "Object Class", Type::Class),
            unit("weight", "Sample Weight", &[(Type::DataAmount, "BYTES")]),
        ],
    ),
    event(
        Type::AllocationStatistics,
        "jdk.ThreadAllocationStatistics",
        "Thread Allocation Statistics",
        &["Java Application", "Statistics"],
        &[
            START,
            unit("allocated", "Allocated", BYTES),
            key("thread", "Thread", Type::Thread),
        ],
    ),
    event(
        Type::ThreadStart,
        "jdk.ThreadStart",
        "Java Thread Start",
        APPLICATION,
        &[
            START,
            THREAD,
            STACK,
            key("thread", "New Java Thread", Type::Thread),
            key("parentThread", "Parent Java Thread", Type::Thread),
        ],
    ),
    event(
        Type::ThreadEnd,
        "jdk.ThreadEnd",
        "Java Thread End",
        APPLICATION,
        &[START, THREAD, key("thread", "Java Thread", Type::Thread)],
    ),
    event(
        Type::ClassLoad,
        "jdk.ClassLoad",
        "Class Load",
        LOADING,
        &[
            START,
            DURATION,
            THREAD,
            STACK,
            key("loadedClass", "Loaded Class", Type::Class),
            key(
                "definingClassLoader",
                "Defining Class Loader",
                Type::ClassLoader,
            ),
            key(
                "initiatingClassLoader",
                "Initiating Class Loader",
                Type::ClassLoader,
            ),
        ],
    ),
    event(
        Type::ClassUnload,
        "jdk.ClassUnload",
        "Class Unload",
        LOADING,
        &[
            START,
            THREAD,
            key("unloadedClass", "Unloaded Class", Type::Class),
            key(
                "definingClassLoader",
                "Defining Class Loader",
                Type::ClassLoader,
            ),
        ],
    ),
    event(
        Type::GarbageCollection,
        "jdk.GarbageCollection",
        "Garbage Collection",
        COLLECTOR,
        &[
            START,
            DURATION,
            GC_ID,
            key("name", "Name", Type::GcName),
            key("cause", "Cause", Type::GcCause),
            unit("sumOfPauses", "Sum of Pauses", TICKS),
            unit("longestPause", "Longest Pause", TICKS),
        ],
    ),
    event(
        Type::YoungCollection,
        "jdk.YoungGarbageCollection",
        "Young Garbage Collection",
        COLLECTOR,
        &[START, DURATION, GC_ID],
    ),
    event(
        Type::OldCollection,
        "jdk.OldGarbageCollection",
        "Old Garbage Collection",
        COLLECTOR,
        &[START, DURATION, GC_ID],
    ),
    event(
        Type::GcPause,
        "jdk.GCPhasePause",
        "GC Phase Pause",
        &[JVM, "GC", "Phases"],
        &[START, DURATION, GC_ID, field("name", "Name", Type::String)],
    ),
    event(
        Type::GcHeapSummary,
        "jdk.GCHeapSummary",
        "Heap Summary",
        &[JVM, "GC", "Heap"],
        &[
            START,
            GC_ID,
            key("when", "When", Type::GcWhen),
            field("heapSpace", "Heap Space", Type::VirtualSpace),
            unit("heapUsed", "Heap Used", BYTES),
        ],
    ),
    event(
        Type::JvmInformation,
        "jdk.JVMInformation",
        "JVM Information",
        &[JVM],
        &[
            START,
            field("jvmName", "JVM Name", Type::String),
            field("jvmVersion", "JVM Version", Type::String),
            field("jvmArguments", "JVM Command Line Arguments", Type::String),
            field("jvmFlags", "JVM Settings File Arguments", Type::String),
            field("javaArguments", "Java Application Arguments", Type::String),
            unit("jvmStartTime", "JVM Start Time", EPOCH_MILLISECONDS),
            field("pid", "Process Identifier", Type::Long),
        ],
    ),
    event(
        Type::Shutdown,
        "jdk.Shutdown",
        "JVM Shutdown",
        &[JVM],
        &[
            START,
            THREAD,
            STACK,
            field("reason", "Reason", Type::String),
        ],
    ),
    event(
        Type::ActiveRecording,
        "jdk.ActiveRecording",
        "Flight Recording",
        RECORDER,
        &[
            START,
            field("id", "Id", Type::Long),
            field("name", "Name", Type::String),
            field("destination", "Destination", Type::String),
            field("disk", "To Disk", Type::Boolean),
            unit("maxAge", "Max Age", MILLISECONDS),
            unit("flushInterval", "Flush Interval", MILLISECONDS),
            unit("maxSize", "Max Size", &[(Type::DataAmount, "BYTES")]),
            unit("recordingStart", "Start Time", EPOCH_MILLISECONDS),
            unit("recordingDuration", "Recording Duration", MILLISECONDS),
        ],
    ),
    event(
        Type::ActiveSetting,
        "jdk.ActiveSetting",
        "Recording Setting",
        RECORDER,
        &[
            START,
            field("id", "Event Id", Type::Long),
            field("name", "Setting Name", Type::String),
            field("value", "Setting Value", Type::String),
        ],
    ),
    own_event(
        Type::MethodSum,
        "jtrail.MethodSum",
        "Sum of Short Calls",
        "Calls that the trace has as a sum, by call path",
        &[
            START,
            THREAD,
            STACK,
            key("method", "Method", Type::Method),
            field("calls", "Calls", Type::Long),
            unit("selfTime", "Time without Callees", TICKS),
        ],
    ),
    own_event(
        Type::CpuTime,
        "jtrail.CpuTime",
        "CPU Time",
        "CPU time since the start of a thread, or of the process if there is no thread",
        &[START, THREAD, unit("cpuTime", "CPU Time", TICKS)],
    ),
    own_event(
        Type::Note,
        "jtrail.Note",
        "Note",
        "A mark, or what the trace says about itself",
        &[START, field("text", "Text", Type::String)],
    ),
];
