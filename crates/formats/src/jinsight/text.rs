//! Texts of USER_EVENT records: monitor events, parks and marks.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

/// Prefix of jtrail's own notes, which are written unchanged.
pub(super) const NOTE: &str = "jtrail ";

/// Parsed text of a USER_EVENT record. It contains the ids of the file. An absent id is written as
/// `-`.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Message<'t> {
    MonitorEnter {
        thread: u32,
        object: Option<u32>,
        class: Cow<'t, str>,
        owner: Option<u32>,
    },
    MonitorEntered {
        thread: u32,
        object: Option<u32>,
        class: Cow<'t, str>,
    },
    MonitorWait {
        thread: u32,
        object: Option<u32>,
        class: Cow<'t, str>,
        timeout: i64,
    },
    MonitorWaited {
        thread: u32,
        object: Option<u32>,
        class: Cow<'t, str>,
        timed_out: bool,
    },
    Park {
        thread: u32,
        object: Option<u32>,
        class: Cow<'t, str>,
    },
    Unpark {
        thread: u32,
    },
    RuntimeInit {
        thread: Option<u32>,
    },
    RuntimeShutdown {
        thread: Option<u32>,
    },
    Mark(Cow<'t, str>),
}

/// Formats an id, or `-` if absent.
struct Id(Option<u32>);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => id.fmt(f),
            None => f.write_str("-"),
        }
    }
}

/// Formats a string in quotation marks, with `"` and `\` escaped.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for part in self.0.split_inclusive(['"', '\\']) {
            let special = part.ends_with(['"', '\\']);
            let (plain, special) = part.split_at(part.len() - usize::from(special));
            f.write_str(plain)?;
            if !special.is_empty() {
                f.write_char('\\')?;
                f.write_str(special)?;
            }
        }
        f.write_char('"')
    }
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |f: &mut fmt::Formatter<'_>, name, thread, object, class| {
            let (object, class) = (Id(object), Quoted(class));
            write!(f, "{name} thread={thread} object={object} class={class}")
        };
        match *self {
            Self::MonitorEnter {
                thread,
                object,
                ref class,
                owner,
            } => {
                place(f, "monitor-enter", thread, object, class)?;
                write!(f, " owner={}", Id(owner))
            }
            Self::MonitorEntered {
                thread,
                object,
                ref class,
            } => place(f, "monitor-entered", thread, object, class),
            Self::MonitorWait {
                thread,
                object,
                ref class,
                timeout,
            } => {
                place(f, "monitor-wait", thread, object, class)?;
                write!(f, " timeout={timeout}")
            }
            Self::MonitorWaited {
                thread,
                object,
                ref class,
                timed_out,
            } => {
                place(f, "monitor-waited", thread, object, class)?;
                write!(f, " timedout={}", u8::from(timed_out))
            }
            Self::Park {
                thread,
                object,
                ref class,
            } => place(f, "park", thread, object, class),
            Self::Unpark { thread } => write!(f, "unpark thread={thread}"),
            Self::RuntimeInit { thread } => write!(f, "runtime-init thread={}", Id(thread)),
            Self::RuntimeShutdown { thread } => write!(f, "runtime-shutdown thread={}", Id(thread)),
            Self::Mark(ref text) => write!(f, "mark {}", Quoted(text)),
        }
    }
}

/// Parses the text of a USER_EVENT record. Returns `None` if the text has another form: formatting
/// the result must give exactly `text` again.
pub(super) fn parse(text: &str) -> Option<Message<'_>> {
    let (name, rest) = text.split_once(' ')?;
    let mut words = Words(rest);
    let message = match name {
        "monitor-enter" => Message::MonitorEnter {
            thread: words.number("thread=")?,
            object: words.id("object=")?,
            class: words.quoted("class=")?,
            owner: words.id("owner=")?,
        },
        "monitor-entered" => Message::MonitorEntered {
            thread: words.number("thread=")?,
            object: words.id("object=")?,
            class: words.quoted("class=")?,
        },
        "monitor-wait" => Message::MonitorWait {
            thread: words.number("thread=")?,
            object: words.id("object=")?,
            class: words.quoted("class=")?,
            timeout: words.number("timeout=")?,
        },
        "monitor-waited" => Message::MonitorWaited {
            thread: words.number("thread=")?,
            object: words.id("object=")?,
            class: words.quoted("class=")?,
            timed_out: words.number::<u8>("timedout=")? == 1,
        },
        "park" => Message::Park {
            thread: words.number("thread=")?,
            object: words.id("object=")?,
            class: words.quoted("class=")?,
        },
        "unpark" => Message::Unpark {
            thread: words.number("thread=")?,
        },
        "runtime-init" => Message::RuntimeInit {
            thread: words.id("thread=")?,
        },
        "runtime-shutdown" => Message::RuntimeShutdown {
            thread: words.id("thread=")?,
        },
        "mark" => Message::Mark(words.quoted("")?),
        _ => return None,
    };
    let mut same = Same(text);
    (write!(same, "{message}").is_ok() && same.0.is_empty()).then_some(message)
}

/// Writer that compares its input with the string it holds, without allocating.
struct Same<'t>(&'t str);

impl fmt::Write for Same<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
        Ok(())
    }
}

struct Words<'t>(&'t str);

impl<'t> Words<'t> {
    fn word(&mut self, key: &str) -> Option<&'t str> {
        let rest = self.0.strip_prefix(key)?;
        let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        self.0 = rest;
        Some(word)
    }

    fn number<T: std::str::FromStr>(&mut self, key: &str) -> Option<T> {
        self.word(key)?.parse().ok()
    }

    fn id(&mut self, key: &str) -> Option<Option<u32>> {
        match self.word(key)? {
            "-" => Some(None),
            word => word.parse().ok().map(Some),
        }
    }

    fn quoted(&mut self, key: &str) -> Option<Cow<'t, str>> {
        let mut rest = self.0.strip_prefix(key)?.strip_prefix('"')?;
        let mut text = Cow::Borrowed("");
        loop {
            let (part, tail) = rest.split_at(rest.find(['"', '\\'])?);
            if text.is_empty() {
                text = part.into();
            } else {
                text.to_mut().push_str(part);
            }
            let mut chars = tail.chars();
            if chars.next() == Some('"') {
                let tail = chars.as_str();
                self.0 = tail.strip_prefix(' ').unwrap_or(tail);
                return Some(text);
            }
            text.to_mut().push(chars.next()?);
            rest = chars.as_str();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 12] = [
        "monitor-enter thread=1 object=9 class=\"java/lang/Object\" owner=2",
        "monitor-enter thread=1 object=- class=\"\" owner=-",
        "monitor-entered thread=4294967295 object=4294967294 class=\"a \\\"b\\\\\"",
        "monitor-wait thread=1 object=9 class=\"[I\" timeout=-250",
        "monitor-waited thread=1 object=9 class=\"a/B\" timedout=1",
        "monitor-waited thread=1 object=9 class=\"a/B\" timedout=0",
        "park thread=1 object=- class=\"\"",
        "unpark thread=1",
        "runtime-init thread=-",
        "runtime-shutdown thread=7",
        "mark \"\"",
        "mark \"say \\\"no\\\\yes\\\" é\n\"",
    ];

    #[test]
    fn texts_read_back_as_written() {
        for text in TEXTS {
            let message = parse(text).expect(text);
            assert_eq!(message.to_string(), text);
        }
        let Some(Message::Mark(mark)) = parse(TEXTS[11]) else {
            panic!("no mark")
        };
        assert_eq!(mark, "say \"no\\yes\" é\n");
    }

    #[test]
    fn other_texts_have_no_meaning() {
        for text in [
            "",
            "mark",
            "mark ",
            "mark x",
            "mark \"x",
            "mark \"x\\",
            "mark \"x\" ",
            "mark \"x\\y\"",
            "mark \"x\"y",
            "unpark thread=",
            "unpark thread=+1",
            "unpark thread=01",
            "unpark thread=-",
            "unpark thread=1 ",
            "unpark thread=4294967296",
            "unpark  thread=1",
            "monitor-waited thread=1 object=9 class=\"a\" timedout=2",
            "monitor-wait thread=1 object=9 class=\"a\"",
            "monitor-wait object=9 thread=1 class=\"a\" timeout=0",
            "Mark \"x\"",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in TEXTS {
            for (end, _) in text.char_indices() {
                if let Some(read) = parse(&text[..end]) {
                    assert_eq!(read.to_string(), text[..end]);
                }
            }
        }
    }
}
