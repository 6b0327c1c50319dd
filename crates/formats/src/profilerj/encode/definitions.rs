//! Definitions of classes and methods, and the numbers of their names.
//!
//! Sums are kept by name, not by id: the document identifies methods by name only.

use super::value::{legal, unknown};
use crate::check::table::Table;
use crate::hash::{Digest, Digests};
use crate::profilerj::names::{class_to_source, frame_to_sampler, method_to_profile};
use jtrail_model::{ClassDef, ClassId, ClassSource, MethodDef, MethodId};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(in crate::profilerj) struct Definitions {
    classes: Table<Class>,
    methods: Table<Method>,
    /// Class names in source form.
    class_names: Numbers<str>,
    /// Names and descriptors in section `profile`.
    calls: Vec<Call>,
    /// Index in `calls` by digest of name and descriptor.
    call_numbers: HashMap<Digest, u32>,
    digests: Digests,
    /// Names in section `sampler`.
    frames: Numbers<str>,
    /// Index in `frames` by the text of the frame. The first map is for methods with bytecode, the
    /// second for native methods.
    frame_texts: [HashMap<Box<str>, u32>; 2],
}

/// A name and a descriptor in section `profile`.
#[derive(Clone, Debug)]
struct Call {
    /// The class. The first `begin` bytes of its name are also the start of this name. They are
    /// shared to save memory: a class name can be long, and the names of all its methods repeat it.
    class: Arc<str>,
    begin: usize,
    /// The name after its first `begin` bytes.
    rest: Box<str>,
    signature: Box<str>,
}

/// A class with its texts as in the document.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    pub(super) name: Arc<str>,
    pub(super) source: Box<str>,
    /// Number of the class name in source form.
    number: Option<u32>,
}

/// A method with its texts as in the document.
#[derive(Clone, Debug)]
pub(super) struct Method {
    pub(super) class: ClassId,
    pub(super) name: Box<str>,
    pub(super) signature: Box<str>,
    /// Number of the method's name in section `profile`.
    number: Option<u32>,
}

impl Definitions {
    pub(super) fn class_def(&mut self, e: &ClassDef<'_>) {
        let class = self.class_mut(e.class);
        class.name = legal(&e.name).into();
        class.source = legal(&e.source_name).into();
        class.number = None;
    }

    pub(super) fn class_source(&mut self, e: &ClassSource<'_>) {
        self.class_mut(e.class).source = legal(&e.source_name).into();
    }

    pub(super) fn method_def(&mut self, e: &MethodDef<'_>) {
        let method = Method {
            class: e.class,
            name: legal(&e.name).into(),
            signature: legal(&e.signature).into(),
            number: None,
        };
        set(&mut self.methods, e.method.0, method);
    }

    fn class_mut(&mut self, id: ClassId) -> &mut Class {
        self.classes.or_insert_with(id.0, || Class {
            name: if id.is_none() {
                Arc::default()
            } else {
                unknown("class", id.0).into()
            },
            ..Class::default()
        })
    }

    pub(super) fn class(&self, id: ClassId) -> Option<&Class> {
        self.classes.get(id.0)
    }

    pub(super) fn method(&self, id: MethodId) -> Option<&Method> {
        self.methods.get(id.0)
    }

    /// Returns the method's class. If the method is undefined, defines it without a class.
    pub(super) fn class_of(&mut self, id: MethodId) -> ClassId {
        let class = self.method_mut(id).class;
        self.class_mut(class);
        class
    }

    fn method_mut(&mut self, id: MethodId) -> &mut Method {
        self.methods.or_insert_with(id.0, || Method {
            class: ClassId::NONE,
            name: unknown("method", id.0).into(),
            signature: Box::default(),
            number: None,
        })
    }

    /// Returns the number of the class name in source form.
    pub(super) fn class_number(&mut self, id: ClassId) -> u32 {
        if let Some(Some(number)) = self.class(id).map(|class| class.number) {
            return number;
        }
        let name = class_to_source(&self.class_mut(id).name).into_owned();
        let number = self.class_names.number(&*name, || name.as_str().into());
        self.class_mut(id).number = Some(number);
        number
    }

    /// Returns the number of the method's name in section `profile`.
    #[inline]
    pub(super) fn call_number(&mut self, id: MethodId) -> u32 {
        match self.method(id).and_then(|method| method.number) {
            Some(number) => number,
            None => self.new_call(id),
        }
    }

    fn new_call(&mut self, id: MethodId) -> u32 {
        self.class_of(id);
        let method = self.method_mut(id);
        let (class, signature) = (method.class, method.signature.clone());
        let method = method.name.clone();
        let class = self.class_mut(class).name.clone();
        let name = method_to_profile(&class, &method, &signature);
        let key = self.digests.of(&[&name, "\0", &*signature].concat());
        let next = self.calls.len() as u32;
        let number = *self.call_numbers.entry(key).or_insert(next);
        if number == next {
            let begin = common_begin(&class, &name);
            self.calls.push(Call {
                rest: name[begin..].into(),
                class,
                begin,
                signature,
            });
        }
        self.method_mut(id).number = Some(number);
        number
    }

    /// Returns the number of a frame's name in section `sampler`.
    pub(super) fn frame_number(&mut self, method: &str, native: bool) -> u32 {
        let texts = &mut self.frame_texts[usize::from(native)];
        if let Some(number) = texts.get(method) {
            return *number;
        }
        let name = frame_to_sampler(&legal(method), native);
        let number = self.frames.number(&*name, || name.as_str().into());
        texts.insert(method.into(), number);
        number
    }

    pub(super) fn class_by_number(&self, number: u32) -> &str {
        self.class_names.value(number).map_or("", |name| name)
    }

    /// Returns a method's name, in two parts, and its descriptor.
    pub(super) fn call_by_number(&self, number: u32) -> ([&str; 2], &str) {
        let found = self.calls.get(number as usize);
        found.map_or(([""; 2], ""), |call| {
            let begin = call.class.get(..call.begin).unwrap_or_default();
            ([begin, &call.rest], &call.signature)
        })
    }

    pub(super) fn frame_by_number(&self, number: u32) -> &str {
        self.frames.value(number).map_or("", |name| name)
    }
}

/// Returns the length in bytes of the common prefix of two texts.
fn common_begin(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    let common = pairs.take_while(|(one, other)| one == other);
    common.map(|(c, _)| c.len_utf8()).sum()
}

fn set<T>(table: &mut Table<T>, id: u64, value: T) {
    match table.get_mut(id) {
        Some(place) => *place = value,
        None => {
            table.insert(id, value);
        }
    }
}

/// Distinct values, numbered in the order of their appearance.
#[derive(Debug)]
struct Numbers<T: ?Sized> {
    numbers: HashMap<Arc<T>, u32>,
    values: Vec<Arc<T>>,
}

impl<T: ?Sized> Clone for Numbers<T> {
    fn clone(&self) -> Self {
        Self {
            numbers: self.numbers.clone(),
            values: self.values.clone(),
        }
    }
}

impl<T: ?Sized> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            values: Vec::new(),
        }
    }
}

impl<T: ?Sized + Hash + Eq> Numbers<T> {
    fn number(&mut self, value: &T, new: impl FnOnce() -> Arc<T>) -> u32
    where
        Arc<T>: Borrow<T>,
    {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let (number, value) = (self.values.len() as u32, new());
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    fn value(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize).map(|value| &**value)
    }
}
