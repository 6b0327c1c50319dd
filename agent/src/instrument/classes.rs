//! The rewriting of classes, and what is known of their methods.
//!
//! When a class passes the load hook again (another agent retransforms it), its methods keep their
//! numbers.

use super::handlers::{FrameMethod, Handlers};
use super::huge::Huge;
use super::initialiser::{INITIALISER, is_initialiser};
use super::initiating::{InitiatingLoaders, Origin};
use super::never;
use super::plan::{Plan, Planner, define_lines, report_reduced};
use super::sites::AllocSites;
use crate::hook_class::{HOOK_NAME, Hook};
use crate::objects::{Objects, class_number};
use crate::session::lines::LineCounters;
use crate::session::{ClassNumbers, FollowedChanges, Loader, Session, class_name, internal_name};
use jtrail_classfile::{
    Class, Hooks, Inserted, LargeNumbers, Method, Refusal, Rewritten, SuperMarks, instrument,
};
use jtrail_jvm::jni::{ClassRef, Env};
use jtrail_jvm::jvmti;
use jtrail_jvm::perf::Returns;
use jtrail_options::{ClassVerdict, Events};
use jtrail_recorder::bursts::Bursts;
use jtrail_records::Definition;
use jtrail_records::definition::MethodInfo;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Everything about the rewriting of classes.
#[derive(Default)]
pub(crate) struct Instrument {
    /// The hook class in use.
    pub(crate) hook: OnceLock<Hook>,
    /// How hooks come back from native code.
    pub(crate) returns: Returns,
    /// Where lines are counted.
    pub(crate) lines: OnceLock<LineCounters>,
    /// Where objects are created, if that is where allocations are seen.
    pub(crate) sites: OnceLock<AllocSites>,
    initiating: InitiatingLoaders,
    state: State,
    /// Classes that have hooks now, by loader and name.
    hooked: Mutex<FxHashSet<(Loader, Box<str>)>>,
    methods: Methods,
    handlers: Handlers,
    huge: Huge,
    /// Whether classes get their handlers of `Throwable` apart; see [`Self::apart`].
    sets_apart: OnceLock<bool>,
}

/// Whether classes are rewritten.
#[derive(Default)]
struct State {
    /// The hook is there, so that classes can be rewritten.
    has_hook: AtomicBool,
    /// They are.
    is_open: AtomicBool,
}

/// What is known of methods by the JVM's ids of them ([`jvmti::Method::address`]).
#[derive(Default)]
struct Methods {
    /// For the JVM's own events of calls: what is to be known of each method seen; none if nothing
    /// of it is recorded.
    called: RwLock<FxHashMap<usize, Option<CalledMethod>>>,
    /// For stacks.
    in_stacks: RwLock<FxHashMap<usize, Option<Arc<FrameMethod>>>>,
    /// The changes of classes that these have followed.
    seen: FollowedChanges,
}

/// A method whose call the JVM reports.
#[derive(Clone, Copy)]
pub(crate) struct CalledMethod {
    /// Its number.
    pub(crate) number: u32,
    /// The filters include it.
    pub(crate) is_included: bool,
    /// It initialises its class.
    pub(crate) is_initialiser: bool,
}

impl Instrument {
    /// The hook is there, and classes are rewritten, or not yet.
    pub(crate) fn found_hook(&self, open: bool) {
        self.state.has_hook.store(true, Ordering::Release);
        self.set_open(open);
    }

    /// Returns true if classes can be rewritten.
    pub(crate) fn has_hook(&self) -> bool {
        self.state.has_hook.load(Ordering::Acquire)
    }

    /// From now on, classes are rewritten, or none is.
    pub(crate) fn set_open(&self, open: bool) {
        self.state.is_open.store(open, Ordering::Release);
    }

    /// Returns true if classes are rewritten as they load.
    pub(crate) fn is_open(&self) -> bool {
        self.state.is_open.load(Ordering::Acquire)
    }

    /// Where lines are counted, if they are now.
    pub(super) fn lines_now(&self, session: &Session) -> Option<&LineCounters> {
        let lines = self.lines.get();
        lines.filter(|_| session.is_on(Events::LINES))
    }

    /// Where objects are created, if allocations are seen there now.
    pub(crate) fn sites_now(&self, session: &Session) -> Option<&AllocSites> {
        let sites = self.sites.get();
        sites.filter(|_| session.is_on(Events::ALLOC))
    }

    /// Returns true if what they create is to be known again.
    pub(crate) fn identifies_now(&self, session: &Session) -> bool {
        session.is_on(Events::FREE) && self.sites_now(session).is_some()
    }

    /// A class was prepared: it may call hooks from now on.
    pub(crate) fn prepared(&self, session: &Session, env: &Env<'_>, class: ClassRef<'_>) {
        let jvmti = session.jvmti;
        let Ok(Some(object)) = jvmti.class_loader(env, class) else {
            return;
        };
        let loader = session.classes.loader(jvmti, Some(object));
        let origin = Origin {
            loader,
            object: Some(object),
            class: Some(class),
        };
        let hook = self.hook.get();
        self.initiating
            .prepared(session, env, hook, (&origin, class), || {
                let signature = jvmti.class_signature(class).unwrap_or_default();
                self.has_hooks(loader, internal_name(&signature))
            });
    }

    /// Forgets what is known of classes whose loaders were collected. Returns their numbers.
    pub(crate) fn forget_collected(&self, session: &Session, env: &Env<'_>) -> Vec<u32> {
        let (loaders, classes) = session.classes.forget_collected(env);
        if !loaders.is_empty() {
            let mut hooked = self.hooked.lock();
            hooked.retain(|(loader, _)| !loaders.contains(loader));
            drop(hooked);
            self.handlers.forget(&loaders);
            self.initiating.forget(&loaders);
            self.forget_methods();
        }
        classes
    }

    /// Returns true if any class has hooks.
    pub(crate) fn have_hooks(&self) -> bool {
        !self.hooked.lock().is_empty()
    }

    /// Returns true if a class (`a/b/C`) has hooks, or is about to get some.
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
            self.forget_methods();
        }
    }

    /// The class file with hooks in the methods that the filters include, and where objects are
    /// created; `None` to leave it as it is. `again`: the class exists, and gets new code.
    pub(crate) fn rewrite(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        origin: &Origin<'_>,
        name: Option<&str>,
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        let (loader, again) = (origin.loader, origin.class.is_some());
        // Most classes are none of ours: decide by the name, before anything is read.
        let is_candidate = session.is_on(Events::CLINIT)
            || name.is_none_or(|name| {
                self.may_get_hooks(session, name, || self.verdict(session, loader, name))
            });
        let was_ours = again && name.is_some_and(|name| session.classes.is_known(loader, name));
        let class = match is_candidate || was_ours {
            true => parsed(session, name, bytes),
            false => None,
        };
        let apart = class.as_ref().and_then(|class| self.apart(session, class));
        let special = name
            .filter(|_| loader == Loader::BOOT)
            .and_then(|name| self.special(session, name, apart.as_deref().unwrap_or(bytes)));
        let class = match special.as_deref().or(apart.as_deref()) {
            Some(bytes) => parsed(session, name, bytes),
            None => class,
        };
        let rewritten = class
            .filter(|_| is_candidate)
            .and_then(|class| self.rewrite_chosen(session, env, origin, &class));
        let rewritten = rewritten.or(special);
        if let Some(name) = name
            && (again || rewritten.is_some())
        {
            self.note_hooks(loader, name, rewritten.is_some());
        }
        rewritten.or(apart.filter(|_| again))
    }

    /// A class that exists gets its own code back, as the agent leaves; `None` to leave it as it
    /// is.
    pub(crate) fn restore(
        &self,
        session: &Session,
        loader: Loader,
        name: &str,
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        self.note_hooks(loader, name, false);
        if !session.classes.is_known(loader, name) {
            return None;
        }
        self.apart(session, &Class::parse(bytes).ok()?)
    }

    /// The class file with its handlers of `Throwable` apart, where that is called for. From Java
    /// 17 to 21, HotSpot's pool of a class grows each time that the class is made anew, whatever
    /// changes, if such a handler and a call name `Throwable` by one entry, as in each
    /// try-with-resources (JDK-8308762); and as each pool is larger than the last, the memory of
    /// none is used again. The entry apart has to have one place in the pool, with hooks and
    /// without, so it comes before the hooks', and stays when they go.
    fn apart(&self, session: &Session, class: &Class<'_>) -> Option<Vec<u8>> {
        let version = || session.jvmti.java_version();
        let is_called_for = || version().is_some_and(|v| (17..22).contains(&v));
        self.sets_apart
            .get_or_init(is_called_for)
            .then(|| class.with_throwable_apart())
            .flatten()
    }

    /// Returns true if anything in a class may get hooks, with what the filters say of its methods.
    fn may_get_hooks(
        &self,
        session: &Session,
        name: &str,
        verdict: impl FnOnce() -> ClassVerdict,
    ) -> bool {
        self.sites_now(session).is_some()
            || verdict() != ClassVerdict::None
            || has_triggers(session, name)
    }

    fn rewrite_chosen(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        origin: &Origin<'_>,
        class: &Class<'_>,
    ) -> Option<Vec<u8>> {
        let loader = origin.loader;
        let name = class.name();
        let verdict = self.verdict(session, loader, &name);
        let is_initialised = || {
            let is_reported = session.is_on(Events::CLINIT);
            is_reported && class.methods().iter().any(is_initialiser)
        };
        if !self.may_get_hooks(session, &name, || verdict) && !is_initialised() {
            return None;
        }
        if let Some(reason) = never::class(&name) {
            if !reason.is_empty() && verdict != ClassVerdict::None {
                uninstrumented(session, &name, "", reason);
            }
            return None;
        }
        let hook = self.hook.get();
        if let Err(reason) = self.initiating.verdict(session, env, hook, origin) {
            let loaded = session
                .classes
                .known()
                .loaded(session, loader, class, &name);
            if let (_, true) = loaded {
                uninstrumented(session, &name, "", &reason);
            }
            return None;
        }
        let planner = Planner {
            session,
            instrument: self,
            loader,
            class,
            name: &name,
            verdict,
        };
        // Held to the end: when two threads define a class at once, its methods are announced
        // before either copy can run.
        let mut known = session.classes.known();
        let plan = planner.plan(&mut known);
        let result = instrument(class, &self.hooks(session), |at, _| plan.probes[at]);
        let rewritten = match result {
            Ok(rewritten) => rewritten,
            Err(refusal) => {
                uninstrumented(session, &name, "", &refusal.to_string());
                return None;
            }
        };
        let instrumented = self.define(&planner, &mut known, plan, &rewritten);
        drop(known);
        if origin.class.is_some() {
            self.forget_methods(); // code has moved
        }
        (instrumented > 0).then_some(rewritten.bytes)
    }

    /// What rewritten classes call.
    fn hooks(&self, session: &Session) -> Hooks<'_> {
        let hook = self.hook.get();
        Hooks {
            class: hook.map_or(HOOK_NAME, |hook| &hook.name),
            // The JVM keeps constants, and the next agent gives other numbers.
            large_numbers: match hook.is_none_or(|hook| hook.is_first) {
                true => LargeNumbers::Constant,
                false => LargeNumbers::Computed,
            },
            compiled_up_to: self.huge.limit(),
            ..hooks_of(session)
        }
    }

    /// Tells the writer what became of a class's methods. Returns how many have hooks.
    fn define(
        &self,
        planner: &Planner<'_, '_>,
        known: &mut ClassNumbers,
        mut plan: Plan,
        rewritten: &Rewritten,
    ) -> usize {
        let (mut instrumented, mut included) = (0, 0);
        for (at, outcome) in &rewritten.outcomes {
            let method = &planner.class.methods()[*at];
            match outcome {
                Ok(inserted) => {
                    instrumented += 1;
                    plan.set_marks(*at, inserted.super_marks);
                    self.define_method(planner, known, &plan, (*at, method), inserted);
                    included += u64::from(plan.is_included(*at));
                }
                Err(refusal) if plan.is_new => {
                    let full_name = full_name(method);
                    let reason = refusal.to_string();
                    uninstrumented(planner.session, planner.name, &full_name, &reason);
                    self.log_huge(planner, method, "has no hooks", refusal);
                }
                Err(_) => {}
            }
        }
        plan.define(planner.session, included);
        instrumented
    }

    /// Tells the writer what a method has got.
    fn define_method(
        &self,
        planner: &Planner<'_, '_>,
        known: &mut ClassNumbers,
        plan: &Plan,
        (at, method): (usize, &Method<'_>),
        inserted: &Inserted,
    ) {
        let (session, name) = (planner.session, planner.name);
        if let Some(class) = known.classes.get_mut(&(planner.loader, name.into()))
            && let Some(entry) = class.methods.get_mut(&*full_name(method))
        {
            entry.added_handlers = inserted.added_handlers;
        }
        if let Some(number) = plan.numbers[at] {
            let counted = (number, &plan.probes[at]);
            define_lines(session, name, method, counted, inserted);
        }
        if plan.probes[at].allocations.is_some() {
            report_reduced(session, name, method, inserted);
        }
        if let Some(refusal) = &inserted.reduced {
            self.log_huge(planner, method, "has hooks for its calls alone", refusal);
        }
    }

    fn log_huge(
        &self,
        planner: &Planner<'_, '_>,
        method: &Method<'_>,
        lack: &str,
        refusal: &Refusal,
    ) {
        let (class, method) = (class_name(planner.name), full_name(method));
        self.huge.log_refusal(&class, &method, lack, refusal);
    }

    /// Which methods of a class have their calls or lines traced.
    pub(crate) fn verdict(&self, session: &Session, loader: Loader, name: &str) -> ClassVerdict {
        if !session.is_on(Events::METHODS) && !session.is_on(Events::LINES) {
            return ClassVerdict::None;
        }
        session
            .filter()
            .class(&name.replace('/', "."), loader.is_jdk(name))
    }

    /// A method whose call the JVM reports; `None` if nothing of it is recorded: the filters
    /// exclude it, and it is no initialiser that is told of.
    pub(crate) fn called_method(
        &self,
        session: &Session,
        objects: Option<&Objects>,
        env: &Env<'_>,
        method: jvmti::Method,
    ) -> Option<CalledMethod> {
        self.settle(session);
        if let Some(found) = self.methods.called.read().get(&method.address()) {
            return *found;
        }
        let (mut is_included, mut is_initialiser) = (false, false);
        let is_needed = |class: &str, method: &str, loader: Loader| {
            let available = session.kinds.available();
            is_included = available.contains(Events::METHODS)
                && never::class(class).is_none()
                && (session.filter()).method(&class_name(class), method, loader.is_jdk(class));
            is_initialiser = available.contains(Events::CLINIT) && method == INITIALISER;
            is_included || is_initialiser
        };
        let found = self.find(session, objects, env, method, is_needed);
        let found = found.map(|found| CalledMethod {
            number: found.number,
            is_included,
            is_initialiser,
        });
        let mut called = self.methods.called.write();
        called.insert(method.address(), found);
        found
    }

    /// What stacks need to know of a method, whether the filters include it or not. `None` if the
    /// JVM does not say, or there are no numbers left.
    pub(crate) fn frame_method(
        &self,
        session: &Session,
        objects: Option<&Objects>,
        env: &Env<'_>,
        method: jvmti::Method,
    ) -> Option<Arc<FrameMethod>> {
        self.settle(session);
        // Until it is redefined, its lines are the old ones.
        let moving = session.classes.changes.are_lines_moving();
        if !moving && let Some(found) = self.methods.in_stacks.read().get(&method.address()) {
            return found.clone();
        }
        let found = self
            .find(session, objects, env, method, |_, _, _| true)
            .map(Arc::new);
        if moving {
            return found;
        }
        let mut in_stacks = self.methods.in_stacks.write();
        in_stacks.insert(method.address(), found.clone());
        found
    }

    /// Follows classes that were unloaded or redefined.
    #[inline]
    fn settle(&self, session: &Session) {
        if session.classes.changes.take_news(&self.methods.seen) {
            self.forget_methods();
        }
    }

    /// The filters have changed.
    pub(crate) fn forget_verdicts(&self) {
        self.methods.called.write().clear();
    }

    /// The JVM's ids of methods may stand for others from now on, and lines may have moved: a class
    /// was redefined or unloaded.
    pub(crate) fn forget_methods(&self) {
        self.methods.called.write().clear();
        self.methods.in_stacks.write().clear();
    }

    fn find(
        &self,
        session: &Session,
        objects: Option<&Objects>,
        env: &Env<'_>,
        method: jvmti::Method,
        is_needed: impl FnOnce(&str, &str, Loader) -> bool,
    ) -> Option<FrameMethod> {
        let jvmti = session.jvmti;
        let class = jvmti.declaring_class(env, method).ok()?;
        let signature = jvmti.class_signature(class).ok()?;
        let name = signature.strip_prefix('L')?.strip_suffix(';')?;
        let loader = session.classes.loader_of(jvmti, env, class)?;
        let (method_name, descriptor) = jvmti.method_name(method).ok()?;
        if !is_needed(name, &method_name, loader) {
            return None;
        }
        let lines = jvmti.lines(method);
        let code_length = jvmti.code_length(method);
        let number = class_number(session, objects, env, class)?;
        let mut known = session.classes.known();
        let full_name = format!("{method_name}{descriptor}");
        let (method_number, is_new) = known.method(loader, name, &full_name)?;
        if is_new {
            session.define(Definition::Methods {
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
pub(crate) fn has_triggers(session: &Session, name: &str) -> bool {
    let fits = |bursts: &Arc<Bursts>| bursts.fits_class(&class_name(name));
    session.options.has_call_triggers() && session.bursts.as_ref().is_some_and(fits)
}

/// What rewritten classes call: behind a gate where only bursts are recorded.
pub(super) fn hooks_of(session: &Session) -> Hooks<'static> {
    let bursts = session
        .bursts
        .as_ref()
        .filter(|_| session.options.has_bursts());
    let hooks = match (bursts, &session.clock.ticks) {
        (Some(_), _) => Hooks::JTRAIL_BURST,
        (None, Some(_)) => Hooks::JTRAIL_TICK,
        (None, None) => Hooks::JTRAIL,
    };
    Hooks {
        hands_over_arrays: session.options.has_identity_at_sites(),
        ..hooks
    }
}

pub(super) fn full_name(method: &Method<'_>) -> String {
    format!("{}{}", method.name(), method.descriptor())
}

/// `None`, and it is told, where this is no class file that jtrail knows.
fn parsed<'a>(session: &Session, name: Option<&str>, bytes: &'a [u8]) -> Option<Class<'a>> {
    let refuse =
        |error| uninstrumented(session, name.unwrap_or("unknown"), "", &format!("{error}"));
    Class::parse(bytes).map_err(refuse).ok()
}

pub(super) fn uninstrumented(session: &Session, class: &str, method: &str, reason: &str) {
    session.define(Definition::Uninstrumented {
        class: class_name(class).into(),
        method: method.into(),
        reason: reason.into(),
    });
}
