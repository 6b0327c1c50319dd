//! Values of the options: words, sizes, sets of events.

use crate::error::{allowed, did_you_mean, quoted};
use crate::keys::LATER_EVENTS;
use std::fmt;

/// An enum whose cases are words of the option text, and the words that a later version will know.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $word:literal,)* } later $later:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// The words, in the order of the cases.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// Its word in the option text.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)*
                }
            }

            pub(crate) fn parse(word: &str) -> Result<Self, String> {
                const LATER: &[&str] = $later;
                match word {
                    $($word => Ok(Self::$case),)*
                    _ if LATER.contains(&word) => Err(not_available(word)),
                    _ => Err(no_such_value(word, Self::WORDS)),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words! {
    /// Format of the trace.
    OutputFormat {
        /// TPTP XML.
        #[default]
        Xml = "xml",
        /// TPTP binary.
        Binary = "binary",
        /// Everything is recorded and nothing written: to measure what recording alone costs.
        None = "none",
    } later &["jinsight", "mlpd", "tracelog", "profilerj", "trail"]
}

impl OutputFormat {
    /// Usual ending of a file's name, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Xml => "trcxml",
            Self::Binary => "trcbin",
            Self::None => "none",
        }
    }
}

words! {
    /// How calls are seen.
    Engine {
        /// By hooks in rewritten classes.
        #[default]
        Bytecode = "bytecode",
        /// By the JVM's own events: slow, sees native methods too.
        Jvmti = "jvmti",
    } later &[]
}

words! {
    /// How events get their time.
    Clock {
        /// A time stamp for each event.
        #[default]
        Exact = "exact",
    } later &["tick"]
}

words! {
    /// What happens when all buffers are full.
    Overflow {
        /// The thread waits; nothing is lost.
        #[default]
        Block = "block",
        /// Events are dropped and counted.
        Drop = "drop",
    } later &["ring"]
}

words! {
    /// What happens when the trace can't be set up.
    OnError {
        /// The JVM does not start.
        #[default]
        Stop = "stop",
        /// The program runs without a trace.
        Continue = "continue",
    } later &[]
}

pub(crate) fn not_available(word: &str) -> String {
    format!("{} is not available in this version", quoted(word))
}

pub(crate) fn no_such_value(word: &str, words: &[&str]) -> String {
    if word.is_empty() {
        return format!("the value is missing{}", allowed(word, words));
    }
    format!("no such value {}{}", quoted(word), allowed(word, words))
}

/// A set of kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Events(u8);

impl Events {
    /// Enter and leave of methods.
    pub const METHODS: Self = Self(1);
    /// Start and end of threads.
    pub const THREADS: Self = Self(2);
    /// Classes as they are prepared.
    pub const CLASSES: Self = Self(4);
    /// Garbage collections.
    pub const GC: Self = Self(8);

    const NAMES: [(&'static str, Self); 4] = [
        ("methods", Self::METHODS),
        ("threads", Self::THREADS),
        ("classes", Self::CLASSES),
        ("gc", Self::GC),
    ];

    /// Whether all of `other` are in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of both sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut events = Self(0);
        for word in text.split('+') {
            let Some((_, event)) = Self::NAMES.iter().find(|(name, _)| *name == word) else {
                if LATER_EVENTS.contains(&word) {
                    return Err(not_available(word));
                }
                let words = Self::NAMES.map(|(name, _)| name);
                if word.is_empty() {
                    let list = allowed("", &words);
                    return Err(format!("a word is missing{list}, joined with \"+\""));
                }
                let list = words.join(", ");
                let hint = did_you_mean(word, words.into_iter());
                return Err(format!(
                    "no such event {}; allowed are {list}, joined with \"+\"{hint}",
                    quoted(word)
                ));
            };
            if events.contains(*event) {
                return Err(format!("{} is given twice", quoted(word)));
            }
            events = events.with(*event);
        }
        Ok(events)
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::METHODS
            .with(Self::THREADS)
            .with(Self::CLASSES)
            .with(Self::GC)
    }
}

/// The names, joined with `+`.
impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::NAMES
            .iter()
            .filter(|(_, e)| self.contains(*e))
            .map(|(name, _)| *name);
        f.write_str(&names.collect::<Vec<_>>().join("+"))
    }
}

/// Smallest and largest `buffer`, in bytes.
pub(crate) const BUFFER_LIMITS: (u64, u64) = (1 << 20, 64 << 30);

pub(crate) fn parse_buffer(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    if bytes < BUFFER_LIMITS.0 || bytes > BUFFER_LIMITS.1 {
        return Err(format!(
            "{} is out of bounds; allowed is 1m to 64g",
            quoted(text)
        ));
    }
    Ok(bytes)
}

/// Bytes of a size such as `65536`, `512k`, `64m`, `1g` (powers of 1024, either case).
///
/// # Errors
/// A sentence that says what is wrong: no such number, or more than 64 bits.
pub fn parse_size(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Err("the value is missing; write it like 65536, 512k, 64m or 1g".to_owned());
    }
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "{} is not a size; write it like 65536, 512k, 64m or 1g",
            quoted(text)
        ));
    }
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|n| n.checked_mul(1 << shift))
        .ok_or_else(|| format!("{} is too large", quoted(text)))
}

/// A size with the largest unit that divides it: `64m`.
pub(crate) fn size_text(bytes: u64) -> String {
    for (unit, shift) in [("g", 30), ("m", 20), ("k", 10)] {
        if bytes != 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("65536", 65_536),
            ("512k", 524_288),
            ("64m", 64 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
            assert_eq!(parse_size(&size_text(bytes)), Ok(bytes), "{text}");
        }
        assert_eq!(size_text(64 << 20), "64m");
        assert_eq!(size_text(1025), "1025");
    }

    #[test]
    fn events_read_back() {
        let some = Events::METHODS.with(Events::GC);
        assert_eq!(Events::parse("gc+methods"), Ok(some));
        assert_eq!(some.to_string(), "methods+gc");
        assert_eq!(
            Events::parse(&Events::default().to_string()),
            Ok(Events::default())
        );
        assert!(!some.contains(Events::THREADS));
    }

    #[test]
    fn words_read_back() {
        for word in OutputFormat::WORDS {
            assert_eq!(OutputFormat::parse(word).map(OutputFormat::word), Ok(*word));
        }
    }
}
