//! The call counts that a harness program reports about itself.
//!
//! A program prints, among other output, lines of these forms (`java-harness/README.md`):
//!
//! ```text
//! COUNT harness.Fib.fib(I)I 2692537          exact number of calls
//! PREFIX harness.Lambdas.lambda$ 12          total of the methods whose keys begin with this
//! RANGE harness.Overflow.down(I)I 100 90000  minimum and maximum number of calls
//! LIMIT harness.gen.Huge.full()V 1           exact number of calls, or not instrumented
//! FACT threads 7                             any other figure, by name
//! SKIP virtual threads need Java 21          the program can't do its work here
//! ```
//!
//! A key is the class, a dot, the method's name and its descriptor. The class is written like
//! `Class.getName`.

use crate::Output;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Call counts by method.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Exact counts (`COUNT`).
    pub exact: BTreeMap<String, u64>,
    /// Sums over all methods whose keys begin with this text (`PREFIX`).
    pub prefixes: BTreeMap<String, u64>,
    /// Minimum and maximum of the counts (`RANGE`).
    pub ranges: BTreeMap<String, (u64, u64)>,
    /// Exact counts of methods that may be impossible to instrument (`LIMIT`).
    pub limits: BTreeMap<String, u64>,
    /// Other figures (`FACT`).
    pub facts: BTreeMap<String, String>,
    /// The reason why the program did nothing (`SKIP`).
    pub skipped: Option<String>,
}

/// A line that begins with one of the keywords but is malformed or repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line.
    pub line: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a count: {:?}", self.line)
    }
}

impl std::error::Error for ParseError {}

impl Counts {
    /// Parses the counts in a program's output, and ignores other lines. A repeated key is an
    /// error: a program adds up before it prints.
    ///
    /// # Errors
    /// The first malformed or repeated line.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut counts = Self::default();
        for line in text.lines() {
            if counts.take(line).is_none() {
                let line = line.to_owned();
                return Err(ParseError { line });
            }
        }
        Ok(counts)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        // A key may contain blanks, so the numbers are split off from the end.
        let last = || rest.rsplit_once(' ').filter(|(key, _)| !key.is_empty());
        let fresh = match word {
            "COUNT" | "PREFIX" | "LIMIT" => {
                let (key, n) = last()?;
                let map = match word {
                    "COUNT" => &mut self.exact,
                    "PREFIX" => &mut self.prefixes,
                    _ => &mut self.limits,
                };
                map.insert(key.to_owned(), n.parse().ok()?).is_none()
            }
            "RANGE" => {
                let (rest, high) = last()?;
                let (key, low) = rest.rsplit_once(' ')?;
                let range = (low.parse().ok()?, high.parse().ok()?);
                self.ranges.insert(key.to_owned(), range).is_none() && range.0 <= range.1
            }
            "FACT" => {
                let (key, value) = rest.split_once(' ')?;
                self.facts
                    .insert(key.to_owned(), value.to_owned())
                    .is_none()
            }
            "SKIP" => self.skipped.replace(rest.to_owned()).is_none(),
            _ => true,
        };
        fresh.then_some(())
    }

    /// Returns the number in `FACT name`.
    ///
    /// # Panics
    /// If the program did not print this fact, or its value is not a number.
    pub fn fact(&self, name: &str) -> u64 {
        let text = self.facts.get(name);
        let text = text.unwrap_or_else(|| panic!("no FACT {name} in {:?}", self.facts));
        text.parse()
            .unwrap_or_else(|_| panic!("FACT {name} is {text:?}, not a number"))
    }

    /// Compares the counts with those of a trace. Returns one line for each difference.
    ///
    /// `actual` has the trace's counts by the same keys. A key is compared if it begins with one of
    /// `packages` and with none of `ignore`. The program must have reported all such keys.
    /// `uninstrumented` are the methods that the trace reports as not instrumented. Such a method
    /// may be missing in `actual` if the program reports it as a `LIMIT`. All others must be
    /// present.
    pub fn differences(
        &self,
        actual: &BTreeMap<String, u64>,
        uninstrumented: &BTreeSet<String>,
        packages: &[&str],
        ignore: &[&str],
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut sums: BTreeMap<&str, u64> = self.prefixes.keys().map(|k| (&**k, 0)).collect();
        for (key, n) in actual {
            let begins = |list: &[&str]| list.iter().any(|p| key.starts_with(p));
            if !begins(packages) || begins(ignore) {
                continue;
            }
            let prefix = sums.iter_mut().find(|(p, _)| key.starts_with(**p));
            if self.exact.contains_key(key)
                || self.ranges.contains_key(key)
                || self.limits.contains_key(key)
            {
                // Compared below: the loop over the program's counts also finds counts that the
                // trace lacks.
            } else if let Some((_, sum)) = prefix {
                *sum += n;
            } else {
                wrong.push(format!(
                    "{key}: {n} in the trace, not reported by the program"
                ));
            }
        }
        let seen = |key: &String| actual.get(key).copied().unwrap_or(0);
        let mut compare = |key: &str, seen: u64, low: u64, high: u64| {
            if seen < low || seen > high {
                let expected = if low == high {
                    low.to_string()
                } else {
                    format!("{low} to {high}")
                };
                wrong.push(format!("{key}: {seen} in the trace, expected {expected}"));
            }
        };
        for (key, n) in &self.exact {
            compare(key, seen(key), *n, *n);
        }
        for (key, (low, high)) in &self.ranges {
            compare(key, seen(key), *low, *high);
        }
        for (key, n) in &self.limits {
            if !(uninstrumented.contains(key) && seen(key) == 0) {
                compare(key, seen(key), *n, *n);
            }
        }
        for (key, n) in &self.prefixes {
            compare(key, sums[&**key], *n, *n);
        }
        wrong
    }

    /// Fails with all differences that [`Counts::differences`] finds.
    ///
    /// # Panics
    /// If there is a difference, or the program reported no counts at all.
    pub fn assert_matches(
        &self,
        actual: &BTreeMap<String, u64>,
        uninstrumented: &BTreeSet<String>,
        packages: &[&str],
        ignore: &[&str],
    ) {
        assert!(!self.exact.is_empty(), "the program reported no counts");
        let wrong = self.differences(actual, uninstrumented, packages, ignore);
        assert!(
            wrong.is_empty(),
            "{} counts differ:\n  {}",
            wrong.len(),
            wrong.join("\n  ")
        );
    }
}

impl Output {
    /// Returns the counts that the program printed.
    ///
    /// # Panics
    /// If one of its lines is malformed, or the program reports that it did nothing.
    pub fn counts(&self) -> Counts {
        let counts = Counts::parse(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{self}"));
        assert_eq!(counts.skipped, None, "the program did nothing\n{self}");
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "result 42\n\
        COUNT a.A.f(I)I 3\n\
        PREFIX a.A.lambda$ 7\n\
        RANGE a.A.down()V 10 20\n\
        LIMIT a.Huge.f()V 1\n\
        FACT threads 5\n\
        FACT text some words\n\
        COUNTER is another word\n";

    fn map(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(k, n)| (k.to_string(), *n)).collect()
    }

    fn good() -> BTreeMap<String, u64> {
        map(&[
            ("a.A.f(I)I", 3),
            ("a.A.lambda$main$0()V", 4),
            ("a.A.lambda$main$1()V", 3),
            ("a.A.down()V", 15),
            ("a.Huge.f()V", 1),
            ("a.Expect.print()V", 1),
            ("java.lang.Object.<init>()V", 99),
        ])
    }

    fn differences(actual: &BTreeMap<String, u64>, uninstrumented: &[&str]) -> Vec<String> {
        let uninstrumented = uninstrumented.iter().map(|k| k.to_string()).collect();
        let counts = Counts::parse(TEXT).unwrap();
        counts.differences(actual, &uninstrumented, &["a."], &["a.Expect"])
    }

    #[test]
    fn lines_are_read() {
        let counts = Counts::parse(TEXT).unwrap();
        assert_eq!(counts.exact, map(&[("a.A.f(I)I", 3)]));
        assert_eq!(counts.ranges["a.A.down()V"], (10, 20));
        assert_eq!(counts.fact("threads"), 5);
        assert_eq!(counts.facts["text"], "some words");
        assert_eq!(counts.skipped, None);
        let skip = Counts::parse("SKIP needs Java 21\n").unwrap();
        assert_eq!(skip.skipped.as_deref(), Some("needs Java 21"));
    }

    #[test]
    fn malformed_lines_are_errors() {
        for line in [
            "COUNT",
            "COUNT a",
            "COUNT a b",
            "COUNT  3",
            "COUNT a -1",
            "RANGE a 1",
            "RANGE a 2 1",
            "FACT a",
            "COUNT a 1\nCOUNT a 1",
        ] {
            assert!(Counts::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn equal_counts_have_no_differences() {
        assert_eq!(differences(&good(), &[]), [""; 0]);
    }

    #[test]
    fn each_kind_of_difference_is_reported() {
        for (key, n, reported) in [
            ("a.A.f(I)I", 2, "a.A.f(I)I: 2 in the trace, expected 3"),
            (
                "a.A.down()V",
                9,
                "a.A.down()V: 9 in the trace, expected 10 to 20",
            ),
            ("a.Huge.f()V", 0, "a.Huge.f()V: 0 in the trace, expected 1"),
            (
                "a.A.lambda$main$0()V",
                5,
                "a.A.lambda$: 8 in the trace, expected 7",
            ),
            (
                "a.B.g()V",
                1,
                "a.B.g()V: 1 in the trace, not reported by the program",
            ),
        ] {
            let mut actual = good();
            actual.insert(key.to_owned(), n);
            assert_eq!(differences(&actual, &[]), [reported]);
        }
        assert_eq!(differences(&BTreeMap::new(), &[]).len(), 4);
    }

    #[test]
    fn only_methods_at_a_limit_may_be_uninstrumented() {
        let mut actual = good();
        actual.remove("a.Huge.f()V");
        assert_eq!(differences(&actual, &["a.Huge.f()V"]), [""; 0]);
        actual.remove("a.A.f(I)I");
        assert_eq!(differences(&actual, &["a.Huge.f()V", "a.A.f(I)I"]).len(), 1);
    }
}
