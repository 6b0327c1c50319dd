//! How a server behaves.

use crate::command::Command;
use jtrail_options::Compat;
use std::time::Duration;

/// How a [`Server`](crate::Server) behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// As which version of the agent.
    pub compat: Compat,
    /// How long each 64 KiB of data may wait for their client, before it is cut off. 10 s.
    pub patience: Duration,
    /// How long the rest of a frame may take. 30 s.
    pub frame_time: Duration,
    /// Clients at once; one more is answered by an error and sent away. 64.
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
    /// With this behaviour towards clients.
    #[must_use]
    pub fn with_compat(self, compat: Compat) -> Self {
        Self { compat, ..self }
    }

    /// With this patience.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// With this time for a frame.
    #[must_use]
    pub fn with_frame_time(self, frame_time: Duration) -> Self {
        Self { frame_time, ..self }
    }
}

/// Whether an agent of this version knows the command.
pub fn knows(compat: Compat, command: &str) -> bool {
    match compat {
        Compat::Current => Command::NAMES.contains(&command),
        Compat::Pre45 => command != "setOutputFormat" && Command::NAMES.contains(&command),
    }
}
