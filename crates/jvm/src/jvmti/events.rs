//! Enabling and disabling events, and creating and disposing of environments.
//!
//! One environment, without capabilities and events, is never disposed of
//! ([`Jvmti::keep_environment`]). This avoids a bug in all HotSpot versions up to 25:
//!
//! 1. A thread ends while no environment exists. It may be the agent thread that disposed of the
//!    last environment, or a program thread that outlived the agent.
//! 2. HotSpot frees the thread, but not its `JvmtiThreadState`.
//! 3. The next agent enables or disables events. HotSpot then decrements a counter in the freed
//!    memory of the thread, which may hold other data by now.

use super::abi::{self, Callbacks, Event};
use super::env::{ExtensionEvent, Jvmti, Result, check};
use crate::Error;
use crate::jni::Vm;
use jni::sys::jint;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Modes of `SetEventNotificationMode`.
const ENABLE: jint = 1;
const DISABLE: jint = 0;

/// True if the environment that is never disposed of exists.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

impl Jvmti {
    /// Creates the environment that is never disposed of, unless it exists.
    ///
    /// # Errors
    /// Those of [`Self::of`].
    pub fn keep_environment(vm: Vm) -> std::result::Result<(), Error> {
        if !IS_KEPT.swap(true, Ordering::Relaxed) {
            Self::of(vm).inspect_err(|_| IS_KEPT.store(false, Ordering::Relaxed))?;
        }
        Ok(())
    }

    /// Creates an environment.
    ///
    /// # Errors
    /// If the JVM has no JVMTI 1.2.
    pub fn of(vm: Vm) -> std::result::Result<Self, Error> {
        let mut env: *mut c_void = ptr::null_mut();
        let version = jvmti_sys::JVMTI_VERSION_1_2 as jint;
        let vm = vm.as_ptr();
        // SAFETY: the JVM is alive ([`Vm`]); `env` receives the result.
        match unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, version) } {
            0 if !env.is_null() => Ok(Self(env.cast())),
            code => Err(Error::NoInterface(code)),
        }
    }

    /// Sets the callbacks of all events.
    pub fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        let size = size_of::<Callbacks>() as jint;
        // SAFETY: the JVM reads the table during the call only. The setters of `Callbacks` accept
        // only functions of the right type.
        check("SetEventCallbacks", unsafe {
            abi::set_event_callbacks(self.0, callbacks, size)
        })
    }

    fn set(self, mode: jint, event: jint) -> Result<()> {
        // SAFETY: null means all threads.
        check("SetEventNotificationMode", unsafe {
            abi::set_event_notification_mode(self.0, mode, event, ptr::null_mut())
        })
    }

    /// Enables an event for all threads.
    pub fn enable(self, event: Event) -> Result<()> {
        self.set(ENABLE, event as jint)
    }

    /// Disables an event for all threads.
    pub fn disable(self, event: Event) -> Result<()> {
        self.set(DISABLE, event as jint)
    }

    /// Sets the callback of an extension event, and enables the event.
    ///
    /// # Safety
    /// The callback has the type that the extension event's description demands.
    pub unsafe fn set_extension_callback(
        self,
        event: &ExtensionEvent,
        callback: *const c_void,
    ) -> Result<()> {
        // SAFETY: the callback fits the event, as the caller ensures.
        check("SetExtensionEventCallback", unsafe {
            abi::set_extension_event_callback(self.0, event.index, callback)
        })?;
        // HotSpot's own extension events are enabled like the standard ones, by their index.
        self.set(ENABLE, event.index)
    }

    /// Disposes of the environment, with its capabilities, events and tags.
    ///
    /// # Safety
    /// No thread uses any copy of the environment afterwards.
    pub unsafe fn dispose(self) {
        // SAFETY: the environment is not disposed of yet, as the caller ensures. If the JVM refuses
        // because it is ending, nothing is lost.
        let _ = unsafe { abi::dispose_environment(self.0) };
    }
}
