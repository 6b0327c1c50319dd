//! Continues a trace in another file when its file is full.

use super::WriterThread;
use crate::action::{Action, NextTrace};
use crate::output::Output;
use crate::progress::Progress;

use crossbeam_channel::bounded;
use jtrail_guard::log;
use jtrail_records::OpenCalls;
use std::path::Path;
use std::sync::Arc;

impl WriterThread {
    /// Returns the size at which the file is full, and its slack (`Files::slack`). Returns `None`
    /// if the size of files is not limited, or if the file is ending already.
    pub(super) fn bound(&self) -> Option<(u64, u64)> {
        let files = self.files.as_ref().filter(|files| !files.is_ending)?;
        let options = &self.setup.options;
        // All records in the buffers are still to be written.
        let later = match options.events.name_objects() {
            true => options.buffer_bytes,
            false => 0,
        };
        Some((files.full_at(later), files.slack()))
    }

    /// Writes the opening of a file, and notes its size.
    pub(super) fn note_opening(&mut self) {
        if let (Some(_), Some(trace)) = (&self.files, &mut self.trace) {
            trace.translator.flush();
            self.flush();
        }
        if let (Some(files), Some(output)) = (&mut self.files, &self.setup.target.output) {
            files.has_begun(output.written());
        }
    }

    /// Ends a file that is full. Its records are written up to the tick `limit` at most.
    pub(super) fn end_file(&mut self, limit: u64) {
        if !self.setup.options.events.name_objects() {
            match self.merge.next() {
                Some(at) => self.follow(at),
                None if limit == u64::MAX => {} // no record is left for another file
                None => self.follow(self.setup.now().min(limit)),
            }
            return;
        }
        // The program must record existing objects again when the next file mentions them. Records
        // that exist now belong into this file.
        self.setup.program.redefine_objects();
        if let Some(files) = &mut self.files {
            files.is_ending = true;
        }
        let (done, _) = bounded(1);
        let at = self.setup.now();
        self.actions.push_back((at, Action::Follow, done));
    }

    /// Continues the trace in another file, from the tick `at` on.
    pub(super) fn follow(&mut self, at: u64) {
        let Some(files) = &mut self.files else { return };
        let (path, output) = files.next(&self.setup.names);
        let output = match output {
            Ok(output) => output,
            Err(error) => {
                log::say(&format!(
                    "cannot write {}: {error}; tracing is off, the program goes on, and what was written before can be read",
                    path.display()
                ));
                self.setup.target.output = None;
                self.has_failed = true;
                return;
            }
        };
        let mut options = (*self.setup.options).clone();
        if let Some(filter) = self.setup.program.filter() {
            options.filter = filter;
        }
        let due = self
            .trace
            .as_mut()
            .map(|trace| std::mem::take(&mut trace.due));
        self.end_trace_in_file(at);
        let target = path.display().to_string();
        let progress = *self.progress.lock();
        let observer = &self.setup.observer;
        observer.file_full(progress, &target, output.file_id());
        let next = NextTrace {
            options: Arc::new(options),
            output,
            target,
        };
        self.open(at, next, OpenCalls::Enter);
        if let (Some(trace), Some(due)) = (&mut self.trace, due) {
            trace.due = due; // bursts that are due once have begun, or will begin in this file
        }
    }

    /// Ends a trace that continues in another file.
    pub(super) fn end_trace_in_file(&mut self, at: u64) {
        let path = self
            .setup
            .target
            .output
            .as_ref()
            .and_then(Output::path)
            .map(Path::to_owned);
        self.end_trace(at, self.files.is_some());
        if let (Some(files), Some(path)) = (&mut self.files, path) {
            let Progress { totals, bytes, .. } = *self.progress.lock();
            files.complete(&self.setup.names, path, bytes, totals.events());
        }
    }
}
