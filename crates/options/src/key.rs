//! Definition of a key of the option text.

use crate::builder::{Builder, Fault};
use crate::options::Options;
use crate::value::OutputFormat;

/// A key of the option text: its description and its effect.
///
/// The rows of the table are in `keys/`. Parser, help, command line, documents and the options
/// listed in a trace are derived from them.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name of the key. If the key belongs to one format, it begins with the format's name and a
    /// dot. If it belongs to the formats of other tools, it begins with `export.`.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// Former names of the key. They are refused with an error that contains the present name.
    pub former: &'static [&'static str],
    /// The words that the key accepts. Empty if it accepts other values too.
    pub words: &'static [&'static str],
    /// Description of the values if they are not [`Self::words`], as a short phrase.
    pub(crate) values: &'static str,
    /// A short phrase that follows the value of [`Options::default`] in descriptions, if the
    /// default depends on other options.
    pub default_note: &'static str,
    /// What the key does, in one line.
    pub help: &'static str,
    /// True if the value is a path of a file, or a keyword in place of one.
    pub is_path: bool,
    /// Stores a value of the key.
    pub(crate) set: fn(&mut Builder<'_>, &str) -> Result<(), Fault>,
    /// Returns the value in the options, as the option text spells it.
    pub(crate) show: fn(&Options) -> Option<String>,
    /// Returns the keys and values in the options, in place of [`Self::show`]. Only for a key that
    /// may be repeated.
    pub(crate) show_each: Option<ShowEach>,
    /// True if the value has an effect with these options.
    pub(crate) matters: fn(&Options) -> bool,
}

/// Returns keys and values, in the order in which the user gave them.
pub(crate) type ShowEach = fn(&Options) -> Vec<(&'static str, String)>;

/// Defaults for the fields that a row does not set.
pub(crate) const KEY: Key = Key {
    name: "",
    aliases: &[],
    former: &[],
    words: &[],
    values: "",
    default_note: "",
    help: "",
    is_path: false,
    set: |_, _| Ok(()),
    show: |_| None,
    show_each: None,
    matters: |_| true,
};

/// Keys on one subject, grouped as in help and documents.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Title of the subject.
    pub title: &'static str,
    /// The keys, in the order in which they are shown.
    pub keys: &'static [Key],
}

/// The formats to which a key belongs.
pub(crate) enum Formats {
    One(OutputFormat),
    /// The formats of other tools.
    Exports,
}

impl Key {
    /// Returns a description of the key's values, as a short phrase.
    pub fn values(&self) -> String {
        if self.words.is_empty() {
            self.values.to_owned()
        } else {
            self.words.join(" | ")
        }
    }

    /// True if the key may be given several times.
    pub fn is_repeatable(&self) -> bool {
        self.show_each.is_some()
    }

    /// Returns the formats to which the key belongs. The key has no effect with other formats.
    /// `None` if it belongs to all.
    pub(crate) fn formats(&self) -> Option<Formats> {
        match self.name.split_once('.')? {
            ("export", _) => Some(Formats::Exports),
            (format, _) => OutputFormat::parse(format).ok().map(Formats::One),
        }
    }

    /// True if the key has an effect with the format.
    fn is_of(&self, format: OutputFormat) -> bool {
        match self.formats() {
            None => true,
            Some(Formats::Exports) => format.is_export(),
            Some(Formats::One(only)) => format == only,
        }
    }

    /// Returns the value in the options, as the option text spells it; `None` for a key that may be
    /// repeated.
    pub fn value(&self, options: &Options) -> Option<String> {
        (self.show)(options)
    }

    /// Returns a description of the default, as a short phrase. `options` must have this key at its
    /// default, like [`Options::default`].
    pub fn default_with(&self, options: &Options) -> String {
        match (self.value(options), self.default_note) {
            (None, "") => "none".to_owned(),
            (None, note) => note.to_owned(),
            (Some(value), "") => value,
            (Some(value), note) => format!("{value}; {note}"),
        }
    }

    /// Returns the effective keys and values, as a trace lists them.
    pub(crate) fn in_force(&self, options: &Options) -> Vec<(&'static str, String)> {
        if !self.is_of(options.format) || !(self.matters)(options) {
            return Vec::new();
        }
        match self.show_each {
            Some(show_each) => show_each(options),
            None => self
                .value(options)
                .map(|value| (self.name, value))
                .into_iter()
                .collect(),
        }
    }

    /// True if `name` is the key's name, or an alias of it.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}
