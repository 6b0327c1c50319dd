//! What the page of the viewer asks, and the answers.
//!
//! A request is a path and a query (`/api/tile?trace=0&thread=3&from=0&until=1000&width=800`).
//! Times are in ns since the trace's first time. Threads have the numbers of `/api/traces`.
//!
//! | Module | Answers |
//! |---|---|
//! | `session` | the open traces, and the sums that were asked for lately |
//! | `query` | parameters |
//! | `traces` | `/api/traces`, `/api/methods`, `/api/find` |
//! | `pictures` | `/api/tile`, `/api/lanes`, `/api/heat`, `/api/occurrences` |
//! | `calls` | `/api/call` |
//! | `tables` | `/api/table` |
//!
//! An answer that takes long is that of the part which has been read so far. Its `share` is below 1
//! then, and the page asks again.

pub(crate) mod calls;
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

/// An answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// True if the request was answered; false if it was wrong.
    pub is_found: bool,
    /// The type of the body, as HTTP has it.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    fn json(value: &Value) -> Self {
        Self {
            is_found: true,
            content_type: "application/json",
            body: value.to_string().into_bytes(),
        }
    }

    fn binary(body: Vec<u8>) -> Self {
        Self {
            is_found: true,
            content_type: "application/octet-stream",
            body,
        }
    }

    fn error(message: &str) -> Self {
        Self {
            is_found: false,
            ..Self::json(&json!({ "error": message }))
        }
    }
}

/// What is wrong with a request.
#[derive(Debug)]
enum Fault {
    /// The request itself.
    Request(String),
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
            Fault::Request(message) => Answer::error(&message),
            Fault::Trace(error) => Answer::error(&error.to_string()),
        })
    }

    fn about_trace(&self, path: &str, query: &str) -> Result<Answer, Fault> {
        let query = Query::parse(query);
        let number: usize = query.number("trace")?;
        let Some(trace) = self.traces().get(number) else {
            return Err(Fault::Request(format!("there is no trace {number}")));
        };
        match path {
            "/api/methods" => traces::methods(trace, &query),
            "/api/find" => traces::find(trace, &query),
            "/api/tile" => pictures::tile(trace, &query),
            "/api/lanes" => pictures::lanes(trace, &query),
            "/api/heat" => pictures::heat(trace, &query),
            "/api/occurrences" => pictures::occurrences(trace, &query),
            "/api/call" => calls::call(trace, &query),
            "/api/table" => tables::table(trace, &query),
            _ => Err(Fault::Request(format!("nothing is at {path}"))),
        }
    }
}
