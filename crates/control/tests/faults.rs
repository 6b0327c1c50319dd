//! Clients that are broken, slow, too many, or of another user do not disturb the agent and other
//! clients.

mod common;

use common::{Fake, LONG, Served, call, next_notice, start, take_stream};
use jtrail_control::frame::{FrameKind, encode};
use jtrail_control::*;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn served() -> Served {
    Served::new(Settings::default())
}

#[test]
fn who_goes_away_in_mid_stream_harms_nobody() {
    let served = served();
    let mut other = served.client();
    call(&mut other, Command::Status).expect("connected");
    let mut client = served.client();
    take_stream(&mut client);
    call(&mut client, start()).expect("started");
    assert!(matches!(next_notice(&mut other), Notice::TraceStarted(_)));
    drop(client);
    let Notice::TraceEnded { reason, .. } = next_notice(&mut other) else {
        panic!("no end");
    };
    assert_eq!(reason, EndReason::StreamLost);
    let Notice::StreamLost { message } = next_notice(&mut other) else {
        panic!("not lost");
    };
    assert!(
        message.starts_with("the client that had the data stream: "),
        "{message}"
    );
    take_stream(&mut other);
    call(&mut other, start()).expect("started");
    call(&mut other, Command::Stop).expect("stopped");
}

#[test]
fn who_never_reads_is_cut_off() {
    let patience = Duration::from_millis(200);
    let served = Served::new(Settings::default().with_patience(patience));
    let mut other = served.client();
    let mut client = served.client();
    take_stream(&mut client);
    client.send(start()).expect("sent");
    let begun = Instant::now();
    // Other clients are served in the meantime.
    while begun.elapsed() < Duration::from_millis(100) {
        call(&mut other, Command::Status).expect("an answer");
    }
    loop {
        match next_notice(&mut other) {
            Notice::StreamLost { message } => {
                assert!(
                    message.ends_with("it takes its data too slowly"),
                    "{message}"
                );
                break;
            }
            Notice::TraceStarted(_) | Notice::TraceEnded { .. } => {}
            notice => panic!("{notice:?}"),
        }
    }
    assert!(begun.elapsed() < LONG);
    take_stream(&mut other);
}

#[test]
fn who_never_reads_answers_is_not_listened_to() {
    let served = served();
    let mut socket = UnixStream::connect(&served.socket).expect("connected");
    socket
        .set_write_timeout(Some(Duration::from_millis(300)))
        .expect("a time");
    let mut frame = Vec::new();
    encode(FrameKind::Command, b"<status/>", &mut frame);
    let many = frame.repeat(1_000);
    let mut sent = 0;
    // The client's commands are not read while it does not read the answers.
    while let Ok(n) = socket.write(&many) {
        sent += n;
        assert!(sent < 64 << 20);
    }
    let mut other = served.client();
    call(&mut other, Command::Status).expect("others are served");
    // When the client reads, all its commands are executed.
    let mut decoder = jtrail_control::frame::Decoder::for_client();
    let mut piece = vec![0; 64 << 10];
    let mut answers = 0;
    while answers < sent / frame.len() {
        let n = socket.read(&mut piece).expect("more");
        assert!(n > 0, "{answers} answers");
        decoder.feed(&piece[..n]);
        while decoder.next_frame().expect("frames").is_some() {
            answers += 1;
        }
    }
}

/// Another user's process that connects is refused even if the modes allow it.
#[test]
fn other_users_are_refused() {
    use jtrail_testkit::{STRANGER, ask_as_stranger};
    use std::os::unix::fs::PermissionsExt;
    let served = served();
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("ours");
    };
    mode(served.folder.path(), 0o755);
    mode(&served.socket, 0o666);
    for _ in 0..3 {
        let Some(answer) = ask_as_stranger(&served.socket) else {
            return;
        };
        assert_eq!(answer, "b''");
    }
    call(&mut served.client(), Command::Status).expect("root is served");
    let log = served.log.lock().expect("no panic").clone();
    assert_eq!(
        log,
        [format!(
            "a connection of the user with number {STRANGER} was refused"
        )]
    );
}

/// A child process of the program inherits none of the sockets.
#[test]
fn children_do_not_hold_the_sockets() {
    let served = served();
    let mut client = served.client();
    call(&mut client, Command::Status).expect("connected");
    let mut child = std::process::Command::new("ls");
    let output = child
        .args(["-l", "/proc/self/fd"])
        .stdin(std::process::Stdio::null())
        .output();
    let listed = String::from_utf8(output.expect("ls").stdout).expect("UTF-8");
    assert!(
        listed.contains("/dev/null") && !listed.contains("socket:"),
        "{listed}"
    );
}

/// Sends bytes, and returns everything that arrives until the connection ends.
fn answers(served: &Served, bytes: &[u8]) -> String {
    let mut socket = UnixStream::connect(&served.socket).expect("connected");
    socket.set_read_timeout(Some(LONG)).expect("a time");
    let _ = socket.write_all(bytes); // the connection may have ended already
    let mut answers = Vec::new();
    let _ = socket.read_to_end(&mut answers); // a reset also ends it
    String::from_utf8_lossy(&answers).into_owned()
}

#[test]
fn garbage_is_answered_and_the_connection_ends() {
    let served = served();
    for (bytes, problem) in [
        (
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            "JT is missing in the frame at byte 0",
        ),
        (b"JT\x03\0\0\0\0\0", "kind 3 is not expected"),
        (b"JT\x01\x07", "the fourth byte is 7"),
        (b"JT\x01\0\0\0\0\x40", "1073741824 bytes for a command"),
        (
            b"JT\x01\0\x09\0\0\0<status/>garbage",
            "JT is missing in the frame at byte 17",
        ),
    ] {
        let found = answers(&served, bytes);
        assert!(
            found.contains("<error code=\"frame\">") && found.contains(problem),
            "{found}"
        );
    }
    let found = answers(&served, &vec![0; 8 << 20]);
    assert!(found.contains("JT is missing"), "{found}");
    assert_eq!(served.called(), Vec::<String>::new());
}

#[test]
fn wrong_commands_are_answered_and_the_connection_goes_on() {
    let served = served();
    let mut socket = UnixStream::connect(&served.socket).expect("connected");
    socket.set_read_timeout(Some(LONG)).expect("a time");
    let bombs = [
        "<a>".repeat(20_000),
        format!("<a{}/>", " b='1'".repeat(9_000)),
        "<!DOCTYPE l [<!ENTITY a 'a'><!ENTITY b '&a;&a;'>]><mark text='&b;'/>".to_owned(),
        "<stop id='9' x=''/>".to_owned(),
        "<stop>\u{1}</stop>".to_owned(),
        String::new(),
    ];
    for bomb in &bombs {
        let mut frame = Vec::new();
        encode(FrameKind::Command, bomb.as_bytes(), &mut frame);
        socket.write_all(&frame).expect("sent");
    }
    let mut frame = Vec::new();
    encode(FrameKind::Command, b"\xff\xfe<stop/>", &mut frame);
    encode(FrameKind::Command, b"<status/>", &mut frame);
    socket.write_all(&frame).expect("sent");
    let mut decoder = jtrail_control::frame::Decoder::for_client();
    let mut replies = Vec::new();
    let mut piece = [0; 4096];
    while replies.len() < bombs.len() + 2 {
        while let Some(frame) = decoder.next_frame().expect("frames") {
            replies.push(Reply::parse(&frame.payload).expect("an answer"));
        }
        if replies.len() < bombs.len() + 2 {
            let n = socket.read(&mut piece).expect("more");
            decoder.feed(&piece[..n]);
        }
    }
    let last = replies.pop().expect("one");
    assert!(matches!(last.answer, Answer::Status(_)));
    for (nth, reply) in replies.iter().enumerate() {
        let Answer::Error(failure) = &reply.answer else {
            panic!("{reply:?}");
        };
        let expected = if nth == 3 {
            ErrorCode::Invalid
        } else {
            ErrorCode::Malformed
        };
        assert_eq!(failure.code, expected, "{failure}");
        assert_eq!(reply.id.as_deref(), (nth == 3).then_some("9"));
    }
}

#[test]
fn half_a_command_is_not_waited_for() {
    let served = Served::new(Settings::default().with_frame_time(Duration::from_millis(100)));
    let begun = Instant::now();
    let found = answers(&served, b"JT\x01\0\x09\0\0\0<sta");
    assert!(
        found.contains("the rest of a frame did not come within 100ms"),
        "{found}"
    );
    assert!(begun.elapsed() < LONG);
    // Sending single bytes within the time limit is slow, but correct.
    let mut socket = UnixStream::connect(&served.socket).expect("connected");
    for byte in b"JT\x01\0\x07\0\0\0<stop/>" {
        socket.write_all(&[*byte]).expect("sent");
    }
    let mut answer = [0; 8];
    socket.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer[..4], b"JT\x02\0");
}

/// A client needs a second for each byte. Not the time for a byte is limited, but the time for a
/// whole frame.
#[test]
fn one_byte_a_second() {
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);
    impl Wire for Kept {
        fn send(&self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").extend(bytes);
            Ok(bytes.len())
        }

        fn wait(&self, _: Duration) -> io::Result<()> {
            Ok(())
        }

        fn close(&self) {}
    }
    const HALF: Duration = Duration::from_millis(500);
    let folder = tempfile::tempdir().expect("a folder");
    let fake = Fake::new(folder.path(), Notifier::default());
    let mut server = Server::new(fake, Settings::default(), Notifier::default());
    let kept = Kept::default();
    let id = server.connect(Box::new(kept.clone())).expect("a client");
    let mut now = Instant::now();
    // The last byte of the second command arrives 30 s after the first one.
    for (command, seconds, expected) in [
        ("<status/>", 17, "<status state=\"idle\""),
        ("<mark text=\"31 bytes\"/>", 31, "<error code=\"state\">"),
        ("<status/>", 17, "<status state=\"idle\""),
        (
            "<mark text=\"32 bytes.\"/>",
            31,
            "<error code=\"frame\"><message>the rest of a frame did not come within 30s<",
        ),
    ] {
        let mut frame = Vec::new();
        encode(FrameKind::Command, command.as_bytes(), &mut frame);
        let mut taken = 0;
        for byte in frame {
            if !server.wants_input(id) {
                break;
            }
            assert!(kept.0.lock().expect("no panic").is_empty(), "{command}");
            server.received(id, &[byte], now);
            taken += 1;
            for _ in 0..2 {
                server.tick(now);
                now += HALF;
            }
        }
        assert_eq!(taken, seconds, "{command}");
        let answer = std::mem::take(&mut *kept.0.lock().expect("no panic"));
        let answer = String::from_utf8_lossy(&answer[8..]).into_owned();
        assert!(answer.starts_with(expected), "{command}: {answer}");
    }
    assert!(!server.wants_input(id), "the last one ends the connection");
}

#[test]
fn two_hundred_connections_at_once() {
    let served = served();
    let mut sockets: Vec<UnixStream> = (0..200)
        .map(|_| UnixStream::connect(&served.socket).expect("connected"))
        .collect();
    let mut frame = Vec::new();
    encode(FrameKind::Command, b"<status/>", &mut frame);
    let (mut answered, mut refused) = (0, 0);
    for socket in &mut sockets {
        socket.set_read_timeout(Some(LONG)).expect("a time");
        let _ = socket.write_all(&frame); // the server may have closed the connection
        let mut answer = [0; 40];
        let n = socket.read(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer[8..n]);
        match answer {
            a if a.starts_with("<status state=\"idle\"") => answered += 1,
            a if a.starts_with("<error code=\"busy\">") => refused += 1,
            a => panic!("{a}"),
        }
    }
    assert_eq!((answered, refused), (64, 136));
    drop(sockets);
    let mut client = served.client();
    // The service may not have noticed yet that all have disconnected.
    let end = Instant::now() + LONG;
    while call(&mut client, Command::Status).is_err() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
        client = served.client();
    }
}

#[test]
fn a_removed_folder_does_no_harm() {
    let served = served();
    let mut client = served.client();
    call(&mut client, Command::Status).expect("connected");
    std::fs::remove_dir_all(served.folder.path()).expect("ours");
    call(&mut client, Command::Status).expect("still there");
}

#[test]
fn last_words_are_not_waited_for() {
    struct Stuck(Arc<AtomicBool>);
    impl Wire for Stuck {
        fn send(&self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }

        fn wait(&self, _: Duration) -> io::Result<()> {
            Ok(())
        }

        fn close(&self) {
            self.0.store(true, SeqCst);
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let fake = Fake::new(folder.path(), Notifier::default());
    let mut server = Server::new(fake, Settings::default(), Notifier::default());
    let closed = Arc::new(AtomicBool::new(false));
    let wire = Box::new(Stuck(Arc::clone(&closed)));
    let id = server.connect(wire).expect("the first client");
    let now = Instant::now();
    server.received(id, b"garbage", now);
    assert!(!server.wants_input(id) && server.has_output(id));
    for (seconds, expected) in [(0, false), (4, false), (6, true)] {
        server.tick(now + Duration::from_secs(seconds));
        assert_eq!(closed.load(SeqCst), expected, "{seconds}");
    }
}
