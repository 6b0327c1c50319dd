//! The open traces, and the sums that were asked for lately.

use super::live::Writer;
use super::longest::Longest;
use super::query::Query;
use super::{Fault, TIME};
use crate::classes::Classes;
use crate::gaps::Gaps;
use crate::slice::LATER;
use crate::standalone::Part;
use crate::{Edge, Events, Method, Occurrences, Overview, Sums, ThreadSum, Totals, Trace, Wait};
use jtrail_analysis::Analysis;
use jtrail_model::{ClassId, ObjectId, ThreadId, Timestamp};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of sums, overviews and counts of each kind that are kept.
const KEPT: usize = 4;
/// Maximum number of call paths of all sums that are kept. A path takes some 60 bytes.
const MAX_KEPT_PATHS: usize = 400_000;

/// Time between two looks whether a trace that grows has something new.
const PAUSE: Duration = Duration::from_millis(100);

/// Time of a step in which a whole trace is summed up.
const STEP: Duration = Duration::from_millis(30);

/// Maximum size of trails that are checked for damage when they are opened, in bytes. Of longer
/// ones, answers about a damaged segment fail until the making of the index has found it.
const MAX_VERIFIED: u64 = 256 << 20;

/// Minimum size of trails that have an index, in bytes. Others are read in no time.
pub const MIN_INDEXED: u64 = 4 << 20;

const MILLION: u32 = 1_000_000;

/// What is known of a whole trace.
pub(super) struct Known {
    /// Gaps, the clock and the cost.
    pub(super) analysis: Analysis,
    pub(super) threads: BTreeMap<ThreadId, ThreadSum>,
    /// Below 1: more will be known.
    pub(super) share: f64,
}

/// The open traces. A trace that grows is changed while nobody reads it.
#[derive(Debug)]
pub struct Session(Vec<RwLock<Opened>>);

impl Session {
    /// Answers questions about these traces.
    pub fn new(traces: Vec<Opened>) -> Self {
        Self(traces.into_iter().map(RwLock::new).collect())
    }

    /// Adds a remark about the trace with a number.
    pub(crate) fn add_remark(&mut self, number: usize, remark: String) {
        if let Some(opened) = self.0.get_mut(number) {
            opened.get_mut().remarks.push(remark);
        }
    }

    /// Returns the traces. Who reads one must not ask for it again meanwhile.
    pub(crate) fn traces(&self) -> &[RwLock<Opened>] {
        &self.0
    }

    /// Makes what questions about whole traces need: for long ones the index, and for others sums,
    /// in small steps, so that questions can be answered meanwhile. Ends early if `stop` returns
    /// true.
    ///
    /// # Errors
    /// If a trace can't be read, or `InvalidData` if a segment is damaged.
    pub fn prepare(&self, stop: impl Fn() -> bool) -> io::Result<()> {
        for opened in &self.0 {
            prepare(opened, &stop)?;
        }
        Ok(())
    }

    /// Does what [`Self::prepare`] does, also for what is new of traces that grow, until `stop`
    /// returns true. Traces grow when the page asks for them. What can't be read is reported by the
    /// answers that need it.
    pub fn keep_prepared(&self, stop: impl Fn() -> bool + Sync) {
        let keep = |opened: &RwLock<Opened>| {
            loop {
                let result = prepare(opened, &stop);
                let may_grow = opened.read().may_grow();
                if stop() || result.is_err() || !may_grow {
                    return;
                }
                thread::sleep(PAUSE);
            }
        };
        thread::scope(|scope| {
            for opened in &self.0 {
                scope.spawn(move || keep(opened));
            }
        });
    }
}

/// Makes what questions about a whole trace need. If that finds a damaged segment in a trace that
/// was not checked, the trace is as one that was checked when it was opened from then on.
fn prepare(opened: &RwLock<Opened>, stop: &impl Fn() -> bool) -> io::Result<()> {
    match prepare_sound(opened, stop) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData && !opened.read().is_checked => {
            // Reading the file takes long, and questions are answered meanwhile.
            let gaps = opened.read().trace.find_gaps(0)?;
            opened.write().set_gaps(gaps);
            prepare_sound(opened, stop)
        }
        done => done,
    }
}

/// Does what [`prepare`] does, and fails if a segment is damaged. A trace that grows is only held
/// for a step.
fn prepare_sound(opened: &RwLock<Opened>, stop: &impl Fn() -> bool) -> io::Result<()> {
    while !stop() {
        let opened = opened.read();
        if opened.trace.index().is_some() {
            return Ok(());
        }
        if opened.sum_up()? {
            return opened.prepare_index(stop);
        }
    }
    Ok(())
}

impl Session {
    /// Reads more of what pictures need that were coarse, about 30 ms long. Returns false if there
    /// is nothing to read. Threads that are less urgent than answers should do so.
    pub fn read_ahead(&self) -> bool {
        self.0.iter().any(|opened| opened.read().trace.read_ahead())
    }
}

/// Something that is made in parts, by what it is about.
pub(super) type Kept<K, V> = Mutex<Vec<(K, Arc<Mutex<V>>)>>;

/// A trace with what was asked for lately.
#[derive(Debug)]
pub struct Opened {
    pub(super) title: String,
    pub(super) trace: Trace,
    /// What people should know about the trace, beside what is missing in the file.
    pub(super) remarks: Vec<String>,
    /// Threads by their numbers, and the numbers by thread.
    pub(super) threads: Vec<ThreadId>,
    numbers: HashMap<ThreadId, usize>,
    /// The only threads that count in pictures and tables; all if `None`.
    only: Option<BTreeSet<ThreadId>>,
    /// True if questions are about a part of the trace.
    is_part: bool,
    /// True if damaged segments of the trace are known.
    is_checked: bool,
    /// What tells if the trace still grows; `None` if it is shown as it is.
    pub(super) writer: Option<Writer>,
    /// Where the index of the trace is to be, beside the trace or elsewhere.
    index: PathBuf,
    /// Makes what a report of the trace shows, for a new index.
    analyse: fn(&Path) -> Option<Vec<u8>>,
    /// Which share of the index is ready, in millionths.
    indexed: AtomicU32,
    /// The sums of the whole trace, or of the part.
    pub(super) whole: Mutex<Arc<Mutex<Totals<Method>>>>,
    /// All other events of the whole trace, or of the part.
    pub(super) others: Mutex<Overview>,
    pub(super) sums: Kept<([Timestamp; 2], Vec<ThreadId>), Sums>,
    pub(super) totals: Kept<([Timestamp; 2], Vec<ThreadId>), Totals<Method>>,
    pub(super) edges: Kept<([Timestamp; 2], Vec<ThreadId>), Totals<Edge>>,
    pub(super) overviews: Kept<([Timestamp; 2], usize, Vec<ThreadId>), Overview>,
    pub(super) events: Kept<([Timestamp; 2], Vec<ThreadId>), Events>,
    /// Overviews that the index has made.
    counts: Kept<([Timestamp; 2], usize), Overview>,
    pub(super) occurrences: Kept<(u32, [Timestamp; 2], usize), Occurrences>,
    pub(super) waits: Kept<([Timestamp; 2], Vec<ThreadId>), Longest>,
    pub(super) classes: Mutex<Classes>,
}

impl Opened {
    /// Opens a trace for questions. The page calls it `title`. The index is read from `index`; if
    /// it is missing, [`Session::prepare`] makes it, with what `analyse` makes of the trace. A
    /// trace without an index is checked first, and has none if it is damaged. A long one is
    /// checked when [`Session::prepare`] finds a damaged segment.
    ///
    /// # Errors
    /// If the trace can't be read, or the index is there and can't be read.
    pub fn new(
        title: String,
        trace: Trace,
        index: PathBuf,
        analyse: fn(&Path) -> Option<Vec<u8>>,
    ) -> io::Result<Self> {
        Self::checked_below(MAX_VERIFIED, title, trace, index, analyse)
    }

    /// Does what [`Self::new`] does. Traces of more than so many bytes are long ones.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn checked_below(
        max_bytes: u64,
        title: String,
        mut trace: Trace,
        index: PathBuf,
        analyse: fn(&Path) -> Option<Vec<u8>>,
    ) -> io::Result<Self> {
        let has_index = trace.use_index(&index)?;
        let is_long = trace.bytes() > max_bytes;
        if !has_index && !is_long && trace.is_complete() {
            trace.verify()?;
        }
        let opened = Self {
            // One that lacks its end was checked when it was opened.
            is_checked: !is_long || !trace.is_complete(),
            index,
            analyse,
            ..Self::without_index(title, trace)
        };
        opened.trace.set_waiting(opened.is_indexed());
        Ok(opened)
    }

    /// Adds a remark about the trace that people should know.
    #[must_use]
    pub fn with_remark(mut self, remark: String) -> Self {
        self.remarks.push(remark);
        self
    }

    fn without_index(title: String, trace: Trace) -> Self {
        let threads: Vec<ThreadId> = trace.threads().collect();
        Self {
            index: PathBuf::new(),
            analyse: |_| None,
            indexed: AtomicU32::new(0),
            whole: Mutex::new(whole(&trace)),
            others: Mutex::new(others(&trace)),
            numbers: threads.iter().copied().zip(0..).collect(),
            threads,
            title,
            trace,
            remarks: Vec::new(),
            only: None,
            is_part: false,
            is_checked: false,
            writer: None,
            sums: Kept::default(),
            totals: Kept::default(),
            edges: Kept::default(),
            overviews: Kept::default(),
            counts: Kept::default(),
            events: Kept::default(),
            occurrences: Kept::default(),
            waits: Kept::default(),
            classes: Mutex::default(),
        }
    }

    /// Returns true if the trace has an index or will have one.
    fn is_indexed(&self) -> bool {
        !self.is_part && self.trace.is_complete() && self.trace.bytes() >= MIN_INDEXED
    }

    /// Takes over which segments are damaged, and forgets what was computed of them.
    fn set_gaps(&mut self, gaps: Gaps) {
        self.trace.set_gaps(gaps);
        self.is_checked = true;
        self.trace.set_waiting(self.is_indexed());
        self.indexed.store(0, Ordering::Relaxed);
        self.forget();
    }

    /// Makes the index, if the trace is to have one.
    fn prepare_index(&self, stop: &impl Fn() -> bool) -> io::Result<()> {
        if !self.is_indexed() {
            return Ok(());
        }
        let made = self.make_index(stop);
        // If it fails, long spans are read in the trail.
        self.trace.set_waiting(false);
        made
    }

    /// Sums up a part of the whole trace, unless the index will have the sums. Returns true if they
    /// are complete.
    fn sum_up(&self) -> io::Result<bool> {
        // Most of what has grown has been summed up.
        if self.is_indexed() && self.writer.is_none() {
            return Ok(true);
        }
        let whole = self.whole();
        if whole.lock().share() < 1.0 {
            whole.lock().advance(&self.trace, STEP)?;
            return Ok(false);
        }
        let mut others = self.others.lock();
        if others.share() < 1.0 {
            others.advance(&self.trace, STEP)?;
        }
        Ok(others.share() >= 1.0)
    }

    fn make_index(&self, stop: &impl Fn() -> bool) -> io::Result<()> {
        let all = self.trace.bytes();
        let progress = |bytes: u64| {
            let share = bytes * u64::from(MILLION) / all.max(1);
            self.indexed.store(share as u32, Ordering::Relaxed);
            !stop()
        };
        let written = self.trace.build_index(&self.index, progress);
        if !written? || !self.trace.use_index(&self.index)? {
            return Ok(());
        }
        *self.whole.lock() = whole(&self.trace);
        if let Some(analysis) = (self.analyse)(self.trace.path()) {
            crate::save_analysis(self.trace.path(), &self.index, &analysis)?;
        }
        Ok(())
    }

    /// Returns the sums of the whole trace, as far as they have been made.
    pub(super) fn whole(&self) -> Arc<Mutex<Totals<Method>>> {
        Arc::clone(&self.whole.lock())
    }

    /// Returns what is known of the whole trace.
    pub(super) fn known(&self) -> Known {
        if let Some(index) = self.trace.index() {
            return Known {
                analysis: index.facts().analysis(),
                threads: index.facts().threads(),
                share: 1.0,
            };
        }
        let (whole, others) = (self.whole(), self.others.lock());
        let whole = whole.lock();
        let mut share = f64::midpoint(whole.share(), others.share());
        // Of a trace that has grown, all is known while its index is made.
        if self.trace.waits_for_index() && !self.is_live() {
            let of_index = f64::from(self.indexed.load(Ordering::Relaxed)) / f64::from(MILLION);
            if share < 1.0 {
                let until = Instant::now() + TIME;
                return Known {
                    analysis: Analysis::default(),
                    // What can't be read is reported by the answers that need it.
                    threads: self.trace.about_threads(until).unwrap_or_default(),
                    share: of_index,
                };
            }
            share = of_index;
        }
        let of_others = others.analysis();
        let mut analysis = Analysis::default();
        analysis.lost.clone_from(&of_others.lost);
        (analysis.clock, analysis.cost) = (of_others.clock, of_others.cost);
        Known {
            analysis,
            threads: whole.threads().clone(),
            share,
        }
    }

    /// Opens a part of a trace: a span, and the slices of threads in it. `only` are the threads
    /// that count in pictures and tables, all if it is `None`. `others` are threads that get a
    /// number because the slices refer to them.
    pub(crate) fn part(
        title: String,
        trace: Trace,
        part: &Part,
        only: Option<BTreeSet<ThreadId>>,
        others: &BTreeSet<ThreadId>,
    ) -> Self {
        let own: BTreeSet<ThreadId> = part.threads.iter().map(|(id, _)| *id).collect();
        let threads: Vec<ThreadId> = own.union(others).copied().collect();
        let rest = Overview::of_part(&trace, part.span, 1, only.clone());
        Self {
            whole: Mutex::new(Arc::new(Mutex::new(Totals::new(&trace, part.span, own)))),
            others: Mutex::new(rest),
            numbers: threads.iter().copied().zip(0..).collect(),
            threads,
            only,
            is_part: true,
            ..Self::without_index(title, trace)
        }
    }

    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the number of a thread.
    pub(crate) fn number(&self, thread: ThreadId) -> Option<usize> {
        self.numbers.get(&thread).copied()
    }

    /// Gives a thread a number, if it has none.
    pub(super) fn add_thread(&mut self, thread: ThreadId) {
        let next = self.threads.len();
        if *self.numbers.entry(thread).or_insert(next) == next {
            self.threads.push(thread);
        }
    }

    /// Returns a thread by its number.
    pub(super) fn thread(&self, number: usize) -> Result<ThreadId, Fault> {
        let thread = self.threads.get(number).copied();
        thread.ok_or_else(|| Fault::Request(format!("there is no thread {number}")))
    }

    /// Returns a time since the trace's first one, in ns.
    pub(crate) fn since(&self, time: Timestamp) -> i64 {
        time.0.saturating_sub(self.trace.span()[0].0)
    }

    /// Returns the time that is so many ns after the trace's first one.
    pub(super) fn time(&self, since: i64) -> Timestamp {
        Timestamp(self.trace.span()[0].0.saturating_add(since))
    }

    /// Returns the span of a query: by default all.
    pub(super) fn span(&self, query: &Query) -> Result<[Timestamp; 2], Fault> {
        let [first, last] = self.trace.span();
        let from = query.optional("from")?.map_or(first, |ns| self.time(ns));
        let until = query.optional("until")?.map_or(last, |ns| self.time(ns));
        Ok([from, until.max(from)])
    }

    /// Returns the number of equal intervals that a query asks for.
    pub(super) fn intervals(query: &Query) -> Result<usize, Fault> {
        let count: usize = query.number("bins")?;
        match count {
            1..=8192 => Ok(count),
            _ => Err(Fault::Request(format!(
                "bins: {count} is not from 1 to 8192"
            ))),
        }
    }

    /// Returns the threads of a query; none if it selects none, which means all.
    pub(super) fn selected(&self, query: &Query) -> Result<Vec<ThreadId>, Fault> {
        let numbers = query.numbers("threads", self.threads.len() as u32)?;
        let threads = numbers
            .into_iter()
            .map(|number| self.threads[number as usize]);
        Ok(threads.collect())
    }

    /// Returns the sums by call path of some threads in a span; of all if there are none.
    pub(super) fn sums(&self, span: [Timestamp; 2], threads: &[ThreadId]) -> Arc<Mutex<Sums>> {
        let span = self.open_ended(span);
        let new = || Sums::new(&self.trace, span, self.or_all(threads));
        drop_oldest(&mut self.sums.lock());
        kept(&self.sums, (span, threads.to_vec()), new)
    }

    /// Returns the sums by method of some threads in a span; of all if there are none.
    pub(super) fn totals(
        &self,
        span: [Timestamp; 2],
        threads: &[ThreadId],
    ) -> Arc<Mutex<Totals<Method>>> {
        let [first, last] = self.trace.span();
        if threads.is_empty() && span[0] <= first && span[1] >= last {
            return self.whole();
        }
        let span = self.open_ended(span);
        let new = || Totals::new(&self.trace, span, self.or_all(threads));
        kept(&self.totals, (span, threads.to_vec()), new)
    }

    /// Returns the sums by edge of the call graph of some threads in a span; of all if there are
    /// none.
    pub(super) fn edges(
        &self,
        span: [Timestamp; 2],
        threads: &[ThreadId],
    ) -> Arc<Mutex<Totals<Edge>>> {
        let span = self.open_ended(span);
        let new = || Totals::new(&self.trace, span, self.or_all(threads));
        kept(&self.edges, (span, threads.to_vec()), new)
    }

    fn or_all(&self, threads: &[ThreadId]) -> BTreeSet<ThreadId> {
        match threads.is_empty() {
            true => self.threads.iter().copied().collect(),
            false => threads.iter().copied().collect(),
        }
    }

    /// Returns what some threads do in a span, and what belongs to no thread; all that happens if
    /// there are no threads.
    pub(super) fn overview(
        &self,
        span: [Timestamp; 2],
        count: usize,
        threads: &[ThreadId],
    ) -> Arc<Mutex<Overview>> {
        // The bins of several intervals have a fixed length.
        let span = if count == 1 {
            self.open_ended(span)
        } else {
            span
        };
        let new = || {
            let threads: BTreeSet<ThreadId> = threads.iter().copied().collect();
            match (self.is_part, threads.is_empty()) {
                (true, true) => Overview::of_part(&self.trace, span, count, self.only.clone()),
                (true, false) => Overview::of_part(&self.trace, span, count, Some(threads)),
                (false, true) => Overview::new(&self.trace, span, count),
                (false, false) => Overview::of_threads(&self.trace, span, count, threads),
            }
        };
        kept(&self.overviews, (span, count, threads.to_vec()), new)
    }

    /// Returns the allocations and exceptions of some threads in a span, and of no thread; all if
    /// there are no threads.
    pub(super) fn events(&self, span: [Timestamp; 2], threads: &[ThreadId]) -> Arc<Mutex<Events>> {
        let span = self.open_ended(span);
        let new = || {
            let threads = match threads.is_empty() {
                true => self.only.clone(),
                false => Some(threads.iter().copied().collect()),
            };
            Events::new(&self.trace, span, threads)
        };
        kept(&self.events, (span, threads.to_vec()), new)
    }

    /// Returns the numbers of what happens in a span, which the index may have.
    pub(super) fn counts(
        &self,
        span: [Timestamp; 2],
        count: usize,
    ) -> io::Result<Arc<Mutex<Overview>>> {
        let is_kept = |((of, n), _): &(_, _)| (*of, *n) == (span, count);
        if let Some((_, counts)) = self.counts.lock().iter().find(|entry| is_kept(entry)) {
            return Ok(Arc::clone(counts));
        }
        // What was counted while the trace has grown is not estimated again.
        let is_it =
            |(of, n, threads): &(_, _, Vec<_>)| (*of, *n) == (span, count) && threads.is_empty();
        let is_counted =
            |kept: &(_, Arc<Mutex<Overview>>)| is_it(&kept.0) && kept.1.lock().share() >= 1.0;
        let is_read = self.is_live() || self.overviews.lock().iter().any(is_counted);
        if !is_read && self.trace.is_estimated(self.trace.segments_in(span).len()) {
            let until = Instant::now() + TIME;
            let counts = self.trace.about_calls(span, count, until)?;
            return Ok(Arc::new(Mutex::new(counts)));
        }
        match Overview::of_index(&self.trace, span, count)? {
            Some(overview) => Ok(kept(&self.counts, (span, count), || overview)),
            None => Ok(self.overview(span, count, &[])),
        }
    }

    /// Returns the place of the longest waits of some threads in a span; of all if there are none.
    pub(super) fn waits(&self, span: [Timestamp; 2], threads: &[ThreadId]) -> Arc<Mutex<Longest>> {
        let span = self.open_ended(span);
        let new = || Longest::new(span, self.or_all(threads));
        kept(&self.waits, (span, threads.to_vec()), new)
    }

    /// Searches for the classes of the objects that some waits are for, for a limited time. Returns
    /// which share of the search is done.
    ///
    /// # Errors
    /// If the trace can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn find_classes<'w>(
        &self,
        waits: impl Iterator<Item = &'w Wait>,
        time: Duration,
    ) -> io::Result<f64> {
        let mut classes = self.classes.lock();
        classes.find(&self.trace, waits, time)?;
        Ok(classes.share())
    }

    /// Returns the class of an object, if [`Self::find_classes`] has found it.
    pub(super) fn class_of(&self, object: ObjectId) -> Option<ClassId> {
        self.classes.lock().class(object)
    }

    pub(super) fn occurrences(
        &self,
        method: u32,
        span: [Timestamp; 2],
        count: usize,
    ) -> Arc<Mutex<Occurrences>> {
        let new = || Occurrences::new(method, span, count);
        kept(&self.occurrences, (method, span, count), new)
    }
}

/// Begins the sums of a whole trace.
pub(super) fn whole(trace: &Trace) -> Arc<Mutex<Totals<Method>>> {
    let threads = trace.threads().collect();
    let span = [trace.span()[0], LATER];
    Arc::new(Mutex::new(Totals::new(trace, span, threads)))
}

/// Begins to count all other events of a whole trace.
pub(super) fn others(trace: &Trace) -> Overview {
    Overview::new(trace, [trace.span()[0], LATER], 1)
}

/// Drops sums that were asked for longest ago, except for the last one, if all have too many call
/// paths together.
fn drop_oldest<K>(all: &mut Vec<(K, Arc<Mutex<Sums>>)>) {
    // Those that are being made count later.
    let paths = |sums: &Mutex<Sums>| sums.try_lock().map_or(0, |sums| sums.path_count());
    let mut count: usize = all.iter().map(|(_, sums)| paths(sums)).sum();
    while count > MAX_KEPT_PATHS && all.len() > 1 {
        let (_, sums) = all.remove(0);
        count = count.saturating_sub(paths(&sums));
    }
}

/// Returns what is kept under a key; what is new replaces the one that was asked for longest ago.
fn kept<K: PartialEq, V>(all: &Kept<K, V>, key: K, new: impl FnOnce() -> V) -> Arc<Mutex<V>> {
    let mut all = all.lock();
    if let Some(place) = all.iter().position(|(other, _)| *other == key) {
        let entry = all.remove(place);
        let value = Arc::clone(&entry.1);
        all.push(entry);
        return value;
    }
    if all.len() >= KEPT {
        all.remove(0);
    }
    let value = Arc::new(Mutex::new(new()));
    all.push((key, Arc::clone(&value)));
    value
}
