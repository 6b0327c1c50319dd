//! Sets of numbers that are given in order.

const PAGE_WORDS: usize = 64;

/// Numbers grow for ever, and a set may hold few of them: pages without any take 8 bytes, others 512 for 4096 numbers.
#[derive(Default)]
pub struct NumberSet(Vec<Option<Box<[u64; PAGE_WORDS]>>>);

impl NumberSet {
    fn place(number: u64) -> (usize, usize, u64) {
        let word = (number / 64) as usize;
        (word / PAGE_WORDS, word % PAGE_WORDS, number % 64)
    }

    /// Adds a number; `false` if it was there.
    pub fn insert(&mut self, number: u64) -> bool {
        let (page, word, bit) = Self::place(number);
        if self.0.len() <= page {
            self.0.resize_with(page + 1, || None);
        }
        let page = self.0[page].get_or_insert_with(|| Box::new([0; PAGE_WORDS]));
        let was = page[word];
        page[word] = was | 1 << bit;
        was >> bit & 1 == 0
    }

    /// Whether a number is in it.
    pub fn contains(&self, number: u64) -> bool {
        let (page, word, bit) = Self::place(number);
        let page = self.0.get(page).and_then(Option::as_ref);
        page.is_some_and(|page| page[word] >> bit & 1 != 0)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let pages = self.0.iter().enumerate();
        let pages = pages.filter_map(|(at, page)| Some((at, page.as_ref()?)));
        pages.flat_map(|(at, page)| {
            let first = (at * PAGE_WORDS * 64) as u64;
            let numbers = 0..PAGE_WORDS as u64 * 64;
            let is_in = |n: &u64| page[(n / 64) as usize] >> (n % 64) & 1 != 0;
            numbers.filter(is_in).map(move |n| first + n)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once() {
        let mut set = NumberSet::default();
        for number in [1, 64, 63, 4096, 1 << 30, 2] {
            assert!(!set.contains(number), "{number}");
            assert!(set.insert(number), "{number}");
            assert!(set.contains(number), "{number}");
            assert!(!set.insert(number), "{number}");
        }
        assert_eq!(set.0.iter().flatten().count(), 3);
        assert!(!set.contains(u64::MAX));
        let all: Vec<_> = set.iter().collect();
        assert_eq!(all, [1, 2, 63, 64, 4096, 1 << 30]);
    }
}
