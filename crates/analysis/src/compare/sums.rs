//! The sums over one trace, by the trace's own ids.

use super::objects::Objects;
use crate::Names;
use crate::calls::closed_by;
use jtrail_formats::{Quantity, Readable};
use jtrail_model::{
    AggregatedEnter, Event, MethodEnter, MethodId, MethodLeave, Note, ThreadId, Timestamp,
};
use rustc_hash::FxHashMap;

/// The sums over a trace that can be compared with those of other traces.
///
/// Memory grows with the number of names, of pairs of a thread and a method, and of open calls. If
/// frees or live objects are requested, each object takes another four bytes.
#[derive(Debug)]
pub struct Sums {
    pub(super) format: Readable,
    pub(super) names: Names,
    /// Threads in the order of their first mention.
    pub(super) threads: Vec<Thread>,
    thread_index: FxHashMap<ThreadId, u32>,
    /// Sums over calls, by thread and method.
    pub(super) calls: Vec<Calls>,
    call_index: FxHashMap<(u32, MethodId), u32>,
    /// A cache of lookups in `call_index`. Methods whose numbers have the same low bits share an
    /// entry.
    recent: Vec<Option<(u32, MethodId, u32)>>,
    /// The number of call-tree nodes in the trace.
    pub(super) nodes: u64,
    pub(super) objects: Objects,
    pub(super) collections: u64,
    /// The options in the trace that say which quantities were recorded.
    options: FxHashMap<String, String>,
    last: Timestamp,
}

/// The number of entries of the cache [`Sums::recent`].
const RECENT: usize = 1 << 12;

/// Sums over the calls of one method on one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) thread: u32,
    pub(super) method: MethodId,
    pub(super) calls: u64,
    /// Time in these calls, without recursive ones, in ns.
    pub(super) elapsed: u64,
    /// The number of calls that no other call of the method encloses.
    pub(super) outermost: u64,
    /// The number of call-tree nodes.
    pub(super) nodes: u64,
    /// The number of calls that an exception ended.
    pub(super) by_exception: u64,
    /// The number of calls without an end.
    pub(super) unended: u64,
    /// The number of open calls and nodes.
    open: u32,
}

/// The figures of one thread, and its open calls.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) id: ThreadId,
    pub(super) calls: u64,
    pub(super) contended: u64,
    pub(super) waits: u64,
    pub(super) throws: u64,
    pub(super) catches: u64,
    stack: Vec<Open>,
    nodes: Vec<Node>,
    /// How many open calls, counted from the innermost, do not enclose the next nodes.
    sums_above: usize,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    sums: u32,
    ticket: u32,
    enter: Timestamp,
    outermost: bool,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    sums: u32,
    outermost: bool,
    total: i64,
}

impl Sums {
    /// Creates empty sums. `quantities` lists the quantities that will be compared.
    pub fn new(format: impl Into<Readable>, quantities: &[Quantity]) -> Self {
        let single = [Quantity::Frees, Quantity::Live];
        Self {
            format: format.into(),
            names: Names::default(),
            threads: Vec::new(),
            thread_index: FxHashMap::default(),
            calls: Vec::new(),
            call_index: FxHashMap::default(),
            recent: vec![None; RECENT],
            nodes: 0,
            objects: Objects::new(quantities.iter().any(|q| single.contains(q))),
            collections: 0,
            options: FxHashMap::default(),
            last: Timestamp::default(),
        }
    }

    /// Returns the trace's format.
    pub fn format(&self) -> Readable {
        self.format
    }

    /// Processes an event.
    pub fn event(&mut self, event: &Event<'_>) {
        if let Some(time) = event.time() {
            self.last = self.last.max(time);
        }
        match event {
            Event::MethodEnter(e) => self.enter(e),
            Event::MethodLeave(e) => self.leave(e),
            Event::AggregatedEnter(e) => self.node(e),
            Event::Custom(e) => {
                if let Some(Note::SumsAbove(e)) = Note::parse(&e.body) {
                    let thread = self.thread(e.thread);
                    self.set_sums_above(thread, usize::try_from(e.calls).unwrap_or(usize::MAX));
                }
            }
            Event::AggregatedLeave(e) => {
                let thread = self.thread(e.thread);
                self.end_node(thread);
            }
            Event::AggregatedDetail(e) => {
                let thread = self.thread(e.thread);
                if let Some(node) = self.threads[thread].nodes.last() {
                    let sums = &mut self.calls[node.sums as usize];
                    sums.by_exception = sums.by_exception.saturating_add(e.exceptions);
                }
            }
            Event::ThreadStart(e) => {
                self.thread(e.thread);
                self.names.event(event);
            }
            Event::ThreadEnd(e) => {
                let thread = self.thread(e.thread);
                self.end_calls(thread, e.time);
            }
            Event::MonitorContendedEnter(e) => self.thread_mut(e.thread).contended += 1,
            Event::MonitorWait(e) => self.thread_mut(e.thread).waits += 1,
            Event::ExceptionThrow(e) => self.thread_mut(e.thread).throws += 1,
            Event::ExceptionCatch(e) => self.thread_mut(e.thread).catches += 1,
            Event::GcStart(_) => {
                self.collections += 1;
                self.objects.event(event);
            }
            Event::Option(e) if self.is_switch(&e.key) => {
                self.options.insert(e.key.to_string(), e.value.to_string());
            }
            _ => {
                self.objects.event(event);
                self.names.event(event);
            }
        }
    }

    /// Processes each of these calls like [`Self::event`].
    pub fn calls(&mut self, calls: &jtrail_model::Calls<'_>) {
        let mut rest = *calls;
        loop {
            let taken = self.usual_calls(&rest);
            rest = rest.after(taken);
            let Some((event, after)) = rest.split_first() else {
                return;
            };
            self.event(&event);
            rest = after;
        }
    }

    /// Processes the first of these calls, as long as each leave ends the innermost call. Returns
    /// the number of processed steps.
    fn usual_calls(&mut self, calls: &jtrail_model::Calls<'_>) -> usize {
        if calls.steps.is_empty() {
            return 0;
        }
        let thread = self.thread(calls.thread);
        self.is_no_node(thread);
        for (taken, step) in calls.steps.iter().enumerate() {
            if step.ends {
                let innermost = self.threads[thread].stack.last();
                let is_innermost = innermost.is_some_and(|open| {
                    open.ticket == step.ticket
                        && self.calls[open.sums as usize].method == step.method
                });
                if !is_innermost {
                    return taken;
                }
                self.end_call(thread, step.time);
            } else {
                self.begin_call(thread, step.method, step.ticket, step.time);
            }
            self.last = self.last.max(step.time);
        }
        calls.steps.len()
    }

    /// Ends all open calls at the last time of the trace.
    pub fn finish(&mut self) {
        for thread in 0..self.threads.len() {
            self.end_calls(thread, self.last);
        }
        self.objects.finish();
    }

    /// Returns true if the option `key` can say that a quantity was not recorded.
    fn is_switch(&self, key: &str) -> bool {
        let switches = Quantity::ALL.iter().filter_map(|q| self.format.switch(*q));
        switches.into_iter().any(|(name, _)| name == key)
    }

    /// Returns the option that says that the quantity was not recorded in this trace; `None` if no
    /// option does.
    pub(super) fn switched_off(&self, quantity: Quantity) -> Option<String> {
        let (name, on) = self.format.switch(quantity)?;
        let value = self.options.get(name)?;
        (value != on).then(|| format!("it was not recorded ({name} is {value})"))
    }

    fn thread(&mut self, id: ThreadId) -> usize {
        let next = self.threads.len() as u32;
        let at = *self.thread_index.entry(id).or_insert(next);
        if at == next {
            self.threads.push(Thread {
                id,
                ..Thread::default()
            });
        }
        at as usize
    }

    fn thread_mut(&mut self, id: ThreadId) -> &mut Thread {
        let at = self.thread(id);
        &mut self.threads[at]
    }

    /// Opens a call. Returns the index of the sums for the method's calls on the thread, and true
    /// if this is the only open one.
    fn open(&mut self, thread: usize, method: MethodId) -> (u32, bool) {
        let recent = method.0 as usize % RECENT;
        let at = match self.recent[recent] {
            Some((of, called, at)) if (of, called) == (thread as u32, method) => at,
            _ => self.looked_up(thread as u32, method),
        };
        self.recent[recent] = Some((thread as u32, method, at));
        let sums = &mut self.calls[at as usize];
        sums.open += 1;
        (at, sums.open == 1)
    }

    /// Returns the index of the sums for a method's calls on a thread, and creates them if
    /// necessary.
    fn looked_up(&mut self, thread: u32, method: MethodId) -> u32 {
        let next = self.calls.len() as u32;
        let at = *self.call_index.entry((thread, method)).or_insert(next);
        if at == next {
            self.calls.push(Calls {
                thread,
                method,
                calls: 0,
                elapsed: 0,
                outermost: 0,
                nodes: 0,
                by_exception: 0,
                unended: 0,
                open: 0,
            });
        }
        at
    }

    /// Sets the level of the next nodes. Open calls below this level do not enclose them, so they
    /// are not counted as open.
    fn set_sums_above(&mut self, thread: usize, calls: usize) {
        let thread = &mut self.threads[thread];
        let inner = |above: usize| thread.stack.len().saturating_sub(above);
        for open in &thread.stack[inner(thread.sums_above)..] {
            self.calls[open.sums as usize].open += 1;
        }
        for open in &thread.stack[inner(calls)..] {
            self.calls[open.sums as usize].open -= 1;
        }
        thread.sums_above = calls;
    }

    /// Ends a sequence of nodes: the thread's next event is not one.
    fn is_no_node(&mut self, thread: usize) {
        if self.threads[thread].sums_above != 0 {
            self.set_sums_above(thread, 0);
        }
    }

    fn enter(&mut self, e: &MethodEnter) {
        let thread = self.thread(e.thread);
        self.is_no_node(thread);
        self.begin_call(thread, e.method, e.ticket, e.time);
    }

    fn begin_call(&mut self, thread: usize, method: MethodId, ticket: u32, enter: Timestamp) {
        let (sums, outermost) = self.open(thread, method);
        self.calls[sums as usize].calls += 1;
        let thread = &mut self.threads[thread];
        thread.calls += 1;
        thread.stack.push(Open {
            sums,
            ticket,
            enter,
            outermost,
        });
    }

    fn leave(&mut self, e: &MethodLeave) {
        let thread = self.thread(e.thread);
        self.is_no_node(thread);
        let fits =
            |o: &Open| o.ticket == e.ticket && self.calls[o.sums as usize].method == e.method;
        let Some(depth) = closed_by(&self.threads[thread].stack, e.ticket, |o| o.ticket, fits)
        else {
            return;
        };
        while self.threads[thread].stack.len() > depth + 1 {
            self.end_call(thread, e.time);
        }
        if let Some(sums) = self.end_call(thread, e.time) {
            sums.by_exception += u64::from(e.by_exception);
        }
    }

    fn end_call(&mut self, thread: usize, time: Timestamp) -> Option<&mut Calls> {
        let call = self.threads[thread].stack.pop()?;
        let sums = &mut self.calls[call.sums as usize];
        sums.open -= 1;
        if call.outermost {
            let length = time.since(call.enter).0.max(0) as u64;
            sums.elapsed = sums.elapsed.saturating_add(length);
            sums.outermost += 1;
        }
        Some(sums)
    }

    fn end_calls(&mut self, thread: usize, time: Timestamp) {
        self.is_no_node(thread);
        while let Some(sums) = self.end_call(thread, time) {
            sums.unended += 1;
        }
        while self.end_node(thread) {}
    }

    fn node(&mut self, e: &AggregatedEnter) {
        let thread = self.thread(e.thread);
        let (at, outermost) = self.open(thread, e.method);
        self.nodes += 1;
        let sums = &mut self.calls[at as usize];
        let calls = u64::try_from(e.calls).unwrap_or(0);
        sums.calls = sums.calls.saturating_add(calls);
        sums.nodes += 1;
        let thread = &mut self.threads[thread];
        thread.calls = thread.calls.saturating_add(calls);
        thread.nodes.push(Node {
            sums: at,
            outermost,
            // A node of 0 calls may have a negative time, which compensates for its callees' time.
            total: e.base_time.0.max(if calls == 0 { i64::MIN } else { 0 }),
        });
    }

    /// Ends the innermost node. Returns false if none is open.
    fn end_node(&mut self, thread: usize) -> bool {
        let thread = &mut self.threads[thread];
        let Some(node) = thread.nodes.pop() else {
            return false;
        };
        if let Some(parent) = thread.nodes.last_mut() {
            parent.total = parent.total.saturating_add(node.total);
        }
        let sums = &mut self.calls[node.sums as usize];
        sums.open -= 1;
        if node.outermost {
            sums.elapsed = sums.elapsed.saturating_add(node.total.max(0) as u64);
        }
        true
    }

    /// Returns the name of a thread: the last one if `last` is true, else the first one.
    pub(super) fn thread_name(&self, thread: &Thread, last: bool) -> String {
        let known = self.names.threads.get(&thread.id);
        match known.and_then(|t| t.first_name.clone()) {
            Some(first) if !last => first,
            _ => self.names.thread(thread.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use jtrail_formats::{Bounds, Encode, Format, ShortCalls};
    use jtrail_model::{CallStep, ClassId, Duration};
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    struct Summed(Arc<Mutex<Sums>>);

    impl Encode for Summed {
        fn begin(&mut self, _: &mut Vec<u8>) {}
        fn event(&mut self, event: &Event<'_>, _: &mut Vec<u8>) {
            self.0.lock().expect("one thread").event(event);
        }
        fn end(&mut self, _: &mut Vec<u8>) {}
    }

    /// Returns calls and elapsed time by method.
    fn found(sums: &Sums) -> BTreeMap<u64, (u64, u64)> {
        let row = |calls: &Calls| (calls.method.0, (calls.calls, calls.elapsed));
        sums.calls.iter().map(row).collect()
    }

    /// Processes calls of two threads in several batches. Some leaves end outer calls, and some end
    /// no call. Methods share entries of [`Sums::recent`].
    #[test]
    fn calls_in_bulk_are_summed_up_as_one_by_one() {
        let (mut bulk, mut single) = (Sums::new(Format::Trail, &[]), Sums::new(Format::Trail, &[]));
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut open = [Vec::<(MethodId, u32)>::new(), Vec::new()];
        let mut newest = 0;
        for time in 0..2_000 {
            let thread = random(2) as usize;
            let step = |_| {
                let open = &mut open[thread];
                let ends = !open.is_empty() && random(2) == 0;
                let (method, ticket) = if ends {
                    let inner = if random(8) == 0 {
                        random(3) as usize
                    } else {
                        0
                    };
                    let left = open.len().saturating_sub(inner + 1);
                    let called = open[left];
                    open.truncate(left);
                    match random(16) {
                        0 => (called.0, called.1 + 100_000),
                        _ => called,
                    }
                } else {
                    newest += 1;
                    let method = MethodId(random(3) + random(2) * RECENT as u64);
                    open.push((method, newest));
                    (method, newest)
                };
                CallStep {
                    time: Timestamp(time * 10),
                    method,
                    class: ClassId(1),
                    ticket,
                    ends,
                }
            };
            let steps: Vec<_> = (0..time % 7).map(step).collect();
            let calls = jtrail_model::Calls {
                thread: ThreadId(thread as u64),
                cpu_time: Duration(0),
                ticket: 0,
                depth: 0,
                steps: &steps,
            };
            bulk.calls(&calls);
            calls.events().for_each(|event| single.event(&event));
        }
        bulk.finish();
        single.finish();
        let shown = |sums: &Sums| format!("{:?} {:?} {:?}", sums.calls, sums.threads, sums.last);
        assert!(single.calls.len() == 12 && single.calls.iter().any(|calls| calls.unended > 0));
        assert_eq!(shown(&bulk), shown(&single));
    }

    #[test]
    fn short_calls_that_are_sums_take_as_long() {
        let new = || Sums::new(Format::Trail, &[]);
        let (mut each, few) = (new(), Arc::new(Mutex::new(new())));
        let bounds = Bounds {
            min: Duration(50),
            rate: None,
        };
        let mut encoder = ShortCalls::new(Box::new(Summed(few.clone())), bounds);
        let mut open = Vec::new();
        let mut newest = 0;
        // Pairs of a method (0 for a leave) and a time. Method 2 is called by itself, by way of
        // method 3, and, at the end, by method 1 after a flush.
        let steps = [
            (1, 0),
            (2, 10),
            (3, 11),
            (2, 12),
            (0, 13),
            (0, 15),
            (4, 20),
            (0, 21),
            (0, 100),
            (2, 110),
            (4, 111),
            (0, 113),
            (0, 114),
            (2, 120),
            (0, 300),
            (0, 400),
        ]
        .map(|(method, time)| {
            let ends = method == 0;
            if !ends {
                newest += 1;
                open.push((method, newest));
            }
            let (method, ticket) = *open.last().expect("an open call");
            open.truncate(open.len() - usize::from(ends));
            CallStep {
                time: Timestamp(time),
                method: MethodId(method),
                class: ClassId(1),
                ticket,
                ends,
            }
        });
        let calls = jtrail_model::Calls {
            thread: ThreadId(1),
            cpu_time: Duration(0),
            ticket: 0,
            depth: 0,
            steps: &steps,
        };
        for (at, event) in calls.events().enumerate() {
            if at == 14 {
                encoder.flush(&mut Vec::new());
            }
            each.event(&event);
            encoder.event(&event, &mut Vec::new());
        }
        encoder.end(&mut Vec::new());
        let expected = BTreeMap::from([
            (1, (1, 400)),
            (2, (4, 90 + 4 + 180)),
            (3, (1, 4)),
            (4, (2, 3)),
        ]);
        assert_eq!(found(&each), expected);
        assert_eq!(found(&few.lock().expect("one thread")), expected);
    }
}
