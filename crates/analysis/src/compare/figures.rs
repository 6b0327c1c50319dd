//! The figures of one quantity by key, reduced to what two traces can both report.

use super::keys;
use super::sums::{Calls, Sums, Thread};
use jtrail_formats::{MethodNames, Quantity, Recorded};
use jtrail_model::ClassId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A figure and its tolerance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Figure {
    pub(super) value: u64,
    pub(super) slack: u64,
}

/// The information that both of two traces have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct View {
    /// What the names of methods have in both traces.
    method_names: MethodNames,
    threads: ThreadsBy,
    /// True if only sizes of arrays are compared.
    arrays: bool,
    live: Live,
}

/// How the threads of two traces are matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ThreadsBy {
    /// By name; threads of the same name by the order of their starts.
    Name { last: bool, order: bool },
    /// By the order of their starts.
    Order,
}

/// The live objects that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Live {
    /// Objects that were allocated in the trace, at its end.
    AtEnd,
    /// Objects in the tables written after collections.
    AfterCollections,
}

impl View {
    /// Returns the information about the quantity that both traces have. Returns the reason if
    /// there is none.
    pub(super) fn between(quantity: Quantity, a: &Sums, b: &Sums) -> Result<Self, String> {
        let recorded = [a, b].map(|t| t.format.recorded(quantity));
        let any = |what: fn(&Recorded) -> bool| recorded.iter().any(what);
        if any(|s| *s == Recorded::AtEnd) && any(|s| *s == Recorded::AfterCollections) {
            return Err("one counts them at the end, the other one after collections".to_owned());
        }
        let threads = match quantity {
            Quantity::Threads
            | Quantity::ThreadCalls
            | Quantity::Contended
            | Quantity::Waits
            | Quantity::Throws
            | Quantity::Catches => threads_by(a, b)?,
            _ => ThreadsBy::Order,
        };
        Ok(Self {
            method_names: a.format.method_names().min(b.format.method_names()),
            threads,
            arrays: any(|s| matches!(s, Recorded::Arrays(_))),
            live: if any(|s| *s == Recorded::AfterCollections) {
                Live::AfterCollections
            } else {
                Live::AtEnd
            },
        })
    }
}

fn threads_by(a: &Sums, b: &Sums) -> Result<ThreadsBy, String> {
    let (a, b) = (a.format.thread_keys(), b.format.thread_keys());
    let names = |keys: jtrail_formats::ThreadKeys| keys.first_names || keys.last_names;
    if names(a) && names(b) {
        Ok(ThreadsBy::Name {
            last: a.last_names && b.last_names,
            order: a.order && b.order,
        })
    } else if a.order && b.order {
        Ok(ThreadsBy::Order)
    } else {
        Err("the two have neither names nor order of threads in common".to_owned())
    }
}

/// The figures of a trace for one quantity.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) by_key: BTreeMap<String, Figure>,
    /// Keys that are not compared, because their figures depend on the time at which the trace
    /// ends.
    pub(super) left_out: BTreeSet<String>,
}

impl Figures {
    /// Returns the figures of a quantity, within the view.
    pub(super) fn of(trace: &Sums, quantity: Quantity, view: &View) -> Self {
        let mut all = Self::candidates(trace, quantity, view);
        all.swap_remove(0)
    }

    /// Like [`Self::of`], but returns several alternatives if a trace allows several readings.
    pub(super) fn candidates(trace: &Sums, quantity: Quantity, view: &View) -> Vec<Self> {
        let mut figures = Self::default();
        match quantity {
            Quantity::Threads => {
                for (_, key) in thread_keys(trace, view, |_| true) {
                    figures.add(key, 1, 0);
                }
            }
            Quantity::Calls => figures.by_method(trace, view, |c| c.calls),
            Quantity::ExceptionLeaves => figures.by_method(trace, view, |c| c.by_exception),
            Quantity::Elapsed => figures.elapsed(trace, view),
            Quantity::ThreadCalls => {
                let threads = thread_keys(trace, view, |t| t.calls > 0);
                let methods = method_keys(trace, view);
                for calls in &trace.calls {
                    if let Some(thread) = threads.get(&calls.thread) {
                        let key = format!("{thread}: {}", methods[&calls.method]);
                        figures.add(key, calls.calls, 0);
                    }
                }
            }
            Quantity::Objects => {
                let classes = trace.objects.classes();
                figures.by_class(trace, classes.map(|(class, sums)| (class, sums.objects)));
            }
            Quantity::Bytes => {
                let classes = trace.objects.classes();
                figures.by_class(trace, classes.map(|(class, sums)| (class, sums.bytes)));
                if view.arrays {
                    figures.by_key.retain(|class, _| keys::is_array(class));
                }
            }
            Quantity::Frees => {
                let classes = trace.objects.classes();
                figures.by_class(trace, classes.map(|(class, sums)| (class, sums.frees)));
            }
            Quantity::Live => return live(trace, view),
            Quantity::Collections => figures.add("collections".to_owned(), trace.collections, 0),
            Quantity::Contended => figures.by_thread(trace, view, |t| t.contended),
            Quantity::Waits => figures.by_thread(trace, view, |t| t.waits),
            Quantity::Throws => figures.by_thread(trace, view, |t| t.throws),
            Quantity::Catches => figures.by_thread(trace, view, |t| t.catches),
        }
        vec![figures]
    }

    fn add(&mut self, key: String, value: u64, slack: u64) {
        if value == 0 && slack == 0 {
            return;
        }
        let figure = self.by_key.entry(key).or_default();
        figure.value = figure.value.saturating_add(value);
        figure.slack = figure.slack.saturating_add(slack);
    }

    fn by_method(&mut self, trace: &Sums, view: &View, figure: impl Fn(&Calls) -> u64) {
        let methods = method_keys(trace, view);
        for calls in &trace.calls {
            self.add(methods[&calls.method].clone(), figure(calls), 0);
        }
    }

    /// Sums up elapsed times. Formats differ in the time up to which a call without an end counts,
    /// so methods with such calls are not compared.
    fn elapsed(&mut self, trace: &Sums, view: &View) {
        let methods = method_keys(trace, view);
        let recorded = trace.format.recorded(Quantity::Elapsed);
        for calls in &trace.calls {
            let key = &methods[&calls.method];
            let slack = match recorded {
                Recorded::RoundedCalls(ns) => ns.saturating_mul(calls.outermost),
                Recorded::RoundedNodes(ns) => ns.saturating_mul(calls.nodes),
                _ => 0,
            };
            self.add(key.clone(), calls.elapsed, slack);
            if calls.unended > 0 {
                self.left_out.insert(key.clone());
            }
        }
    }

    fn by_class(&mut self, trace: &Sums, classes: impl IntoIterator<Item = (ClassId, u64)>) {
        for (class, count) in classes {
            if count > 0 {
                self.add(keys::class(&trace.names, class), count, 0);
            }
        }
    }

    fn by_thread(&mut self, trace: &Sums, view: &View, figure: impl Fn(&Thread) -> u64) {
        for (at, key) in thread_keys(trace, view, |t| figure(t) > 0) {
            self.add(key, figure(&trace.threads[at as usize]), 0);
        }
    }
}

/// Returns the alternatives for live objects. If some frees arrived late, a format may write the
/// table of the last collection once more at the end.
fn live(trace: &Sums, view: &View) -> Vec<Figures> {
    let objects = &trace.objects;
    let tables = match view.live {
        Live::AtEnd => vec![objects.live()],
        Live::AfterCollections => match objects.reported() {
            Some(reported) => vec![reported],
            None => objects
                .after_collection()
                .into_iter()
                .chain([objects.all_live()])
                .collect(),
        },
    };
    let figures = tables.into_iter().map(|table| {
        let mut figures = Figures::default();
        figures.by_class(trace, table);
        figures
    });
    figures.collect()
}

fn method_keys(trace: &Sums, view: &View) -> HashMap<jtrail_model::MethodId, String> {
    let methods = trace.calls.iter().map(|calls| calls.method);
    let key = |method| keys::method(&trace.names, method, view.method_names);
    methods.map(|method| (method, key(method))).collect()
}

/// Returns the keys of the threads that `counts` selects, by their index in [`Sums::threads`].
fn thread_keys(
    trace: &Sums,
    view: &View,
    counts: impl Fn(&Thread) -> bool,
) -> BTreeMap<u32, String> {
    let threads = (0_u32..).zip(&trace.threads).filter(|(_, t)| counts(t));
    let mut seen: HashMap<String, u32> = HashMap::new();
    let keys = threads.enumerate().map(|(place, (at, thread))| {
        let key = match view.threads {
            ThreadsBy::Order => format!("thread {}", place + 1),
            ThreadsBy::Name { last, order } => {
                let name = trace.thread_name(thread, last);
                let same = seen.entry(name.clone()).or_default();
                *same += 1;
                match *same {
                    n @ 2.. if order => format!("{name:?} ({n})"),
                    _ => format!("{name:?}"),
                }
            }
        };
        (at, key)
    });
    keys.collect()
}
