//! A tracked transaction: its parameters, its state, and how an observation changes the state.
//!
//! [`Transaction::apply`] is the only way in for what the service says. It must never lose the last real state for an
//! answer that says less.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    change::What,
    deadline::Deadline,
    forecast::{self, Evidence, Quantile},
    ids::{ChainId, RowId, TxHash},
    observation::{Failure, Observation, Outcome},
    operation::TransactionKey,
    record::{RecordSummary, RecordView, StatusRecord, chain_name},
    span,
    status::RouterStatus,
};

/// How long a refund is watched after it was first seen, until it counts as settled.
pub const REFUND_WATCH: Duration = Duration::from_secs(30 * 60);

/// The parameters of a transaction, given when it was added. The service requires the first four (`service.md` 4.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionParams {
    /// Hash of the transaction submitted on the source chain.
    pub transaction_id: TxHash,
    /// Source chain.
    pub from_chain: ChainId,
    /// Destination chain.
    pub to_chain: ChainId,
    /// `route.quoteId`.
    pub quote_id: String,
    /// Legacy request ID.
    pub request_id: Option<String>,
    /// `estimatedRouteDuration`.
    pub estimate: Option<Duration>,
    /// When it was submitted.
    #[serde(with = "chrono::serde::ts_milliseconds_option")]
    pub submitted_at: Option<DateTime<Utc>>,
    /// Who is paid a refund (`service.md` 3).
    pub from_address: Option<String>,
    /// The ticket it belongs to.
    pub ticket: Option<String>,
}

/// A transaction to be tracked, as an import or a person gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTransaction {
    /// The parameters.
    pub params: TransactionParams,
    /// Its labels.
    pub labels: Vec<String>,
    /// Notes, the oldest first.
    pub notes: Vec<String>,
    /// When somebody first heard of it: counts if it is new to us, and before that moment.
    #[serde(with = "chrono::serde::ts_milliseconds_option")]
    pub first_seen_at: Option<DateTime<Utc>>,
    /// Whether a person stopped it elsewhere: if it is new to us it isn't polled here either.
    pub untracked: bool,
}

impl From<TransactionParams> for NewTransaction {
    /// One of which no more is told.
    fn from(params: TransactionParams) -> Self {
        Self { params, labels: Vec::new(), notes: Vec::new(), first_seen_at: None, untracked: false }
    }
}

/// Whether it is polled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// Polled until it is settled.
    #[default]
    Active,
    /// The service refused its parameters, for this reason; not polled until it is edited or a person asks.
    Parked(String),
    /// A person stopped it.
    Untracked,
}

/// What the service said of a transaction, with as much of the last record as `R` holds.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionState<R = StatusRecord> {
    /// The router status; `None` before the first answer.
    pub status: Option<RouterStatus>,
    /// When this status was first seen.
    pub status_since: Option<DateTime<Utc>>,
    /// The last record; it stays when a later answer says less.
    pub record: Option<R>,
    /// What the service said with its last "not found".
    pub message: Option<String>,
    /// The last answer that was a record or a "not found".
    pub last_checked_at: Option<DateTime<Utc>>,
    /// The last answer that brought news.
    pub last_changed_at: Option<DateTime<Utc>>,
    /// When it settled.
    pub settled_at: Option<DateTime<Utc>>,
    /// Requests spent on it.
    pub polls: u64,
    /// Failures in a row.
    pub failures: u32,
    /// When the first of these failures came.
    pub failing_since: Option<DateTime<Utc>>,
    /// The last failure, until an answer comes.
    pub last_error: Option<String>,
    /// An answer that contradicts what was settled, or the transaction itself.
    pub conflict: Option<String>,
}

impl<R> Default for TransactionState<R> {
    /// What is known before the first answer.
    fn default() -> Self {
        Self {
            status: None,
            status_since: None,
            record: None,
            message: None,
            last_checked_at: None,
            last_changed_at: None,
            settled_at: None,
            polls: 0,
            failures: 0,
            failing_since: None,
            last_error: None,
            conflict: None,
        }
    }
}

/// The names of the two chains of a transfer, as far as the service has told them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainNames {
    /// Of the source chain.
    pub from: Option<String>,
    /// Of the destination chain.
    pub to: Option<String>,
}

/// A tracked transaction, with as much of its last record as `R` holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction<R = StatusRecord> {
    /// The store's number.
    pub id: RowId,
    /// The profile that it is polled with.
    pub profile: String,
    /// The parameters.
    pub params: TransactionParams,
    /// Labels, sorted.
    pub labels: Vec<String>,
    /// Notes, the oldest first.
    pub notes: Vec<String>,
    /// When we first heard of it.
    pub first_seen_at: DateTime<Utc>,
    /// What the service calls the chains that we were told, in answers about whichever transaction.
    pub chain_names: ChainNames,
    /// A person asked to poll it now, and no answer has come since.
    pub poll_requested_at: Option<DateTime<Utc>>,
    /// How long transactions of its source chain took until they were indexed.
    pub indexing: Evidence,
    /// Whether it is polled.
    pub tracking: Tracking,
    /// What the service said.
    pub state: TransactionState<R>,
}

/// A transaction as lists show it: of its record only the summary is loaded.
pub type TransactionHeader = Transaction<RecordSummary>;

impl<R> Transaction<R> {
    /// What names the transaction in every store.
    pub fn key(&self) -> TransactionKey {
        TransactionKey {
            profile: self.profile.clone(),
            from_chain: self.params.from_chain.clone(),
            hash: self.params.transaction_id.clone(),
        }
    }

    /// Whether a person stopped polling it before it settled.
    pub fn is_stopped(&self) -> bool {
        self.tracking == Tracking::Untracked && !self.is_settled()
    }

    /// Whether the service refused a request for it, and is asked again once its parameters are corrected.
    pub fn is_parked(&self) -> bool {
        matches!(self.tracking, Tracking::Parked(_))
    }

    /// Whether no further polling is owed.
    pub fn is_settled(&self) -> bool {
        self.state.settled_at.is_some()
    }

    /// Whether it is to be polled.
    pub fn wants_polling(&self) -> bool {
        !self.is_settled() && self.tracking == Tracking::Active
    }

    /// When contacting support becomes right.
    pub fn deadline(&self) -> Deadline {
        Deadline::new(self.params.submitted_at, self.first_seen_at, self.params.estimate)
    }

    /// Whether it waits for time alone, so that its deadline counts: ongoing, not found, or not answered yet.
    pub fn is_waiting(&self) -> bool {
        !self.is_settled() && self.state.status.as_ref().is_none_or(RouterStatus::is_waiting)
    }

    /// Whether somebody waits for its deadline: it waits for time alone, and is neither stopped by a person nor refused by the
    /// service, which is to be corrected first.
    pub fn is_awaited(&self) -> bool {
        self.is_waiting() && self.tracking == Tracking::Active
    }

    /// Whether it is overdue: ongoing or not found, and so said by an answer that came after the deadline.
    pub fn is_overdue(&self) -> bool {
        let waiting = self.state.status.as_ref().is_some_and(RouterStatus::is_waiting) && !self.is_settled();
        waiting && self.state.last_checked_at.is_some_and(|checked| checked >= self.deadline().at)
    }

    /// After which time without a record something is probably wrong: three times what nearly all of its source chain take
    /// until they are indexed, at least three minutes (`DESIGN.md`, Alerts).
    pub fn not_found_limit(&self) -> Duration {
        const LEAST: Duration = Duration::from_secs(3 * 60);
        forecast::indexing(&self.indexing).quantile(Quantile::P95).saturating_mul(3).max(LEAST)
    }

    /// The time since submission, until now or until it settled.
    pub fn age(&self, now: DateTime<Utc>) -> Duration {
        span::between(self.deadline().submitted, self.state.settled_at.unwrap_or(now))
    }

    /// The time since it entered its present status.
    pub fn status_age(&self, now: DateTime<Utc>) -> Duration {
        self.state.status_since.map_or(Duration::ZERO, |since| span::between(since, now))
    }
}

impl<R: RecordView> Transaction<R> {
    /// The source chain's name for people.
    pub fn from_name(&self) -> String {
        let chain = &self.params.from_chain;
        let in_record = self.state.record.as_ref().and_then(|record| record.source_name(chain));
        chain_name(in_record, self.chain_names.from.as_deref(), chain)
    }

    /// The destination chain's name for people.
    pub fn to_name(&self) -> String {
        let chain = &self.params.to_chain;
        let in_record = self.state.record.as_ref().and_then(|record| record.destination_name(chain));
        chain_name(in_record, self.chain_names.to.as_deref(), chain)
    }
}

impl TransactionHeader {
    /// The transaction with its record.
    pub fn with_record(self, record: Option<StatusRecord>) -> Transaction {
        let TransactionState {
            status,
            status_since,
            record: _,
            message,
            last_checked_at,
            last_changed_at,
            settled_at,
            polls,
            failures,
            failing_since,
            last_error,
            conflict,
        } = self.state;
        Transaction {
            id: self.id,
            profile: self.profile,
            params: self.params,
            labels: self.labels,
            notes: self.notes,
            first_seen_at: self.first_seen_at,
            chain_names: self.chain_names,
            poll_requested_at: self.poll_requested_at,
            indexing: self.indexing,
            tracking: self.tracking,
            state: TransactionState {
                status,
                status_since,
                record,
                message,
                last_checked_at,
                last_changed_at,
                settled_at,
                polls,
                failures,
                failing_since,
                last_error,
                conflict,
            },
        }
    }
}

impl Transaction {
    /// Returns the request ID: the given one, else the service's.
    pub fn request_id(&self) -> Option<&str> {
        let state = || self.state.record.as_ref().and_then(|record| record.request_id.as_deref());
        self.params.request_id.as_deref().or_else(state)
    }

    /// Takes in what one request told us at `at`, and returns what changed. Whether alerts follow is not decided here.
    pub fn apply(&mut self, observation: &Observation, at: DateTime<Utc>) -> Vec<What> {
        self.state.polls += 1;
        self.poll_requested_at = None;
        match &observation.outcome {
            Outcome::Record(record) => self.apply_record(record, at),
            Outcome::NotFound(message) => {
                self.state.message = message.clone();
                match self.lost_sight() {
                    true => self.without_news(at),
                    false => self.apply_status(&RouterStatus::NotFound, at),
                }
            }
            Outcome::Failed(failure) => self.apply_failure(failure, at),
        }
    }

    /// What was seen on chain once doesn't go away: a "not found" after that says more of the service, or of the base URL,
    /// than of the transaction. It is a conflict, and the last real status stays.
    fn lost_sight(&mut self) -> bool {
        let seen = self.state.status.as_ref().filter(|status| **status != RouterStatus::NotFound);
        if let (Some(status), false) = (seen, self.is_settled()) {
            self.state.conflict = Some(format!("it was {status}, and now the service can't find it"));
            (self.state.failures, self.state.failing_since, self.state.last_error) = (0, None, None);
            return true;
        }
        false
    }

    fn apply_record(&mut self, record: &StatusRecord, at: DateTime<Utc>) -> Vec<What> {
        self.state.message = None;
        if record.status == RouterStatus::NotFound && self.lost_sight() {
            return self.without_news(at);
        }
        let mut changes = self.apply_status(&record.status, at);
        if self.state.conflict.is_some() {
            return changes;
        }
        let before = self.state.record.replace(record.clone());
        let old_steps = before.as_ref().map_or(&[][..], |before| &before.steps);
        let differs = |(index, step)| (old_steps.get(index) != Some(step)).then_some(What::StepAdded { index });
        changes.extend(record.steps.iter().enumerate().filter_map(differs));
        if before.is_none_or(|before| before.is_news(record)) {
            self.state.last_changed_at = Some(at);
        }
        changes
    }

    /// A clean answer: what was wrong with earlier ones is over.
    fn apply_status(&mut self, status: &RouterStatus, at: DateTime<Utc>) -> Vec<What> {
        let state = &mut self.state;
        state.last_checked_at = Some(at);
        (state.failures, state.failing_since, state.last_error) = (0, None, None);
        let mut changes = vec![What::Polled];
        if let Tracking::Parked(_) = self.tracking {
            self.tracking = Tracking::Active;
            changes.push(What::edited(vec!["tracking".into()]));
        }
        if state.settled_at.is_some() && state.status.as_ref() != Some(status) {
            let settled = state.status.as_ref().map_or("", RouterStatus::raw);
            state.conflict = Some(format!("settled as {settled}, and now the service says {status}"));
            return changes;
        }
        state.conflict = None;
        if state.status.as_ref() != Some(status) {
            let previous = state.status.replace(status.clone()).map(|previous| previous.raw().to_owned());
            (state.status_since, state.last_changed_at) = (Some(at), Some(at));
            changes.push(What::StatusChanged { previous, current: status.raw().to_owned() });
        }
        changes.extend(self.settle(at));
        changes
    }

    /// An answer came that says less than what is known. A refund counts as watched all the same.
    fn without_news(&mut self, at: DateTime<Utc>) -> Vec<What> {
        std::iter::once(What::Polled).chain(self.settle(at)).collect()
    }

    /// Settles it if nothing more is owed: its status is final, or a refund that was watched for long enough.
    fn settle(&mut self, at: DateTime<Utc>) -> Option<What> {
        let state = &mut self.state;
        let refund_watched = state.status == Some(RouterStatus::Refund)
            && state.status_since.is_some_and(|since| span::between(since, at) >= REFUND_WATCH);
        let is_final = state.status.as_ref().is_some_and(RouterStatus::is_final);
        if state.settled_at.is_some() || !(is_final || refund_watched) {
            return None;
        }
        state.settled_at = Some(at);
        Some(What::Settled)
    }

    fn apply_failure(&mut self, failure: &Failure, at: DateTime<Utc>) -> Vec<What> {
        let error = failure.line();
        self.state.last_error = Some(error.clone());
        match failure {
            // The whole ID is meant, not this transaction: the poller's health says so once.
            Failure::Unauthorized(_) | Failure::Throttled { .. } => return vec![What::Polled],
            Failure::Rejected(_) => {
                if !self.is_settled() && self.tracking != Tracking::Untracked {
                    self.tracking = Tracking::Parked(error.clone());
                }
                return vec![What::Polled, What::Rejected { error }];
            }
            Failure::OtherTransaction(_) => self.state.conflict = Some(error.clone()),
            _ => {}
        }
        self.state.failures += 1;
        self.state.failing_since.get_or_insert(at);
        vec![What::Polled, What::PollFailed { error }]
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::{
        super::{
            fixtures::{answer, fails, says},
            record::Step,
        },
        *,
    };

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn transaction() -> Transaction {
        super::super::fixtures::transaction(1)
    }

    #[test]
    fn a_transaction_goes_its_way_and_settles() {
        let mut tx = transaction();
        assert_eq!(
            tx.apply(&answer(Outcome::NotFound(None)), at(5)),
            [What::Polled, What::StatusChanged { previous: None, current: "not_found".into() }]
        );
        tx.apply(&says(RouterStatus::Ongoing), at(10));
        assert_eq!(tx.apply(&says(RouterStatus::Ongoing), at(15)), [What::Polled]);
        let last = tx.apply(&says(RouterStatus::Success), at(60));
        let turn = What::StatusChanged { previous: Some("ongoing".into()), current: "success".into() };
        assert_eq!(last, [What::Polled, turn, What::Settled]);
        assert_eq!((tx.is_settled(), tx.state.polls, tx.age(at(500))), (true, 4, Duration::from_secs(60)));
    }

    #[test]
    fn a_refund_settles_after_it_was_watched() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Refund), at(100));
        tx.apply(&says(RouterStatus::Refund), at(100 + 1_799));
        assert!(!tx.is_settled());
        assert!(tx.apply(&says(RouterStatus::Refund), at(100 + 1_800)).contains(&What::Settled));
    }

    #[test]
    fn new_and_changed_steps_are_news_and_running_times_are_not() {
        let mut tx = transaction();
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.steps.push(Step { action: Some("send".into()), ..Step::default() });
        record.time_spent.insert("total".into(), 5.into());
        let step = |record: &StatusRecord| answer(Outcome::Record(Box::new(record.clone())));
        assert!(tx.apply(&step(&record), at(1)).contains(&What::StepAdded { index: 0 }));
        record.time_spent.insert("total".into(), 7.into());
        assert_eq!(tx.apply(&step(&record), at(2)), [What::Polled]);
        assert_eq!(tx.state.last_changed_at, Some(at(1)));
        record.steps[0].status = Some("success".into());
        assert_eq!(tx.apply(&step(&record), at(3)), [What::Polled, What::StepAdded { index: 0 }]);
        assert_eq!(tx.state.last_changed_at, Some(at(3)));
    }

    #[test]
    fn a_settled_status_is_not_lost_when_the_service_goes_back() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Success), at(1));
        assert_eq!(tx.apply(&says(RouterStatus::Ongoing), at(2)), [What::Polled]);
        assert_eq!(tx.state.status, Some(RouterStatus::Success));
        assert!(tx.state.conflict.as_deref().unwrap().contains("ongoing"));
        tx.apply(&says(RouterStatus::Success), at(3));
        assert_eq!(tx.state.conflict, None);
    }

    #[test]
    fn what_was_seen_once_is_not_lost_to_a_not_found() {
        for lost in [answer(Outcome::NotFound(Some("Resource not found".into()))), says(RouterStatus::NotFound)] {
            let mut tx = transaction();
            tx.apply(&says(RouterStatus::NeedsGas), at(1));
            assert_eq!(tx.apply(&lost, at(6)), [What::Polled]);
            assert_eq!((&tx.state.status, tx.state.last_checked_at), (&Some(RouterStatus::NeedsGas), Some(at(1))));
            assert!(tx.state.conflict.as_deref().unwrap().contains("needs_gas"));
            tx.apply(&says(RouterStatus::Ongoing), at(11));
            assert_eq!((&tx.state.status, &tx.state.conflict), (&Some(RouterStatus::Ongoing), &None));
        }
    }

    #[test]
    fn failures_keep_the_last_state_and_are_counted() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Ongoing), at(1));
        for second in 2..5 {
            tx.apply(&fails(Failure::Transport("connection refused".into())), at(second));
        }
        assert_eq!((tx.state.failures, tx.state.failing_since), (3, Some(at(2))));
        assert_eq!((&tx.state.status, tx.state.last_checked_at), (&Some(RouterStatus::Ongoing), Some(at(1))));
        tx.apply(&says(RouterStatus::Ongoing), at(6));
        assert_eq!((tx.state.failures, &tx.state.last_error), (0, &None));
    }

    #[test]
    fn what_concerns_the_id_is_not_held_against_the_transaction() {
        let mut tx = transaction();
        tx.apply(&fails(Failure::Throttled { message: None, retry_after: None }), at(1));
        tx.apply(&fails(Failure::Unauthorized("no".into())), at(2));
        assert_eq!((tx.state.failures, tx.wants_polling()), (0, true));
    }

    #[test]
    fn a_rejected_transaction_parks_until_it_is_answered() {
        let mut tx = transaction();
        tx.apply(&fails(Failure::Rejected("quoteId is missing".into())), at(1));
        assert!(matches!(&tx.tracking, Tracking::Parked(reason) if reason.contains("quoteId")));
        assert!(!tx.wants_polling());
        let changes = tx.apply(&says(RouterStatus::Ongoing), at(2));
        assert!(tx.wants_polling() && changes.contains(&What::edited(vec!["tracking".into()])));
    }

    #[test]
    fn overdue_needs_an_answer_from_after_the_deadline() {
        let mut tx = transaction();
        tx.apply(&says(RouterStatus::Ongoing), at(899));
        assert!(!tx.is_overdue());
        tx.apply(&fails(Failure::Transport("reset".into())), at(950));
        assert!(!tx.is_overdue());
        tx.apply(&says(RouterStatus::Ongoing), at(960));
        assert!(tx.is_overdue());
        tx.apply(&says(RouterStatus::NeedsGas), at(970));
        assert!(!tx.is_overdue());
    }
}
