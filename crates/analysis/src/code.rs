//! Compiled code (of the JIT compilers) by method.

use crate::saved::by_key;
use jtrail_model::{Event, MethodId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// The compilations of one method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CodeStat {
    /// The number of compilations.
    pub compiled: u64,
    /// The number of times that compiled code was discarded.
    pub uncompiled: u64,
    /// The size of the latest code in bytes.
    pub size: i64,
    /// The size of all code in bytes, including discarded code.
    pub bytes: i64,
    /// The number of methods inlined in the latest code.
    pub inlined: u64,
    /// The size of the bytecode in bytes.
    pub bytecode: i64,
}

/// All compilations of a trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Code {
    /// The compiled methods.
    #[serde(with = "by_key")]
    pub methods: FxHashMap<MethodId, CodeStat>,
    /// The number of compilations.
    pub compiled: u64,
    /// The number of times that code was discarded.
    pub uncompiled: u64,
    /// The size of all code in bytes.
    pub bytes: i64,
    /// The size of the bytecode of all methods for which the trace has it, in bytes.
    pub bytecode: i64,
    /// The size of bytecode by method.
    #[serde(skip)]
    bytecodes: FxHashMap<MethodId, i64>,
    /// The size of code that was not discarded, by address.
    #[serde(skip)]
    live: FxHashMap<u64, i64>,
    /// The sum of `live`, in bytes.
    live_bytes: i64,
    /// The maximum of `live_bytes`.
    pub most_live: i64,
}

impl Code {
    /// Processes compilations and their ends. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::MethodDetail(e) => {
                let old = self.bytecodes.insert(e.method, e.size).unwrap_or_default();
                self.bytecode = self.bytecode.saturating_sub(old).saturating_add(e.size);
            }
            Event::MethodCompile(e) => {
                let size = e.size.max(0);
                let stat = self.methods.entry(e.method).or_default();
                stat.bytecode = self.bytecodes.get(&e.method).copied().unwrap_or_default();
                stat.compiled += 1;
                stat.size = size;
                stat.bytes = stat.bytes.saturating_add(size);
                // All frames of a range except the last one are inlined methods.
                let inlined: FxHashSet<&str> = e
                    .ranges
                    .iter()
                    .filter_map(|r| r.frames.split_last())
                    .flat_map(|(_, inlined)| inlined.iter().map(|f| &*f.method))
                    .collect();
                stat.inlined = inlined.len() as u64;
                self.compiled += 1;
                self.bytes = self.bytes.saturating_add(size);
                // New code at an address implies that the old code was discarded, reported or not.
                let old = self.live.insert(e.address, size).unwrap_or_default();
                self.live_bytes = self.live_bytes.saturating_sub(old).saturating_add(size);
                self.most_live = self.most_live.max(self.live_bytes);
            }
            Event::MethodUncompile(e) => {
                self.methods.entry(e.method).or_default().uncompiled += 1;
                self.uncompiled += 1;
                let size = self.live.remove(&e.address).unwrap_or_default();
                self.live_bytes = self.live_bytes.saturating_sub(size);
            }
            _ => {}
        }
    }

    /// Returns the size of all code that was not discarded, in bytes.
    pub fn live_bytes(&self) -> i64 {
        self.live_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{CodeRange, Frame, MethodCompile, MethodDetail, MethodUncompile};

    fn compile(method: u64, address: u64, size: i64, frames: &[&'static str]) -> Event<'static> {
        let frame = |m: &&'static str| Frame {
            method: (*m).into(),
            line: 1,
        };
        Event::MethodCompile(MethodCompile {
            method: MethodId(method),
            address,
            size,
            ranges: vec![
                CodeRange {
                    offset: 0,
                    frames: frames.iter().map(frame).collect(),
                };
                2
            ],
            ..MethodCompile::default()
        })
    }

    #[test]
    fn compilations_are_summed() {
        let mut code = Code::default();
        let uncompile = Event::MethodUncompile(MethodUncompile {
            method: MethodId(1),
            address: 0x100,
            ..MethodUncompile::default()
        });
        let detail = Event::MethodDetail(MethodDetail {
            method: MethodId(1),
            size: 17,
        });
        for event in [
            detail,
            compile(1, 0x100, 50, &["m"]),
            compile(2, 0x200, 70, &[]),
            uncompile,
            compile(1, 0x300, 80, &["x", "y", "m"]),
            compile(2, 0x200, 30, &["m"]),
        ] {
            code.event(&event);
        }
        assert_eq!((code.compiled, code.uncompiled, code.bytes), (4, 1, 230));
        assert_eq!((code.live_bytes(), code.most_live), (110, 150));
        let stat = CodeStat {
            compiled: 2,
            uncompiled: 1,
            size: 80,
            bytes: 130,
            inlined: 2,
            bytecode: 17,
        };
        assert_eq!(code.methods[&MethodId(1)], stat);
        assert_eq!(code.methods[&MethodId(2)].uncompiled, 0);
    }
}
