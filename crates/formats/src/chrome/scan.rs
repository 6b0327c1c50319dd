//! The ends of JSON values.

/// Looks for the end of a JSON value. The value may come in several pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// Number of open arrays and objects.
    depth: u64,
    in_text: bool,
    after_backslash: bool,
    /// True in a number, `true`, `false` or `null` outside of arrays and objects.
    in_word: bool,
}

impl Scan {
    /// Continues in the next bytes of the value. Returns the number of bytes that belong to it, and
    /// whether they end it. A number or word ends before the byte that follows it.
    pub(super) fn next(&mut self, input: &[u8]) -> (usize, bool) {
        for (at, byte) in input.iter().enumerate() {
            if self.in_text {
                match byte {
                    _ if self.after_backslash => self.after_backslash = false,
                    b'\\' => self.after_backslash = true,
                    b'"' => {
                        self.in_text = false;
                        if self.depth == 0 {
                            return (at + 1, true);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            if self.in_word {
                if byte.is_ascii_alphanumeric() || b"+-.".contains(byte) {
                    continue;
                }
                return (at, true);
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                _ if self.depth == 0 => self.in_word = true,
                _ => {}
            }
        }
        (input.len(), false)
    }
}
