//! `jtrail request`: makes the agent in a running JVM write its data.

use crate::attach::Jvm;
use crate::outcome::Streams;

/// Ask the agent in a running JVM for its data
///
/// The agent writes the newest events (overflow=ring with save=request), a snapshot of the heap
/// (events=heap with heap=request), or the document so far (format=profilerj). It reports the
/// result on the program's standard error. No command channel is needed, because the request goes
/// to the JVM itself, like with jcmd PID JVMTI.data_dump.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Process id of the JVM
    #[arg(value_name = "PID")]
    pid: u32,
}

pub(crate) fn run(args: Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    Jvm::find(args.pid)?.request_data()?;
    writeln!(
        streams.err,
        "jtrail: JVM {} has asked its agents for their data",
        args.pid
    )?;
    Ok(crate::outcome::SOUND)
}
