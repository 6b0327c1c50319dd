//! Classes that no compiler generates: assembled by hand, rewritten, verified and run in each
//! installed JDK.

use crate::support::asm::{ClassAsm, CodeAsm, Label, PUBLIC, STATIC, Vt, op};
use crate::support::{Jdk, Kinds, Program, RECORDER};
use jtrail_classfile::{
    Class, Hooks, Inserted, LineProbe, Method, NoProbe, Probes, Refusal, instrument,
};

/// Class file versions: without frames, with optional frames, and with mandatory frames (twice).
const VERSIONS: [u16; 4] = [45, 50, 51, 61];

/// A class, its name, and the expected outcome of its method `test`: the result and the events.
struct Case {
    class: Vec<u8>,
    name: String,
    expected: String,
}

impl Case {
    fn new(class: Vec<u8>, name: &str, expected: &str) -> Case {
        Case {
            class,
            name: name.into(),
            expected: expected.into(),
        }
    }
}

/// Runs all cases in every JDK.
fn check(cases: &[Case]) {
    check_with_ids(cases, &[1000]);
}

/// Like [`check`], but runs the cases once for each of `first_ids`, the first id.
fn check_with_ids(cases: &[Case], first_ids: &[u32]) {
    for jdk in Jdk::few() {
        for &first_id in first_ids {
            run_cases(&jdk, cases, first_id, Kinds::Calls);
        }
        run_cases(&jdk, cases, first_ids[0], Kinds::All);
        run_cases(&jdk, cases, first_ids[0], Kinds::NoCalls);
    }
}

fn run_cases(jdk: &Jdk, cases: &[Case], first_id: u32, kinds: Kinds) {
    let mut program = Program::new(jdk, first_id).with(kinds);
    for case in cases {
        program.add(&case.class);
    }
    assert_eq!(program.refused, Vec::<String>::new());
    let methods: Vec<String> = cases
        .iter()
        .map(|case| format!("{}.test", case.name))
        .collect();
    let methods: Vec<&str> = methods.iter().map(|method| &**method).collect();
    let lines = program.call(jdk, &methods);
    for (line, Case { name, expected, .. }) in lines.iter().zip(cases) {
        let mut expected = format!("{name}.test = {expected}");
        if kinds == Kinds::NoCalls {
            expected.truncate(expected.find('|').unwrap() + 2);
        }
        assert_eq!(*line, expected, "JDK {} {kinds:?}", jdk.version);
    }
    assert_eq!(lines.len(), cases.len());
}

/// Adds `public static int test()`, which sums up `f(arg)` for all `arguments`.
fn add_test(class: &mut ClassAsm, name: &str, arguments: &[i8]) {
    let f = class.method_ref(name, "f", "(I)I");
    let mut test = CodeAsm::new(3, 0);
    test.op(&[op::ICONST_0]);
    for &argument in arguments {
        test.op(&[op::BIPUSH, argument as u8])
            .op2(op::INVOKESTATIC, f)
            .op(&[op::IADD]);
    }
    test.op(&[op::IRETURN]);
    class.method(PUBLIC | STATIC, "test", "()I", Some(test));
}

fn build(
    major: u16,
    name: &str,
    arguments: &[i8],
    f: impl FnOnce(&mut ClassAsm) -> CodeAsm,
) -> Vec<u8> {
    let mut class = ClassAsm::new(major, name, "java/lang/Object");
    let code = f(&mut class);
    class.method(STATIC, "f", "(I)I", Some(code));
    add_test(&mut class, name, arguments);
    class.finish()
}

/// Appends `if (n < 0) return 1`, so that the code contains a leave probe.
fn return_if_negative(code: &mut CodeAsm) {
    let next = code.label();
    code.op(&[op::ILOAD_0])
        .jump(op::IFGE, next)
        .op(&[op::ICONST_1, op::IRETURN]);
    code.frame(next, &[Vt::Int], &[]);
}

#[test]
fn far_forward_conditional_jump() {
    let cases = VERSIONS.map(|major| {
        let name = format!("Forward{major}");
        // f(0) = 2 by the far jump, f(-1) = 1, f(1) = 0; the sum is 2 + 1 + 0 + 2.
        let class = build(major, &name, &[0, -1, 1, 0], |_| {
            let mut code = CodeAsm::new(1, 1);
            let end = code.label();
            code.op(&[op::ILOAD_0]).jump(op::IFEQ, end);
            return_if_negative(&mut code);
            code.nops(32_740).op(&[op::ICONST_0, op::IRETURN]);
            code.frame(end, &[Vt::Int], &[])
                .op(&[op::ICONST_2, op::IRETURN]);
            code
        });
        Case::new(class, &name, "5 | >test >f <f >f <f >f <f >f <f <test")
    });
    check(&cases);
}

/// A loop to the very beginning of the method, and a far conditional jump forward: the island at
/// the beginning, the enter probe and the first instruction's frame must not conflict.
#[test]
fn island_in_front_of_a_loop() {
    let cases = VERSIONS.map(|major| {
        let name = format!("Loop{major}");
        let class = build(major, &name, &[3, 0], |_| {
            let mut code = CodeAsm::new(1, 1);
            let [start, end] = [0; 2].map(|_| code.label());
            code.frame(start, &[Vt::Int], &[])
                .op(&[op::ILOAD_0])
                .jump(op::IFEQ, end);
            return_if_negative(&mut code);
            code.op(&[op::IINC, 0, 0xff])
                .nops(32_740)
                .jump(op::GOTO_W, start);
            code.frame(end, &[Vt::Int], &[])
                .op(&[op::ICONST_2, op::IRETURN]);
            code
        });
        Case::new(class, &name, "4 | >test >f <f >f <f <test")
    });
    check(&cases);
}

/// A loop over the whole method. Its jump back to pc 0, where a frame is, becomes too long for a
/// 16-bit offset.
#[test]
fn far_backward_jumps_to_the_beginning() {
    let mut cases = Vec::new();
    for major in VERSIONS {
        for unconditional in [false, true] {
            let name = format!("Backward{major}{unconditional}");
            let class = build(major, &name, &[3], |_| {
                let mut code = CodeAsm::new(1, 1);
                let start = code.label();
                code.frame(start, &[Vt::Int], &[]).op(&[op::IINC, 0, 0xff]);
                return_if_negative(&mut code);
                code.nops(32_720).op(&[op::ILOAD_0]);
                if unconditional {
                    let out = code.label();
                    code.jump(op::IFEQ, out)
                        .jump(op::GOTO, start)
                        .frame(out, &[Vt::Int], &[]);
                } else {
                    code.jump(op::IFGT, start);
                }
                code.op(&[op::ICONST_2, op::IRETURN]);
                code
            });
            cases.push(Case::new(class, &name, "2 | >test >f <f <test"));
        }
    }
    check(&cases);
}

/// Far jumps out of both halves of a method of nearly 64 KiB, with a value on the stack: islands
/// are at its beginning and end.
#[test]
fn islands_on_both_ends() {
    let mut cases = Vec::new();
    for major in VERSIONS {
        let name = format!("Islands{major}");
        let class = build(major, &name, &[0, 1, 2], |_| {
            let mut code = CodeAsm::new(3, 1);
            let [far, back, over] = [0; 3].map(|_| code.label());
            code.op(&[op::ICONST_1, op::ILOAD_0])
                .jump(op::IFEQ, far)
                .op(&[op::POP]);
            code.nops(32_250).op(&[op::ICONST_0]).jump(op::GOTO, over);
            let back_pc = code.bytes.len();
            code.frame(back, &[Vt::Int], &[Vt::Int])
                .op(&[op::ICONST_2, op::IADD, op::IRETURN]);
            code.frame(over, &[Vt::Int], &[Vt::Int]).op(&[op::POP]);
            return_if_negative(&mut code);
            code.nops(2 + 32_767 - 1 - code.bytes.len())
                .op(&[op::ICONST_0]);
            code.frame(far, &[Vt::Int], &[Vt::Int]);
            code.nops(back_pc + 32_768 - 1 - code.bytes.len())
                .op(&[op::ILOAD_0])
                .jump(op::IFNE, back);
            code.op(&[op::IRETURN]);
            code
        });
        // f(0) = 1, f(1) = f(2) = 2.
        cases.push(Case::new(class, &name, "5 | >test >f <f >f <f >f <f <test"));
    }
    check(&cases);
}

/// A far conditional jump with an uninitialised object on the stack.
#[test]
fn island_with_an_uninitialized_object() {
    let class = build(61, "Carried", &[0, 1], |class| {
        let object = class.class("java/lang/Integer");
        let init = class.method_ref("java/lang/Integer", "<init>", "(I)V");
        let value = class.method_ref("java/lang/Integer", "intValue", "()I");
        let mut code = CodeAsm::new(4, 1);
        let far = code.label();
        let new = code.here();
        code.op2(op::NEW, object)
            .op(&[op::DUP, op::ICONST_1, op::ILOAD_0])
            .jump(op::IFEQ, far);
        return_with(&mut code, new);
        code.nops(32_740).op(&[op::POP, op::ICONST_2]);
        let stack = [Vt::Uninit(new), Vt::Uninit(new), Vt::Int];
        code.frame(far, &[Vt::Int], &stack)
            .op2(op::INVOKESPECIAL, init)
            .op2(op::INVOKEVIRTUAL, value);
        code.op(&[op::IRETURN]);
        code
    });
    fn return_with(code: &mut CodeAsm, new: Label) {
        let next = code.label();
        code.op(&[op::ILOAD_0])
            .jump(op::IFGE, next)
            .op(&[op::ICONST_1, op::IRETURN]);
        code.frame(
            next,
            &[Vt::Int],
            &[Vt::Uninit(new), Vt::Uninit(new), Vt::Int],
        );
    }
    check(&[Case::new(class, "Carried", "3 | >test >f <f >f <f <test")]);
}

#[test]
fn subroutines() {
    let mut cases = Vec::new();
    for major in [45, 49, 50] {
        for (far, wide) in [(0, false), (32_740, false), (0, true), (32_740, true)] {
            let name = format!("Sub{major}{far}{wide}");
            // Two calls of a subroutine that adds 1 to the argument; the second is the far one.
            let class = build(major, &name, &[0, -5], |_| {
                let mut code = CodeAsm::new(1, 2);
                let sub = code.label();
                let jsr = if wide { op::JSR_W } else { op::JSR };
                code.jump(jsr, sub);
                return_if_negative(&mut code);
                code.jump(jsr, sub)
                    .op(&[op::ILOAD_0, op::IRETURN])
                    .nops(far);
                code.place(sub)
                    .op(&[op::ASTORE_1, op::IINC, 0, 1, op::RET, 1]);
                code
            });
            cases.push(Case::new(class, &name, "3 | >test >f <f >f <f <test"));
        }
    }
    check(&cases);
}

/// Switches at every alignment, after probes of four, five and six bytes, with garbage in the
/// padding.
#[test]
fn switches_at_every_alignment() {
    let mut cases = Vec::new();
    for major in [49, 61] {
        for phase in 0..4 {
            let name = format!("Switch{major}{phase}");
            let class = build(major, &name, &[-1, 0, 1, 2, 100], |_| {
                let mut code = CodeAsm::new(1, 1);
                let labels: Vec<Label> = (0..4).map(|_| code.label()).collect();
                code.nops(phase);
                return_if_negative(&mut code);
                code.op(&[op::ILOAD_0])
                    .tableswitch(0, &[labels[0], labels[1]], labels[2]);
                code.frame(labels[0], &[Vt::Int], &[])
                    .op(&[op::ICONST_0, op::IRETURN]);
                code.frame(labels[1], &[Vt::Int], &[])
                    .op(&[op::ICONST_1, op::IRETURN]);
                code.frame(labels[2], &[Vt::Int], &[]).op(&[op::ILOAD_0]);
                code.lookupswitch(&[(0, labels[0]), (100, labels[1])], labels[3]);
                code.frame(labels[3], &[Vt::Int], &[])
                    .op(&[op::ICONST_2, op::IRETURN]);
                code
            });
            // 1 + 0 + 1 + 2 + 1
            cases.push(Case::new(
                class,
                &name,
                "5 | >test >f <f >f <f >f <f >f <f >f <f <test",
            ));
        }
    }
    check_with_ids(&cases, &[0, 6, 200, 40_000]);
}

#[test]
fn wide_locals_and_255_arguments() {
    let mut class = ClassAsm::new(61, "Wide", "java/lang/Object");
    let descriptor = format!("({})I", "I".repeat(255));
    let mut f = CodeAsm::new(2, 300);
    f.op(&[op::WIDE, 21, 0, 254])
        .op(&[op::WIDE, 54, 1, 43])
        .op(&[op::WIDE, op::IINC, 1, 43, 1, 0]);
    f.op(&[op::WIDE, 21, 1, 43, op::IRETURN]);
    class.method(STATIC, "f", &descriptor, Some(f));
    let f = class.method_ref("Wide", "f", &descriptor);
    let mut test = CodeAsm::new(255, 0);
    for n in 0..255 {
        test.op(&[17, 0, n]);
    }
    test.op2(op::INVOKESTATIC, f).op(&[op::IRETURN]);
    class.method(PUBLIC | STATIC, "test", "()I", Some(test));
    check(&[Case::new(class.finish(), "Wide", "510 | >test >f <f <test")]);
}

/// Two `super(...)` calls on different paths, followed by a jump into the middle, and by a return
/// on one path only.
#[test]
fn super_calls_on_two_paths() {
    let mut cases = Vec::new();
    for major in VERSIONS {
        let name = format!("Paths{major}");
        let mut class = ClassAsm::new(major, &name, "java/lang/Exception");
        let this = class.class(&name);
        let plain = class.method_ref("java/lang/Exception", "<init>", "()V");
        let text = class.method_ref("java/lang/Exception", "<init>", "(Ljava/lang/String;)V");
        let f = class.method_ref(&name, "f", "(I)I");
        let mut code = CodeAsm::new(3, 2);
        let (other, join, end) = (code.label(), code.label(), code.label());
        let before = [Vt::UninitThis, Vt::Int];
        let after = [Vt::Object(this), Vt::Int];
        code.op(&[op::ILOAD_1]).jump(op::IFEQ, other);
        code.op(&[op::ALOAD_0])
            .op2(op::INVOKESPECIAL, plain)
            .jump(op::GOTO, join);
        code.frame(other, &before, &[])
            .op(&[op::ALOAD_0, op::ACONST_NULL])
            .op2(op::INVOKESPECIAL, text);
        code.frame(join, &after, &[])
            .op(&[op::ILOAD_1])
            .op2(op::INVOKESTATIC, f)
            .jump(op::IFEQ, end);
        code.op(&[op::RETURN])
            .frame(end, &after, &[])
            .op(&[op::RETURN]);
        class.method(0, "<init>", "(I)V", Some(code));
        let mut code = CodeAsm::new(1, 1);
        code.op(&[op::ILOAD_0, op::IRETURN]);
        class.method(STATIC, "f", "(I)I", Some(code));
        let init = class.method_ref(&name, "<init>", "(I)V");
        let mut test = CodeAsm::new(3, 0);
        for n in [op::ICONST_0, op::ICONST_1] {
            test.op2(op::NEW, this)
                .op(&[op::DUP, n])
                .op2(op::INVOKESPECIAL, init)
                .op(&[op::POP]);
        }
        test.op(&[op::ICONST_1, op::IRETURN]);
        class.method(PUBLIC | STATIC, "test", "()I", Some(test));
        let c = format!("{name}(I)");
        let once = format!(">{c} ){c} >f <f <{c}");
        cases.push(Case::new(
            class.finish(),
            &name,
            &format!("1 | >test {once} {once} <test"),
        ));
    }
    check(&cases);
}

/// A prologue with a loop, `this` in two locals and twice on the stack, a nested object of the same
/// class, and its own exception handler.
#[test]
fn prologue_with_everything() {
    let mut cases = Vec::new();
    for major in VERSIONS {
        let name = format!("Prologue{major}");
        let mut class = ClassAsm::new(major, &name, "java/lang/Exception");
        let this = class.class(&name);
        let throwable = class.class("java/lang/Throwable");
        let plain = class.method_ref("java/lang/Exception", "<init>", "()V");
        let init = class.method_ref(&name, "<init>", "(I)V");
        let f = class.method_ref(&name, "f", "(I)I");
        let mut code = CodeAsm::new(8, 3);
        let labels: Vec<Label> = (0..8).map(|_| code.label()).collect();
        let [again, out, start, end, handler, on, nested, done] = labels[..] else {
            unreachable!()
        };
        let before = [Vt::UninitThis, Vt::Int, Vt::UninitThis];
        // local 2 = this; while (n > 2) n--;
        code.op(&[op::ALOAD_0, op::ASTORE_2]);
        code.frame(again, &before, &[])
            .op(&[op::ILOAD_1, op::ICONST_2, 100])
            .jump(op::IFLT, out);
        code.op(&[op::IINC, 1, 0xff]).jump(op::GOTO, again);
        // try { f(n) } catch (Throwable t) { n = -1 }, where f(1) throws.
        code.frame(out, &before, &[]).place(start);
        code.op(&[op::ILOAD_1])
            .op2(op::INVOKESTATIC, f)
            .op(&[op::POP])
            .place(end)
            .jump(op::GOTO, on);
        code.frame(handler, &before, &[Vt::Object(throwable)])
            .op(&[op::POP, 2, op::ISTORE_1]);
        code.catch(start, end, handler, 0);
        // if (n == 0) new Prologue(1); this, this on the stack; super()
        code.frame(on, &before, &[])
            .op(&[op::ALOAD_0, 44, op::ILOAD_1])
            .jump(op::IFEQ, nested);
        code.jump(op::GOTO, done);
        code.frame(nested, &before, &[Vt::UninitThis, Vt::UninitThis]);
        code.op2(op::NEW, this)
            .op(&[op::DUP, op::ICONST_1])
            .op2(op::INVOKESPECIAL, init)
            .op(&[op::POP]);
        code.frame(done, &before, &[Vt::UninitThis, Vt::UninitThis]);
        code.op2(op::INVOKESPECIAL, plain)
            .op(&[op::POP])
            .op(&[op::RETURN]);
        class.method(0, "<init>", "(I)V", Some(code));
        // f(n): n == 1 → throw null
        let mut code = CodeAsm::new(1, 1);
        let fine = code.label();
        code.op(&[op::ILOAD_0, op::ICONST_1]).max_stack = 2;
        code.op(&[100])
            .jump(op::IFNE, fine)
            .op(&[op::ACONST_NULL, op::ATHROW]);
        code.frame(fine, &[Vt::Int], &[])
            .op(&[op::ILOAD_0, op::IRETURN]);
        class.method(STATIC, "f", "(I)I", Some(code));
        let mut test = CodeAsm::new(3, 0);
        for n in [5, 0] {
            test.op2(op::NEW, this)
                .op(&[op::DUP, op::BIPUSH, n])
                .op2(op::INVOKESPECIAL, init)
                .op(&[op::POP]);
        }
        test.op(&[op::ICONST_1, op::IRETURN]);
        class.method(PUBLIC | STATIC, "test", "()I", Some(test));
        let c = format!("{name}(I)");
        // 5 is decremented to 1, for which f throws; the handler sets -1. For 0, a nested object is
        // created.
        let five = format!(">{c} >f !f ({c} ){c} <{c}");
        let zero = format!(">{c} >f <f >{c} >f !f ({c} ){c} <{c} ({c} ){c} <{c}");
        cases.push(Case::new(
            class.finish(),
            &name,
            &format!("1 | >test {five} {zero} <test"),
        ));
    }
    check(&cases);
}

/// Handlers that cover themselves or begin by exiting a monitor get no `caught` probe.
#[test]
fn which_handlers_are_marked() {
    let mut class = ClassAsm::new(49, "Handlers", "java/lang/Object");
    let thrown = class.method_ref("Handlers", "thrown", "()V");
    let object = class.class("java/lang/Object");
    let init = class.method_ref("java/lang/Object", "<init>", "()V");
    let mut code = CodeAsm::new(1, 0);
    code.op(&[op::ACONST_NULL, op::ATHROW]);
    class.method(STATIC, "thrown", "()V", Some(code));
    for name in ["plain", "covered", "circle", "monitor"] {
        let mut code = CodeAsm::new(2, 1);
        let [start, handler, second, end] = [0; 4].map(|_| code.label());
        if name == "monitor" {
            code.op2(op::NEW, object)
                .op(&[op::DUP])
                .op2(op::INVOKESPECIAL, init);
            code.op(&[op::DUP, op::ASTORE_0, op::MONITORENTER]);
        }
        code.place(start)
            .op2(op::INVOKESTATIC, thrown)
            .op(&[op::ICONST_0, op::IRETURN]);
        code.place(handler).op(&[op::POP]);
        if name == "monitor" {
            code.op(&[op::ALOAD_0, op::MONITOREXIT]);
        }
        code.op(&[op::ICONST_1, op::IRETURN]);
        code.place(second)
            .op(&[op::POP, op::ICONST_2, op::IRETURN])
            .place(end);
        code.catch(start, handler, handler, 0);
        match name {
            "covered" => _ = code.catch(handler, second, handler, 0),
            "circle" => {
                _ = code
                    .catch(handler, second, second, 0)
                    .catch(second, end, handler, 0)
            }
            _ => {}
        }
        class.method(PUBLIC | STATIC, name, "()I", Some(code));
    }
    let class = class.finish();
    for jdk in Jdk::all() {
        let mut program = Program::new(&jdk, 0);
        program.add(&class);
        assert_eq!(program.refused, Vec::<String>::new());
        let names = [
            "Handlers.plain",
            "Handlers.covered",
            "Handlers.circle",
            "Handlers.monitor",
        ];
        let lines = program.call(&jdk, &names);
        assert_eq!(
            lines[0],
            "Handlers.plain = 1 | >plain >thrown !thrown ^plain <plain"
        );
        assert_eq!(
            lines[1],
            "Handlers.covered = 1 | >covered >thrown !thrown <covered"
        );
        assert_eq!(
            lines[2],
            "Handlers.circle = 1 | >circle >thrown !thrown ^circle <circle"
        );
        assert_eq!(
            lines[3],
            "Handlers.monitor = 1 | >monitor >thrown !thrown <monitor"
        );
    }
}

/// A method without room for its probes is not changed. The other methods of its class are changed.
#[test]
fn method_of_nearly_64_kib() {
    let mut class = ClassAsm::new(61, "Large", "java/lang/Object");
    for (name, len) in [("large", 65_534), ("fits", 65_500)] {
        let mut code = CodeAsm::new(1, 0);
        code.nops(len - 2).op(&[op::ICONST_1, op::IRETURN]);
        class.method(PUBLIC | STATIC, name, "()I", Some(code));
    }
    let class = class.finish();
    for jdk in Jdk::all() {
        let mut program = Program::new(&jdk, 100);
        program.add(&class);
        assert_eq!(
            program.refused,
            ["Large.large: the method would grow over 64 KiB"]
        );
        let lines = program.call(&jdk, &["Large.large", "Large.fits"]);
        assert_eq!(
            lines,
            ["Large.large = 1 | ", "Large.fits = 1 | >fits <fits"]
        );
    }
}

/// Pools with room for fewer and fewer entries: as many methods as possible are rewritten, and
/// every resulting class links.
#[test]
fn pool_of_nearly_65535_entries() {
    let jdk = Jdk::newest();
    let mut program = Program::new(&jdk, 1);
    let (mut names, mut refused) = (Vec::new(), Vec::new());
    for room in 0..24 {
        let name = format!("Full{room}");
        let mut class = ClassAsm::new(61, &name, "java/lang/Object");
        for method in ["a", "b"] {
            let mut code = CodeAsm::new(1, 0);
            code.op(&[op::ICONST_1, op::IRETURN]);
            class.method(PUBLIC | STATIC, method, "()I", Some(code));
        }
        // A method that gets a handler, and hence a frame.
        let a = class.method_ref(&name, "a", "()I");
        let mut code = CodeAsm::new(1, 0);
        code.op2(op::INVOKESTATIC, a).op(&[op::IRETURN]);
        class.method(PUBLIC | STATIC, "c", "()I", Some(code));
        let free = 65_535 - room;
        for n in 0.. {
            if class.pool_count() == free {
                break;
            }
            class.int(1_000_000 + n);
        }
        let class = class.finish();
        let outcomes = program.add(&class);
        assert!(
            outcomes
                .iter()
                .flatten()
                .all(|refusal| *refusal == Refusal::PoolFull),
            "{outcomes:?}"
        );
        refused.push(outcomes.iter().flatten().count());
        names.push(format!("{name}.c"));
    }
    // Enter and leave probes need a class, two names, a descriptor and two methods: nine entries in
    // all. The handler's frame and its hook need some more.
    assert_eq!(refused[..9], [3; 9]);
    assert_eq!(*refused.last().unwrap(), 0);
    assert!(refused.is_sorted_by(|a, b| a >= b), "{refused:?}");
    for (line, refused) in program
        .call(&jdk, &names.iter().map(|n| &**n).collect::<Vec<_>>())
        .iter()
        .zip(refused)
    {
        let events = ["1 | >c >a <a <c", "1 | >a <a", "", "1 | "][refused];
        assert!(line.ends_with(&format!(" = {events}")), "{line}: {refused}");
    }
}

fn all(first: u32) -> Probes {
    Probes {
        calls: Some(first),
        lines: Some(first),
        allocations: Some(first),
        ..Probes::NONE
    }
}

/// A method does not grow beyond the size that the JVM compiles, unless it is larger already or
/// runs only once.
#[test]
fn compiled_up_to() {
    // Call probes take 13 bytes: two probes of 4 bytes, and a handler of 5 that ends with `athrow`.
    let build = |name: &str, nops: usize, loops: bool| {
        let mut class = ClassAsm::new(61, "Huge", "java/lang/Object");
        let mut code = CodeAsm::new(0, 0);
        let class_name = class.class("Huge");
        code.nops(nops).op2(op::NEW, class_name).op(&[op::POP]);
        if loops {
            code.op(&[op::ICONST_0, op::IFNE, 0xff, 0xff]);
        }
        code.op(&[op::RETURN]);
        let table = [&1u16.to_be_bytes()[..], &[0; 4]].concat();
        code.attributes.push(("LineNumberTable".into(), table));
        class.method(PUBLIC | STATIC, name, "()V", Some(code));
        class.finish()
    };
    let outcome = |bytes: &[u8], limit: usize, probes: Probes| {
        let class = Class::parse(bytes).unwrap();
        let hooks = Hooks {
            compiled_up_to: Some(limit),
            ..RECORDER
        };
        let mut rewritten = instrument(&class, &hooks, |_, _| probes).unwrap();
        let len = Class::parse(&rewritten.bytes).unwrap().methods()[0].code_len();
        (len, rewritten.outcomes.remove(0).1)
    };
    let bytes = build("f", 100, false);
    let (old, calls) = (105, Probes::calls(Some(1)));
    let (len, inserted) = outcome(&bytes, usize::MAX, calls);
    assert_eq!((len, inserted.unwrap().reduced), (old + 13, None));
    let (len, inserted) = outcome(&bytes, len, calls);
    assert_eq!(
        (len, inserted.unwrap().reduced),
        (old + 13, None),
        "up to the limit"
    );
    let refusal = Refusal::NeverCompiled(old + 12);
    assert_eq!(outcome(&bytes, old + 12, calls), (old, Err(refusal)));
    let refusal = Refusal::NeverCompiled(old);
    assert_eq!(outcome(&bytes, old, calls), (old, Err(refusal)));
    let (len, inserted) = outcome(&bytes, old - 1, calls);
    assert_eq!(
        (len, inserted.unwrap().reduced),
        (old + 13, None),
        "huge before"
    );

    let (len, inserted) = outcome(&bytes, old + 13, all(1));
    let inserted = inserted.unwrap();
    assert_eq!(len, old + 13, "calls only");
    assert_eq!(inserted.reduced, Some(Refusal::NeverCompiled(old + 13)));
    assert_eq!(inserted.lines, [LineProbe::NoProbe(NoProbe::Reduced)]);

    let (len, inserted) = outcome(&build("<clinit>", 100, false), old, all(1));
    assert!(
        len > old && inserted.unwrap().reduced.is_none(),
        "runs once"
    );
    let (len, inserted) = outcome(&build("<clinit>", 100, true), old + 4, calls);
    let refusal = Refusal::NeverCompiled(old + 4);
    assert_eq!((len, inserted), (old + 4, Err(refusal)), "has a loop");
}

/// A method without room for all its probes is rewritten as if only those around calls had been
/// requested.
#[test]
fn reduced_to_calls() {
    let table = [&3u16.to_be_bytes()[..], &[0; 12]].concat();
    let build = |nops: usize, free: Option<usize>| {
        let mut class = ClassAsm::new(61, "Reduced", "java/lang/Object");
        let object = class.class("java/lang/Object");
        for len in [nops, 10] {
            let mut code = CodeAsm::new(2, 0);
            code.nops(len).op2(op::NEW, object).op(&[op::ARETURN]);
            code.attributes
                .push(("LineNumberTable".into(), table.clone()));
            let name = format!("f{len}");
            class.method(PUBLIC | STATIC, &name, "()Ljava/lang/Object;", Some(code));
        }
        if let Some(free) = free {
            (0..)
                .take_while(|n| {
                    class.int(1_000_000 + n);
                    class.pool_count() < 65_535 - free
                })
                .count();
        }
        class.finish()
    };
    for (bytes, first, why) in [
        (build(65_508, None), 5, Refusal::CodeTooLarge),
        (build(20, Some(16)), 40_000, Refusal::PoolFull),
    ] {
        let class = Class::parse(&bytes).unwrap();
        let rewrite = |probes: Probes| {
            let first_only = |index, _: &Method<'_>| match index {
                0 => probes,
                _ => Probes::NONE,
            };
            instrument(&class, &RECORDER, first_only).unwrap()
        };
        let calls = rewrite(Probes::calls(Some(first)));
        let reduced = rewrite(all(first));
        assert!(reduced.bytes == calls.bytes);
        let inserted = Inserted {
            lines: vec![LineProbe::NoProbe(NoProbe::Reduced); 3],
            reduced: Some(why.clone()),
            ..calls.outcomes[0].1.clone().unwrap()
        };
        assert_eq!(reduced.outcomes, [(0, Ok(inserted))]);
        // Without the probes around calls, the other probes have room.
        let others = Probes {
            calls: None,
            ..all(first)
        };
        let inserted = rewrite(others).outcomes.remove(0).1.unwrap();
        assert_eq!(inserted.lines[0], LineProbe::Own(first));
        assert_eq!(inserted.reduced, None);
        // The class's other method is not affected, unless the pool is full.
        if why == Refusal::PoolFull {
            continue;
        }
        let both = instrument(&class, &RECORDER, |_, _| all(5)).unwrap();
        let other = both.outcomes[1].1.as_ref().unwrap();
        let lines = [
            LineProbe::Own(5),
            LineProbe::Shared(5),
            LineProbe::Shared(5),
        ];
        assert_eq!(other.lines, lines);
        assert_eq!(other.reduced, None);
    }
    // Without requested call probes, there is nothing to reduce the method to.
    let bytes = build(65_525, None);
    let class = Class::parse(&bytes).unwrap();
    let lines = Probes {
        calls: None,
        ..all(5)
    };
    let rewritten = instrument(&class, &RECORDER, |index, _| match index {
        0 => lines,
        _ => Probes::NONE,
    });
    let rewritten = rewritten.unwrap();
    assert_eq!(rewritten.outcomes, [(0, Err(Refusal::CodeTooLarge))]);
    assert!(rewritten.bytes == bytes);
}

/// Two unsorted line number tables: probes are numbered in the order of the file, and lines are
/// found as the JVM finds them.
#[test]
fn several_line_tables() {
    let mut class = ClassAsm::new(61, "Tables", "java/lang/Object");
    let object = class.class("java/lang/Object");
    let mut code = CodeAsm::new(2, 0);
    // pc 0, 4, 8, 12
    for _ in 0..4 {
        code.op2(op::NEW, object).op(&[op::POP]);
    }
    code.op(&[op::ICONST_2, op::IRETURN]);
    for rows in [
        &[[8, 1], [4, 2], [8, 3]][..],
        &[[10, 4], [11, 5], [11, 6], [4, 7]],
    ] {
        let fields = std::iter::once(rows.len() as u16).chain(rows.iter().copied().flatten());
        let table = fields.flat_map(u16::to_be_bytes).collect();
        code.attributes.push(("LineNumberTable".into(), table));
    }
    class.method(PUBLIC | STATIC, "test", "()I", Some(code));
    let bytes = class.finish();
    let class = Class::parse(&bytes).unwrap();
    let method = &class.methods()[0];
    assert_eq!(method.lines(), Some((1, 7)));
    assert_eq!(method.line_entries().len(), 7);
    assert!(method.line_entries().map(|entry| entry.line).eq(1..=7));
    // At pc 0 no entry applies; at 4 and 8 the first of several entries at the pc; at 12 the last
    // of several before it.
    let sites = class.allocation_sites(method);
    let sites: Vec<(u16, u16)> = sites.iter().map(|site| (site.pc, site.line)).collect();
    assert_eq!(sites, [(0, 0), (4, 2), (8, 1), (12, 6)]);
    let rewritten = instrument(&class, &RECORDER, |_, _| all(40_000)).unwrap();
    let [own, shared] = [LineProbe::Own, LineProbe::Shared];
    let nowhere = LineProbe::NoProbe(NoProbe::NoInstruction);
    let lines = [
        own(40_000),
        own(40_001),
        shared(40_000),
        nowhere,
        own(40_004),
        shared(40_004),
        shared(40_001),
    ];
    assert_eq!(rewritten.outcomes[0].1.as_ref().unwrap().lines, lines);
    check(&[Case::new(bytes, "Tables", "2 | >test <test")]);
}

/// A class without lines and allocations is not changed.
#[test]
fn neither_lines_nor_allocations() {
    let mut class = ClassAsm::new(61, "Nothing", "java/lang/Object");
    for table in [None, Some(vec![0, 1, 0, 2, 0, 7])] {
        let mut code = CodeAsm::new(1, 0);
        code.op(&[op::BIPUSH, 1, op::NOP, op::POP, op::RETURN]);
        // A table whose entry begins at no instruction, or an unknown attribute.
        let at = table.is_some().then_some("LineNumberTable");
        let body = table.map_or(vec![1], |mut table: Vec<u8>| {
            table[3] = 1;
            table
        });
        code.attributes.push((at.unwrap_or("Unknown").into(), body));
        let name = at.unwrap_or("none");
        class.method(PUBLIC | STATIC, name, "()V", Some(code));
    }
    let bytes = class.finish();
    let class = Class::parse(&bytes).unwrap();
    let rewritten = instrument(&class, &RECORDER, |_, _| Probes {
        calls: None,
        ..all(1)
    });
    let rewritten = rewritten.unwrap();
    assert!(rewritten.bytes == bytes);
    assert_eq!(rewritten.outcomes[0].1, Ok(Inserted::default()));
    let nowhere = LineProbe::NoProbe(NoProbe::NoInstruction);
    assert_eq!(rewritten.outcomes[1].1.as_ref().unwrap().lines, [nowhere]);
}

/// An exception handler at pc 0, which never runs, does not confuse the rewriter.
#[test]
fn handler_at_the_beginning() {
    let mut code = CodeAsm::new(1, 1);
    let [start, end] = [0; 2].map(|_| code.label());
    code.place(start)
        .op(&[op::ILOAD_0])
        .place(end)
        .op(&[op::IRETURN]);
    code.catch(start, end, start, 0);
    let mut class = ClassAsm::new(49, "Zero", "java/lang/Object");
    class.method(STATIC, "f", "(I)I", Some(code));
    let class = class.finish();
    let class = Class::parse(&class).unwrap();
    let rewritten = instrument(&class, &RECORDER, |_, _| Probes::calls(Some(1))).unwrap();
    assert_eq!(rewritten.outcomes, [(0, Ok(Inserted::default()))]);
    Class::parse(&rewritten.bytes).unwrap();
}

#[test]
fn what_is_never_touched() {
    let mut class = ClassAsm::new(61, "Never", "java/lang/Object");
    class.method(PUBLIC | 0x400, "abstractOne", "()V", None);
    let empty = |class: &mut ClassAsm, name: &str, descriptor: &str| {
        let mut code = CodeAsm::new(0, 2);
        code.op(&[op::RETURN]);
        class.method(PUBLIC, name, descriptor, Some(code));
    };
    empty(&mut class, "finalize", "()V");
    empty(&mut class, "finalize", "(I)V");
    let bytes = class.finish();
    let class = Class::parse(&bytes).unwrap();
    let rewritten = instrument(&class, &RECORDER, |_, _| Probes::calls(Some(1))).unwrap();
    let expected = [
        (0, Err(Refusal::NoCode)),
        (1, Err(Refusal::EmptyFinalizer)),
        (2, Ok(Inserted::default())),
    ];
    assert_eq!(rewritten.outcomes, expected);
    let rewritten = instrument(&class, &RECORDER, |index, _| {
        Probes::calls((index < 2).then_some(1))
    })
    .unwrap();
    assert_eq!(rewritten.bytes, bytes);
}
