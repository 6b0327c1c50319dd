//! The tests of rewritten classes, in one program: so that what they share is built once.

mod support;

mod apart;
mod assembled;
mod behaviour;
mod counts;
mod failures;
mod javap;
mod jdk;
mod robust;
