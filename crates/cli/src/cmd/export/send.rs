//! Sends spans to a collector.

use super::Args;
use crate::otlp::{Endpoint, Sender};
use crate::outcome::Streams;
use crate::output::Temporary;
use anyhow::{Context, bail};
use jtrail_export::otlp_body_len;
use std::fs;

/// Exports to a temporary file, and then sends it. So nothing is sent of an export that fails.
pub(super) fn run(args: &Args, url: &str, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let endpoint = Endpoint::parse(url)?;
    let folder = Temporary::folder().context("can't make a folder for the export")?;
    let file = folder.path().join("spans.otlp.pb");
    let code = super::run(&args.with_output(file.clone()), streams)?;

    let bytes = fs::read(&file).context("can't read the export")?;
    if bytes.is_empty() {
        return Ok(code); // which has been reported
    }
    let mut sender = Sender::new(endpoint);
    let (mut rest, mut requests) = (&bytes[..], 0);
    while !rest.is_empty() {
        let Some((body, after)) = otlp_body_len(rest).and_then(|len| rest.split_at_checked(len))
        else {
            bail!("the export has no whole request at its end");
        };
        sender.send(body)?;
        (rest, requests) = (after, requests + 1);
    }
    writeln!(
        streams.err,
        "jtrail: {} in {requests} requests to {url}",
        crate::output::bytes(bytes.len() as u64)
    )?;
    if let Some(message) = &sender.message {
        writeln!(streams.err, "jtrail: {url}: {message}")?;
    }
    if sender.rejected > 0 {
        bail!("{url} has rejected {} spans", sender.rejected);
    }
    Ok(code)
}
