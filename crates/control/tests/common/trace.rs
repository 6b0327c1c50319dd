//! A sound trace of any length.

use jtrail_formats::{Encode, Format};
use jtrail_model::*;
use jtrail_options::OutputFormat;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// The number of call pairs that are written at once.
const BATCH: u64 = 200;

pub(crate) struct Writing {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) paused: Arc<AtomicBool>,
    pub(crate) events: Arc<AtomicU64>,
}

pub(crate) fn format(format: OutputFormat) -> Format {
    match format {
        OutputFormat::Xml => Format::TptpXml,
        OutputFormat::Binary | OutputFormat::None => Format::TptpBinary,
        OutputFormat::Jinsight => Format::Jinsight,
        OutputFormat::Mlpd => Format::Mlpd,
        OutputFormat::TraceLog => Format::TraceLog,
        OutputFormat::ProfilerJ => Format::ProfilerJ,
        OutputFormat::Trail => Format::Trail,
        OutputFormat::Perfetto
        | OutputFormat::Chrome
        | OutputFormat::Jfr
        | OutputFormat::Collapsed => panic!("{format} is not read"),
    }
}

fn time(ns: i64) -> Timestamp {
    Timestamp(1_700_000_000_000_000_000 + ns)
}

fn opening() -> Vec<Event<'static>> {
    let method = |id, name: &'static str| {
        Event::MethodDef(MethodDef {
            method: MethodId(id),
            name: name.into(),
            signature: "()V".into(),
            class: ClassId(3),
            ..MethodDef::default()
        })
    };
    vec![
        Event::Node(Node {
            node_id: "n1".into(),
            hostname: "host".into(),
            ip_address: "127.0.0.1".into(),
            timezone: 0,
            time: time(0),
        }),
        ProcessCreate {
            process_id: "p1".into(),
            pid: 4711,
            node_id: "n1".into(),
            time: time(0),
            ..ProcessCreate::default()
        }
        .into(),
        AgentCreate {
            agent_id: "a1".into(),
            process_id: "p1".into(),
            name: "fake".into(),
            agent_type: "Profiler".into(),
            time: time(0),
            parameters: "".into(),
            version: "0.1.0".into(),
        }
        .into(),
        Event::TraceStart(TraceStart {
            trace_id: "t1".into(),
            agent_id: "a1".into(),
            time: time(1_000),
        }),
        Event::ThreadStart(ThreadStart {
            thread: ThreadId(1),
            time: time(2_000),
            name: "main".into(),
            ..ThreadStart::default()
        }),
        Event::ClassDef(ClassDef {
            class: ClassId(3),
            time: time(3_000),
            name: "com.acme.Main".into(),
            ..ClassDef::default()
        }),
        method(4, "outer"),
        method(5, "inner"),
    ]
}

fn call(enter: bool, ns: i64, method: u64, ticket: u32, depth: i64) -> Event<'static> {
    if enter {
        Event::MethodEnter(MethodEnter {
            thread: ThreadId(1),
            time: time(ns),
            method: MethodId(method),
            class: ClassId(3),
            ticket,
            stack_depth: depth,
            ..MethodEnter::default()
        })
    } else {
        Event::MethodLeave(MethodLeave {
            thread: ThreadId(1),
            time: time(ns),
            method: MethodId(method),
            class: ClassId(3),
            ticket,
            ..MethodLeave::default()
        })
    }
}

impl Writing {
    /// Writes a trace until `stop` is set.
    pub(crate) fn run(self, to: OutputFormat, mut output: impl Write) -> io::Result<()> {
        let mut encoder = format(to).encoder();
        let mut bytes = Vec::new();
        encoder.begin(&mut bytes);
        for event in opening() {
            encoder.event(&event, &mut bytes);
        }
        output.write_all(&bytes)?;
        let mut nth = 0;
        loop {
            // At least one batch is written, so that every trace has a call.
            if !self.paused.load(SeqCst) || nth == 0 {
                nth = self.batch(nth, &mut *encoder, &mut output)?;
            }
            if self.stop.load(SeqCst) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut bytes = Vec::new();
        let end = time(10_000 + nth as i64 * 1_000);
        encoder.event(
            &Event::TraceEnd(TraceEnd {
                trace_id: "t1".into(),
                time: end,
            }),
            &mut bytes,
        );
        encoder.event(
            &Event::AgentDestroy(AgentDestroy {
                agent_id: "a1".into(),
                time: end,
            }),
            &mut bytes,
        );
        encoder.end(&mut bytes);
        output.write_all(&bytes)
    }

    fn batch(
        &self,
        first: u64,
        encoder: &mut dyn Encode,
        output: &mut impl Write,
    ) -> io::Result<u64> {
        let mut bytes = Vec::new();
        for nth in first..first + BATCH {
            let (ns, ticket) = (10_000 + nth as i64 * 1_000, nth as u32 * 2 + 1);
            for event in [
                call(true, ns, 4, ticket, 1),
                call(true, ns + 100, 5, ticket + 1, 2),
                call(false, ns + 200, 5, ticket + 1, 0),
                call(false, ns + 300, 4, ticket, 0),
            ] {
                encoder.event(&event, &mut bytes);
            }
        }
        encoder.flush(&mut bytes);
        output.write_all(&bytes)?;
        self.events.fetch_add(BATCH * 4, SeqCst);
        Ok(first + BATCH)
    }
}
