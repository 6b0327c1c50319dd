//! Classes and functions, as the lines define them.

use super::super::names;
use super::Decoder;
use crate::check::table::Table;
use jtrail_model::{
    ClassDef, ClassDetail, ClassId, CodeRange, Event, Frame, MethodCompile, MethodDef, MethodId,
    Timestamp,
};
use std::collections::HashMap;

/// The class of functions whose class is not known.
const NO_CLASS: u64 = 1 << 33;
/// Ids from here on are made by who writes a trace.
const MADE_UP: u64 = 1 << 63;
/// Ids of methods that can't have that of their function: these, and those above.
const FALLBACK: u64 = 0b11 << 62;
const DEFAULT_LOADER: &str = "bootstrap";

/// What lines may name.
#[derive(Debug, Default)]
pub(super) struct Tables {
    classes: Table<Class>,
    functions: Table<Function>,
    /// Internal ids by those of the profiling interface, which may be used again.
    class_iids: HashMap<u64, u32>,
    function_iids: HashMap<u64, u32>,
    pub(super) assemblies: HashMap<u64, Box<str>>,
    /// The assembly of each module.
    pub(super) modules: HashMap<u64, u64>,
    /// Code that was told, whose compilation may be in the next line.
    code: Option<Code>,
    no_class: bool,
}

#[derive(Debug)]
struct Class {
    module: u64,
    /// Unless it has none yet.
    name: Option<Box<str>>,
}

#[derive(Debug)]
struct Function {
    id: MethodId,
    class: ClassId,
    /// `class.method(descriptor)result`, unless it has no name yet.
    frame: Option<Box<str>>,
}

#[derive(Debug)]
struct Code {
    function: u32,
    blocks: Vec<(u64, u64)>,
    map: Vec<(u64, u64, u64)>,
}

/// The model's id of a class.
pub(super) fn class_id(iid: u32) -> ClassId {
    ClassId(u64::from(iid) + 1)
}

impl Tables {
    pub(super) fn is_named(&self, iid: u32) -> bool {
        let class = self.classes.get(u64::from(iid));
        class.is_some_and(|class| class.name.is_some())
    }

    /// Whether the function is defined and named.
    #[inline]
    pub(super) fn has_function(&self, iid: u32) -> bool {
        let function = self.functions.get(u64::from(iid));
        function.is_some_and(|function| function.frame.is_some())
    }

    /// Method and class of a function.
    #[inline]
    pub(super) fn method(&self, iid: u32) -> Option<(MethodId, ClassId)> {
        let function = self.functions.get(u64::from(iid))?;
        Some((function.id, function.class))
    }

    /// A frame of a function.
    pub(super) fn frame(&self, iid: u32) -> Option<&str> {
        self.functions.get(u64::from(iid))?.frame.as_deref()
    }

    /// `cls ldf`. `false` when the class is there already.
    pub(super) fn add_class(&mut self, id: u64, iid: u32, module: u64) -> bool {
        self.class_iids.insert(id, iid);
        let class = Class { module, name: None };
        self.classes.insert(u64::from(iid), class)
    }

    /// The function that a line names by its id.
    pub(super) fn function_of(&self, id: u64) -> Option<u32> {
        self.function_iids.get(&id).copied()
    }

    /// `fun inf`. `false` when the function is there already.
    pub(super) fn add_function(&mut self, iid: u32, id: u64, class: u64) -> bool {
        if self.functions.get(u64::from(iid)).is_some() {
            return false;
        }
        let free = !self.function_iids.contains_key(&id) && id != 0 && id < MADE_UP;
        let method = MethodId(if free { id } else { FALLBACK | u64::from(iid) });
        self.function_iids.insert(id, iid);
        let class = self.class_iids.get(&class);
        let class = class.map_or(ClassId(NO_CLASS), |iid| class_id(*iid));
        let function = Function {
            id: method,
            class,
            frame: None,
        };
        self.functions.insert(u64::from(iid), function)
    }

    /// Name of the loader of a class, unless it is the usual one.
    fn loader(&self, iid: u32) -> Option<Box<str>> {
        let module = self.classes.get(u64::from(iid))?.module;
        let assembly = self.modules.get(&module).copied().unwrap_or(module);
        let name = self.assemblies.get(&assembly)?;
        (**name != *DEFAULT_LOADER && !name.is_empty()).then(|| name.clone())
    }
}

impl Decoder {
    /// A class has its name.
    pub(super) fn announce_class(&mut self, iid: u32, name: String) {
        let class = class_id(iid);
        let time = self.now;
        let places = &mut self.tables.classes;
        if places.get(u64::from(iid)).is_none() {
            let (module, name) = (0, None);
            places.insert(u64::from(iid), Class { module, name });
        }
        if let Some(place) = places.get_mut(u64::from(iid)) {
            place.name = Some((&*name).into());
        }
        self.emit(Event::ClassDef(ClassDef {
            class,
            time,
            name: name.into(),
            ..ClassDef::default()
        }));
        if let Some(loader) = self.tables.loader(iid) {
            self.emit(Event::ClassDetail(ClassDetail {
                class,
                time,
                loader: String::from(loader).into(),
                ..ClassDetail::default()
            }));
        }
    }

    /// A function has its name.
    pub(super) fn announce_function(&mut self, iid: u32, name: String, signature: String) {
        if self.tables.method(iid).is_none() {
            let function = Function {
                id: MethodId(FALLBACK | u64::from(iid)),
                class: ClassId(NO_CLASS),
                frame: None,
            };
            self.tables.functions.insert(u64::from(iid), function);
        }
        let Some((method, class)) = self.tables.method(iid) else {
            return;
        };
        let class_name: Box<str> = if class == ClassId(NO_CLASS) {
            self.announce_no_class(class);
            "?".into()
        } else {
            // Classes are defined before their functions, and their ids are one more.
            let class_iid = u32::try_from(class.0.saturating_sub(1)).unwrap_or(u32::MAX);
            self.class(class_iid);
            let class = self.tables.classes.get(u64::from(class_iid));
            class
                .and_then(|class| class.name.clone())
                .unwrap_or_default()
        };
        let dot = if class_name.is_empty() { "" } else { "." };
        let frame = format!("{class_name}{dot}{name}{signature}");
        if let Some(function) = self.tables.functions.get_mut(u64::from(iid)) {
            function.frame = Some(frame.into());
        }
        self.emit(Event::MethodDef(MethodDef {
            method,
            class,
            name: name.into(),
            signature: signature.into(),
            ..MethodDef::default()
        }));
    }

    fn announce_no_class(&mut self, class: ClassId) {
        if !std::mem::replace(&mut self.tables.no_class, true) {
            let (time, name) = (self.now, "?".into());
            self.emit(Event::ClassDef(ClassDef {
                class,
                time,
                name,
                ..ClassDef::default()
            }));
        }
    }

    /// `fun nam`
    pub(super) fn function_name(&mut self, iid: u32, full: &str, returned: &str, parameters: &str) {
        if self.tables.has_function(iid) {
            self.fault("fun nam", "of a function that has a name; passed over");
            return;
        }
        let name = names::method_from_source(full);
        let signature = names::signature_from_source(returned, parameters);
        self.announce_function(iid, name, signature);
    }

    /// Keeps the code of a function until its compilation is told.
    pub(super) fn code(
        &mut self,
        function: u32,
        blocks: Vec<(u64, u64)>,
        map: Vec<(u64, u64, u64)>,
    ) {
        if blocks.is_empty() {
            if !map.is_empty() {
                self.info("fun inf", "a code map without code; passed over");
            }
            return;
        }
        self.tables.code = Some(Code {
            function,
            blocks,
            map,
        });
    }

    /// Hands out code whose compilation is told nowhere.
    pub(super) fn end_code(&mut self) {
        if let Some(code) = self.tables.code.take() {
            let time = self.now;
            self.emit_code(code, time);
        }
    }

    /// `jit cmf`
    pub(super) fn compiled(&mut self, id: u64, time: Timestamp) {
        let Some(iid) = self.tables.function_of(id) else {
            self.end_code();
            self.info(
                "jit cmf",
                "of functions that were not defined by then; passed over",
            );
            return;
        };
        match self.tables.code.take() {
            Some(code) if code.function == iid => self.emit_code(code, time),
            other => {
                self.tables.code = other;
                self.end_code();
                self.function(iid);
                if let Some((method, _)) = self.tables.method(iid) {
                    self.emit(Event::MethodCompile(MethodCompile {
                        method,
                        time,
                        ..MethodCompile::default()
                    }));
                }
            }
        }
    }

    fn emit_code(&mut self, code: Code, time: Timestamp) {
        self.function(code.function);
        let (Some((method, _)), Some(frame)) = (
            self.tables.method(code.function),
            self.tables.frame(code.function).map(str::to_owned),
        ) else {
            return;
        };
        let mut ranges = Vec::with_capacity(code.map.len());
        for (line, start, end) in code.map {
            let (Ok(offset), Ok(line)) = (i64::try_from(start), i64::try_from(line)) else {
                self.fault("fun inf", "a code map with numbers out of range");
                continue;
            };
            if end < start {
                self.info("fun inf", "a range of code that ends before it starts");
            }
            let frames = vec![Frame {
                method: frame.clone().into(),
                line,
            }];
            ranges.push(CodeRange { offset, frames });
        }
        for (address, size) in code.blocks {
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            // Only the first block has a map.
            let ranges = std::mem::take(&mut ranges);
            self.emit(Event::MethodCompile(MethodCompile {
                method,
                time,
                address,
                size,
                ranges,
            }));
        }
    }
}
