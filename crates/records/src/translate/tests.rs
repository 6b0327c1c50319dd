//! What a translator keeps of what is gone.

use super::pause::OpenCalls;
use super::*;
use crate::announce::{ClassInfo, MethodInfo};

const METHODS: u32 = 5;

fn translator() -> Translator {
    let timeline = Timeline::new(0, 0, (1, 1));
    Translator::new(Translator::silent(), timeline, Settings::default())
}

/// A class comes, is called and goes.
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
fn classes_that_are_gone_take_no_room_in_the_next_trace() {
    let mut translator = translator();
    let stays = 1;
    guest(&mut translator, stays);
    for number in stays + 1..50_000 {
        guest(&mut translator, number);
        translator.class_gone(number, number.into());
        if number % 1000 == 0 {
            translator.restart(Translator::silent(), Settings::default(), OpenCalls::Hide);
        }
    }
    translator.restart(Translator::silent(), Settings::default(), OpenCalls::Hide);
    assert_eq!(translator.known.pages(), 1);
    assert_eq!(translator.ids_of_methods.pages(), 0);
    assert_eq!(translator.methods.pages(), 1);
    assert_eq!(translator.classes.pages(), 1);
    assert_eq!(translator.methods.at(stays * METHODS).class, stays);
}

#[test]
fn threads_that_are_gone_take_no_room() {
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
    // What comes behind a thread's end is lost.
    let lost = translator.totals.lost;
    translator.entered(77, 1, 0);
    assert_eq!(translator.totals.lost, lost + 1);
}
