//! The report `stats` of `mprof-report`: the number of records of each kind in a file.
//!
//! The report does not count the names of threads and domains. In data version 1 it does not count
//! monitors either. Its bytes, and its shortest and longest records, are not in our report, because
//! they depend on the encoding of the file.

use crate::support::observed::read;
use jtrail_model::Event;
use jtrail_testkit::MprofReport;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Size of a buffer's header.
const BUFFER_HEAD: usize = 48;
/// Size of the file header in data version 1.
const HEADER: usize = 32;
/// Offset of three texts in the file header of data version 17. Each text follows its length.
const TEXTS: usize = 38;
/// Offset of the data version in a file header.
const VERSION_AT: usize = 6;
/// Offset of the length in a buffer's header.
const LENGTH_AT: usize = 4;
/// Number of threads that only the format has, and that end with the trace: `jtrail` and `VM`.
const OWN_THREADS: u64 = 2;

/// Returns the number of buffers in a file, and the number of bytes in them, without the headers.
fn buffers(file: &[u8]) -> (u64, u64) {
    let number = |at: usize| {
        let bytes = file[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes) as usize
    };
    let mut at = match file[VERSION_AT] {
        1 => HEADER,
        _ => (0..3).fold(TEXTS, |at, _| at + 4 + number(at)),
    };
    let (mut count, mut bytes) = (0, 0);
    while at < file.len() {
        let length = number(at + LENGTH_AT);
        (count, bytes) = (count + 1, bytes + length as u64);
        at += BUFFER_HEAD + length;
    }
    assert_eq!(at, file.len());
    (count, bytes)
}

/// Returns the number of calls that an exception ended. Our report lacks this number.
fn exception_leaves(file: &Path) -> u64 {
    let mut count = 0;
    read(file, |event| {
        if let Event::MethodLeave(e) = event {
            count += u64::from(e.by_exception);
        }
    });
    count
}

/// Compares the report `stats` of `program` with our report, which is `json`.
pub(super) fn compare(program: &MprofReport, file: &Path, json: &Value) {
    let bytes = fs::read(file).expect("a file");
    let mut theirs = program.stats(file);
    let (count, size) = buffers(&bytes);
    assert_eq!(theirs.buffers, (count, count * BUFFER_HEAD as u64));
    let add_fact: u64 = theirs.records.values().map(|r| r.bytes).sum();
    assert!(add_fact <= size, "{add_fact} bytes of {size}");

    let rows = |table: &str| json[table].as_array().expect("a table").iter();
    let sum = |table: &str, key: &str| rows(table).map(|row| row[key].as_u64().unwrap_or(0)).sum();
    let trace = |key: &str| json["trace"][key].as_u64().unwrap_or(0);
    let first = bytes[VERSION_AT] == 1;

    let placed: u64 = sum("allocation_sites", "objects");
    let thrown_placed: u64 = sum("exceptions", "thrown");
    let exceptional = exception_leaves(file);
    let blocked = trace("blocked");
    let acquired = blocked - sum("monitors", "open");
    let ended = rows("threads")
        .filter(|row| !row["end_ns"].is_null())
        .count() as u64;
    let whole = rows("heap").filter(|row| row["complete"] == "yes").count() as u64;
    for (kind, ours) in [
        ("ALLOC ALLOC_BT", placed),
        ("ALLOC ALLOC_NO_BT", trace("allocated_objects") - placed),
        // Each collection has a begin and an end.
        ("GC GC_EVENT", 2 * trace("collections")),
        ("GC GC_RESIZE", trace("heap_resizes")),
        (
            "METADATA END_UNLOAD",
            ended + OWN_THREADS + trace("classes_unloaded"),
        ),
        ("METHOD ENTER", trace("calls")),
        ("METHOD LEAVE", trace("calls") - trace("open") - exceptional),
        ("METHOD EXC_LEAVE", exceptional),
        // A method has one record for its name, and one for each compilation.
        ("METHOD JIT", trace("methods_defined") + trace("compiled")),
        ("EXCEPTION THROW_BT", thrown_placed),
        ("EXCEPTION THROW_NO_BT", trace("thrown") - thrown_placed),
        ("EXCEPTION CLAUSE", trace("caught")),
        ("HEAP HEAP_START", trace("heap_dumps")),
        ("HEAP HEAP_END", whole),
        // A record for each root.
        ("HEAP HEAP_ROOT", sum("heap", "roots")),
    ] {
        assert_eq!(theirs.take(kind), ours, "{kind}: {}", file.display());
    }
    let monitors = theirs.take("MONITOR MONITOR_BT") + theirs.take("MONITOR MONITOR_NO_BT");
    assert_eq!(monitors, if first { 0 } else { blocked + acquired });

    // An object has a record, and further ones for references that come later.
    let objects: u64 = sum("heap", "objects");
    let references: u64 = sum("heap", "references");
    let records = theirs.take("HEAP HEAP_OBJECT");
    assert!(
        (objects..=objects + references).contains(&records),
        "{records} of {objects} objects"
    );
    // Each loader is a domain, an image and an assembly. A class has a record when it is defined,
    // and another one when its loader is known. It has more if another class of the same name was
    // loaded in between. In data version 17, there is one more record for the class's objects.
    let known: u64 = trace("classes") * if first { 1 } else { 2 } + rows("threads").count() as u64;
    let loads = theirs.take("METADATA END_LOAD");
    assert!(loads > known + OWN_THREADS, "{loads} of {known}");
    assert!(theirs.records.is_empty(), "{theirs:?}");
}
