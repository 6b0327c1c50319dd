//! Trace logs of random traces, and damaged logs.

use crate::common::check::check;
use crate::common::random::event;
use crate::common::tracelog as log;
use crate::common::{decode, decode_pieces, every_event, shown};
use jtrail_formats::tracelog::{Collection, Decoder, Encoder, Settings};
use jtrail_formats::{Decode, Encode, Format, Severity, Step};
use jtrail_model::*;
use log::check_log;
use proptest::prelude::*;
use std::collections::HashMap;

fn encoded(mut encoder: impl Encode, events: &[Event<'_>]) -> String {
    let out = crate::common::written_by(&mut encoder, events);
    String::from_utf8(out).expect("UTF-8")
}

/// Returns the events of a log. Panics if a strict reader refuses the log.
fn strictly(log: &str) -> Vec<Event<'static>> {
    let mut decoder = Decoder::strict();
    let (mut rest, mut events) = (log.as_bytes(), Vec::new());
    loop {
        let decoded = decoder
            .step(rest, true)
            .unwrap_or_else(|e| panic!("{e}\n{log}"));
        rest = &rest[decoded.used..];
        match decoded.step {
            Step::Event(event) => events.push(owned(event)),
            Step::Nothing => {}
            Step::End => return events,
            other => panic!("{other:?}\n{log}"),
        }
    }
}

/// Returns the event as an owned one. Events of this decoder do not borrow from its input.
fn owned(event: Event<'_>) -> Event<'static> {
    match event {
        Event::Node(e) => Event::Node(Node {
            timezone: e.timezone,
            time: e.time,
            ..Default::default()
        }),
        Event::ProcessCreate(e) => ProcessCreate {
            name: e.name.into_owned().into(),
            pid: e.pid,
            time: e.time,
            ..Default::default()
        }
        .into(),
        Event::AgentCreate(e) => AgentCreate {
            agent_type: e.agent_type.into_owned().into(),
            time: e.time,
            ..Default::default()
        }
        .into(),
        Event::TraceStart(e) => Event::TraceStart(TraceStart {
            time: e.time,
            ..Default::default()
        }),
        Event::Option(e) => Event::Option(TraceOption {
            key: e.key.into_owned().into(),
            value: e.value.into_owned().into(),
        }),
        Event::ThreadStart(e) => Event::ThreadStart(ThreadStart {
            thread: e.thread,
            time: e.time,
            name: e.name.into_owned().into(),
            ..Default::default()
        }),
        Event::ClassDef(e) => Event::ClassDef(ClassDef {
            class: e.class,
            time: e.time,
            name: e.name.into_owned().into(),
            ..Default::default()
        }),
        Event::ClassDetail(e) => ClassDetail {
            class: e.class,
            time: e.time,
            loader: e.loader.into_owned().into(),
            ..Default::default()
        }
        .into(),
        Event::MethodDef(e) => Event::MethodDef(MethodDef {
            method: e.method,
            class: e.class,
            name: e.name.into_owned().into(),
            signature: e.signature.into_owned().into(),
            ..Default::default()
        }),
        Event::MethodCompile(e) => Event::MethodCompile(MethodCompile {
            method: e.method,
            time: e.time,
            address: e.address,
            size: e.size,
            ranges: e
                .ranges
                .into_iter()
                .map(|r| CodeRange {
                    offset: r.offset,
                    frames: frames(r.frames),
                })
                .collect(),
        }),
        Event::Sample(e) => Event::Sample(Sample {
            thread: e.thread,
            time: e.time,
            state: e.state,
            ticks: e.ticks,
            stack: frames(e.stack),
        }),
        Event::GcDetail(e) => Event::GcDetail(GcDetail {
            time: e.time,
            collector: e.collector.into_owned().into(),
            cause: e.cause.into_owned().into(),
            generation: e.generation,
        }),
        Event::LiveObjects(e) => Event::LiveObjects(e),
        Event::MethodEnter(e) => Event::MethodEnter(e),
        Event::MethodLeave(e) => Event::MethodLeave(e),
        Event::ThreadEnd(e) => Event::ThreadEnd(e),
        Event::ThreadOsId(e) => Event::ThreadOsId(e),
        Event::ThreadCpu(e) => Event::ThreadCpu(e),
        Event::ProcessCpu(e) => Event::ProcessCpu(e),
        Event::AllocationSum(e) => Event::AllocationSum(e),
        Event::GcStart(e) => Event::GcStart(e),
        Event::GcFinish(e) => Event::GcFinish(e),
        Event::TracePause(e) => Event::TracePause(e),
        Event::TraceResume(e) => Event::TraceResume(e),
        other => panic!("this format has no {other:?}"),
    }
}

fn frames(frames: Vec<Frame<'_>>) -> Vec<Frame<'static>> {
    let owned = |f: Frame<'_>| Frame {
        method: f.method.into_owned().into(),
        line: f.line,
    };
    frames.into_iter().map(owned).collect()
}

/// A step of [`Machine`], chosen by numbers.
#[derive(Clone, Copy, Debug)]
struct Choice {
    what: u8,
    thread: u8,
    which: u8,
    after: u32,
}

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let after = prop_oneof![Just(0_u32), 0_u32..400_000, 0_u32..30_000_000];
    let choice = (0_u8..100, 0_u8..4, 0_u8..6, after);
    let choice = choice.prop_map(|(what, thread, which, after)| Choice {
        what,
        thread,
        which,
        after,
    });
    prop::collection::vec(choice, 0..120)
}

const START: i64 = 1_767_323_045_678_000_000;
const CLASS_NAMES: [&str; 6] = ["a.A", "b.B$C", "[I", "[[La.A;", "D", "e.\"odd\" \\u0041"];
const SIGNATURES: [&str; 6] = [
    "()V",
    "(I)I",
    "([Ljava/lang/String;)V",
    "(JLa/A;)[[D",
    "(Lint;)Lvoid;",
    "",
];

/// An open call: method, class, ticket, and whether the log contains the call.
type Call = (MethodId, ClassId, u32, bool);

/// A reported CPU time: thread, millisecond, microseconds so far.
type Cpu = (u64, i64, i64);

/// A generator of a sound trace. It also has what the trace's log must contain: calls by thread,
/// and counts.
#[derive(Default)]
struct Machine {
    events: Vec<Event<'static>>,
    time: i64,
    stacks: Vec<(ThreadId, Vec<Call>, u32)>,
    threads: u64,
    objects: Vec<(u64, ClassId, i64)>,
    next_object: u64,
    cpu: i64,
    calls: HashMap<ThreadId, Vec<String>>,
    samples: Vec<(String, u128)>,
    allocated: HashMap<String, (u64, u64)>,
    /// Number and bytes of allocated objects by thread, open calls and class.
    sites: HashMap<String, (u64, u64)>,
    collections: usize,
    paused: bool,
    /// CPU times for which the log has a line. `cpu_reported` holds each thread's last one.
    cpu_lines: Vec<Cpu>,
    cpu_reported: HashMap<ThreadId, (i64, i64)>,
    /// Method, millisecond, address and size of each compilation.
    compiled: Vec<(String, i64, u64, i64)>,
}

impl Machine {
    fn ms(&self) -> i64 {
        self.time / 1_000_000
    }

    /// Expects a line of CPU time in the log, if one is due. The CPU time of a call gives a line
    /// only if 10 ms have passed since the thread's last line.
    fn cpu_line(&mut self, thread: ThreadId, cpu: i64, of_call: bool) {
        let ms = self.ms();
        let last = self.cpu_reported.get(&thread).copied();
        if self.paused || of_call && last.is_some_and(|(at, _)| ms < at + 10) {
            return;
        }
        let used = last.map_or(0, |(_, us)| us).max(cpu / 1000);
        self.cpu_reported.insert(thread, (ms, used));
        self.cpu_lines.push((thread.0 + 1, ms, used));
    }

    /// Ends all open calls, as a pause does in the log. Their later leaves are not in the log.
    fn leave_all(&mut self) {
        let ms = self.ms();
        for (thread, stack, _) in &mut self.stacks {
            for (method, .., written) in stack.iter_mut().rev() {
                if std::mem::take(written) {
                    let calls = self.calls.entry(*thread).or_default();
                    calls.push(format!("-m{} {ms}", method.0 - 100));
                }
            }
        }
    }

    fn run(choices: &[Choice], events: Option<&'static str>) -> Self {
        let mut machine = Self {
            time: START,
            ..Self::default()
        };
        let time = Timestamp(START);
        machine.events.push(Event::Node(Node {
            time,
            ..Default::default()
        }));
        machine.events.push(Event::TraceStart(TraceStart {
            time,
            ..Default::default()
        }));
        if let Some(value) = events {
            machine.events.push(Event::Option(TraceOption {
                key: "events".into(),
                value: value.into(),
            }));
        }
        for (class, name) in (1..).zip(CLASS_NAMES) {
            machine.events.push(Event::ClassDef(ClassDef {
                class: ClassId(class),
                time,
                name: name.into(),
                ..Default::default()
            }));
            if class % 2 == 0 {
                machine.events.push(
                    ClassDetail {
                        class: ClassId(class),
                        time,
                        loader: format!("loader {}", class % 4).into(),
                        ..Default::default()
                    }
                    .into(),
                );
            }
        }
        for at in 0..6 {
            machine.events.push(Event::MethodDef(MethodDef {
                method: MethodId(100 + at),
                class: ClassId(1 + at % 2),
                name: format!("m{at}").into(),
                signature: SIGNATURES[at as usize].into(),
                ..Default::default()
            }));
        }
        choices.iter().for_each(|choice| machine.step(*choice));
        machine
    }

    fn step(&mut self, c: Choice) {
        self.time += i64::from(c.after);
        let time = Timestamp(self.time);
        let class = ClassId(1 + u64::from(c.which));
        if self.stacks.is_empty() || c.what == 0 {
            self.threads += 1;
            let thread = ThreadId(self.threads);
            self.stacks.push((thread, Vec::new(), 0));
            self.events.push(Event::ThreadStart(ThreadStart {
                thread,
                time,
                ..Default::default()
            }));
            return;
        }
        let place = usize::from(c.thread) % self.stacks.len();
        let (thread, stack, ticket) = &mut self.stacks[place];
        let thread = *thread;
        let method = MethodId(100 + u64::from(c.which));
        let of = ClassId(1 + u64::from(c.which) % 2);
        match c.what {
            1..40 => {
                *ticket += 1;
                stack.push((method, of, *ticket, !self.paused));
                let cpu = if c.which == 5 { self.time - START } else { 0 };
                self.events.push(Event::MethodEnter(MethodEnter {
                    thread,
                    time,
                    method,
                    class: of,
                    ticket: *ticket,
                    stack_depth: stack.len() as i64,
                    cpu_time: Duration(cpu),
                }));
                if !self.paused {
                    let call = format!("+m{} {}", c.which, self.ms());
                    self.calls.entry(thread).or_default().push(call);
                }
                if cpu != 0 {
                    self.cpu_line(thread, cpu, true);
                }
            }
            40..70 => {
                if let Some((method, class, ticket, written)) = stack.pop() {
                    self.events.push(Event::MethodLeave(MethodLeave {
                        thread,
                        time,
                        method,
                        class,
                        ticket,
                        by_exception: c.which == 0,
                        ..Default::default()
                    }));
                    if written {
                        let call = format!("-m{} {}", method.0 - 100, self.ms());
                        self.calls.entry(thread).or_default().push(call);
                    }
                }
            }
            70..80 => {
                self.next_object += 1;
                let size = 8 * i64::from(c.after % 9);
                self.objects.push((self.next_object, class, size));
                self.events.push(Event::ObjectAlloc(ObjectAlloc {
                    thread,
                    time,
                    object: ObjectId(self.next_object),
                    size,
                    class,
                    ..Default::default()
                }));
                if self.paused {
                    return;
                }
                let class = CLASS_NAMES[usize::from(c.which)];
                let calls: Vec<_> = stack
                    .iter()
                    .filter(|(.., written)| *written)
                    .map(|(m, ..)| format!("m{}", m.0 - 100))
                    .collect();
                let site = site(thread.0 + 1, &calls, class);
                for (sums, key) in [(&mut self.allocated, class.into()), (&mut self.sites, site)] {
                    let sum = sums.entry(key).or_default();
                    *sum = (sum.0 + 1, sum.1 + size as u64);
                }
            }
            80..84 => {
                self.collections += usize::from(!self.paused);
                self.events.push(Event::GcStart(GcStart { time }));
                self.events.push(Event::GcFinish(GcFinish {
                    time,
                    ..Default::default()
                }));
                for _ in 0..c.which {
                    if let Some((object, ..)) = self.objects.pop() {
                        self.events.push(Event::ObjectFree(ObjectFree {
                            time,
                            object: ObjectId(object),
                            age: 1,
                        }));
                    }
                }
            }
            84..94 => {
                let frame = |at: u64| Frame {
                    method: frame_text(at).into(),
                    line: -1,
                };
                let stack: Vec<_> = (0..u64::from(c.which))
                    .map(|at| frame((at * at + u64::from(c.thread)) % 6))
                    .collect();
                let ticks = match c.after % 8 {
                    0 => u64::MAX,
                    1 => 3,
                    _ => 1,
                };
                if !self.paused {
                    self.samples
                        .push((format!("{} {stack:?}", thread.0), ticks.into()));
                }
                self.events.push(Event::Sample(Sample {
                    thread,
                    time,
                    state: ThreadState::Runnable,
                    ticks: Ticks::new(ticks).expect("not 0"),
                    stack,
                }));
            }
            94..96 => {
                self.cpu += i64::from(c.after);
                let cpu_time = Duration(self.time - START + self.cpu);
                self.events.push(Event::ThreadCpu(ThreadCpu {
                    thread,
                    time,
                    cpu_time,
                }));
                self.cpu_line(thread, cpu_time.0, false);
            }
            96 => {
                let compile = MethodCompile {
                    method,
                    time,
                    address: 4096 * u64::from(c.after),
                    size: 99,
                    ranges: vec![CodeRange {
                        offset: 7,
                        frames: vec![Frame {
                            method: "x".into(),
                            line: 5,
                        }],
                    }],
                };
                let name = format!("m{}", c.which);
                self.compiled
                    .push((name, self.ms(), compile.address, compile.size));
                self.events.push(Event::MethodCompile(compile));
            }
            97 if stack.is_empty() => {
                self.stacks.remove(place);
                self.events
                    .push(Event::ThreadEnd(ThreadEnd { thread, time }));
            }
            98 | 99 if self.paused => {
                self.paused = false;
                self.events.push(Event::TraceResume(TraceResume { time }));
            }
            98 => {
                self.leave_all();
                self.paused = true;
                self.events.push(Event::TracePause(TracePause { time }));
            }
            _ => {}
        }
    }

    fn calls(&self) -> HashMap<u64, Vec<String>> {
        // Thread ids in the log are higher by one, because the first thread stands for the process.
        self.calls
            .iter()
            .map(|(thread, calls)| (thread.0 + 1, calls.clone()))
            .collect()
    }
}

fn frame_text(at: u64) -> String {
    format!(
        "{}.m{at}{}",
        CLASS_NAMES[(at % 2) as usize],
        SIGNATURES[at as usize]
    )
}

/// Returns the calls in the log, by thread.
fn calls_of(events: &[Event<'_>]) -> HashMap<u64, Vec<String>> {
    let mut names = HashMap::new();
    let mut calls: HashMap<u64, Vec<String>> = HashMap::new();
    for event in events {
        let (thread, call) = match event {
            Event::MethodDef(e) => {
                names.insert(e.method, e.name.clone().into_owned());
                continue;
            }
            Event::MethodEnter(e) => (
                e.thread,
                format!("+{} {}", names[&e.method], e.time.0 / 1_000_000),
            ),
            Event::MethodLeave(e) => (
                e.thread,
                format!("-{} {}", names[&e.method], e.time.0 / 1_000_000),
            ),
            _ => continue,
        };
        calls.entry(thread.0).or_default().push(call);
    }
    calls
}

/// Returns the CPU times of threads in the log.
fn cpu_of(events: &[Event<'_>]) -> Vec<Cpu> {
    let line = |e: &Event<'_>| match e {
        Event::ThreadCpu(e) => Some((e.thread.0, e.time.0 / 1_000_000, e.cpu_time.0 / 1000)),
        _ => None,
    };
    events.iter().filter_map(line).collect()
}

/// Returns the compilations in the log.
fn compiled(events: &[Event<'_>]) -> Vec<(String, i64, u64, i64)> {
    let mut names = HashMap::new();
    let mut compiled = Vec::new();
    for event in events {
        match event {
            Event::MethodDef(e) => drop(names.insert(e.method, e.name.clone().into_owned())),
            Event::MethodCompile(e) => {
                let name = names[&e.method].clone();
                compiled.push((name, e.time.0 / 1_000_000, e.address, e.size));
            }
            _ => {}
        }
    }
    compiled
}

/// Returns the last table of live objects: number and bytes by class.
fn last_table(events: &[Event<'_>]) -> Option<HashMap<String, (u64, u64)>> {
    let mut names = HashMap::new();
    let mut last = None;
    for event in events {
        match event {
            Event::ClassDef(e) => drop(names.insert(e.class, e.name.clone().into_owned())),
            Event::LiveObjects(e) => {
                let rows = e.classes.iter();
                let row = |c: &LiveClass| (names[&c.class].clone(), (c.objects, c.bytes));
                last = Some(rows.map(row).collect());
            }
            _ => {}
        }
    }
    last
}

fn count(events: &[Event<'_>], kind: fn(&Event<'_>) -> bool) -> usize {
    events.iter().filter(|event| kind(event)).count()
}

fn allocated(events: &[Event<'_>]) -> HashMap<String, (u64, u64)> {
    let mut names = HashMap::new();
    let mut sums: HashMap<String, (u64, u64)> = HashMap::new();
    for event in events {
        match event {
            Event::ClassDef(e) => {
                names.insert(e.class, e.name.clone().into_owned());
            }
            Event::AllocationSum(e) => {
                let sum = sums.entry(names[&e.class].clone()).or_default();
                *sum = (sum.0 + e.objects, sum.1 + e.bytes);
            }
            _ => {}
        }
    }
    sums
}

/// Returns number and bytes of allocated objects by thread, open calls and class.
fn sites(events: &[Event<'_>]) -> HashMap<String, (u64, u64)> {
    let mut names = HashMap::new();
    let mut open: HashMap<u64, Vec<String>> = HashMap::new();
    let mut sums: HashMap<String, (u64, u64)> = HashMap::new();
    for event in events {
        match event {
            Event::ClassDef(e) => {
                names.insert(e.class.0, e.name.clone().into_owned());
            }
            Event::MethodDef(e) => {
                names.insert(e.method.0, e.name.clone().into_owned());
            }
            Event::MethodEnter(e) => {
                let calls = open.entry(e.thread.0).or_default();
                calls.push(names[&e.method.0].clone());
            }
            Event::MethodLeave(e) => drop(open.entry(e.thread.0).or_default().pop()),
            Event::AllocationSum(e) => {
                let calls = open.entry(e.thread.0).or_default();
                let sum = sums
                    .entry(site(e.thread.0, calls, &names[&e.class.0]))
                    .or_default();
                *sum = (sum.0 + e.objects, sum.1 + e.bytes);
            }
            _ => {}
        }
    }
    sums
}

fn site(thread: u64, calls: &[String], class: &str) -> String {
    format!("{class} in {calls:?} of {thread}")
}

/// Merges consecutive samples of the same stack.
fn runs(samples: Vec<(String, u128)>) -> Vec<(String, u128)> {
    let mut runs: Vec<(String, u128)> = Vec::new();
    for (stack, ticks) in samples {
        match runs.last_mut() {
            Some(last) if last.0 == stack => last.1 += ticks,
            _ => runs.push((stack, ticks)),
        }
    }
    runs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn traces_come_back_but_for_the_losses(choices in choices(), reported in any::<bool>()) {
        let machine = Machine::run(&choices, reported.then_some("all"));
        let log = encoded(Encoder::default(), &machine.events);
        check_log(&log);
        let events = strictly(&log);
        let instrumentation = log.contains("CollectionMethod Instrumentation");
        if instrumentation {
            prop_assert_eq!(calls_of(&events), machine.calls());
            prop_assert_eq!(count(&events, |e| matches!(e, Event::Sample(_))), 0);
            // T9: an allocation sum belongs to the calls that were open.
            prop_assert_eq!(sites(&events), machine.sites);
            if log.contains("CpuTraceThreadEnabled T") {
                prop_assert_eq!(cpu_of(&events), machine.cpu_lines);
            }
        } else if log.contains("CollectionMethod Sampling") {
            prop_assert!(calls_of(&events).is_empty());
            let ticks = |e: &Event<'_>| match e {
                Event::Sample(e) => u128::from(e.ticks.get()),
                _ => 0,
            };
            prop_assert_eq!(events.iter().map(ticks).sum::<u128>(), machine.samples.iter().map(|s| s.1).sum());
        }
        prop_assert_eq!(allocated(&events), machine.allocated);
        prop_assert_eq!(count(&events, |e| matches!(e, Event::GcStart(_))), machine.collections);
        prop_assert_eq!(count(&events, |e| matches!(e, Event::ThreadStart(_))) as u64, machine.threads);
        prop_assert_eq!(compiled(&events), machine.compiled);
        // The last table lists the live objects.
        if let (Some(last), Some(Event::ObjectFree(_)), false) = (last_table(&events), machine.events.last(), machine.paused) {
            let mut live: HashMap<String, (u64, u64)> = HashMap::new();
            for (_, class, size) in &machine.objects {
                let sum = live.entry(CLASS_NAMES[class.0 as usize - 1].into()).or_default();
                *sum = (sum.0 + 1, sum.1 + *size as u64);
            }
            prop_assert_eq!(last, live);
        }
        // The checker finds no fault either.
        let found = check(&events);
        prop_assert_eq!(found.faults(), 0, "{:?}\n{}", found.findings, log);
        // Encoding the decoded events gives the same log.
        prop_assert_eq!(encoded(Encoder::default(), &events), log);
    }

    #[test]
    fn samples_come_back(choices in choices(), high_granularity in any::<bool>()) {
        let machine = Machine::run(&choices, None);
        let settings = Settings { collection: Collection::Sampling, high_granularity, ..Settings::default() };
        let log = encoded(Encoder::new(settings), &machine.events);
        check_log(&log);
        let events = strictly(&log);
        let shown = |e: &Event<'_>| match e {
            Event::Sample(e) => Some((format!("{} {:?}", e.thread.0 - 1, e.stack), u128::from(e.ticks.get()))),
            _ => None,
        };
        let (mut samples, mut expected): (Vec<_>, _) = (events.iter().filter_map(shown).collect(), machine.samples);
        if !high_granularity {
            // Samples of different threads may be reordered.
            samples.sort_by_key(|s| s.0.split(' ').next().map(str::to_owned));
            expected.sort_by_key(|s| s.0.split(' ').next().map(str::to_owned));
        }
        prop_assert_eq!(runs(samples), runs(expected));
        prop_assert_eq!(encoded(Encoder::default(), &events), log);
    }

    /// Whatever the events are, the written log keeps the grammar and the rules.
    #[test]
    fn what_is_written_is_sound_whatever_comes(events in prop::collection::vec(event(), 0..60), choices in choices()) {
        let machine = Machine::run(&choices, None).events;
        // Random events are mixed in, with ids that sometimes have a meaning in the trace.
        let (mut mixed, mut now) = (Vec::new(), Timestamp(START));
        let mut nonsense = events.into_iter();
        for event in machine {
            now = event.time().unwrap_or(now);
            mixed.push(event);
            // The opening events stay at the start.
            if mixed.len() > 15 && mixed.len() % 3 != 0 {
                mixed.extend(nonsense.next().map(|event| near(event, now)));
            }
        }
        mixed.extend(nonsense.map(|event| near(event, now)));
        for encoder in [Encoder::default(), Encoder::new(Settings { collection: Collection::Sampling, ..Settings::default() })] {
            let log = encoded(encoder, &mixed);
            check_log(&log);
            prop_assert_eq!(encoded(Encoder::default(), &strictly(&log)), log);
        }
    }

    #[test]
    fn pieces_of_any_size_read_the_same(choices in choices(), piece in 1_usize..200) {
        let log = encoded(Encoder::default(), &Machine::run(&choices, None).events);
        let whole = decode(Format::TraceLog, log.as_bytes());
        prop_assert!(whole.is_clean());
        prop_assert_eq!(decode_pieces(Format::TraceLog, log.as_bytes(), piece), whole);
    }

    #[test]
    fn bytes_without_sense_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1_usize..50) {
        for head in ["", "prf stm 2026-01-02 03:04:05.678\n", "sam str 0x0 1 0 0:0 0x", "prf cfg a ", "cls nam 0x1 \""] {
            decode_pieces(Format::TraceLog, &[head.as_bytes(), &bytes].concat(), piece);
        }
    }
}

/// Returns the event with ids and times that are close to those of the machine.
fn near(mut event: Event<'static>, now: Timestamp) -> Event<'static> {
    let small = |id: u64| id % 7;
    let thread = |id: &mut ThreadId| *id = ThreadId(small(id.0));
    let class = |id: &mut ClassId| *id = ClassId(small(id.0));
    let method = |id: &mut MethodId| *id = MethodId(100 + small(id.0));
    let time = |time: &mut Timestamp| {
        if time.0 % 4 != 0 {
            *time = now;
        }
    };
    // The sum of the CPU times of all threads must fit a duration, too.
    let cpu = |cpu: &mut Duration| cpu.0 %= 1 << 50;
    match &mut event {
        Event::ThreadStart(e) => thread(&mut e.thread),
        Event::ThreadEnd(e) => thread(&mut e.thread),
        Event::ThreadOsId(e) => thread(&mut e.thread),
        Event::ThreadCpu(e) => {
            thread(&mut e.thread);
            time(&mut e.time);
            cpu(&mut e.cpu_time);
        }
        Event::ProcessCpu(e) => (cpu(&mut e.cpu_time), time(&mut e.time)).1,
        Event::Sample(e) => (thread(&mut e.thread), time(&mut e.time)).1,
        Event::MethodEnter(e) => {
            thread(&mut e.thread);
            method(&mut e.method);
            time(&mut e.time);
            cpu(&mut e.cpu_time);
        }
        Event::MethodLeave(e) => {
            thread(&mut e.thread);
            method(&mut e.method);
            time(&mut e.time);
            cpu(&mut e.cpu_time);
            e.ticket %= 5;
        }
        Event::ClassDef(e) => class(&mut e.class),
        Event::ClassDetail(e) => class(&mut e.class),
        Event::MethodDef(e) => class(&mut e.class),
        Event::MethodCompile(e) => (method(&mut e.method), time(&mut e.time)).1,
        Event::ObjectAlloc(e) => {
            thread(&mut e.thread);
            class(&mut e.class);
            time(&mut e.time);
        }
        Event::AllocationSum(e) => {
            thread(&mut e.thread);
            class(&mut e.class);
            time(&mut e.time);
            e.objects %= 3;
        }
        Event::ObjectDef(e) => class(&mut e.class),
        Event::ObjectFree(e) => e.object = ObjectId(small(e.object.0)),
        Event::GcStart(e) => time(&mut e.time),
        Event::GcFinish(e) => time(&mut e.time),
        Event::LiveObjects(e) => e.classes.iter_mut().for_each(|e| class(&mut e.class)),
        Event::TracePause(e) => time(&mut e.time),
        Event::TraceResume(e) => time(&mut e.time),
        _ => {}
    }
    event
}

/// Returns logs of this encoder and of others.
fn logs() -> Vec<String> {
    let steps = (0..400_u32).map(|n| Choice {
        what: (n * 37 % 100) as u8,
        thread: (n % 3) as u8,
        which: (n * 5 % 6) as u8,
        after: n * 7919 % 3_000_000,
    });
    let machine = Machine::run(&steps.collect::<Vec<_>>()[..160], None);
    let settings = Settings {
        collection: Collection::Sampling,
        ..Settings::default()
    };
    vec![
        include_str!("tracelog/example.log").to_owned(),
        encoded(Encoder::default(), &machine.events),
        encoded(Encoder::new(settings), &machine.events),
    ]
}

#[test]
fn a_trace_with_everything_gives_a_sound_log() {
    let log = encoded(Encoder::default(), &every_event());
    check_log(&log);
    let events = strictly(&log);
    let found = check(&events);
    assert_eq!(found.faults(), 0, "{:#?}", found.findings);
    assert_eq!(encoded(Encoder::default(), &events), log);
}

#[test]
fn a_log_cut_anywhere_is_truncated_there() {
    for log in logs() {
        let whole = decode(Format::TraceLog, log.as_bytes());
        assert!(whole.is_clean());
        let mut lines = Vec::new();
        for cut in 0..log.len() {
            let decoding = decode(Format::TraceLog, &log.as_bytes()[..cut]);
            assert_eq!(
                decoding.count(Severity::Fault),
                0,
                "{cut} {:?}",
                decoding.remarks
            );
            let at_line = cut == 0 || log.as_bytes()[cut - 1] == b'\n';
            assert_eq!(decoding.count(Severity::Truncated), usize::from(!at_line));
            if at_line {
                // The opening waits for the process record, and code waits for its compilation.
                let mut events = &decoding.events[..];
                if events
                    .last()
                    .is_some_and(|e| e.starts_with("MethodCompile"))
                {
                    events = &events[..events.len() - 1];
                }
                let opened = events.len() > 20;
                assert!(!opened || events == &whole.events[..events.len()], "{cut}");
                lines = events.to_vec();
            } else if lines.len() > 20 {
                // Only the events of the cut line may read differently.
                assert_eq!(decoding.events[..lines.len()], lines);
            }
        }
    }
}

#[test]
fn long_lines_are_skipped() {
    let head = include_str!("tracelog/example.log")
        .split_inclusive('\n')
        .take(28)
        .collect::<String>();
    let long = "x".repeat(17 << 20);
    let log = format!("{head}{long}\nthr cpu 0x1 1 5\n");
    let decoding = decode_pieces(Format::TraceLog, log.as_bytes(), 1 << 20);
    assert_eq!(
        decoding.only(Severity::Fault).1,
        "skipped: lines longer than 16 MiB (1, first in line 29)"
    );
    assert!(decoding.events.last().unwrap().starts_with("ThreadCpu("));
    let log = format!("{head}{long}");
    let decoding = decode_pieces(Format::TraceLog, log.as_bytes(), 1 << 20);
    assert_eq!(decoding.events, shown(&strictly(&head)));
}

/// A time zone of centuries would shift the start until later times can't be represented.
#[test]
fn a_zone_that_is_none_moves_no_times() {
    let time = |ms: i64| Timestamp(1_500_000_000_000_000_000 + ms * 1_000_000);
    let zone = |timezone| {
        let events = [
            Event::Node(Node {
                timezone,
                time: time(0),
                ..Node::default()
            }),
            Event::LiveObjects(LiveObjects {
                time: time(201_630_856_855),
                classes: Vec::new(),
            }),
        ];
        let decoding = decode(
            Format::TraceLog,
            &crate::common::encoded(Format::TraceLog, &events),
        );
        assert!(decoding.is_clean(), "{timezone}: {:?}", decoding.remarks);
        decoding.events
    };
    assert_eq!(zone(-125_362_353), zone(0));
    assert_ne!(zone(1439), zone(0));
}
