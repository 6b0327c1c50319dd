//! The call tree: a path for each row of callers, with the sums of its calls.
//!
//! Real programs have paths by the million, most of them called a few times, so that a report's time goes where memory is waited for: a
//! path is small, what few traces tell of it stands apart, and most are found from their caller without a table.

use super::MethodStat;
use crate::analysis::table::Table;
use jtrail_model::{Cost, MethodId};
use rustc_hash::FxHashMap;

/// Callees of one path that are looked for one by one. Where there are more, a table has them.
const FEW: u32 = 8;
/// Follows the last callee.
const NONE: u32 = 0;

/// The call tree of a trace.
#[derive(Debug)]
pub struct Tree {
    /// In the order of first call.
    methods: Vec<MethodId>,
    /// Places in `methods`, from 1.
    places: Table<u32>,
    /// The first one is the root. Callers stand before callees.
    paths: Vec<Path>,
    /// Of paths with many callees, these by method.
    callees: FxHashMap<(u32, u32), u32>,
    /// By path, up to the last that has any.
    details: Vec<Detail>,
}

#[derive(Clone, Debug, Default)]
struct Path {
    /// Place of its method.
    method: u32,
    parent: u32,
    /// The callee that was looked for last: often the next one is the same.
    recent: u32,
    /// The callee that came last, and of the same caller the one that came before.
    newest: u32,
    older: u32,
    callees: u32,
    calls: u64,
    total: i64,
    own: i64,
}

/// What few traces tell of calls.
#[derive(Clone, Copy, Debug, Default)]
struct Detail {
    exceptions: u64,
    overhead: i64,
    cpu_total: i64,
    cpu_own: i64,
    bounds: Option<(i64, i64)>,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            places: Table::default(),
            paths: vec![Path::default()],
            callees: FxHashMap::default(),
            details: Vec::new(),
        }
    }
}

impl Tree {
    /// Stands for the caller of outermost calls.
    pub const ROOT: u32 = 0;

    /// How many methods were called.
    pub fn method_count(&self) -> usize {
        self.methods.len()
    }

    /// All paths; callers stand before callees.
    pub fn paths(&self) -> impl Iterator<Item = u32> {
        Self::ROOT + 1..self.paths.len() as u32
    }

    /// The caller's path, or the root.
    pub fn caller(&self, path: u32) -> u32 {
        self.paths[path as usize].parent
    }

    /// The paths that go on from one, or from the root.
    pub fn callees(&self, path: u32) -> impl Iterator<Item = u32> {
        let mut next = self.paths[path as usize].newest;
        std::iter::from_fn(move || {
            let path = (next != NONE).then_some(next)?;
            next = self.paths[path as usize].older;
            Some(path)
        })
    }

    /// The sums of a path's calls.
    pub fn stat(&self, path: u32) -> MethodStat {
        let Path {
            method,
            calls,
            total,
            own,
            ..
        } = self.paths[path as usize];
        let detail = self.details.get(path as usize);
        let detail = detail.copied().unwrap_or_default();
        MethodStat {
            method: self.methods[method as usize],
            calls,
            total,
            own,
            exceptions: detail.exceptions,
            overhead: detail.overhead,
            cpu_total: detail.cpu_total,
            cpu_own: detail.cpu_own,
            bounds: detail.bounds,
        }
    }

    /// Takes off what recording took: see [`super::Calls::without`].
    pub(super) fn without(&mut self, cost: Cost) {
        // Calls directly below a path, and all below it. Callees stand behind callers.
        let mut below = vec![(0_u64, 0_u64); self.paths.len()];
        for path in (1..self.paths.len()).rev() {
            let (callees, all) = below[path];
            let Path {
                parent,
                calls,
                total,
                own,
                ..
            } = &mut self.paths[path];
            let caller = &mut below[*parent as usize];
            caller.0 = caller.0.saturating_add(*calls);
            caller.1 = caller.1.saturating_add(*calls).saturating_add(all);
            let of_own = cost.of(calls.saturating_add(callees));
            let of_all = cost.of(calls.saturating_add(all.saturating_mul(2)));
            *own = own.saturating_sub(of_own).max(0);
            *total = total.saturating_sub(of_all).max(*own);
        }
    }

    /// The sums by method, in the order of first call.
    pub fn methods(&self) -> Vec<MethodStat> {
        let mut stats: Vec<_> = self.methods.iter().map(|m| MethodStat::new(*m)).collect();
        // How many calls of a method enclose the present path.
        let mut open = vec![0_u32; self.methods.len()];
        let mut path = self.paths[Self::ROOT as usize].newest;
        while path != Self::ROOT {
            let Path { method, newest, .. } = self.paths[path as usize];
            let method = method as usize;
            stats[method].add_path(&self.stat(path), open[method] == 0);
            open[method] += 1;
            if newest != NONE {
                path = newest;
                continue;
            }
            while path != Self::ROOT {
                let done = &self.paths[path as usize];
                open[done.method as usize] -= 1;
                if done.older != NONE {
                    path = done.older;
                    break;
                }
                path = done.parent;
            }
        }
        stats
    }

    /// The path of a method's calls by that of their caller, which is made if need be.
    pub(super) fn callee(&mut self, caller: u32, method: MethodId) -> u32 {
        let method = self.place(method);
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

    fn place(&mut self, method: MethodId) -> u32 {
        let mut number = self.places.get(method.0);
        if number == 0 {
            self.methods.push(method);
            number = self.methods.len() as u32;
            self.places.set(method.0, number);
        }
        number - 1
    }

    fn add_callee(&mut self, caller: u32, method: u32) -> u32 {
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

    pub(super) fn add(&mut self, path: u32, calls: u64, total: i64, own: i64) {
        let path = &mut self.paths[path as usize];
        path.calls = path.calls.saturating_add(calls);
        path.total = path.total.saturating_add(total);
        path.own = path.own.saturating_add(own);
    }

    pub(super) fn add_cpu(&mut self, path: u32, total: i64, own: i64) {
        if (total, own) != (0, 0) {
            let detail = self.detail(path);
            detail.cpu_total = detail.cpu_total.saturating_add(total);
            detail.cpu_own = detail.cpu_own.saturating_add(own);
        }
    }

    pub(super) fn add_exceptions(&mut self, path: u32, exceptions: u64) {
        if exceptions != 0 {
            let detail = self.detail(path);
            detail.exceptions = detail.exceptions.saturating_add(exceptions);
        }
    }

    pub(super) fn add_overhead(&mut self, path: u32, overhead: i64) {
        if overhead != 0 {
            let detail = self.detail(path);
            detail.overhead = detail.overhead.saturating_add(overhead);
        }
    }

    /// Takes bounds of aggregated calls; two zeros say that they were not measured.
    pub(super) fn widen(&mut self, path: u32, (min, max): (i64, i64)) {
        if (min, max) != (0, 0) {
            let bounds = &mut self.detail(path).bounds;
            *bounds = Some(wider(*bounds, (min, max)));
        }
    }

    fn detail(&mut self, path: u32) -> &mut Detail {
        let path = path as usize;
        if self.details.len() <= path {
            self.details.resize(path + 1, Detail::default());
        }
        &mut self.details[path]
    }
}

impl MethodStat {
    fn new(method: MethodId) -> Self {
        Self {
            method,
            calls: 0,
            total: 0,
            own: 0,
            exceptions: 0,
            overhead: 0,
            cpu_total: 0,
            cpu_own: 0,
            bounds: None,
        }
    }

    /// Takes the calls of a path. `is_outermost`: no call of the method encloses them.
    fn add_path(&mut self, path: &Self, is_outermost: bool) {
        self.calls = self.calls.saturating_add(path.calls);
        self.own = self.own.saturating_add(path.own);
        self.cpu_own = self.cpu_own.saturating_add(path.cpu_own);
        self.exceptions = self.exceptions.saturating_add(path.exceptions);
        self.overhead = self.overhead.saturating_add(path.overhead);
        if is_outermost {
            self.total = self.total.saturating_add(path.total);
            self.cpu_total = self.cpu_total.saturating_add(path.cpu_total);
        }
        if let Some(bounds) = path.bounds {
            self.bounds = Some(wider(self.bounds, bounds));
        }
    }
}

fn wider(bounds: Option<(i64, i64)>, (min, max): (i64, i64)) -> (i64, i64) {
    let (least, most) = bounds.unwrap_or((min, max));
    (least.min(min), most.max(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_are_found_however_many_there_are() {
        let mut tree = Tree::default();
        let caller = tree.callee(Tree::ROOT, MethodId(7));
        for count in [1, FEW, FEW + 1, 100 * FEW].map(u64::from) {
            for _ in 0..3 {
                for method in 0..count {
                    let path = tree.callee(caller, MethodId(method));
                    assert_eq!(tree.stat(path).method, MethodId(method));
                    assert_eq!(tree.caller(path), caller);
                    tree.add(path, 1, 0, 0);
                }
            }
            assert_eq!(tree.callees(caller).count() as u64, count);
        }
        assert_eq!(tree.callees(Tree::ROOT).collect::<Vec<_>>(), [caller]);
        assert_eq!(tree.paths().count() as u32, 1 + 100 * FEW);
        let calls: u64 = tree.methods().iter().map(|method| method.calls).sum();
        assert_eq!(calls, 3 * u64::from(1 + FEW + FEW + 1 + 100 * FEW));
    }

    #[test]
    fn a_path_is_small() {
        assert_eq!(size_of::<Path>(), 48);
    }
}
