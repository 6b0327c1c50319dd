//! Threads and methods of formats that have names only. They are defined at their first use.

use crate::hash::Seed;
use jtrail_model::names::{NO_CLASS, readable_signature, readable_type};
use jtrail_model::{
    ClassDef, ClassId, Event, MethodDef, MethodId, ThreadId, ThreadStart, Timestamp,
};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

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
        let class_name = class_in_source_form(class_name);
        let class = match self.classes.get(&*class_name) {
            Some(class) => *class,
            None => {
                let class = ClassId(self.next());
                queue.push_back(Event::ClassDef(ClassDef {
                    class,
                    time,
                    name: class_name.clone().into_owned().into(),
                    ..ClassDef::default()
                }));
                self.classes.insert((*class_name).into(), class);
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
/// parenthesis on. Put together, they are shown as the text.
fn split(text: &str) -> (&str, &str, &str) {
    let end = text.find('(').unwrap_or(text.len());
    let is_kept = readable_signature(&text[end..]) == text[end..] || is_descriptor(&text[end..]);
    // `(B)` has a parameter of the class `B`, but would be shown as `(byte)`.
    let signature = if is_kept { end } else { text.len() };
    let dot = text[..end].rfind('.');
    match dot.map(|dot| (&text[..dot], &text[dot + 1..signature], dot + 1 < end)) {
        Some((class, name, true)) if !["", NO_CLASS].contains(&class) => {
            (class, name, &text[signature..])
        }
        _ => (NO_CLASS, &text[..signature], &text[signature..]),
    }
}

/// Returns true if a signature with parameters in the JVM's form has a result in this form, too.
fn is_descriptor(signature: &str) -> bool {
    let result = signature.split_once(')').map(|(_, result)| result);
    result.is_some_and(|result| result == "V" || readable_type(result) != result)
}

/// Returns the name of a class with dots if it is in the JVM's form, `java/lang/Thread`. Paths of
/// files and names of other languages stay as they are.
fn class_in_source_form(name: &str) -> Cow<'_, str> {
    let is_part = |part: &str| !part.is_empty() && !part.contains(['.', ':', ' ']);
    match name.contains('/') && name.split('/').all(is_part) {
        true => name.replace('/', ".").into(),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::names::Names;

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
            ("?.a", ("?", "?.a", "")),
            ("a.C.run(B)", ("a.C", "run(B)", "")),
            ("a.C.run(B, C)", ("a.C", "run", "(B, C)")),
            ("a.C.run(B)V", ("a.C", "run", "(B)V")),
            ("f(I)", ("?", "f(I)", "")),
            ("a.C.run()", ("a.C", "run", "()")),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_shown_as_they_were() {
        let (mut definitions, mut queue) = (Definitions::default(), VecDeque::new());
        let mut names = Names::default();
        for (text, expected) in [
            ("main", "main"),
            ("?.main", "?.main"),
            ("?", "?"),
            ("a.B.run(C)", "a.B.run(C)"),
            ("a.B.run(Z, int)", "a.B.run(Z, int)"),
            ("g(I)", "g(I)"),
            ("a::f(I) const", "a::f(I) const"),
            ("a::f(I) [clone]", "a::f(I) [clone]"),
            ("std::vec<a.b>::push", "std::vec<a.b>::push"),
            ("/usr/lib/libc.so.6", "/usr/lib/libc.so.6"),
            ("net/http.(*conn).serve", "net/http.(*conn).serve"),
            (
                "net/http.HandlerFunc.ServeHTTP",
                "net/http.HandlerFunc.ServeHTTP",
            ),
            ("github.com/a/b.run", "github.com/a/b.run"),
            ("run (/a/b.py:10)", "run (/a/b.py:10)"),
            ("..", ".."),
            // These are in the JVM's form.
            ("java/lang/Thread.run", "java.lang.Thread.run"),
            ("a/B.c(ILd/E;)V", "a.B.c(int, E)"),
        ] {
            let (method, _) = definitions.method(text, Timestamp(0), &mut queue);
            queue.drain(..).for_each(|event| names.event(&event));
            assert_eq!(names.readable_method(method), expected);
        }
    }
}
