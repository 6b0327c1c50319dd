//! Methods as functions, with their names and source files.

use crate::profile::{DEEPER, Frame, SUMS};
use jtrail_model::MethodId;
use jtrail_model::names::Names;
use rustc_hash::FxHashMap;

/// The name of what happens outside of all recorded calls.
const OUTSIDE: &str = "[outside of calls]";

/// The functions of a profile. Their ids are 1, 2, 3 … in the order of first mentions.
#[derive(Debug, Default)]
pub(super) struct Functions {
    ids: FxHashMap<Frame, u64>,
    frames: Vec<Frame>,
}

/// A function with its texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Function {
    pub(super) id: u64,
    pub(super) name: String,
    /// Name with the descriptor; empty if it is the name.
    pub(super) system_name: String,
    /// Source file or class; empty if unknown.
    pub(super) file: String,
    /// First source line; 0 if unknown.
    pub(super) line: u64,
}

impl Functions {
    /// Returns the id of a frame's function. The root stands for what is outside of all calls.
    pub(super) fn id(&mut self, frame: Frame) -> u64 {
        let next = self.frames.len() as u64 + 1;
        let id = *self.ids.entry(frame).or_insert(next);
        if id == next {
            self.frames.push(frame);
        }
        id
    }

    /// Passes all functions to `visit`, in the order of their ids.
    pub(super) fn for_each(&self, names: &Names, mut visit: impl FnMut(Function)) {
        let name = |frame: &Frame| match frame {
            Frame::Method(method) => names.readable_method(*method),
            Frame::Sums => SUMS.to_owned(),
            Frame::Deeper => DEEPER.to_owned(),
            Frame::Root | Frame::Thread(_) => OUTSIDE.to_owned(),
        };
        let mut counts: FxHashMap<String, u32> = FxHashMap::default();
        for frame in &self.frames {
            *counts.entry(name(frame)).or_default() += 1;
        }
        for (id, frame) in (1..).zip(&self.frames) {
            let (mut name, mut system_name) = (name(frame), String::new());
            let (mut file, mut line) = Default::default();
            if let Frame::Method(method) = frame {
                (file, line) = source(names, *method);
                system_name = names.raw_method(*method);
                if counts[&name] > 1 {
                    name.clone_from(&system_name);
                }
                // Tools demangle a name that equals the system name.
                if name == system_name {
                    system_name.clear();
                }
            }
            visit(Function {
                id,
                name,
                system_name,
                file,
                line,
            });
        }
    }
}

/// Returns a method's source file with the folder of its package, and its first line.
fn source(names: &Names, method: MethodId) -> (String, u64) {
    let Some(method) = names.method(method) else {
        return Default::default();
    };
    let class = names.class(method.class);
    let file = match (names.source(method.class), class.rsplit_once('.')) {
        (None, _) => class,
        (Some(source), None) => source.to_owned(),
        (Some(source), Some((package, _))) => format!("{}/{source}", package.replace('.', "/")),
    };
    (file, u64::try_from(method.line).unwrap_or(0))
}
