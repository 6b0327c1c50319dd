//! Checks the format's rules for a whole file that the encoder wrote.

use super::raw::{Record, records};
use std::collections::{HashMap, HashSet};

/// Class id and method number of a call.
type Call = (u64, u64);

/// A group of records whose ticks never decrease.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Line {
    Thread(u64),
    Collections,
    Bursts,
}

/// Returns the group of a record, if it belongs to one.
fn line(record: &Record) -> Option<Line> {
    match record.kind {
        0x0a | 0x0b | 0x0c | 0x5b => Some(Line::Thread(record.number(1))),
        0x1f => Some(Line::Thread(record.number(2))),
        0x15 => Some(Line::Thread(record.number(3))),
        0x17 => Some(Line::Thread(record.number(4))),
        0x46 | 0x47 => Some(Line::Collections),
        0x65 | 0x66 => Some(Line::Bursts),
        _ => None,
    }
}

/// Returns the object that a record names, unless the record is the object's end.
fn object(record: &Record) -> Option<u64> {
    let object = match record.kind {
        0x05 | 0x14 | 0x15 => record.number(1),
        0x0a | 0x16 | 0x17 => record.number(2),
        0x4e => {
            let text = record.text(1);
            let known = ["monitor-", "park "].iter().any(|it| text.starts_with(it));
            let mut words = text.split(' ').take_while(|_| known);
            let object = words.find_map(|word| word.strip_prefix("object="));
            object.and_then(|number| number.parse().ok()).unwrap_or(0)
        }
        _ => 0,
    };
    (object != 0).then_some(object)
}

/// Tests that ticks never decrease among the records of one thread, among those of collections, and
/// among those of bursts.
fn check_order(records: &[Record]) {
    let mut latest: HashMap<Line, u64> = HashMap::new();
    for record in records {
        let Some(line) = line(record) else { continue };
        let last = latest.insert(line, record.ticks()).unwrap_or(0);
        assert!(record.ticks() >= last, "J5: {last} before {record:?}");
    }
}

/// Tests that no record names an object after its end.
fn check_ends(records: &[Record]) {
    let ends: HashMap<u64, u64> = records
        .iter()
        .filter(|record| record.kind == 0x18)
        .map(|record| (record.number(1), record.ticks()))
        .collect();
    for record in records {
        let end = object(record).and_then(|object| ends.get(&object));
        assert!(
            end.is_none_or(|end| record.ticks() <= *end),
            "J9: {end:?} {record:?}"
        );
    }
}

/// Tests that the records of each burst lie between the ticks of its begin and of its end, and that
/// calls are synthesised only at these ticks. A call with the ticks of the burst's begin was
/// already under way. The outermost of these calls continue calls that the previous burst left
/// open. Returns the number of calls under way that no burst left open.
fn check_bursts(records: &[Record]) -> u64 {
    let mut others = 0;
    let mut open: HashMap<u64, Vec<Call>> = HashMap::new();
    // Calls that the previous burst left open, by thread.
    let mut left: HashMap<u64, Vec<Call>> = HashMap::new();
    let bursts = records.split_inclusive(|record| record.kind == 0x66);
    for burst in bursts {
        let [first, within @ .., last] = burst else {
            panic!("J11: a burst of {burst:?}");
        };
        assert_eq!((first.kind, last.kind), (0x65, 0x66), "J11");
        let (begin, end) = (first.ticks(), last.ticks());
        for record in within {
            let timed = line(record).is_some() || record.kind == 0x4e;
            let ticks = record.ticks();
            assert!(
                !timed || (begin..=end).contains(&ticks),
                "J11: {begin} to {end}: {record:?}"
            );
        }
        let is_entered = |record: &Record| record.kind == 0x5b && record.ticks() == begin;
        let is_left = |record: &Record| record.kind == 0x1f && record.ticks() == end;
        // Only one other kind of record may be among the synthesised leaves: the end of a
        // collection that the burst's end cuts.
        let is_last = |record: &&Record| is_left(record) || record.kind == 0x47;
        let made_up = within.iter().rev().take_while(is_last).count();
        let ends_at = within.len() - made_up;
        for (at, record) in within.iter().enumerate() {
            assert!(!is_left(record) || at >= ends_at, "J12: {record:?}");
        }
        for (at, record) in within.iter().enumerate() {
            match record.kind {
                0x5b => {
                    let calls = open.entry(record.number(1)).or_default();
                    let call = (record.number(2), record.number(3));
                    if is_entered(record) {
                        let was = left.get(&record.number(1));
                        let was = was.and_then(|calls_left| calls_left.get(calls.len()));
                        others += u64::from(was != Some(&call));
                    }
                    calls.push(call);
                }
                0x1f if at < ends_at => {
                    let calls = open.get_mut(&record.number(2)).expect("J6");
                    calls.pop().expect("J6");
                }
                _ => {}
            }
        }
        let made_up = within[ends_at..].iter().filter(|record| is_left(record));
        let depth: usize = open.values().map(Vec::len).sum();
        assert_eq!(made_up.count(), depth, "J12");
        left = std::mem::take(&mut open);
    }
    others
}

/// Contents of a file.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) classes: Vec<String>,
    pub(crate) threads: u64,
    pub(crate) objects: u64,
    pub(crate) enters: u64,
    /// Calls with which bursts begin.
    pub(crate) made_up: u64,
    /// Calls with which bursts begin, and which no previous burst left open.
    pub(crate) begun_in_pauses: u64,
    /// Objects whose end is recorded.
    pub(crate) ends: u64,
    pub(crate) bursts: u64,
}

/// Returns the contents of a file. Panics if it breaks a rule.
pub(crate) fn check(bytes: &[u8]) -> Found {
    let records = records(bytes);
    let header = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..9], b"b\x08\0\0\0\x2c\0\0\0");
    assert_eq!(header(9) as usize, records.len(), "numberOfEvents");
    assert_eq!(header(21), 1000);
    let start = u64::from_le_bytes(bytes[25..33].try_into().unwrap());
    assert!(header(33) <= header(37));
    assert!(header(41) < 1_000_000, "ticks of one callback");
    check_order(&records);
    check_ends(&records);
    let mut found = Found {
        begun_in_pauses: check_bursts(&records),
        ..Found::default()
    };
    // Maps class id to number of methods.
    let mut classes: HashMap<u64, u64> = HashMap::new();
    let mut next_class = 2;
    let mut pending: Option<(u64, usize)> = None;
    let mut threads: HashMap<u64, (u64, bool)> = HashMap::new();
    let mut objects: HashMap<u64, (Record, bool, bool)> = HashMap::new();
    let (mut inside, mut begin, mut collecting) = (false, 0, false);
    let mut defined_thread = None;
    for (at, record) in records.iter().enumerate() {
        let n = |field| record.number(field);
        assert!(record.ticks() >= start, "{record:?}");
        assert!(
            inside || record.kind == 0x65,
            "outside of bursts: {record:?}"
        );
        if let Some((class, define)) = pending.take() {
            assert_eq!((record.kind, n(1), at), (0x6e, class, define + 1), "J2");
        }
        match record.kind {
            0x04 => {
                let class = n(1);
                assert_eq!(n(2), 0);
                assert!(!classes.is_empty() || class == 0, "J1");
                assert!(!classes.contains_key(&class), "J2");
                if !matches!(class, 0 | 1 | 0xffff) {
                    assert_eq!(class, next_class, "no gaps");
                    next_class += 1;
                }
                pending = Some((class, at));
            }
            0x6e => {
                let (class, name) = (n(1), record.text(3).to_owned());
                assert_eq!(n(2), 0);
                assert_eq!(class == 0, name == "java/lang/Object" && classes.is_empty());
                if class == 1 {
                    assert_eq!(name, "java/lang/Thread");
                }
                let mut field = 4;
                let mut seen = HashSet::new();
                let methods = n(field);
                for method in 0..methods as usize {
                    let at = field + 1 + 3 * method;
                    let key = (record.text(at).to_owned(), record.text(at + 1).to_owned());
                    assert!(seen.insert(key), "J15");
                }
                field += 1 + 3 * methods as usize;
                field += 1 + 3 * n(field) as usize;
                let known = |id: u64| classes.contains_key(&id) || id == 0;
                assert!(known(n(field)), "J3");
                for interface in 0..n(field + 1) as usize {
                    assert!(known(n(field + 2 + interface)), "J3");
                }
                assert_eq!(record.fields.len(), field + 2 + n(field + 1) as usize);
                classes.insert(class, methods);
                found.classes.push(name);
            }
            0x0a => {
                let thread = n(1);
                assert!(classes.contains_key(&1), "J1");
                assert_eq!(thread, threads.len() as u64 + 1);
                assert!(n(2) == 0 || objects.contains_key(&n(2)), "J4");
                assert!(classes.contains_key(&n(3)), "J4");
                threads.insert(thread, (0, false));
                defined_thread = Some((thread, at));
            }
            0x0b => assert_eq!(defined_thread, Some((n(1), at - 1)), "J7"),
            0x0c => {
                let thread = threads.get_mut(&n(1)).expect("J4");
                assert_eq!(*thread, (0, false), "J7");
                thread.1 = true;
            }
            0x5b => {
                let made_up = n(0) == begin;
                found.enters += u64::from(!made_up);
                found.made_up += u64::from(made_up);
                let thread = threads.get_mut(&n(1)).expect("J4");
                assert!(!thread.1, "J7");
                thread.0 += 1;
                assert!(n(3) < classes[&n(2)], "J4: {record:?}");
                assert_eq!((n(4), n(5)), (0xffff_ffff, 0));
            }
            0x1f => {
                assert_eq!(n(1), 0);
                let thread = threads.get_mut(&n(2)).expect("J4");
                assert!(thread.0 > 0 && !thread.1, "J6");
                thread.0 -= 1;
            }
            0x14 | 0x05 | 0x16 => {
                let object = n(if record.kind == 0x16 { 2 } else { 1 });
                assert_eq!(object, objects.len() as u64 + 1);
                if record.kind != 0x16 {
                    assert!(classes.contains_key(&n(2)), "J4");
                }
                objects.insert(object, (record.clone(), false, false));
            }
            0x15 => {
                let (defined, made, _) = objects.get_mut(&n(1)).expect("J8");
                assert!(
                    !*made && defined.kind == 0x14 && defined.number(2) == n(2),
                    "J8"
                );
                assert!(threads.contains_key(&n(3)), "J4");
                *made = true;
            }
            0x17 => {
                let (defined, made, _) = objects.get_mut(&n(2)).expect("J8");
                let types = [10, 11, 6, 7, 4, 8, 5, 9];
                let same = match defined.kind {
                    0x05 => n(1) == 2 && defined.number(3) == n(3),
                    0x16 => {
                        types[defined.number(1) as usize - 1] == n(1) && defined.number(3) == n(3)
                    }
                    _ => false,
                };
                assert!(!*made && same, "J8");
                assert!(threads.contains_key(&n(4)), "J4");
                *made = true;
            }
            0x18 => {
                let (_, _, freed) = objects.get_mut(&n(1)).expect("J9");
                assert!(!std::mem::replace(freed, true), "J9");
                found.ends += 1;
            }
            0x46 | 0x47 => {
                assert_eq!(collecting, record.kind == 0x47, "J10");
                collecting = !collecting;
            }
            0x65 => {
                assert!(!inside, "J11");
                (inside, begin) = (true, n(0));
                found.bursts += 1;
            }
            0x66 => {
                assert!(inside && !collecting && n(0) >= begin, "J11");
                assert!(threads.values().all(|thread| thread.0 == 0), "J12");
                inside = false;
            }
            0x4e => assert!(!record.text(1).is_empty()),
            other => panic!("{other:#x}"),
        }
    }
    assert!(!inside && pending.is_none());
    // Threads and classes that were defined after the last burst have a number too.
    assert!(header(13) as usize >= threads.len(), "maxThreads");
    assert!(header(17) as usize >= classes.len(), "maxClasses");
    found.threads = threads.len() as u64;
    found.objects = objects.len() as u64;
    found
}
