//! Class definitions. The definition of a class lists its methods, and is written only once.
//!
//! A class with details is written as soon as the details are reported, with all its methods. A
//! class without details is written when a record first needs it, with the methods known by then. A
//! method that is defined later is written in a further class of the same name. Readers assume that
//! the further class has another class loader.

use super::dropped::Dropped;
use super::stream::Stream;
use crate::check::table::Table;
use crate::jinsight::names::exchanged;
use crate::jinsight::wire::{
    CLASS_DEFINE, CLASS_LOAD, FIRST_CLASS, JAVA_OBJECT, JAVA_THREAD, OBJECT_CLASS, OVERFLOW,
    OVERFLOW_CLASS, THREAD_CLASS,
};
use crate::tally::DropTally;
use jtrail_model::{ClassDef, ClassDetail, ClassId, Member, MethodDef, MethodId};
use std::collections::HashMap;
use std::sync::Arc;

/// Destination of records: the stream, the tally of dropped data, and the output.
pub(super) struct Sink<'s> {
    pub(super) stream: &'s mut Stream,
    pub(super) dropped: &'s mut DropTally<Dropped>,
    pub(super) out: &'s mut Vec<u8>,
}

/// Method as identified in a call record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) class: u16,
    pub(super) method: u16,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    Written(Place),
    /// The method is not written yet; holds its class. The class may be already written, without
    /// this method.
    Unwritten(ClassId),
}

#[derive(Debug, Default)]
struct Class {
    /// Class name with slashes.
    name: Arc<str>,
    ticks: u64,
    super_class: u16,
    interfaces: Vec<u16>,
    /// The id, in the file, of the last class that was written for this class.
    written: Option<u16>,
    /// Written methods by name and descriptor, separated by NUL.
    methods: HashMap<Box<str>, Place>,
    unwritten: Vec<(MethodId, Box<str>, Box<str>)>,
}

/// Contents of a CLASS_LOAD record besides the name.
#[derive(Default)]
struct Body<'b> {
    methods: Vec<(&'b str, &'b str, u16)>,
    fields: &'b [Member<'b>],
    super_class: u16,
    interfaces: &'b [u16],
}

#[derive(Debug)]
struct Named {
    id: u16,
    /// True if only the name of the class was known when it was written, because another class
    /// needed its id.
    stub: bool,
}

#[derive(Debug, Default)]
pub(super) struct Classes {
    classes: Table<Class>,
    methods: Table<Method>,
    /// Last class written under each name.
    names: HashMap<Arc<str>, Named>,
    /// Defined classes that no record has needed yet.
    unwritten: HashMap<Arc<str>, ClassId>,
    /// Class name of each id in the file.
    written_names: Vec<Arc<str>>,
    /// Number of ordinary class ids assigned, beginning at [`FIRST_CLASS`].
    ordinary: u16,
    object: bool,
    thread: bool,
    overflow: bool,
    /// Fields of the record under construction.
    buffer: Vec<u8>,
}

/// True if the details hold only the loader. Some formats know only the loader of a class. So such
/// details do not mean that the class has no members.
fn has_only_loader(e: &ClassDetail<'_>) -> bool {
    let (class, time, loader) = (e.class, e.time, e.loader.clone());
    let only = ClassDetail {
        class,
        time,
        loader,
        ..ClassDetail::default()
    };
    !e.loader.is_empty() && *e == only
}

impl Classes {
    /// Returns the number of classes written.
    pub(super) fn written(&self) -> u32 {
        let fixed = [self.object, self.thread, self.overflow];
        u32::from(self.ordinary) + fixed.map(u32::from).iter().sum::<u32>()
    }

    pub(super) fn define(&mut self, e: &ClassDef<'_>, sink: &mut Sink<'_>) {
        let ticks = sink.stream.definition_ticks(e.time, sink.dropped, sink.out);
        self.named(e.class, exchanged(&e.name).into(), ticks, sink);
    }

    fn named(&mut self, id: ClassId, name: Arc<str>, ticks: u64, sink: &mut Sink<'_>) {
        let stub = self.names.get_mut(&*name).filter(|named| named.stub);
        let class = Class {
            ticks,
            written: stub.map(|named| {
                named.stub = false;
                named.id
            }),
            name: name.clone(),
            ..Class::default()
        };
        let written = class.written.is_some();
        if !self.classes.insert(id.0, class) {
            sink.dropped.event(Dropped::Again);
        } else if !written {
            self.unwritten.insert(name, id);
        }
    }

    /// Defines a class under a placeholder name if it was never defined.
    fn known(&mut self, id: ClassId, sink: &mut Sink<'_>) {
        if self.classes.get(id.0).is_none() {
            sink.dropped.part(Dropped::Undefined);
            let ticks = sink.stream.latest();
            self.named(id, format!("class#{id}").into(), ticks, sink);
        }
    }

    pub(super) fn name(&self, id: ClassId) -> Option<&str> {
        self.classes.get(id.0).map(|class| &*class.name)
    }

    /// Returns the name of the class with this id in the file; empty for [`OVERFLOW_CLASS`].
    pub(super) fn written_name(&self, id: u16) -> &str {
        let name = self.written_names.get(usize::from(id));
        name.map_or("", |name| name)
    }

    /// Writes a class with its details.
    pub(super) fn detail(&mut self, e: &ClassDetail<'_>, sink: &mut Sink<'_>) {
        if has_only_loader(e) {
            return sink.dropped.event(Dropped::ClassDetail);
        }
        let ticks = sink.stream.definition_ticks(e.time, sink.dropped, sink.out);
        let has_more = e.access != 0 || e.size != 0 || !e.loader.is_empty();
        sink.dropped.part_if(has_more, Dropped::ClassDetail);
        self.known(e.class, sink);
        let is_object = self.name(e.class) == Some(JAVA_OBJECT);
        let super_class = match &*e.super_name {
            "" => OBJECT_CLASS,
            _ if is_object => OBJECT_CLASS,
            name => self.by_name(&exchanged(name), ticks, sink),
        };
        let of_interface = |name: &_| self.by_name(&exchanged(name), ticks, sink);
        let interfaces: Vec<u16> = e
            .interfaces
            .iter()
            .map(|n| n.as_ref())
            .map(of_interface)
            .collect();
        let Some(class) = self.classes.get_mut(e.class.0) else {
            return;
        };
        class.super_class = super_class;
        class.interfaces = interfaces;
        class.ticks = ticks;
        let methods = e.methods.iter();
        let methods = methods.map(|m| (m.name.as_ref(), m.signature.as_ref(), m.access));
        self.write(e.class, methods.collect(), &e.fields, sink);
        self.bind(e.class);
    }

    pub(super) fn method(&mut self, e: &MethodDef<'_>, sink: &mut Sink<'_>) {
        let lines = e.start_line != 0 || e.end_line != 0;
        sink.dropped.part_if(lines, Dropped::MethodLines);
        self.known(e.class, sink);
        if !self.methods.insert(e.method.0, Method::Unwritten(e.class)) {
            sink.dropped.event(Dropped::Again);
            return;
        }
        let Some(class) = self.classes.get_mut(e.class.0) else {
            return;
        };
        match class.methods.get(&*key(&e.name, &e.signature)) {
            Some(&place) => {
                if let Some(method) = self.methods.get_mut(e.method.0) {
                    *method = Method::Written(place);
                }
            }
            None => {
                let (name, signature) = ((*e.name).into(), (*e.signature).into());
                class.unwritten.push((e.method, name, signature));
            }
        }
    }

    /// Returns a method's class and number in the file. Writes the class first if necessary.
    #[inline]
    pub(super) fn place(&mut self, id: MethodId, class: ClassId, sink: &mut Sink<'_>) -> Place {
        match self.methods.get(id.0) {
            Some(&Method::Written(place)) => place,
            _ => self.new_place(id, class, sink),
        }
    }

    #[cold]
    fn new_place(&mut self, id: MethodId, class: ClassId, sink: &mut Sink<'_>) -> Place {
        if self.methods.get(id.0).is_none() {
            sink.dropped.part(Dropped::Undefined);
            let def = MethodDef {
                method: id,
                class,
                name: format!("method#{id}").into(),
                signature: "()V".into(),
                ..MethodDef::default()
            };
            self.method(&def, sink);
        }
        if let Some(&Method::Unwritten(class)) = self.methods.get(id.0) {
            self.write_known(class, sink);
        }
        match self.methods.get(id.0) {
            Some(&Method::Written(place)) => place,
            _ => Place {
                class: OVERFLOW_CLASS,
                method: 0,
            },
        }
    }

    /// Returns the id of a class in the file. Writes the class first if necessary.
    pub(super) fn id(&mut self, id: ClassId, sink: &mut Sink<'_>) -> u16 {
        self.known(id, sink);
        match self.classes.get(id.0).and_then(|class| class.written) {
            Some(id) => id,
            None => self.write_known(id, sink),
        }
    }

    /// Returns the id of a class named `name`. If no class of this name is defined, writes one that
    /// has only a name.
    pub(super) fn by_name(&mut self, name: &str, ticks: u64, sink: &mut Sink<'_>) -> u16 {
        // `java/lang/Object` keeps its fixed id, even if another class of this name was written
        // later.
        if self.object && name == JAVA_OBJECT {
            return OBJECT_CLASS;
        }
        if let Some(named) = self.names.get(name) {
            return named.id;
        }
        if let Some(&id) = self.unwritten.get(name) {
            return self.write_known(id, sink);
        }
        let name = Arc::from(name);
        let id = self.put(&name, ticks, &Body::default(), sink);
        self.names.insert(name, Named { id, stub: true });
        id
    }

    /// Writes a class with all its known methods that are not written yet.
    fn write_known(&mut self, id: ClassId, sink: &mut Sink<'_>) -> u16 {
        let Some(class) = self.classes.get_mut(id.0) else {
            return OVERFLOW_CLASS;
        };
        let unwritten = std::mem::take(&mut class.unwritten);
        let methods = unwritten.iter();
        let methods = methods.map(|(_, name, signature)| (&**name, &**signature, 0));
        let written = self.write(id, methods.collect(), &[], sink);
        if let Some(class) = self.classes.get_mut(id.0) {
            class.unwritten = unwritten;
        }
        self.bind(id);
        written
    }

    fn write(
        &mut self,
        id: ClassId,
        mut methods: Vec<(&str, &str, u16)>,
        fields: &[Member<'_>],
        sink: &mut Sink<'_>,
    ) -> u16 {
        let Some(class) = self.classes.get_mut(id.0) else {
            return OVERFLOW_CLASS;
        };
        // List each method once, even if the details repeat it.
        let mut seen = HashMap::new();
        methods.retain(|&(name, signature, _)| {
            let at = u16::try_from(seen.len()).unwrap_or(u16::MAX);
            at < u16::MAX && seen.insert(key(name, signature), at).is_none()
        });
        let (name, ticks) = (class.name.clone(), class.ticks);
        let interfaces = std::mem::take(&mut class.interfaces);
        let body = Body {
            methods,
            fields,
            super_class: class.super_class,
            interfaces: &interfaces,
        };
        sink.dropped
            .part_if(class.written.is_some(), Dropped::ClassSplit);
        if self.unwritten.get(&name) == Some(&id) {
            self.unwritten.remove(&name);
        }
        let written = self.put(&name, ticks, &body, sink);
        let Some(class) = self.classes.get_mut(id.0) else {
            return OVERFLOW_CLASS;
        };
        class.written = Some(written);
        for (index, (name, signature, _)) in body.methods.into_iter().enumerate() {
            let method = match written {
                OVERFLOW_CLASS => 0,
                _ => u16::try_from(index).unwrap_or(u16::MAX),
            };
            let place = Place {
                class: written,
                method,
            };
            class.methods.insert(key(name, signature), place);
        }
        class.interfaces = interfaces;
        let named = Named {
            id: written,
            stub: false,
        };
        self.names.insert(name, named);
        written
    }

    /// Called after a class was written. Stores the place in the file of each of its methods.
    fn bind(&mut self, id: ClassId) {
        let Some(class) = self.classes.get_mut(id.0) else {
            return;
        };
        let (methods, places) = (&class.methods, &mut self.methods);
        class.unwritten.retain(|(method, name, signature)| {
            let Some(&place) = methods.get(&*key(name, signature)) else {
                return true;
            };
            if let Some(method) = places.get_mut(method.0) {
                *method = Method::Written(place);
            }
            false
        });
    }

    /// Returns the next id for a class named `name`, or `None` if all ids are assigned.
    fn allot(&mut self, name: &str) -> Option<u16> {
        match name {
            JAVA_OBJECT if !self.object => {
                self.object = true;
                Some(OBJECT_CLASS)
            }
            JAVA_THREAD if !self.thread => {
                self.thread = true;
                Some(THREAD_CLASS)
            }
            _ => {
                let id = FIRST_CLASS.checked_add(self.ordinary)?;
                if id == OVERFLOW_CLASS {
                    return None;
                }
                self.ordinary += 1;
                Some(id)
            }
        }
    }

    /// Writes the two records of a class. Writes the records of `java/lang/Object` first if
    /// necessary.
    fn put(&mut self, name: &Arc<str>, ticks: u64, body: &Body<'_>, sink: &mut Sink<'_>) -> u16 {
        if !self.object && **name != *JAVA_OBJECT {
            self.by_name(JAVA_OBJECT, ticks, sink);
        }
        if let Some(id) = self.allot(name) {
            self.put_as(id, name, ticks, body, sink);
            return id;
        }
        sink.dropped.part(Dropped::ClassOverflow);
        if !self.overflow {
            self.overflow = true;
            let body = Body {
                methods: vec![(OVERFLOW, "()V", 0)],
                ..Body::default()
            };
            self.put_as(OVERFLOW_CLASS, &OVERFLOW.into(), ticks, &body, sink);
        }
        OVERFLOW_CLASS
    }

    fn put_as(
        &mut self,
        id: u16,
        name: &Arc<str>,
        ticks: u64,
        body: &Body<'_>,
        sink: &mut Sink<'_>,
    ) {
        let dropped = &mut *sink.dropped;
        let ticks = sink.stream.in_burst(ticks);
        if id != OVERFLOW_CLASS {
            let at = usize::from(id);
            if at >= self.written_names.len() {
                self.written_names.resize(at + 1, Arc::default());
            }
            if let Some(place) = self.written_names.get_mut(at) {
                *place = name.clone();
            }
        }
        let [low, high] = id.to_le_bytes();
        let define = [low, high, 0, 0, 0, 0];
        sink.stream.put(CLASS_DEFINE, ticks, &define, sink.out);
        let fields = &mut self.buffer;
        fields.clear();
        fields.extend_from_slice(&[low, high, 0, 0]);
        put_text(name, fields, dropped);
        put_count(body.methods.len(), fields, dropped);
        for (name, signature, access) in body.methods.iter().take(usize::from(u16::MAX)) {
            put_member(name, signature, *access, fields, dropped);
        }
        put_count(body.fields.len(), fields, dropped);
        for field in body.fields.iter().take(usize::from(u16::MAX)) {
            put_member(&field.name, &field.signature, field.access, fields, dropped);
        }
        fields.extend_from_slice(&body.super_class.to_le_bytes());
        put_count(body.interfaces.len(), fields, dropped);
        for id in body.interfaces.iter().take(usize::from(u16::MAX)) {
            fields.extend_from_slice(&id.to_le_bytes());
        }
        sink.stream.put(CLASS_LOAD, ticks, fields, sink.out);
    }
}

/// Returns the key of a method in its class: name, NUL, descriptor.
fn key(name: &str, signature: &str) -> Box<str> {
    [name, "\0", signature].concat().into()
}

fn put_count(count: usize, fields: &mut Vec<u8>, dropped: &mut DropTally<Dropped>) {
    let count = u16::try_from(count).unwrap_or_else(|_| {
        dropped.part(Dropped::Member);
        u16::MAX
    });
    fields.extend_from_slice(&count.to_le_bytes());
}

fn put_member(
    name: &str,
    signature: &str,
    access: u16,
    fields: &mut Vec<u8>,
    dropped: &mut DropTally<Dropped>,
) {
    put_text(name, fields, dropped);
    put_text(signature, fields, dropped);
    fields.extend_from_slice(&access.to_le_bytes());
}

/// Appends a text: its length, and as many whole characters as fit into 65,535 bytes.
pub(super) fn put_text(text: &str, fields: &mut Vec<u8>, dropped: &mut DropTally<Dropped>) {
    let end = text.floor_char_boundary(usize::from(u16::MAX));
    dropped.part_if(end < text.len(), Dropped::Text);
    let length = u16::try_from(end).unwrap_or(u16::MAX);
    fields.extend_from_slice(&length.to_le_bytes());
    fields.extend_from_slice(&text.as_bytes()[..end]);
}
