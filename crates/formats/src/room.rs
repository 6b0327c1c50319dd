//! A bound for texts that a record names by ids: a few bytes in the file are many in the event.

/// Bytes of such texts in one event. Stacks of real programs have a tenth of it.
const MOST: usize = 1 << 20;

/// Room for the texts of an event.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MOST)
    }
}

impl Room {
    /// Takes the room that a text needs; `false` if that is not left.
    pub(crate) fn takes(&mut self, text: &str) -> bool {
        match self.0.checked_sub(text.len()) {
            Some(left) => self.0 = left,
            None => return false,
        }
        true
    }
}
