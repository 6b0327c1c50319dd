//! Writes definitions of loaders, classes and methods, including methods that only stack frames
//! mention.

use super::dropped::Dropped;
use super::output::{Buffer, DEFINING, Output};
use crate::hash::{Digest, Digests};
use crate::mlpd::DataVersion;
use crate::mlpd::index::Index;
use crate::mlpd::names::{class_shown, frame_read, frame_shown, method_shown, without_result};
use crate::mlpd::wire::{
    ASSEMBLY, CLASS, DOMAIN, IMAGE, JIT, MAX_NAME_BYTES, METADATA_LOAD, METADATA_NAME,
    UNKNOWN_LOADER, UNRESOLVED, VTABLE,
};
use crate::tally::DropTally;
use jtrail_model::{ClassDef, ClassId, MethodDef, MethodId};
use std::collections::HashMap;

#[derive(Debug)]
struct Class {
    /// Name as the format spells it.
    name: Box<str>,
    loader: usize,
    /// True if the trace defines the class; false if only a stack frame mentions it.
    defined: bool,
}

#[derive(Debug)]
struct Method {
    class: usize,
    name: Box<str>,
    parameters: Box<str>,
    /// True if the trace defines the method; false if only a stack frame mentions it.
    defined: bool,
}

/// Maximum size of code that readers accept, in bytes.
const MAX_CODE_BYTES: i64 = i32::MAX as i64;

/// Number of the loader named [`UNKNOWN_LOADER`]. Every class has this loader until its own loader
/// is reported.
const FIRST_LOADER: usize = 0;

/// Definitions written so far. Classes, methods and loaders are each numbered in the order of their
/// definitions.
#[derive(Debug, Default)]
pub(in crate::mlpd) struct Definitions {
    version: DataVersion,
    classes: Vec<Class>,
    class_ids: Index,
    /// Last class written under each name. Readers assign the methods with this class name to it.
    latest: HashMap<Box<str>, usize>,
    methods: Vec<Method>,
    method_ids: Index,
    /// Method numbers by the digest of class, name and parameters.
    frames: HashMap<Digest, usize>,
    digests: Digests,
    loaders: HashMap<Box<str>, usize>,
}

/// Returns the id, in the file, of the class, method or loader with this number. Ids are multiples
/// of 4, because readers of the format are optimized for such ids.
pub(super) const fn file_id(number: usize) -> u64 {
    (number as u64 + 1) * 4
}

/// Returns a name, cut to [`MAX_NAME_BYTES`] bytes.
pub(super) fn shortened<'n>(name: &'n str, dropped: &mut DropTally<Dropped>) -> &'n str {
    if name.len() <= MAX_NAME_BYTES {
        return name;
    }
    dropped.part(Dropped::LongNames);
    &name[..name.floor_char_boundary(MAX_NAME_BYTES)]
}

impl Definitions {
    pub(super) fn new(version: DataVersion) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }

    /// Starts metadata: writes type and id. In version 1, also writes the flags, except for a
    /// class, whose flags come later.
    pub(super) fn metadata(&self, buffer: &mut Buffer, kind: u8, id: u64) {
        buffer.byte(kind);
        buffer.pointer(id);
        if self.version == DataVersion::V1 && kind != CLASS {
            buffer.uleb(0);
        }
    }

    /// Returns the number of a loader. Defines the loader if it is new: as a domain, an image and
    /// an assembly.
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

    /// Appends the fields of a class load that follow the first byte and the time. The loader is
    /// the one that the class had at first.
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
            // Objects refer to their class by this table. Each class has one table, in the domain
            // of the class's loader.
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
            // A stack frame mentioned the class before this definition.
            Some(&class) if self.classes.get(class).is_some_and(|c| !c.defined) => {
                self.classes[class].defined = true;
                class
            }
            _ => self.new_class(&name, true, time, output),
        };
        self.class_ids.set(e.class.0, class);
    }

    /// Sets the loader of a class. It may be reported after the definition of the class.
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

    /// Returns the number of a class. Defines a placeholder if the trace does not define the class.
    pub(super) fn class(&mut self, id: ClassId, output: &mut Output) -> usize {
        if let Some(class) = self.class_ids.get(id.0) {
            return class;
        }
        let name = format!("{UNRESOLVED}{:#x}", id.0);
        let class = self.new_class(&name, true, output.definition_time(), output);
        self.class_ids.set(id.0, class);
        class
    }

    /// Returns the name of a class as the format spells it.
    pub(super) fn class_name(&self, class: usize) -> &str {
        self.classes.get(class).map_or("", |class| &class.name)
    }

    /// Writes the definition of a new method. `length` is the size of its bytecode in bytes, or 0
    /// if unknown.
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
        // An address equal to the id means that the method is not compiled yet.
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
        let (reported, length) = (length, length.clamp(0, MAX_CODE_BYTES));
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
            // A stack frame mentioned the method before this definition.
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

    /// Returns the number of a method. Defines a placeholder if the trace does not define the
    /// method.
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

    /// Returns the full name of a method.
    pub(super) fn full_name(&self, method: usize) -> String {
        self.methods.get(method).map_or_else(String::new, |method| {
            method_shown(
                self.class_name(method.class),
                &method.name,
                &method.parameters,
            )
        })
    }

    /// Returns the number of a stack frame's method. Defines the method if it is new.
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
        // A reader of the written file may spell the method differently, so it is stored under both
        // spellings.
        let shown = self.frame_key(class, name, parameters);
        let method = match self.frames.get(&shown) {
            Some(&method) => method,
            None => self.new_method((class, name, parameters), 0, false, output),
        };
        self.frames.extend([(key, method), (shown, method)]);
        method
    }
}
