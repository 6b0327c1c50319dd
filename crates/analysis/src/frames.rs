//! Stack frames by number.
//!
//! A trace names the method of a frame by text, and repeats the same few thousand texts. Each text
//! is stored once here, under a number. Sums by site use these numbers as part of [`Site`].

use super::readable_signature;
use crate::saved::texts;
use jtrail_model::Frame;
use jtrail_model::names::with_line;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A site in the code: the number of a method's text, and a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Site {
    method: u32,
    line: i64,
}

const NO_METHOD: u32 = u32::MAX;

impl Site {
    /// The site of events for which the trace has no site.
    pub const NONE: Self = Self {
        method: NO_METHOD,
        line: -1,
    };
}

/// The texts of frames, with their numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Frames {
    #[serde(skip)]
    numbers: FxHashMap<Arc<str>, u32>,
    #[serde(with = "texts")]
    texts: Vec<Arc<str>>,
}

impl Frames {
    /// Returns the number of a frame's method.
    pub(super) fn method(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    pub(super) fn site(&mut self, frame: &Frame<'_>) -> Site {
        Site {
            method: self.method(&frame.method),
            line: frame.line,
        }
    }

    /// Returns the innermost frame of a stack; [`Site::NONE`] for an empty one.
    pub fn top(&mut self, stack: &[Frame<'_>]) -> Site {
        stack.first().map_or(Site::NONE, |frame| self.site(frame))
    }

    /// Returns `class.method(descriptor)result` for a method's number.
    pub fn raw_method(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    /// Returns a readable form of a method: `class.method(int, String)`.
    pub fn readable_method(&self, number: u32) -> String {
        let text = self.raw_method(number);
        match text.find('(') {
            Some(at) => format!("{}{}", &text[..at], readable_signature(&text[at..])),
            None => text.to_owned(),
        }
    }

    /// Returns the site with its raw method: `a.B.m(I)V:12`; empty for [`Site::NONE`].
    pub fn raw_site(&self, site: Site) -> String {
        with_line(self.raw_method(site.method), site.line)
    }

    /// Returns a readable form of the site: `a.B.m(int):12`; empty for [`Site::NONE`].
    pub fn readable_site(&self, site: Site) -> String {
        with_line(&self.readable_method(site.method), site.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_read_as_method_and_line() {
        let mut frames = Frames::default();
        let mut site = |method: &'static str, line| {
            let method = method.into();
            let site = frames.site(&Frame { method, line });
            (frames.raw_site(site), frames.readable_site(site))
        };
        let both = |raw: &str, readable: &str| (raw.to_owned(), readable.to_owned());
        assert_eq!(
            site("a.B.m(ILx/Y;)V", 12),
            both("a.B.m(ILx/Y;)V:12", "a.B.m(int, Y):12")
        );
        assert_eq!(site("a.B.m()V", -1), both("a.B.m()V", "a.B.m()"));
        assert_eq!(
            site("a.B.n()V", -2),
            both("a.B.n()V:native", "a.B.n():native")
        );
        assert_eq!(site("odd", 0), both("odd", "odd"));
        assert_eq!(frames.raw_site(Site::NONE), "");
        assert_eq!(frames.top(&[]), Site::NONE);
    }
}
