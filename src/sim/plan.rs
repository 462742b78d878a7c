//! What the simulated service says of one transfer, second by second.
//!
//! A plan is data: it must never depend on who asks or how often.

use std::time::Duration;

use chrono::TimeDelta;
use serde::Deserialize;

use super::edit::Edit;
use crate::domain::transaction::NewTransaction;

/// What kind of route a transfer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bridged, with a call on the destination chain (`isGMPTransaction`).
    Message,
    /// Bridged, tokens only.
    Tokens,
    /// Filled by a solver; refunded when it fails (`service.md` 1).
    Intents,
    /// A swap on one chain.
    SameChain,
}

impl Kind {
    /// Whether a bridge explorer knows it.
    pub fn is_bridged(self) -> bool {
        matches!(self, Self::Message | Self::Tokens)
    }
}

/// Headers, by names in lower case.
pub type Headers = Vec<(String, String)>;

/// What is said from a moment on.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// HTTP 200 with a status record.
    Record {
        /// `routerTransactionStatus`, any text.
        status: String,
        /// How many entries `routeStatus` has.
        steps: usize,
        /// What is changed in the record before it goes out, in this order.
        edits: Vec<Edit>,
    },
    /// An HTTP status and what comes with it.
    Http {
        /// The HTTP status.
        status: u16,
        /// What comes with it.
        content: Content,
    },
}

/// What comes with an HTTP status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The body that the service has for it.
    Usual,
    /// This body as it is.
    Text(String),
    /// No sound answer.
    Play(Play),
}

/// Answers as no sound service gives them (`cases.md` 13, 14, 20 to 26).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Play {
    /// The request is taken and never answered.
    Silence,
    /// A head, then a blank of body now and then, without end.
    Drip,
    /// A body without end, as fast as it is taken.
    Endless,
    /// A small body of gzip that unpacks to 64 MiB.
    Bomb,
    /// A head that promises more than comes before the connection ends.
    Cut,
    /// The connection ends before any answer, as it does to an HTTP/1.1 client where an HTTP/2 one gets a GOAWAY.
    HangUp,
    /// JSON nested 100,000 deep.
    Deep,
    /// A body that is no UTF-8.
    Binary,
}

impl Play {
    /// Whether anything is answered, so that there is an HTTP status.
    pub fn has_status(self) -> bool {
        !matches!(self, Self::Silence | Self::HangUp)
    }
}

impl Answer {
    /// A record with this status and so many steps.
    pub fn record(status: &str, steps: usize) -> Self {
        Self::Record { status: status.to_owned(), steps, edits: Vec::new() }
    }

    /// An HTTP status with the body that the service has for it.
    pub fn http(status: u16) -> Self {
        Self::Http { status, content: Content::Usual }
    }

    /// The status that a client understands by this answer, going by the documented name alone; `None` if it says nothing
    /// of the transfer.
    pub fn status(&self) -> Option<&str> {
        match self {
            Self::Record { status, edits, .. } => {
                match edits.iter().rev().find_map(|edit| edit.of("routerTransactionStatus")) {
                    Some(changed) => changed?.as_str(),
                    None => Some(status),
                }
            }
            Self::Http { content: Content::Play(play), .. } if !play.has_status() => None,
            Self::Http { status: 404, .. } => Some("not_found"),
            Self::Http { .. } => None,
        }
    }

    /// Whether nothing moves after this answer, so that its times stand still.
    pub fn is_end(&self) -> bool {
        matches!(self.status(), Some("success" | "partial_success" | "refund"))
    }
}

/// An answer and when it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// When it begins, counted from the transfer's own beginning.
    pub from: Duration,
    /// What is said.
    pub answer: Answer,
    /// Headers of its own.
    pub headers: Headers,
}

impl Stage {
    /// A stage without headers of its own.
    pub fn new(from: Duration, answer: Answer) -> Self {
        Self { from, answer, headers: Headers::new() }
    }
}

/// What a request for a route gets that names this address, whatever else it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedRoute {
    /// `fromAddress` of the request.
    pub from_address: String,
    /// The HTTP status.
    pub status: u16,
    /// What comes with it.
    pub content: Content,
    /// Headers of its own.
    pub headers: Headers,
}

/// One transfer of the world.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// What a person would import.
    pub new: NewTransaction,
    /// The kind of its route.
    pub kind: Kind,
    /// When it begins, from the world's second 0; before that it is unknown.
    pub begins: TimeDelta,
    /// What is said of it, in order of time.
    pub stages: Vec<Stage>,
}

impl Transfer {
    /// The stage that holds `since` after the world's second 0, and the transfer's own age then. `None` before the first.
    pub fn stage(&self, since: TimeDelta) -> Option<(&Stage, Duration)> {
        let age = since.checked_sub(&self.begins)?.to_std().ok()?;
        let stage = self.stages.iter().rev().find(|stage| stage.from <= age)?;
        Some((stage, if stage.answer.is_end() { stage.from } else { age }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_what_the_answer_says_in_the_end() {
        let edited = |edit| Answer::Record { status: "ongoing".into(), steps: 1, edits: vec![edit] };
        let played = |play| Answer::Http { status: 404, content: Content::Play(play) };
        let table = [
            (Answer::record("Ongoing", 1), Some("Ongoing")),
            (edited(Edit::set("/routerTransactionStatus", "\"success\"").unwrap()), Some("success")),
            (edited(Edit::set("/routerTransactionStatus", "7").unwrap()), None),
            (edited(Edit::unset("/routerTransactionStatus").unwrap()), None),
            (edited(Edit::unset("/toChain").unwrap()), Some("ongoing")),
            (Answer::http(404), Some("not_found")),
            (Answer::http(500), None),
            (played(Play::Drip), Some("not_found")),
            (played(Play::Silence), None),
        ];
        for (answer, status) in table {
            assert_eq!(answer.status(), status, "{answer:?}");
        }
    }
}
