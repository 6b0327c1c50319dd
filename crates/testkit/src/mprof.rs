//! Another reader of log profiles.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `mprof-report`, which comes with Mono.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MprofReport(PathBuf);

/// What it says where it does not understand a file.
const COMPLAINTS: [&str; 10] = [
    "unmatched",
    "unknown method",
    "unresolved class",
    "Incorrect buffer id",
    "incorrect gc gen",
    "time went backwards",
    "callee time bigger",
    "duplicate object",
    "(null)",
    "invalid",
];

impl MprofReport {
    /// The program that `JTRAIL_MPROF_REPORT` names, or else the one of the search path.
    ///
    /// Under CI (`CI=true`) it must be there. Elsewhere it is told on stderr that it is not.
    ///
    /// # Panics
    /// As told.
    pub fn find() -> Option<Self> {
        let told = env::var_os("JTRAIL_MPROF_REPORT").map(PathBuf::from);
        let path = env::var_os("PATH").unwrap_or_default();
        let mut places = env::split_paths(&path).map(|place| place.join("mprof-report"));
        let found = told.or_else(|| places.find(|place| place.is_file()));
        if found.is_none() {
            let missing =
                "no mprof-report; see scripts/get-mprof-report, and set JTRAIL_MPROF_REPORT";
            assert!(!crate::is_ci(), "{missing}");
            eprintln!("SKIPPED: {missing}");
        }
        found.map(Self)
    }

    /// Runs it over a file, with times in UTC; answers what it printed.
    ///
    /// # Panics
    /// When it fails, takes longer than a minute, or complains.
    pub fn run(&self, file: &Path, options: &[&str]) -> String {
        let output = Command::new("timeout")
            .arg("60")
            .arg(&self.0)
            .args(options)
            .arg(file)
            .env("TZ", OsStr::new("UTC"))
            .output()
            .expect("mprof-report runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{} {text}", output.status);
        for complaint in COMPLAINTS {
            assert!(!text.contains(complaint), "{complaint}: {text}");
        }
        text
    }
}
