//! Encoders for the options.

use crate::helpers::Pool;
use jtrail_export::{self as export, CallFilter, Target, left_out};
use jtrail_formats::tracelog::Collection;
use jtrail_formats::{Bounds, Encode, Format, ShortCalls, mlpd, tracelog, trail};
use jtrail_model::Duration;
use jtrail_options::{Events, MlpdVersion, Options, OutputFormat, Weight, duration_text};
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
        OutputFormat::Perfetto => Target::Perfetto.encoder(of_export(options)),
        OutputFormat::Chrome => Target::Chrome.encoder(of_export(options)),
        OutputFormat::Jfr => Target::Jfr.encoder(of_export(options)),
        OutputFormat::Collapsed => Target::Collapsed.encoder(of_export(options)),
        OutputFormat::None => return None,
    })
}

/// Returns the settings of a format of another tool, as `jtrail export` has them.
fn of_export(options: &Options) -> export::Options {
    let min = options.export_min;
    let depth = options.export_depth.map(|levels| levels as usize);
    export::Options {
        filter: CallFilter::new(min.map_or(Duration(0), ns), depth, None),
        weight: match options.weight {
            Weight::SelfTime => export::Weight::SelfTime,
            Weight::Cpu => export::Weight::Cpu,
            Weight::Calls => export::Weight::Calls,
            Weight::Allocated => export::Weight::Allocated,
            Weight::Blocked => export::Weight::Blocked,
            Weight::Waiting => export::Weight::Waiting,
        },
        with_threads: options.with_threads,
        notes: left_out(min.map(duration_text).as_deref(), depth),
        ..export::Options::default()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{
        CallStep, Calls, ClassDef, ClassId, Event, MethodDef, MethodId, ThreadId, ThreadStart,
        Timestamp,
    };

    /// Names of weights are the same for the agent and for `jtrail export`.
    #[test]
    fn weights_are_those_of_exports() {
        let names = export::Weight::ALL.map(export::Weight::name);
        assert_eq!(Weight::WORDS, names);
        for word in Weight::WORDS {
            let weight = Weight::parse(word).expect("a weight");
            let mut options = Options::default();
            options.weight = weight;
            assert_eq!(of_export(&options).weight.name(), *word);
        }
    }

    /// Returns what is written of a call of `f` that calls `g` twice, for 2 and 50 µs.
    fn written(text: &str) -> String {
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let options = jtrail_options::parse(text, &no_files).expect("right");
        let mut encoder = encoder(&options, &Arc::default()).expect("written");
        let mut out = Vec::new();
        encoder.begin(&mut out);
        let class = ClassId(1);
        let method = |id, name: &'static str| {
            Event::MethodDef(MethodDef {
                method: MethodId(id),
                class,
                name: name.into(),
                signature: "()V".into(),
                ..MethodDef::default()
            })
        };
        for event in [
            Event::ThreadStart(ThreadStart {
                thread: ThreadId(1),
                time: Timestamp(1_000),
                name: "main".into(),
                ..ThreadStart::default()
            }),
            Event::ClassDef(ClassDef {
                class,
                name: "a.B".into(),
                ..ClassDef::default()
            }),
            method(1, "f"),
            method(2, "g"),
        ] {
            encoder.event(&event, &mut out);
        }
        let step = |ends, ns: i64, method, ticket| CallStep {
            ends,
            time: Timestamp(1_000_000 + ns),
            method: MethodId(method),
            ticket,
            ..CallStep::default()
        };
        let steps = [
            step(false, 0, 1, 1),
            step(false, 1_000, 2, 2),
            step(true, 3_000, 2, 2),
            step(false, 10_000, 2, 3),
            step(true, 60_000, 2, 3),
            step(true, 100_000, 1, 1),
        ];
        encoder.calls(
            &Calls {
                thread: ThreadId(1),
                cpu_time: Duration(0),
                ticket: 0,
                depth: 0,
                steps: &steps,
            },
            &mut out,
        );
        encoder.end(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn options_of_exports_select_what_is_written() {
        for (options, expected) in [
            (
                "collapsed.weight=self",
                "a.B.f() 48000\na.B.f();a.B.g() 52000\n",
            ),
            ("collapsed.weight=calls", "a.B.f() 1\na.B.f();a.B.g() 2\n"),
            (
                "collapsed.weight=calls,collapsed.threads=true",
                "[main];a.B.f() 1\n[main];a.B.f();a.B.g() 2\n",
            ),
            ("export.min=3us", "a.B.f() 50000\na.B.f();a.B.g() 50000\n"),
            ("export.depth=1", "a.B.f() 100000\n"),
            // Of sums, only those are left out that are short on average.
            (
                "min=5us,collapsed.weight=calls",
                "a.B.f() 1\na.B.f();a.B.g() 2\n",
            ),
            (
                "min=5us,export.min=3us,collapsed.weight=calls",
                "a.B.f() 1\na.B.f();a.B.g() 1\n",
            ),
        ] {
            let text = written(&format!("format=collapsed,{options}"));
            assert_eq!(text, expected, "{options}");
        }
    }

    #[test]
    fn an_export_says_what_is_left_out() {
        let text = written("format=chrome,export.min=3us,export.depth=7");
        for note in [
            "jtrail: calls and waits shorter than 3us are left out",
            "jtrail: only 7 levels of calls are written",
        ] {
            assert!(text.contains(note), "{text}");
        }
        assert!(!written("format=chrome").contains("jtrail: "));
    }
}
