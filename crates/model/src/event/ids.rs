//! The ids that an event has.

use super::Event;
use crate::{ClassId, HeapDumpId, MethodId, ObjectId, ThreadId};

/// An id in an event, which may be changed.
#[derive(PartialEq, Eq, Debug)]
pub enum IdMut<'e> {
    /// Id of a thread.
    Thread(&'e mut ThreadId),
    /// Id of a class.
    Class(&'e mut ClassId),
    /// Id of a method.
    Method(&'e mut MethodId),
    /// Id of an object.
    Object(&'e mut ObjectId),
    /// Id of a heap dump.
    Dump(&'e mut HeapDumpId),
}

impl Event<'_> {
    /// Passes all ids of the event to `visit`, also those that are none. Ids within free text are
    /// not passed.
    pub fn for_each_id(&mut self, mut visit: impl FnMut(IdMut<'_>)) {
        use IdMut::{Class, Dump, Method, Object, Thread};
        macro_rules! ids {
            ($event:ident: $($kind:ident $field:ident),*) => {{
                $(visit($kind(&mut $event.$field));)*
            }};
        }
        // Each kind of event is named here, so that none is forgotten.
        match self {
            Event::Node(_)
            | Event::ProcessCreate(_)
            | Event::AgentCreate(_)
            | Event::AgentDestroy(_)
            | Event::TraceStart(_)
            | Event::TraceEnd(_)
            | Event::TracePause(_)
            | Event::TraceResume(_)
            | Event::Filter(_)
            | Event::Option(_)
            | Event::GcStart(_)
            | Event::GcFinish(_)
            | Event::GcDetail(_)
            | Event::ProcessCpu(_)
            | Event::Custom(_) => {}
            Event::ThreadStart(e) => ids!(e: Thread thread, Object object),
            Event::ThreadEnd(e) => ids!(e: Thread thread),
            Event::ThreadName(e) => ids!(e: Thread thread),
            Event::ThreadCpu(e) => ids!(e: Thread thread),
            Event::ThreadOsId(e) => ids!(e: Thread thread),
            Event::ThreadMount(e) => ids!(e: Thread thread, Thread carrier),
            Event::ThreadUnmount(e) => ids!(e: Thread thread, Thread carrier),
            Event::ThreadPark(e) => ids!(e: Thread thread, Object object),
            Event::ThreadUnpark(e) => ids!(e: Thread thread),
            Event::ClassDef(e) => ids!(e: Class class, Thread thread, Object object),
            Event::ClassDetail(e) => ids!(e: Class class),
            Event::ClassSource(e) => ids!(e: Class class),
            Event::ClassUnload(e) => ids!(e: Class class),
            Event::ClassRedefine(e) => ids!(e: Class class),
            Event::ClassInitStart(e) => ids!(e: Thread thread, Class class),
            Event::ClassInitEnd(e) => ids!(e: Thread thread, Class class),
            Event::MethodDef(e) => ids!(e: Method method, Class class),
            Event::MethodDetail(e) => ids!(e: Method method),
            Event::MethodEnter(e) => ids!(e: Thread thread, Method method, Class class),
            Event::MethodLeave(e) => ids!(e: Thread thread, Method method, Class class),
            Event::MethodCompile(e) => ids!(e: Method method),
            Event::MethodUncompile(e) => ids!(e: Method method),
            Event::LineCounts(e) => ids!(e: Method method),
            Event::AggregatedEnter(e) => ids!(e: Thread thread, Method method),
            Event::AggregatedLeave(e) => ids!(e: Thread thread, Method method),
            Event::AggregatedDetail(e) => ids!(e: Thread thread, Method method),
            Event::ObjectAlloc(e) => {
                ids!(e: Thread thread, Object object, Method method, Class class);
            }
            Event::ObjectDef(e) => ids!(e: Object object, Class class),
            Event::ObjectFree(e) => ids!(e: Object object),
            Event::ObjectCounts(e) => ids!(e: Thread thread, Class class),
            Event::AllocationSum(e) => ids!(e: Thread thread, Class class),
            Event::LiveObjects(e) => {
                for live in &mut e.classes {
                    ids!(live: Class class);
                }
            }
            Event::RuntimeInitDone(e) => ids!(e: Thread thread),
            Event::RuntimeShutdown(e) => ids!(e: Thread thread),
            Event::MonitorWait(e) => ids!(e: Thread thread, Object object),
            Event::MonitorWaited(e) => ids!(e: Thread thread, Object object),
            Event::MonitorContendedEnter(e) => {
                ids!(e: Thread thread, Object object, Thread owner);
            }
            Event::MonitorContendedEntered(e) => ids!(e: Thread thread, Object object),
            Event::ExceptionThrow(e) => ids!(e: Thread thread, Object object, Class class),
            Event::ExceptionCatch(e) => ids!(e: Thread thread, Object object, Class class),
            Event::CatchDetail(e) => ids!(e: Thread thread),
            Event::Sample(e) => ids!(e: Thread thread),
            Event::SampleSum(e) => ids!(e: Thread thread),
            Event::HeapDump(e) => ids!(e: Dump dump),
            Event::HeapDumpEnd(e) => ids!(e: Dump dump),
            Event::HeapObject(e) => ids!(e: Dump dump, Object object, Class class),
            Event::ObjectReference(e) => ids!(e: Object source, Object target, Dump dump),
            Event::GcRoot(e) => ids!(e: Class class, Object object),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LiveClass, LiveObjects, MonitorContendedEnter, ObjectAlloc};

    /// Returns the event with each id as 10 more.
    fn changed(mut event: Event<'static>) -> Event<'static> {
        event.for_each_id(|id| match id {
            IdMut::Thread(id) => id.0 += 10,
            IdMut::Class(id) => id.0 += 10,
            IdMut::Method(id) => id.0 += 10,
            IdMut::Object(id) => id.0 += 10,
            IdMut::Dump(id) => id.0 += 10,
        });
        event
    }

    #[test]
    fn all_ids_of_an_event_are_passed() {
        let event = Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(1),
            object: ObjectId(2),
            method: MethodId(3),
            class: ClassId(4),
            size: 5,
            ..ObjectAlloc::default()
        });
        let expected = Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(11),
            object: ObjectId(12),
            method: MethodId(13),
            class: ClassId(14),
            size: 5,
            ..ObjectAlloc::default()
        });
        assert_eq!(changed(event), expected);
        let blocked = |thread, owner, object| {
            Event::MonitorContendedEnter(MonitorContendedEnter {
                thread: ThreadId(thread),
                owner: ThreadId(owner),
                object: ObjectId(object),
                ..MonitorContendedEnter::default()
            })
        };
        assert_eq!(changed(blocked(1, 2, 3)), blocked(11, 12, 13));
        let live = |class| LiveClass {
            class: ClassId(class),
            ..LiveClass::default()
        };
        let all = |classes: [u64; 2]| {
            Event::LiveObjects(LiveObjects {
                classes: classes.map(live).to_vec(),
                ..LiveObjects::default()
            })
        };
        assert_eq!(changed(all([1, 2])), all([11, 12]));
    }
}
