//! What one request told us at one moment.
//!
//! It says what happened on the wire and must never say what follows from it: that is the poller's business and the
//! transaction's.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::{chain_config::ChainConfig, record::StatusRecord, text};

/// The answer to one request for the status of one transaction, or its absence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// What it told us.
    pub outcome: Outcome,
    /// The HTTP status, if there was an answer.
    pub http_status: Option<u16>,
    /// From sending to the last byte, or to giving up.
    pub latency: Duration,
    /// The body as it came, without the integrator ID; `None` if none came. Shown only through the sanitiser.
    pub body: Option<String>,
    /// The chains that it describes.
    pub chains: Vec<ChainConfig>,
}

/// What a request told us.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A status record (HTTP 200).
    Record(Box<StatusRecord>),
    /// HTTP 404: not indexed yet, with the service's message if it gave one (`service.md` 7.4).
    NotFound(Option<String>),
    /// No news of the transaction.
    Failed(Failure),
}

impl Outcome {
    /// The failure, if it is one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Record(_) | Self::NotFound(_) => None,
        }
    }
}

/// Why a request brought no news of the transaction (`service.md` 7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    /// HTTP 400: this transaction's parameters are refused.
    #[error("the service rejected the request: {0}")]
    Rejected(String),
    /// HTTP 401: the integrator ID is missing or invalid.
    #[error("the service refused the integrator ID: {0}")]
    Unauthorized(String),
    /// HTTP 429: over the limit of the ID, with the rest that the service asked for.
    #[error("the service throttled the integrator ID{}{}", said(.message), rest(.retry_after))]
    Throttled {
        /// What it said.
        message: Option<String>,
        /// `Retry-After`, already bounded.
        retry_after: Option<Duration>,
    },
    /// Any other HTTP status.
    #[error("the service answered HTTP {status}: {message}{}", hint(*.status))]
    Server {
        /// The HTTP status.
        status: u16,
        /// What the body said.
        message: String,
    },
    /// HTTP 200 with a body that is no status record.
    #[error("the answer can't be read: {0}")]
    Unreadable(String),
    /// A record of another transaction.
    #[error("the service answered with another transaction, {0}")]
    OtherTransaction(String),
    /// The connection failed before an answer came.
    #[error("{0}")]
    Transport(String),
    /// No whole answer came in time; when the service saw the request is unknown.
    #[error("no whole answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
}

/// What to do about an HTTP status that the service doesn't document.
fn hint(status: u16) -> &'static str {
    match status {
        300..=499 => "; check the base URL",
        _ => "",
    }
}

fn said(message: &Option<String>) -> impl fmt::Display {
    message.as_ref().map_or_else(String::new, |message| format!(": {message}"))
}

fn rest(retry_after: &Option<Duration>) -> impl fmt::Display {
    match retry_after {
        Some(span) => format!("; it asks for a rest of {} s", span.as_secs()),
        None => String::new(),
    }
}

impl Failure {
    /// Whether the service as a whole seems out of reach, rather than this one request unwelcome.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Server { status, .. } => *status >= 500,
            Self::Transport(_) | Self::TimedOut(_) => true,
            _ => false,
        }
    }

    /// The failure as one clean line.
    pub fn line(&self) -> String {
        text::clean(&self.to_string())
    }
}
