//! What calls are summed up by, other than by call path.

use super::paths::{Paths, each_below};
use super::{MethodSum, PathSum};
use crate::index::{Index, Place, ThreadTotals};
use crate::methods::NO_METHOD;
use jtrail_analysis::Callees;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::io;

/// What calls are summed up by.
pub(crate) trait Subject: Copy + Ord + Hash + Debug + Send + Sync {
    /// Adds a path below the root of a thread to the sums.
    fn add(sums: &mut FxHashMap<Self, MethodSum>, below: &Below<'_>, node: u32, is_outermost: bool);

    /// Returns what the innermost of the open calls counts for. `open` has their methods, outermost
    /// first.
    fn innermost(open: &[u32]) -> Option<Self>;

    /// Returns what has these calls in its total time. What has it twice is there twice.
    fn open(open: &[u32]) -> Vec<Self>;

    /// Returns a caller, or 0, and a method.
    fn numbers(self) -> [u32; 2];

    fn from_numbers(numbers: [u32; 2]) -> Self;

    /// Returns true if a node of an index has these sums.
    fn is_in(index: &Index, place: Place) -> bool;

    /// Returns the sums of a node; `None` if there are none or they are damaged.
    ///
    /// # Errors
    /// If the file can't be read.
    fn read(index: &Index, place: Place) -> io::Result<Option<ThreadTotals<Self>>>;
}

/// The calls of a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Method(pub u32);

/// The calls of a method by a caller: an edge of the call graph. The time of nested ones counts for
/// each of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// [`NO_METHOD`] for outermost calls.
    pub caller: u32,
    /// The method that is called.
    pub callee: u32,
}

/// Call paths with what is summed up of them.
pub(crate) struct Below<'p> {
    paths: &'p Paths,
    /// The paths here have no callers: those of the root, and of a thread.
    root: u32,
    totals: &'p [i64],
    records: &'p [[u64; 2]],
}

impl Below<'_> {
    fn method(&self, node: u32) -> u32 {
        self.paths.tree.frame(node)
    }

    fn caller(&self, node: u32) -> u32 {
        match self.paths.tree.parent(node) {
            parent if parent == self.root => NO_METHOD,
            parent => self.method(parent),
        }
    }

    /// Returns what the calls of a path took.
    fn sum(&self, node: u32) -> MethodSum {
        let PathSum { calls, self_time } = self.paths.path(node);
        MethodSum {
            calls,
            self_time,
            total: self.totals[node as usize],
            records: self.records[node as usize],
        }
    }
}

impl Paths {
    /// Returns what calls took below the root.
    pub(crate) fn by<S: Subject>(&self) -> FxHashMap<S, MethodSum> {
        let (callees, totals) = (self.tree.callees(), self.totals());
        self.below(0, &callees, &totals, &self.records())
    }

    /// Returns what calls took below each callee of the root.
    pub(crate) fn by_root<S: Subject>(&self) -> Vec<(u32, FxHashMap<S, MethodSum>)> {
        let (callees, totals, records) = (self.tree.callees(), self.totals(), self.records());
        let roots = callees.of(0).iter();
        roots
            .map(|root| (*root, self.below(*root, &callees, &totals, &records)))
            .collect()
    }

    fn below<S: Subject>(
        &self,
        root: u32,
        callees: &Callees,
        totals: &[i64],
        records: &[[u64; 2]],
    ) -> FxHashMap<S, MethodSum> {
        let below = Below {
            paths: self,
            root,
            totals,
            records,
        };
        let mut sums = FxHashMap::default();
        each_below(self, callees, root, |node, is_outermost| {
            S::add(&mut sums, &below, node, is_outermost);
        });
        sums
    }
}

impl Subject for Method {
    fn add(sums: &mut FxHashMap<Self, MethodSum>, below: &Below<'_>, node: u32, outermost: bool) {
        let mut sum = below.sum(node);
        if !outermost {
            // The outermost call has this time too.
            (sum.total, sum.records[1]) = (0, 0);
        }
        sums.entry(Self(below.method(node))).or_default().add(&sum);
    }

    fn innermost(open: &[u32]) -> Option<Self> {
        open.last().copied().map(Self)
    }

    fn open(open: &[u32]) -> Vec<Self> {
        let mut outermost: FxHashSet<u32> = FxHashSet::default();
        let methods = open.iter().filter(|method| outermost.insert(**method));
        methods.copied().map(Self).collect()
    }

    fn numbers(self) -> [u32; 2] {
        [0, self.0]
    }

    fn from_numbers([_, method]: [u32; 2]) -> Self {
        Self(method)
    }

    fn is_in(index: &Index, place: Place) -> bool {
        index.has_methods(place)
    }

    fn read(index: &Index, place: Place) -> io::Result<Option<ThreadTotals<Self>>> {
        index.methods(place)
    }
}

impl Subject for Edge {
    fn add(sums: &mut FxHashMap<Self, MethodSum>, below: &Below<'_>, node: u32, _: bool) {
        let (caller, callee) = (below.caller(node), below.method(node));
        let sum = sums.entry(Self { caller, callee }).or_default();
        sum.add(&below.sum(node));
    }

    fn innermost(open: &[u32]) -> Option<Self> {
        Self::open(open).pop()
    }

    fn open(open: &[u32]) -> Vec<Self> {
        let callers = std::iter::once(&NO_METHOD).chain(open);
        let edges = callers.zip(open);
        edges
            .map(|(caller, callee)| Self {
                caller: *caller,
                callee: *callee,
            })
            .collect()
    }

    fn numbers(self) -> [u32; 2] {
        [self.caller, self.callee]
    }

    fn from_numbers([caller, callee]: [u32; 2]) -> Self {
        Self { caller, callee }
    }

    fn is_in(index: &Index, place: Place) -> bool {
        index.has_edges(place)
    }

    fn read(index: &Index, place: Place) -> io::Result<Option<ThreadTotals<Self>>> {
        index.edges(place)
    }
}

/// Adds a time in which the same calls are open: outermost first, these methods. Returns the time,
/// or 0 if none is open.
pub(crate) fn add_gap<S: Subject>(
    sums: &mut FxHashMap<S, MethodSum>,
    open: &[u32],
    time: i64,
) -> i64 {
    let Some(innermost) = S::innermost(open) else {
        return 0;
    };
    let sum = sums.entry(innermost).or_default();
    sum.self_time = sum.self_time.saturating_add(time);
    for subject in S::open(open) {
        let sum = sums.entry(subject).or_default();
        sum.total = sum.total.saturating_add(time);
    }
    time
}
