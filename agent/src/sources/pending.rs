//! Pending objects (`alloc=sites` with `free`): they were created, but their constructors have not
//! called the constructor of `Object` yet.

use super::Tracer;
use crate::objects::Objects;
use jtrail_jvm::jni::{Env, ObjectRef};
use jtrail_options::Events;
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::pending::{NewClass, PendingObject, stack_address};

/// Adds an object to the running thread's list of pending objects. The hook in `Object`'s
/// constructor will find the object there.
pub(super) fn wait(tracer: &Tracer, buffer: OwnBuffer, object: PendingObject) {
    let pending = buffer.pending();
    if !pending.is_open() {
        return;
    }
    record_lost(tracer, buffer, object.stack);
    for number in pending.make_room() {
        record_free(tracer, buffer, number);
    }
    pending.push(object);
}

/// Returns true if objects of that class are pending. Then an object that a call has created could
/// be mistaken for one of them.
pub(super) fn may_be_confused(buffer: OwnBuffer, class: NewClass) -> bool {
    let pending = buffer.pending();
    pending.is_open() && pending.has(class.number())
}

/// Adds an object that a call has created. The object's tag already holds its number. Its
/// constructor may call the constructor of `Object` later, or never.
pub(super) fn created_by_call(buffer: OwnBuffer, class: NewClass, number: u64) {
    buffer.pending().push(PendingObject {
        number,
        class,
        site: PendingObject::KNOWN,
        stack: stack_address(),
    });
}

/// Removes and returns the last pending object of `object`'s class. Pending objects that were added
/// later are unreachable, and recorded as dead. Returns `None` if no probe has seen `object`, or if
/// it already has its number.
pub(super) fn take(
    tracer: &Tracer,
    objects: &Objects,
    env: &Env<'_>,
    buffer: OwnBuffer,
    object: ObjectRef<'_>,
) -> Option<PendingObject> {
    let pending = buffer.pending();
    let class = env.class_of(object); // the local reference is deleted when the hook returns
    let mut number = None; // number of the class, once it was looked up
    loop {
        let last = pending.last()?;
        let is_its = match number {
            None => objects.is_class(env, class, last.class),
            Some(number) => number == last.class.number(),
        };
        if !is_its {
            number = number.or_else(|| objects.class_if_known(class));
            if !pending.has(number?) {
                return None;
            }
        }
        pending.pop();
        match last.lost() {
            Some(_) if is_its => return Some(last),
            Some(lost) => record_free(tracer, buffer, lost),
            None if objects.has_number(object, last.number) => return None,
            None => {}
        }
    }
}

/// Records the end of pending objects whose creating frames have returned.
pub(super) fn record_lost(tracer: &Tracer, buffer: OwnBuffer, stack: usize) {
    while let Some(object) = buffer.pending().pop_unreachable(stack) {
        if let Some(number) = object.lost() {
            record_free(tracer, buffer, number);
        }
    }
}

/// Records the end of all pending objects of the running thread, because the thread ends.
pub(super) fn thread_ends(tracer: &Tracer, buffer: OwnBuffer) {
    if buffer.pending().is_open() {
        for number in buffer.pending().take_all() {
            record_free(tracer, buffer, number);
        }
    }
}

fn record_free(tracer: &Tracer, buffer: OwnBuffer, number: u64) {
    if tracer.session.is_on(Events::FREE) {
        tracer.session.record(buffer, Code::ObjectFree, &[number]);
    }
}
