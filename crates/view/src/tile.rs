//! A picture of a thread's slices in a span.

use crate::slice::{Kind, Slice};
use jtrail_model::Timestamp;

/// Maximum number of levels of a picture.
const MAX_LEVELS: usize = 512;

/// A picture of a thread's slices in a span, of so many pixels. A slice that is at least as wide as
/// a pixel is a rectangle. Narrower ones that begin in the same pixel and have the same level are
/// one rectangle.
#[derive(Clone, PartialEq, Debug)]
pub struct Tile {
    span: [Timestamp; 2],
    width: u32,
    levels: u32,
    wide: Vec<Rectangle>,
    /// For each level the narrow slices by pixel.
    cells: Vec<Vec<Cell>>,
}

/// A part of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rectangle {
    /// The begin of the first slice.
    pub begin: Timestamp,
    /// The end of the last slice.
    pub end: Timestamp,
    /// The level of the slices.
    pub level: u32,
    /// Number of slices.
    pub count: u32,
    /// The method of the longest slice; of several, of the one that begins first.
    pub method: u32,
    /// What the thread does in all slices; a call if that differs.
    pub kind: Kind,
}

/// The narrow slices of a pixel and a level.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cell {
    count: u32,
    begin: Timestamp,
    end: Timestamp,
    kind: Kind,
    longest: Slice,
}

impl Tile {
    /// Creates an empty picture.
    pub fn new(span: [Timestamp; 2], width: u32) -> Self {
        Self {
            span,
            width: width.max(1),
            levels: 0,
            wide: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Returns the number of levels that have slices. Those from the 512th on are not shown.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// Returns the pixel of a time.
    fn pixel(&self, time: Timestamp) -> usize {
        let [from, until] = self.span.map(|time| i128::from(time.0));
        let length = (until - from).max(1);
        let since = (i128::from(time.0) - from).clamp(0, length);
        let pixel = since * i128::from(self.width) / length;
        (pixel as usize).min(self.width as usize - 1)
    }

    /// Returns true if a slice is narrower than a pixel.
    fn is_narrow(&self, slice: &Slice) -> bool {
        let [from, until] = self.span.map(|time| i128::from(time.0));
        let length = i128::from(slice.end.0) - i128::from(slice.begin.0);
        length * i128::from(self.width) < (until - from).max(1)
    }

    /// Adds a slice that overlaps the span.
    pub fn add(&mut self, slice: &Slice) {
        self.levels = self.levels.max(slice.level.saturating_add(1));
        let level = slice.level as usize;
        if level >= MAX_LEVELS {
            return;
        }
        if !self.is_narrow(slice) {
            self.wide.push(Rectangle {
                begin: slice.begin,
                end: slice.end,
                level: slice.level,
                count: 1,
                method: slice.method,
                kind: slice.kind,
            });
            return;
        }
        let pixel = self.pixel(slice.begin);
        if level >= self.cells.len() {
            self.cells.resize(level + 1, Vec::new());
        }
        let cells = &mut self.cells[level];
        if pixel >= cells.len() {
            let empty = Cell {
                count: 0,
                begin: slice.begin,
                end: slice.end,
                kind: slice.kind,
                longest: *slice,
            };
            cells.resize(self.width as usize, empty);
        }
        cells[pixel].add(slice);
    }

    /// Returns the rectangles, level by level and in the order of their begins.
    pub fn rectangles(&self) -> Vec<Rectangle> {
        let cells = self.cells.iter().flatten().filter(|cell| cell.count > 0);
        let narrow = cells.map(|cell| Rectangle {
            begin: cell.begin,
            end: cell.end,
            level: cell.longest.level,
            count: cell.count,
            method: cell.longest.method,
            kind: cell.kind,
        });
        let mut all: Vec<Rectangle> = self.wide.iter().copied().chain(narrow).collect();
        all.sort_unstable_by_key(|r| (r.level, r.begin, r.end));
        all
    }
}

impl Cell {
    fn add(&mut self, slice: &Slice) {
        let rank = |slice: &Slice| {
            let length = i128::from(slice.end.0) - i128::from(slice.begin.0);
            (-length, slice.begin)
        };
        if self.count == 0 {
            (self.begin, self.end, self.longest) = (slice.begin, slice.end, *slice);
            self.kind = slice.kind;
        } else {
            if slice.kind != self.kind {
                self.kind = Kind::Call;
            }
            self.begin = self.begin.min(slice.begin);
            self.end = self.end.max(slice.end);
            if rank(slice) < rank(&self.longest) {
                self.longest = *slice;
            }
        }
        self.count = self.count.saturating_add(1);
    }
}
