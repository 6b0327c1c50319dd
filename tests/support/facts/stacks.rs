//! The stacks of monitor events, parks and throws.

use super::is_in_program;
use jtrail_model::{Event, Frame};
use jtrail_testkit::{Stack, Truth};
use std::collections::BTreeMap;

/// Returns the names of the events whose stacks a program reports as this kind.
fn events_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "monitor" => &["contended enter", "contended entered"],
        "wait" => &["wait", "waited"],
        "park" => &["park"],
        "throw" => &["throw"],
        _ => panic!("no events are called {kind}"),
    }
}

#[derive(Default)]
pub(crate) struct Stacks {
    /// Number of events by three keys: the event's name, the number of frames inside the program's
    /// innermost frame, and the frames from that one outwards.
    seen: BTreeMap<(&'static str, usize, Stack), u64>,
    /// Number of frames of the longest stack, by name of the event.
    pub(crate) longest: BTreeMap<&'static str, usize>,
}

impl Stacks {
    pub(super) fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::MonitorContendedEnter(e) => self.add("contended enter", &e.stack),
            Event::MonitorContendedEntered(e) => self.add("contended entered", &e.stack),
            Event::MonitorWait(e) => self.add("wait", &e.stack),
            Event::MonitorWaited(e) => self.add("waited", &e.stack),
            Event::ThreadPark(e) => self.add("park", &e.stack),
            Event::ExceptionThrow(e) => self.add("throw", &e.stack),
            _ => {}
        }
    }

    fn add(&mut self, word: &'static str, stack: &[Frame<'_>]) {
        let longest = self.longest.entry(word).or_default();
        *longest = stack.len().max(*longest);
        if let Some(inner) = stack.iter().position(is_in_program) {
            let frames = stack[inner..].iter();
            let own = frames.map(|f| (f.method.to_string(), f.line)).collect();
            *self.seen.entry((word, inner, own)).or_default() += 1;
        }
    }

    /// Returns the differences between the stacks of the trace and of the program. Stacks have at
    /// most `depth` frames, which include the innermost frame of the program.
    pub(crate) fn differences(&self, truth: &Truth, depth: usize) -> Vec<String> {
        let mut differences = Vec::new();
        for (kind, reported) in truth.stacks.keys() {
            for word in events_of(kind) {
                let mut found = false;
                for ((other, inner, seen), count) in &self.seen {
                    let room = depth - inner;
                    if other != word || !seen.iter().eq(reported.iter().take(room)) {
                        continue;
                    }
                    found = true;
                    // Stacks that differ only in frames beyond the depth count as one.
                    let alike = |(key, _): &(&(String, Stack), _)| {
                        key.0 == *kind && key.1.iter().take(room).eq(seen)
                    };
                    let expected: u64 = truth.stacks.iter().filter(alike).map(|(_, n)| n).sum();
                    if *count != expected {
                        let seen = short(seen);
                        differences.push(format!("{word} on {seen}: {count}, not {expected}"));
                    }
                }
                if !found {
                    let (near, reported) = (self.near(word, reported), short(reported));
                    differences.push(format!("no {word} on {reported}; the nearest is on {near}"));
                }
            }
        }
        differences
    }

    /// Returns a stack that begins with the same method as `reported`, as text for messages.
    fn near(&self, word: &str, reported: &Stack) -> String {
        let mut all = self.seen.keys();
        let near = all.find(|(other, _, seen)| *other == word && seen[0].0 == reported[0].0);
        near.map_or_else(|| "none".into(), |(_, _, seen)| short(seen))
    }
}

/// Returns the frames at both ends of a stack, as text for messages.
fn short(stack: &Stack) -> String {
    let (first, rest) = stack.split_at(stack.len().min(3));
    let last = &rest[rest.len().saturating_sub(3)..];
    format!("{} frames: {first:?} … {last:?}", stack.len())
}
