//! What the page of the viewer asks, and the answers.
//!
//! A request is a path and a query (`/api/tile?trace=0&thread=3&from=0&until=1000&width=800`).
//! Times are in ns since the trace's first time. Threads have the numbers of `/api/traces`.
//!
//! | Module | Answers |
//! |---|---|
//! | `session` | the open traces, and the sums that were asked for lately |
//! | `live` | traces that are still being written |
//! | `query` | parameters |
//! | `traces` | `/api/traces`, `/api/methods`, `/api/find` |
//! | `pictures` | `/api/tile`, `/api/lanes`, `/api/heat`, `/api/occurrences` |
//! | `calls` | `/api/call` |
//! | `tables` | `/api/table` |
//! | `longest` | the longest waits, for a table |
//!
//! An answer that takes long is that of the part which has been read so far. Its `share` is below 1
//! then, and the page asks again.

pub(crate) mod calls;
mod live;
mod longest;
pub(crate) mod pictures;
mod query;
mod session;
mod tables;
pub(crate) mod traces;

pub use session::{MIN_INDEXED, Opened, Session};

use query::Query;
use serde_json::{Value, json};
use std::time::Duration;

/// Maximum time for an answer, after which the part so far is sent.
const TIME: Duration = Duration::from_millis(150);

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It was answered.
    Answered,
    /// Its parameters are wrong.
    Wrong,
    /// What it asks for does not exist.
    Missing,
    /// The trace can't be read.
    Failed,
}

/// An answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// How the request ended.
    pub status: Status,
    /// The type of the body, as HTTP has it.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// True if it is only a part of the answer, or a coarse picture. The page asks again.
    pub is_partial: bool,
}

impl Answer {
    fn json(value: &Value) -> Self {
        Self {
            status: Status::Answered,
            content_type: "application/json",
            body: value.to_string().into_bytes(),
            is_partial: value["share"].as_f64().is_some_and(|share| share < 1.0),
        }
    }

    fn binary(body: Vec<u8>, is_partial: bool) -> Self {
        Self {
            status: Status::Answered,
            content_type: "application/octet-stream",
            body,
            is_partial,
        }
    }

    fn error(status: Status, message: &str) -> Self {
        Self {
            status,
            ..Self::json(&json!({ "error": message }))
        }
    }
}

/// What is wrong with a request.
#[derive(Debug)]
enum Fault {
    /// The request itself.
    Request(String),
    /// Nothing is there.
    Missing(String),
    /// The trace can't be read.
    Trace(std::io::Error),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Trace(error)
    }
}

impl Session {
    /// Answers a request.
    pub fn answer(&self, path: &str, query: &str) -> Answer {
        let answer = match path {
            "/api/traces" => Ok(traces::traces(self)),
            _ => self.about_trace(path, query),
        };
        answer.unwrap_or_else(|fault| match fault {
            Fault::Request(message) => Answer::error(Status::Wrong, &message),
            Fault::Missing(message) => Answer::error(Status::Missing, &message),
            Fault::Trace(error) => Answer::error(Status::Failed, &error.to_string()),
        })
    }

    fn about_trace(&self, path: &str, query: &str) -> Result<Answer, Fault> {
        let answer: fn(&Opened, &Query) -> Result<Answer, Fault> = match path {
            "/api/methods" => traces::methods,
            "/api/find" => traces::find,
            "/api/tile" => pictures::tile,
            "/api/lanes" => pictures::lanes,
            "/api/heat" => pictures::heat,
            "/api/occurrences" => pictures::occurrences,
            "/api/call" => calls::call,
            "/api/table" => tables::table,
            _ => return Err(Fault::Missing(format!("nothing is at {path}"))),
        };
        let query = Query::parse(query);
        let number: usize = query.number("trace")?;
        let trace = self.traces().get(number);
        let trace = trace.ok_or_else(|| Fault::Request(format!("there is no trace {number}")))?;
        answer(&trace.read(), &query)
    }
}
