//! Plans the rewriting of a class: the probes of its methods, and their definitions for the writer.

use super::Instrument;
use super::classes::{full_name, uninstrumented};
use super::initialiser;
use super::never;
use super::sites;
use crate::session::{ClassNumbers, Loader, Session, class_name};
use jtrail_classfile::{
    AllocationSite, CallsTo, Class, Inserted, LineProbe, Method, Probes, SuperMarks,
};
use jtrail_options::{ClassVerdict, Events, Filter, Trivial};
use jtrail_records::Definition;
use jtrail_records::definition::MethodInfo;
use std::sync::Arc;

const ACC_NATIVE: u16 = 0x0100;
const ACC_ABSTRACT: u16 = 0x0400;

/// The plan for a class: which of its methods are rewritten, and how.
pub(super) struct Plan {
    class: u32,
    /// True if the class did not pass the load hook before.
    pub(super) is_new: bool,
    /// True if the filters include the class.
    is_included: bool,
    /// Numbers of the methods that the filters include, by index in the class file.
    pub(super) numbers: Vec<Option<u32>>,
    /// Probes of each method, by index in the class file.
    pub(super) probes: Vec<Probes>,
    /// Methods that were not rewritten before, with their index in the class file.
    new_methods: Vec<(usize, MethodInfo)>,
}

/// What one method gets.
#[derive(Default)]
struct MethodPlan<'a> {
    /// The method's number; none if the method gets no probes.
    number: Option<u32>,
    /// True if the filters include the method.
    included: bool,
    /// True if the method's calls are not recorded because it is trivial.
    is_trivial: bool,
    /// Triggers that calls of the method may fire, as bits.
    triggers: u32,
    /// True if the method is a static initializer, and class initializations are recorded.
    is_initialiser: bool,
    /// The method's allocation sites; empty if allocations are not recorded at their sites.
    sites: Vec<AllocationSite<'a>>,
}

/// The input of a plan.
pub(super) struct Planner<'p, 'a> {
    pub(super) session: &'p Session,
    pub(super) instrument: &'p Instrument,
    pub(super) loader: Loader,
    pub(super) class: &'p Class<'a>,
    /// The class's internal name (`a/b/C`).
    pub(super) name: &'p str,
    pub(super) verdict: ClassVerdict,
}

/// The state of planning a class, method by method.
struct PlanState<'p> {
    /// The class's name as `Class.getName` prints it.
    dotted: String,
    /// True if the class belongs to the JDK.
    is_jdk: bool,
    /// True if the class did not pass the load hook before.
    is_new: bool,
    filter: Arc<Filter>,
    known: &'p mut ClassNumbers,
    new_methods: Vec<(usize, MethodInfo)>,
}

impl<'a> Planner<'_, 'a> {
    /// Plans the probes of all methods, and numbers the methods that get any.
    pub(super) fn plan(&self, known: &mut ClassNumbers) -> Plan {
        let (number, is_new) = known.loaded(self.session, self.loader, self.class, self.name);
        let mut looked = PlanState {
            dotted: class_name(self.name),
            is_jdk: self.loader.is_jdk(self.name),
            is_new,
            filter: self.session.filter(),
            known,
            new_methods: Vec::new(),
        };
        let methods = self.class.methods();
        let mut chosen = Vec::with_capacity(methods.len());
        for (at, method) in methods.iter().enumerate() {
            chosen.push(self.choose(&mut looked, at, method));
        }
        let mut probes = Vec::with_capacity(methods.len());
        for (method, chosen) in methods.iter().zip(&chosen) {
            probes.push(self.probes(looked.known, method, chosen));
        }
        let number_if = |chosen: &MethodPlan<'a>| chosen.number.filter(|_| chosen.included);
        Plan {
            class: number,
            is_new,
            is_included: self.verdict != ClassVerdict::None,
            numbers: chosen.iter().map(number_if).collect(),
            probes,
            new_methods: looked.new_methods,
        }
    }

    /// Decides which probes a method gets, and numbers the method if it gets any.
    fn choose(&self, looked: &mut PlanState<'_>, at: usize, method: &Method<'a>) -> MethodPlan<'a> {
        let refusal = refusal(self.name, method, looked.is_jdk);
        let is_included = self.is_included(looked, method, refusal);
        let sites = self.sites_of(looked, method, refusal, is_included);
        let triggers = self.triggers_of(looked, method, refusal);
        let included = is_included && refusal.is_none();
        let skips_trivial = self.session.options.trivial == Trivial::Skip;
        let is_trivial = included && skips_trivial && triggers == 0 && method.is_trivial();
        if is_trivial && looked.is_new {
            self.uninstrumented(method, never::TRIVIAL);
        }
        let has_lines = self.instrument.lines_now(self.session).is_some();
        let included = included && (!is_trivial || has_lines);
        let is_initialiser = self.is_initialiser(looked, method, refusal, is_included);
        if !included && sites.is_empty() && triggers == 0 && !is_initialiser {
            return MethodPlan::default();
        }
        let Some(number) = self.number(looked, at, method) else {
            self.uninstrumented(method, "there are no numbers left for methods");
            return MethodPlan::default();
        };
        MethodPlan {
            number: Some(number),
            included,
            is_trivial,
            triggers,
            is_initialiser,
            sites,
        }
    }

    /// Returns true if the method is a static initializer, and class initializations are recorded
    /// now.
    fn is_initialiser(
        &self,
        looked: &PlanState<'_>,
        method: &Method<'a>,
        refusal: Option<&str>,
        is_included: bool,
    ) -> bool {
        if !self.session.is_on(Events::CLINIT) || !initialiser::is_initialiser(method) {
            return false;
        }
        if let Some(reason) = refusal
            && looked.is_new
            && !is_included
        {
            self.uninstrumented(
                method,
                &format!("its class's initialisation is not recorded: {reason}"),
            );
        }
        refusal.is_none()
    }

    /// Returns true if the filters include the method. If an included method can't be traced,
    /// reports the reason in the trace.
    fn is_included(
        &self,
        looked: &PlanState<'_>,
        method: &Method<'a>,
        refusal: Option<&str>,
    ) -> bool {
        let PlanState { filter, dotted, .. } = looked;
        let included = match self.verdict {
            ClassVerdict::None => false,
            ClassVerdict::ByMethod => filter.method(dotted, &method.name(), looked.is_jdk),
            ClassVerdict::All => true,
        };
        if included
            && looked.is_new
            && let Some(reason) = refusal
            && !reason.is_empty()
        {
            self.uninstrumented(method, reason);
        }
        included
    }

    /// Returns the method's allocation sites, if allocations are recorded at their sites now.
    fn sites_of(
        &self,
        looked: &PlanState<'_>,
        method: &Method<'a>,
        refusal: Option<&str>,
        is_included: bool,
    ) -> Vec<AllocationSite<'a>> {
        let mut sites = match self.instrument.sites_now(self.session) {
            Some(_) => self.class.allocation_sites(method),
            None => Vec::new(),
        };
        if !sites.is_empty()
            && let Some(reason) = refusal
            && reason != never::INTRINSIC
        {
            if looked.is_new && !is_included {
                self.uninstrumented(method, &format!("its allocations are not seen: {reason}"));
            }
            sites.clear();
        }
        sites
    }

    /// Returns the triggers that calls of the method may fire, as bits.
    fn triggers_of(
        &self,
        looked: &PlanState<'_>,
        method: &Method<'a>,
        refusal: Option<&str>,
    ) -> u32 {
        let Some(bursts) = &self.session.bursts else {
            return 0;
        };
        let triggers = bursts.fits_method(&looked.dotted, &method.name());
        if triggers != 0
            && let Some(reason) = refusal
        {
            if looked.is_new && !reason.is_empty() {
                self.uninstrumented(method, &format!("its calls begin no burst: {reason}"));
            }
            return 0;
        }
        triggers
    }

    /// Returns the method's number; `None` if there are none left.
    fn number(&self, looked: &mut PlanState<'_>, at: usize, method: &Method<'a>) -> Option<u32> {
        let full_name = full_name(method);
        let (number, is_new) = looked.known.method(self.loader, self.name, &full_name)?;
        if looked.is_new || is_new {
            let (first, last) = method.lines().unwrap_or_default();
            let info = MethodInfo {
                number,
                name: method.name().into(),
                descriptor: method.descriptor().into(),
                lines: (first.into(), last.into()),
                code_length: u32::try_from(method.code_len()).unwrap_or_default(),
                marks: SuperMarks::None,
            };
            looked.new_methods.push((at, info));
        }
        Some(number)
    }

    /// Returns the probes of a method.
    fn probes(
        &self,
        known: &mut ClassNumbers,
        method: &Method<'a>,
        chosen: &MethodPlan<'a>,
    ) -> Probes {
        let number = chosen.number.filter(|_| chosen.included);
        let full_name = full_name(method);
        let key = (self.loader, self.name, &*full_name);
        let counters = number.and(self.instrument.lines_now(self.session));
        let lines = counters.and_then(|counters| {
            let first = known.lines(counters, key, method.line_entries().len());
            if first.is_none() {
                self.uninstrumented(method, "there are no counters left for its lines");
            }
            first
        });
        let all = self.instrument.sites_now(self.session);
        let allocations = all.filter(|_| !chosen.sites.is_empty()).and_then(|all| {
            let first = sites::number(self.session, all, known, key, &chosen.sites);
            if first.is_none() {
                self.uninstrumented(method, "there are no numbers left for its allocations");
            }
            first
        });
        let has_calls = self.session.is_on(Events::METHODS) && !chosen.is_trivial;
        let calls = number.filter(|_| has_calls);
        if let (Some(bursts), Some(number)) = (&self.session.bursts, chosen.number) {
            bursts.set_method(number, chosen.triggers, calls.is_some());
        }
        let (calls, calls_to) = match chosen.number {
            number if chosen.is_initialiser => match calls {
                Some(_) => (number, CallsTo::InitialisationsAndCalls),
                None => (number, CallsTo::Initialisations),
            },
            number if chosen.triggers != 0 => (number, CallsTo::Triggers),
            _ => (calls, CallsTo::Calls),
        };
        Probes {
            calls,
            calls_to,
            lines,
            allocations,
            constructed: false,
        }
    }

    fn uninstrumented(&self, method: &Method<'a>, reason: &str) {
        uninstrumented(self.session, self.name, &full_name(method), reason);
    }
}

impl Plan {
    /// Returns true if the method's calls or lines are traced.
    pub(super) fn is_included(&self, at: usize) -> bool {
        self.numbers[at].is_some()
    }

    pub(super) fn set_marks(&mut self, at: usize, marks: SuperMarks) {
        if let Ok(found) = self.new_methods.binary_search_by_key(&at, |(at, _)| *at) {
            self.new_methods[found].1.marks = marks;
        }
    }

    pub(super) fn define(self, session: &Session, instrumented: u64) {
        if !self.new_methods.is_empty() {
            let methods = self.new_methods.into_iter().map(|(_, info)| info).collect();
            session.define(Definition::Methods {
                class: self.class,
                methods,
            });
        }
        if self.is_new && self.is_included {
            session.define(Definition::Instrumented {
                methods: instrumented,
            });
        }
    }
}

/// Defines which counters count the lines of a method. If no line has a counter, the definition is
/// sent only if the method's calls are traced.
pub(super) fn define_lines(
    session: &Session,
    class: &str,
    method: &Method<'_>,
    (number, probes): (u32, &Probes),
    inserted: &Inserted,
) {
    let is_counted = !inserted.lines.is_empty() || probes.calls.is_some();
    if probes.lines.is_none() || !is_counted {
        return;
    }
    let mut counters: Vec<(u32, u32)> = Vec::new();
    let mut left_out = false;
    for (entry, probe) in method.line_entries().zip(&inserted.lines) {
        match probe {
            LineProbe::Own(counter) | LineProbe::Shared(counter) => {
                counters.push((entry.line.into(), *counter));
            }
            LineProbe::NoProbe(_) => left_out = true,
        }
    }
    counters.sort_unstable();
    counters.dedup();
    if left_out {
        let reason = match &inserted.reduced {
            Some(refusal) => format!("its lines are not counted: {refusal}"),
            None => "some of its lines are not counted, where a failing hook could run in circles or leave a monitor locked".to_owned(),
        };
        uninstrumented(session, class, &full_name(method), &reason);
    }
    let entries = method.line_entries().zip(&inserted.lines);
    let entry = entries
        .filter(|(entry, _)| entry.pc == 0)
        .find_map(|(_, probe)| match probe {
            LineProbe::Own(counter) => Some(*counter),
            _ => None,
        });
    session.define(Definition::Lines {
        method: number,
        counters: counters.into(),
        entry,
    });
}

/// Reports that a method's allocations are not recorded, if its allocation probes were omitted.
pub(super) fn report_reduced(
    session: &Session,
    class: &str,
    method: &Method<'_>,
    inserted: &Inserted,
) {
    if let Some(refusal) = &inserted.reduced {
        let reason = format!("its allocations are not seen: {refusal}");
        uninstrumented(session, class, &full_name(method), &reason);
    }
}

/// Returns the reason why a method can't be traced at all; empty if the trace need not mention it.
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
