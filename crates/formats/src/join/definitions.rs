//! Classes, methods and objects: each is defined once in the joined trace, and classes and methods
//! have new ids.

use crate::hash::Seed;
use jtrail_model::{
    ClassDef, ClassId, Event, LineCount, LineCounts, MethodCompile, MethodDef, MethodId, ObjectId,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Name of a class, its source, and how many others in the part have had both before: loaders may
/// have defined several.
type ClassKey = (String, String, u32);
/// Class, name and descriptor of a method.
type MethodKey = (ClassId, String, String);

/// Ids of classes and methods.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    classes: HashMap<ClassKey, ClassId, Seed>,
    methods: HashMap<MethodKey, MethodId, Seed>,
    /// Latest id of the joined trace: classes and methods are numbered together.
    last: u64,
    /// Objects that parts define without their allocation.
    objects: HashSet<ObjectId, Seed>,
    /// The first and the last object that was allocated in each part before. Those in between were
    /// allocated or first mentioned there.
    allocated: Vec<[u64; 2]>,
    /// Compiled code: methods and addresses.
    code: HashSet<(MethodId, u64), Seed>,
    /// Line counts of the parts before, and of the part; each part counts from 0 on.
    lines: HashMap<MethodId, [Counted; 2], Seed>,
    part: Part,
}

/// How often a method and its lines were reached.
#[derive(Debug, Default)]
struct Counted {
    calls: u64,
    lines: BTreeMap<u32, u64>,
}

impl Counted {
    fn add(&mut self, more: &Self) {
        self.calls = self.calls.saturating_add(more.calls);
        for (line, count) in &more.lines {
            let all = self.lines.entry(*line).or_default();
            *all = all.saturating_add(*count);
        }
    }
}

/// Joined ids of those of a part.
#[derive(Debug, Default)]
struct Part {
    classes: HashMap<ClassId, ClassId, Seed>,
    methods: HashMap<MethodId, MethodId, Seed>,
    /// How many classes have each name and source.
    names: HashMap<(String, String), u32, Seed>,
    /// What the part is the first to define.
    new_classes: HashSet<ClassId, Seed>,
    new_methods: HashSet<MethodId, Seed>,
    /// The first and the last object that is allocated.
    allocated: Option<[u64; 2]>,
}

impl Definitions {
    pub(super) fn begin_part(&mut self) {
        let part = std::mem::take(&mut self.part);
        self.allocated.extend(part.allocated);
        for [before, counted] in self.lines.values_mut() {
            before.add(&std::mem::take(counted));
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Returns the id of a class of the part.
    pub(super) fn class_id(&mut self, id: ClassId) -> ClassId {
        if id.is_none() {
            return id;
        }
        if let Some(known) = self.part.classes.get(&id) {
            return *known;
        }
        // The part does not define it: it is damaged.
        let new = ClassId(self.next());
        self.part.classes.insert(id, new);
        new
    }

    /// Returns the id of a method of the part.
    pub(super) fn method(&mut self, id: MethodId) -> MethodId {
        if id.is_none() {
            return id;
        }
        if let Some(known) = self.part.methods.get(&id) {
            return *known;
        }
        let new = MethodId(self.next());
        self.part.methods.insert(id, new);
        new
    }

    /// Takes the compilation of a method. Returns false if a part before has it.
    pub(super) fn compile(&mut self, compile: &MethodCompile<'_>) -> bool {
        let method = self.method(compile.method);
        self.code.insert((method, compile.address))
    }

    /// The code of a method of the joined trace is unloaded.
    pub(super) fn uncompile(&mut self, method: MethodId, address: u64) {
        self.code.remove(&(method, address));
    }

    /// Takes line counts, and passes on those of all parts so far.
    pub(super) fn lines(&mut self, counts: &LineCounts, emit: &mut dyn FnMut(&Event<'_>)) {
        let method = self.method(counts.method);
        let [before, counted] = self.lines.entry(method).or_default();
        let lines = counts.lines.iter().map(|of| (of.line, of.count));
        *counted = Counted {
            calls: counts.calls,
            lines: lines.collect(),
        };
        let mut all = Counted::default();
        all.add(before);
        all.add(counted);
        let lines = all.lines.into_iter();
        emit(&Event::LineCounts(LineCounts {
            method,
            time: counts.time,
            calls: all.calls,
            lines: lines
                .map(|(line, count)| LineCount { line, count })
                .collect(),
        }));
    }

    /// Notes that an object is allocated.
    pub(super) fn allocate(&mut self, ObjectId(id): ObjectId) {
        let [first, last] = self.part.allocated.get_or_insert([id; 2]);
        (*first, *last) = (id.min(*first), id.max(*last));
    }

    /// Takes the definition of an object. Returns false if a part before has it.
    ///
    /// The agent's numbers of objects are the same in all parts, and those of new objects rise.
    pub(super) fn define_object(&mut self, id: ObjectId) -> bool {
        let was_there = |[first, last]: &[u64; 2]| (*first..=*last).contains(&id.0);
        !self.allocated.iter().any(was_there) && self.objects.insert(id)
    }

    pub(super) fn is_new_class(&self, id: ClassId) -> bool {
        self.part.new_classes.contains(&id)
    }

    pub(super) fn is_new_method(&self, id: MethodId) -> bool {
        self.part.new_methods.contains(&id)
    }

    /// Takes the definition of a class, and passes it on if it is new.
    pub(super) fn class(&mut self, mut class: ClassDef<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        let (name, source) = (class.name.to_string(), class.source_name.to_string());
        let same = self.part.names.entry((name.clone(), source.clone()));
        let same = same.or_default();
        let key = (name, source, *same);
        *same += 1;
        let id = class.class;
        let known = self.classes.get(&key).copied();
        let joined = known.unwrap_or_else(|| ClassId(self.next()));
        self.part.classes.insert(id, joined);
        if known.is_none() {
            self.classes.insert(key, joined);
            self.part.new_classes.insert(id);
            class.class = joined;
            emit(&Event::ClassDef(class));
        }
    }

    /// Takes the definition of a method, and passes it on if it is new.
    pub(super) fn define_method(
        &mut self,
        mut method: MethodDef<'_>,
        emit: &mut dyn FnMut(&Event<'_>),
    ) {
        let class = self.class_id(method.class);
        let key = (class, method.name.to_string(), method.signature.to_string());
        let id = method.method;
        let known = self.methods.get(&key).copied();
        let joined = known.unwrap_or_else(|| MethodId(self.next()));
        self.part.methods.insert(id, joined);
        if known.is_none() {
            self.methods.insert(key, joined);
            self.part.new_methods.insert(id);
            (method.method, method.class) = (joined, class);
            emit(&Event::MethodDef(method));
        }
    }
}
