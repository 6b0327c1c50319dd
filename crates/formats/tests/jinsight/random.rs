//! Random traces: sound ones are recoded without change, any others do no harm.

use super::raw::turned;
use super::rules::check;
use super::{FORMAT, again, encode};
use crate::common::random::trace;
use crate::common::{decode, decode_pieces};
use jtrail_formats::{Checker, Item, Reader};
use jtrail_model::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::ops::ControlFlow;

const CLASSES: [&str; 5] = ["a.B", "java.lang.Thread", "a.B$C", "é.X", "a.B"];
const METHODS: [(&str, &str); 4] = [
    ("f", "()V"),
    ("<init>", "(I)V"),
    ("f", "(J)I"),
    ("g", "()V"),
];
const KINDS: [(ObjectKind, &str); 4] = [
    (ObjectKind::PLAIN, ""),
    (ObjectKind::BYTE, "[B"),
    (ObjectKind::REFERENCES, "[La.B;"),
    (ObjectKind::REFERENCES, "[[J"),
];

/// Method id, class id and ticket of an open call.
type Open = (u64, u64, u32);

/// Generates a sound trace from random numbers.
#[derive(Default)]
struct Maker {
    events: Vec<Event<'static>>,
    time: i64,
    /// Live threads: id, last ticket, open calls.
    threads: Vec<(u64, u32, Vec<Open>)>,
    last: u64,
    classes: HashMap<usize, u64>,
    arrays: HashMap<&'static str, u64>,
    methods: HashMap<(usize, usize), u64>,
    objects: u64,
    dead: Vec<u64>,
    collecting: bool,
    /// Begin of the current pause, if there is one.
    paused: Option<Timestamp>,
}

impl Maker {
    fn now(&mut self, step: i64) -> Timestamp {
        self.time += step;
        Timestamp(1_700_000_000_000_000_000 + self.time)
    }

    fn id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn class(&mut self, class: usize, detail: bool) -> u64 {
        if let Some(&id) = self.classes.get(&class) {
            return id;
        }
        let (id, time) = (self.id(), self.now(0));
        self.classes.insert(class, id);
        self.events.push(Event::ClassDef(ClassDef {
            class: ClassId(id),
            time,
            name: CLASSES[class].into(),
            ..Default::default()
        }));
        if detail {
            let methods = METHODS.iter().map(|(name, signature)| Member {
                name: (*name).into(),
                signature: (*signature).into(),
                access: 1,
            });
            let super_name = CLASSES[(class + 2) % CLASSES.len()];
            self.events.push(
                ClassDetail {
                    class: ClassId(id),
                    time,
                    super_name: super_name.into(),
                    interfaces: vec!["a.I".into()],
                    methods: methods.collect(),
                    ..Default::default()
                }
                .into(),
            );
        }
        id
    }

    fn step(&mut self, op: u8, a: usize, b: usize, dt: i64) {
        let time = self.now(dt);
        let threads = self.threads.len();
        if self.paused.is_some() && !matches!(op, 0 | 9..=15 | 19 | 24) {
            return;
        }
        match op {
            0 => {
                let id = self.id();
                self.threads.push((id, 0, Vec::new()));
                self.events.push(Event::ThreadStart(ThreadStart {
                    thread: ThreadId(id),
                    time,
                    name: format!("thread {a}").into(),
                    ..Default::default()
                }));
            }
            1..=8 if threads > 0 => {
                let class_at = b % CLASSES.len();
                let class = self.class(class_at, a.is_multiple_of(2));
                let method_at = (a / 7) % METHODS.len();
                let key = (class_at, method_at);
                let method = self.methods.get(&key).copied().unwrap_or_else(|| {
                    let id = self.id();
                    self.methods.insert(key, id);
                    self.events.push(Event::MethodDef(MethodDef {
                        method: MethodId(id),
                        class: ClassId(class),
                        name: METHODS[method_at].0.into(),
                        signature: METHODS[method_at].1.into(),
                        ..Default::default()
                    }));
                    id
                });
                let (thread, ticket, calls) = &mut self.threads[a % threads];
                *ticket += 1;
                calls.push((method, class, *ticket));
                self.events.push(Event::MethodEnter(MethodEnter {
                    thread: ThreadId(*thread),
                    time,
                    method: MethodId(method),
                    class: ClassId(class),
                    ticket: *ticket,
                    stack_depth: calls.len() as i64,
                    ..Default::default()
                }));
            }
            9..=14 if threads > 0 => {
                let (thread, _, calls) = &mut self.threads[a % threads];
                if let Some((method, class, ticket)) = calls.pop() {
                    self.events.push(Event::MethodLeave(MethodLeave {
                        thread: ThreadId(*thread),
                        // A call that ends in a pause is reported with the time of the pause's
                        // begin.
                        time: self.paused.unwrap_or(time),
                        method: MethodId(method),
                        class: ClassId(class),
                        ticket,
                        ..Default::default()
                    }));
                }
            }
            15 if threads > 1 && self.threads[a % threads].2.is_empty() => {
                let (thread, ..) = self.threads.remove(a % threads);
                self.events.push(Event::ThreadEnd(ThreadEnd {
                    thread: ThreadId(thread),
                    time,
                }));
            }
            16..=18 => {
                let (kind, name) = KINDS[b % KINDS.len()];
                let class = match kind {
                    ObjectKind::PLAIN => self.class(a % CLASSES.len(), false),
                    _ => self.arrays.get(name).copied().unwrap_or_else(|| {
                        let id = self.id();
                        self.arrays.insert(name, id);
                        self.events.push(Event::ClassDef(ClassDef {
                            class: ClassId(id),
                            time,
                            name: name.into(),
                            ..Default::default()
                        }));
                        id
                    }),
                };
                self.objects += 1;
                let (object, class) = (ObjectId(self.objects * 3), ClassId(class));
                let size = if kind == ObjectKind::PLAIN {
                    0
                } else {
                    b as i64
                };
                let thread = match threads {
                    0 => ThreadId::NONE,
                    _ if b.is_multiple_of(5) => ThreadId::NONE,
                    _ => ThreadId(self.threads[a % threads].0),
                };
                self.events.push(if op == 18 {
                    Event::ObjectDef(ObjectDef {
                        object,
                        time,
                        kind,
                        size,
                        class,
                    })
                } else {
                    Event::ObjectAlloc(ObjectAlloc {
                        thread,
                        time,
                        kind,
                        object,
                        size,
                        class,
                        ..Default::default()
                    })
                });
            }
            19 if self.objects > 0 => {
                let object = 3 * (1 + a as u64 % self.objects);
                if !self.dead.contains(&object) {
                    self.dead.push(object);
                    let (object, age) = (ObjectId(object), 0);
                    self.events
                        .push(Event::ObjectFree(ObjectFree { time, object, age }));
                }
            }
            20 => {
                self.collecting = !self.collecting;
                self.events.push(match self.collecting {
                    true => Event::GcStart(GcStart { time }),
                    false => Event::GcFinish(GcFinish {
                        time,
                        ..Default::default()
                    }),
                });
            }
            21 if threads > 0 => {
                let thread = ThreadId(self.threads[a % threads].0);
                let object = match self.objects {
                    0 => ObjectId::NONE,
                    n => ObjectId(3 * (b as u64 % (n + 1))),
                };
                let object = match self.dead.contains(&object.0) {
                    true => ObjectId::NONE,
                    false => object,
                };
                let (owner, stack) = (ThreadId(self.threads[b % threads].0), Vec::new());
                self.events.push(match a % 6 {
                    0 => Event::MonitorWait(MonitorWait {
                        thread,
                        time,
                        object,
                        timeout_ms: b as i64,
                        stack,
                    }),
                    1 => Event::MonitorWaited(MonitorWaited {
                        thread,
                        time,
                        object,
                        timed_out: (b % 2) as i64,
                        stack,
                    }),
                    2 => Event::MonitorContendedEnter(MonitorContendedEnter {
                        thread,
                        time,
                        object,
                        owner,
                        stack,
                    }),
                    3 => Event::MonitorContendedEntered(MonitorContendedEntered {
                        thread,
                        time,
                        object,
                        stack,
                    }),
                    4 => Event::ThreadPark(ThreadPark {
                        thread,
                        time,
                        object,
                        stack,
                    }),
                    _ => Event::ThreadUnpark(ThreadUnpark { thread, time }),
                });
            }
            22 => {
                let body = format!("mark \"{a}\" \\").into();
                self.events.push(Event::Custom(Custom { body }));
            }
            23 => {
                let thread = ThreadId(self.threads.first().map_or(0, |thread| thread.0));
                self.events
                    .push(Event::RuntimeInitDone(RuntimeInitDone { thread, time }));
            }
            24 if self.paused.is_some() => {
                let time = self.now(1);
                self.events.push(Event::TraceResume(TraceResume { time }));
                self.paused = None;
                self.now(1);
            }
            24 if !self.collecting => {
                let time = self.now(1);
                self.events.push(Event::TracePause(TracePause { time }));
                self.paused = Some(time);
            }
            _ => {}
        }
    }
}

/// Returns the events as the file reports them: thread starts, thread ends and frees in a pause get
/// the time of the pause's end.
fn reported(events: &[Event<'static>]) -> Vec<Event<'static>> {
    let mut events = events.to_vec();
    let mut over = Timestamp::default();
    for event in events.iter_mut().rev() {
        match event {
            Event::TraceResume(e) => over = e.time,
            Event::TracePause(_) => over = Timestamp::default(),
            Event::ThreadStart(e) if over.0 > 0 => e.time = over,
            Event::ThreadEnd(e) if over.0 > 0 => e.time = over,
            Event::ObjectFree(e) if over.0 > 0 => e.time = over,
            _ => {}
        }
    }
    events
}

/// Returns the lines, with the lines of each pause sorted. The decoder orders the calls that ended
/// in a pause by thread.
fn sorted_pauses(mut lines: Vec<String>) -> Vec<String> {
    let mut rest = &mut lines[..];
    while let Some(begin) = rest.iter().position(|line| line.starts_with("TracePause")) {
        rest = &mut rest[begin + 1..];
        let over = rest.iter().position(|line| line.starts_with("TraceResume"));
        let (pause, after) = rest.split_at_mut(over.unwrap_or(rest.len()));
        pause.sort_unstable();
        rest = after;
    }
    lines
}

fn sound() -> impl Strategy<Value = Vec<Event<'static>>> {
    let step = (0_u8..25, 0_usize..1000, 0_usize..1000, 0_i64..3);
    prop::collection::vec(step, 0..150).prop_map(|steps| {
        let mut maker = Maker::default();
        let time = maker.now(1000);
        maker.events.push(Event::TraceStart(TraceStart {
            time,
            ..Default::default()
        }));
        maker.now(1);
        for (op, a, b, dt) in steps {
            maker.step(op, a, b, dt);
        }
        if maker.collecting {
            maker.step(20, 0, 0, 0);
        }
        if maker.paused.is_some() {
            maker.step(24, 0, 0, 0); // the format can't store a pause at the end
        }
        let time = maker.now(1);
        maker.events.push(Event::TraceEnd(TraceEnd {
            time,
            ..Default::default()
        }));
        maker.events
    })
}

/// Rewrites events with names in place of ids, and without definitions of classes and methods.
#[derive(Default)]
struct Canon {
    lines: Vec<String>,
    classes: HashMap<u64, String>,
    methods: HashMap<u64, String>,
    threads: HashMap<u64, usize>,
    objects: HashMap<u64, usize>,
}

impl Canon {
    fn event(&mut self, event: &Event<'_>) {
        let threads = &self.threads;
        let thread = |id: ThreadId| threads.get(&id.0).copied();
        let time = event.time().map(|time| time.0);
        let object = |objects: &HashMap<u64, usize>, id: ObjectId| objects.get(&id.0).copied();
        let line = match event {
            Event::ClassDef(e) => {
                self.classes.insert(e.class.0, e.name.to_string());
                return;
            }
            Event::MethodDef(e) => {
                let name = format!("{}.{}{}", self.classes[&e.class.0], e.name, e.signature);
                self.methods.insert(e.method.0, name);
                return;
            }
            Event::Node(_)
            | Event::ProcessCreate(_)
            | Event::AgentCreate(_)
            | Event::AgentDestroy(_)
            | Event::ClassDetail(_) => return,
            Event::ThreadStart(e) => {
                let number = self.threads.len();
                self.threads.insert(e.thread.0, number);
                format!("thread {number} {}", e.name)
            }
            Event::MethodEnter(e) => format!(
                "enter {:?} {} #{} {}",
                thread(e.thread),
                self.methods[&e.method.0],
                e.ticket,
                e.stack_depth
            ),
            Event::MethodLeave(e) => {
                let method = &self.methods[&e.method.0];
                format!("leave {:?} {method} #{}", thread(e.thread), e.ticket)
            }
            Event::ObjectAlloc(e) => {
                self.objects.insert(e.object.0, self.objects.len());
                let class = &self.classes[&e.class.0];
                format!(
                    "alloc {:?} {class} {:?} {}",
                    thread(e.thread),
                    e.kind,
                    e.size
                )
            }
            Event::ObjectDef(e) => {
                self.objects.insert(e.object.0, self.objects.len());
                format!(
                    "object {} {:?} {}",
                    self.classes[&e.class.0], e.kind, e.size
                )
            }
            Event::ObjectFree(e) => format!("free {:?}", object(&self.objects, e.object)),
            Event::MonitorWait(e) => {
                let object = object(&self.objects, e.object);
                format!("wait {:?} {object:?} {}", thread(e.thread), e.timeout_ms)
            }
            Event::MonitorWaited(e) => {
                let object = object(&self.objects, e.object);
                format!("waited {:?} {object:?} {}", thread(e.thread), e.timed_out)
            }
            Event::MonitorContendedEnter(e) => {
                let object = object(&self.objects, e.object);
                let owner = thread(e.owner);
                format!("block {:?} {object:?} {owner:?}", thread(e.thread))
            }
            Event::MonitorContendedEntered(e) => {
                let object = object(&self.objects, e.object);
                format!("blocked {:?} {object:?}", thread(e.thread))
            }
            Event::ThreadPark(e) => {
                let object = object(&self.objects, e.object);
                format!("park {:?} {object:?}", thread(e.thread))
            }
            Event::ThreadUnpark(e) => format!("unpark {:?}", thread(e.thread)),
            Event::ThreadEnd(e) => format!("thread end {:?}", thread(e.thread)),
            Event::RuntimeInitDone(e) => format!("init {:?}", thread(e.thread)),
            other => {
                let shown = format!("{other:?}");
                self.lines.push(shown);
                return;
            }
        };
        self.lines.push(format!("{line} at {time:?}"));
    }
}

fn canon(events: &[Event<'_>]) -> Vec<String> {
    let mut canon = Canon::default();
    events.iter().for_each(|event| canon.event(event));
    canon.lines
}

/// Returns the events of a file with names in place of ids, and the checker's faults.
fn read(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut canon, mut checker) = (Canon::default(), Checker::default());
    let mut reader = Reader::new(bytes).unwrap();
    let end = reader.for_each(|item| {
        let Item::Event { offset, event } = item else {
            panic!("{item:?}")
        };
        canon.event(&event);
        checker.event(offset, &event);
        ControlFlow::<()>::Continue(())
    });
    end.unwrap();
    let findings = checker.finish().findings;
    let faults = findings
        .iter()
        .filter(|f| f.severity > jtrail_formats::Severity::Info);
    (canon.lines, faults.map(|f| f.message.clone()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn sound_traces_come_back(events in sound(), piece in 1_usize..200) {
        let encoded = encode(&events);
        prop_assert_eq!(encoded.dropped("times"), 0);
        assert_eq!(check(&encoded.bytes).begun_in_pauses, 0);
        let (lines, faults) = read(&encoded.bytes);
        prop_assert_eq!(sorted_pauses(lines), sorted_pauses(canon(&reported(&events))));
        // The generator does not pair monitor events.
        let faults: Vec<_> = faults
            .into_iter()
            .filter(|fault| !["the block", "the park", "the wait", "blocked on", "parked on", "waiting on"].iter().any(|what| fault.contains(what)))
            .collect();
        prop_assert!(faults.is_empty(), "{:?}", faults);
        prop_assert_eq!(&again(&encoded.bytes).bytes, &encoded.bytes);
        let whole = decode(FORMAT, &encoded.bytes);
        prop_assert_eq!(&decode_pieces(FORMAT, &encoded.bytes, piece), &whole);
        prop_assert_eq!(decode(FORMAT, &turned(&encoded.bytes, 55)), whole);
    }

    /// Whatever the events are, the file keeps the rules that do not depend on them, and it can be
    /// read.
    #[test]
    fn any_events_make_a_file(events in trace()) {
        let encoded = encode(&events);
        let decoding = decode(FORMAT, &encoded.bytes);
        prop_assert!(decoding.error.is_none());
        prop_assert_eq!(decoding.count(jtrail_formats::Severity::Fault), 0, "{:?}", decoding.remarks);
        super::raw::records(&encoded.bytes);
    }

    #[test]
    fn bytes_without_sense_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), piece in 1_usize..50) {
        for head in [&encode(&[]).bytes[..45], b"b\x08\0\0\0"] {
            decode_pieces(FORMAT, &[head, &bytes].concat(), piece);
        }
    }
}
