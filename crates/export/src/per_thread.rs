//! State by thread.

use crate::sink::ThreadIndex;
use std::ops::{Index, IndexMut};

/// A state for each thread. A thread that is new, or that was removed, has the default state, which
/// takes a word of memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerThread<T> {
    states: Vec<Option<Box<T>>>,
    none: T,
}

impl<T> PerThread<T> {
    /// Drops the state of a thread.
    pub(crate) fn remove(&mut self, index: ThreadIndex) {
        if let Some(state) = self.states.get_mut(index.0 as usize) {
            *state = None;
        }
    }

    /// Returns the threads that have states of their own.
    pub(crate) fn indices(&self) -> Vec<ThreadIndex> {
        self.iter().map(|(index, _)| index).collect()
    }

    /// Returns the states of threads that have one of their own.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (ThreadIndex, &T)> {
        let states = self.states.iter().enumerate();
        states.filter_map(|(n, state)| Some((ThreadIndex(n as u32), &**state.as_ref()?)))
    }

    /// Returns the states of threads that have one of their own.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (ThreadIndex, &mut T)> {
        let states = self.states.iter_mut().enumerate();
        states.filter_map(|(n, state)| Some((ThreadIndex(n as u32), &mut **state.as_mut()?)))
    }
}

impl<T> Index<ThreadIndex> for PerThread<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: ThreadIndex) -> &T {
        match self.states.get(index.0 as usize) {
            Some(Some(state)) => state,
            _ => &self.none,
        }
    }
}

impl<T: Default> IndexMut<ThreadIndex> for PerThread<T> {
    #[inline]
    fn index_mut(&mut self, index: ThreadIndex) -> &mut T {
        let index = index.0 as usize;
        if index >= self.states.len() {
            self.states.resize_with(index + 1, || None);
        }
        self.states[index].get_or_insert_with(Box::default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_states_are_default_again() {
        let mut numbers = PerThread::<u32>::default();
        numbers[ThreadIndex(2)] = 7;
        numbers[ThreadIndex(0)] += 1;
        assert_eq!((numbers[ThreadIndex(1)], numbers[ThreadIndex(9)]), (0, 0));
        assert_eq!(numbers.indices(), [ThreadIndex(0), ThreadIndex(2)]);
        numbers.remove(ThreadIndex(2));
        numbers.remove(ThreadIndex(9));
        assert_eq!(numbers[ThreadIndex(2)], 0);
        assert_eq!(numbers.indices(), [ThreadIndex(0)]);
    }
}
