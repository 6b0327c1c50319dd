//! Reads the fields of an event, for both data versions.

use super::{BufferHeader, Following, Raw};
use crate::mlpd::DataVersion;
use crate::mlpd::value::{Fault, Fields};
use crate::mlpd::wire::{
    ALLOC, ALLOC_BACKTRACE, ASSEMBLY, CLASS, CLAUSE, CONTENTION, CONTEXT, DOMAIN, ENTER, EXC_LEAVE,
    FAIL, GC_EVENT, GC_MOVE, GC_RESIZE, HEAP_END, HEAP_OBJECT, HEAP_ROOT, HEAP_START, IMAGE, JIT,
    LEAVE, METADATA_FAILED, METADATA_FAILED_V1, METADATA_LOAD, METADATA_NAME, METADATA_UNLOAD,
    MONITOR, MONITOR_BACKTRACE, SYNC_POINT, THREAD, THROW, THROW_BACKTRACE, VTABLE,
};

/// Reader of one event in a buffer.
pub(super) struct Reader<'b> {
    pub(super) version: DataVersion,
    pub(super) header: &'b BufferHeader,
    pub(super) fields: Fields<'b>,
    pub(super) time: u64,
    pub(super) method: u64,
    pub(super) following: Option<(Following, usize)>,
}

impl<'b> Reader<'b> {
    fn is_v17(&self) -> bool {
        self.version == DataVersion::V17
    }

    #[inline]
    fn time(&mut self) -> Result<(), Fault> {
        self.time = self.time.wrapping_add(self.fields.uleb()?);
        Ok(())
    }

    #[inline]
    fn method(&mut self) -> Result<u64, Fault> {
        let difference = self.fields.sleb()?;
        self.method = self.method.wrapping_add_signed(difference);
        Ok(self.method)
    }

    fn pointer(&mut self) -> Result<u64, Fault> {
        let difference = self.fields.sleb()?;
        Ok(self.header.pointers.wrapping_add_signed(difference))
    }

    fn object(&mut self) -> Result<u64, Fault> {
        let difference = self.fields.sleb()?;
        Ok(self.header.objects.wrapping_add_signed(difference))
    }

    /// Reads flags, which must be 0. Version 17 has no flags.
    fn flags(&mut self) -> Result<(), Fault> {
        match self.is_v17() {
            true => Ok(()),
            false => match self.fields.uleb()? {
                0 => Ok(()),
                flags => Err(Fault::Value("flags", flags)),
            },
        }
    }

    fn backtrace(&mut self) -> Result<Vec<u64>, Fault> {
        self.flags()?;
        let count = self.fields.count(1)?;
        let mut stack = Vec::with_capacity(count);
        for _ in 0..count {
            stack.push(match self.is_v17() {
                true => self.method()?,
                false => self.pointer()?,
            });
        }
        Ok(stack)
    }

    fn backtrace_if(&mut self, present: bool) -> Result<Vec<u64>, Fault> {
        match present {
            true => self.backtrace(),
            false => Ok(Vec::new()),
        }
    }

    /// Reads a number that takes one byte in version 17 and is a uleb in version 1.
    fn small(&mut self) -> Result<u64, Fault> {
        match self.is_v17() {
            true => self.fields.byte().map(u64::from),
            false => self.fields.uleb(),
        }
    }

    #[inline]
    pub(super) fn event(&mut self) -> Result<Raw<'b>, Fault> {
        if let Some((what, left)) = self.following {
            return self.follow(what, left);
        }
        let first = self.fields.byte()?;
        match first {
            ENTER => {
                self.time()?;
                Ok(Raw::Enter(self.method()?))
            }
            LEAVE | EXC_LEAVE => {
                self.time()?;
                Ok(Raw::Leave {
                    method: self.method()?,
                    by_exception: first == EXC_LEAVE,
                })
            }
            _ => self.any(first),
        }
    }

    fn any(&mut self, first: u8) -> Result<Raw<'b>, Fault> {
        let v17 = self.is_v17();
        if first != HEAP_OBJECT || v17 {
            self.time()?;
        }
        Ok(match first {
            ALLOC | ALLOC_BACKTRACE => Raw::Alloc {
                class: self.pointer()?,
                object: self.object()?,
                size: self.fields.uleb()?,
                stack: self.backtrace_if(first == ALLOC_BACKTRACE)?,
            },
            GC_EVENT => self.gc()?,
            GC_RESIZE => Raw::HeapSize(self.fields.uleb()?),
            GC_MOVE => self.moves()?,
            METADATA_LOAD | METADATA_NAME | METADATA_UNLOAD => self.metadata(first)?,
            METADATA_FAILED | METADATA_FAILED_V1 if !v17 => self.metadata(first)?,
            JIT => Raw::Jit {
                method: self.method()?,
                address: self.pointer()?,
                size: self.fields.uleb()?,
                name: self.fields.text()?,
            },
            THROW | THROW_BACKTRACE => Raw::Throw {
                object: self.object()?,
                stack: self.backtrace_if(first == THROW_BACKTRACE)?,
            },
            CLAUSE => self.clause()?,
            HEAP_START => Raw::HeapStart,
            HEAP_END => Raw::HeapEnd,
            HEAP_OBJECT => self.heap_object()?,
            HEAP_ROOT if v17 => {
                let count = self.fields.count(2)?;
                self.following = Some((Following::Roots, count));
                self.settle_following();
                return match count {
                    0 => Ok(Raw::NoRoots),
                    _ => self.event(),
                };
            }
            SYNC_POINT if v17 => match self.fields.byte()? {
                0..=2 => Raw::SyncPoint,
                kind => return Err(Fault::Value("kind of synchronization", kind.into())),
            },
            _ if first & 0x0f == MONITOR => self.monitor(first)?,
            _ => return Err(Fault::Event(first)),
        })
    }

    fn gc(&mut self) -> Result<Raw<'b>, Fault> {
        let (event, generation) = (self.small()?, self.small()?);
        let known = match self.version {
            DataVersion::V1 => event <= 9,
            DataVersion::V17 => event == 0 || (5..=11).contains(&event),
        };
        match (known, generation) {
            (true, 0..=2) => Ok(Raw::Gc { event, generation }),
            (true, _) => Err(Fault::Value("generation", generation)),
            (false, _) => Err(Fault::Value("event of a collection", event)),
        }
    }

    fn moves(&mut self) -> Result<Raw<'b>, Fault> {
        let count = self.fields.count(1)?;
        if count % 2 != 0 {
            return Err(Fault::Value("number of addresses", count as u64));
        }
        let mut addresses = Vec::with_capacity(count);
        for _ in 0..count {
            addresses.push(self.object()?);
        }
        Ok(Raw::Moves(addresses))
    }

    fn clause(&mut self) -> Result<Raw<'b>, Fault> {
        let kind = self.small()?;
        if !matches!(kind, 0 | 1 | 2 | 4) {
            return Err(Fault::Value("type of clause", kind));
        }
        Ok(Raw::Clause {
            kind,
            number: self.fields.uleb()?,
            method: self.method()?,
            object: match self.is_v17() {
                true => self.object()?,
                false => 0,
            },
        })
    }

    fn monitor(&mut self, first: u8) -> Result<Raw<'b>, Fault> {
        let backtrace = first & MONITOR_BACKTRACE != 0;
        let in_first = first >> 4 & 7;
        let event = match self.version {
            DataVersion::V1 => in_first,
            DataVersion::V17 if in_first == 0 => self.fields.byte()?,
            DataVersion::V17 => return Err(Fault::Event(first)),
        };
        let stackless = self.version == DataVersion::V1 && backtrace && event != CONTENTION;
        if !(CONTENTION..=FAIL).contains(&event) || stackless {
            return Err(Fault::Event(first));
        }
        Ok(Raw::Monitor {
            event,
            object: self.object()?,
            stack: self.backtrace_if(backtrace)?,
        })
    }

    fn heap_object(&mut self) -> Result<Raw<'b>, Fault> {
        let object = self.object()?;
        let class = self.pointer()?;
        let size = self.fields.uleb()?;
        let (generation, least) = match self.is_v17() {
            true => (self.fields.byte()?, 2),
            false => (0, 1),
        };
        let count = self.fields.count(least)?;
        self.following = Some((Following::References, count));
        self.settle_following();
        Ok(Raw::HeapObject {
            object,
            class,
            size,
            generation,
        })
    }

    fn settle_following(&mut self) {
        self.following = self.following.filter(|(_, left)| *left > 0);
    }

    fn follow(&mut self, what: Following, left: usize) -> Result<Raw<'b>, Fault> {
        self.following = Some((what, left - 1));
        self.settle_following();
        Ok(match what {
            Following::References => Raw::Reference {
                offset: match self.is_v17() {
                    true => self.fields.uleb()?,
                    false => 0,
                },
                target: self.object()?,
            },
            Following::Roots => Raw::Root {
                address: self.pointer()?,
                object: self.object()?,
            },
        })
    }

    fn metadata(&mut self, state: u8) -> Result<Raw<'b>, Fault> {
        let v17 = self.is_v17();
        let kind = self.fields.byte()?;
        let id = self.pointer()?;
        let has_no_name = !v17 && matches!(kind, CLASS | IMAGE);
        let state = match state {
            METADATA_NAME if has_no_name => METADATA_LOAD,
            METADATA_FAILED_V1 if has_no_name => METADATA_FAILED,
            METADATA_FAILED_V1 => return Err(Fault::Metadata(kind)),
            state => state,
        };
        let name = state == METADATA_NAME;
        match kind {
            CLASS if !name && (!v17 || state == METADATA_LOAD) => {
                let image = self.pointer()?;
                self.flags()?;
                let name = self.fields.text()?;
                Ok(Raw::Class {
                    state,
                    id,
                    name,
                    image,
                })
            }
            IMAGE if !name && (!v17 || state == METADATA_LOAD) => {
                self.flags()?;
                let name = self.fields.text()?;
                let module = match v17 {
                    true => self.fields.text()?,
                    false => b"",
                };
                Ok(Raw::Image { id, name, module })
            }
            ASSEMBLY if !name => {
                if v17 {
                    self.pointer()?;
                }
                self.flags()?;
                self.fields.text()?;
                Ok(Raw::OtherMetadata)
            }
            DOMAIN | THREAD => {
                self.flags()?;
                let mut text = None;
                if name {
                    text = Some(self.fields.text()?);
                } else if kind == THREAD && state == METADATA_LOAD {
                    text = self.name_at_once(id);
                }
                Ok(match kind {
                    THREAD => Raw::Thread {
                        state,
                        id,
                        name: text,
                    },
                    _ => Raw::OtherMetadata,
                })
            }
            CONTEXT if v17 && !name => {
                self.pointer()?;
                Ok(Raw::OtherMetadata)
            }
            VTABLE if v17 && !name => Ok(Raw::VTable {
                id,
                domain: self.pointer()?,
                class: self.pointer()?,
            }),
            _ => Err(Fault::Metadata(kind)),
        }
    }

    /// Reads the name of a thread after the thread's load. Returns `None` unless the next event is
    /// this name and has the same time as the load.
    fn name_at_once(&mut self, id: u64) -> Option<&'b [u8]> {
        let before = self.fields;
        let mut name = || -> Result<&'b [u8], Fault> {
            let head = [
                self.fields.byte()?,
                self.fields.byte()?,
                self.fields.byte()?,
            ];
            if head != [METADATA_NAME, 0, THREAD] || self.pointer()? != id {
                return Err(Fault::Short);
            }
            self.flags()?;
            self.fields.text()
        };
        let name = name().ok();
        if name.is_none() {
            self.fields = before;
        }
        name
    }
}
