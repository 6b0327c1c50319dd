//! The heap sizes from the collector's own variables, for collectors whose counters are stale when
//! a collection finishes: Shenandoah, and G1 in its remark and cleanup pauses.
//!
//! The variables are found with the JVM's own tables ([`Fields`]). They are read with plain loads,
//! so a GC callback may do it; the program is stopped then.

use super::fields::{Fields, word};

/// The addresses of a collector's size variables.
pub(super) enum HeapFields {
    Shenandoah(Shenandoah),
    G1(G1),
}

/// Addresses of Shenandoah's variables.
pub(super) struct Shenandoah {
    committed: usize,
    used: usize,
}

/// Addresses of G1's table of regions, and offsets of fields in a region.
pub(super) struct G1 {
    regions: usize,
    length: usize,
    bottom: usize,
    top: usize,
}

impl HeapFields {
    /// Finds the variables of the running JVM, by the name of one of its collectors; `None` if they
    /// are not needed or not found.
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

    /// Returns the heap size and the bytes in use. The heap size is `None` if its counter is not
    /// stale. Only GC callbacks may call this.
    pub(super) fn get(&self) -> (Option<u64>, u64) {
        // SAFETY: the addresses belong to the running JVM's heap, and the program is stopped.
        unsafe {
            match self {
                Self::Shenandoah(at) => (Some(word(at.committed) as u64), word(at.used) as u64),
                Self::G1(at) => (None, at.used()),
            }
        }
    }
}

/// Returns the pointer at an address from the JVM's tables, if it is not null.
fn value(place: usize) -> Option<usize> {
    // SAFETY: according to the JVM's tables, the address holds a pointer.
    Some(unsafe { word(place) }).filter(|value| *value != 0)
}

impl Shenandoah {
    fn find(fields: &Fields, heap: usize) -> Option<Self> {
        let of_heap = |name| Some(heap + fields.place(&[c"ShenandoahHeap"], name)?);
        // In JDK 25 the heap has generations. The global generation is the whole heap.
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
        // In JDK 11, a region inherits these fields.
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

    /// Returns the sum of the bytes used in all regions. The table has null for regions that were
    /// never committed.
    ///
    /// # Safety
    /// The addresses and offsets are those of this JVM's table of regions, and the JVM is at a
    /// safepoint, at which no region is removed.
    unsafe fn used(&self) -> u64 {
        // SAFETY: libjvm's table has `length` entries, each null or the address of a region, which
        // has both words.
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
        // Bottom, end and top of each region.
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
