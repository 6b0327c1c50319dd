//! Collects the events of all threads, and writes them.

use super::events::Events;
use crate::json::{self, Fields};
use crate::sink::{
    Collection, End, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime, program_name,
};
use jtrail_model::names::Names;
use jtrail_model::{ClassId, MethodId, Timestamp};
use rustc_hash::FxHashMap;

/// Maximum number of marks that are kept.
const MAX_MARKS: usize = 1000;

/// The profiles of all threads.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    first: Option<Timestamp>,
    process_id: u64,
    program: String,
    threads: Vec<Thread>,
    collections: Events,
    frames: Vec<Frame>,
    index: FxHashMap<Frame, u32>,
    methods: FxHashMap<MethodId, u32>,
    marks: Vec<(Timestamp, String)>,
    /// Number of begins and ends.
    events: u64,
    out: Vec<u8>,
}

/// What the slices of a frame have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Frame {
    Method(MethodId),
    Wait(&'static str, ClassId),
    Collection(String),
}

#[derive(Debug, Default)]
struct Thread {
    info: ThreadInfo,
    events: Events,
    /// Number of open slices.
    open: usize,
    /// Time in calls, in ns.
    in_calls: i64,
}

impl Frame {
    fn write(&self, names: &Names, frame: &mut Fields<'_>) {
        match self {
            Self::Method(method) => {
                let full = names.readable_method(*method);
                let class = names
                    .method(*method)
                    .map(|method| names.class(method.class));
                let class = class.unwrap_or_default();
                let package = class.rfind('.').map_or(0, |dot| dot + 1);
                frame.text("name", &full[package..]);
                frame.text("file", &class);
            }
            Self::Wait(what, class) if class.is_none() => frame.text("name", what),
            Self::Wait(what, class) => {
                let class = names.readable_class(*class);
                frame.text("name", &format!("{what} ({class})"));
            }
            Self::Collection(name) => frame.text("name", name),
        }
    }
}

impl Profiles {
    #[inline]
    fn method_frame(&mut self, method: MethodId) -> u32 {
        match self.methods.get(&method) {
            Some(frame) => *frame,
            None => {
                let frame = self.frame(Frame::Method(method));
                self.methods.insert(method, frame);
                frame
            }
        }
    }

    /// Returns the number of a frame.
    fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(number) = self.index.get(&frame) {
            return *number;
        }
        let number = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.index.insert(frame, number);
        number
    }

    /// Returns the time from which times count.
    fn origin(&self) -> Timestamp {
        let spans = self
            .threads
            .iter()
            .filter_map(|thread| thread.events.span());
        let begins = spans.map(|(begin, _)| begin);
        begins.chain(self.first).min().unwrap_or_default()
    }

    fn write(&mut self, names: &Names) {
        let start = self.origin();
        let profiles = self.take_profiles();
        let mut out = Vec::new();
        json::object(&mut out, |file| {
            let schema = "https://www.speedscope.app/file-format-schema.json";
            file.text("$schema", schema);
            file.text("exporter", concat!("jtrail ", env!("CARGO_PKG_VERSION")));
            file.text("name", &self.name());
            file.number("activeProfileIndex", 0);
            json::object(file.field("jtrail"), |jtrail| {
                self.write_own(start, jtrail);
            });
            json::object(file.field("shared"), |shared| {
                write_lines(shared.field("frames"), &self.frames, |out, frame| {
                    json::object(out, |fields| frame.write(names, fields));
                });
            });
            write_lines(file.field("profiles"), profiles, |out, profile| {
                write_profile(out, start, &profile);
            });
        });
        out.push(b'\n');
        self.out = out;
    }

    /// Returns the names and events of all profiles, the first one first.
    fn take_profiles(&mut self) -> Vec<(String, Events)> {
        let mut threads = std::mem::take(&mut self.threads);
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.in_calls));
        let threads = threads
            .into_iter()
            .map(|thread| (thread.info.label(), thread.events));
        let collections = std::mem::take(&mut self.collections);
        let collections = ("Garbage collections".to_owned(), collections);
        let profiles = threads.chain([collections]);
        let mut profiles: Vec<_> = profiles
            .filter(|(_, events)| events.span().is_some())
            .collect();
        if profiles.is_empty() {
            profiles.push(("no calls".to_owned(), Events::default()));
        }
        profiles
    }

    /// Returns the name of the whole export.
    fn name(&self) -> String {
        let program = match program_name(&self.program) {
            "" => "process",
            name => name,
        };
        match self.process_id {
            0 => program.to_owned(),
            id => format!("{program} {id}"),
        }
    }

    /// Writes what speedscope has no field for.
    fn write_own(&self, start: Timestamp, jtrail: &mut Fields<'_>) {
        if self.first.is_some() {
            jtrail.text("start", &start.0.to_string());
        }
        json::array(jtrail.field("marks"), &self.marks, |out, (time, text)| {
            json::object(out, |mark| {
                mark.number("at", time.since(start).0);
                json::string(mark.field("text"), text);
            });
        });
    }
}

/// Appends an array with an element on each line.
fn write_lines<T>(
    out: &mut Vec<u8>,
    elements: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    json::array(out, elements, |out, element| {
        out.push(b'\n');
        write(out, element);
    });
    out.insert(out.len() - 1, b'\n');
}

/// Appends the profile of a thread.
fn write_profile(out: &mut Vec<u8>, start: Timestamp, (name, events): &(String, Events)) {
    let (begin, end) = events.span().unwrap_or((start, start));
    json::object(out, |profile| {
        profile.text("type", "evented");
        profile.text("name", name);
        profile.text("unit", "nanoseconds");
        profile.number("startValue", begin.since(start).0);
        profile.number("endValue", end.since(start).0);
        write_lines(profile.field("events"), events.iter(), |out, event| {
            let kind = match event.is_begin {
                true => b"{\"type\":\"O\",\"frame\":",
                false => b"{\"type\":\"C\",\"frame\":",
            };
            out.extend_from_slice(kind);
            json::unsigned(out, event.frame.into());
            out.extend_from_slice(b",\"at\":");
            json::integer(out, event.time.since(start).0);
            out.push(b'}');
        });
    });
}

impl Sink for Profiles {
    fn start(&mut self, first: Timestamp) {
        self.first = Some(first);
    }

    fn process(&mut self, id: u64, program: &str) {
        self.process_id = id;
        self.program = program.to_owned();
    }

    fn thread(&mut self, index: ThreadIndex, info: &ThreadInfo) {
        let number = index.0 as usize;
        if self.threads.len() <= number {
            self.threads.resize_with(number + 1, Thread::default);
        }
        self.threads[number].info = info.clone();
    }

    #[inline]
    fn begin(&mut self, _: &Names, begin: ThreadTime, slice: Slice) {
        let frame = match slice {
            Slice::Call(method) => self.method_frame(method),
            Slice::Blocked { class, .. } => self.frame(Frame::Wait("blocked on a monitor", class)),
            Slice::Waiting { class, .. } => self.frame(Frame::Wait("Object.wait", class)),
            Slice::Parked { class, .. } => self.frame(Frame::Wait("parked", class)),
        };
        let thread = &mut self.threads[begin.thread.0 as usize];
        thread.events.begin(begin.time, frame);
        thread.open += 1;
        self.events += 1;
    }

    #[inline]
    fn end(&mut self, _: &Names, end: &End) {
        let thread = &mut self.threads[end.end.thread.0 as usize];
        thread.events.end(end.end.time);
        thread.open -= 1;
        if thread.open == 0 && end.slice.is_call() {
            let time = end.end.time.since(end.begin.time).0;
            thread.in_calls = thread.in_calls.saturating_add(time);
        }
        self.events += 1;
    }

    fn collection(&mut self, collection: &Collection) -> bool {
        let details = [&*collection.collector, &collection.cause];
        let details: Vec<&str> = details
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        let mut name = collection.name();
        if !details.is_empty() {
            name = format!("{name} ({})", details.join(", "));
        }
        let frame = self.frame(Frame::Collection(name));
        self.collections.begin(collection.start, frame);
        self.collections.end(collection.end);
        self.events += 2;
        true
    }

    fn mark(&mut self, time: Timestamp, text: &str) -> bool {
        let has_room = self.marks.len() < MAX_MARKS;
        if has_room {
            self.marks.push((time, text.to_owned()));
        }
        has_room
    }

    fn close(&mut self, names: &Names, _: Timestamp) {
        self.write(names);
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        match out.is_empty() {
            true => std::mem::swap(out, &mut self.out), // saves a copy of the whole export
            false => out.append(&mut self.out),
        }
    }

    fn size(&self) -> u64 {
        self.events
    }
}
