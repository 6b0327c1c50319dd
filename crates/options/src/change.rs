//! Options of a further trace that begins while the program runs.

use crate::builder::Given;
use crate::checks::OF_THE_TRACE;
use crate::file::FilePattern;
use crate::filter::Filter;
use crate::options::Options;
use crate::set::EventsChoice;
use crate::value::OutputFormat;

/// The changes that turn the options of the agent's first trace into those of a further trace. The
/// default has no changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceChange {
    /// Format of the trace.
    pub format: Option<OutputFormat>,
    /// Name of the trace's file.
    pub file: Option<String>,
    /// Value of `events`. If it is `None` and the format changes, the kinds of the first trace's
    /// `events` are recorded as far as the new format supports them.
    pub events: Option<String>,
    /// Values of `include` (true) and `exclude` (false). They replace all filters. An empty list
    /// changes no filter.
    pub patterns: Vec<(bool, String)>,
}

impl Options {
    /// Returns these options with the changes for a further trace.
    ///
    /// # Errors
    /// A sentence that says what is wrong, or which options do not go together.
    pub fn changed(&self, change: &TraceChange) -> Result<Self, String> {
        let mut options = self.clone();
        if let Some(format) = change.format {
            options.format = format;
            options.file = FilePattern::default_for(format);
        }
        if let Some(file) = &change.file {
            options.file = FilePattern::parse(file)?;
        }
        match &change.events {
            Some(text) => {
                let choice = EventsChoice::parse(text)?;
                let events = choice.resolve(options.format.default_events());
                options.request(events, choice.is_all());
            }
            None => options.request(self.events.union(self.unsupported), false),
        }
        if !change.patterns.is_empty() {
            let wrong = |(_, problem)| problem;
            options.filter = Filter::from_patterns(&change.patterns).map_err(wrong)?;
            options.patterns.clone_from(&change.patterns);
            options.filters_file = None;
        }
        let given = Given::default();
        for check in OF_THE_TRACE {
            check(&options, &given).map_err(|conflict| conflict.problem)?;
        }
        Ok(options)
    }
}
