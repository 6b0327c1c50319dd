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
//! A path's number is that of its own calls, without those of its callees. Each path has one line,
//! after that of the path of its caller, and callees are in the order of their names. A path whose
//! number is not above 0 has no line.
//!
//! The time of calls that were recorded as sums is taken from their callers, so that all lines of a
//! method together have its self time. If a thread called their caller on one path, their own path
//! continues it. Otherwise their path is unknown, and they are below a frame
//! `(calls recorded as sums)` and their caller.
//!
//! A path has at most 1,024 calls. Calls within so many others have a line for each of their
//! methods, with the path of the 1,024 calls, a frame `(deeper calls)`, and the method.
//!
//! With threads, the first frame is the thread's name in brackets: `[main]`. Without them, equal
//! paths of all threads are one.
//!
//! The format has no escapes. So a semicolon in a name becomes a comma, and a line break a blank.

mod tree;

use crate::profile::{self, Frame, Profile, WriteProfile};
use crate::weights::Weights;
use jtrail_model::names::Names;
use tree::{Tree, Walk};

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
    weight: Weight,
    with_threads: bool,
    walk: Option<Walk>,
}

impl Writer {
    pub(crate) fn new(weight: Weight, with_threads: bool) -> Self {
        Self {
            weight,
            with_threads,
            walk: None,
        }
    }
}

impl WriteProfile for Writer {
    fn write(&mut self, profile: Profile, names: &Names, out: &mut Vec<u8>) {
        let mut tree = Tree::default();
        let mut of_node: Vec<u32> = Vec::with_capacity(profile.nodes.len());
        for node in profile.nodes.iter() {
            let parent = of_node.get(node.parent as usize).copied().unwrap_or(0);
            let name = match node.frame {
                Frame::Root => None,
                Frame::Thread(_) if !self.with_threads => None,
                Frame::Thread(index) => {
                    let name = profile.threads[index].shared_label();
                    Some(tree.name(format!("[{}]", text(name))))
                }
                Frame::Sums => Some(tree.name(profile::SUMS.to_owned())),
                Frame::Deeper => Some(tree.name(profile::DEEPER.to_owned())),
                Frame::Method(method) => Some(match tree.methods.get(&method) {
                    Some(name) => *name,
                    None => {
                        let name = tree.name(text(&names.readable_method(method)));
                        tree.methods.insert(method, name);
                        name
                    }
                }),
            };
            let path = name.map_or(parent, |name| tree.callee(parent, name));
            tree.add(path, self.weight.of(&node.weights));
            of_node.push(path);
        }
        drop(profile);
        self.walk = Some(Walk::new(tree));
        self.write_more(out);
    }

    fn write_more(&mut self, out: &mut Vec<u8>) -> bool {
        self.walk.as_mut().is_some_and(|walk| walk.write_part(out))
    }
}

/// Replaces what separates frames and lines.
fn text(name: &str) -> String {
    name.replace(';', ",").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
