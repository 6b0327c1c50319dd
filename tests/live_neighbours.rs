//! Other agents beside ours.

use crate::common::{FILTER, few_versions, program, traced, traced_before};
use jtrail_testkit::Jdk;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Java agent that transforms classes too: it appends a constant to the pool's end of every harness class by
/// going through the class file's bytes, retransforms one that is already loaded, and calls a class of the
/// program in its `premain`, before the JVM tells other agents that it is ready.
const JAVA_AGENT: &str = r#"
import java.lang.instrument.*;
import java.security.ProtectionDomain;

public class Neighbour {
    static int seen;

    public static void premain(String args, Instrumentation instrumentation) throws Exception {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> redefined,
                                    ProtectionDomain domain, byte[] bytes) {
                if (name == null || !name.startsWith("harness/")) return null;
                seen++;
                return withOneMoreConstant(bytes);
            }
        }, true);
        Early.call();
        instrumentation.retransformClasses(Early.class);
        Early.call();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("neighbour saw some: " + (seen > 0))));
    }

    static byte[] withOneMoreConstant(byte[] in) {
        int count = (in[8] & 255) << 8 | in[9] & 255;
        int at = 10;
        for (int i = 1; i < count; i++) {
            switch (in[at]) {
                case 1: at += 3 + ((in[at + 1] & 255) << 8 | in[at + 2] & 255); break;
                case 5: case 6: at += 9; i++; break;
                case 7: case 8: case 16: case 19: case 20: at += 3; break;
                case 15: at += 4; break;
                default: at += 5;
            }
        }
        byte[] out = new byte[in.length + 5];
        System.arraycopy(in, 0, out, 0, at);
        out[at] = 3; // an int constant, 0
        System.arraycopy(in, at, out, at + 5, in.length - at);
        out[8] = (byte) ((count + 1) >> 8);
        out[9] = (byte) (count + 1);
        return out;
    }
}

class Early {
    static void call() { }
}
"#;

pub(crate) fn java_agent(folder: &Path) -> PathBuf {
    compiled_agent(folder, "Neighbour", JAVA_AGENT)
}

/// The jar of a Java agent that may retransform and redefine classes, made in `folder`.
pub(crate) fn compiled_agent(folder: &Path, class: &str, source_text: &str) -> PathBuf {
    let home = Jdk::all()
        .into_iter()
        .rev()
        .find(|j| j.javac.is_some())
        .expect("a JDK with a compiler");
    let source = folder.join(format!("{class}.java"));
    fs::write(&source, source_text).expect("written");
    let manifest = folder.join("manifest");
    fs::write(
        &manifest,
        format!(
            "Premain-Class: {class}\nCan-Retransform-Classes: true\nCan-Redefine-Classes: true\n"
        ),
    )
    .expect("written");
    let classes = folder.join("classes");
    let run = |command: &mut Command| {
        let output = command.output().expect("it starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let javac = home.javac.as_ref().expect("chosen for it");
    run(Command::new(javac)
        .args(["--release", "11", "-d"])
        .arg(&classes)
        .arg(&source));
    let jar = folder.join("agent.jar");
    run(Command::new(javac.with_file_name("jar"))
        .arg("cfm")
        .arg(&jar)
        .arg(&manifest)
        .arg("-C")
        .arg(&classes)
        .arg("."));
    jar
}

#[test]
fn a_java_agent_that_transforms_classes_too() {
    let folder = jtrail_testkit::temp_dir();
    let jar = java_agent(folder.path());
    for jdk in Jdk::require(&few_versions()) {
        let other = format!("-javaagent:{}", jar.display());
        let options = format!("format=binary,{FILTER}");
        for first in [true, false] {
            let run = program(&jdk, "harness.Constructors");
            let run = match first {
                true => traced(run.jvm_arg(&other), &options),
                false => traced_before(run, &options, &[&other]),
            };
            run.output.assert_exit(0);
            run.trace.assert_sound(&run.output);
            let counts = run.output.counts();
            counts.assert_matches(&run.trace.calls, &run.trace.uncovered, &["harness."], &[]);
            assert!(
                run.output.stdout.contains("neighbour saw some: true"),
                "{}",
                run.output
            );
            // In the first case called before the JVM told us that it is ready, and traced all the same.
            assert_eq!(
                run.trace.calls.get("Early.call()V"),
                Some(&2),
                "JDK {}",
                jdk.feature
            );
        }
    }
}
