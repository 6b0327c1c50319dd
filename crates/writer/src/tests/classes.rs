//! Tests for unloaded classes, and for events that still refer to them.

use super::*;
use jtrail_model::Timestamp;
use jtrail_records::OpenCalls;

fn written(translator: &mut Translator) -> Vec<String> {
    let text = String::from_utf8(std::mem::take(&mut translator.out)).expect("text");
    text.lines().map(str::to_owned).collect()
}

fn called(translator: &mut Translator, time: u64, method: u32) {
    translator.enter(1, time, method);
    translator.leave(1, time, method);
}

#[test]
fn the_unload_of_a_class_is_reported_after_its_loader_was_collected() {
    let mut translator = translator();
    called(&mut translator, 1, DERIVED);
    called(&mut translator, 1, RUN);
    let lines = written(&mut translator);
    let defined = lines.iter().filter(|line| line.starts_with("def "));
    assert_eq!(defined.count(), 2, "{lines:?}");
    // The id belongs to the class of the first method.
    translator.coded(1, 2, Code::ClassForgotten, &[1]);
    translator.coded(1, 2, Code::ClassForgotten, &[1]);
    assert_eq!(written(&mut translator), [""; 0]);
    translator.coded(1, 3, Code::ClassUnload, &[1]);
    let lines = written(&mut translator);
    assert!(
        lines.len() == 1 && lines[0].starts_with("unload "),
        "{lines:?}"
    );
    // The other class is unchanged.
    called(&mut translator, 4, RUN);
    called(&mut translator, 4, BASE);
    let lines = written(&mut translator);
    assert!(lines[2].ends_with(" <init>"), "{lines:?}");
    assert_eq!(lines.len(), 5);
}

#[test]
fn a_class_that_nobody_mentioned_goes_without_a_word() {
    let mut translator = translator();
    translator.coded(1, 2, Code::ClassForgotten, &[1]);
    translator.coded(1, 3, Code::ClassUnload, &[1]);
    assert_eq!(written(&mut translator), [""; 0]);
}

#[test]
fn aggregated_calls_keep_the_names_of_unloaded_methods() {
    let mut translator = translator_of(Settings {
        aggregate: true,
        ..Settings::default()
    });
    called(&mut translator, 1, RUN);
    translator.coded(1, 2, Code::ClassForgotten, &[0]);
    translator.totals(Timestamp(3), None);
    let lines = written(&mut translator);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("def ") && line.ends_with(" run")),
        "{lines:?}"
    );
    assert!(!lines.iter().any(|line| line.ends_with(' ')), "{lines:?}");
}

#[test]
fn lines_of_an_unloaded_class_are_reported_once() {
    let mut translator = translator();
    translator.count_lines_by(Box::new(|| Some(vec![7, 9])));
    translator.add_lines(RUN, &[(10, 0), (11, 1)], Some(0));
    translator.coded(1, 2, Code::ClassForgotten, &[0]);
    translator.emit_lines(Timestamp(3));
    let lines = written(&mut translator);
    assert!(lines[0].ends_with(" run"), "{lines:?}");
    assert_eq!(lines[1..], ["lines 7 [(10, 7), (11, 9)]"]);

    let next = Settings::default();
    translator.restart(Box::new(Lines), next, OpenCalls::Hide);
    translator.emit_lines(Timestamp(4));
    assert_eq!(written(&mut translator), [""; 0]);
}
