//! Methods and their classes: what is known of them, and how the trace comes to know them.

use super::calls::Phase;
use super::{Named, Translator};
use crate::definition::MethodInfo;
use crate::record::METHOD_LIMIT;
use jtrail_model::{
    ByNumber, ClassDef, ClassId, Event, MethodDef, MethodDetail, MethodId, ObjectId, ThreadId,
    Timestamp,
};
use jtrail_options::Events;
use std::iter::repeat_with;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What each call asks of its method. All else stands apart, so that this stays near the processor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct MethodState(u8);

impl Default for MethodState {
    fn default() -> Self {
        Self(Self::UNREPORTED)
    }
}

impl MethodState {
    /// The trace was not told of it, so that it has no ids.
    const UNREPORTED: u8 = 1 << 7;

    /// Where its calls begin: they have come as far as calls come if they make no marks.
    #[inline(always)]
    pub(super) fn phase(self) -> Phase {
        Phase::of_bits(self.0)
    }

    /// The trace was not told of it.
    #[inline(always)]
    pub(super) fn is_unreported(self) -> bool {
        self.0 & Self::UNREPORTED != 0
    }

    /// As [`Self::phase`], in bits, as a [`Call`](super::calls::Call) has them, and
    /// [`Self::UNREPORTED`].
    #[inline(always)]
    pub(super) fn bits(self) -> u8 {
        self.0
    }
}

/// Its place in a table that others look at, too.
pub(super) struct Cell(AtomicU8);

impl Default for Cell {
    fn default() -> Self {
        Self::new(MethodState::default())
    }
}

impl Cell {
    fn new(known: MethodState) -> Self {
        Self(AtomicU8::new(known.0))
    }

    // It is all in one byte, and no other memory is read by what it says.
    #[inline(always)]
    pub(super) fn get(&self) -> MethodState {
        MethodState(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, known: MethodState) {
        self.0.store(known.0, Ordering::Relaxed);
    }
}

/// What each call asks of its method, by the method's number. A copy shares the table, for who
/// follows calls ahead. In a shared table, the trace may be told of a method, and the phase of one
/// that it was not told of may change; all else makes a new table.
#[derive(Clone, Default)]
pub(super) struct KnownMethods(Arc<[Cell]>);

impl KnownMethods {
    /// What is known of a method; none where the table has no place for it.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> Option<MethodState> {
        self.0.get(number as usize).map(Cell::get)
    }

    /// All of them: for loops, which have it at hand so. What is no method's number has no place.
    #[inline(always)]
    pub(super) fn all(&self) -> &[Cell] {
        &self.0
    }

    /// Whether it is the same table.
    #[inline]
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn emit(&mut self, number: u32) {
        let known = self.get(number).unwrap_or_default();
        self.set(number, MethodState(known.0 & !MethodState::UNREPORTED));
    }

    fn set_phase(&mut self, number: u32, phase: Phase) {
        let known = self.get(number).unwrap_or_default();
        if known.phase() != phase && !known.is_unreported() {
            *self = self.with(self.0.len());
        }
        self.set(
            number,
            MethodState(known.0 & MethodState::UNREPORTED | phase.bits()),
        );
    }

    /// Its place is made if need be.
    fn set(&mut self, number: u32, known: MethodState) {
        let at = number as usize;
        if self.0.len() <= at {
            *self = self.with(
                (at + 1)
                    .next_power_of_two()
                    .min(METHOD_LIMIT as usize)
                    .max(at + 1),
            );
        }
        self.0[at].set(known);
    }

    /// One with so many places.
    fn with(&self, count: usize) -> Self {
        let there = self.0.iter().map(|cell| Cell::new(cell.get()));
        Self(
            there
                .chain(repeat_with(Cell::default))
                .take(count)
                .collect(),
        )
    }

    /// A trace begins that was told of nothing yet. Some methods stay.
    pub(super) fn restart(&mut self, stays: impl Fn(u32) -> bool) {
        let last = (0..self.0.len() as u32).rev().find(|number| stays(*number));
        *self = self.with(last.map_or(0, |last| last as usize + 1));
        for (number, cell) in (0..).zip(&*self.0) {
            cell.set(match stays(number) {
                true => MethodState(cell.get().0 | MethodState::UNREPORTED),
                false => MethodState::default(),
            });
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// All else that is known of methods, by number. Nothing is of those whose classes are gone.
#[derive(Default)]
pub(super) struct Methods(ByNumber<Option<Box<Method>>>);

impl Methods {
    pub(super) fn get(&self, number: u32) -> Option<&Method> {
        self.0.get(number)?.as_deref()
    }

    /// Its place, which is made if need be.
    pub(super) fn at(&mut self, number: u32) -> &mut Method {
        self.0.at(number).get_or_insert_default()
    }

    #[cfg(test)]
    pub(super) fn pages(&self) -> usize {
        self.0.pages()
    }

    pub(super) fn forget(&mut self, number: u32) {
        *self.0.at(number) = None;
    }

    /// Gives up those of which only the trace that ended had something to tell.
    pub(super) fn restart(&mut self) {
        self.0.retain(|_, method| match method {
            Some(method) => !method.is_forgotten,
            None => false,
        });
    }

    /// Numbers of those whose lines are to be told.
    pub(super) fn covered(&self) -> Vec<u32> {
        let is_instrumented =
            |method: &Option<Box<Method>>| method.as_ref().is_some_and(|m| m.is_instrumented);
        let all = self.0.iter();
        all.filter(|(_, method)| is_instrumented(method))
            .map(|(number, _)| number)
            .collect()
    }
}

#[derive(Default)]
pub(super) struct Method {
    pub(super) class: u32,
    pub(super) info: MethodInfo,
    /// Text of its frames; empty until there is one.
    pub(super) frame: Box<str>,
    /// Its class is gone.
    is_forgotten: bool,
    /// Its lines are to be told, if it has any.
    pub(super) is_instrumented: bool,
    /// Its lines, each with the counters that stand for it.
    pub(super) counters: Vec<(u32, u32)>,
    /// The counter of its first instruction.
    pub(super) entry_counter: Option<u32>,
}

impl Method {
    /// What was counted stays, and is to be told.
    pub(super) fn class_is_forgotten(&mut self) {
        (self.info, self.frame) = Default::default();
        self.is_forgotten = true;
    }

    pub(super) fn is_constructor(&self) -> bool {
        &*self.info.name == "<init>"
    }
}

impl Translator {
    /// Methods of a class, by its number.
    pub fn add_methods(&mut self, class: u32, methods: Vec<MethodInfo>) {
        let of_class = &mut self.classes.at(class).about().methods;
        of_class.extend(methods.iter().map(|info| info.number));
        for info in methods {
            self.known.set_phase(info.number, Phase::first(info.marks));
            let method = self.methods.at(info.number);
            method.class = class;
            method.info = info;
        }
    }

    /// A method's ids; announces it and its class if need be.
    #[inline]
    pub(super) fn method(&mut self, number: u32, time: Timestamp) -> (MethodId, ClassId) {
        match self.ids_of_methods.get(number) {
            (method, _) if method.is_none() => self.define_method(number, time),
            ids => ids,
        }
    }

    #[cold]
    fn define_method(&mut self, number: u32, time: Timestamp) -> (MethodId, ClassId) {
        let class = self.methods.at(number).class;
        let class_id = self.class(class, time);
        let id = MethodId(self.ids.next());
        self.give_ids(number, id, class_id);
        if self.settings.keeps_names {
            self.named.push(Named::Method(number, id.0));
        }
        let method = self.methods.at(number);
        let event = Event::MethodDef(MethodDef {
            method: id,
            class: class_id,
            name: (&*method.info.name).into(),
            signature: (&*method.info.descriptor).into(),
            start_line: method.info.lines.0.into(),
            end_line: method.info.lines.1.into(),
        });
        let size = i64::from(method.info.code_length);
        self.encoder.event(&event, &mut self.out);
        if size > 0 && !self.is_off(Events::DETAILS) {
            self.event(&Event::MethodDetail(MethodDetail { method: id, size }));
        }
        (id, class_id)
    }

    /// The trace knows a method by these ids from now on.
    pub(super) fn give_ids(&mut self, number: u32, method: MethodId, class: ClassId) {
        self.ids_of_methods.give(number, (method, class));
        self.known.emit(number);
    }

    /// A class's id; announces it if need be.
    #[inline]
    pub(super) fn class(&mut self, number: u32, time: Timestamp) -> ClassId {
        let class = self.classes.at(number);
        if class.id.is_none() {
            class.id = ClassId(self.ids.next());
            if self.settings.keeps_names {
                self.named.push(Named::Class(number, class.id.0));
            }
            let event = Event::ClassDef(ClassDef {
                class: class.id,
                thread: ThreadId::NONE,
                time,
                name: class.name().into(),
                source_name: class
                    .about
                    .as_ref()
                    .map_or("", |about| &about.info.source_file)
                    .into(),
                object: ObjectId::NONE,
            });
            self.encoder.event(&event, &mut self.out);
        }
        class.id
    }
}
