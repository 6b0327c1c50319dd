//! Threads that answer the questions of all connections.

use jtrail_view::api::{Answer, Session};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A few threads answer the questions of all connections. With one for each connection, the memory
/// that answers take for a moment would be spread over as many heaps.
pub(super) struct Workers(SyncSender<Question>);

struct Question {
    path: String,
    query: String,
    reply: SyncSender<Answer>,
}

impl Workers {
    /// Starts threads: one more than there are processors.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(session: &Arc<Session>) -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, usize::from) + 1;
        let (sender, questions) = sync_channel(0);
        let questions = Arc::new(Mutex::new(questions));
        for _ in 0..count {
            let (session, questions) = (Arc::clone(session), Arc::clone(&questions));
            thread::Builder::new().spawn(move || work(&session, &questions))?;
        }
        Ok(Self(sender))
    }

    /// Returns the answer to a request.
    ///
    /// # Errors
    /// If there is none because of an internal error.
    pub(super) fn answer(&self, path: &str, query: &str) -> io::Result<Answer> {
        let (reply, answer) = sync_channel(1);
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

/// Answers questions until there can be no more.
fn work(session: &Session, questions: &Mutex<Receiver<Question>>) {
    loop {
        let next = questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(question) = next else {
            return;
        };
        let answer = || session.answer(&question.path, &question.query);
        // After a panic, this question has no answer, and the next ones have.
        if let Ok(answer) = catch_unwind(AssertUnwindSafe(answer)) {
            // Who has asked may be gone.
            let _ = question.reply.send(answer);
        }
    }
}
