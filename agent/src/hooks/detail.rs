//! Classes in full: what they declare, and that they are redefined.
//!
//! A class is told of when it is prepared: from then on the JVM tells its fields and methods. Those that were
//! prepared before the trace are told of at its start.

use super::{buffer, lifecycle, record};
use crate::agent::{self, Agent};
use crate::buffer::record::Code;
use crate::instrument::{Loader, class_name};
use crate::jvmti::Result;
use crate::jvmti::abi::{Event, RawEnv};
use crate::numbers::NumberSet;
use crate::writer::{Announcement, ClassDetailInfo};
use crate::{guard, log};
use jni::sys::{JNIEnv, jclass, jobject};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Bytes of class files that passed the load hook, until the class is prepared.
#[derive(Default)]
pub(crate) struct ClassSizes {
    sizes: Mutex<FxHashMap<(Loader, Box<str>), u32>>,
    /// By class number: whether its details were told.
    told: Mutex<NumberSet>,
}

/// Classes that loaded and are not prepared yet, of which we know the size. Many a class never is prepared.
const MOST_SIZES: usize = 1 << 16;

impl ClassSizes {
    /// A class file passes the load hook.
    pub(super) fn loaded(&self, loader: Loader, name: Option<&str>, bytes: usize) {
        let Some(name) = name else { return };
        let mut sizes = self.sizes.lock();
        if sizes.len() >= MOST_SIZES {
            sizes.clear();
        }
        sizes.insert((loader, name.into()), u32::try_from(bytes).unwrap_or(0));
    }

    fn take(&self, loader: Loader, name: &str) -> u32 {
        let size = self.sizes.lock().remove(&(loader, name.into()));
        size.unwrap_or(0)
    }

    /// Notes that a class's details are told; `false` if they were.
    fn tell(&self, class: u32) -> bool {
        self.told.lock().insert(class.into())
    }
}

/// Tells of the classes that are there, and has the JVM tell of those that follow.
pub(super) fn begin(agent: &Agent, env: *mut JNIEnv) {
    // In this order, so that none is left out.
    if let Err(error) = agent.jvmti.enable(Event::ClassPrepare) {
        log::say(&format!("{error}; the trace has no details of classes"));
        return;
    }
    let mut found = Vec::new();
    for class in agent.jvmti.loaded_classes().unwrap_or_default() {
        // SAFETY: local references that the JVM just gave us.
        unsafe {
            if agent.jvmti.is_prepared(class) == Ok(true)
                && let Some(info) = untold(agent, env, class)
                && let Ok(name) = name_of(agent, class)
            {
                found.push((name, info));
            }
        }
    }
    for info in in_order(found) {
        agent.announce(Announcement::ClassDetail(Box::new(info)));
    }
}

/// Those that others name before these: `java.lang.Object`, `java.lang.Thread`, and then the rest, each behind its superclass
/// and interfaces.
fn in_order(found: Vec<(Box<str>, ClassDetailInfo)>) -> Vec<ClassDetailInfo> {
    let mut places: FxHashMap<Box<str>, Vec<usize>> = FxHashMap::default();
    for (at, (name, _)) in found.iter().enumerate() {
        places.entry(name.clone()).or_default().push(at);
    }
    let places_of = |name: &str| places.get(name).map_or(&[][..], |all| all);
    let mut order = Vec::with_capacity(found.len());
    let mut seen = vec![false; found.len()];
    // A class is on the stack twice: before what it names, and behind that.
    let mut stack: Vec<(usize, bool)> = (0..found.len()).rev().map(|at| (at, false)).collect();
    for first in ["java.lang.Thread", "java.lang.Object"] {
        stack.extend(places_of(first).iter().map(|at| (*at, false)));
    }
    while let Some((at, is_ready)) = stack.pop() {
        if is_ready {
            order.push(at);
        } else if !std::mem::replace(&mut seen[at], true) {
            stack.push((at, true));
            let info = &found[at].1;
            let named = info.interfaces.iter().rev().chain([&info.super_name]);
            stack.extend(
                named
                    .flat_map(|name| places_of(name))
                    .map(|at| (*at, false)),
            );
        }
    }
    let mut found: Vec<_> = found.into_iter().map(|(_, info)| Some(info)).collect();
    order
        .into_iter()
        .filter_map(|at| found[at].take())
        .collect()
}

pub(super) unsafe extern "system" fn prepared(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    class: jclass,
) {
    guard::run("a class's preparation", || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: the callback's own references.
        unsafe { tell(agent, env, class) };
    });
}

/// Announces a class's details, unless that was done.
///
/// # Safety
/// `env` is the running thread's, `class` a live reference to a prepared class.
unsafe fn tell(agent: &Agent, env: *mut JNIEnv, class: jclass) {
    // SAFETY: the caller's promise.
    if let Some(info) = unsafe { untold(agent, env, class) } {
        agent.announce(Announcement::ClassDetail(Box::new(info)));
    }
}

/// A class's details, unless they were told.
///
/// # Safety
/// As for [`tell`].
unsafe fn untold(agent: &Agent, env: *mut JNIEnv, class: jclass) -> Option<ClassDetailInfo> {
    // SAFETY: the caller's promise.
    let number = unsafe { agent.classes.number_of(agent, class) }?;
    if !agent.sizes.tell(number) {
        return None;
    }
    // SAFETY: likewise.
    unsafe { details(agent, env, class, number) }.ok()
}

/// # Safety
/// As for [`tell`].
unsafe fn details(
    agent: &Agent,
    env: *mut JNIEnv,
    class: jclass,
    number: u32,
) -> Result<ClassDetailInfo> {
    let jvmti = agent.jvmti;
    // SAFETY: the caller's promise, and local references that the JVM gives us.
    unsafe {
        let signature = jvmti.class_signature(class)?;
        let loader_object = jvmti.class_loader(class)?;
        let loader = agent.classes.loader(jvmti, loader_object);
        let super_class = crate::jni::superclass_of(env, class);
        let super_name = match super_class.is_null() {
            true => Box::default(),
            false => name_of(agent, super_class)?,
        };
        let interfaces = jvmti.interfaces(class)?;
        Ok(ClassDetailInfo {
            class: number,
            time: (agent.now)(),
            access: jvmti.class_modifiers(class)?,
            super_name,
            interfaces: interfaces
                .into_iter()
                .map(|interface| name_of(agent, interface))
                .collect::<Result<_>>()?,
            loader: loader_name(agent, env, loader, loader_object)?,
            size: agent.sizes.take(loader, internal_name(&signature)),
            fields: jvmti.fields(class)?,
            methods: jvmti.methods(class)?,
        })
    }
}

fn internal_name(signature: &str) -> &str {
    let name = signature.strip_prefix('L').unwrap_or(signature);
    name.strip_suffix(';').unwrap_or(name)
}

/// # Safety
/// `class` is a live reference to a class.
unsafe fn name_of(agent: &Agent, class: jclass) -> Result<Box<str>> {
    // SAFETY: the caller's promise.
    let signature = unsafe { agent.jvmti.class_signature(class) }?;
    Ok(class_name(internal_name(&signature)).into())
}

/// # Safety
/// `env` is the running thread's; `object` is a live reference to `loader`, or null.
unsafe fn loader_name(
    agent: &Agent,
    env: *mut JNIEnv,
    loader: Loader,
    object: jobject,
) -> Result<Box<str>> {
    const APP: &str = "jdk.internal.loader.ClassLoaders$AppClassLoader";
    match loader {
        Loader::BOOT => Ok("bootstrap".into()),
        Loader::PLATFORM => Ok("platform".into()),
        other => {
            // SAFETY: the caller's promise.
            let name = unsafe { name_of(agent, crate::jni::class_of(env, object)) }?;
            Ok(match &*name {
                APP => "app".into(),
                _ => format!("{name}@{}", other.number()).into(),
            })
        }
    }
}

/// Another agent is about to give a class new code of that many bytes.
///
/// # Safety
/// `env` is the running thread's, `class` a live reference to a class.
pub(super) unsafe fn redefined(agent: &Agent, env: *mut JNIEnv, class: jclass, bytes: usize) {
    agent.classes.changes.class_redefined();
    if !lifecycle::ensure_live(agent, env) {
        return;
    }
    // SAFETY: the caller's promise.
    if let Some(number) = unsafe { agent.classes.number_of(agent, class) } {
        let payload = [number.into(), bytes as u64];
        record(agent, buffer(agent, env), Code::ClassRedefine, &payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_told_once() {
        let sizes = ClassSizes::default();
        assert!(sizes.tell(70));
        assert!(sizes.tell(6));
        assert!(!sizes.tell(70));
    }

    #[test]
    fn superclasses_and_interfaces_come_first() {
        let class = |name: &str, super_name: &str, interfaces: &[&str]| {
            let info = ClassDetailInfo {
                class: u32::from(name.as_bytes()[name.len() - 1]),
                super_name: super_name.into(),
                interfaces: interfaces.iter().map(|name| (*name).into()).collect(),
                ..ClassDetailInfo::default()
            };
            (name.into(), info)
        };
        let found = vec![
            class("a.C", "a.B", &["a.J", "a.I"]),
            class("a.I", "", &[]),
            class("java.lang.Thread", "java.lang.Object", &["a.R", "gone"]),
            class("a.B", "java.lang.Object", &["a.J"]),
            class("a.R", "", &[]),
            class("a.J", "", &["a.I"]),
            class("java.lang.Object", "", &[]),
            class("a.B", "a.C", &[]), // of another loader; no order could please it
        ];
        let order = in_order(found);
        let order: String = order.iter().map(|info| info.class as u8 as char).collect();
        assert_eq!(order.len(), 8);
        assert!(order.starts_with("tRd"), "{order}");
        let at = |c| order.find(c).expect("there");
        let b = order.rfind('B').expect("there"); // the first of the two has no place of its own
        assert!(at('I') < at('J') && at('J') < b && at('J') < at('C'));
    }

    #[test]
    fn sizes_are_kept_until_they_are_taken() {
        let sizes = ClassSizes::default();
        sizes.loaded(Loader::BOOT, Some("a/B"), 812);
        sizes.loaded(Loader::BOOT, None, 1);
        assert_eq!(sizes.take(Loader::PLATFORM, "a/B"), 0);
        assert_eq!(sizes.take(Loader::BOOT, "a/B"), 812);
        assert_eq!(sizes.take(Loader::BOOT, "a/B"), 0);
        for class in 0..=MOST_SIZES {
            sizes.loaded(Loader::BOOT, Some(&class.to_string()), 1);
        }
        assert_eq!(sizes.sizes.lock().len(), 1);
    }
}
