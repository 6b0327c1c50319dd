//! The compiled programs of `java-harness/`.

use crate::Jdk;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of the compiled harness. It has one folder per release: `11`, `17`, `21`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Harness {
    root: PathBuf,
}

impl Harness {
    /// Uses the harness in `root`, which the build script of the root package names.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder of the compiled harness.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the compiled releases that a JVM of version `feature` can run, ascending.
    pub fn releases(&self, feature: u32) -> Vec<u32> {
        let mut releases: Vec<u32> = std::fs::read_dir(&self.root)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|release| *release <= feature)
            .collect();
        releases.sort_unstable();
        releases
    }

    /// Returns the class path for `jdk`: the folders of all releases that it can run.
    ///
    /// # Panics
    /// If there is no folder: the harness was not compiled, or `root` is wrong.
    pub fn class_path(&self, jdk: &Jdk) -> OsString {
        let releases = self.releases(jdk.feature);
        assert!(
            !releases.is_empty(),
            "no harness classes for Java {} in {}",
            jdk.feature,
            self.root.display()
        );
        let folders = releases.iter().map(|r| self.root.join(r.to_string()));
        env::join_paths(folders).expect("no path separator in the name of the harness folder")
    }

    /// Returns true if `jdk` can load the class `name` (with dots between packages).
    ///
    /// If no release of the harness has the class, the name is misspelled, or the `javac` that
    /// compiled the harness was too old for the class. This fails the test under CI (`CI=true`).
    /// Elsewhere, it prints a message to stderr.
    ///
    /// # Panics
    /// If no release has the class, under CI.
    pub fn has(&self, jdk: &Jdk, name: &str) -> bool {
        let file = format!("{}.class", name.replace('.', "/"));
        let has = |release: &u32| self.root.join(release.to_string()).join(&file).is_file();
        let Some(first) = self.releases(u32::MAX).into_iter().find(has) else {
            assert!(!crate::is_ci(), "no {name} in the harness");
            eprintln!("SKIPPED: no {name} in the harness");
            return false;
        };
        first <= jdk.feature
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn class_path_has_the_sets_that_the_jvm_can_load() {
        let dir = crate::temp_dir();
        for release in ["11", "17", "21", "tmp"] {
            fs::create_dir_all(dir.path().join(release).join("harness")).unwrap();
        }
        fs::write(dir.path().join("17/harness/Records.class"), b"").unwrap();
        let harness = Harness::new(dir.path());
        let jdk = |feature| Jdk {
            home: PathBuf::new(),
            feature,
            java: PathBuf::new(),
            javac: None,
        };
        assert_eq!(harness.releases(10), []);
        assert_eq!(harness.releases(11), [11]);
        assert_eq!(harness.releases(25), [11, 17, 21]);
        let path = harness.class_path(&jdk(17));
        let folders: Vec<_> = env::split_paths(&path).collect();
        assert_eq!(folders, [dir.path().join("11"), dir.path().join("17")]);
        assert!(harness.has(&jdk(17), "harness.Records"));
        assert!(!harness.has(&jdk(11), "harness.Records"));
    }

    #[test]
    #[should_panic(expected = "no harness classes for Java 17")]
    fn missing_harness_is_a_failure() {
        Harness::new("/nonexistent").class_path(&Jdk {
            home: PathBuf::new(),
            feature: 17,
            java: PathBuf::new(),
            javac: None,
        });
    }
}
