//! Methods that hooks and probes would make larger than 8,000 bytes. The JVM would never compile
//! them. So they stay unchanged, or get only the hooks of their calls. The trace and a line on
//! standard error report this.

use crate::support::{Traced, VERSIONS, compile, traced};
use jtrail_model::Note;
use jtrail_testkit::{Jdk, Output, Run, temp_dir};
use std::collections::BTreeMap;
use std::path::Path;

const REASON: &str = "with hooks it would be over 8000 bytes, and the JVM compiles no such method";

/// Compiles the programs. `Returns.step` and `Loop.step` are smaller than 8,000 bytes, but larger
/// with hooks: the first has many returns, the second is nearly that large already. `Lines.step`
/// and the static initializer of `Start` become larger only with probes for their lines.
fn programs(folder: &Path) {
    let cases = |count: usize, case: &dyn Fn(usize) -> String| -> String {
        (0..count)
            .map(|i| format!("case {i}: {}\n", case(i)))
            .collect()
    };
    let returns = cases(520, &|i| format!("return x * 31 + {};", 1000 + i));
    let breaks = cases(497, &|i| format!("x = x * 31 + {}; break;", 1000 + i));
    let lines = cases(250, &|i| {
        format!("x = x * 31 + {};\nx ^= x >> 3;\nbreak;", 1000 + i)
    });
    for (class, count, step) in [
        (
            "Returns",
            520,
            format!("switch (k) {{ {returns} default: return x; }}"),
        ),
        (
            "Loop",
            497,
            format!(
                "for (int r = 0; r < 8; r++) switch ((k + r) % 497) {{ {breaks} default: x++; }} return x;"
            ),
        ),
        (
            "Lines",
            250,
            format!("switch (k) {{ {lines} default: return x; }} return x;"),
        ),
    ] {
        let text = format!(
            "public class {class} {{
                static int step(int k, int x) {{ {step} }}
                static int once(int i, int x) {{ return step((x & 0x7fffffff) % {count}, x + i); }}
                public static void main(String[] args) {{
                    int x = 1;
                    for (int i = 0; i < 20000; i++) x = once(i, x);
                    System.out.println(\"x = \" + x);
                }}
            }}"
        );
        compile::compile(class, &text, folder);
    }
    let fields: String = (0..600)
        .map(|i| format!("static int f{i} = Integer.parseInt(\"{i}\");\n"))
        .collect();
    let text = format!(
        "public class Start {{ {fields} public static void main(String[] args) {{ System.out.println(\"x = \" + f599); }} }}"
    );
    compile::compile("Start", &text, folder);
}

fn run(jdk: &Jdk, class: &str, folder: &Path, flags: &[&str]) -> Run {
    // `-Xbatch` makes the program wait for the compiler. So even in a short program, everything is
    // compiled that can be.
    let run = Run::new(jdk, class)
        .class_path(folder)
        .jvm_arg("-Xbatch")
        .jvm_arg("-XX:+PrintCompilation");
    flags.iter().fold(run, |run, flag| run.jvm_arg(*flag))
}

fn is_compiled(output: &Output, class: &str) -> bool {
    let method = format!(" {class}::step ");
    output.stdout.lines().any(|line| line.contains(&method))
}

fn result(output: &Output) -> Option<&str> {
    output.stdout.lines().find(|line| line.starts_with("x = "))
}

/// Returns the methods that are reported as not traced in full, with the reasons.
fn named(traced: &Traced) -> BTreeMap<String, String> {
    let notes = traced.trace.notes.iter();
    notes
        .filter_map(|note| match note {
            Note::Uninstrumented(u) => Some((
                format!("{}.{}", u.class, u.method),
                u.reason.clone().into_owned(),
            )),
            _ => None,
        })
        .collect()
}

fn reported(output: &Output) -> Vec<&str> {
    let lines = output.stderr.lines();
    lines.filter(|line| line.starts_with("jtrail: ")).collect()
}

#[test]
fn what_the_jvm_would_not_compile_has_no_hooks() {
    let folder = temp_dir();
    programs(folder.path());
    for jdk in Jdk::require(&VERSIONS) {
        for class in ["Returns", "Loop"] {
            let context = format!("{class}, JDK {}", jdk.feature);
            let bare = run(&jdk, class, folder.path(), &[]).output();
            assert!(is_compiled(&bare, class), "{context}: {bare}");
            let step = format!("{class}.step(II)I");
            let options = format!("format=binary,include={class}");
            for options in [options.clone(), format!("{options},events=+lines")] {
                let hooked = traced(run(&jdk, class, folder.path(), &[]), &options);
                hooked.output.assert_exit(0);
                hooked.trace.assert_sound(&hooked.output);
                assert!(
                    is_compiled(&hooked.output, class),
                    "{context}: {}",
                    hooked.output
                );
                assert_eq!(result(&hooked.output), result(&bare), "{context}");
                assert_eq!(named(&hooked)[&step], REASON, "{context}");
                assert!(!hooked.trace.calls.contains_key(&step), "{context}");
                let once = &hooked.trace.calls[&format!("{class}.once(II)I")];
                assert_eq!(*once, 20_000, "{context}");
                let line = format!(
                    "jtrail: {step} has no hooks: {REASON}; the trace names all such methods, -XX:-DontCompileHugeMethods has them traced"
                );
                assert_eq!(reported(&hooked.output), [line], "{context}");
            }
            // If the JVM has no limit on sizes, or compiles nothing, everything is traced.
            for flag in ["-XX:-DontCompileHugeMethods", "-Xint"] {
                let all = traced(run(&jdk, class, folder.path(), &[flag]), &options);
                all.trace.assert_sound(&all.output);
                assert_eq!(all.trace.calls[&step], 20_000, "{context}, {flag}");
                assert_eq!(
                    is_compiled(&all.output, class),
                    flag != "-Xint",
                    "{context}, {flag}"
                );
                assert!(named(&all).is_empty(), "{context}, {flag}");
                assert!(reported(&all.output).is_empty(), "{context}, {flag}");
            }
        }
    }
}

#[test]
fn calls_are_traced_where_lines_are_too_many() {
    let folder = temp_dir();
    programs(folder.path());
    for jdk in Jdk::require(&VERSIONS) {
        let context = format!("JDK {}", jdk.feature);
        let options = "format=binary,include=Lines,events=+lines";
        let hooked = traced(run(&jdk, "Lines", folder.path(), &[]), options);
        hooked.output.assert_exit(0);
        hooked.trace.assert_sound(&hooked.output);
        assert!(
            is_compiled(&hooked.output, "Lines"),
            "{context}: {}",
            hooked.output
        );
        assert_eq!(hooked.trace.calls["Lines.step(II)I"], 20_000, "{context}");
        let reason = format!("its lines are not counted: {REASON}");
        assert_eq!(named(&hooked)["Lines.step(II)I"], reason, "{context}");
        let line = format!(
            "jtrail: Lines.step(II)I has hooks for its calls alone: {REASON}; the trace names all such methods, -XX:-DontCompileHugeMethods has them traced"
        );
        assert_eq!(reported(&hooked.output), [line], "{context}");
        // A static initializer runs once and is never compiled, so it gets all of its probes.
        let options = "format=binary,include=Start,events=+lines";
        let start = traced(run(&jdk, "Start", folder.path(), &[]), options);
        start.trace.assert_sound(&start.output);
        assert_eq!(start.trace.calls["Start.<clinit>()V"], 1, "{context}");
        assert!(named(&start).is_empty(), "{context}");
        assert!(reported(&start.output).is_empty(), "{context}");
    }
}
