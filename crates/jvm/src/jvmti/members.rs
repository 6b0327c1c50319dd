//! What classes consist of.

use super::abi::{self, Event};
use super::env::{Jvmti, Result, check};
use super::method::Method;
use crate::jni::{ClassRef, Env};
use jni::sys::{jclass, jfieldID, jint};
use std::ptr;

/// A field or a method, as the class file declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub descriptor: String,
    /// Its access flags.
    pub access: u16,
}

impl Jvmti {
    /// Returns true if a class's fields and methods may be asked for: it is prepared, and neither
    /// an array nor primitive.
    pub fn is_prepared(self, class: ClassRef<'_>) -> Result<bool> {
        const PREPARED: jint = 2;
        const ARRAY: jint = 16;
        const PRIMITIVE: jint = 32;
        let status = self.class_status(class)?;
        Ok(status & (PREPARED | ARRAY | PRIMITIVE) == PREPARED)
    }

    /// Returns true if a class's static initialiser does not run any more: it has, or has failed,
    /// or the type has none.
    pub fn is_initialised(self, class: ClassRef<'_>) -> Result<bool> {
        const INITIALIZED: jint = 4;
        const ERROR: jint = 8;
        const ARRAY: jint = 16;
        const PRIMITIVE: jint = 32;
        let status = self.class_status(class)?;
        Ok(status & (INITIALIZED | ERROR | ARRAY | PRIMITIVE) != 0)
    }

    fn class_status(self, class: ClassRef<'_>) -> Result<jint> {
        let mut status = 0;
        // SAFETY: the handle refers to a class; `status` takes the answer.
        check("GetClassStatus", unsafe {
            abi::get_class_status(self.0, class.as_raw(), &mut status)
        })?;
        Ok(status)
    }

    /// A class's access flags; those of a nested class are what its declaration says.
    pub fn class_modifiers(self, class: ClassRef<'_>) -> Result<u16> {
        let mut modifiers = 0;
        // SAFETY: the handle refers to a class; `modifiers` takes the answer.
        check("GetClassModifiers", unsafe {
            abi::get_class_modifiers(self.0, class.as_raw(), &mut modifiers)
        })?;
        Ok(modifiers as u16)
    }

    /// The interfaces that a class names itself. It is prepared, or the JVM refuses.
    pub fn interfaces<'e>(self, env: &Env<'e>, class: ClassRef<'_>) -> Result<Vec<ClassRef<'e>>> {
        let (mut count, mut interfaces) = (0, ptr::null_mut());
        // SAFETY: the handle refers to a class; they take the answer, an array of local references
        // to classes.
        unsafe {
            let class = class.as_raw();
            let error = abi::get_implemented_interfaces(self.0, class, &mut count, &mut interfaces);
            check("GetImplementedInterfaces", error)?;
            Ok(self.take_locals(env, count, interfaces))
        }
    }

    /// A class's fields, in the order of the class file. It is prepared, or the JVM refuses.
    pub fn fields(self, class: ClassRef<'_>) -> Result<Vec<Member>> {
        let (mut count, mut fields) = (0, ptr::null_mut());
        let class = class.as_raw();
        // SAFETY: the handle refers to a class; they take the answer, an array of fields of this
        // class.
        unsafe {
            let error = abi::get_class_fields(self.0, class, &mut count, &mut fields);
            check("GetClassFields", error)?;
            let fields = self.take_array(count, fields).into_iter();
            fields.map(|field| self.field(class, field)).collect()
        }
    }

    /// # Safety
    /// `class` is a valid reference to a class, and `field` one of its fields.
    unsafe fn field(self, class: jclass, field: jfieldID) -> Result<Member> {
        let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
        let mut modifiers = 0;
        // SAFETY: the caller has the field from the JVM, of this class; the places take the
        // answers, two of them strings.
        unsafe {
            let (generic, names) = (ptr::null_mut(), (&mut name, &mut descriptor));
            let error = abi::get_field_name(self.0, class, field, names.0, names.1, generic);
            check("GetFieldName", error)?;
            let (name, descriptor) = (self.take_text(name), self.take_text(descriptor));
            let error = abi::get_field_modifiers(self.0, class, field, &mut modifiers);
            check("GetFieldModifiers", error)?;
            Ok(Member {
                name,
                descriptor,
                access: modifiers as u16,
            })
        }
    }

    /// A class's methods. It is prepared, or the JVM refuses.
    pub fn method_ids(self, class: ClassRef<'_>) -> Result<Vec<Method>> {
        let (mut count, mut methods) = (0, ptr::null_mut());
        // SAFETY: the handle refers to a class; they take the answer, an array of ids.
        unsafe {
            let error = abi::get_class_methods(self.0, class.as_raw(), &mut count, &mut methods);
            check("GetClassMethods", error)?;
            let methods = self.take_array(count, methods).into_iter();
            Ok(methods.map(|method| Method::new(method)).collect())
        }
    }

    /// A class's methods: in the order of the class file, where the JVM was asked to keep it. The
    /// class is prepared, or the JVM refuses.
    pub fn methods(self, class: ClassRef<'_>) -> Result<Vec<Member>> {
        let methods = self.method_ids(class)?.into_iter();
        methods.map(|method| self.method(method)).collect()
    }

    fn method(self, method: Method) -> Result<Member> {
        let (name, descriptor) = self.method_name(method)?;
        let mut modifiers = 0;
        // SAFETY: an id that the JVM gave ([`Method`]); `modifiers` takes the answer.
        check("GetMethodModifiers", unsafe {
            abi::get_method_modifiers(self.0, method.as_raw(), &mut modifiers)
        })?;
        Ok(Member {
            name,
            descriptor,
            access: modifiers as u16,
        })
    }

    /// Replays CompiledMethodLoad events for all methods that are compiled already, on this thread.
    pub fn generate_compiled_methods(self) -> Result<()> {
        // SAFETY: takes a number.
        check("GenerateEvents", unsafe {
            abi::generate_events(self.0, Event::CompiledMethodLoad as jint)
        })
    }
}
