//! The command line in a process of its own, with bounded memory and time.

use super::{Done, LIMIT};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

/// Name of the environment variable with the arguments of [`child`], one per line.
const ARGUMENTS: &str = "JTRAIL_TEST_BAD_INPUT";

/// Runs the command line in a process of its own. The process prints its peak memory at the end.
#[test]
#[ignore = "started by other tests, in a process of its own"]
fn child() {
    let arguments = env::var(ARGUMENTS).expect("set by the test that starts this one");
    let arguments = ["jtrail"]
        .into_iter()
        .chain(arguments.lines())
        .map(OsString::from);
    println!(); // the test program's output lacks a line feed
    let exit = jtrail_cli::main_with(arguments, &mut io::stdout(), &mut io::stderr());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|l| l.starts_with("VmHWM:"));
    eprintln!("\n{}", peak.unwrap_or("no VmHWM"));
    let code = (0..=u8::MAX)
        .find(|c| ExitCode::from(*c) == exit)
        .expect("a code");
    std::process::exit(i32::from(code));
}

/// Address space of the process in KiB.
const MAX_VIRTUAL_KB: u64 = 400 << 10;

/// Runs a command line in a process of its own with bounded memory. Returns its result, and its
/// peak memory in KiB.
pub(super) fn process(what: &str, args: &[&str], stdin: Option<&Path>) -> (Done, u64) {
    let folder = jtrail_testkit::temp_dir();
    let file = |name: &str| File::create(folder.path().join(name)).expect("created");
    let mut command = Command::new("bash");
    command
        .args([
            "-c",
            &format!("ulimit -v {MAX_VIRTUAL_KB}; exec \"$0\" \"$@\""),
        ])
        .arg(env::current_exe().expect("this program"))
        .args([
            "--exact",
            "bad_input::process::child",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ARGUMENTS, args.join("\n"))
        .stdin(stdin.map_or_else(Stdio::null, |p| File::open(p).expect("there").into()))
        .stdout(file("out"))
        .stderr(file("err"));
    let mut child = command.spawn().expect("bash is there");
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if begin.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("{what}: no end within {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).expect("UTF-8");
    let (out, err) = (text("out"), text("err"));
    let peak = err.lines().find_map(|l| {
        l.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    });
    let code = status.code().and_then(|c| u8::try_from(c).ok());
    let (Some(code), Some(peak)) = (code, peak) else {
        panic!("{what}: {status}\n{err}");
    };
    (Done { code, out, err }, peak)
}
