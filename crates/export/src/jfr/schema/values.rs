//! Values, constants and annotations.

use super::{ADDRESS, BYTES, Class, Field, Role, Type, array, class, field, key, unit};

const VALUE: &[Field] = &[field("value", "", Type::String)];

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

/// The types of values, constants and annotations.
pub(super) const VALUES: &[Class] = &[
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
];
