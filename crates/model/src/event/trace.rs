//! Events that open and close a trace, and options and filters of the whole trace.

use super::Text;
use crate::{ThreadId, Timestamp};

/// The machine on which the program ran ([`crate::Event::Node`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node<'a> {
    /// Identity of the machine, constant until it is rebooted.
    pub node_id: Text<'a>,
    /// Host name.
    pub hostname: Text<'a>,
    /// Addresses, joined with `,`, with loopback addresses last.
    pub ip_address: Text<'a>,
    /// Minutes west of UTC (UTC+8 is -480).
    pub timezone: i32,
    /// Time at which the agent was loaded.
    pub time: Timestamp,
}

/// The traced process ([`crate::Event::ProcessCreate`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessCreate<'a> {
    /// Identity of this run of the process.
    pub process_id: Text<'a>,
    /// Name of the process.
    pub name: Text<'a>,
    /// The operating system's process id.
    pub pid: i32,
    /// [`Node::node_id`] of the process's machine.
    pub node_id: Text<'a>,
    /// Time at which the agent was loaded.
    pub time: Timestamp,
    /// Path of the program file.
    pub executable: Text<'a>,
}

/// The agent in the process ([`crate::Event::AgentCreate`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentCreate<'a> {
    /// Identity of this run of the agent.
    pub agent_id: Text<'a>,
    /// [`ProcessCreate::process_id`] of the agent's process.
    pub process_id: Text<'a>,
    /// Product name.
    pub name: Text<'a>,
    /// Kind of agent.
    pub agent_type: Text<'a>,
    /// Time at which the agent was loaded.
    pub time: Timestamp,
    /// The option text as the agent received it.
    pub parameters: Text<'a>,
    /// Product version.
    pub version: Text<'a>,
}

/// The unloading of the agent ([`crate::Event::AgentDestroy`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentDestroy<'a> {
    /// [`AgentCreate::agent_id`] of the agent.
    pub agent_id: Text<'a>,
    /// Time at which the agent was unloaded.
    pub time: Timestamp,
}

/// The start of recording ([`crate::Event::TraceStart`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceStart<'a> {
    /// Identity of this trace.
    pub trace_id: Text<'a>,
    /// [`AgentCreate::agent_id`] of the agent that records.
    pub agent_id: Text<'a>,
    /// Start of recording.
    pub time: Timestamp,
}

/// The end of recording ([`crate::Event::TraceEnd`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceEnd<'a> {
    /// [`TraceStart::trace_id`]; empty in traces of jtrail.
    pub trace_id: Text<'a>,
    /// End of recording.
    pub time: Timestamp,
}

/// A pause of recording ([`crate::Event::TracePause`]). Calls that are open here may end in the
/// pause. Their leaves have the time at which the pause began, and precede the first call after the
/// pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TracePause {
    /// Start of the pause.
    pub time: Timestamp,
}

/// The end of a pause ([`crate::Event::TraceResume`]). Calls that began in the pause are not in the
/// trace, and neither are their leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceResume {
    /// End of the pause.
    pub time: Timestamp,
}

/// A filter rule in force ([`crate::Event::Filter`]). The words are those of TPTP (message 1007 of
/// its specification).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter<'a> {
    /// [`TraceStart::trace_id`] of the trace.
    pub trace_id: Text<'a>,
    /// Class pattern without its `*`.
    pub pattern: Text<'a>,
    /// Position of the `*`: `SUFFIX` (at the end), `PREFIX` (at the start, or alone), `NONE`.
    pub generic_pattern: Text<'a>,
    /// `INCLUDE` or `EXCLUDE`.
    pub mode: Text<'a>,
    /// Method pattern without its `*`.
    pub method_pattern: Text<'a>,
    /// Like `generic_pattern`, for the method pattern.
    pub method_generic_pattern: Text<'a>,
    /// Like `mode`, for the method pattern.
    pub method_mode: Text<'a>,
}

/// An option in force ([`crate::Event::Option`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceOption<'a> {
    /// Key of the option.
    pub key: Text<'a>,
    /// Value of the option.
    pub value: Text<'a>,
}

/// The end of the JVM's initialisation ([`crate::Event::RuntimeInitDone`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuntimeInitDone {
    /// Thread on which the JVM reported it.
    pub thread: ThreadId,
    /// Time of the report.
    pub time: Timestamp,
}

/// The start of the JVM's shutdown ([`crate::Event::RuntimeShutdown`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuntimeShutdown {
    /// Thread on which the JVM reported it; none if the trace does not define the thread.
    pub thread: ThreadId,
    /// Time of the report.
    pub time: Timestamp,
}

/// Free text ([`crate::Event::Custom`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Custom<'a> {
    /// The text.
    pub body: Text<'a>,
}
