//! The program's own word in its trace: the natives of `jtrail.Trace`, a class in a jar that programs may have with them
//! (`java-api`).
//!
//! They are bound when such a class is prepared, or when the agent comes; there may be one for each class loader. A native method
//! that is bound so, for a class of the application, has the JVM print no warning. The class itself knows whether it is bound, so that without
//! the agent its methods do nothing: before it comes, and when it has left.

use super::{buffer, record, runs_agents_own};
use crate::agent::{self, Agent};
use crate::api_class::ApiFunctions;
use crate::control;
use crate::error::Error;
use crate::java_constants::trace;
use ::jni::sys::{JNIEnv, jboolean, jclass, jint, jlong, jstring};
use jtrail_control::{Command, Failure, LONGEST_MARK, Start};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::{self};
use jtrail_options::{BurstLimit, OutputFormat, Overflow, Server, size_text};
use jtrail_recorder::buffer::ThreadBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_records::Announcement;
use jtrail_records::announce::MarkInfo;
use jtrail_writer::{Acted, Action};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The class that programs call.
const CLASS: &str = "Ljtrail/Trace;";

type Ask = unsafe extern "system" fn(*mut JNIEnv, jclass, jint, jstring, jstring, jlong) -> jstring;
type IsRecording = unsafe extern "system" fn(*mut JNIEnv, jclass) -> jboolean;

/// Binds the class, if it is the one.
///
/// # Safety
/// `env` is the running thread's, and `class` a live reference to a class.
pub(super) unsafe fn prepared(agent: &Agent, env: *mut JNIEnv, class: jclass) {
    // SAFETY: the caller's promise.
    if unsafe { agent.jvmti.class_signature(class) }.is_ok_and(|name| name == CLASS) {
        // SAFETY: likewise.
        unsafe { bind(env, class) };
    }
}

/// # Safety
/// `env` is the running thread's, and `class` a live reference to the class.
unsafe fn bind(env: *mut JNIEnv, class: jclass) {
    let functions = ApiFunctions {
        command: command as Ask as *mut c_void,
        recording: recording as IsRecording as *mut c_void,
    };
    // SAFETY: these are the functions, and the caller's promise.
    if let Err(error) = unsafe { crate::api_class::bind_api(env, class, &functions) } {
        log::say(&format!("the program's jtrail.Trace does nothing: {error}"));
    }
}

/// Binds the classes that were there before the agent.
pub(super) fn bind_loaded(agent: &Agent, env: *mut JNIEnv) {
    for_loaded(agent, env, |class| {
        // SAFETY: the running thread's environment, and a local reference that the JVM just gave us.
        unsafe { bind(env, class) };
    });
}

/// Takes the natives back from all classes: without the agent, they do nothing.
pub(super) fn unbind_loaded(agent: &Agent, env: *mut JNIEnv) {
    for_loaded(agent, env, |class| {
        // SAFETY: the running thread's environment, and a local reference that the JVM just gave us.
        unsafe { crate::api_class::unbind_api(env, class) };
    });
}

fn for_loaded(agent: &Agent, env: *mut JNIEnv, mut act: impl FnMut(jclass)) {
    let mut look = || {
        for class in agent.jvmti.loaded_classes(env).unwrap_or_default() {
            // SAFETY: a local reference that the JVM just gave us.
            let name = unsafe { agent.jvmti.class_signature(class) };
            // SAFETY: likewise. One that is not prepared is told of when it is.
            let is_prepared = || unsafe { agent.jvmti.is_prepared(class) } == Ok(true);
            if name.is_ok_and(|name| name == CLASS) && is_prepared() {
                act(class);
            }
        }
    };
    // SAFETY: the running thread's environment; no reference leaves.
    unsafe { jni::with_frame(env, &mut look) };
}

/// `Trace.command`: null if it was done, else why not.
unsafe extern "system" fn command(
    env: *mut JNIEnv,
    _class: jclass,
    what: jint,
    text: jstring,
    more: jstring,
    number: jlong,
) -> jstring {
    let problem = guard::run("a call of the program", || {
        // SAFETY: a native method's own environment and arguments.
        let (text, more) = unsafe { (jni::text_of(env, text), jni::text_of(env, more)) };
        let Some(agent) = agent::get() else {
            return Some("tracing is over".to_owned());
        };
        let done = carry_out(agent, env, what, text, more, number);
        done.err().map(String::from)
    });
    match problem {
        None => ptr::null_mut(),
        Some(problem) => jni::new_text(env, &problem),
    }
}

unsafe extern "system" fn recording(_env: *mut JNIEnv, _class: jclass) -> jboolean {
    guard::run("a call of the program", || {
        agent::get().is_some_and(control::is_recording)
    })
}

fn carry_out(
    agent: &Agent,
    env: *mut JNIEnv,
    what: jint,
    text: Option<String>,
    more: Option<String>,
    number: jlong,
) -> Result<(), Error> {
    if runs_agents_own() {
        return Err("the agent's own thread commands nothing".into());
    }
    let amount = || u64::try_from(number).ok().filter(|n| *n > 0);
    let command = match what {
        trace::START => Command::Start(Start {
            file: text.filter(|name| !name.is_empty()),
            format: more.map(|word| OutputFormat::parse(&word)).transpose()?,
            ..Start::default()
        }),
        trace::STOP => Command::Stop,
        trace::PAUSE => Command::Pause,
        trace::RESUME => Command::Resume,
        trace::BURST_TIME => {
            let ns = amount().ok_or("a burst takes some time")?;
            Command::Burst(BurstLimit::Time(Duration::from_nanos(ns)))
        }
        trace::BURST_EVENTS => {
            let events = amount().ok_or("a burst has some events")?;
            Command::Burst(BurstLimit::Events(events))
        }
        trace::MARK => return mark(agent, env, text.unwrap_or_else(|| "null".into())),
        _ => return Err("this agent does not know the call; it may be older than the jar".into()),
    };
    if agent.options.server != Server::Application {
        return Err(Error::Request(format!(
            "server={}: the program itself begins and ends traces with server=application",
            agent.options.server
        )));
    }
    let channel = agent.channel.get().ok_or("the agent takes no commands")?;
    let done = channel.command(command);
    done.map_err(|Failure { message, .. }| Error::Request(message))
}

/// Bytes of marks on their way to the writer. With so many, the next one waits for it.
const MOST_MARKS: u64 = 1 << 20;
/// The same where the newest events are kept, and marks with them: no more are taken.
const MOST_NEWEST_MARKS: u64 = 16 << 20;

/// How many were given numbers.
static MARKS: AtomicU64 = AtomicU64::new(0);

/// Writes a text into the trace, between what the running thread did and does.
fn mark(agent: &Agent, env: *mut JNIEnv, text: String) -> Result<(), Error> {
    control::check_mark(agent, &text).map_err(|Failure { message, .. }| message)?;
    match text.len() {
        0 => return Err("the text is empty".into()),
        length if length > LONGEST_MARK => {
            let problem = format!("the text is longer than {LONGEST_MARK} bytes");
            return Err(Error::Request(problem));
        }
        _ => {}
    }
    let buffer = buffer(agent, env).ok_or("this thread can't be recorded any more")?;
    if agent.options.overflow != Overflow::Ring && MarkInfo::on_their_way() >= MOST_MARKS {
        return match agent.writer.act((agent.now)(), Action::Mark(text)) {
            Acted::Done => Ok(()),
            Acted::TraceOver => Err("there is no trace".into()),
            Acted::Off => Err("tracing is over".into()),
        };
    }
    record_mark(agent, buffer, text)
}

/// Writes a text into the trace, on a thread of the agent's own, between what others did and do.
///
/// # Errors
/// A sentence that says why it is not there.
pub(crate) fn mark_from_outside(agent: &Agent, text: String) -> Result<(), Error> {
    let buffer = agent
        .native_buffer()
        .ok_or("nothing is recorded any more")?;
    record_mark(agent, buffer, text)
}

fn record_mark(agent: &Agent, buffer: &ThreadBuffer, text: String) -> Result<(), Error> {
    if MarkInfo::on_their_way() >= MOST_NEWEST_MARKS {
        let most = size_text(MOST_NEWEST_MARKS);
        let problem = format!("the newest events have marks of {most} already");
        return Err(Error::Request(problem));
    }
    let number = MARKS.fetch_add(1, Ordering::Relaxed);
    let mark = MarkInfo::new(number, text.into());
    agent.announce(Announcement::Mark(mark));
    record(agent, Some(buffer), Code::Mark, &[number]);
    Ok(())
}
