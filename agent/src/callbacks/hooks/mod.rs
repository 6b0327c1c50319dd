//! The natives of the hook class, which instrumented code calls.
//!
//! The natives that record a call or an allocation are the hot path: thread-local pointer, time
//! stamp, store. [`crate::sources`] does everything else. Each hook class has functions of its own.
//! They record only if their class is the hook class of the loaded agent ([`is_present`]).

mod allocations;
mod calls;

use super::with_ref;
use crate::error::Error;
use crate::hook_class::{HOOKS, Hook, is_present};
use crate::sources::Tracer;
use crate::sources::classes::rewrites;
use crate::sources::cpu::{Measure, WithCpu, WithoutCpu};
use jni::jni_str;
use jni::sys::{JNIEnv, jclass, jint, jlong, jobject};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::{ClassRef, Env, Native};
use jtrail_options::Events;
use jtrail_recorder::bursts;
use jtrail_recorder::clock::{Clock, Counter, System, counter_is_steady};
use std::ffi::c_void;

/// The type of the binder's native method: `(env, binder, hook class)`.
type Bind = unsafe extern "system" fn(*mut JNIEnv, jclass, jclass);

/// Defines the hook class, and binds its functions. From then on, classes are rewritten if an
/// enabled kind of events needs that.
///
/// # Errors
/// If the JVM refuses.
pub(crate) fn install(tracer: &Tracer, env: &mut Env<'_>) -> Result<(), Error> {
    let (session, instrument) = (&tracer.session, &tracer.instrument);
    let next = Hook::next(env).map_err(Error::of_hook_class)?;
    let hook = instrument.hook.get_or_init(|| next); // set only here
    // SAFETY: `bind` has the type of the binder's native method, which the JVM calls with the hook
    // class.
    let bind = unsafe {
        let (name, descriptor) = (jni_str!("bindNatives"), jni_str!("(Ljava/lang/Class;)V"));
        Native::new(name, descriptor, bind as Bind as *mut c_void)
    };
    hook.bind(env, bind).map_err(Error::of_hook_class)?;
    if guard::is_off() {
        return Err("calls can't be traced".into()); // the reason was reported
    }
    if let Some(counters) = instrument.lines.get() {
        hook.set_lines(env, counters.address())
            .map_err(Error::of_hook_class)?;
    }
    if session.bursts.is_some() {
        hook.set_gate(env, bursts::gate_address())
            .map_err(Error::of_hook_class)?;
    }
    if let Some(ticks) = &session.clock.ticks {
        hook.set_ticks(env, ticks.address())
            .map_err(Error::of_hook_class)?;
    }
    hook.arrive();
    instrument.found_hook(rewrites(&session.options, session.kinds.on()));
    Ok(())
}

/// The JVM calls this function as `Binder.bindNatives`, in [`install`].
unsafe extern "system" fn bind(env: *mut JNIEnv, _binder: jclass, class: jclass) {
    // SAFETY: the JVM passed `env` and `class` to this native method.
    unsafe {
        with_ref(
            "the binding of the hook",
            env,
            class,
            |tracer, env, class| {
                if let Err(error) = bind_natives(tracer, env, class) {
                    log::say(&format!(
                        "cannot bind the hook class: {error}; tracing is off, the program goes on"
                    ));
                    guard::switch_off();
                }
            },
        );
    }
}

fn bind_natives(tracer: &Tracer, env: &Env<'_>, class: ClassRef<'_>) -> Result<(), Error> {
    let options = &tracer.session.options;
    let number = tracer.instrument.hook.get().map_or(0, |hook| hook.number);
    let with_cpu = options.events.contains(Events::CPU);
    let natives = natives(number, with_cpu, options.has_identity_at_sites());
    Ok(env.register_natives(class, &natives)?)
}

/// Returns a native method for the hook class with the number `K`. If that hook class is the
/// current one, the method calls `$function`.
///
/// `$descriptor` and the types of the arguments must match.
macro_rules! hook {
    ($name:literal $descriptor:literal $function:path, $($argument:ident: $type:ty),*) => {{
        #[allow(clippy::extra_unused_type_parameters, reason = "not all measure something")]
        unsafe extern "system" fn hook<const K: u32, C: Clock, M: Measure>(
            env: *mut JNIEnv,
            class: jclass,
            $($argument: $type),*
        ) {
            if is_present(K) {
                // SAFETY: the JVM passed these arguments to the native method.
                unsafe { $function(env, class, $($argument),*) };
            }
        }
        let function = hook::<K, C, M> as unsafe extern "system" fn(*mut JNIEnv, jclass, $($type),*);
        // SAFETY: the function has the type of a static native method of that descriptor.
        unsafe { Native::new(jni_str!($name), jni_str!($descriptor), function as *mut c_void) }
    }};
}

/// Returns the natives of the hook class with that number. The natives use this machine's clock.
/// They read the CPU time and number objects only if that is requested.
fn natives(number: u32, with_cpu: bool, with_identity: bool) -> Vec<Native> {
    fn measuring<const K: u32>(with_cpu: bool, with_identity: bool) -> Vec<Native> {
        match (counter_is_steady(), with_cpu) {
            (true, false) => of::<K, Counter, WithoutCpu>(with_identity),
            (true, true) => of::<K, Counter, WithCpu>(with_identity),
            (false, false) => of::<K, System, WithoutCpu>(with_identity),
            (false, true) => of::<K, System, WithCpu>(with_identity),
        }
    }
    const { assert!(HOOKS == 8) };
    match number {
        0 => measuring::<0>(with_cpu, with_identity),
        1 => measuring::<1>(with_cpu, with_identity),
        2 => measuring::<2>(with_cpu, with_identity),
        3 => measuring::<3>(with_cpu, with_identity),
        4 => measuring::<4>(with_cpu, with_identity),
        5 => measuring::<5>(with_cpu, with_identity),
        6 => measuring::<6>(with_cpu, with_identity),
        _ => measuring::<7>(with_cpu, with_identity),
    }
}

#[rustfmt::skip]
fn of<const K: u32, C: Clock, M: Measure>(with_identity: bool) -> Vec<Native> {
    vec![
        hook!("enter" "(I)V" calls::enter::<C, M>, method: jint),
        hook!("leave" "(I)V" calls::leave::<C, M>, method: jint),
        hook!("leaveByException" "(I)V" calls::leave_by_exception::<M>, method: jint),
        hook!("caught" "(I)V" calls::caught::<M>, method: jint),
        hook!("superCall" "(I)V" calls::super_call, method: jint),
        hook!("superReturned" "(I)V" calls::super_returned, method: jint),
        hook!("stamp" "(IJ)V" calls::stamp, low: jint, id: jlong),
        hook!("stamp" "(IIJ)V" calls::stamp_with_method, low: jint, method: jint, id: jlong),
        hook!("triggerEnter" "(I)V" calls::trigger_enter::<C, M>, method: jint),
        hook!("triggerLeave" "(I)V" calls::trigger_leave::<C, M>, method: jint),
        hook!("triggerLeaveByException" "(I)V" calls::trigger_leave_by_exception::<M>, method: jint),
        hook!("initialiserEnter" "(I)V" calls::initialiser_enter::<C, M, false>, method: jint),
        hook!("calledInitialiserEnter" "(I)V" calls::initialiser_enter::<C, M, true>, method: jint),
        hook!("initialiserLeave" "(I)V" calls::initialiser_leave::<C, M, false>, method: jint),
        hook!("calledInitialiserLeave" "(I)V" calls::initialiser_leave::<C, M, true>, method: jint),
        hook!("initialiserLeaveByException" "(I)V" calls::initialiser_leave_by_exception::<M, false>, method: jint),
        hook!("calledInitialiserLeaveByException" "(I)V" calls::initialiser_leave_by_exception::<M, true>, method: jint),
        hook!("park" "(I)V" calls::park, has_blocker: jint),
        hook!("unpark" "(I)V" calls::unpark, ignored: jint),
        match with_identity {
            false => hook!("allocated" "(I)V" allocations::allocated::<C>, site: jint),
            true => hook!("allocated" "(I)V" allocations::allocated_with_identity::<C>, site: jint),
        },
        hook!("arrayAllocated" "(II)V" allocations::array_allocated::<C>, length: jint, site: jint),
        hook!("arrayAllocated" "(Ljava/lang/Object;II)V" allocations::array_handed_over, array: jobject, length: jint, site: jint),
        hook!("multiAllocated" "(Ljava/lang/Object;I)V" allocations::multi_allocated, array: jobject, site: jint),
        hook!("callAllocated" "(Ljava/lang/Object;I)V" allocations::call_allocated, object: jobject, site: jint),
        hook!("constructed" "(Ljava/lang/Object;)V" allocations::constructed, object: jobject),
    ]
}
