//! A fast path for the two elements that make up nearly all of a trace.
//!
//! The fast path reads `methodEntry` and `methodExit` as our encoder writes them, byte by byte:
//! attributes in order, one blank between them, plain numbers. Any other spelling goes through the
//! scanner and the table; tests compare the two paths.

use crate::xml;
use jtrail_model::{
    ClassId, Duration, Event, MethodEnter, MethodId, MethodLeave, ThreadId, Timestamp,
};

/// Reads a call at the start of `input`, after an optional line feed. Returns the event and the
/// number of bytes used, or `None` for anything else.
pub(super) fn take(input: &[u8]) -> Option<(Event<'static>, usize)> {
    let line = input.strip_prefix(b"\n").unwrap_or(input);
    let mut cursor = Cursor {
        rest: line.strip_prefix(b"<methodE")?,
    };
    let event = match cursor.rest.first()? {
        b'n' => cursor.enter()?,
        _ => cursor.leave()?,
    };
    cursor.literal(b"\"/>")?;
    Some((event, input.len() - cursor.rest.len()))
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn enter(&mut self) -> Option<Event<'static>> {
        let mut e = MethodEnter::default();
        self.literal(b"ntry threadIdRef=\"")?;
        e.thread = ThreadId(self.number()?);
        self.literal(b"\" time=\"")?;
        e.time = Timestamp(self.seconds()?);
        self.literal(b"\" methodIdRef=\"")?;
        e.method = MethodId(self.number()?);
        self.literal(b"\" classIdRef=\"")?;
        e.class = ClassId(self.number()?);
        self.literal(b"\" ticket=\"")?;
        e.ticket = self.number()?.try_into().ok()?;
        if self.literal(b"\" threadCPUTime=\"").is_some() {
            e.cpu_time = Duration(self.seconds()?);
        }
        self.literal(b"\" stackDepth=\"")?;
        e.stack_depth = self.number()?.try_into().ok()?;
        Some(Event::MethodEnter(e))
    }

    fn leave(&mut self) -> Option<Event<'static>> {
        let mut e = MethodLeave::default();
        self.literal(b"xit threadIdRef=\"")?;
        e.thread = ThreadId(self.number()?);
        self.literal(b"\" methodIdRef=\"")?;
        e.method = MethodId(self.number()?);
        self.literal(b"\" classIdRef=\"")?;
        e.class = ClassId(self.number()?);
        self.literal(b"\" ticket=\"")?;
        e.ticket = self.number()?.try_into().ok()?;
        self.literal(b"\" time=\"")?;
        e.time = Timestamp(self.seconds()?);
        if self.literal(b"\" threadCPUTime=\"").is_some() {
            e.cpu_time = Duration(self.seconds()?);
        }
        Some(Event::MethodLeave(e))
    }

    #[inline]
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = xml::number(self.rest)?;
        self.rest = rest;
        Some(number)
    }

    /// Reads seconds with exactly nine digits after the point. Returns nanoseconds.
    #[inline]
    fn seconds(&mut self) -> Option<i64> {
        let seconds = self.number()?;
        self.literal(b".")?;
        let (digits, rest) = self.rest.split_first_chunk::<9>()?;
        let mut fraction = 0;
        for digit in digits {
            let digit = digit.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            fraction = fraction * 10 + u64::from(digit);
        }
        self.rest = rest;
        let ns = seconds.checked_mul(1_000_000_000)?.checked_add(fraction)?;
        ns.try_into().ok()
    }
}
