//! Readers take memory in proportion to the size of their input, whatever it contains. All cases
//! are in one test, because memory is measured for the whole process.

#[path = "common/corpus.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "other tests share it"
)]
mod corpus;
#[path = "common/decoding.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "other tests share it"
)]
mod decoding;
#[path = "common/memory.rs"]
#[allow(missing_docs, unreachable_pub, reason = "other tests share it")]
mod memory;

use decoding::drain;
use jtrail_formats::{Checker, Format, Import, Readable};
use jtrail_model::*;
use memory::{bounded, unpacked};

/// Reads and checks a trace, within the memory allowed for `input` bytes of input.
fn read(format: impl Into<Readable>, bytes: &[u8], input: usize) {
    let format = format.into();
    bounded(input, || {
        let mut checker = Checker::of(format);
        drain(format, bytes, |offset, event| checker.event(offset, event));
        checker.finish();
    });
}

#[test]
fn memory_is_in_proportion_to_the_input() {
    for format in corpus::formats() {
        for (_, mut bytes) in corpus::files(format) {
            for at in 0..bytes.len() {
                read(format, &bytes[..at], at + unpacked(format));
                for flip in [0x01, 0x80, 0xff] {
                    bytes[at] ^= flip;
                    read(format, &bytes, bytes.len() + unpacked(format));
                    bytes[at] ^= flip;
                }
            }
        }
    }
    for (import, file) in imports() {
        read(import, file.as_bytes(), file.len());
    }
    for what in GENERATORS {
        let events = what();
        for format in Format::ALL {
            let mut encoder = format.encoder();
            let mut out = Vec::new();
            encoder.begin(&mut out);
            events
                .iter()
                .for_each(|event| encoder.event(event, &mut out));
            encoder.end(&mut out);
            // A format that writes long names out at every use needs no test: nothing in memory can
            // be larger than its text in the file.
            if out.len() > SAID_OUT {
                continue;
            }
            let input = out.len().max(AN_EVENT);
            read(format, &out, input);
            for into in Format::ALL {
                convert(format, &out, into, input);
            }
        }
    }
}

/// Reads a trace and encodes it in another format, discarding the output.
fn convert(format: Format, bytes: &[u8], into: Format, input: usize) {
    bounded(input, || {
        let mut encoder = into.encoder();
        let mut out = Vec::new();
        encoder.begin(&mut out);
        drain(format, bytes, |_, event| {
            encoder.event(event, &mut out);
            out.clear();
        });
        while encoder.end_part(&mut out) {
            out.clear();
        }
    });
}

/// Minimum size that is assumed for an input. The memory allowed for this size suffices for the
/// largest event of these traces. It does not suffice for all texts of a trace together.
const AN_EVENT: usize = 450_000;

/// Minimum size in bytes of a trace that repeats each long name at every use.
const SAID_OUT: usize = LONG * OFTEN / 2;

/// Returns files of other tools in which as much as possible is new in each byte.
fn imports() -> Vec<(Import, String)> {
    // Short texts, each of them different.
    let text = |n: usize| {
        let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
        String::from_iter([letter(n / 676), letter(n / 26), letter(n)])
    };
    let all = || (0..26 * 26 * 26).map(text);
    let lines = |line: fn(String) -> String| all().map(line).collect::<String>();
    let elements = |element: fn(String) -> String| {
        let elements: Vec<_> = all().map(element).collect();
        format!("[{}]", elements.join(","))
    };
    let path = "a;".repeat(1 << 15);
    vec![
        (Import::Collapsed, lines(|text| format!("{text} 1\n"))),
        (Import::Collapsed, lines(|text| format!("[{text}];a 1\n"))),
        (
            Import::Collapsed,
            lines(|text| format!("{text}.a;")) + "a 1\n",
        ),
        (Import::Collapsed, format!("{path}a 1\n[b];{path}a 1\n")),
        (
            Import::Chrome,
            elements(|text| format!(r#"{{"ph":"B","ts":1,"tid":"{text}","name":"{text}.a"}}"#)),
        ),
        (
            Import::Chrome,
            elements(|text| format!(r#"{{"ph":"B","ts":1,"name":"{text}"}}"#)),
        ),
        (
            Import::Chrome,
            elements(|text| format!(r#"{{"ph":"E","ts":1,"tid":"{text}"}}"#)),
        ),
        (
            Import::Chrome,
            elements(|text| format!(r#"{{"ph":"{text}"}}"#)),
        ),
    ]
}

type Events = fn() -> Vec<Event<'static>>;

const GENERATORS: [Events; 8] = [
    threads, classes, calls, stacks, samples, members, interfaces, methods,
];

/// Number of items of one kind in traces that look sound. A real program has fewer items of the
/// kind.
const MANY: u64 = 100_000;

fn threads() -> Vec<Event<'static>> {
    let thread = |n: u64| {
        Event::ThreadStart(ThreadStart {
            thread: ThreadId(n),
            time: Timestamp(n as i64),
            ..Default::default()
        })
    };
    (1..=MANY).map(thread).collect()
}

/// Returns many methods, each in a class of its own.
fn classes() -> Vec<Event<'static>> {
    let class = |n: u64| {
        let class = ClassDef {
            class: ClassId(n),
            name: format!("C{n}").into(),
            ..Default::default()
        };
        let method = MethodDef {
            method: MethodId(n),
            class: ClassId(n),
            name: "m".into(),
            signature: "()V".into(),
            ..Default::default()
        };
        [Event::ClassDef(class), Event::MethodDef(method)]
    };
    (1..=MANY).flat_map(class).collect()
}

/// Returns calls that never end, each inside the previous one.
fn calls() -> Vec<Event<'static>> {
    let call = |n: u64| {
        Event::MethodEnter(MethodEnter {
            thread: ThreadId(1),
            time: Timestamp(n as i64),
            method: MethodId(1),
            class: ClassId(1),
            ticket: n as u32,
            stack_depth: n as i64,
            ..Default::default()
        })
    };
    let definitions = [threads().swap_remove(0)]
        .into_iter()
        .chain(classes().into_iter().take(2));
    definitions.chain((1..=MANY).map(call)).collect()
}

/// Length of a long name that every format can hold.
const LONG: usize = 60_000;
/// Number of times that a long name is used.
const OFTEN: usize = 2_000;

fn long() -> Text<'static> {
    "n".repeat(LONG).into()
}

/// Returns a thread, and a class with a method, with the given names.
fn named(class: Text<'static>, method: Text<'static>) -> Vec<Event<'static>> {
    let class = ClassDef {
        class: ClassId(1),
        name: class,
        ..Default::default()
    };
    let method = MethodDef {
        method: MethodId(1),
        class: ClassId(1),
        name: method,
        signature: "()V".into(),
        ..Default::default()
    };
    vec![
        threads().swap_remove(0),
        Event::ClassDef(class),
        Event::MethodDef(method),
    ]
}

fn sample(time: i64, depth: usize) -> Event<'static> {
    let frame = Frame {
        method: format!("C.{}()V", long()).into(),
        line: 1,
    };
    Event::Sample(Sample {
        thread: ThreadId(1),
        time: Timestamp(time),
        stack: vec![frame; depth],
        ..Default::default()
    })
}

/// Returns deep stacks of one method with a long name.
fn stacks() -> Vec<Event<'static>> {
    let mut events = named("C".into(), long());
    let Event::Sample(Sample { thread, stack, .. }) = sample(0, OFTEN) else {
        return events;
    };
    let (time, object) = (Timestamp(3), ObjectId(1));
    events.extend([
        sample(1, OFTEN),
        Event::ExceptionThrow(ExceptionThrow {
            thread,
            time,
            object,
            class: ClassId(1),
            stack: stack.clone(),
        }),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread,
            time,
            object,
            owner: ThreadId(1),
            stack: stack.clone(),
        }),
        Event::MethodCompile(MethodCompile {
            method: MethodId(1),
            time,
            address: 1,
            size: 2 * OFTEN as i64,
            ranges: (0..OFTEN as i64)
                .map(|offset| CodeRange {
                    offset,
                    frames: stack[..1].to_vec(),
                })
                .collect(),
        }),
    ]);
    events
}

/// Returns many samples of a method with a long name.
fn samples() -> Vec<Event<'static>> {
    let events = named("C".into(), long()).into_iter();
    events
        .chain((0..OFTEN as i64).map(|time| sample(time, 1)))
        .collect()
}

/// Returns a class with a long name, and a class that lists this name as its interface many times.
fn interfaces() -> Vec<Event<'static>> {
    let mut events = named(long(), "m".into());
    events.extend([
        Event::ClassDef(ClassDef {
            class: ClassId(2),
            name: "D".into(),
            ..Default::default()
        }),
        ClassDetail {
            class: ClassId(2),
            super_name: long(),
            interfaces: vec![long(); OFTEN],
            ..Default::default()
        }
        .into(),
    ]);
    events
}

/// Returns a class that uses a long name for all of its members.
fn members() -> Vec<Event<'static>> {
    let mut events = named(long(), "m".into());
    let member = Member {
        name: long(),
        signature: "()V".into(),
        access: 1,
    };
    events.extend([
        Event::ClassDef(ClassDef {
            class: ClassId(2),
            name: "D".into(),
            ..Default::default()
        }),
        ClassDetail {
            class: ClassId(2),
            super_name: long(),
            interfaces: vec![long(); OFTEN],
            fields: vec![member.clone(); OFTEN],
            methods: vec![member; OFTEN],
            ..Default::default()
        }
        .into(),
    ]);
    events
}

/// Returns many methods of a class with a long name. Each is called once and allocates an object.
fn methods() -> Vec<Event<'static>> {
    let mut events = named(long(), "m".into());
    for n in 1..OFTEN as u64 {
        let (thread, method, class) = (ThreadId(1), MethodId(n), ClassId(1));
        let (time, ticket) = (Timestamp(n as i64), n as u32);
        if n > 1 {
            events.push(Event::MethodDef(MethodDef {
                method,
                class,
                name: format!("m{n}").into(),
                signature: "()V".into(),
                ..Default::default()
            }));
        }
        events.push(Event::MethodEnter(MethodEnter {
            thread,
            time,
            method,
            class,
            ticket,
            stack_depth: 1,
            ..Default::default()
        }));
        events.push(Event::ObjectAlloc(ObjectAlloc {
            thread,
            time,
            object: ObjectId(n),
            size: 16,
            method,
            class,
            ..Default::default()
        }));
        events.push(Event::MethodLeave(MethodLeave {
            thread,
            time,
            method,
            class,
            ticket,
            ..Default::default()
        }));
    }
    events
}
