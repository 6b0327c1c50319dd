//! The collected contents of a segment of events, and their packing into a payload.

use super::kept::{JoinBuffers, KeptParts};
use crate::trail::columns::{COLUMNS, Column, Packer};
use crate::trail::symbols::{MethodNames, Step, Symbols};
use crate::trail::times::TimeSteps;

/// The collected events of a segment. Expensive work is left until the segment is packed.
#[derive(Default)]
pub(super) struct Gathered {
    /// The columns that are written as events come.
    pub(super) columns: [Vec<u8>; COLUMNS],
    pub(super) steps: Vec<Step>,
    pub(super) times: TimeSteps,
    /// Steps that are kept elsewhere.
    pub(super) kept: KeptParts,
    /// The methods of the steps.
    pub(super) named: MethodNames,
}

/// Maximum bytes of a column's buffer that are kept for reuse after packing.
const MAX_KEPT_BYTES: usize = 2 << 20;

impl Gathered {
    /// Returns the maximum encoded size, in bytes.
    pub(super) fn most_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(Vec::len).sum();
        let (kept_times, kept) = self.kept.most_bytes_and_steps();
        let steps = self.steps.len() + kept;
        let width = if steps > 0xffff { 4 } else { 2 };
        // Only the first symbols count: the symbols of a segment with many methods compress well.
        columns + self.times.most_bytes() + kept_times + width * steps + 10 * steps.min(1 << 11)
    }

    pub(super) fn clear(&mut self) {
        for column in &mut self.columns {
            column.clear();
            column.shrink_to(MAX_KEPT_BYTES);
        }
        self.steps.clear();
        self.times.clear();
        self.kept.clear();
    }
}

/// Packs one segment after the other.
#[derive(Default)]
pub(super) struct SegmentPacker {
    room: JoinBuffers,
    symbols: Symbols,
    pub(super) packer: Packer,
}

impl SegmentPacker {
    /// Appends the payload of a segment.
    pub(super) fn pack(&mut self, gathered: &mut Gathered, out: &mut Vec<u8>) {
        let Gathered {
            columns,
            steps,
            times,
            kept,
            named,
        } = gathered;
        kept.join(steps, times, &mut self.room);
        let [.., symbols, _, tokens, _, _] = columns;
        self.symbols.put(steps, named, symbols, tokens);
        times.put(&mut columns[Column::Times as usize]);
        self.packer
            .pack(columns.each_ref().map(|column| &column[..]), out);
    }
}
