//! Any events can be exported to all targets, whatever their numbers and times are.

#[path = "../../formats/tests/common/random.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "this file needs only whole traces"
)]
mod random;

use crate::{CallFilter, Options, Survey, Target};
use jtrail_formats::Encode;
use jtrail_model::{Duration, Event};
use proptest::prelude::*;

/// Exports the events into two files, the second of which begins with event `split`.
fn export(target: Target, options: Options, events: &[Event<'_>], split: usize) -> [Vec<u8>; 2] {
    let mut encoder = target.encoder(options);
    let [mut first, mut second] = [Vec::new(), Vec::new()];
    encoder.begin(&mut first);
    for event in &events[..split] {
        encoder.event(event, &mut first);
    }
    encoder.split(&mut first, &mut second);
    for event in &events[split..] {
        encoder.event(event, &mut second);
    }
    encoder.end(&mut second);
    [first, second]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_events_can_be_exported(
        events in random::trace(),
        split in any::<prop::sample::Index>(),
        with_threads in any::<bool>(),
        min in prop_oneof![Just(0), any::<i64>()],
    ) {
        let filter = || CallFilter::new(Duration(min), None, None);
        let split = split.index(events.len() + 1);
        for target in Target::ALL {
            let options = || Options { filter: filter(), with_threads, ..Options::default() };
            let [once, again] = [options(), options()]
                .map(|options| export(target, options, &events, split));
            prop_assert!(once == again, "{target:?}: equal events are not written as equal bytes");
        }
    }

    #[test]
    fn any_events_can_be_surveyed(events in random::trace(), max in 0_u64..10) {
        let (mut survey, mut out) = (Survey::new(CallFilter::default()), Vec::new());
        survey.begin(&mut out);
        events.iter().for_each(|event| survey.event(event, &mut out));
        survey.end(&mut out);
        let begun = survey.until_for(max).map_or(0, |(_, slices)| slices);
        let long = survey.min_for(max).map_or(0, |(_, slices)| slices);
        prop_assert!(begun.max(long) <= max);
    }
}
