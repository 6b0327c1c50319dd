//! Classes: in what order they are written, and how often.

use super::raw::records;
use super::rules::check;
use super::{FORMAT, again, encode};
use crate::common::decode;
use jtrail_model::*;

fn class(id: u64, name: &str) -> Event<'static> {
    Event::ClassDef(ClassDef {
        class: ClassId(id),
        time: Timestamp(100),
        name: name.to_owned().into(),
        ..Default::default()
    })
}

fn method(id: u64, class: u64, name: &str) -> Event<'static> {
    Event::MethodDef(MethodDef {
        method: MethodId(id),
        class: ClassId(class),
        name: name.to_owned().into(),
        signature: "()V".into(),
        ..Default::default()
    })
}

fn member(name: &str) -> Member<'static> {
    Member {
        name: name.to_owned().into(),
        signature: "()V".into(),
        access: 1,
    }
}

fn detail(id: u64, super_name: &str, interfaces: &[&str], methods: &[&str]) -> Event<'static> {
    ClassDetail {
        class: ClassId(id),
        time: Timestamp(100),
        super_name: super_name.to_owned().into(),
        interfaces: interfaces.iter().map(|i| i.to_string().into()).collect(),
        fields: vec![Member {
            name: "x".into(),
            signature: "I".into(),
            access: 2,
        }],
        methods: methods.iter().map(|name| member(name)).collect(),
        ..Default::default()
    }
    .into()
}

fn call(method: u64, class: u64, time: i64) -> [Event<'static>; 2] {
    let (method, class, thread) = (MethodId(method), ClassId(class), ThreadId(1));
    let ticket = time as u32;
    let enter = MethodEnter {
        thread,
        time: Timestamp(time),
        method,
        class,
        ticket,
        stack_depth: 1,
        ..Default::default()
    };
    let leave = MethodLeave {
        thread,
        time: Timestamp(time + 1),
        method,
        class,
        ticket,
        ..Default::default()
    };
    [Event::MethodEnter(enter), Event::MethodLeave(leave)]
}

fn start() -> Vec<Event<'static>> {
    vec![
        Event::TraceStart(TraceStart {
            time: Timestamp(100),
            ..Default::default()
        }),
        Event::ThreadStart(ThreadStart {
            thread: ThreadId(1),
            time: Timestamp(101),
            name: "main".into(),
            ..Default::default()
        }),
    ]
}

/// Returns the names of the called methods, in order.
fn called(bytes: &[u8]) -> Vec<String> {
    let records = records(bytes);
    let mut found = Vec::new();
    for record in records.iter().filter(|record| record.kind == 0x5b) {
        let class = records
            .iter()
            .find(|c| c.kind == 0x6e && c.number(1) == record.number(2))
            .unwrap();
        let at = 5 + 3 * record.number(3) as usize;
        found.push(format!("{}.{}", class.text(3), class.text(at)));
    }
    found
}

#[test]
fn with_details_a_class_is_written_once_after_its_supers() {
    let mut events = start();
    events.push(class(2, "a.B"));
    events.push(detail(2, "a.Super", &["a.I", "a.J"], &["f", "g", "f"]));
    events.extend([method(3, 2, "g")]);
    events.extend(call(3, 2, 110));
    events.push(method(4, 2, "f"));
    events.extend(call(4, 2, 120));
    let encoded = encode(&events);
    let found = check(&encoded.bytes);
    assert_eq!(
        found.classes,
        [
            "java/lang/Object",
            "java/lang/Thread",
            "a/Super",
            "a/I",
            "a/J",
            "a/B"
        ]
    );
    assert_eq!(called(&encoded.bytes), ["a/B.g", "a/B.f"]);
    assert_eq!(encoded.dropped("classes split"), 0);
    assert_eq!(again(&encoded.bytes).bytes, encoded.bytes);
    let shown = decode(FORMAT, &encoded.bytes).events.join("\n");
    assert!(shown.contains("super_name: \"a.Super\", interfaces: [\"a.I\", \"a.J\"]"));
}

#[test]
fn without_details_methods_that_turn_up_later_split_the_class() {
    let mut events = start();
    events.extend([class(2, "a.B"), method(3, 2, "f"), method(4, 2, "g")]);
    events.extend(call(4, 2, 110));
    events.extend(call(3, 2, 112));
    assert_eq!(encode(&events).dropped("classes split"), 0);
    events.extend([method(5, 2, "h"), method(6, 2, "f"), method(7, 2, "i")]);
    events.extend(call(6, 2, 114));
    events.extend(call(7, 2, 116));
    events.extend(call(5, 2, 118));
    let encoded = encode(&events);
    let found = check(&encoded.bytes);
    assert_eq!(found.classes[2..], ["a/B", "a/B"]);
    assert_eq!(
        called(&encoded.bytes),
        ["a/B.g", "a/B.f", "a/B.f", "a/B.i", "a/B.h"]
    );
    assert_eq!(encoded.dropped("classes split"), 1);
    assert_eq!(again(&encoded.bytes).bytes, encoded.bytes);
}

#[test]
fn details_that_come_late_are_a_further_class() {
    let mut events = start();
    events.extend([class(2, "a.B"), method(3, 2, "f")]);
    events.extend(call(3, 2, 110));
    events.push(detail(2, "java.lang.Object", &[], &["f", "g"]));
    events.extend([method(4, 2, "g"), class(5, "a.C")]);
    events.extend(call(4, 2, 112));
    // Class a.E is written early, because the details of a.D name it. It keeps this record when it
    // is defined.
    events.push(class(6, "a.D"));
    events.push(detail(6, "a.C", &["a.E"], &[]));
    events.extend([class(7, "a.E"), class(8, "a.E")]);
    events.push(method(9, 8, "other"));
    events.extend(call(9, 8, 114));
    let encoded = encode(&events);
    let found = check(&encoded.bytes);
    assert_eq!(
        found.classes[2..],
        ["a/B", "a/B", "a/C", "a/E", "a/D", "a/E"]
    );
    assert_eq!(called(&encoded.bytes), ["a/B.f", "a/B.g", "a/E.other"]);
    assert_eq!(encoded.dropped("classes split"), 1);
    assert_eq!(again(&encoded.bytes).bytes, encoded.bytes);
}

#[test]
fn beyond_the_largest_id_there_is_one_class_for_all() {
    let mut events = start();
    let count = 65_540;
    for n in 0..count {
        events.push(class(10 + n, &format!("a.C{n}")));
        events.push(method(10 + n, 10 + n, "f"));
        events.extend(call(10 + n, 10 + n, 200 + 2 * n as i64));
    }
    // The first of these classes still has an id of its own.
    events.extend(call(10, 10, 900_000));
    let encoded = encode(&events);
    let found = check(&encoded.bytes);
    assert_eq!(found.classes.len(), 65_536);
    assert_eq!(found.classes[65_535], "*overflow*");
    let beyond = count - 65_533;
    assert_eq!(encoded.dropped("classes beyond"), beyond);
    let records = records(&encoded.bytes);
    let enters: Vec<_> = records.iter().filter(|r| r.kind == 0x5b).collect();
    let overflowed = enters.iter().filter(|r| r.number(2) == 0xffff);
    assert_eq!(overflowed.count() as u64, beyond);
    assert_eq!(enters.last().unwrap().number(2), 2);
    assert_eq!(again(&encoded.bytes).bytes, encoded.bytes);
}

#[test]
fn hidden_and_array_classes_keep_their_names() {
    let mut events = start();
    events.extend([
        class(2, "a.B$$Lambda/0x1234"),
        class(3, "[[I"),
        class(4, "[La.B;"),
    ]);
    let alloc = |object, kind, class| {
        Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(1),
            time: Timestamp(200),
            kind,
            object: ObjectId(object),
            size: 32,
            class: ClassId(class),
            ..Default::default()
        })
    };
    events.push(alloc(9, ObjectKind::PLAIN, 2));
    events.push(alloc(7, ObjectKind::REFERENCES, 3));
    events.push(alloc(8, ObjectKind::REFERENCES, 4));
    let encoded = encode(&events);
    let found = check(&encoded.bytes);
    assert_eq!(found.classes[2..], ["a/B$$Lambda.0x1234", "[I", "a/B"]);
    assert_eq!(found.objects, 3);
    let decoding = decode(FORMAT, &encoded.bytes);
    assert!(decoding.is_clean(), "{decoding:#?}");
    let shown = decoding.events.join("\n");
    for name in ["a.B$$Lambda/0x1234", "[[I", "[La.B;", "[I"] {
        assert!(shown.contains(&format!("name: \"{name}\"")), "{name}");
    }
    assert_eq!(again(&encoded.bytes).bytes, encoded.bytes);
}

/// `java.lang.Object` is class 0 for all of its subclasses, even if its own details come late.
#[test]
fn object_stays_class_0() {
    let mut events = start();
    events.push(class(2, "a.I"));
    events.push(detail(2, "", &[], &[]));
    events.push(class(3, "java.lang.Object"));
    events.push(detail(3, "", &[], &["hashCode"]));
    events.push(class(4, "a.J"));
    events.push(detail(4, "", &[], &[]));
    events.push(class(5, "a.B"));
    events.push(detail(5, "java.lang.Object", &[], &[]));
    let encoded = encode(&events);
    let found = check(&encoded.bytes);
    assert_eq!(found.classes[3], "java/lang/Object");
    let records = records(&encoded.bytes);
    let loads = records.iter().filter(|record| record.kind == 0x6e);
    let supers: Vec<_> = loads
        .map(|load| load.number(load.fields.len() - 2))
        .collect();
    assert_eq!(supers, [0; 6]);
    assert_eq!(again(&encoded.bytes).bytes, encoded.bytes);
}
