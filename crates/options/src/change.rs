//! The options of another trace, begun while the program runs.

use crate::file::FilePattern;
use crate::filter::Filter;
use crate::options::{
    Options, has_place_for_short_calls, has_place_for_sums, may_tick, place_events,
    without_identity, without_rewriting,
};
use crate::set::Events;
use crate::value::OutputFormat;

/// What another trace of the same agent shall be, where it differs. None of it changes nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceChange {
    /// Its format.
    pub format: Option<OutputFormat>,
    /// Name of its file.
    pub file: Option<String>,
    /// Value of `events`. With another format and without this, what was asked for is recorded as
    /// far as the format has a place for it.
    pub events: Option<String>,
    /// Values of `include` (true) and `exclude`, in place of all filters.
    pub patterns: Vec<(bool, String)>,
}

impl Options {
    /// The options of another trace.
    ///
    /// # Errors
    /// A sentence that says what is wrong, or what does not go together.
    pub fn changed(&self, change: &TraceChange) -> Result<Self, String> {
        let mut options = self.clone();
        let asked = self.events.union(self.no_place);
        if let Some(format) = change.format {
            options.format = format;
            options.file = FilePattern::default_for(format);
        }
        if let Some(file) = &change.file {
            options.file = FilePattern::parse(file)?;
        }
        options.events = match &change.events {
            Some(text) => Events::parse(text, options.format.default_events())?,
            None => asked,
        };
        if !change.patterns.is_empty() {
            let wrong = |(_, problem)| problem;
            options.filter = Filter::from_patterns(&change.patterns).map_err(wrong)?;
            options.patterns.clone_from(&change.patterns);
            options.filters_file = None;
        }
        place_events(&mut options, change.events.as_deref() == Some("all"))?;
        without_rewriting(&options)?;
        without_identity(&options)?;
        may_tick(&options)?;
        has_place_for_sums(&options)?;
        if !options.is_of_sums() {
            has_place_for_short_calls(&options)?;
        }
        Ok(options)
    }
}
