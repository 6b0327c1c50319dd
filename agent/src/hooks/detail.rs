//! Classes in full: what they declare, and that they are redefined.
//!
//! A class is told of when it is prepared: from then on the JVM tells its fields and methods. Those that were
//! prepared before the trace are told of at its start.

use super::{buffer, lifecycle, record};
use crate::agent::Agent;
use crate::instrument::{Loader, class_name};
use jni::sys::{JNIEnv, jclass, jobject};
use jtrail_jvm::jni::with_frame;
use jtrail_jvm::jvmti::{self, Result};
use jtrail_recorder::buffer::record::Code;
use jtrail_records::Announcement;
use jtrail_records::NumberSet;
use jtrail_records::announce::{ClassDetailInfo, Member};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

/// A class file: who loads it, and the name inside.
type Key = (Loader, Box<str>);

/// Bytes of class files that passed the load hook, until the class is prepared.
#[derive(Default)]
pub(crate) struct ClassSizes {
    sizes: Mutex<FxHashMap<Key, u32>>,
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

    fn size(&self, class: &Key) -> u32 {
        self.sizes.lock().get(class).copied().unwrap_or(0)
    }

    fn is_told(&self, class: u32) -> bool {
        self.told.lock().contains(class.into())
    }

    /// Tells of those classes that nobody told of, in their order.
    fn tell(&self, found: Found, mut tell: impl FnMut(ClassDetailInfo)) {
        let mut told = self.told.lock();
        for (key, info) in found.classes {
            if told.insert(info.class.into()) {
                self.sizes.lock().remove(&key);
                tell(info);
            }
        }
    }
}

/// Tells of the classes that are there. The JVM tells of those that follow by now, so that none is left out.
pub(super) fn begin(agent: &Agent, env: *mut JNIEnv) {
    // SAFETY: the running thread's environment; no reference leaves.
    unsafe { with_frame(env, || tell_loaded(agent, env)) };
}

fn tell_loaded(agent: &Agent, env: *mut JNIEnv) {
    let loaded = agent.jvmti.loaded_classes(env).unwrap_or_default();
    let mut found = Found::default();
    // Formats number these first.
    for first in ["java.lang.Object", "java.lang.Thread"] {
        for &class in &loaded {
            // SAFETY: local references that the JVM just gave us.
            unsafe {
                if name_of(agent, class).is_ok_and(|name| *name == *first) {
                    with_frame(env, || find(agent, env, class, &mut found));
                }
            }
        }
    }
    for class in loaded {
        // SAFETY: likewise.
        unsafe { with_frame(env, || find(agent, env, class, &mut found)) };
    }
    tell(agent, found);
}

/// Classes that are to be told of: each behind its superclass and interfaces.
#[derive(Default)]
struct Found {
    classes: Vec<(Key, ClassDetailInfo)>,
    seen: FxHashSet<u32>,
}

/// A class was prepared.
///
/// # Safety
/// `env` is the running thread's, `class` a live reference to a class.
pub(super) unsafe fn prepared(agent: &Agent, env: *mut JNIEnv, class: jclass) {
    let mut found = Found::default();
    // SAFETY: the caller's promise.
    unsafe { find(agent, env, class, &mut found) };
    tell(agent, found);
}

fn tell(agent: &Agent, found: Found) {
    agent.sizes.tell(found, |info| {
        agent.announce(Announcement::ClassDetail(Box::new(info)));
    });
}

/// Adds a class, unless it is not prepared or was told of, behind its superclass and interfaces: the JVM calls a class
/// prepared before it tells us, and in another thread that comes later than what it tells of an implementer.
///
/// # Safety
/// `env` is the running thread's, `class` a live reference to a class.
unsafe fn find(agent: &Agent, env: *mut JNIEnv, class: jclass, found: &mut Found) {
    // SAFETY: the caller's promise, and local references that the JVM gives us.
    unsafe {
        if agent.jvmti.is_prepared(class) != Ok(true) {
            return;
        }
        let Some(number) = agent.classes.number_of(agent, class) else {
            return;
        };
        if agent.sizes.is_told(number) || !found.seen.insert(number) {
            return;
        }
        let super_class = jtrail_jvm::jni::superclass_of(env, class);
        if !super_class.is_null() {
            find(agent, env, super_class, found);
        }
        for interface in agent.jvmti.interfaces(class).unwrap_or_default() {
            find(agent, env, interface, found);
        }
        if let Ok(class) = details(agent, env, class, number) {
            found.classes.push(class);
        }
    }
}

/// # Safety
/// As for [`find`].
unsafe fn details(
    agent: &Agent,
    env: *mut JNIEnv,
    class: jclass,
    number: u32,
) -> Result<(Key, ClassDetailInfo)> {
    let jvmti = agent.jvmti;
    // SAFETY: the caller's promise, and local references that the JVM gives us.
    unsafe {
        let signature = jvmti.class_signature(class)?;
        let loader_object = jvmti.class_loader(class)?;
        let loader = agent.classes.loader(jvmti, loader_object);
        let super_class = jtrail_jvm::jni::superclass_of(env, class);
        let super_name = match super_class.is_null() {
            true => Box::default(),
            false => name_of(agent, super_class)?,
        };
        let interfaces = jvmti.interfaces(class)?;
        let key = (loader, internal_name(&signature).into());
        let info = ClassDetailInfo {
            class: number,
            time: (agent.now)(),
            access: jvmti.class_modifiers(class)?,
            super_name,
            interfaces: interfaces
                .into_iter()
                .map(|interface| name_of(agent, interface))
                .collect::<Result<_>>()?,
            loader: loader_name(agent, env, loader, loader_object)?,
            size: agent.sizes.size(&key),
            fields: members(jvmti.fields(class)?),
            methods: members(jvmti.methods(class)?),
        };
        Ok((key, info))
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
            let name = unsafe { name_of(agent, jtrail_jvm::jni::class_of(env, object)) }?;
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

    fn found(classes: &[u32]) -> Found {
        let class = |&class: &u32| {
            let info = ClassDetailInfo {
                class,
                ..ClassDetailInfo::default()
            };
            ((Loader::BOOT, class.to_string().into()), info)
        };
        Found {
            classes: classes.iter().map(class).collect(),
            seen: FxHashSet::default(),
        }
    }

    #[test]
    fn details_are_told_once_and_in_order() {
        let sizes = ClassSizes::default();
        let mut told = Vec::new();
        sizes.tell(found(&[70, 6]), |info| told.push(info.class));
        sizes.tell(found(&[6, 3, 70, 80]), |info| told.push(info.class));
        assert_eq!(told, [70, 6, 3, 80]);
        assert!(sizes.is_told(3) && !sizes.is_told(4));
    }

    #[test]
    fn sizes_are_kept_until_they_are_told() {
        let sizes = ClassSizes::default();
        sizes.loaded(Loader::BOOT, Some("7"), 812);
        sizes.loaded(Loader::BOOT, None, 1);
        assert_eq!(sizes.size(&(Loader::PLATFORM, "7".into())), 0);
        let class = (Loader::BOOT, "7".into());
        assert_eq!(sizes.size(&class), 812);
        sizes.tell(found(&[7]), |_| {});
        assert_eq!(sizes.size(&class), 0);
        for class in 0..=MOST_SIZES {
            sizes.loaded(Loader::BOOT, Some(&class.to_string()), 1);
        }
        assert_eq!(sizes.sizes.lock().len(), 1);
    }
}

/// Members as they are told.
fn members(members: Vec<jvmti::Member>) -> Vec<Member> {
    let told = |member: jvmti::Member| Member {
        name: member.name.into(),
        descriptor: member.descriptor.into(),
        access: member.access,
    };
    members.into_iter().map(told).collect()
}
