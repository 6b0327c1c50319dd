//! Analyses that are saved and loaded.

#[path = "../../formats/tests/common/random.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "this file needs only whole traces"
)]
mod random;

use jtrail_analysis::saved::{self, SUBJECTS, VERSION};
use jtrail_analysis::{Analysis, Subjects, Tree};
use jtrail_formats::{Item, Reader};
use jtrail_model::{
    ClassDef, ClassId, Event, MethodDef, MethodEnter, MethodId, MethodLeave, ThreadId, Timestamp,
    TraceOption,
};
use proptest::prelude::*;
use std::ops::ControlFlow;

fn analysis(events: &[Event<'_>]) -> Analysis {
    let mut analysis = Analysis::new(SUBJECTS);
    for event in events {
        analysis.event(event, |_, _| true);
    }
    analysis
}

fn save(analysis: Analysis) -> Vec<u8> {
    saved::save(analysis).expect("can be saved")
}

fn plain(saved: &[u8]) -> Vec<u8> {
    zstd::stream::decode_all(&saved[1..]).expect("a frame")
}

fn packed(plain: &[u8]) -> Vec<u8> {
    let frame = zstd::stream::encode_all(plain, 1).expect("compressed");
    [&[VERSION], frame.as_slice()].concat()
}

/// Uses all figures that are computed from loaded ones.
fn use_all(mut analysis: Analysis) {
    analysis.finish();
    let (first, last) = analysis.span.unwrap_or_default();
    let _ = last.since(first);
    let _ = (analysis.cost_of_calls(), analysis.lost_events());
    let _ = analysis.uninstrumented_methods();
    for method in analysis.calls.methods() {
        let _ = analysis.names.raw_method(method.method);
    }
    let tree = analysis.calls.tree();
    let mut todo = vec![Tree::ROOT];
    let mut visited = 0;
    while let Some(path) = todo.pop() {
        visited += 1;
        let _ = tree.omitted(path);
        todo.extend(tree.callees(path));
    }
    assert_eq!(visited, 1 + tree.paths().count());
    for path in tree.paths() {
        let _ = analysis.calls.path(path);
    }
    let _ = analysis.collections.lengths();
    let _ = analysis.collections.stats().count();
    for pause in analysis.collections.longest().to_vec() {
        let _ = analysis.collections.kind(&pause);
    }
    let objects = &analysis.objects;
    let _ = (
        objects.live_by_class().count(),
        objects.live_by_thread().count(),
    );
    let _ = objects.live_counts().count();
    for site in analysis.monitors.by_site.keys() {
        let _ = analysis.frames.readable_site(*site);
    }
    for (method, _) in analysis.samples.methods() {
        let _ = analysis.frames.readable_method(method);
    }
    let _ = analysis.coverage.classes(&analysis.names);
    let _ = analysis.origin.records("monitors");
    analysis.without_cost();
}

proptest! {
    #[test]
    fn nothing_is_lost(events in random::trace()) {
        let bytes = save(analysis(&events));
        let loaded = saved::load(&bytes).expect("loaded");
        prop_assert_eq!(loaded.subjects(), SUBJECTS);
        prop_assert_eq!(save(loaded), bytes);
    }

    #[test]
    fn corrupt_bytes_do_no_harm(
        events in random::trace(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        end in any::<prop::sample::Index>(),
    ) {
        let bytes = save(analysis(&events));
        prop_assert!(saved::load(&bytes[..end.index(bytes.len())]).is_none());
        let mut plain = plain(&bytes);
        prop_assert!(saved::load(&packed(&plain[..end.index(plain.len())])).is_none());
        let mut flipped = bytes;
        for (at, byte) in changes {
            let (of_plain, of_packed) = (at.index(plain.len()), at.index(flipped.len()));
            plain[of_plain] ^= byte;
            flipped[of_packed] ^= byte;
        }
        for bytes in [packed(&plain), flipped] {
            if let Some(loaded) = saved::load(&bytes) {
                use_all(loaded);
            }
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Some(loaded) = saved::load(&packed(&bytes)) {
            use_all(loaded);
        }
        prop_assert!(saved::load(&bytes).is_none());
    }
}

#[test]
fn other_versions_are_not_loaded() {
    let mut bytes = save(Analysis::new(SUBJECTS));
    for version in 0..=u8::MAX {
        bytes[0] = version;
        assert_eq!(saved::load(&bytes).is_some(), version == VERSION);
    }
    assert!(saved::load(&[]).is_none());
}

/// A small file can't take much memory.
#[test]
fn what_grows_too_much_is_not_loaded() {
    let bytes = packed(&vec![0; 200 << 20]);
    assert!(bytes.len() < 100_000);
    assert!(saved::load(&bytes).is_none());
}

/// If this fails, the form has changed: count [`VERSION`] up, and put in the new figures.
#[test]
fn a_changed_form_needs_a_new_version() {
    let trace = include_bytes!("../../../fuzz/real/trail/everything");
    let mut events = Vec::new();
    let mut reader = Reader::new(trace.as_slice()).expect("a trail");
    let all = reader.for_each(|item| {
        if let Item::Event { event, .. } = item {
            events.push(event.into_static());
        }
        ControlFlow::<()>::Continue(())
    });
    all.expect("sound");
    let plain = plain(&save(analysis(&events)));
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let hash = plain.iter().fold(0xcbf2_9ce4_8422_2325, hash);
    assert_eq!(
        (VERSION, plain.len(), hash),
        (1, 4462, 7_090_432_354_105_088_435)
    );
}

#[test]
fn parts_that_take_much_are_not_saved() {
    for subjects in [
        Subjects {
            classes: true,
            ..SUBJECTS
        },
        Subjects {
            heap: true,
            ..SUBJECTS
        },
    ] {
        assert!(saved::save(Analysis::new(subjects)).is_none());
        let loaded = saved::load(&save(Analysis::new(SUBJECTS))).expect("loaded");
        assert!(loaded.narrowed(subjects).is_none());
    }
    let levels = |levels| Subjects { levels, ..SUBJECTS };
    let without_objects = Subjects {
        objects: false,
        ..SUBJECTS
    };
    for (needed, is_enough) in [
        (levels(0), true),
        (levels(17), true),
        (levels(18), false),
        (without_objects, true),
    ] {
        let loaded = saved::load(&save(Analysis::new(SUBJECTS))).expect("loaded");
        assert_eq!(loaded.narrowed(needed).is_some(), is_enough);
    }
}

/// Returns calls: method 1 calls method 2 (10 ms, which calls method 3 for 5 ms) and methods 10 to
/// 109, a microsecond each. Recording a call takes 2 µs.
fn calls() -> Vec<Event<'static>> {
    let mut events = vec![
        Event::Option(TraceOption {
            key: "recordOverhead".into(),
            value: "1000".into(),
        }),
        Event::ClassDef(ClassDef {
            class: ClassId(1),
            name: "A".into(),
            ..ClassDef::default()
        }),
        Event::MethodDef(MethodDef {
            method: MethodId(1),
            class: ClassId(1),
            name: "main".into(),
            ..MethodDef::default()
        }),
    ];
    let mut ticket = 0;
    let mut enter = |time, method| {
        ticket += 1;
        let event = Event::MethodEnter(MethodEnter {
            thread: ThreadId(1),
            time: Timestamp(time),
            method: MethodId(method),
            ticket,
            ..MethodEnter::default()
        });
        (event, ticket)
    };
    let leave = |time, method, ticket| {
        Event::MethodLeave(MethodLeave {
            thread: ThreadId(1),
            time: Timestamp(time),
            method: MethodId(method),
            ticket,
            ..MethodLeave::default()
        })
    };
    let (main, of_main) = enter(1_000_000, 1);
    let (second, of_second) = enter(1_000_000, 2);
    let (third, of_third) = enter(2_000_000, 3);
    events.extend([main, second, third]);
    events.push(leave(7_000_000, 3, of_third));
    events.push(leave(11_000_000, 2, of_second));
    let mut now = 11_000_000;
    for method in 10..110 {
        let (small, ticket) = enter(now, method);
        now += 1_000;
        events.extend([small, leave(now, method, ticket)]);
    }
    events.push(leave(21_000_000, 1, of_main));
    events
}

#[test]
fn small_branches_of_the_tree_are_counted() {
    let complete = analysis(&calls());
    let loaded = saved::load(&save(analysis(&calls()))).expect("loaded");
    let tree = loaded.calls.tree();
    assert_eq!(complete.calls.tree().cut_below(false), None);
    let cut = tree.cut_below(false).expect("cut");
    assert_eq!((cut.all, cut.least), (20_000_000, 20_000));
    // There are 206 records, of which one is not within the outermost call.
    let net = tree.cut_below(true).expect("cut");
    assert_eq!((net.all, net.least), (20_000_000 - 205_000, 19_795));
    let paths: Vec<_> = tree.paths().map(|path| loaded.calls.path(path)).collect();
    let expected: Vec<_> = (1..=3).map(|path| complete.calls.path(path)).collect();
    assert_eq!(paths, expected);
    let omitted = [Tree::ROOT, 1, 2, 3].map(|path| tree.omitted(path));
    assert_eq!(omitted, [0, 100, 0, 0]);
    assert_eq!(loaded.calls.method_count(), 103);
    assert_eq!(loaded.calls.methods(), complete.calls.methods());
}

#[test]
fn the_cost_of_recording_is_subtracted_afterwards() {
    let mut whole = analysis(&calls());
    let mut loaded = saved::load(&save(analysis(&calls()))).expect("loaded");
    whole.finish();
    whole.without_cost();
    loaded.without_cost();
    assert_eq!(loaded.calls.methods(), whole.calls.methods());
    assert_eq!(loaded.calls.path(2), whole.calls.path(2));
    assert_eq!(
        loaded.calls.threads()[0].busy,
        whole.calls.threads()[0].busy
    );
    assert!(loaded.calls.threads()[0].busy < 20_000_000);
}
