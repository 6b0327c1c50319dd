//! The checks of the rules detect files that break them.

use super::again;
use super::foreign::bursts;
use super::raw::records;
use super::rules::check;
use std::panic::catch_unwind;

/// Returns the message of [`check`] for a sound file after adding `ticks` to the ticks of the
/// record number `nth` of type `kind`.
fn said(kind: u8, nth: usize, ticks: i64) -> String {
    let mut bytes = again(&bursts()).bytes;
    let all = records(&bytes);
    let mut of_kind = all.iter().filter(|record| record.kind == kind);
    let record = of_kind.nth(nth).expect("one that is there");
    let moved = record.ticks().wrapping_add_signed(ticks);
    let at = record.offset + 1;
    bytes[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    // The events come from a decoder, and decoders report no calls that begin in pauses.
    let Err(panic) = catch_unwind(|| assert_eq!(check(&bytes).begun_in_pauses, 0, "J12")) else {
        return "sound".into();
    };
    let text = panic.downcast_ref::<String>();
    text.expect("a text").clone()
}

#[test]
fn each_rule_finds_its_fault() {
    const OBJECT: u8 = 0x14;
    const LEAVE: u8 = 0x1f;
    const GC_STOP: u8 = 0x47;
    const END_BURST: u8 = 0x66;
    assert_eq!(said(LEAVE, 2, 0), "sound");
    for (rule, kind, nth, ticks) in [
        // The second burst's call of tick 1033 then ends before it begins.
        ("J5", LEAVE, 2, -2),
        // A collection ends before it begins.
        ("J5", GC_STOP, 0, -10),
        // A burst begins inside the previous one.
        ("J5", END_BURST, 0, 20),
        // An object is defined after its end.
        ("J9", OBJECT, 0, 5),
        // A collection ends after its burst.
        ("J11", GC_STOP, 1, 100),
        // The last leaves of the burst no longer have the ticks of its end. So the burst seems to
        // leave no calls open, but the next burst begins with calls that are open already.
        ("J12", END_BURST, 0, 5),
    ] {
        let said = said(kind, nth, ticks);
        assert!(said.contains(rule), "{rule}, {kind:#x}, {nth}: {said}");
    }
}
