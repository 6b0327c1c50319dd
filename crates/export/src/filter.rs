//! Which calls are exported.

use jtrail_model::names::Names;
use jtrail_model::{Duration, MethodId};
use rustc_hash::FxHashMap;
use std::fmt;

/// Decides by name whether calls of a method are exported.
pub type MethodFilter = Box<dyn Fn(&Names, MethodId) -> bool + Send>;

/// Returns what a filter by length and level leaves out, for [`crate::Options::notes`]. `min` is
/// the minimum length in words: `10us`.
pub fn left_out(min: Option<&str>, depth: Option<usize>) -> Vec<String> {
    let min = min.map(|min| format!("calls and waits shorter than {min} are left out"));
    let depth = depth.map(|depth| format!("only {depth} levels of calls are written"));
    min.into_iter().chain(depth).collect()
}

/// Selection of calls. A call that is not selected becomes part of its caller: it disappears, and
/// its callees remain.
#[derive(Default)]
pub struct CallFilter {
    /// Minimum length of a call or wait.
    pub(crate) min: Duration,
    /// Maximum number of calls that enclose an exported call, plus one. `None` for no limit.
    pub(crate) depth: Option<usize>,
    /// The methods whose calls are exported. `None` for all.
    pub(crate) methods: Option<MethodFilter>,
    /// What `methods` has decided.
    decided: FxHashMap<MethodId, bool>,
}

impl fmt::Debug for CallFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFilter")
            .field("min", &self.min)
            .field("depth", &self.depth)
            .field("methods", &self.methods.is_some())
            .finish_non_exhaustive()
    }
}

impl CallFilter {
    /// Creates a filter by minimum length of calls and waits, number of levels, and method.
    pub fn new(min: Duration, depth: Option<usize>, methods: Option<MethodFilter>) -> Self {
        Self {
            min,
            depth,
            methods,
            decided: FxHashMap::default(),
        }
    }

    /// Returns true if calls of the method are exported at this level. The outermost calls of a
    /// thread have level 0.
    #[inline]
    pub(crate) fn selects(&mut self, names: &Names, method: MethodId, level: usize) -> bool {
        let Some(selects) = &self.methods else {
            return self.depth.is_none_or(|depth| level < depth);
        };
        self.depth.is_none_or(|depth| level < depth)
            && *self
                .decided
                .entry(method)
                .or_insert_with(|| selects(names, method))
    }
}
