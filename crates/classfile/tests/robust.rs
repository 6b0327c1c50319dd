//! Hostile bytes cause no panic and no hang. Their result is a valid class file, or an error.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::support::asm::{ClassAsm, CodeAsm, STATIC, op};
use crate::support::{Jdk, RECORDER, class_files, java_sources};
use jtrail_classfile::{Class, Method, Probes, Refusal, instrument};
use rustix::time::{ClockId, clock_gettime};

/// A limit far above the time of any of these tests, and far below a hang. It is CPU time of the
/// thread, so other load on the machine does not count.
const MOMENT: Duration = Duration::from_secs(20);

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).expect("no time is below zero")
}

/// Parses and rewrites a class. The result must parse and have the same methods.
fn exercise(bytes: &[u8]) {
    let Ok(class) = Class::parse(bytes) else {
        return;
    };
    let _ = (class.name(), class.super_name(), class.source_file());
    for method in class.methods() {
        let _ = (
            class.allocation_sites(method),
            method.line_entries().count(),
            method.name(),
            method.descriptor(),
            method.lines(),
            method.has_annotation("LX;"),
        );
    }
    // All probes together, and each kind alone.
    for kinds in [0b111, 0b001, 0b010, 0b100] {
        let first = |index: usize, kind: u32| (kinds >> kind & 1 == 1).then(|| index as u32 * 77);
        let probes = |index, _: &Method<'_>| Probes {
            calls: first(index, 0),
            lines: first(index, 1),
            allocations: first(index, 2),
            ..Probes::NONE
        };
        let Ok(rewritten) = instrument(&class, &RECORDER, probes) else {
            return;
        };
        let again = Class::parse(&rewritten.bytes).expect("the result does not parse");
        assert_eq!(again.methods().len(), class.methods().len());
        let refused = |(_, outcome): &(usize, Result<_, _>)| outcome.is_err();
        if rewritten.outcomes.iter().all(refused) {
            assert!(rewritten.bytes == bytes);
        }
    }
}

fn exercise_variant(name: &str, variant: &str, at: usize, bytes: &[u8]) {
    let start = cpu_time();
    let outcome = catch_unwind(AssertUnwindSafe(|| exercise(bytes)));
    assert!(outcome.is_ok(), "{name}: {variant} at {at}");
    assert!(
        cpu_time() - start < MOMENT,
        "{name}: {variant} at {at} takes too long"
    );
}

/// Returns the classes of the behaviour tests, and one with jumps of every kind.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let jdk = Jdk::newest();
    let dir = tempfile::tempdir().unwrap();
    for source in [
        "Samples.java",
        "Constructors.java",
        "Flexible.java",
        "Annotated.java",
    ] {
        let path = dir.path().display().to_string();
        let sources = java_sources().display().to_string();
        jdk.compile(
            &java_sources().join(source),
            dir.path(),
            &["-g", "-cp", &path, "-sourcepath", &sources],
        );
    }
    let mut corpus = Vec::new();
    for file in class_files(dir.path()) {
        corpus.push((
            file.file_name().unwrap().to_string_lossy().into_owned(),
            fs::read(file).unwrap(),
        ));
    }
    corpus.push(("far".into(), far_jumps()));
    corpus
}

/// Returns a class with a method that has islands, an `invokespecial`, a subroutine, both switches
/// and a handler.
fn far_jumps() -> Vec<u8> {
    let mut class = ClassAsm::new(49, "Far", "java/lang/Object");
    let init = class.method_ref("java/lang/Object", "<init>", "()V");
    let mut code = CodeAsm::new(3, 3);
    let [end, sub, start] = [0; 3].map(|_| code.label());
    code.place(start)
        .op(&[op::ALOAD_0])
        .op2(op::INVOKESPECIAL, init);
    code.op(&[op::ICONST_0])
        .jump(op::IFEQ, end)
        .jump(op::JSR, sub)
        .op(&[op::ICONST_1]);
    code.tableswitch(1, &[end], sub)
        .op(&[op::RETURN])
        .nops(32_700)
        .op(&[op::RETURN]);
    code.place(sub).op(&[op::ASTORE_1, op::RET, 1]);
    code.place(end)
        .op(&[op::ICONST_0])
        .lookupswitch(&[(4, end)], end);
    code.catch(start, sub, end, 0);
    class.method(0, "<init>", "()V", Some(code));
    class.finish()
}

#[test]
fn truncated() {
    for (name, bytes) in corpus() {
        let step = if bytes.len() > 20_000 { 61 } else { 1 };
        for len in (0..bytes.len()).step_by(step) {
            assert!(
                Class::parse(&bytes[..len]).is_err(),
                "{name}: cut off at {len}"
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Class::parse(&longer).is_err(), "{name}");
    }
}

#[test]
fn flipped_bytes() {
    for (name, bytes) in corpus() {
        let mut changed = bytes.clone();
        // Skips the middle of the large class, which is a long run of `nop`s.
        let places = (0..bytes.len())
            .filter(|&at| bytes.len() < 20_000 || at < 300 || at + 300 > bytes.len());
        for at in places {
            for (variant, value) in [
                ("inverted", !bytes[at]),
                ("lowest bit", bytes[at] ^ 1),
                ("highest bit", bytes[at] ^ 0x80),
                ("one more", bytes[at].wrapping_add(1)),
                ("zero", 0),
            ] {
                changed[at] = value;
                exercise_variant(&name, variant, at, &changed);
            }
            changed[at] = bytes[at];
        }
    }
}

/// Changes several bytes at once, with a deterministic generator.
#[test]
fn scrambled_bytes() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for (name, bytes) in corpus().iter().filter(|(_, bytes)| bytes.len() < 20_000) {
        for round in 0..2000 {
            let mut changed = bytes.clone();
            for _ in 0..=next(6) {
                let at = next(bytes.len());
                // Small and large values are most likely to matter.
                changed[at] = [
                    0,
                    1,
                    2,
                    255,
                    127,
                    128,
                    next(256) as u8,
                    bytes[next(bytes.len())],
                ][next(8)];
            }
            exercise_variant(name, "scrambled", round, &changed);
        }
    }
}

/// Exception tables and stacks of maximum size must not take long.
#[test]
fn methods_made_to_waste_time() {
    let start = cpu_time();
    // A constructor in which 65,000 ranges cover every instruction.
    let mut class = ClassAsm::new(49, "Slow", "java/lang/Exception");
    let mut code = CodeAsm::new(2, 1);
    let [begin, end, handler] = [0; 3].map(|_| code.label());
    code.place(begin)
        .nops(60_000)
        .place(end)
        .op(&[op::RETURN])
        .place(handler)
        .op(&[op::POP, op::RETURN]);
    for _ in 0..65_000 {
        code.catch(begin, end, handler, 0);
    }
    class.method(0, "<init>", "()V", Some(code));
    // A huge number of copies of `this`.
    let mut code = CodeAsm::new(u16::MAX, 1);
    code.op(&[op::ALOAD_0]);
    code.bytes.resize(60_000, op::DUP);
    code.op(&[op::RETURN]);
    class.method(0, "<init>", "(I)V", Some(code));
    // A stack that can't grow.
    let mut code = CodeAsm::new(u16::MAX, 1);
    code.op(&[op::RETURN]);
    class.method(STATIC, "f", "()V", Some(code));
    // As many far conditional jumps as fit.
    let mut code = CodeAsm::new(1, 1);
    let [first, last] = [0; 2].map(|_| code.label());
    code.place(first);
    for _ in 0..4_000 {
        code.op(&[op::ICONST_0]).jump(op::IFEQ, last);
    }
    code.nops(16_000).place(last).nops(16_000);
    for _ in 0..3_900 {
        code.op(&[op::ICONST_0]).jump(op::IFEQ, last);
    }
    code.op(&[op::RETURN]);
    class.method(STATIC, "g", "()V", Some(code));
    // A monitor, many lines, and many ranges.
    let mut code = CodeAsm::new(1, 1);
    let [begin, end, handler] = [0; 3].map(|_| code.label());
    code.op(&[op::ALOAD_0, op::MONITORENTER])
        .place(begin)
        .nops(60_000)
        .place(end)
        .op(&[op::RETURN])
        .place(handler)
        .op(&[op::ATHROW]);
    for n in 0..60_000u16 {
        if n % 2 == 0 {
            code.catch(begin, end, handler, 1);
        }
    }
    let rows = (0..60_000u16).flat_map(|pc| [pc, 1].map(u16::to_be_bytes));
    let table = [
        &60_000u16.to_be_bytes()[..],
        &rows.flatten().collect::<Vec<_>>(),
    ]
    .concat();
    code.attributes.push(("LineNumberTable".into(), table));
    class.method(STATIC, "h", "(Ljava/lang/Object;)V", Some(code));
    let class = class.finish();
    let class = Class::parse(&class).unwrap();
    let all = instrument(&class, &RECORDER, |_, _| Probes {
        calls: Some(1),
        lines: Some(1 << 20),
        allocations: Some(1),
        ..Probes::NONE
    });
    let all = all.unwrap().outcomes;
    assert_eq!(all[0].1, Err(Refusal::TooComplex));
    let outcomes = instrument(&class, &RECORDER, |_, _| Probes::calls(Some(1)))
        .unwrap()
        .outcomes;
    assert_eq!(outcomes[0].1, Err(Refusal::TooComplex));
    assert!(outcomes[1].1.is_err());
    assert_eq!(outcomes[2].1, Err(Refusal::TableFull("stack slot")));
    let taken = cpu_time() - start;
    assert!(taken < MOMENT, "{taken:?}");
}
