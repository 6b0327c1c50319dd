//! The open traces, and the sums that were asked for lately.

use super::Fault;
use super::query::Query;
use crate::{Occurrences, Overview, Sums, Trace};
use jtrail_model::{ThreadId, Timestamp};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of sums, overviews and counts of each kind that are kept.
const KEPT: usize = 4;

/// Time of a step in which a whole trace is summed up.
const STEP: Duration = Duration::from_millis(30);

/// The open traces.
#[derive(Debug)]
pub struct Session(Vec<Opened>);

impl Session {
    /// Answers questions about these traces.
    pub fn new(traces: Vec<Opened>) -> Self {
        Self(traces)
    }

    pub(super) fn traces(&self) -> &[Opened] {
        &self.0
    }

    /// Sums up the traces as wholes, in small steps, so that questions can be answered meanwhile.
    /// Ends early if `stop` returns true.
    ///
    /// # Errors
    /// If a trace can't be read, or `InvalidData` if a segment is damaged.
    pub fn prepare(&self, stop: impl Fn() -> bool) -> std::io::Result<()> {
        for opened in &self.0 {
            let is_whole = || opened.whole.lock().share() >= 1.0;
            while !is_whole() && !stop() {
                opened.whole.lock().advance(&opened.trace, STEP)?;
            }
            let is_whole = || opened.others.lock().share() >= 1.0;
            while !is_whole() && !stop() {
                opened.others.lock().advance(&opened.trace, STEP)?;
            }
        }
        Ok(())
    }
}

/// Something that is made in parts, by what it is about.
type Kept<K, V> = Mutex<Vec<(K, Arc<Mutex<V>>)>>;

/// A trace with what was asked for lately.
#[derive(Debug)]
pub struct Opened {
    pub(super) title: String,
    pub(super) trace: Trace,
    /// Threads by their numbers, and the numbers by thread.
    pub(super) threads: Vec<ThreadId>,
    numbers: HashMap<ThreadId, usize>,
    /// The sums of the whole trace.
    pub(super) whole: Arc<Mutex<Sums>>,
    /// All other events of the whole trace.
    pub(super) others: Mutex<Overview>,
    sums: Kept<([Timestamp; 2], Vec<ThreadId>), Sums>,
    overviews: Kept<([Timestamp; 2], usize), Overview>,
    occurrences: Kept<(u32, [Timestamp; 2], usize), Occurrences>,
}

impl Opened {
    /// Opens a trace for questions. The page calls it `title`.
    pub fn new(title: String, trace: Trace) -> Self {
        let threads: Vec<ThreadId> = trace.threads().collect();
        let whole = Sums::new(&trace, trace.span(), threads.iter().copied().collect());
        Self {
            whole: Arc::new(Mutex::new(whole)),
            others: Mutex::new(Overview::new(&trace, trace.span(), 1)),
            numbers: threads.iter().copied().zip(0..).collect(),
            threads,
            title,
            trace,
            sums: Kept::default(),
            overviews: Kept::default(),
            occurrences: Kept::default(),
        }
    }

    /// Returns the number of a thread.
    pub(super) fn number(&self, thread: ThreadId) -> Option<usize> {
        self.numbers.get(&thread).copied()
    }

    /// Returns a thread by its number.
    pub(super) fn thread(&self, number: usize) -> Result<ThreadId, Fault> {
        let thread = self.threads.get(number).copied();
        thread.ok_or_else(|| Fault::Request(format!("there is no thread {number}")))
    }

    /// Returns a time since the trace's first one, in ns.
    pub(super) fn since(&self, time: Timestamp) -> i64 {
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

    /// Returns the sums of some threads in a span; of all if there are none.
    pub(super) fn sums(&self, span: [Timestamp; 2], threads: &[ThreadId]) -> Arc<Mutex<Sums>> {
        let [first, last] = self.trace.span();
        if threads.is_empty() && span[0] <= first && span[1] >= last {
            return Arc::clone(&self.whole);
        }
        let key = (span, threads.to_vec());
        let new = || {
            let all: BTreeSet<ThreadId> = match threads.is_empty() {
                true => self.threads.iter().copied().collect(),
                false => threads.iter().copied().collect(),
            };
            Sums::new(&self.trace, span, all)
        };
        kept(&self.sums, key, new)
    }

    pub(super) fn overview(&self, span: [Timestamp; 2], count: usize) -> Arc<Mutex<Overview>> {
        let new = || Overview::new(&self.trace, span, count);
        kept(&self.overviews, (span, count), new)
    }

    pub(super) fn occurrences(
        &self,
        method: u32,
        span: [Timestamp; 2],
        count: usize,
    ) -> Arc<Mutex<Occurrences>> {
        let new = || Occurrences::new(&self.trace, method, span, count);
        kept(&self.occurrences, (method, span, count), new)
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
