//! Selection of threads and time.

use jtrail_analysis::Names;
use jtrail_formats::trail::Part;
use jtrail_model::{Event, ThreadId, Timestamp};
use jtrail_options::{Pattern, parse_nanos};
use time::UtcDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// A thread by id, or threads by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ThreadSelector {
    Id(ThreadId),
    Name(Pattern),
}

impl ThreadSelector {
    /// Parses a selector. Digits are an id. Other text is a name, in which `*` stands for any text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an id or a name is needed".to_owned());
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return match text.parse() {
                Ok(id) => Ok(Self::Id(ThreadId(id))),
                Err(_) => Err("too large for an id".to_owned()),
            };
        }
        Ok(Self::Name(Pattern::new(text)))
    }

    pub(crate) fn matches(&self, names: &Names, thread: ThreadId) -> bool {
        match self {
            Self::Id(id) => *id == thread,
            Self::Name(pattern) => names
                .threads
                .get(&thread)
                .is_some_and(|t| pattern.matches(&t.name)),
        }
    }
}

/// Parses a pattern of class names, in which `*` stands for any text.
pub(crate) fn class_pattern(text: &str) -> Result<Pattern, String> {
    match text.is_empty() {
        true => Err("a class name is needed".to_owned()),
        false => Ok(Pattern::new(text)),
    }
}

/// A method by name, or by class and name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MethodSelector {
    /// A method's name.
    Name(Pattern),
    /// The names of a class and of its method.
    Apart(Pattern, Pattern),
    /// The names of a class and of its method, joined by a dot.
    Joined(Pattern),
}

impl MethodSelector {
    /// Parses `METHOD`, `CLASS.METHOD` or `CLASS#METHOD`. `*` stands for any text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the name of a method is needed".to_owned());
        }
        Ok(match text.split_once('#') {
            Some((class, method)) => Self::Apart(Pattern::new(class), Pattern::new(method)),
            None if text.contains('.') => Self::Joined(Pattern::new(text)),
            None => Self::Name(Pattern::new(text)),
        })
    }

    pub(crate) fn matches(&self, class: &str, method: &str) -> bool {
        match self {
            Self::Name(name) => name.matches(method),
            Self::Apart(of, name) => of.matches(class) && name.matches(method),
            Self::Joined(both) => both.matches(&format!("{class}.{method}")),
        }
    }
}

/// Returns true if one of the selectors matches, or if there are no selectors.
pub(crate) fn selected(selectors: &[ThreadSelector], names: &Names, thread: ThreadId) -> bool {
    selectors.is_empty() || selectors.iter().any(|s| s.matches(names, thread))
}

/// A span of a trace's time. It does not include events without a time.
#[derive(clap::Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Span {
    /// Only from this time on: since the first time of the trace (1.5s, 20ms, 7 for seconds), or in
    /// UTC (2026-01-31T12:00:00.5Z)
    #[arg(long, value_name = "TIME", value_parser = TimePoint::parse)]
    pub(crate) from: Option<TimePoint>,
    /// Only up to this time, in the same notation
    #[arg(long, value_name = "TIME", value_parser = TimePoint::parse)]
    pub(crate) until: Option<TimePoint>,
}

impl Span {
    pub(crate) fn is_all(&self) -> bool {
        self.from.is_none() && self.until.is_none()
    }

    /// Returns the part of a trace's span that is selected. Spans have their begin, but not their
    /// end.
    pub(crate) fn within(&self, [first, end]: [Timestamp; 2]) -> [Timestamp; 2] {
        let [from, last] = self.bounds(first);
        let from = from.max(first.0);
        let until = last.saturating_add(1).min(end.0);
        [Timestamp(from), Timestamp(until.max(from))]
    }

    /// Returns the first and the last selected time. `origin` is the first time of the trace.
    fn bounds(&self, origin: Timestamp) -> [i64; 2] {
        let [from, until] = [self.from, self.until].map(|m| m.map(|m| m.at(origin)));
        [from.unwrap_or(i64::MIN), until.unwrap_or(i64::MAX)]
    }
}

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimePoint {
    /// Nanoseconds since the first time of the trace.
    Since(i64),
    /// Nanoseconds since 1970-01-01 UTC.
    At(i64),
}

impl TimePoint {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let since = || length(text).map(Self::Since);
        let moment = since().or_else(|| date(text).map(Self::At));
        moment.ok_or_else(|| {
            "write a time since the trace's first, like 1.5s, 20ms or 7 for seconds, or one in UTC, like 2026-01-31T12:00:00Z".to_owned()
        })
    }

    fn at(self, origin: Timestamp) -> i64 {
        match self {
            Self::Since(ns) => origin.0.saturating_add(ns),
            Self::At(ns) => ns,
        }
    }
}

/// Parses a decimal number with a unit, or a number of seconds, and returns nanoseconds.
fn length(text: &str) -> Option<i64> {
    const UNITS: &[(&str, u64)] = &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("", 1_000_000_000),
    ];
    i64::try_from(parse_nanos(text, UNITS)?).ok()
}

/// Returns a time since the first one of a trace in the notation of `--from`: `1.5s`.
pub(crate) fn time_argument(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Parses `2026-01-31T12:00:00Z`, with up to nine fractional digits, and returns nanoseconds since
/// 1970-01-01.
fn date(text: &str) -> Option<i64> {
    const FORMAT: &[BorrowedFormatItem<'_>] = format_description!(
        version = 2,
        "[year]-[month]-[day]T[hour]:[minute]:[second][optional [.[subsecond]]]Z"
    );
    const MAX_LENGTH: usize = "2026-01-31T12:00:00.123456789Z".len();
    // The format would also accept a sign before the year, and cut off further decimals.
    if text.len() > MAX_LENGTH || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let time = UtcDateTime::parse(text, FORMAT).ok()?;
    let ns = i64::try_from(time.unix_timestamp_nanos()).ok()?;
    (ns >= 0).then_some(ns)
}

/// Selection of events by time and thread.
pub(crate) struct Selection<'a> {
    span: &'a Span,
    threads: &'a [ThreadSelector],
    /// First time of the trace.
    origin: Option<Timestamp>,
    /// Latest time of the trace so far.
    latest: Timestamp,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(span: &'a Span, threads: &'a [ThreadSelector]) -> Self {
        Self {
            span,
            threads,
            origin: None,
            latest: Timestamp::default(),
        }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.span.is_all() && self.threads.is_empty()
    }

    /// Updates the first and the latest time of the trace. Must be called for every event, selected
    /// or not.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        if let Some(time) = event.time().filter(|time| *time != Timestamp::default()) {
            self.origin.get_or_insert(time);
            self.latest = self.latest.max(time);
        }
    }

    /// Returns the first and the last time of the selected part of the trace. Returns `None` if the
    /// selection does not restrict the time, or if the trace has no times.
    pub(crate) fn window(&self) -> Option<(Timestamp, Timestamp)> {
        let origin = self.origin.filter(|_| !self.span.is_all())?;
        let latest = self.latest.max(origin);
        let [from, until] = self.span.bounds(origin).map(Timestamp);
        let first = from.clamp(origin, latest);
        Some((first, until.clamp(first, latest)))
    }

    /// Returns the first time of the trace, or 0 if unknown.
    pub(crate) fn origin(&self) -> Timestamp {
        self.origin.unwrap_or_default()
    }

    /// Returns true if an event is within the selected time.
    pub(crate) fn has_time(&self, event: &Event<'_>) -> bool {
        let [from, to] = self.span.bounds(self.origin());
        self.span.is_all()
            || event
                .time()
                .is_some_and(|time| (from..=to).contains(&time.0))
    }

    /// Returns the first and the last selected time.
    pub(crate) fn times(&self) -> [Timestamp; 2] {
        self.span.bounds(self.origin()).map(Timestamp)
    }

    /// Returns true if a part of a trail begins before the end of the selected time.
    pub(crate) fn has_time_after(&self, part: &Part) -> bool {
        Timestamp(part.times[0]) <= self.times()[1]
    }

    /// Returns true if an event belongs to a selected thread.
    pub(crate) fn has_thread(&self, names: &Names, event: &Event<'_>) -> bool {
        self.threads.is_empty()
            || event
                .thread()
                .is_some_and(|thread| selected(self.threads, names, thread))
    }

    /// Returns true if a part of a trail with the given definitions may contain selected events.
    pub(crate) fn may_have(
        &mut self,
        names: &Names,
        part: &Part,
        definitions: &[Event<'_>],
    ) -> bool {
        self.latest = self.latest.max(Timestamp(part.times[1]));
        let [from, to] = self.span.bounds(self.origin());
        let in_time = self.origin.is_none() || (part.times[0] <= to && part.times[1] >= from);
        let is_named = |event: &Event<'_>| {
            let name = match event {
                Event::ThreadStart(e) => &e.name,
                Event::ThreadName(e) => &e.name,
                _ => return false,
            };
            let fits = |s: &ThreadSelector| matches!(s, ThreadSelector::Name(p) if p.matches(name));
            self.threads.iter().any(fits)
        };
        in_time
            && (part
                .threads
                .iter()
                .any(|thread| selected(self.threads, names, *thread))
                || definitions.iter().any(is_named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_read() {
        for (ns, text) in [
            (0, "0s"),
            (1, "0.000000001s"),
            (1_500_000_000, "1.5s"),
            (100_000_000_000, "100s"),
        ] {
            assert_eq!(time_argument(ns), text);
            let read = TimePoint::parse(text).expect("a time");
            assert_eq!(read, TimePoint::Since(ns as i64));
        }
    }

    #[test]
    fn a_span_lies_within_the_trace() {
        let span = |from: Option<i64>, until: Option<i64>| {
            let [from, until] = [from, until].map(|time| time.map(TimePoint::Since));
            Span { from, until }
                .within([Timestamp(100), Timestamp(201)])
                .map(|time| time.0)
        };
        assert_eq!(span(None, None), [100, 201]);
        // The time of --until is selected.
        assert_eq!(span(Some(10), Some(20)), [110, 121]);
        assert_eq!(span(Some(0), Some(100)), [100, 201]);
        assert_eq!(span(Some(20), Some(10)), [120, 120]);
        assert_eq!(span(Some(300), None), [400, 400]);
    }

    #[test]
    fn methods_are_selected_by_name_or_with_their_class() {
        for (pattern, expected) in [
            ("pay", true),
            ("pa*", true),
            ("refund", false),
            ("com.acme.Shop.pay", true),
            ("com.acme.*", true),
            ("Shop.pay", false),
            ("*Shop.pay", true),
            ("com.acme.Shop#pay", true),
            ("*#pay", true),
            ("*#refund", false),
            ("com.acme.Other#pay", false),
        ] {
            let selector = MethodSelector::parse(pattern).expect("a pattern");
            assert_eq!(
                selector.matches("com.acme.Shop", "pay"),
                expected,
                "{pattern}"
            );
        }
        assert!(MethodSelector::parse("").is_err());
    }

    #[test]
    fn moments_are_read() {
        for (text, moment) in [
            ("0", Some(TimePoint::Since(0))),
            ("12", Some(TimePoint::Since(12_000_000_000))),
            ("0.005", Some(TimePoint::Since(5_000_000))),
            ("1.5s", Some(TimePoint::Since(1_500_000_000))),
            ("1.", Some(TimePoint::Since(1_000_000_000))),
            ("0.000000001", Some(TimePoint::Since(1))),
            ("20ms", Some(TimePoint::Since(20_000_000))),
            ("2.25us", Some(TimePoint::Since(2_250))),
            ("7ns", Some(TimePoint::Since(7))),
            ("1970-01-01T00:00:00Z", Some(TimePoint::At(0))),
            (
                "2024-02-29T23:59:59.5Z",
                Some(TimePoint::At(1_709_251_199_500_000_000)),
            ),
            (
                "2026-01-31T12:00:00Z",
                Some(TimePoint::At(1_769_860_800_000_000_000)),
            ),
            (
                "2000-12-31T00:00:00Z",
                Some(TimePoint::At(978_220_800_000_000_000)),
            ),
            (
                "2026-01-31T12:00:00.000000001Z",
                Some(TimePoint::At(1_769_860_800_000_000_001)),
            ),
            ("2023-02-29T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-31T24:00:00Z", None),
            ("2026-01-31", None),
            ("2026-01-31T12:00:00", None),
            ("+2026-01-31T12:00:00Z", None),
            ("-2026-01-31T12:00:00Z", None),
            ("1969-12-31T23:59:59Z", None),
            ("2300-01-01T00:00:00Z", None),
            ("2026-1-31T12:00:00Z", None),
            ("2026-01-31t12:00:00z", None),
            ("2026-01-31 12:00:00Z", None),
            ("2026-01-31T12:00Z", None),
            ("2026-01-31T12:00:60Z", None),
            ("2026-06-30T23:59:60Z", None),
            ("2026-01-31T12:00:00.Z", None),
            ("2026-01-31T12:00:00.0000000001Z", None),
            ("2026-01-31T12:00:00+01:00", None),
            (" 2026-01-31T12:00:00Z", None),
            ("2026-01-31T12:00:00Z ", None),
            ("", None),
            (".5", None),
            ("-1", None),
            ("s", None),
            ("1.0000000001", None),
            ("9999999999999", None),
            ("1e3", None),
            ("1m", None),
            ("1.5.5s", None),
            ("9223372036854775808ns", None),
        ] {
            assert_eq!(TimePoint::parse(text).ok(), moment, "{text}");
        }
    }
}
