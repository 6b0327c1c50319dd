//! A traced run whose events the test inspects itself.

use crate::support::{Trace, Traced, agent};
use jtrail_formats::{Checker, Item, Reader, Severity};
use jtrail_model::{Event, MethodId, ThreadId};
use jtrail_testkit::Run;
use std::collections::HashMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

/// The names that a trace has defined so far.
#[derive(Default)]
pub(crate) struct Names {
    /// First names of threads, and their groups.
    pub(crate) threads: HashMap<ThreadId, (String, String)>,
    /// Keys of methods (`harness.Fib.fib(I)I`).
    pub(crate) methods: HashMap<MethodId, String>,
    classes: HashMap<u64, String>,
}

impl Names {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::ThreadStart(e) => {
                let names = (e.name.clone().into_owned(), e.group.clone().into_owned());
                self.threads.insert(e.thread, names);
            }
            Event::ClassDef(e) => {
                self.classes.insert(e.class.0, e.name.clone().into_owned());
            }
            Event::MethodDef(e) => {
                let class = &self.classes[&e.class.0];
                let key = format!("{class}.{}{}", e.name, e.signature);
                self.methods.insert(e.method, key);
            }
            _ => {}
        }
    }

    /// Returns the first name of a thread.
    pub(crate) fn thread(&self, id: ThreadId) -> &str {
        &self.threads[&id].0
    }
}

/// Runs a program with the agent, checks that the trace is sound, and passes all its events to
/// `see`.
pub(crate) fn observed(run: Run, options: &str, mut see: impl FnMut(&Names, &Event<'_>)) -> Traced {
    let folder = jtrail_testkit::temp_dir();
    let file = folder.path().join("trace");
    let output = run
        .agent(agent(), format!("{options},file={}", file.display()))
        .output();
    output.assert_exit(0);
    let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
    trace.assert_sound(&output);
    let mut names = Names::default();
    let mut reader = Reader::new(File::open(&file).expect("a trace")).expect("a format");
    reader
        .for_each(|item| {
            if let Item::Event { event, .. } = item {
                names.take(&event);
                see(&names, &event);
            }
            ControlFlow::<()>::Continue(())
        })
        .expect("it was read before");
    Traced { output, trace }
}

/// Passes all events of a trace to `see`. Fails if the checker finds a fault.
pub(crate) fn read(file: &Path, mut see: impl FnMut(&Event<'_>)) {
    let mut reader = Reader::new(File::open(file).expect("a trace")).expect("a format");
    let mut checker = Checker::of(reader.format());
    let remark = reader.for_each(|item| match item {
        Item::Event { offset, event } => {
            checker.event(offset, &event);
            see(&event);
            ControlFlow::Continue(())
        }
        Item::Remark(remark) => ControlFlow::Break(format!("{remark:?}")),
    });
    assert_eq!(remark.expect("it can be read"), None);
    let findings = checker.finish().findings;
    let faults: Vec<_> = findings
        .iter()
        .filter(|f| f.severity == Severity::Fault)
        .take(10)
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}
