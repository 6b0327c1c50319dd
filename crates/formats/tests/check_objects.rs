//! The checker: objects, collections and heap dumps.

use crate::common::check::*;
use jtrail_formats::{Checker, Rule, Severity};
use jtrail_model::*;

#[test]
fn collections_alternate() {
    let rule = Rule::Collections;
    sound(vec![gc_start(), gc_finish(), gc_start(), gc_finish()]);
    let text = "a collection ends, and did not begin";
    fault(vec![gc_finish()], rule, 0, text);
    let text = "a collection begins inside of another";
    fault(vec![gc_start(), gc_start(), gc_finish()], rule, 1, text);
    let text = "the last collection does not end";
    broken(vec![gc_start()], rule, Severity::Info, 2, text);
}

#[test]
fn details_of_collections_are_reported_once_for_each() {
    let rule = Rule::Collections;
    let detail = || Event::GcDetail(GcDetail::default());
    sound(vec![gc_start(), detail(), gc_finish()]);
    sound(vec![gc_start(), gc_finish(), detail()]);
    // Details may arrive late.
    sound(vec![
        gc_start(),
        gc_finish(),
        gc_start(),
        detail(),
        gc_finish(),
        detail(),
    ]);
    let text = "a detail of a collection that did not begin, or was reported already";
    fault(vec![detail()], rule, 0, text);
    let events = vec![gc_start(), detail(), gc_finish(), detail()];
    fault(events, rule, 3, text);
}

#[test]
fn objects_are_defined_once_and_before_use() {
    sound(vec![alloc(1), object(2), throw(1, 0), free(1), free(2)]);
    let rule = Rule::Ids;
    for twice in [[alloc(9), alloc(9)], [object(9), alloc(9)]] {
        let text = "object 9 is defined again";
        fault(twice.to_vec(), rule, 1, text);
    }
    let text = "an object is defined with id 0, which means none";
    fault(vec![object(0)], rule, 0, text);
    let rule = Rule::Definitions;
    let text = "object 9 was not defined";
    for event in [free(9), wait(9), waited(9), park(9), throw(9, 0), catch(9)] {
        let found = check(&trace_by("jtrail", vec![event]));
        let finding = &found.findings[0];
        assert_eq!((finding.rule, finding.severity), (rule, Severity::Fault));
        assert_eq!((finding.offset, &*finding.message), (HEAD as u64, text));
    }
    // Traces of other agents do not define objects that are older than the trace.
    let found = check(&trace_by("other", vec![wait(9)]));
    assert_eq!((found.faults(), found.infos()), (0, 1));
    let alloc = Event::ObjectAlloc(ObjectAlloc {
        object: ObjectId(1),
        class: ClassId(9),
        ..Default::default()
    });
    fault(vec![alloc], rule, 0, "class 9 was not defined");
}

#[test]
fn threads_and_classes_make_their_objects_known() {
    let thread = |object| {
        Event::ThreadStart(ThreadStart {
            thread: ThreadId(8),
            object: ObjectId(object),
            ..Default::default()
        })
    };
    let class = |object| {
        Event::ClassDef(ClassDef {
            class: ClassId(8),
            object: ObjectId(object),
            ..Default::default()
        })
    };
    // The definition of a thread or class also defines its object.
    for known in [thread(1), class(1)] {
        sound(vec![known.clone(), wait(1), waited(1), free(1)]);
        sound(vec![alloc(1), known.clone(), wait(1)]);
        sound(vec![known, object(1), wait(1)]);
    }
}

#[test]
fn objects_die_once_and_are_not_used_afterwards() {
    let rule = Rule::Collections;
    let text = "object 9 was freed already";
    fault(vec![alloc(9), free(9), free(9)], rule, 2, text);
    let text = "object 9 is used after it was freed";
    fault(vec![alloc(9), free(9), throw(9, 51)], rule, 2, text);
    // An event with an earlier time may be written after the free.
    sound(vec![alloc(9), free(9), throw(9, 50)]);
}

/// Returns the option events of a trace that was recorded with these values of `events` and
/// `alloc`.
fn recorded(events: &'static str, alloc: &'static str) -> Vec<Event<'static>> {
    [("events", events), ("alloc", alloc)]
        .map(|(key, value)| {
            Event::Option(TraceOption {
                key: key.into(),
                value: value.into(),
            })
        })
        .into()
}

/// Checks a trace of `agent` that begins with `options`; returns the findings about collections.
fn found_in(agent: &'static str, options: &[Event<'static>], events: &[Event<'static>]) -> String {
    let mut all = trace_by(agent, events.to_vec());
    all.splice(4..4, options.to_vec());
    let findings = check(&all).findings;
    let texts = findings.iter().filter(|f| f.rule == Rule::Collections);
    texts.map(|f| &*f.message).collect::<Vec<_>>().join("; ")
}

#[test]
fn frees_come_after_the_finish_of_their_collection() {
    let all = recorded("methods+gc+alloc+free", "jvm");
    let inside = "the collection ends after 2 frees inside of it, that of object 8 first";
    let early = [
        alloc(8),
        alloc(9),
        gc_start(),
        free(8),
        free(9),
        gc_finish(),
    ];
    // This rule holds in every format, also in formats that don't list the options. Traces of other
    // agents need not follow it.
    for options in [&all[..], &[]] {
        assert_eq!(found_in("jtrail", options, &early), inside);
        assert_eq!(found_in("other", options, &early), "");
    }
    let good = [
        alloc(8),
        alloc(9),
        gc_start(),
        gc_finish(),
        free(8),
        free(9),
    ];
    assert_eq!(found_in("jtrail", &all, &good), "");
    // If the trace ends during a collection, its finish can't precede the frees.
    let ended = [alloc(9), gc_start(), free(9)];
    let text = "the last collection does not end";
    assert_eq!(found_in("jtrail", &all, &ended), text);
}

#[test]
fn what_is_freed_is_older_than_a_collection() {
    let text = "object 9 is freed, and no collection ended since it was made";
    let all = recorded("methods+gc+alloc+free", "jvm");
    let never = [alloc(9), free(9)];
    let before = [
        alloc(8),
        gc_start(),
        gc_finish(),
        alloc(9),
        free(8),
        free(9),
    ];
    for events in [&never[..], &before] {
        assert_eq!(found_in("jtrail", &all, events), text);
        assert_eq!(found_in("other", &all, events), "");
        // The three cases: collections not recorded; objects freed without a collection; options
        // unknown.
        for options in [
            &recorded("alloc+free", "jvm")[..],
            &recorded("gc+alloc+free", "sites"),
            &[],
        ] {
            assert_eq!(found_in("jtrail", options, events), "");
        }
    }
    let pause = || Event::TracePause(TracePause::default());
    let resume = || Event::TraceResume(TraceResume::default());
    for sound in [
        // Threads' allocations need not be written in the order of object ids.
        vec![
            alloc(9),
            alloc(8),
            gc_start(),
            gc_finish(),
            free(9),
            free(8),
        ],
        // A collection may have happened during the pause.
        vec![alloc(9), pause(), resume(), free(9)],
        // The object existed before it was first mentioned.
        vec![gc_start(), gc_finish(), object(9), free(9)],
    ] {
        assert_eq!(found_in("jtrail", &all, &sound), "");
    }
    let after_pause = [pause(), resume(), alloc(9), free(9)];
    assert_eq!(found_in("jtrail", &all, &after_pause), text);
}

#[test]
fn objects_in_any_order_are_distinguished() {
    let mut checker = Checker::default();
    for event in trace_by("jtrail", vec![]).iter().take(HEAD) {
        checker.event(0, event);
    }
    // The ids are out of order, as threads write them, with far-away ids in between.
    for id in (1..=1_000_000_u64).map(|id| id ^ 0xff) {
        checker.event(id, &alloc(id | u64::from(id % 1000 == 0) << 50));
    }
    for id in (1..=1_000_000_u64).map(|id| id ^ 0xff) {
        checker.event(id, &free(id | u64::from(id % 1000 == 0) << 50));
    }
    checker.event(0, &free(77));
    let found = checker.finish();
    let finding = &found.findings[0];
    assert_eq!(finding.message, "object 77 was freed already");
    assert_eq!(found.faults(), 1);
}

fn dump(id: u64) -> Event<'static> {
    Event::HeapDump(HeapDump {
        dump: HeapDumpId(id),
        time: Timestamp(60),
        ..Default::default()
    })
}

fn dump_end(id: u64) -> Event<'static> {
    Event::HeapDumpEnd(HeapDumpEnd {
        dump: HeapDumpId(id),
        time: Timestamp(70),
    })
}

fn listed(dump: u64, object: u64) -> Event<'static> {
    Event::HeapObject(HeapObject {
        dump: HeapDumpId(dump),
        object: ObjectId(object),
        class: ClassId(2),
        size: 16,
    })
}

fn reference(dump: u64, source: u64, target: u64) -> Event<'static> {
    Event::ObjectReference(ObjectReference {
        source: ObjectId(source),
        target: ObjectId(target),
        dump: HeapDumpId(dump),
    })
}

fn root(object: u64) -> Event<'static> {
    Event::GcRoot(GcRoot {
        class: ClassId(2),
        object: ObjectId(object),
        ..Default::default()
    })
}

#[test]
fn a_dump_lists_what_it_refers_to() {
    let rule = Rule::HeapDumps;
    // References may precede the objects that they name.
    sound(vec![
        dump(1),
        root(5),
        listed(1, 5),
        reference(1, 5, 6),
        reference(1, 6, 0),
        listed(1, 6),
        dump_end(1),
        // Objects that a dump listed may be used later.
        free(6),
        dump(2),
        root(5),
        listed(2, 5),
        dump_end(2),
    ]);
    // A dump that lists no objects may refer to any.
    sound(vec![dump(1), root(5), reference(1, 5, 6), dump_end(1)]);
    let text = "heap dump 2 refers to 2 objects that it does not list, object 6 first";
    let events = vec![
        dump(1),
        listed(1, 6),
        dump_end(1),
        dump(2),
        listed(2, 5),
        root(7),
        reference(2, 5, 6),
        dump_end(2),
    ];
    fault(events, rule, 7, text);
    let text = "heap dump 1 lists object 5 again";
    let events = vec![dump(1), listed(1, 5), listed(1, 5), dump_end(1)];
    fault(events, rule, 2, text);
    let text = "heap dump 1 lists an object without id";
    fault(vec![dump(1), listed(1, 0), dump_end(1)], rule, 1, text);
    let text = "object 5 is used after it was freed";
    let events = vec![alloc(5), free(5), dump(1), listed(1, 5), dump_end(1)];
    fault(events, Rule::Collections, 3, text);
}

#[test]
fn what_belongs_to_a_dump_stands_in_it() {
    let rule = Rule::HeapDumps;
    let text = "object 5 is a root, outside of a heap dump";
    fault(vec![root(5)], rule, 0, text);
    for (event, what) in [
        (listed(1, 5), "an object"),
        (reference(1, 5, 5), "a reference"),
        (dump_end(1), "an end"),
    ] {
        let text = format!("{what} of heap dump 1, which is not open");
        let events = vec![dump(1), dump_end(1), event.clone()];
        fault(events, rule, 2, &text);
        let text = "heap dump 1 was not defined";
        fault(vec![event], Rule::Definitions, 0, text);
    }
    let text = "heap dump 1 is defined again";
    let events = vec![dump(1), dump_end(1), dump(1), dump_end(1)];
    fault(events, Rule::Ids, 2, text);
    let text = "heap dump 2 begins, and 1 did not end";
    fault(vec![dump(1), dump(2), dump_end(2)], rule, 1, text);
    let text = "heap dump 1 does not end";
    fault(vec![dump(1)], rule, 2, text);
    // Heap dumps of other agents have no end event.
    let events = vec![dump(1), root(5), dump(2), root(5)];
    assert_eq!(check(&trace_by("other", events)).findings, []);
}
