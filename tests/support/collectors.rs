//! Determines which collectors a JVM has. Compares the JVM's own answer with what is known of its
//! version.

use crate::support::is_thorough;
use jtrail_testkit::Jdk;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

/// Answers of JVMs, by path of the JVM and arguments. They are kept because many tests ask for the
/// same answer.
static ANSWERS: LazyLock<Mutex<HashMap<(PathBuf, String), bool>>> = LazyLock::new(Mutex::default);

/// Returns true if the JVM has the collector that these arguments select. A JVM that lacks it
/// refuses the arguments, or prints that it ignores one.
///
/// # Panics
/// If the JVM fails to start for another reason, or its answer differs from what is known of its
/// version.
pub(crate) fn has(jdk: &Jdk, arguments: &[&str]) -> bool {
    let asked = (jdk.java.clone(), arguments.join(" "));
    let known = ANSWERS
        .lock()
        .expect("no test fails here")
        .get(&asked)
        .copied();
    known.unwrap_or_else(|| {
        let has = asked_for(jdk, arguments);
        ANSWERS
            .lock()
            .expect("no test fails here")
            .insert(asked, has);
        has
    })
}

fn asked_for(jdk: &Jdk, arguments: &[&str]) -> bool {
    let output = Command::new(&jdk.java)
        .arg("-XX:+UnlockExperimentalVMOptions")
        .args(arguments)
        .arg("-version")
        .output()
        .expect("java starts");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let refusals = [
        "not supported",
        "Unrecognized VM option",
        "Unknown -XX:ShenandoahGCMode",
        "Ignoring option",
    ];
    let is_refused = refusals.iter().any(|refusal| text.contains(refusal));
    let what = format!("{arguments:?}, JDK {}: {text}", jdk.feature);
    assert!(output.status.success() || is_refused, "{what}");
    assert_eq!(
        is_expected(jdk, arguments, is_refused),
        !is_refused,
        "{what}"
    );
    !is_refused
}

/// Returns true if a JVM of this version should have the collector. A build may lack Shenandoah, so
/// for this collector the JVM's answer counts.
fn is_expected(jdk: &Jdk, arguments: &[&str], is_refused: bool) -> bool {
    let has = |argument| arguments.contains(&argument);
    let is_of_its_time = match jdk.feature {
        ..21 => !has("-XX:+ZGenerational") && !has("-XX:ShenandoahGCMode=generational"),
        21..24 => !has("-XX:ShenandoahGCMode=generational"),
        24.. => !has("-XX:+ZGenerational"),
    };
    is_of_its_time && !(has("-XX:+UseShenandoahGC") && is_refused)
}

/// The collectors that a JVM may have.
pub(crate) const NAMES: [&str; 5] = ["Serial", "Parallel", "G1", "Z", "Shenandoah"];

fn argument(name: &str) -> String {
    format!("-XX:+Use{name}GC")
}

/// Returns the arguments for all collectors that the JVM has.
pub(crate) fn all(jdk: &Jdk) -> Vec<String> {
    NAMES
        .map(argument)
        .into_iter()
        .filter(|argument| has(jdk, &[argument]))
        .collect()
}

/// Returns pairs of a JVM and the argument for one of these collectors that the JVM has. If tests
/// are thorough, all such pairs are returned. Otherwise the JVMs take turns: the newest one is
/// tested with the first collector.
pub(crate) fn in_turn(jdks: Vec<Jdk>, names: &[&str]) -> Vec<(Jdk, String)> {
    let (mut found, count) = (Vec::new(), jdks.len());
    for (age, jdk) in jdks.into_iter().rev().enumerate() {
        let there = all(&jdk);
        for (number, name) in names.iter().enumerate() {
            let argument = argument(name);
            let is_its_turn = is_thorough() || number % count == age;
            if is_its_turn && there.contains(&argument) {
                found.push((jdk.clone(), argument));
            }
        }
    }
    found
}
