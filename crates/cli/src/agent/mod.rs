//! The path of the agent's library and the option text, for the subcommands that start an agent.
//!
//! | Module | Does |
//! |---|---|
//! | `args` | `--KEY VALUE` for each key of the agent's options |
//! | `options` | text of the options that is passed to the agent |

mod args;
mod options;

pub(crate) use args::AgentOptions;
pub(crate) use options::{Naming, absolute, option_text, option_text_for};

use anyhow::{Context, anyhow};
use std::env::{self, consts};
use std::path::{Path, PathBuf};

/// Returns the path of the agent's library.
///
/// The path is `given`, else the value of `JTRAIL_AGENT`. If neither is set, the library is
/// searched in this program's folder and in `../lib`.
pub(crate) fn find_agent(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let named = given.map(|p| (p, "--agent")).or_else(|| {
        let path = env::var_os("JTRAIL_AGENT").filter(|p| !p.is_empty())?;
        Some((PathBuf::from(path), "JTRAIL_AGENT"))
    });
    if let Some((path, by)) = named {
        return path
            .canonicalize()
            .with_context(|| format!("no agent at {} (named by {by})", path.display()));
    }
    let name = format!("{}jtrail{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    let program = env::current_exe()
        .and_then(|p| p.canonicalize())
        .context("can't find out where this program is; name the agent with --agent")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(&name), folder.join("../lib").join(&name)];
    places
        .iter()
        .find_map(|p| p.canonicalize().ok())
        .ok_or_else(|| {
            anyhow!(
                "no {name} in {} or its ../lib; name it with --agent or JTRAIL_AGENT",
                folder.display()
            )
        })
}
