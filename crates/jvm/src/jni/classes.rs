//! Classes of the boot loader: lookup, definition, native methods and static fields.

use super::{ClassRef, Env, GlobalRef, kind};
use crate::Error;
use jni::NativeMethod;
use jni::objects::{JClass, JClassLoader, JObject, JValue};
use jni::strings::{JNIStr, JNIString};
use jni::sys::{jfieldID, jint, jlong};
use jni::{jni_sig, jni_str};
use std::ffi::{CStr, c_void};

/// A native method of a class, and the function that implements it.
pub struct Native {
    name: &'static JNIStr,
    descriptor: &'static JNIStr,
    function: *mut c_void,
}

impl Native {
    /// Describes the native method with this name and descriptor.
    ///
    /// # Safety
    /// `function` is an `extern "system"` function for a static native method with this descriptor:
    /// it takes the JNI environment, the class, and the descriptor's parameters.
    pub const unsafe fn new(
        name: &'static JNIStr,
        descriptor: &'static JNIStr,
        function: *mut c_void,
    ) -> Self {
        Self {
            name,
            descriptor,
            function,
        }
    }
}

impl<'e> Env<'e> {
    /// Returns the boot loader's class with the internal name `name` (`a/b/C`). Defines it from
    /// `bytes` if it does not exist.
    ///
    /// Other loaders are not asked: they may be the program's own.
    ///
    /// # Errors
    /// If the JVM refuses the class.
    pub fn find_or_define(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<GlobalRef<kind::Class>, Error> {
        let found = self.with_jni(|env| {
            let name = env.new_string(name.replace('/', "."))?;
            let found = env.call_static_method(
                jni_str!("java/lang/Class"),
                jni_str!("forName"),
                jni_sig!("(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;"),
                &[
                    JValue::Object(&name),
                    JValue::Bool(false),
                    JValue::Object(&JObject::null()),
                ],
            )?;
            Ok(env.new_global_ref(found.l()?)?.into_raw())
        });
        let class = found.or_else(|_| {
            let name = JNIString::from(name);
            self.with_jni(|env| {
                let class = env.define_class(Some(&name), JClassLoader::null(), bytes)?;
                Ok(env.new_global_ref(class)?.into_raw())
            })
        })?;
        // SAFETY: `class` is a new global reference to a class, created above, which nobody else
        // deletes.
        unsafe { GlobalRef::from_raw(class) }.ok_or(Error::NoMemory)
    }

    /// Returns true if the JVM has virtual threads, which run on carrier threads:
    /// `Thread.currentCarrierThread` exists (JDK 19+).
    ///
    /// # Errors
    /// If `java.lang.Thread` is not found.
    pub fn has_carriers(&self) -> Result<bool, Error> {
        self.with_jni(|env| {
            let thread = env.find_class(jni_str!("java/lang/Thread"))?;
            let name = jni_str!("currentCarrierThread");
            let found = env.get_static_method_id(&thread, name, jni_sig!("()Ljava/lang/Thread;"));
            if found.is_err() {
                env.exception_clear();
            }
            Ok(found.is_ok())
        })
    }

    /// Finds the class that code of the class `from` would get from `Class.forName(name)`. The
    /// static method `find` of the class `hook` looks it up.
    ///
    /// # Errors
    /// If Java code throws an exception.
    pub fn named_class(
        &self,
        hook: ClassRef<'_>,
        name: &str,
        from: ClassRef<'_>,
    ) -> Result<ClassRef<'e>, Error> {
        let found = self.with_jni(|env| {
            // SAFETY: both handles are valid during this call (their lifetimes), and are not
            // deleted here.
            let (hook, from) = unsafe {
                (
                    JClass::from_raw(env, hook.as_raw()),
                    JObject::from_raw(env, from.as_raw()),
                )
            };
            let name = env.new_string(name)?;
            let found = env.call_static_method(
                hook,
                jni_str!("find"),
                jni_sig!("(Ljava/lang/String;Ljava/lang/Class;)Ljava/lang/Class;"),
                &[JValue::Object(&name), JValue::Object(&from)],
            )?;
            Ok(found.l()?.into_raw())
        })?;
        // SAFETY: `found` is null, or a local reference to a class that JNI created in the current
        // frame.
        unsafe { self.local(found) }.ok_or(Error::NoMemory)
    }

    /// Calls a static method that takes a class and returns nothing.
    ///
    /// # Errors
    /// If Java code throws an exception, or `class` has no such method.
    pub fn call_with_class(
        &self,
        class: ClassRef<'_>,
        method: &JNIStr,
        argument: ClassRef<'_>,
    ) -> Result<(), Error> {
        self.with_jni(|env| {
            // SAFETY: both handles are valid during this call (their lifetimes), and are not
            // deleted here.
            let (class, argument) = unsafe {
                (
                    JClass::from_raw(env, class.as_raw()),
                    JClass::from_raw(env, argument.as_raw()),
                )
            };
            let argument = [JValue::Object(&argument)];
            env.call_static_method(&class, method, jni_sig!("(Ljava/lang/Class;)V"), &argument)?
                .v()
        })
    }

    /// Registers native methods of a class.
    ///
    /// # Errors
    /// If the class has no such native method.
    pub fn register_natives(&self, class: ClassRef<'_>, methods: &[Native]) -> Result<(), Error> {
        self.with_jni(|env| {
            // SAFETY: the function fits the descriptor, as the caller of `Native::new` ensured.
            let of = |native: &Native| unsafe {
                NativeMethod::from_raw_parts(native.name, native.descriptor, native.function)
            };
            let methods: Vec<_> = methods.iter().map(of).collect();
            // SAFETY: the handle is valid during this call (its lifetime) and is not deleted here;
            // the functions fit their descriptors, as the callers of `Native::new` ensured.
            unsafe {
                let class = JClass::from_raw(env, class.as_raw());
                env.register_native_methods(&class, &methods)
            }
        })
    }

    /// Unregisters all native methods of a class.
    pub fn unregister_natives(&self, class: ClassRef<'_>) {
        // SAFETY: the environment is the running thread's, and the handle refers to a class.
        unsafe { (self.functions().UnregisterNatives)(self.as_ptr(), class.as_raw()) };
    }

    /// Returns the class `jdk.internal.misc.VM`.
    ///
    /// # Errors
    /// If the JDK has no such class.
    pub fn vm_class(&self) -> Result<GlobalRef<kind::Class>, Error> {
        let class = self.with_jni(|env| {
            let class = env.find_class(jni_str!("jdk/internal/misc/VM"))?;
            Ok(env.new_global_ref(class)?.into_raw())
        })?;
        // SAFETY: `class` is a new global reference to a class, created above, which nobody else
        // deletes.
        unsafe { GlobalRef::from_raw(class) }.ok_or(Error::NoMemory)
    }

    /// Returns the static field of a class with this name and descriptor; `None` if there is none.
    fn static_field(
        &self,
        class: ClassRef<'_>,
        name: &CStr,
        descriptor: &CStr,
    ) -> Option<jfieldID> {
        // SAFETY: the environment is the running thread's, and the handle refers to a class.
        let field = unsafe {
            let (name, descriptor) = (name.as_ptr(), descriptor.as_ptr());
            (self.functions().GetStaticFieldID)(self.as_ptr(), class.as_raw(), name, descriptor)
        };
        if field.is_null() {
            self.clear_exception();
            return None;
        }
        Some(field)
    }

    /// Returns the value of a static `int` field of a class; `None` if there is no such field.
    pub fn static_int(&self, class: ClassRef<'_>, name: &CStr) -> Option<jint> {
        let field = self.static_field(class, name, c"I")?;
        // SAFETY: the environment is the running thread's; the field is an `int` of that class.
        Some(unsafe { (self.functions().GetStaticIntField)(self.as_ptr(), class.as_raw(), field) })
    }

    /// Sets a static `int` field of a class. Returns false if there is no such field.
    pub fn set_static_int(&self, class: ClassRef<'_>, name: &CStr, value: jint) -> bool {
        let field = self.static_field(class, name, c"I");
        field.is_some_and(|field| {
            // SAFETY: the environment is the running thread's; the field is an `int` of that class.
            unsafe {
                let set = self.functions().SetStaticIntField;
                set(self.as_ptr(), class.as_raw(), field, value);
            }
            true
        })
    }

    /// Returns the value of a static `long` field of a class; `None` if there is no such field.
    pub fn static_long(&self, class: ClassRef<'_>, name: &CStr) -> Option<jlong> {
        let field = self.static_field(class, name, c"J")?;
        // SAFETY: the environment is the running thread's; the field is a `long` of that class.
        Some(unsafe { (self.functions().GetStaticLongField)(self.as_ptr(), class.as_raw(), field) })
    }

    /// Sets a static `long` field of a class. Returns false if there is no such field.
    pub fn set_static_long(&self, class: ClassRef<'_>, name: &CStr, value: jlong) -> bool {
        let field = self.static_field(class, name, c"J");
        field.is_some_and(|field| {
            // SAFETY: the environment is the running thread's; the field is a `long` of that class.
            unsafe {
                let set = self.functions().SetStaticLongField;
                set(self.as_ptr(), class.as_raw(), field, value);
            }
            true
        })
    }

    /// Sets a static `boolean` field of a class. Returns false if there is no such field.
    pub fn set_static_boolean(&self, class: ClassRef<'_>, name: &CStr, value: bool) -> bool {
        let field = self.static_field(class, name, c"Z");
        field.is_some_and(|field| {
            // SAFETY: the environment is the running thread's; the field is a `boolean` of that
            // class.
            unsafe {
                let set = self.functions().SetStaticBooleanField;
                set(self.as_ptr(), class.as_raw(), field, value);
            }
            true
        })
    }
}
