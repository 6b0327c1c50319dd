//! Heap snapshots while compiled code has eliminated allocations: HotSpot creates these objects on
//! the walking thread, and reports them.

use crate::support::heap_dumps::dumps;
use crate::support::{Trace, agent, few_versions, program};
use jtrail_testkit::{Jdk, temp_dir};

/// Number of collections that the program requests.
const COLLECTIONS: usize = 5;
const PAIR: &str = "harness.Unmade$Pair";

/// The objects are in the snapshots, and have an allocation event if allocations are recorded. JVM
/// 11 does not create them.
#[test]
fn objects_that_compiled_code_does_without() {
    for jdk in Jdk::require(&few_versions()) {
        for kinds in ["gc+heap", "gc+alloc+heap"] {
            let folder = temp_dir();
            let file = folder.path().join("trace");
            let output = program(&jdk, "harness.Unmade")
                .jvm_arg("-Xbatch") // compiled before it is called once more
                .arg(COLLECTIONS.to_string())
                .agent(
                    agent(),
                    format!(
                        "format=binary,events={kinds},heap=gc,file={}",
                        file.display()
                    ),
                )
                .output();
            output.assert_exit(0);
            assert_eq!(output.stdout.trim(), "held");
            Trace::read(&file).expect("sound").assert_sound(&output);
            let (dumps, made) = dumps(&file);
            // The program may end during the last snapshots.
            let while_held: Vec<_> = dumps.iter().take(COLLECTIONS / 2).collect();
            assert_eq!(while_held.len(), COLLECTIONS / 2);
            for dump in while_held {
                assert!(dump.is_complete());
                let pairs: Vec<_> = dump
                    .objects
                    .iter()
                    .filter_map(|(object, (class, _))| (class == PAIR).then_some(object))
                    .collect();
                let expected = if jdk.feature < 17 { 0 } else { 2 };
                assert_eq!(pairs.len(), expected, "{kinds}, JDK {}", jdk.feature);
                let have_allocations = pairs.iter().all(|pair| made.contains_key(pair));
                assert_eq!(
                    have_allocations,
                    kinds.contains("alloc") || pairs.is_empty(),
                    "{kinds}, JDK {}",
                    jdk.feature
                );
            }
        }
    }
}

/// When a walk creates such objects, virtual threads are stopped in the middle of a mount or
/// unmount. A request for a stack then waits for these threads, and the threads wait for the walk.
#[test]
fn objects_are_made_while_virtual_threads_change_their_carriers() {
    for jdk in Jdk::require(&[21, 25]) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let events = "events=gc+alloc+heap+mounts,allocsites=true,heap=gc";
        let output = program(&jdk, "harness.UnmadeVirtually")
            .jvm_arg("-Xbatch")
            .arg("60")
            .agent(
                agent(),
                format!("format=binary,{events},file={}", file.display()),
            )
            .output();
        output.assert_exit(0);
        assert_eq!(output.stdout.trim(), "held");
        Trace::read(&file).expect("sound").assert_sound(&output);
        let (dumps, made) = dumps(&file);
        let pairs = dumps.iter().flat_map(|dump| dump.objects.iter());
        let mut pairs = pairs.filter(|(_, (class, _))| class == PAIR).peekable();
        assert!(pairs.peek().is_some(), "no object was made");
        assert!(pairs.all(|(pair, _)| made.contains_key(pair)));
    }
}
