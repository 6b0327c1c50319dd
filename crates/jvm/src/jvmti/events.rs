//! Events go on and off, and environments come to their end.
//!
//! All HotSpots up to 25 forget a thread's `JvmtiThreadState` when the thread ends while there is
//! no environment at all: a thread of ours that gave the last one up, or one of the program's that
//! lived longer than the agent. The next agent's events then count down in the freed memory of each
//! such thread, whatever is there by that time. So one environment, that can do nothing and is told
//! nothing, is never given up ([`Jvmti::keep_one`]).

use super::abi::{self, Callbacks, Event};
use super::env::{ExtensionEvent, Jvmti, Result, check};
use crate::Error;
use crate::jni::Vm;
use jni::sys::jint;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// For `SetEventNotificationMode`.
const ENABLE: jint = 1;
const DISABLE: jint = 0;

/// There is an environment that stays for ever.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

impl Jvmti {
    /// Creates the environment that stays for ever, unless it exists.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn keep_one(vm: Vm) -> std::result::Result<(), Error> {
        if !IS_KEPT.swap(true, Ordering::Relaxed) {
            Self::of(vm).inspect_err(|_| IS_KEPT.store(false, Ordering::Relaxed))?;
        }
        Ok(())
    }

    /// A new environment of the JVM.
    ///
    /// # Errors
    /// When it has no JVMTI 1.2.
    pub fn of(vm: Vm) -> std::result::Result<Self, Error> {
        let mut env: *mut c_void = ptr::null_mut();
        let version = jvmti_sys::JVMTI_VERSION_1_2 as jint;
        let vm = vm.as_ptr();
        // SAFETY: the JVM is alive ([`Vm`]); `env` takes the answer.
        match unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, version) } {
            0 if !env.is_null() => Ok(Self(env.cast())),
            code => Err(Error::NoInterface(code)),
        }
    }

    /// Sets all callbacks.
    pub fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        let size = size_of::<Callbacks>() as jint;
        // SAFETY: the table is read during the call; `Callbacks::set` vouches for its entries.
        check("SetEventCallbacks", unsafe {
            abi::set_event_callbacks(self.0, callbacks, size)
        })
    }

    fn set(self, mode: jint, event: jint) -> Result<()> {
        // SAFETY: a null thread means all.
        check("SetEventNotificationMode", unsafe {
            abi::set_event_notification_mode(self.0, mode, event, ptr::null_mut())
        })
    }

    /// Switches an event on for all threads.
    pub fn enable(self, event: Event) -> Result<()> {
        self.set(ENABLE, event as jint)
    }

    /// Switches an event off.
    pub fn disable(self, event: Event) -> Result<()> {
        self.set(DISABLE, event as jint)
    }

    /// Sets the callback of an extension event, and switches the event on.
    ///
    /// # Safety
    /// The callback takes what the event passes.
    pub unsafe fn set_extension_callback(
        self,
        event: &ExtensionEvent,
        callback: *const c_void,
    ) -> Result<()> {
        // SAFETY: the callback fits the event, for which the caller vouches.
        check("SetExtensionEventCallback", unsafe {
            abi::set_extension_event_callback(self.0, event.index, callback)
        })?;
        // HotSpot's own extension events are switched on like the others, by their index.
        self.set(ENABLE, event.index)
    }

    /// Disposes of the environment, with its capabilities, events and tags.
    ///
    /// # Safety
    /// No thread uses any copy of it afterwards.
    pub unsafe fn dispose(self) {
        // SAFETY: the environment is alive. If the JVM refuses because it ends, nothing is lost.
        let _ = unsafe { abi::dispose_environment(self.0) };
    }
}
