//! What each format records about a program, so that traces in different formats can be compared.
//!
//! The matches in this file name every format and every quantity. So the compiler reports each new
//! format or quantity that is missing there.

use crate::Format;

/// A figure that must be the same in all traces of one program run, whatever their formats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Quantity {
    /// Threads, by name.
    Threads,
    /// Calls, by method. Calls that are still open at the end are included. Calls that were already
    /// open when the trace began are not.
    Calls,
    /// Calls, by thread and method.
    ThreadCalls,
    /// Time in calls including callees, by method, in ns. Recursive calls do not count twice.
    Elapsed,
    /// Calls that ended by an exception, by method.
    ExceptionLeaves,
    /// Allocated objects, by class.
    Objects,
    /// Allocated bytes, by class.
    Bytes,
    /// Freed objects, by class.
    Frees,
    /// Allocated objects that are live at the end, by class.
    Live,
    /// Started garbage collections.
    Collections,
    /// Waits for monitors that other threads own, by thread.
    Contended,
    /// Calls of `Object.wait`, by thread.
    Waits,
    /// Exceptions thrown, by thread.
    Throws,
    /// Exceptions caught, by thread.
    Catches,
}

/// How much of a [`Quantity`] a format records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// The whole quantity.
    Exactly,
    /// The whole quantity, with each outermost call rounded by less than this many ns.
    RoundedCalls(u64),
    /// The whole quantity, with each node of the call tree rounded by less than this many ns.
    RoundedNodes(u64),
    /// The whole quantity for arrays, nothing for other objects. The text gives the reason.
    Arrays(&'static str),
    /// Only the final value, not the events that led to it.
    AtEnd,
    /// The value after the last collection, not the value at the end.
    AfterCollections,
    /// Nothing. The text gives the reason.
    Nothing(&'static str),
}

/// What a format records about threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadKeys {
    /// True if the format records the names that threads had when they started.
    pub first_names: bool,
    /// True if the format records the last names of threads.
    pub last_names: bool,
    /// True if the format records the order in which threads started.
    pub order: bool,
}

/// What the names of methods in a format consist of, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MethodNames {
    /// Class and name, and simple names of the parameters' types or none.
    Readable,
    /// Class, name, and the part of the descriptor that has the parameters.
    WithParameters,
    /// Class, name and descriptor.
    WithResults,
}

impl Quantity {
    /// All quantities, in the order of the documentation.
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

    /// Returns the quantity with the name `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|q| q.name() == name)
    }

    /// Returns the quantity's name.
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
const NO_FIELD: &str = "the format has no field for them";

impl Format {
    /// Returns how much of `quantity` the format records.
    pub const fn recorded(self, quantity: Quantity) -> Recorded {
        use Quantity as Q;
        use Recorded::{
            AfterCollections, Arrays, AtEnd, Exactly, Nothing, RoundedCalls, RoundedNodes,
        };
        match self {
            Self::TptpXml | Self::TptpBinary => match quantity {
                Q::Threads | Q::Calls | Q::ThreadCalls | Q::Elapsed => Exactly,
                Q::ExceptionLeaves => Nothing("it does not record why a call ended"),
                Q::Objects | Q::Bytes | Q::Frees | Q::Live | Q::Collections => Exactly,
                // The format has no records for throws and catches; jtrail writes them as notes.
                Q::Contended | Q::Waits | Q::Throws | Q::Catches => Exactly,
            },
            Self::Jinsight => match quantity {
                Q::Threads | Q::Calls | Q::ThreadCalls | Q::Elapsed => Exactly,
                Q::ExceptionLeaves => Nothing("it does not record why a call ended"),
                Q::Bytes => Arrays("it has sizes of arrays only"),
                Q::Objects | Q::Frees | Q::Live | Q::Collections => Exactly,
                Q::Contended | Q::Waits => Exactly,
                Q::Throws | Q::Catches => Nothing(NO_FIELD),
            },
            Self::Mlpd => match quantity {
                Q::Threads | Q::Calls | Q::ThreadCalls | Q::Elapsed | Q::ExceptionLeaves => Exactly,
                Q::Objects | Q::Bytes | Q::Collections | Q::Contended => Exactly,
                Q::Frees | Q::Live => Nothing(NO_FREES),
                Q::Waits => Nothing(NO_FIELD),
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
                Q::Contended | Q::Waits | Q::Throws | Q::Catches => Nothing(NO_FIELD),
            },
            Self::Trail => Exactly,
            Self::ProfilerJ => match quantity {
                Q::Threads => Nothing("it names only threads that it has figures of"),
                Q::Calls | Q::ThreadCalls | Q::ExceptionLeaves => Exactly,
                Q::Live => AtEnd,
                Q::Elapsed => RoundedNodes(1_000),
                Q::Objects | Q::Bytes => Nothing("it counts only objects that are alive"),
                Q::Frees | Q::Collections => Nothing(TOTALS),
                Q::Contended | Q::Waits => Nothing(NO_FIELD),
                Q::Throws | Q::Catches => {
                    Nothing("it counts calls that an exception ended, which is not the same")
                }
            },
        }
    }

    /// Returns what the format's method names consist of.
    pub const fn method_names(self) -> MethodNames {
        match self {
            Self::TptpXml | Self::TptpBinary | Self::Jinsight | Self::TraceLog => {
                MethodNames::WithResults
            }
            Self::ProfilerJ | Self::Trail => MethodNames::WithResults,
            Self::Mlpd => MethodNames::WithParameters,
        }
    }

    /// Returns what the format records about threads.
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

    /// Returns the option of a trace that says whether `quantity` was recorded. The second text is
    /// the option's value if it was recorded.
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
            let exact = |f: &Format| f.recorded(quantity) == Recorded::Exactly;
            assert!(Format::ALL.iter().filter(|f| exact(f)).count() >= 2);
        }
    }

    /// If a format records nothing of a quantity, it has no option for the quantity.
    #[test]
    fn switches_are_those_of_what_is_said() {
        for format in Format::ALL {
            for quantity in Quantity::ALL {
                let nothing = matches!(format.recorded(quantity), Recorded::Nothing(_));
                assert!(!nothing || format.switch(quantity).is_none());
            }
        }
    }
}
