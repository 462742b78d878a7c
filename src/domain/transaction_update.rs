//! The changes that an import, or a complete pasted line, makes to a tracked transaction.
//!
//! An empty value never erases a known one. The module must never know where values are stored or shown.

use chrono::{DateTime, Utc};

use super::{
    filter::term::equals_ignoring_case,
    transaction::{NewTransaction, Tracking, Transaction, TransactionParams},
};

/// The changes to a tracked transaction; without `fields` there are none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TransactionUpdate {
    /// The parameters after the import.
    pub(crate) params: TransactionParams,
    /// The labels that the transaction doesn't have.
    pub(crate) labels: Vec<String>,
    /// The notes that the transaction doesn't have.
    pub(crate) notes: Vec<String>,
    /// Whether polling resumes after a person or the service stopped it.
    pub(crate) is_resumed: bool,
    /// The names of the changed fields, as import files spell them.
    pub(crate) fields: Vec<&'static str>,
}

impl TransactionUpdate {
    /// Returns the changes that `new` makes. `params` are the parameters afterwards, as [`merge_params`] returns them.
    pub(crate) fn new<R>(before: &Transaction<R>, params: TransactionParams, new: &NewTransaction) -> Self {
        let is_new_note = |note: &&String| !before.notes.contains(note);
        let labels: Vec<String> =
            new.labels.iter().filter(|label| !has_label(&before.labels, label)).cloned().collect();
        let notes: Vec<String> = new.notes.iter().filter(is_new_note).cloned().collect();
        let mut fields = changed_fields(&before.params, &params);
        fields.extend((!labels.is_empty()).then_some("labels"));
        fields.extend((!notes.is_empty()).then_some("note"));
        let is_resumed = match before.tracking {
            Tracking::Active => false,
            Tracking::Parked(_) => !fields.is_empty(),
            Tracking::Untracked => !new.is_untracked,
        };
        fields.extend(is_resumed.then_some("tracking"));
        Self { params, labels, notes, is_resumed, fields }
    }

    /// Returns the names of the changed fields, to be kept.
    pub(crate) fn field_names(&self) -> Vec<String> {
        self.fields.iter().map(|field| (*field).to_owned()).collect()
    }
}

/// Whether one of the labels is this one. A filter doesn't tell labels apart that differ only in their case.
pub(crate) fn has_label(labels: &[String], label: &str) -> bool {
    let lower = label.to_lowercase();
    labels.iter().any(|own| equals_ignoring_case(own, &lower))
}

/// Returns the parameters of a known transaction after an import of `new`. `reported_request_id` is the request ID that
/// the service reported: such an ID is no change.
pub(crate) fn merge_params(
    before: &TransactionParams,
    new: &TransactionParams,
    reported_request_id: Option<&str>,
) -> TransactionParams {
    let is_given = |id: &String| before.request_id.is_some() || reported_request_id != Some(id);
    let request_id = new.request_id.clone().filter(is_given);
    TransactionParams {
        transaction_id: before.transaction_id.clone(),
        from_chain: before.from_chain.clone(),
        to_chain: new.to_chain.clone(),
        quote_id: new.quote_id.clone(),
        request_id: request_id.or_else(|| before.request_id.clone()),
        estimate: new.estimate.or(before.estimate),
        submitted_at: new.submitted_at.or(before.submitted_at),
        from_address: new.from_address.clone().or_else(|| before.from_address.clone()),
        ticket: new.ticket.clone().or_else(|| before.ticket.clone()),
    }
}

/// Returns the names of the parameters that differ. The store keeps whole milliseconds: smaller differences don't count.
fn changed_fields(before: &TransactionParams, after: &TransactionParams) -> Vec<&'static str> {
    let millis = |at: Option<DateTime<Utc>>| at.map(|at| at.timestamp_millis());
    let same_estimate = before.estimate.map(|span| span.as_millis()) == after.estimate.map(|span| span.as_millis());
    [
        ("toChainId", before.to_chain == after.to_chain),
        ("quoteId", before.quote_id == after.quote_id),
        ("requestId", before.request_id == after.request_id),
        ("estimatedRouteDuration", same_estimate),
        ("submittedAt", millis(before.submitted_at) == millis(after.submitted_at)),
        ("fromAddress", before.from_address == after.from_address),
        ("ticket", before.ticket == after.ticket),
    ]
    .into_iter()
    .filter_map(|(field, same)| (!same).then_some(field))
    .collect()
}
