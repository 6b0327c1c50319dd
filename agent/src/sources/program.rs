//! What the program itself writes into its trace, and commands: the natives of `jtrail.Trace`, a
//! class in a jar that programs may have with them (`java-api`).
//!
//! They are bound when such a class is prepared, or when the agent comes; there may be one for each
//! class loader. A native method that is bound so, for a class of the application, has the JVM
//! print no warning. The class itself knows whether it is bound, so that without the agent its
//! methods do nothing: before it comes, and when it has left.

use super::{Source, Tracer};
use crate::error::Error;
use jtrail_control::LONGEST_MARK;
use jtrail_jvm::jni::{ClassRef, Env};
use jtrail_options::{Options, Overflow, size_text};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_records::Definition;
use jtrail_records::definition::MarkInfo;
use jtrail_writer::{Acted, Action};
use std::sync::atomic::{AtomicU64, Ordering};

/// The class that programs call.
const CLASS: &str = "Ljtrail/Trace;";

/// Calls of `jtrail.Trace`.
pub(super) struct ProgramCalls;

impl Source for ProgramCalls {
    fn requested(&self, _options: &Options) -> bool {
        true
    }

    /// Binds the classes that were there before the agent.
    fn prepare(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let upcalls = tracer.session.life.upcalls;
        for_loaded(tracer, env, |env, class| upcalls.bind_api(env, class));
    }
}

/// A class was prepared: binds it, if it is the one.
pub(super) fn prepared(tracer: &Tracer, env: &mut Env<'_>, class: ClassRef<'_>) {
    let session = &tracer.session;
    let name = session.jvmti.class_signature(class);
    if name.is_ok_and(|name| name == CLASS) {
        session.life.upcalls.bind_api(env, class);
    }
}

/// Calls `act` with each class `jtrail.Trace` that is loaded and prepared. One that is not prepared
/// is reported when it is.
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

/// Bytes of marks on their way to the writer. With so many, the next one waits for it.
const MOST_MARKS: u64 = 1 << 20;
/// The same where the newest events are kept, and marks with them: no more are taken.
const MOST_NEWEST_MARKS: u64 = 16 << 20;

/// How many were given numbers.
static MARKS: AtomicU64 = AtomicU64::new(0);

/// Writes a text into the trace, between what the running thread did and does.
///
/// # Errors
/// Why it is not there.
pub(crate) fn mark(tracer: &Tracer, env: &mut Env<'_>, text: String) -> Result<(), Error> {
    match text.len() {
        0 => return Err("the text is empty".into()),
        length if length > LONGEST_MARK => {
            let problem = format!("the text is longer than {LONGEST_MARK} bytes");
            return Err(Error::Request(problem));
        }
        _ => {}
    }
    let session = &tracer.session;
    let buffer = session.buffer(env);
    let buffer = buffer.ok_or("this thread can't be recorded any more")?;
    let keeps_newest = session.options.overflow == Overflow::Ring;
    if !keeps_newest && MarkInfo::on_their_way() >= MOST_MARKS {
        return match tracer.writer.act(session.now(), Action::Mark(text)) {
            Acted::Done => Ok(()),
            Acted::TraceOver => Err("there is no trace".into()),
            Acted::Off => Err("tracing is over".into()),
        };
    }
    record_mark(tracer, buffer, text)
}

/// Writes a text into the trace, on an agent thread, between what others did and do.
///
/// # Errors
/// Why it is not there.
pub(crate) fn mark_from_outside(tracer: &Tracer, text: String) -> Result<(), Error> {
    let buffer = tracer.session.native_buffer();
    let buffer = buffer.ok_or("nothing is recorded any more")?;
    record_mark(tracer, buffer, text)
}

fn record_mark(tracer: &Tracer, buffer: OwnBuffer, text: String) -> Result<(), Error> {
    if MarkInfo::on_their_way() >= MOST_NEWEST_MARKS {
        let most = size_text(MOST_NEWEST_MARKS);
        let problem = format!("the newest events have marks of {most} already");
        return Err(Error::Request(problem));
    }
    let number = MARKS.fetch_add(1, Ordering::Relaxed);
    let mark = MarkInfo::new(number, text.into());
    tracer.session.define(Definition::Mark(mark));
    tracer.session.record(buffer, Code::Mark, &[number]);
    Ok(())
}
