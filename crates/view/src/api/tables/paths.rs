//! Sums by call path: the call tree.

use crate::api::Fault;
use crate::api::query::Query;
use crate::net::Net;
use crate::{SHORTER, Sums};
use jtrail_model::Cost;
use serde_json::{Value, json};

/// Maximum number of call paths without `limit`; the smallest ones are left out.
const MAX_PATHS: usize = 20_000;
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
            if total <= least || tree.frame(*callee) == SHORTER {
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
