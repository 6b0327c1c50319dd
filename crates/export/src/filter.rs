//! Which calls are exported.

use jtrail_analysis::Names;
use jtrail_model::{Duration, MethodId};
use std::fmt;

/// Decides by name whether calls of a method are exported.
type MethodFilter = Box<dyn Fn(&Names, MethodId) -> bool + Send>;

/// Selection of calls. A call that is not selected becomes part of its caller: it disappears, and
/// its callees remain.
pub struct CallFilter {
    /// Minimum length of a call or wait.
    pub min: Duration,
    /// Maximum number of calls that enclose an exported call, plus one. `None` for no limit.
    pub depth: Option<usize>,
    /// The methods whose calls are exported. `None` for all.
    pub methods: Option<MethodFilter>,
}

impl Default for CallFilter {
    /// Selects all calls.
    fn default() -> Self {
        Self {
            min: Duration(0),
            depth: None,
            methods: None,
        }
    }
}

impl fmt::Debug for CallFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFilter")
            .field("min", &self.min)
            .field("depth", &self.depth)
            .field("methods", &self.methods.is_some())
            .finish()
    }
}

impl CallFilter {
    /// Returns true if calls of the method are exported at this level. The outermost calls of a
    /// thread have level 0.
    pub(crate) fn selects(&self, names: &Names, method: MethodId, level: usize) -> bool {
        self.depth.is_none_or(|depth| level < depth)
            && self
                .methods
                .as_ref()
                .is_none_or(|selects| selects(names, method))
    }
}
