//! Class names: conversion between the model's spelling and the format's.

/// Returns a class name with dots and slashes exchanged. This converts from the model to the format
/// and back. The name of a hidden class contains both characters.
pub(super) fn exchanged(name: &str) -> String {
    let exchange = |c| match c {
        '.' => '/',
        '/' => '.',
        c => c,
    };
    name.chars().map(exchange).collect()
}

/// Returns the class name of an array of `class`. The package separators of `class` are not
/// changed.
pub(super) fn array_of(class: &str) -> String {
    match class.strip_prefix('[') {
        Some(_) => format!("[{class}"),
        None => format!("[L{class};"),
    }
}
