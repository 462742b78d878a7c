//! A tracked transaction: its parameters, its state, and how an observation changes the state.
//!
//! Observations must change the state only through [`Transaction::apply`]. An answer that says less must never replace
//! the last known status.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    change::ChangeKind,
    deadline::Deadline,
    evidence::{self, Evidence, SettledWithin},
    forecast::Quantile,
    ids::{ChainId, RowId, TransactionKey, TxHash},
    observation::{Observation, RequestFailure, StatusOutcome},
    on_chain::{ChainVerdict, OnChainState},
    people::{self, Authors},
    record::{RecordSummary, RecordView, StatusRecord, chain_name},
    span,
    status::RouterStatus,
};

/// How long a refund is watched after it was first seen. Then the transaction counts as settled.
pub(crate) const REFUND_WATCH: Duration = Duration::from_secs(30 * 60);

/// The end of a transfer that took at most this long counts as seen: the first answers come within this time.
pub(crate) const SHORT_DURATION: Duration = Duration::from_secs(10);

/// The parameters of a transaction, given when it was added. The service requires the first four (`service.md` 4.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionParams {
    /// The hash of the transaction on the source chain.
    pub transaction_id: TxHash,
    /// The source chain.
    pub from_chain: ChainId,
    /// The destination chain.
    pub to_chain: ChainId,
    /// `route.quoteId`.
    pub quote_id: String,
    /// The legacy request ID.
    pub request_id: Option<String>,
    /// `estimatedRouteDuration`.
    pub estimate: Option<Duration>,
    /// When the transaction was submitted.
    #[serde(with = "chrono::serde::ts_milliseconds_option")]
    pub submitted_at: Option<DateTime<Utc>>,
    /// The address that receives a refund (`service.md` 3).
    pub from_address: Option<String>,
    /// The ticket of the transaction.
    pub ticket: Option<String>,
}

impl TransactionParams {
    /// Returns the key that identifies the transaction in every store, if this profile tracks it.
    pub(crate) fn key(&self, profile: &str) -> TransactionKey {
        TransactionKey {
            profile: profile.to_owned(),
            from_chain: self.from_chain.clone(),
            hash: self.transaction_id.clone(),
        }
    }

    /// Returns the parameters with those of `to` that differ from `from`; `None` if one of these isn't that of `from`
    /// now. Other parameters may have changed meanwhile.
    pub(crate) fn with_change(&self, from: &Self, to: &Self) -> Option<Self> {
        fn value<T: Clone + PartialEq>(present: &T, from: &T, to: &T) -> Option<T> {
            match from == to {
                true => Some(present.clone()),
                false => (present == from).then(|| to.clone()),
            }
        }
        Some(Self {
            transaction_id: value(&self.transaction_id, &from.transaction_id, &to.transaction_id)?,
            from_chain: value(&self.from_chain, &from.from_chain, &to.from_chain)?,
            to_chain: value(&self.to_chain, &from.to_chain, &to.to_chain)?,
            quote_id: value(&self.quote_id, &from.quote_id, &to.quote_id)?,
            request_id: value(&self.request_id, &from.request_id, &to.request_id)?,
            estimate: value(&self.estimate, &from.estimate, &to.estimate)?,
            submitted_at: value(&self.submitted_at, &from.submitted_at, &to.submitted_at)?,
            from_address: value(&self.from_address, &from.from_address, &to.from_address)?,
            ticket: value(&self.ticket, &from.ticket, &to.ticket)?,
        })
    }

    /// Whether a status request with `other`, the parameters of the same transaction, is the same (`service.md` 4.1).
    pub(crate) fn has_same_request(&self, other: &Self) -> bool {
        (&self.to_chain, &self.quote_id, &self.request_id) == (&other.to_chain, &other.quote_id, &other.request_id)
    }
}

/// A transaction to track, as an import or a person gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTransaction {
    /// The parameters.
    pub params: TransactionParams,
    /// The labels.
    pub labels: Vec<String>,
    /// The notes, oldest first.
    pub notes: Vec<String>,
    /// When the transaction was first seen elsewhere. Used only for a new transaction, and only if it is in the past.
    #[serde(with = "chrono::serde::ts_milliseconds_option")]
    pub first_seen_at: Option<DateTime<Utc>>,
    /// Whether a person stopped the polling elsewhere. Then a new transaction isn't polled here either.
    #[serde(rename = "untracked")]
    pub is_untracked: bool,
}

impl From<TransactionParams> for NewTransaction {
    /// Returns a new transaction with these parameters and nothing else.
    fn from(params: TransactionParams) -> Self {
        Self { params, labels: Vec::new(), notes: Vec::new(), first_seen_at: None, is_untracked: false }
    }
}

/// Whether a transaction is polled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// Polled until the transaction is settled.
    #[default]
    Active,
    /// Not polled until the transaction is edited or a person asks: the service refused its parameters, for this
    /// reason.
    Parked(String),
    /// Not polled: a person stopped the polling.
    Untracked,
}

/// The state of a transaction according to the service. By default, the state before the first answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactionState {
    /// The router status; `None` before the first answer.
    pub status: Option<RouterStatus>,
    /// When this status was first seen.
    pub status_since: Option<DateTime<Utc>>,
    /// The service's message with its last "not found".
    pub message: Option<String>,
    /// When the last answer came that was a record or a "not found".
    pub last_checked_at: Option<DateTime<Utc>>,
    /// When the last answer came that contained news.
    pub last_changed_at: Option<DateTime<Utc>>,
    pub settled_at: Option<DateTime<Utc>>,
    /// Whether no answer came in the second half of the time until the answer that showed the end, so that the transfer
    /// may have ended much earlier. `None` before the end. Earlier versions stored whether the first answer showed the end,
    /// or nothing.
    pub ended_unseen: Option<bool>,
    /// The number of requests sent for the transaction.
    pub polls: u64,
    /// The number of failures in a row.
    pub failures: u32,
    /// When the first of these failures came.
    pub failing_since: Option<DateTime<Utc>>,
    /// The last failure; removed by the next answer.
    pub last_error: Option<String>,
    /// The contradiction between an answer and the settled status, or the transaction itself.
    pub conflict: Option<String>,
}

impl TransactionState {
    /// Whether the service doesn't know the transaction: its last status was "not found", or it sent none yet.
    pub(crate) fn is_unknown_to_service(&self) -> bool {
        matches!(self.status, None | Some(RouterStatus::NotFound))
    }

    /// Returns the interval after the submission in which a change happened that the answer at `at` is the first to show.
    pub(crate) fn interval_of_change(&self, submitted: DateTime<Utc>, at: DateTime<Utc>) -> SettledWithin {
        let by = span::between(submitted, at);
        // Answers that no longer find the transaction don't say whether it was still under way.
        let last = if self.conflict.is_some() { self.status_since } else { self.last_checked_at };
        let after = last.map_or(Duration::ZERO, |last| span::between(submitted, last)).min(by);
        SettledWithin { after, by }
    }
}

/// The service's names for the two chains of a transfer, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainNames {
    /// The source chain's name.
    pub from: Option<String>,
    /// The destination chain's name.
    pub to: Option<String>,
}

/// A tracked transaction. `R` is the part of its last record that is loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction<R = StatusRecord> {
    /// The store's row number.
    pub id: RowId,
    /// The profile that polls the transaction.
    pub profile: String,
    /// The parameters.
    pub params: TransactionParams,
    /// The labels, sorted.
    pub labels: Vec<String>,
    /// The notes, oldest first.
    pub notes: Vec<String>,
    /// Who wrote which part.
    pub authors: Authors,
    /// When hoptop first saw the transaction.
    pub first_seen_at: DateTime<Utc>,
    /// The service's names for the two chains, from answers about any transaction.
    pub chain_names: ChainNames,
    /// When a person asked to poll the transaction, while no answer has come since.
    pub poll_requested_at: Option<DateTime<Utc>>,
    /// The observed durations until transactions of the source chain were indexed.
    pub indexing: Evidence,
    /// Whether the transaction is polled.
    pub tracking: Tracking,
    /// The state according to the service.
    pub state: TransactionState,
    /// The last record. A later answer without a record doesn't replace it.
    pub record: Option<R>,
    /// What the chain itself says, if it was asked.
    pub on_chain: Option<OnChainState>,
    /// The service's IDs of its answers that are stored, oldest first; empty in a header.
    pub response_ids: Vec<String>,
    /// Whether a stored value changed on the disk, so that the shown data may be wrong.
    pub is_damaged: bool,
}

/// A transaction as lists show it, with only a summary of its record.
pub(crate) type TransactionHeader = Transaction<RecordSummary>;

/// The warning about a transaction with damaged stored values.
const DAMAGED: &str = "stored values of this transaction changed on the disk and may be wrong; run `hoptop doctor`";

impl<R> Transaction<R> {
    /// Returns the key that identifies the transaction in every store.
    pub fn key(&self) -> TransactionKey {
        self.params.key(&self.profile)
    }

    /// Returns a sentence if stored values are damaged.
    pub fn damage_warning(&self) -> Option<&'static str> {
        self.is_damaged.then_some(DAMAGED)
    }

    /// Returns the notes, oldest first, each after its author's name if it is known.
    pub fn attributed_notes(&self) -> impl DoubleEndedIterator<Item = String> + ExactSizeIterator {
        let attributed = |(index, note)| format!("{}{note}", people::author_prefix(self.authors.note_author(index)));
        self.notes.iter().enumerate().map(attributed)
    }

    /// Whether a person stopped the polling before the transaction settled.
    pub fn is_stopped(&self) -> bool {
        self.tracking == Tracking::Untracked && !self.is_settled()
    }

    /// Whether the service refused a request for the transaction. Polling resumes once the parameters are corrected.
    pub fn is_parked(&self) -> bool {
        matches!(self.tracking, Tracking::Parked(_))
    }

    /// Whether the transaction is settled: no further polling is needed.
    pub fn is_settled(&self) -> bool {
        self.state.settled_at.is_some()
    }

    /// Whether the transaction should be polled.
    pub fn needs_polling(&self) -> bool {
        !self.is_settled() && self.tracking == Tracking::Active
    }

    /// Returns the deadline, from which contacting support is right.
    pub fn deadline(&self) -> Deadline {
        Deadline::new(self.params.submitted_at, self.first_seen_at, self.params.estimate)
    }

    /// Whether the submission time is the time of the transaction's block, because no other was given.
    pub fn is_submission_from_chain(&self) -> bool {
        let known = self.on_chain.as_ref().filter(|known| !known.is_submission_given);
        let from_chain = known.and_then(OnChainState::submitted_at);
        self.params.submitted_at.is_some() && self.params.submitted_at == from_chain
    }

    /// Whether the transaction waits for time alone, so that its deadline applies: ongoing, not found, or not answered
    /// yet.
    pub fn is_waiting(&self) -> bool {
        !self.is_settled() && self.state.status.as_ref().is_none_or(RouterStatus::is_waiting)
    }

    /// Whether the deadline is of interest: the transaction waits for time alone, is neither stopped by a person nor
    /// parked, and didn't fail on the source chain.
    pub fn is_awaited(&self) -> bool {
        self.is_waiting() && self.tracking == Tracking::Active && self.failure_on_source().is_none()
    }

    /// Returns the source chain's verdict if the service doesn't know the transaction, and never will by this verdict.
    pub(crate) fn failure_on_source(&self) -> Option<&ChainVerdict> {
        self.on_chain.as_ref().filter(|_| self.state.is_unknown_to_service())?.failure()
    }

    /// Whether the transaction is overdue: an answer that came after the deadline said ongoing or not found.
    pub fn is_overdue(&self) -> bool {
        let waiting = self.state.status.as_ref().is_some_and(RouterStatus::is_waiting) && !self.is_settled();
        waiting && self.state.last_checked_at.is_some_and(|checked| checked >= self.deadline().at)
    }

    /// Returns the age at which a transaction without a record is probably in trouble (`DESIGN.md`, Alerts). This is
    /// three times the 95th percentile of the source chain's indexing times, at least three minutes.
    pub fn not_found_limit(&self) -> Duration {
        const MIN_LIMIT: Duration = Duration::from_secs(3 * 60);
        evidence::indexing_forecast(&self.indexing).quantile(Quantile::P95).saturating_mul(3).max(MIN_LIMIT)
    }

    /// Returns when the transfer ended: a refund when it was first seen, although it is watched for longer, and any
    /// other transfer when it settled.
    pub fn ended_at(&self) -> Option<DateTime<Utc>> {
        match self.state.status {
            Some(RouterStatus::Refund) => self.state.status_since,
            _ => self.state.settled_at,
        }
    }

    /// Returns the time from submission until a settled transaction ended, or until `now`.
    pub fn age(&self, now: DateTime<Utc>) -> Duration {
        let end = self.state.settled_at.and(self.ended_at());
        span::between(self.deadline().submitted, end.unwrap_or(now))
    }

    /// Returns the time since the transaction entered its present status.
    pub fn status_age(&self, now: DateTime<Utc>) -> Duration {
        self.state.status_since.map_or(Duration::ZERO, |since| span::between(since, now))
    }
}

impl<R: RecordView> Transaction<R> {
    /// Returns the source chain's name for people.
    pub fn from_name(&self) -> String {
        let chain = &self.params.from_chain;
        let in_record = self.record.as_ref().and_then(|record| record.source_name(chain));
        chain_name(in_record, self.chain_names.from.as_deref(), chain)
    }

    /// Returns the destination chain's name for people.
    pub fn to_name(&self) -> String {
        let chain = &self.params.to_chain;
        let in_record = self.record.as_ref().and_then(|record| record.destination_name(chain));
        chain_name(in_record, self.chain_names.to.as_deref(), chain)
    }
}

impl TransactionHeader {
    /// Returns the transaction with this record.
    pub fn with_record(self, record: Option<StatusRecord>) -> Transaction {
        Transaction {
            id: self.id,
            profile: self.profile,
            params: self.params,
            labels: self.labels,
            notes: self.notes,
            authors: self.authors,
            first_seen_at: self.first_seen_at,
            chain_names: self.chain_names,
            poll_requested_at: self.poll_requested_at,
            indexing: self.indexing,
            tracking: self.tracking,
            on_chain: self.on_chain,
            response_ids: self.response_ids,
            is_damaged: self.is_damaged,
            state: self.state,
            record,
        }
    }
}

impl Transaction {
    /// Returns the request ID: the given ID, or else the service's ID.
    pub fn request_id(&self) -> Option<&str> {
        self.params.request_id.as_deref().or_else(|| self.record.as_ref()?.request_id.as_deref())
    }

    /// Applies an observation made at `at` and returns the changes. Alerts are not decided here.
    pub fn apply(&mut self, observation: &Observation, at: DateTime<Utc>) -> Vec<ChangeKind> {
        self.state.polls += 1;
        // The request is repeated if the service refused to deal with it, or if it wasn't sent.
        if !matches!(observation.outcome.failure(), Some(RequestFailure::Throttled { .. } | RequestFailure::Local(_))) {
            self.poll_requested_at = None;
        }
        match &observation.outcome {
            StatusOutcome::Record(record) => self.apply_record(record, at),
            StatusOutcome::NotFound(message) => {
                self.state.message = message.clone();
                match self.keep_status_on_not_found() {
                    true => self.apply_empty_answer(at),
                    false => self.apply_status(&RouterStatus::NotFound, at),
                }
            }
            StatusOutcome::Failed(failure) => self.apply_failure(failure, at),
        }
    }

    /// Keeps the last known status when the service says "not found" later, and records a conflict; returns whether it
    /// did. A transaction that was seen on chain doesn't disappear: such an answer points to the service or a wrong
    /// base URL. A status that isn't documented says so only with a step, a hash or a block of the source.
    fn keep_status_on_not_found(&mut self) -> bool {
        let has_trace = self.record.as_ref().is_some_and(|record| {
            !record.steps.is_empty() || record.from.transaction_id.is_some() || record.from.block_number.is_some()
        });
        let is_seen = |status: &&RouterStatus| match status {
            RouterStatus::NotFound => false,
            RouterStatus::Unknown(_) => has_trace,
            RouterStatus::Success
            | RouterStatus::NeedsGas
            | RouterStatus::Ongoing
            | RouterStatus::PartialSuccess
            | RouterStatus::Refund => true,
        };
        let seen = self.state.status.as_ref().filter(is_seen);
        if let (Some(status), false) = (seen, self.is_settled()) {
            self.state.conflict = Some(format!("it was {status}, and now the service can't find it"));
            (self.state.failures, self.state.failing_since, self.state.last_error) = (0, None, None);
            return true;
        }
        false
    }

    fn apply_record(&mut self, record: &StatusRecord, at: DateTime<Utc>) -> Vec<ChangeKind> {
        self.state.message = None;
        if record.status == RouterStatus::NotFound && self.keep_status_on_not_found() {
            return self.apply_empty_answer(at);
        }
        let mut changes = self.apply_status(&record.status, at);
        if self.state.conflict.is_some() {
            return changes;
        }
        let before = self.record.replace(record.clone());
        let old_steps = before.as_ref().map_or(&[][..], |before| &before.steps);
        let differs = |(index, step)| (old_steps.get(index) != Some(step)).then_some(ChangeKind::StepAdded { index });
        changes.extend(record.steps.iter().enumerate().filter_map(differs));
        if before.is_none_or(|before| before.has_changes(record)) {
            self.state.last_changed_at = Some(at);
        }
        changes
    }

    /// Applies the status of a successful answer, which ends earlier failures.
    fn apply_status(&mut self, status: &RouterStatus, at: DateTime<Utc>) -> Vec<ChangeKind> {
        let submitted = self.params.submitted_at.filter(|submitted| *submitted <= at).unwrap_or(self.first_seen_at);
        let state = &mut self.state;
        let interval = state.interval_of_change(submitted, at);
        state.last_checked_at = Some(at);
        (state.failures, state.failing_since, state.last_error) = (0, None, None);
        let mut changes = vec![ChangeKind::Polled];
        changes.extend(Self::resume(&mut self.tracking));
        if state.settled_at.is_some() && state.status.as_ref() != Some(status) {
            let settled = state.status.as_ref().map_or("", RouterStatus::raw);
            state.conflict = Some(format!("settled as {settled}, and now the service says {status}"));
            return changes;
        }
        state.conflict = None;
        if state.status.as_ref() != Some(status) {
            let previous = state.status.replace(status.clone()).map(String::from);
            if status.is_final() || *status == RouterStatus::Refund {
                state.ended_unseen = Some(interval.duration_or_within(SHORT_DURATION).is_none());
            }
            (state.status_since, state.last_changed_at) = (Some(at), Some(at));
            changes.push(ChangeKind::StatusChanged { previous, current: status.raw().to_owned() });
        }
        changes.extend(self.settle(at));
        changes
    }

    /// Applies an answer that contains less than the known state. It still confirms that the transaction waits, and the
    /// time counts as watching a refund.
    fn apply_empty_answer(&mut self, at: DateTime<Utc>) -> Vec<ChangeKind> {
        self.state.last_checked_at = Some(at);
        let resumed = Self::resume(&mut self.tracking);
        std::iter::once(ChangeKind::Polled).chain(resumed).chain(self.settle(at)).collect()
    }

    /// Resumes the polling if the service refused the transaction before.
    fn resume(tracking: &mut Tracking) -> Option<ChangeKind> {
        match tracking {
            Tracking::Active | Tracking::Untracked => None,
            Tracking::Parked(_) => {
                *tracking = Tracking::Active;
                Some(ChangeKind::edited(vec!["tracking".into()]))
            }
        }
    }

    /// Settles the transaction if its status is final, or if its refund was watched for long enough.
    fn settle(&mut self, at: DateTime<Utc>) -> Option<ChangeKind> {
        let state = &mut self.state;
        let refund_watched = state.status == Some(RouterStatus::Refund)
            && state.status_since.is_some_and(|since| span::between(since, at) >= REFUND_WATCH);
        let is_final = state.status.as_ref().is_some_and(RouterStatus::is_final);
        if state.settled_at.is_some() || !(is_final || refund_watched) {
            return None;
        }
        state.settled_at = Some(at);
        Some(ChangeKind::Settled)
    }

    fn apply_failure(&mut self, failure: &RequestFailure, at: DateTime<Utc>) -> Vec<ChangeKind> {
        let error = failure.one_line();
        self.state.last_error = Some(error.clone());
        match failure {
            // These failures concern the integrator ID, not this transaction; the poller's health reports them once.
            RequestFailure::Unauthorized(_) | RequestFailure::Throttled { .. } => return vec![ChangeKind::Polled],
            RequestFailure::Rejected(_) => {
                if !self.is_settled() && self.tracking != Tracking::Untracked {
                    self.tracking = Tracking::Parked(error.clone());
                }
                return vec![ChangeKind::Polled, ChangeKind::Rejected { error }];
            }
            RequestFailure::OtherTransaction(_) => self.state.conflict = Some(error.clone()),
            RequestFailure::Server { .. }
            | RequestFailure::Unreadable(_)
            | RequestFailure::Transport(_)
            | RequestFailure::TimedOut(_)
            | RequestFailure::Local(_) => {}
        }
        self.state.failures += 1;
        self.state.failing_since.get_or_insert(at);
        vec![ChangeKind::Polled, ChangeKind::PollFailed { error }]
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            fixtures::{answer, at, fails, says},
            record::RouteStep,
        },
        *,
    };

    fn transaction() -> Transaction {
        super::super::fixtures::transaction(1)
    }

    #[test]
    fn a_transaction_passes_through_its_statuses_and_settles() {
        let mut tx = transaction();
        assert_eq!(
            tx.apply(&answer(StatusOutcome::NotFound(None)), at(5)),
            [ChangeKind::Polled, ChangeKind::StatusChanged { previous: None, current: "not_found".into() }]
        );
        tx.apply(&says(RouterStatus::Ongoing), at(10));
        assert_eq!(tx.apply(&says(RouterStatus::Ongoing), at(15)), [ChangeKind::Polled]);
        let last = tx.apply(&says(RouterStatus::Success), at(60));
        let status_change = ChangeKind::StatusChanged { previous: Some("ongoing".into()), current: "success".into() };
        assert_eq!(last, [ChangeKind::Polled, status_change, ChangeKind::Settled]);
        assert_eq!((tx.is_settled(), tx.state.polls, tx.age(at(500))), (true, 4, Duration::from_secs(60)));
    }

    #[test]
    fn a_refund_settles_after_it_was_watched() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Refund), at(100));
        tx.apply(&says(RouterStatus::Refund), at(100 + 1_799));
        assert!(!tx.is_settled());
        assert!(tx.apply(&says(RouterStatus::Refund), at(100 + 1_800)).contains(&ChangeKind::Settled));
    }

    #[test]
    fn new_and_changed_steps_are_reported_and_running_times_are_not() {
        let mut tx = transaction();
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.steps.push(RouteStep { action: Some("send".into()), ..RouteStep::default() });
        record.time_spent.insert("total".into(), 5.into());
        let step = |record: &StatusRecord| answer(StatusOutcome::Record(Box::new(record.clone())));
        assert!(tx.apply(&step(&record), at(1)).contains(&ChangeKind::StepAdded { index: 0 }));
        record.time_spent.insert("total".into(), 7.into());
        assert_eq!(tx.apply(&step(&record), at(2)), [ChangeKind::Polled]);
        assert_eq!(tx.state.last_changed_at, Some(at(1)));
        record.steps[0].status = Some("success".into());
        assert_eq!(tx.apply(&step(&record), at(3)), [ChangeKind::Polled, ChangeKind::StepAdded { index: 0 }]);
        assert_eq!(tx.state.last_changed_at, Some(at(3)));
    }

    #[test]
    fn a_settled_status_is_kept_when_a_later_answer_contradicts_it() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Success), at(1));
        assert_eq!(tx.apply(&says(RouterStatus::Ongoing), at(2)), [ChangeKind::Polled]);
        assert_eq!(tx.state.status, Some(RouterStatus::Success));
        assert!(tx.state.conflict.as_deref().unwrap().contains("ongoing"));
        tx.apply(&says(RouterStatus::Success), at(3));
        assert_eq!(tx.state.conflict, None);
    }

    #[test]
    fn a_known_status_is_kept_when_a_later_answer_is_not_found() {
        for lost in [answer(StatusOutcome::NotFound(Some("Resource not found".into()))), says(RouterStatus::NotFound)] {
            let mut tx = transaction();
            tx.apply(&says(RouterStatus::NeedsGas), at(1));
            assert_eq!(tx.apply(&lost, at(6)), [ChangeKind::Polled]);
            assert_eq!((&tx.state.status, tx.state.last_checked_at), (&Some(RouterStatus::NeedsGas), Some(at(6))));
            assert!(tx.state.conflict.as_deref().unwrap().contains("needs_gas"));
            tx.apply(&says(RouterStatus::Ongoing), at(11));
            assert_eq!((&tx.state.status, &tx.state.conflict), (&Some(RouterStatus::Ongoing), &None));
            tx.apply(&fails(RequestFailure::Rejected("quoteId is unknown".into())), at(16));
            assert!(matches!(tx.tracking, Tracking::Parked(_)));
            tx.apply(&lost, at(21));
            assert_eq!(tx.tracking, Tracking::Active, "the service accepts the parameters");
        }
    }

    #[test]
    fn failures_keep_the_last_state_and_are_counted() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Ongoing), at(1));
        for second in 2..5 {
            tx.apply(&fails(RequestFailure::Transport("connection refused".into())), at(second));
        }
        assert_eq!((tx.state.failures, tx.state.failing_since), (3, Some(at(2))));
        assert_eq!((&tx.state.status, tx.state.last_checked_at), (&Some(RouterStatus::Ongoing), Some(at(1))));
        tx.apply(&says(RouterStatus::Ongoing), at(6));
        assert_eq!((tx.state.failures, &tx.state.last_error), (0, &None));
    }

    #[test]
    fn failures_of_the_integrator_id_do_not_count_for_the_transaction() {
        let mut tx = transaction();
        tx.apply(&fails(RequestFailure::Throttled { message: None, retry_after: None }), at(1));
        tx.apply(&fails(RequestFailure::Unauthorized("no".into())), at(2));
        assert_eq!((tx.state.failures, tx.needs_polling()), (0, true));
    }

    #[test]
    fn a_rejected_transaction_is_parked_until_an_answer_comes() {
        let mut tx = transaction();
        tx.apply(&fails(RequestFailure::Rejected("quoteId is missing".into())), at(1));
        assert!(matches!(&tx.tracking, Tracking::Parked(reason) if reason.contains("quoteId")));
        assert!(!tx.needs_polling());
        let changes = tx.apply(&says(RouterStatus::Ongoing), at(2));
        assert!(tx.needs_polling() && changes.contains(&ChangeKind::edited(vec!["tracking".into()])));
    }

    #[test]
    fn overdue_needs_an_answer_after_the_deadline() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Ongoing), at(899));
        assert!(!tx.is_overdue());
        tx.apply(&fails(RequestFailure::Transport("reset".into())), at(950));
        assert!(!tx.is_overdue());
        tx.apply(&says(RouterStatus::Ongoing), at(960));
        assert!(tx.is_overdue());
        tx.apply(&says(RouterStatus::NeedsGas), at(970));
        assert!(!tx.is_overdue());
    }

    #[test]
    fn transaction_that_the_service_no_longer_finds_becomes_overdue() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Ongoing), at(890));
        tx.apply(&answer(StatusOutcome::NotFound(None)), at(910));
        assert!(tx.is_overdue() && tx.state.conflict.is_some());
        assert_eq!(tx.state.status, Some(RouterStatus::Ongoing));
    }

    #[test]
    fn not_found_replaces_a_status_that_is_not_documented() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Unknown("NOT_FOUND".into())), at(1));
        tx.apply(&answer(StatusOutcome::NotFound(None)), at(6));
        assert_eq!((&tx.state.status, &tx.state.conflict), (&Some(RouterStatus::NotFound), &None));
    }
}
