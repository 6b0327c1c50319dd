//! A picture of a thread's slices in a span.

use crate::index::{Bins, Cell, Detail, MAX_LEVELS};
use crate::methods::NO_METHOD;
use crate::slice::{Kind, Slice};
use jtrail_model::Timestamp;

/// A picture of a thread's slices in a span, of so many pixels. A slice that is at least as wide as
/// a pixel is a rectangle. Narrower ones that begin in the same pixel and have the same level are
/// one rectangle, which is as wide as the pixel.
#[derive(Clone, PartialEq, Debug)]
pub struct Tile {
    span: [Timestamp; 2],
    width: u32,
    levels: u32,
    is_coarse: bool,
    wide: Vec<Rectangle>,
    /// For each level the narrow slices by pixel.
    cells: Vec<Vec<Cell>>,
}

/// A part of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rectangle {
    /// The begin of the slice, or of the pixel.
    pub begin: Timestamp,
    /// The end of the slice, or of the pixel.
    pub end: Timestamp,
    /// The level of the slices.
    pub level: u32,
    /// Number of slices.
    pub count: u32,
    /// The method of a longest slice. Slices that differ by less than an eighth are as long as each
    /// other.
    pub method: u32,
    /// What the thread does in all slices; a call if that differs.
    pub kind: Kind,
}

impl Tile {
    /// Creates an empty picture.
    pub fn new(span: [Timestamp; 2], width: u32) -> Self {
        Self {
            span,
            width: width.max(1),
            levels: 0,
            is_coarse: false,
            wide: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Returns the number of levels that have slices. Those from the 512th on are not shown.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// Returns true if some rectangles have slices of several pixels, or slices are missing.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    fn length(&self) -> i128 {
        let [from, until] = self.span.map(|time| i128::from(time.0));
        (until - from).max(1)
    }

    /// Returns the pixel of a time in the span.
    fn pixel(&self, time: Timestamp) -> usize {
        let since = i128::from(time.0) - i128::from(self.span[0].0);
        let pixel = since * i128::from(self.width) / self.length();
        pixel.clamp(0, i128::from(self.width) - 1) as usize
    }

    /// Returns the first time in a pixel or after it.
    fn begin_of(&self, pixel: usize) -> Timestamp {
        let (width, length) = (i128::from(self.width), self.length());
        let since = (pixel as i128 * length + width - 1) / width;
        let time = i128::from(self.span[0].0) + since;
        Timestamp(i64::try_from(time).unwrap_or(i64::MAX))
    }

    /// Returns true if a slice is narrower than a pixel. What comes after the span does not matter.
    fn is_narrow(&self, slice: &Slice) -> bool {
        let end = slice.end.min(self.span[1]);
        let length = i128::from(end.0) - i128::from(slice.begin.0);
        length * i128::from(self.width) < self.length()
    }

    /// Returns the power of the pixels: they are 2^power ns wide, and begin at multiples of it
    /// after `origin`. `None` if they do not.
    pub(crate) fn power(&self, origin: Timestamp) -> Option<u8> {
        let length = u64::try_from(self.length()).ok()?;
        let pixel = length / u64::from(self.width);
        let since = u64::try_from(self.span[0].0.checked_sub(origin.0)?).ok()?;
        let fits = pixel.is_power_of_two()
            && pixel * u64::from(self.width) == length
            && since % pixel == 0;
        fits.then(|| pixel.ilog2() as u8)
    }

    /// Says that slices are missing.
    pub(crate) fn set_coarse(&mut self) {
        self.is_coarse = true;
    }

    /// Adds a slice. It has no effect if it does not overlap the span, or is narrow and begins
    /// outside of it.
    pub fn add(&mut self, slice: &Slice) {
        if !slice.overlaps(self.span) {
            return;
        }
        if self.is_narrow(slice) {
            if slice.begin >= self.span[0] {
                let pixel = self.pixel(slice.begin);
                // The resolution of the picture does not matter: the cell goes to this pixel.
                let bins = Bins {
                    origin: self.span[0],
                    power: 0,
                };
                let end = slice.end.min(self.span[1]);
                let cell = Cell::of(&Slice { end, ..*slice }, bins);
                self.add_to_pixel(slice.level, pixel, &cell);
            }
            return;
        }
        self.levels = self.levels.max(slice.level.saturating_add(1));
        if (slice.level as usize) < MAX_LEVELS {
            self.wide.push(Rectangle {
                begin: slice.begin,
                end: slice.end,
                level: slice.level,
                count: 1,
                method: slice.method,
                kind: slice.kind,
            });
        }
    }

    /// Adds a time in which nothing is known of the thread. It stands at level 0.
    pub(crate) fn add_missing(&mut self, [begin, end]: [Timestamp; 2]) {
        self.levels = self.levels.max(1);
        self.wide.push(Rectangle {
            begin,
            end,
            level: 0,
            count: 1,
            method: NO_METHOD,
            kind: Kind::Missing,
        });
    }

    /// Adds slices of a thread at a resolution. If bins are wider than pixels, the picture is
    /// coarse.
    pub(crate) fn add_detail(&mut self, detail: &Detail, bins: Bins) {
        let [from, until] = self.span;
        for (number, level) in detail.levels.iter().enumerate() {
            level.long.iter().for_each(|slice| self.add(slice));
            let first = level
                .cells
                .partition_point(|cell| bins.end(cell.bin) <= from);
            for cell in &level.cells[first..] {
                let begin = bins.begin(cell.bin);
                if begin >= until {
                    break;
                }
                self.add_cell(number as u32, [begin, bins.end(cell.bin)], cell);
            }
        }
    }

    fn add_cell(&mut self, level: u32, [begin, end]: [Timestamp; 2], cell: &Cell) {
        let length = i128::from(end.0) - i128::from(begin.0);
        if length * i128::from(self.width) <= self.length() {
            let pixel = self.pixel(begin);
            return self.add_to_pixel(level, pixel, cell);
        }
        self.is_coarse = true;
        self.levels = self.levels.max(level + 1);
        self.wide.push(Rectangle {
            begin,
            end,
            level,
            count: cell.count,
            method: cell.method,
            kind: cell.kind,
        });
    }

    fn add_to_pixel(&mut self, level: u32, pixel: usize, cell: &Cell) {
        self.levels = self.levels.max(level.saturating_add(1));
        let level = level as usize;
        if level >= MAX_LEVELS {
            return;
        }
        if level >= self.cells.len() {
            self.cells.resize(level + 1, Vec::new());
        }
        let cells = &mut self.cells[level];
        if cells.is_empty() {
            let empty = Cell { count: 0, ..*cell };
            cells.resize(self.width as usize, empty);
        }
        match &mut cells[pixel] {
            empty if empty.count == 0 => *empty = *cell,
            own => own.add(cell),
        }
    }

    /// Returns the rectangles, level by level and in the order of their begins.
    pub fn rectangles(&self) -> Vec<Rectangle> {
        let mut all = self.wide.clone();
        for (level, cells) in self.cells.iter().enumerate() {
            let narrow = cells.iter().enumerate().filter(|(_, cell)| cell.count > 0);
            all.extend(narrow.map(|(pixel, cell)| {
                let begin = self.begin_of(pixel);
                Rectangle {
                    begin,
                    end: self
                        .begin_of(pixel + 1)
                        .max(Timestamp(begin.0.saturating_add(1))),
                    level: level as u32,
                    count: cell.count,
                    method: cell.method,
                    kind: cell.kind,
                }
            }));
        }
        all.sort_unstable_by_key(|r| (r.level, r.begin, r.end));
        all
    }
}
