//! Threads that answer the questions of all connections, and that read ahead.

use crossbeam_channel::{Receiver, Sender, bounded};
use jtrail_view::api::{Answer, Session};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

/// By how much threads in the background are less urgent, from 0 to 19: answers come first.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A few threads answer the questions of all connections. With one for each connection, the memory
/// that answers take for a moment would be spread over as many heaps.
///
/// After an answer, other threads read what its picture needs, if it was coarse.
pub(super) struct Workers(Sender<Question>);

struct Question {
    path: String,
    query: String,
    reply: Sender<Answer>,
}

impl Workers {
    /// Starts threads: one more than there are processors for answers, and one for each processor
    /// that reads ahead.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(session: &Arc<Session>) -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let (sender, questions) = bounded(0);
        let (wake, woken) = bounded(processors);
        for _ in 0..=processors {
            let worker = Worker {
                session: Arc::clone(session),
                questions: questions.clone(),
                wake: wake.clone(),
            };
            thread::Builder::new().spawn(move || worker.work())?;
        }
        for _ in 0..processors {
            let (session, woken) = (Arc::clone(session), woken.clone());
            thread::Builder::new().spawn(move || read_ahead(&session, &woken))?;
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
    /// Wakes the threads that read ahead.
    wake: Sender<()>,
}

impl Worker {
    /// Answers questions until there can be no more.
    fn work(&self) {
        while let Ok(question) = self.questions.recv() {
            let answer = || self.session.answer(&question.path, &question.query);
            // After a panic, this question has no answer, and the next ones have.
            if let Ok(answer) = catch_unwind(AssertUnwindSafe(answer)) {
                if answer.is_partial {
                    // If the channel is full, all of them are awake soon.
                    while self.wake.try_send(()).is_ok() {}
                }
                // Who has asked may be gone.
                let _ = question.reply.send(answer);
            }
        }
    }
}

/// Reads what pictures need, whenever it is woken.
fn read_ahead(session: &Session, woken: &Receiver<()>) {
    be_less_urgent();
    while woken.recv().is_ok() {
        let read = || session.read_ahead();
        while catch_unwind(AssertUnwindSafe(read)).unwrap_or(false) {}
    }
}

/// Gives the processor to other threads if they need it: to those that answer, and to the browser.
/// Threads that this thread starts do the same.
pub(super) fn be_less_urgent() {
    // On other systems, this would concern the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}
