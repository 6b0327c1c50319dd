//! Sets of numbers that are assigned in ascending order.

const PAGE_WORDS: usize = 64;

/// A set of numbers. It takes little memory if it holds a few of the numbers, or nearly all. A page
/// covers 4096 numbers. Empty and full pages take 16 bytes, other pages 512 bytes more.
#[derive(Default)]
pub struct NumberSet(Vec<Page>);

#[derive(Default)]
enum Page {
    #[default]
    None,
    Some(Box<[u64; PAGE_WORDS]>),
    All,
}

impl Page {
    fn word(&self, at: usize) -> u64 {
        match self {
            Self::None => 0,
            Self::Some(words) => words[at],
            Self::All => u64::MAX,
        }
    }
}

impl NumberSet {
    fn place(number: u64) -> (usize, usize, u64) {
        let word = (number / 64) as usize;
        (word / PAGE_WORDS, word % PAGE_WORDS, 1 << (number % 64))
    }

    /// Adds a number. Returns false if the set contained it already.
    pub fn insert(&mut self, number: u64) -> bool {
        let (at, word, bit) = Self::place(number);
        if self.0.len() <= at {
            self.0.resize_with(at + 1, Page::default);
        }
        let page = &mut self.0[at];
        if page.word(word) & bit != 0 {
            return false;
        }
        match page {
            Page::Some(words) => words[word] |= bit,
            _ => {
                let mut words = Box::new([0; PAGE_WORDS]);
                words[word] = bit;
                *page = Page::Some(words);
            }
        }
        if page.word(word) == u64::MAX && (0..PAGE_WORDS).all(|at| page.word(at) == u64::MAX) {
            *page = Page::All;
        }
        true
    }

    /// Returns true if the set contains the number.
    pub fn contains(&self, number: u64) -> bool {
        let (page, word, bit) = Self::place(number);
        let page = self.0.get(page);
        page.is_some_and(|page| page.word(word) & bit != 0)
    }

    /// Returns all numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        const NUMBERS: u64 = PAGE_WORDS as u64 * 64;
        let pages = (0..).step_by(NUMBERS as usize).zip(&self.0);
        let pages = pages.filter(|(_, page)| !matches!(page, Page::None));
        pages.flat_map(|(first, page)| {
            let is_in = |n: &u64| page.word((n / 64) as usize) >> (n % 64) & 1 != 0;
            (0..NUMBERS).filter(is_in).map(move |n| first + n)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of pages that have memory of their own.
    fn pages(set: &NumberSet) -> usize {
        let some = set.0.iter().filter(|page| matches!(page, Page::Some(_)));
        some.count()
    }

    #[test]
    fn whole_pages_take_no_room() {
        let mut set = NumberSet::default();
        for number in (0..20_000).rev() {
            assert!(set.insert(number), "{number}");
        }
        assert_eq!(pages(&set), 1);
        assert!(!set.insert(5000) && set.contains(19_999) && !set.contains(20_000));
        assert!(set.iter().eq(0..20_000));
    }

    #[test]
    fn each_number_is_new_once() {
        let mut set = NumberSet::default();
        for number in [1, 64, 63, 4096, 1 << 30, 2] {
            assert!(!set.contains(number), "{number}");
            assert!(set.insert(number), "{number}");
            assert!(set.contains(number), "{number}");
            assert!(!set.insert(number), "{number}");
        }
        assert_eq!(pages(&set), 3);
        assert!(!set.contains(u64::MAX));
        let all: Vec<_> = set.iter().collect();
        assert_eq!(all, [1, 2, 63, 64, 4096, 1 << 30]);
    }
}
