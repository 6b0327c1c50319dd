//! Java strings.

use super::{Env, TextRef};
use jtrail_classfile::text::from_utf16;

impl<'e> Env<'e> {
    /// Returns the text of a string.
    pub fn text(&self, string: TextRef<'_>) -> String {
        let (env, functions, string) = (self.as_ptr(), self.functions(), string.as_raw());
        // SAFETY: the environment is the running thread's, and the handle refers to a string.
        // `units` has room for `length` code units.
        unsafe {
            let length = (functions.GetStringLength)(env, string);
            let mut units = vec![0_u16; usize::try_from(length).unwrap_or_default()];
            (functions.GetStringRegion)(env, string, 0, length, units.as_mut_ptr());
            from_utf16(&units)
        }
    }

    /// Creates a string; `None` if the JVM has no memory for it.
    pub fn new_text(&self, text: &str) -> Option<TextRef<'e>> {
        let made = self.with_jni(|env| Ok(env.new_string(text)?.into_raw()));
        // SAFETY: a local reference to a string that JNI created in the current frame.
        unsafe { self.local(made.ok()?) }
    }
}
