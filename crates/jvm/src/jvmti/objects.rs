//! Objects and stacks.

use super::abi;
use super::env::{Jvmti, Result, check};
use crate::jni::{Env, ObjectRef, ThreadRef};
use jni::sys::jint;
use jvmti_sys::jvmtiMonitorUsage;
use std::ptr;

impl Jvmti {
    /// The tag of an object: the number that this environment keeps with it; 0 if none.
    pub fn tag(self, object: ObjectRef<'_>) -> Result<i64> {
        let mut tag = 0;
        // SAFETY: a valid reference; `tag` takes the answer.
        check("GetTag", unsafe {
            abi::get_tag(self.0, object.as_raw(), &mut tag)
        })?;
        Ok(tag)
    }

    /// Sets the tag of an object.
    pub fn set_tag(self, object: ObjectRef<'_>, tag: i64) -> Result<()> {
        // SAFETY: a valid reference.
        check("SetTag", unsafe {
            abi::set_tag(self.0, object.as_raw(), tag)
        })
    }

    /// Bytes of an object.
    pub fn object_size(self, object: ObjectRef<'_>) -> Result<u64> {
        let mut size = 0;
        // SAFETY: a valid reference; `size` takes the answer.
        check("GetObjectSize", unsafe {
            abi::get_object_size(self.0, object.as_raw(), &mut size)
        })?;
        Ok(u64::try_from(size).unwrap_or_default())
    }

    /// Has the JVM tell of every allocation.
    pub fn sample_every_object(self) -> Result<()> {
        // SAFETY: takes a number.
        check("SetHeapSamplingInterval", unsafe {
            abi::set_heap_sampling_interval(self.0, 0)
        })
    }

    /// Has it tell of as many as without us: there is no asking how many that were.
    pub fn sample_as_usual(self) -> Result<()> {
        const USUAL: jint = 512 << 10;
        // SAFETY: takes a number.
        check("SetHeapSamplingInterval", unsafe {
            abi::set_heap_sampling_interval(self.0, USUAL)
        })
    }

    /// The thread that holds an object's monitor; `None` if no thread does.
    pub fn monitor_owner<'e>(
        self,
        env: &Env<'e>,
        object: ObjectRef<'_>,
    ) -> Result<Option<ThreadRef<'e>>> {
        let mut usage = jvmtiMonitorUsage::default();
        // SAFETY: a valid reference; `usage` takes the answer: arrays, and a new local reference to
        // a thread, or null.
        unsafe {
            let error = abi::get_object_monitor_usage(self.0, object.as_raw(), &mut usage);
            check("GetObjectMonitorUsage", error)?;
            self.free(usage.waiters);
            self.free(usage.notify_waiters);
            Ok(env.local(usage.owner))
        }
    }

    /// A local variable of the running thread; `None` if it is null.
    pub fn local_object<'e>(
        self,
        env: &Env<'e>,
        depth: i32,
        slot: i32,
    ) -> Result<Option<ObjectRef<'e>>> {
        let mut object = ptr::null_mut();
        // SAFETY: a null thread is the running one; `object` takes the answer, a new local
        // reference, or null.
        unsafe {
            let thread = ptr::null_mut();
            let error = abi::get_local_object(self.0, thread, depth, slot, &mut object);
            check("GetLocalObject", error)?;
            Ok(env.local(object))
        }
    }
}
