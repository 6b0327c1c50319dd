//! Classes and their methods, by the ids of the file.

use super::value::{Fields, text};
use crate::jinsight::names::exchanged;
use jtrail_model::{ClassId, Member, MethodId};
use std::collections::HashMap;

/// A CLASS_LOAD.
#[derive(Debug)]
pub(super) struct Load<'a> {
    pub(super) ticks: u64,
    pub(super) class: u16,
    pub(super) size: u16,
    pub(super) name: &'a [u8],
    pub(super) methods: Vec<Member<'a>>,
    pub(super) fields: Vec<Member<'a>>,
    pub(super) super_class: u16,
    pub(super) interfaces: Vec<u16>,
    /// The methods as they stand in the file, and where each begins in there.
    raw_methods: &'a [u8],
    starts: Vec<u32>,
}

impl<'a> Load<'a> {
    /// Reads what stands behind the type; none when the input ends before the record does.
    pub(super) fn read(fields: &mut Fields<'a>) -> Option<Self> {
        let (ticks, class, size, name) =
            (fields.u64()?, fields.u16()?, fields.u16()?, fields.text()?);
        let count = fields.u16()?;
        let all = fields.rest;
        let (mut methods, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            starts.push(u32::try_from(all.len() - fields.rest.len()).ok()?);
            methods.push(member(fields)?);
        }
        let raw_methods = &all[..all.len() - fields.rest.len()];
        let count = fields.u16()?;
        let declared = (0..count).map(|_| member(fields)).collect::<Option<_>>()?;
        let super_class = fields.u16()?;
        let count = fields.u16()?;
        let interfaces = (0..count).map(|_| fields.u16()).collect::<Option<_>>()?;
        Some(Self {
            ticks,
            class,
            size,
            name,
            methods,
            fields: declared,
            super_class,
            interfaces,
            raw_methods,
            starts,
        })
    }
}

fn member<'a>(fields: &mut Fields<'a>) -> Option<Member<'a>> {
    let (name, signature, access) = fields.member()?;
    Some(Member {
        name: text(name),
        signature: text(signature),
        access,
    })
}

#[derive(Debug)]
pub(super) struct Class {
    pub(super) id: ClassId,
    /// With dots.
    pub(super) name: Box<str>,
    /// Arrays of it, none before the first.
    pub(super) array: ClassId,
    raw_methods: Box<[u8]>,
    /// Where each method begins, and its id: none before its first call.
    methods: Vec<(u32, MethodId)>,
}

#[derive(Debug, Default)]
pub(super) struct Classes {
    table: Vec<Option<Box<Class>>>,
    /// Methods beyond those that their class lists.
    unlisted: HashMap<(u16, u16), MethodId>,
    /// Classes of arrays, by name with dots.
    pub(super) arrays: HashMap<Box<str>, ClassId>,
}

impl Classes {
    #[inline]
    pub(super) fn get(&self, id: u16) -> Option<&Class> {
        self.table.get(usize::from(id))?.as_deref()
    }

    pub(super) fn get_mut(&mut self, id: u16) -> Option<&mut Class> {
        self.table.get_mut(usize::from(id))?.as_deref_mut()
    }

    /// Class and method of a call; none when the one or the other was not told of so far.
    #[inline]
    pub(super) fn method(&self, class: u16, method: u16) -> Option<(ClassId, MethodId)> {
        let known = self.get(class)?;
        let id = match known.methods.get(usize::from(method)) {
            Some((_, id)) => *id,
            None => *self.unlisted.get(&(class, method))?,
        };
        (!id.is_none()).then_some((known.id, id))
    }

    /// Gives a method its id; answers with name and descriptor, none if the class does not list it.
    pub(super) fn name_method(
        &mut self,
        class: u16,
        method: u16,
        id: MethodId,
        big_endian: bool,
    ) -> Option<(String, String)> {
        let known = self.table.get_mut(usize::from(class))?.as_deref_mut()?;
        let Some((start, place)) = known.methods.get_mut(usize::from(method)) else {
            self.unlisted.insert((class, method), id);
            return None;
        };
        *place = id;
        let rest = known.raw_methods.get(*start as usize..)?;
        let (name, signature, _) = Fields { rest, big_endian }.member()?;
        Some((text(name).into_owned(), text(signature).into_owned()))
    }

    /// Puts a class under its id; `false` when there was one.
    pub(super) fn insert(&mut self, class: u16, id: ClassId, load: Option<&Load<'_>>) -> bool {
        let (name, raw_methods, starts) = match load {
            Some(load) => (class_name(load.name), load.raw_methods, &*load.starts),
            None => (placeholder(class), &[][..], &[][..]),
        };
        if name.starts_with('[') {
            self.arrays.entry(name.as_str().into()).or_insert(id);
        }
        let new = Class {
            id,
            name: name.into(),
            array: ClassId::NONE,
            raw_methods: raw_methods.into(),
            methods: starts.iter().map(|&at| (at, MethodId::NONE)).collect(),
        };
        let at = usize::from(class);
        if at >= self.table.len() {
            self.table.resize_with(at + 1, || None);
        }
        match self.table.get_mut(at) {
            Some(place) => place.replace(Box::new(new)).is_none(),
            None => false,
        }
    }
}

/// A class name of the file as the model has it.
pub(super) fn class_name(name: &[u8]) -> String {
    exchanged(&text(name))
}

/// The name of a class that was never defined.
pub(super) fn placeholder(class: u16) -> String {
    format!("class#{class}")
}
