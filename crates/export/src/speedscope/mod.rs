//! speedscope's own format (`.speedscope.json`): a profile of calls and waits for each thread.
//!
//! An export is a JSON object:
//!
//! ```text
//! {"$schema":"https://www.speedscope.app/file-format-schema.json",
//! "exporter":"jtrail 0.1.0","name":"java 71","activeProfileIndex":0,
//! "jtrail":{"start":"1700000000000000000","marks":[]},
//! "shared":{"frames":[
//! {"name":"Shop.pay(Order, int)","file":"com.acme.Shop"}
//! ]},"profiles":[
//! {"type":"evented","name":"main","unit":"nanoseconds","startValue":80007,"endValue":93120,"events":[
//! {"type":"O","frame":0,"at":80007},
//! {"type":"C","frame":0,"at":93120}
//! ]}
//! ]}
//! ```
//!
//! | Key | Meaning |
//! |---|---|
//! | `name` | the program, without its folder, and its process id |
//! | `jtrail.start` | the first time in ns since 1970-01-01 UTC; a string, because it is too large for a double |
//! | `jtrail.marks` | marks and notes on what is missing, with the times `at`, at most 1,000 |
//! | `shared.frames` | methods, kinds of waits by class, and kinds of collections by collector and cause |
//! | `frames[].name` | of a method: without the package, because speedscope abbreviates names in the middle |
//! | `frames[].file` | the class of a method: speedscope shows it, and gives frames of one file similar colours |
//! | `profiles` | threads with calls or waits, the ones with most time in calls first; then collections |
//! | `startValue`, `endValue` | the begin of the first slice and the end of the last one |
//! | `events` | begins (`O`) and ends (`C`) of slices, nested, in the order of time |
//!
//! speedscope ignores `jtrail`. Times are in ns since the first time. `jtrail.start` is missing if
//! there is none.
//!
//! Waits are frames like `blocked on a monitor (java.lang.Object)`, within the calls that wait. A
//! profile without an event stands in for all profiles if no thread has any: speedscope can't open
//! a file without profiles. Two threads may have the same name. A thread without a name is called
//! like `virtual thread 912`.
//!
//! # Memory
//!
//! The format wants the events of a thread together. So the events of all threads are kept until
//! the end, as the time since the preceding event of the thread and the number of the frame. That
//! took 1.7 to 2.8 bytes an event in programs of up to 9 million calls. An event takes some 40
//! bytes of the export, which is in memory as a whole when it is written.

mod events;
mod sink;

pub(crate) use sink::Profiles;

#[cfg(test)]
mod tests;
