//! Option text that is passed to the agent.

use super::AgentOptions;
use anyhow::{Context, anyhow};
use jtrail_options::{OutputFormat, escape};
use std::ffi::OsStr;
use std::path::Path;

/// The format of a trace if the options do not name a format.
///
/// It is the smallest format. It also allows to recover the trace of a killed program.
pub(super) const FORMAT: OutputFormat = OutputFormat::Trail;

/// Rule for the name of the trace file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Naming {
    /// The name in the options, or `trace.trail` without one.
    Plain,
    /// The name in the options, or `trace-%p.trail` without one.
    WithPid,
    /// The name in the options, with the process id added: `app-%p.trail` for `app.trail`.
    ///
    /// Needed if several JVMs may write a trace.
    AlwaysWithPid,
}

/// Like [`option_text_for`], but for a JVM that has the same file paths as this program.
pub(crate) fn option_text(
    given: AgentOptions,
    naming: Naming,
) -> anyhow::Result<(String, jtrail_options::Options)> {
    option_text_for(given, naming, &mut |_, path| Ok(path.to_owned()))
}

/// Returns the agent's option text and the parsed options, after validation.
///
/// In the text, the format is added, and paths are absolute. `name_of(key, path)` translates a path
/// of this program to the JVM's view. The parsed options contain this program's paths.
pub(crate) fn option_text_for(
    given: AgentOptions,
    naming: Naming,
    name_of: &mut dyn FnMut(&str, &str) -> anyhow::Result<String>,
) -> anyhow::Result<(String, jtrail_options::Options)> {
    let mut pairs = given.pairs;
    if !pairs.iter().any(|(key, _)| key == "format") {
        pairs.insert(0, ("format".to_owned(), FORMAT.word().to_owned()));
    }
    let here = std::env::current_dir().context("the current directory no longer exists")?;
    let here = here
        .to_str()
        .ok_or_else(|| anyhow!("the current directory's name is not UTF-8"))?;
    let options = validate(&pairs)?;
    match pairs.iter_mut().find(|(key, _)| key == "file") {
        Some((_, file)) => {
            *file = absolute(here, file);
            if naming == Naming::AlwaysWithPid {
                *file = with_pid(file);
            }
        }
        None if options.format != OutputFormat::None => {
            let name = match naming {
                Naming::Plain => options.file.text().to_owned(),
                Naming::WithPid | Naming::AlwaysWithPid => {
                    format!("trace-%p.{}", options.format.extension())
                }
            };
            pairs.push(("file".to_owned(), absolute(here, &name)));
        }
        None => {}
    }
    for (key, path) in &mut pairs {
        if matches!(key.as_str(), "filters" | "options") && Path::new(path.as_str()).is_relative() {
            *path = format!("{here}/{path}");
        }
    }
    if let Some((_, path)) = pairs
        .iter_mut()
        .find(|(key, path)| key == "control" && path != "off")
    {
        *path = absolute(here, path);
    }
    let options = validate(&pairs)?;
    for (key, path) in &mut pairs {
        let is_path = jtrail_options::find(key).is_some_and(|key| key.is_path);
        if is_path && !(key == "control" && path == "off") {
            *path = name_of(key, path)?;
        }
    }
    Ok((join(&pairs), options))
}

fn join(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{key}={}", escape(value)))
        .collect();
    pairs.join(",")
}

fn validate(pairs: &[(String, String)]) -> anyhow::Result<jtrail_options::Options> {
    let options = jtrail_options::parse(&join(pairs), &jtrail_options::read_file);
    options.map_err(|error| match error.key() {
        Some(key) => anyhow!("--{key}: {}", error.problem()),
        None => anyhow!("{error}"),
    })
}

/// Returns a file pattern that contains the process id: `app-%p.trail` for `app.trail`.
///
/// Returns paths of devices and other special files unchanged.
fn with_pid(file: &str) -> String {
    let path = Path::new(file);
    let is_special = || {
        let name = file.replace("%%", "%");
        // `/dev/stdout` may point to a regular file.
        let is_devices = ["/dev/", "/proc/"]
            .iter()
            .any(|folder| name.starts_with(folder));
        is_devices || std::fs::metadata(name).is_ok_and(|found| !found.is_file())
    };
    if file == "-" || file.replace("%%", "").contains("%p") || is_special() {
        return file.to_owned();
    }
    let part = |part: Option<&OsStr>| part.and_then(OsStr::to_str).unwrap_or_default().to_owned();
    let extension = match part(path.extension()) {
        extension if extension.is_empty() => extension,
        extension => format!(".{extension}"),
    };
    let name = format!("{}-%p{extension}", part(path.file_stem()));
    path.with_file_name(name).to_string_lossy().into_owned()
}

/// Returns a file pattern that does not depend on the program's current directory.
pub(crate) fn absolute(here: &str, file: &str) -> String {
    if file == "-" || file.is_empty() || Path::new(file).is_absolute() {
        return file.to_owned();
    }
    format!("{}/{file}", here.replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pairs: &[(&str, &str)], direct: bool) -> Result<String, String> {
        let pairs = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let here = std::env::current_dir().expect("there is one");
        let naming = match direct {
            true => Naming::Plain,
            false => Naming::WithPid,
        };
        option_text(AgentOptions { pairs }, naming)
            .map(|(text, _)| text.replace(here.to_str().expect("UTF-8"), "HERE"))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn format_and_file_are_settled() {
        for (pairs, direct, expected) in [
            (&[][..], true, "format=trail,file=HERE/trace.trail"),
            (&[], false, "format=trail,file=HERE/trace-%p.trail"),
            (
                &[("format", "xml")],
                true,
                "format=xml,file=HERE/trace.trcxml",
            ),
            (&[("format", "none")], true, "format=none"),
            (&[("file", "-")], true, "format=trail,file=-"),
            (&[("file", "a,b")], true, "format=trail,file=\"HERE/a,b\""),
            (&[("file", "/x/%p")], false, "format=trail,file=/x/%p"),
            (
                &[("exclude", "a.*"), ("include", "b.*")],
                true,
                "format=trail,exclude=a.*,include=b.*,file=HERE/trace.trail",
            ),
        ] {
            assert_eq!(text(pairs, direct), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn the_process_id_goes_into_a_name_without_it() {
        for (file, expected) in [
            ("/x/app.trail", "/x/app-%p.trail"),
            ("/x/app", "/x/app-%p"),
            ("/x/a.b.trail", "/x/a.b-%p.trail"),
            ("/x.y/app", "/x.y/app-%p"),
            ("/x/%t.trail", "/x/%t-%p.trail"),
            ("/x/%%p.trail", "/x/%%p-%p.trail"),
            ("/x/%p.trail", "/x/%p.trail"),
            ("/x/%%%p", "/x/%%%p"),
            ("-", "-"),
            ("/dev/null", "/dev/null"),
            ("/dev/stdout", "/dev/stdout"),
            ("/proc/self/fd/1", "/proc/self/fd/1"),
        ] {
            assert_eq!(with_pid(file), expected, "{file}");
        }
    }

    #[test]
    fn wrong_options_name_the_argument() {
        for (pairs, expected) in [
            (
                [("format", "binry")],
                "--format: no such value \"binry\"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none; did you mean \"binary\"?",
            ),
            (
                [("tick", "1us")],
                "--tick: \"1us\" is out of bounds; allowed is 10us to 10ms",
            ),
            ([("file", "")], "--file: the path is missing"),
            (
                [("buffer", "1k")],
                "--buffer: \"1k\" is out of bounds; allowed is 1m to 64g",
            ),
        ] {
            assert_eq!(text(&pairs, true), Err(expected.to_owned()));
        }
    }
}
