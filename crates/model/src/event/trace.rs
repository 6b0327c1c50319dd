//! What opens and closes a trace, and what is said of the whole.

use super::Text;
use crate::{ThreadId, Timestamp};

/// See [`crate::Event::Node`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node<'a> {
    /// Identity of the machine, stable while it is up.
    pub node_id: Text<'a>,
    /// Its name.
    pub hostname: Text<'a>,
    /// Its addresses, joined with `,`, loopback last.
    pub ip_address: Text<'a>,
    /// Minutes west of UTC (UTC+8 is -480).
    pub timezone: i32,
    /// When the agent was loaded.
    pub time: Timestamp,
}

/// See [`crate::Event::ProcessCreate`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessCreate<'a> {
    /// Identity of this run of the process.
    pub process_id: Text<'a>,
    /// Name of the process.
    pub name: Text<'a>,
    /// The operating system's process id.
    pub pid: i32,
    /// [`Node::node_id`] of its machine.
    pub node_id: Text<'a>,
    /// When the agent was loaded.
    pub time: Timestamp,
    /// Program file.
    pub executable: Text<'a>,
}

/// See [`crate::Event::AgentCreate`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentCreate<'a> {
    /// Identity of this run of the agent.
    pub agent_id: Text<'a>,
    /// [`ProcessCreate::process_id`] of its process.
    pub process_id: Text<'a>,
    /// Product name.
    pub name: Text<'a>,
    /// Kind of agent.
    pub agent_type: Text<'a>,
    /// When the agent was loaded.
    pub time: Timestamp,
    /// Option text as the agent received it.
    pub parameters: Text<'a>,
    /// Product version.
    pub version: Text<'a>,
}

/// See [`crate::Event::AgentDestroy`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentDestroy<'a> {
    /// [`AgentCreate::agent_id`].
    pub agent_id: Text<'a>,
    /// When it was unloaded.
    pub time: Timestamp,
}

/// See [`crate::Event::TraceStart`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceStart<'a> {
    /// Identity of this trace.
    pub trace_id: Text<'a>,
    /// [`AgentCreate::agent_id`].
    pub agent_id: Text<'a>,
    /// When collection began.
    pub time: Timestamp,
}

/// See [`crate::Event::TraceEnd`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceEnd<'a> {
    /// [`TraceStart::trace_id`]; empty in our own traces.
    pub trace_id: Text<'a>,
    /// When collection ended.
    pub time: Timestamp,
}

/// See [`crate::Event::TracePause`]. Calls that are open here and over when collection goes on are
/// left at the time of the pause, before the first call behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TracePause {
    /// When collection paused.
    pub time: Timestamp,
}

/// See [`crate::Event::TraceResume`]. Calls that began while collection was paused are not in the
/// trace, and neither are their leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceResume {
    /// When collection went on.
    pub time: Timestamp,
}

/// See [`crate::Event::Filter`]. The words are those of TPTP (its specification, message 1007).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter<'a> {
    /// [`TraceStart::trace_id`].
    pub trace_id: Text<'a>,
    /// Class pattern without its `*`.
    pub pattern: Text<'a>,
    /// Where the star stood: `SUFFIX` (at the end), `PREFIX` (at the begin, or alone), `NONE`.
    pub generic_pattern: Text<'a>,
    /// `INCLUDE` or `EXCLUDE`.
    pub mode: Text<'a>,
    /// Method pattern without its `*`.
    pub method_pattern: Text<'a>,
    /// As `generic_pattern`, for the method pattern.
    pub method_generic_pattern: Text<'a>,
    /// As `mode`, for the method pattern.
    pub method_mode: Text<'a>,
}

/// See [`crate::Event::Option`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceOption<'a> {
    /// Key of the option.
    pub key: Text<'a>,
    /// Value in force.
    pub value: Text<'a>,
}

/// See [`crate::Event::RuntimeInitDone`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuntimeInitDone {
    /// Thread that told us.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
}

/// See [`crate::Event::RuntimeShutdown`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuntimeShutdown {
    /// Thread that told us, none if it was never announced.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
}

/// See [`crate::Event::Custom`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Custom<'a> {
    /// The text.
    pub body: Text<'a>,
}
