//! What a segment of events has gathered, and how it becomes a payload.

use super::columns::{COLUMNS, Column, Packer};
use super::symbols::{Named, Step, Symbols};
use super::times::TimeSteps;

/// The events of a segment, as they are gathered: what takes time is done when it is packed.
#[derive(Default)]
pub(super) struct Gathered {
    /// Those columns that are made as events come.
    pub(super) columns: [Vec<u8>; COLUMNS],
    pub(super) steps: Vec<Step>,
    pub(super) times: TimeSteps,
    /// The methods of the steps.
    pub(super) named: Named,
}

impl Gathered {
    /// Most bytes that they may become.
    pub(super) fn most_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(Vec::len).sum();
        // Where methods are more than a few, tokens and symbols pack well.
        let symbols = self.steps.len().min(1 << 11);
        columns + self.times.most_bytes() + 2 * self.steps.len() + 10 * symbols
    }

    pub(super) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.steps.clear();
        self.times.clear();
    }
}

/// Packs segments, one after the other.
#[derive(Default)]
pub(super) struct SegmentPacker {
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
            named,
        } = gathered;
        let [.., symbols, _, tokens, _, _] = columns;
        self.symbols.put(steps, named, symbols, tokens);
        times.put(&mut columns[Column::Times as usize]);
        self.packer
            .pack(columns.each_ref().map(|column| &column[..]), out);
    }
}
