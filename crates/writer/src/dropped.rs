//! What the trace lacks because its format has no field for it, reported when the trace ends.
//!
//! Many formats have no field for what a trace says of itself (machine, agent, options, its end).
//! Such a lack is not worth reporting. So what the encoder drops of the opening and closing events
//! is subtracted.

use jtrail_formats::{DropCount, dropped_message};
use jtrail_options::{Events, OutputFormat};

/// Returns `all` without what is in `known`.
pub(super) fn without(all: Vec<DropCount>, known: &[DropCount]) -> Vec<DropCount> {
    let rest = all.into_iter().filter_map(|dropped| {
        let known = known.iter().find(|k| k.what == dropped.what);
        let count = dropped.count.saturating_sub(known.map_or(0, |k| k.count));
        (count > 0).then_some(DropCount { count, ..dropped })
    });
    rest.collect()
}

/// Adds what is in `more`.
pub(super) fn add(all: &mut Vec<DropCount>, more: Vec<DropCount>) {
    for dropped in more {
        match all.iter_mut().find(|other| other.what == dropped.what) {
            Some(other) => other.count += dropped.count,
            None => all.push(dropped),
        }
    }
}

/// Returns the line for users, if the trace lacks anything. Events of `unrecorded` are not
/// recorded, because the format has no field for them.
pub(super) fn message(
    format: OutputFormat,
    unrecorded: Events,
    dropped: &[DropCount],
) -> Option<String> {
    let unrecorded = match unrecorded.is_empty() {
        true => String::new(),
        false => format!("events={unrecorded}"),
    };
    dropped_message(format, &unrecorded, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(what: &'static str, count: u64) -> DropCount {
        DropCount { what, count }
    }

    #[test]
    fn what_was_known_is_no_news() {
        let all = vec![
            dropped("texts", 3),
            dropped("waits", 2),
            dropped("parks", 1),
        ];
        let known = [
            dropped("texts", 2),
            dropped("waits", 2),
            dropped("options", 9),
        ];
        let rest = without(all, &known);
        assert_eq!(rest, [dropped("texts", 1), dropped("parks", 1)]);
    }

    #[test]
    fn what_several_files_lack_is_added_up() {
        let mut all = vec![dropped("texts", 3), dropped("waits", 2)];
        add(&mut all, vec![dropped("waits", 5), dropped("parks", 1)]);
        let sums = [
            dropped("texts", 3),
            dropped("waits", 7),
            dropped("parks", 1),
        ];
        assert_eq!(all, sums);
    }

    #[test]
    fn one_line_tells_all() {
        let (format, none) = (OutputFormat::Mlpd, Events::NONE);
        assert_eq!(message(format, none, &[]), None);
        let all = [dropped("texts", 1), dropped("parks", 2)];
        for (unrecorded, all, line) in [
            (none, &all[..], "mlpd: dropped: texts (1), parks (2)"),
            (
                Events::LINES,
                &[],
                "mlpd: dropped: events=lines (not recorded)",
            ),
            (
                Events::LINES,
                &all,
                "mlpd: dropped: events=lines (not recorded), texts (1), parks (2)",
            ),
        ] {
            assert_eq!(message(format, unrecorded, all).as_deref(), Some(line));
        }
    }
}
