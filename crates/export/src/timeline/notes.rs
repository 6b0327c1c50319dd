//! Notes in a trace, for the reader of an export.

use jtrail_model::Note;

/// Returns the text of a note that tells what a trace lacks. `None` for other notes.
pub(super) fn describe(note: &Note<'_>) -> Option<String> {
    Some(match note {
        Note::Lost(lost) if lost.reason == "selection" => {
            format!("jtrail: {} events are not selected", lost.events)
        }
        Note::Lost(lost) => format!(
            "jtrail: {} events are missing ({})",
            lost.events, lost.reason
        ),
        Note::Burst(burst) => format!("jtrail: a burst begins ({})", burst.trigger),
        Note::ShortCalls(rules) if rules.min.0 > 0 => format!(
            "jtrail: calls shorter than {} ns are recorded as sums",
            rules.min.0
        ),
        Note::ShortCalls(rules) => format!(
            "jtrail: calls of methods with more than {} calls per second are recorded as sums",
            rules.rate
        ),
        Note::Dropped(dropped) if dropped.count == 0 => {
            format!("jtrail: dropped: {} (not recorded)", dropped.what)
        }
        Note::Dropped(dropped) => {
            format!("jtrail: dropped: {} ({})", dropped.what, dropped.count)
        }
        Note::Recovered(_) => "jtrail: the process ended without the end of the trace".to_owned(),
        _ => return None,
    })
}
