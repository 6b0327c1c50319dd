//! The state that sources of events keep from one event to the next. [`super::Tracer`] holds it.

pub(super) mod details;
pub(super) mod follower;
mod frees;
mod gc;
mod heap;
pub(super) mod sampler;
pub(super) mod sites;
pub(super) mod virtual_threads;

pub(super) use details::Details;
pub(super) use frees::Frees;
pub(super) use gc::Collections;
pub(super) use heap::Heap;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
pub(super) use sampler::Samples;
pub(super) use sites::Sites;
pub(super) use virtual_threads::VirtualThreads;

/// The numbers of compiled methods, by code address and method id. The address alone is not enough,
/// because the JVM may reuse it before it reports that the old code was discarded.
#[derive(Default)]
pub(super) struct CompiledCode(pub(super) Mutex<FxHashMap<(u64, usize), u32>>);
