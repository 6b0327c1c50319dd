//! Throws and catches.

mod handlers;
mod throws;
