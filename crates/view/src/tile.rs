//! A picture of a thread's slices in a span.

use crate::index::{Bins, Cell, DetailColumns, MAX_LEVELS};
use crate::methods::NO_METHOD;
use crate::slice::{Kind, Slice};
use jtrail_model::Timestamp;
use std::cmp::Ordering;

/// A picture of a thread's slices in a span, of so many pixels. A slice that is at least as wide as
/// a pixel is a rectangle. Narrower ones that begin in the same pixel and have the same level are
/// one rectangle, which is as wide as the pixel.
#[derive(Clone, PartialEq, Debug)]
pub struct Tile {
    span: [Timestamp; 2],
    width: u32,
    /// Pixels are 2^`pixel_power` ns wide; `None` if their width is another one.
    pixel_power: Option<u8>,
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
        let width = width.max(1);
        let length = i64::try_from(length(span)).ok();
        let pixel = length.map(|length| length / i64::from(width));
        let pixel = pixel.filter(|pixel| {
            pixel.count_ones() == 1 && length == pixel.checked_mul(i64::from(width))
        });
        Self {
            span,
            width,
            pixel_power: pixel.map(|pixel| pixel.ilog2() as u8),
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

    /// Returns the pixel of a time in the span.
    #[inline]
    fn pixel(&self, time: Timestamp) -> usize {
        let last = self.width as usize - 1;
        if let Some(power) = self.pixel_power {
            let since = time.since(self.span[0]).0.max(0);
            return ((since >> power) as usize).min(last);
        }
        let since = i128::from(time.0) - i128::from(self.span[0].0);
        let pixel = since * i128::from(self.width) / length(self.span);
        pixel.clamp(0, last as i128) as usize
    }

    /// Returns the first time in a pixel or after it.
    fn begin_of(&self, pixel: usize) -> Timestamp {
        let since = match self.pixel_power {
            Some(power) => (pixel as i128) << power,
            None => {
                let (width, length) = (i128::from(self.width), length(self.span));
                (pixel as i128 * length + width - 1) / width
            }
        };
        let time = i128::from(self.span[0].0) + since;
        Timestamp(i64::try_from(time).unwrap_or(i64::MAX))
    }

    /// Compares so many ns with a pixel.
    #[inline]
    fn cmp_pixel(&self, ns: i64) -> Ordering {
        match self.pixel_power {
            Some(power) => ns.cmp(&(1 << power)),
            None => (i128::from(ns) * i128::from(self.width)).cmp(&length(self.span)),
        }
    }

    /// Returns true if a slice is narrower than a pixel. What comes after the span does not matter.
    fn is_narrow(&self, slice: &Slice) -> bool {
        let end = slice.end.min(self.span[1]);
        self.cmp_pixel(end.since(slice.begin).0).is_lt()
    }

    /// Returns the power of the pixels: they are 2^power ns wide, and begin at multiples of it
    /// after `origin`. `None` if they do not.
    pub(crate) fn power(&self, origin: Timestamp) -> Option<u8> {
        let since = u64::try_from(self.span[0].0.checked_sub(origin.0)?).ok()?;
        let is_aligned = |power: &u8| since % (1 << power) == 0;
        self.pixel_power.filter(is_aligned)
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
    pub(crate) fn add_detail(&mut self, detail: &DetailColumns, bins: Bins) {
        for slice in detail.long(bins.origin) {
            self.add(&slice);
        }
        let [from, until] = self.span;
        for (level, cells) in detail.cells() {
            for cell in cells {
                let [begin, end] = [bins.begin(cell.bin), bins.end(cell.bin)];
                if begin >= until {
                    break;
                }
                if end > from {
                    self.add_cell(level, [begin, end], &cell);
                }
            }
        }
    }

    #[inline]
    fn add_cell(&mut self, level: u32, [begin, end]: [Timestamp; 2], cell: &Cell) {
        if self.cmp_pixel(end.since(begin).0).is_le() {
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

    #[inline]
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
        let mut all = Vec::new();
        self.clone().each_rectangle(|rectangle| all.push(rectangle));
        all
    }

    /// Returns the number of rectangles.
    pub(crate) fn count(&self) -> usize {
        let cells = self.cells.iter().flatten();
        self.wide.len() + cells.filter(|cell| cell.count > 0).count()
    }

    /// Passes the rectangles to `visit`, level by level and in the order of their begins.
    pub(crate) fn each_rectangle(mut self, mut visit: impl FnMut(Rectangle)) {
        let place = |r: &Rectangle| (r.level, r.begin, r.end);
        // Those of a level were mostly added in their order, which a stable sort makes use of.
        self.wide.sort_by_key(place);
        let mut wide = std::mem::take(&mut self.wide).into_iter().peekable();
        for (level, cells) in self.cells.iter().enumerate() {
            for narrow in self.narrow(level as u32, cells) {
                while let Some(earlier) = wide.next_if(|wide| place(wide) <= place(&narrow)) {
                    visit(earlier);
                }
                visit(narrow);
            }
        }
        wide.for_each(visit);
    }

    /// Returns the rectangles of a level's narrow slices.
    fn narrow(&self, level: u32, cells: &[Cell]) -> impl Iterator<Item = Rectangle> {
        let used = cells.iter().enumerate().filter(|(_, cell)| cell.count > 0);
        used.map(move |(pixel, cell)| {
            let begin = self.begin_of(pixel);
            let after = Timestamp(begin.0.saturating_add(1));
            Rectangle {
                begin,
                end: self.begin_of(pixel + 1).max(after),
                level,
                count: cell.count,
                method: cell.method,
                kind: cell.kind,
            }
        })
    }
}

/// Returns the length of a span in ns; at least 1.
fn length([from, until]: [Timestamp; 2]) -> i128 {
    (i128::from(until.0) - i128::from(from.0)).max(1)
}
