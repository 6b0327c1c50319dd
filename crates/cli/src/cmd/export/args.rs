//! Arguments of `export`.

use super::CallSelection;
use anyhow::{anyhow, bail};
use jtrail_export::{Base, Options, OtlpFormat, Target, Weight};
use jtrail_model::MethodId;
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Write a trace in the format of another tool
///
/// The output file has a name that ends in .part until it is complete. Calls that are not selected
/// become part of their callers. What the other format can't store is dropped and counted by kind.
/// If there is more than the tool opens in reasonable time, nothing is written, and the answer is
/// which selections fit.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    pub(super) input: PathBuf,
    /// Format to write [default: by the extension of the output]
    #[arg(long, value_name = "TARGET", value_parser = target_names())]
    to: Option<String>,
    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "send")]
    output: Option<PathBuf>,
    /// Send spans of OpenTelemetry to a collector instead: http://HOST:PORT
    #[arg(long, value_name = "URL", conflicts_with_all = ["output", "split"])]
    pub(super) send: Option<String>,
    #[command(flatten)]
    pub(super) selection: CallSelection,
    /// What call paths are weighted by, for collapsed
    #[arg(long, value_name = "WEIGHT", value_parser = weight_names())]
    weight: Option<String>,
    /// Keep call paths of different threads apart, for collapsed
    #[arg(long)]
    threads: bool,
    /// The trace to compare with, for flame: an earlier one of the same program
    #[arg(long, value_name = "TRACE")]
    pub(super) base: Option<PathBuf>,
    /// Name of the service that spans belong to, for otlp [default: the program's name]
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Write as many files as are needed, each with a part of the time
    #[arg(long, conflicts_with = "force")]
    pub(super) split: bool,
    /// Write one file, even if the tool does not open so large a file
    #[arg(long)]
    pub(super) force: bool,
    /// What exports.
    #[arg(skip)]
    pub(super) caller: Caller,
}

/// What exports a trace: messages propose only what it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Caller {
    /// `jtrail export`, into files.
    #[default]
    Export,
    /// `jtrail export --send`.
    Send,
    /// `jtrail open`.
    Open,
    /// `jtrail convert`.
    Convert,
}

fn target_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Target::ALL.map(Target::name))
}

fn weight_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Weight::ALL.map(Weight::name))
}

impl Args {
    /// Returns arguments of another subcommand that export a selection to a target.
    pub(crate) fn of_selection(
        caller: Caller,
        (input, output): (PathBuf, PathBuf),
        target: Target,
        selection: CallSelection,
        force: bool,
    ) -> Self {
        Self {
            caller,
            input,
            output: Some(output),
            send: None,
            to: Some(target.name().to_owned()),
            selection,
            weight: None,
            threads: false,
            base: None,
            service: None,
            split: false,
            force,
        }
    }

    /// Returns the target.
    ///
    /// # Errors
    /// If neither `--to` nor the output's name says it, or if an option does not go with it.
    pub(super) fn target(&self) -> anyhow::Result<Target> {
        let target = match &self.to {
            Some(name) => Target::by_name(name).ok_or_else(|| anyhow!("no target {name:?}"))?,
            None if self.send.is_some() => Target::Otlp,
            None => self.by_output()?,
        };
        for (option, is_given, only) in [
            ("--weight", self.weight.is_some(), Target::Collapsed),
            ("--threads", self.threads, Target::Collapsed),
            ("--base", self.base.is_some(), Target::Flame),
            ("--service", self.service.is_some(), Target::Otlp),
            ("--send", self.send.is_some(), Target::Otlp),
        ] {
            if is_given && target != only {
                bail!(
                    "{option} goes with {}, and not with {}",
                    only.name(),
                    target.name()
                );
            }
        }
        if self.split && self.output() == Path::new("-") {
            bail!("--split writes several files, so it needs the name of a file");
        }
        Ok(target)
    }

    fn by_output(&self) -> anyhow::Result<Target> {
        by_file_name(self.output()).ok_or_else(|| {
            let known = Target::ALL.map(Target::name).join(" or ");
            anyhow!(
                "no target has the extension of {}; add --to {known}",
                self.output().display()
            )
        })
    }

    /// Returns the traces that are read.
    pub(super) fn inputs(&self) -> Vec<&Path> {
        let base = self.base.as_deref();
        std::iter::once(self.input.as_path()).chain(base).collect()
    }

    /// Returns the path of the output. It is empty with `--send`.
    pub(super) fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new(""))
    }

    /// Returns arguments that write to a file what these ones send.
    pub(super) fn with_output(&self, output: PathBuf) -> Self {
        Self {
            output: Some(output),
            send: None,
            to: Some(Target::Otlp.name().to_owned()),
            caller: Caller::Send,
            ..self.clone()
        }
    }

    /// Returns the options of the encoder. `top`: the only methods, if they were looked up. `base`:
    /// the trace to compare with.
    pub(super) fn options(&self, top: Option<FxHashSet<MethodId>>, base: Option<Base>) -> Options {
        Options {
            title: title(&self.input),
            base: base.map(Arc::new),
            filter: self.selection.filter(top),
            weight: self.weight(),
            with_threads: self.threads,
            otlp_format: OtlpFormat::by_file_name(&self.output().to_string_lossy()),
            service: self.service.clone().unwrap_or_default(),
            notes: self.selection.notes(),
        }
    }

    fn weight(&self) -> Weight {
        let name = self.weight.as_deref();
        let found = Weight::ALL.into_iter().find(|w| Some(w.name()) == name);
        found.unwrap_or_default()
    }
}

/// Returns the target whose files have such a name, which need not be UTF-8.
pub(crate) fn by_file_name(path: &Path) -> Option<Target> {
    Target::by_file_name(&path.file_name()?.to_string_lossy())
}

/// Returns what an export calls a trace: the name of its file.
pub(super) fn title(input: &Path) -> String {
    let name = input.file_name().unwrap_or_default();
    match name.to_string_lossy() {
        name if name == "-" => "standard input".to_owned(),
        name => name.into_owned(),
    }
}
