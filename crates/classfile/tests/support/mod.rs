//! Shared code of the tests: finding JDKs, compiling and running Java, reading the JDK's own
//! classes.

#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod asm;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jtrail_classfile::{Class, Hooks, LargeNumbers, Probes, Refusal, instrument};

/// An installed JDK.
#[derive(Clone, Debug)]
pub struct Jdk {
    pub home: PathBuf,
    pub version: String,
}

impl Jdk {
    /// Returns the JDKs of `JAVA_HOME`, `JAVA_HOME_*` and the usual folder, each once. Panics if
    /// there are none.
    pub fn all() -> Vec<Jdk> {
        let of_environment = std::env::vars_os()
            .filter(|(name, _)| name.to_string_lossy().starts_with("JAVA_HOME"))
            .map(|(_, home)| PathBuf::from(home));
        let installed = fs::read_dir("/usr/lib/jvm")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let mut found = BTreeMap::new();
        for home in of_environment
            .chain(installed)
            .filter_map(|home| home.canonicalize().ok())
        {
            let tools = ["javac", "java", "jimage"]
                .iter()
                .all(|tool| home.join("bin").join(tool).exists());
            let Ok(release) = fs::read_to_string(home.join("release")) else {
                continue;
            };
            let version = release
                .lines()
                .find_map(|line| line.strip_prefix("JAVA_VERSION="));
            if let (true, Some(version)) = (tools, version) {
                let version = version.trim_matches('"').to_string();
                found
                    .entry(version.clone())
                    .or_insert(Jdk { home, version });
            }
        }
        assert!(!found.is_empty(), "these tests need a JDK: set JAVA_HOME");
        found.into_values().collect()
    }

    /// Returns the JDKs for long tests: the newest one, or all if the variable `JTRAIL_THOROUGH` is
    /// set (`scripts/nightly` sets it).
    pub fn few() -> Vec<Jdk> {
        match std::env::var_os("JTRAIL_THOROUGH") {
            Some(_) => Jdk::all(),
            None => vec![Jdk::newest()],
        }
    }

    /// Returns the newest JDK.
    pub fn newest() -> Jdk {
        let all = Jdk::all();
        all.into_iter().max_by_key(Jdk::feature).unwrap()
    }

    /// Returns the feature version: 17 for `17.0.15`.
    pub fn feature(&self) -> u32 {
        self.version.split('.').next().unwrap().parse().unwrap()
    }

    pub fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.home.join("bin").join(name));
        command
            .env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("JDK_JAVA_OPTIONS");
        command
    }

    /// Returns a folder for this JDK below the build's folder for tests; it is kept between runs.
    pub fn cache(&self) -> PathBuf {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("jdk-{}", self.version));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Returns the folder with all classes of the JDK, which has a folder per module. Unpacks them
    /// once.
    pub fn classes(&self) -> PathBuf {
        let dir = self.cache().join("classes");
        if !dir.exists() {
            // Other tests may unpack at the same time: the first rename wins.
            let mine = tempfile::tempdir_in(self.cache()).unwrap();
            let unpacked = mine.path().join("classes");
            let modules = self.home.join("lib/modules");
            run(self
                .tool("jimage")
                .arg("extract")
                .arg("--dir")
                .arg(&unpacked)
                .arg(modules));
            if fs::rename(&unpacked, &dir).is_err() {
                assert!(dir.exists());
            }
        }
        dir
    }

    /// Compiles `JtrailHook` from a source text into `dir`, as a part of `java.base`.
    pub fn compile_hook(&self, source: &str, dir: &Path) {
        let sources = tempfile::tempdir().unwrap();
        let file = sources.path().join("java/lang/JtrailHook.java");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, source).unwrap();
        let patch = format!("java.base={}", sources.path().display());
        run(self
            .tool("javac")
            .arg("--patch-module")
            .arg(patch)
            .arg("-d")
            .arg(dir)
            .arg(file));
    }

    /// Compiles a source file into `dir`.
    pub fn compile(&self, source: &Path, dir: &Path, options: &[&str]) {
        run(self
            .tool("javac")
            .args(options)
            .arg("-d")
            .arg(dir)
            .arg(source));
    }
}

/// Returns the folder with the Java sources of these tests.
pub fn java_sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java")
}

/// Runs a command to its end and returns its standard output. Panics with all output if it fails.
pub fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}\n{err}",
        output.status
    );
    out.into_owned()
}

/// Returns all class files below a folder, sorted.
pub fn class_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|ext| ext == "class") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The hooks of `Recorder.java`.
pub const RECORDER: Hooks<'static> = Hooks {
    class: "Recorder",
    ..Hooks::JTRAIL
};

/// The probes that the methods of a [`Program`] get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinds {
    Calls,
    All,
    /// Lines and allocations only: no events are recorded.
    NoCalls,
}

/// A folder of classes whose calls are recorded.
pub struct Program {
    pub dir: tempfile::TempDir,
    /// The name of each method with an id, shown instead of the id.
    names: Vec<String>,
    /// Methods that were not rewritten, with the reasons.
    pub refused: Vec<String>,
    /// The first id.
    first_id: u32,
    kinds: Kinds,
    large_numbers: LargeNumbers,
}

impl Program {
    /// Creates a folder with `Recorder` and `Driver`.
    pub fn new(jdk: &Jdk, first_id: u32) -> Program {
        let dir = tempfile::tempdir().unwrap();
        for source in ["Recorder.java", "Driver.java"] {
            jdk.compile(
                &java_sources().join(source),
                dir.path(),
                &["-cp", dir.path().to_str().unwrap()],
            );
        }
        Program {
            dir,
            names: Vec::new(),
            refused: Vec::new(),
            first_id,
            kinds: Kinds::Calls,
            large_numbers: LargeNumbers::Constant,
        }
    }

    /// Makes probes compute large ids from now on.
    pub fn computed(mut self) -> Program {
        self.large_numbers = LargeNumbers::Computed;
        self
    }

    /// Sets the probes that methods get from now on.
    pub fn with(mut self, kinds: Kinds) -> Program {
        self.kinds = kinds;
        self
    }

    /// Compiles a Java source and adds all its classes. `change` may modify each class before it is
    /// rewritten.
    pub fn add_source(
        &mut self,
        jdk: &Jdk,
        source: &str,
        options: &[&str],
        change: impl Fn(&mut Vec<u8>),
    ) {
        let classes = tempfile::tempdir().unwrap();
        let path = [classes.path(), self.dir.path()]
            .map(|p| p.display().to_string())
            .join(":");
        let options = [options, &["-cp", &path]].concat();
        jdk.compile(&java_sources().join(source), classes.path(), &options);
        for file in class_files(classes.path()) {
            let mut bytes = fs::read(file).unwrap();
            change(&mut bytes);
            self.add(&bytes);
        }
    }

    /// Rewrites all methods of a class and adds it. Returns for each method the reason why it was
    /// not rewritten, if any.
    pub fn add(&mut self, bytes: &[u8]) -> Vec<Option<Refusal>> {
        let class = Class::parse(bytes).unwrap();
        let simple = class.name().rsplit(['/', '$']).next().unwrap().to_string();
        let hooks = Hooks {
            large_numbers: self.large_numbers,
            ..RECORDER
        };
        let rewritten = instrument(&class, &hooks, |_, method| {
            let (name, descriptor) = (method.name(), method.descriptor());
            self.names.push(match &*name {
                "<init>" => format!("{simple}{}", descriptor.trim_end_matches('V')),
                name => name.to_string(),
            });
            let id = self.first_id + self.names.len() as u32 - 1;
            let others = (self.kinds != Kinds::Calls).then_some(id * 100);
            Probes {
                calls: (self.kinds != Kinds::NoCalls).then_some(id),
                lines: others,
                allocations: others,
                ..Probes::NONE
            }
        });
        let rewritten = rewritten.unwrap();
        let mut refusals = Vec::new();
        for (index, outcome) in rewritten.outcomes {
            if let Err(refusal) = &outcome {
                self.refused.push(format!(
                    "{simple}.{}: {refusal}",
                    class.methods()[index].name()
                ));
            }
            refusals.push(outcome.err());
        }
        let file = self.dir.path().join(&*class.name()).with_extension("class");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, rewritten.bytes).unwrap();
        refusals
    }

    /// Calls methods (`Class.method`) in one JVM. Returns for each a line
    /// `Class.method = result | events`, with names instead of ids.
    pub fn call(&self, jdk: &Jdk, methods: &[&str]) -> Vec<String> {
        let mut java = jdk.tool("java");
        java.args(["-Xss512k", "-XX:-OmitStackTraceInFastThrow", "-cp"])
            .arg(self.dir.path());
        let out = run(java.arg("Driver").args(methods));
        out.lines().map(|line| self.name_ids(line)).collect()
    }

    fn name_ids(&self, line: &str) -> String {
        let Some((call, events)) = line.split_once(" | ") else {
            return line.to_string();
        };
        let named = events.split_whitespace().map(|event| {
            let (kind, id) = event.split_at(1);
            let id: u32 = id.parse().unwrap();
            format!("{kind}{}", self.names[(id - self.first_id) as usize])
        });
        format!("{call} | {}", named.collect::<Vec<_>>().join(" "))
    }
}
