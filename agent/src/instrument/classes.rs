//! Rewrites classes, and looks methods up by their JVMTI ids.
//!
//! If a class passes the load hook again (because another agent retransforms it), its methods keep
//! their numbers.

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
use jtrail_jvm::perf::FenceFlag;
use jtrail_options::{ClassVerdict, Events};
use jtrail_recorder::bursts::Bursts;
use jtrail_records::Definition;
use jtrail_records::definition::MethodInfo;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The state of the rewriting of classes.
#[derive(Default)]
pub(crate) struct Instrument {
    /// The hook class in use.
    pub(crate) hook: OnceLock<Hook>,
    /// Controls how hooks return from native code.
    pub(crate) returns: FenceFlag,
    /// The line counters, if lines are counted.
    pub(crate) lines: OnceLock<LineCounters>,
    /// The allocation sites, if allocations are recorded at their sites.
    pub(crate) sites: OnceLock<AllocSites>,
    initiating: InitiatingLoaders,
    state: State,
    /// Classes whose code has hooks, by loader and name.
    hooked: Mutex<FxHashSet<(Loader, Box<str>)>>,
    methods: Methods,
    handlers: Handlers,
    huge: Huge,
    /// True if classes get separate `Throwable` handler entries; see [`Self::apart`].
    separates_throwable: OnceLock<bool>,
}

/// Whether classes are rewritten.
#[derive(Default)]
struct State {
    /// True if the hook class is defined, so that classes can be rewritten.
    has_hook: AtomicBool,
    /// True if classes are rewritten as they load.
    is_open: AtomicBool,
}

/// Caches of methods, by their JVMTI ids ([`jvmti::Method::address`]).
#[derive(Default)]
struct Methods {
    /// Methods of the JVM's own method events; none if calls of the method are not recorded.
    called: RwLock<FxHashMap<usize, Option<CalledMethod>>>,
    /// Methods in stacks; none if the JVM returned an error, or there were no numbers left.
    in_stacks: RwLock<FxHashMap<usize, Option<Arc<FrameMethod>>>>,
    /// The changes of classes that both maps have followed.
    seen: FollowedChanges,
}

/// A method whose call the JVM reports.
#[derive(Clone, Copy)]
pub(crate) struct CalledMethod {
    /// The method's number.
    pub(crate) number: u32,
    /// True if the filters include the method.
    pub(crate) is_included: bool,
    /// True if the method is a static initializer.
    pub(crate) is_initialiser: bool,
}

impl Instrument {
    /// Notes that the hook class is defined; `open` is true if classes are rewritten from now on.
    pub(crate) fn found_hook(&self, open: bool) {
        self.state.has_hook.store(true, Ordering::Release);
        self.set_open(open);
    }

    /// Returns true if classes can be rewritten.
    pub(crate) fn has_hook(&self) -> bool {
        self.state.has_hook.load(Ordering::Acquire)
    }

    /// Switches the rewriting of classes on or off.
    pub(crate) fn set_open(&self, open: bool) {
        self.state.is_open.store(open, Ordering::Release);
    }

    /// Returns true if classes are rewritten as they load.
    pub(crate) fn is_open(&self) -> bool {
        self.state.is_open.load(Ordering::Acquire)
    }

    /// Returns the line counters, if lines are counted now.
    pub(super) fn lines_now(&self, session: &Session) -> Option<&LineCounters> {
        let lines = self.lines.get();
        lines.filter(|_| session.is_on(Events::LINES))
    }

    /// Returns the allocation sites, if allocations are recorded at their sites now.
    pub(crate) fn sites_now(&self, session: &Session) -> Option<&AllocSites> {
        let sites = self.sites.get();
        sites.filter(|_| session.is_on(Events::ALLOC))
    }

    /// Returns true if objects that are created at allocation sites have identity now: each object
    /// keeps its number until it dies.
    pub(crate) fn identifies_now(&self, session: &Session) -> bool {
        session.is_on(Events::FREE) && self.sites_now(session).is_some()
    }

    /// Called when a class was prepared. Its code may call hooks from now on.
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

    /// Forgets the classes whose loaders were collected. Returns the numbers of these classes.
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

    /// Notes whether the code of a class has hooks from now on.
    pub(crate) fn note_hooks(&self, loader: Loader, name: &str, has_hooks: bool) {
        let mut hooked = self.hooked.lock();
        match has_hooks {
            true => hooked.insert((loader, name.into())),
            false => hooked.remove(&(loader, name.into())),
        };
    }

    /// Notes the exception handlers in the class file that a class is about to get. `again` is true
    /// if the class exists already.
    pub(crate) fn note_handlers(&self, loader: Loader, file: &[u8], again: bool) {
        self.handlers.note(loader, file);
        if again {
            self.forget_methods();
        }
    }

    /// Returns the class file with hooks in the methods that the filters include, and at allocation
    /// sites. Returns `None` to leave the class file unchanged.
    pub(crate) fn rewrite(
        &self,
        session: &Session,
        env: &mut Env<'_>,
        origin: &Origin<'_>,
        name: Option<&str>,
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        let (loader, again) = (origin.loader, origin.class.is_some());
        // Most classes get no hooks. So the name is checked before the class file is parsed.
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

    /// Returns the class file that an existing class gets when its hooks are removed. Returns
    /// `None` if that is the original class file.
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

    /// Returns the class file with a separate constant-pool entry for the type of `Throwable`
    /// handlers. Returns `None` if this JVM or this class does not need that entry.
    ///
    ///  From Java 17 to 21, the constant pool of a class may grow in HotSpot with each
    ///  retransformation (JDK-8308762). The pool grows if a `Throwable` handler and a call share
    ///  the entry for `Throwable`. Every try-with-resources has such a handler and such a call.
    ///  Each pool is larger than the last one, so the JVM can't reuse the memory of the old pools.
    ///
    ///  The separate entry must have the same index with hooks and without. So it precedes the
    ///  entries of the hooks, and stays when the hooks are removed.
    fn apart(&self, session: &Session, class: &Class<'_>) -> Option<Vec<u8>> {
        let version = || session.jvmti.java_version();
        let is_called_for = || version().is_some_and(|v| (17..22).contains(&v));
        self.separates_throwable
            .get_or_init(is_called_for)
            .then(|| class.with_separate_throwable())
            .flatten()
    }

    /// Returns true if anything in a class may get hooks. `verdict` returns which methods of the
    /// class the filters include.
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
        // Locked until the methods are defined. Two threads may load the class at the same time,
        // and its code must not run before that.
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
            self.forget_methods(); // locations in the code have changed
        }
        (instrumented > 0).then_some(rewritten.bytes)
    }

    /// Returns the hook class and methods that rewritten classes call.
    fn hooks(&self, session: &Session) -> Hooks<'_> {
        let hook = self.hook.get();
        Hooks {
            class: hook.map_or(HOOK_NAME, |hook| &hook.name),
            // Later agents assign other numbers. As constants, these would make the JVM's constant
            // pools grow.
            large_numbers: match hook.is_none_or(|hook| hook.is_first) {
                true => LargeNumbers::Constant,
                false => LargeNumbers::Computed,
            },
            compiled_up_to: self.huge.limit(),
            ..hooks_of(session)
        }
    }

    /// Defines a class's methods for the writer. Returns the number of methods that have hooks.
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

    /// Notes and defines what the rewriting has inserted into a method.
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

    /// Returns which methods of a class have their calls or lines traced.
    pub(crate) fn verdict(&self, session: &Session, loader: Loader, name: &str) -> ClassVerdict {
        if !session.is_on(Events::METHODS) && !session.is_on(Events::LINES) {
            return ClassVerdict::None;
        }
        session
            .filter()
            .class(&name.replace('/', "."), loader.is_jdk(name))
    }

    /// Returns the method of a call that the JVM reports. Returns `None` if the call is not
    /// recorded: the filters exclude the method, and it is not a static initializer whose
    /// initialization is recorded.
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

    /// Returns a method's number, lines and handlers, for records of stacks. The filters don't
    /// matter. Returns `None` if the JVM returns an error, or there are no numbers left.
    pub(crate) fn frame_method(
        &self,
        session: &Session,
        objects: Option<&Objects>,
        env: &Env<'_>,
        method: jvmti::Method,
    ) -> Option<Arc<FrameMethod>> {
        self.settle(session);
        // Until a redefinition is complete, the JVM still returns the old line numbers. So nothing
        // is cached meanwhile.
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

    /// Forgets methods of classes that were unloaded or redefined.
    #[inline]
    fn settle(&self, session: &Session) {
        if session.classes.changes.take_changes(&self.methods.seen) {
            self.forget_methods();
        }
    }

    /// Forgets which methods are included, because the filters have changed.
    pub(crate) fn forget_verdicts(&self) {
        self.methods.called.write().clear();
    }

    /// Empties the caches of methods, because a class was redefined or unloaded. The JVM may reuse
    /// the ids of its methods, and lines may have moved.
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
                    marks: SuperMarks::None, // not needed: the JVM reports every exit of the method
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

/// Returns true if calls of methods of a class (`a/b/C`) may begin bursts.
pub(crate) fn has_triggers(session: &Session, name: &str) -> bool {
    let fits = |bursts: &Arc<Bursts>| bursts.fits_class(&class_name(name));
    session.options.has_call_triggers() && session.bursts.as_ref().is_some_and(fits)
}

/// Returns the hook methods that rewritten classes call. If only bursts are recorded, these hooks
/// check the gate.
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
        passes_arrays: session.options.has_identity_at_sites(),
        ..hooks
    }
}

pub(super) fn full_name(method: &Method<'_>) -> String {
    format!("{}{}", method.name(), method.descriptor())
}

/// Parses a class file. If jtrail can't, reports that in the trace and returns `None`.
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
