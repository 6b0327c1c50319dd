//! Events without a message of their own, which are written as text in `custom` events.

use jtrail_model::{Custom, Event, text};

/// Returns the `custom` event that contains `event` as text, which is written to `buffer`. Returns
/// `None` if the event has no text form.
pub(super) fn wrapped<'b>(event: &Event<'_>, buffer: &'b mut String) -> Option<Event<'b>> {
    buffer.clear();
    text::write(event, buffer).then(|| {
        let body = buffer.as_str().into();
        Event::Custom(Custom { body })
    })
}

/// Returns the event that a `custom` event contains. Returns all other events unchanged.
pub(super) fn unwrapped(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Custom(e) => text::parse(&e.body).unwrap_or(Event::Custom(e)),
        event => event,
    }
}
