//! Classes and methods by their ids in the file.

use super::value::{Fields, text};
use crate::jinsight::names::exchanged;
use jtrail_model::{ClassId, Member, MethodId};
use std::collections::HashMap;

/// CLASS_LOAD record.
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
    /// Undecoded methods, and the offset of each method in these bytes.
    raw_methods: &'a [u8],
    starts: Vec<u32>,
}

impl<'a> Load<'a> {
    /// Reads the record after its type. Returns `None` if the input ends inside the record.
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
    /// Class name with dots.
    pub(super) name: Box<str>,
    /// Class of arrays whose elements are of this class; none until the first such array occurs.
    pub(super) array: ClassId,
    raw_methods: Box<[u8]>,
    /// Offset of each method in `raw_methods`, and the method's id. The id is none before the first
    /// call of the method.
    methods: Vec<(u32, MethodId)>,
}

#[derive(Debug, Default)]
pub(super) struct Classes {
    table: Vec<Option<Box<Class>>>,
    /// Ids of called methods that their class does not list, by class and method number.
    unlisted: HashMap<(u16, u16), MethodId>,
    /// Array classes by name with dots.
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

    /// Returns the class and method of a call, or `None` if one of them is not defined yet.
    #[inline]
    pub(super) fn method(&self, class: u16, method: u16) -> Option<(ClassId, MethodId)> {
        let known = self.get(class)?;
        let id = match known.methods.get(usize::from(method)) {
            Some((_, id)) => *id,
            None => *self.unlisted.get(&(class, method))?,
        };
        (!id.is_none()).then_some((known.id, id))
    }

    /// Sets the id of a method. Returns the method's name and descriptor, or `None` if the class
    /// does not list the method.
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

    /// Adds a class under its id in the file. Returns `false` if this replaced another class.
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

/// Converts a class name of the file to the model's spelling.
pub(super) fn class_name(name: &[u8]) -> String {
    exchanged(&text(name))
}

/// Returns the name of a class that is not defined in the file.
pub(super) fn placeholder(class: u16) -> String {
    format!("class#{class}")
}
