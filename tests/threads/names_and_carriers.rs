//! Names and groups of threads, and the carriers of virtual threads.

use crate::support::observed::observed;
use crate::support::truth::everywhere;
use crate::support::{FILTER, few_versions, program};
use jtrail_model::Event;
use jtrail_testkit::Jdk;
use std::collections::{BTreeMap, HashMap, HashSet};

#[test]
fn groups_and_names() {
    for jdk in Jdk::require(&few_versions()) {
        for engine in ["bytecode", "jvmti"] {
            let mut groups = BTreeMap::new();
            let mut renamed = BTreeMap::new();
            let mut ended = HashSet::new();
            let options = format!("format=binary,engine={engine},{FILTER}");
            let run = observed(
                program(&jdk, "harness.Groups"),
                &options,
                |names, event| match event {
                    Event::ThreadStart(e) => {
                        let group = (
                            e.group.clone().into_owned(),
                            e.parent_group.clone().into_owned(),
                        );
                        groups.insert(e.name.clone().into_owned(), group);
                    }
                    Event::ThreadName(e) => {
                        assert!(!ended.contains(&e.thread), "{event:?}");
                        let first = names.thread(e.thread).to_owned();
                        renamed.insert(first, e.name.clone().into_owned());
                    }
                    Event::ThreadEnd(e) => {
                        ended.insert(e.thread);
                    }
                    _ => {}
                },
            );
            let truth = run.output.truth();
            for (thread, expected) in &truth.groups {
                let (group, parent) = &groups[thread];
                assert_eq!(
                    (group, parent),
                    (&expected.group, &expected.parent),
                    "{thread}"
                );
            }
            assert_eq!(renamed, truth.renamed, "JDK {}, {engine}", jdk.feature);
            assert!(!truth.groups.is_empty() && !truth.renamed.is_empty());
        }
    }
}

#[test]
fn mounts_and_unmounts_alternate() {
    for jdk in Jdk::require(&few_versions()) {
        if jdk.feature < 21 {
            continue;
        }
        let mut mounts: BTreeMap<String, u64> = BTreeMap::new();
        let mut on = HashMap::new();
        let options = format!("format=xml,events=+mounts,{FILTER}");
        let run = observed(
            program(&jdk, "harness.Mounts"),
            &options,
            |names, event| match event {
                Event::ThreadMount(e) => {
                    assert_eq!(names.threads[&e.thread].1, "VirtualThreads");
                    assert_eq!(names.threads[&e.carrier].1, "CarrierThreads");
                    assert_eq!(on.insert(e.thread, e.carrier), None, "{event:?}");
                    *mounts.entry(names.thread(e.thread).to_owned()).or_default() += 1;
                }
                Event::ThreadUnmount(e) => {
                    assert_eq!(on.remove(&e.thread), Some(e.carrier), "{event:?}")
                }
                Event::ThreadEnd(e) => assert!(!on.contains_key(&e.thread), "{event:?}"),
                Event::MethodEnter(e) if names.threads[&e.thread].1 == "VirtualThreads" => {
                    assert!(on.contains_key(&e.thread), "{event:?}");
                }
                _ => {}
            },
        );
        let truth = run.output.truth();
        for (thread, low) in &truth.mounts {
            assert!(
                mounts[thread] >= *low,
                "{thread}: {} of {low}",
                mounts[thread]
            );
        }
        assert!(!truth.mounts.is_empty());
    }
}

#[test]
fn threads_and_groups() {
    everywhere("harness.Groups", "+threads");
    everywhere("harness.Mounts", "+mounts");
}
