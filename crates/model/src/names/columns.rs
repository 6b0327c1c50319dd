//! The serialised form of [`Names`]: a list for each field, in the order of the ids.
//!
//! Lists of one field compress well: ids, classes and times are differences to the preceding
//! element, and names of neighbours have common prefixes.

use super::{MethodName, Names, ThreadName};
use crate::{ClassId, MethodId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct Columns<'a> {
    #[serde(borrow)]
    threads: Threads<'a>,
    classes: Texts<'a>,
    sources: Texts<'a>,
    methods: Methods<'a>,
}

#[derive(Default, Serialize, Deserialize)]
struct Threads<'a> {
    ids: Vec<i64>,
    #[serde(borrow)]
    names: Vec<&'a str>,
    first_names: Vec<Option<&'a str>>,
    renames: Vec<u64>,
    groups: Vec<&'a str>,
    starts: Vec<i64>,
    /// Times since the starts.
    ends: Vec<Option<i64>>,
}

/// Texts of classes.
#[derive(Default, Serialize, Deserialize)]
struct Texts<'a> {
    ids: Vec<i64>,
    #[serde(borrow)]
    texts: Vec<&'a str>,
}

#[derive(Default, Serialize, Deserialize)]
struct Methods<'a> {
    ids: Vec<i64>,
    classes: Vec<i64>,
    #[serde(borrow)]
    names: Vec<&'a str>,
    signatures: Vec<&'a str>,
    lines: Vec<i64>,
}

/// Turns values into differences to the preceding value, and back.
#[derive(Default)]
struct Steps(i64);

impl Steps {
    fn to(&mut self, value: i64) -> i64 {
        value.wrapping_sub(std::mem::replace(&mut self.0, value))
    }

    fn value(&mut self, step: i64) -> i64 {
        self.0 = self.0.wrapping_add(step);
        self.0
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let columns = Columns {
            threads: threads(self),
            classes: texts(&self.classes),
            sources: texts(&self.sources),
            methods: methods(&self.methods),
        };
        columns.serialize(serializer)
    }
}

fn threads(names: &Names) -> Threads<'_> {
    let mut columns = Threads::default();
    let (mut ids, mut starts) = (Steps::default(), Steps::default());
    for (id, thread) in &names.threads {
        columns.ids.push(ids.to(id.0 as i64));
        columns.names.push(&thread.name);
        columns.first_names.push(thread.first_name.as_deref());
        columns.renames.push(thread.renames);
        columns.groups.push(&thread.group);
        columns.starts.push(starts.to(thread.start.0));
        let end = thread.end.map(|end| end.0.wrapping_sub(thread.start.0));
        columns.ends.push(end);
    }
    columns
}

fn texts(texts: &FxHashMap<ClassId, String>) -> Texts<'_> {
    let mut all: Vec<_> = texts.iter().collect();
    all.sort_unstable();
    let mut ids = Steps::default();
    let (ids, texts) = all
        .into_iter()
        .map(|(id, text)| (ids.to(id.0 as i64), text.as_str()))
        .unzip();
    Texts { ids, texts }
}

fn methods(methods: &FxHashMap<MethodId, MethodName>) -> Methods<'_> {
    let mut all: Vec<_> = methods.iter().collect();
    all.sort_unstable_by_key(|(id, _)| **id);
    let mut columns = Methods::default();
    let (mut ids, mut classes) = (Steps::default(), Steps::default());
    for (id, method) in all {
        columns.ids.push(ids.to(id.0 as i64));
        columns.classes.push(classes.to(method.class.0 as i64));
        columns.names.push(&method.name);
        columns.signatures.push(&method.signature);
        columns.lines.push(method.line);
    }
    columns
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let columns = Columns::deserialize(deserializer)?;
        let names = || {
            Some(Self {
                threads: columns.threads.into_map()?,
                classes: columns.classes.into_map()?,
                sources: columns.sources.into_map()?,
                methods: columns.methods.into_map()?,
            })
        };
        names().ok_or_else(|| D::Error::custom("lists of names differ in length"))
    }
}

impl Threads<'_> {
    fn into_map(self) -> Option<std::collections::BTreeMap<ThreadId, ThreadName>> {
        let count = self.ids.len();
        let lengths = [
            self.names.len(),
            self.first_names.len(),
            self.renames.len(),
            self.groups.len(),
            self.starts.len(),
            self.ends.len(),
        ];
        let (mut ids, mut starts) = (Steps::default(), Steps::default());
        let thread = |at: usize| {
            let start = starts.value(self.starts[at]);
            let thread = ThreadName {
                name: self.names[at].to_owned(),
                first_name: self.first_names[at].map(str::to_owned),
                renames: self.renames[at],
                group: self.groups[at].to_owned(),
                start: Timestamp(start),
                end: self.ends[at].map(|end| Timestamp(start.wrapping_add(end))),
            };
            (ThreadId(ids.value(self.ids[at]) as u64), thread)
        };
        let is_even = lengths.iter().all(|length| *length == count);
        is_even.then(|| (0..count).map(thread).collect())
    }
}

impl Texts<'_> {
    fn into_map(self) -> Option<FxHashMap<ClassId, String>> {
        let mut ids = Steps::default();
        let text = |(step, text): (i64, &str)| (ClassId(ids.value(step) as u64), text.to_owned());
        let is_even = self.ids.len() == self.texts.len();
        is_even.then(|| self.ids.into_iter().zip(self.texts).map(text).collect())
    }
}

impl Methods<'_> {
    fn into_map(self) -> Option<FxHashMap<MethodId, MethodName>> {
        let count = self.ids.len();
        let lengths = [
            self.classes.len(),
            self.names.len(),
            self.signatures.len(),
            self.lines.len(),
        ];
        let (mut ids, mut classes) = (Steps::default(), Steps::default());
        let method = |at: usize| {
            let method = MethodName {
                class: ClassId(classes.value(self.classes[at]) as u64),
                name: self.names[at].to_owned(),
                signature: self.signatures[at].to_owned(),
                line: self.lines[at],
            };
            (MethodId(ids.value(self.ids[at]) as u64), method)
        };
        let is_even = lengths.iter().all(|length| *length == count);
        is_even.then(|| (0..count).map(method).collect())
    }
}
