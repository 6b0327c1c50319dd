//! What lasts from one collection to the next.

use crate::session::Session;
use jtrail_jvm::perf::GcCounters;
use jtrail_records::Definition;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// What lasts from one collection to the next.
#[derive(Default)]
pub(in crate::sources) struct Collections {
    /// None where the JVM has no counters, and before it is ready.
    pub(in crate::sources) counters: OnceLock<Mutex<GcCounters>>,
    /// The JVM may collect garbage without an event.
    pub(in crate::sources) may_be_silent: AtomicBool,
    /// Texts that the writer knows: their number is their place, from 1 on.
    texts: Mutex<Vec<String>>,
}

/// A JVM has a few dozen causes.
const MOST_TEXTS: usize = 1000;

impl Collections {
    /// The number of a text, which is announced if it is new; 0 for an empty one.
    pub(in crate::sources) fn text(&self, session: &Session, text: String) -> u64 {
        let mut texts = self.texts.lock();
        if text.is_empty() || texts.len() >= MOST_TEXTS {
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
