//! Adding up calls takes memory for distinct call paths and open calls, not for each call.

use jtrail_formats::{Encode, Item, Reader, profilerj};
use jtrail_model::*;
use std::ops::ControlFlow;

const THREAD: ThreadId = ThreadId(1);
const METHODS: u64 = 100;

/// An encoder that knows some methods, with the state of the calls that it got so far.
struct Calls {
    encoder: profilerj::Encoder,
    out: Vec<u8>,
    time: i64,
    stack: Vec<u64>,
    entered: u64,
}

/// Figures from a snapshot.
#[derive(Default)]
struct Snapshot {
    nodes: u64,
    calls: u64,
    /// Own time of all nodes, in nanoseconds.
    own: i64,
    deepest: usize,
}

impl Calls {
    fn new() -> Self {
        let mut encoder = profilerj::Encoder::default();
        let mut out = Vec::new();
        encoder.begin(&mut out);
        let class = ClassId(1);
        encoder.event(
            &Event::ClassDef(ClassDef {
                class,
                name: "a.B".into(),
                ..Default::default()
            }),
            &mut out,
        );
        for number in 0..METHODS {
            let def = MethodDef {
                method: MethodId(number + 1),
                class,
                name: format!("m{number}").into(),
                signature: "()V".into(),
                ..Default::default()
            };
            encoder.event(&Event::MethodDef(def), &mut out);
        }
        Self {
            encoder,
            out,
            time: 0,
            stack: Vec::new(),
            entered: 0,
        }
    }

    fn enter(&mut self, number: u64) {
        self.time += 1000;
        self.stack.push(number);
        self.entered += 1;
        let enter = MethodEnter {
            thread: THREAD,
            time: Timestamp(self.time),
            method: MethodId(number + 1),
            class: ClassId(1),
            ticket: self.stack.len() as u32,
            ..Default::default()
        };
        self.encoder
            .event(&Event::MethodEnter(enter), &mut self.out);
    }

    fn leave(&mut self) {
        self.time += 1000;
        let ticket = self.stack.len() as u32;
        let Some(number) = self.stack.pop() else {
            panic!("no open call")
        };
        let leave = MethodLeave {
            thread: THREAD,
            time: Timestamp(self.time),
            method: MethodId(number + 1),
            class: ClassId(1),
            ticket,
            ..Default::default()
        };
        self.encoder
            .event(&Event::MethodLeave(leave), &mut self.out);
    }

    /// Ends the document and reads it back.
    fn snapshot(mut self) -> Snapshot {
        self.encoder.end(&mut self.out);
        let mut found = Snapshot::default();
        let mut depth = 0;
        let mut reader = Reader::new(&self.out[..]).expect("a snapshot");
        let end = reader.for_each(|item| {
            match item {
                Item::Event { event, .. } => match event {
                    Event::AggregatedEnter(e) => {
                        found.nodes += 1;
                        found.calls += e.calls as u64;
                        found.own += e.base_time.0;
                        depth += 1;
                        found.deepest = found.deepest.max(depth);
                    }
                    Event::AggregatedLeave(_) => depth -= 1,
                    _ => {}
                },
                Item::Remark(remark) => return ControlFlow::Break(remark),
            }
            ControlFlow::Continue(())
        });
        assert_eq!(end.expect("a whole snapshot"), None);
        found
    }
}

/// Returns the peak memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("there");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.expect("a number") << 10
}

/// One test holds all cases, because it measures the memory of the whole process: a second test
/// running beside it would add its own.
#[test]
fn memory_is_for_paths_and_recursion_is_bounded() {
    // Ten million calls on a few call paths.
    let mut calls = Calls::new();
    let round = |calls: &mut Calls| {
        for leaf in 0..METHODS {
            for number in 0..9 {
                calls.enter(number);
            }
            calls.enter(leaf);
            while !calls.stack.is_empty() {
                calls.leave();
            }
        }
    };
    round(&mut calls);
    #[cfg(target_os = "linux")]
    let before = peak();
    while calls.entered < 10_000_000 {
        round(&mut calls);
    }
    #[cfg(target_os = "linux")]
    assert!(peak() - before < 1 << 20, "{} bytes", peak() - before);
    let (entered, time) = (calls.entered, calls.time);
    let found = calls.snapshot();
    // Nine nodes for the shared path, and a leaf for each method.
    assert_eq!(found.nodes, 9 + METHODS);
    assert_eq!(found.calls, entered);
    // The sum of own times lacks only the time between the outermost calls.
    assert_eq!(found.own, time - (entered / 10) as i64 * 1000);

    // Recursion of one method, and of several in turn, deeper than the call tree's limit.
    for among in [1, 3, 50] {
        const DEPTH: u64 = 200_000;
        let mut calls = Calls::new();
        while calls.entered < 1_000_000 {
            for depth in 0..DEPTH {
                calls.enter(depth % among);
            }
            while !calls.stack.is_empty() {
                calls.leave();
            }
        }
        let (entered, time) = (calls.entered, calls.time);
        let found = calls.snapshot();
        assert_eq!(found.calls, entered, "among {among}");
        assert!(found.nodes <= 1024 * among + 1, "{} nodes", found.nodes);
        assert!(found.deepest <= 1 << 14, "{} deep", found.deepest);
        assert_eq!(found.own, time - (entered / DEPTH) as i64 * 1000);
    }
}
