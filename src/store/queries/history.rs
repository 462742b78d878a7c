//! The history of one transaction: what changed, and the answers that changed it.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        change::Change,
        difference::{Difference, differences},
        ids::RowId,
    },
    store::{
        error::StoreError,
        reader::Reader,
        tables::{
            changes,
            observations::{self, StoredObservation},
        },
    },
};

/// One line of a transaction's history.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryLine {
    /// Something changed.
    Change(Change),
    /// An answer, or several in a row of which only the first brought news; with what its body has otherwise than the one
    /// before it that came with the same HTTP status.
    Observation(StoredObservation, Vec<Difference>),
}

impl HistoryLine {
    /// When it happened; of several equal answers the first.
    pub fn at(&self) -> DateTime<Utc> {
        match self {
            Self::Change(change) => change.at,
            Self::Observation(observation, _) => observation.first_at,
        }
    }
}

impl Reader {
    /// What happened to a transaction, the oldest first. Of the bodies only what differs is told; [`body`](Self::body) has them.
    pub fn history(&self, row: RowId) -> Result<Vec<HistoryLine>, StoreError> {
        let mut lines = Vec::new();
        // Between an answer and an error's body everything differs, and that says nothing.
        let mut before: HashMap<Option<u16>, String> = HashMap::new();
        for answer in observations::of_transaction(self.db(), row)? {
            let body = observations::readable_body(self.db(), answer.id)?;
            let same = before.get(&answer.http_status).zip(body.as_ref());
            let differs = same.map(|(before, body)| differences(before, body)).unwrap_or_default();
            before.extend(body.map(|body| (answer.http_status, body)));
            lines.push(HistoryLine::Observation(answer, differs));
        }
        lines.extend(changes::of_transaction(self.db(), row)?.into_iter().map(HistoryLine::Change));
        lines.sort_by_key(HistoryLine::at);
        Ok(lines)
    }
}
