//! `jtrail dump`: the events of a trace as lines of text.
//!
//! # Line format
//!
//! ```text
//! TIME THREAD EVENT key=value key="value with blanks" …
//! 0.001204500 #1 enter com.acme.Main.main([Ljava/lang/String;)V ticket=1 depth=1
//! ```
//!
//! Fields are apart by one blank. TIME is in seconds with nine digits, counted from the first time in
//! the trace, `-` for events without one. THREAD is `#` and the thread's id, `-` for events without
//! one. EVENT is a word of [`EVENTS`]. Values with blanks, quotation marks, backslashes or control
//! characters stand in quotation marks, with `\"`, `\\`, `\n` and `\u{…}` inside. New keys may come
//! at the end of a line in later versions, and new events; what is there stays.

use crate::Streams;
use crate::analysis::Names;
use crate::input::Input;
use crate::select::{ThreadSelector, selected};
use jtrail_model::{ClassId, Event, Frame, MethodId, Timestamp};
use jtrail_options::Pattern;
use std::fmt::{self, Display};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

/// Show the events of a trace as lines of text
///
/// Each line has the time in seconds since the trace's first, the thread's id, the event, and its
/// values as key=value. With --from or --to, events without a time are left out; with --thread or
/// --class, those that belong to none.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    file: PathBuf,
    /// Only events of this thread: an id, or a name with * for any text (repeatable)
    #[arg(long, value_name = "ID|NAME", value_parser = ThreadSelector::parse)]
    thread: Vec<ThreadSelector>,
    /// Only events of classes with this name, in which * stands for any text (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    class: Vec<Pattern>,
    /// Only events from this moment on, in seconds since the trace's first
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    from: Option<i64>,
    /// Only events up to this moment, in seconds since the trace's first
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    to: Option<i64>,
}

fn pattern(text: &str) -> Result<Pattern, String> {
    if text.is_empty() {
        return Err("a class name is needed".to_owned());
    }
    Ok(Pattern::new(text))
}

/// Nanoseconds of a decimal number of seconds.
fn seconds(text: &str) -> Result<i64, String> {
    let wrong = || "write seconds like 12 or 0.005".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let whole: i64 = whole.parse().map_err(|_| wrong())?;
    let part: i64 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    whole
        .checked_mul(1_000_000_000)
        .and_then(|n| n.checked_add(part))
        .ok_or_else(wrong)
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    // A bar between lines of the dump would only disturb.
    let mut input = Input::open(&args.file, !io::stdout().is_terminal())?;
    let mut names = Names::default();
    let mut first = None;
    let mut out = BufWriter::with_capacity(64 << 10, &mut *streams.out);
    let ending = input.events(|event| {
        names.event(event);
        if let Some(time) = event.time().filter(|time| *time != Timestamp::default()) {
            first.get_or_insert(time);
        }
        let origin = first.unwrap_or_default();
        if wanted(args, &names, origin, event) {
            line(&mut out, &names, origin, event)?;
        }
        Ok(())
    })?;
    out.flush()?;
    drop(out);
    ending.tell(&args.file, streams)?;
    Ok(ending.code())
}

fn wanted(args: &Args, names: &Names, origin: Timestamp, event: &Event<'_>) -> bool {
    if args.from.is_some() || args.to.is_some() {
        let Some(time) = event.time() else {
            return false;
        };
        let at = time.since(origin).0;
        if at < args.from.unwrap_or(i64::MIN) || at > args.to.unwrap_or(i64::MAX) {
            return false;
        }
    }
    if !args.thread.is_empty()
        && !event
            .thread()
            .is_some_and(|thread| selected(&args.thread, names, thread))
    {
        return false;
    }
    args.class.is_empty()
        || class_of(names, event)
            .and_then(|class| names.known_class(class))
            .is_some_and(|name| args.class.iter().any(|p| p.matches(name)))
}

fn class_of(names: &Names, event: &Event<'_>) -> Option<ClassId> {
    let of = |method: MethodId| names.method(method).map(|m| m.class);
    match event {
        Event::ClassDef(e) => Some(e.class),
        Event::MethodDef(e) => Some(e.class),
        Event::ObjectAlloc(e) => Some(e.class),
        Event::MethodEnter(e) => of(e.method),
        Event::MethodLeave(e) => of(e.method),
        Event::AggregatedEnter(e) => of(e.method),
        Event::AggregatedLeave(e) => of(e.method),
        Event::GcRoot(e) => Some(e.class),
        _ => None,
    }
}

/// A value, in quotation marks where it needs them.
struct Quoted<T>(T);

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

/// ` stack=` and the frames, innermost first: `a.B.m()V:12`, apart by commas.
struct Stack<'a>(&'a [Frame<'a>]);

impl Display for Stack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = self
            .0
            .iter()
            .map(|frame| format!("{}:{}", frame.method, frame.line));
        write!(f, "{}", Quoted(frames.collect::<Vec<_>>().join(",")))
    }
}

fn line(
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
        other => rare(out, names, other)?,
    }
    out.write_all(b"\n")
}

/// `class.method(descriptor)result`, without making a text of it first.
fn method(out: &mut dyn Write, names: &Names, id: MethodId) -> io::Result<()> {
    let parts = names
        .method(id)
        .and_then(|m| Some((names.known_class(m.class)?, m)));
    let blank = |text: &str| text.contains([' ', '"', '\\']) || text.contains(char::is_control);
    match parts {
        Some((class, m)) if !blank(class) && !blank(&m.name) && !blank(&m.signature) => {
            write!(out, "{class}.{}{}", m.name, m.signature)
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

/// All events but enter and leave.
fn rare(out: &mut dyn Write, names: &Names, event: &Event<'_>) -> io::Result<()> {
    let q = |text| Quoted(text);
    match event {
        Event::Node(e) => write!(
            out,
            "node id={} host={} address={} timezone={} time={}",
            q(&e.node_id),
            q(&e.hostname),
            q(&e.ip_address),
            e.timezone,
            e.time
        ),
        Event::ProcessCreate(e) => write!(
            out,
            "process id={} pid={} name={} executable={}",
            q(&e.process_id),
            e.pid,
            q(&e.name),
            q(&e.executable)
        ),
        Event::AgentCreate(e) => write!(
            out,
            "agent id={} name={} type={} version={} options={}",
            q(&e.agent_id),
            q(&e.name),
            q(&e.agent_type),
            q(&e.version),
            q(&e.parameters)
        ),
        Event::AgentDestroy(e) => write!(out, "agent-end id={}", q(&e.agent_id)),
        Event::TraceStart(e) => write!(out, "trace-start id={}", q(&e.trace_id)),
        Event::TraceEnd(_) => write!(out, "trace-end"),
        Event::Filter(e) => write!(
            out,
            "filter class={} class-star={} method={} method-star={} mode={}",
            q(&e.pattern),
            q(&e.generic_pattern),
            q(&e.method_pattern),
            q(&e.method_generic_pattern),
            q(&e.mode)
        ),
        Event::Option(e) => write!(out, "option key={} value={}", q(&e.key), q(&e.value)),
        Event::ThreadStart(e) => write!(
            out,
            "thread-start name={} group={} parent={} object={}",
            q(&e.name),
            q(&e.group),
            q(&e.parent_group),
            e.object
        ),
        Event::ThreadEnd(_) => write!(out, "thread-end"),
        Event::ClassDef(e) => {
            write!(
                out,
                "class id={} name={} source={}",
                e.class,
                q(&e.name),
                q(&e.source_name)
            )
        }
        Event::MethodDef(e) => write!(
            out,
            "method id={} class={} name={} signature={} lines={}-{}",
            e.method,
            Quoted(names.class(e.class)),
            q(&e.name),
            q(&e.signature),
            e.start_line,
            e.end_line
        ),
        Event::ObjectAlloc(e) => {
            write!(
                out,
                "alloc object={} class={} size={}",
                e.object,
                Quoted(names.class(e.class)),
                e.size
            )?;
            write!(out, " kind={} line={}", e.kind.0, e.line)
        }
        Event::GcStart(_) => write!(out, "gc-start"),
        Event::ObjectFree(e) => write!(out, "free object={} age={}", e.object, e.age),
        Event::GcFinish(e) => write!(
            out,
            "gc-finish total={} used={} objects={}",
            e.total_space, e.used_space, e.used_objects
        ),
        Event::RuntimeInitDone(_) => write!(out, "init-done"),
        Event::RuntimeShutdown(_) => write!(out, "shutdown"),
        Event::MonitorWait(e) => write!(
            out,
            "wait object={} timeout-ms={} stack={}",
            e.object,
            e.timeout_ms,
            Stack(&e.stack)
        ),
        Event::MonitorWaited(e) => write!(
            out,
            "waited object={} timed-out={} stack={}",
            e.object,
            e.timed_out,
            Stack(&e.stack)
        ),
        Event::MonitorContendedEnter(e) => write!(
            out,
            "blocked object={} owner=#{} stack={}",
            e.object,
            e.owner,
            Stack(&e.stack)
        ),
        Event::MonitorContendedEntered(e) => {
            write!(
                out,
                "unblocked object={} stack={}",
                e.object,
                Stack(&e.stack)
            )
        }
        Event::AggregatedEnter(e) => {
            write!(out, "aggregated-enter ")?;
            method(out, names, e.method)?;
            write!(
                out,
                " calls={} self={} min={} max={} cpu={}",
                e.calls, e.base_time, e.min_time, e.max_time, e.base_cpu_time
            )
        }
        Event::AggregatedLeave(e) => {
            write!(out, "aggregated-leave ")?;
            method(out, names, e.method)
        }
        Event::HeapDump(e) => write!(out, "heap-dump id={} name={}", e.dump, q(&e.name)),
        Event::GcRoot(e) => write!(
            out,
            "root object={} class={} kind={}",
            e.object,
            Quoted(names.class(e.class)),
            q(&e.kind)
        ),
        Event::ObjectReference(e) => {
            write!(
                out,
                "reference from={} to={} dump={}",
                e.source, e.target, e.dump
            )
        }
        Event::Custom(e) => write!(out, "custom text={}", q(&e.body)),
        // Events that the model gained since.
        _ => write!(out, "other"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read() {
        for (text, ns) in [
            ("0", Some(0)),
            ("12", Some(12_000_000_000)),
            ("0.005", Some(5_000_000)),
            ("1.", Some(1_000_000_000)),
            ("0.000000001", Some(1)),
            ("", None),
            (".5", None),
            ("-1", None),
            ("1.0000000001", None),
            ("9999999999999", None),
            ("1e3", None),
        ] {
            assert_eq!(seconds(text).ok(), ns, "{text}");
        }
    }

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
