//! What a key of the option text is.

use crate::builder::{Builder, Fault};
use crate::options::Options;
use crate::value::OutputFormat;

/// A key of the option text: what is said about it, and what it does.
///
/// The rows are in `keys/`. Parser, help, command line, documents and the options that a trace
/// lists are all made from them.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name of the key. A key of one format has the format's name before it, and a dot.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// Names that the key had once. They are refused, and the error says the present one.
    pub former: &'static [&'static str],
    /// The words that the key takes, where it takes nothing else; else empty.
    pub words: &'static [&'static str],
    /// What the key takes where that is not [`Self::words`], as a short phrase.
    pub(crate) values: &'static str,
    /// What holds without the key where that depends on other options, as a short phrase that
    /// follows the value of [`Options::default`].
    pub default_note: &'static str,
    /// What the key does, in one line.
    pub help: &'static str,
    /// True if the value is the path of a file, or stands for one.
    pub is_path: bool,
    /// Stores a value.
    pub(crate) set: fn(&mut Builder<'_>, &str) -> Result<(), Fault>,
    /// Returns the value that the options hold, as the option text spells it.
    pub(crate) show: fn(&Options) -> Option<String>,
    /// Returns the keys and values that the options hold of a key that may be repeated, in place of
    /// [`Self::show`].
    pub(crate) show_each: Option<ShowEach>,
    /// True if the value has an effect with these options.
    pub(crate) matters: fn(&Options) -> bool,
}

/// Returns keys and values in the order given.
pub(crate) type ShowEach = fn(&Options) -> Vec<(&'static str, String)>;

/// What rows leave out.
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

/// Keys that belong together, as help and documents show them.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// What the keys are about.
    pub title: &'static str,
    /// The keys, in the order in which they are shown.
    pub keys: &'static [Key],
}

impl Key {
    /// Returns what the key takes, as a short phrase.
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

    /// Returns the format that the key belongs to: with another one, the key has no effect.
    pub fn format(&self) -> Option<OutputFormat> {
        let (format, _) = self.name.split_once('.')?;
        OutputFormat::parse(format).ok()
    }

    /// Returns the value that the options hold, as the option text spells it. A key that may be
    /// repeated has none.
    pub fn value(&self, options: &Options) -> Option<String> {
        (self.show)(options)
    }

    /// Returns what holds where the key is not given, as a short phrase. `options` are those of an
    /// option text that gives none of the keys in question, such as [`Options::default`].
    pub fn default_with(&self, options: &Options) -> String {
        match (self.value(options), self.default_note) {
            (None, "") => "none".to_owned(),
            (None, note) => note.to_owned(),
            (Some(value), "") => value,
            (Some(value), note) => format!("{value}; {note}"),
        }
    }

    /// Returns the keys and values that are in force, as a trace lists them.
    pub(crate) fn in_force(&self, options: &Options) -> Vec<(&'static str, String)> {
        let has_format = self.format().is_none_or(|format| format == options.format);
        if !has_format || !(self.matters)(options) {
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
