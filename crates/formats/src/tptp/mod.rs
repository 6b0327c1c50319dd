//! TPTP
#![allow(missing_docs)]
pub mod binary;
pub mod xml;
const LARGEST_EVENT: usize = 16 << 20;
