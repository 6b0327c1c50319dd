//! Arguments of `export`, and the calls that they select.

use crate::select::{MethodSelector, Span, ThreadSelector};
use anyhow::{anyhow, bail};
use jtrail_analysis::Names;
use jtrail_export::{CallFilter, MethodFilter, Options, Target, Weight};
use jtrail_model::{Duration, MethodId};
use jtrail_options::{Pattern, duration_text, parse_duration};
use rustc_hash::FxHashSet;
use std::path::PathBuf;

/// Write a trace in the format of another tool
///
/// The output file has a name that ends in .part until it is complete. Calls that are not selected
/// become part of their callers. What the other format can't store is dropped and counted by kind.
/// If there is more than the tool opens in reasonable time, nothing is written, and the answer is
/// which selections fit.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    pub(super) input: PathBuf,
    /// Format to write [default: by the extension of the output]
    #[arg(long, value_name = "TARGET", value_parser = target_names())]
    to: Option<String>,
    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) span: Span,
    /// Only what this thread did: an id, or a name with * for any text (repeatable)
    #[arg(long, value_name = "ID|NAME", value_parser = ThreadSelector::parse)]
    pub(super) thread: Vec<ThreadSelector>,
    /// Only calls of methods of classes with this name, in which * stands for any text (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    class: Vec<Pattern>,
    /// Only calls of this method: METHOD, CLASS.METHOD or CLASS#METHOD, with * for any text
    /// (repeatable)
    #[arg(long, value_name = "PATTERN", value_parser = MethodSelector::parse)]
    method: Vec<MethodSelector>,
    /// Only calls and waits that take at least this time (500us, 10ms, 2s)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    min: Option<std::time::Duration>,
    /// Only this number of levels of calls
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Only calls of this number of methods: those with the most self time
    #[arg(long, value_name = "COUNT")]
    pub(super) top: Option<usize>,
    /// What call paths are weighted by, for collapsed
    #[arg(long, value_name = "WEIGHT", value_parser = weight_names())]
    weight: Option<String>,
    /// Keep call paths of different threads apart, for collapsed
    #[arg(long)]
    threads: bool,
    /// Write as many files as are needed, each with a part of the time
    #[arg(long, conflicts_with = "force")]
    pub(super) split: bool,
    /// Write one file, even if the tool does not open so large a file
    #[arg(long)]
    pub(super) force: bool,
}

fn target_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Target::ALL.map(Target::name))
}

fn weight_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Weight::ALL.map(Weight::name))
}

fn pattern(text: &str) -> Result<Pattern, String> {
    match text.is_empty() {
        true => Err("a class name is needed".to_owned()),
        false => Ok(Pattern::new(text)),
    }
}

impl Args {
    /// Returns arguments that export the part of a trace with this time and these threads.
    pub(crate) fn of_part(
        input: PathBuf,
        output: PathBuf,
        target: Target,
        (span, thread): (Span, Vec<ThreadSelector>),
    ) -> Self {
        Self {
            input,
            output,
            to: Some(target.name().to_owned()),
            span,
            thread,
            class: Vec::new(),
            method: Vec::new(),
            min: None,
            depth: None,
            top: None,
            weight: None,
            threads: false,
            split: false,
            force: false,
        }
    }

    /// Returns the target.
    ///
    /// # Errors
    /// If neither `--to` nor the output's name says it, or if an option does not go with it.
    pub(super) fn target(&self) -> anyhow::Result<Target> {
        let target = match &self.to {
            Some(name) => Target::by_name(name).ok_or_else(|| anyhow!("no target {name:?}"))?,
            None => self.by_output()?,
        };
        for (option, is_given) in [
            ("--weight", self.weight.is_some()),
            ("--threads", self.threads),
        ] {
            if is_given && target != Target::Collapsed {
                bail!(
                    "{option} goes with collapsed, and not with {}",
                    target.name()
                );
            }
        }
        if self.split && self.output.as_os_str() == "-" {
            bail!("--split writes several files, so it needs the name of a file");
        }
        Ok(target)
    }

    fn by_output(&self) -> anyhow::Result<Target> {
        let name = self.output.file_name().and_then(|name| name.to_str());
        name.and_then(Target::by_file_name).ok_or_else(|| {
            let known = Target::ALL.map(Target::name).join(" or ");
            anyhow!(
                "no target has the extension of {}; add --to {known}",
                self.output.display()
            )
        })
    }

    /// Returns true if only a part of the trace is asked for.
    pub(super) fn selects(&self) -> bool {
        !self.span.is_all()
            || !self.thread.is_empty()
            || !self.class.is_empty()
            || !self.method.is_empty()
            || self.min.is_some()
            || self.depth.is_some()
            || self.top.is_some()
    }

    /// Returns true if the patterns for class and method select a method.
    pub(super) fn has_method(&self, names: &Names, method: MethodId) -> bool {
        selects(&self.class, &self.method, names, method)
    }

    /// Returns the options of the encoder. `top`: the only methods, if they were looked up.
    pub(super) fn options(&self, top: Option<FxHashSet<MethodId>>) -> Options {
        Options {
            filter: self.filter(top),
            weight: self.weight(),
            with_threads: self.threads,
            notes: self.notes(),
        }
    }

    fn weight(&self) -> Weight {
        let name = self.weight.as_deref();
        let found = Weight::ALL.into_iter().find(|w| Some(w.name()) == name);
        found.unwrap_or_default()
    }

    /// Returns the filter of calls.
    pub(super) fn filter(&self, top: Option<FxHashSet<MethodId>>) -> CallFilter {
        let by_name = !self.class.is_empty() || !self.method.is_empty();
        let (class, method) = (self.class.clone(), self.method.clone());
        let methods: Option<MethodFilter> = match top {
            Some(top) => Some(Box::new(move |_, id| top.contains(&id))),
            None if by_name => Some(Box::new(move |names, id| {
                selects(&class, &method, names, id)
            })),
            None => None,
        };
        CallFilter::new(self.min(), self.depth, methods)
    }

    fn min(&self) -> Duration {
        let min = self.min.unwrap_or_default().as_nanos();
        Duration(i64::try_from(min).unwrap_or(i64::MAX))
    }

    /// Returns what is left out, for the reader of the export.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(min) = self.min.filter(|min| !min.is_zero()) {
            let min = duration_text(min);
            notes.push(format!("calls and waits shorter than {min} are left out"));
        }
        if let Some(depth) = self.depth {
            notes.push(format!("only {depth} levels of calls are written"));
        }
        if let Some(top) = self.top {
            notes.push(format!(
                "only calls of the {top} methods with the most self time are written"
            ));
        }
        if !self.class.is_empty() || !self.method.is_empty() {
            notes.push("only calls of selected methods are written".to_owned());
        }
        notes
    }
}

fn selects(class: &[Pattern], method: &[MethodSelector], names: &Names, id: MethodId) -> bool {
    let Some(known) = names.method(id) else {
        return false;
    };
    let of = names.class(known.class);
    (class.is_empty() || class.iter().any(|pattern| pattern.matches(&of)))
        && (method.is_empty() || method.iter().any(|m| m.matches(&of, &known.name)))
}
