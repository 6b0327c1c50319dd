//! Parking is seen in the methods of `LockSupport`: each call of one is told, whether it really parks or finds its permit there.

use super::classes::uncovered;
use crate::agent::Agent;
use jtrail_classfile::{Class, Hooks, Probes};

/// The class, in the class file's spelling.
pub(crate) const CLASS: &str = "java/util/concurrent/locks/LockSupport";

const METHODS: [&str; 3] = ["park", "parkNanos", "parkUntil"];

const HOOKS: Hooks<'_> = Hooks {
    enter: "park",
    leave: "unpark",
    leave_by_exception: "unpark",
    ..Hooks::JTRAIL
};

/// The class with hooks in its parking methods.
pub(super) fn instrument(agent: &Agent, bytes: &[u8]) -> Option<Vec<u8>> {
    let result = Class::parse(bytes)
        .map_err(|error| error.to_string())
        .and_then(|class| {
            let probes = |_, method: &jtrail_classfile::Method<'_>| {
                let parks = METHODS.contains(&&*method.name()) && method.has_code();
                let has_blocker = method.descriptor().starts_with("(Ljava/lang/Object;");
                Probes::calls(parks.then_some(has_blocker.into()))
            };
            let hooks = Hooks {
                class: agent.hook.get().map_or(HOOKS.class, |hook| &hook.name),
                ..HOOKS
            };
            jtrail_classfile::instrument(&class, &hooks, probes).map_err(|error| error.to_string())
        });
    match result {
        Ok(rewritten) => Some(rewritten.bytes),
        Err(error) => {
            uncovered(agent, CLASS, "", &format!("parking is not told: {error}"));
            None
        }
    }
}
