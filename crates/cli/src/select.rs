//! Which threads and which time are meant.

use jtrail_analysis::Names;
use jtrail_formats::trail::Part;
use jtrail_model::{Event, ThreadId, Timestamp};
use jtrail_options::Pattern;

/// A thread by its id, or threads by their name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ThreadSelector {
    Id(ThreadId),
    Name(Pattern),
}

impl ThreadSelector {
    /// Digits are an id; anything else is a name, in which `*` stands for any text.
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

/// Whether one of the selectors fits, or there is none.
pub(crate) fn selected(selectors: &[ThreadSelector], names: &Names, thread: ThreadId) -> bool {
    selectors.is_empty() || selectors.iter().any(|s| s.matches(names, thread))
}

/// A part of a trace's time. What comes without a time is not in it.
#[derive(clap::Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Span {
    /// Only from this moment on: since the trace's first (1.5s, 20ms, 7 for seconds), or in UTC (2026-01-31T12:00:00.5Z)
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub(crate) from: Option<Moment>,
    /// Only up to this moment, told in the same way
    #[arg(long, visible_alias = "until", value_name = "TIME", value_parser = Moment::parse)]
    pub(crate) to: Option<Moment>,
}

impl Span {
    pub(crate) fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// The first and the last time of it, in a trace whose first is `origin`.
    fn bounds(&self, origin: Timestamp) -> [i64; 2] {
        let [from, to] = [self.from, self.to].map(|m| m.map(|m| m.at(origin)));
        [from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX)]
    }
}

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    /// So many ns since the trace's first.
    Since(i64),
    /// In ns since 1970-01-01 UTC.
    At(i64),
}

impl Moment {
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

/// Nanoseconds of a decimal number with a unit, or of seconds without one.
fn length(text: &str) -> Option<i64> {
    let units = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ];
    let with_unit = |(name, scale)| Some((text.strip_suffix(name)?, scale));
    let (number, scale) = units
        .into_iter()
        .find_map(with_unit)
        .unwrap_or((text, 1_000_000_000));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let part: i64 = format!("{part:0<9}").parse().ok()?;
    let whole: i64 = whole.parse().ok()?;
    let part = i128::from(part) * i128::from(scale) / 1_000_000_000;
    whole
        .checked_mul(scale)?
        .checked_add(i64::try_from(part).ok()?)
}

fn digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// Nanoseconds since 1970-01-01 of `2026-01-31T12:00:00Z`, with up to nine digits of a second.
fn date(text: &str) -> Option<i64> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let field = |text: Option<&str>, width: usize, most: i64| {
        let text = text.filter(|text| text.len() == width && digits(text))?;
        text.parse().ok().filter(|n: &i64| *n <= most)
    };
    let mut parts = day.split('-');
    let year = field(parts.next(), 4, 2261)?;
    let month = field(parts.next(), 2, 12).filter(|month| *month > 0)?;
    let february = 28 + i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let day = field(parts.next(), 2, months[month as usize - 1]).filter(|day| *day > 0)?;
    if parts.next().is_some() || year < 1970 {
        return None;
    }
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let fraction = Some(fraction).filter(|f| !f.is_empty() && digits(f) && f.len() <= 9)?;
    let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
    let mut parts = time.split(':');
    let hour = field(parts.next(), 2, 23)?;
    let minute = field(parts.next(), 2, 59)?;
    let second = field(parts.next(), 2, 59)?;
    if parts.next().is_some() {
        return None;
    }
    // Days of the years before, with a leap day every four years but for three in 400.
    let before = year - 1;
    let years = 365 * (year - 1970) + (before / 4 - before / 100 + before / 400) - 477;
    let days = years + months[..month as usize - 1].iter().sum::<i64>() + day - 1;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// What of a trace is wanted, by time and by thread.
pub(crate) struct Selection<'a> {
    span: &'a Span,
    threads: &'a [ThreadSelector],
    /// The trace's first time.
    origin: Option<Timestamp>,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(span: &'a Span, threads: &'a [ThreadSelector]) -> Self {
        Self {
            span,
            threads,
            origin: None,
        }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.span.is_all() && self.threads.is_empty()
    }

    /// Sees an event of the trace, whether it is wanted or not.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        if self.origin.is_none() {
            self.origin = event.time().filter(|time| *time != Timestamp::default());
        }
    }

    /// The trace's first time, as far as it is known.
    pub(crate) fn origin(&self) -> Timestamp {
        self.origin.unwrap_or_default()
    }

    /// Whether an event is in the time that is wanted.
    pub(crate) fn has_time(&self, event: &Event<'_>) -> bool {
        let [from, to] = self.span.bounds(self.origin());
        self.span.is_all()
            || event
                .time()
                .is_some_and(|time| (from..=to).contains(&time.0))
    }

    /// Whether an event is of a thread that is wanted.
    pub(crate) fn has_thread(&self, names: &Names, event: &Event<'_>) -> bool {
        self.threads.is_empty()
            || event
                .thread()
                .is_some_and(|thread| selected(self.threads, names, thread))
    }

    /// Whether something of a part of a trail may be wanted, which has these definitions.
    pub(crate) fn may_have(&self, names: &Names, part: &Part, definitions: &[Event<'_>]) -> bool {
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
    fn moments_are_read() {
        for (text, moment) in [
            ("0", Some(Moment::Since(0))),
            ("12", Some(Moment::Since(12_000_000_000))),
            ("0.005", Some(Moment::Since(5_000_000))),
            ("1.5s", Some(Moment::Since(1_500_000_000))),
            ("1.", Some(Moment::Since(1_000_000_000))),
            ("0.000000001", Some(Moment::Since(1))),
            ("20ms", Some(Moment::Since(20_000_000))),
            ("2.25us", Some(Moment::Since(2_250))),
            ("7ns", Some(Moment::Since(7))),
            ("1970-01-01T00:00:00Z", Some(Moment::At(0))),
            (
                "2024-02-29T23:59:59.5Z",
                Some(Moment::At(1_709_251_199_500_000_000)),
            ),
            (
                "2026-01-31T12:00:00Z",
                Some(Moment::At(1_769_860_800_000_000_000)),
            ),
            (
                "2000-12-31T00:00:00Z",
                Some(Moment::At(978_220_800_000_000_000)),
            ),
            ("2023-02-29T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-31T24:00:00Z", None),
            ("2026-01-31", None),
            ("2026-01-31T12:00:00", None),
            ("", None),
            (".5", None),
            ("-1", None),
            ("s", None),
            ("1.0000000001", None),
            ("9999999999999", None),
            ("1e3", None),
        ] {
            assert_eq!(Moment::parse(text).ok(), moment, "{text}");
        }
    }
}
