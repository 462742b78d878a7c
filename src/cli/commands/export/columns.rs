//! The columns of CSV and of Markdown: the name of each column and the function that returns its cells.
//!
//! The first columns of CSV are those that `import` reads, under its names. The name of any other column must be in the
//! schema of a transaction, or among the other export columns in `intake`.

use chrono::{DateTime, FixedOffset, Utc};

use crate::domain::{
    advice,
    alert::Alert,
    record::StatusRecord,
    reply, route,
    service_level::DeadlineResult,
    span::{self, rfc3339},
    status::RouterStatus,
    transaction::{Tracking, Transaction},
};

/// A transaction, and what else its cells show.
#[derive(Clone, Copy)]
pub(super) struct RowData<'a> {
    pub tx: &'a Transaction,
    /// The active alerts of this transaction, without its profile's.
    pub alerts: &'a [Alert],
    /// Whether the transaction settled within its deadline, if that is decided and the format shows it.
    pub deadline: Option<DeadlineResult>,
    pub now: DateTime<Utc>,
    /// The time zone of times that people read.
    pub zone: FixedOffset,
}

type CellFormatter = fn(&RowData<'_>) -> String;

/// The columns of CSV. An absent value is an empty cell.
pub(super) const CSV: &[(&str, CellFormatter)] = &[
    ("transactionId", |row| row.tx.params.transaction_id.to_string()),
    ("fromChainId", |row| row.tx.params.from_chain.to_string()),
    ("toChainId", |row| row.tx.params.to_chain.to_string()),
    ("quoteId", |row| row.tx.params.quote_id.clone()),
    ("requestId", |row| row.tx.request_id().unwrap_or_default().to_owned()),
    ("estimatedRouteDuration", |row| text(row.tx.params.estimate.map(crate::cli::output::json::seconds))),
    ("submittedAt", |row| text(row.tx.params.submitted_at.map(rfc3339))),
    ("fromAddress", |row| row.tx.params.from_address.clone().unwrap_or_default()),
    ("ticket", |row| row.tx.params.ticket.clone().unwrap_or_default()),
    ("labels", |row| row.tx.labels.join(";")),
    ("notes", |row| row.tx.notes.join("\n")),
    ("firstSeenAt", |row| rfc3339(row.tx.first_seen_at)),
    ("untracked", |row| (row.tx.tracking == Tracking::Untracked).to_string()),
    ("profile", |row| row.tx.profile.clone()),
    ("fromChain", |row| row.tx.from_name()),
    ("toChain", |row| row.tx.to_name()),
    ("status", |row| text(row.tx.state.status.as_ref().map(RouterStatus::raw))),
    ("settled", |row| row.tx.is_settled().to_string()),
    ("overdue", |row| row.tx.is_overdue().to_string()),
    ("deadline", |row| rfc3339(row.tx.deadline().at)),
    ("verdict", |row| row.advice().verdict),
    ("say", |row| row.advice().say),
    ("do", |row| row.advice().act),
    ("alerts", |row| row.alerts.iter().map(|alert| alert.rule.name()).collect::<Vec<_>>().join(";")),
    ("lastCheckedAt", |row| text(row.tx.state.last_checked_at.map(rfc3339))),
    ("lastChangedAt", |row| text(row.tx.state.last_changed_at.map(rfc3339))),
    ("settledAt", |row| text(row.tx.state.settled_at.map(rfc3339))),
    ("polls", |row| row.tx.state.polls.to_string()),
    ("lastError", |row| row.tx.state.last_error.clone().unwrap_or_default()),
    ("message", |row| row.tx.state.message.clone().unwrap_or_default()),
    ("error", |row| row.record(|record| record.error.as_deref())),
    ("bridgeStatus", |row| row.record(|record| record.bridge_status.as_deref())),
    ("sourceUrl", |row| text(route::ends(row.tx).source.url)),
    ("destinationTransactionId", |row| text(route::ends(row.tx).destination.transaction_id)),
    ("destinationUrl", |row| text(route::ends(row.tx).destination.url)),
    ("bridgeUrl", |row| row.record(|record| record.bridge_url.as_deref())),
];

fn shown_status(status: &RouterStatus) -> &str {
    if status.raw().trim().is_empty() { "(empty)" } else { status.raw() }
}

/// The columns of Markdown, chosen for a ticket. Text from outside is escaped.
pub(super) const MARKDOWN: &[(&str, CellFormatter)] = &[
    ("Transaction", |row| code(row.tx.params.transaction_id.as_str())),
    ("Route", |row| reply::escape_markdown(&format!("{} to {}", row.tx.from_name(), row.tx.to_name()))),
    ("Status", |row| reply::escape_markdown(row.tx.state.status.as_ref().map_or("no answer", shown_status))),
    ("Age", |row| span::long(row.tx.age(row.now))),
    ("Deadline", |row| match row.tx.is_awaited() {
        true => span::stamp(row.tx.deadline().at, row.zone),
        false => "-".into(),
    }),
    ("Ticket", |row| row.tx.params.ticket.as_deref().map_or("-".into(), reply::escape_markdown)),
    ("Verdict", |row| reply::escape_markdown(&row.advice().verdict)),
];

impl RowData<'_> {
    fn advice(&self) -> advice::Advice {
        advice::advise(self.tx, self.now, self.zone)
    }

    fn record(&self, value: fn(&StatusRecord) -> Option<&str>) -> String {
        self.tx.record.as_ref().and_then(value).unwrap_or_default().to_owned()
    }
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Returns a hash as Markdown code, or escaped if it contains a character that would end the code or the cell.
fn code(hash: &str) -> String {
    if hash.contains(['`', '|', '\\']) { reply::escape_markdown(hash) } else { format!("`{hash}`") }
}
