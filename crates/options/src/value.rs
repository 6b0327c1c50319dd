//! Values of the options: words, booleans, numbers, sizes, times.

use crate::error::{allowed, quoted};
use std::fmt;
use std::time::Duration;

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
        /// JinsightLive.
        Jinsight = "jinsight",
        /// Mono's log profile.
        Mlpd = "mlpd",
        /// The text trace of Tizen's CoreProfiler.
        TraceLog = "tracelog",
        /// ProfilerJ's snapshot: totals, written at the end and on request.
        ProfilerJ = "profilerj",
        /// Everything is recorded and nothing written: to measure what recording alone costs.
        None = "none",
    } later &["trail"]
}

words! {
    /// Data version of a log profile.
    MlpdVersion {
        /// The first one that was described.
        #[default]
        V1 = "1",
        /// The last one.
        V17 = "17",
    } later &[]
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

/// The words of a boolean.
pub(crate) const BOOLEANS: &[&str] = &["true", "false"];

pub(crate) fn parse_boolean(word: &str) -> Result<bool, String> {
    match word {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(no_such_value(word, BOOLEANS)),
    }
}

/// Largest `stackdepth`, in frames.
const DEEPEST: u16 = 1024;

pub(crate) fn parse_stack_depth(text: &str) -> Result<u16, String> {
    if text.is_empty() {
        return Err(format!(
            "the value is missing; write a number from 0 to {DEEPEST}"
        ));
    }
    let number: Option<u16> = number(text);
    number
        .filter(|n| *n <= DEEPEST)
        .ok_or_else(|| format!("{} is not a number from 0 to {DEEPEST}", quoted(text)))
}

/// Of digits only: `parse` alone takes a sign too.
fn number<N: std::str::FromStr>(digits: &str) -> Option<N> {
    let all = digits.bytes().all(|b| b.is_ascii_digit());
    all.then(|| digits.parse().ok()).flatten()
}

/// Shortest and longest `interval`.
const INTERVAL_LIMITS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(3600));

/// Reads `10ms`, `2s`, `1m`.
pub(crate) fn parse_interval(text: &str) -> Result<Duration, String> {
    const LIKE: &str = "write it like 10ms, 2s or 1m";
    if text.is_empty() {
        return Err(format!("the value is missing; {LIKE}"));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => 0,
    };
    if unit == 0 || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("{} is not a time; {LIKE}", quoted(text)));
    }
    let (shortest, longest) = INTERVAL_LIMITS;
    number::<u64>(digits)
        .and_then(|n| n.checked_mul(unit))
        .map(Duration::from_millis)
        .filter(|d| (shortest..=longest).contains(d))
        .ok_or_else(|| {
            format!(
                "{} is out of bounds; allowed is {} to {}",
                quoted(text),
                interval_text(shortest),
                interval_text(longest)
            )
        })
}

/// A time of whole milliseconds with the largest unit that divides it: `10ms`.
pub(crate) fn interval_text(time: Duration) -> String {
    let ms = time.as_millis();
    for (unit, size) in [("m", 60_000), ("s", 1_000)] {
        if ms != 0 && ms.is_multiple_of(size) {
            return format!("{}{unit}", ms / size);
        }
    }
    format!("{ms}ms")
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
    fn intervals() {
        for (text, ms) in [
            ("1ms", 1),
            ("10ms", 10),
            ("2s", 2_000),
            ("1500ms", 1_500),
            ("1m", 60_000),
            ("60m", 3_600_000),
        ] {
            let time = Duration::from_millis(ms);
            assert_eq!(parse_interval(text), Ok(time), "{text}");
            assert_eq!(interval_text(time), text);
        }
        assert_eq!(parse_interval("3600s"), Ok(INTERVAL_LIMITS.1));
    }

    #[test]
    fn words_read_back() {
        for word in OutputFormat::WORDS {
            assert_eq!(OutputFormat::parse(word).map(OutputFormat::word), Ok(*word));
        }
    }
}
