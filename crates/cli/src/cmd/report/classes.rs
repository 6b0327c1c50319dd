//! Tables of classes: contents of class files, initialisations and line coverage.

use super::tables::Table;
use super::{Content, Report, column, optional, share_of_count, some, some_text, thread_id};
use crate::output::{Cell, Column};
use jtrail_analysis::{
    ClassStat, Covered, Detail, Member, class_flags, field_flags, method_flags, readable_signature,
    readable_type,
};
use jtrail_model::{ClassId, MethodId};
use std::cmp::Reverse;

const CLASSES: &[Column] = &[
    column("class", "class"),
    column("flags", "flags"),
    column("super", "superclass"),
    column("interfaces", "interfaces"),
    column("loader", "loader"),
    column("fields", "fields"),
    column("methods", "methods"),
    column("bytes", "class file"),
    optional("redefined", "redefined"),
    optional("unloaded_ns", "unloaded"),
];

const MEMBERS: &[Column] = &[
    column("class", "class"),
    column("kind", "kind"),
    column("flags", "flags"),
    column("name", ""),
    column("signature", ""),
    column("access", ""),
    // In tables, the preceding three columns are hidden, because their heads are empty. TSV and
    // JSON contain them.
    column("readable", "member"),
];

const INITIALISATIONS: &[Column] = &[
    column("start_ns", "began"),
    column("total_ns", "total"),
    column("self_ns", "self"),
    optional("open", "to the end"),
    optional("failed", "failed"),
    column("thread", "id"),
    column("name", "thread"),
    column("class", "class"),
    optional("within", "in the initialisation of"),
];

const COVERAGE: &[Column] = &[
    column("covered", "covered"),
    column("lines", "lines"),
    column("covered_share", "covered %"),
    column("methods_called", "methods called"),
    column("methods", "methods"),
    column("calls", "calls"),
    column("class", "class"),
];

const COVERAGE_METHODS: &[Column] = &[
    column("covered", "covered"),
    column("lines", "lines"),
    column("covered_share", "covered %"),
    column("calls", "calls"),
    column("method", "method"),
];

const UNCOVERED_LINES: &[Column] = &[
    column("uncovered", "not covered"),
    column("method", "method"),
    column("lines", "lines"),
];

impl Report<'_> {
    /// Returns all classes with details, sorted by name.
    fn described_classes(&self) -> Vec<(ClassId, &ClassStat)> {
        let names = &self.analysis.names;
        let all = self.analysis.classes.all.iter();
        let mut classes: Vec<_> = all.map(|(id, class)| (*id, class)).collect();
        classes.sort_by_cached_key(|(id, _)| (names.class(*id), *id));
        classes
    }

    pub(super) fn classes(&self) -> Content {
        let none = Detail::default();
        self.table(
            Table::Classes,
            CLASSES,
            self.described_classes(),
            |(id, class)| {
                let reported = class.detail.is_some();
                let detail = class.detail.as_deref().unwrap_or(&none);
                let number = |n: usize| {
                    if reported {
                        Cell::Count(n as u64)
                    } else {
                        Cell::None
                    }
                };
                vec![
                    self.class(id),
                    some_text(&class_flags(detail.access)),
                    some_text(&detail.super_name),
                    some_text(&detail.interfaces.join(", ")),
                    some_text(&detail.loader),
                    number(detail.fields.len()),
                    number(detail.methods.len()),
                    Cell::Bytes(detail.size),
                    some(class.redefined),
                    class.unloaded.map_or(Cell::None, |t| self.since_start(t)),
                ]
            },
        )
    }

    pub(super) fn members(&self) -> Content {
        let classes = self.described_classes().into_iter();
        let details = classes.filter_map(|(id, class)| Some((id, class.detail.as_deref()?)));
        let members = details.flat_map(|(id, detail)| {
            let fields = detail.fields.iter().map(move |f| (id, false, f));
            fields.chain(detail.methods.iter().map(move |m| (id, true, m)))
        });
        self.table(
            Table::Members,
            MEMBERS,
            members,
            |(id, is_method, member)| {
                let kind = if is_method { "method" } else { "field" };
                let flags = match is_method {
                    true => method_flags(member.access),
                    false => field_flags(member.access),
                };
                vec![
                    self.class(id),
                    Cell::Text(kind.to_owned()),
                    some_text(&flags),
                    Cell::Text(member.name.to_string()),
                    Cell::Text(member.signature.to_string()),
                    Cell::Count(u64::from(member.access)),
                    Cell::Text(readable(member, is_method)),
                ]
            },
        )
    }

    pub(super) fn slowest_initialisations(&mut self) -> Content {
        let all = &mut self.analysis.initialisations;
        let (slowest, count) = (all.slowest.sorted().to_vec(), all.count);
        let kept = slowest.len() as u64;
        let table = Table::SlowestClassInitialisations;
        let mut content = self.table(table, INITIALISATIONS, slowest, |i| {
            vec![
                self.since_start(i.start),
                Cell::Time(i.total),
                Cell::Time(i.own),
                some(i.open.into()),
                some(i.failed.into()),
                thread_id(i.thread),
                self.thread(i.thread),
                self.class(i.class),
                self.class(i.within),
            ]
        });
        content.more += count.saturating_sub(kept) as usize;
        content
    }

    pub(super) fn coverage(&self) -> Content {
        let names = &self.analysis.names;
        let mut classes = self.analysis.coverage.classes(names);
        classes.sort_by_cached_key(|(class, _)| (names.class(*class), *class));
        self.table(Table::Coverage, COVERAGE, classes, |(class, c)| {
            let [covered, lines, share] = lines(c);
            vec![
                covered,
                lines,
                share,
                Cell::Count(c.methods_called),
                Cell::Count(c.methods),
                Cell::Count(c.calls),
                self.class(class),
            ]
        })
    }

    /// Returns all methods with line counts, in source order as far as known.
    fn covered_methods(&self) -> Vec<(MethodId, &jtrail_analysis::MethodLines)> {
        let names = &self.analysis.names;
        let all = self.analysis.coverage.methods.iter();
        let mut methods: Vec<_> = all.map(|(id, lines)| (*id, lines)).collect();
        methods.sort_by_cached_key(|(id, lines)| {
            let class = names.method(*id).map(|m| names.class(m.class));
            (class, lines.lines.first().map(|l| l.line), *id)
        });
        methods
    }

    pub(super) fn coverage_methods(&self) -> Content {
        let (table, columns) = (Table::CoverageMethods, COVERAGE_METHODS);
        self.table(table, columns, self.covered_methods(), |(id, method)| {
            let c = method.covered();
            let [covered, lines, share] = lines(c);
            let calls = Cell::Count(c.calls);
            vec![covered, lines, share, calls, self.method(id)]
        })
    }

    pub(super) fn uncovered_lines(&self) -> Content {
        let mut methods: Vec<_> = self
            .covered_methods()
            .into_iter()
            .map(|(id, method)| (id, method, method.covered()))
            .filter(|(_, _, c)| c.covered < c.lines)
            .collect();
        methods.sort_by_key(|(.., c)| Reverse(c.lines - c.covered));
        let (table, columns) = (Table::UncoveredLines, UNCOVERED_LINES);
        self.table(table, columns, methods, |(id, method, c)| {
            vec![
                Cell::Count(c.lines - c.covered),
                self.method(id),
                Cell::Text(method.uninstrumented()),
            ]
        })
    }
}

fn lines(c: Covered) -> [Cell; 3] {
    [
        Cell::Count(c.covered),
        Cell::Count(c.lines),
        share_of_count(c.covered, c.lines),
    ]
}

/// Returns a member as in source code: `run(int)`, `int[] x`.
fn readable(member: &Member, is_method: bool) -> String {
    if is_method {
        format!("{}{}", member.name, readable_signature(&member.signature))
    } else {
        format!("{} {}", readable_type(&member.signature), member.name)
    }
}
