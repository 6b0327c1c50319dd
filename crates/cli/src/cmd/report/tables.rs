//! Tables of `report`, and flags. Each flag selects several tables.

use clap::ValueEnum;

/// All tables, in output order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Table {
    /// Figures of the whole trace
    Trace,
    /// Machine, process, agent, options and filters
    Origin,
    /// Threads, busiest first
    Threads,
    /// Methods
    Methods,
    /// The call tree
    Tree,
    /// Triggers of bursts
    Bursts,
    /// Methods whose calls became sums because they were called too often
    Demoted,
    /// Methods by hits of the sampler
    Samples,
    /// Samples by thread and state
    SampleThreads,
    /// Allocations by class
    Allocations,
    /// Allocations by class and site
    AllocationSites,
    /// Allocations by thread
    AllocationThreads,
    /// Objects alive at the end, by class
    Live,
    /// Objects alive at the end, by allocating thread
    LiveThreads,
    /// Live objects and their peak number, by class and allocating thread
    LiveCounts,
    /// Live objects after the last collection for which the trace counted them, by class
    LiveAfterGc,
    /// Pauses by garbage collection, by generation, collector and cause
    GcKinds,
    /// Pauses by length
    GcLengths,
    /// Pauses, longest first
    Gc,
    /// Waits for monitors held by other threads, longest first
    Monitors,
    /// Waits for monitors, by the monitor's object
    MonitorObjects,
    /// Waits for monitors, by class of the monitor's object
    MonitorClasses,
    /// Waits for monitors, by site
    MonitorSites,
    /// Object.wait by site
    Waits,
    /// Parks by site
    Parks,
    /// Exceptions by class and site of the throw
    Exceptions,
    /// Exceptions by class and site of the catch
    Catches,
    /// Uncaught exceptions
    Uncaught,
    /// Figures of compiled code
    CodeTotals,
    /// Compiled methods, most often compiled first
    Code,
    /// Classes in detail
    Classes,
    /// Fields and methods of classes
    Members,
    /// Class initialisations, slowest first
    SlowestClassInitialisations,
    /// Lines reached, by class
    Coverage,
    /// Lines reached, by method
    CoverageMethods,
    /// Lines not reached
    UncoveredLines,
    /// Heap dumps
    Heap,
    /// Classes in heap dumps, biggest first
    HeapClasses,
    /// References in heap dumps, by class of source and target
    HeapReferences,
    /// Objects in heap dumps that retain the most memory
    HeapObjects,
    /// Methods that are not in the trace although they should be
    Uninstrumented,
    /// Gaps in the trace
    Lost,
}

/// Rule for whether an overview shows a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShownWhen {
    /// Always in TSV and JSON. Otherwise only if the table has rows.
    Base,
    /// Only if the table has rows.
    Subject,
    /// Never. The table must be requested.
    Detail,
}

impl Table {
    pub(super) fn place(self) -> ShownWhen {
        match self {
            Self::Trace
            | Self::Threads
            | Self::Methods
            | Self::Tree
            | Self::Gc
            | Self::Uninstrumented
            | Self::Lost => ShownWhen::Base,
            Self::Origin
            | Self::Classes
            | Self::Members
            | Self::CoverageMethods
            | Self::UncoveredLines
            | Self::MonitorObjects
            | Self::HeapClasses
            | Self::HeapReferences
            | Self::HeapObjects => ShownWhen::Detail,
            _ => ShownWhen::Subject,
        }
    }

    /// Returns the table's name on the command line, in JSON and TSV. Above a table, blanks replace
    /// the underscores.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Origin => "origin",
            Self::Threads => "threads",
            Self::Methods => "methods",
            Self::Tree => "tree",
            Self::Bursts => "bursts",
            Self::Demoted => "demoted",
            Self::Samples => "samples",
            Self::SampleThreads => "sample_threads",
            Self::Allocations => "allocations",
            Self::AllocationSites => "allocation_sites",
            Self::AllocationThreads => "allocation_threads",
            Self::Live => "live",
            Self::LiveThreads => "live_threads",
            Self::LiveCounts => "live_counts",
            Self::LiveAfterGc => "live_after_gc",
            Self::GcKinds => "gc_kinds",
            Self::GcLengths => "gc_lengths",
            Self::Gc => "gc",
            Self::Monitors => "monitors",
            Self::MonitorObjects => "monitor_objects",
            Self::MonitorClasses => "monitor_classes",
            Self::MonitorSites => "monitor_sites",
            Self::Waits => "waits",
            Self::Parks => "parks",
            Self::Exceptions => "exceptions",
            Self::Catches => "catches",
            Self::Uncaught => "uncaught",
            Self::CodeTotals => "code_totals",
            Self::Code => "code",
            Self::Classes => "classes",
            Self::Members => "members",
            Self::SlowestClassInitialisations => "slowest_class_initialisations",
            Self::Coverage => "coverage",
            Self::CoverageMethods => "coverage_methods",
            Self::UncoveredLines => "uncovered_lines",
            Self::Heap => "heap",
            Self::HeapClasses => "heap_classes",
            Self::HeapReferences => "heap_references",
            Self::HeapObjects => "heap_objects",
            Self::Uninstrumented => "uninstrumented",
            Self::Lost => "lost",
        }
    }

    /// Returns the kind of events that the rows come from, as a word of the option `events`.
    /// Returns `None` if the rows come from several kinds, or from events that every trace has.
    pub(super) const fn events(self) -> Option<&'static str> {
        Some(match self {
            Self::Methods | Self::Tree => "methods",
            Self::Samples | Self::SampleThreads => "samples",
            Self::Allocations | Self::AllocationSites | Self::AllocationThreads => "alloc",
            Self::Live | Self::LiveThreads | Self::LiveCounts | Self::LiveAfterGc => "free",
            Self::Gc | Self::GcKinds | Self::GcLengths => "gc",
            Self::Monitors
            | Self::MonitorObjects
            | Self::MonitorClasses
            | Self::MonitorSites
            | Self::Waits => "monitors",
            Self::Parks => "parks",
            Self::Exceptions | Self::Catches | Self::Uncaught => "exceptions",
            Self::Code | Self::CodeTotals => "jit",
            Self::Members => "details",
            Self::SlowestClassInitialisations => "clinit",
            Self::Coverage | Self::CoverageMethods | Self::UncoveredLines => "lines",
            Self::Heap | Self::HeapClasses | Self::HeapReferences | Self::HeapObjects => "heap",
            Self::Trace
            | Self::Origin
            | Self::Threads
            | Self::Bursts
            | Self::Demoted
            | Self::Classes
            | Self::Uninstrumented
            | Self::Lost => return None,
        })
    }

    /// Returns true if the table has a single row with overall figures.
    pub(super) fn vertical(self) -> bool {
        matches!(self, Self::Trace | Self::CodeTotals)
    }
}

/// A flag for each subject that has several tables.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Subjects")]
pub(super) struct Flags {
    /// Allocations by class, by site, and by thread
    #[arg(long)]
    allocations: bool,
    /// Objects alive at the end, by class and by allocating thread
    #[arg(long)]
    live: bool,
    /// Garbage collections: by cause, by length, and the longest pauses
    #[arg(long)]
    gc: bool,
    /// Contended monitors, Object.wait, and parks
    #[arg(long)]
    monitors: bool,
    /// Exceptions thrown, caught, and never caught
    #[arg(long)]
    exceptions: bool,
    /// Classes with superclass, interfaces, loader, size, their members, and the slowest
    /// initialisations
    #[arg(long)]
    classes: bool,
    /// Compiled code
    #[arg(long)]
    code: bool,
    /// Hits of the sampler by method, and samples by thread
    #[arg(long)]
    samples: bool,
    /// Heap dumps: biggest classes, references to them, and objects that retain the most memory
    #[arg(long)]
    heap: bool,
    /// Lines reached, by class and by method
    #[arg(long)]
    coverage: bool,
    /// With --coverage: also the lines that were not reached
    #[arg(long, requires = "coverage")]
    lines: bool,
}

impl Flags {
    /// Returns true if any flag is set.
    pub(super) fn any(&self) -> bool {
        Table::value_variants().iter().any(|t| self.want(*t))
    }

    /// Returns true if a flag selects the table.
    pub(super) fn want(&self, table: Table) -> bool {
        match table {
            Table::Allocations | Table::AllocationSites | Table::AllocationThreads => {
                self.allocations
            }
            Table::Live | Table::LiveThreads | Table::LiveCounts | Table::LiveAfterGc => self.live,
            Table::Gc | Table::GcKinds | Table::GcLengths => self.gc,
            Table::Monitors
            | Table::MonitorObjects
            | Table::MonitorClasses
            | Table::MonitorSites
            | Table::Waits
            | Table::Parks => self.monitors,
            Table::Exceptions | Table::Catches | Table::Uncaught => self.exceptions,
            Table::Classes | Table::Members | Table::SlowestClassInitialisations => self.classes,
            Table::Code | Table::CodeTotals => self.code,
            Table::Samples | Table::SampleThreads => self.samples,
            Table::Heap | Table::HeapClasses | Table::HeapReferences | Table::HeapObjects => {
                self.heap
            }
            Table::Coverage | Table::CoverageMethods => self.coverage,
            Table::UncoveredLines => self.lines,
            Table::Trace
            | Table::Origin
            | Table::Threads
            | Table::Methods
            | Table::Tree
            | Table::Bursts
            | Table::Demoted
            | Table::Uninstrumented
            | Table::Lost => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_by_the_names_of_the_command_line() {
        for table in Table::value_variants() {
            let value = table.to_possible_value().expect("none is hidden");
            assert_eq!(value.get_name(), table.name());
        }
    }
}
