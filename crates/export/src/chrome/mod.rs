//! Traces in Chrome's Trace Event Format (`.trace.json`): what the Perfetto UI,
//! `chrome://tracing`, speedscope and many other tools read.
//!
//! A trace is a JSON object with an event on each line:
//!
//! ```text
//! {"traceEvents":[
//! {"ph":"M","pid":71,"name":"process_name","args":{"name":"java"}},
//! {"ph":"M","pid":71,"tid":1,"name":"thread_name","args":{"name":"main"}},
//! {"ph":"B","pid":71,"tid":1,"ts":80.007,"name":"com.acme.Shop.pay(Order, int)"},
//! {"ph":"E","pid":71,"tid":1,"ts":93.120,"name":"com.acme.Shop.pay(Order, int)"}
//! ],"displayTimeUnit":"ns","otherData":{"writer":"jtrail 0.1.0","start":"1700000000000000000"}}
//! ```
//!
//! The trace is written as a stream. Perfetto opens 370 MB in a quarter of a minute. speedscope
//! takes more than 10 minutes for 270 MB, and drops calls that take no time: its own format suits
//! it better. It refuses the extension `.chrome.json`, which it expects to be another format.
//!
//! | Module | Contents |
//! |---|---|
//! | `sink` | what becomes which events |
//! | `events` | events, processes and threads |
//!
//! # Times
//!
//! Times (`ts`) are in µs since the first time of the trace, with exactly three decimals. So they
//! are exact to the nanosecond in readers that keep them as doubles, for traces of up to 104 days.
//! Absolute times would not be. What begins before the first time, such as the 10 ms of an
//! allocation rate, begins at 0, because readers drop events with negative times.
//!
//! `otherData.start` is the first time in ns since 1970-01-01 UTC. It is a string, because it is
//! too large for a double. The key is missing if nothing in the trace has a time.
//!
//! The events of a thread are in the order of time, those of different threads may not be.
//!
//! # Processes and threads
//!
//! `pid` is the id in the operating system, and 1 if it is unknown. `tid` is the thread's id in the
//! trace, which `jtrail report` shows as well. The id in the operating system would not do: virtual
//! threads have none, and later threads get those of earlier ones. A thread whose id is 0 or above
//! 2,147,483,646 gets a number from 2,147,483,648 on.
//!
//! | Metadata event (`M`) | Meaning |
//! |---|---|
//! | `process_name` | the program, without its folder |
//! | `thread_name` | the thread's name, and `os_id`, its id in the operating system, if known |
//! | `thread_sort_index` | the thread's rank by its first mention in the trace; 0 is for collections |
//!
//! A thread's metadata precede its first event. They are repeated when the thread is renamed.
//! A thread without a name is called like `virtual thread 912`.
//!
//! # Events
//!
//! | `ph` | Meaning |
//! |---|---|
//! | `B`, `E` | begin and end of a call, a wait, or a collection (on the thread 2,147,483,647) |
//! | `i`, scope `t` | an exception that is thrown or caught, or a sample |
//! | `i`, scope `p` | a mark, or a note on what is missing |
//! | `C` | a counter's value from this time on |
//! | `s`, `f` | a flow from the owner of a monitor to the thread that is blocked |
//!
//! A call is named like `com.acme.Shop.pay(Order, int)`, a wait `blocked on a monitor`,
//! `Object.wait` or `parked`. An `E` repeats the name of its `B`: without it, speedscope nests
//! calls wrongly and does not say so. `tts` is the CPU time of the thread, if it was measured, in
//! the notation of `ts`. There are no complete events (`X`): if a trace has one, Perfetto v52 mixes
//! up begins and ends that have the same time.
//!
//! | Event | `args` |
//! |---|---|
//! | wait | `object` or `blocker` (id), `class`, `owner` (the thread's name), `timeout_ms` |
//! | end of a call | `ended by`: `an exception`, if so |
//! | throw, catch | `stack`: frames, the innermost first |
//! | sample | `state`, `stack` |
//! | collection | `collector`, `cause`, `used` (bytes in use after it) |
//! | counter | the value, by its unit |
//!
//! | Counter | Unit |
//! |---|---|
//! | `Heap used` | `bytes`, after each collection |
//! | `Allocation rate` | `bytes per second`, for each 10 ms |
//! | `Live` | `threads` |
//! | `CPU time of the process` | `ns` |
//! | `CPU time of NAME (tid)` | `ns` |
//!
//! Readers bind both ends of a flow to calls or waits that enclose them. So there is a flow only if
//! a slice of the owner is open that began at or before the time of the blocked one.

mod events;
mod sink;

pub(crate) use events::TraceEvents;

#[cfg(test)]
mod tests;
