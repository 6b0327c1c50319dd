//! Classes and methods, as defined.

use super::Text;
use crate::{ClassId, MethodId, ObjectId, ThreadId, Timestamp};

/// Definition of a class ([`crate::Event::ClassDef`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassDef<'a> {
    /// New id of the class.
    pub class: ClassId,
    /// Thread that caused the definition, if the format has it.
    pub thread: ThreadId,
    /// Time of the first use of the class in the trace.
    pub time: Timestamp,
    /// Name with dots between packages and `$` before inner names, as `Class.getName` returns it.
    pub name: Text<'a>,
    /// Source file; empty if unknown.
    pub source_name: Text<'a>,
    /// The `java.lang.Class` object, if objects have ids.
    pub object: ObjectId,
}

/// Definition of a method ([`crate::Event::MethodDef`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodDef<'a> {
    /// New id of the method.
    pub method: MethodId,
    /// Class of the method.
    pub class: ClassId,
    /// Raw name (`<init>` stays `<init>`).
    pub name: Text<'a>,
    /// Descriptor, with slashes.
    pub signature: Text<'a>,
    /// Smallest source line; 0 if unknown.
    pub start_line: i64,
    /// Largest source line; 0 if unknown.
    pub end_line: i64,
}

/// A field or method of a class, as in its class file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Member<'a> {
    /// Raw name.
    pub name: Text<'a>,
    /// Descriptor, with slashes.
    pub signature: Text<'a>,
    /// Access flags.
    pub access: u16,
}

/// Contents of a class file ([`crate::Event::ClassDetail`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassDetail<'a> {
    /// The class.
    pub class: ClassId,
    /// Time at which the class was prepared.
    pub time: Timestamp,
    /// Access flags.
    pub access: u16,
    /// Name of the superclass, as in [`ClassDef::name`]; empty if there is none.
    pub super_name: Text<'a>,
    /// Names of the direct interfaces, in the order of the class file.
    pub interfaces: Vec<Text<'a>>,
    /// `bootstrap`, `platform`, `app`, or the loader's class and number (`com.acme.Loader@7`).
    pub loader: Text<'a>,
    /// Size of the class file in bytes; 0 if unknown.
    pub size: i64,
    /// Declared fields, in the order of the class file.
    pub fields: Vec<Member<'a>>,
    /// Declared methods, in the order of the class file.
    pub methods: Vec<Member<'a>>,
}

/// Further data of a method ([`crate::Event::MethodDetail`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodDetail {
    /// The method.
    pub method: MethodId,
    /// Size of the method's code in the class file, in bytes.
    pub size: i64,
}

/// The start of a class's initialisation ([`crate::Event::ClassInitStart`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassInitStart {
    /// The thread that initialises the class.
    pub thread: ThreadId,
    /// Start of the initialisation.
    pub time: Timestamp,
    /// The class.
    pub class: ClassId,
}

/// The end of a class's initialisation ([`crate::Event::ClassInitEnd`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassInitEnd {
    /// The thread that initialised the class.
    pub thread: ThreadId,
    /// End of the initialisation.
    pub time: Timestamp,
    /// The class.
    pub class: ClassId,
    /// True if an exception ended the initialisation, so that the class can't be used.
    pub failed: bool,
}

/// The unloading of a class ([`crate::Event::ClassUnload`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassUnload {
    /// The class.
    pub class: ClassId,
    /// Time of the event.
    pub time: Timestamp,
}

/// New code of a class ([`crate::Event::ClassRedefine`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassRedefine {
    /// The class.
    pub class: ClassId,
    /// Time of the event.
    pub time: Timestamp,
    /// Size of the new class file in bytes.
    pub size: i64,
}

/// Source file of a class ([`crate::Event::ClassSource`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassSource<'a> {
    /// The class.
    pub class: ClassId,
    /// Source file.
    pub source_name: Text<'a>,
}
