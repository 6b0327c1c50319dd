//! Encoder: events to binary messages.

use super::wire::{DATA, HEADER_SIZE, MAJOR, MESSAGE_HEAD, SYSTEM};
use super::{MAGIC, call, message};
use crate::tally::DropTally;
use crate::tptp::dropped::Dropped;
use crate::tptp::{MAX_EVENT_BYTES, custom};
use crate::{DropCount, Encode};
use jtrail_model::{Calls, EnterOrLeave, Event};

/// Encodes the binary stream: little-endian, times in nanoseconds.
#[derive(Debug, Default)]
pub struct Encoder {
    dropped: DropTally<Dropped>,
    /// Buffer for the text of an event without a message of its own.
    text: String,
}

impl Encode for Encoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let platform = u8::from(cfg!(target_pointer_width = "64"));
        let little_endian = 1;
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[MAJOR, 0, platform, little_endian]);
        out.extend_from_slice(&(HEADER_SIZE as u32).to_le_bytes());
        out.extend_from_slice(SYSTEM);
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::MethodEnter(e) => call::put_enter(e, out),
            Event::MethodLeave(e) => {
                self.dropped.part_if(e.by_exception, Dropped::Exceptions);
                call::put_leave(e, out);
            }
            _ => self.any(event, out),
        }
    }

    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        for event in calls.enters_and_leaves() {
            match event {
                EnterOrLeave::Enter(e) => call::put_enter(&e, out),
                EnterOrLeave::Leave(e) => call::put_leave(&e, out),
            }
        }
    }

    fn end(&mut self, _: &mut Vec<u8>) {}

    fn dropped(&self) -> Vec<DropCount> {
        self.dropped.counts()
    }

    fn dropped_events(&self) -> u64 {
        self.dropped.events()
    }
}

impl Encoder {
    fn any(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; MESSAGE_HEAD]);
        let id = message::put(event, out).or_else(|| {
            let custom = custom::wrapped(event, &mut self.text)?;
            message::put(&custom, out)
        });
        let size = out.len() - start;
        match id {
            Some(id) if size <= MAX_EVENT_BYTES => {
                debug_assert!(id >= DATA);
                out[start..start + 2].copy_from_slice(&id.to_le_bytes());
                out[start + 2..start + 6].copy_from_slice(&(size as u32).to_le_bytes());
            }
            _ => {
                out.truncate(start);
                self.dropped.event(Dropped::Large);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{
        CallStep, ClassId, Custom, Duration, MethodEnter, MethodId, MethodLeave, ThreadId,
        Timestamp,
    };

    #[test]
    fn calls_in_bulk_are_written_as_one_by_one() {
        let step = |number: u64| CallStep {
            time: Timestamp(number as i64 * 7),
            method: MethodId(number % 5),
            class: ClassId(number % 3),
            ticket: number as u32,
            ends: number % 4 > 1,
        };
        let steps: Vec<_> = (0..20).map(step).collect();
        let calls = Calls {
            thread: ThreadId(9),
            cpu_time: Duration(5),
            ticket: 1,
            depth: 2,
            steps: &steps,
        };
        let (mut bulk, mut single) = (Vec::new(), Vec::new());
        Encoder::default().calls(&calls, &mut bulk);
        let mut encoder = Encoder::default();
        calls
            .events()
            .for_each(|event| encoder.event(&event, &mut single));
        assert_eq!(bulk, single);
        assert_eq!(bulk.len(), 10 * 84 + 10 * 85);
    }

    #[test]
    fn both_ways_write_the_same_call() {
        let enter = Event::MethodEnter(MethodEnter {
            thread: ThreadId(0x0102_0304_0506_0708),
            time: Timestamp(-2),
            method: MethodId(u64::MAX),
            class: ClassId(0x1112_1314_1516_1718),
            ticket: 0xfffe_fdfc,
            cpu_time: Duration(0x2122_2324_2526_2728),
            stack_depth: -3,
        });
        let leave = Event::MethodLeave(MethodLeave {
            thread: ThreadId(0x0102_0304_0506_0708),
            time: Timestamp(-2),
            method: MethodId(u64::MAX),
            class: ClassId(0x1112_1314_1516_1718),
            ticket: 0xfffe_fdfc,
            cpu_time: Duration(0x2122_2324_2526_2728),
            by_exception: false,
        });
        for event in [enter, leave] {
            let (mut short, mut long) = (Vec::new(), Vec::new());
            let mut encoder = Encoder::default();
            encoder.event(&event, &mut short);
            encoder.any(&event, &mut long);
            assert_eq!(short, long);
            assert_eq!(call::take(&long), Some((event, long.len())));
        }
    }

    #[test]
    fn what_is_too_large_is_dropped_and_counted() {
        let mut encoder = Encoder::default();
        let mut out = Vec::new();
        let body = "x".repeat(MAX_EVENT_BYTES - MESSAGE_HEAD);
        encoder.event(
            &Event::Custom(Custom {
                body: body.as_str().into(),
            }),
            &mut out,
        );
        assert_eq!((out.len(), encoder.dropped_events()), (0, 1));
        encoder.event(
            &Event::Custom(Custom {
                body: body[1..].into(),
            }),
            &mut out,
        );
        assert_eq!((out.len(), encoder.dropped_events()), (MAX_EVENT_BYTES, 1));
    }
}
