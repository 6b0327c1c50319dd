//! Where clients find the agent.

use crate::file::FilePattern;

/// Where the socket of the command channel is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Control {
    /// At its usual place, if there is a command channel.
    #[default]
    Usual,
    /// There is no socket.
    Off,
    /// At this path.
    Path(FilePattern),
}

impl Control {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "-" => Err("a socket has a path".to_owned()),
            _ => FilePattern::parse(text).map(Self::Path),
        }
    }

    /// Returns the value as the option text has it, if the option is needed to say it.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Usual => None,
            Self::Off => Some("off"),
            Self::Path(path) => Some(path.text()),
        }
    }
}
