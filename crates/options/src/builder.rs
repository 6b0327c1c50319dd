//! Collects options while they are read: stores the value of each key, then computes the options
//! that depend on several keys.
//!
//! The parsers of both spellings split the option text, call [`Builder::set`] for each key and
//! value, and then [`Builder::finish`]. Most keys store their value into [`Options`] immediately.
//! If an option also depends on other keys, which may follow later, its value is stored in the
//! builder.

use crate::burst::{Burst, MAX_BURSTS};
use crate::checks::{Check, Conflict, OF_THE_AGENT, OF_THE_TRACE};
use crate::error::{OptionError, quoted};
use crate::file::FilePattern;
use crate::filter::{Filter, Rule, push_rules};
use crate::item::Item;
use crate::key::Key;
use crate::options::Options;
use crate::set::{Events, EventsChoice, SaveMoments};
use crate::socket::Control;
use crate::tptp;
use crate::value::{Overflow, Server};
use std::io;

/// Function that reads a file that the options name.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// Options while they are read.
pub(crate) struct Builder<'a> {
    pub(crate) options: Options,
    /// Value of `file`. Without it, the format decides the name.
    pub(crate) file: Option<FilePattern>,
    /// Value of `events`. It may extend the default kinds, which depend on the format.
    pub(crate) events: Option<EventsChoice>,
    /// Rules of `include` and `exclude`.
    rules: Vec<Rule>,
    /// Triggers of `save`, which replace bursts in a flight recorder.
    saving: Vec<Burst>,
    given: Given,
    read_file: ReadFile<'a>,
}

/// Reason why a value is refused.
pub(crate) enum Fault {
    /// The value is wrong, for this reason.
    Value(String),
    /// The value names a file, and this error is in the file.
    InFile(OptionError),
}

impl From<String> for Fault {
    fn from(problem: String) -> Self {
        Self::Value(problem)
    }
}

/// The keys that were given, with their positions.
#[derive(Default)]
pub(crate) struct Given(Vec<GivenKey>);

struct GivenKey {
    key: &'static str,
    /// The key's name as given, which may be an alias.
    spelled: String,
    /// Position of the value in the option text, in bytes.
    value_at: usize,
}

impl Given {
    /// True if the option text has the key.
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.0.iter().any(|given| given.key == key)
    }

    /// Returns the error for a conflict. Its position is that of the last given key among the
    /// conflict's keys.
    fn locate(&self, conflict: Conflict) -> OptionError {
        let last = self
            .0
            .iter()
            .rfind(|given| conflict.keys.contains(&given.key));
        let (key, at) = last.map_or((conflict.keys[0], 0), |given| {
            (&given.spelled, given.value_at)
        });
        OptionError::at(key, at, conflict.problem)
    }
}

impl<'a> Builder<'a> {
    /// Returns a builder with every option at its default. `text` is the whole option text.
    pub(crate) fn new(text: &str, read_file: ReadFile<'a>) -> Self {
        Self {
            options: Options {
                text: text.to_owned(),
                ..Options::default()
            },
            file: None,
            events: None,
            rules: Vec::new(),
            saving: Vec::new(),
            given: Given::default(),
            read_file,
        }
    }

    /// Stores the value of a key: calls the key's `set`.
    ///
    /// # Errors
    /// If the key was given before, or the value is wrong.
    pub(crate) fn set(&mut self, key: &'static Key, item: &Item<'_>) -> Result<(), OptionError> {
        let is_same = |given: &&GivenKey| !key.is_repeatable() && given.key == key.name;
        if let Some(earlier) = self.given.0.iter().find(is_same) {
            let mut problem = "given twice".to_owned();
            if earlier.spelled != item.key {
                problem += &format!(": it is another name of {}", quoted(&earlier.spelled));
            }
            return Err(OptionError::at(item.key, item.key_at, problem));
        }
        (key.set)(self, &item.value).map_err(|fault| match fault {
            Fault::Value(problem) => OptionError::at(item.key, item.value_at, problem),
            Fault::InFile(error) => error,
        })?;
        self.given.0.push(GivenKey {
            key: key.name,
            spelled: item.key.to_owned(),
            value_at: item.value_at,
        });
        Ok(())
    }

    /// Adds a value of `include` or `exclude`.
    pub(crate) fn add_pattern(&mut self, include: bool, value: &str) -> Result<(), String> {
        push_rules(&mut self.rules, value, include)?;
        self.options.patterns.push((include, value.to_owned()));
        Ok(())
    }

    /// Reads the file that the key `filters` names.
    pub(crate) fn read_filters(&mut self, path: &str) -> Result<(), Fault> {
        tptp::read_filters(&mut self.options, path, self.read_file)
    }

    /// Reads the file that the key `options` names.
    pub(crate) fn read_options(&mut self, path: &str) -> Result<(), Fault> {
        tptp::read_options(&mut self.options, path, self.read_file)
    }

    /// Stores the value of `save`: moments and triggers.
    pub(crate) fn set_save(&mut self, value: &str) -> Result<(), Fault> {
        let (moments, triggers) = SaveMoments::parse(value)?;
        if triggers.len() > MAX_BURSTS {
            return Err(format!("at most {MAX_BURSTS} triggers are allowed").into());
        }
        self.options.save = moments;
        self.saving = triggers.into_iter().map(Burst::saving).collect();
        Ok(())
    }

    /// Adds a value of `burst`.
    pub(crate) fn add_burst(&mut self, value: &str) -> Result<(), Fault> {
        if self.options.bursts.len() == MAX_BURSTS {
            return Err(format!("at most {MAX_BURSTS} bursts are allowed").into());
        }
        self.options.bursts.push(Burst::parse(value)?);
        Ok(())
    }

    /// Returns the kinds of events that the key `events` chooses. Without the key, returns the
    /// format's default kinds.
    pub(crate) fn chosen_events(&self) -> Events {
        let default = self.options.format.default_events();
        self.events
            .map_or(default, |choice| choice.resolve(default))
    }

    /// Returns the options after all keys are set. Computes the options that depend on several
    /// keys, and checks that the options go together. `events` are the requested kinds of events.
    ///
    /// # Errors
    /// The first combination of options that is not allowed.
    pub(crate) fn finish(self, events: Events) -> Result<Options, OptionError> {
        let mut options = self.options;
        let default_file = || FilePattern::default_for(options.format);
        options.file = self.file.unwrap_or_else(default_file);
        let is_all = self.events.is_some_and(EventsChoice::is_all);
        options.request(events, is_all);
        if options.filters_file.is_none() {
            options.filter = Filter::from_rules(self.rules);
        }
        let names_socket = matches!(options.control, Control::Path(_));
        if names_socket && !self.given.contains("server") {
            options.server = Server::Enabled;
        }
        if options.overflow == Overflow::Ring {
            options.bursts = self.saving;
        }
        let check = |check: &Check| check(&options, &self.given);
        let checks = OF_THE_TRACE.iter().chain(OF_THE_AGENT);
        match checks.map(check).find_map(Result::err) {
            Some(conflict) => Err(self.given.locate(conflict)),
            None => Ok(options),
        }
    }
}
