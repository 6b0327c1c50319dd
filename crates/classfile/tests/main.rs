//! The tests of rewritten classes, in one program, so that their shared parts are built once.

mod support;

mod apart;
mod assembled;
mod behaviour;
mod counts;
mod failures;
mod javap;
mod jdk;
mod robust;
