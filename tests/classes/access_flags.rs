//! Access flags of classes, fields and methods, compared with reflection in the same JVM.

use crate::support::classes::Classes;
use crate::support::compile::compile;
use crate::support::{VERSIONS, agent, program};
use jtrail_testkit::{Jdk, temp_dir};
use std::collections::BTreeMap;

/// All nested classes of the program.
const NESTED: [&str; 10] = [
    "PrivateStatic",
    "ProtectedAbstract",
    "Inner",
    "Contract",
    "Label",
    "Colour",
    "Colour$1",
    "Members",
    "1",
    "1Local",
];

/// The flag ACC_SUPER, by which old JVMs distinguished two meanings of `invokespecial`. Reflection
/// does not show it.
const SUPER: u16 = 0x0020;

/// Parses lines that begin with `word`. Returns the number at each line's end, by the text before
/// it.
fn printed(output: &str, word: &str) -> BTreeMap<String, u16> {
    let entry = |line: &str| {
        let (key, flags) = line.strip_prefix(word)?.trim_start().rsplit_once(' ')?;
        Some((key.to_owned(), flags.parse().expect("a number")))
    };
    output.lines().filter_map(entry).collect()
}

#[test]
fn flags_are_those_of_reflection() {
    let folder = temp_dir();
    compile("Flags", include_str!("Flags.java"), folder.path());
    for jdk in Jdk::require(&VERSIONS) {
        let file = folder.path().join("trace");
        let options = format!("format=binary,events=details,file={}", file.display());
        let run = program(&jdk, "Flags").class_path(folder.path());
        let run = NESTED.iter().fold(run, |run, name| run.arg(*name));
        let output = run.agent(agent(), options).output();
        output.assert_exit(0);
        let what = format!("JDK {}\n{output}", jdk.feature);

        let trace = Classes::read(&file);
        let (mut classes, mut members) = (BTreeMap::new(), BTreeMap::new());
        let reported = printed(&output.stdout, "CLASS");
        for name in reported.keys() {
            let [detail] = trace.named(name)[..] else {
                panic!("not once: {name}, {what}");
            };
            classes.insert(name.clone(), detail.access & !SUPER);
            let initializer = |name: &str| name == "<clinit>"; // reflection shows none
            let all = detail.fields.iter().chain(&detail.methods);
            for member in all.filter(|m| name.starts_with("Flags") && !initializer(&m.name)) {
                let key = format!("{name} {} {}", member.name, member.signature);
                members.insert(key, member.access);
            }
        }
        assert_eq!(classes, reported, "{what}");
        assert_eq!(members, printed(&output.stdout, "MEMBER"), "{what}");
        assert!(
            reported.len() > NESTED.len() && members.len() > 30,
            "{what}"
        );
    }
}
