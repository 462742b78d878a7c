//! The last line of `watch`: the counts by status, the requests and the time.

use std::{collections::BTreeMap, fmt, time::Duration};

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::{
    cli::output::schema::Schema,
    domain::{span, text},
    store::TransactionOutcome,
};

/// The summary that `watch` prints at its end (`commands.md`, JSON: `summary`).
#[derive(Debug, Serialize)]
pub(super) struct WatchSummary {
    event: &'static str,
    at: String,
    /// The number of transactions by status; `unanswered` counts those without an answer.
    counts: BTreeMap<&'static str, usize>,
    requests: u64,
    seconds: f64,
    schema: Schema,
}

impl WatchSummary {
    /// Counts transactions by their progress at `at`, after this number of requests and this time.
    pub(super) fn new<'a>(
        transactions: impl Iterator<Item = &'a TransactionOutcome>,
        at: DateTime<Utc>,
        requests: u64,
        elapsed: Duration,
    ) -> Self {
        let mut counts = BTreeMap::new();
        for progress in transactions {
            *counts.entry(progress.status.as_ref().map_or("unanswered", |status| status.name())).or_insert(0) += 1;
        }
        let seconds = (elapsed.as_secs_f64() * 1_000.0).round() / 1_000.0;
        Self { event: "summary", at: span::rfc3339(at), counts, requests, seconds, schema: Schema::Event }
    }
}

impl fmt::Display for WatchSummary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
        let counts = if counts.is_empty() { "no transactions".to_owned() } else { counts.join(", ") };
        write!(out, "{counts}; {} in {:.1} s", text::counted(self.requests, "request"), self.seconds)
    }
}
