//! Lines for events of the program, threads, classes, methods, objects, collections and monitors.

use super::details;
use super::line::{Quoted, Stack, method};
use jtrail_analysis::Names;
use jtrail_model::{Event, Timestamp};
use std::io::{self, Write};

pub(super) fn write(
    out: &mut dyn Write,
    names: &Names,
    origin: Timestamp,
    event: &Event<'_>,
) -> io::Result<()> {
    let q = |text| Quoted(text);
    match event {
        Event::Node(e) => write!(
            out,
            "node id={} host={} address={} timezone={} time={}",
            q(&e.node_id),
            q(&e.hostname),
            q(&e.ip_address),
            e.timezone,
            e.time
        ),
        Event::ProcessCreate(e) => write!(
            out,
            "process id={} pid={} name={} executable={}",
            q(&e.process_id),
            e.pid,
            q(&e.name),
            q(&e.executable)
        ),
        Event::AgentCreate(e) => write!(
            out,
            "agent id={} name={} type={} version={} options={}",
            q(&e.agent_id),
            q(&e.name),
            q(&e.agent_type),
            q(&e.version),
            q(&e.parameters)
        ),
        Event::AgentDestroy(e) => write!(out, "agent-end id={}", q(&e.agent_id)),
        Event::TraceStart(e) => write!(out, "trace-start id={}", q(&e.trace_id)),
        Event::TraceEnd(_) => write!(out, "trace-end"),
        Event::Filter(e) => write!(
            out,
            "filter class={} class-star={} method={} method-star={} mode={}",
            q(&e.pattern),
            q(&e.generic_pattern),
            q(&e.method_pattern),
            q(&e.method_generic_pattern),
            q(&e.mode)
        ),
        Event::Option(e) => write!(out, "option key={} value={}", q(&e.key), q(&e.value)),
        Event::ThreadStart(e) => write!(
            out,
            "thread-start name={} group={} parent={} object={}",
            q(&e.name),
            q(&e.group),
            q(&e.parent_group),
            e.object
        ),
        Event::ThreadEnd(_) => write!(out, "thread-end"),
        Event::ClassDef(e) => {
            write!(
                out,
                "class id={} name={} source={}",
                e.class,
                q(&e.name),
                q(&e.source_name)
            )?;
            if e.object.is_none() {
                Ok(())
            } else {
                write!(out, " object={}", e.object)
            }
        }
        Event::MethodDef(e) => write!(
            out,
            "method id={} class={} name={} signature={} lines={}-{}",
            e.method,
            Quoted(names.class(e.class)),
            q(&e.name),
            q(&e.signature),
            e.start_line,
            e.end_line
        ),
        Event::ObjectAlloc(e) => {
            write!(
                out,
                "alloc object={} class={} size={}",
                e.object,
                Quoted(names.class(e.class)),
                e.size
            )?;
            write!(out, " kind={} line={}", e.kind.0, e.line)?;
            if e.method.is_none() {
                return Ok(());
            }
            write!(out, " method=")?;
            method(out, names, e.method)
        }
        Event::GcStart(_) => write!(out, "gc-start"),
        Event::ObjectFree(e) => write!(out, "free object={} age={}", e.object, e.age),
        Event::GcFinish(e) => write!(
            out,
            "gc-finish total={} used={} objects={}",
            e.total_space, e.used_space, e.used_objects
        ),
        Event::RuntimeInitDone(_) => write!(out, "init-done"),
        Event::RuntimeShutdown(_) => write!(out, "shutdown"),
        Event::MonitorWait(e) => write!(
            out,
            "wait object={} timeout-ms={} stack={}",
            e.object,
            e.timeout_ms,
            Stack(&e.stack)
        ),
        Event::MonitorWaited(e) => write!(
            out,
            "waited object={} timed-out={} stack={}",
            e.object,
            e.timed_out,
            Stack(&e.stack)
        ),
        Event::MonitorContendedEnter(e) => write!(
            out,
            "blocked object={} owner=#{} stack={}",
            e.object,
            e.owner,
            Stack(&e.stack)
        ),
        Event::MonitorContendedEntered(e) => {
            write!(
                out,
                "unblocked object={} stack={}",
                e.object,
                Stack(&e.stack)
            )
        }
        Event::AggregatedEnter(e) => {
            write!(out, "aggregated-enter ")?;
            method(out, names, e.method)?;
            write!(
                out,
                " calls={} self={} min={} max={} cpu={}",
                e.calls, e.base_time, e.min_time, e.max_time, e.base_cpu_time
            )
        }
        Event::AggregatedLeave(e) => {
            write!(out, "aggregated-leave ")?;
            method(out, names, e.method)
        }
        Event::HeapDump(e) => write!(
            out,
            "heap-dump id={} name={} base={}",
            e.dump,
            q(&e.name),
            e.base_time.since(origin)
        ),
        Event::GcRoot(e) => write!(
            out,
            "root object={} class={} kind={}",
            e.object,
            Quoted(names.class(e.class)),
            q(&e.kind)
        ),
        Event::ObjectReference(e) => {
            write!(
                out,
                "reference from={} to={} dump={}",
                e.source, e.target, e.dump
            )
        }
        Event::Custom(e) => write!(out, "custom text={}", q(&e.body)),
        other => details::write(out, names, other),
    }
}
