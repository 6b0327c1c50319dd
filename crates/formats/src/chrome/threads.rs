//! The threads of a file, and their calls in the order of time.

use super::nest::{Nest, Oddities, Step};
use crate::definitions::Definitions;
use crate::hash::Seed;
use jtrail_model::{Event, MethodEnter, MethodLeave, ThreadId, Timestamp};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// All threads, with the names of slices.
#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// Numbers of threads by process and thread.
    index: HashMap<(Box<str>, Box<str>), usize, Seed>,
    /// The process and the thread that were looked up last, and the thread's number.
    recent: Option<(Box<str>, Box<str>, usize)>,
    /// Names of processes.
    processes: HashMap<Box<str>, String, Seed>,
    names: Vec<Box<str>>,
    name_index: HashMap<Box<str>, u32, Seed>,
    definitions: Definitions,
    /// The threads that have a next begin or end, by its time.
    heads: BinaryHeap<Reverse<(i64, usize)>>,
}

#[derive(Debug, Default)]
struct Thread {
    id: ThreadId,
    process: Box<str>,
    name: String,
    nest: Nest,
    /// The next begin or end.
    head: Option<Step>,
}

impl Threads {
    /// Returns the number of a thread.
    fn number(&mut self, process: &str, thread: &str) -> usize {
        if let Some((recent_process, recent_thread, number)) = &self.recent
            && (&**recent_process, &**recent_thread) == (process, thread)
        {
            return *number;
        }
        let key: (Box<str>, Box<str>) = (process.into(), thread.into());
        let number = *self.index.entry(key.clone()).or_insert_with(|| {
            self.threads.push(Thread {
                process: process.into(),
                name: thread.to_owned(),
                ..Thread::default()
            });
            self.threads.len() - 1
        });
        self.recent = Some((key.0, key.1, number));
        number
    }

    /// Returns the slices of a thread.
    pub(super) fn nest(&mut self, process: &str, thread: &str) -> &mut Nest {
        let number = self.number(process, thread);
        &mut self.threads[number].nest
    }

    pub(super) fn name_thread(&mut self, (process, thread): (&str, &str), name: String) {
        let number = self.number(process, thread);
        self.threads[number].name = name;
    }

    pub(super) fn name_process(&mut self, process: &str, name: String) {
        self.processes.insert(process.into(), name);
    }

    /// Returns the number of a name.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(number) = self.name_index.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.name_index.insert(name.into(), number);
        number
    }

    /// Sorts all events and defines the threads.
    pub(super) fn sort(&mut self, queue: &mut VecDeque<Event<'static>>) {
        self.threads
            .iter_mut()
            .for_each(|thread| thread.nest.sort());
        let starts = self.threads.iter().filter_map(|thread| thread.nest.start());
        let first = starts.min().unwrap_or_default();
        for (number, thread) in self.threads.iter_mut().enumerate() {
            let start = thread.nest.start().unwrap_or(first);
            let group = self.processes.get(&thread.process).map_or("", |name| name);
            let names = (thread.name.as_str(), group);
            let start = Timestamp(start);
            thread.id = self.definitions.new_thread(names, start, queue);
            thread.head = thread.nest.step();
            if let Some(head) = thread.head {
                self.heads.push(Reverse((head.time, number)));
            }
        }
    }

    /// Adds the next begin or end of all threads to the queue. Returns false if there is none.
    pub(super) fn next_call(&mut self, queue: &mut VecDeque<Event<'static>>) -> bool {
        let Some(Reverse((_, number))) = self.heads.pop() else {
            return false;
        };
        let thread = &mut self.threads[number];
        let Some(slice) = thread.head.take() else {
            return false;
        };
        thread.head = thread.nest.step();
        if let Some(head) = thread.head {
            self.heads.push(Reverse((head.time, number)));
        }
        let (id, time) = (thread.id, Timestamp(slice.time));
        let name = self.names.get(slice.name as usize).map_or("", |name| name);
        let (method, class) = self.definitions.method(name, time, queue);
        queue.push_back(match slice.ends {
            false => Event::MethodEnter(MethodEnter {
                thread: id,
                time,
                method,
                class,
                ticket: slice.ticket,
                stack_depth: slice.depth as i64,
                ..MethodEnter::default()
            }),
            true => Event::MethodLeave(MethodLeave {
                thread: id,
                time,
                method,
                class,
                ticket: slice.ticket,
                ..MethodLeave::default()
            }),
        });
        true
    }

    /// Returns what is odd in the slices of all threads.
    pub(super) fn oddities(&self) -> Oddities {
        let mut all = Oddities::default();
        for thread in &self.threads {
            all.ends += thread.nest.odd.ends;
            all.overlaps += thread.nest.odd.overlaps;
        }
        all
    }
}
