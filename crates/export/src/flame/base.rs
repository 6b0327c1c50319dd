//! Reads the trace that another one is compared with.

use super::tree::Tree;
use crate::filter::CallFilter;
use crate::profile::{Profile, Profiler, WriteProfile};
use crate::timeline::Timeline;
use jtrail_formats::{DropCount, Encode};
use jtrail_model::names::Names;
use jtrail_model::{Calls, Event};

/// The call paths of a trace that another one is compared with, in a differential flame graph.
#[derive(Debug)]
pub struct Base(pub(super) Tree);

/// Reads the trace that another one is compared with. It takes events as an encoder does, and
/// writes nothing.
///
/// ```
/// # use jtrail_export::{BaseEncoder, CallFilter, Options, Target};
/// # use jtrail_formats::Encode;
/// let mut base = BaseEncoder::new("old.trail".to_owned(), CallFilter::default());
/// let mut out = Vec::new();
/// base.begin(&mut out);
/// // … base.event(&event, &mut out) for each event of the base trace
/// base.end(&mut out);
/// let options = Options {
///     title: "new.trail".to_owned(),
///     base: Some(base.finish().into()),
///     ..Options::default()
/// };
/// let encoder = Target::Flame.encoder(options);
/// // … and now the trace that is exported.
/// # assert!(out.is_empty());
/// ```
pub struct BaseEncoder {
    timeline: Timeline<Profiler<Keep>>,
}

/// Keeps the profile of a trace.
#[derive(Debug)]
struct Keep {
    title: String,
    tree: Option<Tree>,
}

impl WriteProfile for Keep {
    fn write(&mut self, profile: Profile, names: &Names, _: &mut Vec<u8>) {
        self.tree = Some(Tree::new(self.title.clone(), &profile, names));
    }
}

impl BaseEncoder {
    /// Creates an encoder of the calls that the filter selects. `title` is what the page calls the
    /// trace, such as the name of its file; if it is empty, the page names the program.
    pub fn new(title: String, filter: CallFilter) -> Self {
        let make_sink = move || {
            Profiler::new(Keep {
                title: title.clone(),
                tree: None,
            })
        };
        Self {
            timeline: Timeline::new(filter, make_sink),
        }
    }

    /// Returns the call paths of the trace. It is empty before [`Encode::end`].
    pub fn finish(self) -> Base {
        let Keep { title, tree } = self.timeline.into_sink().into_writer();
        let empty = || Tree::new(title, &Profile::default(), &Names::default());
        Base(tree.unwrap_or_else(empty))
    }
}

impl Encode for BaseEncoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.timeline.begin(out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        self.timeline.event(event, out);
    }

    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        self.timeline.calls(calls, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.timeline.end(out);
    }

    fn has_pending(&self) -> bool {
        self.timeline.has_pending()
    }

    fn dropped(&self) -> Vec<DropCount> {
        self.timeline.dropped()
    }

    fn dropped_events(&self) -> u64 {
        self.timeline.dropped_events()
    }
}
