//! The JVMTI capabilities that the agent requests for its options. Kinds of events that are not
//! requested need no capabilities.
//!
//! Some capabilities have a cost as soon as the agent holds them, even if it does not use them:
//! exceptions and virtual threads get slower, and the JVM needs more memory.

use super::table::requested;
use super::{Environment, Need, allocations};
use crate::error::Error;
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::{Capabilities, Capability};
use jtrail_options::{Engine, Events, Options};

/// Kinds of events that mention methods even if the filters exclude them.
const NAMED_METHODS: [Events; 5] = [
    Events::MONITORS,
    Events::PARKS,
    Events::EXCEPTIONS,
    Events::SAMPLES,
    Events::JIT,
];

/// Adds to an environment the capabilities that these options need.
///
/// # Errors
/// If the JVM lacks one of them.
pub(crate) fn add(jvmti: Jvmti, environment: Environment, options: &Options) -> Result<(), Error> {
    let potential = jvmti.potential_capabilities()?;
    let needed = needed(environment, potential, options)?;
    Ok(jvmti.add_capabilities(needed)?)
}

/// Returns the capabilities that these options need in an environment. Leaves out optional
/// capabilities that the JVM lacks.
///
/// # Errors
/// If the JVM lacks a required capability.
fn needed(
    environment: Environment,
    potential: Capabilities,
    options: &Options,
) -> Result<Capabilities, Error> {
    let mut needed = Capabilities::default();
    let sources = requested(options).filter(|source| source.environment() == environment);
    let own = sources.flat_map(|source| source.capabilities(options));
    for need in naming(environment, options).into_iter().chain(own) {
        match need.what {
            Some(what) if !potential.has(need.capability) => {
                return Err(Error::MissingCapability(what));
            }
            None if !potential.has(need.capability) => {}
            _ => needed.add(need.capability),
        }
    }
    Ok(needed)
}

/// Returns the capabilities that several sources need to name classes and methods.
fn naming(environment: Environment, options: &Options) -> Vec<Need> {
    let mut needs = Vec::new();
    if environment != Environment::General {
        return needs;
    }
    let events = options.events;
    let names_objects = allocations::name_objects(events);
    let stacks = NAMED_METHODS.iter().any(|kind| events.contains(*kind)) || options.alloc_sites;
    let triggers = options.has_call_triggers() || options.has_exception_triggers();
    let calls = events.contains(Events::METHODS) || events.contains(Events::CLINIT);
    if calls || stacks || triggers || names_objects {
        needs.push(Need::of(Capability::TagObjects, "tag objects")); // for class loaders
    }
    if stacks || names_objects || options.engine == Engine::Jvmti {
        needs.push(Need::of(
            Capability::GetSourceFileName,
            "report source files",
        ));
        needs.push(Need::of(Capability::GetLineNumbers, "report line numbers"));
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::Capability::*;
    use super::*;

    const ALL: [Capability; 20] = [
        TagObjects,
        GetMonitorInfo,
        GetSourceFileName,
        GetLineNumbers,
        AccessLocalVariables,
        MaintainOriginalMethodOrder,
        GenerateExceptionEvents,
        GetThreadCpuTime,
        GenerateMethodEntryEvents,
        GenerateMethodExitEvents,
        GenerateAllClassHookEvents,
        GenerateCompiledMethodLoadEvents,
        GenerateMonitorEvents,
        GenerateGarbageCollectionEvents,
        GenerateObjectFreeEvents,
        RetransformClasses,
        RetransformAnyClass,
        GenerateSampledObjectAllocEvents,
        GenerateVmObjectAllocEvents,
        SupportVirtualThreads,
    ];

    fn all() -> Capabilities {
        let mut all = Capabilities::default();
        ALL.iter().for_each(|capability| all.add(*capability));
        all
    }

    fn options(text: &str) -> Options {
        jtrail_options::parse(text, &|path| Err(std::io::Error::other(path.to_owned())))
            .expect(text)
    }

    fn names(capabilities: Capabilities) -> Vec<Capability> {
        let held = |capability: &Capability| capabilities.has(*capability);
        ALL.into_iter().filter(held).collect()
    }

    /// Returns the capabilities of both environments for these options: first the general one's,
    /// then that for objects.
    fn held(text: &str) -> (Vec<Capability>, Vec<Capability>) {
        let options = options(text);
        let general = names(needed(Environment::General, all(), &options).expect(text));
        let objects = match allocations::name_objects(options.events) {
            true => names(needed(Environment::Objects, all(), &options).expect(text)),
            false => Vec::new(),
        };
        (general, objects)
    }

    const REWRITING: &[Capability] = &[
        GenerateAllClassHookEvents,
        RetransformClasses,
        RetransformAnyClass,
    ];
    const NAMING: &[Capability] = &[TagObjects, GetSourceFileName, GetLineNumbers];
    const TAGS: &[Capability] = &[TagObjects, GenerateObjectFreeEvents];
    const THREADS: &[Capability] = &[SupportVirtualThreads];

    type Groups = &'static [&'static [Capability]];

    /// Options, the capabilities that they need in the general environment, and the capabilities
    /// that they need in the environment for objects.
    const RIGHT: [(&str, Groups, Groups); 26] = [
        ("events=methods", &[&[TagObjects], REWRITING, THREADS], &[]),
        ("events=clinit", &[&[TagObjects], REWRITING, THREADS], &[]),
        (
            "events=clinit,engine=jvmti",
            &[
                NAMING,
                &[GenerateMethodEntryEvents, GenerateMethodExitEvents],
                THREADS,
            ],
            &[],
        ),
        (
            "events=methods,engine=jvmti",
            &[
                NAMING,
                &[GenerateMethodEntryEvents, GenerateMethodExitEvents],
                THREADS,
            ],
            &[],
        ),
        ("events=threads", &[THREADS], &[]),
        ("events=classes", &[], &[]),
        ("events=mounts", &[THREADS], &[]),
        ("events=gc", &[&[GenerateGarbageCollectionEvents]], &[]),
        ("events=cpu", &[&[GetThreadCpuTime], THREADS], &[]),
        ("events=lines", &[REWRITING], &[]),
        ("events=samples", &[NAMING, THREADS], &[]),
        (
            "events=jit",
            &[NAMING, &[GenerateCompiledMethodLoadEvents]],
            &[],
        ),
        (
            "events=alloc",
            &[NAMING, THREADS],
            &[TAGS, &[GenerateSampledObjectAllocEvents]],
        ),
        (
            "events=alloc,alloc=sites",
            &[NAMING, REWRITING, THREADS],
            &[TAGS, &[GenerateVmObjectAllocEvents]],
        ),
        (
            "events=free", // ages are counted in collections
            &[NAMING, &[GenerateGarbageCollectionEvents], THREADS],
            &[TAGS, &[GenerateSampledObjectAllocEvents]],
        ),
        (
            "events=free,server=enabled",
            &[NAMING, &[GenerateGarbageCollectionEvents], THREADS],
            &[TAGS, &[GenerateSampledObjectAllocEvents]],
        ),
        (
            "events=monitors",
            &[NAMING, &[GenerateMonitorEvents, GetMonitorInfo], THREADS],
            &[TAGS],
        ),
        (
            "events=parks",
            &[NAMING, REWRITING, &[AccessLocalVariables], THREADS],
            &[TAGS],
        ),
        (
            "events=exceptions",
            &[NAMING, &[GenerateExceptionEvents], THREADS],
            &[TAGS],
        ),
        ("events=heap", &[NAMING], &[TAGS]),
        (
            "events=heap,heap=gc",
            &[NAMING, &[GenerateGarbageCollectionEvents]],
            &[TAGS],
        ),
        (
            "events=details",
            &[
                NAMING,
                &[
                    GenerateAllClassHookEvents,
                    RetransformClasses,
                    MaintainOriginalMethodOrder,
                ],
            ],
            &[TAGS],
        ),
        ("events=classes+threads", &[THREADS], &[]),
        (
            "events=gc,server=enabled", // a client may ask for any kind later
            &[&[GenerateGarbageCollectionEvents], THREADS],
            &[],
        ),
        (
            "events=gc,burst=call:a.B.c",
            &[
                &[TagObjects, GenerateGarbageCollectionEvents],
                REWRITING,
                THREADS,
            ],
            &[],
        ),
        (
            "events=classes,burst=exception:a.B",
            &[&[TagObjects, GenerateExceptionEvents], THREADS],
            &[],
        ),
    ];

    /// For each options text, exactly the capabilities in [`RIGHT`] are needed.
    #[test]
    fn a_kind_asks_for_what_it_needs_and_no_more() {
        let join = |parts: Groups| {
            let needed = parts.concat();
            ALL.into_iter()
                .filter(|c| needed.contains(c))
                .collect::<Vec<_>>()
        };
        for (text, general, objects) in RIGHT {
            assert_eq!(held(text), (join(general), join(objects)), "{text}");
        }
        let reported: String = RIGHT
            .iter()
            .map(|(text, _, _)| format!("{text}+"))
            .collect();
        for kind in Events::WORDS {
            assert!(
                reported.contains(&format!("={kind}")),
                "{kind} is not in the table"
            );
        }
    }

    #[test]
    fn a_missing_capability_is_reported() {
        let mut some = Capabilities::default();
        some.add(TagObjects);
        let error = needed(Environment::General, some, &options("events=gc")).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("report garbage collections"), "{error}");
        let options = options("events=alloc");
        let error = needed(Environment::Objects, some, &options).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("report allocations"), "{error}");
    }
}
