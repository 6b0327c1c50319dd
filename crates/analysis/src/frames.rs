//! Frames of stacks, by number.
//!
//! A trace names the method of a frame by text, the same few thousand texts again and again. They
//! are kept once, and everything that counts by place counts by [`Site`].

use super::readable_signature;
use jtrail_model::Frame;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A place in the code: a method's text by its number, and a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site {
    method: u32,
    line: i64,
}

const NO_METHOD: u32 = u32::MAX;

impl Site {
    /// The trace says no place.
    pub const NONE: Self = Self {
        method: NO_METHOD,
        line: -1,
    };
}

/// The texts of frames.
#[derive(Debug, Default)]
pub struct Frames {
    numbers: FxHashMap<Rc<str>, u32>,
    texts: Vec<Rc<str>>,
}

impl Frames {
    /// The number of a frame's method.
    pub(super) fn method(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        let text: Rc<str> = text.into();
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

    /// The innermost frame of a stack, [`Site::NONE`] for an empty one.
    pub(super) fn top(&mut self, stack: &[Frame<'_>]) -> Site {
        stack.first().map_or(Site::NONE, |frame| self.site(frame))
    }

    /// `class.method(descriptor)result` of a method's number.
    pub fn raw_method(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    /// The same for people: `class.method(int, String)`.
    pub fn readable_method(&self, number: u32) -> String {
        let text = self.raw_method(number);
        match text.find('(') {
            Some(at) => format!("{}{}", &text[..at], readable_signature(&text[at..])),
            None => text.to_owned(),
        }
    }

    /// The place with its raw method: `a.B.m(I)V:12`; empty for [`Site::NONE`].
    pub fn raw_site(&self, site: Site) -> String {
        with_line(self.raw_method(site.method), site.line)
    }

    /// The place for people: `a.B.m(int):12`; empty for [`Site::NONE`].
    pub fn readable_site(&self, site: Site) -> String {
        with_line(&self.readable_method(site.method), site.line)
    }
}

/// Line of a frame in a native method.
const NATIVE: i64 = -2;

/// The method and the line behind a colon, where it is known.
pub fn with_line(method: &str, line: i64) -> String {
    match line {
        _ if method.is_empty() => String::new(),
        NATIVE => format!("{method}:native"),
        1.. => format!("{method}:{line}"),
        _ => method.to_owned(),
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
