//! Asks the chains themselves: when a transfer gives a reason, or a person asks.
//!
//! The task runs beside the driver, in the process that polls the profile, so that a chain is asked once. `domain` says
//! when a question is due, `chain_rpc` asks, and the answer is an operation. This module must never spend the
//! integrator's budget.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::{
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
};

use super::{
    requests::apply_operation,
    setup::{LeasePermit, PollScope, PollerError, PollerSetup, may_begin},
};
use crate::{
    chain_rpc::{ChainNodes, ChainQuestion},
    clock::Clock,
    domain::{
        chain_check::{self, has_second_transaction},
        change::{Change, ChangeKind},
        filter::{Expression, Filter, term::FilterState},
        ids::{RowId, TransactionKey},
        on_chain::{ChainReading, ChainVerdict, OnChainState, is_evm_hash},
        operation::Operation,
        status::RouterStatus,
        transaction::Transaction,
    },
    store::{FeedReader, ListRow, Reader, Store, StoreError, WakeKind},
};

/// The highest number of requests that are under way at the same time.
const MAX_CONCURRENT_REQUESTS: usize = 4;
/// The highest number of questions to one node in one request.
const MAX_QUESTIONS_PER_REQUEST: usize = 16;
/// How soon a due question is noticed.
const TICK: Duration = Duration::from_secs(1);
/// The pause after a question that failed. Each further failure of the transaction doubles the pause, up to
/// [`MAX_FAILURE_PAUSE`].
const FAILURE_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause after a question that failed.
const MAX_FAILURE_PAUSE: Duration = Duration::from_secs(15 * 60);

/// How far back, at a start, settled transfers are searched for a second transaction to check. Older ones are checked
/// only on request.
const SECOND_TRANSACTION_LOOKBACK: TimeDelta = TimeDelta::days(7);

/// The settings and connections for asking the chains of one profile.
pub(super) struct ChainPoller {
    nodes: Arc<ChainNodes>,
    store: Store,
    clock: Clock,
    profile: String,
    /// The lease; `None` if no other machine asks.
    lease: Option<LeasePermit>,
    /// Whether only requests of people are sent.
    asks_on_request_only: bool,
}

/// A due question, and how its transaction is named in every store.
struct DueQuestion {
    row: RowId,
    key: TransactionKey,
    question: ChainQuestion,
}

/// A question with its answer, or the reason why there is none.
type AnsweredQuestion = (DueQuestion, Result<OnChainState, String>);

/// When each transaction's chain is asked next.
#[derive(Default)]
struct QuestionSchedule {
    due_at: HashMap<RowId, DateTime<Utc>>,
    by_due_at: BTreeSet<(DateTime<Utc>, RowId)>,
    /// The transactions that people wait for.
    requested: BTreeSet<RowId>,
    /// The failures in a row.
    failures: HashMap<RowId, u32>,
    under_way: BTreeSet<RowId>,
}

impl QuestionSchedule {
    fn set(&mut self, row: RowId, at: Option<DateTime<Utc>>) {
        if let Some(before) = self.due_at.remove(&row) {
            self.by_due_at.remove(&(before, row));
        }
        if let Some(at) = at {
            self.due_at.insert(row, at);
            self.by_due_at.insert((at, row));
        }
    }

    /// Returns the next transaction to ask about, and whether a person requested it. Requests of people come first, but
    /// for those that failed: they wait for their retry.
    fn next(&mut self, now: DateTime<Utc>) -> Option<(RowId, bool)> {
        let is_ready = |row: &RowId| !self.under_way.contains(row) && !self.failures.contains_key(row);
        let requested = self.requested.iter().copied().find(is_ready);
        let due = || self.by_due_at.iter().take_while(|(at, _)| *at <= now).map(|(_, row)| *row);
        let next = requested.or_else(|| due().find(|row| !self.under_way.contains(row)))?;
        self.set(next, None);
        self.under_way.insert(next);
        Some((next, self.requested.remove(&next)))
    }

    /// Plans the next question by the transaction's state. A retry keeps its moment, unless nothing is left to ask.
    fn plan(&mut self, row: RowId, at: Option<DateTime<Utc>>) {
        if at.is_none() && !self.requested.contains(&row) {
            self.failures.remove(&row);
        }
        if !self.failures.contains_key(&row) {
            self.set(row, at);
        }
    }

    /// Records that a question failed, and plans its retry: still as a person's request if it was one.
    fn record_failure(&mut self, row: RowId, is_requested: bool, now: DateTime<Utc>) {
        let failures = self.failures.entry(row).or_insert(0);
        let pause = FAILURE_PAUSE.saturating_mul(1 << (*failures).min(5)).min(MAX_FAILURE_PAUSE);
        *failures += 1;
        if is_requested {
            self.requested.insert(row);
        }
        self.set(row, Some(now + TimeDelta::from_std(pause).unwrap_or(TimeDelta::MAX)));
    }
}

impl ChainPoller {
    /// Returns the poller of the chains; `None` if the settings name no nodes.
    pub(super) fn from_setup<T>(setup: &PollerSetup<T>) -> Option<Self> {
        Some(Self {
            nodes: Arc::clone(setup.chain_nodes.as_ref()?),
            store: setup.store.clone(),
            clock: setup.clock.clone(),
            profile: setup.profile.clone(),
            lease: setup.lease.clone(),
            asks_on_request_only: setup.scope == PollScope::RequestsOnly,
        })
    }

    /// Starts to ask, until the returned task is dropped. A failure is logged: polling goes on without the chains'
    /// answers.
    pub(super) fn start(self) -> JoinSet<()> {
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Err(error) = self.run().await {
                if matches!(&error, PollerError::Store(error) if error.is_permanent()) {
                    return tracing::error!("the chains are no longer asked: {error}");
                }
                tracing::warn!("the chains are asked again in {} s: {error}", FAILURE_PAUSE.as_secs());
                self.clock.sleep_until(self.clock.now().mono + FAILURE_PAUSE).await;
            }
        });
        task
    }

    async fn run(&self) -> Result<(), PollerError> {
        let mut commits = self.store.subscribe(WakeKind::AnyCommit)?;
        let feed = FeedReader::new(self.store.reader()?);
        let mut schedule = QuestionSchedule::default();
        let mut asking: JoinSet<Vec<AnsweredQuestion>> = JoinSet::new();
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
        self.update(&feed, &mut schedule).await?;
        loop {
            while asking.len() < MAX_CONCURRENT_REQUESTS && may_begin(self.lease.as_ref(), &self.clock) {
                let now = self.clock.now().wall;
                let rows: Vec<_> = std::iter::from_fn(|| schedule.next(now))
                    .take(MAX_CONCURRENT_REQUESTS * MAX_QUESTIONS_PER_REQUEST)
                    .collect();
                if rows.is_empty() {
                    break;
                }
                let (deleted, batches) = self.read(&feed, move |reader, _| load_due(reader, rows)).await?;
                for row in &deleted {
                    schedule.under_way.remove(row);
                    schedule.failures.remove(row);
                }
                for batch in batches {
                    asking.spawn(ask(Arc::clone(&self.nodes), Arc::clone(&permits), batch));
                }
            }
            let tick = self.clock.now().mono + TICK;
            tokio::select! {
                Some(answered) = asking.join_next() => {
                    for asked in answered? {
                        self.save_answer(asked, &feed, &mut schedule).await?;
                    }
                }
                woken = commits.changed() => {
                    woken.map_err(|_| StoreError::Closed)?;
                    self.update(&feed, &mut schedule).await?;
                }
                () = self.clock.sleep_until(tick) => {}
            }
        }
    }

    /// Reads the store on tokio's blocking pool.
    async fn read<T: Send + 'static>(
        &self,
        feed: &FeedReader,
        work: impl FnOnce(&Reader, &ChainNodes) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, PollerError> {
        let (feed, nodes) = (feed.clone(), Arc::clone(&self.nodes));
        Ok(spawn_blocking(move || feed.read(|reader| work(reader, &nodes))).await??)
    }

    /// Applies the changes of the store to the schedule.
    async fn update(&self, feed: &FeedReader, schedule: &mut QuestionSchedule) -> Result<(), PollerError> {
        loop {
            let (feed, nodes, profile) = (feed.clone(), Arc::clone(&self.nodes), self.profile.clone());
            let (asks_on_request_only, now) = (self.asks_on_request_only, self.clock.now().wall);
            let read = move || {
                feed.changes_with(|changes, reader| {
                    load_service_urls(reader, &nodes, &profile)?;
                    let mut planned: Vec<(RowId, Option<DateTime<Utc>>)> = Vec::new();
                    let mut rows: Vec<RowId> = Vec::new();
                    if asks_on_request_only {
                        // Nothing is asked without a person.
                    } else if changes.needs_resync {
                        reader.each_polled(&profile, |tx| planned.push((tx.id, next_source_check(&tx, &nodes))))?;
                        // Parked transactions aren't polled, nor are settled ones, which may have a second transaction.
                        let parked = [FilterState::Unsettled, FilterState::Parked].map(Expression::is);
                        rows.extend(reader.listing(&Filter::all(parked).limited_to_profile(&profile), now).all()?);
                        let since = now - SECOND_TRANSACTION_LOOKBACK;
                        for status in RouterStatus::DOCUMENTED.iter().filter(|status| has_second_transaction(status)) {
                            rows.extend(reader.rows_with_status_since(&profile, status, since)?);
                        }
                    } else {
                        rows.extend(changes.rows(false));
                    }
                    for row in rows {
                        planned.push((row, next_check(reader, &nodes, &profile, row)?));
                    }
                    // A person who asks again after a failure doesn't wait for the retry.
                    let is_request = |change: &&Change| matches!(change.kind, ChangeKind::ChainRequested);
                    let asked_again: Vec<RowId> =
                        changes.changes.iter().filter(is_request).filter_map(|change| change.transaction).collect();
                    Ok((planned, asked_again, reader.requested_chain_checks(&profile)?, changes.has_more))
                })
            };
            let (planned, asked_again, requested, more) = spawn_blocking(read).await??;
            asked_again.iter().for_each(|row| _ = schedule.failures.remove(row));
            for (row, at) in planned {
                schedule.plan(row, at);
            }
            // The answer that is under way answers a person, too.
            let is_new = |row: &RowId| !schedule.under_way.contains(row);
            schedule.requested.extend(requested.into_iter().filter(is_new));
            if !more {
                return Ok(());
            }
        }
    }

    /// Stores an answer, and plans the next question about the transaction.
    async fn save_answer(
        &self,
        (due, answer): AnsweredQuestion,
        feed: &FeedReader,
        schedule: &mut QuestionSchedule,
    ) -> Result<(), PollerError> {
        let DueQuestion { row, key, question } = due;
        schedule.under_way.remove(&row);
        schedule.requested.remove(&row);
        let now = self.clock.now();
        let on_chain = match answer {
            Ok(on_chain) => {
                schedule.failures.remove(&row);
                on_chain
            }
            Err(reason) => {
                tracing::warn!("chain {} can't be asked about {}: {reason}", key.from_chain, key.hash);
                schedule.record_failure(row, question.is_requested, now.wall);
                // A person who waits gets the failure as the answer. A stored reading stays.
                if !question.is_requested || question.previous.is_some() {
                    return Ok(());
                }
                OnChainState::after(
                    None,
                    ChainReading::without_node(ChainVerdict::CannotBeAsked(reason)),
                    None,
                    now.wall,
                )
            }
        };
        let operation = Operation::ObserveChain { transaction: key, on_chain: Box::new(on_chain) };
        if let Err(error) = apply_operation(&self.store, &self.clock, operation, now).await {
            tracing::warn!("what the chain says can't be stored, and is asked again later: {error}");
            schedule.record_failure(row, question.is_requested, now.wall);
        }
        if !schedule.failures.contains_key(&row) && !self.asks_on_request_only {
            let profile = self.profile.clone();
            let next = self.read(feed, move |reader, nodes| next_check(reader, nodes, &profile, row)).await?;
            schedule.set(row, next);
        }
        Ok(())
    }
}

/// Takes over the service's lists of nodes, for the chains whose node the service names.
pub(crate) fn load_service_urls(reader: &Reader, nodes: &ChainNodes, profile: &str) -> Result<(), StoreError> {
    for chain in nodes.chains_without_node() {
        if let Some(config) = reader.chain(profile, chain)? {
            nodes.set_service_urls(chain, &config.rpc_list);
        }
    }
    Ok(())
}

/// Returns when the source chain of a transaction is asked next.
fn next_source_check<R>(tx: &Transaction<R>, nodes: &ChainNodes) -> Option<DateTime<Utc>> {
    let can_be_asked = nodes.has_node(&tx.params.from_chain) && is_evm_hash(&tx.params.transaction_id);
    chain_check::next_source_check(tx).filter(|_| can_be_asked)
}

/// Returns when a chain is asked next about the transaction in this row.
fn next_check(
    reader: &Reader,
    nodes: &ChainNodes,
    profile: &str,
    row: RowId,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let Some(header) = reader.header(row)?.filter(|header| header.profile == profile) else { return Ok(None) };
    // The record is read only if a second transaction can matter.
    let second = match header.state.status.as_ref().is_some_and(has_second_transaction) {
        true => reader.list_row(row)?.and_then(|listed| next_second_check(&listed.transaction, nodes)),
        false => None,
    };
    Ok([next_source_check(&header, nodes), second].into_iter().flatten().min())
}

fn next_second_check(tx: &Transaction, nodes: &ChainNodes) -> Option<DateTime<Utc>> {
    let (chain, _) = chain_check::second_transaction(tx)?;
    chain_check::next_second_check(tx).filter(|_| nodes.has_node(&chain))
}

/// Asks the questions of one chain, as soon as few enough requests are under way.
async fn ask(nodes: Arc<ChainNodes>, permits: Arc<Semaphore>, batch: Vec<DueQuestion>) -> Vec<AnsweredQuestion> {
    let _permit = permits.acquire().await;
    let questions: Vec<ChainQuestion> = batch.iter().map(|due| due.question.clone()).collect();
    let answers = nodes.ask_all(&questions).await;
    batch.into_iter().zip(answers).collect()
}

/// Returns the rows without a transaction, and the questions about the others: in each batch those of one source chain
/// that go into one request. What people ask comes first.
fn load_due(reader: &Reader, rows: Vec<(RowId, bool)>) -> Result<(Vec<RowId>, Vec<Vec<DueQuestion>>), StoreError> {
    let (mut deleted, mut batches): (Vec<RowId>, Vec<Vec<DueQuestion>>) = (Vec::new(), Vec::new());
    for (row, is_requested) in rows {
        let Some(ListRow { transaction: tx, .. }) = reader.list_row(row)? else {
            deleted.push(row);
            continue;
        };
        let due = DueQuestion { row, key: tx.key(), question: ChainQuestion::new(tx, is_requested) };
        let has_room = |batch: &&mut Vec<DueQuestion>| {
            batch.len() < MAX_QUESTIONS_PER_REQUEST
                && batch.first().is_some_and(|first| first.question.chain == due.question.chain)
        };
        match batches.iter_mut().find(has_room) {
            Some(batch) => batch.push(due),
            None => batches.push(vec![due]),
        }
    }
    Ok((deleted, batches))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures::at;

    #[test]
    fn failed_request_is_retried_as_a_request_and_only_after_its_pause() {
        let (row, mut schedule) = (RowId(1), QuestionSchedule::default());
        schedule.requested.insert(row);
        for (asked_at, pause) in [(0, 30), (30, 60), (90, 120)] {
            assert_eq!(schedule.next(at(asked_at)), Some((row, true)));
            schedule.under_way.remove(&row);
            schedule.record_failure(row, true, at(asked_at));
            // The obstacle is stored, and read again: neither an earlier moment nor none replaces the retry.
            schedule.plan(row, Some(at(asked_at)));
            schedule.plan(row, None);
            assert_eq!(schedule.next(at(asked_at + pause - 1)), None);
        }
        // The person asks again.
        schedule.record_failure(RowId(2), false, at(90));
        schedule.plan(RowId(2), None);
        schedule.failures.remove(&row);
        assert_eq!(schedule.next(at(91)), Some((row, true)));
        // Nobody asks about the other transaction any more, and later there is a reason again.
        assert_eq!(schedule.next(at(1_000)), None, "one question is under way");
        schedule.plan(RowId(2), Some(at(1_000)));
        assert_eq!(schedule.next(at(1_000)), Some((RowId(2), false)));
    }
}
