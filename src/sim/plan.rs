//! What the simulated service says of one transfer, second by second.
//!
//! A plan is data: it must never depend on who asks or how often.

use std::time::Duration;

use chrono::TimeDelta;

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

/// What is said from a moment on.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// HTTP 200 with a status record.
    Record {
        /// `routerTransactionStatus`, any text.
        status: String,
        /// How many entries `routeStatus` has.
        steps: usize,
    },
    /// An HTTP status, with the body that the service has for it, or with this one as it is.
    Http {
        /// The HTTP status.
        status: u16,
        /// The body as it is sent; `None` for the service's own.
        body: Option<String>,
    },
}

impl Answer {
    /// A record with this status and so many steps.
    pub fn record(status: &str, steps: usize) -> Self {
        Self::Record { status: status.to_owned(), steps }
    }

    /// The status that a client understands by this answer; `None` if it says nothing of the transfer.
    pub fn status(&self) -> Option<&str> {
        match self {
            Self::Record { status, .. } => Some(status),
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
    /// The text of a `Retry-After` header.
    pub retry_after: Option<String>,
}

impl Stage {
    /// A stage without a header of its own.
    pub fn new(from: Duration, answer: Answer) -> Self {
        Self { from, answer, retry_after: None }
    }
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
