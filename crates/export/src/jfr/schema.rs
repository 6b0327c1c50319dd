//! The types of a recording, as its metadata describes them.
//!
//! Names, labels and orders of fields are those of JDK 25. Some readers do not look at the
//! metadata, so that an event of the JDK has all its fields up to the last known one.

use super::encoding::{enclose, integer, text};
use std::collections::HashMap;

/// A type of values, constants, annotations or events. The numbers are the ids in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub(super) enum Type {
    /// The event that describes all types.
    Metadata = 0,
    /// The event that holds the constants.
    Checkpoint = 1,
    // Values
    Boolean = 2,
    Int,
    Long,
    String,
    // Constants
    Class,
    Thread,
    ThreadGroup,
    ClassLoader,
    Module,
    Package,
    Symbol,
    Method,
    FrameKind,
    StackFrame,
    StackTrace,
    ThreadState,
    GcName,
    GcCause,
    GcWhen,
    VirtualSpace,
    // Annotations
    Label,
    Category,
    Description,
    Content,
    Timestamp,
    Timespan,
    DataAmount,
    Unsigned,
    MemoryAddress,
    // Events
    MethodTrace,
    ExecutionSample,
    NativeMethodSample,
    MonitorEnter,
    MonitorWait,
    ThreadPark,
    ExceptionThrow,
    ErrorThrow,
    AllocationSample,
    AllocationStatistics,
    ThreadStart,
    ThreadEnd,
    ClassLoad,
    ClassUnload,
    GarbageCollection,
    YoungCollection,
    OldCollection,
    GcPause,
    GcHeapSummary,
    JvmInformation,
    Shutdown,
    ActiveRecording,
    ActiveSetting,
    MethodSum,
    CpuTime,
    Note,
}

/// What a type is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A value, or a constant with several fields.
    Plain,
    /// A constant that readers replace by its only field.
    Simple,
    Annotation,
    /// An annotation that gives the unit of a field.
    Unit,
    Event,
}

/// A type as the metadata describes it.
struct Class {
    id: Type,
    name: &'static str,
    role: Role,
    label: &'static str,
    /// Where JDK Mission Control lists an event, from the outermost category on.
    category: &'static [&'static str],
    description: &'static str,
    fields: &'static [Field],
}

#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    label: &'static str,
    id: Type,
    storage: Storage,
    /// Units, each with the value of its annotation; empty for none.
    units: &'static [(Type, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    Inline,
    Array,
    /// The field holds the key of a constant.
    Pool,
}

const fn field(name: &'static str, label: &'static str, id: Type) -> Field {
    Field {
        name,
        label,
        id,
        storage: Storage::Inline,
        units: &[],
    }
}

/// A field that holds the key of a constant.
const fn key(name: &'static str, label: &'static str, id: Type) -> Field {
    Field {
        storage: Storage::Pool,
        ..field(name, label, id)
    }
}

const fn array(name: &'static str, label: &'static str, id: Type) -> Field {
    Field {
        storage: Storage::Array,
        ..field(name, label, id)
    }
}

/// A 64-bit number with a unit.
const fn unit(
    name: &'static str,
    label: &'static str,
    units: &'static [(Type, &'static str)],
) -> Field {
    Field {
        units,
        ..field(name, label, Type::Long)
    }
}

const TICKS: &[(Type, &str)] = &[(Type::Timespan, "TICKS")];
const MILLISECONDS: &[(Type, &str)] = &[(Type::Timespan, "MILLISECONDS")];
const EPOCH_MILLISECONDS: &[(Type, &str)] = &[(Type::Timestamp, "MILLISECONDS_SINCE_EPOCH")];
const BYTES: &[(Type, &str)] = &[(Type::DataAmount, "BYTES"), (Type::Unsigned, "")];
const ADDRESS: &[(Type, &str)] = &[(Type::Unsigned, ""), (Type::MemoryAddress, "")];

const START: Field = unit("startTime", "Start Time", &[(Type::Timestamp, "TICKS")]);
const DURATION: Field = unit("duration", "Duration", TICKS);
const THREAD: Field = key("eventThread", "Event Thread", Type::Thread);
const STACK: Field = key("stackTrace", "Stack Trace", Type::StackTrace);
const GC_ID: Field = Field {
    units: &[(Type::Unsigned, "")],
    ..field("gcId", "GC Identifier", Type::Int)
};
const VALUE: &[Field] = &[field("value", "", Type::String)];

const fn class(id: Type, name: &'static str, fields: &'static [Field]) -> Class {
    Class {
        id,
        name,
        role: Role::Plain,
        label: "",
        category: &[],
        description: "",
        fields,
    }
}

const fn simple(id: Type, name: &'static str, fields: &'static [Field]) -> Class {
    Class {
        role: Role::Simple,
        ..class(id, name, fields)
    }
}

const fn annotation(id: Type, name: &'static str, fields: &'static [Field]) -> Class {
    Class {
        role: Role::Annotation,
        ..class(id, name, fields)
    }
}

const fn unit_annotation(id: Type, name: &'static str, fields: &'static [Field]) -> Class {
    Class {
        role: Role::Unit,
        ..class(id, name, fields)
    }
}

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

const JVM: &str = "Java Virtual Machine";
const APPLICATION: &[&str] = &["Java Application"];
const PROFILING: &[&str] = &[JVM, "Profiling"];
const COLLECTOR: &[&str] = &[JVM, "GC", "Collector"];
const LOADING: &[&str] = &[JVM, "Class Loading"];
const RECORDER: &[&str] = &["Flight Recorder"];

/// All types but [`Type::Metadata`] and [`Type::Checkpoint`].
const CLASSES: &[Class] = &[
    class(Type::Boolean, "boolean", &[]),
    class(Type::Int, "int", &[]),
    class(Type::Long, "long", &[]),
    class(Type::String, "java.lang.String", &[]),
    class(
        Type::Class,
        "java.lang.Class",
        &[
            key("classLoader", "Class Loader", Type::ClassLoader),
            key("name", "Name", Type::Symbol),
            key("package", "Package", Type::Package),
            field("modifiers", "Access Modifiers", Type::Int),
            field("hidden", "Hidden", Type::Boolean),
        ],
    ),
    class(
        Type::Thread,
        "java.lang.Thread",
        &[
            field("osName", "OS Thread Name", Type::String),
            field("osThreadId", "OS Thread Id", Type::Long),
            field("javaName", "Java Thread Name", Type::String),
            field("javaThreadId", "Java Thread Id", Type::Long),
            key("group", "Java Thread Group", Type::ThreadGroup),
            field("virtual", "Virtual Thread", Type::Boolean),
        ],
    ),
    class(
        Type::ThreadGroup,
        "jdk.types.ThreadGroup",
        &[
            key("parent", "Parent", Type::ThreadGroup),
            field("name", "Name", Type::String),
        ],
    ),
    class(
        Type::ClassLoader,
        "jdk.types.ClassLoader",
        &[
            key("type", "Type", Type::Class),
            key("name", "Name", Type::Symbol),
        ],
    ),
    class(
        Type::Module,
        "jdk.types.Module",
        &[key("name", "Name", Type::Symbol)],
    ),
    class(
        Type::Package,
        "jdk.types.Package",
        &[
            key("name", "Name", Type::Symbol),
            key("module", "Module", Type::Module),
            field("exported", "Exported", Type::Boolean),
        ],
    ),
    simple(
        Type::Symbol,
        "jdk.types.Symbol",
        &[field("string", "String", Type::String)],
    ),
    class(
        Type::Method,
        "jdk.types.Method",
        &[
            key("type", "Type", Type::Class),
            key("name", "Name", Type::Symbol),
            key("descriptor", "Descriptor", Type::Symbol),
            field("modifiers", "Access Modifiers", Type::Int),
            field("hidden", "Hidden", Type::Boolean),
        ],
    ),
    simple(
        Type::FrameKind,
        "jdk.types.FrameType",
        &[field("description", "Description", Type::String)],
    ),
    class(
        Type::StackFrame,
        "jdk.types.StackFrame",
        &[
            key("method", "Java Method", Type::Method),
            field("lineNumber", "Line Number", Type::Int),
            field("bytecodeIndex", "Bytecode Index", Type::Int),
            key("type", "Frame Type", Type::FrameKind),
        ],
    ),
    class(
        Type::StackTrace,
        "jdk.types.StackTrace",
        &[
            field("truncated", "Truncated", Type::Boolean),
            array("frames", "Stack Frames", Type::StackFrame),
        ],
    ),
    simple(
        Type::ThreadState,
        "jdk.types.ThreadState",
        &[field("name", "Name", Type::String)],
    ),
    simple(
        Type::GcName,
        "jdk.types.GCName",
        &[field("name", "Name", Type::String)],
    ),
    simple(
        Type::GcCause,
        "jdk.types.GCCause",
        &[field("cause", "Cause", Type::String)],
    ),
    simple(
        Type::GcWhen,
        "jdk.types.GCWhen",
        &[field("when", "When", Type::String)],
    ),
    class(
        Type::VirtualSpace,
        "jdk.types.VirtualSpace",
        &[
            unit("start", "Start Address", ADDRESS),
            unit("committedEnd", "Committed End Address", ADDRESS),
            unit("committedSize", "Committed Size", BYTES),
            unit("reservedEnd", "Reserved End Address", ADDRESS),
            unit("reservedSize", "Reserved Size", BYTES),
        ],
    ),
    annotation(Type::Label, "jdk.jfr.Label", VALUE),
    annotation(
        Type::Category,
        "jdk.jfr.Category",
        &[array("value", "", Type::String)],
    ),
    annotation(Type::Description, "jdk.jfr.Description", VALUE),
    annotation(Type::Content, "jdk.jfr.ContentType", &[]),
    unit_annotation(Type::Timestamp, "jdk.jfr.Timestamp", VALUE),
    unit_annotation(Type::Timespan, "jdk.jfr.Timespan", VALUE),
    unit_annotation(Type::DataAmount, "jdk.jfr.DataAmount", VALUE),
    unit_annotation(Type::Unsigned, "jdk.jfr.Unsigned", &[]),
    unit_annotation(Type::MemoryAddress, "jdk.jfr.MemoryAddress", &[]),
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

/// Appends the metadata: the event that describes all types, for a chunk that begins at `ticks`.
pub(super) fn metadata(ticks: u64, out: &mut Vec<u8>) {
    let mut strings = Strings::default();
    let mut tree = Vec::new();
    strings.root(&mut tree);
    enclose(out, Type::Metadata, |out| {
        integer(out, ticks);
        integer(out, 0); // duration
        integer(out, 1); // id of this metadata
        integer(out, strings.all.len() as u64);
        for string in &strings.all {
            text(out, Some(string));
        }
        out.extend(&tree);
    });
}

/// The strings of the metadata, each once. Elements refer to them by index.
#[derive(Default)]
struct Strings {
    index: HashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn reference(&mut self, string: &str, out: &mut Vec<u8>) {
        let next = self.all.len() as u64;
        let index = *self.index.entry(string.to_owned()).or_insert(next);
        if index == next {
            self.all.push(string.to_owned());
        }
        integer(out, index);
    }

    /// Writes the begin of an element. So many child elements follow.
    fn element(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        children: usize,
        out: &mut Vec<u8>,
    ) {
        self.reference(name, out);
        integer(out, attributes.len() as u64);
        for (attribute, value) in attributes {
            self.reference(attribute, out);
            self.reference(value, out);
        }
        integer(out, children as u64);
    }

    fn root(&mut self, out: &mut Vec<u8>) {
        self.element("root", &[], 2, out);
        self.element("metadata", &[], CLASSES.len(), out);
        for class in CLASSES {
            self.class(class, out);
        }
        let region = [("locale", "en_US"), ("gmtOffset", "0")];
        self.element("region", &region, 0, out);
    }

    fn class(&mut self, class: &Class, out: &mut Vec<u8>) {
        let id = (class.id as u8).to_string();
        let mut attributes = vec![("id", id.as_str()), ("name", class.name)];
        match class.role {
            Role::Plain => {}
            Role::Simple => attributes.push(("simpleType", "true")),
            Role::Annotation | Role::Unit => {
                attributes.push(("superType", "java.lang.annotation.Annotation"));
            }
            Role::Event => attributes.push(("superType", "jdk.jfr.Event")),
        }
        let mut annotations = Vec::new();
        if class.role == Role::Unit {
            annotations.push((Type::Content, Vec::new()));
        }
        if !class.label.is_empty() {
            annotations.push((Type::Label, vec![("value", class.label)]));
        }
        if !class.description.is_empty() {
            annotations.push((Type::Description, vec![("value", class.description)]));
        }
        let levels = ["value-0", "value-1", "value-2"];
        if !class.category.is_empty() {
            let category = class.category.iter();
            let category = levels.into_iter().zip(category.copied());
            annotations.push((Type::Category, category.collect()));
        }
        let children = class.fields.len() + annotations.len();
        self.element("class", &attributes, children, out);
        for field in class.fields {
            self.field(field, out);
        }
        for (id, values) in annotations {
            self.annotation(id, &values, out);
        }
    }

    fn field(&mut self, field: &Field, out: &mut Vec<u8>) {
        let id = (field.id as u8).to_string();
        let mut attributes = vec![("name", field.name), ("class", id.as_str())];
        match field.storage {
            Storage::Inline => {}
            Storage::Array => attributes.push(("dimension", "1")),
            Storage::Pool => attributes.push(("constantPool", "true")),
        }
        let has_label = !field.label.is_empty();
        let annotations = usize::from(has_label) + field.units.len();
        self.element("field", &attributes, annotations, out);
        if has_label {
            self.annotation(Type::Label, &[("value", field.label)], out);
        }
        for (id, unit) in field.units {
            match unit.is_empty() {
                true => self.annotation(*id, &[], out),
                false => self.annotation(*id, &[("value", unit)], out),
            }
        }
    }

    fn annotation(&mut self, id: Type, values: &[(&str, &str)], out: &mut Vec<u8>) {
        let id = (id as u8).to_string();
        let mut attributes = vec![("class", id.as_str())];
        attributes.extend(values);
        self.element("annotation", &attributes, 0, out);
    }
}
