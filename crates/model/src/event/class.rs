//! Classes and methods, as they are defined.

use super::Text;
use crate::{ClassId, MethodId, ObjectId, ThreadId, Timestamp};

/// See [`crate::Event::ClassDef`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassDef<'a> {
    /// New id.
    pub class: ClassId,
    /// Thread that caused it, where the format says so.
    pub thread: ThreadId,
    /// When the class was first used by the trace.
    pub time: Timestamp,
    /// Name with dots between packages and `$` before inner names, as `Class.getName` prints it.
    pub name: Text<'a>,
    /// Source file, empty if unknown.
    pub source_name: Text<'a>,
    /// The `java.lang.Class`, where objects have ids.
    pub object: ObjectId,
}

/// See [`crate::Event::MethodDef`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodDef<'a> {
    /// New id.
    pub method: MethodId,
    /// Its class.
    pub class: ClassId,
    /// Raw name (`<init>` stays `<init>`).
    pub name: Text<'a>,
    /// VM descriptor, with slashes.
    pub signature: Text<'a>,
    /// Smallest source line, 0 if unknown.
    pub start_line: i64,
    /// Largest source line, 0 if unknown.
    pub end_line: i64,
}

/// A field or method of a class, as its class file names it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Member<'a> {
    /// Raw name.
    pub name: Text<'a>,
    /// VM descriptor, with slashes.
    pub signature: Text<'a>,
    /// Access flags of the class file.
    pub access: u16,
}

/// See [`crate::Event::ClassDetail`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassDetail<'a> {
    /// The class.
    pub class: ClassId,
    /// When it was prepared.
    pub time: Timestamp,
    /// Access flags of the class file.
    pub access: u16,
    /// Name of the superclass, as in [`ClassDef::name`]; empty where there is none.
    pub super_name: Text<'a>,
    /// Names of the direct interfaces, in the order of the declaration.
    pub interfaces: Vec<Text<'a>>,
    /// `bootstrap`, `platform`, `app`, or the loader's class and number (`com.acme.Loader@7`).
    pub loader: Text<'a>,
    /// Bytes of the class file, 0 if unknown.
    pub size: i64,
    /// Declared fields, in the order of the class file.
    pub fields: Vec<Member<'a>>,
    /// Declared methods, in the order of the class file.
    pub methods: Vec<Member<'a>>,
}

/// See [`crate::Event::MethodDetail`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodDetail {
    /// The method.
    pub method: MethodId,
    /// Bytes of its code in the class file.
    pub size: i64,
}

/// See [`crate::Event::ClassInitStart`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassInitStart {
    /// The thread that initialises the class.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The class.
    pub class: ClassId,
}

/// See [`crate::Event::ClassInitEnd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassInitEnd {
    /// The thread that initialised the class.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The class.
    pub class: ClassId,
    /// An exception ended it: the class can't be used.
    pub failed: bool,
}

/// See [`crate::Event::ClassUnload`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassUnload {
    /// The class.
    pub class: ClassId,
    /// When.
    pub time: Timestamp,
}

/// See [`crate::Event::ClassRedefine`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassRedefine {
    /// The class.
    pub class: ClassId,
    /// When.
    pub time: Timestamp,
    /// Bytes of the new class file.
    pub size: i64,
}

/// See [`crate::Event::ClassSource`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassSource<'a> {
    /// The class.
    pub class: ClassId,
    /// Source file.
    pub source_name: Text<'a>,
}
