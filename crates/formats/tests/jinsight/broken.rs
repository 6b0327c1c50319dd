//! The rules find files that break them.

use super::again;
use super::foreign::bursts;
use super::raw::records;
use super::rules::check;
use std::panic::catch_unwind;

/// What [`check`] says of a sound file in which so many is added to the ticks of the nth record of
/// a type.
fn said(kind: u8, nth: usize, ticks: i64) -> String {
    let mut bytes = again(&bursts()).bytes;
    let all = records(&bytes);
    let mut of_kind = all.iter().filter(|record| record.kind == kind);
    let record = of_kind.nth(nth).expect("one that is there");
    let moved = record.ticks().wrapping_add_signed(ticks);
    let at = record.offset + 1;
    bytes[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    // A decoder tells of no calls that begin in pauses, so there are none either.
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
        // The call of 1033 in the second burst left before that.
        ("J5", LEAVE, 2, -2),
        // A collection that ends before it begins.
        ("J5", GC_STOP, 0, -10),
        // A burst that begins in the one before.
        ("J5", END_BURST, 0, 20),
        // An object that is defined behind its end.
        ("J9", OBJECT, 0, 5),
        // A collection that ends behind its burst.
        ("J11", GC_STOP, 1, 100),
        // Calls that are made up behind a burst that left none open: their leaves are not its last.
        ("J12", END_BURST, 0, 5),
    ] {
        let said = said(kind, nth, ticks);
        assert!(said.contains(rule), "{rule}, {kind:#x}, {nth}: {said}");
    }
}
