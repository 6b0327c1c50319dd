//! What the tests of codecs share.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test file uses a part of it"
)]

use jtrail_formats::{DecodeError, Decoded, Encode, Format, Remark, Severity, Step, tptp};
use jtrail_model::*;

pub mod layout;

/// A decoded trace. Events are compared by what `Debug` shows of them, which is everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decoding {
    pub events: Vec<String>,
    pub remarks: Vec<Remark>,
    pub error: Option<DecodeError>,
}

impl Decoding {
    pub fn count(&self, severity: Severity) -> usize {
        self.remarks
            .iter()
            .filter(|r| r.severity == severity)
            .count()
    }

    /// The only remark of that severity.
    pub fn only(&self, severity: Severity) -> (u64, &str) {
        let mut found = self.remarks.iter().filter(|r| r.severity == severity);
        match (found.next(), found.next()) {
            (Some(remark), None) => (remark.offset, &remark.message),
            _ => panic!("not one {severity:?} in {self:#?}"),
        }
    }

    /// The error.
    pub fn refused(&self) -> (u64, &str) {
        let error = self.error.as_ref().expect("an error");
        (error.offset, &error.message)
    }

    pub fn is_clean(&self) -> bool {
        self.remarks.is_empty() && self.error.is_none()
    }
}

pub fn decode(format: Format, bytes: &[u8]) -> Decoding {
    decode_pieces(format, bytes, bytes.len().max(1))
}

/// Decodes bytes that come in pieces of a size. Tests on the way what every decoder promises.
pub fn decode_pieces(format: Format, bytes: &[u8], piece: usize) -> Decoding {
    let mut decoding = Decoding::default();
    let mut decoder = format.decoder();
    let (mut start, mut end) = (0, 0);
    // A step uses input, hands something out, or asks for more: that bounds the number of steps.
    let mut idle = 0;
    loop {
        let last = end == bytes.len();
        let Decoded { used, step } = match decoder.step(&bytes[start..end], last) {
            Ok(decoded) => decoded,
            Err(error) => {
                decoding.error = Some(error);
                break;
            }
        };
        assert!(used <= end - start, "more used than given");
        let asks = matches!(step, Step::NeedMore);
        idle = if used > 0 || asks { 0 } else { idle + 1 };
        assert!(idle < 50_000, "no progress at {start}");
        start += used;
        match step {
            Step::Event(event) => decoding.events.push(format!("{event:?}")),
            Step::Remark(remark) => decoding.remarks.push(remark),
            Step::Nothing => {}
            Step::NeedMore => {
                assert!(!last, "asks for more than there is");
                end = bytes.len().min(end + piece);
            }
            Step::End => {
                assert_eq!(start, bytes.len(), "ends before the input does");
                break;
            }
        }
    }
    // Done is done.
    assert!(matches!(
        decoder.step(&[], true),
        Ok(Decoded {
            used: 0,
            step: Step::End
        }) | Err(_)
    ));
    decoding
}

pub fn encoded<'e, 'a: 'e>(
    format: Format,
    events: impl IntoIterator<Item = &'e Event<'a>>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = format.encoder();
    encoder.begin(&mut out);
    for event in events {
        encoder.event(event, &mut out);
    }
    encoder.end(&mut out);
    assert_eq!(encoder.dropped(), 0);
    out
}

/// Decodes a trace without remarks, and encodes its events again.
pub fn recoded(from: Format, bytes: &[u8], to: Format) -> Vec<u8> {
    let (mut decoder, mut encoder) = (from.decoder(), to.encoder());
    let mut out = Vec::new();
    encoder.begin(&mut out);
    let mut rest = bytes;
    loop {
        let Decoded { used, step } = decoder.step(rest, true).expect("a sound trace");
        rest = &rest[used..];
        match step {
            Step::Event(event) => encoder.event(&event, &mut out),
            Step::Nothing => {}
            Step::End => break,
            other => panic!("{other:?}"),
        }
    }
    encoder.end(&mut out);
    out
}

pub fn shown(events: &[Event<'_>]) -> Vec<String> {
    events.iter().map(|e| format!("{e:?}")).collect()
}

/// A binary message of ours, without the stream around it.
pub fn message(event: &Event<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    tptp::binary::Encoder::default().event(event, &mut out);
    out
}

/// A sound trace with all thirty events, and every field set that a format can hold.
pub fn every_event() -> Vec<Event<'static>> {
    let t = |n: i64| Timestamp(1_700_000_000_000_000_000 + n * 1000 + 7);
    let (thread, other) = (ThreadId(1), ThreadId(2));
    let (class, method) = (ClassId(3), MethodId(5));
    let stack = || {
        vec![
            Frame {
                method: "java.lang.Object.wait(J)V".into(),
                line: -2,
            },
            Frame {
                method: "a.B.<init>([Ljava/lang/String;)V".into(),
                line: 14,
            },
            Frame {
                method: "a.B.<clinit>()V".into(),
                line: -1,
            },
        ]
    };
    vec![
        Event::Node(Node {
            node_id: "6f1c".into(),
            hostname: "höst \"a\" & <b>".into(),
            ip_address: "10.0.0.1,127.0.0.1".into(),
            timezone: -480,
            time: t(0),
        }),
        Event::ProcessCreate(ProcessCreate {
            process_id: "p".into(),
            name: "java".into(),
            pid: 4711,
            node_id: "6f1c".into(),
            time: t(1),
            executable: "/usr/bin/java".into(),
        }),
        Event::AgentCreate(AgentCreate {
            agent_id: "a".into(),
            process_id: "p".into(),
            name: "jtrail".into(),
            agent_type: "Profiler".into(),
            time: t(2),
            parameters: "format=binary,file=a b.trcbin".into(),
            version: "0.1.0".into(),
        }),
        Event::TraceStart(TraceStart {
            trace_id: "t".into(),
            agent_id: "a".into(),
            time: t(3),
        }),
        Event::Filter(Filter {
            trace_id: "".into(),
            pattern: "org.a".into(),
            generic_pattern: "SUFFIX".into(),
            mode: "INCLUDE".into(),
            method_pattern: "".into(),
            method_generic_pattern: "PREFIX".into(),
            method_mode: "INCLUDE".into(),
        }),
        Event::Option(TraceOption {
            key: "CPU_TIME".into(),
            value: "true".into(),
        }),
        Event::ThreadStart(ThreadStart {
            thread,
            time: t(4),
            group: "main".into(),
            parent_group: "system".into(),
            object: ObjectId(7),
            name: "main\tthread".into(),
        }),
        Event::ThreadStart(ThreadStart {
            thread: other,
            time: t(4),
            ..Default::default()
        }),
        Event::RuntimeInitDone(RuntimeInitDone { thread, time: t(5) }),
        Event::ClassDef(ClassDef {
            class,
            thread,
            time: t(6),
            name: "a.B$1".into(),
            source_name: "B.java".into(),
            object: ObjectId(8),
        }),
        Event::MethodDef(MethodDef {
            method: MethodId(4),
            class,
            name: "<init>".into(),
            signature: "(I)V".into(),
            start_line: 10,
            end_line: 12,
        }),
        Event::MethodDef(MethodDef {
            method,
            class,
            name: "run".into(),
            signature: "()V".into(),
            ..Default::default()
        }),
        Event::ObjectAlloc(ObjectAlloc {
            thread,
            time: t(7),
            kind: ObjectKind::LONG,
            object: ObjectId(9),
            size: 24,
            line: 11,
            method: MethodId(4),
            class,
        }),
        Event::MethodEnter(MethodEnter {
            thread,
            time: t(8),
            method,
            class,
            ticket: 1,
            cpu_time: Duration(23_999),
            stack_depth: 1,
        }),
        Event::MonitorWait(MonitorWait {
            thread,
            time: t(9),
            object: ObjectId(9),
            timeout_ms: 250,
            stack: stack(),
        }),
        Event::MonitorWaited(MonitorWaited {
            thread,
            time: t(10),
            object: ObjectId(9),
            timed_out: 1,
            stack: Vec::new(),
        }),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: other,
            time: t(11),
            object: ObjectId(9),
            owner: thread,
            stack: stack(),
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: other,
            time: t(12),
            object: ObjectId(9),
            stack: stack(),
        }),
        Event::MethodLeave(MethodLeave {
            thread,
            time: t(13),
            method,
            class,
            ticket: 1,
            cpu_time: Duration(24_000),
            by_exception: false,
        }),
        Event::GcStart(GcStart { time: t(14) }),
        Event::ObjectFree(ObjectFree {
            time: t(15),
            object: ObjectId(9),
            age: 3,
        }),
        Event::GcFinish(GcFinish {
            time: t(15),
            total_space: 1 << 30,
            used_space: 12_345,
            used_objects: 99,
        }),
        Event::HeapDump(HeapDump {
            dump: HeapDumpId(10),
            time: t(16),
            name: "dump".into(),
            base_time: t(3),
        }),
        Event::GcRoot(GcRoot {
            class,
            object: ObjectId(8),
            kind: "SYSTEM_CLASS".into(),
        }),
        Event::ObjectReference(ObjectReference {
            source: ObjectId(8),
            target: ObjectId(7),
            dump: HeapDumpId(10),
        }),
        Event::Custom(Custom {
            body: "free text, \n with a line feed".into(),
        }),
        Event::AggregatedEnter(AggregatedEnter {
            thread: other,
            method,
            base_time: Duration(5),
            min_time: Duration(2),
            max_time: Duration(3),
            base_cpu_time: Duration(4),
            calls: 2,
        }),
        Event::AggregatedLeave(AggregatedLeave {
            thread: other,
            method,
        }),
        Event::ThreadEnd(ThreadEnd {
            thread: other,
            time: t(17),
        }),
        Event::RuntimeShutdown(RuntimeShutdown {
            thread,
            time: t(18),
        }),
        Event::TraceEnd(TraceEnd {
            trace_id: "t".into(),
            time: t(19),
        }),
        Event::AgentDestroy(AgentDestroy {
            agent_id: "a".into(),
            time: t(20),
        }),
    ]
}
