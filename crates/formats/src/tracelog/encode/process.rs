//! CPU time of the process, and compiled code.

use super::dropped::Dropped;
use super::{Encoder, Pending};
use crate::tracelog::value;
use jtrail_model::{MethodCompile, ProcessCpu};

/// CPU time of the process.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// True if the trace contains CPU times of the process. Otherwise, `prc cpu` lines are sums
    /// over all threads.
    has_own: bool,
    /// Microseconds used so far.
    used: u64,
    /// Microseconds written so far.
    written: u64,
    line_ms: Option<u64>,
}

impl Process {
    /// Adds CPU time of a thread. Returns `ms` if a `prc cpu` line is due at that time.
    pub(super) fn used(&mut self, us: u64, ms: u64, interval: u64) -> Option<u64> {
        if self.has_own {
            return None;
        }
        self.used = self.used.saturating_add(us);
        let due = self
            .line_ms
            .is_none_or(|last| ms >= last.saturating_add(interval));
        due.then_some(ms)
    }

    /// Writes a `prc cpu` line with the CPU time used since the preceding `prc cpu` line.
    pub(super) fn derived(&mut self, ms: u64, out: &mut Vec<u8>) {
        let ms = ms.max(self.line_ms.unwrap_or_default());
        self.line_ms = Some(ms);
        out.extend_from_slice(b"prc cpu ");
        value::dec(ms, out);
        out.push(b' ');
        value::dec(self.used.saturating_sub(self.written), out);
        out.push(b'\n');
        self.written = self.written.max(self.used);
    }
}

impl Encoder {
    pub(super) fn process_cpu(&mut self, e: &ProcessCpu, out: &mut Vec<u8>) {
        if self.paused || !self.settings.process_cpu {
            self.dropped.event(Dropped::ProcessCpu);
            return;
        }
        if matches!(self.pending, Pending::ProcessCpu { .. }) {
            self.pending = Pending::None;
        }
        if !std::mem::replace(&mut self.process.has_own, true) {
            self.process.used = 0;
        }
        self.settle(out);
        self.flush(out);
        let ms = self.ms(e.time);
        self.dropped
            .part_if(e.cpu_time.0 % 1000 != 0, Dropped::Fractions);
        self.process.used = u64::try_from(e.cpu_time.0 / 1000).unwrap_or_default();
        self.process.derived(ms, out);
    }

    pub(super) fn compiled(&mut self, e: &MethodCompile<'_>, out: &mut Vec<u8>) {
        let ms = self.ms(e.time);
        if self.definitions.has_method(e.method) {
            self.settle(out);
            self.flush(out);
        }
        let maps = self.settings.code_maps;
        let Some(function) = self.definitions.code(e, maps, &mut self.dropped, out) else {
            self.dropped.event(Dropped::UndefinedCode);
            return;
        };
        out.extend_from_slice(b"jit cmf ");
        self.jvm_thread(out);
        out.push(b' ');
        value::dec(ms, out);
        out.push(b' ');
        value::h64(function, out);
        out.extend_from_slice(b" 0x00000000\n");
    }

    /// Writes the thread of a line about the JVM's own work.
    pub(super) fn jvm_thread(&self, out: &mut Vec<u8>) {
        if self.settings.os_thread_ids {
            value::dec(self.opening.pid, out);
        } else {
            out.push(b'?');
        }
    }
}
