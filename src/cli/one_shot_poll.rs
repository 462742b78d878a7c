//! Polls for a command that waits for answers of the service (`check`, `quote`).
//!
//! The store holds the request. The poller of the profile sends the request within the budget. If no process polls the
//! profile, a poller of this process sends this request and nothing else. The module must never send a request by
//! itself.

use std::{slice, time::Duration};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use color_eyre::eyre::{Result, eyre};
use futures_util::future::OptionFuture;
use tokio::task::spawn_blocking;

use crate::{
    clock::Clock,
    config::Settings,
    domain::{
        alert::Outage,
        change::{Change, OutageChange},
        observation::Observation,
        operation::{Operation, StatusRequestKey},
        poller::{PollerHealth, PollerReport, UNRESPONSIVE},
        team::NOBODY_POLLS,
        transaction::TransactionParams,
    },
    poller::PollScope,
    process,
    runtime::{
        background_poller::{PollerOptions, RunningPollers, ServiceClient},
        exit::Exit,
        signals,
        stderr::print_line,
        team_store::{TeamAccess, wait_until_unpolled},
        tokio_runtime,
    },
    store::{Changes, Reader, Store, StoreError, WakeKind},
    team::budget_key,
};

/// The way in which the wait for answers ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OneShotOutcome {
    /// All answers arrived.
    Done,
    /// The time ran out first.
    NoAnswer,
    /// No answer can arrive: the service refuses the ID or can't be reached, as the exit code says.
    Blocked(Exit),
    /// A signal arrived.
    Stopped(Exit),
}

/// A wait for answers to requests that are already in the store.
pub(super) struct OneShotPoll<'a> {
    /// The profile and the folder of its budget.
    pub settings: &'a Settings,
    /// The store that holds the requests and receives the answers.
    pub store: &'a Store,
    /// How this process takes part in a team; `None` if it polls alone.
    pub team: Option<&'a TeamAccess>,
    /// The longest time to wait.
    pub timeout: Duration,
}

/// The answer about a transaction that isn't tracked, and when it arrived.
pub(super) type StatusAnswer = Option<(Observation, DateTime<Utc>)>;

impl OneShotPoll<'_> {
    /// Asks for the status of a transaction that isn't tracked, and waits for the answer. The transaction isn't tracked
    /// afterwards either.
    pub(super) fn request_status(
        &self,
        params: TransactionParams,
        client: ServiceClient,
    ) -> Result<(OneShotOutcome, StatusAnswer)> {
        // An operation is made at a whole millisecond.
        let at = Clock::system().now().wall.trunc_subsecs(3);
        let wanted_until = at + TimeDelta::from_std(self.timeout)?;
        let profile = self.settings.profile.clone();
        let key = StatusRequestKey { profile: profile.clone(), params: params.clone(), asked_at: at };
        self.store.apply(Operation::RequestStatus { profile, params, wanted_until }, at).wait()?;
        let wanted = key.clone();
        let ended = self.run(client, move |reader| Ok(reader.status_answer(&wanted)?.is_some()));
        let answer = self.store.reader().and_then(|reader| reader.status_answer(&key));
        let forgotten = self.store.apply(Operation::ForgetStatus { request: key }, Clock::system().now().wall).wait();
        if let Err(error) = forgotten {
            // The poller's reports delete it some minutes later.
            tracing::warn!("the answer to a request is still in the store: {error}");
        }
        Ok((ended?, answer?))
    }

    /// Polls and waits until `done` returns `true` for the store.
    pub(super) fn run(
        &self,
        client: ServiceClient,
        done: impl Fn(&Reader) -> Result<bool, StoreError> + Clone + Send + 'static,
    ) -> Result<OneShotOutcome> {
        let Self { settings, store, team, timeout } = *self;
        let fingerprint = client.fingerprint.clone();
        tokio_runtime::start()?.block_on(async {
            let clock = Clock::system();
            let signal = signals::listen()?;
            let options = PollerOptions::of(settings, PollScope::RequestsOnly, team);
            let mut poller = RunningPollers::start(vec![(client, options)], store.clone(), clock.clone())?;
            let until = clock.now().mono + timeout;
            let unpolled =
                store.team().map(|status| wait_until_unpolled(status, slice::from_ref(&settings.profile), &clock));
            let ended = tokio::select! {
                ended = wait_for_answers(store, &clock, &settings.profile, &fingerprint, done) => ended,
                fault = poller.wait_for_failure() => return Err(fault),
                exit = signal => Ok(OneShotOutcome::Stopped(exit)),
                () = clock.sleep_until(until) => Ok(OneShotOutcome::NoAnswer),
                Some(()) = OptionFuture::from(unpolled) => Ok(OneShotOutcome::NoAnswer),
            };
            poller.stop().await?;
            ended
        })
    }
}

/// Waits until `done` returns `true`, or until the profile meets an obstacle. Checks after each commit to the store.
async fn wait_for_answers(
    store: &Store,
    clock: &Clock,
    profile: &str,
    fingerprint: &str,
    done: impl Fn(&Reader) -> Result<bool, StoreError> + Clone + Send + 'static,
) -> Result<OneShotOutcome> {
    let mut commits = store.subscribe(WakeKind::AnyCommit)?;
    let last = read(store, Reader::last_change).await?;
    let mut was_printed = false;
    loop {
        let (profile, fingerprint) = (profile.to_owned(), budget_of(store, fingerprint));
        let (done, now) = (done.clone(), clock.now().wall);
        let (outcome, is_unresponsive) = read(store, move |reader| {
            if done(reader)? {
                return Ok((Some(OneShotOutcome::Done), false));
            }
            let report = reader.poller(&profile)?.filter(|report| report.is_live(now));
            // Another process holds the right to poll but doesn't report.
            let is_unresponsive = report.as_ref().is_some_and(|report| report.health == PollerHealth::Waiting);
            let obstacle = find_obstacle(reader, report, &profile, &fingerprint, last)?;
            Ok((obstacle.map(OneShotOutcome::Blocked), is_unresponsive))
        })
        .await?;
        if let Some(outcome) = outcome {
            return Ok(outcome);
        }
        if is_unresponsive && !was_printed {
            print_line(UNRESPONSIVE);
            was_printed = true;
        }
        commits.changed().await.map_err(|_| eyre!("the store's watcher has ended"))?;
    }
}

/// Returns the identifier of an ID's budget in the reports of pollers.
fn budget_of(store: &Store, fingerprint: &str) -> String {
    let salt = store.team().and_then(|status| status.borrow().salt);
    salt.map_or_else(|| fingerprint.to_owned(), |salt| budget_key(salt, fingerprint))
}

async fn read<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
) -> Result<T> {
    let store = store.clone();
    Ok(spawn_blocking(move || work(&store.reader()?)).await??)
}

/// Returns the obstacle that affects the whole profile. The obstacle is in the profile's changes after the change `last`,
/// or in the report of another process that spends the budget of this fingerprint. A process with another ID or base URL
/// has obstacles of its own.
fn find_obstacle(
    reader: &Reader,
    report: Option<PollerReport>,
    profile: &str,
    fingerprint: &str,
    last: i64,
) -> Result<Option<Exit>, StoreError> {
    let Changes { changes, .. } = reader.changes_after(last, 10_000)?;
    let obstacle = |change: &Change| match change.kind.outage()? {
        OutageChange::Began(Outage::Unauthorized) => Some(Some(Exit::Unauthorized)),
        OutageChange::Began(Outage::Unreachable) => Some(Some(Exit::Unreachable)),
        // A throttled request is repeated soon enough to wait for it.
        OutageChange::Began(Outage::Throttled) => None,
        OutageChange::Ended => Some(None),
    };
    let own = changes.iter().filter(|change| change.profile == profile);
    if let Some(current) = own.filter_map(obstacle).next_back() {
        return Ok(current);
    }
    let same_budget = |report: &PollerReport| report.process != process::run_id() && report.fingerprint == fingerprint;
    Ok(report.filter(same_budget).and_then(|report| match report.health {
        PollerHealth::Unauthorized => Some(Exit::Unauthorized),
        PollerHealth::Unreachable => Some(Exit::Unreachable),
        PollerHealth::Live
        | PollerHealth::Paused
        | PollerHealth::Throttled
        | PollerHealth::Stopped
        | PollerHealth::Waiting
        | PollerHealth::Unknown => None,
    }))
}

/// Returns a sentence with the reason why no answer arrived.
pub(super) fn no_answer_reason(store: &Store, profile: &str, now: DateTime<Utc>) -> Result<String> {
    if store.team().is_some_and(|team| team.borrow().is_unpolled(profile)) {
        return Ok(NOBODY_POLLS.to_owned());
    }
    // The report of this process's own poller counts even if the poller has stopped.
    let is_relevant = |report: &PollerReport| report.is_live(now) || report.process == process::run_id();
    let report = store.reader()?.poller(profile)?.filter(is_relevant);
    Ok(PollerReport::silence_reason(report.as_ref(), now))
}
