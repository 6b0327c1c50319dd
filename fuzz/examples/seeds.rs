//! Creates the seeds of the fuzz targets: small traces in every format.
//!
//! ```text
//! cargo run -p jtrail-fuzz --example seeds -- fuzz/seeds [TRACE…]
//! ```
//!
//! One seed has every kind of event. Another one, only as a trail, has calls at irregular
//! intervals, which make this format use Huffman's code. The others are excerpts of the given
//! traces: a few events of each kind, with their definitions and the ends of what they begin. Each
//! seed is written in every spelling of its format.
//!
//! Seeds in `fuzz/real`, made from a trace with all kinds of events (`harness.Everything`), are
//! only for fuzzing: the tests read each file of `fuzz/seeds` truncated at every byte.
//!
//! Those of imports are written by hand. Python's `gzip` and `zipfile` made those of packed files.

#![forbid(unsafe_code)]

#[path = "../../crates/formats/tests/common/events.rs"]
#[allow(unreachable_pub, reason = "the tests share it")]
mod all;
#[path = "../../crates/formats/tests/common/layout.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use the rest of it")]
mod binary;
#[path = "../../crates/formats/tests/jinsight/raw.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use the rest of it")]
mod jinsight;

use flate2::{Compression, write::GzEncoder};
use jtrail_formats::mlpd::{self, DataVersion};
use jtrail_formats::tracelog::{self, Collection, Settings};
use jtrail_formats::{Encode, Format, Item, Reader};
use jtrail_model::Event;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The number of events of each kind in an excerpt.
const OF_EACH_KIND: u32 = 2;
/// The number of events of a trace from which an excerpt is selected.
const READ: usize = 1_000_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = args.next().ok_or("the folder for the seeds is missing")?;
    for seed in Seed::all() {
        seed.write(&folder, "every-event", |see| {
            all::every_event().iter().for_each(see);
            Ok(())
        })?;
    }
    Seed::plain(Format::Trail).write(&folder, "uneven-calls", |see| {
        all::uneven_calls().iter().for_each(see);
        Ok(())
    })?;
    for trace in args {
        let name = trace.file_stem().ok_or("a trace has a name")?;
        let chosen = excerpt(&trace)?;
        for seed in Seed::all() {
            seed.write(&folder, &name.to_string_lossy(), |see| {
                read(&trace, |at, event| {
                    if chosen.contains(&at) {
                        see(&anonymous(event));
                    }
                })
            })?;
        }
    }
    Ok(())
}

/// A format in one of its spellings.
struct Seed {
    format: Format,
    spelling: &'static str,
    encoder: Box<dyn Encode>,
    turned: fn(Vec<u8>) -> Vec<u8>,
}

impl Seed {
    fn plain(format: Format) -> Self {
        Self {
            format,
            spelling: "",
            encoder: format.encoder(),
            turned: |bytes| bytes,
        }
    }

    fn all() -> Vec<Self> {
        let seed = |format, spelling, encoder, turned| Self {
            format,
            spelling,
            encoder,
            turned,
        };
        let plain = Format::ALL.map(Self::plain);
        let mut all = Vec::from(plain);
        let v17 = || Box::new(mlpd::Encoder::new(DataVersion::V17));
        let sampling = Settings {
            collection: Collection::Sampling,
            ..Settings::default()
        };
        let sampling = Box::new(tracelog::Encoder::new(sampling));
        let (binary, jinsight) = (Format::TptpBinary, Format::Jinsight);
        all.extend([
            seed(binary, "-big-endian", binary.encoder(), |bytes| {
                binary::big_endian(&bytes, |ns| ns, 1_000_000_000)
            }),
            seed(jinsight, "-big-endian", jinsight.encoder(), |bytes| {
                jinsight::turned(&bytes, 33)
            }),
            seed(Format::Mlpd, "-17", v17(), |bytes| bytes),
            seed(Format::Mlpd, "-17-gzip", v17(), gzip),
            seed(Format::TraceLog, "-sampling", sampling, |bytes| bytes),
        ]);
        all
    }

    /// Writes the events that `report` passes to its callback.
    fn write(
        mut self,
        folder: &Path,
        name: &str,
        report: impl FnOnce(&mut dyn FnMut(&Event<'_>)) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut out = Vec::new();
        self.encoder.begin(&mut out);
        report(&mut |event| self.encoder.event(event, &mut out))?;
        self.encoder.end(&mut out);
        for patch in self.encoder.patches() {
            let at = usize::try_from(patch.offset)?;
            out[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
        }
        let folder = folder.join(self.format.name());
        fs::create_dir_all(&folder)?;
        fs::write(
            folder.join(name.to_owned() + self.spelling),
            (self.turned)(out),
        )?;
        Ok(())
    }
}

fn gzip(bytes: Vec<u8>) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&bytes)
        .and_then(|()| gzip.finish())
        .expect("memory takes all")
}

fn read(path: &Path, mut visit: impl FnMut(usize, &Event<'_>)) -> Outcome<()> {
    let mut at = 0;
    Reader::new(File::open(path)?)?.for_each(|item| {
        if let Item::Event { event, .. } = item {
            visit(at, &event);
            at += 1;
        }
        if at < READ {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok(())
}

/// Returns the event without names of the machine and its files.
fn anonymous<'a>(event: &Event<'a>) -> Event<'a> {
    let mut event = event.clone();
    match &mut event {
        Event::Node(e) => (e.hostname, e.ip_address) = ("host".into(), "127.0.0.1".into()),
        Event::ProcessCreate(e) => (e.name, e.executable) = ("shop".into(), "java".into()),
        Event::AgentCreate(e) => e.parameters = "format=binary".into(),
        Event::Option(e) if e.value.contains('/') => e.value = "file".into(),
        _ => {}
    }
    event
}

/// Returns the indices of the events that belong to the excerpt of a trace.
fn excerpt(path: &Path) -> Outcome<HashSet<usize>> {
    let mut kinds = HashMap::new();
    let mut open = HashSet::new();
    // For each event: the id that it defines, the ids that it names, and true if it is selected by
    // itself.
    let mut events = Vec::new();
    read(path, |_, event| {
        let kind = format!("{:?}", std::mem::discriminant(event));
        let count = kinds.entry(kind).or_insert(0);
        *count += 1;
        let mut chosen = *count <= OF_EACH_KIND;
        match event {
            Event::MethodEnter(e) if chosen => drop(open.insert((e.thread, e.ticket))),
            Event::MethodLeave(e) => chosen |= open.remove(&(e.thread, e.ticket)),
            _ => {}
        }
        let defines = match event {
            Event::ThreadStart(e) => Some(format!("{:?}", e.thread)),
            Event::ClassDef(e) => Some(format!("{:?}", e.class)),
            Event::MethodDef(e) => Some(format!("{:?}", e.method)),
            _ => None,
        };
        events.push((defines, ids(&format!("{event:?}")), chosen));
    })?;
    let mut needed = HashSet::new();
    let mut excerpt = HashSet::new();
    for (at, (defines, names, chosen)) in events.into_iter().enumerate().rev() {
        if chosen || defines.is_some_and(|id| needed.contains(&id)) {
            excerpt.insert(at);
            needed.extend(names);
        }
    }
    Ok(excerpt)
}

/// Returns the ids in the `Debug` form of an event, such as `ThreadId(1)`.
fn ids(shown: &str) -> Vec<String> {
    let words = shown.split([' ', ',', '{', '}']);
    words
        .filter(|w| w.contains("Id("))
        .map(str::to_owned)
        .collect()
}
