//! Values of the options: words, booleans, numbers, sizes, times.

use crate::error::{allowed, quoted};
use std::fmt;
use std::time::Duration;

/// An enum whose cases are words of the option text.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// Words of the cases, in their order.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// Returns the word of the case in the option text.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)*
                }
            }

            /// Returns the case with this word.
            ///
            /// # Errors
            /// A sentence that says which words are allowed.
            pub fn parse(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$case),)*
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
        /// jtrail's own format: small, and readable when it is damaged.
        Trail = "trail",
        /// The Perfetto UI's own format, which jtrail does not read.
        Perfetto = "perfetto",
        /// Chrome's Trace Event Format.
        Chrome = "chrome",
        /// A recording of JDK Flight Recorder, which jtrail does not read.
        Jfr = "jfr",
        /// Collapsed stacks: sums by call path, written at the end.
        Collapsed = "collapsed",
        /// Everything is recorded and nothing is written. This measures the cost of recording
        /// alone.
        None = "none",
    }
}

words! {
    /// Data version of a log profile.
    MlpdVersion {
        /// The first version that was described.
        V1 = "1",
        /// The last version.
        V17 = "17",
    }
}

words! {
    /// What collapsed stacks are weighted by.
    Weight {
        /// Time without callees.
        SelfTime = "self",
        /// CPU time without callees.
        Cpu = "cpu",
        /// Number of calls.
        Calls = "calls",
        /// Bytes of allocated objects.
        Allocated = "allocated",
        /// Time blocked on monitors.
        Blocked = "blocked",
        /// Time in `Object.wait` and parked.
        Waiting = "waiting",
    }
}

words! {
    /// How calls are seen.
    Engine {
        /// By hooks in rewritten classes.
        Bytecode = "bytecode",
        /// By the JVM's own events: slow, but native methods are seen too.
        Jvmti = "jvmti",
    }
}

words! {
    /// How allocations are seen.
    AllocMode {
        /// The JVM reports every object.
        Jvm = "jvm",
        /// By hooks in rewritten classes, at the instructions that create objects: cheap. With
        /// [`Events::FREE`](crate::Events::FREE), objects have identity.
        Sites = "sites",
    }
}

words! {
    /// What happens to calls of trivial methods: short ones without calls, loops and monitors.
    Trivial {
        /// Calls of trivial methods are recorded like all others.
        Trace = "trace",
        /// Calls of trivial methods are left out, and the trace names the methods.
        Skip = "skip",
    }
}

words! {
    /// How events get their time.
    Clock {
        /// Each event gets a time stamp of its own.
        Exact = "exact",
        /// A call gets a new time stamp if the clock has ticked since the thread's last event.
        /// Otherwise it gets the stamp of that event, which is at most a tick old.
        Tick = "tick",
    }
}

words! {
    /// What happens when all buffers are full.
    Overflow {
        /// The thread that finds no room waits; nothing is lost.
        Block = "block",
        /// Events are dropped and counted.
        Drop = "drop",
        /// The newest events stay in the buffers. They are written at the moments in
        /// [`Options::save`](crate::Options::save).
        Ring = "ring",
    }
}

words! {
    /// What happens when a trace has grown to [`Options::max_size`](crate::Options::max_size).
    AtMaxSize {
        /// The trace goes on in another file.
        Rotate = "rotate",
        /// The trace goes on in another file, and the oldest files are deleted.
        Ring = "ring",
    }
}

words! {
    /// Priority of the threads that write the trace.
    Priority {
        /// Threads that write have the priority of the program's.
        Normal = "normal",
        /// Threads that write have a lower priority than the program's.
        Low = "low",
    }
}

words! {
    /// What happens when the trace can't be set up.
    OnError {
        /// The JVM does not start.
        Stop = "stop",
        /// The program runs without a trace.
        Continue = "continue",
    }
}

words! {
    /// What begins and ends the trace.
    Server {
        /// The trace is recorded from the start, and there is no command channel.
        Standalone = "standalone",
        /// The trace is recorded from the start, and clients may connect.
        Enabled = "enabled",
        /// The program waits for a client before its `main`.
        Controlled = "controlled",
        /// The program itself starts and stops the trace.
        Application = "application",
    }
}

words! {
    /// The version that the agent presents to clients.
    Compat {
        /// As this version.
        Current = "current",
        /// As TPTP's agents before 4.5, which do not know `setOutputFormat`.
        Pre45 = "pre45",
    }
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
pub(crate) const MAX_STACK_DEPTH: u16 = 1024;
/// The default of `stackdepth`, in frames. Samples have another default in formats that add them up
/// from their outermost frames.
pub(crate) const USUAL_STACK: u16 = 16;

pub(crate) fn parse_stack_depth(text: &str) -> Result<u16, String> {
    if text.is_empty() {
        return Err(format!(
            "the value is missing; write a number from 0 to {MAX_STACK_DEPTH}"
        ));
    }
    let number: Option<u16> = number(text);
    number.filter(|n| *n <= MAX_STACK_DEPTH).ok_or_else(|| {
        format!(
            "{} is not a number from 0 to {MAX_STACK_DEPTH}",
            quoted(text)
        )
    })
}

/// Parses a number that consists of digits only. (`str::parse` alone would also accept a sign.)
pub(crate) fn number<N: std::str::FromStr>(digits: &str) -> Option<N> {
    let all = digits.bytes().all(|b| b.is_ascii_digit());
    all.then(|| digits.parse().ok()).flatten()
}

/// Shortest and longest `interval`.
const INTERVAL_LIMITS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(3600));

/// Units of a duration, and the nanoseconds of each.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The units that an `interval` may have: ms, s, m.
const INTERVAL_UNITS: &[(&str, u64)] = UNITS.split_at(5).0.split_at(2).1;

/// Shortest and longest `tick`.
const TICK_LIMITS: (Duration, Duration) = (Duration::from_micros(10), Duration::from_millis(10));

pub(crate) fn parse_tick(text: &str) -> Result<Duration, String> {
    parse_duration_within(text, TICK_LIMITS)
}

/// Shortest and longest `min` and `export.min`.
const MIN_LIMITS: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(3600));

pub(crate) fn parse_min(text: &str) -> Result<Duration, String> {
    parse_duration_within(text, MIN_LIMITS)
}

fn parse_duration_within(
    text: &str,
    (shortest, longest): (Duration, Duration),
) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time < shortest || time > longest {
        return Err(format!(
            "{} is out of bounds; allowed is {} to {}",
            quoted(text),
            duration_text(shortest),
            duration_text(longest)
        ));
    }
    Ok(time)
}

/// Largest `export.depth`, in levels.
const MAX_LEVELS: u32 = 1_000_000;

pub(crate) fn parse_levels(text: &str) -> Result<u32, String> {
    if text.is_empty() {
        return Err(format!(
            "the value is missing; write a number of levels, from 1 to {MAX_LEVELS}"
        ));
    }
    number(text)
        .filter(|levels| (1..=MAX_LEVELS).contains(levels))
        .ok_or_else(|| {
            format!(
                "{} is not a number of levels, from 1 to {MAX_LEVELS}",
                quoted(text)
            )
        })
}

/// Smallest and largest `maxrate`, in calls a second.
const RATE_LIMITS: (u64, u64) = (10, 1_000_000_000_000);

pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    let (least, most) = RATE_LIMITS;
    if text.is_empty() {
        return Err(format!(
            "the value is missing; write a number of calls a second, from {least} to {most}"
        ));
    }
    number(text)
        .filter(|rate| (least..=most).contains(rate))
        .ok_or_else(|| {
            format!(
                "{} is not a number of calls a second, from {least} to {most}",
                quoted(text)
            )
        })
}

pub(crate) fn parse_interval(text: &str) -> Result<Duration, String> {
    let time = parse_time(text, INTERVAL_UNITS, "write it like 10ms, 2s or 1m")?;
    let (shortest, longest) = INTERVAL_LIMITS;
    time.filter(|d| (shortest..=longest).contains(d))
        .ok_or_else(|| {
            format!(
                "{} is out of bounds; allowed is {} to {}",
                quoted(text),
                interval_text(shortest),
                interval_text(longest)
            )
        })
}

/// Reads a time such as `250us`, `10ms`, `2s`, `1m`, `1h`: a whole number of `ns`, `us`, `ms`, `s`,
/// `m` or `h`.
///
/// # Errors
/// A sentence that says what is wrong: the number or unit is invalid, or the time exceeds 64 bits
/// of ns.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    parse_time(text, UNITS, "write it like 500us, 10ms, 2s or 1m")?
        .ok_or_else(|| format!("{} is too long", quoted(text)))
}

/// Returns the duration, or `None` if it exceeds 64 bits of nanoseconds.
fn parse_time(text: &str, units: &[(&str, u64)], like: &str) -> Result<Option<Duration>, String> {
    if text.is_empty() {
        return Err(format!("the value is missing; {like}"));
    }
    parse_nanos(text, units)
        .filter(|_| !text.contains('.'))
        .map(|ns| u64::try_from(ns).ok().map(Duration::from_nanos))
        .ok_or_else(|| format!("{} is not a time; {like}", quoted(text)))
}

/// Parses a decimal number followed by one of `units`, such as `1.5s`, into nanoseconds.
///
/// Returns `None` for any other text. The number has at most nine decimals, and fractions of a
/// nanosecond are cut off. A result beyond 128 bits becomes [`u128::MAX`].
pub fn parse_nanos(text: &str, units: &[(&str, u64)]) -> Option<u128> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let unit = &text[number.len()..];
    let scale = u128::from(units.iter().find(|(name, _)| *name == unit)?.1);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let whole: u128 = whole.parse().unwrap_or(u128::MAX); // digits only fail if they overflow
    let billionths: u128 = format!("{fraction:0<9}").parse().ok()?;
    let below_one = billionths * scale / 1_000_000_000;
    Some(whole.saturating_mul(scale).saturating_add(below_one))
}

/// Formats a time of whole milliseconds as a whole number of the largest possible unit, up to
/// minutes: `10ms`.
pub(crate) fn interval_text(time: Duration) -> String {
    time_text(time, INTERVAL_UNITS)
}

/// Formats a time as a whole number of the largest possible unit: `1500us`. [`parse_duration`]
/// parses the result. Times above 64 bits of ns (584 years) are reduced to this maximum.
pub fn duration_text(time: Duration) -> String {
    time_text(time, UNITS)
}

fn time_text(time: Duration, units: &[(&str, u64)]) -> String {
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let divides = |(_, size): &&(&str, u64)| ns != 0 && ns.is_multiple_of(*size);
    let (unit, size) = units.iter().rev().find(divides).unwrap_or(&units[0]);
    format!("{}{unit}", ns / size)
}

/// Smallest and largest `buffer`, in bytes.
pub(crate) const BUFFER_LIMITS: (u64, u64) = (1 << 20, 64 << 30);

pub(crate) fn parse_buffer(text: &str) -> Result<u64, String> {
    parse_size_within(text, BUFFER_LIMITS)
}

/// Largest `trail.writers`.
pub(crate) const MAX_WRITERS: usize = 8;

/// Parses a value of `trail.writers`. Returns `None` for `auto`.
pub(crate) fn parse_writers(text: &str) -> Result<Option<usize>, String> {
    if text == "auto" {
        return Ok(None);
    }
    let count = text.parse().ok().filter(|count| *count <= MAX_WRITERS);
    let wrong = || {
        format!(
            "{} is not auto, nor a number from 0 to {MAX_WRITERS}",
            quoted(text)
        )
    };
    count.map(Some).ok_or_else(wrong)
}

/// Smallest and largest `maxsize`, in bytes.
pub(crate) const MAX_SIZE_LIMITS: (u64, u64) = (1 << 20, 1 << 50);

pub(crate) fn parse_max_size(text: &str) -> Result<u64, String> {
    parse_size_within(text, MAX_SIZE_LIMITS)
}

fn parse_size_within(text: &str, (least, most): (u64, u64)) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    if bytes < least || bytes > most {
        return Err(format!(
            "{} is out of bounds; allowed is {} to {}",
            quoted(text),
            size_text(least),
            size_text(most)
        ));
    }
    Ok(bytes)
}

/// Parses a size such as `65536`, `512k`, `64m` or `1g` into bytes. Units are powers of 1024, in
/// either case.
///
/// # Errors
/// A sentence that says what is wrong: the number is invalid, or the size exceeds 64 bits.
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

/// Formats a size as a whole number of the largest possible unit: `64m`. [`parse_size`] parses the
/// result.
pub fn size_text(bytes: u64) -> String {
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
    fn durations() {
        for (text, ns) in [
            ("0ns", 0),
            ("1ns", 1),
            ("500us", 500_000),
            ("1500ms", 1_500_000_000),
            ("1h", 3_600_000_000_000),
            ("18446744073709551615ns", u64::MAX),
        ] {
            let time = Duration::from_nanos(ns);
            assert_eq!(parse_duration(text), Ok(time), "{text}");
            assert_eq!(duration_text(time), text);
        }
        assert_eq!(duration_text(Duration::MAX), "18446744073709551615ns");
        for (text, problem) in [
            (
                "",
                "the value is missing; write it like 500us, 10ms, 2s or 1m",
            ),
            (
                "5",
                "\"5\" is not a time; write it like 500us, 10ms, 2s or 1m",
            ),
            (
                "ms",
                "\"ms\" is not a time; write it like 500us, 10ms, 2s or 1m",
            ),
            (
                "+5s",
                "\"+5s\" is not a time; write it like 500us, 10ms, 2s or 1m",
            ),
            (
                "1.5s",
                "\"1.5s\" is not a time; write it like 500us, 10ms, 2s or 1m",
            ),
            (
                "1d",
                "\"1d\" is not a time; write it like 500us, 10ms, 2s or 1m",
            ),
            ("9999999999h", "\"9999999999h\" is too long"),
            (
                "9999999999999999999999999999999999999999ns",
                "\"9999999999999999999999999999999999999999ns\" is too long",
            ),
        ] {
            assert_eq!(parse_duration(text), Err(problem.to_owned()), "{text}");
        }
    }

    #[test]
    fn words_read_back() {
        for word in OutputFormat::WORDS {
            assert_eq!(OutputFormat::parse(word).map(OutputFormat::word), Ok(*word));
        }
    }
}
