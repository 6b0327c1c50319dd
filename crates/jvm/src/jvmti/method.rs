//! Methods, and frames of stacks.

use crate::jni::{Handle, ThreadRef};
use jni::sys::jmethodID;
use jvmti_sys::{jvmtiFrameInfo, jvmtiStackInfo};
use std::marker::PhantomData;

/// The JVM's id of a method. HotSpot never reuses the memory of one: asked about a method whose
/// class was unloaded, it answers an error. So an id may be kept, and asked about at any time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Method(jmethodID);

impl Method {
    /// The method with that id.
    ///
    /// # Safety
    /// The JVM gave the id to this process; or it is null, which is no method.
    pub unsafe fn new(id: jmethodID) -> Self {
        Self(id)
    }

    pub(super) fn as_raw(self) -> jmethodID {
        self.0
    }

    /// A number that no other method has at the same time.
    pub fn address(self) -> usize {
        self.0.addr()
    }
}

/// A frame of a stack.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Frame(jvmtiFrameInfo);

impl Frame {
    /// Its method; none of the JVM's in a frame that was never filled.
    pub fn method(&self) -> Method {
        // SAFETY: the JVM has filled the frame, or the id is null.
        unsafe { Method::new(self.0.method) }
    }

    /// Where in the method's code it is; -1 in native code.
    pub fn location(&self) -> i64 {
        self.0.location
    }

    pub(super) fn as_mut_ptr(frames: &mut [Self]) -> *mut jvmtiFrameInfo {
        frames.as_mut_ptr().cast() // a transparent wrapper
    }
}

/// The state and the frames of a thread.
#[repr(transparent)]
pub struct Stack<'e> {
    info: jvmtiStackInfo,
    lifetime: PhantomData<ThreadRef<'e>>,
}

impl<'e> Stack<'e> {
    /// The stacks at an address that the JVM returned.
    ///
    /// # Safety
    /// The JVM returned `count` stacks at `stacks`, which nobody frees during `'s`, with threads
    /// that are local references of the current frame; or it is null.
    pub(super) unsafe fn slice<'s>(stacks: *const jvmtiStackInfo, count: i32) -> &'s [Self] {
        match usize::try_from(count) {
            // SAFETY: the JVM's array, of that many elements; a stack is a transparent wrapper of
            // one.
            Ok(count) if !stacks.is_null() => unsafe {
                std::slice::from_raw_parts(stacks.cast(), count)
            },
            _ => &[],
        }
    }

    /// Its thread.
    pub fn thread(&self) -> Option<ThreadRef<'e>> {
        // SAFETY: null, or a local reference to a thread that lives as long as the frame
        // ([`Self::slice`]).
        unsafe { Handle::from_raw_for(self.info.thread) }
    }

    /// The thread's state, as `GetThreadState` has it.
    pub fn state(&self) -> u32 {
        self.info.state as u32
    }

    /// Its frames, innermost first.
    pub fn frames(&self) -> &[Frame] {
        match usize::try_from(self.info.frame_count) {
            Ok(count @ 1..) if !self.info.frame_buffer.is_null() => {
                // SAFETY: the JVM's array, of that many elements, freed with the stack; a frame is
                // a transparent wrapper of one.
                unsafe { std::slice::from_raw_parts(self.info.frame_buffer.cast(), count) }
            }
            _ => &[],
        }
    }
}
