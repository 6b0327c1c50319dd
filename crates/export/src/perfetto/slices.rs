//! Slices and instants as events of their threads' tracks.

use super::packets::{Packets, number_annotation, text_annotation, thread_uuid};
use super::wire::{event, event_type};
use crate::protobuf::{bytes, fixed64, integer};
use crate::slices::{Sink, Slice, ThreadIndex};
use jtrail_analysis::Names;
use jtrail_model::{Event, Frame, Timestamp};

impl Sink for Packets {
    #[inline]
    fn begin(&mut self, names: &Names, index: ThreadIndex, time: Timestamp, slice: Slice) {
        let begin = (time, event_type::SLICE_BEGIN);
        match slice {
            Slice::Call(method) => {
                self.begin_thread(index, time);
                let (iid, is_new) = self.method_name(index, method);
                let mut fields = self.take_fields();
                integer(&mut fields, event::TYPE, event_type::SLICE_BEGIN);
                integer(&mut fields, event::NAME_IID, iid.into());
                self.cpu(index, &mut fields);
                let name = is_new.then(|| names.readable_method(method));
                let new_name = name.as_deref().map(|name| (iid, name));
                self.thread_packet(index, time, new_name, &fields);
                self.fields = fields;
            }
            Slice::Blocked { object, owner } => {
                self.last_flow += 1;
                let flow = self.last_flow;
                if let Some((_, owner)) = owner {
                    self.begin_thread(owner, time);
                    self.global(time, |out| {
                        integer(out, event::TYPE, event_type::INSTANT);
                        integer(out, event::TRACK_UUID, thread_uuid(owner));
                        bytes(
                            out,
                            event::NAME,
                            b"holds a monitor that another thread needs",
                        );
                        fixed64(out, event::FLOW_IDS, flow);
                    });
                }
                self.text_event(index, begin, "blocked on a monitor", |out| {
                    number_annotation(out, "object", object.0 as i64);
                    if let Some((owner, _)) = owner {
                        text_annotation(out, "owner", &names.thread(owner));
                        fixed64(out, event::TERMINATING_FLOW_IDS, flow);
                    }
                });
            }
            Slice::Waiting { object, timeout_ms } => {
                self.text_event(index, begin, "Object.wait", |out| {
                    number_annotation(out, "object", object.0 as i64);
                    if timeout_ms > 0 {
                        number_annotation(out, "timeout in ms", timeout_ms);
                    }
                });
            }
            Slice::Parked { object } => self.text_event(index, begin, "parked", |out| {
                if !object.is_none() {
                    number_annotation(out, "blocker", object.0 as i64);
                }
            }),
        }
    }

    #[inline]
    fn end(&mut self, index: ThreadIndex, time: Timestamp, _: Slice) {
        let mut fields = self.take_fields();
        integer(&mut fields, event::TYPE, event_type::SLICE_END);
        self.cpu(index, &mut fields);
        self.thread_packet(index, time, None, &fields);
        self.fields = fields;
    }

    fn instant(&mut self, names: &Names, index: ThreadIndex, event: &Event<'_>) {
        let instant = |time| (time, event_type::INSTANT);
        match event {
            Event::ExceptionThrow(e) => {
                let name = format!("throw {}", names.readable_class(e.class));
                self.text_event(index, instant(e.time), &name, |out| stack(out, &e.stack));
            }
            Event::ExceptionCatch(e) => {
                let name = format!("catch {}", names.readable_class(e.class));
                let frame = std::slice::from_ref(&e.frame);
                self.text_event(index, instant(e.time), &name, |out| stack(out, frame));
            }
            Event::Sample(e) => {
                self.text_event(index, instant(e.time), "sample", |out| {
                    text_annotation(out, "state", e.state.name());
                    stack(out, &e.stack);
                });
            }
            _ => {}
        }
    }
}

fn stack(out: &mut Vec<u8>, frames: &[Frame<'_>]) {
    let frame = |frame: &Frame<'_>| match frame.line {
        1.. => format!("{}:{}", frame.method, frame.line),
        _ => frame.method.to_string(),
    };
    let frames: Vec<_> = frames.iter().map(frame).collect();
    text_annotation(out, "stack", &frames.join("\n"));
}
