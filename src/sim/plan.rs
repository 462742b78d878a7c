//! The simulated service's answers for one transfer, second by second.
//!
//! A plan is data: it must never depend on the client or on the number of requests.

use std::time::Duration;

use chrono::TimeDelta;
use serde::Deserialize;

use super::edit::RecordEdit;
use crate::domain::{ids::ChainId, transaction::NewTransaction};

/// The time between two blocks, in seconds, on every chain.
const BLOCK_TIME: i64 = 2;
/// The number of every chain's newest block at the world's second 0.
const FIRST_BLOCK: i64 = 20_000_000;
/// How long a transaction is pending on its source chain before it is mined.
pub(super) const PENDING_FOR: Duration = Duration::from_secs(3);

/// Returns the number of a chain's newest block at `since` after the world's second 0.
pub(super) fn block_at(since: TimeDelta) -> u64 {
    u64::try_from(FIRST_BLOCK + since.num_seconds().div_euclid(BLOCK_TIME)).unwrap_or_default()
}

/// Returns when a block was made, counted from the world's second 0.
pub(super) fn block_time(number: u64) -> TimeDelta {
    TimeDelta::seconds(number.cast_signed().saturating_sub(FIRST_BLOCK).saturating_mul(BLOCK_TIME))
}

/// The kind of a transfer's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferRoute {
    /// Bridged, with a call on the destination chain (`isGMPTransaction`).
    Message,
    /// Bridged, tokens only.
    Tokens,
    /// Filled by a solver; refunded when it fails (`service.md` 1).
    Intents,
    /// A swap on one chain.
    SameChain,
}

impl TransferRoute {
    /// Whether a bridge carries the transfer, so that a bridge explorer shows it.
    pub fn is_bridged(self) -> bool {
        matches!(self, Self::Message | Self::Tokens)
    }
}

/// Headers, with names in lower case.
pub(crate) type Headers = Vec<(String, String)>;

/// The answer from a moment on.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedAnswer {
    /// HTTP 200 with a status record.
    Record {
        /// `routerTransactionStatus`, any text.
        status: String,
        /// The number of entries in `routeStatus`.
        steps: usize,
        /// Changes to the record before it is sent, in this order.
        edits: Vec<RecordEdit>,
    },
    /// An HTTP status and its content.
    Http {
        /// The HTTP status.
        status: u16,
        /// The content of the answer.
        content: AnswerContent,
    },
}

/// The content of an answer with an HTTP status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerContent {
    /// The service's own body for the status.
    Default,
    /// This body, unchanged.
    Text(String),
    /// A faulty answer.
    FaultyAnswer(FaultyAnswer),
}

/// Faulty answers, as no working service gives them (`cases.md` 13, 14, 20 to 26).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultyAnswer {
    /// The request is read and never answered.
    Silence,
    /// A head, then a blank of body from time to time, without end.
    Drip,
    /// A body without end, as fast as the client reads it.
    Endless,
    /// A small gzip body that unpacks to 64 MiB.
    Bomb,
    /// A head with a `content-length` larger than the body that is sent before the connection ends.
    Cut,
    /// The connection ends before any answer. For an HTTP/1.1 client, that is the equivalent of HTTP/2's GOAWAY.
    HangUp,
    /// JSON nested 100,000 levels deep.
    Deep,
    /// A body that is not UTF-8.
    Binary,
}

impl FaultyAnswer {
    /// Whether the service starts to answer, so that there is an HTTP status.
    pub fn has_status(self) -> bool {
        !matches!(self, Self::Silence | Self::HangUp)
    }
}

impl PlannedAnswer {
    /// Creates a record with this status and this number of steps.
    pub fn record(status: &str, steps: usize) -> Self {
        Self::Record { status: status.to_owned(), steps, edits: Vec::new() }
    }

    /// Creates an answer with an HTTP status and the service's own body for it.
    pub fn http(status: u16) -> Self {
        Self::Http { status, content: AnswerContent::Default }
    }

    /// Returns the status that a client reads from this answer, by the documented name alone; `None` if the answer has
    /// nothing about the transfer.
    pub fn status(&self) -> Option<&str> {
        match self {
            Self::Record { status, edits, .. } => {
                match edits.iter().rev().find_map(|edit| edit.change_to("routerTransactionStatus")) {
                    Some(changed) => changed?.as_str(),
                    None => Some(status),
                }
            }
            Self::Http { content: AnswerContent::FaultyAnswer(play), .. } if !play.has_status() => None,
            Self::Http { status: 404, .. } => Some("not_found"),
            Self::Http { .. } => None,
        }
    }

    /// Whether the transfer is settled with this answer, so that its times no longer grow.
    pub fn is_settled(&self) -> bool {
        matches!(self.status(), Some("success" | "partial_success" | "refund"))
    }
}

/// An answer and the moment when it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferStage {
    /// When the answer begins, counted from the beginning of the transfer.
    pub from: Duration,
    /// The answer.
    pub answer: PlannedAnswer,
    /// Additional headers.
    pub headers: Headers,
}

impl TransferStage {
    /// Creates a stage without additional headers.
    pub fn new(from: Duration, answer: PlannedAnswer) -> Self {
        Self { from, answer, headers: Headers::new() }
    }
}

/// The answer to every route request from this address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedRoute {
    /// The request's `fromAddress`.
    pub from_address: String,
    /// The HTTP status.
    pub status: u16,
    pub content: AnswerContent,
    /// Additional headers.
    pub headers: Headers,
}

/// The course of a transfer's transaction on its source chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ChainCourse {
    /// It is mined and succeeds.
    #[default]
    Succeeded,
    /// It is mined and reverts.
    Reverted,
    /// It is never mined.
    Pending,
    /// It is pending, and after this time another transaction of the sender takes its place.
    Replaced(Duration),
    /// No chain knows it.
    Unknown,
    /// It succeeds, but is imported with this source chain, which is wrong.
    ImportedAs(ChainId),
}

impl TryFrom<String> for ChainCourse {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Ok(match text.as_str() {
            "succeeded" => Self::Succeeded,
            "reverted" => Self::Reverted,
            "pending" => Self::Pending,
            "replaced" => Self::Replaced(Duration::from_secs(20)),
            "unknown" => Self::Unknown,
            other => Self::ImportedAs(ChainId::new(
                other
                    .strip_prefix("imported as ")
                    .ok_or("chain must be succeeded, reverted, pending, replaced, unknown or `imported as CHAIN`")?,
            )),
        })
    }
}

/// One transfer of the world.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The transaction as a person would import it.
    pub new: NewTransaction,
    /// The kind of the transfer's route.
    pub kind: TransferRoute,
    /// When the transfer begins, counted from the world's second 0. Before that, the transfer is unknown.
    pub begins: TimeDelta,
    /// The answers about the transfer, in order of time.
    pub stages: Vec<TransferStage>,
    /// The course of the transaction on its source chain.
    pub course: ChainCourse,
}

impl Transfer {
    /// Returns the stage at `since` after the world's second 0, and the transfer's age then. Returns `None` before the
    /// first stage.
    pub fn stage(&self, since: TimeDelta) -> Option<(&TransferStage, Duration)> {
        let age = since.checked_sub(&self.begins)?.to_std().ok()?;
        let stage = self.stages.iter().rev().find(|stage| stage.from <= age)?;
        Some((stage, if stage.answer.is_settled() { stage.from } else { age }))
    }

    /// Returns the number of a chain's newest block when the transfer has this age.
    fn newest_block_at(&self, age: Duration) -> u64 {
        block_at(TimeDelta::from_std(age).map_or(self.begins, |age| self.begins + age))
    }

    /// Returns the number of the block with the transaction on the source chain.
    pub(super) fn source_block(&self) -> u64 {
        self.newest_block_at(PENDING_FOR)
    }

    /// Returns the number of the block with the transaction on the destination chain: of the first answer with that
    /// transaction. 0 if no answer has it.
    pub(super) fn destination_block(&self) -> u64 {
        let has_arrived = |stage: &&TransferStage| match &stage.answer {
            PlannedAnswer::Record { status, steps, .. } => self.has_arrived(status, *steps),
            PlannedAnswer::Http { .. } => false,
        };
        self.stages.iter().find(has_arrived).map_or(0, |stage| self.newest_block_at(stage.from))
    }

    /// Whether a record with this status and number of steps has the transaction on the destination chain.
    pub(super) fn has_arrived(&self, status: &str, steps: usize) -> bool {
        match status {
            "success" | "partial_success" => true,
            "refund" => false,
            _ => self.kind != TransferRoute::SameChain && steps >= 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_of_an_answer_includes_edits_and_plays() {
        let edited = |edit| PlannedAnswer::Record { status: "ongoing".into(), steps: 1, edits: vec![edit] };
        let played = |play| PlannedAnswer::Http { status: 404, content: AnswerContent::FaultyAnswer(play) };
        let table = [
            (PlannedAnswer::record("Ongoing", 1), Some("Ongoing")),
            (edited(RecordEdit::set("/routerTransactionStatus", "\"success\"").unwrap()), Some("success")),
            (edited(RecordEdit::set("/routerTransactionStatus", "7").unwrap()), None),
            (edited(RecordEdit::unset("/routerTransactionStatus").unwrap()), None),
            (edited(RecordEdit::unset("/toChain").unwrap()), Some("ongoing")),
            (PlannedAnswer::http(404), Some("not_found")),
            (PlannedAnswer::http(500), None),
            (played(FaultyAnswer::Drip), Some("not_found")),
            (played(FaultyAnswer::Silence), None),
        ];
        for (answer, status) in table {
            assert_eq!(answer.status(), status, "{answer:?}");
        }
    }
}
