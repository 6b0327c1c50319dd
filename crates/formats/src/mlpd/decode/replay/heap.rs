//! Heap dumps.

use super::*;

impl Replay {
    pub(super) fn dump_start(&mut self, at: At) -> Event<'static> {
        self.last_dump += 1;
        let dump = HeapDumpId(self.last_dump);
        self.dump = Some((at.thread, dump));
        Event::HeapDump(HeapDump {
            dump,
            time: at.time,
            name: "".into(),
            base_time: self.trace.unwrap_or_default(),
        })
    }

    /// Returns the open heap dump of the event's thread. Counts a fault if the thread has none.
    pub(super) fn dump(&mut self, at: At) -> Option<HeapDumpId> {
        match self.dump {
            Some((thread, dump)) if thread == at.thread => Some(dump),
            _ => {
                self.remarks.add(Remarked::UnbegunDumps, at.offset);
                None
            }
        }
    }

    pub(super) fn dump_end(&mut self, at: At) -> Option<Event<'static>> {
        let dump = self.dump(at)?;
        self.dump = None;
        Some(Event::HeapDumpEnd(HeapDumpEnd {
            dump,
            time: at.time,
        }))
    }

    pub(super) fn dump_object(
        &mut self,
        at: At,
        (address, class, size): (u64, u64, u64),
    ) -> Option<Event<'static>> {
        self.source = None;
        let dump = self.dump(at)?;
        let object = self.object(address);
        self.source = Some((object, dump));
        // Size 0 marks further references of an object that the dump has already listed.
        if size == 0 {
            return None;
        }
        let class = self.object_class(class, at);
        if !self.own
            && let Some(known) = self.objects.get_mut(&address)
        {
            known.1 = class;
        }
        Some(Event::HeapObject(HeapObject {
            dump,
            object,
            class,
            size: self.size(size, at),
        }))
    }

    pub(super) fn dump_reference(&mut self, at: At, address: u64) -> Option<Event<'static>> {
        let (source, dump) = self.source?;
        if address == 0 {
            self.remarks.add(Remarked::NoReferences, at.offset);
            return None;
        }
        let target = self.object(address);
        Some(Event::ObjectReference(ObjectReference {
            source,
            target,
            dump,
        }))
    }

    pub(super) fn dump_root(
        &mut self,
        at: At,
        address: u64,
        object: u64,
    ) -> Option<Event<'static>> {
        self.dump(at)?;
        let kind = usize::try_from(address.wrapping_sub(1)).unwrap_or(usize::MAX);
        let kind = ROOT_KINDS.get(kind).filter(|_| self.own);
        let is_lost = kind.is_none() && address != 0;
        self.remarks
            .add_if(is_lost, Remarked::RootAddresses, at.offset);
        Some(Event::GcRoot(GcRoot {
            class: ClassId::NONE,
            object: self.object(object),
            kind: kind.map_or("OTHER", |kind| kind).into(),
        }))
    }
}
