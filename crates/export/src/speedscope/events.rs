//! The events of a profile in little memory.

use jtrail_model::Timestamp;

/// The begins and ends of a thread's slices.
///
/// An event is a number of variable length: twice the time since the preceding event, plus one if
/// the event is a begin. The number of the frame follows a begin.
#[derive(Debug, Default)]
pub(super) struct Events {
    bytes: Vec<u8>,
    /// Times of the first and the latest event.
    span: Option<(Timestamp, Timestamp)>,
}

/// A begin or end of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SliceEvent {
    pub(super) is_begin: bool,
    pub(super) frame: u32,
    pub(super) time: Timestamp,
}

impl Events {
    /// Returns the times of the first and the latest event, if there are any.
    pub(super) fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// Adds a begin.
    #[inline]
    pub(super) fn begin(&mut self, time: Timestamp, frame: u32) {
        let delta = self.advance(time);
        self.number(delta << 1 | 1);
        self.number(frame.into());
    }

    /// Adds an end of the innermost slice.
    #[inline]
    pub(super) fn end(&mut self, time: Timestamp) {
        let delta = self.advance(time);
        self.number(delta << 1);
    }

    /// Returns the time since the preceding event. An earlier time counts as that of the event.
    #[inline]
    fn advance(&mut self, time: Timestamp) -> u64 {
        let (_, latest) = self.span.get_or_insert((time, time));
        let delta = time.0.saturating_sub(latest.0).max(0);
        latest.0 += delta;
        delta as u64
    }

    #[inline]
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Returns the events, the first one first.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter {
            bytes: &self.bytes,
            time: self.span.unwrap_or_default().0,
            open: Vec::new(),
        }
    }
}

/// Reads [`Events`].
pub(super) struct Iter<'e> {
    bytes: &'e [u8],
    time: Timestamp,
    /// Frames of the open slices.
    open: Vec<u32>,
}

impl Iter<'_> {
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (first, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        Some(value)
    }
}

impl Iterator for Iter<'_> {
    type Item = SliceEvent;

    #[inline]
    fn next(&mut self) -> Option<SliceEvent> {
        let number = self.number()?;
        let is_begin = number & 1 == 1;
        self.time.0 += (number >> 1) as i64;
        let frame = if is_begin {
            let frame = self.number()? as u32;
            self.open.push(frame);
            frame
        } else {
            self.open.pop()?
        };
        Some(SliceEvent {
            is_begin,
            frame,
            time: self.time,
        })
    }
}
