//! Sums by call path: the call tree, and callers and callees of a method.

use crate::api::Fault;
use crate::api::query::Query;
use crate::net::Net;
use crate::{MethodSum, Sums};
use jtrail_model::Cost;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

/// Maximum number of call paths without `limit`; the smallest ones are left out.
const MAX_PATHS: usize = 20_000;
/// The method that stands for the paths that are left out.
const SHORTER: u32 = u32::MAX - 1;

/// Returns the callers or the callees of a method. Total is the time of the callees within their
/// callers.
pub(super) fn related(
    sums: &Sums,
    cost: Cost,
    method: u32,
    callees: bool,
) -> FxHashMap<u32, MethodSum> {
    let (tree, net) = (sums.tree(), Net::of(sums, cost));
    let mut related: FxHashMap<u32, MethodSum> = FxHashMap::default();
    for node in 1..tree.len() as u32 {
        let (caller, callee) = (tree.frame(tree.parent(node)), tree.frame(node));
        let (is_it, other) = match callees {
            true => (caller == method, callee),
            // The frame of the root is the number of no method.
            false => (callee == method, caller),
        };
        if is_it {
            let sum = related.entry(other).or_default();
            sum.add(&MethodSum {
                calls: sums.path(node).calls,
                self_time: net.own(node),
                total: net.totals()[node as usize],
            });
        }
    }
    related
}

/// Returns the call tree in preorder. The smallest paths are one for each caller.
pub(super) fn tree(sums: &Sums, cost: Cost, query: &Query) -> Result<Value, Fault> {
    let limit = query.optional("limit")?.unwrap_or(MAX_PATHS);
    let (tree, net) = (sums.tree(), Net::of(sums, cost));
    let totals = net.totals();
    let mut sizes: Vec<i64> = totals.iter().skip(1).copied().collect();
    sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
    let least = sizes.get(limit).copied().unwrap_or(i64::MIN);
    let callees = tree.callees();
    let (mut parents, mut methods) = (vec![0_u32], vec![u32::MAX]);
    let (mut calls, mut own, mut all) = (vec![0_u64], vec![0_i64], vec![totals[0]]);
    let mut open: Vec<(u32, u32)> = vec![(0, 0)];
    while let Some((node, number)) = open.pop() {
        let (mut shorter, mut shorter_calls) = (0_i64, 0_u64);
        for callee in callees.of(node) {
            let (total, path) = (totals[*callee as usize], sums.path(*callee));
            if total == 0 && path.calls == 0 {
                continue;
            }
            if total <= least {
                shorter = shorter.saturating_add(total);
                shorter_calls = shorter_calls.saturating_add(path.calls);
                continue;
            }
            open.push((*callee, parents.len() as u32));
            parents.push(number);
            methods.push(tree.frame(*callee));
            calls.push(path.calls);
            own.push(net.own(*callee));
            all.push(total);
        }
        if shorter > 0 || shorter_calls > 0 {
            parents.push(number);
            methods.push(SHORTER);
            calls.push(shorter_calls);
            own.push(shorter);
            all.push(shorter);
        }
    }
    Ok(json!({
        "share": sums.share(),
        "nodes": {
            "parent": parents,
            "method": methods,
            "calls": calls,
            "self": own,
            "total": all,
        },
    }))
}
