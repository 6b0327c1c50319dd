//! Commits to the spool, if there is one. With a spool, a chunk is reused only after a commit has
//! recorded that its records are in the trace.

use super::traces::clock_note;
use super::{WriterThread, write};
use jtrail_guard::log;
use jtrail_model::Timestamp;
use jtrail_records::spool::{State, TraceState};

impl WriterThread {
    /// Writes all records that were read, commits the new state to the spool, and gives the chunks
    /// back.
    pub(super) fn commit(&mut self) {
        if self.setup.commits.is_none() {
            return;
        }
        let mut named = Vec::new();
        if let Some(trace) = &mut self.trace {
            trace.translator.flush();
            named = trace.translator.take_named();
            let out = &mut trace.translator.out;
            write(&mut self.setup, out, &mut self.has_failed);
        }
        if self.has_failed {
            return; // the kept chunks are needed for recovery
        }
        let (buffers, done) = self.merge.states();
        let state = State {
            number: 0,
            trace: self.trace_state(),
            defined: self.defined,
            named: (0, 0),
            buffers,
            done,
        };
        if let Some(trace) = &self.trace {
            self.merge.set_thread_count(trace.translator.living());
        }
        let commits = self.setup.commits.as_mut();
        match commits.map(|commits| commits.commit(state, &named)) {
            Some(Err(error)) => self.give_spool_up(&error),
            _ => self.merge.let_go(),
        }
    }

    /// Returns the state of the trace, or of the trace that the flight recorder would save.
    fn trace_state(&mut self) -> Option<TraceState> {
        let trace = self.trace.as_ref()?;
        // Compilations from this tick on are not written yet.
        let compiled = trace.compilations.first();
        let written = compiled.map_or(self.written, |time| {
            self.written.min(time.saturating_sub(1))
        });
        let is_there = !trace.is_over && trace.translator.can_be_saved();
        let (agent_id, opening, length) = match (&self.setup.target.output, &mut self.ring) {
            (Some(output), _) if is_there => {
                (trace.identity.agent_id.clone(), None, output.written())
            }
            (None, Some(ring)) => {
                let opening = ring.opening(Timestamp(trace.timeline.at(written)));
                (ring.identity.agent_id.clone(), Some(opening), 0)
            }
            _ => return None,
        };
        let clock = clock_note(&self.setup, &trace.timeline);
        Some(TraceState {
            agent_id,
            opening,
            length,
            written,
            clock: clock.map(|clock| (clock.tick.0, clock.longest.0)),
            saved: trace.translator.save(),
        })
    }

    /// Removes the spool after an error. From now on, what is not written yet is lost if the
    /// process is killed.
    pub(super) fn give_spool_up(&mut self, error: &std::io::Error) {
        log::say(&format!(
            "cannot write the spool of {}: {error}; what is not written yet is lost if the process is killed",
            self.setup.target.name
        ));
        if let Some(commits) = self.setup.commits.take() {
            commits.remove();
        }
        self.merge.hold_nothing();
    }
}
