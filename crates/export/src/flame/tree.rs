//! The call paths of one or two traces, by names.
//!
//! Ids of methods and threads mean nothing in another trace. So the frames of this tree are names,
//! and threads and methods of equal names are one.

use crate::profile::{self, Profile};
use crate::sink::ThreadIndex;
use crate::weights::{Weights, WeightsTable};
use jtrail_analysis::CallTree;
use jtrail_model::MethodId;
use jtrail_model::names::{NO_CLASS, Names};
use rustc_hash::{FxHashMap, FxHashSet};

/// Index of the exported trace in what a tree has for each trace.
pub(super) const EXPORTED: usize = 0;
/// Index of the trace that the exported one is compared with.
pub(super) const BASE: usize = 1;

/// Number of the frame of paths that were left out.
pub(super) const LEFT_OUT: u32 = 0;
/// Number of the frame of sums.
const SUMS: u32 = 1;
/// What a node stands for.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Frame {
    /// Call paths that were left out below their caller.
    LeftOut,
    /// Above the callers of calls that were recorded as sums and whose paths are unknown.
    Sums,
    Thread(String),
    Method {
        /// Name of the class; empty if the trace does not define the method.
        class: String,
        name: String,
        descriptor: String,
    },
}

/// What is known of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Trace {
    /// Name of the trace; empty if it has none.
    pub(super) title: String,
    pub(super) program: String,
    /// The first time of slices, in ns since 1970-01-01 UTC.
    pub(super) start: i64,
    /// Time to the end of the last slice, in ns.
    pub(super) duration: i64,
    /// Number of threads with call paths.
    pub(super) threads: u64,
    /// What the trace says that it lacks, and other marks.
    pub(super) marks: Vec<String>,
}

/// The call paths of one or two traces.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// The exported trace, and the base if there is one.
    pub(super) traces: Vec<Trace>,
    pub(super) frames: Vec<Frame>,
    /// For each frame of a thread, how many threads of each trace have the name.
    pub(super) threads: FxHashMap<u32, [u64; 2]>,
    pub(super) paths: CallTree,
    /// What the calls of each path took in each trace.
    weights: [WeightsTable; 2],
    /// Number of paths that were left out.
    pub(super) left_out: u64,
}

/// A tree that grows.
struct Builder {
    tree: Tree,
    frames: FxHashMap<Frame, u32>,
}

impl Builder {
    fn new(trace: Trace) -> Self {
        Self::of(Tree {
            traces: vec![trace],
            frames: vec![Frame::LeftOut, Frame::Sums],
            threads: FxHashMap::default(),
            paths: CallTree::default(),
            weights: Default::default(),
            left_out: 0,
        })
    }

    /// Continues a complete tree.
    fn of(tree: Tree) -> Self {
        let frames = tree.frames.iter().cloned().zip(0..);
        Self {
            frames: frames.collect(),
            tree,
        }
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(&number) = self.frames.get(&frame) {
            return number;
        }
        let number = self.tree.frames.len() as u32;
        self.tree.frames.push(frame.clone());
        self.frames.insert(frame, number);
        number
    }

    fn count_threads(&mut self, frame: u32, trace: usize, count: u64) {
        self.tree.threads.entry(frame).or_default()[trace] += count;
    }
}

impl Tree {
    /// Creates the tree of a trace. Threads without calls, waits and allocations are not in it.
    pub(super) fn new(title: String, profile: &Profile, names: &Names) -> Self {
        let (first, last) = profile.span.unwrap_or_default();
        let mut builder = Builder::new(Trace {
            title,
            program: profile.program.clone(),
            start: first.0,
            duration: last.since(first).0,
            threads: 0,
            marks: profile.marks.clone(),
        });
        let used = used_threads(profile);
        let mut methods: FxHashMap<MethodId, u32> = FxHashMap::default();
        let mut numbers = vec![0];
        for node in profile.nodes.iter().skip(1) {
            let frame = match node.frame {
                profile::Frame::Thread(index) if used.contains(&index) => {
                    let thread = &profile.threads[index];
                    let count = match profile.nameless == Some(index) {
                        true => profile.nameless_count,
                        false => 1,
                    };
                    let frame = builder.frame(Frame::Thread(thread.shared_label().to_owned()));
                    builder.count_threads(frame, EXPORTED, count);
                    builder.tree.traces[EXPORTED].threads += count;
                    frame
                }
                profile::Frame::Method(method) => *methods
                    .entry(method)
                    .or_insert_with(|| builder.frame(method_frame(names, method))),
                profile::Frame::Sums => SUMS,
                profile::Frame::Deeper => builder.frame(Frame::Method {
                    class: String::new(),
                    name: profile::DEEPER.to_owned(),
                    descriptor: String::new(),
                }),
                // Nothing is below these.
                profile::Frame::Thread(_) | profile::Frame::Root => {
                    numbers.push(0);
                    continue;
                }
            };
            let parent = numbers[node.parent as usize];
            numbers.push(builder.tree.add(parent, frame, EXPORTED, &node.weights));
        }
        builder.tree
    }

    /// Adds the tree that this one is compared with.
    pub(super) fn compare(self, base: &Self) -> Self {
        let mut builder = Builder::of(self);
        builder.tree.traces.extend(base.traces.first().cloned());
        let frames = base.frames.iter().map(|frame| builder.frame(frame.clone()));
        let frames: Vec<u32> = frames.collect();
        for (&frame, counts) in &base.threads {
            builder.count_threads(frames[frame as usize], BASE, counts[EXPORTED]);
        }
        let mut numbers = vec![0];
        for path in base.numbers() {
            let parent = numbers[base.paths.parent(path) as usize];
            let frame = frames[base.paths.frame(path) as usize];
            let weights = base.weights(path, EXPORTED);
            numbers.push(builder.tree.add(parent, frame, BASE, &weights));
        }
        builder.tree
    }

    /// Returns the numbers of all paths.
    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        1..self.paths.len() as u32
    }

    /// Returns what the calls of a path took in a trace.
    pub(super) fn weights(&self, path: u32, trace: usize) -> Weights {
        self.weights[trace].get(path)
    }

    /// Adds weights to the path of a frame below another one. Returns the number of the path.
    pub(super) fn add(&mut self, parent: u32, frame: u32, trace: usize, weights: &Weights) -> u32 {
        let path = self.paths.callee(parent, frame);
        self.weights[trace].add(path, weights);
        path
    }

    /// Returns the same without any paths.
    pub(super) fn without_paths(&self) -> Self {
        Self {
            traces: self.traces.clone(),
            frames: self.frames.clone(),
            threads: self.threads.clone(),
            paths: CallTree::default(),
            weights: Default::default(),
            left_out: self.left_out,
        }
    }
}

/// Returns the threads that have weights or call paths.
fn used_threads(profile: &Profile) -> FxHashSet<ThreadIndex> {
    let mut used = FxHashSet::default();
    for node in profile.nodes.iter() {
        match (node.frame, profile.nodes.frame(node.parent)) {
            (profile::Frame::Method(_) | profile::Frame::Sums, profile::Frame::Thread(index)) => {
                used.insert(index);
            }
            (profile::Frame::Thread(index), _) if node.weights != Weights::default() => {
                used.insert(index);
            }
            _ => {}
        }
    }
    used
}

fn method_frame(names: &Names, id: MethodId) -> Frame {
    match names.method(id) {
        Some(method) => Frame::Method {
            class: match names.class(method.class) {
                class if class == NO_CLASS => String::new(),
                class => class,
            },
            name: method.name.clone(),
            descriptor: method.signature.clone(),
        },
        None => Frame::Method {
            class: String::new(),
            name: format!("method-{id}"),
            descriptor: String::new(),
        },
    }
}
