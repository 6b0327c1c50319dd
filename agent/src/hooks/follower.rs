//! A thread of the agent's own that does something after each collection, where nothing of the JVM may be called.

use super::own_threads::{self, Leaves};
use crate::agent::Agent;
use crate::error::Error;
use crossbeam_channel::{Receiver, Sender, bounded};
use jni::sys::JNIEnv;
use jtrail_guard::guard;
use jtrail_recorder::buffer::{ThreadBuffer, live};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Our end of it; empty where there is none.
#[derive(Default)]
pub(crate) struct Follower(OnceLock<Thread>);

struct Thread {
    wake: Sender<()>,
    is_over: Arc<AtomicBool>,
    /// Disconnected when it has ended.
    ended: Receiver<()>,
}

impl Follower {
    /// Starts the thread. It ends with the process, or when it is told to.
    ///
    /// # Errors
    /// When the JVM does not make one, as a sentence.
    pub(super) fn start(
        &self,
        agent: &Agent,
        env: *mut JNIEnv,
        name: &str,
        place: &'static str,
        act: impl Fn(&Agent, *mut JNIEnv, &ThreadBuffer) + Send + 'static,
    ) -> Result<(), Error> {
        let (wake, collected) = bounded(1);
        let (alive, ended) = bounded::<()>(0);
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        let body = move |agent: &'static Agent, env| {
            while collected.recv().is_ok() && !over.load(Ordering::Acquire) {
                if !guard::is_off()
                    && let Some(buffer) = agent.native_buffer()
                {
                    act(agent, env, buffer);
                }
            }
            live::finish();
            drop(alive);
            Leaves::No
        };
        own_threads::start(agent, env, name, place, Box::new(body))?;
        let thread = Thread {
            wake,
            is_over,
            ended,
        };
        let _ = self.0.set(thread); // the first and only time
        Ok(())
    }

    /// A collection is over. Comes where nothing of the JVM may be called; several before the thread wakes are one.
    pub(super) fn wake(&self) {
        if let Some(thread) = self.0.get() {
            let _ = thread.wake.try_send(());
        }
    }

    /// The agent leaves: the thread ends.
    pub(super) fn end(&self) {
        if let Some(thread) = self.0.get() {
            thread.is_over.store(true, Ordering::Release);
            let _ = thread.wake.try_send(()); // or it is about to look anyway
            let _ = thread.ended.recv(); // nothing is ever sent
        }
    }
}
