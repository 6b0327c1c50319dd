//! A trace like that of a big program, generated event by event so that its length costs no memory.
//!
//! The trace has as many methods and classes as `javac` of JDK 25 uses, including those of the JDK
//! (`docs/real-programs.md`). Each is defined at its first use. Threads take turns in runs of
//! events, like those that the agent's writer hands on. A method usually calls the same callee, and
//! sometimes one of a few others. So there are many call paths, and some are far more frequent than
//! others.
//!
//! [`spelling`] holds the ways to write a trace.

#[path = "../../tests/common/spelling.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the tests use the rest of it"
)]
pub(crate) mod spelling;

use jtrail_model::{
    AgentCreate, AgentDestroy, ClassDef, ClassDetail, ClassId, Duration, Event, Member, MethodDef,
    MethodEnter, MethodId, MethodLeave, Node, ProcessCreate, RuntimeInitDone, ThreadId,
    ThreadStart, Timestamp, TraceEnd, TraceStart,
};

/// Number of methods of all classes together.
const METHODS: u64 = 33_000;
/// Number of methods per class.
const OF_ONE_CLASS: u64 = 11;
/// Maximum number of open calls on a thread.
const MAX_DEPTH: usize = 120;
/// Number of consecutive events of one thread.
const RUN: u64 = 4096;
const START: i64 = 1_700_000_000_000_000_000;

/// Generator of the trace, with its state so far.
pub(crate) struct Workload {
    threads: Vec<Thread>,
    time: i64,
    random: u64,
    /// Number of ids assigned so far, for threads, classes and methods together.
    ids: u64,
    classes: Vec<ClassId>,
    methods: Vec<MethodId>,
}

struct Thread {
    id: ThreadId,
    tickets: u32,
    /// Method number and ticket of each open call.
    stack: Vec<(u64, u32)>,
}

impl Workload {
    /// Returns a generator for a trace of `threads` threads.
    pub(crate) fn new(threads: u64) -> Self {
        let thread = |id| Thread {
            id: ThreadId(id),
            tickets: 0,
            stack: Vec::with_capacity(MAX_DEPTH),
        };
        Self {
            threads: (1..=threads).map(thread).collect(),
            time: START,
            random: 88_172_645_463_325_252,
            ids: threads,
            classes: vec![ClassId::NONE; METHODS.div_ceil(OF_ONE_CLASS) as usize],
            methods: vec![MethodId::NONE; METHODS as usize],
        }
    }

    /// Passes a whole trace to `event`: `calls` enters and leaves, and the definitions that they
    /// need.
    pub(crate) fn each(&mut self, calls: u64, mut event: impl FnMut(Event<'static>)) {
        self.begin(&mut event);
        for number in 0..calls {
            let slot = (number / RUN) as usize % self.threads.len();
            self.call(slot, &mut event);
        }
        let time = Timestamp(self.time);
        event(Event::TraceEnd(TraceEnd {
            time,
            ..Default::default()
        }));
        event(Event::AgentDestroy(AgentDestroy {
            agent_id: "agent".into(),
            time,
        }));
    }

    fn begin(&mut self, event: &mut impl FnMut(Event<'static>)) {
        let time = Timestamp(self.time);
        event(Event::Node(Node {
            node_id: "node".into(),
            hostname: "host".into(),
            time,
            ..Default::default()
        }));
        event(
            ProcessCreate {
                process_id: "process".into(),
                name: "java".into(),
                pid: 4711,
                node_id: "node".into(),
                time,
                ..Default::default()
            }
            .into(),
        );
        event(
            AgentCreate {
                agent_id: "agent".into(),
                process_id: "process".into(),
                name: "jtrail".into(),
                time,
                ..Default::default()
            }
            .into(),
        );
        event(Event::TraceStart(TraceStart {
            trace_id: "trace".into(),
            agent_id: "agent".into(),
            time,
        }));
        for thread in &self.threads {
            event(Event::ThreadStart(ThreadStart {
                thread: thread.id,
                time,
                group: "main".into(),
                parent_group: "system".into(),
                name: format!("worker {}", thread.id).into(),
                ..Default::default()
            }));
        }
        let thread = self.threads[0].id;
        event(Event::RuntimeInitDone(RuntimeInitDone { thread, time }));
    }

    /// Enters or leaves a method.
    fn call(&mut self, slot: usize, event: &mut impl FnMut(Event<'static>)) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let random = self.random;
        self.time += (random % 400) as i64;
        let depth = self.threads[slot].stack.len();
        let down = depth == 0 || (depth < MAX_DEPTH && random & 0x1000 != 0);
        let number = match self.threads[slot].stack.last() {
            Some((number, _)) if !down => *number,
            // Seven of eight calls go to the caller's first callee, the others to one of four.
            Some((caller, _)) => {
                let callee = match random >> 20 & 7 {
                    0 => 1 + (random >> 24) % 4,
                    _ => 0,
                };
                (caller * 31 + callee * 7919 + 1) % METHODS
            }
            None => (random >> 24) % METHODS,
        };
        if down {
            self.define(number, event);
        }
        let (method, class) = (self.method(number), self.class(number));
        let time = Timestamp(self.time);
        let thread = &mut self.threads[slot];
        if down {
            thread.tickets = thread.tickets.wrapping_add(1);
            thread.stack.push((number, thread.tickets));
            event(Event::MethodEnter(MethodEnter {
                thread: thread.id,
                time,
                method,
                class,
                ticket: thread.tickets,
                cpu_time: Duration(0),
                stack_depth: thread.stack.len() as i64,
            }));
        } else if let Some((_, ticket)) = thread.stack.pop() {
            event(Event::MethodLeave(MethodLeave {
                thread: thread.id,
                time,
                method,
                class,
                ticket,
                cpu_time: Duration(0),
                by_exception: false,
            }));
        }
    }

    fn class(&self, method: u64) -> ClassId {
        self.classes[(method / OF_ONE_CLASS) as usize]
    }

    fn method(&self, method: u64) -> MethodId {
        self.methods[method as usize]
    }

    /// Defines a method, and its class, before the method's first use.
    fn define(&mut self, number: u64, event: &mut impl FnMut(Event<'static>)) {
        if !self.method(number).is_none() {
            return;
        }
        let time = Timestamp(self.time);
        let of_class = number / OF_ONE_CLASS;
        if self.class(number).is_none() {
            self.ids += 1;
            let class = ClassId(self.ids);
            self.classes[of_class as usize] = class;
            event(Event::ClassDef(ClassDef {
                class,
                time,
                name: format!("com.example.compiler.tree.Class{of_class}").into(),
                source_name: format!("Class{of_class}.java").into(),
                ..Default::default()
            }));
            let first = of_class * OF_ONE_CLASS;
            let member = |number| Member {
                name: format!("method{number}").into(),
                signature: signature(number).into(),
                access: 1,
            };
            event(
                ClassDetail {
                    class,
                    time,
                    access: 0x21,
                    super_name: "java.lang.Object".into(),
                    loader: "app".into(),
                    size: 4096,
                    methods: (first..first + OF_ONE_CLASS).map(member).collect(),
                    ..Default::default()
                }
                .into(),
            );
        }
        self.ids += 1;
        let method = MethodId(self.ids);
        self.methods[number as usize] = method;
        event(Event::MethodDef(MethodDef {
            method,
            class: self.class(number),
            name: format!("method{number}").into(),
            signature: signature(number).into(),
            start_line: 10,
            end_line: 20,
        }));
    }
}

fn signature(method: u64) -> &'static str {
    [
        "()V",
        "(I)Z",
        "(Ljava/lang/String;)Ljava/util/List;",
        "(ILjava/lang/Object;[J)V",
    ][method as usize % 4]
}
