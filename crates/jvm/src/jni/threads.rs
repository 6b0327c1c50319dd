//! Threads.

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
    /// A new `java.lang.Thread` of that thread group and name, not started.
    ///
    /// # Errors
    /// When Java throws.
    pub fn new_thread(
        &self,
        group: ObjectRef<'_>,
        name: &str,
    ) -> Result<GlobalRef<kind::Thread>, Error> {
        let made = self.with_jni(|env| {
            // SAFETY: the handle is valid during the call, and not deleted here.
            let group = unsafe { JObject::from_raw(env, group.as_raw()) };
            let name = env.new_string(name)?;
            let thread = env.new_object(
                jni_str!("java/lang/Thread"),
                jni_sig!("(Ljava/lang/ThreadGroup;Ljava/lang/String;)V"),
                &[JValue::Object(&group), JValue::Object(&name)],
            )?;
            Ok(env.new_global_ref(thread)?.into_raw())
        })?;
        // SAFETY: a new global reference to a thread, which is ours.
        unsafe { GlobalRef::from_raw(made) }.ok_or(Error::NoMemory)
    }

    /// The object that a thread waits for in `LockSupport.park` (`Thread.parkBlocker`).
    pub fn park_blocker(&self, thread: ThreadRef<'_>) -> Option<ObjectRef<'e>> {
        static FIELD: OnceLock<usize> = OnceLock::new();
        let field = self.field_of_thread(&FIELD, thread, c"parkBlocker", c"Ljava/lang/Object;")?;
        // SAFETY: the environment is the running thread's; the field is one of references, of the
        // class `Thread`. The JVM returns a new local reference, or null.
        unsafe {
            self.local((self.functions().GetObjectField)(
                self.as_ptr(),
                thread.as_raw(),
                field,
            ))
        }
    }

    /// The number that Java gives a thread, and no other one in the same JVM: what `Thread.getId`
    /// returns unless it is overridden. 0 for a thread whose constructor has not come so far, and
    /// for none: native code is attaching the thread, and its `Thread` is being created.
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

    /// Returns true if the thread in both references is the same.
    pub fn is_same_thread(&self, one: ThreadRef<'_>, other: ThreadRef<'_>) -> bool {
        self.is_same(one.as_object(), other.as_object())
    }

    /// A field of `java.lang.Thread`, which is looked up once. The class is never unloaded.
    fn field_of_thread(
        &self,
        known: &OnceLock<usize>,
        thread: ThreadRef<'_>,
        name: &CStr,
        descriptor: &CStr,
    ) -> Option<jfieldID> {
        let field = *known.get_or_init(|| {
            let (env, functions) = (self.as_ptr(), self.functions());
            // SAFETY: the environment is the running thread's; the handle refers to a thread, whose
            // class inherits the fields of `Thread`; the local reference to the class is deleted by
            // whom it was created.
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

    /// The raw form of a thread for functions that take null for the running one.
    pub(crate) fn raw_thread(thread: Option<ThreadRef<'_>>) -> jni::sys::jobject {
        raw_or_null(thread)
    }
}
