//! The tests of the codecs, in one program so that shared code is built only once.

mod common;

mod binary;
mod binary_foreign;
mod calls;
mod check;
mod check_objects;
mod check_threads;
mod damage;
mod formats_document;
mod jinsight;
mod join;
mod limits;
mod mlpd;
mod mlpd_foreign;
mod mlpd_mprof;
mod mlpd_random;
mod profilerj;
mod profilerj_random;
mod random;
mod reader;
mod recode;
mod short_calls;
mod tracelog;
mod tracelog_foreign;
mod tracelog_random;
mod trail;
mod trail_helpers;
mod trail_open;
mod trail_recover;
mod trail_scan;
mod xml;
mod xml_foreign;
