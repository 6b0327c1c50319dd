//! Objects inside and outside the allocation areas of threads: each is reported.

use crate::support::compile::compile;
use crate::support::observed::observed;
use crate::support::{few_versions, program};
use jtrail_model::Event;
use jtrail_testkit::Jdk;
use std::collections::HashMap;

#[test]
fn objects_after_those_beside_an_area() {
    let folder = jtrail_testkit::temp_dir();
    compile("Beside", include_str!("Beside.java"), folder.path());
    for jdk in Jdk::require(&few_versions()) {
        for heap in [
            "-XX:+UseSerialGC",
            "-XX:+UseG1GC",
            "-XX:TLABSize=8k",
            "-Xmx40m",
            "-XX:-UseCompressedClassPointers",
        ] {
            let run = program(&jdk, "Beside").class_path(folder.path());
            let mut classes: HashMap<u64, String> = HashMap::new();
            let mut made: HashMap<String, u64> = HashMap::new();
            let run = run
                .jvm_arg("-XX:+IgnoreUnrecognizedVMOptions")
                .jvm_arg(heap);
            observed(
                run,
                "format=binary,events=threads+alloc",
                |_, event| match event {
                    Event::ClassDef(e) => {
                        classes.insert(e.class.0, e.name.to_string());
                    }
                    Event::ObjectAlloc(e) => {
                        *made.entry(classes[&e.class.0].clone()).or_default() += 1;
                    }
                    _ => {}
                },
            );
            let of = |class: &str| made.get(class).copied().unwrap_or(0);
            assert_eq!(
                (of("Beside$Small"), of("Beside$Big")),
                (80_000, 2000),
                "{heap}, JDK {}",
                jdk.feature
            );
            assert!(of("[B") >= 2000, "{heap}, JDK {}", jdk.feature);
        }
    }
}
