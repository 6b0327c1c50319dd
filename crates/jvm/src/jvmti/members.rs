//! The members, modifiers and state of classes.

use super::abi::{self, Event};
use super::env::{Jvmti, Result, check};
use super::method::Method;
use crate::jni::{ClassRef, Env};
use jni::sys::{jclass, jfieldID, jint};
use std::ptr;

/// A field or method, as the class file declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// The name.
    pub name: String,
    /// The descriptor.
    pub descriptor: String,
    /// The access flags.
    pub access: u16,
}

impl Jvmti {
    /// Returns true if a class is prepared, and neither an array class nor primitive: only then
    /// does the JVM return its fields and methods.
    pub fn is_prepared(self, class: ClassRef<'_>) -> Result<bool> {
        const PREPARED: jint = 2;
        const ARRAY: jint = 16;
        const PRIMITIVE: jint = 32;
        let status = self.class_status(class)?;
        Ok(status & (PREPARED | ARRAY | PRIMITIVE) == PREPARED)
    }

    /// Returns true if a class's static initialiser will not run any more: it has completed or
    /// failed, or the type has none.
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
        // SAFETY: the handle refers to a class; `status` receives the result.
        check("GetClassStatus", unsafe {
            abi::get_class_status(self.0, class.as_raw(), &mut status)
        })?;
        Ok(status)
    }

    /// Returns a class's access flags. For a nested class, these are the flags of its declaration,
    /// such as `private`.
    pub fn class_modifiers(self, class: ClassRef<'_>) -> Result<u16> {
        let mut modifiers = 0;
        // SAFETY: the handle refers to a class; `modifiers` receives the result.
        check("GetClassModifiers", unsafe {
            abi::get_class_modifiers(self.0, class.as_raw(), &mut modifiers)
        })?;
        Ok(modifiers as u16)
    }

    /// Returns the interfaces that a class declares. The JVM refuses a class that is not prepared.
    pub fn interfaces<'e>(self, env: &Env<'e>, class: ClassRef<'_>) -> Result<Vec<ClassRef<'e>>> {
        let (mut count, mut interfaces) = (0, ptr::null_mut());
        // SAFETY: the handle refers to a class; the variables receive the result, an array of new
        // local references to classes.
        unsafe {
            let class = class.as_raw();
            let error = abi::get_implemented_interfaces(self.0, class, &mut count, &mut interfaces);
            check("GetImplementedInterfaces", error)?;
            Ok(self.take_locals(env, count, interfaces))
        }
    }

    /// Returns a class's fields, in the order of the class file. The JVM refuses a class that is
    /// not prepared.
    pub fn fields(self, class: ClassRef<'_>) -> Result<Vec<Member>> {
        let (mut count, mut fields) = (0, ptr::null_mut());
        let class = class.as_raw();
        // SAFETY: the handle refers to a class; the variables receive the result, an array of
        // fields of this class.
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
        // SAFETY: `class` and `field` belong together, as the caller ensures. The variables receive
        // the results; the name and the descriptor are strings of the JVM's.
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

    /// Returns the ids of a class's methods. The JVM refuses a class that is not prepared.
    pub fn method_ids(self, class: ClassRef<'_>) -> Result<Vec<Method>> {
        let (mut count, mut methods) = (0, ptr::null_mut());
        // SAFETY: the handle refers to a class; the variables receive the result, an array of
        // method ids.
        unsafe {
            let error = abi::get_class_methods(self.0, class.as_raw(), &mut count, &mut methods);
            check("GetClassMethods", error)?;
            let methods = self.take_array(count, methods).into_iter();
            Ok(methods.map(|method| Method::new(method)).collect())
        }
    }

    /// Returns a class's methods; in the order of the class file if the capability
    /// `MaintainOriginalMethodOrder` was added. The JVM refuses a class that is not prepared.
    pub fn methods(self, class: ClassRef<'_>) -> Result<Vec<Member>> {
        let methods = self.method_ids(class)?.into_iter();
        methods.map(|method| self.method(method)).collect()
    }

    fn method(self, method: Method) -> Result<Member> {
        let (name, descriptor) = self.method_name(method)?;
        let mut modifiers = 0;
        // SAFETY: the id is from the JVM ([`Method`]); `modifiers` receives the result.
        check("GetMethodModifiers", unsafe {
            abi::get_method_modifiers(self.0, method.as_raw(), &mut modifiers)
        })?;
        Ok(Member {
            name,
            descriptor,
            access: modifiers as u16,
        })
    }

    /// Replays CompiledMethodLoad events for all methods that are already compiled, on this thread.
    pub fn generate_compiled_methods(self) -> Result<()> {
        // SAFETY: the function takes only the environment and a number.
        check("GenerateEvents", unsafe {
            abi::generate_events(self.0, Event::CompiledMethodLoad as jint)
        })
    }
}
