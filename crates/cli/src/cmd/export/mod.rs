//! `jtrail export`: writes a trace in the format of another tool.
//!
//! | Module | Contents |
//! |---|---|
//! | `args` | arguments |
//! | `selection` | the calls that are exported |
//! | `ceiling` | what to do about an export that its tool does not open |
//! | `files` | the output files |
//! | `send` | sends spans to a collector |

mod args;
mod ceiling;
mod files;
mod selection;
mod send;

pub(crate) use args::{Args, Caller, by_file_name};
pub(crate) use selection::CallSelection;

use crate::analyse::analyse;
use crate::input::{Ending, Input, check_distinct};
use crate::outcome::Streams;
use crate::select::Selection;
use crate::transcode::{Excerpt, Source, end, transcode, transcode_events};
use anyhow::bail;
use files::Files;
use jtrail_analysis::Subjects;
use jtrail_export::{Base, BaseEncoder, Export, Target};
use jtrail_formats::{Encode, dropped_message};
use jtrail_model::MethodId;
use rustc_hash::FxHashSet;
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let target = args.target()?;
    if let Some(url) = &args.send {
        return send::run(args, url, streams);
    }
    check_distinct(&args.inputs(), args.output())?;
    if args.base.is_some() && args.selection.top.is_some() {
        bail!("--top selects methods of one trace, so it does not go with --base");
    }
    // An output that can't be written is an error before the traces are read.
    let mut files = Files::new(args, target, &mut *streams.out)?;
    let top = top_methods(args)?;
    let base = args
        .base
        .as_deref()
        .map(|path| base(args, path))
        .transpose()?;
    if args.force {
        ceiling::warn_of_memory(target, &mut *streams.err)?;
    }
    let mut encoder = target.encoder(args.options(top.clone(), base));
    let ending = match encode(args, target, &mut *encoder, &mut files)? {
        Encoded::Whole(ending) => ending,
        Encoded::TooLarge => {
            drop(files);
            return Err(ceiling::proposal(args, target, &*encoder, top));
        }
    };
    if let Some(missing) = args.selection.missing(&*encoder) {
        let input = args.input.display();
        // A part may have been written to standard output.
        let rest = match args.output() == Path::new("-") {
            true => "",
            false => "; nothing is written",
        };
        bail!("{input}: the selection has no {missing}{rest}");
    }
    if !files.has_content() {
        let input = args.input.display();
        match args.caller {
            Caller::Send => writeln!(streams.err, "jtrail: {input}: no spans; nothing is sent")?,
            _ => writeln!(
                streams.err,
                "jtrail: {input}: nothing for {}; the export is empty",
                target.name()
            )?,
        }
    }
    let names = files.finish()?;
    if names.len() > 1 {
        for name in &names {
            writeln!(streams.err, "jtrail: {}", name.display())?;
        }
    }
    ending.print(&args.input, streams)?;
    let mut dropped = encoder.dropped();
    if !args.selection.span.is_all() {
        // Calls that began before the selected time.
        dropped.retain(|count| count.what != jtrail_export::UNMATCHED);
    }
    if let Some(message) = dropped_message(target.name(), "", &dropped) {
        writeln!(streams.err, "jtrail: {message}")?;
    }
    Ok(ending.code())
}

/// How encoding ended.
enum Encoded {
    /// All of the selected part is written.
    Whole(Ending),
    /// The export exceeds the target's ceiling.
    TooLarge,
}

/// The error that stops encoding at the ceiling.
#[derive(Debug, thiserror::Error)]
#[error("the export exceeds the ceiling")]
struct ExceedsCeiling;

fn encode(
    args: &Args,
    target: Target,
    encoder: &mut dyn Export,
    files: &mut Files<'_>,
) -> anyhow::Result<Encoded> {
    let mut input = Input::open(&args.input, true)?.in_order();
    let selection = Selection::new(&args.selection.span, &args.selection.thread);
    // The other targets have no counter of live threads.
    let has_counter = matches!(target, Target::Perfetto | Target::Chrome | Target::Firefox);
    let mut excerpt = Excerpt::new(selection).with_thread_ends(has_counter);
    let mut source = Source {
        input: &mut input,
        opening: &[],
        excerpt: &mut excerpt,
        observe: &mut |_| {},
    };
    let max = match target.ceiling() {
        Some(ceiling) if !args.force => ceiling.items,
        _ => u64::MAX,
    };
    let done = transcode_events(&mut source, encoder, files, |encoder, buffer, files| {
        if encoder.size() <= max {
            return Ok(());
        }
        if !args.split {
            return Err(ExceedsCeiling.into());
        }
        let mut begin = Vec::new();
        encoder.split(buffer, &mut begin);
        files.write_all(buffer)?;
        buffer.clear();
        files.next()?;
        files.write_all(&begin)?;
        Ok(())
    });
    let done = done.and_then(|ending| {
        if let Some(time) = excerpt.end() {
            encoder.end_at(time);
        }
        end(&ending, encoder, files)?;
        Ok(ending)
    });
    match done {
        Ok(ending) => Ok(Encoded::Whole(ending)),
        Err(error) if error.is::<ExceedsCeiling>() => Ok(Encoded::TooLarge),
        Err(error) => Err(error),
    }
}

/// Reads the trace to compare with. The same calls of it are selected.
fn base(args: &Args, path: &Path) -> anyhow::Result<Base> {
    let selection = &args.selection;
    let mut encoder = BaseEncoder::new(args::title(path), selection.filter(None));
    feed(selection, path, &mut encoder)?;
    Ok(encoder.finish())
}

/// Passes the selected part of a trace to an encoder that writes nothing.
fn feed(selection: &CallSelection, path: &Path, encoder: &mut impl Encode) -> anyhow::Result<()> {
    let mut input = Input::open(path, true)?.in_order();
    let mut excerpt = Excerpt::new(Selection::new(&selection.span, &selection.thread));
    let mut source = Source {
        input: &mut input,
        opening: &[],
        excerpt: &mut excerpt,
        observe: &mut |_| {},
    };
    transcode(&mut source, encoder, &mut std::io::sink())?;
    Ok(())
}

/// Returns the methods with the most self time, if the arguments select by that.
fn top_methods(args: &Args) -> anyhow::Result<Option<FxHashSet<MethodId>>> {
    let Some(count) = args.selection.top else {
        return Ok(None);
    };
    if args.input == Path::new("-") {
        bail!("--top reads the trace twice, so it needs a file");
    }
    let mut input = Input::open(&args.input, true)?;
    let (mut analysis, _) = analyse(
        &mut input,
        &args.selection.span,
        &args.selection.thread,
        Subjects::default(),
    )?;
    analysis.finish();
    let mut methods = analysis.calls.methods();
    methods.retain(|method| args.selection.has_method(&analysis.names, method.method));
    methods.sort_by_key(|method| std::cmp::Reverse(method.own));
    let top = methods.iter().take(count).map(|method| method.method);
    Ok(Some(top.collect()))
}
