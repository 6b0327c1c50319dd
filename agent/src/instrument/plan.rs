//! What a class's methods get when it is rewritten, and what the writer has to know of them.

use super::classes::{class_name, full_name, uncovered};
use super::known::Known;
use super::loader::Loader;
use super::never;
use super::sites;
use crate::agent::Agent;
use jtrail_classfile::{AllocationSite, Class, Inserted, LineProbe, Method, Probes, SuperMarks};
use jtrail_options::{ClassVerdict, Events, Trivial};
use jtrail_records::Announcement;
use jtrail_records::announce::MethodInfo;

const ACC_NATIVE: u16 = 0x0100;
const ACC_ABSTRACT: u16 = 0x0400;

/// Which methods of a class are rewritten.
pub(super) struct Plan {
    class: u32,
    /// The class did not pass the load hook before.
    pub(super) is_new: bool,
    /// The filters include it.
    is_included: bool,
    /// Numbers of the methods that the filters include, by place in the class file.
    pub(super) numbers: Vec<Option<u32>>,
    /// What each method gets, likewise.
    pub(super) probes: Vec<Probes>,
    /// Methods that were not rewritten before, with their place.
    new_methods: Vec<(usize, MethodInfo)>,
}

/// What is to be done to a method.
#[derive(Default)]
struct Chosen<'a> {
    /// Where anything is.
    number: Option<u32>,
    /// The filters include it.
    included: bool,
    /// Its calls are left out.
    is_trivial: bool,
    /// Triggers that its calls are for, as bits.
    triggers: u32,
    /// Where it creates objects, if that is told.
    sites: Vec<AllocationSite<'a>>,
}

impl Plan {
    pub(super) fn of<'a>(
        known: &mut Known,
        agent: &Agent,
        loader: Loader,
        class: &Class<'a>,
        name: &str,
        verdict: ClassVerdict,
    ) -> Self {
        let dotted = class_name(name);
        let jdk = loader.is_jdk(name);
        let (number, is_new) = known.loaded(agent, loader, class, name);
        let mut new_methods = Vec::new();
        let sites_of = |method: &Method<'a>| match agent.classes.sites_now(agent) {
            Some(_) => class.allocation_sites(method),
            None => Vec::new(),
        };
        let filter = agent.filter();
        let skips_trivial = agent.options.trivial == Trivial::Skip;
        let lines = agent.classes.lines_now(agent).is_some();
        let mut choose = |(at, method): (usize, &Method<'a>)| {
            let refusal = refusal(name, method, jdk);
            let included = match verdict {
                ClassVerdict::None => false,
                ClassVerdict::ByMethod => filter.method(&dotted, &method.name(), jdk),
                ClassVerdict::All => true,
            };
            if included
                && is_new
                && let Some(reason) = refusal
                && !reason.is_empty()
            {
                uncovered(agent, name, &full_name(method), reason);
            }
            let mut sites = sites_of(method);
            if !sites.is_empty()
                && let Some(reason) = refusal
                && reason != never::INTRINSIC
            {
                if is_new && !included {
                    let reason = format!("its allocations are not seen: {reason}");
                    uncovered(agent, name, &full_name(method), &reason);
                }
                sites.clear();
            }
            let mut triggers = match &agent.bursts {
                Some(bursts) => bursts.fits_method(&dotted, &method.name()),
                None => 0,
            };
            if triggers != 0
                && let Some(reason) = refusal
            {
                if is_new && !reason.is_empty() {
                    let reason = format!("its calls begin no burst: {reason}");
                    uncovered(agent, name, &full_name(method), &reason);
                }
                triggers = 0;
            }
            let included = included && refusal.is_none();
            let is_trivial = included && skips_trivial && triggers == 0 && method.is_trivial();
            if is_trivial && is_new {
                uncovered(agent, name, &full_name(method), never::TRIVIAL);
            }
            let included = included && (!is_trivial || lines);
            if !included && sites.is_empty() && triggers == 0 {
                return Chosen::default();
            }
            let Some((number, is_new_method)) = known.method(loader, name, &full_name(method))
            else {
                let reason = "there are no numbers left for methods";
                uncovered(agent, name, &full_name(method), reason);
                return Chosen::default();
            };
            if is_new || is_new_method {
                let (first, last) = method.lines().unwrap_or_default();
                let info = MethodInfo {
                    number,
                    name: method.name().into(),
                    descriptor: method.descriptor().into(),
                    lines: (first.into(), last.into()),
                    code_length: u32::try_from(method.code_len()).unwrap_or_default(),
                    marks: SuperMarks::None,
                };
                new_methods.push((at, info));
            }
            Chosen {
                number: Some(number),
                included,
                is_trivial,
                triggers,
                sites,
            }
        };
        let chosen: Vec<_> = class
            .methods()
            .iter()
            .enumerate()
            .map(&mut choose)
            .collect();
        let calls = agent.kinds().contains(Events::METHODS);
        let mut probes = |(method, chosen): (&Method<'a>, &Chosen<'a>)| {
            let number = chosen.number.filter(|_| chosen.included);
            let counters = number.and(agent.classes.lines_now(agent));
            let lines = counters.and_then(|counters| {
                let count = method.line_entries().len();
                let key = (loader, name, &*full_name(method));
                let first = known.lines(counters, key, count);
                if first.is_none() {
                    let reason = "there are no counters left for its lines";
                    uncovered(agent, name, &full_name(method), reason);
                }
                first
            });
            let all = agent.classes.sites_now(agent);
            let allocations = all.filter(|_| !chosen.sites.is_empty()).and_then(|all| {
                let key = (loader, name, &*full_name(method));
                let first = sites::number(agent, all, known, key, &chosen.sites);
                if first.is_none() {
                    let reason = "there are no numbers left for its allocations";
                    uncovered(agent, name, &full_name(method), reason);
                }
                first
            });
            let calls = number.filter(|_| calls && !chosen.is_trivial);
            let is_trigger = chosen.triggers != 0;
            if let (Some(bursts), Some(number)) = (&agent.bursts, chosen.number) {
                bursts.set_method(number, chosen.triggers, calls.is_some());
            }
            Probes {
                calls: if is_trigger { chosen.number } else { calls },
                is_trigger,
                lines,
                allocations,
                constructed: false,
            }
        };
        let probes = class
            .methods()
            .iter()
            .zip(&chosen)
            .map(&mut probes)
            .collect();
        let number_if = |chosen: &Chosen<'a>| chosen.number.filter(|_| chosen.included);
        Self {
            class: number,
            is_new,
            is_included: verdict != ClassVerdict::None,
            numbers: chosen.iter().map(number_if).collect(),
            probes,
            new_methods,
        }
    }

    /// Whether a method's calls or lines are traced.
    pub(super) fn is_included(&self, at: usize) -> bool {
        self.numbers[at].is_some()
    }

    pub(super) fn set_marks(&mut self, at: usize, marks: SuperMarks) {
        if let Ok(found) = self.new_methods.binary_search_by_key(&at, |(at, _)| *at) {
            self.new_methods[found].1.marks = marks;
        }
    }

    pub(super) fn announce(self, agent: &Agent, instrumented: u64) {
        if !self.new_methods.is_empty() {
            let methods = self.new_methods.into_iter().map(|(_, info)| info).collect();
            agent.announce(Announcement::Methods {
                class: self.class,
                methods,
            });
        }
        if self.is_new && self.is_included {
            agent.announce(Announcement::Instrumented {
                methods: instrumented,
            });
        }
    }
}

/// Tells where the lines of a method are counted. One that has none is told of where its calls are.
pub(super) fn tell_lines(
    agent: &Agent,
    class: &str,
    method: &Method<'_>,
    (number, probes): (u32, &Probes),
    told: &Inserted,
) {
    let is_counted = !told.lines.is_empty() || probes.calls.is_some();
    if probes.lines.is_none() || !is_counted {
        return;
    }
    let mut counters: Vec<(u32, u32)> = Vec::new();
    let mut left_out = false;
    for (entry, probe) in method.line_entries().zip(&told.lines) {
        match probe {
            LineProbe::Own(counter) | LineProbe::Shared(counter) => {
                counters.push((entry.line.into(), *counter));
            }
            LineProbe::LeftOut(_) => left_out = true,
        }
    }
    counters.sort_unstable();
    counters.dedup();
    if left_out {
        let reason = match &told.reduced {
            Some(refusal) => format!("its lines are not counted: {refusal}"),
            None => "some of its lines are not counted, where a failing hook could run in circles or leave a monitor locked".to_owned(),
        };
        uncovered(agent, class, &full_name(method), &reason);
    }
    let entries = method.line_entries().zip(&told.lines);
    let entry = entries
        .filter(|(entry, _)| entry.pc == 0)
        .find_map(|(_, probe)| match probe {
            LineProbe::Own(counter) => Some(*counter),
            _ => None,
        });
    agent.announce(Announcement::Lines {
        method: number,
        counters: counters.into(),
        entry,
    });
}

/// Tells that a method's allocations are not seen, where it had no room for their probes.
pub(super) fn tell_reduced(agent: &Agent, class: &str, method: &Method<'_>, told: &Inserted) {
    if let Some(refusal) = &told.reduced {
        let reason = format!("its allocations are not seen: {refusal}");
        uncovered(agent, class, &full_name(method), &reason);
    }
}

/// Why a method is not even tried; empty if that needs no mention.
fn refusal(class: &str, method: &Method<'_>, jdk: bool) -> Option<&'static str> {
    if method.access_flags() & ACC_ABSTRACT != 0 {
        return Some("");
    }
    if method.access_flags() & ACC_NATIVE != 0 {
        return Some("native method: only engine=jvmti sees it");
    }
    if !jdk {
        return None;
    }
    if never::METHODS
        .iter()
        .any(|(c, m)| *c == class && full_name(method) == *m)
    {
        return Some(never::TRANSITION);
    }
    let annotation = never::ANNOTATIONS
        .iter()
        .find(|(a, _)| method.has_annotation(a));
    annotation.map(|(_, reason)| *reason)
}
