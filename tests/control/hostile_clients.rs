//! Slow, broken or hostile clients harm neither the program nor its trace.

use crate::support::control::{ControlledRun, rounds, send};
use crate::support::{Trace, few_versions, one_version};
use jtrail_control::frame::{FrameKind, encode};
use jtrail_testkit::Jdk;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a client may read nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// The durations of rounds of the program's work.
struct Rounds(Vec<Duration>);

impl Rounds {
    /// Makes the program work until `is_enough` returns true.
    fn of(app: &mut ControlledRun, mut is_enough: impl FnMut() -> bool) -> Self {
        let mut all = Vec::new();
        while !is_enough() {
            let round = Instant::now();
            app.work();
            all.push(round.elapsed());
        }
        all.sort();
        Self(all)
    }

    fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    fn longest(&self) -> Duration {
        self.0[self.0.len() - 1]
    }
}

/// Connects a client and begins a trace.
fn begin_trace(app: &ControlledRun) -> UnixStream {
    let mut client = UnixStream::connect(app.path("socket")).expect("connected");
    let format = "<setOutputFormat><format>xml</format></setOutputFormat>";
    send(&mut client, &[format, "<stream/>", "<start/>"]);
    app.wait_for("recording");
    client
}

/// Measures rounds while a client reads all of its trace. Then measures rounds in the same JVM with
/// a client that reads nothing, until some time after that client is disconnected.
fn rounds_with_clients(jdk: &Jdk, overflow: &str) -> (Rounds, Rounds) {
    let options =
        format!("format=none,server=enabled,events=methods,buffer=1m,overflow={overflow}");
    let mut app = ControlledRun::new(jdk, &options);
    let reader = begin_trace(&app);
    let mut all = reader.try_clone().expect("a descriptor");
    let reading = std::thread::spawn(move || std::io::copy(&mut all, &mut std::io::sink()));
    let many = |count: usize| {
        let mut left = count;
        move || left.checked_sub(1).map(|less| left = less).is_none()
    };
    Rounds::of(&mut app, many(50)); // warms the JVM's compilers up
    let with_reader = Rounds::of(&mut app, many(101));
    app.ctl(&["stop"]);
    reader.shutdown(Shutdown::Both).expect("connected");
    let taken = reading.join().expect("no panic").expect("it was read");
    assert!(taken > 0);
    app.wait_for("stream free");

    let stuck = begin_trace(&app);
    let begun = Instant::now();
    let mut cut_off = None;
    let with_stuck = Rounds::of(&mut app, || {
        assert!(begun.elapsed() < PATIENCE * 6, "it is never cut off");
        if cut_off.is_none() && is_closed(&stuck) {
            cut_off = Some(Instant::now());
        }
        cut_off.is_some_and(|at: Instant| at.elapsed() > Duration::from_millis(500))
    });
    app.wait_for("idle");
    // Another client may connect, and gets everything.
    let file = format!("file={}", app.text("after"));
    app.ctl(&["start", &file, "format=binary"]);
    app.work();
    app.ctl(&["stop"]);
    let (folder, output) = app.end();
    let after = folder.path().join("after");
    match overflow {
        "block" => assert_eq!(rounds(&after, &output).1, 1),
        // On a busy machine, a small buffer may overflow once more.
        _ => {
            let trace = Trace::read(&after).expect("it is sound");
            assert!(trace.faults.is_empty(), "{:?}", trace.faults);
        }
    }
    (with_reader, with_stuck)
}

/// Returns true if the agent has closed the connection: sending fails then.
fn is_closed(mut socket: &UnixStream) -> bool {
    let mut frame = Vec::new();
    encode(FrameKind::Command, b"<status/>", &mut frame);
    socket.write_all(&frame).is_err()
}

/// If events may be dropped, the program is as fast as with a client that reads: in the median, and
/// in every round.
#[test]
fn a_client_that_never_reads_does_not_slow_the_program_down() {
    for jdk in Jdk::require(&one_version()) {
        let (with_reader, with_stuck) = rounds_with_clients(&jdk, "drop");
        let (usual, now) = (with_reader.median(), with_stuck.median());
        assert!(now <= usual * 3, "{now:?} instead of {usual:?}, {jdk}");
        let longest = with_stuck.longest();
        assert!(longest < PATIENCE / 3, "{longest:?}, {jdk}");
    }
}

/// A flight recorder sends no data that a client must read. The program is as fast as without a
/// client, even if a client has sent as many commands as the connection takes, and reads no answer.
#[test]
fn a_client_that_never_reads_does_not_slow_a_flight_recorder_down() {
    for jdk in Jdk::require(&few_versions()) {
        let options = "format=trail,overflow=ring,server=enabled,events=methods,buffer=4m";
        let mut app = ControlledRun::new(&jdk, options);
        let many = |count: usize| {
            let mut left = count;
            move || left.checked_sub(1).map(|less| left = less).is_none()
        };
        Rounds::of(&mut app, many(50)); // warms the JVM's compilers up
        let alone = Rounds::of(&mut app, many(101));
        let mut stuck = UnixStream::connect(app.path("socket")).expect("connected");
        send(&mut stuck, &["<save/>", "<save/>"]);
        stuck.set_nonblocking(true).expect("a socket");
        let mut frame = Vec::new();
        encode(FrameKind::Command, b"<status/>", &mut frame);
        // Sends commands until the agent has read none for a while.
        let mut last = Instant::now();
        while last.elapsed() < Duration::from_secs(1) {
            match stuck.write(&frame) {
                Ok(some) if some == frame.len() => last = Instant::now(),
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{jdk}"),
            }
        }
        let beside = Rounds::of(&mut app, many(101));
        let (usual, now) = (alone.median(), beside.median());
        assert!(now <= usual * 3, "{now:?} instead of {usual:?}, {jdk}");
        assert!(
            beside.longest() < PATIENCE / 3,
            "{:?}, {jdk}",
            beside.longest()
        );
        // Another client's command is carried out.
        app.ctl(&["save", &app.text("other")]);
        let (folder, output) = app.end();
        for name in ["first", "first-2", "other", "first-3"] {
            let (_, count) = rounds(&folder.path().join(name), &output);
            assert!(count > 0 || name != "other", "{name}, {jdk}");
        }
    }
}

/// If no event may be lost, the program waits for the client as long as the agent does, and no
/// longer.
#[test]
fn a_client_that_never_reads_is_waited_for() {
    for jdk in Jdk::require(&one_version()) {
        let (_, with_stuck) = rounds_with_clients(&jdk, "block");
        let longest = with_stuck.longest();
        assert!(
            longest > PATIENCE / 2,
            "{longest:?}: it was not stuck, {jdk}"
        );
        assert!(longest < PATIENCE + PATIENCE / 2, "{longest:?}, {jdk}");
    }
}

/// Garbage, truncated frames, and too many connections at once, while a trace is recorded: no
/// effect on the trace or the program.
#[test]
fn hostile_clients() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+threads");
        let connect = || UnixStream::connect(app.path("socket")).expect("connected");
        let mut half = connect();
        half.write_all(b"JT\x01\0\x09\0\0\0<sta").expect("sent");
        let mut garbage = connect();
        let _ = garbage.write_all(&vec![0xff; 1 << 20]); // the agent may close it meanwhile
        let mut huge = connect();
        huge.write_all(b"JT\x01\0\0\0\0\x40").expect("sent"); // a GiB
        let mut many: Vec<UnixStream> = (0..200).map(|_| connect()).collect();
        for socket in &mut many {
            let _ = socket.write_all(b"JT\x01\0\x09\0\0\0<status/>"); // may be closed
        }
        app.work();
        for socket in [&mut garbage, &mut huge] {
            let mut said = Vec::new();
            let _ = socket.read_to_end(&mut said); // a reset ends the connection, too
            assert!(said.is_empty() || String::from_utf8_lossy(&said).contains("code=\"frame\""));
        }
        drop((many, half));
        app.wait_until_served();
        assert!(app.ctl(&["status"]).contains("recording"));
        app.work();
        let (folder, output) = app.end();
        assert_eq!(rounds(&folder.path().join("first"), &output).1, 2);
        assert!(!output.stderr.contains("jtrail: "), "{output}");
    }
}

/// The socket's folder is replaced while the program runs. Connected clients stay connected, and
/// the program ends as usual.
#[test]
fn the_sockets_folder_is_removed() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(&jdk, "format=binary,events=methods+threads");
        let mut client = UnixStream::connect(app.path("socket")).expect("connected");
        let moved = app.path("elsewhere");
        std::fs::rename(app.path("socket"), moved).expect("ours");
        std::fs::write(app.path("socket"), "somebody else's").expect("written");
        app.work();
        send(&mut client, &["<status/>"]);
        let mut answer = [0; 30];
        client.read_exact(&mut answer).expect("an answer");
        assert!(String::from_utf8_lossy(&answer).contains("<status"));
        let (folder, output) = app.end();
        assert_eq!(rounds(&folder.path().join("first"), &output).1, 1);
        let left = std::fs::read_to_string(folder.path().join("socket")).expect("it stays");
        assert_eq!(left, "somebody else's");
    }
}

/// A process that the program starts inherits none of the agent's descriptors.
#[test]
fn descriptors_end_with_exec() {
    for jdk in Jdk::require(&few_versions()) {
        let app = ControlledRun::new(&jdk, "format=binary,events=methods+samples");
        let client = UnixStream::connect(app.path("socket")).expect("connected");
        app.ctl(&["status"]);
        let process = format!("/proc/{}", app.pid());
        let mut sockets = 0;
        for fd in std::fs::read_dir(format!("{process}/fd")).expect("it runs") {
            let fd = fd.expect("it runs");
            let Ok(target) = std::fs::read_link(fd.path()) else {
                continue; // closed meanwhile
            };
            let target = target.display().to_string();
            let is_ours = target.starts_with("socket:") || target.ends_with("/first");
            if !is_ours {
                continue;
            }
            let info = format!("{process}/fdinfo/{}", fd.file_name().display());
            let Ok(info) = std::fs::read_to_string(info) else {
                continue; // closed meanwhile
            };
            sockets += 1;
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = u32::from_str_radix(flags.expect("flags").trim(), 8).expect("octal");
            const CLOSE_ON_EXEC: u32 = 0o2_000_000;
            assert!(flags & CLOSE_ON_EXEC != 0, "{target}: {info}");
        }
        // The listener, both ends of the client's connection, the pair that wakes the thread, the
        // trace.
        assert!(sockets >= 5, "{sockets}");
        drop(client);
        app.end();
    }
}
