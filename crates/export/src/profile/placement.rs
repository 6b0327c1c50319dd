//! Takes the time of sums from their callers, and finds the call paths of sums.
//!
//! A trace has the sums of a thread by method and caller: `c` called `d` so many times, which took
//! so long with all callees. While the trace is read, they are `(sums);c;d` below the thread. `d`
//! has the time of the sum, and `c` has the negative of it, because this time is also part of the
//! time that `c` has elsewhere: in its own calls, or in the sums of its calls.
//!
//! - If `c` is at one place of the thread, all calls by `c` are there. So `d` becomes a callee of
//!   `c` at that place, and its path is complete if that of `c` is.
//! - If `c` is at several places, nobody knows which of them called `d`. `(sums);c;d` remains.
//!
//! The negative time is taken from all places of `c`, in proportion to their times. Times by method
//! and their totals are exact in either case. If the places have less time than that, because the
//! trace lacks calls, the rest remains as a negative time of `(sums);c`.

use super::nodes::Nodes;
use super::{Frame, MAX_FRAMES, Profile, Weights};
use jtrail_model::MethodId;
use rustc_hash::FxHashMap;

/// No node, and no caller.
const NONE: u32 = u32::MAX;

/// A method of a thread that called sums.
#[derive(Debug)]
struct Caller {
    /// The node below the frame of sums.
    node: u32,
    /// The nodes of the method on the thread.
    places: Vec<u32>,
    /// The place of its sums, if there is one.
    host: Host,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Host {
    Unresolved,
    Unknown,
    /// The node of the place, and the number of its frames.
    Node(u32, u32),
}

impl Profile {
    /// Moves sums to their callers, as far as it is known where these were called.
    pub(super) fn place_sums(&mut self) {
        if !self.nodes.iter().any(|node| node.frame == Frame::Sums) {
            return;
        }
        let mut placement = Placement::new(&self.nodes);
        placement.cancel(&mut self.nodes);
        placement.find_hosts(&self.nodes);
        let nodes = std::mem::take(&mut self.nodes);
        self.nodes = placement.build(&nodes);
    }
}

struct Placement {
    callers: Vec<Caller>,
    /// For each node the caller of sums that it is or that is above it; none outside of sums.
    within: Vec<u32>,
    /// For each node the number of frames of its path below the thread.
    frames: Vec<u32>,
}

impl Placement {
    fn new(nodes: &Nodes) -> Self {
        let count = nodes.len();
        let (mut within, mut frames, mut threads) =
            (vec![NONE; count], vec![0; count], vec![0; count]);
        let (mut callers, mut index) = (Vec::new(), FxHashMap::<(u32, MethodId), u32>::default());
        for node in nodes.iter().skip(1) {
            let (at, above) = (node.number as usize, node.parent as usize);
            (within[at], threads[at]) = (within[above], threads[above]);
            frames[at] = frames[above] + 1;
            match node.frame {
                Frame::Thread(_) => (threads[at], frames[at]) = (node.number, 0),
                Frame::Method(method) if nodes.frame(node.parent) == Frame::Sums => {
                    within[at] = callers.len() as u32;
                    index.insert((threads[at], method), callers.len() as u32);
                    callers.push(Caller {
                        node: node.number,
                        places: Vec::new(),
                        host: Host::Unresolved,
                    });
                }
                _ => {}
            }
        }
        for node in nodes.iter() {
            if let Frame::Method(method) = node.frame
                && node.weights.calls > 0
                && let Some(caller) = index.get(&(threads[node.number as usize], method))
            {
                callers[*caller as usize].places.push(node.number);
            }
        }
        Self {
            callers,
            within,
            frames,
        }
    }

    /// Takes the negative times of callers from their places.
    fn cancel(&self, nodes: &mut Nodes) {
        let self_time = |self_time| Weights {
            self_time,
            ..Weights::default()
        };
        let cpu = |cpu| Weights {
            cpu,
            ..Weights::default()
        };
        for caller in &self.callers {
            take(nodes, caller, |weights| weights.self_time, self_time);
            take(nodes, caller, |weights| weights.cpu, cpu);
        }
    }

    /// Finds the place of each caller that has only one.
    fn find_hosts(&mut self, nodes: &Nodes) {
        // For each caller, those that are called in its sums: their places depend on its place.
        let mut dependent = vec![Vec::new(); self.callers.len()];
        let mut missing = vec![0_u32; self.callers.len()];
        for (number, caller) in self.callers.iter().enumerate() {
            for place in &caller.places {
                if let Some(dependent) = dependent.get_mut(self.within[*place as usize] as usize) {
                    dependent.push(number);
                    missing[number] += 1;
                }
            }
        }
        let mut ready: Vec<usize> = Vec::new();
        ready.extend((0..missing.len()).filter(|number| missing[*number] == 0));
        for first in 0..self.callers.len() {
            while let Some(number) = ready.pop() {
                if self.callers[number].host != Host::Unresolved {
                    continue;
                }
                self.callers[number].host = self.host(number, nodes);
                ready.extend(release(&dependent[number], &mut missing));
            }
            // What is left depends on callers that call each other.
            if self.callers[first].host == Host::Unresolved {
                self.callers[first].host = Host::Unknown;
                ready.extend(release(&dependent[first], &mut missing));
            }
        }
    }

    /// Returns where a caller is, if all its places turn out to be one.
    fn host(&self, number: usize, nodes: &Nodes) -> Host {
        let mut places = self.callers[number].places.iter();
        let mut places = places.by_ref().map(|place| {
            let caller = self.callers.get(self.within[*place as usize] as usize);
            match caller.map(|caller| (caller.node == nodes.parent(*place), caller.host)) {
                // A sum may be on a path that has calls of their own.
                Some((true, Host::Node(host, _))) => {
                    nodes.find(host, nodes.frame(*place)).unwrap_or(*place)
                }
                _ => *place,
            }
        });
        let Some(place) = places
            .next()
            .filter(|first| places.all(|other| other == *first))
        else {
            return Host::Unknown;
        };
        match self.frames_at_last(place) {
            frames if frames < MAX_FRAMES as u32 => Host::Node(place, frames),
            _ => Host::Unknown,
        }
    }

    /// Returns how many frames the path of a node will have.
    fn frames_at_last(&self, node: u32) -> u32 {
        let frames = self.frames[node as usize];
        let Some(caller) = self.callers.get(self.within[node as usize] as usize) else {
            return frames;
        };
        match caller.host {
            Host::Node(_, above) => above + frames - self.frames[caller.node as usize],
            _ => frames,
        }
    }

    /// Returns all nodes, those of sums below their hosts.
    fn build(&self, nodes: &Nodes) -> Nodes {
        let (mut first, mut next) = (vec![NONE; nodes.len()], vec![NONE; nodes.len()]);
        for node in nodes.iter().skip(1).rev() {
            let at = node.number as usize;
            let caller = self.callers.get(self.within[at] as usize);
            let own = caller.filter(|caller| caller.node == node.number);
            let is_empty = node.weights == Weights::default();
            if is_empty && own.is_some_and(|caller| caller.host != Host::Unknown) {
                continue; // its sums are elsewhere
            }
            let mut parent = node.parent;
            if let Some(caller) = caller
                && caller.node == parent
                && let Host::Node(host, _) = caller.host
            {
                parent = host;
            }
            next[at] = first[parent as usize];
            first[parent as usize] = node.number;
        }
        let mut built = Nodes::default();
        // What is to be added, with the new number of the node above.
        let mut open = vec![(first[0], 0)];
        while let Some((at, above)) = open.pop() {
            if at == NONE {
                continue;
            }
            open.push((next[at as usize], above));
            let node = nodes.get(at);
            // Others that have nothing are there for the depth of recursive methods.
            let may_be_empty = matches!(node.frame, Frame::Root | Frame::Thread(_));
            let is_empty = first[at as usize] == NONE && node.weights == Weights::default();
            if is_empty && !may_be_empty {
                continue;
            }
            let number = built.callee(above, node.frame);
            built.add(number, &node.weights);
            open.push((first[at as usize], number));
        }
        built
    }
}

/// Returns those callers that depend on no unresolved caller any more, after one was resolved.
fn release<'a>(dependent: &'a [usize], missing: &'a mut [u32]) -> impl Iterator<Item = usize> + 'a {
    dependent.iter().copied().filter(|number| {
        missing[*number] -= 1;
        missing[*number] == 0
    })
}

/// Takes a negative weight of a caller from its places. What these do not have remains.
fn take(
    nodes: &mut Nodes,
    caller: &Caller,
    value: impl Fn(&Weights) -> i64,
    weights: impl Fn(i64) -> Weights,
) {
    let negative = value(&nodes.weights(caller.node));
    let own = |nodes: &Nodes, place: u32| i128::from(value(&nodes.weights(place)).max(0));
    let all: i128 = caller.places.iter().map(|place| own(nodes, *place)).sum();
    let missing = -i128::from(negative.min(0));
    let taken = missing.min(all);
    if taken == 0 {
        return;
    }
    // Each place gives up to its share of the whole so far, so that rounding leaves no rest.
    let (mut seen, mut given) = (0, 0);
    for place in &caller.places {
        seen += own(nodes, *place);
        let share = taken.saturating_mul(seen) / all - given;
        given += share;
        // A share is at most the weight, which is an i64.
        nodes.add(*place, &weights(-(share as i64)));
    }
    nodes.add(caller.node, &weights(taken as i64));
}

#[cfg(test)]
mod tests;
