//! The classes seen so far, with the numbers of their methods.
//!
//! A class is known by its loader and its name. When it passes the load hook again (another agent
//! retransforms it), its methods keep their numbers.

use super::changes::Changes;
use super::handlers::{FrameMethod, Handlers};
use super::huge::Huge;
use super::initiating::{InitiatingLoaders, Origin};
use super::known::Known;
use super::lines::LineCounters;
use super::loader::{Loader, Loaders, Watched};
use super::never;
use super::plan::{Plan, tell_lines, tell_reduced};
use super::sites::AllocSites;
use super::special;
use crate::agent::Agent;
use crate::hook_class::HOOK_NAME;
use jni::sys::{JNIEnv, jclass, jmethodID, jobject};
use jtrail_classfile::{Class, Hooks, LargeNumbers, Method, SuperMarks, instrument};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_options::{ClassVerdict, Events};
use jtrail_recorder::bursts::Bursts;
use jtrail_records::Announcement;
use jtrail_records::announce::ClassInfo;
use jtrail_records::announce::MethodInfo;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// All classes that the trace may have to name.
#[derive(Default)]
pub(crate) struct Classes {
    loaders: Loaders,
    watched: Watched,
    initiating: InitiatingLoaders,
    /// Whether the hook is there, so that classes can be rewritten.
    has_hook: AtomicBool,
    /// Whether they are.
    open: AtomicBool,
    known: Mutex<Known>,
    /// Those that have hooks now, by loader and name.
    hooked: Mutex<FxHashSet<(Loader, Box<str>)>>,
    /// Where lines are counted.
    pub(crate) lines: OnceLock<LineCounters>,
    /// Where objects are created, if that is where allocations are seen.
    pub(crate) sites: OnceLock<AllocSites>,
    /// For the JVM's own events: the number of each method seen; none if it is filtered away.
    by_jmethod: RwLock<FxHashMap<usize, Option<u32>>>,
    /// For stacks: what is known of each method seen there.
    in_stacks: RwLock<FxHashMap<usize, Option<Arc<FrameMethod>>>>,
    handlers: Handlers,
    huge: Huge,
    pub(crate) changes: Changes,
    /// Whether classes get their handlers of `Throwable` apart; see [`Self::apart`].
    sets_apart: OnceLock<bool>,
}

impl Classes {
    /// The hook is there, and classes are rewritten, or not yet.
    pub(crate) fn found_hook(&self, open: bool) {
        self.has_hook.store(true, Ordering::Release);
        self.set_open(open);
    }

    /// Whether classes can be rewritten.
    pub(crate) fn has_hook(&self) -> bool {
        self.has_hook.load(Ordering::Acquire)
    }

    /// From now on, classes are rewritten, or none is.
    pub(crate) fn set_open(&self, open: bool) {
        self.open.store(open, Ordering::Release);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Where lines are counted, if they are now.
    pub(super) fn lines_now(&self, agent: &Agent) -> Option<&LineCounters> {
        let lines = self.lines.get();
        lines.filter(|_| agent.kinds().contains(Events::LINES))
    }

    /// Where objects are created, if allocations are seen there now.
    pub(crate) fn sites_now(&self, agent: &Agent) -> Option<&AllocSites> {
        let sites = self.sites.get();
        sites.filter(|_| agent.kinds().contains(Events::ALLOC))
    }

    /// Whether what they create is to be known again.
    pub(crate) fn identifies_now(&self, agent: &Agent) -> bool {
        agent.kinds().contains(Events::FREE) && self.sites_now(agent).is_some()
    }

    pub(crate) fn find_platform_loader(&self, jvmti: Jvmti, env: *mut JNIEnv) {
        self.loaders.find_platform(jvmti, env);
    }

    /// # Safety
    /// `object` is null or a live reference to a class loader.
    pub(crate) unsafe fn loader(&self, jvmti: Jvmti, object: jobject) -> Loader {
        // SAFETY: the caller's promise.
        unsafe { self.loaders.of(jvmti, object) }
    }

    /// A class of that loader passes the load hook.
    ///
    /// # Safety
    /// `env` is the running thread's, and `object` a live reference to `loader`, or null.
    pub(crate) unsafe fn watch(&self, env: *mut JNIEnv, loader: Loader, object: jobject) {
        if loader != Loader::BOOT && loader != Loader::PLATFORM {
            // SAFETY: the caller's promise.
            unsafe { self.watched.add(env, loader, object) };
        }
    }

    /// A class was prepared: it may call hooks from now on.
    ///
    /// # Safety
    /// `env` is the running thread's, and `class` a live reference to a class.
    pub(crate) unsafe fn prepared(&self, agent: &Agent, env: *mut JNIEnv, class: jclass) {
        // SAFETY: the caller's promise.
        let Ok(object) = (unsafe { agent.jvmti.class_loader(class) }) else {
            return;
        };
        if !object.is_null() {
            // SAFETY: likewise, and a local reference that the JVM just gave us.
            unsafe {
                let loader = self.loader(agent.jvmti, object);
                let origin = Origin::new(env, loader, object, class);
                self.initiating.prepared(agent, &origin, || {
                    let name = agent.jvmti.class_signature(class).unwrap_or_default();
                    let name = name.trim_start_matches('L').trim_end_matches(';');
                    self.has_hooks(loader, name)
                });
            }
        }
    }

    /// Whether it is time for [`Self::forget_gone`].
    pub(crate) fn is_look_due(&self) -> bool {
        self.known.lock().is_look_due()
    }

    /// Gives up what is known of classes whose loaders are gone. Their numbers.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub(crate) unsafe fn forget_gone(&self, env: *mut JNIEnv) -> Vec<u32> {
        // SAFETY: the caller's promise.
        let gone = unsafe { self.watched.take_gone(env) };
        let numbers = self.known.lock().forget_loaders(&gone);
        if !gone.is_empty() {
            self.hooked
                .lock()
                .retain(|(loader, _)| !gone.contains(loader));
            self.handlers.forget(&gone);
            self.initiating.forget(&gone);
            self.forget_jmethods();
        }
        numbers
    }

    /// Gives up the references to loaders.
    ///
    /// # Safety
    /// `env` is the running thread's.
    pub(crate) unsafe fn forget_references(&self, env: *mut JNIEnv) {
        // SAFETY: the caller's promise.
        unsafe { self.watched.forget(env) };
    }

    /// Whether a class (`a/b/C`) passed the load hook before, and was included.
    pub(crate) fn is_known(&self, loader: Loader, name: &str) -> bool {
        let known = self.known.lock();
        let entry = known.classes.get(&(loader, name.into()));
        entry.is_some_and(|entry| entry.loaded)
    }

    /// Whether any class has hooks.
    pub(crate) fn have_hooks(&self) -> bool {
        !self.hooked.lock().is_empty()
    }

    /// Whether a class (`a/b/C`) has hooks, or is about to get some.
    pub(crate) fn has_hooks(&self, loader: Loader, name: &str) -> bool {
        self.hooked.lock().contains(&(loader, name.into()))
    }

    /// A class's code has hooks from now on, or none.
    pub(crate) fn note_hooks(&self, loader: Loader, name: &str, has_hooks: bool) {
        let mut hooked = self.hooked.lock();
        match has_hooks {
            true => hooked.insert((loader, name.into())),
            false => hooked.remove(&(loader, name.into())),
        };
    }

    /// A class is about to get this code, with our hooks or without; `again`: it exists.
    pub(crate) fn note_handlers(&self, loader: Loader, file: &[u8], again: bool) {
        self.handlers.note(loader, file);
        if again {
            self.forget_jmethods();
        }
    }

    /// The class file with hooks in the methods that the filters include, and where objects are created; `None` to leave
    /// it as it is.
    /// `again`: the class exists, and gets new code.
    pub(crate) fn rewrite(
        &self,
        agent: &Agent,
        origin: &Origin,
        name: Option<&str>,
        bytes: &[u8],
        again: bool,
    ) -> Option<Vec<u8>> {
        let loader = origin.loader;
        // Most classes are none of ours: decide by the name, before anything is read.
        let is_candidate = name.is_none_or(|name| {
            self.may_get_hooks(agent, name, || self.verdict(agent, loader, name))
        });
        let was_ours = again && name.is_some_and(|name| self.is_known(loader, name));
        let class = match is_candidate || was_ours {
            true => parsed(agent, name, bytes),
            false => None,
        };
        let apart = class.as_ref().and_then(|class| self.apart(agent, class));
        let special = name
            .filter(|_| loader == Loader::BOOT)
            .and_then(|name| special::rewrite(agent, name, apart.as_deref().unwrap_or(bytes)));
        let class = match special.as_deref().or(apart.as_deref()) {
            Some(bytes) => parsed(agent, name, bytes),
            None => class,
        };
        let rewritten = class
            .filter(|_| is_candidate)
            .and_then(|class| self.rewrite_chosen(agent, origin, &class, again));
        let rewritten = rewritten.or(special);
        if let Some(name) = name
            && (again || rewritten.is_some())
        {
            self.note_hooks(loader, name, rewritten.is_some());
        }
        rewritten.or(apart.filter(|_| again))
    }

    /// A class that exists gets its own code back, as the agent leaves; `None` to leave it as it is.
    pub(crate) fn restore(
        &self,
        agent: &Agent,
        loader: Loader,
        name: &str,
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        self.note_hooks(loader, name, false);
        if !self.is_known(loader, name) {
            return None;
        }
        self.apart(agent, &Class::parse(bytes).ok()?)
    }

    /// The class file with its handlers of `Throwable` apart, where that is called for. From Java 17 to 21, HotSpot's pool of a class grows each time that
    /// the class is made anew, whatever changes, if such a handler and a call name `Throwable` by one entry, as in each try-with-resources
    /// (JDK-8308762); and as each pool is larger than the last, the memory of none is used again. The entry apart has to have one place in
    /// the pool, with hooks and without, so it comes before the hooks', and stays when they go.
    fn apart(&self, agent: &Agent, class: &Class<'_>) -> Option<Vec<u8>> {
        let version = || agent.jvmti.java_version();
        let is_called_for = || version().is_some_and(|v| (17..22).contains(&v));
        self.sets_apart
            .get_or_init(is_called_for)
            .then(|| class.with_throwable_apart())
            .flatten()
    }

    /// Whether anything in a class may get hooks, with what the filters say of its methods.
    fn may_get_hooks(
        &self,
        agent: &Agent,
        name: &str,
        verdict: impl FnOnce() -> ClassVerdict,
    ) -> bool {
        self.sites_now(agent).is_some()
            || verdict() != ClassVerdict::None
            || has_triggers(agent, name)
    }

    fn rewrite_chosen(
        &self,
        agent: &Agent,
        origin: &Origin,
        class: &Class<'_>,
        again: bool,
    ) -> Option<Vec<u8>> {
        let loader = origin.loader;
        let name = class.name();
        let verdict = self.verdict(agent, loader, &name);
        if !self.may_get_hooks(agent, &name, || verdict) {
            return None;
        }
        if let Some(reason) = never::class(&name) {
            if !reason.is_empty() && verdict != ClassVerdict::None {
                uncovered(agent, &name, "", reason);
            }
            return None;
        }
        if let Err(reason) = self.initiating.verdict(agent, origin) {
            let (_, is_new) = self.known.lock().loaded(agent, loader, class, &name);
            if is_new {
                uncovered(agent, &name, "", &reason);
            }
            return None;
        }
        self.settle();
        // Held to the end: when two threads define a class at once, its methods are announced before either
        // copy can run.
        let mut known = self.known.lock();
        let mut plan = Plan::of(&mut known, agent, loader, class, &name, verdict);
        let hook = agent.hook.get();
        let hooks = Hooks {
            class: hook.map_or(HOOK_NAME, |hook| &hook.name),
            // The JVM keeps constants, and the next agent gives other numbers.
            large_numbers: match hook.is_none_or(|hook| hook.is_first) {
                true => LargeNumbers::Constant,
                false => LargeNumbers::Computed,
            },
            compiled_up_to: self.huge.limit(),
            ..hooks_of(agent)
        };
        let result = instrument(class, &hooks, |at, _| plan.probes[at]);
        let rewritten = match result {
            Ok(rewritten) => rewritten,
            Err(refusal) => {
                uncovered(agent, &name, "", &refusal.to_string());
                return None;
            }
        };
        let mut instrumented = 0;
        let mut included = 0;
        for (at, outcome) in &rewritten.outcomes {
            match outcome {
                Ok(inserted) => {
                    instrumented += 1;
                    plan.set_marks(*at, inserted.super_marks);
                    let method = full_name(&class.methods()[*at]);
                    if let Some(class) = known.classes.get_mut(&(loader, (&*name).into()))
                        && let Some(method) = class.methods.get_mut(&*method)
                    {
                        method.added_handlers = inserted.added_handlers;
                    }
                    let method = &class.methods()[*at];
                    if let Some(number) = plan.numbers[*at] {
                        let counted = (number, &plan.probes[*at]);
                        tell_lines(agent, &name, method, counted, inserted);
                    }
                    if plan.probes[*at].allocations.is_some() {
                        tell_reduced(agent, &name, method, inserted);
                    }
                    if let Some(refusal) = &inserted.reduced {
                        let lack = "has hooks for its calls alone";
                        let (class, method) = (class_name(&name), full_name(method));
                        self.huge.tell(&class, &method, lack, refusal);
                    }
                    included += u64::from(plan.is_included(*at));
                }
                Err(refusal) if plan.is_new => {
                    let method = full_name(&class.methods()[*at]);
                    uncovered(agent, &name, &method, &refusal.to_string());
                    let class = class_name(&name);
                    self.huge.tell(&class, &method, "has no hooks", refusal);
                }
                Err(_) => {}
            }
        }
        plan.announce(agent, included);
        drop(known);
        if again {
            self.forget_jmethods(); // code has moved
        }
        (instrumented > 0).then_some(rewritten.bytes)
    }

    /// Which methods of a class have their calls or lines traced.
    pub(crate) fn verdict(&self, agent: &Agent, loader: Loader, name: &str) -> ClassVerdict {
        let events = agent.kinds();
        if !events.contains(Events::METHODS) && !events.contains(Events::LINES) {
            return ClassVerdict::None;
        }
        agent
            .filter()
            .class(&name.replace('/', "."), loader.is_jdk(name))
    }

    /// The number of the method that the JVM calls so; `None` if the filters exclude it.
    ///
    /// # Safety
    /// `method` is alive.
    pub(crate) unsafe fn method_of(&self, agent: &Agent, method: jmethodID) -> Option<u32> {
        self.settle();
        if let Some(number) = self.by_jmethod.read().get(&(method as usize)) {
            return *number;
        }
        // SAFETY: the caller's promise.
        let found = unsafe { self.find(agent, method, true) };
        let number = found.map(|found| found.number);
        self.by_jmethod.write().insert(method as usize, number);
        number
    }

    /// What stacks need to know of a method, whether the filters include it or not. `None` if the JVM does not
    /// tell, or there are no numbers left.
    ///
    /// # Safety
    /// `method` is alive.
    pub(crate) unsafe fn frame_method(
        &self,
        agent: &Agent,
        method: jmethodID,
    ) -> Option<Arc<FrameMethod>> {
        self.settle();
        // Until it is redefined, its lines are the old ones.
        let moving = self.changes.are_lines_moving();
        if !moving && let Some(found) = self.in_stacks.read().get(&(method as usize)) {
            return found.clone();
        }
        // SAFETY: the caller's promise.
        let found = unsafe { self.find(agent, method, false) }.map(Arc::new);
        if moving {
            return found;
        }
        self.in_stacks
            .write()
            .insert(method as usize, found.clone());
        found
    }

    /// Takes note of classes that were unloaded or redefined.
    #[inline]
    fn settle(&self) {
        if self.changes.take_news() {
            self.forget_jmethods();
            self.known.lock().forget(self.changes.unloaded());
        }
    }

    /// The filters have changed.
    pub(crate) fn forget_verdicts(&self) {
        self.by_jmethod.write().clear();
    }

    /// The JVM's names of methods may stand for others from now on, and lines may have moved: a class was redefined or unloaded.
    pub(crate) fn forget_jmethods(&self) {
        self.by_jmethod.write().clear();
        self.in_stacks.write().clear();
    }

    /// A class's number; the class is announced if it is new.
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub(crate) unsafe fn number_of(&self, agent: &Agent, class: jclass) -> Option<u32> {
        match agent.objects.get() {
            // SAFETY: the caller's promise.
            Some(objects) => unsafe { objects.class(agent, class) },
            // SAFETY: likewise.
            None => unsafe { self.number_by_name(agent, class, false) },
        }
    }

    /// The number of a class that can't be looked up, by its name as `Class.getName` prints it; announced by `announce` if it is
    /// new.
    pub(crate) fn number_of_name(&self, name: &str, announce: impl FnOnce(u32)) -> u32 {
        let name = name.replace('.', "/");
        self.known
            .lock()
            .class(Loader::BOOT, &name, announce)
            .number
    }

    /// As [`Self::number_of`], for a class whose object has no number. `first`: it would have one if it were
    /// known.
    ///
    /// # Safety
    /// `class` is a live reference to a class.
    pub(crate) unsafe fn number_by_name(
        &self,
        agent: &Agent,
        class: jclass,
        first: bool,
    ) -> Option<u32> {
        self.settle();
        let jvmti = agent.jvmti;
        // SAFETY: the caller's promise.
        let signature = unsafe { jvmti.class_signature(class) }.ok()?;
        let name = match signature.strip_prefix('L') {
            Some(name) => name.strip_suffix(';')?,
            None => &signature,
        };
        // SAFETY: a local reference that the JVM just gave us.
        let loader = unsafe { self.loader(jvmti, jvmti.class_loader(class).ok()?) };
        // SAFETY: the caller's promise.
        let source_file = unsafe { jvmti.source_file(class) }.unwrap_or_default();
        let mut known = self.known.lock();
        if first {
            known.make_room(loader, name);
        }
        let entry = known.class(loader, name, |number| {
            agent.announce(Announcement::Class(ClassInfo {
                number,
                name: class_name(name).into(),
                super_name: "".into(),
                source_file: source_file.into(),
            }));
        });
        Some(entry.number)
    }

    /// # Safety
    /// `method` is alive.
    unsafe fn find(&self, agent: &Agent, method: jmethodID, filtered: bool) -> Option<FrameMethod> {
        let jvmti = agent.jvmti;
        // SAFETY: the caller's promise.
        let class = unsafe { jvmti.declaring_class(method) }.ok()?;
        // SAFETY: a local reference that the JVM just gave us.
        let signature = unsafe { jvmti.class_signature(class) }.ok()?;
        let name = signature.strip_prefix('L')?.strip_suffix(';')?;
        // SAFETY: local references that the JVM just gave us.
        let loader = unsafe { self.loader(jvmti, jvmti.class_loader(class).ok()?) };
        // SAFETY: the caller's promise.
        let (method_name, descriptor) = unsafe { jvmti.method_name(method) }.ok()?;
        let included = || {
            let filter = agent.filter();
            never::class(name).is_none()
                && filter.method(&class_name(name), &method_name, loader.is_jdk(name))
        };
        if filtered && !included() {
            return None;
        }
        // SAFETY: the caller's promise.
        let lines = unsafe { jvmti.lines(method) };
        // SAFETY: the caller's promise.
        let code_length = unsafe { jvmti.code_length(method) };
        // SAFETY: a local reference that the JVM just gave us.
        let number = unsafe { self.number_of(agent, class) }?;
        let mut known = self.known.lock();
        let full_name = format!("{method_name}{descriptor}");
        let (method_number, is_new) = known.method(loader, name, &full_name)?;
        if is_new {
            agent.announce(Announcement::Methods {
                class: number,
                methods: vec![MethodInfo {
                    number: method_number,
                    name: method_name.into(),
                    descriptor: descriptor.into(),
                    lines: lines.range(),
                    code_length,
                    marks: SuperMarks::None, // the JVM's own events tell every exit
                }],
            });
        }
        let added_handlers = known
            .classes
            .get(&(loader, name.into()))
            .and_then(|class| class.methods.get(&*full_name))
            .and_then(|method| method.added_handlers);
        let handlers = self.handlers.of(loader, name, &full_name);
        Some(FrameMethod {
            number: method_number,
            lines,
            added_handlers,
            handlers: handlers.filter(|handlers| handlers.are_of(code_length)),
        })
    }
}

/// Whether calls of methods of a class (`a/b/C`) may begin bursts.
pub(crate) fn has_triggers(agent: &Agent, name: &str) -> bool {
    let fits = |bursts: &Arc<Bursts>| bursts.fits_class(&class_name(name));
    agent.options.has_call_triggers() && agent.bursts.as_ref().is_some_and(fits)
}

/// What rewritten classes call: behind a gate where only bursts are recorded.
pub(super) fn hooks_of(agent: &Agent) -> Hooks<'static> {
    let bursts = agent.bursts.as_ref().filter(|_| agent.options.has_bursts());
    let hooks = match (bursts, &agent.ticks) {
        (Some(_), _) => Hooks::JTRAIL_BURST,
        (None, Some(_)) => Hooks::JTRAIL_TICK,
        (None, None) => Hooks::JTRAIL,
    };
    Hooks {
        hands_over_arrays: agent.options.has_identity_at_sites(),
        ..hooks
    }
}

/// As `Class.getName` prints it; the suffix of a hidden class, behind a dot here, follows a slash there.
pub(crate) fn class_name(internal: &str) -> String {
    match internal.split_once('.') {
        Some((name, suffix)) => format!("{}/{suffix}", name.replace('/', ".")),
        None => internal.replace('/', "."),
    }
}

pub(super) fn full_name(method: &Method<'_>) -> String {
    format!("{}{}", method.name(), method.descriptor())
}

/// `None`, and it is told, where this is no class file that jtrail knows.
fn parsed<'a>(agent: &Agent, name: Option<&str>, bytes: &'a [u8]) -> Option<Class<'a>> {
    let refuse = |error| uncovered(agent, name.unwrap_or("unknown"), "", &format!("{error}"));
    Class::parse(bytes).map_err(refuse).ok()
}

pub(super) fn uncovered(agent: &Agent, class: &str, method: &str, reason: &str) {
    agent.announce(Announcement::Uncovered {
        class: class_name(class).into(),
        method: method.into(),
        reason: reason.into(),
    });
}
