//! Classes are retransformed again and again, as traces begin and end.

use crate::support::compile::compile_with_harness;
use crate::support::java_api::API;
use crate::support::{Trace, agent, one_version, program};
use jtrail_testkit::{Jdk, temp_dir};
use std::path::Path;

const TIMES: u64 = 400;

/// Maximum growth of the metaspace in bytes. If the constant pool grew with each retransformation,
/// no pool would fit into the memory of the preceding one. On 17 and 21, the 600 pools between the
/// two readings took 14 MB when it did.
const MAX_BYTES: u64 = 1 << 20;

#[test]
fn a_class_with_try_with_resources_takes_no_more_metaspace() {
    let classes = temp_dir();
    let source = include_str!("Anew.java");
    compile_with_harness("Anew", source, classes.path(), Path::new(API));
    for jdk in Jdk::require(&one_version()) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let path = format!("{}:{API}", classes.path().display());
        let run = program(&jdk, "Anew").class_path(path);
        let options = "server=application,control=off,include=Anew#uses,include=Anew#close";
        let output = run
            .arg(&file)
            .arg(TIMES.to_string())
            .agent(agent(), options)
            .output();
        output.assert_exit(0);
        let said = |what| {
            let lines = output.stdout.lines();
            let values = lines.filter_map(move |line| line.strip_prefix(what)?.parse().ok());
            values.collect::<Vec<u64>>()
        };
        assert_eq!(said("closed "), [3 * TIMES], "{output}");
        let metaspace = said("metaspace ");
        let [early, late] = metaspace[..] else {
            panic!("{output}")
        };
        assert!(
            late <= early + MAX_BYTES,
            "JDK {}: {early} to {late}",
            jdk.feature
        );
        let last = Trace::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
        last.assert_sound(&output);
        assert_eq!(last.calls.values().sum::<u64>(), 2, "{output}");
    }
}
