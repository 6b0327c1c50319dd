//! Tests of [`Run`] with real JVMs.

use jtrail_testkit::{Jdk, Output, Run, RunError};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;
use tempfile::TempDir;

const SOURCE: &str = r#"
public class Talk {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "echo":
                System.out.write(System.in.readAllBytes());
                System.out.println();
                System.err.println("env " + System.getenv("TALK"));
                System.err.println("property " + System.getProperty("talk"));
                System.out.println("COUNT Talk.main([Ljava/lang/String;)V 1");
                System.exit(3);
            case "sleep":
                System.out.println("[ready]");
                Thread.sleep(1_000_000);
            case "line":
                System.out.println("[ready]");
                byte[] one = {(byte) System.in.read()};
                System.out.println("got " + new String(one));
                return;
            case "flood":
                byte[] much = new byte[1 << 20];
                System.out.write(much);
                System.err.write(much);
        }
    }
}
"#;

static CLASSES: LazyLock<TempDir> = LazyLock::new(|| {
    // The folder is never removed, because a static is never dropped. So it is created in the
    // build's folder.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = dir.path().join("Talk.java");
    fs::write(&source, SOURCE).unwrap();
    let javac = Jdk::all().into_iter().find_map(|jdk| jdk.javac);
    let mut command = Command::new(javac.expect("a JDK with a compiler"));
    command.args(["--release", "11", "-d"]).arg(dir.path());
    assert!(command.arg(source).status().unwrap().success());
    dir
});

fn talk(jdk: &Jdk, what: &str) -> Run {
    Run::new(jdk, "Talk").class_path(CLASSES.path()).arg(what)
}

#[test]
fn all_that_is_asked_for_arrives() {
    for jdk in Jdk::all() {
        let output = talk(&jdk, "echo")
            .jvm_arg("-Dtalk=a b")
            .env("TALK", "x=y")
            .stdin("from the test")
            .output();
        output.assert_exit(3);
        assert!(output.stdout.starts_with("from the test"), "{output}");
        assert!(output.stderr.contains("env x=y"), "{output}");
        assert!(output.stderr.contains("property a b"), "{output}");
        let counts = output.counts();
        assert_eq!(counts.exact["Talk.main([Ljava/lang/String;)V"], 1);
    }
}

#[test]
fn much_output_and_unread_input_do_not_hang() {
    let run = talk(&Jdk::newest(), "flood").stdin(vec![b'x'; 1 << 20]);
    let output = run.output();
    output.assert_exit(0);
    assert_eq!(
        (output.stdout.len(), output.stderr.len()),
        (1 << 20, 1 << 20)
    );
}

#[test]
fn the_time_limit_kills_and_reports_where_it_hung() {
    let run = talk(&Jdk::newest(), "sleep").timeout(Duration::from_millis(1500));
    let Err(RunError::Timeout(_, output)) = run.try_output() else {
        panic!("it ended by itself");
    };
    assert!(!output.status.success());
    #[cfg(unix)]
    assert!(output.stdout.contains("Talk.main"), "no stacks: {output}");
}

#[test]
fn a_test_can_talk_to_it() {
    let mut running = talk(&Jdk::newest(), "line").spawn().unwrap();
    running.wait_ready();
    running.stdin().write_all(b"Q\n").unwrap();
    let output = running.wait().unwrap();
    output.assert_exit(0);
    assert!(output.stdout.contains("got Q"), "{output}");
}

#[cfg(unix)]
#[test]
fn signals_and_kill() {
    let mut running = talk(&Jdk::newest(), "sleep").spawn().unwrap();
    running.wait_ready();
    running.signal("TERM").unwrap();
    // The JVM handles SIGTERM: it runs its shutdown hooks, and exits with 128 + 15.
    running.wait().unwrap().assert_exit(143);

    let mut running = talk(&Jdk::newest(), "sleep").spawn().unwrap();
    running.wait_ready();
    let output: Output = running.kill().unwrap();
    assert_eq!(output.status.code(), None, "ended by a signal: {output}");
}

#[test]
#[should_panic(expected = "never came")]
fn an_end_before_the_text_is_a_failure() {
    let mut running = talk(&Jdk::newest(), "flood").spawn().unwrap();
    running.wait_for("no such text");
}

#[test]
fn a_missing_java_is_an_error() {
    let mut jdk = Jdk::newest();
    jdk.java = Path::new("/nonexistent/java").to_owned();
    let error = Run::new(&jdk, "Talk").try_output().unwrap_err();
    assert!(matches!(error, RunError::Io(_)), "{error}");
}
