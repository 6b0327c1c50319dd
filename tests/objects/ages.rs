//! Ages of dead objects: the number of collections that each has survived.

use crate::support::compile::compile;
use crate::support::observed::read;
use crate::support::{agent, at_once, program};
use jtrail_model::Event;
use jtrail_testkit::{Jdk, temp_dir};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A program that drops objects of one class before each collection, and leaves the JVM time to
/// report their death before the next one. Some objects are created after several collections: the
/// age of these counts from their creation.
const SOURCE: &str = include_str!("Ages.java");

/// Number of objects of a class that died at each age.
type Ages = BTreeMap<(String, i64), u64>;

fn truth() -> Ages {
    let lived = (0..4).map(|age| ((format!("Ages$Lived{age}"), age), 10));
    let late = [0, 2].map(|age| ((format!("Ages$Late{age}"), age), 1));
    lived.chain(late).collect()
}

/// The ages in a trace.
#[derive(Default)]
struct Reported {
    ages: Ages,
    /// Like `ages`, but computed from the collections in the trace. An age is the number of
    /// collections that finish between an object's allocation and its end, minus the one that found
    /// it dead.
    survived: Ages,
    has_collections: bool,
}

impl Reported {
    fn read(file: &Path) -> Self {
        let mut reported = Self::default();
        let (mut classes, mut objects) = (HashMap::new(), HashMap::new());
        let mut finished = 0_i64;
        read(file, |event| match event {
            Event::ClassDef(e) => _ = classes.insert(e.class, e.name.to_string()),
            Event::ObjectAlloc(e) => _ = objects.insert(e.object, (e.class, finished)),
            Event::ObjectFree(e) => {
                let Some((class, before)) = objects.get(&e.object) else {
                    return;
                };
                let class: &String = &classes[class];
                if class.starts_with("Ages$") {
                    *reported.ages.entry((class.clone(), e.age)).or_default() += 1;
                    let survived = (class.clone(), finished - before - 1);
                    *reported.survived.entry(survived).or_default() += 1;
                }
            }
            Event::GcFinish(_) => finished += 1,
            Event::GcStart(_) | Event::GcDetail(_) => reported.has_collections = true,
            _ => {}
        });
        reported
    }
}

fn check(jdk: &Jdk, classes: &Path, collector: &str, gc: &str, alloc: &str) {
    let what = format!("{collector}, alloc={alloc}{gc}, JDK {}", jdk.feature);
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let options = format!(
        "format=binary,events=alloc+free{gc},alloc={alloc},file={}",
        file.display()
    );
    // Enough room that only those collections run that the program requests.
    let output = ["-Xmx256m", "-Xmn128m", "-XX:MetaspaceSize=256m"]
        .iter()
        .fold(program(jdk, "Ages"), |run, arg| run.jvm_arg(*arg))
        .jvm_arg(format!("-XX:+Use{collector}GC"))
        .class_path(classes)
        .agent(agent(), options)
        .output();
    output.assert_exit(0);
    let reported = Reported::read(&file);
    assert_eq!(reported.ages, truth(), "{what}\n{output}");
    assert_eq!(reported.has_collections, !gc.is_empty(), "{what}");
    if reported.has_collections {
        assert_eq!(reported.survived, truth(), "{what}\n{output}");
    }
}

/// An object's age is in the trace with and without the kind of events `gc`. The collections are in
/// the trace only with `gc`.
#[test]
fn an_object_has_its_age_with_and_without_collections() {
    let folder = temp_dir();
    compile("Ages", SOURCE, folder.path());
    at_once(|jdk| {
        for collector in ["Serial", "Parallel", "G1"] {
            for (gc, alloc) in [("", "jvm"), ("+gc", "jvm"), ("", "sites"), ("+gc", "sites")] {
                check(jdk, folder.path(), collector, gc, alloc);
            }
        }
    });
}
