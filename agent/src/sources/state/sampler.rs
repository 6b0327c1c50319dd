//! The sampler, and what of a stack it records.

use crossbeam_channel::{Receiver, Sender};
use jtrail_options::Options;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// The sampler, and what of a stack it records.
pub(in crate::sources) struct Samples {
    /// Empty until samples are asked for.
    pub(in crate::sources) sampler: OnceLock<Sampler>,
    /// Most frames of a sample in the active trace.
    pub(in crate::sources) frames: AtomicU16,
    /// True if samples that are too deep lose their innermost frames in the active trace, and not
    /// the outermost ones.
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

/// The agent's end of the sampler's thread.
pub(in crate::sources) struct Sampler {
    /// Dropped to stop the thread.
    pub(in crate::sources) go_on: Mutex<Option<Sender<()>>>,
    /// Disconnected when the thread has stopped.
    pub(in crate::sources) stopped: Receiver<()>,
}
