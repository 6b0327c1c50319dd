//! Where there is a spool: what is read from chunks stays in them until it is in the trace, and the spool says so.

use super::traces::clock_note;
use super::{Work, write};
use crate::log;
use jtrail_records::spool::{State, TraceState};

impl Work {
    /// Writes all that is read, has the spool say so, and gives the chunks back.
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
            return; // what is held is to be recovered
        }
        let (buffers, done) = self.merge.states();
        let trace = self.trace.as_ref().and_then(|trace| {
            let output = self.setup.output.as_ref()?;
            let can_go_on = !trace.is_over && trace.translator.can_be_saved();
            can_go_on.then(|| TraceState {
                agent_id: trace.identity.agent_id.clone(),
                length: output.written(),
                // What was compiled later is not told.
                written: trace.compilations.first().map_or(self.written, |time| {
                    self.written.min(time.saturating_sub(1))
                }),
                clock: clock_note(&self.setup, &trace.timeline)
                    .map(|clock| (clock.tick.0, clock.longest.0)),
                saved: trace.translator.save(),
            })
        });
        let state = State {
            number: 0,
            trace,
            announced: self.announced,
            named: (0, 0),
            buffers,
            done,
        };
        let commits = self.setup.commits.as_mut();
        match commits.map(|commits| commits.commit(state, &named)) {
            Some(Err(error)) => self.give_spool_up(&error),
            _ => self.merge.let_go(),
        }
    }

    /// From here on, what is not written is lost if the process is killed.
    pub(super) fn give_spool_up(&mut self, error: &std::io::Error) {
        log::say(&format!(
            "cannot write the spool of {}: {error}; what is not written yet is lost if the process is killed",
            self.setup.target
        ));
        if let Some(commits) = self.setup.commits.take() {
            commits.remove();
        }
        self.merge.hold_nothing();
    }
}
