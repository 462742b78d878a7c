//! The history of one transaction: its changes, and the answers that caused them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        change::Change,
        difference::{Difference, differences},
        ids::RowId,
    },
    store::{
        error::Result,
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
    /// A change from the feed.
    Change(Change),
    /// An answer with its repetitions, and the differences between its body and the previous body with the same HTTP
    /// status.
    Observation(StoredObservation, Vec<Difference>),
}

impl HistoryLine {
    /// Returns when the change happened, or when the answer first arrived.
    pub fn at(&self) -> DateTime<Utc> {
        match self {
            Self::Change(change) => change.at,
            Self::Observation(observation, _) => observation.first_at,
        }
    }
}

impl Reader {
    /// Returns the history of a transaction, oldest first. Bodies are given as differences; [`body`](Self::body)
    /// returns a whole one.
    pub fn history(&self, row: RowId) -> Result<Vec<HistoryLine>> {
        let mut lines = Vec::new();
        // Bodies of errors are compared only with each other: all of an error's body differs from a record.
        let mut before: HashMap<Option<u16>, String> = HashMap::new();
        for answer in self.answers(row)? {
            let body = observations::readable_body(self.db(), answer.id)?;
            let same = before.get(&answer.http_status).zip(body.as_ref());
            let changed_fields = same.map(|(before, body)| differences(before, body)).unwrap_or_default();
            before.extend(body.map(|body| (answer.http_status, body)));
            lines.push(HistoryLine::Observation(answer, changed_fields));
        }
        lines.extend(changes::of_transaction(self.db(), row)?.into_iter().map(HistoryLine::Change));
        lines.sort_by_key(HistoryLine::at);
        Ok(lines)
    }
}
