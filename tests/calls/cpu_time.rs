//! CPU time of calls and of threads, platform and virtual.

use crate::support::observed::observed;
use crate::support::truth::with_each_collector;
use crate::support::{FILTER, few_versions, one_version, program};
use jtrail_model::Event;
use jtrail_testkit::Jdk;
use std::collections::{BTreeMap, HashMap};

/// The CPU times in a trace, in nanoseconds.
#[derive(Default)]
struct Cpu {
    /// Time of all calls of a method, including callees.
    methods: BTreeMap<String, i64>,
    /// Time of whole threads, by name.
    threads: BTreeMap<String, i64>,
    /// The last recorded time of each thread.
    last: HashMap<u64, i64>,
    /// CPU time of each thread, by name, at the end of `harness.Burn.timed`, which measures it,
    /// too.
    measured: BTreeMap<String, i64>,
    /// CPU time that each thread used after its last call, by name.
    after: BTreeMap<String, i64>,
    open: HashMap<(u64, u32), i64>,
}

impl Cpu {
    fn see(&mut self, names: &crate::support::observed::Names, event: &Event<'_>) {
        let (thread, time) = match event {
            Event::MethodEnter(e) => {
                self.open.insert((e.thread.0, e.ticket), e.cpu_time.0);
                (e.thread, e.cpu_time.0)
            }
            Event::MethodLeave(e) => {
                let began = self.open.remove(&(e.thread.0, e.ticket)).expect("an enter");
                let key = names.methods[&e.method].clone();
                if key.starts_with("harness.Burn.timed(") {
                    let name = names.thread(e.thread).to_owned();
                    self.measured.insert(name, e.cpu_time.0);
                }
                *self.methods.entry(key).or_default() += e.cpu_time.0 - began;
                (e.thread, e.cpu_time.0)
            }
            Event::ThreadCpu(e) => {
                let name = names.thread(e.thread).to_owned();
                let last = self.last.get(&e.thread.0).copied().unwrap_or(0);
                self.after.insert(name.clone(), e.cpu_time.0 - last);
                let other = self.threads.insert(name, e.cpu_time.0);
                assert_eq!(other, None, "{}", names.thread(e.thread));
                (e.thread, e.cpu_time.0)
            }
            _ => return,
        };
        let last = self.last.insert(thread.0, time).unwrap_or(0);
        assert!(time >= last, "{last} {time} on {}", names.thread(thread));
    }
}

#[test]
fn calls_and_threads_have_what_the_program_measured() {
    for jdk in Jdk::require(&one_version()) {
        for engine in ["bytecode", "jvmti"] {
            let mut cpu = Cpu::default();
            let run = program(&jdk, "harness.Burn").arg("150");
            let options = format!("format=binary,engine={engine},events=+cpu,{FILTER}");
            let run = observed(run, &options, |names, event| cpu.see(names, event));
            let truth = run.output.truth();
            for (key, expected) in &truth.cpu {
                let ms = cpu.methods[key] / 1_000_000;
                assert!(
                    (expected.low as i64..=expected.high as i64).contains(&ms),
                    "JDK {}, {engine}, {key}: {ms} ms, not {expected:?}",
                    jdk.feature
                );
            }
            for (name, expected) in &truth.cpu_threads {
                let (measured, whole) = (cpu.measured[name], cpu.threads[name]);
                let ms = measured / 1_000_000;
                assert!(
                    (expected.low as i64..=expected.high as i64).contains(&ms),
                    "JDK {}, {engine}, {name}: {ms} ms, not {expected:?}",
                    jdk.feature
                );
                assert!(whole >= measured, "{name}: {measured}, {whole}");
                // The thread's last call stores what was measured. After that call, the thread only
                // ends.
                assert!(cpu.after[name] < 10_000_000, "{name}: {}", cpu.after[name]);
            }
            assert!(!truth.cpu.is_empty() && !truth.cpu_threads.is_empty());
        }
    }
}

#[test]
fn a_virtual_thread_has_its_own_time_and_no_other() {
    for jdk in Jdk::require(&few_versions()) {
        if jdk.feature < 21 {
            continue;
        }
        for carriers in ["1", "2"] {
            let mut cpu = Cpu::default();
            let mut carried = 0;
            let run = program(&jdk, "harness.BurnVirtual")
                .jvm_arg(format!(
                    "-Djdk.virtualThreadScheduler.parallelism={carriers}"
                ))
                .jvm_arg(format!(
                    "-Djdk.virtualThreadScheduler.maxPoolSize={carriers}"
                ));
            let options = format!("format=binary,events=+cpu+mounts,{FILTER}");
            let run = observed(run, &options, |names, event| {
                cpu.see(names, event);
                if let Event::ThreadCpu(e) = event
                    && names.threads[&e.thread].1 == "CarrierThreads"
                {
                    carried += e.cpu_time.0;
                }
            });
            let counts = run.output.counts();
            counts.assert_matches(
                &run.trace.calls,
                &run.trace.uninstrumented,
                &["harness.BurnVirtual.work", "harness.BurnVirtual.burns"],
                &[],
            );
            let of = |n: i32| cpu.threads[&format!("burns-{n}")];
            let unit = (of(1) + of(2) + of(3) + of(4)) / 10;
            assert!(unit > 10_000_000, "{:?}", cpu.threads);
            assert!(of(0) < unit / 2, "{:?}", cpu.threads);
            for n in 1..=4 {
                let ratio = of(n) as f64 / unit as f64;
                assert!(
                    (ratio / f64::from(n) - 1.0).abs() < 0.3,
                    "{n}: {ratio}, {:?}",
                    cpu.threads
                );
            }
            // The kernel counts the CPU time of the carriers. It is that of the virtual threads,
            // plus the time to switch between them.
            let all = 10 * unit + of(0);
            assert!(all <= carried, "{all} of {carried}");
            assert!(all > carried / 2, "{all} of {carried}");
            let calls = cpu.methods["harness.BurnVirtual.burns(II)V"];
            assert!((calls - all).abs() < all / 10, "{calls} of {all}");
        }
    }
}

#[test]
fn without_cpu_there_is_none() {
    let jdk = Jdk::newest();
    let mut sum = 0;
    let run = program(&jdk, "harness.Burn").arg("20");
    observed(run, &format!("format=binary,{FILTER}"), |_, event| {
        sum += match event {
            Event::MethodEnter(e) => e.cpu_time.0,
            Event::MethodLeave(e) => e.cpu_time.0,
            Event::ThreadCpu(_) => 1,
            _ => 0,
        };
    });
    assert_eq!(sum, 0);
}

/// With too few buffers, a call and its CPU time are dropped together.
#[test]
fn losses_leave_calls_and_their_cpu_time_in_step() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let file = folder.path().join("trace");
        let run = program(&jdk, "harness.Fib").arg("24").agent(
            crate::support::agent(),
            format!(
                "format=xml,events=+cpu,overflow=drop,buffer=1m,{FILTER},file={}",
                file.display()
            ),
        );
        run.output().assert_exit(0);
        let trace = crate::support::Trace::read(&file).expect("a trace");
        assert!(trace.faults.is_empty(), "{:?}", trace.faults);
    }
}

#[test]
fn cpu_time() {
    with_each_collector("harness.Burn", "+cpu", &["100"]);
}
