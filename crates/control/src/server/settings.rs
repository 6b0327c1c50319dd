//! The settings of a server.

use crate::command::Command;
use jtrail_options::Compat;
use std::time::Duration;

/// The settings of a [`Server`](crate::Server).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The version of the agent that the server presents to clients.
    pub compat: Compat,
    /// A client is disconnected if it does not read 64 KiB of data within this time. Default: 10 s.
    pub patience: Duration,
    /// The time in which a frame must be complete. Default: 30 s.
    pub frame_time: Duration,
    /// The maximum number of clients. Further ones get an error and are disconnected. Default: 64.
    pub most_clients: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compat: Compat::Current,
            patience: Duration::from_secs(10),
            frame_time: Duration::from_secs(30),
            most_clients: 64,
        }
    }
}

impl Settings {
    /// Sets the version that is presented to clients.
    #[must_use]
    pub fn with_compat(self, compat: Compat) -> Self {
        Self { compat, ..self }
    }

    /// Sets the patience.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sets the time in which a frame must be complete.
    #[must_use]
    pub fn with_frame_time(self, frame_time: Duration) -> Self {
        Self { frame_time, ..self }
    }
}

/// Returns true if an agent of this version knows the command.
pub fn knows(compat: Compat, command: &str) -> bool {
    match compat {
        Compat::Current => Command::NAMES.contains(&command),
        Compat::Pre45 => command != "setOutputFormat" && Command::NAMES.contains(&command),
    }
}
