//! Tests for thread names, and CPU times of calls.

use super::*;

fn named(translator: &mut Translator, time: u64, name: &str) {
    translator.add_name(1, name.into());
    translator.coded(1, time, Code::ThreadName, &[1]);
}

fn written(translator: &mut Translator) -> Vec<String> {
    let text = String::from_utf8(std::mem::take(&mut translator.out)).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_thread_starts_with_its_first_name_though_the_next_is_known() {
    let mut translator = translator();
    translator.add_name(1, "main".into());
    translator.add_name(1, "worker".into());
    translator.add_name(1, "worker".into());
    for (time, code) in [
        (1, Code::ThreadStart),
        (2, Code::ThreadName),
        (3, Code::ThreadName),
        (4, Code::ThreadName),
        (5, Code::ThreadEnd),
    ] {
        translator.coded(1, time, code, &[1]);
    }
    let lines = written(&mut translator);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("thread ") && lines[0].ends_with(" main"));
    assert!(lines[1].starts_with("name ") && lines[1].ends_with(" worker"));
    assert!(lines[2].starts_with("end "));
}

#[test]
fn names_after_a_threads_end_are_forgotten() {
    let mut translator = translator();
    translator.coded(1, 1, Code::ThreadStart, &[1]);
    translator.coded(1, 2, Code::ThreadEnd, &[1]);
    written(&mut translator);
    named(&mut translator, 3, "ghost");
    assert_eq!(written(&mut translator), [""; 0]);
}

#[test]
fn cpu_time_that_another_thread_read_too_early_or_too_soon_does_not_fall() {
    let mut translator = translator();
    translator.coded(1, 1, Code::ThreadStart, &[1]);
    translator.coded(1, 2, Code::Cpu, &[500]);
    for (time, used) in [(3, 400), (4, 600), (5, 550)] {
        translator.coded(1, time, Code::ThreadCpu, &[1, used]);
    }
    translator.coded(1, 6, Code::Cpu, &[580]);
    translator.coded(1, 7, Code::ThreadCpu, &[1, 590]);
    let lines = written(&mut translator);
    assert_eq!(lines[1..], ["cpu 500", "cpu 600", "cpu 600", "cpu 600"]);
}

/// Lets each thread record calls with CPU times. The CPU time is the number of the event on its
/// thread.
fn run_with_cpu(count: u64, chunks: u64, when_full: WhenFull) -> Vec<(u32, Vec<Handed>)> {
    let seen = run_with(
        8,
        chunks,
        when_full,
        Drains::Meanwhile,
        0,
        move |_, buffer| {
            for i in 0..count {
                let low = match i % 2 {
                    0 => record::enter(RUN),
                    _ => record::leave(RUN),
                };
                let now = System::now();
                // SAFETY: the buffer is this thread's own.
                unsafe {
                    let recorded = buffer.try_record_with_cpu(now, i, low)
                        || buffer.record_with_cpu(now, i, low, &[]);
                    assert!(recorded);
                }
            }
        },
    );
    (1..=8)
        .map(|thread| {
            let own = seen.iter().filter(|(t, _, _)| *t == thread);
            (thread, own.map(|(_, _, what)| *what).collect())
        })
        .collect()
}

#[test]
fn calls_have_their_own_cpu_time() {
    const COUNT: u64 = 100_000;
    let expected: Vec<Handed> = (0..COUNT)
        .flat_map(|i| {
            let call = match i % 2 {
                0 => Handed::Enter(RUN),
                _ => Handed::Leave(RUN),
            };
            [Handed::Coded(Code::Cpu, i), call]
        })
        .collect();
    for (_, seen) in run_with_cpu(COUNT, 3, WhenFull::Block) {
        assert!(seen == expected);
    }
}

#[test]
fn in_drop_mode_a_call_and_its_cpu_time_are_lost_together() {
    let mut lost = 0;
    for (thread, seen) in run_with_cpu(200_000, 1, WhenFull::Drop) {
        let mut before = None;
        for what in &seen {
            match (what, before) {
                (Handed::Coded(Code::Cpu, i), _) => before = Some(*i),
                (Handed::Enter(_), Some(i)) => assert_eq!((i % 2, before.take()), (0, Some(i))),
                (Handed::Leave(_), Some(i)) => assert_eq!((i % 2, before.take()), (1, Some(i))),
                (Handed::Coded(Code::Lost, payload), None) => {
                    lost += record::lost_parts(*payload).0
                }
                (Handed::Enter(_), None) => {} // an open call, entered again after a gap
                _ => panic!("{what:?} on thread {thread}, behind {before:?}"),
            }
        }
        assert_eq!(before, None);
    }
    assert!(lost > 0, "eight threads over one chunk lose something");
}
