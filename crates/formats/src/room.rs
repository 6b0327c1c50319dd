//! A bound on the size of an event's texts. A record refers to texts by ids, so a few bytes of the
//! file can become many bytes of the event.

/// Maximum bytes of these texts in one event. Stacks of real programs need a tenth of that.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Remaining bytes for the texts of an event.
#[derive(Debug)]
pub(crate) struct TextBudget(usize);

impl Default for TextBudget {
    fn default() -> Self {
        Self(MAX_TEXT_BYTES)
    }
}

impl TextBudget {
    /// Reserves the bytes that `text` needs. Returns false if too few bytes are left.
    pub(crate) fn takes(&mut self, text: &str) -> bool {
        match self.0.checked_sub(text.len()) {
            Some(left) => self.0 = left,
            None => return false,
        }
        true
    }
}
