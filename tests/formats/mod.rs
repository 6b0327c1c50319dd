//! Traces in every format.

mod all_events;
mod convert_pairs;
mod converted;
mod exports;
mod figures;
mod jinsight;
mod mprof_report;
mod pauses;
mod program_ends;
mod same_runs;
