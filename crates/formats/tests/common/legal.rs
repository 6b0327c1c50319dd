//! Sound traces that a log profile stores without loss, made from random numbers.

use jtrail_formats::mlpd::DataVersion;
use jtrail_model::*;

const START: i64 = 1_700_000_000_123_456_789;
const TYPES: [&str; 5] = ["", "I", "J[[B", "[Ljava/lang/String;", "La/é$1;Z"];
const CLASSES: [&str; 5] = ["a.B", "a.C$1", "[I", "[La.B;", "é"];

/// Generates a trace step by step.
#[derive(Debug)]
pub struct Legal {
    version: DataVersion,
    time: i64,
    pub events: Vec<Event<'static>>,
    /// Class of each method, with the text of its stack frame.
    methods: Vec<(ClassId, String)>,
    classes: u64,
    threads: Vec<Thread>,
    next_thread: u64,
    objects: u64,
    collecting: bool,
    heap: i64,
    dumps: u64,
}

#[derive(Debug)]
struct Thread {
    id: ThreadId,
    calls: Vec<(MethodId, ClassId, u32)>,
    tickets: u32,
    blocked: Option<ObjectId>,
}

impl Legal {
    pub fn new(version: DataVersion) -> Self {
        let time = Timestamp(START);
        let (number, parameters) = match version {
            DataVersion::V1 => ("0.1", ""),
            DataVersion::V17 => ("3.0", "format=mlpd,mlpd.version=17"),
        };
        let events = vec![
            Event::Node(Node {
                time,
                ..Default::default()
            }),
            ProcessCreate {
                pid: 4711,
                time,
                ..Default::default()
            }
            .into(),
            AgentCreate {
                name: "log profiler".into(),
                version: number.into(),
                parameters: parameters.into(),
                time,
                ..Default::default()
            }
            .into(),
            Event::TraceStart(TraceStart {
                time: Timestamp(START + 5),
                ..Default::default()
            }),
        ];
        Self {
            version,
            time: START + 5,
            events,
            methods: Vec::new(),
            classes: 0,
            threads: Vec::new(),
            next_thread: 1,
            objects: 0,
            collecting: false,
            heap: 0,
            dumps: 0,
        }
    }

    fn v17(&self) -> bool {
        self.version == DataVersion::V17
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.time)
    }

    fn thread_start(&mut self) {
        let thread = ThreadId(self.next_thread);
        self.next_thread += 1;
        self.events.push(Event::ThreadStart(ThreadStart {
            thread,
            time: self.now(),
            name: format!("wörker {thread}").into(),
            ..Default::default()
        }));
        self.threads.push(Thread {
            id: thread,
            calls: Vec::new(),
            tickets: 0,
            blocked: None,
        });
    }

    fn class(&mut self, number: usize) {
        self.classes += 1;
        let name = match CLASSES.get(number % 8) {
            Some(name) => (*name).to_owned(),
            None => format!("gen.Class{}", self.classes),
        };
        let class = ClassId(self.classes);
        self.events.push(Event::ClassDef(ClassDef {
            class,
            time: self.now(),
            name: name.clone().into(),
            ..Default::default()
        }));
        for types in &TYPES[..1 + number % TYPES.len()] {
            let constructor = types.len() % 2 == 1;
            let name_of = if constructor { "<init>" } else { "run" };
            let result = if constructor { "V" } else { "" };
            let signature = format!("({types}){result}");
            let text = format!("{name}.{name_of}{signature}");
            self.methods.push((class, text));
            self.events.push(Event::MethodDef(MethodDef {
                method: MethodId(self.methods.len() as u64),
                class,
                name: name_of.into(),
                signature: signature.into(),
                ..Default::default()
            }));
            if !number.is_multiple_of(3) {
                self.events.push(Event::MethodDetail(MethodDetail {
                    method: MethodId(self.methods.len() as u64),
                    size: (number % 70_000) as i64 + 1,
                }));
            }
        }
    }

    /// Returns the frame of a method; no earlier method has a frame with the same text.
    fn frame(&self, number: usize) -> Frame<'static> {
        let (_, text) = &self.methods[number % self.methods.len()];
        Frame {
            method: text.clone().into(),
            line: -1,
        }
    }

    fn object(&mut self, number: usize) -> ObjectId {
        ObjectId(1 + number as u64 % self.objects.max(1))
    }

    /// Appends a step that three numbers choose.
    pub fn step(&mut self, (what, number, gap): (u8, usize, u32)) {
        self.time += 1 + i64::from(gap);
        if self.threads.is_empty() || (what == 0 && self.threads.len() < 6) {
            return self.thread_start();
        }
        if self.methods.is_empty() || what == 1 {
            return self.class(number);
        }
        let time = self.now();
        let at = number % self.threads.len();
        let thread = self.threads[at].id;
        let object = self.object(number);
        let (class, _) = self.methods[number % self.methods.len()];
        let v17 = self.v17();
        match what {
            2 if self.threads[at].calls.is_empty() && self.threads[at].blocked.is_none() => {
                self.threads.remove(at);
                self.events
                    .push(Event::ThreadEnd(ThreadEnd { thread, time }));
            }
            3 => self.events.push(Event::ThreadName(ThreadName {
                thread,
                time,
                name: format!("again {number}").into(),
            })),
            4..=6 => {
                self.objects += 1;
                let name = self.class_name(class);
                self.events.push(Event::ObjectAlloc(ObjectAlloc {
                    thread: if what == 4 { ThreadId::NONE } else { thread },
                    time,
                    kind: match name {
                        "[I" => ObjectKind::INT,
                        "[La.B;" => ObjectKind::REFERENCES,
                        _ => ObjectKind::PLAIN,
                    },
                    object: ObjectId(self.objects),
                    size: number as i64 % 1000,
                    line: 0,
                    method: if what == 5 {
                        MethodId::NONE
                    } else {
                        MethodId(1 + (number % self.methods.len()) as u64)
                    },
                    class,
                }));
            }
            7 => self.collection(number),
            8 => self.monitor(at, number),
            9 => {
                let stack = vec![self.frame(number), self.frame(number / 3)];
                self.events.push(Event::ExceptionThrow(ExceptionThrow {
                    thread,
                    time,
                    object,
                    class,
                    stack,
                }));
            }
            10 => {
                let frame = self.frame(number);
                // A handler at entry 0 that does not catch everything is written like an unknown
                // handler. So this generator makes no such handlers.
                if !number.is_multiple_of(4) {
                    self.events.push(Event::CatchDetail(CatchDetail {
                        thread,
                        time,
                        entry: (number % 4 - 1) as u64 * 200,
                        takes_all: number % 4 == 1 || number % 8 > 4,
                    }));
                }
                self.events.push(Event::ExceptionCatch(ExceptionCatch {
                    thread,
                    time,
                    object: if v17 { object } else { ObjectId::NONE },
                    class,
                    frame,
                }));
            }
            11 if !self.collecting => self.dump(number),
            12 => self.events.push(Event::MethodCompile(MethodCompile {
                method: MethodId(1 + (number % self.methods.len()) as u64),
                time,
                address: 0x7f00_0000_0001 + number as u64,
                size: number as i64 % 5000,
                ranges: Vec::new(),
            })),
            13 => self.events.push(
                ClassDetail {
                    class,
                    time,
                    loader: format!("loader {}", self.events.len()).into(),
                    ..Default::default()
                }
                .into(),
            ),
            14 if !v17 => self
                .events
                .push(Event::ClassUnload(ClassUnload { class, time })),
            what if what % 2 == 0 => self.enter(at, number),
            _ => self.leave(at, number.is_multiple_of(3)),
        }
    }

    fn class_name(&self, class: ClassId) -> &str {
        let named = self.events.iter().find_map(|event| match event {
            Event::ClassDef(e) if e.class == class => Some(&*e.name),
            _ => None,
        });
        named.unwrap_or_default()
    }

    fn enter(&mut self, at: usize, number: usize) {
        let time = self.now();
        let method = MethodId(1 + (number % self.methods.len()) as u64);
        let (class, _) = self.methods[number % self.methods.len()];
        let thread = &mut self.threads[at];
        thread.tickets += 1;
        thread.calls.push((method, class, thread.tickets));
        self.events.push(Event::MethodEnter(MethodEnter {
            thread: thread.id,
            time,
            method,
            class,
            ticket: thread.tickets,
            cpu_time: Duration(0),
            stack_depth: thread.calls.len() as i64,
        }));
    }

    fn leave(&mut self, at: usize, by_exception: bool) {
        let time = self.now();
        let thread = &mut self.threads[at];
        if let Some((method, class, ticket)) = thread.calls.pop() {
            self.events.push(Event::MethodLeave(MethodLeave {
                thread: thread.id,
                time,
                method,
                class,
                ticket,
                cpu_time: Duration(0),
                by_exception,
            }));
        }
    }

    fn collection(&mut self, number: usize) {
        let time = self.now();
        self.collecting = !self.collecting;
        if self.collecting {
            return self.events.push(Event::GcStart(GcStart { time }));
        }
        if number.is_multiple_of(3) {
            self.heap += 4096;
        }
        self.events.push(Event::GcDetail(GcDetail {
            time,
            // The batch with the collection's start may have ended already. The details were not
            // known at that time.
            generation: Generation::Young,
            ..Default::default()
        }));
        self.events.push(Event::GcFinish(GcFinish {
            time,
            total_space: self.heap,
            ..Default::default()
        }));
    }

    fn monitor(&mut self, at: usize, number: usize) {
        let (time, object) = (self.now(), self.object(number));
        let stack = match number % 3 {
            0 => Vec::new(),
            _ => vec![self.frame(number)],
        };
        let thread = &mut self.threads[at];
        let id = thread.id;
        let event = match thread.blocked.take() {
            Some(object) => Event::MonitorContendedEntered(MonitorContendedEntered {
                thread: id,
                time,
                object,
                stack: if self.version == DataVersion::V17 {
                    stack
                } else {
                    Vec::new()
                },
            }),
            None => {
                thread.blocked = Some(object);
                Event::MonitorContendedEnter(MonitorContendedEnter {
                    thread: id,
                    time,
                    object,
                    owner: ThreadId::NONE,
                    stack,
                })
            }
        };
        self.events.push(event);
    }

    fn dump(&mut self, number: usize) {
        self.dumps += 1;
        let dump = HeapDumpId(self.dumps);
        self.events.push(Event::HeapDump(HeapDump {
            dump,
            time: self.now(),
            name: "".into(),
            base_time: Timestamp(START + 5),
        }));
        let count = self.objects.min(20);
        for object in (1..=count).map(ObjectId) {
            if self.v17() && number as u64 % 5 == object.0 % 5 {
                self.events.push(Event::GcRoot(GcRoot {
                    class: ClassId::NONE,
                    object,
                    kind: ["JNI_GLOBAL", "OTHER"][number % 2].into(),
                }));
            }
            self.events.push(Event::HeapObject(HeapObject {
                dump,
                object,
                class: ClassId(1 + object.0 % self.classes),
                size: 1 + number as i64 % 64,
            }));
            // References from this object, and from the first one.
            for source in [object, ObjectId(1)] {
                self.events.push(Event::ObjectReference(ObjectReference {
                    source,
                    target: ObjectId(1 + (number as u64 + object.0) % count),
                    dump,
                }));
            }
        }
        self.time += 1000;
        self.events.push(Event::HeapDumpEnd(HeapDumpEnd {
            dump,
            time: self.now(),
        }));
    }

    /// Ends the trace and returns its events.
    pub fn finish(mut self) -> Vec<Event<'static>> {
        self.time += 1;
        let (time, trace_id, agent_id) = (self.now(), "".into(), "".into());
        self.events
            .push(Event::TraceEnd(TraceEnd { trace_id, time }));
        self.events
            .push(Event::AgentDestroy(AgentDestroy { agent_id, time }));
        self.events
    }
}

/// Returns the trace of these steps.
pub fn trace(version: DataVersion, steps: &[(u8, usize, u32)]) -> Vec<Event<'static>> {
    let mut legal = Legal::new(version);
    steps.iter().for_each(|step| legal.step(*step));
    legal.finish()
}
