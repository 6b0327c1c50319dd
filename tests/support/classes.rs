//! The classes in a trace.

use jtrail_formats::{Item, Reader};
use jtrail_model::{ClassDetail, ClassId, Event, Member, MethodId};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

/// The contents of a trace about classes, by name.
#[derive(Default)]
pub(crate) struct Classes {
    pub(crate) names: HashMap<ClassId, String>,
    /// Source files of classes.
    pub(crate) sources: HashMap<String, String>,
    pub(crate) details: Vec<(String, ClassDetail<'static>)>,
    /// Class of each method, and its name with descriptor; `lengths` holds the lengths of bytecode.
    pub(crate) methods: HashMap<MethodId, (String, String)>,
    pub(crate) lengths: BTreeMap<(String, String), i64>,
    pub(crate) unloaded: BTreeMap<String, u64>,
    pub(crate) redefined: Vec<(String, i64)>,
}

fn own(member: &Member<'_>) -> Member<'static> {
    Member {
        name: member.name.clone().into_owned().into(),
        signature: member.signature.clone().into_owned().into(),
        access: member.access,
    }
}

impl Classes {
    pub(crate) fn read(file: &Path) -> Self {
        let mut classes = Self::default();
        let mut reader = Reader::new(File::open(file).expect("a trace")).expect("its format");
        let problem = reader
            .for_each(|item| {
                let Item::Event { event, .. } = item else {
                    return ControlFlow::Break(format!("{item:?}"));
                };
                classes.take(&event);
                ControlFlow::Continue(())
            })
            .expect("read");
        assert_eq!(problem, None);
        classes
    }

    fn name(&self, class: ClassId) -> String {
        self.names[&class].clone() // a class is defined before everything else
    }

    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::ClassDef(e) => {
                self.names.insert(e.class, e.name.clone().into_owned());
                let source = e.source_name.clone().into_owned();
                self.sources.insert(e.name.clone().into_owned(), source);
            }
            Event::ClassDetail(e) => {
                let detail = ClassDetail {
                    class: e.class,
                    time: e.time,
                    access: e.access,
                    super_name: e.super_name.clone().into_owned().into(),
                    interfaces: e
                        .interfaces
                        .iter()
                        .map(|name| name.clone().into_owned().into())
                        .collect(),
                    loader: e.loader.clone().into_owned().into(),
                    size: e.size,
                    fields: e.fields.iter().map(own).collect(),
                    methods: e.methods.iter().map(own).collect(),
                };
                self.details.push((self.name(e.class), detail));
            }
            Event::MethodDef(e) => {
                let method = (self.name(e.class), format!("{}{}", e.name, e.signature));
                self.methods.insert(e.method, method);
            }
            Event::MethodDetail(e) => {
                let reported = self.lengths.insert(self.methods[&e.method].clone(), e.size);
                assert_eq!(reported, None, "{:?} once more", self.methods[&e.method]);
            }
            Event::ClassUnload(e) => *self.unloaded.entry(self.name(e.class)).or_default() += 1,
            Event::ClassRedefine(e) => self.redefined.push((self.name(e.class), e.size)),
            _ => {}
        }
    }

    pub(crate) fn named(&self, name: &str) -> Vec<&ClassDetail<'static>> {
        let found = self.details.iter().filter(|(n, _)| n == name);
        found.map(|(_, detail)| detail).collect()
    }
}
