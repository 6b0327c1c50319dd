//! The writer's view of the traced program.

use crate::callbacks;
use crate::session::lines::LineCounters;
use jtrail_options::Filter;
use jtrail_writer::Program;

/// The program of this JVM. Without an agent, every answer is empty.
pub(crate) struct Traced;

impl Program for Traced {
    fn filter(&self) -> Option<Filter> {
        let tracer = callbacks::if_loaded()?;
        Some((*tracer.session.filter()).clone())
    }

    fn redefine_objects(&self) -> bool {
        let objects = callbacks::if_loaded().and_then(|tracer| tracer.objects.get());
        if let Some(objects) = objects {
            objects.begin_trace();
        }
        objects.is_some()
    }

    fn line_counters(&self) -> Option<Vec<u64>> {
        let tracer = callbacks::if_loaded()?;
        tracer.instrument.lines.get().map(LineCounters::all)
    }
}
