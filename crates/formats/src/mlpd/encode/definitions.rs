//! Definitions, as they are written: loaders, classes, methods, and those that frames ask for.

use super::dropped::Dropped;
use super::output::{Buffer, DEFINING, Output};
use crate::hash::{Digest, Digests};
use crate::mlpd::DataVersion;
use crate::mlpd::index::Index;
use crate::mlpd::names::{class_shown, frame_read, frame_shown, method_shown, without_result};
use crate::mlpd::wire::{
    ASSEMBLY, CLASS, DOMAIN, IMAGE, JIT, LONGEST_NAME, METADATA_LOAD, METADATA_NAME,
    UNKNOWN_LOADER, UNRESOLVED, VTABLE,
};
use crate::tally::DropTally;
use jtrail_model::{ClassDef, ClassId, MethodDef, MethodId};
use std::collections::HashMap;

#[derive(Debug)]
struct Class {
    /// The name as the format shows it.
    name: Box<str>,
    loader: usize,
    /// A definition of the trace stands behind it, and not only a frame.
    defined: bool,
}

#[derive(Debug)]
struct Method {
    class: usize,
    name: Box<str>,
    parameters: Box<str>,
    /// A definition of the trace stands behind it, and not only a frame.
    defined: bool,
}

/// Bytes of the longest code that readers take.
const LONGEST_CODE: i64 = i32::MAX as i64;

/// The loader of every class until another is told.
const FIRST_LOADER: usize = 0;

/// All that was defined. Classes, methods and loaders are numbered in the order of their
/// definitions.
#[derive(Debug, Default)]
pub(in crate::mlpd) struct Definitions {
    version: DataVersion,
    classes: Vec<Class>,
    class_ids: Index,
    /// The class of each name that was written last: methods belong to it.
    latest: HashMap<Box<str>, usize>,
    methods: Vec<Method>,
    method_ids: Index,
    /// Methods by class, name and parameters.
    frames: HashMap<Digest, usize>,
    digests: Digests,
    loaders: HashMap<Box<str>, usize>,
}

/// What the file calls a thing of that number: multiples of 4, which its readers like best.
pub(super) const fn file_id(number: usize) -> u64 {
    (number as u64 + 1) * 4
}

/// The begin of a name that is not too long, and all of any other.
pub(super) fn shortened<'n>(name: &'n str, dropped: &mut DropTally<Dropped>) -> &'n str {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    dropped.part(Dropped::LongNames);
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

impl Definitions {
    pub(super) fn new(version: DataVersion) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }

    /// Begins metadata: type and id, and flags where the version has them.
    pub(super) fn metadata(&self, buffer: &mut Buffer, kind: u8, id: u64) {
        buffer.byte(kind);
        buffer.pointer(id);
        if self.version == DataVersion::V1 && kind != CLASS {
            buffer.uleb(0);
        }
    }

    /// The number of a loader, which is defined if it is new: a domain, an image and an assembly.
    fn loader(&mut self, name: &str, output: &mut Output) -> usize {
        if let Some(&loader) = self.loaders.get(name) {
            return loader;
        }
        let loader = self.loaders.len();
        self.loaders.insert(name.into(), loader);
        let id = file_id(loader);
        let time = output.definition_time();
        let (buffer, _) = output.event(DEFINING, time, METADATA_LOAD);
        self.metadata(buffer, DOMAIN, id);
        let (buffer, _) = output.event(DEFINING, time, METADATA_NAME);
        self.metadata(buffer, DOMAIN, id);
        buffer.text(name);
        let (buffer, _) = output.event(DEFINING, time, METADATA_LOAD);
        self.metadata(buffer, IMAGE, id);
        buffer.text(name);
        if self.version == DataVersion::V17 {
            buffer.text("");
        }
        let (buffer, _) = output.event(DEFINING, time, METADATA_LOAD);
        self.metadata(buffer, ASSEMBLY, id);
        if self.version == DataVersion::V17 {
            buffer.pointer(id);
        }
        buffer.text(name);
        loader
    }

    /// Writes what follows the first byte and time of a class that was defined before, as it was
    /// then.
    pub(super) fn put_class(&self, buffer: &mut Buffer, class: usize) {
        self.put_class_of(buffer, class, FIRST_LOADER);
    }

    fn put_class_of(&self, buffer: &mut Buffer, class: usize, loader: usize) {
        let Some(known) = self.classes.get(class) else {
            return;
        };
        self.metadata(buffer, CLASS, file_id(class));
        buffer.pointer(file_id(loader));
        if self.version == DataVersion::V1 {
            buffer.uleb(0);
        }
        buffer.text(&known.name);
    }

    fn write_class(&mut self, class: usize, time: u64, output: &mut Output) {
        let (buffer, _) = output.event(DEFINING, time, METADATA_LOAD);
        if let Some(known) = self.classes.get(class) {
            self.put_class_of(buffer, class, known.loader);
            self.latest.insert(known.name.clone(), class);
        }
    }

    fn new_class(&mut self, name: &str, defined: bool, time: u64, output: &mut Output) -> usize {
        let loader = self.loader(UNKNOWN_LOADER, output);
        self.classes.push(Class {
            name: name.into(),
            loader,
            defined,
        });
        let class = self.classes.len() - 1;
        self.write_class(class, time, output);
        if self.version == DataVersion::V17 {
            // What objects of the class refer to, in the domain of its loader. One for each class.
            let (buffer, _) = output.event(DEFINING, output.definition_time(), METADATA_LOAD);
            self.metadata(buffer, VTABLE, file_id(class));
            buffer.pointer(file_id(loader));
            buffer.pointer(file_id(class));
        }
        class
    }

    pub(super) fn class_def(
        &mut self,
        e: &ClassDef<'_>,
        time: u64,
        output: &mut Output,
        dropped: &mut DropTally<Dropped>,
    ) {
        dropped.part_if(!e.thread.is_none(), Dropped::ClassThreads);
        dropped.part_if(!e.source_name.is_empty(), Dropped::ClassSources);
        dropped.part_if(!e.object.is_none(), Dropped::ClassObjects);
        let name = class_shown(shortened(&e.name, dropped));
        let class = match self.latest.get(&*name) {
            // A frame was the first to mention it.
            Some(&class) if self.classes.get(class).is_some_and(|c| !c.defined) => {
                self.classes[class].defined = true;
                class
            }
            _ => self.new_class(&name, true, time, output),
        };
        self.class_ids.set(e.class.0, class);
    }

    /// The loader of a class is known by now.
    pub(super) fn class_loader(
        &mut self,
        class: ClassId,
        loader: &str,
        time: u64,
        output: &mut Output,
    ) {
        let class = self.class(class, output);
        let loader = self.loader(loader, output);
        if let Some(known) = self.classes.get_mut(class)
            && known.loader != loader
        {
            known.loader = loader;
            self.write_class(class, time, output);
        }
    }

    /// The number of a class. One that the trace does not define gets a name that says so.
    pub(super) fn class(&mut self, id: ClassId, output: &mut Output) -> usize {
        if let Some(class) = self.class_ids.get(id.0) {
            return class;
        }
        let name = format!("{UNRESOLVED}{:#x}", id.0);
        let class = self.new_class(&name, true, output.definition_time(), output);
        self.class_ids.set(id.0, class);
        class
    }

    /// The name of a class, as shown.
    pub(super) fn class_name(&self, class: usize) -> &str {
        self.classes.get(class).map_or("", |class| &class.name)
    }

    /// Writes the definition of a new method, whose bytecode is that long, or 0.
    fn new_method(
        &mut self,
        (class, name, parameters): (usize, &str, &str),
        length: u32,
        defined: bool,
        output: &mut Output,
    ) -> usize {
        let time = output.definition_time();
        if self.latest.get(self.class_name(class)) != Some(&class) {
            self.write_class(class, time, output);
        }
        let method = self.methods.len();
        self.methods.push(Method {
            class,
            name: name.into(),
            parameters: parameters.into(),
            defined,
        });
        let id = file_id(method);
        output.event(DEFINING, time, JIT);
        output.defined_method(id);
        let buffer = output.buffer(DEFINING);
        // An address that says: no code yet.
        buffer.pointer(id);
        buffer.uleb(length.into());
        buffer.text(&self.full_name(method));
        method
    }

    pub(super) fn method_def(
        &mut self,
        e: &MethodDef<'_>,
        length: i64,
        output: &mut Output,
        dropped: &mut DropTally<Dropped>,
    ) {
        let (reported, length) = (length, length.clamp(0, LONGEST_CODE));
        dropped.part_if(reported != length, Dropped::Sizes);
        dropped.part_if(e.start_line != 0 || e.end_line != 0, Dropped::MethodLines);
        let parameters = without_result(&e.signature);
        let only_void = e.name.starts_with('<') && e.signature.ends_with(")V");
        dropped.part_if(
            parameters.len() < e.signature.len() && !only_void,
            Dropped::MethodResults,
        );
        let class = self.class(e.class, output);
        let (name, parameters) = (shortened(&e.name, dropped), shortened(parameters, dropped));
        let key = self.frame_key(class, name, parameters);
        let method = match self.frames.get(&key) {
            // A frame was the first to mention it.
            Some(&method) if self.methods.get(method).is_some_and(|m| !m.defined) => {
                self.methods[method].defined = true;
                dropped.event_if(length > 0, Dropped::LateLengths);
                method
            }
            known => {
                let is_new = known.is_none();
                let method = (class, name, parameters);
                let method = self.new_method(method, length as u32, true, output);
                if is_new {
                    self.frames.insert(key, method);
                }
                method
            }
        };
        self.method_ids.set(e.method.0, method);
    }

    fn frame_key(&self, class: usize, name: &str, parameters: &str) -> Digest {
        self.digests
            .of(&frame_shown(self.class_name(class), name, parameters))
    }

    /// The number of a method. One that the trace does not define gets a name that says so.
    #[inline]
    pub(super) fn method(&mut self, id: MethodId, class: ClassId, output: &mut Output) -> usize {
        match self.method_ids.get(id.0) {
            Some(method) => method,
            None => self.unknown_method(id, class, output),
        }
    }

    #[cold]
    fn unknown_method(&mut self, id: MethodId, class: ClassId, output: &mut Output) -> usize {
        let class = self.class(class, output);
        let name = format!("unknown method {:#x}", id.0);
        let method = self.new_method((class, &name, ""), 0, true, output);
        self.method_ids.set(id.0, method);
        method
    }

    /// The full name of a method.
    pub(super) fn full_name(&self, method: usize) -> String {
        self.methods.get(method).map_or_else(String::new, |method| {
            method_shown(
                self.class_name(method.class),
                &method.name,
                &method.parameters,
            )
        })
    }

    /// The number of a frame's method, which is defined if it is new.
    pub(super) fn frame(
        &mut self,
        text: &str,
        output: &mut Output,
        dropped: &mut DropTally<Dropped>,
    ) -> usize {
        let text = shortened(text, dropped);
        let text = without_result(text);
        let key = self.digests.of(text);
        if let Some(&method) = self.frames.get(&key) {
            return method;
        }
        let (class, name, parameters) = match frame_read(text) {
            Some((class, name, parameters)) => {
                let class = class_shown(class);
                let number = match self.latest.get(&*class) {
                    Some(&number) => number,
                    None => self.new_class(&class, false, output.definition_time(), output),
                };
                (number, name, parameters)
            }
            None => (self.class(ClassId::NONE, output), text, ""),
        };
        // Readers may show the method in another way.
        let shown = self.frame_key(class, name, parameters);
        let method = match self.frames.get(&shown) {
            Some(&method) => method,
            None => self.new_method((class, name, parameters), 0, false, output),
        };
        self.frames.extend([(key, method), (shown, method)]);
        method
    }
}
