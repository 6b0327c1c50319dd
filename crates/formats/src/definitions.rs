//! Threads and methods of formats that have names only. They are defined at their first use.

use crate::hash::Seed;
use jtrail_model::{
    ClassDef, ClassId, Event, MethodDef, MethodId, ThreadId, ThreadStart, Timestamp,
};
use std::collections::{HashMap, VecDeque};

/// The class of methods whose names contain none.
const NO_CLASS: &str = "?";

/// Ids that were assigned so far.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    last: u64,
    threads: HashMap<Box<str>, ThreadId, Seed>,
    classes: HashMap<Box<str>, ClassId, Seed>,
    methods: HashMap<Box<str>, (MethodId, ClassId), Seed>,
}

impl Definitions {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Defines a thread.
    pub(crate) fn new_thread(
        &mut self,
        (name, group): (&str, &str),
        time: Timestamp,
        queue: &mut VecDeque<Event<'static>>,
    ) -> ThreadId {
        let thread = ThreadId(self.next());
        queue.push_back(Event::ThreadStart(ThreadStart {
            thread,
            time,
            name: name.to_owned().into(),
            group: group.to_owned().into(),
            ..ThreadStart::default()
        }));
        thread
    }

    /// Returns the thread with a name.
    pub(crate) fn thread(&mut self, name: &str, queue: &mut VecDeque<Event<'static>>) -> ThreadId {
        if let Some(thread) = self.threads.get(name) {
            return *thread;
        }
        let thread = self.new_thread((name, ""), Timestamp(0), queue);
        self.threads.insert(name.into(), thread);
        thread
    }

    /// Returns a method and its class.
    pub(crate) fn method(
        &mut self,
        text: &str,
        time: Timestamp,
        queue: &mut VecDeque<Event<'static>>,
    ) -> (MethodId, ClassId) {
        if let Some(known) = self.methods.get(text) {
            return *known;
        }
        let (class_name, name, signature) = split(text);
        let class_name = class_name.replace('/', ".");
        let class = match self.classes.get(class_name.as_str()) {
            Some(class) => *class,
            None => {
                let class = ClassId(self.next());
                queue.push_back(Event::ClassDef(ClassDef {
                    class,
                    time,
                    name: class_name.clone().into(),
                    ..ClassDef::default()
                }));
                self.classes.insert(class_name.into(), class);
                class
            }
        };
        let method = MethodId(self.next());
        queue.push_back(Event::MethodDef(MethodDef {
            method,
            class,
            name: name.to_owned().into(),
            signature: signature.to_owned().into(),
            ..MethodDef::default()
        }));
        self.methods.insert(text.into(), (method, class));
        (method, class)
    }
}

/// Splits `com.acme.Shop.pay(Order, int)` into the class, the name, and the rest from the
/// parenthesis on.
fn split(text: &str) -> (&str, &str, &str) {
    let signature = text.find('(').unwrap_or(text.len());
    let (name, signature) = text.split_at(signature);
    match name.rsplit_once('.') {
        Some((class, name)) if !class.is_empty() && !name.is_empty() => (class, name, signature),
        _ => (NO_CLASS, name, signature),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_the_last_dot_before_the_parameters() {
        for (text, expected) in [
            ("a.b.C.run(d.E, int)", ("a.b.C", "run", "(d.E, int)")),
            ("a.C.<init>", ("a.C", "<init>", "")),
            (
                "java/lang/Thread.run_[j]",
                ("java/lang/Thread", "run_[j]", ""),
            ),
            ("start_thread", ("?", "start_thread", "")),
            ("JavaThread::run()", ("?", "JavaThread::run", "()")),
            ("a.", ("?", "a.", "")),
            (".a", ("?", ".a", "")),
            ("(", ("?", "", "(")),
            ("", ("?", "", "")),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
