//! Encoders for the options.

use crate::helpers::Pool;
use jtrail_export::{self as export, Target};
use jtrail_formats::tracelog::Collection;
use jtrail_formats::{Bounds, Encode, Format, ShortCalls, mlpd, tracelog, trail};
use jtrail_model::Duration;
use jtrail_options::{Events, MlpdVersion, Options, OutputFormat};
use std::sync::Arc;

/// Returns the encoder for the options, or `None` if nothing is written. `helpers` may do some of
/// the encoder's work.
pub(super) fn encoder(options: &Options, helpers: &Arc<Pool>) -> Option<Box<dyn Encode>> {
    let encoder = encoder_of_all(options, helpers)?;
    let bounds = Bounds {
        min: options.min.map_or(Duration(0), ns),
        rate: options.max_rate,
    };
    Some(match bounds.is_any() && !options.is_of_sums() {
        true => Box::new(ShortCalls::new(encoder, bounds)),
        false => encoder,
    })
}

fn ns(time: std::time::Duration) -> Duration {
    Duration(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

/// Returns an encoder that writes each call.
fn encoder_of_all(options: &Options, helpers: &Arc<Pool>) -> Option<Box<dyn Encode>> {
    Some(match options.format {
        OutputFormat::Mlpd => Box::new(mlpd::Encoder::new(match options.mlpd {
            MlpdVersion::V1 => mlpd::DataVersion::V1,
            MlpdVersion::V17 => mlpd::DataVersion::V17,
        })),
        OutputFormat::TraceLog => Box::new(tracelog::Encoder::new(trace_log(options))),
        OutputFormat::Xml => Format::TptpXml.encoder(),
        OutputFormat::Binary => Format::TptpBinary.encoder(),
        OutputFormat::Jinsight => Format::Jinsight.encoder(),
        OutputFormat::ProfilerJ => Format::ProfilerJ.encoder(),
        OutputFormat::Trail => {
            helpers.start(options.writers);
            Box::new(trail::Encoder::with_helpers(Arc::clone(helpers) as _))
        }
        OutputFormat::Perfetto => Target::Perfetto.encoder(export::Options::default()),
        OutputFormat::Chrome => Target::Chrome.encoder(export::Options::default()),
        OutputFormat::Jfr => Target::Jfr.encoder(export::Options::default()),
        OutputFormat::Collapsed => Target::Collapsed.encoder(export::Options::default()),
        OutputFormat::None => return None,
    })
}

/// Returns the settings of a trace log.
fn trace_log(options: &Options) -> tracelog::Settings {
    let has = |events| options.events.contains(events);
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let live_tables = has(Events::FREE);
    tracelog::Settings {
        collection: if has(Events::METHODS) {
            Collection::Instrumentation
        } else if has(Events::SAMPLES) {
            Collection::Sampling
        } else {
            Collection::None
        },
        sampling_interval_ms: match has(Events::SAMPLES) {
            true => ms(options.interval),
            false => 0,
        },
        high_granularity: options.every_sample,
        suspended_on_start: options.has_bursts(),
        process_cpu: has(Events::CPU),
        thread_cpu: has(Events::CPU),
        cpu_interval_ms: ms(options.cpu_interval),
        memory: has(Events::ALLOC),
        gc: has(Events::GC) || live_tables,
        live_tables,
        code_maps: has(Events::JIT),
        os_thread_ids: options.visual_studio,
    }
}

/// Returns true if the format was designed for jtrail's events, so that it lacks only a few fields.
pub(super) fn is_ours(format: OutputFormat) -> bool {
    matches!(
        format,
        OutputFormat::Xml | OutputFormat::Binary | OutputFormat::Trail
    )
}

/// Returns true if the format contains texts, and so notes of jtrail.
pub fn has_notes(format: OutputFormat) -> bool {
    is_ours(format)
        || matches!(
            format,
            OutputFormat::Jinsight
                | OutputFormat::Perfetto
                | OutputFormat::Chrome
                | OutputFormat::Jfr
        )
}

/// Returns true if the format can be read up to any point, even when a write was incomplete.
pub(super) fn reads_cut(format: OutputFormat) -> bool {
    matches!(
        format,
        OutputFormat::ProfilerJ | OutputFormat::Trail | OutputFormat::Perfetto
    )
}
