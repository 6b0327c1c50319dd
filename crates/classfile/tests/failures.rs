//! Line and allocation hooks that fail, as by a stack overflow: wherever one fails, no monitor
//! stays locked, and no endless loop follows.

use std::fs;
use std::path::Path;

use crate::support::asm::{ClassAsm, CodeAsm, STATIC, op};
use crate::support::{Jdk, class_files, java_sources, run};
use jtrail_classfile::{Class, Hooks, LineProbe, NoProbe, Probes, instrument};

const FAILING: Hooks<'static> = Hooks {
    class: "Failing",
    ..Hooks::JTRAIL
};

/// Rewrites a class, with lines and allocations numbered from `next` on, and writes it to `dir`.
/// Returns the outcome of each line, by method.
fn add(dir: &Path, bytes: &[u8], calls: bool, next: &mut u32) -> Vec<Vec<LineProbe>> {
    let class = Class::parse(bytes).unwrap();
    let rewritten = instrument(&class, &FAILING, |index, method| {
        let lines = *next;
        let allocations = lines + method.line_entries().len() as u32;
        *next = allocations + class.allocation_sites(method).len() as u32;
        Probes {
            calls: calls.then_some(index as u32),
            lines: Some(lines),
            allocations: Some(allocations),
            ..Probes::NONE
        }
    });
    let rewritten = rewritten.unwrap();
    let file = dir.join(&*class.name()).with_extension("class");
    fs::write(file, rewritten.bytes).unwrap();
    let lines = |(_, outcome): (usize, Result<jtrail_classfile::Inserted, _>)| {
        let inserted = outcome.unwrap();
        assert_eq!(inserted.reduced, None);
        inserted.lines
    };
    rewritten.outcomes.into_iter().map(lines).collect()
}

/// Runs all methods of the classes with failing hooks, as `Failing.java` describes. Returns the
/// number of runs in which a hook failed.
fn fail(jdk: &Jdk, dir: &Path, last: u32, classes: &[&str]) -> u32 {
    jdk.compile(&java_sources().join("Failing.java"), dir, &[]);
    let mut failed = Vec::new();
    for options in [&["-Xint"][..], &["-Xcomp", "-XX:+PrintCompilation"]] {
        let mut java = jdk.tool("java");
        java.args(["-Xverify:all", "-cp"]).arg(dir).args(options);
        for class in classes {
            java.arg(format!("-XX:CompileCommand=compileonly,{class}::*"));
        }
        let out = run(java.arg("Failing").arg(last.to_string()).args(classes));
        // A JIT compiler that finds unbalanced monitors gives up on the method.
        let is_ours = |line: &&str| {
            classes
                .iter()
                .any(|class| line.contains(&format!(" {class}::")))
        };
        for line in out.lines().filter(is_ours) {
            assert!(
                !line.contains("COMPILE SKIPPED"),
                "JDK {}: {line}",
                jdk.version
            );
        }
        // All other lines report compilations.
        let ours: Vec<&str> = out
            .lines()
            .filter(|line| line.starts_with("failed") || line.contains("Object)"))
            .collect();
        let count = ours.join("\n");
        let count = count.strip_prefix("failed ");
        let count = count.unwrap_or_else(|| panic!("JDK {}: {out}", jdk.version));
        failed.push(count.parse().unwrap());
    }
    assert_eq!(failed[0], failed[1]);
    failed[0]
}

#[test]
fn compiled_sources() {
    for jdk in Jdk::all() {
        for calls in [true, false] {
            let (classes, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            jdk.compile(&java_sources().join("Faults.java"), classes.path(), &[]);
            let mut next = 0;
            let mut left_out = 0;
            for file in class_files(classes.path()) {
                for line in add(dir.path(), &fs::read(file).unwrap(), calls, &mut next)
                    .into_iter()
                    .flatten()
                {
                    left_out += u32::from(matches!(line, LineProbe::NoProbe(_)));
                }
            }
            let failed = fail(&jdk, dir.path(), next, &["Faults"]);
            assert!(failed > 150, "{failed}");
            // Lines in the handlers of the `synchronized` blocks.
            assert!((1..15).contains(&left_out), "{left_out}");
        }
    }
}

/// The differences between the hand-assembled methods with a `synchronized` block.
#[derive(Clone, Copy)]
struct Block {
    name: &'static str,
    /// True if the range of the block includes the `monitorexit`; otherwise the range ends before
    /// it.
    with_exit: bool,
    /// True if the handler covers itself.
    covers_itself: bool,
    /// The lines among 1 to 5 that get no probe.
    left_out: &'static [usize],
}

const BLOCKS: [Block; 3] = [
    // Like javac.
    Block {
        name: "covered",
        with_exit: true,
        covers_itself: true,
        left_out: &[1, 4],
    },
    // The handler is in no range.
    Block {
        name: "bare",
        with_exit: true,
        covers_itself: false,
        left_out: &[1, 4],
    },
    // Neither the handler nor the `monitorexit` is in a range.
    Block {
        name: "gap",
        with_exit: false,
        covers_itself: false,
        left_out: &[1, 3, 4],
    },
];

fn line_table(pcs: &[usize]) -> Vec<u8> {
    let mut table = (pcs.len() as u16).to_be_bytes().to_vec();
    for (line, pc) in (1u16..).zip(pcs) {
        table.extend((*pc as u16).to_be_bytes());
        table.extend(line.to_be_bytes());
    }
    table
}

#[test]
fn synchronized_blocks_of_other_compilers() {
    let mut class = ClassAsm::new(49, "Blocks", "java/lang/Object");
    let work = class.method_ref("Blocks", "work", "()V");
    let mut code = CodeAsm::new(0, 0);
    code.op(&[op::RETURN]);
    class.method(STATIC, "work", "()V", Some(code));
    for block in BLOCKS {
        let mut code = CodeAsm::new(1, 2);
        let mut lines = vec![code.bytes.len()];
        code.op(&[op::ALOAD_0, op::MONITORENTER]);
        // Not covered, because it can't throw: a `nop`, as Kotlin generates it.
        lines.push(code.bytes.len());
        code.op(&[op::NOP]);
        let start = code.here();
        lines.push(code.bytes.len());
        code.op2(op::INVOKESTATIC, work);
        lines.push(code.bytes.len());
        let exit = code.here();
        code.op(&[op::ALOAD_0, op::MONITOREXIT]);
        let end = code.here();
        code.op(&[op::RETURN]);
        lines.push(code.bytes.len());
        let handler = code.here();
        code.op(&[op::ASTORE_1, op::ALOAD_0, op::MONITOREXIT]);
        let handler_end = code.here();
        lines.push(code.bytes.len());
        code.op(&[op::ALOAD_1, op::ATHROW]);
        code.catch(start, if block.with_exit { end } else { exit }, handler, 0);
        if block.covers_itself {
            code.catch(handler, handler_end, handler, 0);
        }
        code.attributes
            .push(("LineNumberTable".into(), line_table(&lines)));
        class.method(STATIC, block.name, "(Ljava/lang/Object;)V", Some(code));
    }
    let class = class.finish();
    for jdk in Jdk::all() {
        let dir = tempfile::tempdir().unwrap();
        let mut next = 0;
        let outcomes = add(dir.path(), &class, true, &mut next);
        for (block, lines) in BLOCKS.iter().zip(&outcomes[1..]) {
            for (at, line) in lines.iter().enumerate() {
                let left_out = *line == LineProbe::NoProbe(NoProbe::Monitor);
                assert_eq!(
                    left_out,
                    block.left_out.contains(&at),
                    "{} {at}",
                    block.name
                );
            }
        }
        assert!(fail(&jdk, dir.path(), next, &["Blocks"]) > 5);
    }
}

/// Handlers that cover themselves: if the range begins at the handler, the probe is placed before
/// the range; if the range begins earlier, it is omitted.
#[test]
fn handlers_that_cover_themselves() {
    let mut class = ClassAsm::new(49, "Circles", "java/lang/Object");
    let thrown = class.method_ref("Circles", "thrown", "()V");
    let mut code = CodeAsm::new(1, 0);
    code.op(&[op::ACONST_NULL, op::ATHROW]);
    class.method(STATIC, "thrown", "()V", Some(code));
    for name in ["own", "merged"] {
        let mut code = CodeAsm::new(1, 2);
        let start = code.here();
        code.op2(op::INVOKESTATIC, thrown);
        let before = code.here();
        code.op(&[op::RETURN]);
        let handler = code.here();
        let pc = code.bytes.len();
        code.op(&[op::ASTORE_1]);
        let end = code.here();
        code.op(&[op::RETURN]);
        code.catch(start, before, handler, 0);
        code.catch(
            if name == "own" { handler } else { before },
            end,
            handler,
            0,
        );
        code.attributes
            .push(("LineNumberTable".into(), line_table(&[0, pc, pc])));
        class.method(STATIC, name, "(Ljava/lang/Object;)V", Some(code));
    }
    let class = class.finish();
    for jdk in Jdk::all() {
        let dir = tempfile::tempdir().unwrap();
        let mut next = 0;
        let outcomes = add(dir.path(), &class, false, &mut next);
        // `thrown` has a line, too.
        let own = [LineProbe::Own(1), LineProbe::Own(2), LineProbe::Shared(2)];
        assert_eq!(outcomes[1], own);
        let circle = LineProbe::NoProbe(NoProbe::Circle);
        assert_eq!(outcomes[2], [LineProbe::Own(4), circle, circle]);
        assert!(fail(&jdk, dir.path(), next, &["Circles"]) >= 3);
    }
}
