//! The open calls of a thread.

use std::ops::{Deref, DerefMut};

/// The open calls of a thread, the innermost one last. It dereferences to a slice of calls.
///
/// The vector may be longer than the slice of open calls. [`Self::with_room`] lets a loop write new
/// calls into the rest.
#[derive(Clone, Debug, Default)]
pub struct CallStack<T> {
    /// The open calls, and room for more.
    calls: Vec<T>,
    depth: usize,
}

impl<T: Copy + Default> CallStack<T> {
    /// Pushes a call that begins.
    #[inline]
    pub fn push(&mut self, call: T) {
        match self.calls.get_mut(self.depth) {
            Some(room) => *room = call,
            None => self.calls.push(call),
        }
        self.depth += 1;
    }

    /// Pushes nested calls that begin, the outermost one first.
    #[inline]
    pub fn extend(&mut self, calls: &[T]) {
        let (room, depth) = self.with_room(calls.len());
        let after = depth + calls.len();
        room[depth..after].copy_from_slice(calls);
        self.depth = after;
    }

    /// Pops the innermost call, if there is one.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let call = *self.last()?;
        self.depth -= 1;
        Some(call)
    }

    /// Removes all calls.
    pub fn clear(&mut self) {
        self.depth = 0;
    }

    /// Returns a slice of the open calls followed by room for at least `more` calls, and the number
    /// of open calls. After writing calls into the room, the caller sets the new number with
    /// [`Self::set_depth`].
    #[inline]
    pub fn with_room(&mut self, more: usize) -> (&mut [T], usize) {
        let needed = self.depth + more;
        if self.calls.len() < needed {
            self.calls.resize(needed * 2, T::default());
        }
        (&mut self.calls, self.depth)
    }

    /// Sets the number of open calls. Added calls must have been written into the room.
    ///
    /// # Panics
    /// If there is no such room.
    #[inline]
    pub fn set_depth(&mut self, depth: usize) {
        assert!(depth <= self.calls.len(), "calls without room");
        self.depth = depth;
    }
}

impl<T> Deref for CallStack<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.calls[..self.depth]
    }
}

impl<T> DerefMut for CallStack<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.calls[..self.depth]
    }
}

impl<T> FromIterator<T> for CallStack<T> {
    fn from_iter<I: IntoIterator<Item = T>>(calls: I) -> Self {
        let calls = Vec::from_iter(calls);
        let depth = calls.len();
        Self { calls, depth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_popped() {
        let mut stack: CallStack<u32> = [1, 2].into_iter().collect();
        stack.push(3);
        assert_eq!((stack.pop(), &stack[..]), (Some(3), &[1, 2][..]));
        let (room, depth) = stack.with_room(2);
        assert_eq!((room.len() >= 4, depth), (true, 2));
        room[2..4].copy_from_slice(&[4, 5]);
        assert_eq!(stack[..], [1, 2]);
        stack.set_depth(4);
        stack[0] = 7;
        assert_eq!(stack[..], [7, 2, 4, 5]);
        stack.clear();
        assert_eq!((stack.pop(), stack.is_empty()), (None, true));
    }
}
