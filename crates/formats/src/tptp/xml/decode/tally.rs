//! Findings that may come with every element: counted, and told once each at the end.

use crate::tptp::xml::element::Remarks;
use crate::xml::cut;
use crate::{Remark, Severity};
use std::collections::VecDeque;

/// Findings that are told apart; further ones are counted together.
const MOST_FINDINGS: usize = 100;

/// The findings of a document.
#[derive(Debug, Default)]
pub(in crate::tptp) struct Tally {
    findings: VecDeque<Finding>,
}

#[derive(Debug)]
struct Finding {
    what: What,
    element: String,
    attribute: String,
    first: u64,
    count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    UnknownElement,
    UnknownAttribute,
    UnkeptAttribute,
    MissingAttribute,
    OtherOrder,
    More,
}

impl Tally {
    /// An element that the format does not have, or that does not belong where it stands.
    pub(in crate::tptp) fn unknown_element(&mut self, name: &str, offset: u64) {
        self.count(What::UnknownElement, name, "", offset);
    }

    /// Takes findings on the attributes of one element.
    pub(in crate::tptp) fn element<'t>(&'t mut self, name: &'t str, offset: u64) -> InElement<'t> {
        InElement {
            tally: self,
            name,
            offset,
        }
    }

    fn count(&mut self, what: What, element: &str, attribute: &str, offset: u64) {
        let (element, attribute) = (cut(element), cut(attribute));
        let same =
            |f: &&mut Finding| f.what == what && f.attribute == attribute && f.element == element;
        if let Some(finding) = self.findings.iter_mut().find(same) {
            finding.count += 1;
        } else if self.findings.len() < MOST_FINDINGS {
            let (element, attribute) = (element.to_owned(), attribute.to_owned());
            self.findings.push_back(Finding {
                what,
                element,
                attribute,
                first: offset,
                count: 1,
            });
        } else if what != What::More {
            // The last place is for all that have none of their own.
            self.findings.truncate(MOST_FINDINGS - 1);
            self.count(What::More, "", "", offset);
        }
    }

    /// The next finding to tell.
    pub(in crate::tptp) fn pop(&mut self) -> Option<Remark> {
        let Finding {
            what,
            element,
            attribute,
            first,
            count,
        } = self.findings.pop_front()?;
        let message = match what {
            What::UnknownElement => format!("element {element} is not known here; passed over"),
            What::UnknownAttribute => {
                format!("attribute {attribute} of {element} is not known; passed over")
            }
            What::UnkeptAttribute => {
                format!("attribute {attribute} of {element} has no place in any event; passed over")
            }
            What::MissingAttribute => {
                format!("{element} lacks attribute {attribute}; read as unset")
            }
            What::OtherOrder => format!("the attributes of {element} stand in another order"),
            What::More => "further elements or attributes are not as they should be".into(),
        };
        let message = format!("{message} ({count} times, first here)");
        Some(Remark {
            offset: first,
            severity: Severity::Info,
            message,
        })
    }
}

/// Findings on the attributes of one element.
pub(in crate::tptp) struct InElement<'t> {
    tally: &'t mut Tally,
    name: &'t str,
    offset: u64,
}

impl Remarks for InElement<'_> {
    fn unknown(&mut self, attribute: &str) {
        self.tally
            .count(What::UnknownAttribute, self.name, attribute, self.offset);
    }

    fn unkept(&mut self, attribute: &str) {
        self.tally
            .count(What::UnkeptAttribute, self.name, attribute, self.offset);
    }

    fn missing(&mut self, attribute: &str) {
        self.tally
            .count(What::MissingAttribute, self.name, attribute, self.offset);
    }

    fn other_order(&mut self) {
        self.tally
            .count(What::OtherOrder, self.name, "", self.offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_number_take_little_memory() {
        let mut tally = Tally::default();
        for i in 0..10_000 {
            tally.unknown_element(&format!("{}{i}", if i < 50 { "" } else { "e" }), i);
            tally.element("x", i).unknown(&"n".repeat(i as usize % 200));
        }
        assert_eq!(tally.findings.len(), MOST_FINDINGS);
        let mut remarks = Vec::new();
        while let Some(remark) = tally.pop() {
            remarks.push(remark);
        }
        assert_eq!(remarks.len(), MOST_FINDINGS);
        assert_eq!(
            remarks[0].message,
            "element 0 is not known here; passed over (1 times, first here)"
        );
        assert!(
            remarks[MOST_FINDINGS - 1]
                .message
                .starts_with("further elements")
        );
    }
}
