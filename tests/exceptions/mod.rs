//! Exceptions that are thrown and caught.

mod handlers;
mod throws;
