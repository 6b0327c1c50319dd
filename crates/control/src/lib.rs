//! The command channel between a client and the running agent.
//!
//! A client connects to the agent's socket, sends commands and gets answers: it agrees on a format,
//! starts and stops traces, and takes the data live. `docs/control.md` specifies all that goes over
//! the wire.
//!
//! | Module | Holds |
//! |---|---|
//! | [`frame`] | bytes to frames and back |
//! | `part` | parts of documents, and what is wrong with them |
//! | `command` | what a client asks for |
//! | `answer` | what the agent answers, and what it tells unasked |
//! | `agent` | what an agent must be able to do |
//! | `server` | states, and who may do what; no input or output |
//! | `outbox` | what waits to be sent to a client; the stream that a trace is written to |
//! | `folder`, `socket` | where the socket is; who may use it |
//! | `beacon` | how clients find it |
//! | `service` | a server on a socket |
//! | `client` | the client's side |
//!
//! An agent implements [`Agent`], and has a thread of its own that runs a [`Service`]:
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
pub use beacon::{Beacon, Sighting, sight, within};
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
