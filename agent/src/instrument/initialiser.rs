//! Static initialisers of classes.

use jtrail_classfile::Method;

/// The name of all of them.
pub(crate) const INITIALISER: &str = "<clinit>";

/// Returns true if the method is the static initialiser of its class.
pub(super) fn is_initialiser(method: &Method<'_>) -> bool {
    method.name() == INITIALISER && method.has_code()
}
