//! The parser of our own spelling of the option text.

use crate::builder::{Builder, ReadFile};
use crate::error::OptionError;
use crate::item::split;
use crate::keys::{find, help, unknown};
use crate::options::Options;
use crate::tptp;

pub(crate) fn parse(text: &str, read_file: ReadFile<'_>) -> Result<Options, OptionError> {
    if text == "help" {
        return Err(OptionError::help(help()));
    }
    let mut builder = Builder::new(text, read_file);
    for item in split(text)? {
        let no_such_key = || OptionError::at(item.key, item.key_at, unknown(item.key));
        builder.set(find(item.key).ok_or_else(no_such_key)?, &item)?;
    }
    let events = tptp::with_file_events(builder.chosen_events(), &builder.options);
    builder.finish(events)
}
