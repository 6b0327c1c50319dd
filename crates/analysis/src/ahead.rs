//! Reads a trace on a thread of its own, so that decoding and summing up run on different cores.

use jtrail_formats::{Bulk, Item, ReadError, Reader};
use jtrail_model::{CallStep, Calls, Duration, Event, MethodEnter, MethodLeave, ThreadId};
use std::io::Read;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

/// The number of items in a full batch.
pub const BATCH: usize = 1024;
/// A batch is full if its texts and stacks have this many bytes.
pub const HELD: usize = 256 << 10;
/// The number of batches that may wait for the consumer.
pub const WAITING: usize = 4;
/// A batch is large if its texts and stacks have more bytes than this, because of one large event.
/// After it, the reader waits until it was consumed.
const LARGE: usize = 16 << 20;

/// A batch of items, which one thread sends to the other. Nearly all items are calls. An item that
/// can hold any event takes as much memory as the largest event, so calls are stored in lists of
/// their own. Rows of calls take the least memory.
#[derive(Default)]
struct Batch {
    calls: Vec<Call>,
    /// Items other than single calls, each with the number of single calls before it.
    others: Vec<(usize, Other)>,
    /// The steps of all rows of calls.
    steps: Vec<CallStep>,
    held: usize,
}

enum Other {
    Item(Item<'static>),
    Row(Row),
}

/// A row of calls without its steps.
struct Row {
    offset: u64,
    thread: ThreadId,
    cpu_time: Duration,
    ticket: u32,
    depth: u32,
    /// The number of steps.
    count: usize,
}

struct Call {
    offset: u64,
    kind: CallKind,
}

enum CallKind {
    Enter(MethodEnter),
    Leave(MethodLeave),
}

impl Batch {
    #[inline]
    fn push(&mut self, bulk: Bulk<'_>) {
        match bulk {
            Bulk::Item(item) => self.push_item(item),
            Bulk::Calls { offset, calls } => {
                self.steps.extend_from_slice(calls.steps);
                let row = Row {
                    offset,
                    thread: calls.thread,
                    cpu_time: calls.cpu_time,
                    ticket: calls.ticket,
                    depth: calls.depth,
                    count: calls.steps.len(),
                };
                self.others.push((self.calls.len(), Other::Row(row)));
            }
        }
    }

    #[inline]
    fn push_item(&mut self, item: Item<'_>) {
        let other = match item {
            Item::Event { offset, event } => {
                let kind = match event {
                    Event::MethodEnter(call) => CallKind::Enter(call),
                    Event::MethodLeave(call) => CallKind::Leave(call),
                    event => return self.push_other(offset, event),
                };
                self.calls.push(Call { offset, kind });
                return;
            }
            Item::Remark(remark) => {
                self.held = self.held.saturating_add(remark.message.len());
                Item::Remark(remark)
            }
        };
        self.others.push((self.calls.len(), Other::Item(other)));
    }

    fn push_other(&mut self, offset: u64, event: Event<'_>) {
        self.held = self.held.saturating_add(event.held());
        let event = event.into_static();
        let item = Item::Event { offset, event };
        self.others.push((self.calls.len(), Other::Item(item)));
    }

    fn is_full(&self) -> bool {
        self.calls.len() + self.others.len() + self.steps.len() >= BATCH || self.held >= HELD
    }

    /// Passes all items to `visit` in order, until `visit` breaks.
    fn drain<B>(&mut self, mut visit: impl FnMut(Bulk<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let (mut done, mut rest) = (0, &self.steps[..]);
        for (before, other) in self.others.drain(..) {
            hand_out(&self.calls[done..before], &mut visit)?;
            done = before;
            match other {
                Other::Item(item) => visit(Bulk::Item(item))?,
                Other::Row(row) => {
                    let (steps, after) = rest.split_at(row.count);
                    rest = after;
                    let calls = Calls {
                        thread: row.thread,
                        cpu_time: row.cpu_time,
                        ticket: row.ticket,
                        depth: row.depth,
                        steps,
                    };
                    let offset = row.offset;
                    visit(Bulk::Calls { offset, calls })?;
                }
            }
        }
        hand_out(&self.calls[done..], &mut visit)?;
        self.calls.clear();
        self.steps.clear();
        self.held = 0;
        ControlFlow::Continue(())
    }
}

fn hand_out<B>(
    calls: &[Call],
    visit: &mut impl FnMut(Bulk<'_>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    for Call { offset, kind } in calls {
        let event = match *kind {
            CallKind::Enter(call) => Event::MethodEnter(call),
            CallKind::Leave(call) => Event::MethodLeave(call),
        };
        let offset = *offset;
        visit(Bulk::Item(Item::Event { offset, event }))?;
    }
    ControlFlow::Continue(())
}

/// Like [`Reader::for_each_in_bulk`], but reads ahead on another thread. It suits files, but not
/// pipes, because items are visited some time after they were read. When `visit` breaks, the source
/// may have been read beyond the last visited item.
/// # Errors
/// Those of [`Reader::for_each`].
pub fn for_each<B>(
    reader: &mut Reader<impl Read + Send>,
    mut visit: impl FnMut(Bulk<'_>) -> ControlFlow<B>,
) -> Result<Option<B>, ReadError> {
    let (full, batches) = sync_channel::<Batch>(WAITING);
    let (done, empty) = channel();
    // If `visit` breaks or panics, the reader must not wait until its last batches are consumed. So
    // both channels are moved into the scope's closure, which drops them at its end.
    thread::scope(move |scope| {
        let reading = thread::Builder::new().name("reader".to_owned());
        let reading = reading.spawn_scoped(scope, move || {
            let mut batch = Batch::default();
            // The number of batches that were sent and have not come back.
            let mut out = 0_usize;
            let read = reader.for_each_in_bulk(|bulk| {
                batch.push(bulk);
                if !batch.is_full() {
                    return ControlFlow::Continue(());
                }
                let is_large = batch.held > LARGE;
                if full.send(std::mem::take(&mut batch)).is_err() {
                    return ControlFlow::Break(());
                }
                out += 1;
                while is_large && out > 0 {
                    let Ok(back) = empty.recv() else {
                        return ControlFlow::Break(());
                    };
                    batch = back;
                    out -= 1;
                }
                if let Ok(back) = empty.try_recv() {
                    batch = back;
                    out -= 1;
                }
                ControlFlow::Continue(())
            });
            // This fails if `visit` broke.
            let _ = full.send(batch);
            read
        })?;
        let mut broken = None;
        for mut batch in batches {
            if let ControlFlow::Break(value) = batch.drain(&mut visit) {
                broken = Some(value);
                break;
            }
            // This fails if the reader has ended.
            let _ = done.send(batch);
        }
        drop(done);
        match reading.join() {
            Ok(Err(error)) if broken.is_none() => Err(error),
            Ok(_) => Ok(broken),
            Err(panic) => resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_formats::Format;
    use jtrail_model::{
        Custom, Event, Frame, MethodEnter, ThreadId, ThreadPark, ThreadStart, Timestamp,
    };
    use std::io::{self, Cursor};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Returns a trace with more events than fit into the waiting batches. A few of the events are
    /// so large that they fill a batch.
    fn trace(format: Format) -> Vec<u8> {
        let mut encoder = format.encoder();
        let mut out = Vec::new();
        encoder.begin(&mut out);
        let start = ThreadStart {
            thread: ThreadId(1),
            name: "main".into(),
            ..ThreadStart::default()
        };
        encoder.event(&Event::ThreadStart(start), &mut out);
        for n in 1..=(3 * WAITING * BATCH) as u32 {
            let call = MethodEnter {
                thread: ThreadId(1),
                time: Timestamp(n.into()),
                ticket: n,
                stack_depth: n.into(),
                ..MethodEnter::default()
            };
            encoder.event(&Event::MethodEnter(call), &mut out);
            if n % 1000 == 0 {
                let body = "x".repeat(HELD / 3).into();
                encoder.event(&Event::Custom(Custom { body }), &mut out);
            }
        }
        encoder.end(&mut out);
        out
    }

    /// Reads at most `most` items. Returns the items, and the error that ended the reading.
    fn read(
        source: impl Read + Send,
        most: usize,
        is_ahead: bool,
    ) -> (Vec<String>, Option<String>) {
        let mut items = Vec::new();
        let mut visit = |item: Item<'_>| {
            items.push(format!("{item:?}"));
            match items.len() == most {
                true => ControlFlow::Break(most),
                false => ControlFlow::Continue(()),
            }
        };
        let mut reader = Reader::new(source).expect("a trace");
        let end = match is_ahead {
            true => for_each(&mut reader, |bulk| bulk.items(&mut visit)),
            false => reader.for_each(visit),
        };
        if let Ok(broken) = &end {
            assert_eq!(*broken, (items.len() == most).then_some(most));
        }
        (items, end.err().map(|error| error.to_string()))
    }

    #[test]
    fn items_are_those_of_the_reader() {
        for format in [Format::Trail, Format::TptpBinary, Format::TptpXml] {
            let whole = trace(format);
            let mut damaged = whole.clone();
            for at in (whole.len() / 2..).step_by(whole.len() / 20).take(5) {
                damaged[at] ^= 0xff;
            }
            for bytes in [&whole, &whole[..whole.len() / 3], &damaged] {
                for most in [usize::MAX, 1, BATCH, BATCH + 1] {
                    let expected = read(bytes, most, false);
                    assert_eq!(read(bytes, most, true), expected);
                }
            }
        }
    }

    /// Returns a trace of large events only. Each event exceeds [`LARGE`] because of the memory of
    /// its frames. Its texts alone fit into a record.
    fn large() -> Vec<u8> {
        let mut encoder = Format::Trail.encoder();
        let mut out = Vec::new();
        encoder.begin(&mut out);
        for _ in 0..3 {
            let frame = Frame {
                method: "x".repeat(100).into(),
                line: 1,
            };
            let park = ThreadPark {
                thread: ThreadId(1),
                stack: vec![frame; LARGE / 120],
                ..ThreadPark::default()
            };
            encoder.event(&Event::ThreadPark(park), &mut out);
        }
        encoder.end(&mut out);
        out
    }

    #[test]
    fn large_events_come_one_by_one() {
        let bytes = large();
        let events = |items: &[String]| items.iter().filter(|i| i.starts_with("Event")).count();
        assert_eq!(events(&read(&bytes[..], usize::MAX, true).0), 3);
        assert_eq!(read(&bytes[..], 1, true).0.len(), 1);
        let mut reader = Reader::new(&bytes[..]).expect("a trace");
        let read = AssertUnwindSafe(|| for_each::<()>(&mut reader, |_| panic!("as intended")));
        catch_unwind(read).expect_err("a panic");
    }

    struct Fails(Cursor<Vec<u8>>);

    impl Read for Fails {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the disk is gone")),
                n => Ok(n),
            }
        }
    }

    #[test]
    fn what_came_before_an_error_is_handed_out() {
        let bytes = trace(Format::TptpBinary);
        let source = || Fails(Cursor::new(bytes[..bytes.len() / 2].to_vec()));
        let (items, error) = read(source(), usize::MAX, true);
        assert_eq!(error.as_deref(), Some("the disk is gone"));
        assert_eq!((items, error), read(source(), usize::MAX, false));
    }

    #[test]
    fn a_panic_goes_on_to_the_caller() {
        let bytes = trace(Format::Trail);
        let mut reader = Reader::new(&bytes[..]).expect("a trace");
        let read = AssertUnwindSafe(|| for_each::<()>(&mut reader, |_| panic!("as intended")));
        let panic = catch_unwind(read).expect_err("a panic");
        assert_eq!(panic.downcast_ref(), Some(&"as intended"));
    }
}
