//! jtrail's own format: what goes in comes out.

mod common;

use common::every_event;
use common::random::{event, trace};
use common::{decode, decode_pieces, encoded, shown};
use jtrail_formats::Format;
use proptest::prelude::*;

#[test]
fn every_event_comes_back() {
    let events = every_event();
    let bytes = encoded(Format::Trail, &events);
    let decoding = decode(Format::Trail, &bytes);
    assert!(decoding.is_clean(), "{:?}", decoding.remarks);
    assert_eq!(decoding.events, shown(&events));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_events_come_back(events in trace(), piece in 1_usize..300) {
        let bytes = encoded(Format::Trail, &events);
        let decoding = decode_pieces(Format::Trail, &bytes, piece);
        prop_assert!(decoding.is_clean(), "{:?}", decoding.remarks);
        prop_assert_eq!(decoding.events, shown(&events));
    }

    #[test]
    fn single_events_come_back(event in event()) {
        let bytes = encoded(Format::Trail, [&event]);
        prop_assert_eq!(decode(Format::Trail, &bytes).events, shown(&[event]));
    }
}
