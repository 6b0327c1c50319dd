//! Methods and their classes: their state, and their definition in the trace.

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

/// State of a method that every call needs. It is separate from all other data of methods, so that
/// it stays in the processor's cache.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct MethodState(u8);

impl Default for MethodState {
    fn default() -> Self {
        Self(Self::UNREPORTED)
    }
}

impl MethodState {
    /// Flag: the trace has not defined the method, so the method has no ids.
    const UNREPORTED: u8 = 1 << 7;

    /// Returns the phase in which calls of the method begin: the last one for methods without
    /// marks.
    #[inline(always)]
    pub(super) fn phase(self) -> Phase {
        Phase::of_bits(self.0)
    }

    /// Returns true if the trace has not defined the method.
    #[inline(always)]
    pub(super) fn is_unreported(self) -> bool {
        self.0 & Self::UNREPORTED != 0
    }

    /// Returns the bits of [`Self::phase`], as in a [`Call`](super::calls::Call), and
    /// [`Self::UNREPORTED`].
    #[inline(always)]
    pub(super) fn bits(self) -> u8 {
        self.0
    }
}

/// A [`MethodState`] in a table that several threads read.
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

    // Relaxed ordering is enough, because the state is one byte, and no other memory depends on it.
    #[inline(always)]
    pub(super) fn get(&self) -> MethodState {
        MethodState(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, known: MethodState) {
        self.0.store(known.0, Ordering::Relaxed);
    }
}

/// The [`MethodState`] of each method, by number. A clone shares the table, for followers on other
/// threads. In a shared table, a method may become defined, and the phase of an undefined method
/// may change. Any other change creates a new table.
#[derive(Clone, Default)]
pub(super) struct KnownMethods(Arc<[Cell]>);

impl KnownMethods {
    /// Returns the state of a method, or `None` if the table does not include its number.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> Option<MethodState> {
        self.0.get(number as usize).map(Cell::get)
    }

    /// Returns the whole table, for loops. Codes of other records are beyond its end.
    #[inline(always)]
    pub(super) fn all(&self) -> &[Cell] {
        &self.0
    }

    /// Returns true if both refer to the same table.
    #[inline]
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Marks a method as defined in the trace.
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

    /// Sets the state of a method, after enlarging the table if needed.
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

    /// Returns a copy of the table with `count` entries.
    fn with(&self, count: usize) -> Self {
        let there = self.0.iter().map(|cell| Cell::new(cell.get()));
        Self(
            there
                .chain(repeat_with(Cell::default))
                .take(count)
                .collect(),
        )
    }

    /// Begins a trace in which no method is defined yet. Keeps the methods for which `stays`
    /// returns true.
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

/// All other data of methods, by number. Methods of forgotten classes have none.
#[derive(Default)]
pub(super) struct Methods(ByNumber<Option<Box<Method>>>);

impl Methods {
    pub(super) fn get(&self, number: u32) -> Option<&Method> {
        self.0.get(number)?.as_deref()
    }

    /// Returns the data of a method, after creating them if needed.
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

    /// Drops the methods of forgotten classes, which were kept only for the trace that has ended.
    pub(super) fn restart(&mut self) {
        self.0.retain(|_, method| match method {
            Some(method) => !method.is_forgotten,
            None => false,
        });
    }

    /// Returns the numbers of the methods whose line counts are written.
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
    /// Text of the method's frames; empty until it is needed.
    pub(super) frame: Box<str>,
    /// True if the method's class was forgotten.
    is_forgotten: bool,
    /// True if the method's lines are counted.
    pub(super) is_instrumented: bool,
    /// Pairs of a line and a counter that counts for it.
    pub(super) counters: Vec<(u32, u32)>,
    /// Counter of the first instruction.
    pub(super) entry_counter: Option<u32>,
}

impl Method {
    /// Drops the names of the method, but keeps its line counters, which are still to be written.
    pub(super) fn class_is_forgotten(&mut self) {
        (self.info, self.frame) = Default::default();
        self.is_forgotten = true;
    }

    pub(super) fn is_constructor(&self) -> bool {
        &*self.info.name == "<init>"
    }
}

impl Translator {
    /// Handles the definition of methods of a class. `class` is the number of the class.
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

    /// Returns a method's ids. Defines the method and its class in the trace if needed.
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

    /// Assigns ids to a method in the trace.
    pub(super) fn give_ids(&mut self, number: u32, method: MethodId, class: ClassId) {
        self.ids_of_methods.give(number, (method, class));
        self.known.emit(number);
    }

    /// Returns a class's id. Defines the class in the trace if needed.
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
