//! Samples, and samples made from calls.

use super::{chunks, events_of, with};
use crate::testing::*;
use jtrail_model::*;

fn sample(ns: i64, state: ThreadState, ticks: u64, line: i64) -> Event<'static> {
    Event::Sample(Sample {
        thread: ThreadId(1),
        time: time(ns),
        state,
        ticks: Ticks::new(ticks).expect("not 0"),
        stack: vec![frame("a.B.f(I)V", line), frame("x.Y.main()V", 7)],
    })
}

#[test]
fn each_tick_of_a_sample_is_an_event() {
    let chunks = chunks(&with([
        enter(1, 0, 1, 1),
        sample(1_000, ThreadState::Runnable, 1, 3),
        sample(4_000, ThreadState::Runnable, 3, 4),
        sample(5_000, ThreadState::Runnable, 1, -2),
        sample(6_000, ThreadState::Parked, 1, 5),
        leave(1, 9_000_000, 1, 1),
    ]));
    let event = |name, ns, line: i64, state| {
        let line = line as u32;
        format!(
            "jdk.{name} startTime={ns} sampledThread=main stackTrace=[a/B.f(I)V:{line}, x/Y.main()V:7] state=STATE_{state}"
        )
    };
    assert_eq!(
        events_of(
            &chunks,
            &[
                "jdk.ExecutionSample",
                "jdk.NativeMethod",
                "jdk.ActiveSetting"
            ]
        ),
        [
            event("ExecutionSample", 1_001, 3, "RUNNABLE"),
            event("ExecutionSample", 2_001, 4, "RUNNABLE"),
            event("ExecutionSample", 3_001, 4, "RUNNABLE"),
            event("ExecutionSample", 4_001, 4, "RUNNABLE"),
            event("NativeMethodSample", 5_001, -1, "RUNNABLE"),
            event("NativeMethodSample", 6_001, 5, "PARKED"),
        ]
    );
}

#[test]
fn without_samples_they_are_made_from_calls() {
    let ms = 1_000_000;
    let chunks = chunks(&with([
        enter(1, ms / 2, 1, 1),
        enter(1, 2 * ms, 2, 2),
        park(1, 3 * ms + 1),
        unpark(1, 7 * ms),
        leave(1, 8 * ms, 2, 2),
        leave(1, 8 * ms + 1, 1, 1),
        enter(1, 20 * ms - 1, 2, 3),
        leave(1, 20 * ms + 1, 2, 3),
    ]));
    let event = |ns: i64, path: &str| {
        format!(
            "jdk.ExecutionSample startTime={} sampledThread=main stackTrace=[{path}] state=STATE_RUNNABLE",
            ns + 1
        )
    };
    let (f, g) = ("a/B.f(I)V:0", "a/B.g(I)V:0");
    let g_in_f = format!("{g}, {f}");
    assert_eq!(
        events_of(&chunks, &["jdk.ExecutionSample"]),
        [
            event(ms, f),
            event(2 * ms, &g_in_f),
            event(3 * ms, &g_in_f),
            event(7 * ms, &g_in_f),
            event(8 * ms, f),
            event(20 * ms, g),
        ]
    );
    let settings = events_of(&chunks, &["jdk.ActiveSetting", "jtrail.Note"]);
    assert!(
        settings[0].ends_with(" name=period value=1 ms"),
        "{settings:?}"
    );
    assert!(
        settings[1].contains(" text=The trace has no samples."),
        "{settings:?}"
    );
    assert_eq!(settings.len(), 2);
}

/// A day in a call is some thousand samples, and not 86 million.
#[test]
fn the_interval_of_made_samples_grows() {
    let ms = 1_000_000;
    let day = 86_400_000;
    let chunks = chunks(&with([enter(1, 0, 1, 1), leave(1, day * ms, 1, 1)]));
    let samples = events_of(&chunks, &["jdk.ExecutionSample"]);
    // 1,000 at 1 ms, 1,000 at 2 ms …: 16 times, until 65,535 s; then one in 65.536 s.
    assert_eq!(samples.len(), 16_000 + 319);
    let settings = events_of(&chunks, &["jdk.ActiveSetting"]);
    assert_eq!(settings.len(), 17);
    assert!(settings[16].ends_with("value=65536 ms"), "{}", settings[16]);
    let notes = events_of(&chunks, &["jtrail.Note"]);
    assert!(
        notes
            .iter()
            .any(|note| note.contains("was made for each 2 ms")),
        "{}",
        notes[1]
    );
}

#[test]
fn a_sample_has_a_maximum_number_of_ticks() {
    let events = with([
        sample(0, ThreadState::Parked, 1, 5),
        sample(80_000_000, ThreadState::Parked, 80_000, 5),
        sample(90_000_000, ThreadState::Parked, u64::MAX, 5),
    ]);
    let mut encoder = crate::Target::Jfr.encoder(crate::Options::default());
    let mut out = Vec::new();
    encoder.begin(&mut out);
    events
        .iter()
        .for_each(|event| encoder.event(event, &mut out));
    encoder.end(&mut out);
    let samples = events_of(&super::reader::read(&out), &["jdk.NativeMethodSample"]);
    assert_eq!(samples.len(), 1 + 2 * 65_536);
    // The last ticks are there, each 1,000 ns after the one before.
    for (number, ns) in [(1, 14_465_001), (65_536, 80_000_001)] {
        let start = format!("jdk.NativeMethodSample startTime={ns} ");
        assert!(samples[number].starts_with(&start), "{}", samples[number]);
    }
    let dropped = encoder.dropped();
    let ticks = dropped.iter().find(|count| count.what.contains("ticks"));
    let expected = (80_000 - 65_536_u64).saturating_add(u64::MAX - 65_536);
    assert_eq!(ticks.map(|count| count.count), Some(expected));
}

/// Samples that are not made take no time, however long a call is.
#[test]
fn a_call_may_take_centuries_in_a_trace_with_samples() {
    let end = i64::MAX - START;
    let chunks = chunks(&with([
        enter(1, 0, 1, 1),
        sample(1_000, ThreadState::Runnable, 1, 3),
        leave(1, end, 1, 1),
    ]));
    assert_eq!(events_of(&chunks, &["jdk.ExecutionSample"]).len(), 1);
}
