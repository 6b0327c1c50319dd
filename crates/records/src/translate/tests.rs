//! Tests for what a translator keeps after classes are unloaded and threads exit, and for class
//! initialisations.

use super::*;
use crate::definition::{ClassInfo, MethodInfo};
use std::sync::{Arc, Mutex};

const METHODS: u32 = 5;

fn translator() -> Translator {
    let timeline = Timeline::new(0, 0, (1, 1));
    Translator::new(Translator::silent(), timeline, Settings::default())
}

/// Defines a class, calls its methods once, and returns from them.
fn guest(translator: &mut Translator, number: u32) {
    let info = |number| MethodInfo {
        number,
        ..MethodInfo::default()
    };
    translator.add_class(ClassInfo {
        number,
        ..ClassInfo::default()
    });
    let methods = number * METHODS..(number + 1) * METHODS;
    translator.add_methods(number, methods.clone().map(info).collect());
    for method in methods {
        translator.entered(1, number.into(), method);
        translator.returned(1, number.into(), method);
    }
}

#[test]
fn unloaded_classes_take_no_room_in_the_next_trace() {
    let mut translator = translator();
    let stays = 1;
    guest(&mut translator, stays);
    for number in stays + 1..50_000 {
        guest(&mut translator, number);
        translator.class_forgotten(number, number.into());
        if number % 1000 == 0 {
            translator.restart(Translator::silent(), Settings::default(), OpenCalls::Hide);
        }
    }
    translator.restart(Translator::silent(), Settings::default(), OpenCalls::Hide);
    assert_eq!(translator.known.len() as u32, (stays + 1) * METHODS);
    assert_eq!(translator.ids_of_methods.read().pages(), 0);
    assert_eq!(translator.methods.pages(), 1);
    assert_eq!(translator.classes.pages(), 1);
    assert_eq!(translator.methods.at(stays * METHODS).class, stays);
}

#[test]
fn exited_threads_take_no_room() {
    let mut translator = translator();
    for number in 1..100_000 {
        translator.add_thread(ThreadInfo {
            number,
            ..ThreadInfo::default()
        });
        translator.entered(number, number.into(), 0);
        translator.thread_ended(number, number.into());
    }
    assert_eq!(translator.living(), 0);
    assert!(translator.threads.capacity() < 100);
    assert!((1..100_000).all(|number| translator.has_ended(number)));
    // Records that follow a thread's end are counted as lost.
    let lost = translator.totals.lost;
    translator.entered(77, 1, 0);
    assert_eq!(translator.totals.lost, lost + 1);
}

/// An encoder that keeps the texts of some events.
struct Kept(Arc<Mutex<Vec<String>>>);

impl Encode for Kept {
    fn begin(&mut self, _: &mut Vec<u8>) {}

    fn event(&mut self, event: &Event<'_>, _: &mut Vec<u8>) {
        let text = match event {
            Event::ClassInitStart(e) => format!("{} begin", e.time.0),
            Event::ClassInitEnd(e) => format!("{} end {}", e.time.0, e.failed),
            Event::TracePause(_) => "pause".to_owned(),
            Event::TraceResume(_) => "resume".to_owned(),
            _ => return,
        };
        self.0.lock().expect("kept").push(text);
    }

    fn end(&mut self, _: &mut Vec<u8>) {}
}

const INITIALISER: u64 = 7;

fn begin(translator: &mut Translator, ticks: u64) {
    translator.coded(1, ticks, Code::ClassInit, &[INITIALISER]);
}

fn end(translator: &mut Translator, ticks: u64, failed: u64) {
    translator.coded(1, ticks, Code::ClassInitEnd, &[INITIALISER, failed]);
}

#[test]
fn initialisations_that_begin_in_the_trace_are_reported() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let emitted = || std::mem::take(&mut *kept.lock().expect("kept"));
    let encoder = || Box::new(Kept(kept.clone()));
    let timeline = Timeline::new(0, 0, (1, 1));
    let mut translator = Translator::new(encoder(), timeline, Settings::default());
    end(&mut translator, 1, 0); // begun before the trace
    begin(&mut translator, 2);
    end(&mut translator, 3, 1);
    assert_eq!(emitted(), ["2 begin", "3 end true"]);

    // In a pause, begins are not written, but ends are, at the time of the pause.
    begin(&mut translator, 4);
    translator.pause(Timestamp(5));
    begin(&mut translator, 6);
    end(&mut translator, 7, 0);
    end(&mut translator, 8, 0);
    translator.resume(Timestamp(9));
    assert_eq!(emitted(), ["4 begin", "pause", "5 end false", "resume"]);
    assert_eq!(translator.totals.initialisations, 4);

    // A restored translator knows which initialisations are open.
    begin(&mut translator, 10);
    begin(&mut translator, 11);
    let saved = translator.save();
    let mut other = Translator::restore(encoder(), saved, NumberSet::default());
    end(&mut other, 12, 0);
    assert_eq!(emitted(), ["10 begin", "11 begin", "12 end false"]);

    // A trace that continues another one begins with the open initialisations; an independent trace
    // does not.
    translator.restart(encoder(), Settings::default(), OpenCalls::Enter);
    translator.emit_present_state(13, OpenCalls::Enter);
    end(&mut translator, 14, 0);
    assert_eq!(emitted(), ["13 begin", "13 begin", "14 end false"]);
    translator.restart(encoder(), Settings::default(), OpenCalls::Hide);
    end(&mut translator, 15, 0);
    assert_eq!(emitted(), [""; 0]);

    // Ends after the end of a trace are not counted.
    begin(&mut translator, 16);
    translator.cut_at(17);
    end(&mut translator, 18, 0);
    translator.close_cut();
    assert_eq!(emitted(), ["16 begin"]);
    assert_eq!(translator.totals.initialisations, 1);
}
