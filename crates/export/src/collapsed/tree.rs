//! The call paths with their names, and the walk that writes them.

use jtrail_model::MethodId;
use rustc_hash::FxHashMap;

/// Number of bytes after which a part of the output ends.
const PART: usize = 1 << 20;

/// The call paths of all threads, or of each thread. Paths with equal names are one.
#[derive(Debug)]
pub(super) struct Tree {
    /// The first path is the root, which has no name.
    pub(super) paths: Vec<Path>,
    index: FxHashMap<(u32, u32), u32>,
    names: Vec<String>,
    numbers: FxHashMap<String, u32>,
    /// Numbers of the names of methods.
    pub(super) methods: FxHashMap<MethodId, u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Number of the name of its last frame.
    pub(super) name: u32,
    parent: u32,
    pub(super) value: i64,
}

impl Default for Tree {
    fn default() -> Self {
        let root = Path {
            name: 0,
            parent: 0,
            value: 0,
        };
        Self {
            paths: vec![root],
            index: FxHashMap::default(),
            names: vec![String::new()],
            numbers: FxHashMap::default(),
            methods: FxHashMap::default(),
        }
    }
}

impl Tree {
    /// Returns the path of a callee by its name.
    pub(super) fn callee(&mut self, parent: u32, name: &str) -> u32 {
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let next = self.names.len() as u32;
                self.names.push(name.to_owned());
                self.numbers.insert(name.to_owned(), next);
                next
            }
        };
        self.callee_of_name(parent, number)
    }

    /// Returns the path of a callee by the number of its name.
    pub(super) fn callee_of_name(&mut self, parent: u32, name: u32) -> u32 {
        let next = self.paths.len() as u32;
        let path = *self.index.entry((parent, name)).or_insert(next);
        if path == next {
            self.paths.push(Path {
                name,
                parent,
                value: 0,
            });
        }
        path
    }
}

/// A walk over all paths, callers before callees.
#[derive(Debug)]
pub(super) struct Walk {
    tree: Tree,
    /// For each path its callees, the first in the order of names at the end.
    callees: Vec<Vec<u32>>,
    /// The paths that lead to the current one, with the length of the text before each.
    open: Vec<(u32, usize)>,
    text: String,
}

impl Walk {
    pub(super) fn new(tree: Tree) -> Self {
        let mut callees = vec![Vec::new(); tree.paths.len()];
        for (at, path) in tree.paths.iter().enumerate().skip(1) {
            callees[path.parent as usize].push(at as u32);
        }
        for list in &mut callees {
            let name = |path: &u32| &tree.names[tree.paths[*path as usize].name as usize];
            list.sort_by(|a, b| name(b).cmp(name(a)));
        }
        Self {
            tree,
            callees,
            open: vec![(0, 0)],
            text: String::new(),
        }
    }

    /// Appends some lines. Returns true if more follow.
    pub(super) fn write_part(&mut self, out: &mut Vec<u8>) -> bool {
        let end = out.len() + PART;
        while let Some(&(at, before)) = self.open.last() {
            let Some(callee) = self.callees[at as usize].pop() else {
                self.text.truncate(before);
                self.open.pop();
                continue;
            };
            let path = self.tree.paths[callee as usize];
            self.open.push((callee, self.text.len()));
            if !self.text.is_empty() {
                self.text.push(';');
            }
            self.text.push_str(&self.tree.names[path.name as usize]);
            if path.value > 0 {
                out.extend(self.text.as_bytes());
                out.extend(format!(" {}\n", path.value).as_bytes());
            }
            if out.len() >= end {
                return true;
            }
        }
        false
    }
}
