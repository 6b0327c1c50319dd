//! Allocations seen by probes where code creates objects (`alloc=sites`).
//!
//! The probe knows its place by number, and the place's class, method and line are known to the writer; so the hot path is that of a
//! call: thread-local pointer, time stamp, store. The first object of each place has its class looked up, and the first
//! of each class has its size measured, on an object that is made for that.

use super::{buffer, identity, record, stack};
use crate::agent::{self, Agent};
use crate::error::Error;
use crate::instrument::sites;
use ::jni::sys::{JNIEnv, jclass, jint, jlong, jmethodID, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jni::{self, Lasting};
use jtrail_jvm::jvmti::abi::RawEnv;
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::buffer::tls;
use jtrail_recorder::clock::Clock;
use jtrail_recorder::pending::NewClass;
use jtrail_records::Announcement;
use jtrail_records::announce::ClassInfo;
use jtrail_records::announce::Sizing;
use std::cell::Cell;

/// Our own hook's frame, which is innermost.
const HOOK_FRAMES: i32 = 1;

/// What the trace says of everything else.
const NOT_SEEN: &str = "alloc=sites does not see objects that no bytecode of a rewritten class creates: those of the JVM, of native code \
                        and of hidden classes";

thread_local! {
    /// The thread looks up a class; what it makes on the way is not recorded.
    pub(super) static LOOKING_UP: Cell<bool> = const { Cell::new(false) };
}

/// Sizes of arrays by their elements, and the class of `Object[]`.
pub(crate) struct Arrays {
    sizings: [(u8, Sizing); ELEMENTS.len()],
    of_objects: Lasting,
}

/// First characters of elements' descriptors; arrays are references like all others.
const ELEMENTS: [u8; 9] = *b"ZBCSIJFDL";

#[inline(always)]
pub(super) unsafe fn allocated<C: Clock>(env: *mut JNIEnv, hook: jclass, site: jint) {
    made::<C>(env, hook, site as u32, 0);
}

#[inline(always)]
pub(super) unsafe fn array_allocated<C: Clock>(
    env: *mut JNIEnv,
    hook: jclass,
    length: jint,
    site: jint,
) {
    made::<C>(env, hook, site as u32, length as u32);
}

#[inline(always)]
fn made<C: Clock>(env: *mut JNIEnv, hook: jclass, site: u32, length: u32) {
    let buffer = tls::get();
    let now = C::now();
    let low = record::coded(Code::AllocSite);
    let recorded = !buffer.is_null()
        && sites::is_found(site)
        // SAFETY: the variable is null, or points to this thread's own buffer.
        && unsafe { (*buffer).try_record_with(now, low, [record::site(site, length)]) };
    if !recorded {
        slow(env, hook, site, length);
    }
}

/// No buffer, no room in the chunk, a new epoch, or the first object of the place.
#[cold]
#[inline(never)]
fn slow(env: *mut JNIEnv, hook: jclass, site: u32, length: u32) {
    guard::run("an allocation", || {
        let Some(agent) = agent::get() else { return };
        if LOOKING_UP.get() {
            return;
        }
        let Some(buffer) = buffer(agent, env) else {
            return;
        };
        if !sites::is_found(site) {
            // SAFETY: a hook gets the running thread's environment and its own class.
            unsafe { look_up(agent, env, hook, site) };
        }
        let payload = [record::site(site, length)];
        record(agent, Some(buffer), Code::AllocSite, &payload);
    });
}

/// A call made this object; it is null where somebody else's method of that name did not.
pub(super) unsafe fn call_allocated(env: *mut JNIEnv, _hook: jclass, made: jobject, site: jint) {
    guard::run("an allocation", || {
        if let Some(agent) = agent::get()
            && !made.is_null()
        {
            // SAFETY: the hook's environment and argument.
            unsafe { record_object(agent, env, made, site as u32, 1) };
        }
    });
}

/// An array of arrays: regular, so that one of each level stands for all, unless each is to be known again.
pub(super) unsafe fn multi_allocated(env: *mut JNIEnv, _hook: jclass, array: jobject, site: jint) {
    guard::run("an allocation", || {
        let Some(agent) = agent::get() else { return };
        let Some(arrays) = agent.arrays.get() else {
            return;
        };
        let of_objects = arrays.of_objects.get();
        if agent.options.has_identity_at_sites() {
            // SAFETY: the hook's environment and argument.
            return unsafe { record_arrays(agent, env, array, site as u32, of_objects) };
        }
        let (mut array, mut count) = (array, 1);
        while !array.is_null() {
            // SAFETY: live local references: the hook's own argument, and what the JVM gives us here. An instance of `Object[]`
            // is an array of references.
            unsafe {
                record_object(agent, env, array, site as u32, count);
                if !jni::is_instance(env, array, of_objects) {
                    return;
                }
                match jni::array_length(env, array) {
                    0 => return,
                    length => count *= length as u64,
                }
                array = jni::element(env, array, 0);
            }
        }
    });
}

/// Records an array, and those in it, one by one.
///
/// # Safety
/// `env` is the running thread's, `array` a live reference to an array, and `of_objects` to the class of `Object[]`.
unsafe fn record_arrays(
    agent: &Agent,
    env: *mut JNIEnv,
    array: jobject,
    site: u32,
    of_objects: jclass,
) {
    // SAFETY: the caller's promise, and local references that the JVM gives us here. An instance of `Object[]` is an array of references.
    unsafe {
        record_object(agent, env, array, site, 1);
        if !jni::is_instance(env, array, of_objects) {
            return;
        }
        for at in 0..jni::array_length(env, array) {
            let element = jni::element(env, array, at);
            if element.is_null() {
                return; // so are all others
            }
            record_arrays(agent, env, element, site, of_objects);
            jni::forget(env, element);
        }
    }
}

/// The JVM made an object for a native method.
pub(super) unsafe extern "system" fn made_by_vm(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    guard::run("an allocation of the JVM", || {
        let Some(agent) = agent::get() else { return };
        let (Some(objects), Some(method)) = (agent.objects.get(), stack::caller(agent, 0)) else {
            return;
        };
        // SAFETY: the JVM just told us of the method, which is on the stack.
        if LOOKING_UP.get() || !unsafe { is_told(agent, method) } {
            return;
        }
        // SAFETY: likewise, and the callback's own references.
        let (class, frame) = unsafe {
            let class = objects.class_of_new(agent, env, class, size.max(0) as u64);
            (class, stack::frame(agent, method, -1))
        };
        let (Some(class), Some(frame)) = (class, frame) else {
            return;
        };
        let Some(buffer) = buffer(agent, env) else {
            return;
        };
        let number = match agent.options.has_identity_at_sites() {
            // SAFETY: likewise.
            true => unsafe { objects.number_new(env, object, class) }.unwrap_or_default(),
            false => 0,
        };
        let payload = [
            record::object(number, class.number()),
            size.max(0) as u64,
            frame,
        ];
        record(agent, Some(buffer), Code::AllocAt, &payload);
    });
}

/// Whether what the JVM makes for this method is seen by no probe, and told in every state of compilation. Most that the JVM tells
/// is neither: calls of the method have probes, or Java code that ran inside of it has.
///
/// # Safety
/// `method` is alive.
unsafe fn is_told(agent: &Agent, method: jmethodID) -> bool {
    /// Of reflection, before it makes itself code for a method that is called often.
    const METHODS: [&str; 2] = ["newInstance0", "invoke0"];
    const CLASSES: &str = "Ljdk/internal/reflect/";
    // SAFETY: the caller's promise.
    let (name, class) = unsafe {
        let jvmti = agent.jvmti;
        (jvmti.method_name(method), jvmti.declaring_class(method))
    };
    let (Ok((name, _)), Ok(class)) = (name, class) else {
        return false;
    };
    METHODS.contains(&&*name)
        // SAFETY: a local reference that the JVM just gave us.
        && unsafe { agent.jvmti.class_signature(class) }.is_ok_and(|s| s.starts_with(CLASSES))
}

/// Records objects of one class and size by one of them. Where it is to be known again, it is only one.
///
/// # Safety
/// `env` is the running thread's, and `object` a live reference.
unsafe fn record_object(agent: &Agent, env: *mut JNIEnv, object: jobject, site: u32, count: u64) {
    let (Some(objects), Some(buffer)) = (agent.objects.get(), buffer(agent, env)) else {
        return;
    };
    if LOOKING_UP.get() {
        return;
    }
    // SAFETY: the caller's promise.
    let Ok(size) = (unsafe { objects.jvmti.object_size(object) }) else {
        return;
    };
    // SAFETY: the caller's promise.
    let class = unsafe {
        let class = jni::class_of(env, object);
        let number = objects.class_of_new(agent, env, class, size);
        jni::forget(env, class);
        number
    };
    let Some(class) = class else { return };
    let word = record::site(site, class.number());
    if !agent.options.has_identity_at_sites() {
        let payload = [word, size, count];
        return record(agent, Some(buffer), Code::AllocMany, &payload);
    }
    // SAFETY: the caller's promise.
    let number = unsafe {
        match identity::may_be_confused(buffer, class) {
            false => objects.number_new(env, object, class),
            true => objects.tag_new(object).inspect(|number| {
                identity::made_by_call(buffer, class, *number);
            }),
        }
    };
    if let Some(number) = number {
        record(
            agent,
            Some(buffer),
            Code::AllocCallObject,
            &[word, size, number],
        );
    }
}

/// Tells the writer all of a place. The class of what it makes, if it can be known again.
///
/// # Safety
/// `env` is the running thread's, which runs a hook at the place; `hook` is the hook class.
pub(super) unsafe fn look_up(
    agent: &Agent,
    env: *mut JNIEnv,
    hook: jclass,
    site: u32,
) -> Option<NewClass> {
    let all = agent.classes.sites.get()?;
    let Some(name) = all.wanted(site) else {
        return sites::class_at(site); // another thread was faster
    };
    LOOKING_UP.set(true);
    // SAFETY: the caller's promise.
    let found = unsafe { jni::with_frame(env, || class_and_size(agent, env, hook, &name)) };
    LOOKING_UP.set(false);
    let (class, sizing) = match found {
        Ok((class, sizing)) => (class, Some(sizing)),
        Err(reason) => {
            // The stack or the memory is at its end: this object is told without its size, and the next one asks again.
            agent.announce(Announcement::Uncovered {
                class: (&*name).into(),
                method: "".into(),
                reason: format!("an object of it has no size in the trace: {reason}").into(),
            });
            let number = agent.classes.number_of_name(&name, |number| {
                agent.announce(Announcement::Class(ClassInfo {
                    number,
                    name: (&*name).into(),
                    super_name: "".into(),
                    source_file: "".into(),
                }));
            });
            (NewClass::unknown(number), None)
        }
    };
    agent.announce(Announcement::AllocClass {
        site,
        class: class.number(),
        sizing: sizing.unwrap_or(Sizing::fixed(0)),
    });
    sizing?;
    all.found(site, class);
    Some(class)
}

/// # Safety
/// As for [`look_up`]; local references that it makes are the caller's to free.
unsafe fn class_and_size(
    agent: &Agent,
    env: *mut JNIEnv,
    hook: jclass,
    name: &str,
) -> Result<(NewClass, Sizing), Error> {
    // Where there is a gate, the method that looks at it stands between.
    let gate = i32::from(agent.bursts.is_some());
    let caller = stack::caller(agent, HOOK_FRAMES + gate).ok_or("there is no frame")?;
    // SAFETY: the JVM just told us of the method, which is on the stack.
    let from = unsafe { agent.jvmti.declaring_class(caller) }?;
    // SAFETY: the caller's promise, and a local reference that the JVM just gave us.
    let class = unsafe { jni::named_class(env, hook, name, from) }?;
    // SAFETY: likewise.
    let number = unsafe { agent.classes.number_of(agent, class) }.ok_or("it has no number")?;
    let known = match agent.objects.get() {
        // SAFETY: likewise.
        Some(objects) if agent.options.has_identity_at_sites() => unsafe {
            objects.know_class(env, class, number)
        },
        _ => NewClass::unknown(number),
    };
    if let Some(element) = name.strip_prefix('[') {
        let arrays = agent.arrays.get().ok_or("no array was measured")?;
        let element = match element.as_bytes().first() {
            Some(b'[') | None => b'L',
            Some(element) => *element,
        };
        let sizing = arrays.sizings.iter().find(|(of, _)| *of == element);
        let (_, sizing) = sizing.ok_or("there is no such array")?;
        return Ok((known, *sizing));
    }
    let all = agent.classes.sites.get().ok_or("there are no sites")?;
    if let Some(size) = all.size(number) {
        return Ok((known, Sizing::fixed(size)));
    }
    // SAFETY: likewise. The class is initialised, or the running thread does that: an object of it was just created.
    let size = unsafe {
        let object = jni::allocate(env, class);
        match object.is_null() {
            true => return Err("there is no memory for one more".into()),
            false => agent.jvmti.object_size(object),
        }
    };
    let size = size?;
    all.measured(number, size);
    Ok((known, Sizing::fixed(size)))
}

impl Arrays {
    /// Gives up what it refers to.
    ///
    /// # Safety
    /// `env` is the running thread's, and nobody asks for arrays any more.
    pub(super) unsafe fn forget(&self, env: *mut JNIEnv) {
        // SAFETY: the caller's promise.
        unsafe { self.of_objects.forget(env) };
    }
}

/// Measures arrays, and says what is not seen.
pub(super) fn begin(agent: &Agent, env: *mut JNIEnv) {
    if agent.classes.sites.get().is_none() {
        return;
    }
    agent.announce(Announcement::Uncovered {
        class: "*".into(),
        method: "".into(),
        reason: NOT_SEEN.into(),
    });
    // SAFETY: the running thread's environment.
    let arrays = unsafe { jni::with_frame(env, || measure_arrays(agent, env)) };
    if let Some(arrays) = arrays {
        let _ = agent.arrays.set(arrays); // the first and only time
    }
}

/// # Safety
/// `env` is the running thread's; local references that it makes are the caller's to free.
unsafe fn measure_arrays(agent: &Agent, env: *mut JNIEnv) -> Option<Arrays> {
    // SAFETY: the caller's promise.
    let object = unsafe { jni::object_class(env) }?;
    let sizing = |element: u8| {
        let size = |length: i32| {
            // SAFETY: likewise, and a local reference that the JVM just gave us.
            unsafe {
                let array = jni::new_array(env, element, length, object);
                if array.is_null() {
                    return None;
                }
                let size = agent.jvmti.object_size(array).ok();
                jni::forget(env, array);
                size
            }
        };
        sizing(size)
    };
    let mut sizings = [(0, Sizing::fixed(0)); ELEMENTS.len()];
    for (place, element) in sizings.iter_mut().zip(ELEMENTS) {
        *place = (element, sizing(element)?);
    }
    // SAFETY: likewise.
    let of_objects = unsafe {
        let array = jni::new_array(env, b'L', 0, object);
        if array.is_null() {
            return None;
        }
        Lasting::new(env, jni::class_of(env, array))
    };
    Some(Arrays {
        sizings,
        of_objects,
    })
}

/// From the sizes of arrays by length: `base` and `element` are those of the largest array that is as large as the empty one.
fn sizing(size: impl Fn(i32) -> Option<u64>) -> Option<Sizing> {
    /// A multiple of every alignment that there is (at most 256 bytes).
    const MANY: i32 = 4096;
    let empty = size(0)?;
    let element = (size(MANY)? - empty) / MANY as u64;
    let mut length = 0;
    loop {
        length += 1;
        let next = size(length)?;
        if next > empty {
            return Some(Sizing {
                base: empty.checked_sub(element * (length as u64 - 1))?,
                element: element as u32,
                alignment: (next - empty) as u32,
            });
        }
        if length == MANY {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_arrays_follow_from_a_few() {
        for header in [12_u64, 16, 20, 24] {
            for element in [1_u64, 2, 4, 8] {
                for alignment in [8_u64, 16, 256] {
                    let bytes = |length: i32| {
                        (header + element * length as u64).next_multiple_of(alignment)
                    };
                    let found = sizing(|length| Some(bytes(length))).expect("sizes");
                    for length in 0..1000 {
                        let expected = bytes(length as i32);
                        assert_eq!(
                            found.bytes(length),
                            expected,
                            "{header} {element} {alignment}"
                        );
                    }
                }
            }
        }
        assert_eq!(sizing(|_| None), None);
        assert_eq!(sizing(|_| Some(16)), None);
    }
}
