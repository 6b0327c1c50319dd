//! Classes of the JDK that get hooks for events in their own methods, regardless of the filters.
//!
//! Hooks in the `park` methods of `LockSupport` record parking. They report every call, even if the
//! thread's permit is available and it does not park. If allocations are recorded at their sites,
//! and frees are recorded, too, the constructor of `Object` passes new objects to a hook.

use super::Instrument;
use super::classes::{hooks_of, uninstrumented};
use crate::session::Session;
use jtrail_classfile::{Class, Hooks, Method, Probes};
use jtrail_options::Events;

/// Internal name of the class that parks threads.
pub(crate) const PARKING: &str = "java/util/concurrent/locks/LockSupport";
/// Internal name of the class whose constructor all other constructors call.
pub(crate) const OBJECT: &str = "java/lang/Object";

const PARKING_METHODS: [&str; 3] = ["park", "parkNanos", "parkUntil"];

impl Instrument {
    /// Returns the class file with special hooks. Returns `None` if the class has no special hooks,
    /// or they are not needed now.
    pub(super) fn special(&self, session: &Session, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let (hooks, fault, probes): (Hooks<'_>, _, fn(&Method<'_>) -> Probes) = match name {
            PARKING if session.is_on(Events::PARKS) => {
                let hooks = Hooks {
                    enter: "park",
                    leave: "unpark",
                    leave_by_exception: "unpark",
                    ..Hooks::JTRAIL
                };
                (hooks, "parking is not recorded", in_parking)
            }
            OBJECT if self.identifies_now(session) => {
                let fault = "ends of objects are not recorded";
                (hooks_of(session), fault, in_object)
            }
            _ => return None,
        };
        let hooks = Hooks {
            class: self.hook.get().map_or(hooks.class, |hook| &hook.name),
            ..hooks
        };
        let result = Class::parse(bytes)
            .map_err(|error| error.to_string())
            .and_then(|class| {
                jtrail_classfile::instrument(&class, &hooks, |_, method| probes(method))
                    .map_err(|error| error.to_string())
            });
        match result {
            Ok(rewritten) => Some(rewritten.bytes),
            Err(error) => {
                uninstrumented(session, name, "", &format!("{fault}: {error}"));
                None
            }
        }
    }
}

fn in_parking(method: &Method<'_>) -> Probes {
    let parks = PARKING_METHODS.contains(&&*method.name()) && method.has_code();
    let has_blocker = method.descriptor().starts_with("(Ljava/lang/Object;");
    Probes::calls(parks.then_some(has_blocker.into()))
}

fn in_object(method: &Method<'_>) -> Probes {
    Probes {
        constructed: method.name() == "<init>",
        ..Probes::NONE
    }
}
