//! Tests of the events that hooks report: programs with known calls, run in each installed JDK. The
//! `.expected` files beside the Java sources list the result and the events of each program, as
//! derived from the source: `>` enter, `<` leave, `!` leave by exception, `^` caught, `(` directly
//! before `super()`, `)` directly after it.

use std::fs;

use crate::support::{Jdk, Kinds, Program, java_sources};

/// Runs what the file `name`.expected lists, and compares the results. A line may begin with the
/// JDK versions that it applies to: `-24 ` up to 24, `25- ` from 25 on.
fn check(jdk: &Jdk, program: &Program, name: &str) {
    assert_eq!(program.refused, Vec::<String>::new());
    let expected =
        fs::read_to_string(java_sources().join(name).with_extension("expected")).unwrap();
    let expected: Vec<&str> = expected
        .lines()
        .filter_map(|line| for_version(line, jdk.feature()))
        .collect();
    let methods: Vec<&str> = expected
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    let lines = program.call(jdk, &methods);
    for (line, expected) in lines.iter().zip(&expected) {
        assert_eq!(line, expected, "JDK {}", jdk.version);
    }
    assert_eq!(lines.len(), expected.len());
}

fn for_version(line: &str, feature: u32) -> Option<&str> {
    let (versions, rest) = line.split_once(' ')?;
    let Some((from, to)) = versions.split_once('-') else {
        return Some(line);
    };
    let from = from.parse().unwrap_or(0);
    let to = to.parse().unwrap_or(u32::MAX);
    (from..=to).contains(&feature).then_some(rest)
}

#[test]
fn calls_and_exceptions() {
    for jdk in Jdk::few() {
        // Ids that are pushed with one, two and three bytes, and from the pool.
        for (first_id, kinds) in [
            (0, Kinds::Calls),
            (100, Kinds::All),
            (32_740, Kinds::Calls),
            (1 << 23, Kinds::All),
        ] {
            let mut program = Program::new(&jdk, first_id).with(kinds);
            program.add_source(&jdk, "Samples.java", &["-g"], |_| {});
            check(&jdk, &program, "Samples");
        }
        for (first_id, kinds) in [
            (32_740, Kinds::Calls),
            (300, Kinds::All),
            (1 << 23, Kinds::All),
        ] {
            let mut program = Program::new(&jdk, first_id).with(kinds).computed();
            program.add_source(&jdk, "Samples.java", &["-g"], |_| {});
            check(&jdk, &program, "Samples");
        }
    }
}

#[test]
fn constructors() {
    for jdk in Jdk::few() {
        for kinds in [Kinds::Calls, Kinds::All] {
            for program in [Program::new(&jdk, 3), Program::new(&jdk, 65_000).computed()] {
                let mut program = program.with(kinds);
                program.add_source(&jdk, "Constructors.java", &["-g"], |_| {});
                check(&jdk, &program, "Constructors");
            }
        }
    }
}

#[test]
fn statements_before_super() {
    for jdk in Jdk::all().into_iter().filter(|jdk| jdk.feature() >= 25) {
        for kinds in [Kinds::Calls, Kinds::All] {
            let mut program = Program::new(&jdk, 126).with(kinds);
            program.add_source(&jdk, "Flexible.java", &[], |_| {});
            check(&jdk, &program, "Flexible");
        }
    }
}

/// Classes before version 50 are verified without frames, and compilers of that time wrote none. If
/// such a class has frames, the JVM ignores them, and the rewriter drops them.
#[test]
fn old_versions() {
    for jdk in Jdk::few() {
        for major in 45..=50 {
            let mut program = Program::new(&jdk, 40_000).with(Kinds::All);
            program.add_source(&jdk, "Old.java", &["--release", "8", "-nowarn"], |class| {
                class[6..8].copy_from_slice(&[0, major]);
                class[5] = if major == 45 { 3 } else { 0 };
            });
            check(&jdk, &program, "Old");
        }
    }
}
