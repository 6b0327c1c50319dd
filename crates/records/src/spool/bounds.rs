//! Plausible ranges of the numbers in a spool. A spool may be damaged, and tables indexed by
//! numbers take memory up to the largest number.

use crate::definition::{Compilation, Definition};
use crate::record::{self, Code, METHOD_LIMIT, NO_THREAD};
use crate::translate::Named;

/// For `n` numbers that have a definition, up to [`SHARE`] × `n` + `SOME` numbers may be in use.
const SOME: u64 = 1 << 12;
const SHARE: u64 = 4;
/// More objects than any program creates while it is traced.
const MAX_OBJECTS: u64 = 1 << 36;
/// More bytes than any array or other object has.
const MAX_BYTES: u64 = 1 << 48;
const MAX_ALIGNMENT: u32 = 1 << 20;
/// More events than are lost in one gap.
const MAX_LOST: u64 = 1 << 56;
/// More objects than one record may count.
const MAX_AT_ONCE: u64 = 1 << 24;

/// The first implausible number of each kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    threads: u64,
    classes: u64,
    methods: u64,
    sites: u64,
    texts: u64,
    counters: u64,
}

impl Bounds {
    /// Derives the bounds from the number of definitions of each kind.
    pub(super) fn of(defined: &[Definition]) -> Self {
        let [mut methods, mut sites, mut counted] = [0; 3];
        for definition in defined {
            match definition {
                Definition::Methods { methods: of, .. } => methods += of.len() as u64,
                Definition::AllocSites { lines, .. } => sites += lines.len() as u64,
                Definition::Lines { counters, .. } => counted += counters.len() as u64,
                _ => {}
            }
        }
        let bound = |count: u64| SOME + SHARE * count;
        let all = bound(defined.len() as u64);
        Self {
            threads: all,
            classes: all,
            methods: bound(methods).min(METHOD_LIMIT.into()),
            sites: bound(sites),
            texts: all,
            counters: bound(counted),
        }
    }

    pub(super) fn thread(&self, number: u32) -> bool {
        number == NO_THREAD || u64::from(number) < self.threads
    }

    pub(super) fn class(&self, number: u32) -> bool {
        u64::from(number) < self.classes
    }

    pub(super) fn method(&self, number: u32) -> bool {
        u64::from(number) < self.methods
    }

    fn site(&self, number: u32) -> bool {
        u64::from(number) < self.sites
    }

    fn frames(&self, frames: &[u64]) -> bool {
        let method = |frame: &u64| self.method(record::frame_parts(*frame).0);
        frames.iter().all(method)
    }

    /// Returns true if an object may have this number, class and size.
    pub(super) fn object(&self, number: u64, class: u32, size: u64) -> bool {
        number < MAX_OBJECTS && self.class(class) && size < MAX_BYTES
    }

    /// Returns true if a definition is plausible.
    pub(super) fn definition(&self, definition: &Definition) -> bool {
        match definition {
            Definition::Thread(info) => {
                self.thread(info.number)
                    && info
                        .object
                        .is_none_or(|o| o.number < MAX_OBJECTS && self.class(o.class))
            }
            Definition::ThreadName { number, .. } => self.thread(*number),
            Definition::Class(info) => self.class(info.number),
            Definition::Methods { class, methods } => {
                self.class(*class) && methods.iter().all(|info| self.method(info.number))
            }
            Definition::ClassDetail(info) => self.class(info.class),
            Definition::Compilation(Compilation::Loaded(info)) => {
                self.method(info.method) && info.ranges.iter().all(|(_, f)| self.frames(f))
            }
            Definition::Compilation(Compilation::Unloaded { method, .. }) => self.method(*method),
            Definition::Lines {
                method, counters, ..
            } => {
                let counter = |(_, counter): &(u32, u32)| u64::from(*counter) < self.counters;
                self.method(*method) && counters.iter().all(counter)
            }
            Definition::AllocSites {
                method,
                first,
                lines,
            } => {
                let last = u64::from(*first) + lines.len() as u64;
                self.method(*method) && last <= self.sites
            }
            Definition::AllocClass {
                site,
                class,
                sizing,
            } => {
                self.site(*site)
                    && self.class(*class)
                    && sizing.base < MAX_BYTES
                    && (1..=MAX_ALIGNMENT).contains(&sizing.alignment)
                    && u64::from(sizing.element) < MAX_BYTES >> 32
            }
            Definition::Text { number, .. } => u64::from(*number) < self.texts,
            Definition::Mark(_)
            | Definition::Instrumented { .. }
            | Definition::Uninstrumented { .. } => true,
        }
    }

    /// Returns true if an assignment of an id is plausible.
    pub(super) fn named(&self, named: &Named) -> bool {
        match named {
            Named::Class(number, _) => self.class(*number),
            Named::Method(number, _) => self.method(*number),
        }
    }

    /// Returns true if a record with its payload is plausible.
    pub(super) fn record(&self, code: Code, payload: &[u64]) -> bool {
        let Some(&first) = payload.first() else {
            return false; // every record has a payload
        };
        let (object, low) = record::object_parts(first);
        let (site, at_site) = record::site_parts(first);
        let is_object = |number: u64| number < MAX_OBJECTS;
        let last = payload.last().copied().unwrap_or_default();
        let is_stack = |is_known: bool| payload.len() > 1 && is_known && self.frames(&payload[2..]);
        match code {
            Code::LeaveByException
            | Code::Caught
            | Code::SuperCall
            | Code::SuperReturned
            | Code::ClassInit
            | Code::ClassInitEnd => self.method(first as u32),
            Code::ThreadStart
            | Code::ThreadEnd
            | Code::ThreadName
            | Code::ThreadCpu
            | Code::ThreadOs => self.thread(first as u32),
            Code::Mount | Code::Unmount => {
                self.thread((first >> 32) as u32) && self.thread(first as u32)
            }
            Code::Alloc | Code::ObjectDef | Code::HeapRoot | Code::HeapObject => {
                is_object(object) && self.class(low)
            }
            Code::AllocAt => is_object(object) && self.class(low) && self.frames(&[last]),
            Code::AllocSite => self.site(site),
            Code::AllocSiteObject => self.site(site) && is_object(last),
            Code::AllocCallObject => self.site(site) && self.class(at_site) && is_object(last),
            Code::AllocMany => self.site(site) && self.class(at_site) && last < MAX_AT_ONCE,
            Code::ObjectFree | Code::GcStart => is_object(first),
            Code::HeapReference => is_object(first) && is_object(last),
            Code::Throw | Code::Catch => {
                is_stack(payload.get(1).is_some_and(|word| self.class(*word as u32)))
            }
            Code::MonitorContendedEnter => {
                is_stack(payload.get(1).is_some_and(|word| self.thread(*word as u32)))
            }
            Code::Sample => is_stack(self.thread(object as u32)),
            Code::MonitorContendedEntered
            | Code::MonitorWait
            | Code::MonitorWaited
            | Code::Park => is_stack(true),
            Code::ClassUnload | Code::ClassForgotten | Code::ClassRedefine => {
                self.class(first as u32)
            }
            Code::Lost => payload.iter().skip(1).all(|count| *count < MAX_LOST),
            Code::Time
            | Code::Running
            | Code::GcFinish
            | Code::GcDetail
            | Code::InitDone
            | Code::Shutdown
            | Code::Cpu
            | Code::Unpark
            | Code::HeapDump
            | Code::HeapDumpEnd
            | Code::Snapshot
            | Code::Mark
            | Code::Burst => true,
        }
    }
}
