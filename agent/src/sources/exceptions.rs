//! Exceptions that are thrown and caught.
//!
//! The rewriter adds a handler to each method. The handler catches an exception that leaves the
//! method, records the leave, and throws the exception again. The JVM reports these catches and
//! throws, too; they are ignored.

use super::{Need, Source, Tracer, stack, triggers};
use jtrail_classfile::Handler;
use jtrail_jvm::jni::{Env, ObjectRef};
use jtrail_jvm::jvmti::Method;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::record::{Code, frame, handler, object};

/// The source of `events=exceptions`, and of bursts that an exception begins.
pub(super) struct Exceptions;

impl Source for Exceptions {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::EXCEPTIONS) || options.has_exception_triggers()
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let exceptions = Capability::GenerateExceptionEvents;
        vec![Need::of(exceptions, "report exceptions")]
    }

    fn events(&self, options: &Options, kinds: Events) -> &'static [Event] {
        if kinds.contains(Events::EXCEPTIONS) {
            &[Event::Exception, Event::ExceptionCatch]
        } else if options.has_exception_triggers() && !kinds.is_empty() {
            &[Event::Exception]
        } else {
            &[]
        }
    }
}

/// Where an exception is thrown or caught: a method, and the location in its code.
#[derive(Clone, Copy)]
pub(crate) struct CodeLocation {
    pub(crate) method: Method,
    pub(crate) location: i64,
}

/// A throw or a catch.
struct ExceptionEvent {
    /// The exception's number, and the number of its class.
    number: u64,
    class: u64,
    /// Word of the frame; none if the method is unknown.
    frame: Option<u64>,
    /// The handler that begins at the location, if it is known.
    handler: Option<Handler>,
}

/// Records an exception that was thrown or caught at a location. Records nothing if the location is
/// in a handler that the rewriter added, or if `payload` returns `None`.
fn record(
    tracer: &Tracer,
    env: &mut Env<'_>,
    CodeLocation { method, location }: CodeLocation,
    exception: ObjectRef<'_>,
    code: Code,
    payload: impl FnOnce(&mut Env<'_>, ExceptionEvent) -> Option<Vec<u64>>,
) {
    let session = &tracer.session;
    let Some(objects) = tracer.objects.get() else {
        return;
    };
    if !session.is_on(Events::EXCEPTIONS) {
        return;
    }
    let place = tracer.frame_method(env, method);
    if place.as_ref().is_some_and(|place| place.is_ours(location)) {
        return;
    }
    let Some(buffer) = session.buffer(env) else {
        return;
    };
    let number = objects.mention(session, env, buffer, Some(exception));
    let class = env.class_of(exception);
    let Some(class) = objects.class(session, env, class) else {
        return;
    };
    let happening = ExceptionEvent {
        number,
        class: class.into(),
        handler: place.as_ref().and_then(|place| place.handler(location)),
        frame: place.map(|place| frame(place.number, place.lines.at(location))),
    };
    if let Some(payload) = payload(env, happening) {
        session.record(buffer, code, &payload);
    }
}

/// Records that an exception is thrown.
pub(crate) fn thrown(
    tracer: &Tracer,
    env: &mut Env<'_>,
    place: CodeLocation,
    exception: ObjectRef<'_>,
) {
    triggers::thrown(tracer, env, place, exception);
    record(
        tracer,
        env,
        place,
        exception,
        Code::Throw,
        |env, happening| {
            let depth = tracer.session.options.event_frames().max(1);
            let ExceptionEvent { number, class, .. } = happening;
            Some(stack::payload(tracer, env, number, class, 0, depth))
        },
    );
}

/// Records that an exception is caught.
pub(crate) fn caught(
    tracer: &Tracer,
    env: &mut Env<'_>,
    place: CodeLocation,
    exception: ObjectRef<'_>,
) {
    record(
        tracer,
        env,
        place,
        exception,
        Code::Catch,
        |_, happening| {
            let number = object(happening.number, 1);
            let class = happening.class | handler(happening.handler);
            Some(vec![number, class, happening.frame?])
        },
    );
}
