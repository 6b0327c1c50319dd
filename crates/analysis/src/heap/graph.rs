//! A directed graph in compressed sparse rows: the edges of a node are a slice of one array.

/// The edges of a graph, grouped by the node at one end.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The index of each node's first edge, followed by the number of edges.
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl Rows {
    /// Creates the graph with `edges` over `nodes` nodes. An edge leads from the first to the
    /// second node of its pair. `edges` is called twice, and must yield the same edges both times.
    ///
    /// There may be at most `u32::MAX` edges.
    pub(super) fn new<I>(nodes: usize, edges: impl Fn() -> I) -> Self
    where
        I: Iterator<Item = (u32, u32)>,
    {
        let mut starts = vec![0_u32; nodes + 1];
        for (from, _) in edges() {
            starts[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut ends = vec![0_u32; starts[nodes] as usize];
        for (from, to) in edges() {
            let place = &mut next[from as usize];
            ends[*place as usize] = to;
            *place += 1;
        }
        Self { starts, ends }
    }

    /// Returns the other ends of the node's edges.
    pub(super) fn of(&self, node: u32) -> &[u32] {
        let at = node as usize;
        &self.ends[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    pub(super) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_found_by_node() {
        let edges = [(2, 0), (0, 1), (2, 2), (0, 3), (2, 0)];
        let rows = Rows::new(4, || edges.iter().copied());
        assert_eq!(rows.nodes(), 4);
        let of: Vec<&[u32]> = (0..4).map(|n| rows.of(n)).collect();
        assert_eq!(of, [&[1, 3][..], &[], &[0, 2, 0], &[]]);
        assert_eq!(Rows::new(0, || [].into_iter()).nodes(), 0);
    }
}
