//! Objects that are recorded at their allocation sites. If the agent gives them no identity, this
//! module assigns their ids, in the order of the trace.

use super::{Translator, slot};
use crate::definition::Sizing;
use crate::record::{self, Code};

/// An allocation site.
#[derive(Clone, Copy, Default)]
pub(super) struct Site {
    method: u32,
    line: u16,
    /// Class and size of the objects; `None` before the first allocation, and for sites whose
    /// records name the class.
    makes: Option<(u32, Sizing)>,
}

impl Translator {
    pub(crate) fn add_sites(&mut self, method: u32, first: u32, lines: &[u16]) {
        for (number, line) in (first..).zip(lines) {
            *slot(&mut self.sites, number) = Site {
                method,
                line: *line,
                makes: None,
            };
        }
    }

    pub(crate) fn set_site(&mut self, number: u32, class: u32, sizing: Sizing) {
        slot(&mut self.sites, number).makes = Some((class, sizing));
    }

    pub(super) fn made(&mut self, thread: u32, ticks: u64, word: u64) {
        let (number, length) = record::site_parts(word);
        let site = *slot(&mut self.sites, number);
        let Some((class, sizing)) = site.makes else {
            debug_assert!(false, "an undefined allocation site");
            return;
        };
        self.made_at(thread, ticks, site, (class, sizing.bytes(length)));
    }

    pub(super) fn many_at_site(&mut self, thread: u32, ticks: u64, payload: &[u64]) {
        let (number, class) = record::site_parts(payload[0]);
        let site = *slot(&mut self.sites, number);
        for _ in 0..payload[2] {
            self.made_at(thread, ticks, site, (class, payload[1]));
        }
    }

    fn made_at(&mut self, thread: u32, ticks: u64, site: Site, object: (u32, u64)) {
        let number = self.totals.objects + 1;
        self.allocated(thread, ticks, number, object, self.frame_of(site));
    }

    fn frame_of(&self, site: Site) -> Option<(u32, i32)> {
        let emitted = self.settings.alloc_sites;
        emitted.then(|| (site.method, site.line.into()))
    }

    /// Handles the allocation of an object that has a number.
    pub(super) fn identified_at_site(
        &mut self,
        thread: u32,
        ticks: u64,
        code: Code,
        payload: &[u64],
    ) {
        if let Some((site, made, object)) = self.object_made(code, payload) {
            self.objects.defined.insert(object);
            self.allocated(thread, ticks, object, made, self.frame_of(site));
        }
    }

    /// For a record of an object at a site: returns the site, the object's class and size, and the
    /// object's number.
    pub(super) fn object_made(
        &mut self,
        code: Code,
        payload: &[u64],
    ) -> Option<(Site, (u32, u64), u64)> {
        let (number, low) = record::site_parts(payload[0]);
        let site = *slot(&mut self.sites, number);
        if code == Code::AllocCallObject {
            return Some((site, (low, payload[1]), payload[2]));
        }
        let Some((class, sizing)) = site.makes else {
            debug_assert!(false, "an undefined allocation site");
            return None;
        };
        Some((site, (class, sizing.bytes(low)), payload[1]))
    }
}
