//! The command channel between a client and the running agent.
//!
//! A client connects to the agent's socket, sends commands and gets answers. It negotiates a
//! format, starts and stops traces, and receives their data live. `docs/control.md` specifies the
//! protocol.
//!
//! | Module | Content |
//! |---|---|
//! | [`frame`] | encoding and decoding of frames |
//! | `part` | elements of documents, and the errors in them |
//! | `command` | commands |
//! | `answer` | answers and notices |
//! | `agent` | the interface that an agent implements |
//! | `server` | the states, and which client may do what; without input or output |
//! | `outbox` | the queue of bytes to a client; the stream that a trace is written to |
//! | `folder`, `socket` | the socket's location and access rights |
//! | `beacon` | discovery of the socket |
//! | `service` | a server on a socket |
//! | `client` | the client's side |
//!
//! An agent implements [`Agent`], and runs a [`Service`] on a thread of its own:
//!
//! ```no_run
//! # #[cfg(unix)]
//! # fn serve(agent: impl jtrail_control::Agent) -> std::io::Result<()> {
//! use jtrail_control::{Listener, Notifier, Server, Service, Settings};
//!
//! let notifier = Notifier::default(); // the agent keeps a copy
//! let listener = Listener::bind_usual()?;
//! let server = Server::new(agent, Settings::default(), notifier);
//! let (service, stopper) = Service::new(server, listener, |line| eprintln!("{line}"))?;
//! service.run()?; // until a client detaches the agent, or `stopper.stop()`
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod agent;
mod answer;
#[cfg(unix)]
mod beacon;
#[cfg(unix)]
mod client;
mod command;
#[cfg(unix)]
mod folder;
pub mod frame;
mod outbox;
mod part;
mod server;
#[cfg(unix)]
mod service;
#[cfg(unix)]
mod socket;
#[cfg(all(test, unix))]
mod testing;
#[cfg(unix)]
mod within;

pub use agent::*;
pub use answer::*;
#[cfg(unix)]
pub use beacon::{Beacon, FoundAgent, find_agents, within};
#[cfg(unix)]
pub use client::*;
pub use command::*;
#[cfg(unix)]
pub use folder::make_folder;
pub use outbox::{DataStream, Wire};
pub use part::{ErrorCode, Failure};
pub use server::*;
#[cfg(unix)]
pub use service::*;
#[cfg(unix)]
pub use socket::{Listener, peer_pid};
#[cfg(unix)]
pub use within::{Caller, Calls, calls};
