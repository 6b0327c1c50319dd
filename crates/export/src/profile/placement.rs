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
//!
//! Calls of `c` that are not selected are part of their callers, so that the places of these have a
//! share in the negative time, too. If `c` is a sum that is not selected, its caller is one that
//! has a negative time itself. A call that is not selected and has no caller is nowhere in the
//! profile, and so is its share. If no call of `c` is selected, `d` becomes a callee of the place
//! that contains all of them, or `(sums);d` if there are several.

use super::nodes::Nodes;
use super::{Frame, MAX_FRAMES, Profile, Weights};
use crate::sink::Cost;
use jtrail_model::MethodId;
use rustc_hash::FxHashMap;

/// Maximum number of times that all callers are looked at. More than two are needed only if callers
/// contain each other's calls.
const MAX_ROUNDS: usize = 64;

/// No node, and no caller.
const NONE: u32 = u32::MAX;

/// A method of a thread that called sums.
#[derive(Debug)]
struct Caller {
    /// The node below the frame of sums.
    node: u32,
    /// The nodes of the method on the thread.
    places: Vec<u32>,
    /// The nodes that contain calls of the method which are not selected, with what these took.
    hidden: Vec<(u32, Cost)>,
    /// The place of its sums, if there is one.
    host: Host,
}

impl Caller {
    /// Returns true if calls of the method are not selected, and none is.
    fn is_hidden(&self) -> bool {
        self.places.is_empty() && !self.hidden.is_empty()
    }

    /// Returns the nodes of the method, or those that contain its calls if it has none.
    fn homes(&self) -> impl Iterator<Item = u32> {
        let hidden = self.hidden.iter().filter(|_| self.places.is_empty());
        let hidden = hidden.map(|(at, _)| *at);
        self.places.iter().copied().chain(hidden)
    }
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
        let mut placement = Placement::new(&self.nodes, std::mem::take(&mut self.hidden));
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
    fn new(nodes: &Nodes, hidden: FxHashMap<(u32, MethodId), Cost>) -> Self {
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
                        hidden: Vec::new(),
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
        for ((at, method), cost) in hidden {
            // What a caller of sums contains of its own calls is in its other places.
            if let Some(caller) = index.get(&(threads[at as usize], method))
                && callers[*caller as usize].node != at
            {
                callers[*caller as usize].hidden.push((at, cost));
            }
        }
        for caller in &mut callers {
            // The last place gives what rounding leaves. Callers would pass it on.
            let rank = |at| (!is_caller(nodes, at), at);
            caller.hidden.sort_unstable_by_key(|(at, _)| rank(*at));
        }
        Self {
            callers,
            within,
            frames,
        }
    }

    /// Takes the negative times of callers from their places. This may make other callers negative
    /// that contain calls which are not selected.
    fn cancel(&mut self, nodes: &mut Nodes) {
        for _ in 0..MAX_ROUNDS {
            let mut has_taken = false;
            for caller in &mut self.callers {
                has_taken |= take(nodes, caller, |of| &mut of.time);
                has_taken |= take(nodes, caller, |of| &mut of.cpu);
            }
            if !has_taken {
                break;
            }
        }
    }

    /// Finds the place of each caller that has only one.
    fn find_hosts(&mut self, nodes: &Nodes) {
        // For each caller, those that are called in its sums: their places depend on its place.
        let mut dependent = vec![Vec::new(); self.callers.len()];
        let mut missing = vec![0_u32; self.callers.len()];
        for (number, caller) in self.callers.iter().enumerate() {
            for place in caller.homes() {
                if let Some(dependent) = dependent.get_mut(self.within[place as usize] as usize) {
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
                self.callers[first].host = self.unknown_host(first, nodes);
                ready.extend(release(&dependent[first], &mut missing));
            }
        }
    }

    /// Returns where a caller is, if all its places turn out to be one.
    fn host(&self, number: usize, nodes: &Nodes) -> Host {
        if self.callers[number].is_hidden() {
            return self.host_of_hidden(number, nodes);
        }
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

    /// Returns where the sums of a caller are that is not selected: in the node that contains all
    /// its calls.
    fn host_of_hidden(&self, number: usize, nodes: &Nodes) -> Host {
        let containing = |at: u32| {
            let caller = self.callers.get(self.within[at as usize] as usize);
            match caller.filter(|caller| caller.node == at) {
                None => Some(at),
                Some(caller) => match caller.host {
                    Host::Node(host, _) => Some(host),
                    Host::Unknown | Host::Unresolved => None,
                },
            }
        };
        let mut places = self.callers[number].homes().map(containing);
        let first = places.next().flatten();
        match first.filter(|_| places.all(|other| other == first)) {
            Some(at) if self.frames_at_last(at) < MAX_FRAMES as u32 => {
                Host::Node(at, self.frames_at_last(at))
            }
            _ => self.unknown_host(number, nodes),
        }
    }

    /// Returns the place of sums whose call path is unknown: their caller below the frame of sums,
    /// or that frame itself if the caller is not selected.
    fn unknown_host(&self, number: usize, nodes: &Nodes) -> Host {
        let caller = &self.callers[number];
        match caller.is_hidden() {
            true => Host::Node(nodes.parent(caller.node), 1),
            false => Host::Unknown,
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

/// Takes a negative time of a caller, or its negative CPU time, from its places. What these do not
/// have remains. Returns true if they had some.
fn take(nodes: &mut Nodes, caller: &mut Caller, part: impl Fn(&mut Cost) -> &mut i64) -> bool {
    let of = |nodes: &Nodes, at: u32| *part(&mut cost(nodes, at));
    let missing = -i128::from(of(nodes, caller.node).min(0));
    if missing == 0 {
        return false;
    }
    // The frame of sums is between the thread and its callers.
    let thread = nodes.parent(nodes.parent(caller.node));
    let mut has = Vec::with_capacity(caller.hidden.len() + caller.places.len());
    for (at, hidden) in &mut caller.hidden {
        // A caller of sums may become negative, and a thread does not have the time.
        let most = match *at == thread || is_caller(nodes, *at) {
            true => i64::MAX,
            false => of(nodes, *at),
        };
        has.push((*part(hidden)).min(most).max(0));
    }
    has.extend(caller.places.iter().map(|at| of(nodes, *at).max(0)));
    let all: i128 = has.iter().copied().map(i128::from).sum();
    let taken = missing.min(all);
    let mut add = |at, amount| {
        let mut change = Cost::default();
        *part(&mut change) = amount;
        let Cost { time, cpu } = change;
        let weights = Weights {
            self_time: time,
            cpu,
            ..Weights::default()
        };
        nodes.add(at, &weights);
    };
    add(caller.node, i64::try_from(taken).unwrap_or(i64::MAX));
    let mut shares = shares(taken, all, &has).into_iter();
    for ((at, hidden), share) in caller.hidden.iter_mut().zip(shares.by_ref()) {
        *part(hidden) -= share;
        if *at != thread {
            add(*at, -share);
        }
    }
    for (at, share) in caller.places.iter().zip(shares) {
        add(*at, -share);
    }
    taken > 0
}

fn cost(nodes: &Nodes, at: u32) -> Cost {
    let Weights { self_time, cpu, .. } = nodes.weights(at);
    Cost {
        time: self_time,
        cpu,
    }
}

/// Divides `taken` of `all` in proportion to the parts of `all`. Each part gives up to its share of
/// the whole so far, so that rounding leaves no rest.
fn shares(taken: i128, all: i128, parts: &[i64]) -> Vec<i64> {
    let (mut seen, mut given) = (0, 0);
    let share = |part: &i64| {
        seen += i128::from(*part);
        let share = taken.saturating_mul(seen) / all.max(1) - given;
        given += share;
        share as i64 // at most the part
    };
    parts.iter().map(share).collect()
}

/// Returns true if the node is that of a caller, below the frame of sums.
fn is_caller(nodes: &Nodes, at: u32) -> bool {
    nodes.frame(nodes.parent(at)) == Frame::Sums
}

#[cfg(test)]
mod tests;
