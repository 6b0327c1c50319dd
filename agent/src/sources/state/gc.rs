//! The state that is kept from one collection to the next.

use crate::session::Session;
use jtrail_jvm::perf::GcCounters;
use jtrail_records::Definition;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// The state that is kept from one collection to the next.
#[derive(Default)]
pub(in crate::sources) struct Collections {
    /// The JVM's counters; none if the JVM has no counters, or is not ready yet.
    pub(in crate::sources) counters: OnceLock<Mutex<GcCounters>>,
    /// True if the JVM may collect garbage without an event.
    pub(in crate::sources) may_be_silent: AtomicBool,
    /// Texts that were defined. The number of a text is its index plus one.
    texts: Mutex<Vec<String>>,
}

/// Maximum number of texts. A JVM has a few dozen causes.
const MAX_TEXTS: usize = 1000;

impl Collections {
    /// Returns the number of a text, and defines the text if it is new. Returns 0 for an empty
    /// text, or if there are too many texts.
    pub(in crate::sources) fn text(&self, session: &Session, text: String) -> u64 {
        let mut texts = self.texts.lock();
        if text.is_empty() || texts.len() >= MAX_TEXTS {
            return 0;
        }
        if let Some(at) = texts.iter().position(|known| *known == text) {
            return at as u64 + 1;
        }
        texts.push(text.clone());
        let number = texts.len() as u32;
        session.define(Definition::Text {
            number,
            text: text.into(),
        });
        number.into()
    }
}
