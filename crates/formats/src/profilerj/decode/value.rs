//! Values of attributes, read.

use super::remarks::Remarked;
use crate::tally::RemarkTally;
use crate::xml::read_unsigned;
use jtrail_xml::{Attribute, Scanner, Tag};
use std::borrow::Cow;

/// Why the document is refused.
pub(super) type Message = Cow<'static, str>;

/// The known attributes of an element, in the order of `known`.
#[derive(Debug)]
pub(super) struct Attributes<'a, const N: usize> {
    element: &'static str,
    known: &'static [&'static str; N],
    values: [Option<Cow<'a, str>>; N],
}

impl<'a, const N: usize> Attributes<'a, N> {
    /// Reads the attributes of the tag that was scanned last.
    pub(super) fn read(
        tag: Tag<'a>,
        scanner: &Scanner,
        (element, known): (&'static str, &'static [&'static str; N]),
        remarks: &mut RemarkTally<Remarked>,
        offset: u64,
    ) -> Self {
        let mut values = [const { None }; N];
        let mut expected = 0;
        for Attribute { name, value } in scanner.attributes(tag.text) {
            // Attributes are usually in order.
            let at = if known.get(expected) == Some(&name) {
                Some(expected)
            } else {
                known.iter().position(|known| *known == name)
            };
            match at {
                Some(at) => {
                    values[at] = Some(value);
                    expected = at + 1;
                }
                None => {
                    let names = (element, name);
                    remarks.add_named(Remarked::UnknownAttribute, names, offset, 1);
                }
            }
        }
        Self {
            element,
            known,
            values,
        }
    }

    /// Returns the text of an attribute.
    pub(super) fn text(&self, at: usize) -> Option<&str> {
        self.values[at].as_deref()
    }

    /// Returns the text of a required attribute.
    pub(super) fn name(&self, at: usize) -> Result<&str, Message> {
        let missing = || format!("{} lacks {}", self.element, self.known[at]).into();
        self.text(at).ok_or_else(missing)
    }

    /// Returns the number in an attribute, or `None` if the attribute is missing.
    pub(super) fn optional(&self, at: usize) -> Result<Option<u64>, Message> {
        let Some(value) = self.text(at) else {
            return Ok(None);
        };
        match read_unsigned(value) {
            Some(number) => Ok(Some(number)),
            None => {
                let (element, name) = (self.element, self.known[at]);
                Err(format!("{name} of {element} is no number").into())
            }
        }
    }

    /// Returns the number in an attribute. If the attribute is missing, returns 0 and counts this.
    pub(super) fn number(
        &self,
        at: usize,
        remarks: &mut RemarkTally<Remarked>,
        offset: u64,
    ) -> Result<u64, Message> {
        Ok(self.optional(at)?.unwrap_or_else(|| {
            self.missing(at, Remarked::MissingNumber, remarks, offset);
            0
        }))
    }

    /// Returns the boolean in an attribute. If the attribute is missing, returns true and counts
    /// this.
    pub(super) fn boolean(
        &self,
        at: usize,
        remarks: &mut RemarkTally<Remarked>,
        offset: u64,
    ) -> Result<bool, Message> {
        match self.text(at) {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(_) => {
                let (element, name) = (self.element, self.known[at]);
                Err(format!("{name} of {element} is neither true nor false").into())
            }
            None => {
                self.missing(at, Remarked::MissingBoolean, remarks, offset);
                Ok(true)
            }
        }
    }

    fn missing(&self, at: usize, kind: Remarked, remarks: &mut RemarkTally<Remarked>, offset: u64) {
        remarks.add_named(kind, (self.element, self.known[at]), offset, 1);
    }
}

/// A sum of an element: the attribute that includes callees, the attribute that excludes callees,
/// and the total of the child elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    pub(super) with: Option<u64>,
    pub(super) own: Option<u64>,
    pub(super) callees: u64,
}

impl Sum {
    /// Returns the sum without callees. The child elements must be complete.
    pub(super) fn settled(&self) -> u64 {
        self.own
            .unwrap_or_else(|| self.with.unwrap_or(0).saturating_sub(self.callees))
    }

    /// Returns the sum with callees. The child elements must be complete.
    pub(super) fn whole(&self) -> u64 {
        self.with
            .unwrap_or_else(|| self.own.unwrap_or(0).saturating_add(self.callees))
    }

    /// True if the attributes agree with the total of the child elements, or if an attribute is
    /// missing.
    pub(super) fn fits(&self) -> bool {
        match (self.with, self.own) {
            (Some(with), Some(own)) => own.checked_add(self.callees) == Some(with),
            (Some(with), None) => with >= self.callees,
            _ => true,
        }
    }
}
