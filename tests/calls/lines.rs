//! Executed lines, compared with what the programs know.

use crate::support::compile::compile_without_lines;
use crate::support::truth::{everywhere, with_each_collector};
use crate::support::{VERSIONS, agent, program};
use jtrail_testkit::{Jdk, temp_dir};

#[test]
fn lines() {
    with_each_collector("harness.Lines", "+lines", &[]);
    everywhere("harness.Lines", "threads+lines");
}

/// A method without a line table has calls but no lines, even if it was never called.
#[test]
fn methods_without_lines_are_covered() {
    const SOURCE: &str = "public class Bare {
        static int twice(int x) { return 2 * x; }
        static void never() { }
        public static void main(String[] args) { for (int i = 0; i < 7; i++) twice(i); }
    }";
    let method = |name: &str, signature: &str, calls: u32| {
        format!(
            "<method name=\"{name}\" signature=\"{signature}\" firstline=\"0\" count=\"{calls}\"><footprints></footprints></method>\n"
        )
    };
    let expected = [
        "<class name=\"Bare\">\n".to_owned(),
        method("&lt;init&gt;", "()V", 0),
        method("twice", "(I)I", 7),
        method("never", "()V", 0),
        method("main", "([Ljava/lang/String;)V", 1),
        "</class>\n".to_owned(),
    ];
    let folder = temp_dir();
    compile_without_lines("Bare", SOURCE, folder.path());
    for jdk in Jdk::require(&VERSIONS) {
        let file = folder.path().join("trace.xml");
        let options = format!(
            "format=profilerj,events=+lines,include=Bare,file={}",
            file.display()
        );
        let run = program(&jdk, "Bare").class_path(folder.path());
        run.agent(agent(), options).output().assert_exit(0);
        let document = std::fs::read_to_string(&file).expect("a document");
        assert!(document.contains(&expected.concat()), "{document}");
    }
}
