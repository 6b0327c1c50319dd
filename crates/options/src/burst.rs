//! Bursts: recording for a limited time when a trigger fires.
//!
//! ```text
//! burst   = trigger [ "/" limit ]
//! trigger = "call:" method [ ":" number ]     when a method is called for the n-th time, 1 without a number
//!         | "slow:" method ":" time           when a call takes longer than that
//!         | "exception:" class                when such an exception is thrown
//!         | "at:" time                        so long after the start
//!         | "every:" time                     again and again
//! limit   = time | number                     for that time, or for so many events; 10s without it
//! ```
//!
//! `method` is a pattern as in `include`. `class` is a pattern without a method part. It matches an
//! exception if it matches the exception's class or one of its superclasses. The key may be
//! repeated.

use crate::error::quoted;
use crate::filter::{Rule, push_rules};
use crate::pattern::{Pattern, split_class_method};
use crate::value::{duration_text, no_such_value, number, parse_duration};
use std::fmt;
use std::time::Duration;

/// How long a burst lasts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BurstLimit {
    /// For this time, which is not 0.
    Time(Duration),
    /// For this number of events, which is not 0.
    Events(u64),
}

/// Maximum number of values of `burst`. In the agent, the triggers of a method are bits of a 32-bit
/// word.
pub(crate) const MAX_BURSTS: usize = 31;

/// Limit of a burst if the value of `burst` has no limit.
const DEFAULT_LIMIT: BurstLimit = BurstLimit::Time(Duration::from_secs(10));

/// Condition that begins a burst.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// When a method is called.
    Call {
        /// Rules for the method, built like those of `include`.
        methods: Vec<Rule>,
        /// Number of the call that begins the burst, from 1.
        nth: u64,
    },
    /// When a call takes longer than a time.
    Slow {
        /// Rules for the method, built like those of `include`.
        methods: Vec<Rule>,
        /// Duration that the call exceeds; not 0.
        longer_than: Duration,
    },
    /// When an exception is thrown.
    Exception {
        /// Pattern for the exception's class or one of its superclasses.
        class: Pattern,
    },
    /// At this time after the start.
    At(Duration),
    /// Repeatedly, with this period, which is not 0.
    Every(Duration),
}

/// A burst and its trigger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Burst {
    /// When the burst begins.
    pub trigger: Trigger,
    /// How long the burst lasts.
    pub limit: BurstLimit,
}

const TRIGGERS: &[&str] = &["call", "slow", "exception", "at", "every"];

impl Burst {
    /// Reads the value of the option `burst`.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (trigger, limit) = match text.rsplit_once('/') {
            Some((trigger, limit)) => (trigger, parse_limit(limit)?),
            None => (text, DEFAULT_LIMIT),
        };
        let trigger = Trigger::parse(trigger)?;
        if let (Trigger::Every(pause), BurstLimit::Time(time)) = (&trigger, limit)
            && time >= *pause
        {
            return Err(format!(
                "a burst of {} can't begin every {}; make it shorter",
                duration_text(time),
                duration_text(*pause)
            ));
        }
        Ok(Self { trigger, limit })
    }

    /// Returns a burst with a trigger of `save`. The burst's limit has no meaning, because the
    /// events to save are recorded already.
    pub(crate) fn saving(trigger: Trigger) -> Self {
        Self {
            trigger,
            limit: DEFAULT_LIMIT,
        }
    }
}

impl Trigger {
    fn parse(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        Ok(match word {
            "call" => {
                let (value, nth) = match rest.split_once(':') {
                    Some((value, nth)) => (value, count(nth)?),
                    None => (rest, 1),
                };
                let methods = methods(value)?;
                Self::Call { methods, nth }
            }
            "slow" => {
                let (value, time) = rest.split_once(':').ok_or_else(|| {
                    "a time is missing after the method: slow:METHOD:TIME".to_owned()
                })?;
                let methods = methods(value)?;
                let longer_than = positive_time(time)?;
                Self::Slow {
                    methods,
                    longer_than,
                }
            }
            "exception" => match split_class_method(rest)? {
                (class, None) => Self::Exception {
                    class: Pattern::new(class),
                },
                (_, Some(_)) => return Err(format!("{} is not a class", quoted(rest))),
            },
            "at" => Self::At(parse_duration(rest)?),
            "every" => Self::Every(positive_time(rest)?),
            _ => return Err(no_such_value(word, TRIGGERS)),
        })
    }

    /// Reads a trigger of `save`. Returns `None` if the text does not begin like one.
    pub(crate) fn parse_saving(text: &str) -> Option<Result<Self, String>> {
        const SAVING: [&str; 3] = ["call", "slow", "exception"];
        let (word, _) = text.split_once(':')?;
        SAVING.contains(&word).then(|| Self::parse(text))
    }

    /// True if calls of methods fire the trigger.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Slow { .. })
    }

    /// True if methods of the class (`com.acme.Foo`) may fire the trigger.
    pub fn fits_class(&self, class: &str) -> bool {
        self.methods().iter().any(|rule| rule.class.matches(class))
    }

    /// True if the method (`com.acme.Foo`, `run`) fires the trigger.
    pub fn fits_method(&self, class: &str, method: &str) -> bool {
        let fits = |rule: &Rule| rule.class.matches(class) && rule.method.matches(method);
        self.methods().iter().any(fits)
    }

    fn methods(&self) -> &[Rule] {
        match self {
            Self::Call { methods, .. } | Self::Slow { methods, .. } => methods,
            Self::Exception { .. } | Self::At(_) | Self::Every(_) => &[],
        }
    }
}

fn methods(value: &str) -> Result<Vec<Rule>, String> {
    let mut rules = Vec::new();
    push_rules(&mut rules, value, true)?;
    Ok(rules)
}

/// Returns the rules as the option text spells them. Rules for all methods of a class and its
/// nested classes have no method part.
fn methods_text(rules: &[Rule]) -> String {
    match rules {
        [only] => format!("{}#{}", only.class, only.method),
        [first, ..] => first.class.to_string(),
        [] => String::new(),
    }
}

fn parse_limit(text: &str) -> Result<BurstLimit, String> {
    if text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
        return count(text).map(BurstLimit::Events);
    }
    positive_time(text).map(BurstLimit::Time)
}

fn count(text: &str) -> Result<u64, String> {
    let n = number(text).filter(|n| *n > 0);
    n.ok_or_else(|| format!("{} is not a number from 1", quoted(text)))
}

fn positive_time(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err(format!("{} is no time", quoted(text))),
        time => Ok(time),
    }
}

/// Writes the limit as the option text spells it.
impl fmt::Display for BurstLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => f.write_str(&duration_text(*time)),
            Self::Events(events) => write!(f, "{events}"),
        }
    }
}

/// Writes the trigger as the option text spells it, with `#` between class and method.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { methods, nth } => write!(f, "call:{}:{nth}", methods_text(methods)),
            Self::Slow {
                methods,
                longer_than,
            } => {
                let time = duration_text(*longer_than);
                write!(f, "slow:{}:{time}", methods_text(methods))
            }
            Self::Exception { class } => write!(f, "exception:{class}"),
            Self::At(time) => write!(f, "at:{}", duration_text(*time)),
            Self::Every(time) => write!(f, "every:{}", duration_text(*time)),
        }
    }
}

/// Writes trigger and limit as the option text spells them.
impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.trigger, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_read_back() {
        for (text, shown) in [
            ("call:com.acme.Foo.bar", "call:com.acme.Foo#bar:1/10s"),
            ("call:com.acme.Foo.bar:100", "call:com.acme.Foo#bar:100/10s"),
            ("call:com.acme.*/500ms", "call:com.acme.*#*:1/500ms"),
            ("call:com.acme.Foo/500ms", "call:com.acme.Foo:1/500ms"),
            ("slow:*.run:2s/1000", "slow:*#run:2s/1000"),
            (
                "exception:java.io.*Exception",
                "exception:java.io.*Exception/10s",
            ),
            ("at:0s/1m", "at:0ns/1m"),
            ("every:1h/250us", "every:1h/250us"),
            ("every:1s/99999", "every:1s/99999"),
        ] {
            let burst = Burst::parse(text).expect(text);
            assert_eq!(burst.to_string(), shown);
            assert_eq!(Burst::parse(shown), Ok(burst), "{text}");
        }
    }

    #[test]
    fn methods_are_those_that_include_would_take() {
        for (text, class, method, fits_class, fits) in [
            ("call:a.Foo.bar", "a.Foo", "bar", true, true),
            ("call:a.Foo.bar", "a.Foo", "baz", true, false),
            ("call:a.Foo.bar", "a.Foo$1", "bar", false, false),
            ("call:a.Foo:7", "a.Foo$1", "bar", true, true),
            ("slow:*.run:1s", "a.Foo$1", "run", true, true),
            ("slow:a.Foo.*:1s", "a.Foo$1", "run", true, true),
            ("exception:a.Foo", "a.Foo", "<init>", false, false),
            ("every:1h", "a.Foo", "run", false, false),
        ] {
            let trigger = Burst::parse(text).expect(text).trigger;
            let found = (
                trigger.fits_class(class),
                trigger.fits_method(class, method),
            );
            assert_eq!(found, (fits_class, fits), "{text} {class}.{method}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, problem) in [
            (
                "",
                "the value is missing; allowed are call, slow, exception, at, every",
            ),
            (
                "calls:a.B.c",
                "no such value \"calls\"; allowed are call, slow, exception, at, every; did you mean \"call\"?",
            ),
            ("call", "the pattern is missing"),
            (
                "call:a/B",
                "\"B\" is not a time; write it like 500us, 10ms, 2s or 1m",
            ),
            ("call:a.B.c:0", "\"0\" is not a number from 1"),
            ("call:a.B.c:-1", "\"-1\" is not a number from 1"),
            (
                "slow:a.B.c",
                "a time is missing after the method: slow:METHOD:TIME",
            ),
            ("slow:a.B.c:0s", "\"0s\" is no time"),
            (
                "slow:a.B.c:5",
                "\"5\" is not a time; write it like 500us, 10ms, 2s or 1m",
            ),
            ("exception:a.B.c", "\"a.B.c\" is not a class"),
            ("exception:", "the pattern is missing"),
            (
                "at:",
                "the value is missing; write it like 500us, 10ms, 2s or 1m",
            ),
            ("every:0s", "\"0s\" is no time"),
            (
                "at:1s/",
                "the value is missing; write it like 500us, 10ms, 2s or 1m",
            ),
            ("at:1s/0", "\"0\" is not a number from 1"),
            (
                "every:5s",
                "a burst of 10s can't begin every 5s; make it shorter",
            ),
        ] {
            assert_eq!(Burst::parse(text), Err(problem.to_owned()), "{text}");
        }
    }
}
