//! Objects: allocated, mentioned, freed, and visited by heap walks.

use super::Translator;
use crate::definition::ThreadInfo;
use crate::numbers::NumberSet;
use crate::record::SnapshotMoment;
use crate::record::{self, Code, INCOMPLETE};
use jtrail_model::{
    ClassId, Event, GcRoot, HeapDump, HeapDumpEnd, HeapDumpId, HeapObject, MethodId, ObjectAlloc,
    ObjectDef, ObjectFree, ObjectId, ObjectKind, ObjectReference, ThreadId, Timestamp,
};
use rustc_hash::FxHashMap;

/// Data that is remembered of objects: one bit per object, and one number per collection.
#[derive(Default)]
pub(super) struct Objects {
    /// Numbers of the objects that the trace defines.
    pub(super) defined: NumberSet,
    /// For each collection, the highest object number given before its start. Numbers grow with
    /// time, so an object's age follows from its number.
    collections: Vec<u64>,
    /// Objects that the current collection reclaims. JDK 11 reports these before the end of the
    /// collection.
    pub(super) dying: NumberSet,
    /// The heap dump that is being written.
    pub(super) dump: HeapDumpId,
    /// Objects by number whose records were passed over, if a later trace may mention them.
    passed: FxHashMap<u64, SkippedObject>,
}

/// Data of an object whose record was passed over: the record was read, and may not be in the trace
/// that mentions the object.
#[derive(Clone, Copy, Debug)]
pub(super) struct SkippedObject {
    pub(super) class: u32,
    pub(super) size: u64,
    pub(super) time: Timestamp,
}

impl Objects {
    /// Begins a collection. `objects` is the highest object number given so far.
    pub(super) fn collection(&mut self, objects: u64) {
        self.collections.push(objects);
    }

    /// Returns the objects whose records were passed over.
    pub(super) fn passed(&self) -> impl Iterator<Item = (u64, SkippedObject)> {
        self.passed
            .iter()
            .map(|(number, passed)| (*number, *passed))
    }

    /// Keeps the data of an object whose record is passed over.
    pub(super) fn pass(&mut self, object: u64, passed: SkippedObject) {
        self.passed.insert(object, passed);
    }

    fn is_defined(&self, object: u64) -> bool {
        self.defined.contains(object)
    }

    /// Notes that the trace defines the object. Returns false if it did already.
    fn define(&mut self, object: u64) -> bool {
        self.defined.insert(object)
    }

    /// Returns the number of collections that a freed object has survived: those that began after
    /// it got its number, except the last one, which reclaimed it.
    fn age(&self, object: u64) -> i64 {
        let before = self.collections.partition_point(|count| *count < object);
        (self.collections.len() - before).saturating_sub(1) as i64
    }

    /// Returns, for each collection, the highest object number given before its start.
    pub(super) fn collections(&self) -> &[u64] {
        &self.collections
    }

    /// Returns an object's id for an event. Returns [`ObjectId::NONE`] if the trace does not define
    /// the object, because its record was dropped.
    fn id(&self, object: u64) -> ObjectId {
        match self.is_defined(object) {
            true => ObjectId(object),
            false => ObjectId::NONE,
        }
    }
}

/// Returns the kind of the objects of a class, by the name of the class.
pub(super) fn kind_of(class: &str) -> ObjectKind {
    match class.as_bytes() {
        b"[Z" => ObjectKind::BOOLEAN,
        b"[C" => ObjectKind::CHAR,
        b"[F" => ObjectKind::FLOAT,
        b"[D" => ObjectKind::DOUBLE,
        b"[B" => ObjectKind::BYTE,
        b"[S" => ObjectKind::SHORT,
        b"[I" => ObjectKind::INT,
        b"[J" => ObjectKind::LONG,
        [b'[', ..] => ObjectKind::REFERENCES,
        _ => ObjectKind::PLAIN,
    }
}

impl Translator {
    fn object_class(&mut self, number: u32, time: Timestamp) -> (ClassId, ObjectKind) {
        let id = self.class(number, time);
        (id, kind_of(self.classes.at(number).name()))
    }

    pub(super) fn define_object(&mut self, object: u64, class: u32, size: u64, time: Timestamp) {
        if self.settings.keeps_objects {
            self.objects
                .pass(object, SkippedObject { class, size, time });
        }
        if !self.objects.define(object) {
            return;
        }
        let (class, kind) = self.object_class(class, time);
        self.event(&Event::ObjectDef(ObjectDef {
            object: ObjectId(object),
            time,
            kind,
            size: size as i64,
            class,
        }));
    }

    /// Returns the id of an object that an event mentions at `time`. Defines the object if its
    /// record was passed over before the trace began. Returns [`ObjectId::NONE`] if its record was
    /// dropped.
    pub(super) fn mentioned(&mut self, object: u64, time: Timestamp) -> ObjectId {
        if !self.objects.is_defined(object)
            && let Some(&SkippedObject { class, size, .. }) = self.objects.passed.get(&object)
        {
            self.define_object(object, class, size, time);
        }
        self.objects.id(object)
    }

    /// Forgets objects whose records came before the tick. Objects that are mentioned later are
    /// recorded again.
    pub fn forget_objects_before(&mut self, ticks: u64) {
        let time = Timestamp(self.timeline.at(ticks));
        let passed = &mut self.objects.passed;
        passed.retain(|_, passed| passed.time >= time);
        if passed.len() < passed.capacity() / 8 {
            passed.shrink_to_fit();
        }
    }

    /// Returns the id of a thread's object, after defining it if needed.
    pub(super) fn thread_object(&mut self, info: &ThreadInfo, time: Timestamp) -> ObjectId {
        let Some(object) = info.object else {
            return ObjectId::NONE;
        };
        self.define_object(object.number, object.class, object.size, time);
        ObjectId(object.number)
    }

    pub(super) fn object(&mut self, number: u32, ticks: u64, code: Code, payload: &[u64]) {
        let (object, class) = record::object_parts(payload[0]);
        let time = Timestamp(self.timeline.at(ticks));
        match code {
            Code::ObjectDef => self.define_object(object, class, payload[1], time),
            Code::ObjectFree if self.collecting => _ = self.objects.dying.insert(payload[0]),
            Code::ObjectFree => self.freed(payload[0], time),
            _ => {
                let object = match object {
                    0 => self.totals.objects + 1, // without identity, as at sites
                    object => object,
                };
                // Noted first, because the object may be the thread that is defined now.
                self.objects.define(object);
                let frame = payload.get(2).map(|frame| record::frame_parts(*frame));
                self.allocated(number, ticks, object, (class, payload[1]), frame);
            }
        }
    }

    /// Writes the end of an object if the trace defines the object. If the object's record was
    /// dropped, the trace does not define it.
    fn freed(&mut self, object: u64, time: Timestamp) {
        if self.objects.is_defined(object) {
            self.totals.frees += 1;
            self.event(&Event::ObjectFree(ObjectFree {
                time,
                object: ObjectId(object),
                age: self.objects.age(object),
            }));
        }
    }

    /// Writes the ends of objects that were held back until the end of a collection.
    pub fn emit_frees(&mut self, time: Timestamp) {
        for object in std::mem::take(&mut self.objects.dying).iter() {
            self.freed(object, time);
        }
    }

    /// Writes the allocation of an object. `frame` is the number of the allocating method, and a
    /// line.
    pub(super) fn allocated(
        &mut self,
        number: u32,
        ticks: u64,
        object: u64,
        (class, size): (u32, u64),
        frame: Option<(u32, i32)>,
    ) {
        let time = Timestamp(self.timeline.at(ticks));
        // Internal threads of the JVM allocate objects, too.
        let (thread, time) = self.at(number, ticks).unwrap_or((ThreadId::NONE, time));
        let (class, kind) = self.object_class(class, time);
        let (method, line) = match frame {
            Some((method, line)) => (self.method(method, time).0, line.max(0)),
            None => (MethodId::NONE, 0),
        };
        self.totals.objects += 1;
        self.event(&Event::ObjectAlloc(ObjectAlloc {
            thread,
            time,
            kind,
            object: ObjectId(object),
            size: size as i64,
            line: line.into(),
            method,
            class,
        }));
    }

    pub(super) fn heap(&mut self, ticks: u64, code: Code, payload: &[u64]) {
        let time = Timestamp(self.timeline.at(ticks));
        let (object, class) = record::object_parts(payload[0]);
        let dump = self.objects.dump;
        let event = match code {
            Code::HeapDump => {
                self.objects.dump = HeapDumpId(self.ids.next());
                Event::HeapDump(HeapDump {
                    dump: self.objects.dump,
                    time,
                    name: format!(
                        "{}{}{}",
                        self.settings.heap_name,
                        payload[0],
                        SnapshotMoment::suffix(payload[1])
                    )
                    .into(),
                    base_time: self.settings.started,
                })
            }
            Code::HeapRoot => Event::GcRoot(GcRoot {
                class: self.class(class, time),
                object: ObjectId(object),
                kind: root_kind(payload[1]).into(),
            }),
            Code::HeapObject => {
                let class_id = self.class(class, time);
                self.define_object(object, class, payload[1], time);
                Event::HeapObject(HeapObject {
                    dump,
                    object: ObjectId(object),
                    class: class_id,
                    size: payload[1] as i64,
                })
            }
            Code::HeapReference => Event::ObjectReference(ObjectReference {
                source: ObjectId(payload[0]),
                target: ObjectId(payload[1]),
                dump,
            }),
            _ => {
                self.objects.dump = HeapDumpId::NONE;
                if payload[0] == INCOMPLETE {
                    return;
                }
                Event::HeapDumpEnd(HeapDumpEnd { dump, time })
            }
        };
        self.event(&event);
    }
}

/// Returns TPTP's word for a kind of root in JVMTI (`jvmtiHeapReferenceKind`).
fn root_kind(kind: u64) -> &'static str {
    match kind {
        21 => "JNI_GLOBAL",
        22 => "SYSTEM_CLASS",
        23 => "MONITOR",
        24 => "STACK_LOCAL",
        25 => "JNI_LOCAL",
        26 => "THREAD",
        _ => "OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_counted_in_collections() {
        let mut objects = Objects::default();
        objects.collection(10);
        objects.collection(10);
        objects.collection(25);
        assert_eq!(objects.age(10), 2); // older than the first, dead in the third
        assert_eq!(objects.age(11), 0);
        assert_eq!(objects.age(26), 0);
    }

    #[test]
    fn definitions_are_remembered() {
        let mut objects = Objects::default();
        assert!(objects.define(1000));
        assert!(!objects.define(1000));
        assert_eq!(objects.id(1000), ObjectId(1000));
        assert_eq!(objects.id(1001), ObjectId::NONE);
        assert_eq!(objects.id(u64::MAX), ObjectId::NONE);
    }

    #[test]
    fn kinds_come_from_names() {
        assert_eq!(kind_of("[I"), ObjectKind::INT);
        assert_eq!(kind_of("[[I"), ObjectKind::REFERENCES);
        assert_eq!(kind_of("[Ljava.lang.String;"), ObjectKind::REFERENCES);
        assert_eq!(kind_of("int"), ObjectKind::PLAIN);
    }
}
