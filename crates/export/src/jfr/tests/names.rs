//! Names and frames of any text.

use super::{chunks, events_of, with};
use crate::testing::*;
use jtrail_model::*;

#[test]
fn odd_names_pass_through() {
    let long = "é".repeat(1 << 15);
    let odd = [
        "\"\\</script>",
        "\0\u{1}\u{7f}\u{85}",
        "🙂\u{10ffff}",
        "a;b c\r\n",
        "",
        &long,
    ];
    for name in odd {
        let text = || std::borrow::Cow::from(name.to_owned());
        let chunks = chunks(&[
            Event::ThreadStart(ThreadStart {
                thread: ThreadId(1),
                time: time(0),
                name: text(),
                group: text(),
                ..ThreadStart::default()
            }),
            Event::ClassDef(ClassDef {
                class: ClassId(1),
                name: text(),
                ..ClassDef::default()
            }),
            Event::MethodDef(MethodDef {
                method: MethodId(1),
                class: ClassId(1),
                name: text(),
                signature: text(),
                ..MethodDef::default()
            }),
            enter(1, 1, 1, 1),
            mark(name),
            leave(1, 2, 1, 1),
        ]);
        let class = name.replace('.', "/");
        // A descriptor that is none would confuse readers.
        let call = format!(
            "jdk.MethodTrace startTime=2 duration=1 eventThread={name} stackTrace=null method={class}.{name}()V"
        );
        let note = format!("jtrail.Note startTime=2 text={name}");
        let found = events_of(&chunks, &["jdk.MethodTrace", "jtrail.Note"]);
        assert_eq!(found, [note, call]);
    }
}

#[test]
fn frames_of_any_text() {
    let texts = [
        "",
        "f",
        "f()",
        "a.b.f",
        "a.b.f(",
        "a.b.f(I",
        "(((",
        ".",
        "é.ü(Lx;)V",
    ];
    let expected = [
        "unknown.()V",
        "unknown.f()V",
        "unknown.f()",
        "a/b.f()V",
        "a/b.f()V",
        "a/b.f()V",
        "unknown.((()V",
        ".()V",
        "é.ü(Lx;)V",
    ];
    let stack = texts.map(|text| frame(text, i64::MAX)).to_vec();
    let chunks = chunks(&with([Event::ExceptionThrow(ExceptionThrow {
        thread: ThreadId(1),
        time: time(1),
        stack,
        ..ExceptionThrow::default()
    })]));
    let throws = events_of(&chunks, &["jdk.JavaException"]);
    let frames = expected.map(|method| format!("{method}:0")).join(", ");
    assert!(
        throws[0].contains(&format!("stackTrace=[{frames}]")),
        "{throws:?}"
    );
}
