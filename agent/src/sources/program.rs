//! Texts and commands of the program itself. A program may include a jar (`java-api`) with the
//! class `jtrail.Trace`, and call its natives.
//!
//! Each class loader may have its own class `jtrail.Trace`. The natives are bound when the class is
//! prepared, or when the agent is loaded. The JVM prints no warning when natives of an application
//! class are bound like this. A field of the class says whether it is bound. So its methods do
//! nothing before the agent is loaded, and after it has detached.

use super::{Source, Tracer};
use crate::error::Error;
use jtrail_control::MAX_MARK_BYTES;
use jtrail_jvm::jni::{ClassRef, Env};
use jtrail_options::{Options, Overflow, size_text};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_records::Definition;
use jtrail_records::definition::MarkInfo;
use jtrail_writer::{Acted, Action};
use std::sync::atomic::{AtomicU64, Ordering};

/// The signature of the class that programs call.
const CLASS: &str = "Ljtrail/Trace;";

/// The source of calls of `jtrail.Trace`.
pub(super) struct ProgramCalls;

impl Source for ProgramCalls {
    fn requested(&self, _options: &Options) -> bool {
        true
    }

    /// Binds the classes that existed before the agent.
    fn prepare(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let upcalls = tracer.session.life.upcalls;
        for_loaded(tracer, env, |env, class| upcalls.bind_api(env, class));
    }
}

/// Binds a class that was prepared, if it is `jtrail.Trace`.
pub(super) fn prepared(tracer: &Tracer, env: &mut Env<'_>, class: ClassRef<'_>) {
    let session = &tracer.session;
    let name = session.jvmti.class_signature(class);
    if name.is_ok_and(|name| name == CLASS) {
        session.life.upcalls.bind_api(env, class);
    }
}

/// Calls `act` with each class `jtrail.Trace` that is prepared. For classes that are prepared
/// later, the ClassPrepare event calls [`prepared`].
pub(crate) fn for_loaded(
    tracer: &Tracer,
    env: &mut Env<'_>,
    mut act: impl FnMut(&mut Env<'_>, ClassRef<'_>),
) {
    let jvmti = tracer.session.jvmti;
    env.with_frame(|env| {
        for class in jvmti.loaded_classes(env).unwrap_or_default() {
            let name = jvmti.class_signature(class);
            let is_prepared = || jvmti.is_prepared(class) == Ok(true);
            if name.is_ok_and(|name| name == CLASS) && is_prepared() {
                act(env, class);
            }
        }
    });
}

/// Maximum size in bytes of all marks that the writer has not read yet. If there are more, the next
/// mark waits for the writer.
const MAX_MARKS: u64 = 1 << 20;
/// Maximum size in bytes of all marks that a flight recorder keeps among its events. If there are
/// more, marks are refused.
const MAX_NEWEST_MARKS: u64 = 16 << 20;

/// Number of marks so far.
static MARKS: AtomicU64 = AtomicU64::new(0);

/// Writes a text into the trace, between the running thread's events.
///
/// # Errors
/// The reason why the text is not in the trace.
pub(crate) fn mark(tracer: &Tracer, env: &mut Env<'_>, text: String) -> Result<(), Error> {
    match text.len() {
        0 => return Err("the text is empty".into()),
        length if length > MAX_MARK_BYTES => {
            let problem = format!("the text is longer than {MAX_MARK_BYTES} bytes");
            return Err(Error::Request(problem));
        }
        _ => {}
    }
    let session = &tracer.session;
    let buffer = session.buffer(env);
    let buffer = buffer.ok_or("this thread can't be recorded any more")?;
    let keeps_newest = session.options.overflow == Overflow::Ring;
    if !keeps_newest && MarkInfo::pending_bytes() >= MAX_MARKS {
        return match tracer.writer.act(session.now(), Action::Mark(text)) {
            Acted::Done => Ok(()),
            Acted::TraceOver => Err("there is no trace".into()),
            Acted::Off => Err("tracing is over".into()),
        };
    }
    record_mark(tracer, buffer, text)
}

/// Writes a text into the trace, between events by its time. Called on an agent thread.
///
/// # Errors
/// The reason why the text is not in the trace.
pub(crate) fn mark_from_outside(tracer: &Tracer, text: String) -> Result<(), Error> {
    let buffer = tracer.session.native_buffer();
    let buffer = buffer.ok_or("nothing is recorded any more")?;
    record_mark(tracer, buffer, text)
}

fn record_mark(tracer: &Tracer, buffer: OwnBuffer, text: String) -> Result<(), Error> {
    if MarkInfo::pending_bytes() >= MAX_NEWEST_MARKS {
        let most = size_text(MAX_NEWEST_MARKS);
        let problem = format!("the newest events have marks of {most} already");
        return Err(Error::Request(problem));
    }
    let number = MARKS.fetch_add(1, Ordering::Relaxed);
    let mark = MarkInfo::new(number, text.into());
    tracer.session.define(Definition::Mark(mark));
    tracer.session.record(buffer, Code::Mark, &[number]);
    Ok(())
}
