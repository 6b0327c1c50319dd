//! Names of classes: as the model has them, and as the format spells them.

/// Returns the name of a class with dots and slashes exchanged: the format's from that of the
/// model, and back. A hidden class has one of the other kind in its name.
pub(super) fn exchanged(name: &str) -> String {
    let exchange = |c| match c {
        '.' => '/',
        '/' => '.',
        c => c,
    };
    name.chars().map(exchange).collect()
}

/// Returns the name of the class of arrays of `class`, with slashes or dots as `class` has.
pub(super) fn array_of(class: &str) -> String {
    match class.strip_prefix('[') {
        Some(_) => format!("[{class}"),
        None => format!("[L{class};"),
    }
}
