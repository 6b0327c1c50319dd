//! Names of threads, classes and methods.

mod columns;

use crate::{ClassId, Event, MethodId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Name of the class of methods that have none, such as functions in the files of other tools.
/// Names of methods are shown without it.
pub const NO_CLASS: &str = "?";

/// All names defined in a trace so far.
#[derive(Debug, Default)]
pub struct Names {
    /// The threads in the order of their ids.
    pub threads: std::collections::BTreeMap<ThreadId, ThreadName>,
    classes: FxHashMap<ClassId, String>,
    /// Source files of the classes, as far as they are known.
    sources: FxHashMap<ClassId, String>,
    methods: FxHashMap<MethodId, MethodName>,
}

/// The names and times of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadName {
    /// The latest name.
    pub name: String,
    /// The first name, if the thread was renamed.
    pub first_name: Option<String>,
    /// The number of renames.
    pub renames: u64,
    /// The thread group.
    pub group: String,
    /// The start of the thread.
    pub start: Timestamp,
    /// The end of the thread, if it has ended.
    pub end: Option<Timestamp>,
}

/// The name of a method.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodName {
    /// The class that declares the method.
    pub class: ClassId,
    /// The method's name.
    pub name: String,
    /// The method's descriptor.
    pub signature: String,
    /// The smallest source line; 0 if unknown.
    pub line: i64,
}

impl Names {
    /// Processes definitions. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ThreadStart(e) => {
                let thread = ThreadName {
                    name: e.name.to_string(),
                    group: e.group.to_string(),
                    start: e.time,
                    ..ThreadName::default()
                };
                self.threads.insert(e.thread, thread);
            }
            Event::ThreadEnd(e) => {
                if let Some(thread) = self.threads.get_mut(&e.thread) {
                    thread.end = Some(e.time);
                }
            }
            Event::ThreadName(e) => {
                if let Some(thread) = self.threads.get_mut(&e.thread)
                    && thread.name != e.name
                {
                    let old = std::mem::replace(&mut thread.name, e.name.to_string());
                    thread.first_name.get_or_insert(old);
                    thread.renames += 1;
                }
            }
            Event::ClassDef(e) => {
                self.classes.insert(e.class, e.name.to_string());
                self.define_source(e.class, &e.source_name);
            }
            Event::ClassSource(e) => self.define_source(e.class, &e.source_name),
            Event::MethodDef(e) => {
                let method = MethodName {
                    class: e.class,
                    name: e.name.to_string(),
                    signature: e.signature.to_string(),
                    line: e.start_line,
                };
                self.methods.insert(e.method, method);
            }
            _ => {}
        }
    }

    fn define_source(&mut self, class: ClassId, source: &str) {
        if !source.is_empty() {
            self.sources.insert(class, source.to_owned());
        }
    }

    /// Returns the thread's name; `thread-7` if it has no definition; empty for none.
    pub fn thread(&self, id: ThreadId) -> String {
        match self.threads.get(&id) {
            Some(thread) => thread.name.clone(),
            None if id.is_none() => String::new(),
            None => format!("thread-{id}"),
        }
    }

    /// Returns the number of defined classes.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Returns the number of defined methods.
    pub fn method_count(&self) -> usize {
        self.methods.len()
    }

    /// Returns the class's name; `class-7` if it has no definition.
    pub fn class(&self, id: ClassId) -> String {
        self.classes
            .get(&id)
            .cloned()
            .unwrap_or_else(|| format!("class-{id}"))
    }

    /// Returns a readable form of the class's name: `int[][]` for `[[I`.
    pub fn readable_class(&self, id: ClassId) -> String {
        let raw = self.class(id);
        if raw.starts_with('[') {
            readable_type(&raw)
        } else {
            raw
        }
    }

    /// Returns the class's name, if the trace defines it.
    pub fn known_class(&self, id: ClassId) -> Option<&str> {
        self.classes.get(&id).map(String::as_str)
    }

    /// Returns the name of the class's source file, without a folder, if it is known.
    pub fn source(&self, id: ClassId) -> Option<&str> {
        self.sources.get(&id).map(String::as_str)
    }

    /// Returns the method, if the trace defines it.
    pub fn method(&self, id: MethodId) -> Option<&MethodName> {
        self.methods.get(&id)
    }

    /// Returns `class.method(descriptor)result`; `method-7` if the method has no definition.
    pub fn raw_method(&self, id: MethodId) -> String {
        match self.methods.get(&id) {
            Some(m) => self.with_class(m, &m.signature),
            None => format!("method-{id}"),
        }
    }

    /// Returns a readable form of the method: `class.method(int, String)`.
    pub fn readable_method(&self, id: MethodId) -> String {
        match self.methods.get(&id) {
            Some(m) => self.with_class(m, &readable_signature(&m.signature)),
            None => format!("method-{id}"),
        }
    }

    /// Returns the method's class, if it has one, its name, and `signature`.
    fn with_class(&self, method: &MethodName, signature: &str) -> String {
        match self.class(method.class) {
            class if class == NO_CLASS => format!("{}{signature}", method.name),
            class => format!("{class}.{}{signature}", method.name),
        }
    }
}

/// Returns the parameters of a descriptor with simple names: `(int, String[])`. A text that is not
/// a descriptor is returned unchanged.
pub fn readable_signature(signature: &str) -> String {
    parameters(signature).unwrap_or_else(|| signature.to_owned())
}

/// Returns the type of a descriptor: `int[][]` for `[[I`, `a.B` for `La/B;`. A text that is not a
/// descriptor is returned unchanged.
pub fn readable_type(descriptor: &str) -> String {
    let element = descriptor.trim_start_matches('[');
    let dimensions = descriptor.len() - element.len();
    let class = || {
        Some(
            element
                .strip_prefix('L')?
                .strip_suffix(';')?
                .replace('/', "."),
        )
    };
    match primitive(element).map(str::to_owned).or_else(class) {
        Some(name) => name + &"[]".repeat(dimensions),
        None => descriptor.to_owned(),
    }
}

/// Returns the primitive type of a descriptor.
fn primitive(descriptor: &str) -> Option<&'static str> {
    Some(match descriptor {
        "B" => "byte",
        "C" => "char",
        "D" => "double",
        "F" => "float",
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "Z" => "boolean",
        _ => return None,
    })
}

fn parameters(signature: &str) -> Option<String> {
    let (mut rest, _) = signature.strip_prefix('(')?.split_once(')')?;
    let mut out = String::from("(");
    while !rest.is_empty() {
        if out.len() > 1 {
            out.push_str(", ");
        }
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let name = if let Some(class) = element.strip_prefix('L') {
            let (class, after) = class.split_once(';')?;
            rest = after;
            class.rsplit('/').next()?
        } else {
            let (first, after) = element.split_at_checked(1)?;
            rest = after;
            primitive(first)?
        };
        let _ = write!(out, "{name}{}", "[]".repeat(dimensions)); // writing to a String can't fail
    }
    out.push(')');
    Some(out)
}

/// The line of a frame in a native method.
const NATIVE: i64 = -2;

/// Returns the method, followed by a colon and the line if that is known.
pub fn with_line(method: &str, line: i64) -> String {
    match line {
        _ if method.is_empty() => String::new(),
        NATIVE => format!("{method}:native"),
        1.. => format!("{method}:{line}"),
        _ => method.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadStart;

    #[test]
    fn threads_go_by_their_latest_name() {
        let mut names = Names::default();
        let rename = |thread, name: &'static str| {
            Event::ThreadName(crate::ThreadName {
                thread: ThreadId(thread),
                time: Timestamp(5),
                name: name.into(),
            })
        };
        names.event(&Event::ThreadStart(ThreadStart {
            thread: ThreadId(1),
            name: "a".into(),
            ..ThreadStart::default()
        }));
        for event in [
            rename(1, "a"),
            rename(1, "b"),
            rename(1, "c"),
            rename(2, "d"),
        ] {
            names.event(&event);
        }
        let thread = &names.threads[&ThreadId(1)];
        assert_eq!(
            (thread.first_name.as_deref(), thread.renames),
            (Some("a"), 2)
        );
        let all = [0, 1, 2].map(|id| names.thread(ThreadId(id)));
        assert_eq!(all, ["", "c", "thread-2"]);
    }

    #[test]
    fn methods_without_a_class_have_names_only() {
        let mut names = Names::default();
        for (id, name) in [(1, "a.B"), (2, NO_CLASS)] {
            names.event(&Event::ClassDef(crate::ClassDef {
                class: ClassId(id),
                name: name.into(),
                ..crate::ClassDef::default()
            }));
            names.event(&Event::MethodDef(crate::MethodDef {
                method: MethodId(id),
                class: ClassId(id),
                name: "c".into(),
                signature: "(I)V".into(),
                ..crate::MethodDef::default()
            }));
        }
        let both = |id| (names.raw_method(id), names.readable_method(id));
        let pair = |raw: &str, readable: &str| (raw.to_owned(), readable.to_owned());
        assert_eq!(both(MethodId(1)), pair("a.B.c(I)V", "a.B.c(int)"));
        assert_eq!(both(MethodId(2)), pair("c(I)V", "c(int)"));
        assert_eq!(both(MethodId(3)), pair("method-3", "method-3"));
    }

    #[test]
    fn arrays_read_like_source() {
        let mut names = Names::default();
        for (name, expected) in [
            ("a.B", "a.B"),
            ("[[I", "int[][]"),
            ("[La.B$C;", "a.B$C[]"),
            ("[", "["),
            ("[x", "[x"),
            ("[L", "[L"),
        ] {
            names.event(&Event::ClassDef(crate::ClassDef {
                class: ClassId(1),
                name: name.into(),
                ..crate::ClassDef::default()
            }));
            assert_eq!(names.readable_class(ClassId(1)), expected);
        }
        assert_eq!(names.readable_class(ClassId(7)), "class-7");
    }

    #[test]
    fn signatures() {
        for (descriptor, expected) in [
            ("()V", "()"),
            ("(I)V", "(int)"),
            ("(ILjava/lang/String;)V", "(int, String)"),
            (
                "([[J[Ljava/util/Map$Entry;Z)I",
                "(long[][], Map$Entry[], boolean)",
            ),
            ("", ""),
            ("(", "("),
            ("(Lx)V", "(Lx)V"),
            ("(é)V", "(é)V"),
            ("([)V", "([)V"),
        ] {
            assert_eq!(readable_signature(descriptor), expected, "{descriptor}");
        }
    }
}
