//! Events go on and off, and environments come to their end.
//!
//! HotSpot 19 to 21 keeps something of native threads that are gone (JDK-8319935, mended in 22). One that attaches while allocations are told
//! (`SampledObjectAlloc`) gets two `JvmtiThreadState`s: one for the allocation of its own `Thread` object, and one when it has that. Only the second goes with the thread. Whenever
//! an environment comes or goes, or an event is switched, by whatever agent, the JVM goes through all states, and looks into the thread of each, which is freed memory by then,
//! and may write into it: the process dies.
//!
//! So from the first such thread on, nothing of that kind is done. What is on stays on, other events can't be had, the agent's environments stay when it
//! leaves, with callbacks that find no agent, and no agent comes any more. All that is tags, memory, threads and hooks goes as ever.
//!
//! All HotSpots up to 25 forget a thread's `JvmtiThreadState` when the thread ends while there is no environment at all: a thread of ours that gave the last one
//! up, or one of the program's that lived longer than the agent. The next agent's events then count down in the freed memory of
//! each such thread, whatever is there by that time. So one environment, that can do nothing and is told nothing, is never given up
//! ([`Jvmti::keep_one`]).

use super::abi::{self, Callbacks, Error, Event};
use super::env::{ExtensionEvent, Failure, Jvmti, Result, check};
use jni::sys::{JavaVM, jint};
use parking_lot::Mutex;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// For `SetEventNotificationMode`.
const ENABLE: jint = 1;
const DISABLE: jint = 0;

/// For people.
pub(crate) const NO_CHANGE: &str = "this JVM bears no change of agents or events any more, since native threads attached while allocations were told (JDK-8319935)";

/// JVMs with that fault.
const FAULTY: std::ops::Range<u32> = 19..22;

/// What is on, by environment and event. Held while anything changes.
static ON: Mutex<Vec<(usize, jint)>> = Mutex::new(Vec::new());

/// There is an environment that stays for ever.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Nothing may change any more. Written with [`ON`] held.
static FIXED: AtomicBool = AtomicBool::new(false);

fn is_fixed() -> bool {
    FIXED.load(Ordering::Relaxed)
}

fn refused<T>(function: &'static str) -> Result<T> {
    let error = Error::EVENTS_STAY;
    Err(Failure { function, error })
}

impl Jvmti {
    fn key(self) -> usize {
        self.0.expose_provenance()
    }

    /// A native thread attaches, has no `Thread` yet, and the JVM tells of an allocation by it: the running thread, in that event's callback.
    pub(crate) fn thread_attaches(self) {
        let is_faulty = || self.java_version().is_some_and(|v| FAULTY.contains(&v));
        if !is_fixed() && is_faulty() {
            let _on = ON.lock(); // who changes something is done before this thread can end
            FIXED.store(true, Ordering::Relaxed);
        }
    }

    /// Makes the environment that stays for ever, unless it is there.
    ///
    /// # Safety
    /// `vm` is the running JVM.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(crate) unsafe fn keep_one(vm: *mut JavaVM) -> std::result::Result<(), String> {
        if !IS_KEPT.swap(true, Ordering::Relaxed) {
            // SAFETY: the caller's promise.
            unsafe { Self::of(vm) }.inspect_err(|_| IS_KEPT.store(false, Ordering::Relaxed))?;
        }
        Ok(())
    }

    /// A new environment of `vm`.
    ///
    /// # Safety
    /// `vm` is the running JVM.
    ///
    /// # Errors
    /// When it has none of JVMTI 1.2, or bears no further one, as a sentence.
    pub(crate) unsafe fn of(vm: *mut JavaVM) -> std::result::Result<Self, String> {
        let _on = ON.lock();
        if is_fixed() {
            return Err(NO_CHANGE.into());
        }
        let mut env: *mut c_void = ptr::null_mut();
        let version = jvmti_sys::JVMTI_VERSION_1_2 as jint;
        // SAFETY: the caller's promise; `env` takes the answer.
        match unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, version) } {
            0 if !env.is_null() => Ok(Self(env.cast())),
            code => Err(format!(
                "this JVM has no tool interface (GetEnv answered {code})"
            )),
        }
    }

    /// Sets all callbacks.
    pub(crate) fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        const FUNCTION: &str = "SetEventCallbacks";
        let _on = ON.lock();
        if is_fixed() {
            return refused(FUNCTION);
        }
        let size = size_of::<Callbacks>() as jint;
        // SAFETY: the table is read during the call; `Callbacks::set` vouches for its entries.
        check(FUNCTION, unsafe {
            abi::set_event_callbacks(self.0, callbacks, size)
        })
    }

    /// # Errors
    /// The JVM's own, and [`Error::EVENTS_STAY`].
    fn set(self, mode: jint, event: jint, prepare: impl FnOnce() -> Result<()>) -> Result<()> {
        const FUNCTION: &str = "SetEventNotificationMode";
        let mut on = ON.lock();
        let entry = (self.key(), event);
        if is_fixed() {
            return match mode == DISABLE || on.contains(&entry) {
                true => Ok(()), // what is on stays on
                false => refused(FUNCTION),
            };
        }
        prepare()?;
        // SAFETY: a null thread means all.
        check(FUNCTION, unsafe {
            abi::set_event_notification_mode(self.0, mode, event, ptr::null_mut())
        })?;
        on.retain(|other| *other != entry);
        if mode == ENABLE {
            on.push(entry);
        }
        Ok(())
    }

    /// Switches an event on for all threads.
    pub(crate) fn enable(self, event: Event) -> Result<()> {
        self.set(ENABLE, event as jint, || Ok(()))
    }

    /// Switches an event off. Its callback may be called all the same where the JVM does not bear that.
    pub(crate) fn disable(self, event: Event) -> Result<()> {
        self.set(DISABLE, event as jint, || Ok(()))
    }

    /// Sets the callback of an extension event, and switches the event on.
    ///
    /// # Safety
    /// The callback takes what the event passes.
    pub(crate) unsafe fn set_extension_callback(
        self,
        event: &ExtensionEvent,
        callback: *const c_void,
    ) -> Result<()> {
        // HotSpot's own extension events are switched on like the others, by their index.
        self.set(ENABLE, event.index, || {
            // SAFETY: the caller's promise.
            check("SetExtensionEventCallback", unsafe {
                abi::set_extension_event_callback(self.0, event.index, callback)
            })
        })
    }

    /// Gives the environment up, with its capabilities, events and tags. Nothing else may be asked of it then. `false` if it has to stay.
    pub(crate) fn dispose(self) -> bool {
        let mut on = ON.lock();
        if is_fixed() {
            return false;
        }
        let key = self.key();
        on.retain(|(env, _)| *env != key);
        // SAFETY: the environment is alive. Should the JVM refuse, for it ends, that is all the same.
        let _ = unsafe { abi::dispose_environment(self.0) };
        true
    }
}
