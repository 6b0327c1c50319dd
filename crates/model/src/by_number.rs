//! Tables indexed by numbers that are assigned in ascending order.

/// Numbers per page.
const PAGE: usize = 256;

/// A table of entries by number. It consists of pages. A page whose numbers are no longer used
/// takes no memory: a program may load and unload classes for as long as it runs.
#[derive(Clone, Debug)]
pub struct ByNumber<T>(Vec<Option<Box<[T; PAGE]>>>);

impl<T> Default for ByNumber<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> ByNumber<T> {
    /// Returns the entry of a number, or `None` if the number's page is empty.
    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&T> {
        let page = self.0.get(number as usize / PAGE)?.as_ref()?;
        Some(&page[number as usize % PAGE])
    }

    /// Returns the entry of a number, after creating it if needed.
    #[inline]
    pub fn at(&mut self, number: u32) -> &mut T {
        let at = number as usize / PAGE;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        let page =
            self.0[at].get_or_insert_with(|| Box::new(std::array::from_fn(|_| T::default())));
        &mut page[number as usize % PAGE]
    }

    /// Returns all entries of pages in memory, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let pages = (0..).step_by(PAGE).zip(&self.0);
        pages.flat_map(|(first, page)| (first..).zip(page.iter().flat_map(|page| page.iter())))
    }

    /// Returns the number of pages in memory.
    pub fn pages(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Drops the entries for which `stays` returns false. `stays` may change the entries that it
    /// keeps.
    pub fn retain(&mut self, mut stays: impl FnMut(u32, &mut T) -> bool) {
        for (first, place) in (0..).step_by(PAGE).zip(&mut self.0) {
            let Some(page) = place else { continue };
            let mut any = false;
            for (number, entry) in (first..).zip(page.iter_mut()) {
                match stays(number, entry) {
                    true => any = true,
                    false => *entry = T::default(),
                }
            }
            if !any {
                *place = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(table: &ByNumber<u32>) -> Vec<(u32, u32)> {
        let all = table.iter().filter(|(_, entry)| **entry != 0);
        all.map(|(number, entry)| (number, *entry)).collect()
    }

    #[test]
    fn entries_are_found_by_their_numbers() {
        let mut table = ByNumber::default();
        assert_eq!(table.get(0), None);
        for number in [700, 3, 256, 255] {
            *table.at(number) = number + 1;
        }
        assert_eq!(table.get(255), Some(&256));
        assert_eq!(table.get(257), Some(&0));
        assert_eq!(table.get(5000), None);
        assert_eq!(all(&table), [(3, 4), (255, 256), (256, 257), (700, 701)]);
    }

    #[test]
    fn pages_that_nobody_needs_are_given_up() {
        let mut table = ByNumber::default();
        for number in 0..10 * PAGE as u32 {
            *table.at(number) = 1;
        }
        table.retain(|number, entry| {
            *entry += number;
            number == 300 || number == 301
        });
        assert_eq!(all(&table), [(300, 301), (301, 302)]);
        assert_eq!(table.pages(), 1);
        assert_eq!(table.get(299), Some(&0));
        assert_eq!(table.get(2000), None);
        *table.at(2000) = 7;
        assert_eq!(all(&table), [(300, 301), (301, 302), (2000, 7)]);
    }
}
