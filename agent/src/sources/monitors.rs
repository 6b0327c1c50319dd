//! Monitors: threads that contend for a monitor, and threads that wait on one. Parking uses no
//! monitor; see [`super::parks`].

use super::{Need, Source, Tracer, stack, threads};
use jtrail_jvm::jni::{Env, ObjectRef};
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::record::Code;
use jtrail_records::record::NO_THREAD;

/// The source of `events=monitors`.
pub(super) struct Monitors;

impl Source for Monitors {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::MONITORS)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        vec![
            Need::of(Capability::GenerateMonitorEvents, "report monitors"),
            Need::of(Capability::GetMonitorInfo, "report the owner of a monitor"),
        ]
    }

    fn events(&self, _options: &Options, kinds: Events) -> &'static [Event] {
        match kinds.contains(Events::MONITORS) {
            true => &[
                Event::MonitorContendedEnter,
                Event::MonitorContendedEntered,
                Event::MonitorWait,
                Event::MonitorWaited,
            ],
            false => &[],
        }
    }
}

/// Records an event of a monitor, with the stack.
fn record(
    tracer: &Tracer,
    env: &mut Env<'_>,
    monitor: ObjectRef<'_>,
    code: Code,
    value: impl FnOnce(&mut Env<'_>) -> u64,
) {
    let session = &tracer.session;
    let Some(objects) = tracer.objects.get() else {
        return;
    };
    let Some(buffer) = session.buffer(env) else {
        return;
    };
    let number = objects.mention(session, env, buffer, Some(monitor));
    let depth = session.options.event_frames();
    let value = value(env);
    let payload = stack::payload(tracer, env, number, value, 0, depth);
    session.record(buffer, code, &payload);
}

/// The running thread tries to enter a monitor that another thread owns.
pub(crate) fn contended_enter(tracer: &Tracer, env: &mut Env<'_>, monitor: ObjectRef<'_>) {
    record(tracer, env, monitor, Code::MonitorContendedEnter, |env| {
        let owner = tracer.session.jvmti.monitor_owner(env, monitor);
        let owner = owner.ok().flatten();
        let number = owner.and_then(|owner| threads::number_of(tracer, env, owner));
        number.unwrap_or(NO_THREAD).into()
    });
}

/// The running thread has entered a monitor for which it had to wait.
pub(crate) fn contended_entered(tracer: &Tracer, env: &mut Env<'_>, monitor: ObjectRef<'_>) {
    record(tracer, env, monitor, Code::MonitorContendedEntered, |_| 0);
}

/// The running thread begins to wait on a monitor. `milliseconds` is the timeout; 0 means none.
pub(crate) fn wait(tracer: &Tracer, env: &mut Env<'_>, monitor: ObjectRef<'_>, milliseconds: u64) {
    record(tracer, env, monitor, Code::MonitorWait, |_| milliseconds);
}

/// The running thread has stopped waiting on a monitor.
pub(crate) fn waited(tracer: &Tracer, env: &mut Env<'_>, monitor: ObjectRef<'_>, timed_out: bool) {
    record(tracer, env, monitor, Code::MonitorWaited, |_| {
        timed_out.into()
    });
}
