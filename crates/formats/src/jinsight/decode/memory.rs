//! Objects: definitions, allocations and frees. An allocation is a definition followed by a record
//! that tells how the object was created.

use super::definitions::class_name;
use super::{Decoder, Remarked, event};
use crate::Decoded;
use crate::jinsight::names::array_of;
use crate::jinsight::wire::{
    ARRAY_CLASS_DEFINED, ARRAY_CREATED, ARRAY_DEFINED, HEAD, NO_OBJECT, OBJECT_CLASS,
    OBJECT_CREATED, OBJECT_DEFINED, PRIMITIVE_ARRAYS,
};
use crate::room::TextBudget;
use jtrail_model::{
    ClassDef, ClassId, Event, ObjectAlloc, ObjectDef, ObjectFree, ObjectId, ObjectKind, Text,
    ThreadId,
};

/// Contents of a record that defines or creates an object.
#[derive(Clone, Copy, Debug)]
struct Record {
    ticks: u64,
    object: u32,
    kind: ObjectKind,
    /// Class of a plain object, or element class of an array.
    class: Option<u16>,
    size: u32,
    /// Allocating thread, in `*_CREATED` records.
    thread: Option<u32>,
    /// Size of the record, in bytes.
    used: usize,
}

impl Decoder {
    /// Reads a record that defines or creates an object. Returns `None` if the record is
    /// incomplete.
    fn object_record(&self, input: &[u8]) -> Option<Record> {
        let (&code, _) = input.split_first()?;
        let mut fields = self.fields(input, 1);
        let ticks = fields.u64()?;
        let (mut kind, mut class, mut size, mut thread) = (ObjectKind::PLAIN, None, 0, None);
        let object;
        match code {
            OBJECT_DEFINED | OBJECT_CREATED => {
                object = fields.u32()?;
                class = Some(fields.u16()?);
            }
            ARRAY_CLASS_DEFINED => {
                object = fields.u32()?;
                class = Some(fields.u16()?);
                (kind, size) = (ObjectKind::REFERENCES, fields.u32()?);
            }
            _ => {
                let array = fields.u8()?;
                kind = match code {
                    ARRAY_DEFINED => PRIMITIVE_ARRAYS
                        .iter()
                        .find(|known| known.0 == array)
                        .map_or(ObjectKind(u8::MAX), |known| known.1),
                    _ => ObjectKind(array),
                };
                (object, size) = (fields.u32()?, fields.u32()?);
            }
        }
        if matches!(code, OBJECT_CREATED | ARRAY_CREATED) {
            thread = Some(fields.u32()?);
        }
        Some(Record {
            ticks,
            object,
            kind,
            class,
            size,
            thread,
            used: input.len() - fields.rest.len(),
        })
    }

    /// Reads an object definition, and the `*_CREATED` record after it if there is one. Also
    /// accepts a `*_CREATED` record without a preceding definition.
    pub(super) fn object<'a>(&mut self, input: &'a [u8], last: bool) -> Option<Decoded<'a>> {
        let mut record = self.object_record(input)?;
        let (mut records, mut defined) = (1, record.ticks);
        if record.thread.is_none() {
            let rest = &input[record.used..];
            let made = match rest.first() {
                Some(&(OBJECT_CREATED | ARRAY_CREATED)) => self.object_record(rest),
                _ => None,
            };
            match made {
                Some(made) if made.object == record.object => {
                    let same = made.kind == record.kind && made.size == record.size;
                    if !same || made.class.is_some_and(|class| Some(class) != record.class) {
                        let offset = self.offset;
                        self.remarks.add(Remarked::OtherCreations, offset);
                    }
                    defined = record.ticks;
                    (record.ticks, record.thread) = (made.ticks, made.thread);
                    record.used += made.used;
                    records = 2;
                }
                // The next record is incomplete. It may be the object's `*_CREATED` record.
                None if !last && may_be_made(rest) => return None,
                _ => {}
            }
        } else {
            let offset = self.offset;
            self.remarks.add(Remarked::LateCreations, offset);
        }
        let class = match self.class_of(&record) {
            Ok(class) => class,
            Err(early) => return Some(*early),
        };
        let thread = match record.thread.map(|key| (key, self.thread_id(key))) {
            Some((key, None)) => return Some(self.unknown_thread(key, record.ticks)),
            Some((_, id)) => id,
            None => None,
        };
        self.latest = self.latest.max(record.ticks);
        self.records += records - 1;
        self.look_at_definition(defined, record.ticks);
        let (object, time) = (
            ObjectId(record.object.into()),
            self.clock.time(record.ticks),
        );
        let (kind, size) = (record.kind, record.size.into());
        let made = thread.map(|thread| ObjectAlloc {
            thread,
            time,
            kind,
            object,
            size,
            class,
            ..ObjectAlloc::default()
        });
        let defined = ObjectDef {
            object,
            time,
            kind,
            size,
            class,
        };
        let emitted = made.map_or(Event::ObjectDef(defined), Event::ObjectAlloc);
        Some(event(record.used, emitted))
    }

    /// Counts a definition if its ticks `defined` differ from `done`, the ticks of the following
    /// load, creation or start. The model has only one time for both.
    pub(super) fn look_at_definition(&mut self, defined: u64, done: u64) {
        if defined != done {
            self.remarks.add(Remarked::DefinitionTimes, self.offset);
        }
    }

    fn thread_id(&mut self, key: u32) -> Option<ThreadId> {
        self.threads.get(u64::from(key)).map(|thread| thread.id)
    }

    /// Returns the class of an object. If the class is undefined, the error is the event that
    /// defines it and must be reported first.
    fn class_of<'a>(&mut self, record: &Record) -> Result<ClassId, Box<Decoded<'a>>> {
        let name = match (record.kind, record.class) {
            (ObjectKind::PLAIN, Some(class)) => {
                return match self.classes.get(class) {
                    Some(class) => Ok(class.id),
                    None => Err(Box::new(self.unknown_class(class, record.ticks))),
                };
            }
            (_, Some(class)) => match self.classes.get(class) {
                Some(class) if !class.array.is_none() => return Ok(class.array),
                Some(class) => array_of(&class.name),
                None => return Err(Box::new(self.unknown_class(class, record.ticks))),
            },
            (kind, None) => match PRIMITIVE_ARRAYS.iter().find(|array| array.1 == kind) {
                Some(array) => array.2.to_owned(),
                None => {
                    if kind != ObjectKind::REFERENCES {
                        let offset = self.offset;
                        self.remarks.add(Remarked::ArrayTypes, offset);
                    }
                    return Ok(ClassId::NONE);
                }
            },
        };
        let known = self.classes.arrays.get(&*name).copied();
        let id = known.unwrap_or_else(|| ClassId(self.next_id()));
        if let Some(class) = record.class.and_then(|class| self.classes.get_mut(class)) {
            class.array = id;
        }
        if known.is_some() {
            return Ok(id);
        }
        self.classes.arrays.insert(name.as_str().into(), id);
        let def = ClassDef {
            class: id,
            time: self.clock.time(record.ticks),
            name: name.into(),
            ..ClassDef::default()
        };
        Err(Box::new(event(0, Event::ClassDef(def))))
    }

    pub(super) fn free<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let (ticks, object) = (fields.u64()?, fields.u32()?);
        self.latest = self.latest.max(ticks);
        let free = ObjectFree {
            time: self.clock.time(ticks),
            object: ObjectId(object.into()),
            age: 0,
        };
        Some(event(HEAD + 4, Event::ObjectFree(free)))
    }

    /// Reports the definition of a class that the file does not define.
    #[cold]
    pub(super) fn unknown_class<'a>(&mut self, class: u16, ticks: u64) -> Decoded<'a> {
        let offset = self.offset;
        self.remarks.add(Remarked::UndefinedClasses, offset);
        let id = ClassId(self.next_id());
        self.classes.insert(class, id, None);
        let name = self.classes.get(class).map(|class| class.name.to_string());
        let def = ClassDef {
            class: id,
            time: self.clock.time(ticks),
            name: name.unwrap_or_default().into(),
            ..ClassDef::default()
        };
        event(0, Event::ClassDef(def))
    }

    /// Reads a CLASS_LOAD. The first call reports the class definition, the second call the
    /// details.
    pub(super) fn class_load<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let load = super::definitions::Load::read(&mut fields)?;
        let time = self.clock.time(load.ticks);
        let name = class_name(load.name);
        let Some(id) = self.emitted_class.take() else {
            let id = ClassId(self.next_id());
            self.emitted_class = Some(id);
            let defined = self.class_defined.take();
            let object = match defined {
                Some((ticks, class, object)) if class == load.class => {
                    self.look_at_definition(ticks, load.ticks);
                    object
                }
                _ => {
                    let offset = self.offset;
                    self.remarks.add(Remarked::UndefinedLoads, offset);
                    0
                }
            };
            let object = match object {
                0 | NO_OBJECT => ObjectId::NONE,
                object => ObjectId(object.into()),
            };
            let def = ClassDef {
                class: id,
                time,
                name: name.into(),
                object,
                ..ClassDef::default()
            };
            return Some(event(0, Event::ClassDef(def)));
        };
        self.latest = self.latest.max(load.ticks);
        let super_name = if load.super_class == load.class || name == "java.lang.Object" {
            String::new()
        } else {
            self.class_named(load.super_class)
        };
        let mut room = TextBudget::default();
        let interfaces = load.interfaces.iter().map(|&id| self.class_named(id));
        let interfaces = interfaces.take_while(|name| room.takes(name));
        let interfaces: Vec<_> = interfaces.map(Text::from).collect();
        if interfaces.len() < load.interfaces.len() {
            let offset = self.offset;
            self.remarks.add(Remarked::Interfaces, offset);
        }
        if !self.classes.insert(load.class, id, Some(&load)) {
            let offset = self.offset;
            self.remarks.add(Remarked::ClassIds, offset);
        }
        let used = input.len() - fields.rest.len();
        let detail = jtrail_model::ClassDetail {
            class: id,
            time,
            super_name: super_name.into(),
            interfaces,
            size: load.size.into(),
            fields: load.fields,
            methods: load.methods,
            ..Default::default()
        };
        Some(event(used, Event::ClassDetail(detail.into())))
    }

    fn class_named(&mut self, class: u16) -> String {
        if let Some(class) = self.classes.get(class) {
            return class.name.to_string();
        }
        // Some writers number classes from 1. They have no class 0, and write 0 for no superclass.
        if class == OBJECT_CLASS {
            return "java.lang.Object".into();
        }
        let offset = self.offset;
        self.remarks.add(Remarked::UndefinedSupers, offset);
        super::definitions::placeholder(class)
    }
}

/// True if `rest` starts with a `*_CREATED` record or is empty.
fn may_be_made(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(&(OBJECT_CREATED | ARRAY_CREATED)))
}
