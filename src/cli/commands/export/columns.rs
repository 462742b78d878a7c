//! The columns of CSV and of Markdown: the name of each column and the function that returns its cells.
//!
//! The first columns of CSV are those that `import` reads, under its names. The name of any other column must be added
//! to the table of export columns that `import` ignores.

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
    ("transactionId", |facts| facts.tx.params.transaction_id.to_string()),
    ("fromChainId", |facts| facts.tx.params.from_chain.to_string()),
    ("toChainId", |facts| facts.tx.params.to_chain.to_string()),
    ("quoteId", |facts| facts.tx.params.quote_id.clone()),
    ("requestId", |facts| facts.tx.request_id().unwrap_or_default().to_owned()),
    ("estimatedRouteDuration", |facts| text(facts.tx.params.estimate.map(crate::cli::output::json::seconds))),
    ("submittedAt", |facts| text(facts.tx.params.submitted_at.map(rfc3339))),
    ("fromAddress", |facts| facts.tx.params.from_address.clone().unwrap_or_default()),
    ("ticket", |facts| facts.tx.params.ticket.clone().unwrap_or_default()),
    ("labels", |facts| facts.tx.labels.join(";")),
    ("notes", |facts| facts.tx.notes.join("\n")),
    ("firstSeenAt", |facts| rfc3339(facts.tx.first_seen_at)),
    ("untracked", |facts| (facts.tx.tracking == Tracking::Untracked).to_string()),
    ("profile", |facts| facts.tx.profile.clone()),
    ("fromChain", |facts| facts.tx.from_name()),
    ("toChain", |facts| facts.tx.to_name()),
    ("status", |facts| text(facts.tx.state.status.as_ref().map(RouterStatus::raw))),
    ("settled", |facts| facts.tx.is_settled().to_string()),
    ("overdue", |facts| facts.tx.is_overdue().to_string()),
    ("deadline", |facts| rfc3339(facts.tx.deadline().at)),
    ("verdict", |facts| facts.advice().verdict),
    ("say", |facts| facts.advice().say),
    ("do", |facts| facts.advice().act),
    ("alerts", |facts| facts.alerts.iter().map(|alert| alert.rule.name()).collect::<Vec<_>>().join(";")),
    ("lastCheckedAt", |facts| text(facts.tx.state.last_checked_at.map(rfc3339))),
    ("lastChangedAt", |facts| text(facts.tx.state.last_changed_at.map(rfc3339))),
    ("settledAt", |facts| text(facts.tx.state.settled_at.map(rfc3339))),
    ("polls", |facts| facts.tx.state.polls.to_string()),
    ("lastError", |facts| facts.tx.state.last_error.clone().unwrap_or_default()),
    ("message", |facts| facts.tx.state.message.clone().unwrap_or_default()),
    ("error", |facts| facts.record(|record| record.error.as_deref())),
    ("bridgeStatus", |facts| facts.record(|record| record.bridge_status.as_deref())),
    ("sourceUrl", |facts| text(route::ends(facts.tx).source.url)),
    ("destinationTransactionId", |facts| text(route::ends(facts.tx).destination.transaction_id)),
    ("destinationUrl", |facts| text(route::ends(facts.tx).destination.url)),
    ("bridgeUrl", |facts| facts.record(|record| record.bridge_url.as_deref())),
];

/// The columns of Markdown, chosen for a ticket. Text from outside is escaped.
pub(super) const MARKDOWN: &[(&str, CellFormatter)] = &[
    ("Transaction", |facts| code(facts.tx.params.transaction_id.as_str())),
    ("Route", |facts| reply::escape_markdown(&format!("{} to {}", facts.tx.from_name(), facts.tx.to_name()))),
    ("Status", |facts| reply::escape_markdown(facts.tx.state.status.as_ref().map_or("no answer", RouterStatus::raw))),
    ("Age", |facts| span::long(facts.tx.age(facts.now))),
    ("Deadline", |facts| match facts.tx.is_waiting() {
        true => span::stamp(facts.tx.deadline().at, facts.zone),
        false => "-".into(),
    }),
    ("Ticket", |facts| facts.tx.params.ticket.as_deref().map_or("-".into(), reply::escape_markdown)),
    ("Verdict", |facts| reply::escape_markdown(&facts.advice().verdict)),
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
