//! Command line arguments `--KEY VALUE`, one for each key in the agent's table of options.

use super::options::FORMAT;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches, ValueHint};
use jtrail_options::{Key, Options, SUBJECTS, Subject, keys};
use std::ffi::OsStr;

/// Agent options as pairs of key and value, in command line order.
///
/// The order matters for `include` and `exclude`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AgentOptions {
    pub(crate) pairs: Vec<(String, String)>,
}

impl clap::Args for AgentOptions {
    fn augment_args(command: Command) -> Command {
        // The defaults of the command line. Without options, the agent itself has another format.
        let text = format!("format={FORMAT}");
        let default = jtrail_options::parse(&text, &jtrail_options::read_file).unwrap_or_default();
        SUBJECTS.iter().fold(command, |command, subject| {
            command.args(subject.keys.iter().map(|key| arg(subject, key, &default)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn arg(subject: &Subject, key: &'static Key, default: &Options) -> Arg {
    let (values, default) = (key.values(), key.default_with(default));
    Arg::new(key.name)
        .long(key.name)
        .visible_aliases(key.aliases.iter().copied())
        .value_name("VALUE")
        .help_heading(subject.title)
        .help(format!("{} [default: {default}]", key.help))
        .long_help(format!("{}\n\n{values}\n\n[default: {default}]", key.help))
        .hide_possible_values(true)
        .value_hint(match key.is_path {
            true => ValueHint::FilePath,
            false => ValueHint::Other,
        })
        .action(match key.is_repeatable() {
            true => ArgAction::Append,
            false => ArgAction::Set,
        })
        .value_parser(Words(key.words))
}

/// Parser of an option's value that accepts any text.
///
/// The agent's own parser gives better error messages. The words serve only shell completion.
#[derive(Clone)]
struct Words(&'static [&'static str]);

impl TypedValueParser for Words {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        if self.0.is_empty() {
            return None;
        }
        Some(Box::new(
            self.0.iter().map(|word| PossibleValue::new(*word)),
        ))
    }
}

impl FromArgMatches for AgentOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut found = Vec::new();
        for key in keys() {
            let values = matches.get_many::<String>(key.name).into_iter().flatten();
            let indices = matches.indices_of(key.name).into_iter().flatten();
            let pairs = indices.zip(values);
            found.extend(pairs.map(|(index, value)| (index, key.name, value)));
        }
        found.sort_by_key(|(index, ..)| *index);
        let pairs = found
            .into_iter()
            .map(|(_, key, value)| (key.to_owned(), value.clone()));
        Ok(Self {
            pairs: pairs.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_rules_is_kept() {
        let command = <AgentOptions as clap::Args>::augment_args(Command::new("x"));
        let line = "x --include a --exclude b --profile p --include c --format xml";
        let matches = command
            .try_get_matches_from(line.split(' '))
            .expect("right");
        let options = AgentOptions::from_arg_matches(&matches).expect("right");
        let pairs: Vec<_> = options
            .pairs
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        assert_eq!(
            pairs,
            [
                "include=a",
                "exclude=b",
                "options=p",
                "include=c",
                "format=xml"
            ]
        );
    }
}
