//! Command line arguments `--KEY VALUE`, one for each key in the agent's table of options.

use super::options::FORMAT;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use jtrail_options::{KEYS, KeyInfo};
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
        KEYS.iter()
            .fold(command, |command, key| command.arg(arg(key)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn arg(key: &KeyInfo) -> Arg {
    let default = match key.key {
        "format" => FORMAT.word(),
        _ => key.default,
    };
    let arg = Arg::new(key.key)
        .long(key.key)
        .value_name("VALUE")
        .help_heading("What the agent does")
        .help(format!("{} [default: {default}]", key.help))
        .long_help(format!(
            "{}\n\n{}\n\n[default: {default}]",
            key.help, key.values
        ))
        .hide_possible_values(true)
        .action(if key.repeatable {
            ArgAction::Append
        } else {
            ArgAction::Set
        })
        .value_parser(Words(key.words));
    if key.alias.is_empty() {
        arg
    } else {
        arg.visible_alias(key.alias)
    }
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
        for key in KEYS {
            let values = matches.get_many::<String>(key.key).into_iter().flatten();
            let places = matches.indices_of(key.key).into_iter().flatten();
            found.extend(
                places
                    .zip(values)
                    .map(|(place, value)| (place, key.key, value)),
            );
        }
        found.sort_by_key(|(place, ..)| *place);
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
