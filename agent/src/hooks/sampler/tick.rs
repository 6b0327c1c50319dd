//! The samples of one tick.

use super::super::{GET_VIRTUAL_THREAD, record_at, stack};
use crate::agent::Agent;
use crate::hook_class::HOOK_NAME;
use jni::sys::{JNIEnv, jmethodID, jobject};
use jtrail_jvm::jni::class_of;
use jtrail_jvm::jvmti::{ExtensionFunction, Jvmti, Result, frames};
use jtrail_recorder::buffer::ThreadBuffer;
use jtrail_recorder::buffer::record::{self, CUT, Code, MOST_FRAMES};
use jvmti_sys::{jvmtiFrameInfo, jvmtiStackInfo};
use rustc_hash::FxHashMap;

/// Looks at all threads. Kept from tick to tick for its memory.
#[derive(Default)]
pub(super) struct Tick {
    cut: Cut,
    /// Outermost frames of a stack.
    roots: Vec<jvmtiFrameInfo>,
    /// Payloads of records, one behind the other.
    words: Vec<u64>,
    /// None where the JVM has no virtual threads.
    mounted_on: Option<ExtensionFunction>,
    /// Of methods seen innermost or outermost.
    kinds: FxHashMap<usize, Kind>,
    /// Whether virtual threads run on a thread, by its number.
    carriers: FxHashMap<u32, bool>,
}

/// What of a stack is recorded.
#[derive(Clone, Copy, Default)]
struct Cut {
    /// Most frames.
    most: u16,
    /// It is the outermost ones that stay.
    keeps_roots: bool,
}

impl Cut {
    fn of(agent: &Agent) -> Self {
        Self {
            most: agent.sample_frames().clamp(1, MOST_FRAMES as u16),
            keeps_roots: agent.keeps_roots(),
        }
    }

    /// How many frames the JVM is asked for, of all threads at once: one for a method of the hook and, where a cut is told, one more.
    fn asked(self) -> u16 {
        match self.keeps_roots {
            true => MOST_FRAMES as u16 + 2,
            false => self.most + 1,
        }
    }
}

/// What it means that a method is innermost or outermost on a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A virtual thread runs on this one: `Continuation.run`.
    Carries,
    /// A carrier's stack begins here: `ForkJoinWorkerThread.run`.
    Works,
    /// The agent is recording something: a method of the hook class.
    Records,
    /// The program or the library is where it says.
    Runs,
}

impl Tick {
    pub(super) fn new(agent: &Agent) -> Self {
        Self {
            mounted_on: agent
                .jvmti
                .extension_function(GET_VIRTUAL_THREAD)
                .unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Takes samples of all threads that have frames, and records them, all with one time. `look` is shown the platform
    /// threads, which are local references.
    pub(super) fn take(
        &mut self,
        agent: &Agent,
        env: *mut JNIEnv,
        buffer: &ThreadBuffer,
        look: impl FnOnce(&[jvmtiStackInfo]),
    ) -> Result<()> {
        self.words.clear();
        self.cut = Cut::of(agent);
        let depth = self.cut.asked();
        let mut mounted = Vec::new();
        agent.jvmti.with_all_stacks(env, depth, |stacks| {
            for stack in stacks {
                match self.mounted(agent.jvmti, stack) {
                    Some(thread) => mounted.push(thread),
                    None => self.add(agent, env, stack),
                }
            }
            look(stacks);
        })?;
        if !mounted.is_empty() {
            // Should the JVM refuse, there are none of them at this tick.
            // SAFETY: local references that the JVM just gave us.
            let _ = unsafe {
                agent.jvmti.with_stacks_of(&mounted, depth, |stacks| {
                    stacks.iter().for_each(|stack| self.add(agent, env, stack));
                })
            };
        }
        self.write((agent.now)(), buffer);
        Ok(())
    }

    fn add(&mut self, agent: &Agent, env: *mut JNIEnv, stack: &jvmtiStackInfo) {
        let Some(innermost) = frames(stack).first() else {
            return;
        };
        let hook = self.kind(agent.jvmti, innermost.method) == Kind::Records;
        if self.shows_mounting(agent, env, stack) {
            return;
        }
        let all = &frames(stack)[usize::from(hook)..];
        let most = usize::from(self.cut.most);
        let beyond = all.len().saturating_sub(most);
        if beyond == 0 || !self.cut.keeps_roots {
            let kept = &all[..all.len() - beyond];
            self.record(agent, env, stack, kept, 0);
        } else if frames(stack).len() < self.cut.asked().into() {
            self.record(agent, env, stack, &all[beyond..], CUT);
        } else {
            let mut roots = std::mem::take(&mut self.roots);
            roots.resize(most, jvmtiFrameInfo::default());
            // SAFETY: a local reference that the JVM just gave us.
            let (count, cut) = unsafe { outermost(agent.jvmti, stack.thread, &mut roots) };
            self.record(agent, env, stack, &roots[..count], cut);
            self.roots = roots;
        }
    }

    /// Whether the frames are those of a virtual thread that mounts or unmounts, on its carrier: nobody can say whose time that is.
    fn shows_mounting(&mut self, agent: &Agent, env: *mut JNIEnv, stack: &jvmtiStackInfo) -> bool {
        let all = frames(stack);
        let mut outer = all.iter().skip(1);
        if outer.any(|f| self.kind(agent.jvmti, f.method) == Kind::Carries) {
            return true;
        }
        // The JVM brings them back a few at a time, and shows none outside of those that are there; and where a stack is cut, the frame
        // that tells is not among the innermost. A carrier of its own has few frames, and its outermost one is known.
        self.mounted_on.is_some()
            && all
                .last()
                .is_some_and(|root| self.kind(agent.jvmti, root.method) != Kind::Works)
            // SAFETY: a local reference that the JVM just gave us.
            && unsafe { self.is_carrier(agent, env, stack.thread) }
    }

    /// Whether it is a thread that virtual threads run on.
    ///
    /// # Safety
    /// `thread` is a live reference to a thread.
    unsafe fn is_carrier(&mut self, agent: &Agent, env: *mut JNIEnv, thread: jobject) -> bool {
        // SAFETY: the caller's promise.
        let Some(number) = (unsafe { agent.known_number(env, thread) }) else {
            return false;
        };
        *self.carriers.entry(number).or_insert_with(|| {
            // SAFETY: the caller's promise; the class is a local reference.
            let class = unsafe { agent.jvmti.class_signature(class_of(env, thread)) };
            class.is_ok_and(|class| class.as_str() == "Ljdk/internal/misc/CarrierThread;")
        })
    }

    /// Records a thread's frames, innermost first, and whether they are all.
    fn record(
        &mut self,
        agent: &Agent,
        env: *mut JNIEnv,
        stack: &jvmtiStackInfo,
        frames: &[jvmtiFrameInfo],
        cut: u64,
    ) {
        // SAFETY: a local reference that the JVM just gave us.
        let Some(number) = (unsafe { agent.known_number(env, stack.thread) }) else {
            return; // it is about to start, has ended, or is the sampler
        };
        let first = self.words.len();
        self.words.extend([0, u64::from(stack.state as u32) | cut]);
        self.words.extend(
            frames
                .iter()
                // SAFETY: the JVM just told us of these methods, and knows those that are gone since.
                .filter_map(|f| unsafe { stack::frame(agent, f.method, f.location) }),
        );
        match self.words.len() - first - 2 {
            0 => self.words.truncate(first),
            frames => self.words[first] = record::object(number.into(), frames as u32),
        }
    }

    fn kind(&mut self, jvmti: Jvmti, method: jmethodID) -> Kind {
        *self.kinds.entry(method as usize).or_insert_with(|| {
            // SAFETY: the JVM just told us of it, and knows if it is gone since.
            unsafe { kind(jvmti, method) }.unwrap_or(Kind::Runs)
        })
    }

    /// The virtual thread that runs on this thread, as a local reference.
    fn mounted(&mut self, jvmti: Jvmti, stack: &jvmtiStackInfo) -> Option<jobject> {
        let function = self.mounted_on?;
        let innermost = frames(stack).first()?.method;
        if self.kind(jvmti, innermost) != Kind::Carries {
            return None;
        }
        // SAFETY: the function is the one of that name; the thread is a local reference that the JVM just gave us.
        let thread = unsafe { jvmti.other_thread(function, stack.thread) }.ok()?;
        (!thread.is_null()).then_some(thread)
    }

    fn write(&self, now: u64, buffer: &ThreadBuffer) {
        let mut rest = &*self.words;
        while let Some(words) = rest.first().and_then(|first| Code::Sample.words(*first)) {
            let (payload, behind) = rest.split_at(words);
            record_at(now, buffer, Code::Sample, payload);
            rest = behind;
        }
    }
}

/// The outermost frames of a thread whose stack was deeper at the tick: how many there are, and [`CUT`] if they are not all.
///
/// # Safety
/// `thread` is a live reference to a thread.
unsafe fn outermost(jvmti: Jvmti, thread: jobject, frames: &mut [jvmtiFrameInfo]) -> (usize, u64) {
    let most = i32::try_from(frames.len()).unwrap_or(i32::MAX);
    // SAFETY: the caller's promise.
    let (found, cut) = match unsafe { jvmti.stack_of(thread, -most, frames) } {
        Ok(found) => (found, CUT),
        // The stack is no longer so deep.
        // SAFETY: the caller's promise.
        Err(_) => (
            unsafe { jvmti.stack_of(thread, 0, frames) }.unwrap_or_default(),
            0,
        ),
    };
    (found.min(frames.len()), cut)
}

/// What a method is innermost or outermost on a stack for.
///
/// # Safety
/// `method` is alive, or was.
unsafe fn kind(jvmti: Jvmti, method: jmethodID) -> Result<Kind> {
    // SAFETY: the caller's promise.
    let class = unsafe { jvmti.declaring_class(method) }?;
    // SAFETY: a local reference that the JVM just gave us.
    let class = unsafe { jvmti.class_signature(class) }?;
    // SAFETY: the caller's promise.
    let name = || unsafe { jvmti.method_name(method) };
    Ok(match class.as_str() {
        class
            if class
                .strip_prefix('L')
                .is_some_and(|class| class.starts_with(HOOK_NAME)) =>
        {
            Kind::Records
        }
        "Ljdk/internal/vm/Continuation;" if name()?.0 == "run" => Kind::Carries,
        "Ljava/util/concurrent/ForkJoinWorkerThread;" if name()?.0 == "run" => Kind::Works,
        _ => Kind::Runs,
    })
}
