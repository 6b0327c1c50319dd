//! Classes and functions that lines of a trace define.

use super::{Decoder, Remarked};
use crate::check::table::Table;
use crate::room::TextBudget;
use crate::tracelog::names;
use crate::tracelog::value::RangeStarts;
use crate::tracelog::wire::{DEFAULT_LOADER, FIRST_SYNTHETIC_ID};
use jtrail_model::{
    ClassDef, ClassDetail, ClassId, CodeRange, Event, Frame, MethodCompile, MethodDef, MethodId,
    Timestamp,
};
use std::collections::HashMap;

/// Id of the class `?`. Functions without a known class belong to it.
const NO_CLASS: u64 = 1 << 33;
/// Lowest id of methods whose function id can't be used: it is 0, too large or already taken.
const FALLBACK: u64 = 0b11 << 62;
/// Maximum bytes of a class name in frames. It may be longer if the full name of the function is
/// long, too.
const LONG_CLASS: usize = 1 << 10;

/// Definitions that the trace has contained so far. Later lines may refer to them.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    classes: Table<Class>,
    functions: Table<Function>,
    /// Internal ids by the ids of the .NET profiling interface. This interface may reuse its ids.
    class_iids: HashMap<u64, u32>,
    function_iids: HashMap<u64, u32>,
    assemblies: HashMap<u64, Assembly>,
    /// Number of assemblies without classes that were replaced by another assembly with the same
    /// id.
    replaced_assemblies: usize,
    /// The assembly of each module.
    pub(super) modules: HashMap<u64, u64>,
    /// True if code maps contain source lines, as in traces that we write.
    pub(super) has_line_maps: bool,
    /// Code from a `fun inf`, until its `jit cmf` follows.
    code: Option<Code>,
    no_class: bool,
}

#[derive(Debug)]
struct Assembly {
    name: Box<str>,
    /// True if a class belongs to the assembly.
    used: bool,
}

impl Assembly {
    /// True for the loader of classes whose loader is unknown.
    fn is_default(&self) -> bool {
        *self.name == *DEFAULT_LOADER
    }

    fn is_unused(&self) -> bool {
        !self.used && !self.is_default()
    }
}

#[derive(Debug)]
struct Class {
    module: u64,
    /// Number of functions so far.
    functions: u32,
    /// `None` until a line names the class.
    name: Option<Box<str>>,
}

#[derive(Debug)]
struct Function {
    id: MethodId,
    class: ClassId,
    /// `class.method(descriptor)result`; `None` until a line names the function.
    frame: Option<Box<str>>,
}

#[derive(Debug)]
struct Code {
    function: u32,
    blocks: Vec<(u64, u64)>,
    map: Vec<(u64, u64, u64)>,
}

/// Returns the model's id of a class.
pub(super) fn class_id(iid: u32) -> ClassId {
    ClassId(u64::from(iid) + 1)
}

impl Definitions {
    pub(super) fn is_named(&self, iid: u32) -> bool {
        let class = self.classes.get(u64::from(iid));
        class.is_some_and(|class| class.name.is_some())
    }

    /// True if the function is defined and named.
    #[inline]
    pub(super) fn has_function(&self, iid: u32) -> bool {
        let function = self.functions.get(u64::from(iid));
        function.is_some_and(|function| function.frame.is_some())
    }

    /// Returns the method and the class of a function.
    #[inline]
    pub(super) fn method(&self, iid: u32) -> Option<(MethodId, ClassId)> {
        let function = self.functions.get(u64::from(iid))?;
        Some((function.id, function.class))
    }

    /// Returns the text that stands for the function in frames.
    pub(super) fn frame(&self, iid: u32) -> Option<&str> {
        self.functions.get(u64::from(iid))?.frame.as_deref()
    }

    /// Handles `cls ldf`. Returns false if the class exists already.
    pub(super) fn add_class(&mut self, id: u64, iid: u32, module: u64) -> bool {
        self.class_iids.insert(id, iid);
        let class = Class {
            module,
            functions: 0,
            name: None,
        };
        self.classes.insert(u64::from(iid), class)
    }

    /// Returns the function with id `id`.
    pub(super) fn function_of(&self, id: u64) -> Option<u32> {
        self.function_iids.get(&id).copied()
    }

    /// Handles `fun inf`. Returns false if the function exists already.
    pub(super) fn add_function(&mut self, iid: u32, id: u64, class: u64) -> bool {
        if self.functions.get(u64::from(iid)).is_some() {
            return false;
        }
        let free = !self.function_iids.contains_key(&id) && id != 0 && id < FIRST_SYNTHETIC_ID;
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

    /// Handles `asm ldf`.
    pub(super) fn add_assembly(&mut self, id: u64, name: Box<str>) {
        let assembly = Assembly { name, used: false };
        let replaced = self.assemblies.insert(id, assembly);
        let is_skipped = replaced.is_some_and(|before| before.is_unused());
        self.replaced_assemblies += usize::from(is_skipped);
    }

    /// True if assembly `id` is called `name`.
    pub(super) fn is_assembly(&self, id: u64, name: &str) -> bool {
        let assembly = self.assemblies.get(&id);
        assembly.is_some_and(|assembly| *assembly.name == *name)
    }

    /// Returns the assembly of a class, which stands for its loader.
    fn assembly(&mut self, iid: u32) -> Option<&mut Assembly> {
        let module = self.classes.get(u64::from(iid))?.module;
        let assembly = self.modules.get(&module).copied().unwrap_or(module);
        self.assemblies.get_mut(&assembly)
    }

    /// Returns the number of assemblies without classes.
    pub(super) fn unused_assemblies(&self) -> usize {
        let unused = self.assemblies.values().filter(|a| a.is_unused());
        self.replaced_assemblies + unused.count()
    }

    /// Returns the number of classes without a name, and the number of functions without a name.
    pub(super) fn nameless(&self) -> (usize, usize) {
        let classes = self.classes.iter();
        let functions = self.functions.iter();
        (
            classes.filter(|(_, class)| class.name.is_none()).count(),
            functions.filter(|(_, f)| f.frame.is_none()).count(),
        )
    }
}

impl Decoder {
    /// Stores the name of a class, and emits the definition of the class.
    pub(super) fn define_class(&mut self, iid: u32, name: String) {
        let class = class_id(iid);
        let time = self.now;
        let places = &mut self.definitions.classes;
        if places.get(u64::from(iid)).is_none() {
            let class = Class {
                module: 0,
                functions: 0,
                name: None,
            };
            places.insert(u64::from(iid), class);
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
        let has_module = self.definitions.classes.get(u64::from(iid));
        let has_module = has_module.is_some_and(|class| class.module != 0);
        let Some(assembly) = self.definitions.assembly(iid) else {
            return self.remark_if(has_module, "cls ldf", Remarked::NoModules);
        };
        assembly.used = true;
        if !assembly.is_default() && !assembly.name.is_empty() {
            let loader = assembly.name.to_string().into();
            self.emit(
                ClassDetail {
                    class,
                    time,
                    loader,
                    ..ClassDetail::default()
                }
                .into(),
            );
        }
    }

    /// Remarks on ids, modules and tokens of a `fun inf` if they differ from what our encoder
    /// writes.
    pub(super) fn remark_on_function(
        &mut self,
        iid: u32,
        is_new: bool,
        [id, class, module, token]: [u64; 4],
    ) {
        let definitions = &mut self.definitions;
        let Some(function) = definitions.functions.get(u64::from(iid)) else {
            return;
        };
        let class_iid = definitions.class_iids.get(&class).copied();
        if !is_new {
            let same_class = class_iid.map_or(ClassId(NO_CLASS), class_id) == function.class;
            let same = definitions.function_iids.get(&id) == Some(&iid) && same_class;
            return self.remark_if(!same, "fun inf", Remarked::Ids);
        }
        let is_kept = function.id.0 == id || id == FIRST_SYNTHETIC_ID | u64::from(iid);
        let class = class_iid.and_then(|iid| definitions.classes.get_mut(u64::from(iid)));
        let (usual_module, usual_token) = class.map_or((0, 0), |class| {
            class.functions = class.functions.wrapping_add(1);
            (class.module, names::function_token(class.functions))
        });
        self.remark_if(!is_kept, "fun inf", Remarked::Ids);
        self.remark_if(module != usual_module, "fun inf", Remarked::FunctionModules);
        self.remark_if(token != u64::from(usual_token), "fun inf", Remarked::Tokens);
    }

    /// Stores the name of a function, and emits the definition of the method.
    pub(super) fn define_function(
        &mut self,
        iid: u32,
        (full, name): (&str, String),
        signature: String,
    ) {
        if self.definitions.method(iid).is_none() {
            let function = Function {
                id: MethodId(FALLBACK | u64::from(iid)),
                class: ClassId(NO_CLASS),
                frame: None,
            };
            self.definitions.functions.insert(u64::from(iid), function);
        }
        let Some((method, class)) = self.definitions.method(iid) else {
            return;
        };
        let class_name: Box<str> = if class == ClassId(NO_CLASS) {
            self.define_no_class(class);
            "".into()
        } else {
            // The id of a class is its internal id + 1.
            let class_iid = u32::try_from(class.0.saturating_sub(1)).unwrap_or(u32::MAX);
            self.class(class_iid);
            let class = self.definitions.classes.get(u64::from(class_iid));
            class
                .and_then(|class| class.name.clone())
                .unwrap_or_default()
        };
        // The full name of a function usually contains the class. If it does not, a class name that
        // is far longer than the full name is left out of the frame.
        let class_name = match class_name.len() <= LONG_CLASS.max(2 * full.len()) {
            true => &*class_name,
            false => names::class_of_source(full),
        };
        let dot = if class_name.is_empty() { "" } else { "." };
        let frame = format!("{class_name}{dot}{name}{signature}");
        if let Some(function) = self.definitions.functions.get_mut(u64::from(iid)) {
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

    fn define_no_class(&mut self, class: ClassId) {
        if !std::mem::replace(&mut self.definitions.no_class, true) {
            let (time, name) = (self.now, jtrail_model::names::NO_CLASS.into());
            self.emit(Event::ClassDef(ClassDef {
                class,
                time,
                name,
                ..ClassDef::default()
            }));
        }
    }

    /// Handles `fun nam`.
    pub(super) fn function_name(&mut self, iid: u32, full: &str, returned: &str, parameters: &str) {
        if self.definitions.has_function(iid) {
            self.remark("fun nam", Remarked::FunctionNamesAgain);
            return;
        }
        let name = names::method_from_source(full);
        let signature = names::signature_from_source(returned, parameters);
        self.define_function(iid, (full, name), signature);
    }

    /// Keeps the code of a function until its `jit cmf`.
    pub(super) fn code(
        &mut self,
        function: u32,
        blocks: Vec<(u64, u64)>,
        mut map: Vec<(u64, u64, u64)>,
    ) {
        if blocks.is_empty() {
            return self.remark_if(!map.is_empty(), "fun inf", Remarked::MapsAlone);
        }
        if !self.definitions.has_line_maps && !map.is_empty() {
            map.clear();
            self.remark("fun inf", Remarked::BytecodeMaps);
        }
        self.definitions.code = Some(Code {
            function,
            blocks,
            map,
        });
    }

    /// Emits kept code that no `jit cmf` followed. The latest time counts as the time of its
    /// compilation.
    pub(super) fn end_code(&mut self) {
        if let Some(code) = self.definitions.code.take() {
            let time = self.now;
            self.emit_code(code, time);
        }
    }

    /// Handles `jit cmf` of the function with id `id`.
    pub(super) fn compiled(&mut self, id: u64, time: Timestamp) {
        let Some(iid) = self.definitions.function_of(id) else {
            self.end_code();
            self.remark("jit cmf", Remarked::LateFunctions);
            return;
        };
        match self.definitions.code.take() {
            Some(code) if code.function == iid => self.emit_code(code, time),
            other => {
                self.definitions.code = other;
                self.end_code();
                self.function(iid);
                if let Some((method, _)) = self.definitions.method(iid) {
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
            self.definitions.method(code.function),
            self.definitions.frame(code.function).map(str::to_owned),
        ) else {
            return;
        };
        let mut ranges = Vec::with_capacity(code.map.len());
        let size = code.blocks.first().map_or(0, |(_, size)| *size);
        let mut room = TextBudget::default();
        let starts = RangeStarts::new(code.map.iter().map(|(_, start, _)| *start));
        for (line, start, end) in code.map {
            let (Ok(offset), Ok(line)) = (i64::try_from(start), i64::try_from(line)) else {
                self.remark("fun inf", Remarked::MapNumbers);
                continue;
            };
            if !room.takes(&frame) {
                self.remark("fun inf", Remarked::LongMaps);
                break;
            }
            self.remark_if(end < start, "fun inf", Remarked::Backwards);
            let frames = vec![Frame {
                method: frame.clone().into(),
                line,
            }];
            ranges.push(CodeRange { offset, frames });
            // In the model, a range ends where the next one starts. If this range ends earlier, a
            // range without frames is added for the code between the two.
            let next = starts.after(start);
            match i64::try_from(end) {
                _ if end < start || end == next.unwrap_or(size) => {}
                Ok(offset) if next.is_none_or(|next| end < next) => ranges.push(CodeRange {
                    offset,
                    frames: Vec::new(),
                }),
                _ => self.remark("fun inf", Remarked::RangeEnds),
            }
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
