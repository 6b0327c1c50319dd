//! Compiled code.

use jtrail_model::{Event, MethodId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Compilations of one method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CodeStat {
    /// How often it was compiled.
    pub compiled: u64,
    /// How often such code was thrown away.
    pub uncompiled: u64,
    /// Bytes of the latest code.
    pub size: i64,
    /// Bytes of all its code, also of what was thrown away.
    pub bytes: i64,
    /// Other methods whose code is in the latest.
    pub inlined: u64,
    /// Bytes of its bytecode.
    pub bytecode: i64,
}

/// All compilations.
#[derive(Debug, Default)]
pub struct Code {
    /// By method, those that were compiled.
    pub methods: FxHashMap<MethodId, CodeStat>,
    /// Compilations.
    pub compiled: u64,
    /// Times that code was thrown away.
    pub uncompiled: u64,
    /// Bytes of all code.
    pub bytes: i64,
    /// Bytes of bytecode of all methods of which it is told.
    pub bytecode: i64,
    /// By method.
    bytecodes: FxHashMap<MethodId, i64>,
    /// Code that was not thrown away, by address.
    live: FxHashMap<u64, i64>,
    /// Bytes of it.
    live_bytes: i64,
    /// The most bytes that there were at once.
    pub most_live: i64,
}

impl Code {
    /// Takes compilations and their ends; other events are passed over.
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
                // All frames but the last of a range are inlined there.
                let inlined: FxHashSet<&str> = e
                    .ranges
                    .iter()
                    .filter_map(|r| r.frames.split_last())
                    .flat_map(|(_, inlined)| inlined.iter().map(|f| &*f.method))
                    .collect();
                stat.inlined = inlined.len() as u64;
                self.compiled += 1;
                self.bytes = self.bytes.saturating_add(size);
                // New code at an address means that the old one is gone, told or not.
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

    /// Bytes of code that was not thrown away.
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
