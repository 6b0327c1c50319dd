//! What the writer asks of the program.

use crate::agent;
use crate::instrument::lines::LineCounters;
use jtrail_options::Filter;
use jtrail_writer::Program;

/// The program of this JVM. Without an agent, there is nothing to be asked.
pub(crate) struct Traced;

impl Program for Traced {
    fn filter(&self) -> Option<Filter> {
        let agent = agent::if_loaded()?;
        Some((*agent.filter()).clone())
    }

    fn tell_objects_again(&self) -> bool {
        let objects = agent::if_loaded().and_then(|agent| agent.objects.get());
        if let Some(objects) = objects {
            objects.begin_trace();
        }
        objects.is_some()
    }

    fn line_counters(&self) -> Option<Vec<u64>> {
        let agent = agent::if_loaded()?;
        agent.classes.lines.get().map(LineCounters::all)
    }
}
