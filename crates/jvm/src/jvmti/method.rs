//! Methods, and frames of stacks.

use crate::jni::{Handle, ThreadRef};
use jni::sys::jmethodID;
use jvmti_sys::{jvmtiFrameInfo, jvmtiStackInfo};
use std::marker::PhantomData;

/// The JVM's id of a method.
///
/// An id may be kept and used at any time: HotSpot never reuses the memory of an id, and returns an
/// error for a method whose class was unloaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Method(jmethodID);

impl Method {
    /// Wraps a method id.
    ///
    /// # Safety
    /// The JVM gave this id to the process, or the id is null, which stands for no method.
    pub unsafe fn new(id: jmethodID) -> Self {
        Self(id)
    }

    pub(super) fn as_raw(self) -> jmethodID {
        self.0
    }

    /// Returns a number that is unique among the methods of the JVM.
    pub fn address(self) -> usize {
        self.0.addr()
    }
}

/// A stack frame.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Frame(jvmtiFrameInfo);

impl Frame {
    /// Returns the frame's method. Its id is null in a frame that the JVM has not filled.
    pub fn method(&self) -> Method {
        // SAFETY: the JVM wrote the id, or it is null from `Default`.
        unsafe { Method::new(self.0.method) }
    }

    /// Returns the location in the method's bytecode; -1 in native code.
    pub fn location(&self) -> i64 {
        self.0.location
    }

    pub(super) fn as_mut_ptr(frames: &mut [Self]) -> *mut jvmtiFrameInfo {
        frames.as_mut_ptr().cast() // a transparent wrapper
    }
}

/// The state and the stack frames of a thread.
#[repr(transparent)]
pub struct Stack<'e> {
    info: jvmtiStackInfo,
    lifetime: PhantomData<ThreadRef<'e>>,
}

impl<'e> Stack<'e> {
    /// Wraps an array of stacks that the JVM returned. Returns an empty slice for null.
    ///
    /// # Safety
    /// `stacks` is null, or the JVM returned it: `count` stacks that are not freed during `'s`, and
    /// whose threads are local references of the current frame.
    pub(super) unsafe fn slice<'s>(stacks: *const jvmtiStackInfo, count: i32) -> &'s [Self] {
        match usize::try_from(count) {
            // SAFETY: an array of `count` elements that is valid during `'s`, as the caller
            // ensures; `Stack` is a transparent wrapper of its element type.
            Ok(count) if !stacks.is_null() => unsafe {
                std::slice::from_raw_parts(stacks.cast(), count)
            },
            _ => &[],
        }
    }

    /// Returns the stack's thread.
    pub fn thread(&self) -> Option<ThreadRef<'e>> {
        // SAFETY: null, or a local reference to a thread that lives as long as the frame, as the
        // caller of [`Self::slice`] ensured.
        unsafe { Handle::from_raw_for(self.info.thread) }
    }

    /// Returns the thread's state, like `GetThreadState`.
    pub fn state(&self) -> u32 {
        self.info.state as u32
    }

    /// Returns the frames, innermost first.
    pub fn frames(&self) -> &[Frame] {
        match usize::try_from(self.info.frame_count) {
            Ok(count @ 1..) if !self.info.frame_buffer.is_null() => {
                // SAFETY: the JVM's array with `frame_count` elements, which is freed together with
                // the stack; `Frame` is a transparent wrapper of its element type.
                unsafe { std::slice::from_raw_parts(self.info.frame_buffer.cast(), count) }
            }
            _ => &[],
        }
    }
}
