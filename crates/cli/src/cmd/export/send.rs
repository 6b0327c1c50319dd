//! Sends spans to a collector.

use super::Args;
use crate::otlp::{Endpoint, Sender};
use crate::outcome::Streams;
use crate::output::Temporary;
use anyhow::{Context, bail};
use jtrail_export::otlp_body_len;
use std::fs::File;
use std::io::Read;

/// Number of bytes that are read at a time. A batch has about as many.
const CHUNK: u64 = 1 << 20;

/// Exports to a temporary file, and then sends it. So nothing is sent of an export that fails.
pub(super) fn run(args: &Args, url: &str, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let endpoint = Endpoint::parse(url)?;
    let folder = Temporary::folder().context("can't make a folder for the export")?;
    let file = folder.path().join("spans.otlp.pb");
    let code = super::run(&args.with_output(file.clone()), streams)?;

    let export = File::open(&file).context("can't read the export")?;
    let mut sender = Sender::new(endpoint);
    let (mut bytes, mut requests) = (0, 0_u64);
    bodies(export, |body| {
        sender.send(body)?;
        bytes += body.len() as u64;
        requests += 1;
        Ok(())
    })?;
    if requests == 0 {
        return Ok(code); // an export without spans has been reported
    }
    writeln!(
        streams.err,
        "jtrail: {} in {requests} requests to {url}",
        crate::output::bytes(bytes)
    )?;
    if let Some(message) = &sender.message {
        writeln!(streams.err, "jtrail: {url}: {message}")?;
    }
    if sender.rejected > 0 {
        bail!("{url} has rejected {} spans", sender.rejected);
    }
    Ok(code)
}

/// Passes each batch of an export to `send`. Only one batch is in memory at a time.
fn bodies(
    mut export: impl Read,
    mut send: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let mut at = 0;
        while let Some(len) = otlp_body_len(&buffer[at..]) {
            send(&buffer[at..at + len])?;
            at += len;
        }
        buffer.drain(..at);
        let more = export.by_ref().take(CHUNK).read_to_end(&mut buffer);
        match more.context("can't read the export")? {
            0 if buffer.is_empty() => return Ok(()),
            0 => bail!("the export has no whole request at its end"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a batch with this number of bytes of contents: a field with the number 1.
    fn batch(len: usize) -> Vec<u8> {
        let mut batch = vec![0x0a];
        let mut rest = len;
        while rest >= 0x80 {
            batch.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        batch.push(rest as u8);
        batch.resize(batch.len() + len, 7);
        batch
    }

    /// A reader that returns a few bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let count = to.len().min(10_007);
            self.0.read(&mut to[..count])
        }
    }

    #[test]
    fn batches_are_sent_as_they_are() {
        let lengths = [0, 3 << 20, 1, 127, 128, 70_000, CHUNK as usize, 5];
        let batches: Vec<Vec<u8>> = lengths.into_iter().map(batch).collect();
        let mut sent = Vec::new();
        let take = |body: &[u8]| {
            sent.push(body.to_vec());
            Ok(())
        };
        bodies(Slow(&batches.concat()), take).expect("whole");
        assert!(sent == batches);

        let export = batches.concat();
        let mut count = 0;
        let cut = bodies(&export[..export.len() - 1], |_| {
            count += 1;
            Ok(())
        });
        assert!(cut.is_err());
        assert_eq!(count, batches.len() - 1);
        bodies(&[][..], |_| panic!("nothing is sent")).expect("nothing");
    }

    #[test]
    fn an_error_ends_it() {
        let mut count = 0;
        let done = bodies(&batch(4).repeat(3)[..], |_| {
            count += 1;
            bail!("refused")
        });
        assert_eq!(
            (done.expect_err("refused").to_string().as_str(), count),
            ("refused", 1)
        );
    }
}
