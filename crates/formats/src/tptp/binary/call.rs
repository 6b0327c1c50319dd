//! A fast path for the two messages that make up nearly all of a trace.
//!
//! Without text, messages 1015 and 1016 have a fixed size, and each field has a fixed offset. The
//! encoder writes each as a copy of a template. The decoder reads each by loads from fixed offsets,
//! if the stream has the byte order and tick of our encoder. All other messages go through the
//! table in `message`; tests compare the two paths.

use jtrail_model::{
    ClassId, Duration, Event, MethodEnter, MethodId, MethodLeave, ThreadId, Timestamp,
};

/// Size in bytes of a message 1015 without text.
const ENTER: usize = 84;
/// Size in bytes of a message 1016 without text.
const LEAVE: usize = 85;

const ENTER_HEAD: [u8; 6] = head(1015, ENTER);
const LEAVE_HEAD: [u8; 6] = head(1016, LEAVE);

const fn head(id: u16, size: usize) -> [u8; 6] {
    let [a, b] = id.to_le_bytes();
    [a, b, size as u8, 0, 0, 0]
}

fn store<const N: usize>(message: &mut [u8], at: usize, bytes: [u8; N]) {
    message[at..at + N].copy_from_slice(&bytes);
}

fn load<const N: usize>(message: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&message[at..at + N]);
    bytes
}

/// Appends a message 1015.
#[inline]
pub(super) fn put_enter(e: &MethodEnter, out: &mut Vec<u8>) {
    let mut m = [0; ENTER];
    store(&mut m, 0, ENTER_HEAD);
    store(&mut m, 14, e.thread.0.to_le_bytes());
    store(&mut m, 22, e.time.0.to_le_bytes());
    store(&mut m, 30, e.method.0.to_le_bytes());
    store(&mut m, 38, e.ticket.to_le_bytes());
    store(&mut m, 50, e.class.0.to_le_bytes());
    store(&mut m, 58, e.cpu_time.0.to_le_bytes());
    store(&mut m, 74, e.stack_depth.to_le_bytes());
    out.extend_from_slice(&m);
}

/// Appends a message 1016.
#[inline]
pub(super) fn put_leave(e: &MethodLeave, out: &mut Vec<u8>) {
    let mut m = [0; LEAVE];
    store(&mut m, 0, LEAVE_HEAD);
    store(&mut m, 14, e.thread.0.to_le_bytes());
    store(&mut m, 22, e.time.0.to_le_bytes());
    store(&mut m, 30, e.ticket.to_le_bytes());
    store(&mut m, 34, e.cpu_time.0.to_le_bytes());
    store(&mut m, 42, e.method.0.to_le_bytes());
    store(&mut m, 74, e.class.0.to_le_bytes());
    out.extend_from_slice(&m);
}

/// Reads a message 1015 or 1016 as our encoder writes it at the start of `input`. Returns the event
/// and the message's size, or `None` for anything else.
#[inline]
pub(super) fn take(input: &[u8]) -> Option<(Event<'static>, usize)> {
    let head: &[u8; 6] = input.first_chunk()?;
    if *head == ENTER_HEAD {
        let m: &[u8; ENTER] = input.first_chunk()?;
        let unused = [6, 42, 66].map(|at| u64::from_le_bytes(load(m, at)));
        let event = Event::MethodEnter(MethodEnter {
            thread: ThreadId(u64::from_le_bytes(load(m, 14))),
            time: Timestamp(i64::from_le_bytes(load(m, 22))),
            method: MethodId(u64::from_le_bytes(load(m, 30))),
            ticket: u32::from_le_bytes(load(m, 38)),
            class: ClassId(u64::from_le_bytes(load(m, 50))),
            cpu_time: Duration(i64::from_le_bytes(load(m, 58))),
            stack_depth: i64::from_le_bytes(load(m, 74)),
        });
        (m[82..] == [0, 0] && unused == [0; 3]).then_some((event, ENTER))
    } else if *head == LEAVE_HEAD {
        let m: &[u8; LEAVE] = input.first_chunk()?;
        let unused = [6, 50, 58, 66].map(|at| u64::from_le_bytes(load(m, at)));
        let event = Event::MethodLeave(MethodLeave {
            thread: ThreadId(u64::from_le_bytes(load(m, 14))),
            time: Timestamp(i64::from_le_bytes(load(m, 22))),
            ticket: u32::from_le_bytes(load(m, 30)),
            cpu_time: Duration(i64::from_le_bytes(load(m, 34))),
            method: MethodId(u64::from_le_bytes(load(m, 42))),
            class: ClassId(u64::from_le_bytes(load(m, 74))),
            by_exception: false,
        });
        (m[82..] == [0, 0, 0] && unused == [0; 4]).then_some((event, LEAVE))
    } else {
        None
    }
}
