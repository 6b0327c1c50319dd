//! Sets of words joined with `+`: kinds of events, moments of heap snapshots.

use crate::burst::Trigger;
use crate::error::{allowed, did_you_mean, quoted};
use std::fmt;

/// Defines a set whose members are words of the option text, in the order in which they are shown.
macro_rules! set {
    ($(#[$doc:meta])* $name:ident($bits:ty) { $($(#[$item_doc:meta])* $item:ident = $bit:literal, $word:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name($bits);

        impl $name {
            $($(#[$item_doc])* pub const $item: Self = Self(1 << $bit);)*

            /// No member.
            pub const NONE: Self = Self(0);

            /// Every member.
            pub const ALL: Self = Self(0 $(| 1 << $bit)*);

            /// Words of the members, in the order in which they are shown.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            const MEMBERS: &'static [Self] = &[$(Self::$item),*];

            /// True if all members of `other` are in this set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Returns the members of both sets.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Returns the members as bits, which an atomic can hold.
            pub const fn bits(self) -> $bits {
                self.0
            }

            /// Returns the set with these [`Self::bits`]; bits without a member are ignored.
            pub const fn from_bits(bits: $bits) -> Self {
                Self(bits & Self::ALL.0)
            }

            /// True if the set has no member.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Returns the members of this set that are not in `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Parses words joined with `+`. Returns the members that the words name. `what` is the
            /// noun for one member, used in errors.
            fn joined(words: &str, known: &[&str], what: &str) -> Result<Self, String> {
                let mut set = Self(0);
                for position in positions(words, known, what)? {
                    // A known word without a member of its own stands for all members.
                    set = set.union(Self::MEMBERS.get(position).copied().unwrap_or(Self::ALL));
                }
                Ok(set)
            }
        }

        /// The words, joined with `+`.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let members = Self::WORDS.iter().zip(Self::MEMBERS);
                let words = members.filter(|(_, m)| self.contains(**m)).map(|(word, _)| *word);
                f.write_str(&words.collect::<Vec<_>>().join("+"))
            }
        }
    };
}

set! {
    /// A set of kinds of events.
    Events(u32) {
        /// Enter and leave of methods.
        METHODS = 0, "methods";
        /// Start and end of threads.
        THREADS = 1, "threads";
        /// Classes, when they are prepared.
        CLASSES = 2, "classes";
        /// Garbage collections.
        GC = 3, "gc";
        /// Every object that is allocated.
        ALLOC = 4, "alloc";
        /// Objects that a collection freed. Options with it have [`Self::ALLOC`] too.
        FREE = 5, "free";
        /// Contended monitors, and waits on monitors.
        MONITORS = 6, "monitors";
        /// Parks of `java.util.concurrent.locks.LockSupport`. Not with
        /// [`Engine::Jvmti`](crate::Engine::Jvmti).
        PARKS = 7, "parks";
        /// Exceptions thrown and caught.
        EXCEPTIONS = 8, "exceptions";
        /// Methods that the JVM compiles.
        JIT = 9, "jit";
        /// CPU time of each call and of each thread.
        CPU = 10, "cpu";
        /// Stacks of all threads, taken every [`Options::interval`](crate::Options::interval).
        SAMPLES = 11, "samples";
        /// Heap snapshots, taken at [`Options::heap`](crate::Options::heap).
        HEAP = 12, "heap";
        /// A counter for each line of code. Not with [`Engine::Jvmti`](crate::Engine::Jvmti).
        LINES = 13, "lines";
        /// Virtual threads that take a carrier thread and leave it.
        MOUNTS = 14, "mounts";
        /// Classes in full: fields, methods, flags, superclasses, interfaces, loader, size,
        /// unloading, redefinition.
        DETAILS = 15, "details";
        /// Initialisations of classes that have code for it.
        CLINIT = 16, "clinit";
    }
}

/// The word for all kinds of events.
const ALL: &str = "all";

impl Events {
    /// Kinds whose events name objects, so that objects need identity.
    pub const NAMING_OBJECTS: [Self; 5] = [
        Self::FREE,
        Self::MONITORS,
        Self::PARKS,
        Self::EXCEPTIONS,
        Self::HEAP,
    ];

    /// True if the events of one of these kinds name objects.
    pub fn name_objects(self) -> bool {
        let mut naming = Self::NAMING_OBJECTS.iter();
        naming.any(|kind| self.contains(*kind))
    }

    /// Parses a value of `events` (see [`EventsChoice`]). A `+` before the first word adds the
    /// kinds in `default`.
    ///
    /// # Errors
    /// A sentence that lists the allowed words.
    pub fn parse(text: &str, default: Self) -> Result<Self, String> {
        Ok(EventsChoice::parse(text)?.resolve(default))
    }
}

/// A value of `events`: `a+b` (these kinds), `+a+b` (these and the default kinds), or `all`. The
/// default kinds depend on the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventsChoice {
    /// True if the default kinds are chosen as well.
    with_default: bool,
    /// True if the word for all kinds is among the words.
    has_all: bool,
    named: Events,
}

impl EventsChoice {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let known: Vec<&str> = Events::WORDS.iter().copied().chain([ALL]).collect();
        let (with_default, words) = match text.strip_prefix('+') {
            Some(words) => (true, words),
            None => (false, text),
        };
        Ok(Self {
            with_default,
            has_all: words.split('+').any(|word| word == ALL),
            named: Events::joined(words, &known, "event")?,
        })
    }

    /// Returns the chosen kinds. [`Events::ALLOC`] is added to [`Events::FREE`].
    pub(crate) fn resolve(self, default: Events) -> Events {
        let mut events = self.named;
        if self.with_default {
            events = events.union(default);
        }
        if events.contains(Events::FREE) {
            events = events.union(Events::ALLOC);
        }
        events
    }

    /// True if all kinds are chosen without their names.
    pub(crate) fn is_all(self) -> bool {
        self.has_all
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::METHODS
            .union(Self::THREADS)
            .union(Self::CLASSES)
            .union(Self::GC)
    }
}

set! {
    /// When heap snapshots are taken.
    HeapMoments(u8) {
        /// When the program ends.
        EXIT = 0, "exit";
        /// When the JVM is asked for a data dump, as `jcmd PID JVMTI.data_dump` does.
        REQUEST = 1, "request";
        /// After garbage collections.
        GC = 2, "gc";
        /// Before and after each garbage collection that a client forces.
        FORCED = 3, "forced";
    }
}

impl HeapMoments {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::joined(text, Self::WORDS, "moment")
    }
}

set! {
    /// When the newest events are saved, with [`Overflow::Ring`](crate::Overflow::Ring).
    SaveMoments(u8) {
        /// When the program ends.
        EXIT = 0, "exit";
        /// When the JVM is asked for a data dump, as `jcmd PID JVMTI.data_dump` or SIGQUIT does.
        REQUEST = 1, "request";
        /// When the JVM runs out of memory for an object or out of threads.
        OUT_OF_MEMORY = 2, "oom";
    }
}

impl SaveMoments {
    /// Reads a value of `save`: words of moments and triggers, joined with `+`.
    pub(crate) fn parse(text: &str) -> Result<(Self, Vec<Trigger>), String> {
        let mut words = Vec::new();
        let mut triggers = Vec::new();
        for part in text.split('+') {
            match Trigger::parse_saving(part) {
                Some(trigger) => triggers.push(trigger?),
                None => words.push(part),
            }
        }
        if words.is_empty() {
            return Ok((Self::NONE, triggers));
        }
        let moments = Self::joined(&words.join("+"), Self::WORDS, "moment")?;
        Ok((moments, triggers))
    }
}

/// Returns the positions in `known` of the words of `text`. No word may be repeated. `what` is the
/// noun for one word, used in errors.
fn positions(text: &str, known: &[&str], what: &str) -> Result<Vec<usize>, String> {
    let mut positions = Vec::new();
    for word in text.split('+') {
        let Some(position) = known.iter().position(|k| *k == word) else {
            if word.is_empty() {
                let list = allowed("", known);
                return Err(format!("a word is missing{list}, joined with \"+\""));
            }
            let list = known.join(", ");
            let hint = did_you_mean(word, known.iter().copied());
            return Err(format!(
                "no such {what} {}; allowed are {list}, joined with \"+\"{hint}",
                quoted(word)
            ));
        };
        if positions.contains(&position) {
            return Err(format!("{} is given twice", quoted(word)));
        }
        positions.push(position);
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Events, String> {
        Events::parse(text, Events::default())
    }

    #[test]
    fn events_read_back() {
        let some = Events::METHODS.union(Events::GC);
        assert_eq!(parsed("gc+methods"), Ok(some));
        assert_eq!(some.to_string(), "methods+gc");
        assert!(!some.contains(Events::THREADS));
        for set in [
            Events::default(),
            Events::ALL,
            Events::LINES.union(Events::CPU),
        ] {
            assert_eq!(parsed(&set.to_string()), Ok(set), "{set}");
        }
    }

    #[test]
    fn each_word_is_one_member() {
        for (n, word) in Events::WORDS.iter().enumerate() {
            let event = Events::MEMBERS[n];
            assert_eq!(event.to_string(), *word);
            assert_eq!(event.0.count_ones(), 1, "{word}");
            assert!(Events::ALL.contains(event), "{word}");
            let alone = parsed(word).expect("known");
            if event != Events::FREE {
                assert_eq!(alone, event, "{word}");
            }
        }
        let all = Events::MEMBERS.iter().fold(Events(0), |a, e| a.union(*e));
        assert_eq!(all, Events::ALL);
    }

    #[test]
    fn a_leading_plus_adds_to_the_default_ones() {
        for (text, shown) in [
            ("+cpu", "methods+threads+classes+gc+cpu"),
            ("+methods", "methods+threads+classes+gc"),
            ("+free", "methods+threads+classes+gc+alloc+free"),
            ("free", "alloc+free"),
            ("free+alloc", "alloc+free"),
        ] {
            assert_eq!(
                parsed(text).map(|e| e.to_string()),
                Ok(shown.to_owned()),
                "{text}"
            );
        }
        for text in ["all", "+all", "all+gc"] {
            assert_eq!(parsed(text), Ok(Events::ALL), "{text}");
        }
    }

    #[test]
    fn moments_read_back() {
        assert_eq!(
            HeapMoments::parse("gc+exit").map(|m| m.to_string()),
            Ok("exit+gc".to_owned())
        );
        assert_eq!(
            HeapMoments::parse("request+forced+gc+exit"),
            Ok(HeapMoments::ALL)
        );
    }
}
