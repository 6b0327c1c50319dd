//! Passes the writer's notifications on to clients.

use super::{Channel, ChannelSlot, shown};
use jtrail_control::{EndReason, Notice, State, Trace};
use jtrail_options::OutputFormat;
use jtrail_records::ownership::FileId;
use jtrail_writer::{Observer, Progress, Saved};

/// The clients of this JVM's agent. Without a channel, nobody is notified.
pub(crate) struct Clients {
    pub(crate) channel: ChannelSlot,
    /// The format of the agent's options.
    pub(crate) format: OutputFormat,
}

impl Clients {
    fn channel(&self) -> Option<&Channel> {
        self.channel.get()
    }
}

fn state(is_recording: bool) -> State {
    match is_recording {
        true => State::Recording,
        false => State::Paused,
    }
}

impl Observer for Clients {
    /// Sends no notice. Pause and resume are commands, and the server notifies the clients of
    /// commands.
    fn switched(&self, is_recording: bool) {
        if let Some(channel) = self.channel() {
            channel.shown.lock().set_state(state(is_recording));
        }
    }

    fn burst(&self, is_recording: bool) {
        self.switched(is_recording);
        if let Some(channel) = self.channel() {
            channel.notifier.notify(&Notice::State(state(is_recording)));
        }
    }

    fn file_full(&self, progress: Progress, target: &str, file: Option<FileId>) {
        let Some(channel) = self.channel() else {
            return;
        };
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
        if let Some(channel) = self.channel() {
            channel.notifier.notify(&Notice::TraceSaved {
                reason: reason.to_owned(),
                saved: shown::saved(self.format, saved),
            });
        }
    }

    fn failed(&self, progress: Progress, message: &str) {
        if let Some(channel) = self.channel() {
            channel.notify_end(progress, EndReason::Failure, message);
            channel.wake(); // the channel's thread then switches the kinds off
        }
    }
}
