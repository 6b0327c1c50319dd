//! Losses: data that the format of the trace can't represent, reported when the trace ends.
//!
//! Many formats can't represent what a trace says of itself (machine, agent, options, its end).
//! That is not worth reporting. So the losses that the encoder counts for the opening and closing
//! events are subtracted.

use jtrail_formats::Loss;
use jtrail_options::{Events, OutputFormat};

/// Returns `all` without the losses in `known`.
pub(super) fn without(all: Vec<Loss>, known: &[Loss]) -> Vec<Loss> {
    let rest = all.into_iter().filter_map(|loss| {
        let known = known.iter().find(|k| k.what == loss.what);
        let count = loss.count.saturating_sub(known.map_or(0, |k| k.count));
        (count > 0).then_some(Loss { count, ..loss })
    });
    rest.collect()
}

/// Adds the losses in `more` to `all`.
pub(super) fn add(all: &mut Vec<Loss>, more: Vec<Loss>) {
    for loss in more {
        match all.iter_mut().find(|other| other.what == loss.what) {
            Some(other) => other.count += loss.count,
            None => all.push(loss),
        }
    }
}

/// Returns the message about losses, if there are any. `no_place` are the events that are not
/// recorded because the format can't represent them.
pub(super) fn message(format: OutputFormat, no_place: Events, losses: &[Loss]) -> Option<String> {
    let losses: Vec<String> = losses.iter().map(Loss::to_string).collect();
    let losses = losses.join(", ");
    match (no_place.is_empty(), losses.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("no place in {format} for {losses}")),
        (false, true) => Some(format!("no place in {format} for events={no_place}")),
        (false, false) => Some(format!(
            "no place in {format} for events={no_place}, and for {losses}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(what: &'static str, count: u64) -> Loss {
        Loss { what, count }
    }

    #[test]
    fn what_was_known_is_no_news() {
        let all = vec![loss("texts", 3), loss("waits", 2), loss("parks", 1)];
        let known = [loss("texts", 2), loss("waits", 2), loss("options", 9)];
        let rest = without(all, &known);
        assert_eq!(rest, [loss("texts", 1), loss("parks", 1)]);
    }

    #[test]
    fn losses_of_several_files_are_one() {
        let mut all = vec![loss("texts", 3), loss("waits", 2)];
        add(&mut all, vec![loss("waits", 5), loss("parks", 1)]);
        assert_eq!(all, [loss("texts", 3), loss("waits", 7), loss("parks", 1)]);
    }

    #[test]
    fn one_line_reports_all() {
        let (format, none) = (OutputFormat::Mlpd, Events::NONE);
        assert_eq!(message(format, none, &[]), None);
        let losses = [loss("texts", 1), loss("parks", 2)];
        for (no_place, losses, line) in [
            (none, &losses[..], "no place in mlpd for 1 texts, 2 parks"),
            (Events::LINES, &[], "no place in mlpd for events=lines"),
            (
                Events::LINES,
                &losses,
                "no place in mlpd for events=lines, and for 1 texts, 2 parks",
            ),
        ] {
            assert_eq!(message(format, no_place, losses).as_deref(), Some(line));
        }
    }
}
