//! Reads the heap dumps of the JVM's own tools, as far as the agent's snapshots can be compared
//! with them.
//!
//! A dump is a header and records. Two kinds matter: the names of classes, and segments of the
//! heap. A segment is a sequence of roots, classes, objects and arrays. An object is written as the
//! bytes of its fields: first the fields of its class, then those of the superclasses. So
//! references can be distinguished from numbers only when all classes are known. That takes two
//! passes.

use std::collections::{HashMap, HashSet};

/// The contents of a heap dump.
#[derive(Default)]
pub(crate) struct Hprof {
    /// Class of each object, by the object's id, in Java's notation (`[Ljava.lang.String;`). Class
    /// objects are not included, except those of primitive types.
    pub(crate) objects: HashMap<u64, String>,
    /// References from object to object, one for each field and element.
    pub(crate) references: Vec<(u64, u64)>,
    /// Objects that are reachable from roots and visible static fields. Hidden static fields have
    /// names in angle brackets: in these the JVM keeps locks and resolved constants of classes. The
    /// constants of the boot loader's classes are roots as well.
    pub(crate) sure: HashSet<u64>,
    /// Objects that are reachable from roots and all static fields, also from hidden ones.
    pub(crate) possible: HashSet<u64>,
    starts: Vec<u64>,
    hidden: Vec<u64>,
}

#[derive(Default)]
struct Class {
    name: String,
    super_class: u64,
    /// Loader, signers and protection domain.
    others: Vec<u64>,
    /// Static references: name and object.
    statics: Vec<(u64, u64)>,
    /// Types of the class's own instance fields.
    fields: Vec<u8>,
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(count);
        self.0 = rest;
        head
    }

    fn u1(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn u2(&mut self) -> usize {
        usize::from(u16::from_be_bytes(
            self.take(2).try_into().expect("2 bytes"),
        ))
    }

    fn u4(&mut self) -> usize {
        u32::from_be_bytes(self.take(4).try_into().expect("4 bytes")) as usize
    }

    fn id(&mut self) -> u64 {
        u64::from_be_bytes(self.take(8).try_into().expect("8 bytes"))
    }
}

const OBJECT: u8 = 2;

/// Returns the number of bytes of a value, and the letter of its type.
fn basic(tag: u8) -> (usize, char) {
    match tag {
        OBJECT => (8, 'L'),
        4 => (1, 'Z'),
        5 => (2, 'C'),
        6 => (4, 'F'),
        7 => (8, 'D'),
        8 => (1, 'B'),
        9 => (2, 'S'),
        10 => (4, 'I'),
        11 => (8, 'J'),
        other => panic!("type {other} in a heap dump"),
    }
}

/// An entry of a segment.
enum Entry<'a> {
    Class(u64, Class),
    Object(u64, u64, &'a [u8]),
    Objects(u64, u64, &'a [u8]),
    Numbers(u64, char),
    Root(u64),
}

fn entry<'a>(bytes: &mut Bytes<'a>) -> Entry<'a> {
    let tag = bytes.u1();
    match tag {
        0x20 => class(bytes),
        0x21 => {
            let (id, _, class, size) = (bytes.id(), bytes.u4(), bytes.id(), bytes.u4());
            Entry::Object(id, class, bytes.take(size))
        }
        0x22 => {
            let (id, _, count, class) = (bytes.id(), bytes.u4(), bytes.u4(), bytes.id());
            Entry::Objects(id, class, bytes.take(8 * count))
        }
        0x23 => {
            let (id, _, count) = (bytes.id(), bytes.u4(), bytes.u4());
            let (size, letter) = basic(bytes.u1());
            bytes.take(size * count);
            Entry::Numbers(id, letter)
        }
        _ => {
            // Number of bytes after the root's id.
            let rest = match tag {
                0xff | 0x05 | 0x07 => 0,
                0x01 => 8,
                0x02 | 0x03 | 0x08 => 8,
                0x04 | 0x06 => 4,
                other => panic!("tag {other:#x} in a heap dump"),
            };
            let root = bytes.id();
            bytes.take(rest);
            Entry::Root(root)
        }
    }
}

fn class<'a>(bytes: &mut Bytes<'a>) -> Entry<'a> {
    let (id, _, super_class) = (bytes.id(), bytes.u4(), bytes.id());
    let others = (0..3).map(|_| bytes.id()).collect();
    // Two reserved ids, size of an instance.
    bytes.take(2 * 8 + 4);
    for _ in 0..bytes.u2() {
        bytes.u2();
        let (size, _) = basic(bytes.u1());
        bytes.take(size);
    }
    let mut statics = Vec::new();
    for _ in 0..bytes.u2() {
        let (name, tag) = (bytes.id(), bytes.u1());
        match tag {
            OBJECT => statics.push((name, bytes.id())),
            other => drop(bytes.take(basic(other).0)),
        }
    }
    let fields = (0..bytes.u2())
        .map(|_| {
            bytes.id();
            bytes.u1()
        })
        .collect();
    let class = Class {
        super_class,
        others,
        statics,
        fields,
        ..Class::default()
    };
    Entry::Class(id, class)
}

impl Hprof {
    /// Parses a dump with ids of 8 bytes.
    pub(crate) fn parse(file: &[u8]) -> Self {
        let mut bytes = Bytes(file);
        let header = b"JAVA PROFILE 1.0.2\0";
        assert_eq!(bytes.take(header.len()), header);
        assert_eq!(bytes.u4(), 8, "bytes of an id");
        bytes.take(8);
        let mut texts = HashMap::new();
        let mut names = HashMap::new();
        let mut segments = Vec::new();
        while !bytes.0.is_empty() {
            let (tag, _, length) = (bytes.u1(), bytes.u4(), bytes.u4());
            let mut record = Bytes(bytes.take(length));
            match tag {
                0x01 => {
                    let id = record.id();
                    texts.insert(id, String::from_utf8_lossy(record.0).into_owned());
                }
                0x02 => {
                    record.u4();
                    let (class, _) = (record.id(), record.u4());
                    names.insert(class, record.id());
                }
                0x0c | 0x1c => segments.push(record.0),
                _ => {}
            }
        }
        let entries = || {
            segments.iter().flat_map(|segment| {
                let mut bytes = Bytes(segment);
                std::iter::from_fn(move || (!bytes.0.is_empty()).then(|| entry(&mut bytes)))
            })
        };
        let mut dump = Self::default();
        let mut classes: HashMap<u64, Class> = HashMap::new();
        let mut constants = Vec::new();
        for entry in entries() {
            if let Entry::Class(id, class) = entry {
                let name = texts[&names[&id]].replace('/', ".");
                for (name, object) in &class.statics {
                    let name = texts[name].as_str();
                    let is_root = name == "<resolved_references>" && class.others[0] == 0;
                    match name.starts_with('<') && !is_root {
                        true => dump.hidden.push(*object),
                        false => dump.starts.push(*object),
                    }
                    if is_root {
                        constants.push(*object);
                    }
                }
                dump.starts.extend(&class.others);
                classes.insert(id, Class { name, ..class });
            }
        }
        for entry in entries() {
            dump.take(entry, &classes);
        }
        dump.reach();
        // The arrays of constants themselves are not certain: some boot classes have loader data of
        // their own in the JVM, and their arrays are no roots.
        for array in constants {
            dump.sure.remove(&array);
        }
        dump
    }

    /// Follows the references. References in fields of class objects are skipped, because no heap
    /// walk of JVMTI shows them.
    fn reach(&mut self) {
        let mut next: HashMap<u64, Vec<u64>> = HashMap::new();
        for (source, target) in &self.references {
            if self.objects[source] != "java.lang.Class" {
                next.entry(*source).or_default().push(*target);
            }
        }
        let from = |mut open: Vec<u64>| {
            let mut reached = HashSet::new();
            while let Some(object) = open.pop() {
                if reached.insert(object) {
                    open.extend(next.get(&object).into_iter().flatten());
                }
            }
            reached
        };
        self.sure = from(self.starts.clone());
        self.possible = from([&self.starts[..], &self.hidden].concat());
    }

    fn take(&mut self, entry: Entry<'_>, classes: &HashMap<u64, Class>) {
        match entry {
            Entry::Object(id, mut class, fields) => {
                self.objects.insert(id, classes[&class].name.clone());
                let mut fields = Bytes(fields);
                while class != 0 {
                    for tag in &classes[&class].fields {
                        match *tag {
                            OBJECT => self.refer(id, fields.id()),
                            other => drop(fields.take(basic(other).0)),
                        }
                    }
                    class = classes[&class].super_class;
                }
                assert!(fields.0.is_empty(), "bytes of an object that no field has");
            }
            Entry::Objects(id, class, elements) => {
                self.objects.insert(id, classes[&class].name.clone());
                for element in elements.chunks_exact(8) {
                    self.refer(id, Bytes(element).id());
                }
            }
            Entry::Numbers(id, letter) => {
                self.objects.insert(id, format!("[{letter}"));
            }
            Entry::Root(object) => self.starts.push(object),
            Entry::Class(..) => {}
        }
    }

    fn refer(&mut self, from: u64, to: u64) {
        if to != 0 {
            self.references.push((from, to));
        }
    }
}
