//! The events before and after those of the threads.

use crate::generate::{Generator, MONITORS, OBJECTS, START, class_id, method_id};
use crate::thread::Other;
use jtrail_model::{
    AgentCreate, AgentDestroy, ClassDef, Event, MethodDef, Node, ObjectDef, ObjectId,
    ProcessCreate, RunStep, RuntimeInitDone, RuntimeShutdown, ThreadEnd, ThreadStart, Timestamp,
    TraceEnd, TraceStart,
};

/// Time between two steps at the end, in ns.
const STEP: i64 = 10;
/// Steps of a run at the end.
const STEPS: u64 = 500;

impl Generator<'_> {
    pub(crate) fn begin(&mut self) {
        let time = Timestamp(START);
        self.event(Event::Node(Node {
            node_id: "node".into(),
            hostname: "host".into(),
            time,
            ..Default::default()
        }));
        self.event(
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
        self.event(
            AgentCreate {
                agent_id: "agent".into(),
                process_id: "process".into(),
                name: "generate_trail".into(),
                time,
                ..Default::default()
            }
            .into(),
        );
        self.event(Event::TraceStart(TraceStart {
            trace_id: "trace".into(),
            agent_id: "agent".into(),
            time,
        }));
        for thread in self
            .threads
            .iter()
            .map(|thread| thread.id)
            .collect::<Vec<_>>()
        {
            self.event(Event::ThreadStart(ThreadStart {
                thread,
                time,
                group: "main".into(),
                parent_group: "system".into(),
                name: format!("worker {thread}").into(),
                ..Default::default()
            }));
        }
        self.define();
        let thread = self.threads[0].id;
        self.event(Event::RuntimeInitDone(RuntimeInitDone { thread, time }));
    }

    fn define(&mut self) {
        let time = Timestamp(START);
        let program = self.program;
        let classes = program.classes.iter().map(String::as_str).chain(OBJECTS);
        for (number, name) in (0..).zip(classes) {
            let source = name.rsplit('.').next().unwrap_or(name);
            self.event(Event::ClassDef(ClassDef {
                class: class_id(number),
                time,
                name: name.to_owned().into(),
                source_name: format!("{source}.java").into(),
                ..Default::default()
            }));
        }
        for (number, (class, name)) in (0..).zip(&program.methods) {
            self.event(Event::MethodDef(MethodDef {
                method: method_id(number),
                class: class_id(u64::from(*class)),
                name: name.clone().into(),
                signature: SIGNATURES[number as usize % SIGNATURES.len()].into(),
                start_line: 10,
                end_line: 20,
            }));
        }
        let class = self.class_of(0);
        for object in (1..=MONITORS).filter(|_| program.has_other_events) {
            self.event(Event::ObjectDef(ObjectDef {
                object: ObjectId(object),
                time,
                size: 16,
                class,
                ..Default::default()
            }));
        }
    }

    /// Returns the number of events that end the trace: of waits, calls and threads, and of the
    /// trace itself.
    pub(crate) fn ending(&self) -> u64 {
        let of = |thread: &crate::thread::Thread| {
            let waits = matches!(thread.other.1, Other::End(_));
            thread.stack.len() as u64 + u64::from(waits) + 1
        };
        self.threads.iter().map(of).sum::<u64>() + 2
    }

    /// Writes the end of the trace. Before that, the first thread calls a method so often that the
    /// trace has `events` events.
    pub(crate) fn end(&mut self, events: u64) {
        for at in 0..self.threads.len() {
            self.now += STEP;
            if let Other::End(wait) = self.threads[at].other.1 {
                self.end_wait(at, wait, self.now);
            }
        }
        let mut left = events - self.written.events - self.ending();
        if left % 2 == 1 {
            left -= 1;
            let (thread, time) = (self.threads[0].id, Timestamp(self.now));
            self.event(Event::RuntimeShutdown(RuntimeShutdown { thread, time }));
        }
        while left > 0 {
            let steps = left.min(STEPS);
            self.run(0, (0..steps).map(|at| RunStep::new(0, at % 2 == 1)));
            left -= steps;
        }
        for at in 0..self.threads.len() {
            let open = self.threads[at].stack.clone();
            let ends = open.iter().rev();
            self.run(at, ends.map(|call| RunStep::new(call.opened.method, true)));
            let (thread, time) = (self.threads[at].id, Timestamp(self.now));
            self.event(Event::ThreadEnd(ThreadEnd { thread, time }));
        }
        let time = Timestamp(self.now);
        self.event(Event::TraceEnd(TraceEnd {
            trace_id: "trace".into(),
            time,
        }));
        self.event(Event::AgentDestroy(AgentDestroy {
            agent_id: "agent".into(),
            time,
        }));
    }

    /// Writes steps of a thread.
    fn run(&mut self, at: usize, steps: impl Iterator<Item = RunStep>) {
        let thread = &mut self.threads[at];
        thread.begin_run();
        for step in steps {
            thread.next = self.now;
            thread.step(step);
            self.now += STEP;
        }
        thread.end_run();
        self.write_run(at);
    }
}

const SIGNATURES: [&str; 4] = [
    "(I)J",
    "(Ljava/lang/String;)Ljava/util/List;",
    "()V",
    "(ILjava/lang/Object;[J)Z",
];
