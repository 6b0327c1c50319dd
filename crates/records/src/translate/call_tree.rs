//! Aggregated calls: a tree of call paths.
//!
//! Memory grows with the number of distinct paths, not with the number of calls. If a path would
//! make the tree too large, the path is folded: it continues at an ancestor with the same method,
//! or at the top. Counts and times of each method remain exact.

use jtrail_model::{
    AggregatedDetail, AggregatedEnter, AggregatedLeave, Duration, Event, MethodId, ThreadId,
    Timestamp,
};

/// Maximum number of nodes in a tree. At the top, each method may have one more.
const MAX_NODES: usize = 1 << 20;
/// Maximum number of nested calls of one method that have nodes of their own.
const MAX_RECURSION: u32 = 1 << 10;

const ROOT: u32 = 0;

/// How a trace calls the loss that [`CallTree::folded`] counts.
pub(super) const FOLDED: &str = "callers of calls, beyond the bounds of the tree";

/// Aggregated calls of one thread, by call path. Methods are identified by their numbers.
#[derive(Clone, Debug)]
pub(super) struct CallTree {
    /// All nodes. The first one is the root, which stands for no call.
    nodes: Vec<Node>,
    open: Vec<Open>,
    /// Number of calls whose path is folded.
    folded: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    method: u32,
    parent: u32,
    /// Number of nodes with this method on the path from the root to this node, including this
    /// node.
    recursion: u32,
    /// First child; the others follow along `next`. The most recently used child comes first.
    first_child: u32,
    next: u32,
    sums: Sums,
}

/// Sums over the calls of one path.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    calls: u64,
    exceptions: u64,
    own: i64,
    min: i64,
    max: i64,
    cpu: i64,
}

/// A call that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: u32,
    /// True if the path to this call is folded at any point.
    folded: bool,
    began: Timestamp,
    began_cpu: Duration,
    /// Total time of its callees.
    callees: i64,
    callees_cpu: i64,
}

impl Default for CallTree {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
            open: Vec::new(),
            folded: 0,
        }
    }
}

impl CallTree {
    /// Returns the method of each node. A method may occur several times.
    pub(super) fn methods(&self) -> impl Iterator<Item = u32> {
        self.nodes[1..].iter().map(|node| node.method)
    }

    /// Returns the number of calls so far that are counted at another node than that of their path,
    /// because the tree is full.
    pub(super) fn folded(&self) -> u64 {
        self.folded
    }

    /// Begins a call within the innermost open call. `cpu` is the thread's CPU time, 0 if not
    /// measured.
    #[inline]
    pub(super) fn enter(&mut self, method: u32, time: Timestamp, cpu: Duration) {
        let parent = self.open.last().map_or(ROOT, |open| open.node);
        let node = self.child(parent, method);
        let at = &mut self.nodes[node as usize];
        at.sums.calls += 1;
        let folded = self.open.last().is_some_and(|open| open.folded) || at.parent != parent;
        self.folded += u64::from(folded);
        self.open.push(Open {
            node,
            folded,
            began: time,
            began_cpu: cpu,
            callees: 0,
            callees_cpu: 0,
        });
    }

    /// Ends the innermost open call, if there is one.
    #[inline]
    pub(super) fn leave(&mut self, time: Timestamp, cpu: Duration, by_exception: bool) {
        let Some(call) = self.open.pop() else { return };
        let all = time.since(call.began).0;
        let all_cpu = cpu.0 - call.began_cpu.0;
        let own = all - call.callees;
        let sums = &mut self.nodes[call.node as usize].sums;
        sums.exceptions += u64::from(by_exception);
        sums.own += own;
        sums.cpu += all_cpu - call.callees_cpu;
        sums.min = sums.min.min(own);
        sums.max = sums.max.max(own);
        if let Some(caller) = self.open.last_mut() {
            caller.callees += all;
            caller.callees_cpu += all_cpu;
        }
    }

    #[inline]
    fn child(&mut self, parent: u32, method: u32) -> u32 {
        match self.find(parent, method) {
            Some(found) => found,
            None => self.new_child(parent, method),
        }
    }

    #[cold]
    fn new_child(&mut self, parent: u32, method: u32) -> u32 {
        let (mut at, mut recursion) = (parent, 1);
        while at != ROOT {
            let node = &self.nodes[at as usize];
            if node.method == method {
                if node.recursion >= MAX_RECURSION || self.nodes.len() >= MAX_NODES {
                    return at;
                }
                recursion = node.recursion + 1;
                break;
            }
            at = node.parent;
        }
        if self.nodes.len() >= MAX_NODES && parent != ROOT {
            return self.child(ROOT, method);
        }
        let new = self.nodes.len() as u32;
        self.nodes.push(Node {
            method,
            parent,
            recursion,
            first_child: ROOT,
            next: self.nodes[parent as usize].first_child,
            sums: Sums {
                min: i64::MAX,
                ..Sums::default()
            },
        });
        self.nodes[parent as usize].first_child = new;
        new
    }

    /// Returns the child with that method, after moving it to the front, because callers often
    /// repeat a call.
    #[inline]
    fn find(&mut self, parent: u32, method: u32) -> Option<u32> {
        let first = self.nodes[parent as usize].first_child;
        let (mut before, mut at): (Option<usize>, u32) = (None, first);
        while at != ROOT {
            let Node {
                method: found,
                next,
                ..
            } = self.nodes[at as usize];
            if found == method {
                if let Some(before) = before {
                    self.nodes[before].next = next;
                    self.nodes[at as usize].next = first;
                    self.nodes[parent as usize].first_child = at;
                }
                return Some(at);
            }
            before = Some(at as usize);
            at = next;
        }
        None
    }

    /// Ends all open calls, and emits the tree as aggregated calls of a thread, from the top.
    pub(super) fn emit(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
        mut id_of: impl FnMut(u32) -> MethodId,
        mut emitted: impl FnMut(Event<'static>),
    ) {
        let cpu = self.open.last().map_or(Duration(0), |open| open.began_cpu);
        while !self.open.is_empty() {
            self.leave(time, cpu, false);
        }
        let mut at = self.nodes[0].first_child;
        while at != ROOT {
            let node = &self.nodes[at as usize];
            let (method, sums) = (id_of(node.method), &node.sums);
            emitted(Event::AggregatedEnter(AggregatedEnter {
                thread,
                method,
                base_time: Duration(sums.own),
                min_time: Duration(sums.min.min(sums.max)),
                max_time: Duration(sums.max),
                base_cpu_time: Duration(sums.cpu.max(0)),
                calls: sums.calls as i64,
            }));
            if sums.exceptions > 0 {
                emitted(Event::AggregatedDetail(AggregatedDetail {
                    thread,
                    method,
                    exceptions: sums.exceptions,
                    overhead: Duration(0),
                }));
            }
            if node.first_child != ROOT {
                at = node.first_child;
                continue;
            }
            // Closes nodes on the way up, until one has a sibling to continue with.
            loop {
                let node = &self.nodes[at as usize];
                let method = id_of(node.method);
                emitted(Event::AggregatedLeave(AggregatedLeave { thread, method }));
                if node.next != ROOT {
                    at = node.next;
                    break;
                }
                at = node.parent;
                if at == ROOT {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(tree: &mut CallTree, method: u32, at: i64) {
        tree.enter(method, Timestamp(at), Duration(at / 2));
    }

    fn leave(tree: &mut CallTree, at: i64) {
        tree.leave(Timestamp(at), Duration(at / 2), false);
    }

    #[test]
    fn own_time_is_without_callees() {
        let mut tree = CallTree::default();
        enter(&mut tree, 1, 0);
        enter(&mut tree, 2, 10);
        leave(&mut tree, 30);
        enter(&mut tree, 2, 30);
        leave(&mut tree, 36);
        leave(&mut tree, 100);
        let [_, outer, inner] = &tree.nodes[..] else {
            panic!("{} nodes", tree.nodes.len())
        };
        assert_eq!(
            (outer.sums.calls, outer.sums.own, outer.sums.cpu),
            (1, 74, 37)
        );
        assert_eq!(
            (
                inner.sums.calls,
                inner.sums.own,
                inner.sums.min,
                inner.sums.max
            ),
            (2, 26, 6, 20)
        );
    }

    #[test]
    fn recursion_is_folded() {
        let mut tree = CallTree::default();
        let depth = i64::from(MAX_RECURSION) * 3;
        for at in 0..depth {
            enter(&mut tree, 1, at);
        }
        for at in depth..2 * depth {
            leave(&mut tree, at);
        }
        assert_eq!(tree.nodes.len() as u32, MAX_RECURSION + 1);
        assert_eq!(tree.folded, 2 * u64::from(MAX_RECURSION));
        assert_eq!(
            tree.nodes.iter().map(|n| n.sums.calls).sum::<u64>(),
            depth as u64
        );
        assert_eq!(
            tree.nodes.iter().map(|n| n.sums.own).sum::<i64>(),
            2 * depth - 1
        );
    }

    #[test]
    fn memory_grows_with_paths_and_not_with_calls() {
        let mut tree = CallTree::default();
        let mut at = 0;
        for _ in 0..100_000 {
            for method in 1..=10 {
                for inner in [11, 12] {
                    at += 4;
                    enter(&mut tree, method, at);
                    enter(&mut tree, inner, at + 1);
                    leave(&mut tree, at + 2);
                    leave(&mut tree, at + 3);
                }
            }
        }
        assert_eq!(tree.nodes.len(), 1 + 10 + 20);
        assert_eq!(tree.folded, 0);
        assert!(tree.open.is_empty());
        let sum = |of: fn(&Node) -> i64| tree.nodes.iter().map(of).sum::<i64>();
        assert_eq!(sum(|node| node.sums.calls as i64), 4_000_000);
        assert_eq!(sum(|node| node.sums.own), 3 * 2_000_000);
    }

    #[test]
    fn a_full_tree_folds_and_counts() {
        let mut tree = CallTree::default();
        let mut paths = 0;
        for outer in 1..=100 {
            enter(&mut tree, outer, 0);
            for middle in 101..=200 {
                enter(&mut tree, middle, 0);
                for inner in 201..=306 {
                    enter(&mut tree, inner, 0);
                    leave(&mut tree, 0);
                }
                leave(&mut tree, 0);
            }
            leave(&mut tree, 0);
            paths += 1 + 100 + 100 * 106;
        }
        // A full tree gets new nodes only at the top: for outermost calls, and for paths that are
        // folded to the top.
        let beyond = &tree.nodes[MAX_NODES..];
        assert!(beyond.iter().all(|node| node.parent == ROOT));
        let unfolded = beyond.iter().filter(|node| node.method <= 100).count();
        assert_eq!(unfolded, 2);
        assert_eq!(tree.folded as usize, paths - (MAX_NODES - 1) - unfolded);
        let calls: u64 = tree.nodes.iter().map(|n| n.sums.calls).sum();
        assert_eq!(calls as usize, paths);
    }

    #[test]
    fn recursion_of_several_methods_is_folded() {
        let (mut tree, among, depth) = (CallTree::default(), 7, 100_000);
        for _ in 0..3 {
            for at in 0..depth {
                enter(&mut tree, at as u32 % among, at);
            }
            for at in depth..2 * depth {
                leave(&mut tree, at);
            }
        }
        assert!(tree.nodes.len() as u32 <= among * MAX_RECURSION + 1);
        let calls = tree.nodes.iter().map(|n| n.sums.calls).sum::<u64>();
        assert_eq!(calls, 3 * depth as u64);
    }
}
