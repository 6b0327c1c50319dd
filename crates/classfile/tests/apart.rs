//! Tests of the separate pool entry for `Throwable` that handlers refer to.

use crate::support::asm::{ClassAsm, CodeAsm, PUBLIC, STATIC, Vt, op};
use crate::support::{Jdk, Program, run};
use jtrail_classfile::Class;
use std::fs;

const THROWABLE: &str = "java/lang/Throwable";

/// Returns a class whose method `test` computes 10 / 2 + 10 / 0. A handler catches `caught` (empty:
/// everything), calls `getMessage` of the class `called`, and returns -1.
fn divides(name: &str, caught: &str, called: &str, fill: bool) -> Vec<u8> {
    let mut class = ClassAsm::new(51, name, "java/lang/Object");
    let message = class.method_ref(called, "getMessage", "()Ljava/lang/String;");
    let catch = match caught {
        "" => 0,
        caught => class.class(caught),
    };
    let throwable = class.class(if caught.is_empty() { THROWABLE } else { caught });
    let mut code = CodeAsm::new(2, 1);
    let [start, handler] = [0; 2].map(|_| code.label());
    code.place(start)
        .op(&[op::BIPUSH, 10, op::ILOAD_0, 108, op::IRETURN]);
    code.frame(handler, &[Vt::Int], &[Vt::Object(throwable)])
        .op2(182, message)
        .op(&[op::POP, 2, op::IRETURN]);
    code.catch(start, handler, handler, catch);
    class.method(STATIC, "f", "(I)I", Some(code));
    let f = class.method_ref(name, "f", "(I)I");
    let mut test = CodeAsm::new(2, 0);
    test.op(&[op::ICONST_2]).op2(op::INVOKESTATIC, f);
    test.op(&[op::ICONST_0]).op2(op::INVOKESTATIC, f);
    test.op(&[op::IADD, op::IRETURN]);
    class.method(PUBLIC | STATIC, "test", "()I", Some(test));
    let mut value = 1_000_000;
    while fill && class.pool_count() < 65_535 {
        class.int(value);
        value += 1;
    }
    class.finish()
}

/// Returns the output of `javap`. In code, it shows entries of the pool by number, but classes to
/// catch by name.
fn javap(jdk: &Jdk, bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Shown.class");
    fs::write(&file, bytes).unwrap();
    let all = run(jdk.tool("javap").args(["-c", "-p"]).arg(file));
    all.lines()
        .filter(|line| !line.starts_with("Warning"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn nothing_else_changes() {
    let shared = divides("Shared", THROWABLE, THROWABLE, false);
    let apart = Class::parse(&shared).unwrap().with_separate_throwable();
    let apart = apart.expect("called for");
    assert_eq!(apart.len(), shared.len() + 3);
    let class = Class::parse(&apart).unwrap();
    assert_eq!(class.with_separate_throwable(), None);
    let newest = Jdk::newest();
    let shown = javap(&newest, &apart);
    assert!(shown.contains("Class java/lang/Throwable"), "{shown}");
    assert_eq!(shown, javap(&newest, &shared));
    for jdk in Jdk::all() {
        let mut program = Program::new(&jdk, 0);
        program.add(&apart);
        let lines = program.call(&jdk, &["Shared.test"]);
        assert_eq!(lines, ["Shared.test = 4 | >test >f <f >f ^f <f <test"]);
    }
}

#[test]
fn only_where_it_is_called_for() {
    let cases = [
        divides("All", "", THROWABLE, false),
        divides("Other", "java/lang/Exception", "java/lang/Exception", false),
        divides("Never", THROWABLE, "java/lang/Exception", false),
        divides("Full", THROWABLE, THROWABLE, true),
    ];
    for case in &cases {
        let class = Class::parse(case).unwrap();
        assert_eq!(class.with_separate_throwable(), None, "{}", class.name());
    }
}
