//! Findings that may come with every line: counted, and told once each at the end.

use crate::unkept::unkept;
use crate::{Remark, Severity, Unkept};
use std::collections::VecDeque;

unkept! {
    Known = "jit cms, jit css, jit csf, gch gen, lin src, fil src" "nothing that an event tells; passed over"
    Unknown = "others" "not known here; passed over"
    Texts = "all with texts" "texts that are no UTF-8, read with U+FFFD"
    ProcessNumbers = "apd crf" "process numbers above 31 bits, read as 0"
    Domains = "apd crf" "a further application domain; passed over"
    Statuses = "apd crf, asm ldf, mod ldf, cls ldf" "a status that is not 0; passed over"
    Ids = "thr crt, thr dst, apd crf, asm ldf, cls ldf, fun inf" "ids that are not made of internal ones; passed over"
    Tokens = "cls ldf, fun inf" "tokens that are not made of internal ids; passed over"
    OsIds = "thr aos" "of a thread 0 on which nothing happens; passed over"
    Assemblies = "asm ldf" "of no class; passed over"
    BaseAddresses = "mod ldf" "base addresses; passed over"
    ModuleNames = "mod ldf" "names that are not those of their assemblies; passed over"
    NoModules = "cls ldf" "of modules that were not loaded; told without a loader"
    NamelessClasses = "cls ldf" "of classes that get no name; passed over"
    FunctionModules = "fun inf" "modules that are not those of their classes; passed over"
    NamelessFunctions = "fun inf" "of functions that get no name; passed over"
    MapsAlone = "fun inf" "a code map without code; passed over"
    BytecodeMaps = "fun inf" "code maps of offsets in bytecode, which tell no lines; passed over"
    Backwards = "fun inf" "a range of code that ends before it starts"
    RangeEnds = "fun inf" "a range of code that goes on where the next one starts; read up to there"
    FailedCompilations = "jit cmf" "a compilation that failed; passed over"
    LateFunctions = "jit cmf" "of functions that were not defined by then; passed over"
    Workers = "jit cmf, gch gcs, gch gcf" "threads that did it; passed over"
    Generations = "gch gcs" "generations, read as young or full"
    Pointers = "sam str, sam mem" "instruction pointers; passed over"
    LostStacks = "sam str" "of threads whose stack is not known; passed over"
    Ticks = "sam str" "ticks of a trace that tells calls; passed over"
    DeepStacks = "sam str" "samples of more than 4096 frames, or 1 MiB of names; the innermost are read"
    LongMaps = "fun inf" "code maps with more than 1 MiB of names; the first ranges are read"
    AllocationStacks = "sam str" "stacks of allocations in a trace of samples; passed over"
}

/// What the reader passes over.
pub(crate) const PASSED_OVER: &[Unkept] = Passed::ALL;

/// Findings that are told apart; further ones are counted together.
const MOST_FINDINGS: usize = 100;

/// What is told is built from this: the kind of line, and what is with it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    findings: VecDeque<Finding>,
}

#[derive(Debug)]
struct Finding {
    kind: String,
    what: &'static str,
    severity: Severity,
    offset: u64,
    line: u64,
    count: u64,
}

impl Tally {
    pub(super) fn add(
        &mut self,
        (offset, line): (u64, u64),
        severity: Severity,
        kind: &str,
        what: &'static str,
    ) {
        let same = |f: &&mut Finding| f.what == what && f.kind == kind;
        if let Some(finding) = self.findings.iter_mut().find(same) {
            finding.count = finding.count.saturating_add(1);
            return;
        }
        let (kind, what) = if self.findings.len() < MOST_FINDINGS {
            (kind, what)
        } else if self.findings.len() == MOST_FINDINGS {
            ("further lines", "are not as they should be")
        } else {
            if let Some(last) = self.findings.back_mut() {
                last.count = last.count.saturating_add(1);
                last.severity = last.severity.max(severity);
            }
            return;
        };
        self.findings.push_back(Finding {
            kind: kind.to_owned(),
            what,
            severity,
            offset,
            line,
            count: 1,
        });
    }

    /// Whether nothing is wrong.
    pub(super) fn is_sound(&self) -> bool {
        let findings = &mut self.findings.iter();
        findings.all(|finding| finding.severity == Severity::Info)
    }

    /// Takes the findings of another one.
    pub(super) fn append(&mut self, other: Self) {
        for finding in other.findings {
            let place = (finding.offset, finding.line);
            for _ in 0..finding.count {
                self.add(place, finding.severity, &finding.kind, finding.what);
            }
        }
    }

    /// The next finding to tell.
    pub(super) fn pop(&mut self) -> Option<Remark> {
        let Finding {
            kind,
            what,
            severity,
            offset,
            line,
            count,
        } = self.findings.pop_front()?;
        let message = format!("{kind}: {what} ({count} times, first in line {line})");
        Some(Remark {
            offset,
            severity,
            message,
        })
    }
}
