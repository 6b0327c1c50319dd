//! Formats of other tools that are only read.

use crate::tally::Kinds as _;
use crate::{
    Decode, Format, MethodNames, Quantity, Recorded, RemarkKind, ThreadKeys, chrome, collapsed,
};

/// A format of another tool. jtrail reads it, and neither records nor converts to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Import {
    /// Collapsed stacks, which flame graph tools read.
    Collapsed,
    /// Trace events of Chrome, in JSON.
    Chrome,
}

/// A format that is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Readable {
    /// A format that is written, too.
    Trace(Format),
    /// A format that is only read.
    Import(Import),
}

/// Maximum number of bytes by which [`Readable::detect`] recognizes an import.
pub(crate) const MAX_DETECT_BYTES: usize = 64 << 10;

impl Import {
    /// All imports.
    pub const ALL: [Self; 2] = [Self::Collapsed, Self::Chrome];

    /// Returns the name of the format in messages and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Collapsed => collapsed::FORMAT,
            Self::Chrome => chrome::FORMAT,
        }
    }

    /// Returns a new decoder.
    pub fn decoder(self) -> Box<dyn Decode> {
        match self {
            Self::Collapsed => Box::new(collapsed::Decoder::default()),
            Self::Chrome => Box::new(chrome::Decoder::default()),
        }
    }

    /// Returns the kinds of things that the decoder counts.
    pub const fn remark_kinds(self) -> &'static [RemarkKind] {
        match self {
            Self::Collapsed => collapsed::Remarked::ROWS,
            Self::Chrome => chrome::Remarked::ROWS,
        }
    }

    const fn recorded(self, quantity: Quantity) -> Recorded {
        use Quantity as Q;
        match (self, quantity) {
            (Self::Chrome, Q::Calls | Q::ThreadCalls) => Recorded::Exactly,
            (_, Q::Elapsed) => Recorded::Exactly,
            (_, Q::Threads) => Recorded::Nothing("it names only threads that it has figures of"),
            (Self::Collapsed, Q::Calls | Q::ThreadCalls) => {
                Recorded::Nothing("it does not count calls")
            }
            _ => Recorded::Nothing("it is the file of another tool, of which only calls are read"),
        }
    }
}

impl Readable {
    /// Returns the format of a file that starts with `head`. `last` is true if nothing follows
    /// `head`. [`DETECT_BYTES`](crate::DETECT_BYTES) are enough for all formats but imports, which
    /// may need up to 64 KiB.
    pub fn detect(head: &[u8], last: bool) -> Option<Self> {
        if let Some(format) = Format::detect(head) {
            return Some(Self::Trace(format));
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        if chrome::is_begin(text) {
            Some(Self::Import(Import::Chrome))
        } else if collapsed::is_begin(text, last || head.len() >= MAX_DETECT_BYTES) {
            Some(Self::Import(Import::Collapsed))
        } else {
            None
        }
    }

    /// Returns the format, if it is written, too.
    pub const fn trace(self) -> Option<Format> {
        match self {
            Self::Trace(format) => Some(format),
            Self::Import(_) => None,
        }
    }

    /// Returns the name of the format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace(format) => format.name(),
            Self::Import(import) => import.name(),
        }
    }

    /// Returns a new decoder.
    pub fn decoder(self) -> Box<dyn Decode> {
        match self {
            Self::Trace(format) => format.decoder(),
            Self::Import(import) => import.decoder(),
        }
    }

    /// Returns how much of `quantity` the format records.
    pub const fn recorded(self, quantity: Quantity) -> Recorded {
        match self {
            Self::Trace(format) => format.recorded(quantity),
            Self::Import(import) => import.recorded(quantity),
        }
    }

    /// Returns what the format's method names consist of.
    pub const fn method_names(self) -> MethodNames {
        match self {
            Self::Trace(format) => format.method_names(),
            Self::Import(_) => MethodNames::Readable,
        }
    }

    /// Returns what the format records about threads.
    pub const fn thread_keys(self) -> ThreadKeys {
        match self {
            Self::Trace(format) => format.thread_keys(),
            Self::Import(_) => ThreadKeys {
                first_names: false,
                last_names: true,
                order: false,
            },
        }
    }

    /// Returns the option of a trace that says whether `quantity` was recorded, like
    /// [`Format::switch`].
    pub const fn switch(self, quantity: Quantity) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Trace(format) => format.switch(quantity),
            Self::Import(_) => None,
        }
    }
}

impl From<Format> for Readable {
    fn from(format: Format) -> Self {
        Self::Trace(format)
    }
}

impl From<Import> for Readable {
    fn from(import: Import) -> Self {
        Self::Import(import)
    }
}

impl PartialEq<Format> for Readable {
    fn eq(&self, format: &Format) -> bool {
        *self == Self::Trace(*format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Item, Reader};
    use std::io::{self, Read};
    use std::ops::ControlFlow;

    /// A stream of a byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn imports_are_found_by_content() {
        let long = format!("{} 7\n", vec!["a.B.c(int)"; 500].join(";"));
        let chrome = r#"[{"ph":"X","ts":1,"dur":1,"name":"a"}]"#;
        for (file, import, events) in [
            (long.as_str(), Import::Collapsed, 1003),
            ("a 1", Import::Collapsed, 5),
            (chrome, Import::Chrome, 5),
        ] {
            let mut reader = Reader::new(Slow(file.as_bytes())).expect("an import");
            assert_eq!(reader.format(), Readable::Import(import));
            assert_eq!(reader.format().trace(), None);
            let mut count = 0;
            let read = reader.for_each(|item| {
                assert!(matches!(item, Item::Event { .. }), "{item:?}");
                count += 1;
                ControlFlow::<()>::Continue(())
            });
            assert!(read.is_ok());
            assert_eq!(count, events);
        }
        for import in Import::ALL {
            let names = Format::ALL.map(Format::name);
            assert!(!names.contains(&import.name()));
            assert!(!import.remark_kinds().is_empty());
        }
    }
}
