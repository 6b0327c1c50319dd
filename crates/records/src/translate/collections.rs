//! Garbage collections.

use super::Translator;
use jtrail_model::{Event, GcDetail, GcFinish, GcStart, Generation, Timestamp};
use jtrail_options::Events;

/// Returns the generation with the given discriminant.
fn generation(number: u64) -> Generation {
    const ALL: [Generation; 4] = [
        Generation::Unknown,
        Generation::Young,
        Generation::Full,
        Generation::Concurrent,
    ];
    ALL.into_iter()
        .find(|generation| *generation as u64 == number)
        .unwrap_or_default()
}

impl Translator {
    /// Handles the start of a collection. `made` is the highest object number given so far.
    pub(super) fn collection_started(&mut self, ticks: u64, made: u64) {
        if self.collecting {
            return;
        }
        self.objects.collection(made);
        if self.is_off(Events::GC) {
            return; // the collection is only counted, for ages; its end is ignored
        }
        self.collecting = true;
        let time = Timestamp(self.timeline.at(ticks));
        self.event(&Event::GcStart(GcStart { time }));
    }

    /// Handles the details of a collection. `texts` holds the numbers of the names of the collector
    /// and the cause; `number` is the generation.
    pub(super) fn collection_detail(&mut self, ticks: u64, texts: u64, number: u64) {
        if !self.collecting {
            return;
        }
        let text = |number: u32| self.texts.get(number as usize).map_or("", |text| text);
        let event = Event::GcDetail(GcDetail {
            time: Timestamp(self.timeline.at(ticks)),
            collector: text((texts >> 32) as u32).into(),
            cause: text(texts as u32).into(),
            generation: generation(number),
        });
        self.encoder.event(&event, &mut self.out);
    }

    /// Handles the end of a collection. `total` and `used` are the heap's size and the used part,
    /// in bytes.
    pub(super) fn collection_finished(&mut self, ticks: u64, total: u64, used: u64) {
        let time = Timestamp(self.timeline.at(ticks));
        if std::mem::replace(&mut self.collecting, false) {
            self.event(&Event::GcFinish(GcFinish {
                time,
                total_space: total as i64,
                used_space: used as i64,
                used_objects: 0,
            }));
            self.emit_frees(time);
        }
    }
}
