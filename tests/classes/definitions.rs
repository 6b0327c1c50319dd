//! Details of classes, their unloading and redefinition, compared with the class files, `javap` and
//! the JVM's own log.

use crate::support::classes::Classes;
use crate::support::counts::assert_counts;
use crate::support::java_agent::java_agent;
use crate::support::{
    FILTER, VERSIONS, agent, collectors, few_versions, harness, one_version, program, traced,
};
use jtrail_model::{ClassDetail, Member};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::collections::BTreeMap;
use std::fs::{self};
use std::path::Path;
use std::process::Command;

/// Runs a program with these events, and reads the classes of the trace.
fn run(run: Run, events: &str, after: &[String]) -> Classes {
    let folder = temp_dir();
    let file = folder.path().join("trace.trcbin");
    let options = format!("format=binary,events={events},file={}", file.display());
    let run = run.agent(agent(), options);
    let run = after.iter().fold(run, |run, arg| run.jvm_arg(arg));
    run.output().assert_exit(0);
    Classes::read(&file)
}

/// Returns names and descriptors of a class's fields, as `javap` prints them.
fn fields_by_javap(class_file: &Path) -> Vec<(String, String)> {
    let mut jdks = Jdk::all().into_iter().rev();
    let javac = jdks.find_map(|jdk| jdk.javac).expect("a JDK with tools");
    let output = Command::new(javac.with_file_name("javap"))
        .args(["-p", "-s"])
        .arg(class_file)
        .output()
        .expect("javap starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    let field = |pair: &[&str]| {
        let descriptor = pair[1].trim().strip_prefix("descriptor: ")?;
        let name = pair[0].strip_suffix(';')?.rsplit(' ').next()?;
        (!descriptor.starts_with('(')).then(|| (name.to_owned(), descriptor.to_owned()))
    };
    lines.windows(2).filter_map(field).collect()
}

#[test]
fn details_are_what_the_class_file_says() {
    let folder = harness().root().join("11");
    for jdk in Jdk::require(&few_versions()) {
        let classes = run(program(&jdk, "harness.Nested"), "details", &[]);
        let mut seen = 0;
        for (name, detail) in &classes.details {
            let file = folder.join(format!("{}.class", name.replace('.', "/")));
            let Ok(bytes) = fs::read(&file) else { continue };
            seen += 1;
            let class = jtrail_classfile::Class::parse(&bytes).expect("a class file");
            assert_eq!(detail.size, bytes.len() as i64, "{name}");
            assert_eq!(detail.loader, "app", "{name}");
            let source = class.source_file().expect("compiled from a file");
            assert_eq!(classes.sources[name], source, "{name}");
            let top = name.split('$').next().unwrap_or(name);
            assert_eq!(format!("harness.{source}"), format!("{top}.java"));
            // An interface has `java.lang.Object` as superclass in its class file, and none in
            // Java.
            let is_interface = class.access_flags() & 0x0200 != 0;
            let super_name = class.super_name().filter(|_| !is_interface);
            assert_eq!(
                detail.super_name,
                super_name.unwrap_or_default().replace('/', "."),
                "{name}"
            );
            // An inner class has further flags, which are in the class files of other classes.
            let kind = 0x0200 | 0x0400 | 0x2000 | 0x4000; // interface, abstract, annotation, enum
            assert_eq!(detail.access & kind, class.access_flags() & kind, "{name}");
            let methods: Vec<Member<'_>> = class
                .methods()
                .iter()
                .map(|m| Member {
                    name: m.name(),
                    signature: m.descriptor(),
                    access: m.access_flags(),
                })
                .collect();
            assert_eq!(detail.methods, methods, "{name}, JDK {}", jdk.feature);
            let fields: Vec<(String, String)> = detail
                .fields
                .iter()
                .map(|f| (f.name.clone().into(), f.signature.clone().into()))
                .collect();
            assert_eq!(fields, fields_by_javap(&file), "{name}");
        }
        assert!(seen > 5, "only {seen} classes, JDK {}", jdk.feature);
        // The next classes were loaded long before the trace. Each of them is reported once.
        let object = classes.named("java.lang.Object");
        assert_eq!(object.len(), 1);
        assert_eq!(
            (&*object[0].super_name, &*object[0].loader),
            ("", "bootstrap")
        );
        let map = classes.named("java.util.HashMap")[0];
        assert_eq!(map.super_name, "java.util.AbstractMap");
        assert_eq!(
            map.interfaces,
            [
                "java.util.Map",
                "java.lang.Cloneable",
                "java.io.Serializable"
            ]
        );
    }
}

/// With `engine=bytecode`, the lengths in the trace come from the class file; with `engine=jvmti`,
/// from the JVM.
#[test]
fn methods_are_as_long_as_in_the_class_file() {
    let folder = harness().root().join("11");
    for jdk in Jdk::require(&few_versions()) {
        for engine in ["bytecode", "jvmti"] {
            let events = format!("methods+details,engine={engine},include=harness.*");
            let classes = run(program(&jdk, "harness.Nested"), &events, &[]);
            assert!(classes.lengths.len() > 5, "{:?}", classes.lengths);
            for method in classes.methods.values() {
                let (class, name) = method;
                let file = folder.join(format!("{}.class", class.replace('.', "/")));
                let Ok(bytes) = fs::read(&file) else { continue };
                let class = jtrail_classfile::Class::parse(&bytes).expect("a class file");
                let declared = class.methods().iter();
                let mut declared =
                    declared.filter(|m| format!("{}{}", m.name(), m.descriptor()) == *name);
                let length = declared.next().expect("the method").code_len() as i64;
                let reported = classes.lengths.get(method).copied();
                assert_eq!(
                    reported,
                    (length > 0).then_some(length),
                    "{method:?}, {engine}, JDK {}",
                    jdk.feature
                );
            }
        }
    }
}

#[test]
fn interfaces_are_in_the_order_of_the_source() {
    const INTERFACES: [(&str, &str, &[&str]); 4] = [
        ("Shape", "", &[]),
        ("Named", "", &["harness.Interfaces$Shape"]),
        ("Square", "java.lang.Object", &["harness.Interfaces$Shape"]),
        (
            "Tile",
            "harness.Interfaces$Square",
            &["harness.Interfaces$Named", "java.lang.Cloneable"],
        ),
    ];
    for jdk in Jdk::require(&few_versions()) {
        let classes = run(program(&jdk, "harness.Interfaces"), "details", &[]);
        for (name, super_name, interfaces) in INTERFACES {
            let details = classes.named(&format!("harness.Interfaces${name}"));
            assert_eq!(details.len(), 1, "{name}");
            assert_eq!(details[0].super_name, super_name, "{name}");
            assert_eq!(details[0].interfaces, interfaces, "{name}");
        }
    }
}

#[test]
fn hidden_classes_are_reported() {
    const PROXY: &str = "harness.Lambdas$$Lambda";
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let log = folder.path().join("log");
        let argument = format!("-Xlog:class+load:file={}", log.display());
        let classes = run(
            program(&jdk, "harness.Lambdas").jvm_arg(argument),
            "details",
            &[],
        );
        let log = fs::read_to_string(&log).expect("a log");
        let logged = log.lines().filter(|line| line.contains(PROXY)).count();
        let is_proxy = |(name, _): &&(String, ClassDetail<'_>)| name.starts_with(PROXY);
        let proxies: Vec<_> = classes.details.iter().filter(is_proxy).collect();
        assert!(logged > 3);
        assert_eq!(proxies.len(), logged, "JDK {}", jdk.feature);
        for (name, detail) in proxies {
            assert_eq!(detail.size, 0, "{name}: no hook sees it");
            assert!(!detail.interfaces.is_empty(), "{name}");
            // On JVMs after 11, `Class.getName` of a hidden class has a slash.
            assert_eq!(name.contains('/'), jdk.feature > 11, "{name}");
        }
    }
}

#[test]
fn unloading_is_what_the_log_says() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let log = folder.path().join("log");
        let argument = format!("-Xlog:class+unload:file={}", log.display());
        let run_it = program(&jdk, "harness.Unloading").jvm_arg(argument);
        let classes = run(run_it, "details", &[]);
        let mut logged: BTreeMap<String, u64> = BTreeMap::new();
        for line in fs::read_to_string(&log).expect("a log").lines() {
            if let Some((_, rest)) = line.split_once("unloading class ") {
                let name = rest.split(' ').next().unwrap_or_default();
                *logged.entry(name.to_owned()).or_default() += 1;
            }
        }
        logged.retain(|name, _| name.starts_with("harness."));
        let mut unloaded = classes.unloaded.clone();
        unloaded.retain(|name, _| name.starts_with("harness."));
        assert_eq!(unloaded, logged, "JDK {}", jdk.feature);
        assert_eq!(unloaded["harness.Unloading$Guest"], 8);
        // Each class has its own loader, with a number of its own.
        let mut loaders: Vec<&str> = classes
            .named("harness.Unloading$Guest")
            .iter()
            .map(|detail| &*detail.loader)
            .collect();
        loaders.sort_unstable();
        loaders.dedup();
        assert_eq!(loaders.len(), 12, "{loaders:?}");
        assert!(loaders[0].starts_with("harness.Unloading$GuestLoader@"));
    }
}

/// Snapshots must not keep classes alive: a concurrent collector that is marking keeps everything
/// that an agent asks for. (JVM 17 is not tested with these collectors: HotSpot's own walk makes
/// them keep the targets of weak references.)
#[test]
fn classes_are_unloaded_although_each_collection_has_its_snapshot() {
    let mut runs = 0;
    for jdk in Jdk::require(&VERSIONS) {
        for collector in collectors::all(&jdk) {
            let is_concurrent = collector.contains("UseZ") || collector.contains("UseShenandoah");
            if is_concurrent && jdk.feature < 21 {
                continue;
            }
            let folder = temp_dir();
            let log = folder.path().join("log");
            let run_it = program(&jdk, "harness.Unloading")
                .jvm_arg("-XX:+UnlockExperimentalVMOptions")
                .jvm_arg(format!("-Xlog:class+unload:file={}", log.display()))
                .jvm_arg(&collector);
            run(run_it, "details+gc+heap,heap=gc", &[]);
            let log = fs::read_to_string(&log).expect("a log");
            let unloaded = log.matches("unloading class harness.Unloading$Guest ");
            assert_eq!(unloaded.count(), 8, "{collector}, JDK {}", jdk.feature);
            runs += 1;
        }
    }
    assert!(runs >= 4 * 3 + 2, "{runs}");
}

#[test]
fn redefinition_by_others_is_reported_and_our_own_is_not() {
    let folder = temp_dir();
    let jar = java_agent(folder.path());
    for jdk in Jdk::require(&few_versions()) {
        let other = format!("-javaagent:{}", jar.display());
        // With calls, the agent itself retransforms many classes of the JDK.
        for events in ["details", "methods+details"] {
            let classes = run(
                program(&jdk, "harness.Fib"),
                events,
                std::slice::from_ref(&other),
            );
            let names: Vec<&str> = classes.redefined.iter().map(|(n, _)| &**n).collect();
            assert_eq!(names, ["Early"], "{events}, JDK {}", jdk.feature);
            assert!(classes.redefined[0].1 > 100);
        }
    }
}

/// In a program that loads classes all the time, the agent's memory does not grow: when a loader is
/// collected, the agent forgets its classes.
#[test]
#[cfg(target_os = "linux")]
fn what_is_known_of_classes_goes_with_their_loaders() {
    // Without forgetting, the last 45,000 of 60,000 such classes took 120 to 130 MB. Now they take
    // 20 to 36 MB. Some 10 MB of that is memory of the JVM itself, before it levels off.
    const MAX_KB: u64 = 70_000;
    for jdk in Jdk::require(&one_version()) {
        let sizes = ["-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch"];
        let run_it = sizes
            .iter()
            .fold(program(&jdk, "harness.Reloads"), |run, size| {
                run.jvm_arg(size)
            });
        let options = format!("format=trail,{FILTER}");
        let run = traced(run_it.arg("60000"), &options);
        assert_counts(&run, &["harness."]);
        let more = run.output.counts().fact("kilobytes-more");
        eprintln!("JDK {}: {more} KB", jdk.feature);
        assert!(more < MAX_KB, "JDK {}: {more} KB", jdk.feature);
    }
}
