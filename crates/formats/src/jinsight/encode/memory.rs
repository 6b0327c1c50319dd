//! Objects: definitions, allocations and frees.

use super::definitions::Sink;
use super::dropped::Dropped;
use super::objects::{Known, Shape};
use super::{Encoder, sink};
use crate::jinsight::names::array_of;
use crate::jinsight::wire::{
    ARRAY_CLASS_DEFINED, ARRAY_CREATED, ARRAY_DEFINED, JAVA_CLASS, JAVA_OBJECT, JAVA_THREAD,
    OBJECT_CREATED, OBJECT_DEFINED, OBJECT_RECLAIMED, PRIMITIVE_ARRAYS, THREAD_CLASS,
};
use jtrail_model::{ClassId, ObjectAlloc, ObjectDef, ObjectFree, ObjectId, ObjectKind, Timestamp};
use std::borrow::Cow;

impl Encoder {
    pub(super) fn alloc(&mut self, e: &ObjectAlloc, out: &mut Vec<u8>) {
        let place = e.line != 0 || !e.method.is_none();
        self.dropped.part_if(place, Dropped::AllocSite);
        let ticks = self.stream.ticks(e.time, &mut self.dropped, out);
        let shape = self.shape(e.class, e.kind, ticks, out);
        let thread = self.thread(e.thread, e.time, out);
        let ticks = self.thread_ticks(e.thread, ticks);
        let size = self.size(shape, e.size);
        let Some(id) = self.define(e.object, shape, size, ticks, out) else {
            self.unwritten_allocations += 1;
            return;
        };
        let mut fields = [0; 13];
        match shape {
            Shape::Plain(class) => {
                fields[..4].copy_from_slice(&id.to_le_bytes());
                fields[4..6].copy_from_slice(&class.to_le_bytes());
                fields[6..10].copy_from_slice(&thread.to_le_bytes());
                self.stream.put(OBJECT_CREATED, ticks, &fields[..10], out);
            }
            Shape::Primitives(..) | Shape::References(_) => {
                fields[0] = match shape {
                    Shape::Primitives(_, kind) => kind,
                    _ => ObjectKind::REFERENCES.0,
                };
                fields[1..5].copy_from_slice(&id.to_le_bytes());
                fields[5..9].copy_from_slice(&size.to_le_bytes());
                fields[9..].copy_from_slice(&thread.to_le_bytes());
                self.stream.put(ARRAY_CREATED, ticks, &fields, out);
            }
        }
    }

    pub(super) fn object(&mut self, e: &ObjectDef, out: &mut Vec<u8>) {
        let ticks = self.stream.ticks(e.time, &mut self.dropped, out);
        let shape = self.shape(e.class, e.kind, ticks, out);
        let size = self.size(shape, e.size);
        self.define(e.object, shape, size, ticks, out);
    }

    pub(super) fn free(&mut self, e: &ObjectFree, out: &mut Vec<u8>) {
        let ticks = self.stream.ticks(e.time, &mut self.dropped, out);
        match self.mentioned(e.object, ticks, out) {
            Some(object) if self.objects.free(object) => {
                self.dropped.part_if(e.age != 0, Dropped::ObjectAge);
                let id = object.id.to_le_bytes();
                self.stream.put(OBJECT_RECLAIMED, ticks, &id, out);
            }
            Some(_) => {
                self.unwritten_frees += 1;
                self.dropped.event(Dropped::ObjectAgain);
            }
            None => {
                self.unwritten_frees += 1;
                self.dropped.counted_event();
            }
        }
    }

    /// Returns the shape of an object of this class and kind. Writes the class first if necessary.
    fn shape(&mut self, class: ClassId, kind: ObjectKind, ticks: u64, out: &mut Vec<u8>) -> Shape {
        let name = self.classes.name(class).unwrap_or_default();
        let primitive = PRIMITIVE_ARRAYS.iter().find(|(_, code, array)| {
            *code == kind || (kind == ObjectKind::PLAIN && *array == name)
        });
        if let Some(&(code, kind, _)) = primitive {
            return Shape::Primitives(code, kind.0);
        }
        if kind == ObjectKind::REFERENCES || name.starts_with('[') {
            let element = element(name).unwrap_or(name).to_owned();
            let sink = sink!(self, out);
            let class = match &*element {
                "" => self.classes.by_name(JAVA_OBJECT, ticks, sink),
                name => self.classes.by_name(name, ticks, sink),
            };
            return Shape::References(class);
        }
        self.dropped
            .part_if(kind != ObjectKind::PLAIN, Dropped::ArraySize);
        self.dropped.part_if(class.is_none(), Dropped::ObjectClass);
        let sink = sink!(self, out);
        Shape::Plain(match class {
            ClassId::NONE => self.classes.by_name(JAVA_OBJECT, ticks, sink),
            class => self.classes.id(class, sink),
        })
    }

    /// Returns the size to write, which is 0 for plain objects.
    fn size(&mut self, shape: Shape, size: i64) -> u32 {
        if let Shape::Plain(_) = shape {
            self.dropped.part_if(size != 0, Dropped::PlainSize);
            return 0;
        }
        u32::try_from(size).unwrap_or_else(|_| {
            self.dropped.part(Dropped::ArraySize);
            if size < 0 { 0 } else { u32::MAX }
        })
    }

    /// Writes the definition of an object and returns its id. Returns `None` if the object is
    /// defined already or all ids are assigned.
    fn define(
        &mut self,
        object: ObjectId,
        shape: Shape,
        size: u32,
        ticks: u64,
        out: &mut Vec<u8>,
    ) -> Option<u32> {
        if self.objects.get(object).is_some() {
            self.dropped.event(Dropped::ObjectAgain);
            return None;
        }
        let Some(id) = self.objects.insert(object, shape) else {
            self.dropped.event(Dropped::ObjectOverflow);
            return None;
        };
        let mut fields = [0; 10];
        match shape {
            Shape::Plain(class) => {
                fields[..4].copy_from_slice(&id.to_le_bytes());
                fields[4..6].copy_from_slice(&class.to_le_bytes());
                self.stream.put(OBJECT_DEFINED, ticks, &fields[..6], out);
            }
            Shape::Primitives(code, _) => {
                fields[0] = code;
                fields[1..5].copy_from_slice(&id.to_le_bytes());
                fields[5..9].copy_from_slice(&size.to_le_bytes());
                self.stream.put(ARRAY_DEFINED, ticks, &fields[..9], out);
            }
            Shape::References(class) => {
                fields[..4].copy_from_slice(&id.to_le_bytes());
                fields[4..6].copy_from_slice(&class.to_le_bytes());
                fields[6..].copy_from_slice(&size.to_le_bytes());
                self.stream.put(ARRAY_CLASS_DEFINED, ticks, &fields, out);
            }
        }
        Some(id)
    }

    /// Returns an object that a record is about to name. If it is the object of a class, defines it
    /// first.
    pub(super) fn mentioned(
        &mut self,
        object: ObjectId,
        ticks: u64,
        out: &mut Vec<u8>,
    ) -> Option<Known> {
        if object.is_none() {
            return None;
        }
        let known = self.objects.get(object);
        if known.is_some() {
            return known;
        }
        if self.objects.is_full() {
            self.dropped.part(Dropped::ObjectOverflow);
            return None;
        }
        if !self.objects.is_class(object) {
            self.dropped.part(Dropped::ObjectUnknown);
            return None;
        }
        self.define_by_name(object, JAVA_CLASS, ticks, out)
    }

    fn define_by_name(
        &mut self,
        object: ObjectId,
        class: &str,
        ticks: u64,
        out: &mut Vec<u8>,
    ) -> Option<Known> {
        let shape = Shape::Plain(self.classes.by_name(class, ticks, sink!(self, out)));
        self.define(object, shape, 0, ticks, out)?;
        self.objects.get(object)
    }

    /// Returns the name of an object's class, with slashes; empty if unknown.
    pub(super) fn class_name(&self, object: Known) -> Cow<'_, str> {
        match self.objects.shape(object) {
            Some(Shape::Plain(class)) => self.classes.written_name(class).into(),
            Some(Shape::Primitives(code, _)) => {
                let array = PRIMITIVE_ARRAYS.iter().find(|array| array.0 == code);
                array.map_or("", |array| array.2).into()
            }
            Some(Shape::References(class)) => array_of(self.classes.written_name(class)).into(),
            None => "".into(),
        }
    }

    /// Returns the id and class of a thread's object.
    pub(super) fn thread_object(
        &mut self,
        object: ObjectId,
        ticks: u64,
        out: &mut Vec<u8>,
    ) -> (u32, u16) {
        self.classes.by_name(JAVA_THREAD, ticks, sink!(self, out));
        let known = match self.objects.get(object) {
            None if !object.is_none() => self.define_by_name(object, JAVA_THREAD, ticks, out),
            known => known,
        };
        let shape = known.and_then(|known| self.objects.shape(known));
        let class = match shape {
            Some(Shape::Plain(class)) => class,
            _ => THREAD_CLASS,
        };
        (known.map_or(0, |known| known.id), class)
    }

    /// Writes how many objects got no id because all ids were assigned.
    pub(super) fn emit_untracked(&mut self, out: &mut Vec<u8>) {
        let count = self.dropped.count(Dropped::ObjectOverflow);
        if count > 0 {
            let latest = Timestamp(self.stream.latest().cast_signed());
            self.text = format!("lost kind=objects count={count}");
            self.put_text_event(latest, out);
        }
    }
}

/// Returns the element class of an array class, or `None` if `array` is not the name of an array.
fn element(array: &str) -> Option<&str> {
    let element = array.strip_prefix('[')?;
    let class = element.strip_prefix('L').and_then(|e| e.strip_suffix(';'));
    Some(class.unwrap_or(element))
}
