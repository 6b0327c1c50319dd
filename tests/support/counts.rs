//! Compares the calls of each method with what the program counted.

use super::Traced;

pub(crate) fn assert_counts(run: &Traced, packages: &[&str]) {
    let Traced { output, trace } = run;
    output.assert_exit(0);
    trace.assert_sound(output);
    // Classes that the JVM generates for lambdas are hidden. Only the JVM's own events show their
    // methods.
    let hidden: Vec<&str> = trace
        .calls
        .keys()
        .filter(|key| key.contains("$$"))
        .map(String::as_str)
        .collect();
    output
        .counts()
        .assert_matches(&trace.calls, &trace.uninstrumented, packages, &hidden);
}
