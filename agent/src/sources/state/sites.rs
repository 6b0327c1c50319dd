//! Properties of arrays that are created at allocation sites.

use jtrail_jvm::jni::ObjectArrays;
use jtrail_records::definition::Sizing;
use std::sync::OnceLock;

/// The state of allocations at their sites.
#[derive(Default)]
pub(in crate::sources) struct Sites {
    pub(in crate::sources) arrays: OnceLock<Arrays>,
}

/// Sizes of arrays by their elements, and the class of `Object[]`.
pub(in crate::sources) struct Arrays {
    pub(in crate::sources) sizings: [(u8, Sizing); ELEMENTS.len()],
    pub(in crate::sources) of_objects: ObjectArrays,
}

/// First characters of the descriptors of element types. `L` also stands for elements that are
/// arrays.
pub(in crate::sources) const ELEMENTS: [u8; 9] = *b"ZBCSIJFDL";
