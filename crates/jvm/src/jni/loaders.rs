//! Class lookup through class loaders, with `Class.forName`.

use super::{ClassRef, Env, LoaderRef, ObjectRef, kind};
use crate::Error;
use jni::sys::jvalue;
use jni::{jni_sig, jni_str};
use std::ffi::CStr;

/// The outcome of asking a class loader for a class.
pub enum LoaderOutcome<'e> {
    /// The loader returned the expected class.
    Expected,
    /// The loader returned another class of that name.
    Other,
    /// The loader threw this exception, or the JVM rejected its class. `None` if there was no
    /// memory for an exception.
    Thrown(Option<ObjectRef<'e>>),
}

impl<'e> Env<'e> {
    /// Returns `ClassLoader.getPlatformClassLoader()`; `None` if it is null.
    ///
    /// # Errors
    /// If the JDK has no such method.
    pub fn platform_loader(&self) -> Result<Option<LoaderRef<'e>>, Error> {
        let loader = self.with_jni(|env| {
            let loader = env.call_static_method(
                jni_str!("java/lang/ClassLoader"),
                jni_str!("getPlatformClassLoader"),
                jni_sig!("()Ljava/lang/ClassLoader;"),
                &[],
            )?;
            Ok(loader.l()?.into_raw())
        })?;
        // SAFETY: `loader` is null, or a local reference to a class loader that JNI created in the
        // current frame.
        Ok(unsafe { self.local(loader) })
    }

    /// Asks a class loader for the class with the binary name `name`, and compares the answer with
    /// `expected`. Clears pending exceptions.
    ///
    /// Uses `Class.forName`, not `loadClass`, so that the JVM records the loader as an initiating
    /// loader of the class that it finds, and never asks the loader for this class again.
    pub fn ask_loader(
        &self,
        loader: LoaderRef<'_>,
        name: &str,
        expected: ClassRef<'_>,
    ) -> LoaderOutcome<'e> {
        const FOR_NAME: Method = (
            c"forName",
            c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
        );
        let more = [jvalue { l: loader.as_raw() }];
        // SAFETY: in every JDK, the last parameter of this method is a class loader.
        let (found, thrown) = unsafe { self.find_class(expected, FOR_NAME, name, more) };
        match (found, thrown) {
            (Some(found), None) if self.is_same(found.as_object(), expected.as_object()) => {
                LoaderOutcome::Expected
            }
            (Some(_), None) => LoaderOutcome::Other,
            (_, thrown) => LoaderOutcome::Thrown(thrown),
        }
    }

    /// Resolves a class by its binary name, as code of the class `from` would. `loader`, the loader
    /// of `from`, has found the class before.
    ///
    /// From JDK 18 on, this has no effect. In older JVMs, the first resolution by each protection
    /// domain checks whether that domain may see the class.
    pub fn resolve_for(&self, loader: LoaderRef<'_>, name: &str, from: ClassRef<'_>) {
        const FOR_NAME: Method = (
            c"forName0",
            c"(Ljava/lang/String;ZLjava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/Class;",
        );
        let more = [jvalue { l: loader.as_raw() }, jvalue { l: from.as_raw() }];
        // SAFETY: the last parameters of this method are a class loader and a class. If the JDK has
        // no such method, nothing is called.
        unsafe { self.find_class(from, FOR_NAME, name, more) };
    }

    /// Calls a static method of `java.lang.Class` with `name`, `false` (don't initialize the class)
    /// and the arguments `more`. Returns the class and the exception, if any. Clears the exception.
    ///
    /// # Safety
    /// If `java.lang.Class` has a method with this name and descriptor, its remaining parameters
    /// accept `more`, and it returns a class.
    unsafe fn find_class<const MORE: usize>(
        &self,
        any: ClassRef<'_>,
        (method, descriptor): Method,
        name: &str,
        more: [jvalue; MORE],
    ) -> (Option<ClassRef<'e>>, Option<ObjectRef<'e>>) {
        let (env, functions) = (self.as_ptr(), self.functions());
        // `java.lang.Class` is taken from the class at hand, because `FindClass` would ask a
        // loader.
        let class = self.class_of(any.as_object()).as_raw();
        // SAFETY: the environment is the running thread's, and `class` is `java.lang.Class`. If the
        // method exists, it accepts these arguments, as this function's caller ensures. The JVM
        // returns null or new local references.
        unsafe {
            let method =
                (functions.GetStaticMethodID)(env, class, method.as_ptr(), descriptor.as_ptr());
            let mut found = std::ptr::null_mut();
            if !method.is_null()
                && let Some(text) = self.new_text(name)
            {
                let first = [jvalue { l: text.as_raw() }, jvalue { z: false }];
                let arguments: Vec<jvalue> = first.into_iter().chain(more).collect();
                found = (functions.CallStaticObjectMethodA)(env, class, method, arguments.as_ptr());
            }
            let thrown = (functions.ExceptionOccurred)(env);
            self.clear_exception();
            let found = match thrown.is_null() {
                true => self.local::<kind::Class>(found),
                false => None,
            };
            (found, self.local(thrown))
        }
    }
}

/// The name and descriptor of a method.
type Method = (&'static CStr, &'static CStr);
