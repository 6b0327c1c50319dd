//! Kinds of events that differ from trace to trace.

use crate::support::control::{ControlledRun, rounds};
use crate::support::few_versions;
use jtrail_testkit::Jdk;

/// A trace has the kinds of events that it was started with, and no others.
#[test]
fn a_trace_has_its_own_events() {
    const LOADED: &str = "format=binary,events=methods+threads+gc+monitors+alloc+jit+cpu";
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, LOADED);
        app.ctl(&["stop"]);
        for (name, events) in [
            ("methods", "methods+threads"),
            ("gc", "gc+monitors"),
            ("alloc", "alloc"),
            ("again", "methods+threads+gc+monitors+alloc+jit+cpu"),
        ] {
            let file = format!("file={}", app.text(name));
            app.ctl(&["start", &file, &format!("events={events}")]);
            app.ctl(&["gc"]); // creates new allocation areas, too
            app.work();
            app.ctl(&["stop"]);
            app.work();
            app.ctl(&["gc"]);
        }
        let (folder, output) = app.end();
        let read = |name: &str| rounds(&folder.path().join(name), &output);
        // Calls, collections, monitors, objects.
        let has = |name: &str| {
            let (trace, count) = read(name);
            let totals = trace.totals();
            let counts = [count, trace.collections, totals.monitors, totals.objects];
            counts.map(|n| n > 0)
        };
        assert_eq!(has("methods"), [true, false, false, false]);
        assert_eq!(has("gc"), [false, true, true, false]);
        assert_eq!(has("alloc"), [false, false, false, true]);
        assert_eq!(has("again"), [true; 4]);
        assert_eq!(read("again").1, 1);
    }
}

/// A trace can request kinds of events that the agent was not loaded for, as far as the JVM grants
/// them.
#[test]
fn kinds_of_events_come_later() {
    const LATER: &str =
        "methods+threads+gc+alloc+free+monitors+jit+samples+lines+mounts+classes+details";
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=none,events=gc,server=enabled");
        app.work();
        for (kind, why) in [
            ("exceptions", "when it starts"),
            ("parks", "when it starts"),
            ("cpu", "loaded for events=gc"),
            ("heap", "loaded for events=gc"),
        ] {
            let events = format!("events=gc+{kind}");
            let error = app.try_ctl(&["start", &events]).expect_err("refused");
            assert!(error.contains(kind) && error.contains(why), "{error}");
        }
        for (name, events) in [
            ("all", LATER),
            ("usual", ""),
            ("calls", "methods"),
            ("last", LATER),
        ] {
            let file = format!("file={}", app.text(name));
            let events = format!("events={events}");
            let words = ["start", &file, "format=binary", &events];
            app.ctl(&words[..if name == "usual" { 3 } else { 4 }]);
            app.ctl(&["gc"]);
            app.work();
            app.ctl(&["stop"]);
        }
        let (folder, output) = app.end();
        for name in ["all", "last"] {
            let (trace, count) = rounds(&folder.path().join(name), &output);
            let totals = trace.totals();
            assert_eq!(count, 1, "{name}");
            assert!(totals.objects > 0 && totals.monitors > 0 && trace.collections > 0);
            let work = trace.calls["harness.Attached.work(I)I"];
            let attempts = trace.calls["harness.Attached.attempt()V"];
            assert_eq!(work, 21 * attempts);
        }
        let (usual, count) = rounds(&folder.path().join("usual"), &output);
        assert_eq!((count, usual.calls.len()), (0, 0));
        assert!(usual.collections > 0 && usual.totals().objects == 0);
        let (calls, count) = rounds(&folder.path().join("calls"), &output);
        assert_eq!((count, calls.collections), (1, 0));
    }
}
