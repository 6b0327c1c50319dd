//! Events without a message of their own: they travel as text in `custom`.

use jtrail_model::{Custom, Event, text};

/// The `custom` event that carries `event`, its text in `buffer`; `None` when it has none.
pub(super) fn wrapped<'b>(event: &Event<'_>, buffer: &'b mut String) -> Option<Event<'b>> {
    buffer.clear();
    text::write(event, buffer).then(|| {
        let body = buffer.as_str().into();
        Event::Custom(Custom { body })
    })
}

/// The event that a `custom` one carries, or else the event itself.
pub(super) fn unwrapped(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Custom(e) => text::parse(&e.body).unwrap_or(Event::Custom(e)),
        event => event,
    }
}
