//! How much of the heap is in use, from the collector's own variables, for collectors whose
//! counters are old when a collection finishes: Shenandoah, and G1 in its remark and cleanup.
//!
//! The JVM tells where they are ([`Fields`]). Reading them is plain loads, so a GC callback may do
//! it; the program stands still then.

use super::fields::{Fields, word};

/// Where a collector has its figures.
pub(super) enum HeapFields {
    Shenandoah(Shenandoah),
    G1(G1),
}

/// Addresses.
pub(super) struct Shenandoah {
    committed: usize,
    used: usize,
}

/// Addresses, and places in a region of the heap.
pub(super) struct G1 {
    regions: usize,
    length: usize,
    bottom: usize,
    top: usize,
}

impl HeapFields {
    /// Those of the running JVM, by the name of one of its collectors; `None` where they are not
    /// needed, or can't be found.
    pub(super) fn find(collector: &str) -> Option<Self> {
        let find = match collector {
            name if name.starts_with("Shenandoah") => {
                |fields: &_, heap| Shenandoah::find(fields, heap).map(Self::Shenandoah)
            }
            name if name.starts_with("G1") => {
                |fields: &_, heap| G1::find(fields, heap).map(Self::G1)
            }
            _ => return None,
        };
        let fields = Fields::find()?;
        let heap = value(fields.place(&[c"Universe"], c"_collectedHeap")?)?;
        find(&fields, heap)
    }

    /// Bytes of the heap, where its counter is old, too; and bytes in use. For a GC callback.
    pub(super) fn get(&self) -> (Option<u64>, u64) {
        // SAFETY: places of the running JVM's heap; the program stands still.
        unsafe {
            match self {
                Self::Shenandoah(at) => (Some(word(at.committed) as u64), word(at.used) as u64),
                Self::G1(at) => (None, at.used()),
            }
        }
    }
}

/// The pointer at a place that the JVM tells, if it is not null.
fn value(place: usize) -> Option<usize> {
    // SAFETY: the JVM has a pointer there.
    Some(unsafe { word(place) }).filter(|value| *value != 0)
}

impl Shenandoah {
    fn find(fields: &Fields, heap: usize) -> Option<Self> {
        let of_heap = |name| Some(heap + fields.place(&[c"ShenandoahHeap"], name)?);
        // Where the heap has generations (25), one of them is all.
        let of_all = || {
            let all = value(of_heap(c"_global_generation")?)?;
            Some(all + fields.place(&[c"ShenandoahGeneration"], c"_used")?)
        };
        Some(Self {
            committed: of_heap(c"_committed")?,
            used: of_heap(c"_used").or_else(of_all)?,
        })
    }
}

impl G1 {
    fn find(fields: &Fields, heap: usize) -> Option<Self> {
        let manager = heap + fields.place(&[c"G1CollectedHeap"], c"_hrm")?;
        let managers = [c"G1HeapRegionManager", c"HeapRegionManager"];
        let table = manager + fields.place(&managers, c"_regions")?;
        let of_table = |name| Some(table + fields.place(&[c"G1HeapRegionTable"], name)?);
        // In 11, what a region has of these is inherited.
        let region = [
            c"G1HeapRegion",
            c"HeapRegion",
            c"G1ContiguousSpace",
            c"Space",
        ];
        Some(Self {
            regions: of_table(c"_base")?,
            length: of_table(c"_length")?,
            bottom: fields.place(&region, c"_bottom")?,
            top: fields.place(&region, c"_top")?,
        })
    }

    /// The sum of what the regions hold. The table has no region where the heap never was so big.
    ///
    /// # Safety
    /// The addresses and offsets are those of this JVM's table of regions, and the JVM is at a
    /// safepoint, at which no region goes.
    unsafe fn used(&self) -> u64 {
        // SAFETY: libjvm's table has `length` addresses of regions, or nulls; each region has both
        // words.
        unsafe {
            let (regions, length) = (word(self.regions), word(self.length));
            (0..length)
                .map(|number| word(regions + number * size_of::<usize>()))
                .filter(|region| *region != 0)
                .map(|region| word(region + self.top).saturating_sub(word(region + self.bottom)))
                .sum::<usize>() as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address<T>(value: &T) -> usize {
        std::ptr::from_ref(value).expose_provenance()
    }

    #[test]
    fn regions_add_up() {
        // Bottom, end, top.
        let (full, part, free) = (
            [100_usize, 200, 200],
            [200_usize, 300, 225],
            [300_usize, 400, 300],
        );
        let regions = [address(&full), 0, address(&part), address(&free), 0];
        let (base, length) = (address(&regions), regions.len());
        let g1 = G1 {
            regions: address(&base),
            length: address(&length),
            bottom: 0,
            top: 2 * size_of::<usize>(),
        };
        assert_eq!(HeapFields::G1(g1).get(), (None, 125));
    }

    #[test]
    fn other_collectors_need_none() {
        assert!(HeapFields::find("Copy").is_none());
    }
}
