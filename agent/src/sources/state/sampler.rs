//! The sampler, and the part of a stack that it records.

use crossbeam_channel::{Receiver, Sender};
use jtrail_options::Options;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// The sampler, and the part of a stack that it records.
pub(in crate::sources) struct Samples {
    /// Empty until samples are first requested.
    pub(in crate::sources) sampler: OnceLock<Sampler>,
    /// Maximum number of frames of a sample in the active trace.
    pub(in crate::sources) frames: AtomicU16,
    /// True if samples of deep stacks in the active trace keep the outermost frames; false if they
    /// keep the innermost ones.
    pub(in crate::sources) keeps_roots: AtomicBool,
}

impl Samples {
    pub(in crate::sources) fn of(options: &Options) -> Self {
        let state = Self {
            sampler: OnceLock::new(),
            frames: AtomicU16::new(0),
            keeps_roots: AtomicBool::new(false),
        };
        state.set(options);
        state
    }

    pub(in crate::sources) fn set(&self, options: &Options) {
        let (frames, roots) = (options.sample_frames(), options.format.keeps_roots());
        self.frames.store(frames, Ordering::Relaxed);
        self.keeps_roots.store(roots, Ordering::Relaxed);
    }
}

/// The agent's handle of the sampler's thread.
pub(in crate::sources) struct Sampler {
    /// Dropped to stop the thread.
    pub(in crate::sources) go_on: Mutex<Option<Sender<()>>>,
    /// Disconnected when the thread has stopped.
    pub(in crate::sources) stopped: Receiver<()>,
}
