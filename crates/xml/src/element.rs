//! A small document as a tree.

use crate::escape::escape;
use crate::scan::{Error, Scanner, Token};

/// An element with its content: the root of a document, or a descendant.
///
/// The parser accepts elements, attributes, and text in elements without children. It skips
/// comments, processing instructions and an XML declaration. Everything else is refused. The memory
/// of a tree is proportional to the size of the document, which the caller must limit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Element {
    /// The element's name.
    pub name: String,
    /// The names and values of attributes, in document order.
    pub attributes: Vec<(String, String)>,
    /// The child elements. Empty if the element has text.
    pub children: Vec<Element>,
    /// The text in the element. Empty if it has children.
    pub text: String,
}

impl Element {
    /// Creates an element without content.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.attributes.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds an attribute if `value` is `Some`.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a child element.
    #[must_use]
    pub fn with_child(mut self, child: Element) -> Self {
        self.children.push(child);
        self
    }

    /// Sets the text of the element.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    /// Returns the value of an attribute.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the document that has this element as its root.
    pub fn to_bytes(&self) -> Vec<u8> {
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
            escape(value, out);
            out.push(b'"');
        }
        if self.children.is_empty() && self.text.is_empty() {
            out.extend_from_slice(b"/>");
            return;
        }
        out.push(b'>');
        escape(&self.text, out);
        for child in &self.children {
            child.write(out);
        }
        out.extend_from_slice(b"</");
        out.extend_from_slice(self.name.as_bytes());
        out.push(b'>');
    }

    /// Parses a document with at most `deepest` levels of elements. Returns its root.
    ///
    /// # Errors
    /// [`Error`] describes the first part of the document that is not allowed.
    pub fn parse(document: &[u8], deepest: usize) -> Result<Self, Error> {
        let mut scanner = Scanner::default();
        // The open elements, the root first.
        let mut open: Vec<Self> = Vec::new();
        let mut root = None;
        let mut at = 0;
        while at < document.len() {
            let offset = at as u64;
            let refuse = |message: &'static str| Err(Error::new(offset, message));
            let Some((token, length)) = scanner.scan(&document[at..], offset, true)? else {
                return refuse("it ends within markup");
            };
            match token {
                Token::Text(text) => {
                    if let Some(first) = text.first() {
                        let Some(element) = open.last_mut() else {
                            return Err(Error::new(first, "text outside of the element"));
                        };
                        if !element.children.is_empty() {
                            return Err(Error::new(first, "text between elements"));
                        }
                        element.text += &text.read()?;
                    }
                }
                Token::Start(tag) => {
                    if open.is_empty() && root.is_some() {
                        return refuse("a second element");
                    }
                    if open.last().is_some_and(|parent| !parent.text.is_empty()) {
                        return refuse("text between elements");
                    }
                    if open.len() == deepest {
                        return refuse("elements are nested too deeply");
                    }
                    let mut element = Self::new(tag.name);
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
                Token::End { name } => match open.pop() {
                    Some(element) if element.name == name => close(element, &mut open, &mut root),
                    _ => return refuse("an end tag without its begin"),
                },
                Token::Declaration { .. } if at > 0 => {
                    return refuse("an XML declaration stands at the begin");
                }
                Token::Declaration { .. } | Token::Skipped => {}
            }
            at += length;
        }
        let missing = match root {
            Some(root) if open.is_empty() => return Ok(root),
            _ if open.is_empty() => "no element",
            _ => "an end tag is missing",
        };
        Err(Error::new(at as u64, missing))
    }
}

/// Adds an element that has ended to its parent, or makes it the root.
fn close(element: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None => *root = Some(element),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_DEPTH: usize = 8;

    fn parse(document: &[u8]) -> Result<Element, Error> {
        Element::parse(document, MAX_DEPTH)
    }

    fn problem(document: &str) -> String {
        let error = parse(document.as_bytes()).expect_err(document);
        format!("{}: {}", error.offset, error.message)
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
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(
            problem(&nested(MAX_DEPTH + 1)),
            "24: elements are nested too deeply"
        );
        assert!(parse("<a>".repeat(20_000).as_bytes()).is_err());
    }
}
