//! Carries out the commands that the program itself gives by calls of `jtrail.Trace`.

use super::{Channel, check_mark};
use crate::error::Error;
use crate::java_constants::trace;
use crate::session::{ApiCall, runs_agent_code};
use crate::sources::{Tracer, program};
use jtrail_control::{Command, Failure, Start};
use jtrail_jvm::jni::Env;
use jtrail_options::{BurstLimit, OutputFormat, Server};
use std::time::Duration;

/// Carries out a call of `Trace.command`.
///
/// # Errors
/// The reason why the command was not carried out.
pub(crate) fn command(
    tracer: &Tracer,
    channel: Option<&Channel>,
    env: &mut Env<'_>,
    call: ApiCall,
) -> Result<(), Error> {
    if runs_agent_code() {
        return Err("the agent's own thread commands nothing".into());
    }
    let ApiCall { text, more, .. } = call;
    let amount = || u64::try_from(call.number).ok().filter(|n| *n > 0);
    let command = match call.what {
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
        trace::MARK => {
            let text = text.unwrap_or_else(|| "null".into());
            let checked = check_mark(tracer, channel, &text);
            checked.map_err(|Failure { message, .. }| message)?;
            return program::mark(tracer, env, text);
        }
        _ => return Err("this agent does not know the call; it may be older than the jar".into()),
    };
    let server = tracer.session.options.server;
    if server != Server::Application {
        return Err(Error::Request(format!(
            "server={server}: the program itself begins and ends traces with server=application"
        )));
    }
    let channel = channel.ok_or("the agent takes no commands")?;
    let done = channel.command(command);
    done.map_err(|Failure { message, .. }| Error::Request(message))
}
