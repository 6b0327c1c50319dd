//! The call paths with their names, and the walk that writes them.

use jtrail_analysis::{CallTree, Callees};
use jtrail_model::MethodId;
use rustc_hash::FxHashMap;

/// Number of bytes after which a part of the output ends.
const PART: usize = 1 << 20;

/// The call paths of all threads, or of each thread. Paths with equal names are one.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The frames are numbers of names.
    paths: CallTree,
    /// The weight of each path; those beyond the end have none.
    values: Vec<i64>,
    names: Vec<String>,
    numbers: FxHashMap<String, u32>,
    /// Numbers of the names of methods.
    pub(super) methods: FxHashMap<MethodId, u32>,
}

impl Tree {
    /// Returns the number of a name.
    pub(super) fn name(&mut self, name: String) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let next = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name, next);
        next
    }

    /// Returns the path of a callee by the number of its name.
    pub(super) fn callee(&mut self, parent: u32, name: u32) -> u32 {
        self.paths.callee(parent, name)
    }

    /// Adds to the weight of a path.
    pub(super) fn add(&mut self, path: u32, value: i64) {
        self.values.resize(self.paths.len(), 0);
        let sum = &mut self.values[path as usize];
        *sum = sum.saturating_add(value);
    }

    /// Returns for each name its place in the order of names.
    fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.names.len() as u32).collect();
        order.sort_by_key(|number| &self.names[*number as usize]);
        let mut ranks = vec![0; order.len()];
        for (rank, number) in (0..).zip(order) {
            ranks[number as usize] = rank;
        }
        ranks
    }
}

/// A walk over all paths, callers before callees.
#[derive(Debug)]
pub(super) struct Walk {
    tree: Tree,
    callees: Callees,
    /// The paths that lead to the current one, each with the number of its callees that were
    /// written, and the length of the text before it.
    open: Vec<(u32, usize, usize)>,
    text: String,
}

impl Walk {
    pub(super) fn new(tree: Tree) -> Self {
        let mut callees = tree.paths.callees();
        let ranks = tree.ranks();
        callees.sort_by_key(|path| ranks[tree.paths.frame(path) as usize]);
        Self {
            tree,
            callees,
            open: vec![(0, 0, 0)],
            text: String::new(),
        }
    }

    /// Appends some lines. Returns true if more follow.
    pub(super) fn write_part(&mut self, out: &mut Vec<u8>) -> bool {
        let end = out.len() + PART;
        while let Some((path, written, before)) = self.open.last_mut() {
            let Some(&callee) = self.callees.of(*path).get(*written) else {
                self.text.truncate(*before);
                self.open.pop();
                continue;
            };
            *written += 1;
            self.open.push((callee, 0, self.text.len()));
            if !self.text.is_empty() {
                self.text.push(';');
            }
            let name = self.tree.paths.frame(callee);
            self.text.push_str(&self.tree.names[name as usize]);
            let value = self.tree.values[callee as usize];
            if value > 0 {
                out.extend(self.text.as_bytes());
                out.extend(format!(" {value}\n").as_bytes());
            }
            if out.len() >= end {
                return true;
            }
        }
        false
    }
}
