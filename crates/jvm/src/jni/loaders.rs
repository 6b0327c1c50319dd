//! Class loaders, asked for a class in the JVM's own way.

use super::{ClassRef, Env, LoaderRef, ObjectRef, kind};
use crate::Error;
use jni::sys::jvalue;
use jni::{jni_sig, jni_str};
use std::ffi::CStr;

/// What a class loader answers when it is asked for a class.
pub enum Answer<'e> {
    /// The expected class.
    Expected,
    /// Another class of that name.
    Other,
    /// It threw this exception, or the JVM did not accept its answer; none without memory for an
    /// exception.
    Thrown(Option<ObjectRef<'e>>),
}

impl<'e> Env<'e> {
    /// `ClassLoader.getPlatformClassLoader()`; `None` where it is null.
    ///
    /// # Errors
    /// When the JDK has no such method.
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
        // SAFETY: a new local reference to a class loader, of the current frame, or null.
        Ok(unsafe { self.local(loader) })
    }

    /// Asks a class loader for the class `expected`, by the class's binary name. No exception stays
    /// pending.
    ///
    /// It is `Class.forName`, not `loadClass`: so the JVM records the loader as an initiating
    /// loader of what it finds, and never asks it for that class again.
    pub fn ask_loader(
        &self,
        loader: LoaderRef<'_>,
        name: &str,
        expected: ClassRef<'_>,
    ) -> Answer<'e> {
        const FOR_NAME: Method = (
            c"forName",
            c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
        );
        let more = [jvalue { l: loader.as_raw() }];
        // SAFETY: the last argument of this method of every JDK is a class loader.
        let (found, thrown) = unsafe { self.find_class(expected, FOR_NAME, name, more) };
        match (found, thrown) {
            (Some(found), None) if self.is_same(found.as_object(), expected.as_object()) => {
                Answer::Expected
            }
            (Some(_), None) => Answer::Other,
            (_, thrown) => Answer::Thrown(thrown),
        }
    }

    /// Resolves a class by its binary name as code of the class `from` does, whose loader has found
    /// it before. From 18 on that changes nothing; older JVMs check whether `from`'s protection
    /// domain may see the class, the first time for each.
    pub fn resolve_for(&self, loader: LoaderRef<'_>, name: &str, from: ClassRef<'_>) {
        const FOR_NAME: Method = (
            c"forName0",
            c"(Ljava/lang/String;ZLjava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/Class;",
        );
        let more = [jvalue { l: loader.as_raw() }, jvalue { l: from.as_raw() }];
        // SAFETY: the last arguments of this method are a class loader and a class; where the JDK
        // has no such method, none is called.
        unsafe { self.find_class(from, FOR_NAME, name, more) };
    }

    /// Calls a static method of `java.lang.Class` with a name, `false` for not to initialize what
    /// it finds, and `more` arguments. Returns what it returned and what it threw. No exception
    /// stays pending.
    ///
    /// # Safety
    /// If `java.lang.Class` has a method of this name and descriptor, it takes `more` as its other
    /// arguments, and returns a class.
    unsafe fn find_class<const MORE: usize>(
        &self,
        any: ClassRef<'_>,
        (method, descriptor): Method,
        name: &str,
        more: [jvalue; MORE],
    ) -> (Option<ClassRef<'e>>, Option<ObjectRef<'e>>) {
        let (env, functions) = (self.as_ptr(), self.functions());
        // `java.lang.Class` is taken from the class at hand, because `FindClass` would ask a loader
        // for it.
        let class = self.class_of(any.as_object()).as_raw();
        // SAFETY: the environment is the running thread's, and `class` is `java.lang.Class`. A
        // method that is found takes these arguments (the caller's promise). The JVM returns new
        // local references, or null.
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

/// A method's name and descriptor.
type Method = (&'static CStr, &'static CStr);
