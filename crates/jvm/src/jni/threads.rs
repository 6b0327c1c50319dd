//! Java threads: creation, ids, and what they are parked on.

use super::refs::raw_or_null;
use super::{Env, GlobalRef, ObjectRef, ThreadRef, kind};
use crate::Error;
use jni::objects::{JObject, JValue};
use jni::sys::jfieldID;
use jni::{jni_sig, jni_str};
use std::ffi::CStr;
use std::ptr;
use std::sync::OnceLock;

impl<'e> Env<'e> {
    /// Creates a `java.lang.Thread` with this group and name, without starting it.
    ///
    /// # Errors
    /// If Java code throws an exception.
    pub fn new_thread(
        &self,
        group: ObjectRef<'_>,
        name: &str,
    ) -> Result<GlobalRef<kind::Thread>, Error> {
        let made = self.with_jni(|env| {
            // SAFETY: the handle is valid during this call (its lifetime), and is not deleted here.
            let group = unsafe { JObject::from_raw(env, group.as_raw()) };
            let name = env.new_string(name)?;
            let thread = env.new_object(
                jni_str!("java/lang/Thread"),
                jni_sig!("(Ljava/lang/ThreadGroup;Ljava/lang/String;)V"),
                &[JValue::Object(&group), JValue::Object(&name)],
            )?;
            Ok(env.new_global_ref(thread)?.into_raw())
        })?;
        // SAFETY: `made` is a new global reference to a thread, created above, which nobody else
        // deletes.
        unsafe { GlobalRef::from_raw(made) }.ok_or(Error::NoMemory)
    }

    /// Returns the object that a thread waits for in `LockSupport.park` (`Thread.parkBlocker`).
    pub fn park_blocker(&self, thread: ThreadRef<'_>) -> Option<ObjectRef<'e>> {
        static FIELD: OnceLock<usize> = OnceLock::new();
        let field = self.field_of_thread(&FIELD, thread, c"parkBlocker", c"Ljava/lang/Object;")?;
        // SAFETY: the environment is the running thread's. The field is a reference field of the
        // class `Thread`. The JVM returns null or a new local reference.
        unsafe {
            self.local((self.functions().GetObjectField)(
                self.as_ptr(),
                thread.as_raw(),
                field,
            ))
        }
    }

    /// Returns a thread's Java id, unique in the JVM: what `Thread.getId` returns unless it is
    /// overridden.
    ///
    /// Returns 0 while the constructor of `Thread` has not assigned the id. Also returns 0 for
    /// `None`, which means that native code attaches the thread and its `Thread` object is being
    /// created.
    pub fn thread_id(&self, thread: Option<ThreadRef<'_>>) -> i64 {
        static FIELD: OnceLock<usize> = OnceLock::new();
        let Some(thread) = thread else { return 0 };
        let Some(field) = self.field_of_thread(&FIELD, thread, c"tid", c"J") else {
            return 0;
        };
        // SAFETY: the environment is the running thread's; the field is a `long` of the class
        // `Thread`.
        unsafe { (self.functions().GetLongField)(self.as_ptr(), thread.as_raw(), field) }
    }

    /// Returns true if both references refer to the same thread.
    pub fn is_same_thread(&self, one: ThreadRef<'_>, other: ThreadRef<'_>) -> bool {
        self.is_same(one.as_object(), other.as_object())
    }

    /// Returns a field of `java.lang.Thread`. It is looked up once: the class is never unloaded.
    fn field_of_thread(
        &self,
        known: &OnceLock<usize>,
        thread: ThreadRef<'_>,
        name: &CStr,
        descriptor: &CStr,
    ) -> Option<jfieldID> {
        let field = *known.get_or_init(|| {
            let (env, functions) = (self.as_ptr(), self.functions());
            // SAFETY: the environment is the running thread's. The handle refers to a thread, whose
            // class inherits the fields of `Thread`. The local reference to the class is created
            // and deleted here.
            unsafe {
                let class = (functions.GetObjectClass)(env, thread.as_raw());
                let field = (functions.GetFieldID)(env, class, name.as_ptr(), descriptor.as_ptr());
                if field.is_null() {
                    self.clear_exception();
                }
                (functions.DeleteLocalRef)(env, class);
                field.expose_provenance()
            }
        });
        (field != 0).then(|| ptr::with_exposed_provenance_mut(field))
    }

    /// Returns the raw form of a thread, for functions that take null for the running one.
    pub(crate) fn raw_thread(thread: Option<ThreadRef<'_>>) -> jni::sys::jobject {
        raw_or_null(thread)
    }
}
