//! `jtrail view --html`: stand-alone pages.

use crate::common::{Folder, encode, in_time, jtrail, sample};
use jtrail_formats::Format;
use serde_json::{Value, json};
use std::fs;

/// Writes the sample as a trail, and returns the path.
fn trail(folder: &Folder) -> String {
    let bytes = encode(Format::Trail, &in_time(sample()));
    folder.put("sample.trail", &bytes)
}

/// Returns the data of a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"jtrail-data\">").expect("data");
    let (json, _) = rest.split_once("</script").expect("an end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn a_page_has_the_selected_part() {
    let folder = Folder::new();
    let trail = trail(&folder);
    let out = folder.at("part.html").display().to_string();
    let done = jtrail(&["view", &trail, "--html", &out]);
    assert_eq!((done.code, done.out.as_str()), (0, ""), "{}", done.err);
    let said = format!("jtrail: {out}: 7 calls and 0 waits of 2 threads, 12.00 ms from 0s; ");
    assert!(done.err.starts_with(&said), "{}", done.err);
    assert_eq!(done.err.lines().count(), 1);
    let whole = data(&fs::read_to_string(&out).expect("a page"));
    assert_eq!(whole["traces"][0]["info"]["title"], "sample.trail");
    // `main` and twice `fib` are open in this span.
    let args = ["--from", "0.5ms", "--until", "3.5ms", "--thread", "main"];
    let done = jtrail(&[&["view", &trail, "--html", &out], &args[..]].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    let part = data(&fs::read_to_string(&out).expect("a page"));
    let part = &part["traces"][0];
    assert_eq!(part["info"]["threads"]["name"], json!(["main"]));
    assert_eq!(part["slices"]["0"]["level"], json!([0, 1, 2]));
    let length = |ms: f64| json!((ms * 1e6) as i64);
    let lengths = json!([length(10.0), length(4.0), length(2.5)]);
    assert_eq!(part["slices"]["0"]["length"], lengths);
    // Other formats become a trail first.
    let binary = folder.sample(Format::TptpBinary);
    let page = jtrail(&[&["view", &binary, "--html", "-"], &args[..]].concat());
    assert_eq!(page.code, 0, "{}", page.err);
    assert_eq!(data(&page.out)["traces"][0]["slices"], part["slices"]);
    let done = jtrail(&["view", &trail, &binary, "--html", "-"]);
    assert_eq!(data(&done.out)["traces"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_truncated_trail_is_read_in_place() {
    let folder = Folder::new();
    let trail = fs::read(trail(&folder)).expect("a trail");
    let cut = folder.put("cut.trail", &trail[..trail.len() - 1]);
    let done = jtrail(&["view", &cut, "--html", "-"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!done.err.contains("temporary trail"), "{}", done.err);
    let info = &data(&done.out)["traces"][0]["info"];
    assert_eq!(info["calls"], 7);
    assert!(info["remarks"].to_string().contains("no end"), "{info}");
    let done = jtrail(&["index", &cut]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("only a complete trail"), "{}", done.err);
}

#[test]
fn no_page_replaces_a_trace() {
    let folder = Folder::new();
    let trail = trail(&folder);
    let before = fs::read(&trail).expect("a trail");
    let link = folder.at("link.html");
    std::os::unix::fs::symlink(&trail, &link).expect("a link");
    for out in [trail.clone(), link.display().to_string()] {
        let done = jtrail(&["view", &trail, "--html", &out]);
        assert_eq!(done.code, 2);
        assert!(
            done.err.contains("can't be read and written at once"),
            "{}",
            done.err
        );
    }
    assert_eq!(fs::read(&trail).expect("a trail"), before);
}

#[test]
fn selections_without_a_page_leave_the_file_as_it_was() {
    let folder = Folder::new();
    let trail = trail(&folder);
    let out = folder.put("old.html", b"old");
    for (args, text) in [
        (
            &["--from", "5s"][..],
            "no calls or waits; nothing is written",
        ),
        (&["--thread", "nobody"], "--thread selects no thread"),
    ] {
        let done = jtrail(&[&["view", &trail, "--html", &out], args].concat());
        assert_eq!(done.code, 2);
        assert!(done.err.contains(text), "{}", done.err);
        assert_eq!(fs::read(&out).expect("a file"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }
    for args in [&["--port", "0"][..], &["--no-browser"]] {
        let done = jtrail(&[&["view", &trail, "--html", &out], args].concat());
        assert_eq!(done.code, 2);
        assert!(done.err.contains("cannot be used with"), "{}", done.err);
    }
    let done = jtrail(&["view", &trail, "--from", "1ms"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("--html"), "{}", done.err);
}

#[test]
fn a_process_without_an_agent_has_no_trace() {
    // No process has such an id.
    let done = jtrail(&["view", "4194999", "--html", "-"]);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("no process 4194999"), "{}", done.err);
    // This process has no agent.
    let own = std::process::id().to_string();
    let done = jtrail(&["view", &own, "--html", "-"]);
    assert_eq!(done.code, 2, "{}", done.err);
    let advice = format!("jtrail attach {own} --format trail --file FILE");
    assert!(done.err.contains(&advice), "{}", done.err);
}
