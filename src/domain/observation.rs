//! The result of one request at one moment.
//!
//! An observation says what happened on the wire. It must never say what follows: the poller and the transaction decide
//! that.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{chain_config::ChainConfig, record::StatusRecord, text};

/// The most bytes that are kept of a body that is too large to be read, for people.
pub(crate) const KEPT_OF_LARGE_BODY: usize = 64 * 1024;

/// The answer to one request for the status of one transaction, or the reason why none came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The outcome of the request.
    pub outcome: StatusOutcome,
    /// The HTTP status, if there was an answer.
    pub http_status: Option<u16>,
    /// The time from sending until the last byte, or until giving up.
    pub latency: Duration,
    /// The body as received, without the integrator ID; `None` if none came. Shown only through the sanitiser.
    pub body: Option<String>,
    /// The chains that the body describes.
    pub chains: Vec<ChainConfig>,
    /// The service's ID of the exchange, the header `x-request-id`, cleaned; `None` if none came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl Observation {
    /// Returns the observation of a request that failed after `latency`, before the service answered.
    pub(crate) fn failed(failure: RequestFailure, latency: Duration) -> Self {
        let outcome = StatusOutcome::Failed(failure);
        Self { outcome, http_status: None, latency, body: None, chains: Vec::new(), response_id: None }
    }
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusOutcome {
    /// A status record (HTTP 200).
    Record(Box<StatusRecord>),
    /// HTTP 404: not indexed yet, with the service's message if there is one (`service.md` 7.4).
    NotFound(Option<String>),
    /// No status of the transaction came.
    Failed(RequestFailure),
}

impl StatusOutcome {
    /// Returns the failure, if the request failed.
    pub fn failure(&self) -> Option<&RequestFailure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Record(_) | Self::NotFound(_) => None,
        }
    }
}

/// Why a request returned no status of the transaction (`service.md` 7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub enum RequestFailure {
    /// HTTP 400: the service refuses this transaction's parameters.
    #[error("the service rejected the request: {0}")]
    Rejected(String),
    /// HTTP 401: the integrator ID is missing or invalid.
    #[error("the service refused the integrator ID: {0}")]
    Unauthorized(String),
    /// HTTP 429: over the limit of the ID, with the pause that the service asked for.
    #[error("the service throttled the integrator ID{}{}", message_suffix(.message), pause_suffix(.retry_after))]
    Throttled {
        /// The service's message.
        message: Option<String>,
        /// `Retry-After`, already clamped.
        retry_after: Option<Duration>,
    },
    /// Any other HTTP status.
    #[error("the service answered HTTP {status}: {message}{}", hint(*.status))]
    Server {
        /// The HTTP status.
        status: u16,
        /// The message in the body.
        message: String,
    },
    /// HTTP 200 with a body that is not a status record.
    #[error("the answer can't be read: {0}")]
    Unreadable(String),
    /// A record of another transaction.
    #[error("the service answered with another transaction, {0}")]
    OtherTransaction(String),
    /// The connection failed before an answer came.
    #[error("{0}")]
    Transport(String),
    /// No complete answer came in time. The moment at which the service saw the request is unknown.
    #[error("no whole answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// This machine couldn't send the request: the process has run out of something. Says nothing about the service.
    #[error("{0}")]
    Local(String),
}

/// Returns advice on an HTTP status that the service doesn't document.
fn hint(status: u16) -> &'static str {
    match status {
        300..=399 | 401..=405 | 410 => "; check the base URL",
        _ => "",
    }
}

fn message_suffix(message: &Option<String>) -> String {
    message.as_ref().map_or_else(String::new, |message| format!(": {message}"))
}

fn pause_suffix(retry_after: &Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |span| format!("; it asks for a rest of {} s", span.as_secs()))
}

impl RequestFailure {
    /// Whether the failure suggests that the whole service is out of reach, not just that this request was refused.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Server { status, .. } => *status >= 500,
            Self::Transport(_) | Self::TimedOut(_) => true,
            Self::Rejected(_)
            | Self::Unauthorized(_)
            | Self::Throttled { .. }
            | Self::Unreadable(_)
            | Self::OtherTransaction(_)
            | Self::Local(_) => false,
        }
    }

    /// Returns the failure as one clean line.
    pub fn one_line(&self) -> String {
        text::clean(&self.to_string())
    }
}
