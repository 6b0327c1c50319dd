//! The samples of one tick.

use super::super::{Tracer, stack, threads};
use crate::hook_class::HOOK_NAME;
use jtrail_jvm::jni::{Env, ThreadRef};
use jtrail_jvm::jvmti::{Frame, Jvmti, Method, Result, Stack, ThreadFunction};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::{self, Code, INNERMOST_MISSING, MAX_FRAMES};
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering;

/// Takes the samples of a tick. It is kept from tick to tick, to reuse its memory.
#[derive(Default)]
pub(super) struct Tick {
    cut: Cut,
    /// Outermost frames of a stack.
    roots: Vec<Frame>,
    /// Payloads of records, one after the other.
    words: Vec<u64>,
    /// HotSpot's `GetVirtualThread`; none if the JVM has no virtual threads.
    get_virtual: Option<ThreadFunction>,
    /// Cache of [`Kind`]s, by [`Method::address`].
    kinds: FxHashMap<usize, Kind>,
    /// For each thread number: true if the thread is a carrier.
    carriers: FxHashMap<u32, bool>,
}

/// Which part of a deep stack is recorded.
#[derive(Clone, Copy, Default)]
struct Cut {
    /// Maximum number of frames.
    most: u16,
    /// True if the outermost frames are recorded, false if the innermost ones are.
    keeps_roots: bool,
}

impl Cut {
    fn of(tracer: &Tracer) -> Self {
        let state = &tracer.samples;
        let frames = state.frames.load(Ordering::Relaxed);
        Self {
            most: frames.clamp(1, MAX_FRAMES as u16),
            keeps_roots: state.keeps_roots.load(Ordering::Relaxed),
        }
    }

    /// Returns the number of frames to request for each thread. One frame more than is recorded is
    /// requested, because the innermost one may be a method of the hook class. If the outermost
    /// frames are kept, [`MAX_FRAMES`] and two more are requested. The last one shows whether the
    /// stack is deeper.
    fn asked(self) -> u16 {
        match self.keeps_roots {
            true => MAX_FRAMES as u16 + 2,
            false => self.most + 1,
        }
    }
}

/// What a method on a stack says about the thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `Continuation.run`: a virtual thread runs on this thread.
    Carries,
    /// `ForkJoinWorkerThread.run`: the outermost method of a carrier.
    Works,
    /// A method of the hook class: the agent is recording something.
    Records,
    /// Any other method, of the program or of a library.
    Runs,
}

impl Tick {
    pub(super) fn new(tracer: &Tracer) -> Self {
        let get_virtual = tracer.session.jvmti.get_virtual_thread();
        Self {
            get_virtual: get_virtual.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Takes samples of all threads that have frames, and records the samples with one time stamp.
    /// Calls `look` with the stacks of the platform threads.
    pub(super) fn take<'e>(
        &mut self,
        tracer: &Tracer,
        env: &mut Env<'e>,
        buffer: OwnBuffer,
        look: impl FnOnce(&Env<'e>, &[Stack<'e>]),
    ) -> Result<()> {
        self.words.clear();
        self.cut = Cut::of(tracer);
        let depth = self.cut.asked();
        let jvmti = tracer.session.jvmti;
        let mut mounted = Vec::new();
        jvmti.with_all_stacks(env, depth, |env, stacks| {
            for stack in stacks {
                match self.mounted(jvmti, env, stack) {
                    Some(thread) => mounted.push(thread),
                    None => self.add(tracer, env, stack),
                }
            }
            look(env, stacks);
        })?;
        if !mounted.is_empty() {
            // If the JVM returns an error, this tick has no samples of virtual threads.
            let _ = jvmti.with_stacks_of(env, &mounted, depth, |env, stacks| {
                stacks.iter().for_each(|stack| self.add(tracer, env, stack));
            });
        }
        self.write(tracer, buffer);
        Ok(())
    }

    fn add(&mut self, tracer: &Tracer, env: &Env<'_>, stack: &Stack<'_>) {
        let frames = stack.frames();
        let (Some(thread), Some(innermost)) = (stack.thread(), frames.first()) else {
            return;
        };
        let jvmti = tracer.session.jvmti;
        let hook = self.kind(jvmti, env, innermost.method()) == Kind::Records;
        if self.shows_mounting(tracer, env, thread, frames) {
            return;
        }
        let all = &frames[usize::from(hook)..];
        let most = usize::from(self.cut.most);
        let beyond = all.len().saturating_sub(most);
        let state = u64::from(stack.state());
        if beyond == 0 || !self.cut.keeps_roots {
            let kept = &all[..all.len() - beyond];
            self.record(tracer, env, (thread, state), kept);
        } else if frames.len() < self.cut.asked().into() {
            self.record(
                tracer,
                env,
                (thread, state | INNERMOST_MISSING),
                &all[beyond..],
            );
        } else {
            let mut roots = std::mem::take(&mut self.roots);
            roots.resize(most, Frame::default());
            let (count, cut) = outermost(jvmti, thread, &mut roots);
            self.record(tracer, env, (thread, state | cut), &roots[..count]);
            self.roots = roots;
        }
    }

    /// Returns true if a virtual thread is just mounting or unmounting, and its frames appear on
    /// the carrier's stack. Such a sample belongs to neither thread.
    fn shows_mounting(
        &mut self,
        tracer: &Tracer,
        env: &Env<'_>,
        thread: ThreadRef<'_>,
        frames: &[Frame],
    ) -> bool {
        let jvmti = tracer.session.jvmti;
        let mut outer = frames.iter().skip(1);
        if outer.any(|f| self.kind(jvmti, env, f.method()) == Kind::Carries) {
            return true;
        }
        // The frame of `Continuation.run` may be missing, for two reasons. The JVM restores a
        // virtual thread's frames a few at a time, and does not return frames outside the restored
        // ones. Or the stack is cut. But if a carrier runs its own code, its stack has few frames
        // and a known outermost method.
        self.get_virtual.is_some()
            && frames
                .last()
                .is_some_and(|root| self.kind(jvmti, env, root.method()) != Kind::Works)
            && self.is_carrier(tracer, env, thread)
    }

    /// Returns true if the thread is a carrier.
    fn is_carrier(&mut self, tracer: &Tracer, env: &Env<'_>, thread: ThreadRef<'_>) -> bool {
        let Some(number) = threads::known_number(tracer, env, thread) else {
            return false;
        };
        *self.carriers.entry(number).or_insert_with(|| {
            let class = env.class_of(thread.as_object());
            let class = tracer.session.jvmti.class_signature(class);
            class.is_ok_and(|class| class.as_str() == "Ljdk/internal/misc/CarrierThread;")
        })
    }

    /// Adds a sample to `words`: a thread's state, and its frames, the innermost one first.
    /// [`INNERMOST_MISSING`] is set in the state if the innermost frames are missing.
    fn record(
        &mut self,
        tracer: &Tracer,
        env: &Env<'_>,
        (thread, state): (ThreadRef<'_>, u64),
        frames: &[Frame],
    ) {
        let Some(number) = threads::known_number(tracer, env, thread) else {
            return; // the thread is about to start, has ended, or is the sampler
        };
        let first = self.words.len();
        self.words.extend([0, state]);
        self.words.extend(
            frames
                .iter()
                .filter_map(|f| stack::frame(tracer, env, f.method(), f.location())),
        );
        match self.words.len() - first - 2 {
            0 => self.words.truncate(first),
            frames => self.words[first] = record::object(number.into(), frames as u32),
        }
    }

    fn kind(&mut self, jvmti: Jvmti, env: &Env<'_>, method: Method) -> Kind {
        *self
            .kinds
            .entry(method.address())
            .or_insert_with(|| kind(jvmti, env, method).unwrap_or(Kind::Runs))
    }

    /// Returns the virtual thread that runs on the stack's thread; `None` if there is none.
    fn mounted<'e>(
        &mut self,
        jvmti: Jvmti,
        env: &Env<'e>,
        stack: &Stack<'_>,
    ) -> Option<ThreadRef<'e>> {
        let function = self.get_virtual?;
        let innermost = stack.frames().first()?.method();
        if self.kind(jvmti, env, innermost) != Kind::Carries {
            return None;
        }
        jvmti.other_thread(env, function, stack.thread()?).ok()?
    }

    fn write(&self, tracer: &Tracer, buffer: OwnBuffer) {
        let session = &tracer.session;
        let now = session.now();
        let mut rest = &*self.words;
        while let Some(words) = rest.first().and_then(|first| Code::Sample.words(*first)) {
            let (payload, next) = rest.split_at(words);
            session.record_at(now, buffer, Code::Sample, payload);
            rest = next;
        }
    }
}

/// Fills `frames` with the outermost frames of a thread whose stack was deeper at the tick. Returns
/// the number of frames, and [`INNERMOST_MISSING`] if inner frames are missing.
fn outermost(jvmti: Jvmti, thread: ThreadRef<'_>, frames: &mut [Frame]) -> (usize, u64) {
    let most = i32::try_from(frames.len()).unwrap_or(i32::MAX);
    let (found, cut) = match jvmti.stack_of(Some(thread), -most, frames) {
        Ok(found) => (found, INNERMOST_MISSING),
        // The stack has fewer frames now.
        Err(_) => {
            let found = jvmti.stack_of(Some(thread), 0, frames);
            (found.unwrap_or_default(), 0)
        }
    };
    (found.min(frames.len()), cut)
}

/// Returns the [`Kind`] of a method.
fn kind(jvmti: Jvmti, env: &Env<'_>, method: Method) -> Result<Kind> {
    let class = jvmti.declaring_class(env, method)?;
    let class = jvmti.class_signature(class)?;
    let is_hook = |class: &str| {
        class
            .strip_prefix('L')
            .is_some_and(|class| class.starts_with(HOOK_NAME))
    };
    let name = || jvmti.method_name(method);
    Ok(match class.as_str() {
        class if is_hook(class) => Kind::Records,
        "Ljdk/internal/vm/Continuation;" if name()?.0 == "run" => Kind::Carries,
        "Ljava/util/concurrent/ForkJoinWorkerThread;" if name()?.0 == "run" => Kind::Works,
        _ => Kind::Runs,
    })
}
