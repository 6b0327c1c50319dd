//! The heap snapshots of a trace.

use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, ObjectId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// A heap snapshot.
#[derive(Default)]
pub(crate) struct Dump {
    pub(crate) name: String,
    pub(crate) complete: bool,
    /// Class and bytes of each object.
    pub(crate) objects: HashMap<ObjectId, (String, i64)>,
    pub(crate) roots: Vec<ObjectId>,
    pub(crate) references: Vec<(ObjectId, ObjectId)>,
}

impl Dump {
    /// Returns the number of objects and bytes of each class.
    pub(crate) fn histogram(&self) -> BTreeMap<&str, (u64, u64)> {
        let mut classes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (class, size) in self.objects.values() {
            let entry = classes.entry(class).or_default();
            entry.0 += 1;
            entry.1 += *size as u64;
        }
        classes
    }

    /// Returns true if the trace has the snapshot's end.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    pub(crate) fn count(&self, class: &str) -> u64 {
        self.histogram().get(class).map_or(0, |(count, _)| *count)
    }

    /// Returns the number of references from objects of one class to objects of another.
    pub(crate) fn references(&self, from: &str, to: &str) -> usize {
        let is = |id: &ObjectId, class: &str| self.objects[id].0 == class;
        let fits = |(source, target): &&(ObjectId, ObjectId)| is(source, from) && is(target, to);
        self.references.iter().filter(fits).count()
    }

    /// Returns the objects that are reachable from the roots.
    pub(crate) fn reached(&self) -> HashSet<ObjectId> {
        let mut next: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for (source, target) in &self.references {
            next.entry(*source).or_default().push(*target);
        }
        let mut open = self.roots.clone();
        let mut reached: HashSet<ObjectId> = HashSet::new();
        while let Some(object) = open.pop() {
            if reached.insert(object) {
                open.extend(next.get(&object).into_iter().flatten());
            }
        }
        reached
    }
}

/// Returns the snapshots of a trace, and the classes of objects according to their allocation
/// events.
pub(crate) fn dumps(file: &Path) -> (Vec<Dump>, HashMap<ObjectId, String>) {
    let mut classes: HashMap<u64, String> = HashMap::new();
    let mut made = HashMap::new();
    let mut dumps: Vec<Dump> = Vec::new();
    let mut take = |event: &Event<'_>| match event {
        Event::ClassDef(e) => {
            classes.insert(e.class.0, e.name.to_string());
        }
        Event::ObjectAlloc(e) => {
            assert!(made.insert(e.object, classes[&e.class.0].clone()).is_none());
        }
        Event::HeapDump(e) => dumps.push(Dump {
            name: e.name.to_string(),
            ..Dump::default()
        }),
        Event::HeapObject(e) => {
            let dump = dumps.last_mut().expect("a dump began");
            let class = classes[&e.class.0].clone();
            let was = dump.objects.insert(e.object, (class, e.size));
            assert!(was.is_none(), "{} twice", e.object);
        }
        Event::GcRoot(e) => dumps.last_mut().expect("a dump began").roots.push(e.object),
        Event::ObjectReference(e) => {
            let dump = dumps.last_mut().expect("a dump began");
            dump.references.push((e.source, e.target));
        }
        Event::HeapDumpEnd(_) => dumps.last_mut().expect("a dump began").complete = true,
        _ => {}
    };
    let mut reader = Reader::new(File::open(file).expect("a trace")).expect("a trace");
    let problem = reader
        .for_each(|item| match item {
            Item::Event { event, .. } => {
                take(&event);
                ControlFlow::Continue(())
            }
            Item::Remark(remark) => ControlFlow::Break(format!("{remark:?}")),
        })
        .expect("it can be read");
    assert_eq!(problem, None);
    (dumps, made)
}

/// Waits until the trace contains this text.
pub(crate) fn wait_for(file: &Path, text: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    let holds = || {
        let bytes = fs::read(file).unwrap_or_default();
        bytes.windows(text.len()).any(|w| w == text.as_bytes())
    };
    while !holds() {
        assert!(Instant::now() < until, "{text:?} never came");
        std::thread::sleep(Duration::from_millis(50));
    }
}
