//! The README's table of options against the keys that the agent knows.

use jtrail_options::KEYS;

#[test]
fn the_readme_lists_every_key_and_no_other() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).expect("README.md");
    let (_, section) = readme
        .split_once("\n## Options\n")
        .expect("a section on options");
    let (section, _) = section.split_once("\n## ").expect("a section behind it");
    let mut listed: Vec<&str> = Vec::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.split('|').nth(1).expect("a first cell");
        // Aliases stand in brackets.
        let names = cell.split('(').next().expect("a name");
        listed.extend(
            names
                .split('`')
                .filter(|name| !name.trim_matches([' ', ',']).is_empty()),
        );
    }
    let mut known: Vec<&str> = KEYS.iter().map(|k| k.key).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}
