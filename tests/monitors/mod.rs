//! Monitors, waits and parks.

mod contention;
mod flight_recorder;
