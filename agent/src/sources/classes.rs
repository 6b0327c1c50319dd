//! The load hook, which rewrites classes, and the retransformation of loaded classes.

use super::{Need, Source, Tracer, details, heap, program};
use crate::error::Error;
use crate::instrument::special::{OBJECT, PARKING};
use crate::instrument::{INITIALISER, Origin, has_triggers};
use crate::session::{Loader, internal_name};
use jtrail_guard::log;
use jtrail_jvm::jni::{ClassRef, Env, GlobalRef, LoaderRef, kind};
use jtrail_jvm::jvmti::abi::{self, Capability, Event};
use jtrail_jvm::jvmti::{Failure, Jvmti};
use jtrail_options::{AllocMode, ClassVerdict, Engine, Events, Options};
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::pending;
use jtrail_records::Definition;
use std::cell::Cell;

thread_local! {
    /// True while the agent itself retransforms classes.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// The source of all events that rewritten classes record: `events=methods` with `engine=bytecode`,
/// `lines`, `parks`, `clinit`, `alloc=sites`, and calls that begin bursts.
pub(super) struct RewrittenClasses;

impl Source for RewrittenClasses {
    fn requested(&self, options: &Options) -> bool {
        are_rewritten(options)
    }

    fn capabilities(&self, options: &Options) -> Vec<Need> {
        let all_classes = Capability::GenerateAllClassHookEvents;
        let mut needs = vec![
            Need::of(Capability::RetransformClasses, "retransform classes"),
            Need::of(all_classes, "show all classes as they load"),
            Need::if_available(Capability::RetransformAnyClass),
        ];
        if options.events.contains(Events::PARKS) {
            let variables = Capability::AccessLocalVariables;
            needs.push(Need::of(variables, "read local variables"));
        }
        needs
    }

    fn permanent_events(&self) -> &'static [Event] {
        &[Event::VmStart, Event::ClassFileLoadHook]
    }

    fn started(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        if are_rewritten(&tracer.session.options) {
            retransform_early(tracer, env);
        }
    }

    fn class_unloaded(&self, tracer: &Tracer, class: u32) {
        tracer.session.classes.changes.class_unloaded(class);
    }
}

/// Returns true if these options need rewritten classes, now or later.
pub(crate) fn are_rewritten(options: &Options) -> bool {
    options.engine == Engine::Bytecode
        && (!rewriting(options, options.events).is_empty()
            || options.has_alloc_probes()
            || options.has_call_triggers())
}

/// Returns the kinds among `kinds` that rewritten classes record.
pub(super) fn rewriting(options: &Options, kinds: Events) -> Events {
    if options.engine != Engine::Bytecode {
        return Events::NONE;
    }
    let mut others = Events::ALL
        .without(Events::METHODS)
        .without(Events::LINES)
        .without(Events::PARKS)
        .without(Events::CLINIT);
    if options.alloc == AllocMode::Sites {
        others = others.without(Events::ALLOC);
    }
    kinds.without(others)
}

/// Returns true if classes are rewritten while these kinds are on: to record these kinds, or
/// because calls of methods begin bursts.
pub(crate) fn rewrites(options: &Options, kinds: Events) -> bool {
    let has_triggers = options.has_call_triggers() && !kinds.is_empty();
    has_triggers || !rewriting(options, kinds).is_empty()
}

/// A class that passes the load hook: it is about to be defined or redefined.
pub(crate) struct Load<'e> {
    /// The class, if it exists already.
    pub(crate) redefined: Option<ClassRef<'e>>,
    /// The class loader; `None` for the boot loader.
    pub(crate) loader: Option<LoaderRef<'e>>,
    /// The class's internal name (`a/b/C`), if the JVM knows it.
    pub(crate) name: Option<String>,
    /// The class file.
    pub(crate) bytes: &'e [u8],
}

/// Handles a class that passes the load hook. Returns the class file that replaces the original
/// one; `None` to leave it unchanged.
pub(crate) fn loaded(tracer: &Tracer, env: &mut Env<'_>, load: &Load<'_>) -> Option<Vec<u8>> {
    let session = &tracer.session;
    let instrument = &tracer.instrument;
    let name = load.name.as_deref();
    let loader = session.classes.loader(session.jvmti, load.loader);
    session.classes.watch(env, loader, load.loader);
    if session.kinds.available().contains(Events::DETAILS) {
        match load.redefined {
            None => details::loaded(tracer, loader, name, load.bytes.len()),
            Some(_) if IS_OURS.get() => {}
            Some(class) => details::redefined(tracer, env, class, load.bytes.len()),
        }
    }
    let again = load.redefined.is_some();
    let rewritten = match instrument.is_open() {
        true => {
            let origin = Origin {
                loader,
                object: load.loader,
                class: load.redefined,
            };
            instrument.rewrite(session, env, &origin, name, load.bytes)
        }
        false => name
            .filter(|_| again)
            .and_then(|name| instrument.restore(session, loader, name, load.bytes)),
    };
    if session.kinds.available().contains(Events::EXCEPTIONS) {
        let file = rewritten.as_deref().unwrap_or(load.bytes);
        instrument.note_handlers(loader, file, again);
    }
    if session.classes.is_search_due() {
        forget_collected(tracer, env);
    }
    rewritten
}

/// Forgets the classes whose loaders were collected. The writer forgets a class later, after its
/// last record.
fn forget_collected(tracer: &Tracer, env: &mut Env<'_>) {
    let session = &tracer.session;
    let Some(buffer) = session.buffer(env) else {
        return; // another thread will do it
    };
    for class in tracer.instrument.forget_collected(session, env) {
        session.record(buffer, Code::ClassForgotten, &[class.into()]);
    }
}

/// Handles a class that was prepared.
pub(crate) fn prepared(tracer: &Tracer, env: &mut Env<'_>, class: ClassRef<'_>) {
    program::prepared(tracer, env, class);
    if tracer.instrument.is_open() {
        tracer.instrument.prepared(&tracer.session, env, class);
    }
    let available = tracer.session.kinds.available();
    if available.contains(Events::HEAP) {
        heap::prepared_class(tracer, env, class);
    }
    if available.contains(Events::DETAILS) {
        details::prepared(tracer, env, class);
    }
}

/// Retransforms the classes that were loaded before the hook class was defined, if something in
/// them is to be rewritten.
fn retransform_early(tracer: &Tracer, env: &mut Env<'_>) {
    let is_early = |env: &Env<'_>, class: ClassRef<'_>| {
        let Some((loader, name)) = named(tracer, env, class) else {
            return false;
        };
        // The class that parks threads is rewritten even if the filters exclude it.
        let is_known = tracer.session.classes.is_known(loader, &name) && name != PARKING;
        let was_seen = is_known || is_watched(tracer, loader, &name);
        !was_seen
            && is_included(tracer, class, loader, &name)
            && is_modifiable(tracer, class, &name)
    };
    match Chosen::find(tracer, env, is_early) {
        Ok(chosen) => _ = chosen.retransform(tracer),
        Err(error) => log::say(&format!("{error}; classes loaded before are not traced")),
    }
}

/// Calls `change`, which changes the classes that are to be rewritten. Retransforms the classes
/// that may have hooks or that get hooks. Returns the number of these classes.
///
/// # Errors
/// If the JVM does not list its classes. Then `change` affects only classes that load later.
pub(super) fn retransform_changed(
    tracer: &Tracer,
    env: &mut Env<'_>,
    change: impl FnOnce(&mut Env<'_>),
) -> Result<u64, Error> {
    change(env); // first, so that it also holds for a class that loads meanwhile
    let is_chosen = |env: &Env<'_>, class: ClassRef<'_>| {
        let Some((loader, name)) = named(tracer, env, class) else {
            return false;
        };
        if is_watched(tracer, loader, &name) {
            return false;
        }
        let options = &tracer.session.options;
        let parks = options.events.contains(Events::PARKS) && name == PARKING;
        let was = parks || tracer.session.classes.is_known(loader, &name);
        was || is_included(tracer, class, loader, &name) && is_modifiable(tracer, class, &name)
    };
    let chosen = Chosen::find(tracer, env, is_chosen)?;
    chosen.retransform(tracer);
    Ok(chosen.0.len() as u64)
}

/// Returns true if the class is `Object`, and has the probe that [`watch_constructors`] inserts and
/// removes.
fn is_watched(tracer: &Tracer, loader: Loader, name: &str) -> bool {
    name == OBJECT && tracer.instrument.has_hooks(loader, name)
}

/// Inserts the probe into `Object`'s constructor if the enabled kinds of events need it, and
/// removes the probe otherwise. The probe must be inserted before the first object is recorded,
/// because it receives that object.
pub(super) fn watch_constructors(tracer: &Tracer, env: &mut Env<'_>) {
    let is_included = tracer.instrument.identifies_now(&tracer.session);
    let is_there = || is_watched(tracer, Loader::BOOT, OBJECT);
    if is_included == is_there() {
        return;
    }
    pending::end_epoch();
    env.with_frame(|env| {
        if let Some(object) = env.object_class() {
            retransform(tracer, &[object]);
        }
    });
    if is_included && is_there() {
        pending::begin_epoch();
    }
}

/// Restores the original code of classes that have hooks. Returns the number of classes that the
/// JVM refuses to change.
pub(crate) fn restore(tracer: &Tracer, env: &mut Env<'_>) -> usize {
    let instrument = &tracer.instrument;
    if !instrument.have_hooks() {
        return 0;
    }
    let has_hooks = |env: &Env<'_>, class: ClassRef<'_>| {
        let named = named(tracer, env, class);
        named.is_some_and(|(loader, name)| instrument.has_hooks(loader, &name))
    };
    let Ok(chosen) = Chosen::find(tracer, env, has_hooks) else {
        return 0;
    };
    let refused = chosen.retransform(tracer);
    env.with_frame(|env| {
        for class in &chosen.0 {
            if let Some((loader, name)) = named(tracer, env, class.get()) {
                instrument.note_hooks(loader, &name, false);
            }
        }
    });
    refused
}

/// Loaded classes to be retransformed, as global references. Local references would also be counted
/// as references of each callback that runs on this thread meanwhile.
struct Chosen(Vec<GlobalRef<kind::Class>>);

impl Chosen {
    fn find(
        tracer: &Tracer,
        env: &mut Env<'_>,
        is_chosen: impl Fn(&Env<'_>, ClassRef<'_>) -> bool,
    ) -> Result<Self, Failure> {
        env.with_frame(|env| {
            let loaded = tracer.session.jvmti.loaded_classes(env)?;
            let chosen = loaded.into_iter().filter(|class| is_chosen(env, *class));
            let kept = chosen.filter_map(|class| GlobalRef::new(env, class));
            Ok(Self(kept.collect()))
        })
    }

    fn retransform(&self, tracer: &Tracer) -> usize {
        let classes: Vec<_> = self.0.iter().map(GlobalRef::get).collect();
        retransform(tracer, &classes)
    }
}

/// Returns the loader and name (`a/b/C`) of a class. Returns `None` for arrays, primitive types and
/// hidden classes, which never pass the load hook.
fn named(tracer: &Tracer, env: &Env<'_>, class: ClassRef<'_>) -> Option<(Loader, String)> {
    let session = &tracer.session;
    let signature = session.jvmti.class_signature(class).ok()?;
    // Arrays and primitive types have other signatures. A dot marks a hidden class.
    let name = signature.strip_prefix('L')?.strip_suffix(';')?;
    if name.contains('.') {
        return None;
    }
    let loader = session.classes.loader_of(session.jvmti, env, class)?;
    Some((loader, name.to_owned()))
}

/// Returns true if something in a class is to be rewritten now.
fn is_included(tracer: &Tracer, class: ClassRef<'_>, loader: Loader, name: &str) -> bool {
    let (session, instrument) = (&tracer.session, &tracer.instrument);
    let is_to_be_initialised = || {
        let is_initialised = session.jvmti.is_initialised(class).unwrap_or(true);
        !is_initialised && may_have_initialiser(session.jvmti, class)
    };
    instrument.is_open()
        && (instrument.sites_now(session).is_some()
            || instrument.verdict(session, loader, name) != ClassVerdict::None
            || has_triggers(session, name)
            || session.is_on(Events::PARKS) && name == PARKING
            || session.is_on(Events::CLINIT) && is_to_be_initialised())
}

/// Returns true if a class has a static initializer, or if the JVM returns no methods because the
/// class is not prepared yet.
fn may_have_initialiser(jvmti: Jvmti, class: ClassRef<'_>) -> bool {
    let methods = jvmti.methods(class);
    methods.map_or(true, |methods| {
        methods.iter().any(|method| method.name == INITIALISER)
    })
}

/// Returns true if the JVM allows changes of a class. If it does not, reports that in the trace.
fn is_modifiable(tracer: &Tracer, class: ClassRef<'_>, name: &str) -> bool {
    let modifiable = tracer.session.jvmti.is_modifiable(class).unwrap_or(false);
    if !modifiable {
        let name = name.replace('/', ".");
        uninstrumented(tracer, &name, "the JVM does not let this class be changed");
    }
    modifiable
}

/// Retransforms all classes. If the JVM refuses, bisects the list to find the refused classes.
/// Returns the number of refused classes.
fn retransform(tracer: &Tracer, classes: &[ClassRef<'_>]) -> usize {
    if classes.is_empty() {
        return 0;
    }
    let jvmti = tracer.session.jvmti;
    IS_OURS.set(true);
    let result = jvmti.retransform(classes);
    IS_OURS.set(false);
    // For methods that were looked up meanwhile, the caches may hold the old code.
    tracer.instrument.forget_methods();
    let Err(error) = result else { return 0 };
    match classes {
        [class] => {
            let signature = jvmti.class_signature(*class).unwrap_or_default();
            let name = internal_name(&signature).replace('/', ".");
            uninstrumented(tracer, &name, &reason(&error));
            1
        }
        _ if error.error == abi::Error::WRONG_PHASE => classes.len(),
        _ => {
            let (first, second) = classes.split_at(classes.len() / 2);
            retransform(tracer, first) + retransform(tracer, second)
        }
    }
}

fn reason(error: &Failure) -> String {
    match error.error {
        abi::Error::UNMODIFIABLE_CLASS => "the JVM does not let this class be changed".into(),
        _ => error.to_string(),
    }
}

fn uninstrumented(tracer: &Tracer, class: &str, reason: &str) {
    tracer.session.define(Definition::Uninstrumented {
        class: class.into(),
        method: "".into(),
        reason: reason.into(),
    });
}
