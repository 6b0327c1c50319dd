//! Classes: declarations, unloading, initialisation, and compiled code of their methods.

use super::Translator;
use super::stacks::stack;
use crate::definition::{ClassDetailInfo, CompiledInfo, Member};
use jtrail_model::{
    ClassDetail, ClassInitEnd, ClassInitStart, ClassRedefine, ClassUnload, CodeRange, Event,
    MethodCompile, MethodUncompile, Timestamp,
};
use jtrail_options::Events;

/// Maximum number of open initialisations of a thread that are searched for the one that ends.
const FARTHEST_INITIALISATION: usize = 1000;

impl Translator {
    /// Writes the declaration of a class, and keeps it if another trace may begin.
    pub fn add_detail(&mut self, info: Box<ClassDetailInfo>) {
        self.class_detail(&info);
        if self.settings.keeps_details {
            let class = info.class;
            self.detailed.push(class);
            self.classes.at(class).about().detail = Some(info);
        }
    }

    /// Writes the declarations of all existing classes, at the start of a trace.
    pub(super) fn emit_details(&mut self) {
        for number in std::mem::take(&mut self.detailed) {
            let about = self.classes.at(number).about.as_mut();
            let Some(info) = about.and_then(|about| about.detail.take()) else {
                continue; // the class was forgotten
            };
            self.add_detail(info);
        }
    }

    /// Returns the numbers of the classes whose declarations are kept.
    pub(super) fn with_details(&self) -> impl Iterator<Item = u32> {
        let is_there = |number: &u32| {
            let class = self.classes.get(*number);
            let about = class.and_then(|class| class.about.as_ref());
            about.is_some_and(|about| about.detail.is_some())
        };
        self.detailed.iter().copied().filter(is_there)
    }

    fn class_detail(&mut self, info: &ClassDetailInfo) {
        if self.is_off(Events::DETAILS) {
            return;
        }
        let time = Timestamp(self.timeline.at(info.time)).max(self.settings.started);
        let class = self.class(info.class, time);
        let interfaces = info.interfaces.iter().map(|name| (&**name).into());
        self.event(
            &ClassDetail {
                class,
                time,
                access: info.access,
                super_name: (&*info.super_name).into(),
                interfaces: interfaces.collect(),
                loader: (&*info.loader).into(),
                size: info.size.into(),
                fields: info.fields.iter().map(member).collect(),
                methods: info.methods.iter().map(member).collect(),
            }
            .into(),
        );
    }

    pub(super) fn class_unloaded(&mut self, number: u32, ticks: u64) {
        self.class_forgotten(number, ticks);
        let id = self.classes.at(number).id;
        if !id.is_none() {
            let time = Timestamp(self.timeline.at(ticks));
            self.event(&Event::ClassUnload(ClassUnload { class: id, time }));
        }
    }

    /// Forgets a class, unless that was done before. The ids of the class and its methods remain,
    /// for events that still come: the class is unloaded, the compiled code of its methods is
    /// unloaded a little later, and sums are written at the end.
    pub(super) fn class_forgotten(&mut self, number: u32, ticks: u64) {
        let time = Timestamp(self.timeline.at(ticks));
        let about = self.classes.at(number).about.as_mut();
        let methods = about.map_or_else(Vec::new, |about| std::mem::take(&mut about.methods));
        for number in methods {
            let is_instrumented = self.methods.get(number).is_some_and(|m| m.is_instrumented);
            if self.settings.aggregate || is_instrumented {
                self.method(number, time); // while its name is known
            }
            match is_instrumented {
                true => self.methods.at(number).class_is_forgotten(),
                false => self.methods.forget(number),
            }
        }
        self.classes.at(number).about = None;
    }

    pub(super) fn class_redefined(&mut self, number: u32, ticks: u64, size: u64) {
        let time = Timestamp(self.timeline.at(ticks));
        let class = self.class(number, time);
        self.event(&Event::ClassRedefine(ClassRedefine {
            class,
            time,
            size: size as i64,
        }));
    }

    /// Handles the start of a `<clinit>`.
    pub(super) fn initialisation_began(&mut self, number: u32, ticks: u64, method: u32) {
        let class = self.methods.at(method).class;
        self.begin_initialisation(number, ticks, class);
    }

    /// Writes that a thread initialises a class, from now on or since an earlier trace.
    pub(super) fn begin_initialisation(&mut self, number: u32, ticks: u64, of: u32) {
        let Some((thread, time)) = self.at(number, ticks) else {
            return;
        };
        let class = self.class(of, time);
        self.thread(number).initialising.push(of);
        self.totals.initialisations += 1;
        self.event(&Event::ClassInitStart(ClassInitStart {
            thread,
            time,
            class,
        }));
    }

    /// Handles the end of a `<clinit>`. Writes nothing if its start is not in the trace. If records
    /// were lost, initialisations within this one are considered ended, without an event.
    pub(super) fn initialisation_ended(
        &mut self,
        number: u32,
        ticks: u64,
        method: u32,
        failed: bool,
    ) {
        let Some((thread, time)) = self.at(number, ticks) else {
            return;
        };
        let of = self.methods.at(method).class;
        let initialising = &mut self.thread(number).initialising;
        let mut near = initialising.iter().rev().take(FARTHEST_INITIALISATION);
        let Some(inner) = near.position(|class| *class == of) else {
            return;
        };
        initialising.truncate(initialising.len() - 1 - inner);
        if self.is_cut {
            return; // after the end of the trace
        }
        let time = self.end_in_pause(time);
        let class = self.class(of, time);
        self.totals.initialisations += 1;
        self.event(&Event::ClassInitEnd(ClassInitEnd {
            thread,
            time,
            class,
            failed,
        }));
    }

    /// Handles compiled code of a method. Code that is reported again is written once.
    pub fn compiled(&mut self, info: &CompiledInfo) {
        let code = (info.method, info.address);
        if self.code.insert(code, info.size) == Some(info.size) {
            return;
        }
        let time = Timestamp(self.timeline.at(info.time));
        let method = self.method(info.method, time).0;
        for (_, frames) in &info.ranges {
            self.name_frames(frames);
        }
        let methods = &self.methods;
        let range = |(offset, frames): &(i64, Box<[u64]>)| CodeRange {
            offset: *offset,
            frames: stack(methods, frames),
        };
        let event = Event::MethodCompile(MethodCompile {
            method,
            time,
            address: info.address,
            size: info.size.into(),
            ranges: info.ranges.iter().map(range).collect(),
        });
        self.encoder.event(&event, &mut self.out);
    }

    /// Writes the compiled code that exists at the start of a trace, at a tick.
    pub(super) fn emit_code(&mut self, ticks: u64) {
        if self.is_off(Events::JIT) {
            return;
        }
        let mut kept = std::mem::take(&mut self.kept_code);
        // A class may be forgotten before the unload of its compiled code is reported.
        let is_there = |info: &&mut Box<CompiledInfo>| self.methods.get(info.method).is_some();
        let mut all: Vec<_> = kept.values_mut().filter(is_there).collect();
        all.sort_unstable_by_key(|info| (info.time, info.address));
        for info in all {
            info.time = ticks;
            self.compiled(info);
        }
        self.kept_code = kept;
    }

    /// Handles the unload of compiled code. Writes nothing if the trace does not contain its load.
    pub fn uncompiled(&mut self, method: u32, ticks: u64, address: u64) {
        self.kept_code.remove(&(method, address));
        if self.code.remove(&(method, address)).is_none() {
            return;
        }
        let time = Timestamp(self.timeline.at(ticks));
        let method = self.method(method, time).0;
        self.event(&Event::MethodUncompile(MethodUncompile {
            method,
            time,
            address,
        }));
    }
}

fn member(member: &Member) -> jtrail_model::Member<'_> {
    jtrail_model::Member {
        name: (&*member.name).into(),
        signature: (&*member.descriptor).into(),
        access: member.access,
    }
}
