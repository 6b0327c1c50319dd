//! What the writer tells is told to clients.

use super::{Channel, shown, wake};
use crate::agent;
use jtrail_control::{EndReason, Notice, State, Trace};
use jtrail_records::ownership::FileId;
use jtrail_writer::{Observer, Progress, Saved};

/// The clients of this JVM's agent. Without a channel, nobody is told.
pub(crate) struct Clients;

fn channel() -> Option<&'static Channel> {
    agent::if_loaded()?.channel.get()
}

fn state(is_recording: bool) -> State {
    match is_recording {
        true => State::Recording,
        false => State::Paused,
    }
}

impl Observer for Clients {
    /// Who asked for it tells the others.
    fn switched(&self, is_recording: bool) {
        if let Some(channel) = channel() {
            channel.shown.lock().set_state(state(is_recording));
        }
    }

    fn burst(&self, is_recording: bool) {
        self.switched(is_recording);
        if let Some(channel) = channel() {
            channel.notifier.notify(&Notice::State(state(is_recording)));
        }
    }

    fn file_full(&self, progress: Progress, target: &str, file: Option<FileId>) {
        let Some(channel) = channel() else { return };
        let mut shown = channel.shown.lock();
        let (state, Some(ended)) = (shown.state(), shown.end(progress)) else {
            return;
        };
        let started = Trace {
            file: Some(target.to_owned()),
            ..ended.trace.clone()
        };
        shown.begin(&started, file, progress);
        shown.set_state(state);
        drop(shown);
        channel.notifier.notify(&Notice::TraceEnded {
            reason: EndReason::Rotate,
            ended,
            message: String::new(),
        });
        channel.notifier.notify(&Notice::TraceStarted(started));
    }

    fn saved(&self, reason: &str, saved: &Saved) {
        if let Some(agent) = agent::if_loaded()
            && let Some(channel) = agent.channel.get()
        {
            channel.notifier.notify(&Notice::TraceSaved {
                reason: reason.to_owned(),
                saved: shown::saved(agent.options.format, saved),
            });
        }
    }

    fn failed(&self, progress: Progress, message: &str) {
        if let Some(channel) = channel() {
            channel.tell_end(progress, EndReason::Failure, message);
            wake(); // for what can't be done on the writer's thread
        }
    }
}
