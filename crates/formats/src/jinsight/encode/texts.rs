//! Monitor events and parks, which the format holds as texts.

use super::Encoder;
use super::dropped::Dropped;
use crate::jinsight::text::Message;
use jtrail_model::{Event, Frame, ObjectId, ThreadId, Timestamp};
use std::borrow::Cow;

impl Encoder {
    pub(super) fn monitor(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        type Place<'e> = (ThreadId, Timestamp, ObjectId, &'e [Frame<'e>]);
        let (thread, time, object, stack): Place<'_> = match event {
            Event::MonitorWait(e) => (e.thread, e.time, e.object, &e.stack),
            Event::MonitorWaited(e) => (e.thread, e.time, e.object, &e.stack),
            Event::MonitorContendedEnter(e) => (e.thread, e.time, e.object, &e.stack),
            Event::MonitorContendedEntered(e) => (e.thread, e.time, e.object, &e.stack),
            Event::ThreadPark(e) => (e.thread, e.time, e.object, &e.stack),
            Event::ThreadUnpark(e) => (e.thread, e.time, ObjectId::NONE, &[]),
            _ => return,
        };
        self.dropped.part_if(!stack.is_empty(), Dropped::Frames);
        let ticks = self.stream.ticks(time, &mut self.dropped, out);
        let owner = match event {
            Event::MonitorContendedEnter(e) => self.thread_if_any(e.owner, time, out),
            _ => None,
        };
        let known = self.mentioned(object, ticks, out);
        let thread = self.thread(thread, time, out);
        let object = known.map(|known| known.id);
        let class = known.map_or(Cow::Borrowed(""), |known| self.class_name(known));
        let class: Cow<'_, str> = class.into_owned().into();
        let message = match event {
            Event::MonitorWait(e) => Message::MonitorWait {
                thread,
                object,
                class,
                timeout: e.timeout_ms,
            },
            Event::MonitorWaited(e) => {
                let exact = matches!(e.timed_out, 0 | 1);
                self.dropped.part_if(!exact, Dropped::Time);
                Message::MonitorWaited {
                    thread,
                    object,
                    class,
                    timed_out: e.timed_out != 0,
                }
            }
            Event::MonitorContendedEnter(_) => Message::MonitorEnter {
                thread,
                object,
                class,
                owner,
            },
            Event::MonitorContendedEntered(_) => Message::MonitorEntered {
                thread,
                object,
                class,
            },
            Event::ThreadPark(_) => Message::Park {
                thread,
                object,
                class,
            },
            _ => Message::Unpark { thread },
        };
        self.message(&message, time, out);
    }
}
