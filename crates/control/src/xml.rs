//! Small XML documents: bytes to a tree of elements, and back.
//!
//! Only what the protocol needs is read: elements, attributes, text in elements that have no children. Comments,
//! processing instructions and an XML declaration are passed over. Document types, CDATA, entities of the document's own
//! and text between elements are refused, and so is nesting deeper than [`DEEPEST`]. A document is at most a
//! frame long, which bounds everything else.

use jtrail_formats::markup::{Markup, Scanner, Wrong, text, white_space, write_text};

/// Most levels of elements.
pub(crate) const DEEPEST: usize = 8;

/// An element.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// Empty if it has text.
    pub(crate) children: Vec<Element>,
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.attributes.push((name.to_owned(), value.to_string()));
        self
    }

    /// With the attribute, if there is a value.
    pub(crate) fn with_some(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn with_child(mut self, child: Element) -> Self {
        self.children.push(child);
        self
    }

    pub(crate) fn with_text(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The document whose root this is.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'<');
        out.extend_from_slice(self.name.as_bytes());
        for (name, value) in &self.attributes {
            out.push(b' ');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"=\"");
            write_text(value, out);
            out.push(b'"');
        }
        if self.children.is_empty() && self.text.is_empty() {
            out.extend_from_slice(b"/>");
            return;
        }
        out.push(b'>');
        write_text(&self.text, out);
        for child in &self.children {
            child.write(out);
        }
        out.extend_from_slice(b"</");
        out.extend_from_slice(self.name.as_bytes());
        out.push(b'>');
    }
}

/// Reads a document.
pub(crate) fn parse(bytes: &[u8]) -> Result<Element, Wrong> {
    let mut scanner = Scanner::default();
    // The elements that are open, the root first.
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    let mut at = 0;
    let wrong = |at, message: &'static str| Wrong {
        at,
        message: message.into(),
    };
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = rest.iter().position(|&b| b == b'<').unwrap_or(rest.len());
        if length > 0 {
            let blank = white_space(rest);
            if blank < length {
                let Some(element) = open.last_mut() else {
                    return Err(wrong(at + blank, "text outside of the element"));
                };
                if !element.children.is_empty() {
                    return Err(wrong(at + blank, "text between elements"));
                }
                element.text += &text(&rest[..length]).map_err(|w| moved(w, at))?;
            }
            at += length;
            continue;
        }
        let scanned = scanner.scan(rest).map_err(|w| moved(w, at))?;
        let Some((markup, length)) = scanned else {
            return Err(wrong(at, "it ends within markup"));
        };
        match markup {
            Markup::Start(tag) => {
                if open.is_empty() && root.is_some() {
                    return Err(wrong(at, "a second element"));
                }
                if open.last().is_some_and(|parent| !parent.text.is_empty()) {
                    return Err(wrong(at, "text between elements"));
                }
                if open.len() == DEEPEST {
                    return Err(wrong(at, "elements are nested too deeply"));
                }
                let mut element = Element::new(tag.name);
                element.attributes = scanner
                    .attributes(tag.text)
                    .map(|a| (a.name.to_owned(), a.value.into_owned()))
                    .collect();
                if tag.empty {
                    close(element, &mut open, &mut root);
                } else {
                    open.push(element);
                }
            }
            Markup::End { name } => match open.pop() {
                Some(element) if element.name == name => close(element, &mut open, &mut root),
                _ => return Err(wrong(at, "an end tag without its begin")),
            },
            Markup::Declaration { .. } if at > 0 => {
                return Err(wrong(at, "an XML declaration stands at the begin"));
            }
            Markup::Declaration { .. } | Markup::Passed => {}
        }
        at += length;
    }
    match root {
        Some(root) if open.is_empty() => Ok(root),
        Some(_) | None if open.is_empty() => Err(wrong(at, "no element")),
        _ => Err(wrong(at, "an end tag is missing")),
    }
}

fn close(element: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None => *root = Some(element),
    }
}

fn moved(wrong: Wrong, by: usize) -> Wrong {
    Wrong {
        at: wrong.at + by,
        ..wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(document: &str) -> String {
        let wrong = parse(document.as_bytes()).expect_err(document);
        format!("{}: {}", wrong.at, wrong.message)
    }

    #[test]
    fn documents_are_read() {
        let document = "<?xml version='1.0'?>\n<!-- c --><a x='1 &lt; 2'> <b>t&amp;&#x41;</b>\n<?pi?><c/></a>\n";
        let expected = Element::new("a")
            .with("x", "1 < 2")
            .with_child(Element::new("b").with_text("t&A"))
            .with_child(Element::new("c"));
        assert_eq!(parse(document.as_bytes()), Ok(expected.clone()));
        assert_eq!(
            expected.to_bytes(),
            b"<a x=\"1 &lt; 2\"><b>t&amp;A</b><c/></a>"
        );
    }

    #[test]
    fn what_is_malformed_is_refused_at_its_place() {
        for (document, expected) in [
            ("", "0: no element"),
            (" <!-- -->", "9: no element"),
            ("stop", "0: text outside of the element"),
            ("<a/>x", "4: text outside of the element"),
            ("<a/><b/>", "4: a second element"),
            ("<a>", "3: an end tag is missing"),
            ("<a></b>", "3: an end tag without its begin"),
            ("</a>", "0: an end tag without its begin"),
            ("<a x='1'", "0: it ends within markup"),
            ("<a>t<b/></a>", "4: text between elements"),
            ("<a><b/>t</a>", "7: text between elements"),
            (
                "<a/><?xml version='1.0'?>",
                "4: an XML declaration stands at the begin",
            ),
            (
                "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
                "0: a document type is not allowed",
            ),
            ("<a>&b;</a>", "3: &b; is no reference that is known"),
            ("<a b='&b;'/>", "6: &b; is no reference that is known"),
            (
                "<a><![CDATA[x]]></a>",
                "3: text where an element is expected",
            ),
            ("<a b='1' b='2'/>", "9: an attribute is repeated"),
        ] {
            assert_eq!(problem(document), expected, "{document}");
        }
        assert!(parse(b"<a b='\xff'/>").is_err());
        assert!(parse(b"<a>\xff</a>").is_err());
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |n: usize| "<a>".repeat(n) + &"</a>".repeat(n);
        assert!(parse(nested(DEEPEST).as_bytes()).is_ok());
        assert_eq!(
            problem(&nested(DEEPEST + 1)),
            "24: elements are nested too deeply"
        );
        assert!(parse("<a>".repeat(20_000).as_bytes()).is_err());
    }
}
