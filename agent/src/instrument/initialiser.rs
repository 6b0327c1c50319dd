//! Static initializers of classes.

use jtrail_classfile::Method;

/// The name of every static initializer.
pub(crate) const INITIALISER: &str = "<clinit>";

/// Returns true if the method is the static initializer of its class.
pub(super) fn is_initialiser(method: &Method<'_>) -> bool {
    method.name() == INITIALISER && method.has_code()
}
