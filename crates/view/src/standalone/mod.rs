//! A page that has a part of a trace in itself, and needs no server.
//!
//! | Module | Contents |
//! |---|---|
//! | `collect` | the slices and waits of a part, up to a number |
//! | `order` | callers before their callees |
//! | `fitting` | a shorter span, if a part has too many slices |
//! | `data` | what the page asks a server otherwise |
//! | `document` | the document around the data |
//!
//! `page/API.md` specifies the data.

mod collect;
mod data;
mod document;
mod fitting;
mod order;

pub(crate) use collect::Part;

use crate::Trace;
use crate::api::{Opened, Session};
use collect::{Collected, collect};
use jtrail_model::{ThreadId, Timestamp};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};

/// Maximum number of slices in a page. `docs/design/view.md` has the measurements.
pub const MAX_SLICES: usize = 1_000_000;

/// What a page shows of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// The span, which has its begin, but not its end.
    pub span: [Timestamp; 2],
    /// The only threads; all if `None`.
    pub threads: Option<BTreeSet<ThreadId>>,
}

/// Why there is no page.
#[derive(Debug)]
pub enum PageError {
    /// The trace can't be read, or a segment is damaged.
    Read(io::Error),
    /// The selected part has more slices than fit.
    TooMany {
        /// Number of the trace: 0 for the first one.
        trace: usize,
        /// Number of slices that were found. There may be more.
        found: usize,
        /// Maximum number of slices of a trace in this page.
        max: usize,
        /// A shorter span that fits with the selected threads, and the number of its slices; none
        /// if even the shortest one does not fit.
        fits: Option<([Timestamp; 2], usize)>,
    },
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "{error}"),
            Self::TooMany { found, max, .. } => write!(
                f,
                "the selection has at least {found} calls and waits, and a page {max} at most"
            ),
        }
    }
}

impl std::error::Error for PageError {}

impl From<io::Error> for PageError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// A page with parts of one or two traces.
#[derive(Debug)]
pub struct Page {
    session: Session,
    parts: Vec<Part>,
}

impl Page {
    /// Reads the selected parts of traces, each with its title. Together they have at most `max`
    /// slices ([`MAX_SLICES`] is what browsers stand), and each trace has an equal share of them.
    ///
    /// # Errors
    /// If a trace can't be read, a segment is damaged, or there are too many slices.
    pub fn new(traces: Vec<(String, Trace, Selection)>, max: usize) -> Result<Self, PageError> {
        let max = max / traces.len().max(1);
        let (mut opened, mut parts) = (Vec::new(), Vec::new());
        for (number, (title, trace, selection)) in traces.into_iter().enumerate() {
            let part = match collect(&trace, &selection, max)? {
                Collected::Part(part) => part,
                Collected::TooMany { found, begins } => {
                    return Err(PageError::TooMany {
                        trace: number,
                        found,
                        max,
                        fits: fitting::span(&trace, &selection, begins, max)?,
                    });
                }
            };
            // The page names the threads that hold monitors.
            let owners = part.waits.iter().map(|wait| wait.owner);
            let owners = owners.filter(|id| !id.is_none()).collect();
            opened.push(Opened::part(
                title,
                trace,
                &part,
                selection.threads,
                &owners,
            ));
            parts.push(part);
        }
        let session = Session::new(opened);
        session.prepare(|| false)?;
        Ok(Self { session, parts })
    }

    /// Adds a remark about the trace with a number, that people should know.
    #[must_use]
    pub fn with_remark(mut self, trace: usize, remark: String) -> Self {
        self.session.add_remark(trace, remark);
        self
    }

    /// Returns the number of calls in the page.
    pub fn calls(&self) -> usize {
        self.slices(|kind| kind.is_call())
    }

    /// Returns the number of waits in the page.
    pub fn waits(&self) -> usize {
        self.slices(|kind| !kind.is_call())
    }

    /// Returns the number of threads with calls or waits in the page.
    pub fn threads(&self) -> usize {
        self.parts.iter().map(|part| part.threads.len()).sum()
    }

    fn slices(&self, is_counted: impl Fn(crate::Kind) -> bool) -> usize {
        let slices = self.parts.iter().flat_map(|part| &part.threads);
        let slices = slices.flat_map(|(_, slices)| slices);
        slices.filter(|slice| is_counted(slice.kind)).count()
    }

    /// Writes the page as an HTML document in UTF-8.
    ///
    /// # Errors
    /// If `out` can't be written, or a trace can't be read.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        document::write(out, |out| data::write(&self.session, &self.parts, out))
    }
}
