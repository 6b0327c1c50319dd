//! Builds trails of many segments, for tests that damage them.

use jtrail_formats::Format;
use jtrail_model::*;

/// A segment of a trail, from its header.
#[derive(Clone, Debug)]
pub struct Segment {
    pub start: usize,
    pub end: usize,
    pub kind: u8,
    pub events: u64,
    pub before: u64,
}

pub const HEADER: usize = 56;
pub const DEFINITIONS: u8 = 1;
pub const EVENTS: u8 = 2;

/// Returns the segments of a sound trail.
pub fn segments(trace: &[u8]) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(header) = trace.get(start..start + HEADER) {
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four"));
        let end = start + HEADER + word(12) as usize;
        found.push(Segment {
            start,
            end,
            kind: header[5],
            events: word(20).into(),
            before: u64::from_le_bytes(header[24..32].try_into().expect("eight")),
        });
        start = end;
    }
    found
}

/// Encodes events as a trail, with a new segment after each `each` events.
pub fn in_segments(events: &[Event<'_>], each: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Format::Trail.encoder();
    encoder.begin(&mut out);
    for part in events.chunks(each) {
        for event in part {
            encoder.event(event, &mut out);
        }
        encoder.flush(&mut out);
    }
    encoder.end(&mut out);
    out
}

/// Returns a sound trace of about `count` events by four threads: calls, marks that can't be
/// compressed, and occasional new classes.
pub fn busy(count: usize, seed: u64) -> Vec<Event<'static>> {
    let mut random = Random(seed);
    let mut time = 1_700_000_000_000_000_000 + seed as i64;
    let mut now = |step: u64| {
        time += step as i64;
        Timestamp(time)
    };
    let mut events = vec![
        Event::Node(Node::default()),
        ProcessCreate::default().into(),
        AgentCreate {
            name: "jtrail".into(),
            ..AgentCreate::default()
        }
        .into(),
        Event::TraceStart(TraceStart::default()),
    ];
    for thread in 1..=4 {
        events.push(Event::ThreadStart(ThreadStart {
            thread: ThreadId(thread),
            time: now(1),
            name: format!("worker {thread}").into(),
            ..ThreadStart::default()
        }));
    }
    let mut open: [Vec<(u64, u32)>; 4] = Default::default();
    let mut tickets = [0; 4];
    let mut classes = 0;
    while events.len() < count {
        let at = random.below(4);
        let thread = ThreadId(1 + at as u64);
        let what = random.below(40);
        if what == 0 || classes == 0 {
            classes += 1;
            events.push(Event::ClassDef(ClassDef {
                class: ClassId(classes),
                time: now(1),
                name: random.text(30).into(),
                ..ClassDef::default()
            }));
            events.push(Event::MethodDef(MethodDef {
                method: MethodId(classes),
                class: ClassId(classes),
                name: random.text(20).into(),
                signature: "()V".into(),
                ..MethodDef::default()
            }));
        } else if what < 10 {
            events.push(Event::Custom(Custom {
                body: random.text(80).into(),
            }));
        } else if open[at].len() < 30 && (what.is_multiple_of(2) || open[at].is_empty()) {
            tickets[at] += 1;
            let method = 1 + random.below(classes as usize) as u64;
            open[at].push((method, tickets[at]));
            events.push(Event::MethodEnter(MethodEnter {
                thread,
                time: now(40),
                method: MethodId(method),
                class: ClassId(method),
                ticket: tickets[at],
                stack_depth: open[at].len() as i64,
                ..MethodEnter::default()
            }));
        } else if let Some((method, ticket)) = open[at].pop() {
            events.push(Event::MethodLeave(MethodLeave {
                thread,
                time: now(300),
                method: MethodId(method),
                class: ClassId(method),
                ticket,
                ..MethodLeave::default()
            }));
        }
    }
    let end = now(1);
    events.push(Event::TraceEnd(TraceEnd {
        trace_id: "".into(),
        time: end,
    }));
    events.push(Event::AgentDestroy(AgentDestroy {
        agent_id: "".into(),
        time: end,
    }));
    events
}

/// Pseudo-random number generator (xorshift), which repeats its numbers in each run.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit
    }

    fn text(&mut self, length: usize) -> String {
        let letter = |_| char::from(b'!' + self.below(90) as u8);
        (0..length).map(letter).collect()
    }
}
