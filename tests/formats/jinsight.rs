//! JinsightLive files that the agent writes, checked record by record against the rules of the
//! format.

use crate::support::control::ControlledRun;
use crate::support::jinsight::rules::{self, Found};
use crate::support::programs::small_heap;
use crate::support::{FILTER, agent, program};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::path::Path;

fn check(file: &Path) -> Found {
    rules::check(&std::fs::read(file).expect("a file"))
}

fn written(run: Run, options: &str) -> Found {
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let options = format!("format=jinsight,{options},file={}", file.display());
    run.agent(agent(), options).output().assert_exit(0);
    check(&file)
}

/// All kinds of events, with threads that end, classes that are unloaded and objects that die.
#[test]
fn whole_programs() {
    for jdk in Jdk::require(&[17, 25]) {
        for (name, args, ends) in [
            ("harness.Everything", &["1", "5", "4", "7", "20"][..], 100),
            ("org.example.shop.Main", &["1"], 0),
        ] {
            let run = small_heap(program(&jdk, name));
            let run = args.iter().fold(run, |run, arg| run.arg(*arg));
            let found = written(run, &format!("events=all,{FILTER}"));
            assert!(found.enters > 1000 && found.threads > 4, "{name}");
            assert!(found.objects > 1000 && found.ends >= ends, "{name}");
            assert_eq!(found.bursts, 1);
        }
    }
}

/// Pauses with work in them, and a following trace.
#[test]
fn pauses_of_traces() {
    for jdk in Jdk::require(&[17, 25]) {
        let events = "events=methods+threads+alloc+free+gc+monitors";
        let mut app = ControlledRun::new(&jdk, &format!("format=jinsight,{events}"));
        for _ in 0..3 {
            app.work();
            app.ctl(&["pause"]);
            app.work();
            app.ctl(&["resume"]);
        }
        app.work();
        app.ctl(&["rotate", &app.text("second")]);
        app.work();
        let (folder, _) = app.end();
        let found = ["first", "second"].map(|name| check(&folder.path().join(name)));
        assert_eq!([4, 1], [&found[0], &found[1]].map(|found| found.bursts));
        assert!(found.iter().all(|found| found.enters > 0), "{found:?}");
        assert!(found[0].made_up > 0, "{found:?}");
    }
}

/// Bursts that triggers begin.
#[test]
fn bursts_by_triggers() {
    for jdk in Jdk::require(&[17, 25]) {
        let bursts = ["50/20", "90/20"].map(|b| format!("burst=call:harness.Bursts.round:{b}"));
        let options = format!("events=+alloc+free,{},{FILTER}", bursts.join(","));
        let found = written(program(&jdk, "harness.Bursts").arg("rounds"), &options);
        assert!(found.enters > 0 && found.bursts >= 2, "{found:?}");
    }
}
