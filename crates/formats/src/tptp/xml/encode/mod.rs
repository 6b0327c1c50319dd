//! Encoder: events to XML elements.

use super::value::Value;
use super::wire::{END, FRAME, HEAD};
use super::{element, names};
use crate::tally::DropTally;
use crate::tptp::dropped::Dropped;
use crate::tptp::{MAX_EVENT_BYTES, custom};
use crate::{DropCount, Encode};
use jtrail_model::{Event, Frame, MethodDef};
use jtrail_xml::escape;

/// Encodes the XML document, with one event per line.
#[derive(Debug, Default)]
pub struct Encoder {
    dropped: DropTally<Dropped>,
    /// Buffer for the text of an event without an element of its own.
    text: String,
}

impl Encode for Encoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(HEAD);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let name = match event {
            Event::MethodDef(e) => element::write(&renamed(e), out),
            Event::MethodLeave(e) => {
                self.dropped.part_if(e.by_exception, Dropped::Exceptions);
                element::write(event, out)
            }
            _ => element::write(event, out),
        };
        let name = name.or_else(|| {
            let custom = custom::wrapped(event, &mut self.text)?;
            element::write(&custom, out)
        });
        let Some(name) = name else {
            self.dropped.event(Dropped::Large);
            return;
        };
        match stack(event) {
            [] => out.extend_from_slice(b"/>\n"),
            frames => {
                out.push(b'>');
                frames.iter().for_each(|frame| write_frame(frame, out));
                out.extend_from_slice(b"</");
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b">\n");
            }
        }
        if out.len() - start > MAX_EVENT_BYTES {
            out.truncate(start);
            self.dropped.event(Dropped::Large);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(END);
    }

    fn dropped(&self) -> Vec<DropCount> {
        self.dropped.counts()
    }

    fn dropped_events(&self) -> u64 {
        self.dropped.events()
    }
}

/// Returns the method definition with the method's name as in XML.
fn renamed<'a>(e: &'a MethodDef<'_>) -> Event<'a> {
    Event::MethodDef(MethodDef {
        method: e.method,
        class: e.class,
        name: names::to_xml(&e.name).into(),
        signature: (*e.signature).into(),
        start_line: e.start_line,
        end_line: e.end_line,
    })
}

/// Returns the frames of the four events that have frames, and none for other events.
fn stack<'e, 'a>(event: &'e Event<'a>) -> &'e [Frame<'a>] {
    match event {
        Event::MonitorWait(e) => &e.stack,
        Event::MonitorWaited(e) => &e.stack,
        Event::MonitorContendedEnter(e) => &e.stack,
        Event::MonitorContendedEntered(e) => &e.stack,
        _ => &[],
    }
}

fn write_frame(frame: &Frame<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(FRAME);
    escape(&names::frame_to_xml(&frame.method), out);
    out.extend_from_slice(b"\" line=\"");
    frame.line.write(out);
    out.extend_from_slice(b"\"/>");
}
