//! Implements [`Upcalls`], by which the lower layers call the upper ones.

use super::leaving;
use crate::agent::if_loaded;
use crate::callbacks::{self, hooks};
use crate::control;
use crate::error::Error;
use crate::session::{ApiCall, Upcalls};
use crate::sources::{trace, virtual_threads};
use jtrail_jvm::jni::{ClassRef, Env};
use jtrail_recorder::buffer::OwnBuffer;

/// The layers of this JVM's agent.
pub(super) struct Layers;

impl Upcalls for Layers {
    fn go_live(&self, env: &mut Env<'_>) {
        if let Some(agent) = if_loaded() {
            trace::go_live(&agent.tracer, env);
            control::start(&agent.tracer, &agent.channel, env);
        }
    }

    fn went_live(&self) {
        if let Some(agent) = if_loaded() {
            trace::went_live(&agent.tracer);
        }
    }

    fn first_buffer(&self, env: &mut Env<'_>) -> Option<OwnBuffer> {
        virtual_threads::first_buffer(callbacks::tracer()?, env)
    }

    fn install_hook(&self, env: &mut Env<'_>) -> Result<(), Error> {
        match callbacks::tracer() {
            Some(tracer) => hooks::install(tracer, env),
            None => Ok(()),
        }
    }

    fn bind_api(&self, env: &mut Env<'_>, class: ClassRef<'_>) {
        callbacks::api::bind(env, class);
    }

    fn command(&self, env: &mut Env<'_>, call: ApiCall) -> Result<(), Error> {
        let agent = if_loaded().ok_or("tracing is over")?;
        control::program::command(&agent.tracer, agent.channel(), env, call)
    }

    fn is_recording(&self) -> bool {
        if_loaded().is_some_and(|agent| control::is_recording(&agent.tracer, agent.channel()))
    }

    fn before_program(&self) {
        if let Some(agent) = if_loaded()
            && let Some(channel) = agent.channel()
        {
            channel.wait_for_client(&agent.tracer.session.options);
        }
    }

    fn end(&self, env: &mut Env<'_>) {
        if let Some(agent) = if_loaded() {
            if let Some(channel) = agent.channel() {
                channel.hurry(); // otherwise threads with full buffers could wait for the client
            }
            trace::end(&agent.tracer, env);
            agent.stop();
        }
    }

    fn leave(&self, env: &mut Env<'_>) {
        leaving::leave(Some(env));
    }
}
