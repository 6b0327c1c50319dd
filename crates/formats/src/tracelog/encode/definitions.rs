//! Classes and functions: kept when the trace defines them, written when a line first needs them.

use super::dropped::Dropped;
use super::quoted;
use crate::check::table::Table;
use crate::hash::{Digest, Digests};
use crate::tally::DropTally;
use crate::tracelog::value::RangeStarts;
use crate::tracelog::wire::{DEFAULT_LOADER, FIRST_SYNTHETIC_ID};
use crate::tracelog::{names, value};
use jtrail_model::{ClassDef, ClassDetail, ClassId, MethodCompile, MethodDef, MethodId};
use std::collections::HashMap;

/// The largest internal id.
const MAX_ID: u32 = 0xffff_fffe;

/// Classes, methods and class loaders of the trace.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    classes: Table<Class>,
    methods: Table<Method>,
    classes_written: u32,
    methods_written: u32,
    classes_known: u64,
    methods_known: u64,
    loaders: Vec<Loader>,
    loader_indices: HashMap<Box<str>, usize>,
    loaders_written: u64,
    /// Class ids by name; empty unless [`Self::by_text`] is true.
    by_name: HashMap<Box<str>, ClassId>,
    by_frame: HashMap<Digest, MethodId>,
    digests: Digests,
    /// True if the trace may contain samples. Their frames name classes and methods by text.
    pub(super) by_text: bool,
    /// Number of classes and methods that occur in frames only.
    frame_only: u64,
    scratch: String,
}

#[derive(Debug)]
struct Class {
    name: Box<str>,
    loader: Option<usize>,
    iid: Option<u32>,
    /// Number of functions written.
    functions: u32,
}

#[derive(Debug)]
struct Method {
    class: ClassId,
    /// Name and signature are empty once the method is written.
    name: Box<str>,
    signature: Box<str>,
    iid: Option<u32>,
    token: u32,
}

#[derive(Debug)]
struct Loader {
    name: Box<str>,
    id: Option<u64>,
}

impl Definitions {
    pub(super) fn class_def(&mut self, e: &ClassDef<'_>, dropped: &mut DropTally<Dropped>) {
        dropped.part_if(!e.source_name.is_empty(), Dropped::ClassSources);
        dropped.part_if(!e.object.is_none(), Dropped::ClassObjects);
        if !self.add_class(e.class, &e.name) {
            dropped.event(Dropped::ClassesAgain);
        }
    }

    fn add_class(&mut self, id: ClassId, name: &str) -> bool {
        let class = Class {
            name: name.into(),
            loader: None,
            iid: None,
            functions: 0,
        };
        if id.is_none() || !self.classes.insert(id.0, class) {
            return false;
        }
        self.classes_known += 1;
        if self.by_text {
            self.by_name.entry(name.into()).or_insert(id);
        }
        true
    }

    pub(super) fn class_detail(&mut self, e: &ClassDetail<'_>, dropped: &mut DropTally<Dropped>) {
        let members = e.fields.len() + e.methods.len() + e.interfaces.len();
        let more = members > 0 || e.access != 0 || e.size != 0 || !e.super_name.is_empty();
        dropped.part_if(more, Dropped::ClassMembers);
        if e.loader.is_empty() {
            return;
        }
        let place = self.loader_index(&e.loader);
        match self.classes.get_mut(e.class.0) {
            Some(class) if class.iid.is_none() => class.loader = Some(place),
            Some(class) if class.loader == Some(place) => {}
            _ => dropped.event(Dropped::ClassLoaders),
        }
    }

    fn loader_index(&mut self, name: &str) -> usize {
        if let Some(place) = self.loader_indices.get(name) {
            return *place;
        }
        let place = self.loaders.len();
        self.loader_indices.insert(name.into(), place);
        // The head of the trace contains this loader already.
        let id = (name == DEFAULT_LOADER).then_some(1);
        let name = name.into();
        self.loaders.push(Loader { name, id });
        place
    }

    pub(super) fn method_def(&mut self, e: &MethodDef<'_>, dropped: &mut DropTally<Dropped>) {
        dropped.part_if(e.start_line != 0 || e.end_line != 0, Dropped::MethodLines);
        if !self.add_method(e.method, e.class, &e.name, &e.signature) {
            dropped.event(Dropped::MethodsAgain);
        } else if self.by_text
            && let Some(class) = self.classes.get(e.class.0)
        {
            let dot = if class.name.is_empty() { "" } else { "." };
            let frame = format!("{}{dot}{}{}", class.name, e.name, e.signature);
            let key = self.digests.of(&frame);
            self.by_frame.entry(key).or_insert(e.method);
        }
    }

    fn add_method(&mut self, id: MethodId, class: ClassId, name: &str, signature: &str) -> bool {
        let method = Method {
            class,
            name: name.into(),
            signature: signature.into(),
            iid: None,
            token: 0,
        };
        let new = !id.is_none() && self.methods.insert(id.0, method);
        self.methods_known += u64::from(new);
        new
    }

    /// Returns the internal id of a class. If the class has no internal id yet, assigns one and
    /// writes the lines of the class first.
    pub(super) fn class(&mut self, id: ClassId, out: &mut Vec<u8>) -> Option<u32> {
        let class = self.classes.get_mut(id.0)?;
        if class.iid.is_some() || self.classes_written > MAX_ID {
            return class.iid;
        }
        let iid = self.classes_written;
        self.classes_written += 1;
        class.iid = Some(iid);
        let module = match class.loader.and_then(|place| self.loaders.get_mut(place)) {
            None => 1,
            Some(Loader { id: Some(id), .. }) => *id,
            Some(Loader { name, id }) => {
                self.loaders_written += 1;
                let new = self.loaders_written + 1;
                self.scratch.clear();
                value::escape(name, &[], &mut self.scratch);
                loader(new, &self.scratch, out);
                *id.insert(new)
            }
        };
        out.extend_from_slice(b"cls ldf ");
        value::h64(u64::from(iid) + 1, out);
        out.push(b' ');
        value::h32(iid, out);
        out.push(b' ');
        value::h64(module, out);
        out.push(b' ');
        value::h32(names::class_token(iid), out);
        out.extend_from_slice(b" 0x00000000\ncls nam ");
        value::h32(iid, out);
        out.push(b' ');
        self.scratch.clear();
        names::class_to_source(&class.name, &mut self.scratch);
        quoted(&self.scratch, out);
        out.push(b'\n');
        Some(iid)
    }

    fn module(&self, class: &Class) -> u64 {
        let loader = class.loader.and_then(|place| self.loaders.get(place));
        loader.and_then(|loader| loader.id).unwrap_or(1)
    }

    /// Returns the internal id of a method. If the method has no internal id yet, assigns one and
    /// writes the lines of the method first.
    #[inline]
    pub(super) fn function(&mut self, id: MethodId, out: &mut Vec<u8>) -> Option<u32> {
        match self.methods.get(id.0)?.iid {
            Some(iid) => Some(iid),
            None => self.new_function(id, out),
        }
    }

    #[cold]
    fn new_function(&mut self, id: MethodId, out: &mut Vec<u8>) -> Option<u32> {
        let class_id = self.methods.get(id.0)?.class;
        if self.methods_written > MAX_ID {
            return None;
        }
        self.class(class_id, out)?;
        let class = self.classes.get_mut(class_id.0)?;
        let method = self.methods.get_mut(id.0)?;
        class.functions = class.functions.wrapping_add(1);
        let iid = self.methods_written;
        self.methods_written += 1;
        method.iid = Some(iid);
        method.token = names::function_token(class.functions);
        let (name, signature) = (
            std::mem::take(&mut method.name),
            std::mem::take(&mut method.signature),
        );
        self.info(id, out)?;
        out.extend_from_slice(b"\nfun nam ");
        value::h32(iid, out);
        out.push(b' ');
        self.scratch.clear();
        let class = self.classes.get(class_id.0)?;
        names::function_to_source(&class.name, &name, &mut self.scratch);
        quoted(&self.scratch, out);
        let (returned, parameters) = names::signature_to_source(&signature);
        out.push(b' ');
        quoted(&returned, out);
        out.push(b' ');
        quoted(&parameters, out);
        out.push(b'\n');
        Some(iid)
    }

    /// Writes `fun inf` up to its token.
    fn info(&self, id: MethodId, out: &mut Vec<u8>) -> Option<()> {
        let method = self.methods.get(id.0)?;
        let class = self.classes.get(method.class.0)?;
        out.extend_from_slice(b"fun inf ");
        value::h32(method.iid?, out);
        let number = written(id, method.iid?);
        for number in [number, u64::from(class.iid?) + 1, self.module(class)] {
            out.push(b' ');
            value::h64(number, out);
        }
        out.push(b' ');
        value::h32(method.token, out);
        Some(())
    }

    /// Writes the code of a method. Returns the method's id in the file, or `None` if the method is
    /// undefined.
    pub(super) fn code(
        &mut self,
        e: &MethodCompile<'_>,
        with_map: bool,
        dropped: &mut DropTally<Dropped>,
        out: &mut Vec<u8>,
    ) -> Option<u64> {
        let iid = self.function(e.method, out)?;
        self.info(e.method, out)?;
        out.push(b' ');
        let size = e.size.try_into().unwrap_or_default();
        value::h64(e.address, out);
        out.push(b':');
        value::hex(size, out);
        let starts = e.ranges.iter().map(|range| u64::try_from(range.offset));
        let starts = RangeStarts::new(starts.flatten());
        let map = if with_map { &e.ranges[..] } else { &[] };
        dropped.part_if(!with_map && !e.ranges.is_empty(), Dropped::CodeMaps);
        for range in map {
            dropped.part_if(range.frames.len() > 1, Dropped::InlinedFrames);
            let start = u64::try_from(range.offset).unwrap_or(u64::MAX);
            let end = starts.after(start).unwrap_or(size);
            let line = range.frames.last().map(|frame| frame.line.try_into());
            let (true, Some(Ok(line))) = (start <= end, line) else {
                // A range without frames only ends the preceding range.
                let names_frames = !range.frames.is_empty();
                dropped.part_if(names_frames, Dropped::CodeRanges);
                continue;
            };
            let mut separator = b' ';
            for number in [line, start, end] {
                out.push(separator);
                value::hex(number, out);
                separator = b':';
            }
        }
        out.push(b'\n');
        Some(written(e.method, iid))
    }

    /// Returns how many classes and how many methods no line refers to.
    pub(super) fn unused(&self) -> (u64, u64) {
        (
            self.classes_known - u64::from(self.classes_written),
            self.methods_known - u64::from(self.methods_written),
        )
    }

    /// True if the class is defined.
    pub(super) fn has_class(&self, id: ClassId) -> bool {
        self.classes.get(id.0).is_some()
    }

    /// True if the method and its class are defined.
    #[inline]
    pub(super) fn has_method(&self, id: MethodId) -> bool {
        let method = self.methods.get(id.0);
        method.is_some_and(|method| method.iid.is_some() || self.has_class(method.class))
    }

    /// Returns the method that a frame names. Defines the method if it has no definition.
    pub(super) fn frame(&mut self, frame: &str) -> Option<MethodId> {
        let key = self.digests.of(frame);
        match self.by_frame.get(&key) {
            Some(id) => Some(*id),
            None => self.frame_only(key, frame),
        }
    }

    fn frame_only(&mut self, key: Digest, frame: &str) -> Option<MethodId> {
        let (class, method, signature) = names::frame_parts(frame);
        let class_id = match self.by_name.get(class) {
            Some(id) => *id,
            None => {
                self.frame_only += 1;
                let id = ClassId(FIRST_SYNTHETIC_ID + self.frame_only);
                self.add_class(id, class).then_some(id)?
            }
        };
        self.frame_only += 1;
        let id = MethodId(FIRST_SYNTHETIC_ID + self.frame_only);
        self.by_frame.insert(key, id);
        self.add_method(id, class_id, method, signature)
            .then_some(id)
    }
}

/// Returns the id of a method in the file. For a method that occurs in frames only, the id contains
/// the internal id, so that it stays the same when the trace is read and written again.
fn written(id: MethodId, iid: u32) -> u64 {
    if id.0 < FIRST_SYNTHETIC_ID {
        id.0
    } else {
        FIRST_SYNTHETIC_ID | u64::from(iid)
    }
}

/// Writes the lines of a class loader: `asm ldf`, `mod ldf` and `mod ata`.
pub(super) fn loader(id: u64, name: &str, out: &mut Vec<u8>) {
    let h64 = |number, out: &mut Vec<u8>| {
        value::h64(number, out);
        out.push(b' ');
    };
    for (word, second, third) in [(&b"asm ldf "[..], 1, id), (b"mod ldf ", 0, id)] {
        out.extend_from_slice(word);
        h64(id, out);
        h64(second, out);
        h64(third, out);
        out.extend_from_slice(b"0x00000000 ");
        quoted(name, out);
        out.push(b'\n');
    }
    out.extend_from_slice(b"mod ata ");
    h64(id, out);
    value::h64(id, out);
    out.push(b'\n');
}
