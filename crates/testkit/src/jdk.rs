//! The JVMs on this machine.
//!
//! JVMs are searched in `JAVA_HOME`, in each `JAVA_HOME_…`, in the folders listed in
//! `JTRAIL_TEST_JDKS`, and in the system's folder of JVMs. A folder in `JTRAIL_TEST_JDKS` is a JVM
//! or contains JVMs. A JVM that is found twice counts once.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::{env, fs};

/// The oldest feature version that the agent supports; older JVMs are ignored.
pub const OLDEST: u32 = 11;

/// The usual folders of JVMs on Linux and macOS.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/lib/jvm", "/Library/Java/JavaVirtualMachines"];

/// A Java runtime or development kit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jdk {
    /// The JDK's folder, with symbolic links resolved.
    pub home: PathBuf,
    /// The feature version: 11, 17, 21 …
    pub feature: u32,
    /// The program `java`.
    pub java: PathBuf,
    /// The compiler `javac`, if there is one.
    pub javac: Option<PathBuf>,
}

/// The reason why a folder is not a usable JVM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JdkError {
    /// The folder has no `bin/java`.
    NoJava(PathBuf),
    /// Neither the `release` file nor the output of `java` has a version.
    NoVersion(PathBuf),
}

impl fmt::Display for JdkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoJava(home) => write!(f, "{}: no bin/java", home.display()),
            Self::NoVersion(home) => write!(f, "{}: unknown Java version", home.display()),
        }
    }
}

impl std::error::Error for JdkError {}

static ALL: LazyLock<Vec<Jdk>> = LazyLock::new(|| find(env::vars_os(), &SYSTEM_FOLDERS));

impl Jdk {
    /// Returns every JVM on this machine from version [`OLDEST`] on, ordered by version.
    ///
    /// # Panics
    /// If there is no JVM, or if an environment variable names something that is not a JVM.
    pub fn all() -> Vec<Self> {
        assert!(
            !ALL.is_empty(),
            "no JVM found (version {OLDEST} or later): set JAVA_HOME, or name some in \
             JTRAIL_TEST_JDKS (scripts/get-jdks fetches two)"
        );
        ALL.clone()
    }

    /// Returns the first JVM of each of these versions.
    ///
    /// A missing version fails the test under CI (`CI=true`). Elsewhere, a message is printed to
    /// stderr, and the test continues with the others.
    ///
    /// # Panics
    /// If a version is missing under CI, or all are missing.
    pub fn require(features: &[u32]) -> Vec<Self> {
        choose(&Self::all(), features, crate::is_ci()).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Returns the newest JVM.
    ///
    /// # Panics
    /// If there is no JVM, like [`Jdk::all`].
    pub fn newest() -> Self {
        Self::all().pop().expect("all() is never empty")
    }

    /// Returns the JVM in the folder `home`.
    ///
    /// # Errors
    /// If the folder is not a JVM, or its version can't be determined.
    pub fn at(home: impl AsRef<Path>) -> Result<Self, JdkError> {
        let home = home.as_ref();
        let java = program(home, "java").ok_or_else(|| JdkError::NoJava(home.to_owned()))?;
        let feature = fs::read_to_string(home.join("release"))
            .ok()
            .and_then(|text| feature_of_release(&text))
            .or_else(|| ask_feature(&java))
            .ok_or_else(|| JdkError::NoVersion(home.to_owned()))?;
        Ok(Self {
            javac: program(home, "javac"),
            home: home.to_owned(),
            feature,
            java,
        })
    }

    /// Returns the path of the library's source, if it is installed.
    pub fn src_zip(&self) -> Option<PathBuf> {
        let path = self.home.join("lib/src.zip");
        // On some systems, the file is a dangling link into a package that is not installed.
        path.is_file().then_some(path)
    }
}

impl fmt::Display for Jdk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Java {} ({})", self.feature, self.home.display())
    }
}

fn program(home: &Path, name: &str) -> Option<PathBuf> {
    let path = home
        .join("bin")
        .join(format!("{name}{}", env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

/// Finds the JVMs that `variables` and `folders` name.
fn find(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    folders: &[impl AsRef<Path>],
) -> Vec<Jdk> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut take = |home: &Path, named_by: Option<&OsStr>| {
        let Ok(real) = fs::canonicalize(home) else {
            if let Some(variable) = named_by {
                panic!("{} = {}: not found", variable.display(), home.display());
            }
            return;
        };
        if !seen.insert(real.clone()) {
            return;
        }
        match (Jdk::at(&real), named_by) {
            (Ok(jdk), _) if jdk.feature >= OLDEST => found.push(jdk),
            (Ok(_), _) | (Err(JdkError::NoJava(_)), None) => {}
            (Err(e), None) => eprintln!("jtrail-testkit: skipped: {e}"),
            (Err(e), Some(variable)) => panic!("{}: {e}", variable.display()),
        }
    };

    let mut variables: Vec<_> = variables.into_iter().filter(|v| !v.1.is_empty()).collect();
    variables.sort();
    for (name, value) in &variables {
        if name == "JAVA_HOME" || name.as_encoded_bytes().starts_with(b"JAVA_HOME_") {
            take(Path::new(value), Some(name));
        } else if name == "JTRAIL_TEST_JDKS" {
            for path in env::split_paths(value).filter(|p| !p.as_os_str().is_empty()) {
                if program(&path, "java").is_some() {
                    take(&path, Some(name));
                    continue;
                }
                let inside = homes_in(&path);
                assert!(
                    !inside.is_empty(),
                    "JTRAIL_TEST_JDKS: {}: neither a JVM nor a folder of JVMs",
                    path.display()
                );
                inside.iter().for_each(|home| take(home, Some(name)));
            }
        }
    }
    for folder in folders {
        homes_in(folder.as_ref())
            .iter()
            .for_each(|home| take(home, None));
    }
    found.sort_by(|a, b| (a.feature, &a.home).cmp(&(b.feature, &b.home)));
    found
}

/// Returns the JVMs in `folder`, in the layout of any system.
fn homes_in(folder: &Path) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(|entry| [entry.path(), entry.path().join("Contents/Home")])
        .filter(|home| program(home, "java").is_some())
        .collect();
    homes.sort();
    homes
}

/// Returns the first JVM of each version in `features`. An error lists the versions that `all`
/// lacks.
fn choose(all: &[Jdk], features: &[u32], strict: bool) -> Result<Vec<Jdk>, String> {
    let mut chosen = Vec::new();
    let mut missing = Vec::new();
    for feature in features {
        match all.iter().find(|jdk| jdk.feature == *feature) {
            Some(jdk) => chosen.push(jdk.clone()),
            None => missing.push(*feature),
        }
    }
    let have: Vec<String> = all.iter().map(Jdk::to_string).collect();
    let lacking = format!(
        "NO JVM of version {missing:?} here; found: {}",
        have.join(", ")
    );
    if chosen.is_empty() || (strict && !missing.is_empty()) {
        return Err(lacking);
    }
    if !missing.is_empty() {
        eprintln!("jtrail-testkit: NOT TESTED THERE: {lacking}");
    }
    Ok(chosen)
}

/// Parses the version in a `release` file.
fn feature_of_release(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|l| l.strip_prefix("JAVA_VERSION="))?;
    feature_of_version(line.trim().trim_matches('"'))
}

/// Parses a feature version: `17.0.15` is 17, `1.8.0_412` is 8, `26-ea` is 26.
fn feature_of_version(version: &str) -> Option<u32> {
    let version = version.strip_prefix("1.").unwrap_or(version);
    let end = version
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(version.len());
    version[..end].parse().ok()
}

/// Runs `java` to determine its version.
fn ask_feature(java: &Path) -> Option<u32> {
    let output = Command::new(java)
        .args(["-XshowSettings:properties", "-version"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines()
        .find_map(|l| l.trim().strip_prefix("java.specification.version = "))
        .and_then(feature_of_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder that looks like a JVM.
    fn fake(home: &Path, version: &str) -> PathBuf {
        fs::create_dir_all(home.join("bin")).unwrap();
        let java = format!("bin/java{}", env::consts::EXE_SUFFIX);
        fs::write(home.join(java), b"").unwrap();
        fs::write(
            home.join("release"),
            format!("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"{version}\"\n"),
        )
        .unwrap();
        home.to_owned()
    }

    fn variable(name: &str, value: impl Into<OsString>) -> (OsString, OsString) {
        (name.into(), value.into())
    }

    #[test]
    fn versions() {
        for (text, feature) in [
            ("17.0.15", Some(17)),
            ("1.8.0_412", Some(8)),
            ("26-ea", Some(26)),
            ("11", Some(11)),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(feature_of_version(text), feature, "{text}");
        }
        assert_eq!(
            feature_of_release("A=1\nJAVA_VERSION=\"21.0.4\"\r\n"),
            Some(21)
        );
        assert_eq!(feature_of_release("JAVA_RUNTIME_VERSION=\"21\""), None);
    }

    #[test]
    fn everything_that_is_named_is_found_once() {
        let dir = crate::temp_dir();
        let root = fs::canonicalize(dir.path()).unwrap();
        let system = root.join("jvm");
        let a = fake(&system.join("a"), "17.0.1");
        let b = fake(&root.join("b"), "11.0.1");
        let c = fake(&root.join("more/c"), "25");
        let mac = fake(&root.join("more/d.jdk/Contents/Home"), "21.0.2");
        fake(&system.join("old"), "1.8.0_1");
        fs::create_dir_all(system.join("sources-only")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&a, system.join("default")).unwrap();
        let found = find(
            [
                variable("JAVA_HOME", &a),
                variable("JAVA_HOME_11_X64", &b),
                variable("JAVA_HOMER", "/nonexistent"),
                variable("JAVA_HOME_99", ""),
                variable(
                    "JTRAIL_TEST_JDKS",
                    env::join_paths([root.join("more"), b.clone()]).unwrap(),
                ),
            ],
            &[system],
        );
        let homes: Vec<_> = found.iter().map(|j| (j.feature, j.home.clone())).collect();
        assert_eq!(homes, [(11, b), (17, a), (21, mac), (25, c)]);
        assert_eq!(found[0].javac, None);
    }

    #[test]
    #[should_panic(expected = "JAVA_HOME = /nonexistent/jdk: not found")]
    fn named_and_missing_is_a_failure() {
        find(
            [variable("JAVA_HOME", "/nonexistent/jdk")],
            &["/nonexistent"],
        );
    }

    #[test]
    #[should_panic(expected = "neither a JVM nor a folder of JVMs")]
    fn named_folder_without_jvm_is_a_failure() {
        let dir = crate::temp_dir();
        find(
            [variable("JTRAIL_TEST_JDKS", dir.path())],
            &["/nonexistent"],
        );
    }

    #[test]
    fn a_missing_version_fails_where_strict() {
        let jdk = |feature| Jdk {
            home: PathBuf::from(format!("/jdk-{feature}")),
            feature,
            java: PathBuf::new(),
            javac: None,
        };
        let all = [jdk(17), jdk(25)];
        let chosen = choose(&all, &[25, 17], true).unwrap();
        assert_eq!(chosen, [jdk(25), jdk(17)]);
        assert_eq!(choose(&all, &[11, 17], false).unwrap(), [jdk(17)]);
        let why = choose(&all, &[11, 17], true).unwrap_err();
        assert!(why.contains("[11]") && why.contains("/jdk-25"), "{why}");
        assert!(choose(&all, &[11], false).is_err(), "nothing left to test");
    }

    #[test]
    fn the_machine_has_one_with_a_version() {
        let jdk = Jdk::newest();
        assert_eq!(ask_feature(&jdk.java), Some(jdk.feature), "{jdk}");
    }
}
