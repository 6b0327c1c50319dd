//! `scripts/trail_dump` reads trails by the specification alone, and agrees with `jtrail dump`.

use crate::common::{Folder, in_time, jtrail, sample};
use jtrail_formats::Format;
use std::path::Path;
use std::process::Command;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Checks that script and command line agree on calls and threads.
fn assert_same(file: &str) -> usize {
    let output = Command::new("python3")
        .arg(root().join("scripts/trail_dump"))
        .arg(file)
        .output()
        .expect("python3 runs");
    assert!(output.status.success(), "{output:?}");
    let reported = String::from_utf8(output.stdout).expect("UTF-8");
    let dump = jtrail(&["dump", file]).out;
    let is_reported = |line: &&str| {
        let event = line.split(' ').nth(2).expect("an event");
        ["enter", "leave", "thread-start", "thread-end"].contains(&event)
    };
    let expected: Vec<&str> = dump.lines().filter(is_reported).collect();
    assert_eq!(reported.lines().collect::<Vec<_>>(), expected);
    expected.len()
}

#[test]
fn a_reader_by_the_specification_says_the_same() {
    for (version, least) in [(1, 5), (2, 300)] {
        let golden = format!("crates/formats/tests/trail/version-{version}.trail");
        assert!(assert_same(root().join(golden).to_str().expect("UTF-8")) >= least);
    }
    let folder = Folder::new();
    let small = folder.put(
        "small",
        &crate::common::encode(Format::Trail, &in_time(sample())),
    );
    assert!(assert_same(&small) > 10);
    let rich = in_time(crate::common::rich::rich());
    let file = folder.put("rich", &crate::common::encode(Format::Trail, &rich));
    assert!(assert_same(&file) > 0);
    let mut many = in_time(sample());
    let closing = many.split_off(many.len() - 4);
    for n in 0..150_000 {
        let ticket = 100 + n as u32;
        many.push(crate::common::enter(2, 20_000_000 + n * 700, 5, ticket, 2));
        many.push(crate::common::leave(2, 20_000_300 + n * 700, 5, ticket));
    }
    many.extend(closing);
    let file = folder.put("many", &crate::common::encode(Format::Trail, &many));
    assert!(assert_same(&file) > 300_000);
}
