use super::*;
use jtrail_model::{HeapDump, HeapDumpEnd, ObjectDef};

fn dump(id: u64) -> Event<'static> {
    Event::HeapDump(HeapDump {
        dump: HeapDumpId(id),
        name: "d".into(),
        ..HeapDump::default()
    })
}

fn end(id: u64) -> Event<'static> {
    Event::HeapDumpEnd(HeapDumpEnd {
        dump: HeapDumpId(id),
        ..HeapDumpEnd::default()
    })
}

fn root(object: u64, class: u64) -> Event<'static> {
    Event::GcRoot(GcRoot {
        class: ClassId(class),
        object: ObjectId(object),
        kind: "THREAD".into(),
    })
}

fn object(dump: u64, object: u64, class: u64, size: i64) -> Event<'static> {
    Event::HeapObject(HeapObject {
        dump: HeapDumpId(dump),
        object: ObjectId(object),
        class: ClassId(class),
        size,
    })
}

fn reference(dump: u64, source: u64, target: u64) -> Event<'static> {
    Event::ObjectReference(ObjectReference {
        source: ObjectId(source),
        target: ObjectId(target),
        dump: HeapDumpId(dump),
    })
}

fn heap(graphs: bool, events: &[Event<'_>]) -> Heap {
    let (mut heap, mut objects) = (Heap::new(graphs), Objects::default());
    for event in events {
        objects.event(event, true);
        heap.event(event, &objects);
    }
    heap.finish(&objects);
    heap
}

/// Returns rows of class, objects, bytes, and retained bytes.
fn classes(dump: &Dump) -> Vec<(u64, u64, i64, i64)> {
    let row = dump.classes.iter();
    row.map(|c| (c.class.0, c.shallow.objects, c.shallow.bytes, c.retained))
        .collect()
}

/// A map (class 1) with a table (2) of two entries (3). One entry refers to a big array (4).
/// Another root refers to the array too. One more object has no reference to it.
fn map() -> Vec<Event<'static>> {
    vec![
        dump(9),
        object(9, 10, 1, 48),
        object(9, 11, 2, 80),
        object(9, 12, 3, 32),
        object(9, 13, 3, 32),
        object(9, 14, 4, 1_000),
        object(9, 15, 4, 500),
        object(9, 16, 3, 32),
        root(10, 1),
        root(14, 0),
        reference(9, 10, 11),
        reference(9, 11, 12),
        reference(9, 11, 13),
        reference(9, 12, 13),
        reference(9, 12, 14),
        reference(9, 13, 15),
        end(9),
    ]
}

#[test]
fn a_dump_is_summed_up() {
    let heap = heap(true, &map());
    let dump = &heap.dumps[0];
    assert!(dump.complete);
    let amount = |objects, bytes| Amount { objects, bytes };
    assert_eq!(dump.all, amount(7, 1_724));
    assert_eq!((dump.references, dump.roots), (6, 2));
    assert_eq!(dump.unreachable, Some(amount(1, 32)));
    assert_eq!(
        classes(dump),
        [
            (4, 2, 1_500, 1_500),
            (3, 3, 96, 564),
            (2, 1, 80, 644),
            (1, 1, 48, 692)
        ]
    );
    let objects: Vec<_> = dump
        .objects
        .iter()
        .map(|o| (o.object.0, o.class.0, o.shallow, o.retained))
        .collect();
    assert_eq!(
        objects,
        [
            (14, 4, 1_000, 1_000),
            (10, 1, 48, 692),
            (11, 2, 80, 644),
            (13, 3, 32, 532),
            (15, 4, 500, 500),
            (12, 3, 32, 32),
        ]
    );
}

#[test]
fn without_graphs_only_counts() {
    let heap = heap(false, &map());
    let dump = &heap.dumps[0];
    assert_eq!((dump.all.objects, dump.all.bytes), (7, 1_724));
    assert_eq!(
        (dump.references, dump.roots, dump.unreachable),
        (6, 2, None)
    );
    assert!(dump.classes.is_empty() && dump.objects.is_empty());
}

/// Dumps that TPTP wrote list no objects. Classes and sizes are known from earlier events.
#[test]
fn what_the_dump_does_not_have_the_trace_does() {
    let mut events = vec![
        Event::ObjectDef(ObjectDef {
            object: ObjectId(10),
            class: ClassId(1),
            size: 16,
            ..ObjectDef::default()
        }),
        root(1, 1),
        reference(7, 10, 11),
        dump(7),
        root(10, 0),
        reference(7, 10, 11),
        reference(8, 10, 11),
    ];
    let all = heap(true, &events);
    assert_eq!(classes(&all.dumps[0]), [(1, 1, 16, 16), (0, 1, 0, 0)]);
    assert_eq!((all.stray, all.dumps[0].complete), (3, false));
    events.extend(map());
    events.push(reference(9, 10, 11));
    let both = heap(true, &events);
    assert_eq!((both.dumps.len(), both.stray), (2, 4));
    assert_eq!(both.dumps[0], all.dumps[0]);
}

#[test]
fn empty_dumps_and_any_ids() {
    let events = [
        dump(1),
        dump(2),
        root(u64::MAX, u64::MAX),
        root(0, 0),
        reference(2, u64::MAX, u64::MAX - 1),
        object(2, u64::MAX - 1, 5, i64::MAX),
        object(2, u64::MAX, 5, i64::MAX),
        object(2, 1 << 45, 5, -1),
    ];
    let heap = heap(true, &events);
    assert_eq!(heap.dumps[0].all.objects, 0);
    assert_eq!(heap.dumps[1].all.objects, 4);
    assert_eq!(heap.dumps[1].objects[0].retained, i64::MAX);
}

/// Lists of a thousand objects, with references between them.
#[test]
fn many_objects() {
    let objects = Objects::default();
    let mut heap = Heap::new(true);
    heap.event(&dump(1), &objects);
    const N: u64 = 200_000;
    for id in 1..=N {
        heap.event(&object(1, id, id % 7 + 1, 16), &objects);
        if id % 1_000 == 1 {
            heap.event(&root(id, 0), &objects);
        } else {
            heap.event(&reference(1, id - 1, id), &objects);
        }
        heap.event(&reference(1, id, id / 2 + 1), &objects);
    }
    heap.finish(&objects);
    let dump = &heap.dumps[0];
    assert_eq!(dump.all.objects, N);
    assert_eq!(dump.unreachable, Some(Amount::default()));
    assert_eq!(dump.objects.len(), OBJECTS_KEPT);
}
