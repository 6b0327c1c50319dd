//! The call tree: a path for each distinct chain of callers, with the sums of its calls.
//!
//! Real programs have millions of paths. Most are so deep that they are of no interest, so the tree
//! has only the requested number of levels. Most paths are found in their caller's list of callees,
//! without a hash table.

use super::MethodStat;
use super::cut::Omitted;
use super::methods::Methods;
use super::sums::Sums;
use rustc_hash::FxHashMap;

/// If a path has at most this many callees, they are searched linearly. If it has more, they are in
/// a hash table.
const FEW: u32 = 8;
/// The end of a list of callees.
const NONE: u32 = 0;

/// The call tree of a trace, down to a given number of levels.
#[derive(Debug)]
pub struct Tree {
    /// The paths; the first one is the root. Callers precede callees.
    paths: Vec<Path>,
    /// For paths with many callees: the callees by caller and method.
    callees: FxHashMap<(u32, u32), u32>,
    /// Sums by path.
    pub(super) sums: Sums,
    pub(super) levels: usize,
    /// What was omitted to save the tree.
    pub(super) omitted: Omitted,
}

#[derive(Clone, Debug, Default)]
struct Path {
    /// The number of the path's method.
    method: u32,
    parent: u32,
    /// The callee that was found last. It is often the next one to be looked up.
    recent: u32,
    /// The newest callee, and the next older callee of the same caller.
    newest: u32,
    older: u32,
    callees: u32,
}

impl Tree {
    /// The caller of outermost calls.
    pub const ROOT: u32 = 0;

    /// The pseudo-path of all calls below the last level.
    pub(super) const BELOW: u32 = u32::MAX;

    /// Creates a tree with this many levels. Deeper calls have no path.
    pub(super) fn new(levels: usize) -> Self {
        let mut sums = Sums::default();
        sums.push();
        Self {
            paths: vec![Path::default()],
            callees: FxHashMap::default(),
            sums,
            levels,
            omitted: Omitted::default(),
        }
    }

    /// Returns all paths. Callers precede callees.
    pub fn paths(&self) -> impl Iterator<Item = u32> {
        Self::ROOT + 1..self.paths.len() as u32
    }

    /// Returns the caller's path, or the root.
    pub fn caller(&self, path: u32) -> u32 {
        self.paths[path as usize].parent
    }

    /// Returns the number of a path's method.
    pub(super) fn method(&self, path: u32) -> u32 {
        self.paths[path as usize].method
    }

    /// Returns the callees of a path, or of the root.
    pub fn callees(&self, path: u32) -> impl Iterator<Item = u32> {
        let mut next = self.paths[path as usize].newest;
        std::iter::from_fn(move || {
            let path = (next != NONE).then_some(next)?;
            next = self.paths[path as usize].older;
            Some(path)
        })
    }

    /// Returns the sums of a path's calls.
    pub(super) fn stat(&self, path: u32, methods: &Methods) -> MethodStat {
        let method = methods.id(self.paths[path as usize].method);
        self.sums.stat(path, method)
    }

    /// Returns the path of a method called by the path `caller`. Creates the path if necessary.
    /// `level` is the number of enclosing calls.
    pub(super) fn callee(&mut self, caller: u32, method: u32, level: usize) -> u32 {
        if level >= self.levels {
            return Self::BELOW;
        }
        let from = &self.paths[caller as usize];
        let recent = from.recent;
        if recent != NONE && self.paths[recent as usize].method == method {
            return recent;
        }
        let found = match from.callees {
            0 => None,
            1..=FEW => self
                .callees(caller)
                .find(|path| self.paths[*path as usize].method == method),
            _ => self.callees.get(&(caller, method)).copied(),
        };
        let path = found.unwrap_or_else(|| self.add_callee(caller, method));
        self.paths[caller as usize].recent = path;
        path
    }

    pub(super) fn add_callee(&mut self, caller: u32, method: u32) -> u32 {
        let path = self.paths.len() as u32;
        let from = &mut self.paths[caller as usize];
        from.callees += 1;
        let callees = from.callees;
        let older = std::mem::replace(&mut from.newest, path);
        self.paths.push(Path {
            method,
            parent: caller,
            older,
            ..Path::default()
        });
        self.sums.push();
        if callees == FEW + 1 {
            let all: Vec<u32> = self.callees(caller).collect();
            let keys = all.into_iter().map(|path| {
                let method = self.paths[path as usize].method;
                ((caller, method), path)
            });
            self.callees.extend(keys);
        } else if callees > FEW {
            self.callees.insert((caller, method), path);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::MethodId;

    #[test]
    fn callees_are_found_however_many_there_are() {
        let mut methods = Methods::default();
        let mut tree = Tree::new(2);
        let top = methods.number(MethodId(7));
        let caller = tree.callee(Tree::ROOT, top, 0);
        for count in [1, FEW, FEW + 1, 100 * FEW].map(u64::from) {
            for _ in 0..3 {
                for method in (0..count).map(MethodId) {
                    let path = tree.callee(caller, methods.number(method), 1);
                    assert_eq!(tree.stat(path, &methods).method, method);
                    assert_eq!(tree.caller(path), caller);
                    assert_eq!(tree.callee(path, top, 2), Tree::BELOW);
                }
            }
            assert_eq!(tree.callees(caller).count() as u64, count);
        }
        assert_eq!(tree.callees(Tree::ROOT).collect::<Vec<_>>(), [caller]);
        assert_eq!(tree.paths().count() as u32, 1 + 100 * FEW);
    }
}
