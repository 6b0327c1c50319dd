//! USER_EVENT records: monitor events, parks, notes and free text.

use super::value::text;
use super::{Decoder, Remarked, event};
use crate::Decoded;
use crate::jinsight::text;
use crate::jinsight::text::Message;
use crate::jinsight::wire::HEAD;
use jtrail_model::{
    Custom, Event, MonitorContendedEnter, MonitorContendedEntered, MonitorWait, MonitorWaited,
    Note, ObjectId, RuntimeInitDone, RuntimeShutdown, Text, ThreadId, ThreadPark, ThreadUnpark,
    Timestamp,
};
use std::borrow::Cow;

impl Decoder {
    pub(super) fn user_event<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let (ticks, bytes) = (fields.u64()?, fields.text()?);
        let body = text(bytes);
        let used = HEAD + 2 + bytes.len();
        let time = self.clock.time(ticks);
        let emitted = match self.message(&body, time) {
            Some(message) => message,
            None => {
                // Free text has no time in the model, so its ticks are skipped. Our encoder writes
                // free text with the ticks of the preceding record. Other ticks are counted as
                // skipped.
                if ticks != self.latest {
                    let offset = self.offset;
                    self.remarks.add(Remarked::TextTimes, offset);
                }
                Event::Custom(Custom {
                    body: self.free_text(body),
                })
            }
        };
        self.latest = self.latest.max(ticks);
        Some(event(used, emitted))
    }

    fn free_text<'a>(&self, body: Text<'a>) -> Text<'a> {
        match Note::parse(&body) {
            Some(Note::Lost(mut lost)) => match self.thread_id_of(lost.thread.0) {
                Some(thread) => {
                    lost.thread = thread;
                    Note::Lost(lost).to_string().into()
                }
                None => body,
            },
            Some(_) => body,
            None => match text::parse(&body) {
                Some(Message::Mark(mark)) => Cow::Owned(mark.into_owned()),
                _ => body,
            },
        }
    }

    fn thread_id_of(&self, key: u64) -> Option<ThreadId> {
        self.threads.get(key).map(|thread| thread.id)
    }

    /// Converts a text to an event. Returns `None` if it is free text or names an undefined thread.
    fn message<'a>(&mut self, body: &str, time: Timestamp) -> Option<Event<'a>> {
        let message = text::parse(body)?;
        let thread_of = |key: u32| self.thread_id_of(key.into());
        let thread_if_any = |key: Option<u32>| match key {
            Some(key) => self.thread_id_of(key.into()),
            None => Some(ThreadId::NONE),
        };
        let id = |object: Option<u32>| ObjectId(object.unwrap_or(0).into());
        let mut has_class_alone = false;
        let mut note = |object: Option<u32>, class: &str| {
            has_class_alone = object.is_none() && !class.is_empty();
        };
        let stack = Vec::new();
        let emitted = match message {
            Message::MonitorEnter {
                thread,
                object,
                class,
                owner,
            } => {
                note(object, &class);
                Event::MonitorContendedEnter(MonitorContendedEnter {
                    thread: thread_of(thread)?,
                    time,
                    object: id(object),
                    owner: thread_if_any(owner)?,
                    stack,
                })
            }
            Message::MonitorEntered {
                thread,
                object,
                class,
            } => {
                note(object, &class);
                Event::MonitorContendedEntered(MonitorContendedEntered {
                    thread: thread_of(thread)?,
                    time,
                    object: id(object),
                    stack,
                })
            }
            Message::MonitorWait {
                thread,
                object,
                class,
                timeout,
            } => {
                note(object, &class);
                Event::MonitorWait(MonitorWait {
                    thread: thread_of(thread)?,
                    time,
                    object: id(object),
                    timeout_ms: timeout,
                    stack,
                })
            }
            Message::MonitorWaited {
                thread,
                object,
                class,
                timed_out,
            } => {
                note(object, &class);
                Event::MonitorWaited(MonitorWaited {
                    thread: thread_of(thread)?,
                    time,
                    object: id(object),
                    timed_out: timed_out.into(),
                    stack,
                })
            }
            Message::Park {
                thread,
                object,
                class,
            } => {
                note(object, &class);
                Event::ThreadPark(ThreadPark {
                    thread: thread_of(thread)?,
                    time,
                    object: id(object),
                    stack,
                })
            }
            Message::Unpark { thread } => Event::ThreadUnpark(ThreadUnpark {
                thread: thread_of(thread)?,
                time,
            }),
            Message::RuntimeInit { thread } => Event::RuntimeInitDone(RuntimeInitDone {
                thread: thread_if_any(thread)?,
                time,
            }),
            Message::RuntimeShutdown { thread } => Event::RuntimeShutdown(RuntimeShutdown {
                thread: thread_if_any(thread)?,
                time,
            }),
            Message::Mark(_) => return None,
        };
        if has_class_alone {
            let offset = self.offset;
            self.remarks.add(Remarked::MonitorClasses, offset);
        }
        Some(emitted)
    }
}
