//! Allocations, exceptions, CPU times, the longest waits and the calls of a method in any span are
//! those that all events together give.

use super::{Action, Maker, START, THREADS, Time, actions};
use jtrail_model::*;
use jtrail_view::{Counts, Events, IndexSizes, NO_METHOD, Occurrences, Overview, Trace};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a trace has beside calls and waits. Times are in ns since its start.
#[derive(Default)]
pub(super) struct Others {
    /// Time, thread, class, number of objects, and bytes.
    allocations: Vec<(i64, u64, u64, u64, u64)>,
    /// Time, thread, class and line.
    throws: Vec<(i64, u64, u64, i64)>,
    /// By thread: times and CPU times.
    cpu: BTreeMap<u64, Vec<[i64; 2]>>,
}

impl Others {
    /// Returns the event of an action, if it is none of a call or wait.
    pub(super) fn event(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
        action: Action,
    ) -> Option<Event<'static>> {
        let now = time.0 - START;
        match action {
            Action::Alloc(class, 0) => {
                self.allocations.push((now, thread.0, class, 1, 16 * class));
                Some(Event::ObjectAlloc(ObjectAlloc {
                    thread,
                    time,
                    class: ClassId(class),
                    size: 16 * class as i64,
                    ..Default::default()
                }))
            }
            Action::Alloc(class, objects) => {
                let bytes = 100 * objects;
                self.allocations
                    .push((now, thread.0, class, objects, bytes));
                Some(Event::AllocationSum(AllocationSum {
                    thread,
                    time,
                    class: ClassId(class),
                    objects,
                    bytes,
                }))
            }
            Action::Raise(class, line) => {
                self.throws.push((now, thread.0, class, line));
                let frame = Frame {
                    method: format!("a.B.m{line}()V").into(),
                    line,
                };
                Some(Event::ExceptionThrow(ExceptionThrow {
                    thread,
                    time,
                    class: ClassId(class),
                    stack: if line == 0 { Vec::new() } else { vec![frame] },
                    ..Default::default()
                }))
            }
            Action::Cpu(more) => {
                let readings = self.cpu.entry(thread.0).or_default();
                let cpu = readings.last().map_or(0, |[_, cpu]| *cpu) + more;
                readings.push([now, cpu]);
                Some(Event::ThreadCpu(ThreadCpu {
                    thread,
                    time,
                    cpu_time: Duration(cpu),
                }))
            }
            _ => None,
        }
    }

    /// Adds what happens in equal intervals of a span.
    pub(super) fn count(
        &self,
        [from, until]: [i64; 2],
        count: usize,
        all: &mut BTreeMap<u64, Vec<Counts>>,
    ) {
        let of = |time: i64| ((time - from) * count as i64 / (until - from)) as usize;
        let mut add = |thread: u64, time: i64, more: Counts| {
            if (from..until).contains(&time) {
                let none = || vec![Counts::default(); count];
                all.entry(thread).or_insert_with(none)[of(time)] += more;
            }
        };
        let none = Counts::default();
        for (time, thread, _, objects, bytes) in &self.allocations {
            let (objects, bytes) = (*objects, *bytes);
            add(
                *thread,
                *time,
                Counts {
                    objects,
                    bytes,
                    ..none
                },
            );
        }
        for (time, thread, ..) in &self.throws {
            add(
                *thread,
                *time,
                Counts {
                    exceptions: 1,
                    ..none
                },
            );
        }
        for (thread, readings) in &self.cpu {
            for pair in readings.windows(2) {
                let ([begin, before], [end, after]) = (pair[0], pair[1]);
                // Nanosecond by nanosecond.
                let spent = |time: i64| (time - begin) * (after - before) / (end - begin);
                for time in begin..end {
                    let cpu = (spent(time + 1) - spent(time)) as u64;
                    add(*thread, time, Counts { cpu, ..none });
                }
            }
        }
    }
}

/// Allocations by class, and exceptions by class and site.
#[derive(PartialEq, Debug, Default)]
struct Sums {
    allocations: BTreeMap<u64, [u64; 2]>,
    throws: BTreeMap<(u64, String), (u64, [i64; 2])>,
}

impl Maker {
    fn events(&self, threads: &BTreeSet<ThreadId>, [from, until]: [i64; 2]) -> Sums {
        let mut sums = Sums::default();
        let is_in = |time: i64, thread: u64| {
            (from..until).contains(&time) && threads.contains(&ThreadId(thread))
        };
        for (time, thread, class, objects, bytes) in &self.others.allocations {
            if is_in(*time, *thread) {
                let sum = sums.allocations.entry(*class).or_default();
                *sum = [sum[0] + objects, sum[1] + bytes];
            }
        }
        for (time, thread, class, line) in &self.others.throws {
            if is_in(*time, *thread) {
                let site = match line {
                    0 => String::new(),
                    line => format!("a.B.m{line}():{line}"),
                };
                let sum = sums.throws.entry((*class, site));
                let (count, times) = sum.or_insert((0, [*time; 2]));
                (*count, times[1]) = (*count + 1, *time);
            }
        }
        sums
    }

    /// Returns the lengths of the longest waits in a span, the longest one first, and all waits
    /// there: thread, begin, end, object and owner.
    fn waits(&self, threads: &BTreeSet<ThreadId>, [from, until]: [i64; 2]) -> (Vec<i64>, Waits) {
        let is_in = |slice: &&super::Made| {
            let is_later = slice.end.is_none_or(|end| end > from);
            threads.contains(&ThreadId(slice.thread))
                && slice.method.is_none()
                && slice.begin < until
                && (slice.begin >= from || is_later)
        };
        let waits = self.slices.iter().enumerate();
        let waits: Vec<_> = waits.filter(|(_, slice)| is_in(slice)).collect();
        let mut lengths: Vec<i64> = waits
            .iter()
            .map(|(_, slice)| slice.end.unwrap_or(self.last) - slice.begin)
            .collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let row = |(number, slice): (usize, &super::Made)| {
            let reason = match slice.kind {
                // The slice was added before its event.
                jtrail_view::Kind::Blocked => [number as u64 + 1, slice.thread % THREADS + 1],
                _ => [0; 2],
            };
            (slice.thread, slice.begin, slice.end, reason)
        };
        (lengths, waits.into_iter().map(row).collect())
    }

    /// Returns the number of calls of a method by interval, and the length of the longest one that
    /// ends in the span.
    fn occurrences(
        &self,
        method: u64,
        [from, until]: [i64; 2],
        count: usize,
    ) -> (Vec<u64>, Option<i64>) {
        let mut counts = vec![0; count];
        let calls = self.slices.iter().filter(|s| s.method == Some(method));
        let mut longest = None;
        for call in calls {
            if (from..until).contains(&call.begin) {
                let of = (call.begin - from) * count as i64 / (until - from);
                counts[of as usize] += 1;
            }
            if let Some(end) = call.end.filter(|end| (from..until).contains(end)) {
                longest = longest.max(Some(end - call.begin));
            }
        }
        (counts, longest)
    }
}

type Waits = BTreeSet<(u64, i64, Option<i64>, [u64; 2])>;

fn events(trace: &Trace, threads: &BTreeSet<ThreadId>, span: [Timestamp; 2]) -> Sums {
    let mut events = Events::new(trace, span, Some(threads.clone()));
    events.advance(trace, Time::MAX).expect("sums");
    assert_eq!(events.share(), 1.0);
    let allocations = events.allocations().iter();
    let throws = events.throws().iter();
    Sums {
        allocations: allocations
            .map(|(class, sum)| (class.0, [sum.objects, sum.bytes]))
            .collect(),
        throws: throws
            .map(|((class, site), sum)| {
                let times = sum.times.map(|time| time.0 - START);
                let site = events.frames().readable_site(*site);
                ((class.0, site), (sum.count, times))
            })
            .collect(),
    }
}

/// Compares everything in a span with all events.
fn compare(
    maker: &Maker,
    trace: &Trace,
    span: [i64; 2],
    count: usize,
) -> Result<(), TestCaseError> {
    let times = span.map(|ns| Timestamp(START + ns));
    for threads in [1..=THREADS, 2..=2] {
        let threads: BTreeSet<ThreadId> = threads.map(ThreadId).collect();
        let found = events(trace, &threads, times);
        prop_assert_eq!(found, maker.events(&threads, span), "{:?}", span);
        let (lengths, all) = maker.waits(&threads, span);
        for max in [1, 3, 1000] {
            let found = trace.longest_waits(&threads, times, max).expect("waits");
            let last = START + maker.last;
            let of = found.iter().map(|wait| wait.end.0.min(last) - wait.begin.0);
            let expected = &lengths[..max.min(lengths.len())];
            prop_assert_eq!(of.collect::<Vec<i64>>(), expected, "{:?} {}", span, max);
            for wait in found {
                let end = (wait.end != Timestamp(i64::MAX)).then(|| wait.end.0 - START);
                let row = (
                    wait.thread.0,
                    wait.begin.0 - START,
                    end,
                    [wait.object.0, wait.owner.0],
                );
                prop_assert!(all.contains(&row), "{:?} {:?}", row, all);
            }
        }
    }
    for method in 1..6_u64 {
        let mut numbers = (0..).take_while(|number| trace.method(*number).is_some());
        let number = numbers.find(|number| trace.method(*number) == Some(MethodId(method)));
        let mut found = Occurrences::new(number.unwrap_or(NO_METHOD - 1), times, count);
        found.advance(trace, Time::MAX).expect("occurrences");
        prop_assert_eq!(found.share(), 1.0);
        // Intervals may be longer than requested.
        let size = (span[1] - span[0]) / count as i64;
        let count = found.counts().len();
        let longer = match found.interval() as i64 {
            interval if interval > size => [span[0], span[0] + interval * count as i64],
            _ => span,
        };
        let (counts, longest) = maker.occurrences(method, longer, count);
        prop_assert_eq!(found.counts(), counts, "{:?} {}", span, method);
        let slowest = found.slowest().map(|(_, call)| call.end.0 - call.begin.0);
        prop_assert_eq!(slowest, longest, "{:?} {}", span, method);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn facts_of_any_span_are_those_of_all_events(
        actions in actions(),
        spans in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, 1..50_usize), 6),
        grids in proptest::collection::vec((0..8_u32, 0..8_u32, 0.0..1.0_f64), 6),
        block in 1..2000_u64,
        parts in proptest::array::uniform4(prop_oneof![Just(0_u64), 1_000..3_000_000_u64]),
    ) {
        let maker = Maker::default().run(&actions);
        let (_file, trace) = maker.open();
        let spans: Vec<([i64; 2], usize)> = spans.into_iter().map(|(begin, length, count)| {
            let from = (begin * maker.now as f64) as i64;
            ([from, from + 1 + (length * (maker.now - from) as f64) as i64], count)
        }).collect();
        let origin = trace.span()[0].0 - START;
        let grids: Vec<([i64; 2], usize)> = grids.into_iter().map(|(power, count, place)| {
            let length = 1_i64 << (power + count);
            let from = origin + (place * maker.now as f64) as i64 / length * length;
            ([from, from + length], 1 << count)
        }).chain([([origin, origin + (1 << 14)], 1 << 12)]).collect();
        for (span, count) in spans.iter().chain(&grids) {
            compare(&maker, &trace, *span, *count)?;
        }
        let mut index = tempfile::NamedTempFile::new().expect("a file");
        let [events, waits, readings, calls] = parts;
        let sizes = IndexSizes { block, events, waits, readings, calls, all: 1 << 40, ..IndexSizes::default() };
        prop_assert!(trace.write_index(sizes, &mut index, |_| true).expect("an index"));
        prop_assert!(trace.use_index(index.path()).expect("read"));
        for (span, count) in spans.iter().chain(&grids) {
            compare(&maker, &trace, *span, *count)?;
            // Where lanes are read in the trail, CPU times before and after it come from the index.
            prop_assert_eq!(super::overview(&trace, *span, *count), super::intervals(&maker, *span, *count));
            let times = span.map(|ns| Timestamp(START + ns));
            if let Some(overview) = Overview::of_index(&trace, times, *count).expect("read") {
                prop_assert_eq!(super::counts(&overview), super::intervals(&maker, *span, *count), "{:?} {}", span, count);
            }
        }
    }
}
