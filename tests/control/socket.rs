//! The location of the socket, and access to it.

use crate::support::attach::work;
use crate::support::cli::{jtrail, outcome};
use crate::support::compile::compile;
use crate::support::control::{ControlledRun, rounds};
use crate::support::programs::copy_classes;
use crate::support::{FILTER, agent, few_versions, program};
use jtrail_control::{Command as Ask, Incoming, Notice};
use jtrail_testkit::{Jdk, Run, STRANGER, ask_as, ask_as_stranger, give_to_other_user, temp_dir};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Name of the environment variable by which [`ctl_by_process_id`] gets the process id.
const PID: &str = "JTRAIL_TEST_PID";
const RUNTIME: &str = "XDG_RUNTIME_DIR";

fn mode(path: &Path) -> u32 {
    path.metadata().expect("there").mode() & 0o7777
}

/// Without `control=`, the socket is in the user's runtime directory, named by the process id, and
/// clients look for it there.
#[test]
fn the_usual_socket() {
    for jdk in Jdk::require(&few_versions()) {
        let runtime = temp_dir();
        let file = runtime.path().join("trace");
        let options = format!(
            "format=binary,server=enabled,{FILTER},file={}",
            file.display()
        );
        let run = program(&jdk, "harness.Attached").env(RUNTIME, runtime.path());
        let mut running = run.agent(agent(), options).spawn().expect("it starts");
        running.wait_ready();
        let pid = running.pid().to_string();
        let folder = runtime.path().join("jtrail");
        let socket = folder.join(format!("{pid}.sock"));
        let found = socket.symlink_metadata().expect("there");
        assert!(found.file_type().is_socket());
        assert_eq!((mode(&folder), mode(&socket)), (0o700, 0o600));
        // The client's environment matters, so the client is a process of its own.
        let child = std::env::current_exe().expect("a path");
        let test = [
            "--exact",
            "--nocapture",
            "control::socket::ctl_by_process_id",
        ];
        let child = test
            .iter()
            .fold(Run::native(child, "--ignored"), |run, arg| run.arg(arg));
        let child = child.env(RUNTIME, runtime.path()).env(PID, &pid).output();
        child.assert_exit(0);
        for part in ["recording", &pid, &file.display().to_string()] {
            assert!(child.stdout.contains(part), "{child}");
        }
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        assert!(folder.exists() && !socket.exists());
    }
}

#[test]
#[ignore = "what another test starts as a process of its own"]
fn ctl_by_process_id() {
    let Ok(pid) = std::env::var(PID) else { return };
    let (code, out, err) = jtrail(&["ctl", &pid, "status"]);
    assert_eq!(code, ExitCode::SUCCESS, "{err}");
    println!("{out}");
}

/// Another user's process is refused, even if the file modes let it connect. This is reported once.
#[test]
fn other_users_are_refused() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+threads");
        for (name, mode) in [(".", 0o755), ("socket", 0o666)] {
            fs::set_permissions(app.path(name), PermissionsExt::from_mode(mode)).expect("ours");
        }
        for _ in 0..3 {
            let Some(answer) = ask_as_stranger(&app.path("socket")) else {
                return;
            };
            assert_eq!(answer, "b''", "JDK {}", jdk.feature);
        }
        app.work();
        assert!(app.ctl(&["status"]).contains("recording"));
        let (folder, output) = app.end();
        assert_eq!(rounds(&folder.path().join("first"), &output).1, 1);
        let said: Vec<&str> = output
            .stderr
            .lines()
            .filter(|line| line.starts_with("jtrail: "))
            .collect();
        let expected =
            format!("jtrail: a connection of the user with number {STRANGER} was refused");
        assert_eq!(said, [expected], "{output}");
    }
}

/// The agent in a process of a user other than root serves that user and root, and nobody else.
/// Root may attach the agent there.
#[test]
fn the_agent_of_another_user() {
    let mut tried = 0;
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let path = |name: &str| folder.path().join(name);
        let text = |name: &str| path(name).to_str().expect("text").to_owned();
        fs::copy(agent(), path("libjtrail.so")).expect("ours");
        copy_classes(&jdk, &path("classes"));
        if give_to_other_user(folder.path()).is_none() {
            return;
        }
        let events = "events=methods+threads";
        let options = format!(
            "format=binary,{events},{FILTER},control={},file={}",
            text("socket"),
            text("first")
        );
        let run = Run::new(&jdk, "harness.Attached")
            .class_path(path("classes"))
            .dir(folder.path())
            .user(STRANGER);
        let traced = run.clone().agent(path("libjtrail.so"), options);
        let mut running = match traced.spawn() {
            Ok(running) => running,
            // Other users may lack access to the folder of the JDK.
            Err(error) => {
                eprintln!("SKIPPED: JDK {} of another user: {error}", jdk.feature);
                continue;
            }
        };
        running.wait_ready();
        for (name, mode) in [(".", 0o755), ("socket", 0o666)] {
            fs::set_permissions(path(name), PermissionsExt::from_mode(mode)).expect("root may");
        }
        assert!(ask_as(STRANGER, &path("socket")).contains("JT"));
        assert_eq!(ask_as(STRANGER + 1, &path("socket")), "b''");
        let status = outcome(&["ctl", &text("socket"), "status"]).expect("root is served");
        assert!(status.contains("recording"), "{status}");
        let output = work(running, 1);
        assert_eq!(rounds(&path("first"), &output).1, 1);
        assert!(output.stderr.contains("was refused"), "{output}");

        let mut running = run.spawn().expect("it starts again");
        running.wait_ready();
        let [pid, library, second] = [
            running.pid().to_string(),
            text("libjtrail.so"),
            text("second"),
        ];
        let attached = ["attach", &pid, "--agent", &library, "--format", "binary"];
        let rules = ["--exclude", "harness.Expect*", "--file", &second];
        outcome(&[&attached[..], &rules].concat()).expect("root may attach");
        let output = work(running, 2);
        assert_eq!(rounds(&path("second"), &output).1, 2);
        assert_eq!(path("second").metadata().expect("there").uid(), STRANGER);
        tried += 1;
    }
    assert!(tried > 0, "no JVM can be run by another user");
}

/// The socket's folder is removed with all its contents. Connected clients stay connected, and the
/// agent detaches as usual.
#[test]
fn the_folder_is_removed() {
    for jdk in Jdk::require(&few_versions()) {
        for detaches in [true, false] {
            let options = "format=binary,events=methods+threads";
            let mut app = ControlledRun::with_socket(&jdk, options, "own/socket");
            let mut client = app.client();
            let nothing = |_| Ok(());
            client.call(Ask::Status, nothing).expect("connected");
            fs::remove_dir_all(app.path("own")).expect("ours");
            app.work();
            client.call(Ask::Status, nothing).expect("still there");
            app.try_ctl(&["status"]).expect_err("nobody finds it");
            app.work();
            if detaches {
                client.call(Ask::Detach, nothing).expect("it leaves");
                app.work(); // in no trace
            }
            let (folder, output) = app.end();
            let (_, count) = rounds(&folder.path().join("first"), &output);
            assert_eq!(count, 2, "{output}");
            assert!(!output.stderr.contains("jtrail: "), "{output}");
            assert!(!folder.path().join("own").exists());
            if !detaches {
                let last = loop {
                    match client.receive(Duration::from_secs(60)).expect("in time") {
                        Some(Incoming::Notice(Notice::Ending(reason))) => break reason,
                        other => assert!(other.is_some(), "no farewell"),
                    }
                };
                assert_eq!(last.to_string(), "shutdown");
            }
        }
    }
}

/// Processes that the program starts inherit neither the sockets nor the trace, by either launch
/// mechanism.
#[test]
fn children_hold_nothing_of_ours() {
    let classes = temp_dir();
    compile("Children", include_str!("Children.java"), classes.path());
    for jdk in Jdk::require(&few_versions()) {
        for mechanism in ["POSIX_SPAWN", "FORK"] {
            let folder = temp_dir();
            let path = |name: &str| folder.path().join(name);
            let options = format!(
                "format=binary,events=methods+samples,file={},control={}",
                path("trace").display(),
                path("socket").display()
            );
            let run = Run::new(&jdk, "Children").class_path(classes.path());
            let run = run.jvm_arg(format!("-Djdk.lang.Process.launchMechanism={mechanism}"));
            let mut running = run.agent(agent(), options).spawn().expect("it starts");
            running.wait_ready();
            let client = UnixStream::connect(path("socket")).expect("connected");
            running.stdin().write_all(b"go\n").expect("it reads");
            running.wait_for("[done]");
            drop(client);
            let output = running.wait().expect("it ends");
            output.assert_exit(0);
            let listed = output.stdout.lines();
            let listed: Vec<&str> = listed.filter_map(|l| l.strip_prefix("child: ")).collect();
            // Two children, each with its standard input, output and error, and the folder.
            let links = listed.iter().filter(|line| line.contains(" -> "));
            assert_eq!(links.count(), 8, "{output}");
            for line in listed {
                let ours = ["socket:", "/trace", "jtrail", "eventfd", "anon_inode"];
                assert!(!ours.iter().any(|word| line.contains(word)), "{output}");
            }
        }
    }
}
