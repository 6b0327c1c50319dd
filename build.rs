//! Compiles the Java sides with the `javac` that it finds: the hook class, which the agent carries
//! inside, and the harness, which the tests run. At run time the agent needs nothing but itself.
//!
//! Two things are generated: the hook class's methods that stop at the gate ([`with_gated_twins`]),
//! and Rust constants from those of the Java sources ([`constants`]), which the agent compares with
//! its own.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HOOK: &str = "agent/src/java/java/lang/JtrailHook.java";
const BINDER: &str = "agent/src/java/jtrail/Binder.java";
/// What the hook class is compiled against and no class file of the agent needs.
const STUBS: &str = "agent/src/java/stubs";
const HARNESS: &str = "java-harness";
/// What programs may have with them, to command the agent.
const API: &str = "java-api";
const TRACE: &str = "java-api/jtrail/Trace.java";
/// Releases of the harness's source sets: each in a folder `srcN`, compiled for JDK N.
const RELEASES: [u32; 3] = [11, 17, 21];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    env::set_current_dir(&root).expect("the agent's folder is in the project's");
    for path in [HOOK, BINDER, STUBS, HARNESS, API] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let javac = Javac::find();

    let hook = out.join("hook");
    let hook_source = out.join("JtrailHook.java");
    write(&hook_source, &with_gated_twins(&read(HOOK)));
    // Release 8 has no modules, so the compiler lets us add to java.lang.
    let mut sources = java_files(Path::new(STUBS));
    sources.extend([hook_source, PathBuf::from(BINDER)]);
    javac.compile(8, &hook, &sources, &[]);
    for (key, class) in [
        ("JTRAIL_HOOK_CLASS", "java/lang/JtrailHook.class"),
        ("JTRAIL_BINDER_CLASS", "jtrail/Binder.class"),
    ] {
        println!("cargo::rustc-env={key}={}", hook.join(class).display());
    }
    write(&out.join("hook_constants.rs"), &constants(&read(HOOK)));
    write(&out.join("trace_constants.rs"), &constants(&read(TRACE)));

    // Beside the programs, so that people and scripts find them: `target/<profile>/harness` and
    // `jtrail-api.jar`.
    let profile = out
        .ancestors()
        .nth(3)
        .expect("OUT_DIR is four levels below the target folder");
    let api = out.join("api");
    javac.compile(8, &api, &java_files(Path::new(API)), &[]);
    let jar = profile.join("jtrail-api.jar");
    javac.jar(&jar, &Path::new(API).join("MANIFEST.MF"), &api);
    println!("cargo::rustc-env=JTRAIL_API={}", jar.display());
    let harness = profile.join("harness");
    let mut earlier: Vec<PathBuf> = vec![jar];
    for release in RELEASES.into_iter().filter(|r| *r <= javac.version) {
        let sources = java_files(&Path::new(HARNESS).join(format!("src{release}")));
        let classes = harness.join(release.to_string());
        let _ = fs::remove_dir_all(&classes); // classes whose source is gone
        fs::create_dir_all(&classes).expect("the output folder can be written");
        if !sources.is_empty() {
            javac.compile(release, &classes, &sources, &earlier);
        }
        earlier.push(classes);
    }
    println!("cargo::rustc-env=JTRAIL_HARNESS={}", harness.display());
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The numbers among the `static final` fields of a Java source, as constants of Rust. Java and
/// Rust spell such numbers alike.
fn constants(java: &str) -> String {
    let constant = |line: &str| {
        let field = line.trim().strip_prefix("private static final ")?;
        let (declared, value) = field.strip_suffix(';')?.split_once(" = ")?;
        let (kind, name) = match declared.split_once(' ')? {
            ("int", name) => ("i32", name),
            ("long", name) => ("i64", name),
            _ => return None,
        };
        let is_number = value.starts_with(|c: char| c.is_ascii_digit());
        is_number.then(|| format!("pub(crate) const {name}: {kind} = {value};\n"))
    };
    java.lines().filter_map(constant).collect()
}

/// The hook class's source, with a twin of each method that is marked `@Gated`. The twin of `enter`
/// is `burstEnter`: it does nothing while the gate is closed, and otherwise calls `enter`, or
/// `tickEnter` where there is one and the coarse clock is in use.
fn with_gated_twins(hook: &str) -> String {
    let (class, end) = hook.rsplit_once('}').expect("a class");
    let declarations = hook.split("@Gated\n").skip(1);
    let twins = declarations.map(|rest| gated_twin(hook, rest).expect("a method of one line"));
    class.to_owned() + &twins.collect::<String>() + "}" + end
}

fn gated_twin(hook: &str, declaration: &str) -> Option<String> {
    let (signature, _) = declaration.split_once(')')?;
    let (head, parameters) = signature.split_once('(')?;
    let (_, name) = head.rsplit_once(' ')?;
    let names = parameters.split(", ").filter_map(|p| p.split(' ').nth(1));
    let arguments = names.collect::<Vec<_>>().join(", ");
    let capitalized = name[..1].to_uppercase() + &name[1..];
    let ticking = format!("tick{capitalized}(");
    let choice = match hook.contains(&format!("void {ticking}")) {
        true => format!("if (ticks != 0) {ticking}{arguments}); else "),
        false => String::new(),
    };
    Some(format!(
        "
    public static void burst{capitalized}({parameters}) {{
        if (isOpen()) {{
            {choice}{name}({arguments});
        }}
    }}
"
    ))
}

struct Javac {
    path: PathBuf,
    version: u32,
}

impl Javac {
    /// The newest that `JAVA_HOME`, `JAVA_HOME_*`, the system's JVM folder and `PATH` have.
    fn find() -> Self {
        let homes = env::vars_os()
            .filter(|(key, _)| {
                key == "JAVA_HOME" || key.to_string_lossy().starts_with("JAVA_HOME_")
            })
            .map(|(_, home)| PathBuf::from(home));
        let system = fs::read_dir("/usr/lib/jvm")
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path());
        let programs = homes
            .chain(system)
            .map(|home| home.join("bin/javac"))
            .filter(|p| p.exists());
        programs
            .chain([PathBuf::from("javac")])
            .filter_map(|path| {
                Some(Self {
                    version: version_of(&path)?,
                    path,
                })
            })
            .max_by_key(|javac| javac.version)
            .filter(|javac| javac.version >= 11)
            .unwrap_or_else(|| {
                eprintln!("jtrail is built with the help of a Java compiler, and none was found.");
                eprintln!("Install a JDK (11 or later), or let JAVA_HOME name one.");
                std::process::exit(1);
            })
    }

    fn compile(&self, release: u32, out: &Path, sources: &[PathBuf], class_path: &[PathBuf]) {
        let mut command = Command::new(&self.path);
        command.args(["-nowarn", "-Xlint:-options", "-g", "-encoding", "UTF-8"]);
        command
            .arg("--release")
            .arg(release.to_string())
            .arg("-d")
            .arg(out);
        if !class_path.is_empty() {
            command
                .arg("-cp")
                .arg(env::join_paths(class_path).expect("no separator in the paths"));
        }
        let output = command.args(sources).output().expect("javac ran before");
        if !output.status.success() {
            eprintln!(
                "{} failed:\n{}",
                self.path.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            std::process::exit(1);
        }
    }
}

impl Javac {
    /// Puts all classes of a folder into a jar.
    fn jar(&self, jar: &Path, manifest: &Path, classes: &Path) {
        // The compiler's neighbour, or the one of the path.
        let output = Command::new(self.path.with_file_name("jar"))
            .arg("--create")
            .arg("--file")
            .arg(jar)
            .arg("--manifest")
            .arg(manifest)
            .arg("-C")
            .args([classes, Path::new(".")])
            .output();
        let output = output.expect("a JDK has jar beside javac");
        if !output.status.success() {
            eprintln!("jar failed:\n{}", String::from_utf8_lossy(&output.stderr));
            std::process::exit(1);
        }
    }
}

/// The feature version, from lines like `javac 17.0.15` and `javac 25-ea`.
fn version_of(javac: &Path) -> Option<u32> {
    let output = Command::new(javac).arg("-version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    let number = text
        .split_whitespace()
        .skip_while(|word| *word != "javac")
        .nth(1)?;
    let mut parts = number.split(['.', '-', '+']);
    match parts.next()?.parse().ok()? {
        1 => parts.next()?.parse().ok(), // 1.8.0
        version => Some(version),
    }
}

fn java_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(java_files(&path));
        } else if path.extension() == Some(OsStr::new("java")) {
            found.push(path);
        }
    }
    found.sort();
    found
}
