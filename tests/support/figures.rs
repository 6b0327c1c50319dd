//! Figures of a trace of any format, which can be compared between formats.

use jtrail_formats::{Checker, Format, Item, Reader, Severity};
use jtrail_model::{Event, ObjectId, ThreadId};
use jtrail_testkit::Counts;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

/// The figures of a trace.
#[derive(Default, Debug)]
pub(crate) struct Figures {
    pub(crate) format: Option<Format>,
    /// Calls by class, method and parameters, without result types, because log profiles have none.
    pub(crate) calls: BTreeMap<String, u64>,
    /// Number of leaves by an exception.
    pub(crate) exceptional: u64,
    /// Names of threads, in the order of their definitions; empty if the format has none.
    pub(crate) threads: Vec<String>,
    /// Number of allocated objects by class; `bytes` holds their sizes.
    pub(crate) objects: BTreeMap<String, u64>,
    pub(crate) bytes: BTreeMap<String, u64>,
    /// Objects alive at the end, by class; from the last table if the format has tables.
    pub(crate) live: BTreeMap<String, u64>,
    /// Maximum number of live objects by class, summed over threads.
    pub(crate) peak: BTreeMap<String, u64>,
    pub(crate) collections: u64,
    pub(crate) contended: u64,
    pub(crate) throws: u64,
    pub(crate) samples: u64,
    /// Number of executions of each line, by method and line.
    pub(crate) lines: BTreeMap<(String, u32), u64>,
    /// CPU time in nanoseconds, by thread.
    pub(crate) cpu: BTreeMap<u64, u64>,
    pub(crate) process_cpu: u64,
    pub(crate) os_ids: u64,
    pub(crate) compiled: u64,
    /// Classes in the order of their definitions.
    pub(crate) defined: Vec<String>,
    /// Number of events by kind, as the checker counts them.
    pub(crate) kinds: BTreeMap<&'static str, u64>,
    /// True if the trace is truncated, or lacks its end.
    pub(crate) is_truncated: bool,

    classes: HashMap<u64, String>,
    methods: HashMap<u64, String>,
    method_calls: HashMap<u64, u64>,
    thread_names: HashMap<ThreadId, usize>,
    object_classes: HashMap<ObjectId, u64>,
}

/// Returns a method key without its result type.
pub(crate) fn short(key: &str) -> String {
    let end = key.rfind(')').map_or(key.len(), |at| at + 1);
    key[..end].to_owned()
}

/// Returns the counts under keys without result types. Methods that differ in their result type
/// only are counted together.
pub(crate) fn short_counts(counts: &Counts) -> Counts {
    let mut out = counts.clone();
    out.exact.clear();
    for (key, count) in &counts.exact {
        *out.exact.entry(short(key)).or_default() += count;
    }
    let ranges = counts.ranges.iter();
    out.ranges = ranges.map(|(key, range)| (short(key), *range)).collect();
    out
}

impl Figures {
    /// Reads a trace of the agent, which must be sound as far as it goes.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let source = File::open(file).map_err(|e| format!("no trace: {e}"))?;
        let mut reader = Reader::new(source).map_err(|e| e.to_string())?;
        let format = reader.format();
        let mut figures = Self {
            format: format.trace(),
            ..Self::default()
        };
        let mut checker = Checker::of(reader.format());
        let problem = reader
            .for_each(|item| match item {
                Item::Event { offset, event } => {
                    checker.event(offset, &event);
                    figures.take(&event);
                    ControlFlow::Continue(())
                }
                Item::Remark(remark) => match remark.severity {
                    Severity::Fault => ControlFlow::Break(format!("{remark:?}")),
                    // A reader only remarks on sums that don't match, because another program may
                    // have written them. The sums of the agent match.
                    Severity::Info if format == Format::ProfilerJ => {
                        ControlFlow::Break(format!("{remark:?}"))
                    }
                    severity => {
                        figures.is_truncated |= severity == Severity::Truncated;
                        ControlFlow::Continue(())
                    }
                },
            })
            .map_err(|e| e.to_string())?;
        if let Some(problem) = problem {
            return Err(problem);
        }
        figures.name_calls();
        let checked = checker.finish();
        figures.kinds = checked.counts.kinds.iter().copied().collect();
        for finding in checked.findings {
            match finding.severity {
                Severity::Fault => return Err(format!("{finding:?}")),
                Severity::Truncated => figures.is_truncated = true,
                Severity::Info => {}
            }
        }
        Ok(figures)
    }

    fn class(&self, id: u64) -> String {
        self.classes.get(&id).cloned().unwrap_or_default()
    }

    fn call(&mut self, method: u64, count: u64) {
        *self.method_calls.entry(method).or_default() += count;
    }

    fn name_calls(&mut self) {
        for (method, count) in std::mem::take(&mut self.method_calls) {
            let key = short(&self.methods[&method]);
            *self.calls.entry(key).or_default() += count;
        }
    }

    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::ThreadStart(e) => {
                self.thread_names.insert(e.thread, self.threads.len());
                self.threads.push(e.name.to_string());
            }
            Event::ThreadName(e) => {
                let at = self.thread_names[&e.thread];
                self.threads[at] = e.name.to_string();
            }
            Event::ClassDef(e) => {
                self.defined.push(e.name.to_string());
                self.classes.insert(e.class.0, e.name.to_string());
            }
            Event::MethodDef(e) => {
                let key = format!("{}.{}{}", self.class(e.class.0), e.name, e.signature);
                self.methods.insert(e.method.0, key);
            }
            Event::MethodEnter(e) => self.call(e.method.0, 1),
            Event::AggregatedEnter(e) => self.call(e.method.0, e.calls as u64),
            Event::MethodLeave(e) => self.exceptional += u64::from(e.by_exception),
            Event::AggregatedDetail(e) => self.exceptional += e.exceptions,
            Event::ObjectAlloc(e) => {
                let class = self.class(e.class.0);
                self.object_classes.insert(e.object, e.class.0);
                *self.objects.entry(class.clone()).or_default() += 1;
                *self.live.entry(class.clone()).or_default() += 1;
                *self.bytes.entry(class).or_default() += e.size as u64;
            }
            Event::AllocationSum(e) => {
                let class = self.class(e.class.0);
                *self.objects.entry(class.clone()).or_default() += e.objects;
                *self.bytes.entry(class).or_default() += e.bytes;
            }
            Event::ObjectFree(e) => {
                if let Some(class) = self.object_classes.get(&e.object) {
                    *self.live.entry(self.class(*class)).or_default() -= 1;
                }
            }
            Event::LiveObjects(e) => {
                let rows = e.classes.iter();
                self.live = rows.map(|c| (self.class(c.class.0), c.objects)).collect();
            }
            Event::ObjectCounts(e) => {
                let class = self.class(e.class.0);
                *self.live.entry(class.clone()).or_default() += e.live;
                *self.peak.entry(class).or_default() += e.peak;
            }
            Event::GcStart(_) => self.collections += 1,
            Event::MonitorContendedEnter(_) => self.contended += 1,
            Event::ExceptionThrow(_) => self.throws += 1,
            Event::Sample(e) => self.samples += e.ticks.get(),
            Event::SampleSum(e) => self.samples += e.all,
            Event::LineCounts(e) => {
                let key = self.methods[&e.method.0].clone();
                for line in &e.lines {
                    self.lines.insert((key.clone(), line.line), line.count);
                }
            }
            Event::ThreadCpu(e) => {
                self.cpu.insert(e.thread.0, e.cpu_time.0 as u64);
            }
            Event::ProcessCpu(e) => self.process_cpu = e.cpu_time.0 as u64,
            Event::ThreadOsId(_) => self.os_ids += 1,
            Event::MethodCompile(_) => self.compiled += 1,
            _ => {}
        }
    }
}
