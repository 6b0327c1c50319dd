//! Selection of the calls that are exported.

use crate::select::{MethodSelector, Span, ThreadSelector, class_pattern};
use jtrail_analysis::Names;
use jtrail_export::{CallFilter, Export, MethodFilter, left_out};
use jtrail_model::{Duration, MethodId};
use jtrail_options::{Pattern, duration_text, parse_duration};
use rustc_hash::FxHashSet;

/// The part of a trace that is exported.
#[derive(clap::Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallSelection {
    #[command(flatten)]
    pub(crate) span: Span,
    /// Only what this thread did: an id, or a name with * for any text (repeatable)
    #[arg(long, value_name = "ID|NAME", value_parser = ThreadSelector::parse)]
    pub(crate) thread: Vec<ThreadSelector>,
    /// Only calls of methods of classes with this name, in which * stands for any text (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = class_pattern)]
    class: Vec<Pattern>,
    /// Only calls of this method: METHOD, CLASS.METHOD or CLASS#METHOD, with * for any text
    /// (repeatable)
    #[arg(long, visible_alias = "span", value_name = "PATTERN", value_parser = MethodSelector::parse)]
    method: Vec<MethodSelector>,
    /// Only calls and waits that take at least this time (500us, 10ms, 2s)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    min: Option<std::time::Duration>,
    /// Only this number of levels of calls
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Only calls of this number of methods: those with the most self time
    #[arg(long, value_name = "COUNT")]
    pub(crate) top: Option<usize>,
}

impl CallSelection {
    /// Returns the selection of a time and of threads.
    pub(crate) fn of_part(span: Span, thread: Vec<ThreadSelector>) -> Self {
        Self {
            span,
            thread,
            ..Self::default()
        }
    }

    /// Returns true if only a part of the trace is asked for.
    fn selects(&self) -> bool {
        !self.span.is_all() || !self.thread.is_empty() || self.min.is_some() || self.selects_calls()
    }

    /// Returns true if calls are selected that waits do not depend on: by name, level or self time.
    fn selects_calls(&self) -> bool {
        !self.class.is_empty()
            || !self.method.is_empty()
            || self.depth.is_some()
            || self.top.is_some()
    }

    /// Returns what the user selects and the export lacks, if it has nothing of the selection.
    pub(super) fn missing(&self, export: &dyn Export) -> Option<&'static str> {
        if export.has_calls() || !self.selects() {
            None
        } else if self.selects_calls() {
            Some("calls")
        } else {
            (export.slices() == 0).then_some("calls or waits")
        }
    }

    /// Returns true if the patterns for class and method select a method.
    pub(super) fn has_method(&self, names: &Names, method: MethodId) -> bool {
        selects(&self.class, &self.method, names, method)
    }

    /// Returns the filter of calls.
    pub(super) fn filter(&self, top: Option<FxHashSet<MethodId>>) -> CallFilter {
        let by_name = !self.class.is_empty() || !self.method.is_empty();
        let (class, method) = (self.class.clone(), self.method.clone());
        let methods: Option<MethodFilter> = match top {
            Some(top) => Some(Box::new(move |_, id| top.contains(&id))),
            None if by_name => Some(Box::new(move |names, id| {
                selects(&class, &method, names, id)
            })),
            None => None,
        };
        CallFilter::new(self.min(), self.depth, methods)
    }

    fn min(&self) -> Duration {
        let min = self.min.unwrap_or_default().as_nanos();
        Duration(i64::try_from(min).unwrap_or(i64::MAX))
    }

    /// Returns what is left out, for the reader of the export.
    pub(super) fn notes(&self) -> Vec<String> {
        let min = self.min.filter(|min| !min.is_zero()).map(duration_text);
        let mut notes = left_out(min.as_deref(), self.depth);
        if let Some(top) = self.top {
            notes.push(format!(
                "only calls of the {top} methods with the most self time are written"
            ));
        }
        if !self.class.is_empty() || !self.method.is_empty() {
            notes.push("only calls of selected methods are written".to_owned());
        }
        notes
    }
}

fn selects(class: &[Pattern], method: &[MethodSelector], names: &Names, id: MethodId) -> bool {
    let Some(known) = names.method(id) else {
        return false;
    };
    let of = names.class(known.class);
    (class.is_empty() || class.iter().any(|pattern| pattern.matches(&of)))
        && (method.is_empty() || method.iter().any(|m| m.matches(&of, &known.name)))
}
