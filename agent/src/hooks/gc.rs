//! Garbage collections. These callbacks run while the program is stopped, on a thread of the JVM's own; they may
//! call neither JNI nor most of JVMTI.

use super::record;
use crate::agent;
use crate::buffer::record::Code;
use crate::guard;
use crate::jvmti::abi::RawEnv;

pub(super) unsafe extern "system" fn start(_jvmti: RawEnv) {
    guard::run("a collection's start", || record_gc(Code::GcStart));
}

pub(super) unsafe extern "system" fn finish(_jvmti: RawEnv) {
    guard::run("a collection's finish", || record_gc(Code::GcFinish));
}

fn record_gc(code: Code) {
    if let Some(agent) = agent::get() {
        record(agent, agent.native_buffer(), code, 0);
    }
}
