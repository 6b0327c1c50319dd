//! The queue of bytes to one client.
//!
//! Two threads send to the client that has the data stream: the channel's thread sends answers and
//! notices, and the trace's writer sends data. Each thread appends whole frames to the queue. Then
//! it sends as many bytes from the queue as the socket accepts, including frames of the other
//! thread. So the writer never waits for the channel's thread, which may itself be waiting for the
//! writer.

use crate::frame::{self, FrameKind};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The sending side of a connection.
pub trait Wire: Send + Sync {
    /// Sends some of the bytes. Returns their number.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if no bytes can be sent now; all other errors end the
    /// connection.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits until bytes can be sent, at most for the given time.
    ///
    /// # Errors
    /// If waiting fails, which ends the connection.
    fn wait(&self, at_most: Duration) -> io::Result<()>;

    /// Ends the connection in both directions.
    fn close(&self);
}

/// Maximum bytes queued for a client that does not read.
const MAX_WAITING: usize = 1 << 20;
/// If more bytes than this are queued, no more commands are read.
const ENOUGH_WAITING: usize = 64 << 10;
/// The interval at which a waiting write checks whether its time limit was reduced.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) struct Outbox {
    wire: Box<dyn Wire>,
    waiting: Mutex<Queued>,
}

#[derive(Default)]
struct Queued {
    bytes: Vec<u8>,
    sent: usize,
    /// True if the connection ends when all bytes are sent.
    ending: bool,
    /// The reason why the connection has ended.
    closed: Option<String>,
    /// After [`DataStream::hurry`]: the time of the call, and the time limit for each write of data
    /// from then on.
    hurried: Option<(Instant, Duration)>,
    /// After [`DataStream::finish_within`]: the deadline for all data.
    last: Option<Instant>,
}

impl Queued {
    fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }
}

impl Outbox {
    pub(crate) fn new(wire: Box<dyn Wire>) -> Arc<Self> {
        Arc::new(Self {
            wire,
            waiting: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Queued> {
        // No code panics while it holds the lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a document, and sends what can be sent. A client with too many queued bytes is
    /// disconnected.
    pub(crate) fn put(&self, kind: FrameKind, document: &[u8]) {
        let mut waiting = self.lock();
        if waiting.closed.is_some() || waiting.ending {
            return;
        }
        if waiting.len() + document.len() > MAX_WAITING {
            self.end(&mut waiting, "it does not read its answers and notices");
            return;
        }
        frame::encode(kind, document, &mut waiting.bytes);
        self.send(&mut waiting);
    }

    /// Sends one frame of data. Returns when the whole frame is sent.
    pub(crate) fn put_data(&self, data: &[u8], patience: Duration) -> io::Result<()> {
        let begun = Instant::now();
        let mut put = false;
        loop {
            {
                let mut waiting = self.lock();
                if !put && !waiting.ending && waiting.closed.is_none() {
                    frame::encode(FrameKind::Data, data, &mut waiting.bytes);
                    put = true;
                }
                self.send(&mut waiting);
                if put && waiting.len() == 0 && waiting.closed.is_none() {
                    return Ok(());
                }
                if let Some(reason) = &waiting.closed {
                    return Err(io::Error::new(io::ErrorKind::BrokenPipe, reason.clone()));
                }
                if !put {
                    let message = "the connection is ending";
                    return Err(io::Error::new(io::ErrorKind::BrokenPipe, message));
                }
            }
            let left = self.left(begun, patience);
            if left.is_zero() {
                let message = "it takes its data too slowly";
                self.end(&mut self.lock(), message);
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            if let Err(error) = self.wire.wait(left.min(LOOK)) {
                self.end(&mut self.lock(), &error.to_string());
                return Err(error);
            }
        }
    }

    /// Returns the remaining time limit of a write that began at `begun`.
    fn left(&self, begun: Instant, patience: Duration) -> Duration {
        let waiting = self.lock();
        let own = patience.saturating_sub(begun.elapsed());
        let hurried = waiting
            .hurried
            .map(|(since, patience)| patience.saturating_sub(since.max(begun).elapsed()));
        let last = waiting
            .last
            .map(|last| last.saturating_duration_since(Instant::now()));
        [hurried, last]
            .into_iter()
            .flatten()
            .fold(own, Duration::min)
    }

    /// Sends what can be sent now.
    pub(crate) fn flush(&self) {
        self.send(&mut self.lock());
    }

    /// Returns true if bytes are queued.
    pub(crate) fn is_waiting(&self) -> bool {
        let waiting = self.lock();
        waiting.len() > 0 && waiting.closed.is_none()
    }

    /// Returns true if the queue is too long to read more commands.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().len() > ENOUGH_WAITING
    }

    /// Ends the connection when all bytes are sent.
    pub(crate) fn finish(&self) {
        let mut waiting = self.lock();
        waiting.ending = true;
        self.send(&mut waiting);
    }

    /// Ends the connection immediately.
    pub(crate) fn close(&self, reason: &str) {
        self.end(&mut self.lock(), reason);
    }

    /// Returns the reason why the connection has ended, if it has.
    pub(crate) fn closed(&self) -> Option<String> {
        self.lock().closed.clone()
    }

    fn send(&self, waiting: &mut Queued) {
        while waiting.closed.is_none() && waiting.len() > 0 {
            match self.wire.send(&waiting.bytes[waiting.sent..]) {
                Ok(0) => self.end(waiting, "it takes no more"),
                Ok(n) => waiting.sent += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => self.end(waiting, &e.to_string()),
            }
        }
        if waiting.len() == 0 {
            waiting.bytes.clear();
            waiting.sent = 0;
            if waiting.ending {
                self.end(waiting, "it was sent away");
            }
        } else if waiting.sent > ENOUGH_WAITING {
            let sent = std::mem::take(&mut waiting.sent);
            waiting.bytes.drain(..sent);
        }
    }

    fn end(&self, waiting: &mut Queued, reason: &str) {
        if waiting.closed.is_none() {
            waiting.closed = Some(reason.to_owned());
            waiting.bytes = Vec::new();
            waiting.sent = 0;
            self.wire.close();
        }
    }
}

/// The maximum number of bytes of the trace in one frame. Larger frames would only delay the
/// client.
const DATA: usize = 64 << 10;

/// The output for a trace that goes to a client. Each write becomes a frame of data, so writes
/// should be large.
///
/// A write waits for a slow client, up to [`Settings::patience`](crate::Settings::patience) for
/// each 64 KiB. Then the client is disconnected, and the write fails. A write also fails if the
/// client has disconnected.
#[derive(Clone)]
pub struct DataStream {
    outbox: Arc<Outbox>,
    patience: Duration,
}

impl DataStream {
    pub(crate) fn new(outbox: Arc<Outbox>, patience: Duration) -> Self {
        Self { outbox, patience }
    }

    /// Limits each write to `patience` from now on, in all copies of the stream. A write that is
    /// already waiting is limited too. It is meant for a program that is about to end but has more
    /// to write. A second call changes nothing.
    pub fn hurry(&self, patience: Duration) {
        let now = Instant::now();
        self.outbox.lock().hurried.get_or_insert((now, patience));
    }

    /// Limits the total time of all writes to `time` from now on, in all copies of the stream. A
    /// write that is already waiting is limited too. It is meant for a program that has to end.
    pub fn finish_within(&self, time: Duration) {
        self.outbox.lock().last = Instant::now().checked_add(time);
    }
}

impl io::Write for DataStream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let part = &data[..data.len().min(DATA)];
        if part.is_empty() {
            return Ok(0);
        }
        self.outbox.put_data(part, self.patience)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // writes return when all is sent
    }
}

impl std::fmt::Debug for DataStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataStream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

    /// A socket with a limited number of free bytes.
    #[derive(Clone, Default)]
    struct Narrow {
        room: Arc<AtomicUsize>,
        /// The number of bytes that become free as soon as a thread waits for them.
        room_to_come: Arc<AtomicUsize>,
        closed: Arc<AtomicBool>,
        sent: Arc<Mutex<Vec<u8>>>,
    }

    impl Wire for Narrow {
        fn send(&self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.room.load(SeqCst)).min(1_000);
            if n == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.room.fetch_sub(n, SeqCst);
            self.sent
                .lock()
                .expect("no panic")
                .extend_from_slice(&bytes[..n]);
            Ok(n)
        }

        fn wait(&self, at_most: Duration) -> io::Result<()> {
            let room = self.room_to_come.swap(0, SeqCst);
            self.room.fetch_add(room, SeqCst);
            std::thread::sleep(at_most.min(Duration::from_millis(1)));
            Ok(())
        }

        fn close(&self) {
            self.closed.store(true, SeqCst);
        }
    }

    fn narrow(room: usize) -> (Narrow, Arc<Outbox>) {
        let wire = Narrow::default();
        wire.room.store(room, SeqCst);
        (wire.clone(), Outbox::new(Box::new(wire)))
    }

    #[test]
    fn frames_stay_whole_whoever_sends_them() {
        let (wire, outbox) = narrow(100_000);
        let mut stream = DataStream::new(Arc::clone(&outbox), Duration::from_secs(10));
        let writer = std::thread::spawn(move || stream.write_all(&[7; 300_000]));
        // Documents are queued during the write of data, both with and without free bytes in the
        // socket.
        while wire.room.load(SeqCst) > 0 {
            std::thread::yield_now();
        }
        outbox.put(FrameKind::Notice, b"<a/>");
        assert!(outbox.is_waiting());
        wire.room.store(10_000_000, SeqCst);
        writer.join().expect("no panic").expect("all is out");
        outbox.put(FrameKind::Answer, b"<b/>");
        let mut decoder = frame::Decoder::for_client();
        decoder.feed(&wire.sent.lock().expect("no panic"));
        let (mut data, mut documents) = (0, Vec::new());
        while let Some(frame) = decoder.next_frame().expect("frames") {
            match frame.kind {
                FrameKind::Data => data += frame.payload.len(),
                _ => documents.push(frame.payload),
            }
        }
        assert_eq!(
            (data, documents),
            (300_000, vec![b"<a/>".to_vec(), b"<b/>".to_vec()])
        );
    }

    #[test]
    fn a_write_waits_for_its_timeout() {
        let finish: fn(&DataStream, Duration) = DataStream::finish_within;
        for (patience, reported) in [
            (50, None),
            (100_000, Some(finish)),
            (100_000, Some(DataStream::hurry)),
        ] {
            let (wire, outbox) = narrow(10);
            let mut stream = DataStream::new(outbox, Duration::from_millis(patience));
            let other = stream.clone();
            let hurry = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                if let Some(report) = reported {
                    report(&other, Duration::from_millis(50));
                }
            });
            let begun = Instant::now();
            let error = stream.write_all(b"data").expect_err("no room");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!((40..20_000).contains(&begun.elapsed().as_millis()));
            assert!(wire.closed.load(SeqCst));
            hurry.join().expect("no panic");
            let error = stream.write_all(b"data").expect_err("closed");
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
    }

    #[test]
    fn hurried_writes_have_their_time_each_and_the_last_ones_together() {
        let time = Duration::from_millis(500);
        for (report, is_in_time) in [
            (DataStream::hurry as fn(&DataStream, Duration), true),
            (DataStream::finish_within, false),
        ] {
            let (wire, outbox) = narrow(0);
            let mut stream = DataStream::new(outbox, Duration::from_secs(100));
            report(&stream, time);
            std::thread::sleep(time);
            wire.room_to_come.store(100, SeqCst);
            assert_eq!(stream.write_all(b"data").is_ok(), is_in_time);
            assert_eq!(wire.closed.load(SeqCst), !is_in_time);
        }
    }

    #[test]
    fn who_does_not_read_is_cut_off() {
        let (wire, outbox) = narrow(0);
        let document = vec![b'x'; 60_000];
        let mut put = 0;
        while !wire.closed.load(SeqCst) {
            outbox.put(FrameKind::Notice, &document);
            put += document.len();
            assert!(put < 2 * MAX_WAITING);
        }
        assert!(put > MAX_WAITING);
        assert_eq!(
            outbox.closed().as_deref(),
            Some("it does not read its answers and notices")
        );
        assert!(!outbox.is_waiting());
    }

    #[test]
    fn last_words_are_sent_before_the_end() {
        let (wire, outbox) = narrow(0);
        outbox.put(FrameKind::Notice, b"<a/>");
        outbox.finish();
        outbox.put(FrameKind::Notice, b"<too-late/>");
        assert!(!wire.closed.load(SeqCst));
        wire.room.store(100, SeqCst);
        outbox.flush();
        assert!(wire.closed.load(SeqCst));
        assert!(wire.sent.lock().expect("no panic").ends_with(b"<a/>"));
    }
}
