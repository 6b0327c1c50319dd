//! Loading details, unloading and redefinition of classes.

use crate::saved::by_key;
use jtrail_model::{ClassDetail, ClassId, Event, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A field or method, as the class file declares it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Member {
    /// The name, as in the class file.
    pub name: Box<str>,
    /// The descriptor.
    pub signature: Box<str>,
    /// The access flags.
    pub access: u16,
}

/// The content of a class file; see [`ClassDetail`] for the fields.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Detail {
    /// The access flags.
    pub access: u16,
    /// The superclass; empty if there is none.
    pub super_name: String,
    /// The direct interfaces.
    pub interfaces: Vec<String>,
    /// The class loader.
    pub loader: String,
    /// The size of the class file in bytes; 0 if unknown.
    pub size: i64,
    /// The declared fields.
    pub fields: Vec<Member>,
    /// The declared methods.
    pub methods: Vec<Member>,
}

/// The information that a trace has about a class, besides its name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ClassStat {
    /// The content of the class file.
    #[serde(skip)]
    pub detail: Option<Box<Detail>>,
    /// The time at which the class was unloaded.
    pub unloaded: Option<Timestamp>,
    /// The number of redefinitions.
    pub redefined: u64,
}

/// All classes about which the trace has more than the name.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Classes {
    /// True if details are kept.
    #[serde(skip)]
    details: bool,
    /// The classes by id.
    #[serde(with = "by_key")]
    pub all: FxHashMap<ClassId, ClassStat>,
    /// The number of unloaded classes.
    pub unloaded: u64,
    /// The number of redefinitions of all classes.
    pub redefined: u64,
}

impl Classes {
    /// Creates an empty collection. `details` is true to keep the contents of class files.
    pub fn new(details: bool) -> Self {
        Self {
            details,
            ..Self::default()
        }
    }

    /// Processes events about classes. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ClassDetail(e) if self.details => {
                self.all.entry(e.class).or_default().detail = Some(Box::new(detail(e)));
            }
            Event::ClassUnload(e) => {
                let class = self.all.entry(e.class).or_default();
                if class.unloaded.replace(e.time).is_none() {
                    self.unloaded += 1;
                }
            }
            Event::ClassRedefine(e) => {
                let class = self.all.entry(e.class).or_default();
                class.redefined += 1;
                self.redefined += 1;
                if let Some(detail) = &mut class.detail {
                    detail.size = e.size;
                }
            }
            _ => {}
        }
    }
}

fn detail(e: &ClassDetail<'_>) -> Detail {
    let member = |m: &jtrail_model::Member<'_>| Member {
        name: (*m.name).into(),
        signature: (*m.signature).into(),
        access: m.access,
    };
    Detail {
        access: e.access,
        super_name: e.super_name.to_string(),
        interfaces: e.interfaces.iter().map(|i| i.to_string()).collect(),
        loader: e.loader.to_string(),
        size: e.size,
        fields: e.fields.iter().map(member).collect(),
        methods: e.methods.iter().map(member).collect(),
    }
}

/// Returns the access flags of a class as words, for instance `public final interface`.
pub fn class_flags(access: u16) -> String {
    words(
        access,
        &[
            (0x0001, "public"),
            (0x0010, "final"),
            (0x0400, "abstract"),
            (0x0200, "interface"),
            (0x1000, "synthetic"),
            (0x2000, "annotation"),
            (0x4000, "enum"),
            (0x8000, "module"),
        ],
    )
}

/// Returns the access flags of a field as words.
pub fn field_flags(access: u16) -> String {
    words(
        access,
        &[
            (0x0001, "public"),
            (0x0002, "private"),
            (0x0004, "protected"),
            (0x0008, "static"),
            (0x0010, "final"),
            (0x0040, "volatile"),
            (0x0080, "transient"),
            (0x1000, "synthetic"),
            (0x4000, "enum"),
        ],
    )
}

/// Returns the access flags of a method as words.
pub fn method_flags(access: u16) -> String {
    words(
        access,
        &[
            (0x0001, "public"),
            (0x0002, "private"),
            (0x0004, "protected"),
            (0x0008, "static"),
            (0x0010, "final"),
            (0x0400, "abstract"),
            (0x0020, "synchronized"),
            (0x0040, "bridge"),
            (0x0080, "varargs"),
            (0x0100, "native"),
            (0x0800, "strictfp"),
            (0x1000, "synthetic"),
        ],
    )
}

fn words(access: u16, flags: &[(u16, &str)]) -> String {
    let set = flags.iter().filter(|(bit, _)| access & bit != 0);
    set.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{ClassRedefine, ClassUnload};

    fn events() -> Vec<Event<'static>> {
        vec![
            ClassDetail {
                class: ClassId(3),
                access: 0x0411,
                super_name: "a.Base".into(),
                interfaces: vec!["a.I".into(), "a.J".into()],
                loader: "app".into(),
                size: 900,
                fields: vec![jtrail_model::Member {
                    name: "x".into(),
                    signature: "I".into(),
                    access: 2,
                }],
                ..ClassDetail::default()
            }
            .into(),
            Event::ClassRedefine(ClassRedefine {
                class: ClassId(3),
                size: 950,
                ..ClassRedefine::default()
            }),
            Event::ClassUnload(ClassUnload {
                class: ClassId(4),
                time: Timestamp(7),
            }),
        ]
    }

    #[test]
    fn details_are_kept_when_asked_for() {
        let mut classes = Classes::new(true);
        events().iter().for_each(|e| classes.event(e));
        assert_eq!((classes.unloaded, classes.redefined), (1, 1));
        let class = &classes.all[&ClassId(3)];
        let detail = class.detail.as_ref().expect("kept");
        assert_eq!((detail.size, class.redefined), (950, 1));
        assert_eq!(detail.interfaces, ["a.I", "a.J"]);
        assert_eq!(class_flags(detail.access), "public final abstract");
        assert_eq!(field_flags(detail.fields[0].access), "private");
        assert_eq!(classes.all[&ClassId(4)].unloaded, Some(Timestamp(7)));
        let mut classes = Classes::default();
        events().iter().for_each(|e| classes.event(e));
        assert_eq!(classes.all[&ClassId(3)].detail, None);
    }

    #[test]
    fn flags_are_words() {
        assert_eq!(method_flags(0x0029), "public static synchronized");
        assert_eq!(method_flags(0), "");
    }
}
