use crate::generate::{Generator, Written};
use crate::helpers::Threads;
use crate::program::{Program, Shape};
use jtrail_formats::trail::Encoder;
use jtrail_formats::{Checker, Item, Reader};
use jtrail_model::Event;
use std::ops::ControlFlow;

fn generated(shape: Shape, events: u64, seed: u64, helpers: usize) -> (Vec<u8>, Written) {
    let program = Program::new(shape, seed);
    let mut trace = Vec::new();
    let mut sink = |bytes: &[u8], _: &Written| {
        trace.extend_from_slice(bytes);
        Ok(())
    };
    let encoder = Encoder::with_helpers(Threads::start(helpers));
    let generator = Generator::new(&program, 8, seed, encoder, &mut sink);
    let written = generator.write(events).expect("memory does not fail");
    (trace, written)
}

/// Counts the events of a trace, and checks it as `jtrail verify` does.
fn counted(trace: &[u8]) -> Written {
    let mut reader = Reader::new(trace).expect("a trail");
    let mut checker = Checker::of(reader.format());
    let mut counts = Written {
        bytes: trace.len() as u64,
        ..Written::default()
    };
    let mut remarks = Vec::new();
    let end = reader.for_each(|item| {
        match item {
            Item::Remark(remark) => remarks.push(remark),
            Item::Event { event, offset } => {
                checker.event(offset, &event);
                counts.events += 1;
                let count = match event {
                    Event::MethodEnter(_) => &mut counts.calls,
                    Event::ObjectAlloc(_) => &mut counts.allocations,
                    Event::ExceptionThrow(_) => &mut counts.exceptions,
                    Event::GcFinish(_) => &mut counts.collections,
                    Event::ThreadPark(_)
                    | Event::MonitorContendedEnter(_)
                    | Event::MonitorWait(_) => &mut counts.waits,
                    _ => return ControlFlow::<()>::Continue(()),
                };
                *count += 1;
            }
        }
        ControlFlow::Continue(())
    });
    end.expect("a whole trace");
    assert!(remarks.is_empty(), "{remarks:?}");
    let found = checker.finish();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    counts
}

#[test]
fn a_trace_is_sound_and_has_as_many_events_as_were_asked_for() {
    for (shape, events) in [
        (Shape::Fib, 300_001),
        (Shape::Javac, 3_000_000),
        (Shape::Javac, 5001),
    ] {
        let (trace, written) = generated(shape, events, 1, 0);
        assert_eq!(written.events, events);
        assert_eq!(counted(&trace), written);
    }
}

#[test]
fn a_trace_like_that_of_a_compiler_has_all_kinds_of_events() {
    let (_, written) = generated(Shape::Javac, 3_000_000, 1, 0);
    let Written {
        allocations,
        exceptions,
        waits,
        collections,
        ..
    } = written;
    assert!(
        [allocations, exceptions, waits, collections]
            .iter()
            .all(|count| *count > 0),
        "{written}"
    );
}

#[test]
fn the_same_seed_gives_the_same_trace_whatever_the_helpers() {
    let (trace, _) = generated(Shape::Javac, 400_000, 7, 0);
    assert_eq!(generated(Shape::Javac, 400_000, 7, 2).0, trace);
    assert_ne!(generated(Shape::Javac, 400_000, 8, 0).0, trace);
}

#[test]
fn a_trace_that_would_be_too_short_is_refused() {
    let program = Program::new(Shape::Javac, 1);
    let mut sink = |_: &[u8], _: &Written| Ok(());
    let generator = Generator::new(&program, 8, 1, Encoder::default(), &mut sink);
    let error = generator.write(100).expect_err("more definitions");
    assert!(error.to_string().contains("at least"), "{error}");
}
