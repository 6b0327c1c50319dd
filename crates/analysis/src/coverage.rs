//! Line coverage: the lines that were reached.
//!
//! One line of a class may belong to several methods: constructors share the lines of field
//! initialisers, and the body of a lambda is a method within another one. In the sums of the class,
//! a shared line counts once. It is covered if any of its methods reached it.

use super::Names;
use crate::saved::by_key;
use jtrail_model::{ClassId, Event, LineCount, MethodId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The line counts of one method.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MethodLines {
    /// The number of calls of the method.
    pub calls: u64,
    /// All lines of the method, ascending.
    pub lines: Vec<LineCount>,
}

/// Sums over the lines of a method or class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Covered {
    /// The number of reached lines.
    pub covered: u64,
    /// The number of all lines.
    pub lines: u64,
    /// The number of calls.
    pub calls: u64,
    /// The number of called methods.
    pub methods_called: u64,
    /// The number of all methods.
    pub methods: u64,
}

impl MethodLines {
    /// Returns the sums over the method's lines.
    pub fn covered(&self) -> Covered {
        Covered {
            covered: self.lines.iter().filter(|l| l.count > 0).count() as u64,
            lines: self.lines.len() as u64,
            calls: self.calls,
            methods_called: u64::from(self.calls > 0),
            methods: 1,
        }
    }

    /// Returns the lines that were not reached, as `12-14, 20`: lines that follow each other in the
    /// method's table are joined to a range.
    pub fn uninstrumented(&self) -> String {
        let mut parts: Vec<(u32, u32)> = Vec::new();
        let mut joined = false;
        for line in &self.lines {
            match parts.last_mut() {
                _ if line.count > 0 => joined = false,
                Some((_, last)) if joined => *last = line.line,
                _ => {
                    parts.push((line.line, line.line));
                    joined = true;
                }
            }
        }
        let text = parts.into_iter().map(|(first, last)| match first {
            _ if first == last => first.to_string(),
            _ => format!("{first}-{last}"),
        });
        text.collect::<Vec<_>>().join(", ")
    }
}

/// The lines of all methods for which the trace has counts.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Lines by method.
    #[serde(with = "by_key")]
    pub methods: FxHashMap<MethodId, MethodLines>,
}

impl Coverage {
    /// Processes line counts. Ignores other events. A method's later counts replace its earlier
    /// ones.
    pub fn event(&mut self, event: &Event<'_>) {
        if let Event::LineCounts(e) = event {
            let lines = MethodLines {
                calls: e.calls,
                lines: e.lines.clone(),
            };
            self.methods.insert(e.method, lines);
        }
    }

    /// Returns the sums by class, in no particular order. Methods without a definition are under
    /// `ClassId::NONE`.
    pub fn classes(&self, names: &Names) -> Vec<(ClassId, Covered)> {
        let mut classes: FxHashMap<ClassId, (Covered, BTreeMap<u32, bool>)> = FxHashMap::default();
        for (method, lines) in &self.methods {
            let class = names.method(*method).map_or(ClassId::NONE, |m| m.class);
            let (sum, reached) = classes.entry(class).or_default();
            sum.calls = sum.calls.saturating_add(lines.calls);
            sum.methods += 1;
            sum.methods_called += u64::from(lines.calls > 0);
            for line in &lines.lines {
                *reached.entry(line.line).or_default() |= line.count > 0;
            }
        }
        let row = classes.into_iter().map(|(class, (mut sum, reached))| {
            sum.lines = reached.len() as u64;
            sum.covered = reached.values().filter(|r| **r).count() as u64;
            (class, sum)
        });
        row.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{LineCounts, MethodDef};

    fn counts(method: u64, calls: u64, lines: &[(u32, u64)]) -> Event<'static> {
        let line = |(line, count): &(u32, u64)| LineCount {
            line: *line,
            count: *count,
        };
        Event::LineCounts(LineCounts {
            method: MethodId(method),
            calls,
            lines: lines.iter().map(line).collect(),
            ..LineCounts::default()
        })
    }

    #[test]
    fn lines_of_methods_and_classes() {
        let (mut coverage, mut names) = (Coverage::default(), Names::default());
        for (method, class) in [(1, 7), (2, 7), (3, 8)] {
            names.event(&Event::MethodDef(MethodDef {
                method: MethodId(method),
                class: ClassId(class),
                ..MethodDef::default()
            }));
        }
        for event in [
            counts(1, 1, &[(10, 1), (11, 0)]),
            // Replaces the counts above.
            counts(
                1,
                5,
                &[(10, 5), (11, 2), (12, 0), (14, 0), (15, 1), (20, 0)],
            ),
            // Shares line 20 with the method above, and reaches it.
            counts(2, 1, &[(20, 1), (21, 0)]),
            counts(3, 0, &[(5, 0)]),
            counts(4, 9, &[]),
        ] {
            coverage.event(&event);
        }
        let first = &coverage.methods[&MethodId(1)];
        let sums = |c: &Covered| (c.covered, c.lines, c.calls, c.methods_called, c.methods);
        assert_eq!(sums(&first.covered()), (3, 6, 5, 1, 1));
        assert_eq!(first.uninstrumented(), "12-14, 20");
        assert_eq!(coverage.methods[&MethodId(3)].uninstrumented(), "5");
        assert_eq!(coverage.methods[&MethodId(4)].uninstrumented(), "");
        let mut classes: Vec<_> = coverage.classes(&names);
        classes.sort_by_key(|(class, _)| *class);
        let rows: Vec<_> = classes
            .iter()
            .map(|(class, c)| (class.0, sums(c)))
            .collect();
        assert_eq!(
            rows,
            [
                (0, (0, 0, 9, 1, 1)),
                (7, (4, 7, 6, 2, 2)),
                (8, (0, 1, 0, 0, 1))
            ]
        );
    }
}
