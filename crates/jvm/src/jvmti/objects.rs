//! Objects and stacks.

use super::abi::{self};
use super::env::{Jvmti, Result, check};
use jni::sys::{jint, jobject};
use jvmti_sys::{jvmtiFrameInfo, jvmtiMonitorUsage};
use std::ptr;

impl Jvmti {
    /// The number that we keep with an object; 0 if none.
    ///
    /// # Safety
    /// `object` is a live reference, not null.
    pub unsafe fn tag(self, object: jobject) -> Result<i64> {
        let mut tag = 0;
        // SAFETY: the caller's promise; `tag` takes the answer.
        check("GetTag", unsafe { abi::get_tag(self.0, object, &mut tag) })?;
        Ok(tag)
    }

    /// Keeps a number with an object.
    ///
    /// # Safety
    /// `object` is a live reference, not null.
    pub unsafe fn set_tag(self, object: jobject, tag: i64) -> Result<()> {
        // SAFETY: the caller's promise.
        check("SetTag", unsafe { abi::set_tag(self.0, object, tag) })
    }

    /// Bytes of an object.
    ///
    /// # Safety
    /// `object` is a live reference, not null.
    pub unsafe fn object_size(self, object: jobject) -> Result<u64> {
        let mut size = 0;
        // SAFETY: the caller's promise; `size` takes the answer.
        check("GetObjectSize", unsafe {
            abi::get_object_size(self.0, object, &mut size)
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

    /// The thread that holds an object's monitor, as a local reference; null if there is none.
    ///
    /// # Safety
    /// `object` is a live reference, not null.
    pub unsafe fn monitor_owner(self, object: jobject) -> Result<jobject> {
        let mut usage = jvmtiMonitorUsage::default();
        // SAFETY: the caller's promise; `usage` takes the answer.
        check("GetObjectMonitorUsage", unsafe {
            abi::get_object_monitor_usage(self.0, object, &mut usage)
        })?;
        // SAFETY: arrays that the JVM gave us.
        unsafe {
            self.free(usage.waiters);
            self.free(usage.notify_waiters);
        }
        Ok(usage.owner)
    }

    /// A local variable of the running thread, as a local reference.
    pub fn local_object(self, depth: i32, slot: i32) -> Result<jobject> {
        let mut object = ptr::null_mut();
        // SAFETY: a null thread is the running one; `object` takes the answer.
        check("GetLocalObject", unsafe {
            abi::get_local_object(self.0, ptr::null_mut(), depth, slot, &mut object)
        })?;
        Ok(object)
    }

    /// The running thread's innermost frames, into `frames`; the answer is how many there were.
    pub fn own_stack(self, skip: i32, frames: &mut [jvmtiFrameInfo]) -> Result<usize> {
        // SAFETY: a null thread is the running one.
        unsafe { self.stack_of(ptr::null_mut(), skip, frames) }
    }
}
