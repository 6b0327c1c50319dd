//! Allocations that are recorded at their sites, by probes (`alloc=sites`).
//!
//! The hot path is in `callbacks::hooks::allocations`. This module handles the first objects. At
//! the first object of each site, the class is looked up. At the first object of each class, the
//! agent creates another object of the class, and measures its size.

pub(crate) mod identity;

use super::state::sites::{Arrays, ELEMENTS};
use super::{Environment, Need, Source, Tracer, classes, pending, stack};
use crate::error::Error;
use crate::instrument::sites::{self, AllocSites};
use jtrail_jvm::jni::{ClassRef, Env, ObjectArrays, ObjectRef};
use jtrail_jvm::jvmti::Method;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{AllocMode, Events, Options};
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::pending::NewClass;
use jtrail_records::Definition;
use jtrail_records::definition::ClassInfo;
use jtrail_records::definition::Sizing;
use std::cell::Cell;
use std::sync::Arc;

/// The source of `events=alloc` with `alloc=sites`.
pub(super) struct AllocationSites;

impl Source for AllocationSites {
    fn requested(&self, options: &Options) -> bool {
        options.has_alloc_probes()
    }

    fn environment(&self) -> Environment {
        Environment::Objects
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let allocations = Capability::GenerateVmObjectAllocEvents;
        vec![Need::of(allocations, "report its own allocations")]
    }

    fn events(&self, options: &Options, kinds: Events) -> &'static [Event] {
        match options.alloc == AllocMode::Sites && kinds.contains(Events::ALLOC) {
            true => &[Event::VmObjectAlloc],
            false => &[],
        }
    }

    /// Measures arrays, and reports in the trace which objects no probe sees.
    fn prepare(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        if tracer.instrument.sites.get().is_some() {
            tracer.session.define(Definition::Uninstrumented {
                class: "*".into(),
                method: "".into(),
                reason: NOT_SEEN.into(),
            });
            if let Some(arrays) = env.with_frame(|env| measure_arrays(tracer, env)) {
                let _ = tracer.sites.arrays.set(arrays); // can't fail: set only once
            }
        }
        classes::watch_constructors(tracer, env);
    }
}

/// Number of the hook's own frames, which are the innermost ones.
const HOOK_FRAMES: i32 = 1;

/// What the trace says about objects that no probe sees.
const NOT_SEEN: &str = "alloc=sites does not see objects that no bytecode of a rewritten class creates: those of the JVM, of native code \
                        and of hidden classes";

thread_local! {
    /// True while the thread looks up a class. Objects that the thread creates meanwhile are not
    /// recorded.
    static IS_LOOKING_UP: Cell<bool> = const { Cell::new(false) };
}

/// Records an object that a site has created, if the hot path could not record it. The thread has
/// no buffer, its chunk has no room, the epoch is new, or the object is the site's first. For an
/// array, `length` is its length.
pub(crate) fn allocated(
    tracer: &Tracer,
    env: &mut Env<'_>,
    hook: ClassRef<'_>,
    site: u32,
    length: u32,
) {
    if IS_LOOKING_UP.get() {
        return;
    }
    let Some(buffer) = tracer.session.buffer(env) else {
        return;
    };
    if !sites::is_found(site) {
        look_up(tracer, env, hook, site);
    }
    let payload = [record::site(site, length)];
    tracer.session.record(buffer, Code::AllocSite, &payload);
}

/// Records an object that a call at a site has created.
pub(crate) fn call_allocated(tracer: &Tracer, env: &mut Env<'_>, object: ObjectRef<'_>, site: u32) {
    record_object(tracer, env, object, site, 1);
}

/// Records an array of arrays that a site has created. All arrays of a level have the same length.
/// So one array of each level stands for all, unless objects have identity.
pub(crate) fn multi_allocated(tracer: &Tracer, env: &mut Env<'_>, array: ObjectRef<'_>, site: u32) {
    let Some(arrays) = tracer.sites.arrays.get() else {
        return;
    };
    match tracer.session.options.has_identity_at_sites() {
        true => record_arrays(tracer, env, arrays, array, site),
        false => record_levels(tracer, env, arrays, (array, 1), site),
    }
}

/// Records `count` equal arrays, of which `array` is one. Then records the arrays inside them,
/// level by level.
fn record_levels(
    tracer: &Tracer,
    env: &mut Env<'_>,
    arrays: &Arrays,
    (array, count): (ObjectRef<'_>, u64),
    site: u32,
) {
    record_object(tracer, env, array, site, count);
    let Some(array) = arrays.of_objects.downcast(env, array) else {
        return;
    };
    let count = count * env.array_length(array) as u64;
    env.for_elements(array, 1, |env, element| {
        record_levels(tracer, env, arrays, (element, count), site);
    });
}

/// Records an array, and the arrays inside it, one by one.
fn record_arrays(
    tracer: &Tracer,
    env: &mut Env<'_>,
    arrays: &Arrays,
    array: ObjectRef<'_>,
    site: u32,
) {
    record_object(tracer, env, array, site, 1);
    let Some(array) = arrays.of_objects.downcast(env, array) else {
        return;
    };
    // If one element is null, all following elements are null too.
    env.for_elements(array, usize::MAX, |env, element| {
        record_arrays(tracer, env, arrays, element, site);
    });
}

/// Records an object that the JVM has created for a native method. `class` and `size` are the
/// object's.
pub(crate) fn created_by_jvm(
    tracer: &Tracer,
    env: &mut Env<'_>,
    object: ObjectRef<'_>,
    class: ClassRef<'_>,
    size: u64,
) {
    let session = &tracer.session;
    let (Some(objects), Some(method)) = (tracer.objects.get(), stack::caller(tracer, 0)) else {
        return;
    };
    if IS_LOOKING_UP.get() || !is_recorded(tracer, env, method) {
        return;
    }
    let class = objects.class_of_new(session, env, class, size);
    let frame = stack::frame(tracer, env, method, -1);
    let (Some(class), Some(frame)) = (class, frame) else {
        return;
    };
    let Some(buffer) = session.buffer(env) else {
        return;
    };
    let number = match session.options.has_identity_at_sites() {
        true => objects.number_new(env, object, class).unwrap_or_default(),
        false => 0,
    };
    let payload = [record::object(number, class.number()), size, frame];
    session.record(buffer, Code::AllocAt, &payload);
}

/// Returns true if objects that the JVM creates for this method are recorded from the JVM's events.
/// No probe may see these objects, and the JVM must report them even if the method is compiled. For
/// most methods this is not so: probes see their calls, or the Java code that runs inside them.
fn is_recorded(tracer: &Tracer, env: &Env<'_>, method: Method) -> bool {
    /// Native methods of reflection. The JDK replaces them by generated code for methods that are
    /// called often.
    const METHODS: [&str; 2] = ["newInstance0", "invoke0"];
    const CLASSES: &str = "Ljdk/internal/reflect/";
    let jvmti = tracer.session.jvmti;
    let name = jvmti.method_name(method);
    let class = jvmti.declaring_class(env, method);
    let (Ok((name, _)), Ok(class)) = (name, class) else {
        return false;
    };
    let signature = || jvmti.class_signature(class);
    METHODS.contains(&&*name) && signature().is_ok_and(|s| s.starts_with(CLASSES))
}

/// Records `count` objects of one class and size, of which `object` is one. If objects have
/// identity, `count` is 1.
fn record_object(tracer: &Tracer, env: &mut Env<'_>, object: ObjectRef<'_>, site: u32, count: u64) {
    let session = &tracer.session;
    let (Some(objects), Some(buffer)) = (tracer.objects.get(), session.buffer(env)) else {
        return;
    };
    if IS_LOOKING_UP.get() {
        return;
    }
    let Ok(size) = objects.jvmti.object_size(object) else {
        return;
    };
    let class = env.with_class_of(object, |env, class| {
        objects.class_of_new(session, env, class, size)
    });
    let Some(class) = class else { return };
    let word = record::site(site, class.number());
    if !session.options.has_identity_at_sites() {
        let payload = [word, size, count];
        return session.record(buffer, Code::AllocMany, &payload);
    }
    let number = match pending::may_be_confused(buffer, class) {
        false => objects.number_new(env, object, class),
        true => objects.tag_new(object).inspect(|number| {
            pending::created_by_call(buffer, class, *number);
        }),
    };
    if let Some(number) = number {
        let payload = [word, size, number];
        session.record(buffer, Code::AllocCallObject, &payload);
    }
}

/// Defines a site for the writer. Called while the running thread is in the site's hook. Returns
/// the class of the site's objects; `None` if the lookup failed.
fn look_up(tracer: &Tracer, env: &mut Env<'_>, hook: ClassRef<'_>, site: u32) -> Option<NewClass> {
    let session = &tracer.session;
    let all = tracer.instrument.sites.get()?;
    let Some(name) = all.class_to_resolve(site) else {
        return sites::class_at(site); // another thread was faster
    };
    IS_LOOKING_UP.set(true);
    let found = env.with_frame(|env| class_and_size(tracer, env, all, hook, &name));
    IS_LOOKING_UP.set(false);
    let (class, sizing) = match found {
        Ok((class, sizing)) => (class, Some(sizing)),
        Err(reason) => (without_size(tracer, &name, &reason), None),
    };
    session.define(Definition::AllocClass {
        site,
        class: class.number(),
        sizing: sizing.unwrap_or(Sizing::fixed(0)),
    });
    sizing?;
    all.found(site, class);
    Some(class)
}

/// Defines a class by its name, for an object that is recorded without a size. The lookup failed
/// because the stack or the memory is exhausted. The site's next object tries again.
fn without_size(tracer: &Tracer, name: &Arc<str>, reason: &Error) -> NewClass {
    let session = &tracer.session;
    session.define(Definition::Uninstrumented {
        class: (&**name).into(),
        method: "".into(),
        reason: format!("an object of it has no size in the trace: {reason}").into(),
    });
    let number = session.classes.number_of_name(name, |number| {
        session.define(Definition::Class(ClassInfo {
            number,
            name: (&**name).into(),
            super_name: "".into(),
            source_file: "".into(),
        }));
    });
    NewClass::unknown(number)
}

fn class_and_size(
    tracer: &Tracer,
    env: &mut Env<'_>,
    all: &AllocSites,
    hook: ClassRef<'_>,
    name: &str,
) -> Result<(NewClass, Sizing), Error> {
    let session = &tracer.session;
    // If there is a gate, the method of the hook class that checks the gate has a frame, too.
    let gate = i32::from(session.bursts.is_some());
    let caller = stack::caller(tracer, HOOK_FRAMES + gate).ok_or("there is no frame")?;
    let from = session.jvmti.declaring_class(env, caller)?;
    let class = env.named_class(hook, name, from)?;
    let number = tracer.class_number(env, class).ok_or("it has no number")?;
    let known = match tracer.objects.get() {
        Some(objects) if session.options.has_identity_at_sites() => {
            objects.keep_class(env, class, number)
        }
        _ => NewClass::unknown(number),
    };
    if let Some(element) = name.strip_prefix('[') {
        let arrays = tracer.sites.arrays.get().ok_or("no array was measured")?;
        let element = match element.as_bytes().first() {
            Some(b'[') | None => b'L',
            Some(element) => *element,
        };
        let sizing = arrays.sizings.iter().find(|(of, _)| *of == element);
        let (_, sizing) = sizing.ok_or("there is no such array")?;
        return Ok((known, *sizing));
    }
    if let Some(size) = all.size(number) {
        return Ok((known, Sizing::fixed(size)));
    }
    // An object of the class was just created. So the class is initialized, or the running thread
    // is initializing it.
    let object = env
        .allocate(class)
        .ok_or("there is no memory for one more")?;
    let size = session.jvmti.object_size(object)?;
    all.measured(number, size);
    Ok((known, Sizing::fixed(size)))
}

fn measure_arrays(tracer: &Tracer, env: &mut Env<'_>) -> Option<Arrays> {
    let object = env.object_class()?;
    let mut sizings = [(0, Sizing::fixed(0)); ELEMENTS.len()];
    for (place, element) in sizings.iter_mut().zip(ELEMENTS) {
        let size = |length: i32| {
            let size = |array: ObjectRef<'_>| tracer.session.jvmti.object_size(array).ok();
            env.with_new_array(element, length, object, size)?
        };
        *place = (element, sizing(size)?);
    }
    let of_objects = ObjectArrays::new(env)?;
    Some(Arrays {
        sizings,
        of_objects,
    })
}

/// Computes the sizing of arrays from the sizes of some arrays; `size` returns the size for a
/// length. `base` is chosen so that the longest array of the empty array's size has no padding.
fn sizing(mut size: impl FnMut(i32) -> Option<u64>) -> Option<Sizing> {
    /// A multiple of every object alignment (at most 256 bytes).
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
