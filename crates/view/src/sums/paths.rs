//! Sums by call path.

use super::add;
use jtrail_analysis::{CallTree, Callees};
use rustc_hash::FxHashSet;

/// The method that stands for the shorter paths below a path: their calls and times. Below it is
/// itself once more, with the calls that are deeper.
pub const SHORTER: u32 = u32::MAX - 1;

/// The sums by call path.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// The frames are numbers of methods.
    pub(crate) tree: CallTree,
    /// By node of the tree; nodes beyond the end have nothing.
    sums: Vec<PathSum>,
}

/// What the calls of a path took, without their callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathSum {
    /// Number of calls that begin in the span.
    pub calls: u64,
    /// Self time in the span, in ns.
    pub self_time: i64,
}

impl PathSum {
    /// Adds time without callees, in ns.
    #[inline]
    pub(crate) fn pass(&mut self, time: i64) {
        self.self_time = self.self_time.saturating_add(time);
    }
}

impl Paths {
    /// Returns what the calls of a path took.
    pub(crate) fn path(&self, node: u32) -> PathSum {
        self.sums.get(node as usize).copied().unwrap_or_default()
    }

    /// Adds calls of a path.
    pub(crate) fn add_path(&mut self, node: u32, sum: PathSum) {
        if sum != PathSum::default() {
            let all = self.get(node);
            add(&mut all.calls, sum.calls);
            all.pass(sum.self_time);
        }
    }

    fn nodes(&self) -> std::ops::Range<u32> {
        0..self.tree.len() as u32
    }

    /// Returns for each path the time of its calls with their callees, in ns.
    pub(crate) fn totals(&self) -> Vec<i64> {
        let own = self.nodes().map(|node| self.path(node).self_time);
        let mut totals: Vec<i64> = own.collect();
        for node in self.nodes().skip(1).rev() {
            let parent = self.tree.parent(node) as usize;
            totals[parent] = totals[parent].saturating_add(totals[node as usize]);
        }
        totals
    }

    /// Returns for each path how many enters and leaves are within its self time, and within that
    /// time together with its callees.
    ///
    /// The time of a call has one record of its own (enter or leave), and two for each call below
    /// it. Calls count where they begin, and their records with them.
    pub(crate) fn records(&self) -> Vec<[u64; 2]> {
        let calls = |node: u32| self.path(node).calls;
        let mut all: Vec<[u64; 2]> = self.nodes().map(|node| [calls(node), 0]).collect();
        for node in self.nodes().skip(1) {
            add(&mut all[self.tree.parent(node) as usize][0], calls(node));
        }
        for node in self.nodes().rev() {
            let [own, below] = all[node as usize];
            let total = own.saturating_add(below);
            all[node as usize][1] = total;
            if node != 0 {
                add(&mut all[self.tree.parent(node) as usize][1], total);
            }
        }
        all
    }

    /// Returns the methods of a path below a node, outermost first.
    pub(crate) fn stack(&self, mut node: u32, below: u32) -> Vec<u32> {
        let mut frames = Vec::new();
        while node != below && node != 0 {
            frames.push(self.tree.frame(node));
            node = self.tree.parent(node);
        }
        frames.reverse();
        frames
    }

    #[inline]
    pub(crate) fn get(&mut self, node: u32) -> &mut PathSum {
        let count = self.tree.len().max(node as usize + 1);
        if self.sums.len() < count {
            self.sums.resize(count, PathSum::default());
        }
        &mut self.sums[node as usize]
    }

    /// Adds other sums. Returns the own node of each of their nodes.
    pub(super) fn add(&mut self, other: &Self) -> Vec<u32> {
        let mut nodes = vec![0];
        for node in 1..other.tree.len() as u32 {
            let parent = nodes[other.tree.parent(node) as usize];
            let own = self.tree.callee(parent, other.tree.frame(node));
            self.add_path(own, other.path(node));
            nodes.push(own);
        }
        nodes
    }

    /// Returns true if each path is there by itself.
    pub(crate) fn has_all(&self) -> bool {
        self.nodes()
            .skip(1)
            .all(|node| self.tree.frame(node) != SHORTER)
    }

    /// Returns the sums of the longest paths, about so many. The others are [`SHORTER`] ones of
    /// the longest path that leads to them, and callees of the root are kept if `has_roots`. Also
    /// returns the new node of each node.
    pub(crate) fn longest(&self, count: usize, has_roots: bool) -> (Self, Vec<u32>) {
        let totals = self.totals();
        let mut sizes: Vec<i64> = totals.iter().skip(1).copied().collect();
        let least = match count < sizes.len() {
            true => *sizes.select_nth_unstable_by(count, |a, b| b.cmp(a)).1,
            false => i64::MIN,
        };
        let mut longest = Self::default();
        let mut nodes: Vec<(u32, bool)> = vec![(0, true)];
        for node in self.nodes().skip(1) {
            let (parent, frame) = (self.tree.parent(node), self.tree.frame(node));
            let (own_parent, is_kept) = nodes[parent as usize];
            let is_long = totals[node as usize] > least || least == i64::MIN;
            let is_long = is_long || frame == SHORTER || (has_roots && parent == 0);
            let mut path = self.path(node);
            let own = match (is_kept, is_long) {
                (true, true) => longest.tree.callee(own_parent, frame),
                (true, false) => longest.tree.callee(own_parent, SHORTER),
                (false, _) => {
                    let deeper = longest.tree.callee(own_parent, SHORTER);
                    let calls = std::mem::take(&mut path.calls);
                    add(&mut longest.get(deeper).calls, calls);
                    own_parent
                }
            };
            longest.add_path(own, path);
            nodes.push((own, is_kept && is_long));
        }
        (longest, nodes.into_iter().map(|(node, _)| node).collect())
    }
}

/// Looks at each method once in the paths below a node, callers first, with whether no call of the
/// same method is around.
pub(super) fn each_below(
    paths: &Paths,
    callees: &Callees,
    root: u32,
    mut visit: impl FnMut(u32, bool),
) {
    // Paths that are left, and how many of the open ones have each method.
    let of_root = callees.of(root).iter();
    let mut open: Vec<(u32, bool)> = of_root.map(|node| (*node, false)).collect();
    let mut on_stack: FxHashSet<u32> = FxHashSet::default();
    let mut outermost = Vec::new();
    while let Some((node, is_left)) = open.pop() {
        let method = paths.tree.frame(node);
        if is_left {
            if outermost.pop() == Some(true) {
                on_stack.remove(&method);
            }
            continue;
        }
        let is_outermost = on_stack.insert(method);
        visit(node, is_outermost);
        outermost.push(is_outermost);
        open.push((node, true));
        open.extend(callees.of(node).iter().map(|callee| (*callee, false)));
    }
}
