//! What each format can say of a program, so that traces in different formats can be compared.
//!
//! Both matches below name every format and every quantity: one that is added asks for its answers.

use crate::Format;

/// A figure that traces of one run must agree on, whatever their format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Quantity {
    /// Threads by name.
    Threads,
    /// Calls by method. Those still open at the end count; those that ran when the trace began do
    /// not.
    Calls,
    /// Calls by thread and method.
    ThreadCalls,
    /// Time in calls by method, with callees, in ns. Recursive calls do not count twice.
    Elapsed,
    /// Calls that an exception ended, by method.
    ExceptionLeaves,
    /// Allocated objects by class.
    Objects,
    /// Allocated bytes by class.
    Bytes,
    /// Objects found dead, by class.
    Frees,
    /// Allocated objects that are alive at the end, by class.
    Live,
    /// Garbage collections begun.
    Collections,
    /// Waits for monitors that others held, by thread.
    Contended,
    /// `Object.wait`, by thread.
    Waits,
    /// Exceptions thrown, by thread.
    Throws,
    /// Exceptions caught, by thread.
    Catches,
}

/// How much a format says of a [`Quantity`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Says {
    /// All of it.
    Exactly,
    /// All of it, with each outermost call rounded by less than so many ns.
    RoundedCalls(u64),
    /// All of it, with each node of the call tree rounded by less than so many ns.
    RoundedNodes(u64),
    /// All of it for arrays, nothing for other objects; why.
    Arrays(&'static str),
    /// Only the end of it, not how it came about.
    AtEnd,
    /// Not at the end, but behind the last collection.
    AfterCollections,
    /// Nothing; why.
    Nothing(&'static str),
}

/// What a format says of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadKeys {
    /// The names that they began with.
    pub first_names: bool,
    /// The names that they had last.
    pub last_names: bool,
    /// The order in which they began.
    pub order: bool,
}

impl Quantity {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 14] = [
        Self::Threads,
        Self::Calls,
        Self::ThreadCalls,
        Self::Elapsed,
        Self::ExceptionLeaves,
        Self::Objects,
        Self::Bytes,
        Self::Frees,
        Self::Live,
        Self::Collections,
        Self::Contended,
        Self::Waits,
        Self::Throws,
        Self::Catches,
    ];

    /// The quantity of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|q| q.name() == name)
    }

    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Calls => "calls",
            Self::ThreadCalls => "thread-calls",
            Self::Elapsed => "elapsed",
            Self::ExceptionLeaves => "exception-leaves",
            Self::Objects => "objects",
            Self::Bytes => "bytes",
            Self::Frees => "frees",
            Self::Live => "live",
            Self::Collections => "collections",
            Self::Contended => "contended",
            Self::Waits => "waits",
            Self::Throws => "throws",
            Self::Catches => "catches",
        }
    }
}

const NO_FREES: &str = "it does not record which objects died";
const TOTALS: &str = "it holds totals, no single events";
const NO_PLACE: &str = "the format has no place for them";

impl Format {
    /// What the format says of a quantity.
    pub const fn says(self, quantity: Quantity) -> Says {
        use Quantity as Q;
        use Says::{AfterCollections, Arrays, AtEnd, Exactly, Nothing, RoundedCalls, RoundedNodes};
        match self {
            Self::TptpXml | Self::TptpBinary => match quantity {
                Q::Threads | Q::Calls | Q::ThreadCalls | Q::Elapsed => Exactly,
                Q::ExceptionLeaves => Nothing("it does not record why a call ended"),
                Q::Objects | Q::Bytes | Q::Frees | Q::Live | Q::Collections => Exactly,
                // Throws and catches are notes of ours.
                Q::Contended | Q::Waits | Q::Throws | Q::Catches => Exactly,
            },
            Self::Jinsight => match quantity {
                Q::Threads | Q::Calls | Q::ThreadCalls | Q::Elapsed => Exactly,
                Q::ExceptionLeaves => Nothing("it does not record why a call ended"),
                Q::Bytes => Arrays("it has sizes of arrays only"),
                Q::Objects | Q::Frees | Q::Live | Q::Collections => Exactly,
                Q::Contended | Q::Waits => Exactly,
                Q::Throws | Q::Catches => Nothing(NO_PLACE),
            },
            Self::Mlpd => match quantity {
                Q::Threads | Q::Calls | Q::ThreadCalls | Q::Elapsed | Q::ExceptionLeaves => Exactly,
                Q::Objects | Q::Bytes | Q::Collections | Q::Contended => Exactly,
                Q::Frees | Q::Live => Nothing(NO_FREES),
                Q::Waits => Nothing(NO_PLACE),
                Q::Throws | Q::Catches => Exactly,
            },
            Self::TraceLog => match quantity {
                Q::Threads => Nothing("its threads have no names"),
                Q::Calls | Q::ThreadCalls => Exactly,
                Q::Elapsed => RoundedCalls(1_000_000),
                Q::ExceptionLeaves => Nothing("it does not record why a call ended"),
                Q::Objects | Q::Bytes | Q::Collections => Exactly,
                Q::Frees => Nothing(NO_FREES),
                Q::Live => AfterCollections,
                Q::Contended | Q::Waits | Q::Throws | Q::Catches => Nothing(NO_PLACE),
            },
            Self::Trail => Exactly,
            Self::ProfilerJ => match quantity {
                Q::Threads => Nothing("it names only threads that it has figures of"),
                Q::Calls | Q::ThreadCalls | Q::ExceptionLeaves => Exactly,
                Q::Live => AtEnd,
                Q::Elapsed => RoundedNodes(1_000),
                Q::Objects | Q::Bytes => Nothing("it counts only objects that are alive"),
                Q::Frees | Q::Collections => Nothing(TOTALS),
                Q::Contended | Q::Waits => Nothing(NO_PLACE),
                Q::Throws | Q::Catches => {
                    Nothing("it counts calls that an exception ended, which is not the same")
                }
            },
        }
    }

    /// Whether its method names have result types.
    pub const fn has_result_types(self) -> bool {
        match self {
            Self::TptpXml | Self::TptpBinary | Self::Jinsight | Self::TraceLog => true,
            Self::ProfilerJ | Self::Trail => true,
            Self::Mlpd => false,
        }
    }

    /// What it says of threads.
    pub const fn thread_keys(self) -> ThreadKeys {
        let (first_names, last_names, order) = match self {
            Self::TptpXml | Self::TptpBinary | Self::Mlpd | Self::Trail => (true, true, true),
            Self::Jinsight => (true, false, true),
            Self::TraceLog => (false, false, true),
            Self::ProfilerJ => (false, true, false),
        };
        ThreadKeys {
            first_names,
            last_names,
            order,
        }
    }

    /// The option of the trace that says whether the quantity was recorded, and its value when it
    /// was.
    pub const fn switch(self, quantity: Quantity) -> Option<(&'static str, &'static str)> {
        use Quantity as Q;
        match self {
            Self::TraceLog => match quantity {
                Q::Calls | Q::ThreadCalls | Q::Elapsed => {
                    Some(("CollectionMethod", "Instrumentation"))
                }
                Q::Objects | Q::Bytes => Some(("MemoryTraceEnabled", "T")),
                Q::Live => Some(("GcAllocTableEnabled", "T")),
                Q::Collections => Some(("GcTraceEnabled", "T")),
                Q::Threads | Q::ExceptionLeaves | Q::Frees => None,
                Q::Contended | Q::Waits | Q::Throws | Q::Catches => None,
            },
            Self::TptpXml | Self::TptpBinary | Self::Jinsight | Self::Mlpd | Self::ProfilerJ => {
                None
            }
            Self::Trail => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_is_listed_once_and_some_format_says_it() {
        for (at, quantity) in Quantity::ALL.into_iter().enumerate() {
            assert_eq!(quantity as usize, at);
            let exact = |f: &Format| f.says(quantity) == Says::Exactly;
            assert!(Format::ALL.iter().filter(|f| exact(f)).count() >= 2);
        }
    }

    /// An option says it only where the format says the quantity at all.
    #[test]
    fn switches_are_those_of_what_is_said() {
        for format in Format::ALL {
            for quantity in Quantity::ALL {
                let nothing = matches!(format.says(quantity), Says::Nothing(_));
                assert!(!nothing || format.switch(quantity).is_none());
            }
        }
    }
}
