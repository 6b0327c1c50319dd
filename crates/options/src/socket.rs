//! Location of the agent's socket.

use crate::file::FilePattern;

/// Location of the command channel's socket.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Control {
    /// The default location, if there is a command channel.
    #[default]
    Usual,
    /// No socket.
    Off,
    /// This path.
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

    /// Returns the value as the option text spells it, or `None` for the default.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Usual => None,
            Self::Off => Some("off"),
            Self::Path(path) => Some(path.text()),
        }
    }
}
