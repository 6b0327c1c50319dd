//! Tags and sizes of objects, sampling of allocations, monitors, and local variables.

use super::abi;
use super::env::{Jvmti, Result, check};
use crate::jni::{Env, ObjectRef, ThreadRef};
use jni::sys::jint;
use jvmti_sys::jvmtiMonitorUsage;
use std::ptr;

impl Jvmti {
    /// Returns the tag of an object, a number that this environment stores for it; 0 if none.
    pub fn tag(self, object: ObjectRef<'_>) -> Result<i64> {
        let mut tag = 0;
        // SAFETY: the reference is valid; `tag` receives the result.
        check("GetTag", unsafe {
            abi::get_tag(self.0, object.as_raw(), &mut tag)
        })?;
        Ok(tag)
    }

    /// Sets the tag of an object.
    pub fn set_tag(self, object: ObjectRef<'_>, tag: i64) -> Result<()> {
        // SAFETY: the reference is valid.
        check("SetTag", unsafe {
            abi::set_tag(self.0, object.as_raw(), tag)
        })
    }

    /// Returns the size of an object in bytes.
    pub fn object_size(self, object: ObjectRef<'_>) -> Result<u64> {
        let mut size = 0;
        // SAFETY: the reference is valid; `size` receives the result.
        check("GetObjectSize", unsafe {
            abi::get_object_size(self.0, object.as_raw(), &mut size)
        })?;
        Ok(u64::try_from(size).unwrap_or_default())
    }

    /// Makes the JVM send SampledObjectAlloc for every allocation.
    pub fn sample_every_object(self) -> Result<()> {
        // SAFETY: the function takes only the environment and a number.
        check("SetHeapSamplingInterval", unsafe {
            abi::set_heap_sampling_interval(self.0, 0)
        })
    }

    /// Restores the JVM's default sampling interval. The interval of another agent can't be
    /// restored, because JVMTI has no function that returns it.
    pub fn sample_as_usual(self) -> Result<()> {
        const USUAL: jint = 512 << 10;
        // SAFETY: the function takes only the environment and a number.
        check("SetHeapSamplingInterval", unsafe {
            abi::set_heap_sampling_interval(self.0, USUAL)
        })
    }

    /// Returns the thread that owns an object's monitor; `None` if no thread does.
    pub fn monitor_owner<'e>(
        self,
        env: &Env<'e>,
        object: ObjectRef<'_>,
    ) -> Result<Option<ThreadRef<'e>>> {
        let mut usage = jvmtiMonitorUsage::default();
        // SAFETY: the reference is valid. `usage` receives two arrays, which are freed here, and
        // the owner: a new local reference to a thread, or null.
        unsafe {
            let error = abi::get_object_monitor_usage(self.0, object.as_raw(), &mut usage);
            check("GetObjectMonitorUsage", error)?;
            self.free(usage.waiters);
            self.free(usage.notify_waiters);
            Ok(env.local(usage.owner))
        }
    }

    /// Returns the object in a local variable of the running thread; `None` for null.
    pub fn local_object<'e>(
        self,
        env: &Env<'e>,
        depth: i32,
        slot: i32,
    ) -> Result<Option<ObjectRef<'e>>> {
        let mut object = ptr::null_mut();
        // SAFETY: null means the running thread; `object` receives the result: null or a new local
        // reference.
        unsafe {
            let thread = ptr::null_mut();
            let error = abi::get_local_object(self.0, thread, depth, slot, &mut object);
            check("GetLocalObject", error)?;
            Ok(env.local(object))
        }
    }
}
