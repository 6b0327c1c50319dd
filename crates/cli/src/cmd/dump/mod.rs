//! `jtrail dump`: writes the events of a trace as lines of text.
//!
//! # Line format
//!
//! ```text
//! TIME THREAD EVENT key=value key="value with blanks" …
//! 0.001204500 #1 enter com.acme.Main.main([Ljava/lang/String;)V ticket=1 depth=1
//! ```
//!
//! Fields are separated by one blank. TIME is in seconds with nine digits, counted from the first
//! time in the trace. THREAD is `#` and the thread's id. TIME and THREAD are `-` for events that
//! have none. EVENT is a word: `enter`, `leave`, or one of those in `base` and `details`. Values
//! with blanks, quotation marks, backslashes or control characters are in quotation marks, with the
//! escapes `\"`, `\\`, `\n` and `\u{…}`. Later versions may add events, and keys at the end of a
//! line. Existing ones don't change.
//!
//! The items of a list are separated by commas. A frame is `method:line` (line -1 is unknown, -2
//! native). A stack is a list of frames, innermost first. A member of a class is
//! `name:descriptor:flags`. A range of compiled code is `offset:frame<frame…`, innermost first. A
//! line count is `line:count`. Flags and addresses are hexadecimal.
//!
//! | Module | Contents |
//! |---|---|
//! | `line` | line of an event, and the notation of values |
//! | `base` | events of the program, threads, classes, methods, objects, collections, monitors |
//! | `details` | events with details of these: exceptions, code, samples, heap, lines |

mod base;
mod details;
mod line;

use crate::input::{Input, Selected};
use crate::outcome::Streams;
use crate::select::{Selection, Span, ThreadSelector, class_pattern};
use jtrail_analysis::Names;
use jtrail_model::{ClassId, Event, MethodId};
use jtrail_options::Pattern;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

/// Show the events of a trace as lines of text
///
/// Each line has the time in seconds since the first time of the trace, the thread's id, the event,
/// and the event's values as key=value. With --from or --until, events without a time are left out.
/// With --thread or --class, events without a thread or class are left out.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    file: PathBuf,
    /// Only events of this thread: an id, or a name with * for any text (repeatable)
    #[arg(long, value_name = "ID|NAME", value_parser = ThreadSelector::parse)]
    thread: Vec<ThreadSelector>,
    /// Only events of classes with this name, in which * stands for any text (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = class_pattern)]
    class: Vec<Pattern>,
    #[command(flatten)]
    span: Span,
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    // On a terminal, a progress bar would appear between the lines of the dump.
    let mut input = Input::open(&args.file, !io::stdout().is_terminal())?.in_order();
    let mut names = Names::default();
    let mut selection = Selection::new(&args.span, &args.thread);
    let mut out = BufWriter::with_capacity(64 << 10, &mut *streams.out);
    let ending = input.parts(selection.is_all(), |seen| {
        let mut show = |event: &Event<'_>| {
            names.event(event);
            selection.see(event);
            if is_selected(args, &names, &selection, event) {
                line::write(&mut out, &names, selection.origin(), event)?;
            }
            anyhow::Ok(())
        };
        match seen {
            Selected::Part(part, definitions) => {
                return Ok(selection.may_have(&names, part, definitions));
            }
            Selected::Event(event) => show(event)?,
            Selected::Calls(calls) => calls.events().try_for_each(|event| show(&event))?,
        }
        Ok(true)
    })?;
    out.flush()?;
    drop(out);
    ending.print(&args.file, streams)?;
    Ok(ending.code())
}

fn is_selected(args: &Args, names: &Names, selection: &Selection<'_>, event: &Event<'_>) -> bool {
    if !selection.has_time(event) || !selection.has_thread(names, event) {
        return false;
    }
    let is_named = |class: ClassId| {
        let name = names.known_class(class);
        name.is_some_and(|name| args.class.iter().any(|pattern| pattern.matches(name)))
    };
    args.class.is_empty()
        || match event {
            Event::LiveObjects(e) => e.classes.iter().any(|live| is_named(live.class)),
            event => class_of(names, event).is_some_and(is_named),
        }
}

/// Returns the class that the line of an event names, or the class of its method.
fn class_of(names: &Names, event: &Event<'_>) -> Option<ClassId> {
    let of = |method: MethodId| names.method(method).map(|m| m.class);
    match event {
        Event::ClassDef(e) => Some(e.class),
        Event::ClassDetail(e) => Some(e.class),
        Event::ClassSource(e) => Some(e.class),
        Event::ClassUnload(e) => Some(e.class),
        Event::ClassRedefine(e) => Some(e.class),
        Event::ClassInitStart(e) => Some(e.class),
        Event::ClassInitEnd(e) => Some(e.class),
        Event::MethodDef(e) => Some(e.class),
        Event::MethodDetail(e) => of(e.method),
        Event::MethodCompile(e) => of(e.method),
        Event::MethodUncompile(e) => of(e.method),
        Event::LineCounts(e) => of(e.method),
        Event::MethodEnter(e) => of(e.method),
        Event::MethodLeave(e) => of(e.method),
        Event::AggregatedEnter(e) => of(e.method),
        Event::AggregatedLeave(e) => of(e.method),
        Event::AggregatedDetail(e) => of(e.method),
        Event::ObjectAlloc(e) => Some(e.class),
        Event::ObjectDef(e) => Some(e.class),
        Event::ObjectCounts(e) => Some(e.class),
        Event::AllocationSum(e) => Some(e.class),
        Event::HeapObject(e) => Some(e.class),
        Event::GcRoot(e) => Some(e.class),
        Event::ExceptionThrow(e) => Some(e.class),
        Event::ExceptionCatch(e) => Some(e.class),
        _ => None,
    }
}
