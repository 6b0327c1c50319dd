//! Collapsed stacks (`.collapsed`): what flame graph tools read.
//!
//! UTF-8 text with a line for each call path, the outermost call first, and a number:
//!
//! ```text
//! com.acme.Main.main(String[]);com.acme.Shop.pay(Order, int) 120000
//! ```
//!
//! | Weight | Number |
//! |---|---|
//! | self | time without callees, in ns |
//! | cpu | CPU time without callees, in ns |
//! | calls | number of calls |
//! | allocated | bytes of allocated objects |
//! | blocked | time blocked on monitors, in ns |
//! | waiting | time in `Object.wait` and parked, in ns |
//!
//! A path's number is that of its own calls, without those of its callees. Lines are sorted, and
//! each path has one. A path whose number is not above 0 has no line.
//!
//! With threads, the first frame is the thread's name in brackets: `[main]`. Without them, equal
//! paths of all threads are one.
//!
//! The format has no escapes. So a semicolon in a name becomes a comma, and a line break a blank.

use crate::profile::{Frame, Profile, Weights, WriteProfile};
use jtrail_model::names::Names;
use std::collections::BTreeMap;

/// What a profile is weighted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Weight {
    /// Time without callees.
    #[default]
    SelfTime,
    /// CPU time without callees.
    Cpu,
    /// Number of calls.
    Calls,
    /// Bytes of allocated objects.
    Allocated,
    /// Time blocked on monitors.
    Blocked,
    /// Time in `Object.wait` and parked.
    Waiting,
}

impl Weight {
    /// All weights.
    pub const ALL: [Self; 6] = [
        Self::SelfTime,
        Self::Cpu,
        Self::Calls,
        Self::Allocated,
        Self::Blocked,
        Self::Waiting,
    ];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SelfTime => "self",
            Self::Cpu => "cpu",
            Self::Calls => "calls",
            Self::Allocated => "allocated",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
        }
    }

    fn of(self, weights: &Weights) -> i64 {
        match self {
            Self::SelfTime => weights.self_time,
            Self::Cpu => weights.cpu,
            Self::Calls => i64::try_from(weights.calls).unwrap_or(i64::MAX),
            Self::Allocated => weights.bytes,
            Self::Blocked => weights.blocked,
            Self::Waiting => weights.waiting,
        }
    }
}

/// Writes collapsed stacks.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) weight: Weight,
    pub(crate) with_threads: bool,
}

impl WriteProfile for Writer {
    fn write(&mut self, profile: &Profile, names: &Names, out: &mut Vec<u8>) {
        let mut lines: BTreeMap<String, i64> = BTreeMap::new();
        for node in &profile.nodes {
            let value = self.weight.of(&node.weights);
            if value == 0 {
                continue;
            }
            let mut frames = Vec::new();
            let mut at = node;
            while at.frame != Frame::Root {
                match at.frame {
                    Frame::Method(method) => frames.push(text(&names.readable_method(method))),
                    Frame::Thread(index) if self.with_threads => {
                        let name = &profile.threads[index.0 as usize].name;
                        frames.push(format!("[{}]", text(name)));
                    }
                    Frame::Thread(_) | Frame::Root => {}
                }
                at = &profile.nodes[at.parent as usize];
            }
            frames.reverse();
            let line = lines.entry(frames.join(";")).or_default();
            *line = line.saturating_add(value);
        }
        for (path, value) in lines {
            if value > 0 && !path.is_empty() {
                out.extend(format!("{path} {value}\n").bytes());
            }
        }
    }
}

/// Replaces what separates frames and lines.
fn text(name: &str) -> String {
    name.replace(';', ",").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
