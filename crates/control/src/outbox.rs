//! What waits to be sent to one client.
//!
//! Two threads send to the client that has the data stream: the channel's own (answers, notices)
//! and the trace's writer (data). Each puts whole frames behind what waits, and sends as much as
//! the socket takes, whoever put it there. So a writer gets its data out without the channel's
//! thread, which may be waiting for the writer just then.

use crate::frame::{self, FrameKind};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The sending side of a connection.
pub trait Wire: Send + Sync {
    /// Sends some of the bytes, and answers how many.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when it takes none now; everything else ends the connection.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits until bytes may be sent, at most for a time.
    ///
    /// # Errors
    /// When waiting fails, which ends the connection.
    fn wait(&self, at_most: Duration) -> io::Result<()>;

    /// Ends the connection, also its receiving side.
    fn close(&self);
}

/// Bytes that may wait for a client that does not read its answers and notices.
const MOST_WAITING: usize = 1 << 20;
/// Bytes that may wait before no more commands are read.
const ENOUGH_WAITING: usize = 64 << 10;
/// How often a write that waits looks whether it has become urgent.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) struct Outbox {
    wire: Box<dyn Wire>,
    waiting: Mutex<Queued>,
}

#[derive(Default)]
struct Queued {
    bytes: Vec<u8>,
    sent: usize,
    /// The connection ends when all is sent.
    ending: bool,
    /// Why the connection has ended.
    closed: Option<String>,
    /// Since when no write of data may wait longer than so.
    hurried: Option<(Instant, Duration)>,
    /// When data must be out at last.
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
        // Nothing panics while it is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a document there, and sends what can be sent. A client that lets too much wait is cut
    /// off.
    pub(crate) fn put(&self, kind: FrameKind, document: &[u8]) {
        let mut waiting = self.lock();
        if waiting.closed.is_some() || waiting.ending {
            return;
        }
        if waiting.len() + document.len() > MOST_WAITING {
            self.end(&mut waiting, "it does not read its answers and notices");
            return;
        }
        frame::encode(kind, document, &mut waiting.bytes);
        self.send(&mut waiting);
    }

    /// Sends one frame of data, and answers when all of it is out.
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

    /// How long a write that began then may still wait.
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

    /// Whether something waits to be sent.
    pub(crate) fn is_waiting(&self) -> bool {
        let waiting = self.lock();
        waiting.len() > 0 && waiting.closed.is_none()
    }

    /// Whether so much waits that no more should be asked for.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().len() > ENOUGH_WAITING
    }

    /// Ends the connection when all is sent.
    pub(crate) fn finish(&self) {
        let mut waiting = self.lock();
        waiting.ending = true;
        self.send(&mut waiting);
    }

    /// Ends the connection now.
    pub(crate) fn close(&self, reason: &str) {
        self.end(&mut self.lock(), reason);
    }

    /// Why the connection has ended, if it has.
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

/// Bytes of the trace in a frame, at most. One that is larger would only make the client wait.
const DATA: usize = 64 << 10;

/// Where a trace for a client is written: each write becomes a frame of data, so writes should be
/// large.
///
/// A write waits for a client that is slow, up to [`Settings::patience`](crate::Settings::patience)
/// for each 64 KiB. Then the client is cut off, and the write fails, as it does when the client has
/// gone away.
#[derive(Clone)]
pub struct DataStream {
    outbox: Arc<Outbox>,
    patience: Duration,
}

impl DataStream {
    pub(crate) fn new(outbox: Arc<Outbox>, patience: Duration) -> Self {
        Self { outbox, patience }
    }

    /// From now on, no write of any copy waits longer than `patience`, also one that waits already.
    /// For a program that is about to end, and has more to write first. Who is hurried already is
    /// not given more time.
    pub fn hurry(&self, patience: Duration) {
        let now = Instant::now();
        self.outbox.lock().hurried.get_or_insert((now, patience));
    }

    /// From now on, all writes of all copies together wait no longer than `time`, also one that
    /// waits already. For a program that wants to end.
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
        Ok(()) // a write answers when all is out
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

    /// A socket with room for so many bytes.
    #[derive(Clone, Default)]
    struct Narrow {
        room: Arc<AtomicUsize>,
        /// Room that is there as soon as somebody waits for it.
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
        // Documents come between, while there is no room and while there is.
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
            assert!(put < 2 * MOST_WAITING);
        }
        assert!(put > MOST_WAITING);
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
