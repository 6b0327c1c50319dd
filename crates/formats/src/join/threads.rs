//! Which threads of a part are those of the parts before.

use super::Calls;
use jtrail_model::{
    ClassId, Event, MethodEnter, MethodId, MonitorContendedEntered, MonitorWaited, ObjectId,
    ThreadId, ThreadStart, ThreadUnpark, Timestamp,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A thread of the joined trace.
#[derive(Debug)]
pub(super) struct Known {
    /// Its start, with its latest name.
    pub(super) start: ThreadStart<'static>,
    pub(super) calls: Calls,
    /// The operating system's id.
    os_id: Option<u64>,
    /// The kind of wait that is open, and its object.
    wait: Option<(Wait, ObjectId)>,
    /// True if that began in a part before. Its end is in no part.
    is_wait_old: bool,
    /// Classes that the thread initialises, outermost first.
    initialising: Vec<ClassId>,
    /// How many of these the part has repeated.
    repeated_initialising: usize,
    /// The time of its latest event.
    pub(super) latest: Timestamp,
    /// True if the part has it.
    pub(super) is_matched: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    Blocked,
    Waiting,
    Parked,
}

/// A thread of the part, before it is known which one it is.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) start: ThreadStart<'static>,
    /// Its events so far.
    pub(super) events: Vec<Event<'static>>,
}

impl Known {
    pub(super) fn new(start: ThreadStart<'static>) -> Self {
        Self {
            start,
            calls: Calls::default(),
            os_id: None,
            wait: None,
            is_wait_old: false,
            initialising: Vec::new(),
            repeated_initialising: usize::MAX,
            latest: Timestamp(i64::MIN),
            is_matched: true,
        }
    }

    pub(super) fn begin_part(&mut self) {
        self.is_matched = false;
        self.is_wait_old = self.wait.is_some();
        self.repeated_initialising = 0;
        self.calls.begin_part();
    }

    /// Returns the end of a wait that began in a part before. The agent does not record it, but an
    /// event of the thread at a time shows that the thread goes on.
    pub(super) fn end_of_old_wait(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
    ) -> Option<Event<'static>> {
        if !std::mem::take(&mut self.is_wait_old) {
            return None;
        }
        let (wait, object) = self.wait.take()?;
        Some(match wait {
            Wait::Blocked => Event::MonitorContendedEntered(MonitorContendedEntered {
                thread,
                time,
                object,
                stack: Vec::new(),
            }),
            Wait::Waiting => Event::MonitorWaited(MonitorWaited {
                thread,
                time,
                object,
                ..MonitorWaited::default()
            }),
            Wait::Parked => Event::ThreadUnpark(ThreadUnpark { thread, time }),
        })
    }

    /// Returns true if a thread of a part that has another object, or none, may be this one.
    fn may_be(&self, start: &ThreadStart<'_>) -> bool {
        let has_both = !self.start.object.is_none() && !start.object.is_none();
        !has_both && self.start.name == start.name
    }

    /// Returns true if an event shows that the thread no longer waits: one that only running
    /// threads have, and that is not repeated.
    pub(super) fn shows_end_of_wait(&self, event: &Event<'_>) -> bool {
        match event {
            Event::MethodEnter(enter) => !self.calls.is_repeated(enter),
            Event::ClassInitStart(start) => !self.is_initialisation_repeated(start.class),
            Event::MethodLeave(_)
            | Event::ThreadEnd(_)
            | Event::ObjectAlloc(_)
            | Event::ThreadPark(_)
            | Event::MonitorWait(_)
            | Event::MonitorContendedEnter(_)
            | Event::ExceptionThrow(_)
            | Event::ExceptionCatch(_)
            | Event::ClassInitEnd(_) => true,
            _ => false,
        }
    }

    fn is_initialisation_repeated(&self, class: ClassId) -> bool {
        self.initialising.get(self.repeated_initialising) == Some(&class)
    }

    /// Takes an event that is no call. Returns false if it repeats what is known.
    pub(super) fn is_new(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::ThreadName(name) => {
                let is_new = self.start.name != name.name;
                self.start.name = name.name.to_string().into();
                is_new
            }
            Event::ThreadOsId(id) => self.os_id.replace(id.os_id) != Some(id.os_id),
            Event::MonitorContendedEnter(e) => self.begin_wait(Wait::Blocked, e.object),
            Event::MonitorWait(e) => self.begin_wait(Wait::Waiting, e.object),
            Event::ThreadPark(e) => self.begin_wait(Wait::Parked, e.object),
            Event::MonitorContendedEntered(_)
            | Event::MonitorWaited(_)
            | Event::ThreadUnpark(_) => {
                self.wait = None;
                true
            }
            Event::ClassInitStart(start) => {
                if self.is_initialisation_repeated(start.class) {
                    self.repeated_initialising += 1;
                    return false;
                }
                self.initialising.push(start.class);
                self.repeated_initialising = usize::MAX;
                true
            }
            Event::ClassInitEnd(end) => {
                let place = self
                    .initialising
                    .iter()
                    .rposition(|class| *class == end.class);
                self.initialising.truncate(place.unwrap_or(usize::MAX));
                self.repeated_initialising = usize::MAX;
                true
            }
            _ => true,
        }
    }

    fn begin_wait(&mut self, wait: Wait, object: ObjectId) -> bool {
        self.wait = Some((wait, object));
        true
    }
}

impl Pending {
    pub(super) fn new(start: ThreadStart<'static>) -> Self {
        Self {
            start,
            events: Vec::new(),
        }
    }

    /// Returns the id in the part.
    pub(super) fn thread(&self) -> ThreadId {
        self.start.thread
    }

    /// Returns true if an event of the thread may tell which one it is: it is what a part tells of
    /// each thread at its begin.
    pub(super) fn takes(&self, event: &Event<'_>) -> bool {
        match event {
            Event::MethodEnter(_)
            | Event::ClassInitStart(_)
            | Event::ThreadName(_)
            | Event::ThreadOsId(_)
            | Event::ThreadCpu(_) => event.time() <= Some(self.start.time),
            _ => false,
        }
    }

    /// Returns the calls that are open at the begin of the part.
    pub(super) fn calls(&self) -> impl Iterator<Item = &MethodEnter> {
        self.events.iter().filter_map(|event| match event {
            Event::MethodEnter(enter) => Some(enter),
            _ => None,
        })
    }
}

/// Which thread a thread of a part is.
pub(super) enum Found {
    New,
    Known(ThreadId),
    /// It may be one of several, or a new one.
    Several,
}

/// Looks for the known thread that a part repeats.
///
/// The agent gives a thread's object the same number in all parts. If objects have none, it is a
/// thread of the same name. Of several ones, and of threads without a name, the open calls tell
/// which one it is.
pub(super) fn find(threads: &BTreeMap<ThreadId, Known>, start: &ThreadStart<'_>) -> Found {
    let has_object = !start.object.is_none();
    let mut others = threads.iter().filter(|(_, known)| !known.is_matched);
    if has_object
        && let Some((id, _)) = others.clone().find(|(_, k)| k.start.object == start.object)
    {
        return Found::Known(*id);
    }
    let mut candidates = others.by_ref().filter(|(_, known)| known.may_be(start));
    match (candidates.next(), candidates.next()) {
        (None, _) => Found::New,
        (Some((id, _)), None) if !start.name.is_empty() => Found::Known(*id),
        _ => Found::Several,
    }
}

/// Returns the known thread that is most like one of a part, which has these open calls: it has
/// most of them, and fewest others. The first one of several; none if no call tells, and it has no
/// name.
pub(super) fn best(
    threads: &BTreeMap<ThreadId, Known>,
    start: &ThreadStart<'_>,
    methods: &[MethodId],
) -> Option<ThreadId> {
    let same = |known: &Known| {
        let both = known.calls.methods().zip(methods);
        both.take_while(|(known, repeated)| known == *repeated)
            .count()
    };
    let candidates = threads
        .iter()
        .filter(|(_, known)| !known.is_matched && known.may_be(start))
        .rev();
    let (id, known) = candidates.max_by_key(|(_, known)| {
        let others = known.calls.open().abs_diff(methods.len());
        (same(known), Reverse(others))
    })?;
    (!start.name.is_empty() || same(known) > 0).then_some(*id)
}
