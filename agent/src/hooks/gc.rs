//! Garbage collections. These callbacks run while the program is stopped, on a thread of the JVM's own; they may
//! call neither JNI nor most of JVMTI.

use super::record;
use crate::agent;
use crate::buffer::record::Code;
use crate::guard;
use crate::jvmti::abi::RawEnv;

pub(super) unsafe extern "system" fn start(_jvmti: RawEnv) {
    guard::run("a collection's start", || {
        let Some(agent) = agent::get() else { return };
        let objects = agent.objects.as_ref().map_or(0, |objects| objects.count());
        record(agent, agent.native_buffer(), Code::GcStart, &[objects]);
    });
}

pub(super) unsafe extern "system" fn finish(_jvmti: RawEnv) {
    guard::run("a collection's finish", || {
        let Some(agent) = agent::get() else { return };
        record(agent, agent.native_buffer(), Code::GcFinish, &[0, 0]);
    });
}
