//! The JVM loads the agent, and unloads it.

use crate::agent::{self, Agent};
use crate::buffer::{self, Exchange, WhenFull};
use crate::clock::{self, Clock, Reading};
use crate::hooks;
use crate::instrument::lines::LineCounters;
use crate::instrument::sites::AllocSites;
use crate::jvmti::Jvmti;
use crate::writer::{self, Output, Setup, Writer};
use crate::{guard, log};
use crossbeam_channel::unbounded;
use jni::sys::JavaVM;
use jtrail_options::{Events, OnError, OptionError, Options, OutputFormat, Overflow, Target};
use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

/// What the JVM is told.
pub(crate) enum Loaded {
    Go,
    Refuse,
}

/// Sets the agent up, as the options say.
///
/// # Safety
/// `vm` is the JVM that is starting.
pub(crate) unsafe fn load(vm: *mut JavaVM, text: &str) -> Loaded {
    let options = jtrail_options::parse(text, &jtrail_options::read_file);
    let options = match options.and_then(Options::available) {
        Ok(options) => options,
        Err(error) => return refuse_options(&error),
    };
    let on_error = options.on_error;
    let is_second = agent::if_loaded().is_some();
    let result = match is_second {
        true => Err("it is loaded twice into one JVM; give one -agentpath only".to_owned()),
        // SAFETY: the caller's promise.
        false => unsafe { set_up(vm, options) },
    };
    match result {
        Ok(()) => Loaded::Go,
        Err(message) => {
            if !is_second {
                guard::switch_off();
            }
            match on_error {
                OnError::Continue => {
                    log::say(&format!("{message}; the program goes on without a trace"));
                    Loaded::Go
                }
                _ => {
                    log::say(&message);
                    Loaded::Refuse
                }
            }
        }
    }
}

fn refuse_options(error: &OptionError) -> Loaded {
    guard::switch_off();
    if error.is_help() {
        let _ = writeln!(std::io::stdout(), "{error}");
        std::process::exit(0); // as other agents do: asking for help is no wish to run the program
    }
    if error.continue_wanted() {
        log::say(&format!("{error}; the program goes on without a trace"));
        return Loaded::Go;
    }
    log::say(&error.to_string());
    Loaded::Refuse
}

/// # Safety
/// `vm` is the JVM that is starting.
unsafe fn set_up(vm: *mut JavaVM, options: Options) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let jvmti = unsafe { Jvmti::of(vm) }
        .map_err(|code| format!("this JVM has no tool interface (GetEnv answered {code})"))?;
    let now: fn() -> u64 = if clock::counter_is_steady() {
        clock::Counter::now
    } else {
        clock::System::now
    };
    let options = Arc::new(options);
    let target = options
        .file
        .expand(std::process::id(), SystemTime::now(), &writer::hostname());
    let target_name = match &target {
        Target::Stdout => "standard output".to_owned(),
        Target::Path(path) => path.display().to_string(),
    };
    let output = match options.format {
        OutputFormat::None => Ok(None),
        _ => Output::open(&target).map(Some),
    };
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            // Not a mistake in the options; the program matters more.
            log::say(&format!(
                "cannot write {target_name}: {error}; the program goes on without a trace"
            ));
            guard::switch_off();
            return Ok(());
        }
    };
    hooks::add_capabilities(jvmti, &options)?;
    // SAFETY: the caller's promise.
    let objects = unsafe { hooks::objects(vm, &options) }?;
    let (empty, supply) = buffer::create_pool(options.buffer_bytes).map_err(|e| {
        format!(
            "no memory for buffers of {} bytes: {e}",
            options.buffer_bytes
        )
    })?;
    let (full_sender, full) = unbounded();
    let (announcements, announced) = unbounded();
    let when_full = match options.overflow {
        Overflow::Block => WhenFull::Block,
        Overflow::Drop => WhenFull::Drop,
    };
    let writer = Writer::start(Setup {
        options: Arc::clone(&options),
        output,
        target: target_name,
        now,
        loaded: Reading::take(now),
        announcements: announced,
        full,
        empty,
    })
    .map_err(|e| format!("no thread for the writer: {e}"))?;
    let exchange = Exchange {
        empty: supply,
        full: full_sender,
        when_full,
    };
    let agent = Agent::create(
        options,
        jvmti,
        objects,
        now,
        announcements,
        exchange,
        writer,
    );
    if agent.options.events.contains(Events::LINES) {
        let counters =
            LineCounters::new().map_err(|e| format!("no memory for line counters: {e}"))?;
        let _ = agent.classes.lines.set(counters); // the first and only time
    }
    if agent.options.has_alloc_probes() {
        let sites =
            AllocSites::new().map_err(|e| format!("no memory for allocation sites: {e}"))?;
        let _ = agent.classes.sites.set(sites); // the first and only time
    }
    hooks::install(agent).inspect_err(|_| agent.writer.stop())
}

/// Ends the trace, when the JVM did not say before that it ends.
pub(crate) fn unload() {
    if let Some(agent) = agent::if_loaded() {
        agent.stop();
    }
}
