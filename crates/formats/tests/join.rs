//! Parts of a trace, as the agent divides it, are joined to the whole trace.

use crate::common::random::trace;
use jtrail_formats::join::Joiner;
use jtrail_model::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
enum Step {
    Enter(u8),
    Leave,
    Throw,
    /// Begins to park, or ends that.
    Park,
    Alloc,
    /// Mentions an object of an earlier step.
    Mention(u8),
    /// The thread ends, and another one begins.
    End,
    /// The trace continues in another file.
    Cut,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        6 => (0..4_u8).prop_map(Step::Enter),
        5 => Just(Step::Leave),
        1 => Just(Step::Throw),
        2 => Just(Step::Park),
        2 => Just(Step::Alloc),
        2 => any::<u8>().prop_map(Step::Mention),
        1 => Just(Step::End),
        2 => Just(Step::Cut),
    ];
    prop::collection::vec((0..4_usize, step), 1..120)
}

/// A thread of the program.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// Number of the thread, which its object has too.
    number: u64,
    name: String,
    open: Vec<u8>,
    is_parked: bool,
    /// True if the park began in an earlier part: its end is not recorded.
    is_park_old: bool,
}

/// Writes a trace in parts.
struct Writer {
    /// True if objects have ids. Then several threads have the same name.
    has_objects: bool,
    threads: Vec<Thread>,
    last_thread: u64,
    time: i64,
    objects: u64,
    part: Part,
    parts: Vec<Vec<Event<'static>>>,
}

/// What a part has defined. Ids count up with each definition.
#[derive(Default)]
struct Part {
    last: u64,
    threads: BTreeMap<u64, ThreadId>,
    methods: BTreeMap<u8, (MethodId, ClassId)>,
    objects: BTreeMap<u64, ()>,
    class: Option<ClassId>,
    tickets: BTreeMap<u64, Vec<u32>>,
    last_tickets: BTreeMap<u64, u32>,
    totals: Totals,
    events: Vec<Event<'static>>,
}

impl Writer {
    fn new(has_objects: bool) -> Self {
        let mut writer = Self {
            has_objects,
            threads: Vec::new(),
            last_thread: 0,
            time: 1000,
            objects: 0,
            part: Part::default(),
            parts: Vec::new(),
        };
        for _ in 0..4 {
            let thread = writer.thread();
            writer.threads.push(thread);
        }
        writer.begin();
        writer
    }

    fn thread(&mut self) -> Thread {
        self.last_thread += 1;
        let number = self.last_thread;
        let name = match self.has_objects {
            true => format!("worker-{}", number % 2),
            false => format!("worker-{number}"),
        };
        // The objects of threads have the first numbers.
        Thread {
            number,
            name,
            ..Thread::default()
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.time)
    }

    fn push(&mut self, event: impl Into<Event<'static>>) {
        self.part.events.push(event.into());
    }

    fn next(&mut self) -> u64 {
        self.part.last += 1;
        self.part.last
    }

    fn begin(&mut self) {
        self.part = Part::default();
        let number = self.parts.len() + 1;
        let time = self.now();
        self.push(Event::Node(Node::default()));
        self.push(Event::TraceStart(TraceStart {
            time,
            ..TraceStart::default()
        }));
        for (key, value) in [("clock", "exact"), ("part", &*number.to_string())] {
            self.push(Event::Option(TraceOption {
                key: key.into(),
                value: value.to_owned().into(),
            }));
        }
        for thread in &mut self.threads {
            thread.is_park_old = thread.is_parked;
        }
        for thread in self.threads.clone() {
            for method in &thread.open {
                self.enter(&thread, *method);
            }
        }
    }

    fn end(&mut self) {
        let open: usize = self.part.tickets.values().map(Vec::len).sum();
        let totals = Totals {
            open: open as u64,
            ..self.part.totals
        };
        let body = Note::Totals(totals).to_string().into();
        self.push(Event::Custom(Custom { body }));
        let time = self.now();
        self.push(Event::TraceEnd(TraceEnd {
            time,
            ..TraceEnd::default()
        }));
        let part = std::mem::take(&mut self.part.events);
        self.parts.push(part);
    }

    fn id(&mut self, thread: &Thread) -> ThreadId {
        if let Some(id) = self.part.threads.get(&thread.number) {
            return *id;
        }
        let time = self.now();
        let object = match self.has_objects {
            true => self.mention(thread.number),
            false => ObjectId::NONE,
        };
        let id = ThreadId(self.next());
        self.part.threads.insert(thread.number, id);
        self.push(Event::ThreadStart(ThreadStart {
            thread: id,
            time,
            object,
            name: thread.name.clone().into(),
            ..ThreadStart::default()
        }));
        id
    }

    fn class(&mut self) -> ClassId {
        if let Some(class) = self.part.class {
            return class;
        }
        let (class, time) = (ClassId(self.next()), self.now());
        self.part.class = Some(class);
        self.push(Event::ClassDef(ClassDef {
            class,
            time,
            name: "demo.Work".into(),
            ..ClassDef::default()
        }));
        class
    }

    fn method(&mut self, method: u8) -> (MethodId, ClassId) {
        if let Some(ids) = self.part.methods.get(&method) {
            return *ids;
        }
        let class = self.class();
        let id = MethodId(self.next());
        self.part.methods.insert(method, (id, class));
        self.push(Event::MethodDef(MethodDef {
            method: id,
            class,
            name: format!("m{method}").into(),
            signature: "()V".into(),
            ..MethodDef::default()
        }));
        (id, class)
    }

    fn mention(&mut self, number: u64) -> ObjectId {
        let object = ObjectId(number);
        if self.part.objects.insert(number, ()).is_none() {
            let (class, time) = (self.class(), self.now());
            self.push(Event::ObjectDef(ObjectDef {
                object,
                time,
                class,
                ..ObjectDef::default()
            }));
        }
        object
    }

    fn enter(&mut self, thread: &Thread, method: u8) {
        let (id, time) = (self.id(thread), self.now());
        let (method, class) = self.method(method);
        let ticket = self.part.last_tickets.entry(thread.number).or_default();
        *ticket += 1;
        let ticket = *ticket;
        let open = self.part.tickets.entry(thread.number).or_default();
        open.push(ticket);
        let stack_depth = open.len() as i64;
        self.part.totals.enters += 1;
        self.push(Event::MethodEnter(MethodEnter {
            thread: id,
            time,
            method,
            class,
            ticket,
            stack_depth,
            ..MethodEnter::default()
        }));
    }

    fn leave(&mut self, place: usize, by_exception: bool) {
        let Some(method) = self.threads[place].open.pop() else {
            return;
        };
        let thread = self.threads[place].clone();
        let (id, time) = (self.id(&thread), self.now());
        let (method, class) = self.method(method);
        let open = self.part.tickets.get_mut(&thread.number);
        let ticket = open.and_then(Vec::pop).expect("an open call");
        self.part.totals.leaves += 1;
        self.push(Event::MethodLeave(MethodLeave {
            thread: id,
            time,
            method,
            class,
            ticket,
            by_exception,
            ..MethodLeave::default()
        }));
    }

    fn step(&mut self, place: usize, step: Step) {
        self.time += 1;
        let time = self.now();
        let thread = self.threads[place].clone();
        match step {
            Step::Enter(method) if !thread.is_parked => {
                self.enter(&thread, method);
                self.threads[place].open.push(method);
            }
            Step::Leave if !thread.is_parked => self.leave(place, false),
            Step::Throw if !thread.is_parked => self.leave(place, true),
            Step::Park => {
                self.threads[place].is_parked = !thread.is_parked;
                self.threads[place].is_park_old = false;
                if thread.is_park_old {
                    return;
                }
                let id = self.id(&thread);
                self.part.totals.parks += 1;
                self.push(match thread.is_parked {
                    true => Event::ThreadUnpark(ThreadUnpark { thread: id, time }),
                    false => Event::ThreadPark(ThreadPark {
                        thread: id,
                        time,
                        ..ThreadPark::default()
                    }),
                });
            }
            Step::Alloc if self.has_objects && !thread.is_parked => {
                let (thread, class) = (self.id(&thread), self.class());
                self.objects += 1;
                // Those of threads are below.
                let object = ObjectId(1000 + self.objects);
                self.part.objects.insert(object.0, ());
                self.part.totals.objects += 1;
                self.push(Event::ObjectAlloc(ObjectAlloc {
                    thread,
                    time,
                    object,
                    class,
                    ..ObjectAlloc::default()
                }));
            }
            Step::Mention(which) if self.objects > 0 => {
                self.mention(1001 + u64::from(which) % self.objects);
            }
            Step::End => {
                if thread.is_parked {
                    self.step(place, Step::Park);
                }
                while !self.threads[place].open.is_empty() {
                    self.leave(place, false);
                }
                let thread = self.id(&thread);
                self.push(Event::ThreadEnd(ThreadEnd { thread, time }));
                self.threads[place] = self.thread();
            }
            Step::Cut => {
                self.end();
                self.begin();
            }
            _ => {}
        }
    }
}

/// Returns the parts of a trace; a whole one without its cuts.
fn written(steps: &[(usize, Step)], has_objects: bool, is_cut: bool) -> Vec<Vec<Event<'static>>> {
    let mut writer = Writer::new(has_objects);
    for (thread, step) in steps {
        match step {
            Step::Cut if !is_cut => writer.time += 1,
            step => writer.step(*thread, *step),
        }
    }
    writer.end();
    writer.parts
}

fn joined(parts: &[Vec<Event<'static>>]) -> Vec<Event<'static>> {
    let mut joiner = Joiner::default();
    let mut all = Vec::new();
    let mut emit = |event: &Event<'_>| all.push(event.clone().into_static());
    for part in parts {
        joiner.begin_part(None, &mut emit);
        for event in part {
            joiner.event(event, &mut emit);
        }
    }
    joiner.end(&mut emit);
    all
}

/// Returns a trace with ids in the order of their first mention, and without what a reader does not
/// need: definitions that are at other places, and which part it is.
fn normal(events: &[Event<'static>]) -> Vec<Event<'static>> {
    let mut threads: BTreeMap<ThreadId, (u64, ThreadStart<'static>)> = BTreeMap::new();
    let mut starts = BTreeMap::new();
    let mut names = BTreeMap::new();
    let mut defined = BTreeMap::new();
    let mut all = Vec::new();
    for event in events {
        match event {
            Event::ThreadStart(start) => _ = starts.insert(start.thread, start.clone()),
            Event::MethodDef(method) => _ = names.insert(method.method, method.name.clone()),
            Event::ObjectDef(object) => {
                assert_eq!(defined.insert(object.object, ()), None, "{event:?}");
            }
            _ => {}
        }
        let is_definition = matches!(
            event,
            Event::ThreadStart(_) | Event::ClassDef(_) | Event::MethodDef(_) | Event::ObjectDef(_)
        );
        let is_part = matches!(event, Event::Option(option) if option.key == "part");
        // The end of a park from one part into the next is where the thread goes on.
        let is_unpark = matches!(event, Event::ThreadUnpark(_));
        if is_definition || is_part || is_unpark {
            continue;
        }
        let mut event = event.clone();
        if let Event::Custom(custom) = &mut event
            && let Some(Note::Totals(totals)) = Note::parse(&custom.body)
        {
            let totals = Totals { parks: 0, ..totals };
            custom.body = Note::Totals(totals).to_string().into();
        }
        event.for_each_id(|id| match id {
            IdMut::Thread(id) if !id.is_none() => {
                let next = threads.len() as u64 + 1;
                let start = &starts[&*id];
                id.0 = threads.entry(*id).or_insert((next, start.clone())).0;
            }
            IdMut::Class(id) if !id.is_none() => id.0 = 1,
            IdMut::Method(id) if !id.is_none() => {
                id.0 = names[&*id][1..].parse::<u64>().expect("a number") + 1;
            }
            _ => {}
        });
        all.push(event);
    }
    // The names and objects of threads, in the order of their first events.
    let mut threads: Vec<_> = threads.into_values().collect();
    threads.sort_by_key(|(number, _)| *number);
    for (_, start) in threads {
        all.push(Event::ThreadStart(ThreadStart {
            thread: ThreadId::NONE,
            time: Timestamp::default(),
            ..start
        }));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_are_joined_to_the_whole_trace(steps in steps(), has_objects in any::<bool>()) {
        let whole = written(&steps, has_objects, false);
        let parts = written(&steps, has_objects, true);
        prop_assert_eq!(normal(&joined(&whole)), normal(&whole[0]));
        let joined = joined(&parts);
        prop_assert_eq!(normal(&joined), normal(&whole[0]));
        // A thread that does something does not wait.
        let mut parked = BTreeSet::new();
        let mut parks = 0;
        for event in &joined {
            match event {
                Event::ThreadPark(park) => {
                    parks += 1;
                    prop_assert!(parked.insert(park.thread));
                }
                Event::ThreadUnpark(unpark) => {
                    parks += 1;
                    prop_assert!(parked.remove(&unpark.thread));
                }
                Event::Custom(custom) => match Note::parse(&custom.body) {
                    Some(Note::Totals(totals)) => prop_assert_eq!(totals.parks, parks),
                    other => prop_assert!(false, "{:?}", other),
                },
                Event::MethodEnter(enter) => prop_assert!(!parked.contains(&enter.thread)),
                Event::MethodLeave(leave) => prop_assert!(!parked.contains(&leave.thread)),
                _ => {}
            }
        }
    }

    #[test]
    fn any_parts_are_joined(parts in prop::collection::vec(trace(), 1..4)) {
        // What is taken once is not taken again: nothing grows without end.
        let count: usize = parts.iter().map(Vec::len).sum();
        prop_assert!(joined(&parts).len() <= 3 * count + 2 * parts.len());
    }
}

#[test]
fn counts_of_lines_and_initialisations_go_on() {
    let thread = ThreadId(1);
    let part = |time: i64, count: u64, ends: bool| {
        let class = ClassId(2);
        let begin = Timestamp(time);
        let mut events = vec![
            Event::TraceStart(TraceStart {
                time: begin,
                ..TraceStart::default()
            }),
            Event::ThreadStart(ThreadStart {
                thread,
                time: begin,
                name: "main".into(),
                ..ThreadStart::default()
            }),
            Event::ClassDef(ClassDef {
                class,
                name: "A".into(),
                ..ClassDef::default()
            }),
            Event::MethodDef(MethodDef {
                method: MethodId(3),
                class,
                name: "a".into(),
                ..MethodDef::default()
            }),
            Event::ClassInitStart(ClassInitStart {
                thread,
                time: begin,
                class,
            }),
            Event::LineCounts(LineCounts {
                method: MethodId(3),
                time: Timestamp(time + 5),
                calls: 1,
                lines: vec![LineCount { line: 7, count }],
            }),
        ];
        if ends {
            events.push(Event::ClassInitEnd(ClassInitEnd {
                thread,
                time: Timestamp(time + 6),
                class,
                failed: false,
            }));
        }
        let totals = Totals {
            initialisations: 1 + u64::from(ends),
            ..Totals::default()
        };
        let body = Note::Totals(totals).to_string().into();
        events.push(Event::Custom(Custom { body }));
        events
    };
    let all = joined(&[part(10, 4, false), part(20, 3, true)]);
    let mut counts = Vec::new();
    let mut initialisations = [0, 0];
    let mut totals = Vec::new();
    for event in &all {
        match event {
            Event::LineCounts(e) => counts.push((e.calls, e.lines[0].line, e.lines[0].count)),
            Event::ClassInitStart(_) => initialisations[0] += 1,
            Event::ClassInitEnd(_) => initialisations[1] += 1,
            Event::Custom(custom) => totals.extend(Note::parse(&custom.body)),
            _ => {}
        }
    }
    assert_eq!(counts, [(1, 7, 4), (2, 7, 7)]);
    assert_eq!(initialisations, [1, 1]);
    let [Note::Totals(totals)] = &totals[..] else {
        panic!("{totals:?}");
    };
    assert_eq!(totals.initialisations, 2);
}
