//! Which threads are meant.

use crate::analysis::Names;
use jtrail_model::ThreadId;
use jtrail_options::Pattern;

/// A thread by its id, or threads by their name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ThreadSelector {
    Id(ThreadId),
    Name(Pattern),
}

impl ThreadSelector {
    /// Digits are an id; anything else is a name, in which `*` stands for any text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an id or a name is needed".to_owned());
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return match text.parse() {
                Ok(id) => Ok(Self::Id(ThreadId(id))),
                Err(_) => Err("too large for an id".to_owned()),
            };
        }
        Ok(Self::Name(Pattern::new(text)))
    }

    pub(crate) fn matches(&self, names: &Names, thread: ThreadId) -> bool {
        match self {
            Self::Id(id) => *id == thread,
            Self::Name(pattern) => names
                .threads
                .get(&thread)
                .is_some_and(|t| pattern.matches(&t.name)),
        }
    }
}

/// Whether one of the selectors fits, or there is none.
pub(crate) fn selected(selectors: &[ThreadSelector], names: &Names, thread: ThreadId) -> bool {
    selectors.is_empty() || selectors.iter().any(|s| s.matches(names, thread))
}
