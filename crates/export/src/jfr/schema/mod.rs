//! The types of a recording, as its metadata describes them.
//!
//! Names, labels and orders of fields are those of JDK 25. Some readers do not look at the
//! metadata, so that an event of the JDK has all its fields up to the last known one.

mod events;
mod metadata;
mod values;

pub(super) use metadata::metadata;

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

const BYTES: &[(Type, &str)] = &[(Type::DataAmount, "BYTES"), (Type::Unsigned, "")];
const ADDRESS: &[(Type, &str)] = &[(Type::Unsigned, ""), (Type::MemoryAddress, "")];
