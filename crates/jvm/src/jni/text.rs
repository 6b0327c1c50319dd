//! Strings of Java.

use super::with;
use jni::sys::{JNIEnv, jstring};
use std::ptr;

/// A string's text; none for null.
///
/// # Safety
/// `env` is the running thread's, and `string` null or a live reference to a string.
pub unsafe fn text_of(env: *mut JNIEnv, string: jstring) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the functions are there since version 1.2, and write no more than so many units.
    unsafe {
        let functions = &(**env).v1_1;
        let length = (functions.GetStringLength)(env, string);
        let mut units = vec![0_u16; usize::try_from(length).unwrap_or_default()];
        ((**env).v1_2.GetStringRegion)(env, string, 0, length, units.as_mut_ptr());
        Some(String::from_utf16_lossy(&units))
    }
}

/// A new string, as a local reference; null if there is no memory for it.
pub fn new_text(env: *mut JNIEnv, text: &str) -> jstring {
    let made = with(env, |env| Ok(env.new_string(text)?.into_raw()));
    made.unwrap_or(ptr::null_mut())
}
