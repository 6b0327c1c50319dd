//! Threads that answer the questions of all connections.

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use jtrail_view::api::{Answer, Session};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A few threads answer the questions of all connections. With one for each connection, the memory
/// that answers take for a moment would be spread over as many heaps.
///
/// Threads without a question read what pictures need that were coarse, but leave a processor to
/// the others, and to the browser.
pub(super) struct Workers(Sender<Question>);

struct Question {
    path: String,
    query: String,
    reply: Sender<Answer>,
}

impl Workers {
    /// Starts threads: one more than there are processors.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(session: &Arc<Session>) -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let count = processors + 1;
        let (sender, questions) = bounded(0);
        let may_read = Arc::new(AtomicUsize::new((processors - 1).max(1)));
        for _ in 0..count {
            let worker = Worker {
                session: Arc::clone(session),
                questions: questions.clone(),
                may_read: Arc::clone(&may_read),
            };
            thread::Builder::new().spawn(move || worker.work())?;
        }
        Ok(Self(sender))
    }

    /// Returns the answer to a request.
    ///
    /// # Errors
    /// If there is none because of an internal error.
    pub(super) fn answer(&self, path: &str, query: &str) -> io::Result<Answer> {
        let (reply, answer) = bounded(1);
        let question = Question {
            path: path.to_owned(),
            query: query.to_owned(),
            reply,
        };
        let none = || io::Error::other("no answer");
        self.0.send(question).map_err(|_| none())?;
        answer.recv().map_err(|_| none())
    }
}

struct Worker {
    session: Arc<Session>,
    questions: Receiver<Question>,
    /// Number of threads that may still begin to read ahead.
    may_read: Arc<AtomicUsize>,
}

impl Worker {
    /// Answers questions until there can be no more.
    fn work(&self) {
        loop {
            let next = match self.questions.try_recv() {
                Err(TryRecvError::Empty) if self.reads_ahead() => continue,
                Err(TryRecvError::Empty) => self.questions.recv().ok(),
                Err(TryRecvError::Disconnected) => None,
                Ok(question) => Some(question),
            };
            let Some(question) = next else {
                return;
            };
            let answer = || self.session.answer(&question.path, &question.query);
            // After a panic, this question has no answer, and the next ones have.
            if let Ok(answer) = catch_unwind(AssertUnwindSafe(answer)) {
                // Who has asked may be gone.
                let _ = question.reply.send(answer);
            }
        }
    }

    /// Reads what pictures need. Returns false if there is nothing to read, or too many threads
    /// read already.
    fn reads_ahead(&self) -> bool {
        let less = |count: usize| count.checked_sub(1);
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        if self.may_read.fetch_update(success, failure, less).is_err() {
            return false;
        }
        let read = || self.session.read_ahead();
        let has_read = catch_unwind(AssertUnwindSafe(read)).unwrap_or(false);
        self.may_read.fetch_add(1, Ordering::AcqRel);
        has_read
    }
}
