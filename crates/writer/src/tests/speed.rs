//! Measures how many records per second the writer turns into a trail on one core, and compares
//! that with its target.
//!
//! ```text
//! cargo test --release -p jtrail-writer --lib -- --ignored --nocapture writer_speed
//! ```
//!
//! The variable `JTRAIL_ROWS` selects the rows whose names contain its value. With `JTRAIL_TRACE`,
//! the path of a trail, there are additional rows for its calls.
//!
//! The first columns measure all work from chunks to the bytes of segments, in memory: merge,
//! translation, encoding, compression. The next column measures the work that remains for the
//! writer when helpers follow the calls and compress. The last columns measure elapsed time up to
//! the last byte: the gain from a helper on a core of its own, and from two independent writers at
//! once.

use super::runs::Random;
use super::*;
use crate::helpers::Pool;
use jtrail_formats::trail::{Encoder, SegmentItem, SegmentReader, Segments};
use jtrail_formats::{Bounds, Helpers, ShortCalls};
use jtrail_model::{Duration, Event, RunStep, Timestamp};
use jtrail_recorder::clock::thread_cpu;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::{Arc, Barrier};
use std::thread::{scope, sleep};
use std::time::Instant;

/// Number of chunks that are filled before the writer reads them. With so many, they are not in the
/// cache of the writer's core, just as the chunks of a real program.
const CHUNKS: u64 = 16;
const ROUNDS: usize = 60;
/// Number of chunks where elapsed time is measured: enough that several segments are in progress.
const MANY_CHUNKS: u64 = 96;
const FEW_ROUNDS: usize = 15;
/// More helpers than the writer ever waits for.
const HELPERS: usize = 4;
/// More time than the helpers take to follow the chunks.
const AHEAD: std::time::Duration = std::time::Duration::from_millis(30);
const THREAD: u32 = 1;

/// An endless program of calls and returns.
trait Program: Send + Sync {
    /// Returns the lower part of the next enter or leave.
    fn next(&mut self) -> u64;
    /// Returns the constructor that makes its mark after that record, if one does.
    fn mark(&mut self) -> Option<u32> {
        None
    }
    /// Returns the marks that a method makes.
    fn marks(&self, _method: u32) -> SuperMarks {
        SuperMarks::None
    }
    /// Returns a copy that does the same from here on.
    fn again(&self) -> Box<dyn Program>;
    /// Returns the number of methods.
    fn methods(&self) -> u32;
    /// Returns the time that the program ran before the last record, in nanoseconds; 0 if unknown.
    fn elapsed(&self) -> u64 {
        0
    }
}

/// `fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)`, repeatedly.
#[derive(Clone, Default)]
struct Fib {
    /// Arguments of open calls, and the number of calls that each has made.
    open: Vec<(u32, u32)>,
}

impl Program for Fib {
    fn again(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }

    fn next(&mut self) -> u64 {
        let argument = match self.open.last_mut() {
            None => 32,
            Some((n, calls)) if *n < 2 || *calls == 2 => {
                self.open.pop();
                return record::leave(0);
            }
            Some((n, calls)) => {
                *calls += 1;
                *n - *calls
            }
        };
        self.open.push((argument, 0));
        record::enter(0)
    }

    fn methods(&self) -> u32 {
        1
    }
}

/// A program like the Java compiler. Each call site calls one method, or sometimes one of a few.
/// Conditions and loops depend on data. Most calls are to small methods that call nothing.
#[derive(Clone)]
struct Compiler {
    random: Random,
    /// Methods of open calls, and the number of call sites that each has passed.
    open: Vec<(u32, u32)>,
}

impl Compiler {
    const METHODS: u32 = 13_000;
    const MAX_DEPTH: usize = 150;

    fn new() -> Self {
        Self {
            random: Random(88_172_645_463_325_252),
            open: Vec::new(),
        }
    }

    /// Returns a pseudorandom number that depends only on the arguments.
    fn fixed(method: u32, place: u32) -> u32 {
        let mixed =
            (u64::from(method) << 32 | u64::from(place)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 29) as u32 ^ (mixed >> 47) as u32
    }

    /// Returns the number of call sites in a method.
    fn places(method: u32) -> u32 {
        match Self::fixed(method, u32::MAX) % 16 {
            0..8 => 0,
            8..11 => 1,
            11..13 => 2,
            13..15 => 4,
            _ => 9,
        }
    }

    fn callee(&mut self, method: u32, place: u32) -> u32 {
        let fixed = Self::fixed(method, place);
        // Some call sites are virtual.
        let other = match fixed % 8 {
            0 => self.random.below(4),
            _ => 0,
        };
        let any = Self::fixed(method, place + 100 * (1 + other));
        // Some methods are called from everywhere.
        match any % 4 {
            0 => any / 4 % 64,
            1 => any / 4 % 1_000,
            _ => any / 4 % Self::METHODS,
        }
    }
}

impl Program for Compiler {
    fn again(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }

    fn next(&mut self) -> u64 {
        let depth = self.open.len();
        let Some((method, passed)) = self.open.last_mut() else {
            let method = self.random.below(Self::METHODS);
            self.open.push((method, 0));
            return record::enter(method);
        };
        let method = *method;
        let mut place = *passed;
        let places = match depth {
            Self::MAX_DEPTH.. => 0,
            _ => Self::places(method),
        };
        while place < places {
            let fixed = Self::fixed(method, place + 50);
            // A condition may not hold, and a loop may repeat.
            let (skips, again) = match fixed % 6 {
                0 => (self.random.below(4) == 0, false),
                1 => (false, self.random.below(3) > 0),
                _ => (false, false),
            };
            let here = place;
            place += u32::from(!again);
            if !skips {
                self.open[depth - 1].1 = place;
                let callee = self.callee(method, here);
                self.open.push((callee, 0));
                return record::enter(callee);
            }
        }
        self.open.pop();
        record::leave(method)
    }

    fn methods(&self) -> u32 {
        Self::METHODS
    }
}

/// Calls of one thread of a trail, repeatedly.
///
/// A trail does not contain the marks of constructors. Here, each constructor makes a mark when the
/// constructor that it calls first returns, or at its start if it calls none. A real program makes
/// fewer marks: constructors of direct subclasses of `Object` need none. (In javac, 20 of 34
/// million constructor calls made one mark, and 5 million made two.)
#[derive(Clone)]
struct Recorded {
    /// Steps, and the nanoseconds since the preceding step.
    steps: Arc<[(RunStep, u32)]>,
    /// Index of the next step.
    at: usize,
    /// Methods of open calls; true if the method is a constructor whose mark is still to come.
    open: Vec<(u32, bool)>,
    constructors: Vec<bool>,
    mark: Option<u32>,
}

impl Recorded {
    /// Maximum number of steps from one place of the trail.
    const MAX_STEP: usize = 1 << 20;
    /// Number of places in the trail from which steps are taken.
    const PLACES: usize = 8;

    /// Reads the calls of one thread: the first thread with a call at the first place.
    fn new(path: &str) -> Self {
        let open = || File::open(path).expect("JTRAIL_TRACE is a trail");
        let segments = Segments::open(open()).expect("it can be read");
        let segments = segments.expect("it is whole");
        let mut reader = SegmentReader::new(open()).expect("it can be read");
        let (mut thread, mut numbers) = (None, HashMap::new());
        let (mut steps, mut constructors) = (Vec::new(), HashSet::new());
        let (mut last, mut depth, mut room) = (Timestamp(0), 0, 0);
        for number in 0..segments.count() {
            if number % segments.count().div_ceil(Self::PLACES) == 0 {
                room = Self::MAX_STEP;
            }
            let is_there = reader.begin(&segments, number);
            assert!(is_there.expect("it can be read"), "a segment is damaged");
            let is_read = reader.read(&mut |found| {
                let row = match found {
                    SegmentItem::Row(row) => row,
                    SegmentItem::Event(Event::MethodDef(def)) if def.name == "<init>" => {
                        constructors.insert(def.method.0);
                        return;
                    }
                    SegmentItem::Event(_) => return,
                };
                if room == 0 || *thread.get_or_insert(row.thread) != row.thread {
                    return;
                }
                for (step, time) in row.steps.iter().zip(row.times).take(room) {
                    let next = numbers.len() as u32;
                    let method = row.methods[step.method()].0;
                    let number = *numbers.entry(method).or_insert(next);
                    let elapsed = time.0.saturating_sub(last.0).min(i64::from(u32::MAX)) as u32;
                    last = *time;
                    // Calls that began before have no enter here.
                    if step.ends() && depth == 0 {
                        continue;
                    }
                    depth = if step.ends() { depth - 1 } else { depth + 1 };
                    steps.push((RunStep::new(number, step.ends()), elapsed));
                    room -= 1;
                }
            });
            assert!(is_read, "a segment is damaged");
        }
        assert!(!steps.is_empty(), "a trail without calls");
        let mut is_constructor = vec![false; numbers.len()];
        for (method, number) in numbers {
            is_constructor[number as usize] = constructors.contains(&method.0);
        }
        Self {
            steps: steps.into(),
            at: 0,
            open: Vec::new(),
            constructors: is_constructor,
            mark: None,
        }
    }
}

impl Program for Recorded {
    fn again(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }

    fn next(&mut self) -> u64 {
        let Some((step, _)) = self.steps.get(self.at).copied() else {
            // Ends the open calls, and starts again.
            let Some((method, _)) = self.open.pop() else {
                self.at = 0;
                return self.next();
            };
            return record::leave(method);
        };
        self.at += 1;
        let is_constructor = |method: u32| self.constructors[method as usize];
        if !step.ends() {
            let method = step.method();
            let (next, _) = self.steps.get(self.at).copied().unwrap_or_default();
            let calls_one = !next.ends() && is_constructor(next.method());
            self.mark = (is_constructor(method) && !calls_one).then_some(method);
            self.open
                .push((method, is_constructor(method) && calls_one));
            return record::enter(method);
        }
        let (method, _) = self.open.pop().expect("calls that nest");
        self.mark = match self.open.last_mut() {
            Some((outer, is_to_come @ true)) if is_constructor(method) => {
                *is_to_come = false;
                Some(*outer)
            }
            _ => None,
        };
        record::leave(method)
    }

    fn mark(&mut self) -> Option<u32> {
        self.mark.take()
    }

    fn marks(&self, method: u32) -> SuperMarks {
        match self.constructors.get(method as usize) {
            Some(true) => SuperMarks::After,
            _ => SuperMarks::None,
        }
    }

    fn methods(&self) -> u32 {
        self.constructors.len() as u32
    }

    fn elapsed(&self) -> u64 {
        let last = self.at.checked_sub(1).and_then(|at| self.steps.get(at));
        last.map_or(0, |(_, elapsed)| (*elapsed).into())
    }
}

/// How time advances from record to record.
#[derive(Clone, Copy)]
enum Stamps {
    /// Like the processor's counter: by this number of ticks, with small variations.
    Exact(u64),
    /// The time stands still for 50 µs, while this number of ticks passes for each record.
    Coarse(u64),
    /// As the program says.
    Recorded,
}

/// A program and a writer, which run alternately.
struct Run {
    chunks: u64,
    buffer: *const ThreadBuffer,
    full: Receiver<Full>,
    _memory: jtrail_recorder::memory::Mapping,
    merge: Merge,
    translator: Translator,
    helpers: Arc<Pool>,
    random: Random,
    now: u64,
    clock: u64,
}

impl Run {
    fn new(program: &dyn Program, chunks: u64, min: Option<Duration>, helpers: usize) -> Self {
        let methods = program.methods();
        let (empty, supply, memory) =
            create_pool((chunks + 1) * CHUNK_BYTES as u64).expect("memory");
        let (full_sender, full) = unbounded();
        let exchange = exchange(supply, full_sender, bounded(1).0, WhenFull::Block);
        let buffer = ThreadBuffer::new(1, THREAD, exchange);
        let (definition, buffer) = BufferHandle::share(buffer);
        let mut merge = Merge::new(empty, false);
        merge.add_buffer(definition);
        let pool = Arc::<Pool>::default();
        pool.start(Some(helpers));
        let helpers: Arc<Pool> = Arc::clone(&pool);
        let trail = Box::new(Encoder::with_helpers(pool));
        let bounds = |min| Bounds { min, rate: None };
        let encoder: Box<dyn Encode> = match min {
            None => trail,
            Some(min) => Box::new(ShortCalls::new(trail, bounds(min))),
        };
        let mut translator = Translator::new(encoder, timeline(), Settings::default());
        translator.begin();
        for class in 0..=methods / 11 {
            translator.add_class(ClassInfo {
                number: class,
                name: format!("com.example.Class{class}").into(),
                ..ClassInfo::default()
            });
            let method = |number| MethodInfo {
                number,
                name: format!("method{number}").into(),
                descriptor: "()V".into(),
                marks: program.marks(number),
                ..MethodInfo::default()
            };
            translator.add_methods(class, (class * 11..class * 11 + 11).map(method).collect());
        }
        Self {
            chunks,
            buffer,
            full,
            _memory: memory,
            merge,
            translator,
            helpers,
            random: Random(88_172_645_463_325_252),
            now: System::now(),
            clock: 0,
        }
    }

    /// Fills the chunks.
    fn record(&mut self, program: &mut dyn Program, stamps: Stamps) {
        while self.full.len() < self.chunks as usize {
            let low = program.next();
            let stamp = match stamps {
                Stamps::Recorded => {
                    self.now += program.elapsed();
                    self.now
                }
                Stamps::Exact(ticks) => {
                    self.now += match self.random.below(16) {
                        0 => ticks * u64::from(self.random.below(3)),
                        1 => ticks + u64::from(self.random.below(2)),
                        _ => ticks,
                    };
                    self.now
                }
                Stamps::Coarse(ticks) => {
                    self.now += ticks;
                    if self.now > self.clock + 50_000 {
                        self.clock = self.now;
                    }
                    self.clock
                }
            };
            // SAFETY: this thread made the buffer, which exists until `Run` is dropped.
            assert!(unsafe {
                (*self.buffer).try_record(stamp, low) || (*self.buffer).record(stamp, low)
            });
            if let Some(method) = program.mark() {
                let payload = [method.into()];
                // SAFETY: this thread made the buffer, which exists until `Run` is dropped.
                unsafe { (*self.buffer).record_coded(stamp, Code::SuperReturned, &payload) };
            }
        }
    }

    /// Lets the writer read the chunks. Returns the number of events, the number of bytes, and the
    /// writer's CPU time in nanoseconds.
    fn write(&mut self) -> (u64, u64, u64) {
        let before = self.translator.emitted();
        self.merge.follow_all();
        self.merge
            .follow_by(self.translator.follower(), &self.helpers);
        for full in self.full.try_iter() {
            self.merge.add_full(&full);
        }
        if self.helpers.count() > 0 {
            sleep(AHEAD);
        }
        let start = thread_cpu();
        self.merge
            .run(u64::MAX, 0, &mut self.translator, usize::MAX);
        let time = thread_cpu() - start;
        let bytes = self.translator.out.len() as u64;
        self.translator.out.clear();
        (self.translator.emitted() - before, bytes, time)
    }
}

impl Run {
    /// Lets the writer read the chunks, until everything is written. Returns the number of events.
    fn write_all(&mut self) -> u64 {
        let before = self.translator.emitted();
        self.merge
            .follow_by(self.translator.follower(), &self.helpers);
        for full in self.full.try_iter() {
            self.merge.add_full(&full);
        }
        self.merge
            .run(u64::MAX, 0, &mut self.translator, usize::MAX);
        self.translator.flush();
        self.translator.out.clear();
        self.translator.emitted() - before
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // SAFETY: this thread made the buffer, and does not use it afterwards.
        unsafe { ThreadBuffer::finish(self.buffer) };
        for full in self.full.try_iter() {
            self.merge.add_full(&full);
        }
        self.merge.discard();
    }
}

fn timeline() -> Timeline {
    let first = Reading::take(System::now);
    clock::timeline(first, System::now)
}

/// Returns millions of events per second, in the best and in the median round, and bytes per event.
fn measured(
    program: &mut dyn Program,
    stamps: Stamps,
    min: Option<Duration>,
    helpers: usize,
) -> (f64, f64, f64) {
    let mut run = Run::new(program, CHUNKS, min, helpers);
    let mut rounds = Vec::new();
    let (mut events, mut bytes) = (0, 0);
    for _ in 0..ROUNDS {
        run.record(program, stamps);
        let (some, written, time) = run.write();
        events += some;
        bytes += written;
        rounds.push(some as f64 / time as f64 * 1e3);
    }
    rounds.sort_by(f64::total_cmp);
    let size = bytes as f64 / events as f64;
    (rounds[ROUNDS - 1], rounds[ROUNDS / 2], size)
}

/// Measures how many times as fast as one writer alone two setups are: one writer with a helper,
/// and two independent writers at once. The second value shows about what two cores can reach. The
/// values are medians of rounds. In each round, all setups write the same.
fn gained(program: &dyn Program, stamps: Stamps, min: Option<Duration>) -> [f64; 2] {
    let start = |helpers| {
        let program = program.again();
        let run = Run::new(&*program, MANY_CHUNKS, min, helpers);
        (program, run)
    };
    let per_event = |(program, run): &mut (Box<dyn Program>, Run), turn: &dyn Fn()| {
        run.record(&mut **program, stamps);
        turn();
        let time = Instant::now();
        let events = run.write_all();
        turn();
        time.elapsed().as_nanos() as f64 / events as f64
    };
    let both = Barrier::new(2);
    let other = program.again();
    scope(|scope| {
        scope.spawn(|| {
            let mut other = (other, Run::new(program, MANY_CHUNKS, min, 0));
            for _ in 0..FEW_ROUNDS {
                both.wait();
                per_event(&mut other, &|| _ = both.wait());
            }
        });
        let (mut alone, mut helped, mut beside) = (start(0), start(1), start(0));
        let mut rounds = [(); FEW_ROUNDS].map(|()| {
            let alone = per_event(&mut alone, &|| ());
            let helped = per_event(&mut helped, &|| ());
            both.wait();
            let beside = per_event(&mut beside, &|| _ = both.wait());
            [alone / helped, 2.0 * alone / beside]
        });
        [0, 1].map(|column| {
            rounds.sort_by(|one, other| one[column].total_cmp(&other[column]));
            rounds[FEW_ROUNDS / 2][column]
        })
    })
}

/// Prints the table that the module's documentation describes.
#[test]
#[ignore = "a measurement"]
fn writer_speed() {
    println!(
        "{:24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "best M/s", "median", "B/event", "by itself", "a helper", "2 writers", "aim M/s"
    );
    type Row<'r> = (&'r str, Stamps, Option<Duration>, f64, Box<dyn Program>);
    let short = Some(Duration(100_000));
    let mut rows: Vec<Row<'_>> = vec![
        (
            "fib, exact stamps",
            Stamps::Exact(10),
            None,
            85.0,
            Box::<Fib>::default(),
        ),
        (
            "fib, coarse stamps",
            Stamps::Coarse(1),
            None,
            170.0,
            Box::<Fib>::default(),
        ),
        (
            "compiler, exact stamps",
            Stamps::Exact(16),
            None,
            83.0,
            Box::new(Compiler::new()),
        ),
        (
            "compiler, coarse stamps",
            Stamps::Coarse(4),
            None,
            83.0,
            Box::new(Compiler::new()),
        ),
        (
            "fib, min=100us",
            Stamps::Exact(10),
            short,
            60.0,
            Box::<Fib>::default(),
        ),
        (
            "compiler, min=100us",
            Stamps::Exact(16),
            short,
            45.0,
            Box::new(Compiler::new()),
        ),
    ];
    if let Ok(trace) = std::env::var("JTRAIL_TRACE") {
        let row = |name, min, aim| -> Row<'_> {
            let program = Box::new(Recorded::new(&trace));
            (name, Stamps::Recorded, min, aim, program)
        };
        let each = row("recorded calls", None, 285.0);
        rows.extend([each, row("recorded, min=100us", short, 45.0)]);
    }
    let selected = std::env::var("JTRAIL_ROWS").unwrap_or_default();
    for (name, stamps, min, aim, program) in rows {
        if !name.contains(&selected) {
            continue;
        }
        let (best, median, size) = measured(&mut *program.again(), stamps, min, 0);
        let (serial, ..) = measured(&mut *program.again(), stamps, min, HELPERS);
        let [helped, twice] = gained(&*program, stamps, min);
        let result = if best >= aim { "PASS" } else { "FAIL" };
        println!(
            "{name:24} {best:>9.1} {median:>9.1} {size:>9.3} {serial:>9.1} {helped:>8.2}x {twice:>8.2}x {aim:>9.0}  {result}"
        );
    }
}
