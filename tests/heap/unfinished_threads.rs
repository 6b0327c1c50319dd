//! Heap snapshots while virtual threads are being created: HotSpot crashes if a walk visits an
//! incomplete one.

use crate::support::heap_dumps::dumps;
use crate::support::{Trace, VERSIONS, agent, program};
use jtrail_testkit::{Jdk, temp_dir};

/// Number of collections that the program requests.
const COLLECTIONS: usize = 20;

/// The snapshots have the objects that complete virtual threads keep alive, started or not.
#[test]
fn snapshots_while_virtual_threads_are_made() {
    let mut runs = 0;
    for jdk in Jdk::require(&VERSIONS) {
        if jdk.feature < 21 {
            continue;
        }
        for kinds in ["threads+gc+heap", "threads+gc+alloc+heap"] {
            runs += 1;
            let folder = temp_dir();
            let file = folder.path().join("trace");
            let output = program(&jdk, "harness.UnfinishedThreads")
                .jvm_arg("-XX:+UseSerialGC")
                .jvm_arg("-Xmx64m")
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
            assert_eq!(output.stdout.trim(), "made");
            Trace::read(&file).expect("sound").assert_sound(&output);
            let (dumps, _) = dumps(&file);
            assert!(dumps.len() >= COLLECTIONS / 2, "{} dumps", dumps.len());
            // The program may end during the last snapshots.
            let complete = dumps.iter().filter(|dump| dump.is_complete());
            let found = complete.filter(|dump| {
                [
                    "harness.UnfinishedThreads$OnStack",
                    "harness.UnfinishedThreads$Captured",
                ]
                .map(|class| dump.count(class))
                    == [1, 1]
            });
            let found = found.count();
            assert!(
                found >= COLLECTIONS / 2 - 1,
                "{found} of {}, {kinds}, JDK {}\n{output}",
                dumps.len(),
                jdk.feature
            );
        }
    }
    assert_eq!(runs, 4);
}
