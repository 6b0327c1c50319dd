//! Numbers and names in files of the format. The names of elements are in `element`.

/// The root element.
pub(super) const ROOT: &str = "TRACE";
/// The text before the first element.
pub(super) const HEAD: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<TRACE>\n";
/// The text after the last element.
pub(super) const END: &[u8] = b"</TRACE>\n";

/// The element of a frame, inside of a monitor event.
pub(super) const ANNOTATION: &str = "annotation";
/// The key of an annotation that contains a frame.
pub(super) const STACK_FRAME: &str = "stackFrame";
/// The text before a frame's own text.
pub(super) const FRAME: &[u8] = b"<annotation key=\"stackFrame\" value=\"";
