use super::*;
use crate::filter::MethodFilter;
use crate::sink::ThreadInfo;
use jtrail_model::{ClassId, Duration, ObjectId, ThreadEnd, ThreadId};

/// Slices as `thread time +name` and `thread time -name`, and instants as `thread time !`.
#[derive(Default)]
struct Written(Vec<String>);

fn name(slice: Slice) -> String {
    match slice {
        Slice::Call(method) => format!("{}", (b'a' + method.0 as u8) as char),
        Slice::Blocked { .. } => "blocked".to_owned(),
        Slice::Waiting { .. } => "waiting".to_owned(),
        Slice::Parked { .. } => "parked".to_owned(),
    }
}

impl Sink for Written {
    fn thread(&mut self, _: ThreadIndex, _: &ThreadInfo) {}

    fn begin(&mut self, _: &Names, at: ThreadTime, slice: Slice) {
        self.0
            .push(format!("{} {} +{}", at.thread.0, at.time.0, name(slice)));
    }

    fn end(&mut self, _: &Names, end: &End) {
        let (thread, time) = (end.end.thread.0, end.end.time.0);
        self.0.push(format!("{thread} {time} -{}", name(end.slice)));
    }

    fn instant(&mut self, _: &Names, thread: ThreadIndex, event: &Event<'_>) -> bool {
        let time = event.time().expect("a time");
        self.0.push(format!("{} {} !", thread.0, time.0));
        true
    }

    fn close(&mut self, _: &Names, _: Timestamp) {}

    fn take(&mut self, _: &mut Vec<u8>) {}

    fn size(&self) -> u64 {
        0
    }
}

/// A step of a thread.
#[derive(Clone, Copy)]
enum Step {
    Enter(i64, u64, u32),
    Leave(i64, u64, u32),
    Park(i64),
    Unpark(i64),
    Instant(i64),
}

use Step::*;

fn written(filter: CallFilter, steps: &[Step]) -> Vec<String> {
    let (names, mut sink) = (Names::default(), Written::default());
    let mut slices = Slices::new(filter);
    let at = |time| ThreadTime {
        thread: ThreadIndex(0),
        time: Timestamp(time),
        cpu: 0,
    };
    for step in steps {
        let sink = &mut sink;
        match *step {
            Enter(time, method, ticket) => {
                let call = (MethodId(method), ticket);
                slices.enter(&names, at(time), call, sink);
            }
            Leave(time, method, ticket) => {
                let call = (MethodId(method), ticket, false);
                slices.leave(&names, at(time), call, sink);
            }
            Park(time) => {
                let slice = Slice::Parked {
                    object: ObjectId::NONE,
                    class: ClassId::NONE,
                };
                slices.wait(&names, at(time), slice, sink);
            }
            Unpark(time) => {
                let is_parked = |slice| matches!(slice, Slice::Parked { .. });
                slices.resume(&names, at(time), is_parked, sink);
            }
            Instant(time) => {
                let event = Event::ThreadEnd(ThreadEnd {
                    thread: ThreadId(7),
                    time: Timestamp(time),
                });
                slices.instant(&names, at(time), &event, sink);
            }
        }
    }
    slices.finish(&names, &mut sink);
    sink.0
}

fn long(min: i64) -> CallFilter {
    CallFilter::new(Duration(min), None, None)
}

#[test]
fn slices_nest_whatever_is_missing() {
    let steps = [
        Leave(1, 9, 9), // not open
        Enter(2, 0, 1),
        Enter(3, 1, 2),
        Park(4),
        Leave(6, 0, 1), // ends b and the park, too
        Unpark(7),
        Enter(8, 2, 3), // open at the end
        Instant(9),
    ];
    let expected = [
        "0 2 +a",
        "0 3 +b",
        "0 4 +parked",
        "0 6 -parked",
        "0 6 -b",
        "0 6 -a",
        "0 8 +c",
        "0 9 !",
        "0 9 -c",
    ];
    assert_eq!(written(CallFilter::default(), &steps), expected);
}

#[test]
fn short_calls_become_part_of_their_caller() {
    let steps = [
        Enter(0, 0, 1),
        Enter(1, 1, 2),
        Leave(2, 1, 2), // short
        Enter(3, 2, 3),
        Enter(4, 3, 4),
        Instant(5),
        Leave(6, 3, 4), // short
        Enter(7, 4, 5),
        Leave(17, 4, 5), // long
        Leave(18, 2, 3),
        Park(19),
        Unpark(20), // short
        Leave(21, 0, 1),
    ];
    let expected = [
        "0 0 +a", "0 3 +c", "0 5 !", "0 7 +e", "0 17 -e", "0 18 -c", "0 21 -a",
    ];
    assert_eq!(written(long(10), &steps), expected);
    let none: [&str; 1] = ["0 5 !"];
    assert_eq!(written(long(100), &steps), none);
}

#[test]
fn a_depth_and_methods_are_selected() {
    let steps = [
        Enter(0, 0, 1),
        Enter(1, 1, 2),
        Enter(2, 2, 3),
        Leave(3, 2, 3),
        Leave(4, 1, 2),
        Leave(5, 0, 1),
    ];
    let two = CallFilter::new(Duration(0), Some(2), None);
    assert_eq!(
        written(two, &steps),
        ["0 0 +a", "0 1 +b", "0 4 -b", "0 5 -a"]
    );
    let is_third: MethodFilter = Box::new(|_, method| method.0 == 2);
    let third = CallFilter::new(Duration(0), None, Some(is_third));
    assert_eq!(written(third, &steps), ["0 2 +c", "0 3 -c"]);
}

/// With a minimum length, the same is written as if the lengths were known in advance, and the
/// times of a thread never decrease.
#[test]
fn a_minimum_removes_exactly_the_short_slices() {
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for _ in 0..200 {
        let (mut steps, mut time, mut open, mut ticket) = (Vec::new(), 0, Vec::new(), 0);
        for _ in 0..60 {
            time += random(6) as i64;
            match random(5) {
                0 | 1 => {
                    ticket += 1;
                    let method = random(4);
                    open.push((method, ticket));
                    steps.push(Enter(time, method, ticket));
                }
                2 | 3 => {
                    if let Some((method, ticket)) = open.pop() {
                        steps.push(Leave(time, method, ticket));
                    }
                }
                _ => steps.push(Instant(time)),
            }
        }
        let all = written(CallFilter::default(), &steps);
        let mut expected: Vec<Option<String>> = all.iter().cloned().map(Some).collect();
        let time = |line: &str| line.split(' ').nth(1).expect("a time").parse::<i64>();
        let mut begun = Vec::new();
        for (at, line) in all.iter().enumerate() {
            if line.contains('+') {
                begun.push(at);
            } else if line.contains('-') {
                let begin = begun.pop().expect("nested");
                if time(line).expect("a number") - time(&all[begin]).expect("a number") < 8 {
                    (expected[at], expected[begin]) = (None, None);
                }
            }
        }
        let expected: Vec<String> = expected.into_iter().flatten().collect();
        let written = written(long(8), &steps);
        assert_eq!(written, expected);
        assert!(
            written
                .iter()
                .map(|line| time(line).expect("a number"))
                .is_sorted()
        );
    }
}
