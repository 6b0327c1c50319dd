//! The name of the trace's file.

use crate::error::quoted;
use crate::value::OutputFormat;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of a trace's file, with placeholders:
///
/// | Letters | Become |
/// |---|---|
/// | `%p` | the process id |
/// | `%t` | the start time in UTC, `20261121-095359` |
/// | `%h` | the host's name |
/// | `%%` | `%` |
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePattern(String);

/// Destination of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file.
    Path(PathBuf),
}

impl FilePattern {
    /// Reads a value of the option `file`.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the path is missing".to_owned());
        }
        if text.contains('\0') {
            return Err("a path can't hold a zero character".to_owned());
        }
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            let letter = rest[at + 1..].chars().next();
            match letter {
                Some('p' | 't' | 'h' | '%') => rest = &rest[at + 2..],
                _ => {
                    let found = quoted(&letter.map_or("%".to_owned(), |c| format!("%{c}")));
                    return Err(format!(
                        "{found} is not known; there are %p (process id), %t (time), %h (host), %% (percent sign)"
                    ));
                }
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the default name for a format, such as `trace.trcxml` or `trace.trcbin`.
    pub(crate) fn default_for(format: OutputFormat) -> Self {
        Self(format!("trace.{}", format.extension()))
    }

    /// True if the trace goes to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.0 == "-"
    }

    /// Returns the pattern as it was given.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Replaces the placeholders, and returns the destination. Characters of `host` that a file
    /// name can't contain become `_`.
    pub fn expand(&self, pid: u32, start: SystemTime, host: &str) -> Target {
        if self.is_stdout() {
            return Target::Stdout;
        }
        let mut path = String::with_capacity(self.0.len() + 16);
        let mut chars = self.0.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                path.push(c);
                continue;
            }
            match chars.next() {
                Some('p') => path.push_str(&pid.to_string()),
                Some('t') => path.push_str(&utc(start)),
                Some('h') => {
                    path.extend(host.chars().map(|c| {
                        if c.is_alphanumeric() || "-._".contains(c) {
                            c
                        } else {
                            '_'
                        }
                    }));
                }
                _ => path.push('%'),
            }
        }
        Target::Path(PathBuf::from(path))
    }
}

/// Returns a time in UTC as `YYYYMMDD-hhmmss`.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that a leap day is the last day of a year. 719 468 is the
    // number of days from 1 March of year 0 to 1970. An era is 400 years: then the calendar
    // repeats.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (h, m, s) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}-{h:02}{m:02}{s:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn path(pattern: &str) -> String {
        let pattern = FilePattern::parse(pattern).expect(pattern);
        let start = UNIX_EPOCH + Duration::from_secs(1_795_254_839);
        match pattern.expand(4711, start, "my host/1") {
            Target::Stdout => "stdout".to_owned(),
            Target::Path(path) => path.to_str().expect("UTF-8").to_owned(),
        }
    }

    #[test]
    fn letters_are_filled_in() {
        assert_eq!(path("app.trcbin"), "app.trcbin");
        assert_eq!(path("-"), "stdout");
        assert_eq!(path("./-"), "./-");
        assert_eq!(path("%h/%t-%p.%%p"), "my_host_1/20261121-095359-4711.%p");
    }

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "19700101-000000"),
            (951_782_400, "20000229-000000"),
            (951_868_799, "20000229-235959"),
            (951_868_800, "20000301-000000"),
            (4_107_542_400, "21000301-000000"),
            (1_735_689_599, "20241231-235959"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
