//! What classes consist of.

use super::abi::{self, Event};
use super::env::{Jvmti, Result, check};
use jni::sys::{jclass, jfieldID, jint, jmethodID};
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
    /// Whether a class's fields and methods may be asked for: it is prepared, and neither an array nor primitive.
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub unsafe fn is_prepared(self, class: jclass) -> Result<bool> {
        const PREPARED: jint = 2;
        const ARRAY: jint = 16;
        const PRIMITIVE: jint = 32;
        let mut status = 0;
        // SAFETY: the caller's promise; `status` takes the answer.
        check("GetClassStatus", unsafe {
            abi::get_class_status(self.0, class, &mut status)
        })?;
        Ok(status & (PREPARED | ARRAY | PRIMITIVE) == PREPARED)
    }

    /// A class's access flags; those of a nested class are what its declaration says.
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub unsafe fn class_modifiers(self, class: jclass) -> Result<u16> {
        let mut modifiers = 0;
        // SAFETY: the caller's promise; `modifiers` takes the answer.
        check("GetClassModifiers", unsafe {
            abi::get_class_modifiers(self.0, class, &mut modifiers)
        })?;
        Ok(modifiers as u16)
    }

    /// The interfaces that a class names itself, as local references.
    ///
    /// # Safety
    /// `class` is a live reference to a prepared class.
    pub unsafe fn interfaces(self, class: jclass) -> Result<Vec<jclass>> {
        let (mut count, mut interfaces) = (0, ptr::null_mut());
        // SAFETY: the caller's promise; they take the answer.
        check("GetImplementedInterfaces", unsafe {
            abi::get_implemented_interfaces(self.0, class, &mut count, &mut interfaces)
        })?;
        // SAFETY: the JVM's array.
        Ok(unsafe { self.take_array(count, interfaces) })
    }

    /// A class's fields, in the order of the class file.
    ///
    /// # Safety
    /// `class` is a live reference to a prepared class.
    pub unsafe fn fields(self, class: jclass) -> Result<Vec<Member>> {
        let (mut count, mut fields) = (0, ptr::null_mut());
        // SAFETY: the caller's promise; they take the answer.
        check("GetClassFields", unsafe {
            abi::get_class_fields(self.0, class, &mut count, &mut fields)
        })?;
        // SAFETY: the JVM's array.
        let fields = unsafe { self.take_array(count, fields) };
        // SAFETY: the caller's promise, and fields of this class.
        let field = |field| unsafe { self.field(class, field) };
        fields.into_iter().map(field).collect()
    }

    /// # Safety
    /// `class` is a live reference to a class, and `field` one of its fields.
    unsafe fn field(self, class: jclass, field: jfieldID) -> Result<Member> {
        let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller's promise; they take the answers.
        check("GetFieldName", unsafe {
            abi::get_field_name(
                self.0,
                class,
                field,
                &mut name,
                &mut descriptor,
                ptr::null_mut(),
            )
        })?;
        // SAFETY: the JVM's strings.
        let (name, descriptor) = unsafe { (self.take_text(name), self.take_text(descriptor)) };
        let mut modifiers = 0;
        // SAFETY: the caller's promise; `modifiers` takes the answer.
        check("GetFieldModifiers", unsafe {
            abi::get_field_modifiers(self.0, class, field, &mut modifiers)
        })?;
        Ok(Member {
            name,
            descriptor,
            access: modifiers as u16,
        })
    }

    /// A class's methods, as the JVM calls them.
    ///
    /// # Safety
    /// `class` is a live reference to a prepared class.
    pub unsafe fn method_ids(self, class: jclass) -> Result<Vec<jmethodID>> {
        let (mut count, mut methods) = (0, ptr::null_mut());
        // SAFETY: the caller's promise; they take the answer.
        check("GetClassMethods", unsafe {
            abi::get_class_methods(self.0, class, &mut count, &mut methods)
        })?;
        // SAFETY: the JVM's array.
        Ok(unsafe { self.take_array(count, methods) })
    }

    /// A class's methods: in the order of the class file, where the JVM was asked to keep it.
    ///
    /// # Safety
    /// `class` is a live reference to a prepared class.
    pub unsafe fn methods(self, class: jclass) -> Result<Vec<Member>> {
        // SAFETY: the caller's promise.
        let methods = unsafe { self.method_ids(class) }?;
        // SAFETY: methods of a class that is alive.
        let method = |method| unsafe { self.method(method) };
        methods.into_iter().map(method).collect()
    }

    /// # Safety
    /// `method` is alive.
    unsafe fn method(self, method: jmethodID) -> Result<Member> {
        // SAFETY: the caller's promise.
        let (name, descriptor) = unsafe { self.method_name(method) }?;
        let mut modifiers = 0;
        // SAFETY: the caller's promise; `modifiers` takes the answer.
        check("GetMethodModifiers", unsafe {
            abi::get_method_modifiers(self.0, method, &mut modifiers)
        })?;
        Ok(Member {
            name,
            descriptor,
            access: modifiers as u16,
        })
    }

    /// Has the JVM tell of all compiled methods that are there, on this thread.
    pub fn generate_compiled_methods(self) -> Result<()> {
        // SAFETY: takes a number.
        check("GenerateEvents", unsafe {
            abi::generate_events(self.0, Event::CompiledMethodLoad as jint)
        })
    }
}
