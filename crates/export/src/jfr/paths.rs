//! Call paths, which become stack traces.

use super::constants::Constants;
use super::encoding::{boolean, integer};
use super::pool::begin_pool;
use super::schema::Type;
use rustc_hash::FxHashMap;

/// Maximum number of frames of a stack trace. A deeper stack loses its outermost frames: each new
/// path of a deep recursion would otherwise be as long as the recursion is deep.
pub(super) const MAX_FRAMES: u32 = 256;

/// Maximum number of call paths in memory.
const MAX_PATHS: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// Key of the frame type of methods that may be compiled or not. JDK Mission Control needs one for
/// each frame. It is 0, as in HotSpot, although 0 is null for other types.
pub(super) const UNKNOWN_FRAME: u64 = 0;

/// Key of the frame type of native methods. It is HotSpot's, which async-profiler's converter
/// expects.
pub(super) const NATIVE_FRAME: u64 = 3;

/// The line of a frame in a native method.
pub(super) const NATIVE_LINE: i64 = -2;

/// Number of a node in the tree of call paths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Path(u32);

impl Path {
    /// The path without a frame.
    pub(super) const EMPTY: Self = Self(0);

    /// The path whose outermost frames are unknown.
    pub(super) const CUT: Self = Self(1);
}

/// The call paths, as a tree.
#[derive(Debug)]
pub(super) struct Paths {
    nodes: Vec<Node>,
    index: FxHashMap<(Path, u32, i32), Path>,
    /// The paths whose stack traces the current chunk uses.
    used: Vec<Path>,
    /// Key of the latest stack trace.
    last_trace: u32,
    /// Approximate number of bytes of the stack traces in the current chunk.
    bytes: usize,
}

/// A call path: that of its caller, and a frame.
#[derive(Clone, Copy, Debug)]
struct Node {
    caller: Path,
    /// Key of the method.
    method: u32,
    line: i32,
    depth: u32,
    /// Key of the stack trace; 0 if there is none.
    trace: u32,
    /// True if the current chunk uses the stack trace.
    is_used: bool,
    /// The callee that was found last. It is often the next one to be looked up.
    recent: Path,
}

impl Default for Paths {
    fn default() -> Self {
        let root = Node {
            caller: Path::EMPTY,
            method: 0,
            line: 0,
            depth: 0,
            trace: 0,
            is_used: false,
            recent: Path::EMPTY,
        };
        Self {
            nodes: vec![root, root],
            index: FxHashMap::default(),
            used: Vec::new(),
            last_trace: 0,
            bytes: 0,
        }
    }
}

impl Paths {
    fn node(&self, path: Path) -> &Node {
        &self.nodes[path.0 as usize]
    }

    /// Returns the path that leads from `caller` to a line of a method. A line below 1 is unknown,
    /// apart from [`NATIVE_LINE`].
    #[inline]
    pub(super) fn callee(&mut self, caller: Path, method: u32, line: i64) -> Path {
        let line = match line {
            NATIVE_LINE => NATIVE_LINE as i32,
            _ => i32::try_from(line.max(0)).unwrap_or(0),
        };
        let recent = self.node(caller).recent;
        let node = self.node(recent);
        if recent != Path::EMPTY && node.method == method && node.line == line {
            return recent;
        }
        let next = Path(self.nodes.len() as u32);
        let path = *self.index.entry((caller, method, line)).or_insert(next);
        if path == next {
            self.nodes.push(Node {
                caller,
                method,
                line,
                depth: self.node(caller).depth + 1,
                trace: 0,
                is_used: false,
                recent: Path::EMPTY,
            });
        }
        self.nodes[caller.0 as usize].recent = path;
        path
    }

    /// Returns the caller's path, and the key of the method that it calls.
    #[inline]
    pub(super) fn split(&self, path: Path) -> (Path, u32) {
        let node = self.node(path);
        (node.caller, node.method)
    }

    /// Returns the key of the stack trace with the path's frames, which the current chunk uses; 0
    /// if the path has none.
    #[inline]
    pub(super) fn trace(&mut self, path: Path) -> u64 {
        let node = &mut self.nodes[path.0 as usize];
        if !node.is_used && node.depth > 0 {
            node.is_used = true;
            self.used.push(path);
            self.bytes += 6 * node.depth.min(MAX_FRAMES) as usize;
            if node.trace == 0 {
                self.last_trace += 1;
                node.trace = self.last_trace;
            }
        }
        node.trace.into()
    }

    /// Returns the approximate size of the stack traces of the current chunk in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if no more paths should be added.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_PATHS
    }

    /// Forgets all paths. The keys of their stack traces do not return.
    pub(super) fn clear(&mut self) {
        *self = Self {
            last_trace: self.last_trace,
            ..Self::default()
        };
    }

    /// Appends the stack traces that the current chunk uses, begins the next chunk, and returns the
    /// number of pools.
    pub(super) fn write(&mut self, constants: &mut Constants, out: &mut Vec<u8>) -> u64 {
        let used = std::mem::take(&mut self.used);
        if used.is_empty() {
            return 0;
        }
        begin_pool(Type::StackTrace, used.len(), out);
        for path in used {
            self.write_trace(path, constants, out);
            self.nodes[path.0 as usize].is_used = false;
        }
        self.bytes = 0;
        1
    }

    /// Appends a stack trace, the innermost frame first.
    fn write_trace(&self, path: Path, constants: &mut Constants, out: &mut Vec<u8>) {
        let Node { trace, depth, .. } = *self.node(path);
        integer(out, trace.into());
        boolean(out, depth > MAX_FRAMES || self.is_cut(path));
        integer(out, depth.min(MAX_FRAMES).into());
        let mut at = path;
        for _ in 0..depth.min(MAX_FRAMES) {
            let node = self.node(at);
            constants.touch_method(node.method);
            integer(out, node.method.into());
            // The line, the index of the bytecode, and the type of the frame.
            if node.line == NATIVE_LINE as i32 {
                integer(out, u32::MAX.into()); // -1
                integer(out, 0);
                integer(out, NATIVE_FRAME);
            } else {
                integer(out, node.line as u64);
                integer(out, 0);
                integer(out, UNKNOWN_FRAME);
            }
            at = node.caller;
        }
    }

    /// Returns true if the outermost frames of the path are unknown.
    fn is_cut(&self, mut path: Path) -> bool {
        while self.node(path).depth > 0 {
            path = self.node(path).caller;
        }
        path == Path::CUT
    }
}
