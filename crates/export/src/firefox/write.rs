//! The profile as a whole.

use super::json::Json;
use super::thread::Thread;
use super::{Builder, categories, counters, markers};
use jtrail_model::names::Names;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Version of the format.
const VERSION: u32 = 66;

/// Version of the format that Firefox itself writes. It says nothing about this profile.
const GECKO_VERSION: u32 = 36;

/// Number of threads that the viewer shows at first.
const VISIBLE: usize = 20;

/// A stretch of at least this part of the profile has two samples.
const LONG_PART: i64 = 4000;

/// Times in ns since 1970-01-01 UTC.
struct Span {
    /// The time that others are written since: whole milliseconds.
    base: i64,
    first: i64,
    latest: i64,
}

impl Span {
    /// Returns a time in ms since the base.
    fn ms(&self, time: i64) -> f64 {
        time.saturating_sub(self.base) as f64 / 1e6
    }
}

impl Builder {
    /// Returns the profile as a gzip file.
    pub(super) fn write(&mut self, names: &Names) -> Vec<u8> {
        let first = self.first.min(self.latest);
        let span = Span {
            base: first.saturating_sub(first.rem_euclid(1_000_000)),
            first,
            latest: self.latest,
        };
        for (counter, track) in counters::ALL.iter().zip(&mut self.counters) {
            track.finish(*counter, span.latest);
        }
        let threads = self.take_threads(&span);
        let mut json = Json::new();
        json.raw("{");
        json.fields([("meta", self.meta(&span, &threads)), ("libs", json!([]))]);
        self.write_counters(&mut json, &span);
        self.tables.write(names, &mut json);
        json.raw(",");
        let pauses = self.pauses(&span);
        let long = span.latest.saturating_sub(span.first) / LONG_PART;
        json.column(
            "threads",
            threads.iter().enumerate(),
            |json, (n, thread)| {
                json.raw("{");
                json.fields(self.thread_fields(&span, thread, n == 0));
                json.fields([("pausedRanges", pauses.clone())]);
                thread.write(json, span.base, long);
            },
        );
        json.raw("\"pages\":[]}");
        json.finish()
    }

    /// Returns the threads in the order of their tracks: the process, threads with calls, with
    /// waits, with markers or allocations.
    fn take_threads(&mut self, span: &Span) -> Vec<Thread> {
        let mut process = std::mem::take(&mut self.process);
        process.since.get_or_insert(span.first);
        process.stretch(span.latest);
        let mut threads = std::mem::take(&mut self.threads);
        threads.retain(|thread| !thread.is_empty());
        threads.sort_by_key(|thread| (thread.busy == 0, thread.is_idle()));
        threads.insert(0, process);
        threads.iter_mut().for_each(Thread::finish);
        threads
    }

    fn meta(&self, span: &Span, threads: &[Thread]) -> Value {
        let mut busiest: Vec<_> = (1..threads.len()).collect();
        busiest.sort_by_key(|number| Reverse(threads[*number].busy));
        if busiest
            .first()
            .is_some_and(|first| threads[*first].busy > 0)
        {
            busiest.retain(|number| threads[*number].busy > 0);
        }
        busiest.truncate(VISIBLE);
        let selected = busiest.first().copied().unwrap_or(0);
        busiest.push(0);
        busiest.sort_unstable();
        let mut meta = json!({
            "product": "jtrail",
            "version": GECKO_VERSION,
            "preprocessedProfileVersion": VERSION,
            "processType": 0,
            "startTime": span.base / 1_000_000,
            "profilingStartTime": span.ms(span.first),
            "profilingEndTime": span.ms(span.latest),
            "interval": INTERVAL,
            "stackwalk": 1,
            "debug": false,
            "symbolicated": true,
            "symbolicationNotSupported": true,
            "usesOnlyOneStackType": true,
            "sourceCodeIsNotOnSearchfox": true,
            "keepProfileThreadOrder": true,
            "initialVisibleThreads": busiest,
            "initialSelectedThreads": [selected],
            "categories": categories::list(),
            "markerSchema": markers::schemas(),
        });
        if !self.program.is_empty() {
            meta["arguments"] = json!(self.program);
        }
        meta
    }

    fn write_counters(&self, json: &mut Json, span: &Span) {
        let tracks = counters::ALL.iter().zip(&self.counters);
        let tracks = tracks.filter(|(_, track)| !track.is_empty());
        let pid = self.process_id.to_string();
        json.column("counters", tracks, |json, (counter, track)| {
            track.write(json, *counter, (span.base, &pid));
        });
    }

    fn thread_fields(
        &self,
        span: &Span,
        thread: &Thread,
        is_process: bool,
    ) -> [(&'static str, Value); 12] {
        let since = |time: i64| json!(span.ms(time));
        let start = thread.info.start.map_or(span.first, |start| start.0);
        let process = match self.program.is_empty() {
            true => "JVM",
            false => &self.program,
        };
        let (name, tid) = match is_process {
            true => (process.to_owned(), json!("JVM")),
            false => (thread.name(), json!(thread.info.id.0)),
        };
        [
            ("processType", json!("default")),
            ("processName", json!(process)),
            ("processStartupTime", since(span.first)),
            ("processShutdownTime", Value::Null),
            ("registerTime", since(start)),
            ("unregisterTime", thread.end.map_or(Value::Null, since)),
            ("name", json!(name)),
            ("isMainThread", json!(is_process)),
            ("showMarkersInTimeline", json!(true)),
            ("pid", json!(self.process_id.to_string())),
            ("tid", tid),
            ("isJsTracer", json!(false)),
        ]
    }

    /// Returns the spans in which the trace was paused.
    fn pauses(&self, span: &Span) -> Value {
        let pauses = self.pauses.iter().map(|(start, end)| {
            json!({
                "startTime": span.ms(*start),
                "endTime": end.map(|end| span.ms(end)),
                "reason": "profiler-paused",
            })
        });
        pauses.collect()
    }
}

/// The interval of a sampling profiler in ms. The viewer takes it for the length of a last sample.
const INTERVAL: f64 = 0.001;
