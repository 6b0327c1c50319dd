//! Clients that send more bytes than fit into memory. The process keeps only few of these bytes.
//!
//! These tests are a separate program, because they measure the memory of the whole process.

mod common;

use common::{LONG, Served, call};
use jtrail_control::frame::{Decoder, FrameKind, encode};
use jtrail_control::*;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

/// The number of bytes in each flood.
const FLOOD: usize = 1 << 30;
/// The number of bytes by which the process may grow. It keeps less than 2 MiB for each client.
const GROWTH: u64 = 32 << 20;

/// Returns the process's peak memory in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.expect("a line").trim().trim_end_matches(" kB");
    kib.parse::<u64>().expect("a number") << 10
}

/// Sends batches of frames, [`FLOOD`] bytes in total, and counts the answers, which `is_right`
/// checks.
fn flood(served: &Served, batch: &[u8], is_right: fn(&Answer) -> bool) -> usize {
    let mut socket = UnixStream::connect(&served.socket).expect("connected");
    let mut answers = socket.try_clone().expect("a descriptor");
    answers.set_read_timeout(Some(LONG)).expect("a time");
    thread::scope(|scope| {
        let counted = scope.spawn(move || {
            let mut decoder = Decoder::for_client();
            let mut piece = vec![0; 64 << 10];
            let mut count = 0;
            loop {
                while let Some(frame) = decoder.next_frame().expect("frames") {
                    let reply = Reply::parse(&frame.payload).expect("an answer");
                    match reply.answer {
                        Answer::Done => return count, // the answer to the last command
                        answer => assert!(is_right(&answer), "{answer:?}"),
                    }
                    count += 1;
                }
                let n = answers.read(&mut piece).expect("more");
                assert!(n > 0, "it ends after {count} answers");
                decoder.feed(&piece[..n]);
            }
        });
        for _ in 0..FLOOD / batch.len() {
            socket.write_all(batch).expect("it reads on");
        }
        let mut last = Vec::new();
        encode(FrameKind::Command, b"<forceGc/>", &mut last);
        socket.write_all(&last).expect("it reads on");
        counted.join().expect("no panic")
    })
}

/// Large and small valid commands are all executed, and invalid documents are all answered.
#[test]
fn a_gibibyte_of_frames() {
    let served = Served::new(Settings::default());
    let before = peak();
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    let large = format!("<status><!--{}--></status>", "-x".repeat(32_000));
    for document in [&large, "<status/>", "<status/>"] {
        encode(FrameKind::Command, document.as_bytes(), &mut right);
    }
    let noise: Vec<u8> = (0_u32..65_000)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    encode(FrameKind::Command, &noise, &mut wrong);
    let count = flood(&served, &right, |answer| {
        matches!(answer, Answer::Status(_))
    });
    assert_eq!(count, FLOOD / right.len() * 3);
    let count = flood(
        &served,
        &wrong,
        |answer| matches!(answer, Answer::Error(failure) if failure.code == ErrorCode::Malformed),
    );
    assert_eq!(count, FLOOD / wrong.len());
    assert!(peak() < before + GROWTH, "{before} {}", peak());
}

/// After bytes that are not a frame, nothing more is read from the client. A client may reconnect
/// as often as it likes.
#[test]
fn a_gibibyte_of_garbage() {
    let served = Served::new(Settings::default());
    let garbage = vec![0xff; 1 << 20];
    let before = peak();
    for _ in 0..FLOOD / garbage.len() {
        let mut socket = UnixStream::connect(&served.socket).expect("connected");
        socket.set_read_timeout(Some(LONG)).expect("a time");
        let sent = socket.write_all(&garbage);
        assert!(sent.is_err(), "all of it was read");
        let _ = socket.shutdown(Shutdown::Both);
    }
    call(&mut served.client(), Command::Status).expect("others are served");
    assert!(peak() < before + GROWTH, "{before} {}", peak());
}
