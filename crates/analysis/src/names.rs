//! Names of threads, classes and methods.

use jtrail_model::{ClassId, Event, MethodId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// All names that a trace announced so far.
#[derive(Debug, Default)]
pub struct Names {
    /// Threads in the order of their ids.
    pub threads: std::collections::BTreeMap<ThreadId, ThreadName>,
    classes: FxHashMap<ClassId, String>,
    methods: FxHashMap<MethodId, MethodName>,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadName {
    /// Its name, the latest one.
    pub name: String,
    /// Its first name, if it got another.
    pub first_name: Option<String>,
    /// How often it got another name.
    pub renames: u64,
    /// Its group.
    pub group: String,
    /// When it started.
    pub start: Timestamp,
    /// When it ended, if it did.
    pub end: Option<Timestamp>,
}

/// A method.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodName {
    /// Id of its class.
    pub class: ClassId,
    /// Its name.
    pub name: String,
    /// Its VM descriptor.
    pub signature: String,
}

impl Names {
    /// Takes what a definition announces; other events are passed over.
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
            }
            Event::MethodDef(e) => {
                let method = MethodName {
                    class: e.class,
                    name: e.name.to_string(),
                    signature: e.signature.to_string(),
                };
                self.methods.insert(e.method, method);
            }
            _ => {}
        }
    }

    /// The thread's name, or `thread-7` where the trace never announced it; empty for none.
    pub fn thread(&self, id: ThreadId) -> String {
        match self.threads.get(&id) {
            Some(thread) => thread.name.clone(),
            None if id.is_none() => String::new(),
            None => format!("thread-{id}"),
        }
    }

    /// How many classes were announced.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// How many methods were announced.
    pub fn method_count(&self) -> usize {
        self.methods.len()
    }

    /// The class's name, or `class-7` where the trace never announced it.
    pub fn class(&self, id: ClassId) -> String {
        self.classes
            .get(&id)
            .cloned()
            .unwrap_or_else(|| format!("class-{id}"))
    }

    /// The same for people: `int[][]` for `[[I`.
    pub fn readable_class(&self, id: ClassId) -> String {
        let raw = self.class(id);
        if raw.starts_with('[') {
            readable_type(&raw)
        } else {
            raw
        }
    }

    /// The class's name, if the trace announced it.
    pub fn known_class(&self, id: ClassId) -> Option<&str> {
        self.classes.get(&id).map(String::as_str)
    }

    /// The method, if the trace announced it.
    pub fn method(&self, id: MethodId) -> Option<&MethodName> {
        self.methods.get(&id)
    }

    /// `class.method(descriptor)result`, or `method-7` where the trace never announced it.
    pub fn raw_method(&self, id: MethodId) -> String {
        match self.methods.get(&id) {
            Some(m) => format!("{}.{}{}", self.class(m.class), m.name, m.signature),
            None => format!("method-{id}"),
        }
    }

    /// The same for people: `class.method(int, String)`.
    pub fn readable_method(&self, id: MethodId) -> String {
        match self.methods.get(&id) {
            Some(m) => {
                format!(
                    "{}.{}{}",
                    self.class(m.class),
                    m.name,
                    readable_signature(&m.signature)
                )
            }
            None => format!("method-{id}"),
        }
    }
}

/// The parameters of a VM descriptor with simple names: `(int, String[])`. A text that is no
/// descriptor stays as it is.
pub fn readable_signature(signature: &str) -> String {
    parameters(signature).unwrap_or_else(|| signature.to_owned())
}

/// The type of a descriptor: `int[][]` for `[[I`, `a.B` for `La/B;`. A text that is no descriptor
/// stays as it is.
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

/// The primitive type of a descriptor.
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
        let _ = write!(out, "{name}{}", "[]".repeat(dimensions)); // a String takes everything
    }
    out.push(')');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::ThreadStart;

    #[test]
    fn threads_go_by_their_latest_name() {
        let mut names = Names::default();
        let rename = |thread, name: &'static str| {
            Event::ThreadName(jtrail_model::ThreadName {
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
            names.event(&Event::ClassDef(jtrail_model::ClassDef {
                class: ClassId(1),
                name: name.into(),
                ..jtrail_model::ClassDef::default()
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
