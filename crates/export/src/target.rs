//! The targets.

use crate::filter::CallFilter;
use crate::perfetto;
use jtrail_formats::Encode;

/// A format of another tool that traces are exported to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Perfetto's own format.
    Perfetto,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 1] = [Self::Perfetto];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
        }
    }

    /// Returns the extension of files, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Perfetto => "pftrace",
        }
    }

    /// Returns the target with a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Creates an encoder of the calls that the filter selects.
    pub fn encoder(self, filter: CallFilter) -> Box<dyn Encode> {
        match self {
            Self::Perfetto => Box::new(perfetto::Encoder::new(filter)),
        }
    }
}
