//! Line of an event in a dump, and the notation of values.

use super::base;
use jtrail_analysis::Names;
use jtrail_model::names::NO_CLASS;
use jtrail_model::{Event, Frame, MethodId, Timestamp};
use std::fmt::{self, Display};
use std::io::{self, Write};

/// A value. It is displayed in quotation marks if it contains characters that need them.
pub(super) struct Quoted<T>(pub(super) T);

impl<T: AsRef<str>> Display for Quoted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_ref();
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '"' && c != '\\';
        if !text.is_empty() && text.chars().all(plain) {
            return f.write_str(text);
        }
        f.write_str("\"")?;
        for c in text.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// Returns a list as one value, separated by commas.
pub(super) fn list<T>(items: &[T], item: impl Fn(&T) -> String) -> Quoted<String> {
    Quoted(items.iter().map(item).collect::<Vec<_>>().join(","))
}

pub(super) fn frame(frame: &Frame<'_>) -> String {
    format!("{}:{}", frame.method, frame.line)
}

/// Frames of a stack, innermost first.
pub(super) struct Stack<'a>(pub(super) &'a [Frame<'a>]);

impl Display for Stack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(self.0, frame).fmt(f)
    }
}

/// Writes the line of an event.
pub(super) fn write(
    out: &mut dyn Write,
    names: &Names,
    origin: Timestamp,
    event: &Event<'_>,
) -> io::Result<()> {
    match event.time() {
        Some(time) => write!(out, "{} ", time.since(origin))?,
        None => out.write_all(b"- ")?,
    }
    match event.thread() {
        Some(thread) => write!(out, "#{thread} ")?,
        None => out.write_all(b"- ")?,
    }
    match event {
        Event::MethodEnter(e) => {
            write!(out, "enter ")?;
            method(out, names, e.method)?;
            write!(out, " ticket={} depth={}", e.ticket, e.stack_depth)?;
            cpu(out, e.cpu_time)?;
        }
        Event::MethodLeave(e) => {
            write!(out, "leave ")?;
            method(out, names, e.method)?;
            write!(out, " ticket={}", e.ticket)?;
            cpu(out, e.cpu_time)?;
            if e.by_exception {
                write!(out, " exception=true")?;
            }
        }
        other => base::write(out, names, origin, other)?,
    }
    out.write_all(b"\n")
}

/// Writes `class.method(descriptor)result`, without allocating.
pub(super) fn method(out: &mut dyn Write, names: &Names, id: MethodId) -> io::Result<()> {
    let parts = names
        .method(id)
        .and_then(|m| Some((names.known_class(m.class)?, m)));
    let blank = |text: &str| text.contains([' ', '"', '\\']) || text.contains(char::is_control);
    match parts {
        Some((class, m)) if !blank(class) && !blank(&m.name) && !blank(&m.signature) => {
            if class != NO_CLASS {
                write!(out, "{class}.")?;
            }
            write!(out, "{}{}", m.name, m.signature)
        }
        _ => write!(out, "{}", Quoted(names.raw_method(id))),
    }
}

fn cpu(out: &mut dyn Write, time: jtrail_model::Duration) -> io::Result<()> {
    if time.0 == 0 {
        Ok(())
    } else {
        write!(out, " cpu={time}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_where_needed() {
        for (text, expected) in [
            ("a.B", "a.B"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a\"\\", "\"a\\\"\\\\\""),
            ("a\nb\u{1b}", "\"a\\nb\\u{1b}\""),
        ] {
            assert_eq!(Quoted(text).to_string(), expected);
        }
    }
}
