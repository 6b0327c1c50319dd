//! The analysis of a trace, or of a part of it.

use crate::input::{Bar, Ending, Input, Selected};
use crate::select::{Selection, Span, ThreadSelector, selected};
use anyhow::Context;
use jtrail_analysis::{Analysis, Subjects, parallel};
use jtrail_formats::{Format, Readable};

/// Analyses the selected part of a trace. [`Analysis::finish`] is not called yet.
///
/// # Errors
/// If the trace can't be read.
pub(crate) fn analyse(
    input: &mut Input,
    span: &Span,
    threads: &[ThreadSelector],
    subjects: Subjects,
) -> anyhow::Result<(Analysis, Ending)> {
    let is_whole = span.is_all() && threads.is_empty();
    if is_whole && let Some(found) = at_once(input, subjects)? {
        return Ok(found);
    }
    one_by_one(input, span, threads, subjects)
}

/// Analyses a whole trace on all processors. Returns `None` if this is not possible with the trace.
fn at_once(input: &Input, subjects: Subjects) -> anyhow::Result<Option<(Analysis, Ending)>> {
    let (Some(file), Readable::Trace(Format::Trail)) = (input.file(), input.format()) else {
        return Ok(None);
    };
    let named = || format!("can't read {}", file.display());
    let mut bar = None;
    let mut progress = |done, size| {
        let bar = bar.get_or_insert_with(|| Bar::new(Some(size), true));
        bar.is_at(done);
    };
    let found = parallel::analysis(file, subjects, &mut progress).with_context(named)?;
    Ok(found.map(|(analysis, events)| {
        let ending = Ending {
            events,
            ..Ending::default()
        };
        (analysis, ending)
    }))
}

/// Analyses the selected part of a trace, from the first event to the last.
fn one_by_one(
    input: &mut Input,
    span: &Span,
    threads: &[ThreadSelector],
    subjects: Subjects,
) -> anyhow::Result<(Analysis, Ending)> {
    let mut analysis = Analysis::new(subjects);
    let mut selection = Selection::new(span, &[]);
    let ending = input.parts(selection.is_all(), |seen| {
        let event = match seen {
            Selected::Part(part, definitions) => {
                return Ok(selection.may_have(&analysis.names, part, definitions));
            }
            Selected::Event(event) => event,
            Selected::Calls(calls) => {
                analysis.calls(&calls, |names, thread| selected(threads, names, thread));
                return Ok(true);
            }
        };
        selection.see(event);
        if event.is_definition() || selection.has_time(event) {
            analysis.event(event, |names, thread| selected(threads, names, thread));
        }
        Ok(true)
    })?;
    // Definitions outside of the window may have extended the span. Calls that are open at the end
    // of the window must end there.
    if let Some(window) = selection.window() {
        analysis.span = Some(window);
    }
    Ok((analysis, ending))
}
