//! The state that all sources of events work with.

use super::state::{
    Collections, CompiledCode, Details, Frees, Heap, Samples, Sites, VirtualThreads,
};
use crate::instrument::{FrameMethod, Instrument};
use crate::objects::{Objects, class_number};
use crate::session::Session;
use jtrail_jvm::jni::{ClassRef, Env, GlobalRef, kind};
use jtrail_jvm::jvmti::Method;
use jtrail_writer::Writer;
use parking_lot::RwLock;
use std::sync::{Arc, OnceLock};

/// The `java.lang.Thread` objects of all agent threads, until the agent detaches.
type OwnThreads = RwLock<Vec<Arc<GlobalRef<kind::Thread>>>>;

/// The state that all sources work with.
pub(crate) struct Tracer {
    pub(crate) session: Session,
    /// The numbers of objects, if events mention objects now or may do so later.
    pub(crate) objects: OnceLock<Objects>,
    pub(crate) instrument: Instrument,
    pub(crate) writer: Writer,
    pub(crate) own_threads: OwnThreads,
    pub(super) collections: Collections,
    pub(super) compiled: CompiledCode,
    pub(super) details: Details,
    pub(super) frees: Frees,
    pub(super) heap: Heap,
    pub(super) samples: Samples,
    pub(super) sites: Sites,
    pub(super) virtual_threads: VirtualThreads,
}

impl Tracer {
    pub(crate) fn new(session: Session, objects: Option<Objects>, writer: Writer) -> Self {
        Self {
            samples: Samples::of(&session.options),
            virtual_threads: VirtualThreads::of(&session.options),
            session,
            objects: objects.map(OnceLock::from).unwrap_or_default(),
            instrument: Instrument::default(),
            writer,
            own_threads: OwnThreads::default(),
            collections: Collections::default(),
            compiled: CompiledCode::default(),
            details: Details::default(),
            frees: Frees::default(),
            heap: Heap::default(),
            sites: Sites::default(),
        }
    }

    /// Ends the agent threads that follow collections, because the agent is detaching.
    pub(crate) fn end_followers(&self) {
        self.heap.follower.end();
        self.frees.end_sweeper();
    }

    /// Returns the number of a class, and defines the class if it is new.
    pub(super) fn class_number(&self, env: &Env<'_>, class: ClassRef<'_>) -> Option<u32> {
        class_number(&self.session, self.objects.get(), env, class)
    }

    /// Returns a method's number, lines and handlers; `None` if the JVM returns an error, or there
    /// are no numbers left.
    pub(super) fn frame_method(&self, env: &Env<'_>, method: Method) -> Option<Arc<FrameMethod>> {
        let objects = self.objects.get();
        self.instrument
            .frame_method(&self.session, objects, env, method)
    }
}
