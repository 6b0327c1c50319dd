use super::{Weight, Writer};
use crate::profile::Profiler;
use crate::testing::{class, encode, enter, leave, method, program, thread};

fn lines(weight: Weight, with_threads: bool) -> String {
    let writer = Writer::new(weight, with_threads);
    let out = encode(Profiler::new(writer), &program("pool;1\nx"));
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn threads_are_merged_or_apart() {
    assert_eq!(
        lines(Weight::SelfTime, false),
        "a.B.outer(int) 27\na.B.outer(int);a.B.inner(int) 10\n"
    );
    assert_eq!(
        lines(Weight::SelfTime, true),
        "[main];a.B.outer(int) 20\n[main];a.B.outer(int);a.B.inner(int) 10\n[pool,1 x];a.B.outer(int) 7\n"
    );
}

#[test]
fn threads_without_a_name_are_one() {
    let mut events = vec![
        class(1, "a.B"),
        method(1, "outer"),
        thread(7, 0, "", "VirtualThreads"),
        thread(8, 0, "", "VirtualThreads"),
        thread(9, 0, "", "main"),
    ];
    events.extend((7..10).flat_map(|id| [enter(id, 10, 1, 1), leave(id, 12, 1, 1)]));
    let out = encode(Profiler::new(Writer::new(Weight::SelfTime, true)), &events);
    assert_eq!(
        String::from_utf8(out).expect("UTF-8"),
        "[threads without a name];a.B.outer(int) 2\n[virtual threads without a name];a.B.outer(int) 4\n"
    );
}

#[test]
fn each_weight_has_its_lines() {
    assert_eq!(
        lines(Weight::Calls, false),
        "a.B.outer(int) 2\na.B.outer(int);a.B.inner(int) 1\n"
    );
    assert_eq!(
        lines(Weight::Allocated, true),
        "[main] 16\n[main];a.B.outer(int);a.B.inner(int) 48\n"
    );
    assert_eq!(lines(Weight::Cpu, false), "");
}
