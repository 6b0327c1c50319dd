//! What the agent asks the JVM to be able to do, by the options: a kind of events that is off asks for nothing.
//!
//! Some capabilities cost as soon as they are held, used or not: exceptions and virtual threads get slower, the JVM keeps more.

use super::{NAMED_METHODS, exhausted, gc, object, rewrites, virtual_thread};
use crate::error::Error;
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::{Capabilities, Capability};
use jtrail_options::{Engine, Events, Options};

/// Capabilities that are wanted, of those that can be had.
struct Wishes {
    potential: Capabilities,
    wanted: Capabilities,
}

impl Wishes {
    fn new(potential: Capabilities) -> Self {
        let wanted = Capabilities::default();
        Self { potential, wanted }
    }

    /// Asks for one, without which the JVM can't do what `what` says.
    fn need(&mut self, capability: Capability, what: &'static str) -> Result<(), Error> {
        self.wanted.add(capability);
        match self.potential.has(capability) {
            true => Ok(()),
            false => Err(Error::Lacks(what)),
        }
    }

    /// Asks for one where it can be had.
    fn like(&mut self, capability: Capability) {
        if self.potential.has(capability) {
            self.wanted.add(capability);
        }
    }
}

/// Has the JVM give an environment what `wanted` says.
///
/// # Errors
/// When the JVM can't do it, as a sentence.
pub(super) fn add(
    jvmti: Jvmti,
    wanted: impl FnOnce(Capabilities) -> Result<Capabilities, Error>,
) -> Result<(), Error> {
    let potential = jvmti.potential_capabilities()?;
    let wanted = wanted(potential)?;
    Ok(jvmti.add_capabilities(wanted)?)
}

/// Whether the JVM has to tell of exceptions.
pub(super) fn needs_exceptions(options: &Options) -> bool {
    options.events.contains(Events::EXCEPTIONS) || options.has_exception_triggers()
}

/// Those of the environment for all but objects.
pub(super) fn general(potential: Capabilities, options: &Options) -> Result<Capabilities, Error> {
    let mut wishes = Wishes::new(potential);
    let events = options.events;
    let stacks = NAMED_METHODS.iter().any(|kind| events.contains(*kind)) || options.alloc_sites;
    let triggers = options.has_call_triggers() || options.has_exception_triggers();
    if events.contains(Events::METHODS) || stacks || triggers || object::are_told(events) {
        wishes.need(Capability::TagObjects, "tag objects")?; // class loaders
    }
    if stacks || object::are_told(events) || options.engine == Engine::Jvmti {
        wishes.need(Capability::GetSourceFileName, "tell source files")?;
        wishes.need(Capability::GetLineNumbers, "tell line numbers")?;
    }
    if events.contains(Events::DETAILS) || rewrites(options) {
        // For `details` too: without the first, retransformation by others is not shown.
        wishes.need(Capability::RetransformClasses, "retransform classes")?;
        wishes.need(
            Capability::GenerateAllClassHookEvents,
            "show all classes as they load",
        )?;
    }
    if events.contains(Events::DETAILS) {
        wishes.like(Capability::MaintainOriginalMethodOrder); // not to be had once the JVM runs
    }
    if events.contains(Events::JIT) {
        wishes.need(
            Capability::GenerateCompiledMethodLoadEvents,
            "tell of compiled methods",
        )?;
    }
    if exhausted::is_told(options) {
        wishes.need(
            Capability::GenerateResourceExhaustionHeapEvents,
            "tell that it is out of memory",
        )?;
    }
    if events.contains(Events::MONITORS) {
        wishes.need(Capability::GenerateMonitorEvents, "tell of monitors")?;
        wishes.need(Capability::GetMonitorInfo, "tell who holds a monitor")?;
    }
    if events.contains(Events::PARKS) {
        wishes.need(Capability::AccessLocalVariables, "read local variables")?;
    }
    if needs_exceptions(options) {
        wishes.need(Capability::GenerateExceptionEvents, "tell of exceptions")?;
    }
    if rewrites(options) {
        wishes.like(Capability::RetransformAnyClass);
    } else if events.contains(Events::METHODS) {
        wishes.need(Capability::GenerateMethodEntryEvents, "tell method entries")?;
        wishes.need(Capability::GenerateMethodExitEvents, "tell method exits")?;
    }
    if gc::are_wanted(options, events) {
        wishes.need(
            Capability::GenerateGarbageCollectionEvents,
            "tell garbage collections",
        )?;
    }
    if events.contains(Events::CPU) {
        wishes.need(Capability::GetThreadCpuTime, "tell the CPU time of threads")?;
    }
    if virtual_thread::are_told(options) {
        wishes.like(Capability::SupportVirtualThreads);
    }
    Ok(wishes.wanted)
}

/// Those of the environment for objects.
pub(super) fn of_objects(
    potential: Capabilities,
    options: &Options,
) -> Result<Capabilities, Error> {
    let mut wishes = Wishes::new(potential);
    wishes.need(Capability::TagObjects, "tag objects")?;
    if object::is_told_by_jvm(options) {
        wishes.need(
            Capability::GenerateSampledObjectAllocEvents,
            "tell of allocations",
        )?;
    }
    if options.has_alloc_probes() {
        wishes.need(
            Capability::GenerateVmObjectAllocEvents,
            "tell of its own allocations",
        )?;
    }
    // Also for classes, which are objects too: this tells when they are unloaded.
    wishes.need(Capability::GenerateObjectFreeEvents, "tell of dead objects")?;
    Ok(wishes.wanted)
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

    /// Both environments' capabilities for these options.
    fn held(text: &str) -> (Vec<Capability>, Vec<Capability>) {
        let options = options(text);
        let general = names(general(all(), &options).expect(text));
        let objects = match object::are_told(options.events) {
            true => names(of_objects(all(), &options).expect(text)),
            false => Vec::new(),
        };
        (general, objects)
    }

    /// Each kind alone holds these, and no other does.
    #[test]
    fn a_kind_asks_for_what_it_needs_and_no_more() {
        let rewriting = [
            GenerateAllClassHookEvents,
            RetransformClasses,
            RetransformAnyClass,
        ];
        let naming = [TagObjects, GetSourceFileName, GetLineNumbers];
        let tags = [TagObjects, GenerateObjectFreeEvents];
        let join = |parts: &[&[Capability]]| {
            let wanted = parts.concat();
            ALL.into_iter()
                .filter(|c| wanted.contains(c))
                .collect::<Vec<_>>()
        };
        let threads = [SupportVirtualThreads];
        type Groups<'a> = &'a [&'a [Capability]];
        let table: [(&str, Groups<'_>, Groups<'_>); 24] = [
            (
                "events=methods",
                &[&[TagObjects], &rewriting, &threads],
                &[],
            ),
            (
                "events=methods,engine=jvmti",
                &[
                    &naming,
                    &[GenerateMethodEntryEvents, GenerateMethodExitEvents],
                    &threads,
                ],
                &[],
            ),
            ("events=threads", &[&threads], &[]),
            ("events=classes", &[], &[]),
            ("events=mounts", &[&threads], &[]),
            ("events=gc", &[&[GenerateGarbageCollectionEvents]], &[]),
            ("events=cpu", &[&[GetThreadCpuTime], &threads], &[]),
            ("events=lines", &[&rewriting], &[]),
            ("events=samples", &[&naming, &threads], &[]),
            (
                "events=jit",
                &[&naming, &[GenerateCompiledMethodLoadEvents]],
                &[],
            ),
            (
                "events=alloc",
                &[&naming, &threads],
                &[&tags, &[GenerateSampledObjectAllocEvents]],
            ),
            (
                "events=alloc,alloc=sites",
                &[&naming, &rewriting, &threads],
                &[&tags, &[GenerateVmObjectAllocEvents]],
            ),
            (
                "events=free", // ages are counted in collections
                &[&naming, &[GenerateGarbageCollectionEvents], &threads],
                &[&tags, &[GenerateSampledObjectAllocEvents]],
            ),
            (
                "events=free,server=enabled",
                &[&naming, &[GenerateGarbageCollectionEvents], &threads],
                &[&tags, &[GenerateSampledObjectAllocEvents]],
            ),
            (
                "events=monitors",
                &[&naming, &[GenerateMonitorEvents, GetMonitorInfo], &threads],
                &[&tags],
            ),
            (
                "events=parks",
                &[&naming, &rewriting, &[AccessLocalVariables], &threads],
                &[&tags],
            ),
            (
                "events=exceptions",
                &[&naming, &[GenerateExceptionEvents], &threads],
                &[&tags],
            ),
            ("events=heap", &[&naming], &[&tags]),
            (
                "events=heap,heap=gc",
                &[&naming, &[GenerateGarbageCollectionEvents]],
                &[&tags],
            ),
            (
                "events=details",
                &[
                    &naming,
                    &[
                        GenerateAllClassHookEvents,
                        RetransformClasses,
                        MaintainOriginalMethodOrder,
                    ],
                ],
                &[&tags],
            ),
            ("events=classes+threads", &[&threads], &[]),
            (
                "events=gc,server=enabled", // a client may ask for any kind later
                &[&[GenerateGarbageCollectionEvents], &threads],
                &[],
            ),
            (
                "events=gc,burst=call:a.B.c",
                &[
                    &[TagObjects, GenerateGarbageCollectionEvents],
                    &rewriting,
                    &threads,
                ],
                &[],
            ),
            (
                "events=classes,burst=exception:a.B",
                &[&[TagObjects, GenerateExceptionEvents], &threads],
                &[],
            ),
        ];
        for (text, general, objects) in table {
            assert_eq!(held(text), (join(general), join(objects)), "{text}");
        }
        let told: String = table
            .iter()
            .map(|(text, _, _)| format!("{text}+"))
            .collect();
        for kind in Events::WORDS {
            assert!(
                told.contains(&format!("={kind}")),
                "{kind} is not in the table"
            );
        }
    }

    #[test]
    fn what_the_jvm_lacks_is_told() {
        let mut some = Capabilities::default();
        some.add(TagObjects);
        let error = general(some, &options("events=gc")).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("tell garbage collections"), "{error}");
        let error = of_objects(some, &options("events=alloc")).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("tell of allocations"), "{error}");
    }
}
