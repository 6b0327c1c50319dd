//! Classes and methods that the file has defined so far.

use crate::mlpd::index::Index;
use crate::mlpd::names::{class_read, frame_shown, method_read};
use crate::mlpd::wire::UNRESOLVED;
use jtrail_model::{
    ClassDef, ClassDetail, ClassId, Event, Frame, MethodCompile, MethodDef, MethodDetail, MethodId,
    Timestamp,
};
use std::collections::HashMap;

/// Method and its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MethodOf {
    pub(super) method: MethodId,
    pub(super) class: ClassId,
}

#[derive(Debug)]
struct Class {
    /// Name as the format spells it.
    name: Box<str>,
    image: u64,
    /// True if the file defines the class; false if only the name of a method mentions it.
    defined: bool,
}

#[derive(Debug)]
struct Method {
    of: MethodOf,
    /// Full name as in the file.
    full: Box<str>,
    /// Name as it appears in stack frames.
    frame: Box<str>,
    /// True if the file defines the method.
    defined: bool,
}

/// Classes and methods, numbered in the order of their definitions.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    classes: Vec<Class>,
    class_places: Index,
    tables: Index,
    /// Index of the last class defined under each name.
    latest: HashMap<Box<str>, usize>,
    methods: Vec<Method>,
    method_places: Index,
    images: HashMap<u64, Box<str>>,
}

/// Callback for the events that definitions produce.
pub(super) type Emit<'e> = &'e mut dyn FnMut(Event<'static>);

/// Returns the key of an id in an [`Index`]. Most ids are multiples of 4; rotating them by two bits
/// makes the keys dense.
fn key(raw: u64) -> u64 {
    raw.rotate_right(2)
}

fn class_id(place: usize) -> ClassId {
    ClassId(place as u64 + 1)
}

impl Definitions {
    pub(super) fn image(&mut self, raw: u64, name: &str) {
        self.images.insert(raw, name.into());
    }

    /// Registers the table of a class. Returns `false` if the class is not defined.
    pub(super) fn table(&mut self, raw: u64, class: u64) -> bool {
        let place = self.class_places.get(key(class));
        if let Some(place) = place {
            self.tables.set(key(raw), place);
        }
        place.is_some()
    }

    fn new_class(&mut self, class: Class, time: Timestamp, emit: Emit<'_>) -> usize {
        let place = self.classes.len();
        emit(Event::ClassDef(ClassDef {
            class: class_id(place),
            time,
            name: class_read(&class.name).into_owned().into(),
            ..ClassDef::default()
        }));
        self.latest.insert(class.name.clone(), place);
        self.classes.push(class);
        place
    }

    /// Handles the definition of a class. The file may repeat definitions.
    pub(super) fn class_def(
        &mut self,
        (raw, image): (u64, u64),
        name: &str,
        time: Timestamp,
        emit: Emit<'_>,
    ) -> ClassId {
        let known = self.class_places.get(key(raw));
        let same = |class: &&mut Class| *class.name == *name;
        if let Some(place) = known
            && let Some(class) = self.classes.get_mut(place).filter(same)
        {
            if std::mem::replace(&mut class.image, image) != image
                && let Some(loader) = self.images.get(&image)
            {
                emit(
                    ClassDetail {
                        class: class_id(place),
                        time,
                        loader: loader.to_string().into(),
                        ..ClassDetail::default()
                    }
                    .into(),
                );
            }
            self.latest.insert(name.into(), place);
            return class_id(place);
        }
        let made_up = self.latest.get(name).copied();
        let made_up = made_up.filter(|&at| self.classes.get(at).is_some_and(|c| !c.defined));
        let place = match made_up {
            Some(place) => place,
            None => {
                let class = Class {
                    name: name.into(),
                    image,
                    defined: true,
                };
                self.new_class(class, time, emit)
            }
        };
        if let Some(class) = self.classes.get_mut(place) {
            (class.image, class.defined) = (image, true);
        }
        self.class_places.set(key(raw), place);
        class_id(place)
    }

    /// Returns the class with an id, or `None` if the file has not defined it.
    pub(super) fn defined_class(&self, raw: u64) -> Option<ClassId> {
        self.class_places.get(key(raw)).map(class_id)
    }

    /// Returns the class of an object. If `by_table` is true, `raw` is the id of the class's table;
    /// otherwise it is the id of the class.
    pub(super) fn object_class(&self, raw: u64, by_table: bool) -> Option<ClassId> {
        let places = match by_table {
            true => &self.tables,
            false => &self.class_places,
        };
        places.get(key(raw)).map(class_id)
    }

    /// Returns a placeholder for a class that the file has not defined.
    pub(super) fn unresolved_class(
        &mut self,
        raw: u64,
        time: Timestamp,
        emit: Emit<'_>,
    ) -> ClassId {
        let name = format!("{UNRESOLVED}{raw:#x}");
        if let Some(&place) = self.latest.get(&*name) {
            return class_id(place);
        }
        let class = Class {
            name: name.into(),
            image: 0,
            defined: false,
        };
        class_id(self.new_class(class, time, emit))
    }

    /// Returns the name of a class as the format spells it.
    pub(super) fn class_name(&self, id: ClassId) -> &str {
        let place = (id.0 as usize).wrapping_sub(1);
        self.classes.get(place).map_or("", |class| &class.name)
    }

    fn new_method(&mut self, raw: u64, method: Method) -> MethodOf {
        let of = method.of;
        self.method_places.set(key(raw), self.methods.len());
        self.methods.push(method);
        of
    }

    fn next_method(&self) -> MethodId {
        MethodId(self.methods.len() as u64 + 1)
    }

    /// Handles the definition of a method. The file may repeat definitions. Returns `false` if the
    /// method was used before its definition.
    pub(super) fn method_def(
        &mut self,
        (raw, address, size): (u64, u64, i64),
        full: &str,
        time: Timestamp,
        emit: Emit<'_>,
    ) -> bool {
        let known = self.method_places.get(key(raw));
        let known = known.and_then(|place| self.methods.get(place));
        let in_time = known.is_none_or(|method| method.defined);
        let known = known.filter(|method| *method.full == *full);
        let of = match known {
            Some(method) => method.of,
            None => self.define_method(raw, full, time, emit),
        };
        // An address equal to the id means that the method is not compiled yet.
        if address == raw {
            if size > 0 {
                let method = of.method;
                emit(Event::MethodDetail(MethodDetail { method, size }));
            }
        } else {
            emit(Event::MethodCompile(MethodCompile {
                method: of.method,
                time,
                address,
                size,
                ranges: Vec::new(),
            }));
        }
        in_time
    }

    fn define_method(&mut self, raw: u64, full: &str, time: Timestamp, emit: Emit<'_>) -> MethodOf {
        let parts = method_read(full, |class| self.latest.contains_key(class));
        let class = match parts.class {
            None => self.unresolved_class(0, time, emit),
            Some(name) => class_id(match self.latest.get(name) {
                Some(&place) => place,
                None => {
                    let class = Class {
                        name: name.into(),
                        image: 0,
                        defined: false,
                    };
                    self.new_class(class, time, emit)
                }
            }),
        };
        let method = self.next_method();
        let frame = frame_shown(self.class_name(class), parts.name, &parts.descriptor).into();
        emit(Event::MethodDef(MethodDef {
            method,
            class,
            name: parts.name.to_owned().into(),
            signature: parts.descriptor.into(),
            ..MethodDef::default()
        }));
        let of = MethodOf { method, class };
        self.new_method(
            raw,
            Method {
                of,
                full: full.into(),
                frame,
                defined: true,
            },
        )
    }

    /// Returns the method with an id. If the file has not defined this method, the error is a
    /// placeholder for it.
    #[inline]
    pub(super) fn method(
        &mut self,
        raw: u64,
        time: Timestamp,
        emit: Emit<'_>,
    ) -> Result<MethodOf, MethodOf> {
        let place = self.method_places.get(key(raw));
        match place.and_then(|place| self.methods.get(place)) {
            Some(method) => Ok(method.of),
            None => Err(self.unknown_method(raw, time, emit)),
        }
    }

    #[cold]
    fn unknown_method(&mut self, raw: u64, time: Timestamp, emit: Emit<'_>) -> MethodOf {
        let class = self.unresolved_class(0, time, emit);
        let method = self.next_method();
        let name = format!("unknown method {raw:#x}");
        let frame = frame_shown(self.class_name(class), &name, "").into();
        emit(Event::MethodDef(MethodDef {
            method,
            class,
            name: name.into(),
            ..MethodDef::default()
        }));
        let of = MethodOf { method, class };
        self.new_method(
            raw,
            Method {
                of,
                full: "".into(),
                frame,
                defined: false,
            },
        )
    }

    /// Returns a stack frame in a method, without a line.
    pub(super) fn frame(&self, method: MethodId) -> Frame<'static> {
        let place = (method.0 as usize).wrapping_sub(1);
        let text = self.methods.get(place).map_or("", |method| &method.frame);
        Frame {
            method: text.to_owned().into(),
            line: -1,
        }
    }
}
