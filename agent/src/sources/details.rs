//! Details of classes: their fields, methods, supertypes and loaders, and redefinitions of classes.
//!
//! A class is reported when it is prepared, because the JVM then returns its fields and methods.
//! Classes that were prepared before the trace are reported when the trace begins.

use super::state::details::{Key, PendingClasses};
use super::{Need, Source, Tracer};
use crate::session::{Loader, class_name, internal_name};
use jtrail_jvm::jni::{ClassRef, Env, LoaderRef};
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_jvm::jvmti::{self, Result};
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::record::Code;
use jtrail_records::Definition;
use jtrail_records::definition::{ClassDetailInfo, Member};

/// The source of `events=details`.
pub(super) struct ClassDetails;

impl Source for ClassDetails {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::DETAILS)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        vec![
            // Without this capability, the JVM does not show retransformations by other agents.
            Need::of(Capability::RetransformClasses, "retransform classes"),
            Need::of(
                Capability::GenerateAllClassHookEvents,
                "show all classes as they load",
            ),
            // Not available once the JVM runs.
            Need::if_available(Capability::MaintainOriginalMethodOrder),
        ]
    }

    fn permanent_events(&self) -> &'static [Event] {
        &[Event::ClassFileLoadHook]
    }

    fn prepare(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        begin(tracer, env);
    }
}

/// Reports the existing classes. Some formats need the members of classes before anything else. The
/// events of later classes are already enabled, so that no class is missed.
pub(crate) fn begin(tracer: &Tracer, env: &mut Env<'_>) {
    env.with_frame(|env| report_loaded(tracer, env));
}

/// Notes the size of a class file that passes the load hook for the first time.
pub(crate) fn loaded(tracer: &Tracer, loader: Loader, name: Option<&str>, bytes: usize) {
    tracer.details.loaded(loader, name, bytes);
}

/// Records that another agent is about to redefine a class with a class file of that many bytes.
pub(crate) fn redefined(tracer: &Tracer, env: &mut Env<'_>, class: ClassRef<'_>, bytes: usize) {
    let session = &tracer.session;
    session.classes.changes.class_redefined();
    if !session.ensure_live(env) {
        return;
    }
    if let Some(number) = tracer.class_number(env, class)
        && let Some(buffer) = session.buffer(env)
    {
        let payload = [number.into(), bytes as u64];
        session.record(buffer, Code::ClassRedefine, &payload);
    }
}

/// Reports a class that was prepared.
pub(crate) fn prepared(tracer: &Tracer, env: &Env<'_>, class: ClassRef<'_>) {
    let mut found = PendingClasses::default();
    find(tracer, env, class, &mut found);
    report(tracer, found);
}

/// Reports all classes that are prepared.
fn report_loaded(tracer: &Tracer, env: &mut Env<'_>) {
    let jvmti = tracer.session.jvmti;
    let loaded = jvmti.loaded_classes(env).unwrap_or_default();
    let mut found = PendingClasses::default();
    // In some formats, these classes have the first numbers.
    for first in ["java.lang.Object", "java.lang.Thread"] {
        for &class in &loaded {
            if name_of(tracer, class).is_ok_and(|name| *name == *first) {
                env.with_frame(|env| find(tracer, env, class, &mut found));
            }
        }
    }
    for class in loaded {
        env.with_frame(|env| find(tracer, env, class, &mut found));
    }
    report(tracer, found);
}

fn report(tracer: &Tracer, found: PendingClasses) {
    tracer.details.report(found, |info| {
        let definition = Definition::ClassDetail(Box::new(info));
        tracer.session.define(definition);
    });
}

/// Adds a class to `found`, after its superclass and interfaces. Skips classes that are not
/// prepared, or were reported. Supertypes are added here, because another thread may have prepared
/// one whose event has not come yet.
fn find(tracer: &Tracer, env: &Env<'_>, class: ClassRef<'_>, found: &mut PendingClasses) {
    let jvmti = tracer.session.jvmti;
    if jvmti.is_prepared(class) != Ok(true) {
        return;
    }
    let Some(number) = tracer.class_number(env, class) else {
        return;
    };
    if tracer.details.is_reported(number) || !found.seen.insert(number) {
        return;
    }
    if let Some(super_class) = env.superclass_of(class) {
        find(tracer, env, super_class, found);
    }
    for interface in jvmti.interfaces(env, class).unwrap_or_default() {
        find(tracer, env, interface, found);
    }
    if let Ok(class) = details(tracer, env, class, number) {
        found.classes.push(class);
    }
}

fn details(
    tracer: &Tracer,
    env: &Env<'_>,
    class: ClassRef<'_>,
    number: u32,
) -> Result<(Key, ClassDetailInfo)> {
    let session = &tracer.session;
    let jvmti = session.jvmti;
    let signature = jvmti.class_signature(class)?;
    let loader_object = jvmti.class_loader(env, class)?;
    let loader = session.classes.loader(jvmti, loader_object);
    let super_name = match env.superclass_of(class) {
        None => Box::default(),
        Some(super_class) => name_of(tracer, super_class)?,
    };
    let interfaces = jvmti.interfaces(env, class)?;
    let key = (loader, internal_name(&signature).into());
    let info = ClassDetailInfo {
        class: number,
        time: session.now(),
        access: jvmti.class_modifiers(class)?,
        super_name,
        interfaces: interfaces
            .into_iter()
            .map(|interface| name_of(tracer, interface))
            .collect::<Result<_>>()?,
        loader: loader_name(tracer, env, loader, loader_object)?,
        size: tracer.details.size(&key),
        fields: members(jvmti.fields(class)?),
        methods: members(jvmti.methods(class)?),
    };
    Ok((key, info))
}

/// Converts members into their form in definitions.
fn members(members: Vec<jvmti::Member>) -> Vec<Member> {
    let defined = |member: jvmti::Member| Member {
        name: member.name.into(),
        descriptor: member.descriptor.into(),
        access: member.access,
    };
    members.into_iter().map(defined).collect()
}

fn name_of(tracer: &Tracer, class: ClassRef<'_>) -> Result<Box<str>> {
    let signature = tracer.session.jvmti.class_signature(class)?;
    Ok(class_name(internal_name(&signature)).into())
}

/// Returns the name of a loader. `object` is the loader object; `None` is the boot loader.
fn loader_name(
    tracer: &Tracer,
    env: &Env<'_>,
    loader: Loader,
    object: Option<LoaderRef<'_>>,
) -> Result<Box<str>> {
    const APP: &str = "jdk.internal.loader.ClassLoaders$AppClassLoader";
    let object = match (loader, object) {
        (Loader::PLATFORM, _) => return Ok("platform".into()),
        (_, None) => return Ok("bootstrap".into()),
        (_, Some(object)) => object,
    };
    let name = name_of(tracer, env.class_of(object.as_object()))?;
    Ok(match &*name {
        APP => "app".into(),
        _ => format!("{name}@{}", loader.number()).into(),
    })
}
