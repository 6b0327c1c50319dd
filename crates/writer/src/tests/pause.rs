//! Tests for pausing and resuming, and for successive traces.

use super::fakes::Fake;
use super::*;
use crate::{
    Acted, Action, Burst, Clocks, Handshake, Input, Names, NextTrace, Output, Setup, Target, Writer,
};
use crossbeam_channel::bounded;
use jtrail_formats::{Checker, Item, Reader};
use jtrail_model::{Cost, Timestamp, Totals};
use jtrail_options::{BurstLimit, Options};
use jtrail_recorder::memory::Mapping;
use jtrail_recorder::message::Message;
use jtrail_records::ownership;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Returns the lines of the translator's output without definitions.
fn lines(translator: &mut Translator) -> Vec<String> {
    let text = String::from_utf8(std::mem::take(&mut translator.out)).expect("text");
    let lines = text.lines().filter(|line| !line.starts_with("def "));
    lines.map(str::to_owned).collect()
}

#[test]
fn calls_around_a_pause() {
    let mut translator = translator();
    translator.enter(1, 1, RUN); // continues through the pause
    translator.enter(1, 2, BASE); // ends in the pause
    translator.pause(Timestamp(3));
    translator.leave(1, 4, BASE);
    translator.enter(1, 5, BASE); // begins and ends in the pause
    translator.leave(1, 6, BASE);
    translator.enter(1, 7, RUN); // begins in the pause
    translator.resume(Timestamp(8));
    translator.enter(1, 9, BASE);
    translator.leave(1, 10, BASE);
    translator.leave(1, 11, RUN);
    translator.leave(1, 12, RUN);
    let ids: Vec<String> = lines(&mut translator);
    let shape: Vec<&str> = ids
        .iter()
        .map(|line| line.split(' ').next().expect("a word"))
        .collect();
    assert_eq!(
        shape,
        ["thread", ">", ">", "pause", "<", "resume", ">", "<", "<"]
    );
    let words = |at: usize| ids[at].split(' ').collect::<Vec<_>>();
    assert_eq!(words(2)[1], words(4)[1], "the call that ended in the pause");
    assert_eq!(words(6)[2], "2", "the depth is without hidden calls");
    assert_eq!(words(1)[1], words(8)[1]);
}

/// If a format keeps open calls, its encoder also receives the calls that began in the pause.
/// Neither these calls nor their leaves are counted.
#[test]
fn calls_under_way_are_shown() {
    let mut translator = translator_of(Settings {
        shows_open_calls: true,
        ..Settings::default()
    });
    translator.enter(1, 1, RUN); // continues through all pauses
    translator.pause(Timestamp(2));
    translator.enter(1, 3, BASE); // begins in this pause, ends in the next
    translator.enter(1, 4, RUN); // begins in this pause, ends after it
    translator.enter(1, 5, BASE); // begins and ends in this pause
    translator.leave(1, 6, BASE);
    translator.resume(Timestamp(7));
    translator.leave(1, 8, RUN);
    translator.enter(1, 9, RUN);
    translator.leave(1, 10, RUN);
    translator.pause(Timestamp(11));
    translator.leave(1, 12, BASE);
    translator.resume(Timestamp(13));
    translator.totals(Timestamp(14), None);
    let lines = lines(&mut translator);
    let reported: Vec<String> = lines
        .iter()
        .filter(|line| line.starts_with(['>', '<', '~']))
        .map(|line| line.split(' ').next().expect("a word").to_owned())
        .collect();
    assert_eq!(reported, [">", "~", "~", "<", ">", "<", "<"]);
    let shown: Vec<_> = lines.iter().filter(|line| line.starts_with('~')).collect();
    assert!(shown[0].ends_with(" 2") && shown[1].ends_with(" 3"));
    let Some(Note::Totals(totals)) = lines.last().and_then(|line| Note::parse(line)) else {
        panic!("{lines:?}");
    };
    let counts = (totals.enters, totals.leaves, totals.open, totals.repaired);
    assert_eq!(counts, (2, 1, 1, 0));
}

#[test]
fn a_trace_that_ends_in_a_pause_has_what_ended_before() {
    let mut translator = translator();
    translator.enter(1, 1, RUN);
    translator.enter(1, 2, BASE);
    translator.pause(Timestamp(3));
    translator.leave(1, 4, BASE);
    translator.totals(Timestamp(5), None);
    let lines = lines(&mut translator);
    let leaves = lines.iter().filter(|line| line.starts_with("< ")).count();
    assert_eq!(leaves, 1);
    let Some(Note::Totals(totals)) = lines.last().and_then(|line| Note::parse(line)) else {
        panic!("{lines:?}");
    };
    assert_eq!((totals.enters, totals.leaves, totals.open), (2, 1, 1));
}

#[test]
fn ends_of_what_began_before_a_pause_are_reported() {
    let mut translator = translator();
    translator.coded(1, 1, Code::MonitorContendedEnter, &[0, 0]);
    translator.pause(Timestamp(2));
    translator.coded(1, 3, Code::MonitorContendedEntered, &[0, 0]);
    translator.coded(1, 4, Code::MonitorWait, &[0, 0]);
    translator.resume(Timestamp(5));
    translator.coded(1, 6, Code::MonitorWaited, &[0, 0]);
    translator.totals(Timestamp(7), None);
    let lines = lines(&mut translator);
    let Some(Note::Totals(totals)) = lines.last().and_then(|line| Note::parse(line)) else {
        panic!("{lines:?}");
    };
    assert_eq!(totals.monitors, 2, "the first enter and its end");
}

/// A writer, with a buffer for this thread.
struct TestWriter {
    folder: tempfile::TempDir,
    writer: Writer,
    buffer: *mut ThreadBuffer,
    fake: Arc<Fake>,
    _memory: Mapping,
}

fn options() -> Arc<Options> {
    parsed("format=binary")
}

fn parsed(text: &str) -> Arc<Options> {
    let none = |path: &str| Err(std::io::Error::other(path.to_owned()));
    Arc::new(jtrail_options::parse(text, &none).expect("options"))
}

fn target(path: PathBuf) -> (Output, String) {
    let name = path.display().to_string();
    let file = ownership::open(&path).expect("it opens");
    (Output::file(file, path), name)
}

impl TestWriter {
    fn new() -> Self {
        Self::with(WhenFull::Block)
    }

    fn with(when_full: WhenFull) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let output = target(folder.path().join("0"));
        Self::writing(options(), output, folder, when_full)
    }

    fn writing(
        options: Arc<Options>,
        (output, target): (Output, String),
        folder: tempfile::TempDir,
        when_full: WhenFull,
    ) -> Self {
        let fake = Arc::<Fake>::default();
        let (empty, supply, memory) = create_pool(4 * CHUNK_BYTES as u64).expect("memory");
        let (full_sender, full) = unbounded();
        let (wake, woken) = bounded(1);
        let (define, definitions) = unbounded();
        let writer = Writer::start(Setup {
            options,
            target: Target::open(output, target),
            names: Arc::<Names>::default(),
            clocks: Clocks {
                now: System::now,
                loaded: Reading::take(System::now),
                cost: Cost::default(),
                ticks: None,
            },
            input: Input {
                definitions,
                full,
                woken,
                empty,
            },
            commits: None,
            bursts: None,
            program: fake.clone(),
            observer: fake.clone(),
        });
        let writer = writer.expect("a thread");
        let exchange = exchange(supply, full_sender, wake, when_full);
        let (handle, buffer) = BufferHandle::share(ThreadBuffer::new(1, 1, exchange));
        let method = |number, name: &str| MethodInfo {
            number,
            name: name.into(),
            descriptor: "()V".into(),
            ..MethodInfo::default()
        };
        for definition in [
            Definition::Thread(Box::new(ThreadInfo {
                number: 1,
                name: "main".into(),
                ..ThreadInfo::default()
            })),
            Definition::Class(ClassInfo {
                number: 0,
                name: "a.B".into(),
                ..ClassInfo::default()
            }),
            Definition::Methods {
                class: 0,
                methods: vec![method(BASE, "base"), method(RUN, "run")],
            },
        ] {
            let reported = Message::Define(definition);
            define.send(reported).expect("the writer is there");
        }
        let buffer_is_there = define.send(Message::Buffer(handle));
        buffer_is_there.expect("the writer is there");
        writer.open().expect("there is nothing to open");
        writer.live(System::now());
        Self {
            folder,
            writer,
            buffer,
            fake,
            _memory: memory,
        }
    }

    fn record(&self, low: u64) {
        let now = System::now();
        // SAFETY: this thread made the buffer, and uses it until `end`.
        unsafe {
            let buffer = &*self.buffer;
            assert!(buffer.try_record(now, low) || buffer.record(now, low));
        }
    }

    fn act(&self, action: Action) {
        assert_eq!(self.writer.act(System::now(), action), Acted::Done);
    }

    fn assert_over(&self, action: Action) {
        assert_eq!(self.writer.act(System::now(), action), Acted::TraceOver);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn next(&self, name: &str) -> NextTrace {
        let (output, target) = target(self.path(name));
        NextTrace {
            options: options(),
            output,
            target,
        }
    }

    /// Begins a trace, with or without a burst. `meanwhile` runs when the trace has begun and
    /// contains no events.
    fn begin(&self, name: &str, burst: Option<Burst>, meanwhile: impl FnOnce()) {
        let (handshake, meeting) = Handshake::new();
        let begin = Action::Begin(self.next(name), burst, handshake);
        let done = self.writer.begin(System::now(), begin);
        meeting.meet(|_| meanwhile()).expect("it begins");
        assert_eq!(done.recv(), Ok(Acted::Done));
    }

    fn rotate(&self, name: &str) {
        let (handshake, meeting) = Handshake::new();
        let rotate = Action::Rotate(self.next(name), handshake);
        let done = self.writer.begin(System::now(), rotate);
        meeting.meet(|_| ()).expect("the first one is closed");
        assert_eq!(done.recv(), Ok(Acted::Done));
    }

    fn end(self) -> tempfile::TempDir {
        // SAFETY: this thread made the buffer, and does not use it afterwards.
        unsafe { ThreadBuffer::finish(self.buffer) };
        self.writer.stop();
        self.folder
    }
}

/// Returns the totals at the end of a trace.
fn totals(file: &Path) -> Totals {
    let mut reader = Reader::new(File::open(file).expect("there")).expect("a trace");
    let found = reader.for_each(|item| match item {
        Item::Event {
            event: Event::Custom(e),
            ..
        } => match Note::parse(&e.body) {
            Some(Note::Totals(totals)) => ControlFlow::Break(totals),
            _ => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    });
    found.expect("sound").expect("it ended well")
}

/// Returns the calls of a trace, as `>run` and `<run`, and some other events. Checks that the trace
/// is valid.
fn calls(file: &Path) -> Vec<String> {
    let mut reader = Reader::new(File::open(file).expect("there")).expect("a trace");
    let (mut checker, mut names, mut calls) = (Checker::default(), HashMap::new(), Vec::new());
    reader
        .for_each(|item| {
            let Item::Event { offset, event } = item else {
                panic!("{item:?}");
            };
            checker.event(offset, &event);
            match event {
                Event::MethodDef(e) => _ = names.insert(e.method, e.name.into_owned()),
                Event::MethodEnter(e) => calls.push(format!(">{}", names[&e.method])),
                Event::MethodLeave(e) => calls.push(format!("<{}", names[&e.method])),
                Event::TracePause(_) => calls.push("pause".into()),
                Event::TraceResume(_) => calls.push("resume".into()),
                Event::TraceEnd(_) => calls.push("end".into()),
                Event::Custom(e) if Note::parse(&e.body).is_none() => calls.push(e.body.into()),
                _ => {}
            }
            ControlFlow::<()>::Continue(())
        })
        .expect("sound");
    let findings = checker.finish().findings;
    assert!(findings.is_empty(), "{findings:?}");
    calls
}

#[test]
fn traces_follow_each_other() {
    let writer_run = TestWriter::new();
    writer_run.record(record::enter(RUN));
    writer_run.record(record::enter(BASE));
    writer_run.act(Action::Mark("here".into()));
    writer_run.rotate("1"); // both calls continue in the next trace
    writer_run.record(record::leave(BASE));
    writer_run.act(Action::Pause);
    writer_run.record(record::enter(BASE));
    writer_run.record(record::leave(BASE));
    writer_run.act(Action::Resume);
    writer_run.record(record::enter(BASE));
    writer_run.act(Action::End);
    writer_run.record(record::leave(BASE));
    writer_run.record(record::enter(BASE)); // in no trace
    writer_run.begin("2", None, || ());
    writer_run.record(record::leave(BASE)); // began before the trace
    writer_run.record(record::enter(BASE));
    writer_run.record(record::leave(BASE));
    writer_run.record(record::leave(RUN)); // began before the trace
    let folder = writer_run.end();
    let file = |name: &str| calls(&folder.path().join(name));
    assert_eq!(file("0"), [">run", ">base", "here", "end"]);
    assert_eq!(
        file("1"),
        [">run", ">base", "<base", "pause", "resume", ">base", "end"]
    );
    assert_eq!(file("2"), [">base", "<base", "end"]);
}

#[test]
fn a_burst_that_the_end_cuts_short_does_not_end_later() {
    let writer_run = TestWriter::new();
    writer_run.act(Action::Burst(Burst {
        over: Box::new(|_| panic!("it is not over")),
        ..Burst::within(BurstLimit::Time(Duration::from_secs(3600)))
    }));
    writer_run.record(record::enter(RUN));
    writer_run.record(record::leave(RUN));
    let folder = writer_run.end();
    assert_eq!(calls(&folder.path().join("0")), [">run", "<run", "end"]);
}

#[test]
fn what_has_ended_can_be_ended_again() {
    let writer_run = TestWriter::new();
    writer_run.act(Action::End);
    writer_run.assert_over(Action::End);
    writer_run.assert_over(Action::Pause);
    writer_run.assert_over(Action::Resume);
    writer_run.assert_over(Action::Mark("nowhere".into()));
    writer_run.assert_over(Action::Burst(Burst::within(BurstLimit::Events(1))));
    let (handshake, meeting) = Handshake::new();
    writer_run.assert_over(Action::Rotate(writer_run.next("1"), handshake));
    assert!(meeting.meet(|_| ()).is_none(), "nothing has ended");
    writer_run.record(record::enter(RUN));
    writer_run.record(record::leave(RUN));
    writer_run.begin("2", None, || ());
    writer_run.record(record::enter(RUN));
    writer_run.record(record::leave(RUN));
    let folder = writer_run.end();
    assert_eq!(calls(&folder.path().join("0")), ["end"]);
    let unused = std::fs::metadata(folder.path().join("1")).expect("opened before");
    assert_eq!(unused.len(), 0);
    assert_eq!(calls(&folder.path().join("2")), [">run", "<run", "end"]);
}

/// Events that occur while a trace begins are in the trace only up to its limit.
#[test]
fn a_trace_of_one_burst_has_so_many_events() {
    let writer_run = TestWriter::new();
    writer_run.act(Action::End);
    let (over, is_over) = bounded(1);
    let of_three = Burst {
        limit: BurstLimit::Events(3),
        ends_trace: true,
        over: Box::new(move |progress| over.send(progress.totals).expect("there is room")),
    };
    writer_run.begin("1", Some(of_three), || {
        for _ in 0..5 {
            writer_run.record(record::enter(BASE));
            writer_run.record(record::leave(BASE));
        }
    });
    let totals = is_over.recv().expect("it ends by itself");
    assert_eq!((totals.enters, totals.leaves, totals.open), (2, 1, 1));
    writer_run.assert_over(Action::Pause);
    let folder = writer_run.end();
    assert_eq!(
        calls(&folder.path().join("1")),
        [">base", "<base", ">base", "end"]
    );
}

/// A loss is reported in the trace in which it happened, even if its record is read in the next
/// one.
#[test]
fn each_trace_reports_its_own_losses() {
    const CALLS: u64 = 200_000;
    let writer_run = TestWriter::with(WhenFull::Drop);
    let traces = ["1", "2", "3"];
    for name in traces {
        // The writer waits meanwhile, and there is room for some of the records.
        writer_run.begin(name, None, || {
            for _ in 0..CALLS {
                writer_run.record(record::enter(BASE));
                writer_run.record(record::leave(BASE));
            }
        });
        writer_run.act(Action::End);
    }
    let folder = writer_run.end();
    for name in traces {
        let totals = totals(&folder.path().join(name));
        assert!(totals.lost > 0, "{totals:?}");
        let all = totals.enters + totals.leaves + totals.lost;
        assert_eq!(all, 2 * CALLS, "{name}: {totals:?}");
    }
}

#[test]
fn a_trace_after_a_paused_one_is_paused() {
    let writer_run = TestWriter::new();
    writer_run.record(record::enter(RUN));
    writer_run.act(Action::Pause);
    writer_run.record(record::enter(BASE));
    writer_run.rotate("1");
    writer_run.record(record::leave(BASE));
    writer_run.act(Action::Resume);
    writer_run.record(record::enter(BASE));
    writer_run.record(record::leave(BASE));
    // A burst that begins in a pause continues after a rotation, and so does the pause.
    writer_run.act(Action::Pause);
    writer_run.act(Action::Burst(Burst::within(BurstLimit::Events(2))));
    writer_run.record(record::enter(BASE));
    writer_run.act(Action::Mark("in it".into()));
    writer_run.rotate("2");
    writer_run.record(record::leave(BASE));
    writer_run.record(record::enter(BASE)); // after the burst
    writer_run.act(Action::Mark("behind it".into()));
    let folder = writer_run.end();
    let file = |name: &str| calls(&folder.path().join(name));
    assert_eq!(file("0"), [">run", "pause", "end"]);
    let second = [
        ">run", ">base", "pause", "<base", "resume", ">base", "<base", "pause", "resume", ">base",
        "in it", "end",
    ];
    assert_eq!(file("1"), second);
    assert_eq!(
        file("2"),
        [">run", ">base", "<base", "pause", "behind it", "end"]
    );
}

#[test]
fn the_observer_is_notified_of_each_change() {
    let writer_run = TestWriter::new();
    writer_run.act(Action::Pause);
    writer_run.act(Action::Resume);
    assert_eq!(
        writer_run.fake.reported(),
        ["switched false", "switched true"]
    );
    writer_run.end();
    // A full file, with object ids: the program must record objects again when the next file
    // mentions them.
    let folder = tempfile::tempdir().expect("a folder");
    let bounded = parsed("format=binary,events=methods+monitors,maxsize=1m");
    let output = target(folder.path().join("0.trace"));
    let writer_run = TestWriter::writing(bounded, output, folder, WhenFull::Block);
    while !writer_run.path("0-2.trace").exists() {
        writer_run.record(record::enter(RUN));
        writer_run.record(record::leave(RUN));
    }
    writer_run.record(record::enter(RUN));
    let fake = Arc::clone(&writer_run.fake);
    writer_run.end();
    assert_eq!(fake.reported()[0], "on in 0-2.trace");
    assert!(fake.asked.load(Ordering::Relaxed) > 0);
    // A full disk.
    let folder = tempfile::tempdir().expect("a folder");
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let output = (Output::file(full, "/dev/full".into()), "/dev/full".into());
    let writer_run = TestWriter::writing(options(), output, folder, WhenFull::Drop);
    let until = Instant::now() + Duration::from_secs(60);
    let mut reported = Vec::new();
    while reported.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
        reported = writer_run.fake.reported();
    }
    assert_eq!(reported, ["failed: the output takes no more"]);
    writer_run.end();
}
