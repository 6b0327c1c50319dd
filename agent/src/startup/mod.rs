//! Loading and unloading of the agent by the JVM.

mod assembly;
pub(crate) mod leaving;
mod program;
mod upcalls;

use crate::agent::{self, Agent};
use crate::error::Error;
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::Vm;
use jtrail_options::{OnError, OptionError};
use jtrail_recorder::buffer;
use std::io::Write;
use std::sync::atomic::Ordering;

/// The answer of the entry point to the JVM.
pub(crate) enum Loaded {
    Go,
    Refuse,
}

/// The phase of the JVM in which the agent is loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadPhase {
    /// The JVM is starting.
    Start,
    /// The JVM runs its program.
    Attach,
}

/// Sets the agent up according to the options.
pub(crate) fn load(vm: Vm, text: &str, moment: LoadPhase) -> Loaded {
    let options = jtrail_options::parse(text, &jtrail_options::read_file);
    let options = match options {
        Ok(options) => options,
        Err(error) if moment == LoadPhase::Attach => {
            log::say(&match error.is_help() {
                true => "help is for the start of a JVM; `jtrail help attach` says the same".into(),
                false => error.to_string(),
            });
            return Loaded::Refuse;
        }
        Err(error) => return refuse_options(&error),
    };
    let on_error = options.on_error;
    buffer::tls::prepare();
    let is_second = agent::if_loaded().is_some();
    if !is_second {
        guard::switch_on(); // an earlier agent whose set-up failed may have switched it off
    }
    let result = match (is_second, moment) {
        (true, LoadPhase::Start) => Err(Error::LoadedTwice),
        (true, LoadPhase::Attach) => Err(Error::Present),
        (false, _) => assembly::set_up(vm, options, moment),
    };
    let Err(error) = result else {
        return Loaded::Go;
    };
    if !is_second {
        guard::switch_off();
    }
    let goes_on = on_error == OnError::Continue || matches!(error, Error::Output(..));
    match moment {
        // If the file can't be written, the options are still correct. So the program runs without
        // a trace.
        LoadPhase::Start if goes_on => {
            log::say(&format!("{error}; the program goes on without a trace"));
            Loaded::Go
        }
        // A user who attaches the agent wants to see the error.
        _ => {
            log::say(&error.to_string());
            Loaded::Refuse
        }
    }
}

/// Detaches an agent whose set-up failed.
pub(crate) fn clean_up(vm: Vm) {
    let has_failed_setup = |agent: &Agent| agent.has_failed_setup.load(Ordering::Acquire);
    if agent::if_loaded().is_some_and(has_failed_setup) {
        // SAFETY: the JVM has just called the agent's entry point on this thread, and the entry
        // point uses no other environment.
        let left = unsafe { vm.with_env_mut(|env| leaving::leave(Some(env))) };
        if left.is_none() {
            leaving::leave(None);
        }
    }
}

fn refuse_options(error: &OptionError) -> Loaded {
    guard::switch_off();
    if error.is_help() {
        let _ = writeln!(std::io::stdout(), "{error}");
        std::process::exit(0); // the user wants the help, not the program; other agents exit, too
    }
    if error.may_continue() {
        log::say(&format!("{error}; the program goes on without a trace"));
        return Loaded::Go;
    }
    log::say(&error.to_string());
    Loaded::Refuse
}

/// Ends the trace, unless the VMDeath event has ended it before.
pub(crate) fn unload() {
    if let Some(agent) = agent::if_loaded() {
        agent.stop();
    }
}
