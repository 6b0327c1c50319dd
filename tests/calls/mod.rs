//! Method calls: counts, nesting, times, and which calls are not recorded.

mod aggregated;
mod coarse_clock;
mod counts;
mod cpu_time;
mod engines;
mod large_methods;
mod lines;
mod native_fence;
mod recording_cost;
mod short_calls;
mod trivial_methods;
