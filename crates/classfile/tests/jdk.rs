//! All classes of each installed JDK: rewritten, then verified and linked by that JDK.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::asm::{ClassAsm, CodeAsm, PUBLIC, STATIC, op};
use crate::support::{Jdk, class_files, java_sources, run};
use jtrail_classfile::{Class, Hooks, LineProbe, NoProbe, Probes, Refusal, instrument};

const HOOK: &str = "package java.lang;
public final class JtrailHook {
    public static long calls;
    public static void enter(int id) { calls++; }
    public static void leave(int id) { calls++; }
    public static void leaveByException(int id) { calls++; }
    public static void caught(int id) { calls++; }
    public static void superCall(int id) { calls++; }
    public static void superReturned(int id) { calls++; }
    public static void line(int number) { calls++; }
    public static void allocated(int site) { calls++; }
    public static void arrayAllocated(int length, int site) { calls += length < 0 ? 1L << 60 : 1; }
    public static void arrayAllocated(Object array, int length, int site) {
        calls += java.lang.reflect.Array.getLength(array) == length ? 1 : 1L << 60;
    }
    public static void constructed(Object object) { calls += object != null ? 1 : 1L << 60; }
    public static void multiAllocated(Object array, int site) { calls += array.getClass().isArray() ? 1 : 1L << 60; }
    public static void callAllocated(Object made, int site) { calls += made != null ? 1 : 1L << 60; }
}";

/// The kinds of probes, as bits.
const CALLS: u32 = 1;
const LINES: u32 = 2;
const ALLOCATIONS: u32 = 4;
/// Hooks get the arrays, and `Object`'s constructor passes all objects.
const IDENTITY: u32 = 8;

/// The results of a run over many classes.
#[derive(Default)]
struct Corpus {
    kinds: u32,
    classes: usize,
    bytes: usize,
    methods: usize,
    rewritten: usize,
    refused: Vec<String>,
    /// Methods that were reduced to the probes around calls.
    reduced: Vec<String>,
    /// The numbers of line table entries with their own probe and with a shared one; the entries
    /// without a probe.
    own: usize,
    shared: usize,
    left_out: Vec<(NoProbe, String)>,
    sites: usize,
    /// The number of classes whose handlers of `Throwable` got a separate pool entry.
    apart: usize,
    /// The names of the classes to link, one per line.
    names: String,
}

impl Corpus {
    /// Rewrites all classes below `from` into `to`.
    fn add(&mut self, from: &Path, to: &Path) {
        for file in class_files(from) {
            let path = file.strip_prefix(from).unwrap();
            if path.ends_with("module-info.class") || path.starts_with("META-INF") {
                continue;
            }
            let new = self.rewrite(&fs::read(&file).unwrap(), &path.display().to_string());
            self.write(to, path.with_extension("").to_str().unwrap(), &new);
        }
    }

    fn write(&mut self, to: &Path, name: &str, class: &[u8]) {
        let file = to.join(name).with_extension("class");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(to.join(format!("{name}.class")), class).unwrap();
        self.names += &name.replace('/', ".");
        self.names += "\n";
    }

    /// Rewrites all methods of a class for which this is possible. Also checks that without
    /// requested probes nothing changes.
    fn rewrite(&mut self, old: &[u8], path: &str) -> Vec<u8> {
        let class = Class::parse(old).unwrap_or_else(|e| panic!("{path}: {e}"));
        let apart = class.with_separate_throwable();
        // Some runs use the separate pool entry, others don't.
        if let (Some(apart), true) = (&apart, self.kinds & LINES != 0) {
            self.apart += 1;
            let class = Class::parse(apart).unwrap_or_else(|e| panic!("{path}: {e}"));
            assert_eq!(class.with_separate_throwable(), None, "{path}");
            return self.rewrite_parsed(&class, apart, path);
        }
        self.rewrite_parsed(&class, old, path)
    }

    fn rewrite_parsed(&mut self, class: &Class<'_>, old: &[u8], path: &str) -> Vec<u8> {
        let same = instrument(class, &Hooks::JTRAIL, |_, _| Probes::NONE).unwrap();
        assert!(same.bytes == old, "{path}: changed without need");
        self.classes += 1;
        self.bytes += old.len();
        self.methods += class
            .methods()
            .iter()
            .filter(|method| method.has_code())
            .count();
        let identity = self.kinds & IDENTITY != 0;
        let hooks = Hooks {
            passes_arrays: identity,
            ..Hooks::JTRAIL
        };
        let rewritten = instrument(class, &hooks, |index, method| {
            if class.name() == "java/lang/Object" && method.name() == "<init>" {
                return Probes {
                    constructed: identity,
                    ..Probes::NONE
                };
            }
            let is_intrinsic =
                method.has_annotation("Ljdk/internal/vm/annotation/IntrinsicCandidate;");
            if class.name() == "java/lang/Object" || is_intrinsic {
                return Probes::NONE;
            }
            // Numbers of all sizes.
            let first = (index as u32) << (index % 5 * 5);
            let kind = |bit| (self.kinds & bit != 0).then_some(first);
            Probes {
                calls: kind(CALLS),
                lines: kind(LINES),
                allocations: kind(ALLOCATIONS),
                ..Probes::NONE
            }
        });
        let rewritten = rewritten.unwrap();
        for (index, outcome) in &rewritten.outcomes {
            let method = &class.methods()[*index];
            let name = || format!("{path} {}{}", method.name(), method.descriptor());
            match outcome {
                Ok(inserted) => {
                    self.rewritten += 1;
                    self.sites += class.allocation_sites(method).len();
                    for (probe, entry) in inserted.lines.iter().zip(method.line_entries()) {
                        match probe {
                            LineProbe::Own(_) => self.own += 1,
                            LineProbe::Shared(_) => self.shared += 1,
                            LineProbe::NoProbe(why) => self
                                .left_out
                                .push((*why, format!("{}:{}", name(), entry.line))),
                        }
                    }
                    if let Some(refusal) = &inserted.reduced {
                        self.reduced.push(format!("{}: {refusal}", name()));
                    }
                }
                Err(Refusal::NoCode | Refusal::EmptyFinalizer) => {}
                Err(refusal) => self.refused.push(format!("{}: {refusal}", name())),
            }
        }
        let again =
            Class::parse(&rewritten.bytes).unwrap_or_else(|e| panic!("{path}, rewritten: {e}"));
        assert_eq!(again.methods().len(), class.methods().len(), "{path}");
        rewritten.bytes
    }

    /// Adds classes that must not verify, to prove that the verifiers are enabled. Returns their
    /// names.
    fn add_broken(&mut self, to: &Path) -> Vec<String> {
        let broken = [49, 61].map(|major| {
            let name = format!("java/lang/Broken{major}");
            let mut class = ClassAsm::new(major, &name, "java/lang/Object");
            let mut code = CodeAsm::new(1, 0);
            code.op(&[op::POP, op::RETURN]);
            class.method(PUBLIC | STATIC, "f", "()V", Some(code));
            self.write(to, &name, &class.finish());
            name.replace('/', ".")
        });
        broken.into()
    }

    /// Links all classes. Returns the names of those that do not verify.
    fn link(&self, jdk: &Jdk, mut java: Command, class_path: &[PathBuf]) -> Vec<String> {
        let work = tempfile::tempdir().unwrap();
        jdk.compile(&java_sources().join("Link.java"), work.path(), &[]);
        let list = work.path().join("classes.txt");
        fs::write(&list, &self.names).unwrap();
        let paths = [work.path()]
            .into_iter()
            .chain(class_path.iter().map(|path| &**path));
        let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        let out = run(java.arg("-cp").arg(paths.join(":")).arg("Link").arg(list));
        println!(
            "JDK {}: {} classes, {} bytes; {} of {} methods with code rewritten; {}",
            jdk.version,
            self.classes,
            self.bytes,
            self.rewritten,
            self.methods,
            out.lines().last().unwrap_or_default()
        );
        println!(
            "line entries: {} own probes, {} shared, {} left out; {} allocation sites",
            self.own,
            self.shared,
            self.left_out.len(),
            self.sites
        );
        println!("refused: {:#?}", self.refused);
        println!("reduced: {:#?}", self.reduced);
        println!("left out: {:#?}", &self.left_out);
        out.lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, _)| name.to_string())
            .collect()
    }
}

/// Returns a `java` command with all verification enabled.
fn java(jdk: &Jdk) -> Command {
    let mut java = jdk.tool("java");
    java.args(["-Xshare:off", "-XX:+UnlockDiagnosticVMOptions"]);
    java.args([
        "-XX:+BytecodeVerificationLocal",
        "-XX:+BytecodeVerificationRemote",
    ]);
    java
}

/// Rewrites and links all classes of all modules, with these kinds of probes.
fn link_all(jdk: &Jdk, kinds: u32) -> Corpus {
    let classes = jdk.classes();
    let patched = tempfile::tempdir().unwrap();
    let mut corpus = Corpus {
        kinds,
        ..Corpus::default()
    };
    let mut java = java(jdk);
    java.args(["--add-modules", "ALL-SYSTEM"]);
    for module in fs::read_dir(&classes)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
    {
        let to = patched.path().join(&module);
        corpus.add(&classes.join(&module), &to);
        java.arg("--patch-module")
            .arg(format!("{}={}", module.display(), to.display()));
    }
    let base = patched.path().join("java.base");
    let broken = corpus.add_broken(&base);
    jdk.compile_hook(HOOK, &base);
    assert_eq!(corpus.link(jdk, java, &[]), broken);
    assert_eq!(corpus.refused, Vec::<String>::new());
    assert!(corpus.classes > 20_000);
    corpus
}

#[test]
fn every_class_of_every_jdk_links() {
    for jdk in Jdk::few() {
        link_all(&jdk, CALLS);
    }
}

#[test]
fn every_class_of_every_jdk_links_with_all_probes() {
    for jdk in Jdk::all() {
        let corpus = link_all(&jdk, CALLS | LINES | ALLOCATIONS);
        assert!(corpus.own > 1_000_000, "{}", corpus.own);
        assert!(corpus.apart > 300, "{}", corpus.apart);
    }
}

#[test]
fn every_class_of_every_jdk_links_without_probes_around_calls() {
    for jdk in Jdk::few() {
        link_all(&jdk, LINES | ALLOCATIONS);
    }
}

#[test]
fn every_class_of_every_jdk_links_with_identity() {
    for jdk in Jdk::few() {
        link_all(&jdk, ALLOCATIONS | IDENTITY);
    }
}

/// Tests jars of old and unusual compilers, listed in `JTRAIL_TEST_JARS` (paths separated by `:`).
#[test]
fn every_class_of_given_jars_links() {
    let Some(jars) = std::env::var_os("JTRAIL_TEST_JARS") else {
        println!("JTRAIL_TEST_JARS is not set: no jars to test");
        return;
    };
    let jars: Vec<PathBuf> = std::env::split_paths(&jars).collect();
    for jdk in Jdk::all() {
        let patched = tempfile::tempdir().unwrap();
        jdk.compile_hook(HOOK, patched.path());
        let mut corpus = Corpus {
            kinds: CALLS | LINES | ALLOCATIONS,
            ..Corpus::default()
        };
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (n, jar) in jars.iter().enumerate() {
            let (from, to) = (
                patched.path().join(format!("{n}.old")),
                patched.path().join(format!("{n}.new")),
            );
            fs::create_dir_all(&from).unwrap();
            run(jdk.tool("jar").arg("xf").arg(jar).current_dir(&from));
            corpus.add(&from, &to);
            old.push(from);
            new.push(to);
        }
        let java = || {
            let mut java = java(&jdk);
            java.arg("--patch-module")
                .arg(format!("java.base={}", patched.path().display()));
            java
        };
        // In a collection of jars, some classes don't fit together.
        let wrong = corpus.link(&jdk, java(), &old);
        println!("{} do not verify as they are", wrong.len());
        assert_eq!(corpus.link(&jdk, java(), &new), wrong);
    }
}
