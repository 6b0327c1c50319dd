//! Contended monitors, waits and parks with their stacks, compared with what the programs know.

use crate::support::one_version;
use crate::support::truth::{everywhere, traced, with_each_collector};
use jtrail_testkit::Jdk;

#[test]
fn monitors() {
    with_each_collector("harness.Monitors", "+monitors", &["1"]);
    with_each_collector("harness.Waits", "+monitors", &["1"]);
}

#[test]
fn virtual_monitors() {
    everywhere("harness.VirtualMonitors", "+monitors+exceptions");
}

#[test]
fn parks() {
    with_each_collector("harness.Parks", "+parks", &[]);
}

/// Stacks have as many frames as requested, or all that exist. A throw always has its innermost
/// frame.
#[test]
fn stacks() {
    const PROGRAMS: [(&str, &[&str]); 4] = [
        (
            "harness.Monitors",
            &["contended enter", "contended entered"],
        ),
        ("harness.Waits", &["wait", "waited"]),
        ("harness.Parks", &["park"]),
        ("harness.Throws", &["throw"]),
    ];
    for jdk in Jdk::require(&one_version()) {
        for (name, words) in PROGRAMS {
            for (option, depth) in [("", 16), (",stackdepth=0", 0), (",stackdepth=9", 9)] {
                let options = format!("format=binary,events=monitors+parks+exceptions{option}");
                let (output, facts) = traced(&jdk, name, &options, |run| match name {
                    "harness.Parks" => run,
                    _ => run.arg("1"),
                });
                for word in words {
                    let least = usize::from(*word == "throw");
                    let longest = facts.stacks.longest[word];
                    assert_eq!(longest, depth.max(least), "{word}\n{output}");
                }
                if depth > 0 {
                    let differences = facts.stacks.differences(&output.truth(), depth);
                    assert!(differences.is_empty(), "{differences:#?}\n{output}");
                }
            }
        }
    }
}
