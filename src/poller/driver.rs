//! The tokio driver: carries out the core's actions, and writes the answers.
//!
//! The driver decides nothing. It keeps the poll targets in memory and follows the store's feed, so that a request
//! costs no read. Every request is a task of one set, so that a panic ends the poller with an error instead of a lost
//! slot. A stopped driver sends no more requests and waits for those in flight. After another process stopped the
//! polling of a transaction, one more request may go out before the driver reads that change.

use std::{
    collections::{HashMap, HashSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::FutureExt;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::{sync::watch, task::JoinSet};

use super::{
    chains::ChainPoller,
    core::{EndedRequest, PollerAction, PollerCore, RequestCounts, ServiceRequest},
    journal,
    poll_plan::{PlanContext, PollPlan, PollTarget, StoreChanges},
    profile_events::ProfileEvents,
    report::{self, Reporter, SavingReport},
    requests::{self, RequestResult, RequestSender},
    setup::{self, PollScope, PollerError, PollerSetup},
    shortage::Shortage,
    takeover::{self, UnrecordedRequests},
    transport::ServiceTransport,
};
use crate::{
    budget::{Budget, SlotPermit},
    clock::{MonotonicTime, Now},
    domain::{
        alert::{Alert, Rule},
        change::ChangeKind,
        ids::RowId,
        need::Need,
        observation::RequestFailure,
        operation::{ProfileEvent, QuoteKey, StatusRequestKey},
        poller::{PollerHealth, PollerReport},
        record::RecordView,
        team::Drain,
        transaction::Transaction,
    },
    process::lock::KernelLock,
    schedule,
    store::{AlertQuery, AppliedObservation, FeedReader, Reader, StoreError, StoreFault, WakeKind},
};

/// How long a stopped poller waits for the answers that are in flight.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Polls until `stop` resolves, then waits for the requests in flight. While another process polls this profile of this
/// store, `run` waits for that process to end.
///
/// Once the store can't be written for good, `run` sends no more requests and waits for `stop`: the screen stays
/// usable.
pub async fn run<T: ServiceTransport>(
    setup: PollerSetup<T>,
    stop: impl Future<Output = ()>,
) -> Result<Drain, PollerError> {
    let (store, profile, stop) = (setup.store.clone(), setup.profile.clone(), stop.shared());
    let has_lease = setup.lease.is_some();
    match poll(setup, stop.clone()).await {
        // With a lease, another machine can poll.
        Err(PollerError::Store(error))
            if error.is_permanent() && !has_lease && !matches!(error, StoreError::Closed) =>
        {
            store.report_fault(&error);
            tracing::error!(profile, "polling stopped: {error}");
            stop.await;
            Ok(Drain::Incomplete)
        }
        ended => ended,
    }
}

async fn poll<T: ServiceTransport>(
    setup: PollerSetup<T>,
    stop: impl Future<Output = ()>,
) -> Result<Drain, PollerError> {
    if setup.store.team().is_some() && setup.lease.is_none() {
        return Err(StoreError::ReplicaAlone.into());
    }
    // The answers couldn't be stored. The backup may be that of a team, whose ID this machine has no lease for.
    if let Some(fault @ StoreFault::IsBackup(_)) = setup.store.fault() {
        return Err(StoreError::from(fault).into());
    }
    let mut stop = pin!(stop);
    let poller_lock = tokio::select! {
        biased;
        () = &mut stop => return Ok(Drain::Complete),
        poller_lock = takeover::acquire_poller_lock(&setup) => poller_lock?,
    };
    let _chains = ChainPoller::from_setup(&setup).map(ChainPoller::start);
    let mut driver = PollerDriver::start(setup, poller_lock).await?;
    loop {
        driver.setup.heartbeat.beat();
        let now = driver.setup.clock.now();
        driver.update_shortage(now).await?;
        if driver.report(now, false).is_some() {
            driver.events.save(&driver.setup, now).await;
        }
        let may_begin = setup::may_begin(driver.setup.lease.as_ref(), &driver.setup.clock);
        let action = if may_begin { driver.core.next(now) } else { PollerAction::WaitForEvent };
        let wake = match action {
            PollerAction::Send(request, permit) => {
                driver.send(request, permit, now).await?;
                continue;
            }
            PollerAction::WaitUntil(moment) => moment.min(driver.reporter.next_report(now.mono)),
            PollerAction::WaitForEvent => {
                // A poller that sends only requests of people doesn't know whether anything is left to ask.
                if driver.setup.scope == PollScope::Everything
                    && may_begin
                    && let Some(event) = driver.core.recover_if_idle(now.mono)
                {
                    driver.record_event(event, now).await?;
                }
                driver.reporter.next_report(now.mono)
            }
        };
        let wake = driver.core.budget.sync(now.mono).map_or(wake, |sync| wake.min(sync));
        let clock = driver.setup.clock.clone();
        // The store's changes come before the answers: they are rarer, so that they can't hold up the answers for long.
        tokio::select! {
            biased;
            () = &mut stop => break,
            _ = driver.wakeups.changed() => driver.apply_pending_changes().await?,
            Some(done) = driver.requests.join_next() => driver.finish_request(done?).await?,
            () = setup::permit_change(driver.setup.lease.as_mut()) => {}
            () = clock.sleep_until(wake) => {}
        }
    }
    driver.drain().await
}

/// The end of the task that sent a request.
type EndedTask = (ServiceRequest, SlotPermit, RequestResult);

struct PollerDriver<T> {
    setup: PollerSetup<T>,
    core: PollerCore,
    requests: JoinSet<EndedTask>,
    wakeups: watch::Receiver<u64>,
    /// The lock of the process that polls this profile of this store; `None` if no other process uses the store.
    _poller_lock: Option<KernelLock>,
    feed: FeedReader,
    /// The data for a request about each polled transaction.
    targets: HashMap<RowId, PollTarget>,
    /// The transactions with a request in flight, each with whether the feed changed the transaction since the send.
    in_flight: HashMap<RowId, bool>,
    /// The wanted requests for the status of transactions that aren't tracked, queued or sent.
    status_requests: Vec<StatusRequestKey>,
    /// The inputs of every poll plan.
    context: PlanContext,
    shortage: Shortage,
    events: ProfileEvents,
    jitter: Pcg64Mcg,
    reporter: Reporter,
    unrecorded: UnrecordedRequests,
    last_error: Option<(String, DateTime<Utc>)>,
}

impl<T: ServiceTransport> PollerDriver<T> {
    async fn start(setup: PollerSetup<T>, poller_lock: Option<KernelLock>) -> Result<Self, PollerError> {
        // Subscribe before the first read: a change between the two is read twice, never missed. The results of this
        // poller's own answers come with the receipts of their operations.
        let wakeups = setup.store.subscribe(WakeKind::ExceptOwnObservations)?;
        let feed = FeedReader::new(setup.store.reader()?);
        let now = setup.clock.now();
        let mut budget = match &setup.budget_folder {
            None => Budget::unshared(setup.rps, now.mono),
            Some(folder) => Budget::shared(folder, &setup.fingerprint, setup.rps, now)?,
        };
        if let Some(left) = setup.lease.as_ref().and_then(|lease| lease.inherited.as_ref()) {
            budget.inherit(left, now.mono);
        }
        let mut driver = Self {
            core: PollerCore::new(budget, now.mono),
            _poller_lock: poller_lock,
            requests: JoinSet::new(),
            wakeups,
            feed,
            targets: HashMap::new(),
            in_flight: HashMap::new(),
            status_requests: Vec::new(),
            context: PlanContext {
                profile: setup.profile.clone(),
                scope: setup.scope,
                weights: setup.weights.clone(),
                duration_stats: Arc::default(),
            },
            shortage: Shortage::default(),
            events: ProfileEvents::default(),
            jitter: Pcg64Mcg::seed_from_u64(setup.seed),
            reporter: Reporter::default(),
            unrecorded: UnrecordedRequests::new(now),
            last_error: None,
            setup,
        };
        driver.apply_pending_changes().await?;
        let profile = driver.setup.profile.clone();
        let last = driver.read(move |reader| reader.poller(&profile)).await?;
        if let Some(last) = last.filter(|_| driver.setup.budget_folder.is_some())
            && let Some(moment) = takeover::unrecorded_by(&last, driver.setup.clock.now())
        {
            driver.core.begins_at = moment + schedule::MIN_INTERVAL;
            // This process may end before that moment.
            driver.unrecorded.add(moment);
        }
        let alerts = driver.read(|reader| reader.alerts(AlertQuery::OfProfiles)).await?;
        let own = |alert: &&Alert| alert.transaction.is_none() && alert.profile == driver.setup.profile;
        let own: Vec<Rule> = alerts.iter().filter(own).map(|alert| alert.rule).collect();
        driver.core.health.has_earlier_problem = own.iter().any(|rule| rule.is_outage());
        driver.shortage = Shortage::new(own.contains(&Rule::BudgetShort));
        Ok(driver)
    }

    /// Applies a poll plan to the scheduler and the poll targets.
    fn schedule(&mut self, plan: PollPlan, now: Now) {
        match plan.polled {
            None => self.forget(plan.id),
            Some((poll_context, target)) => {
                self.core.scheduler.watch(plan.id, poll_context, now);
                if target.is_requested_only {
                    // The transaction is polled once, but not within five seconds of an earlier process's request.
                    self.core.scheduler.forget(plan.id);
                }
                self.targets.insert(plan.id, target);
            }
        }
    }

    fn forget(&mut self, id: RowId) {
        self.core.scheduler.forget(id);
        self.targets.remove(&id);
    }

    /// Reads the store on tokio's blocking pool.
    async fn read<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, PollerError> {
        let feed = self.feed.clone();
        Ok(self.setup.clock.run_blocking(move || feed.read(work)).await??)
    }

    /// Applies every change of the store: new transactions, settled transactions, and requests of people.
    async fn apply_pending_changes(&mut self) -> Result<(), PollerError> {
        while self.apply_change_batch().await? {}
        Ok(())
    }

    /// Applies one batch of changes. Returns `true` if more are waiting.
    async fn apply_change_batch(&mut self) -> Result<bool, PollerError> {
        let (feed, context, now) = (self.feed.clone(), self.context.clone(), self.setup.clock.now());
        let read = self.setup.clock.run_blocking(move || StoreChanges::read(&feed, context, now)).await??;
        let now = self.setup.clock.now();
        self.context.duration_stats = read.duration_stats;
        self.core.scheduler.set_open(read.requests.open);
        self.core.pause_end = read.requests.paused_until;
        let changes = read.changes;
        if changes.needs_resync {
            let planned: HashSet<RowId> = read.plans.iter().map(|plan| plan.id).collect();
            let stale: Vec<RowId> = self.targets.keys().copied().filter(|id| !planned.contains(id)).collect();
            stale.into_iter().for_each(|id| self.forget(id));
            // Their answers are older than what was read.
            self.in_flight.values_mut().for_each(|has_changed| *has_changed = true);
        }
        for plan in read.plans {
            let (id, is_requested) = (plan.id, plan.is_requested);
            self.in_flight.entry(id).and_modify(|has_changed| *has_changed = true);
            self.schedule(plan, now);
            // The request was made before this poller started. Later requests are entries of the feed.
            if changes.needs_resync && is_requested {
                self.core.scheduler.request(id, now);
            }
        }
        for quote in read.requests.quotes {
            self.core.request_once(ServiceRequest::Quote(Box::new(quote.key())));
        }
        for key in &read.requests.status_requests {
            if !self.status_requests.contains(key) {
                self.core.request_once(ServiceRequest::UntrackedStatus(Box::new(key.clone())));
            }
        }
        self.status_requests = read.requests.status_requests;
        let own = changes.changes.iter().filter(|change| change.profile == self.setup.profile);
        for change in own {
            if let (ChangeKind::PollRequested, Some(id)) = (&change.kind, change.transaction) {
                self.core.scheduler.request(id, now);
            }
        }
        Ok(changes.has_more)
    }

    /// Sends a request, unless its transaction or its person's request is gone or claimed.
    async fn send(&mut self, request: ServiceRequest, permit: SlotPermit, now: Now) -> Result<(), PollerError> {
        let PollerSetup { store, transport, clock, profile, .. } = &self.setup;
        let (store, clock, profile) = (store.clone(), clock.clone(), profile.clone());
        let sender = RequestSender { store, transport: Arc::clone(transport), clock, profile };
        let sending = match &request {
            ServiceRequest::Status(id) => self.targets.get(id).cloned().map(|PollTarget { params, status, .. }| {
                self.in_flight.insert(*id, false);
                sender.ask_status(params, status).boxed()
            }),
            ServiceRequest::UntrackedStatus(key) => self
                .status_requests
                .contains(key)
                .then(|| sender.ask_untracked_status(StatusRequestKey::clone(key)).boxed()),
            ServiceRequest::Quote(quote) => {
                let claimed = requests::claim_quote(&self.setup, quote).await;
                let claimed = claimed.or_else(|error| self.handle_write_error(error).map(|()| false))?;
                claimed.then(|| sender.ask_quote(QuoteKey::clone(quote)).boxed())
            }
        };
        match sending {
            Some(sending) => drop(self.requests.spawn(async move { (request, permit, sending.await) })),
            None => self.core.cancel_request(request, permit, now),
        }
        Ok(())
    }

    async fn finish_request(&mut self, done: EndedTask) -> Result<(), PollerError> {
        let (request, permit, RequestResult { at, failure, stored }) = done;
        let polled = match &request {
            ServiceRequest::Status(id) => Some(*id),
            ServiceRequest::Quote(_) | ServiceRequest::UntrackedStatus(_) => None,
        };
        let has_changed = polled.and_then(|id| self.in_flight.remove(&id)).unwrap_or(false);
        if polled.is_some() {
            if failure.is_some() || stored.is_err() {
                self.unrecorded.add(at.mono);
            }
            // Any other failure is shown to the person who made the request.
            if let Some(failure) = &failure {
                self.last_error = Some((failure.one_line(), at.wall));
            }
        }
        // A status of a tracked transaction is asked for again, and may be stored then. Another answer is lost, and the
        // person who waits gets none.
        let is_stored = stored.is_ok();
        let observed = stored.or_else(|error| self.handle_write_error(error).map(|()| None))?;
        let jitter = self.jitter.random();
        let ended = EndedRequest { request, permit, at, now: self.setup.clock.now().mono, failure: failure.as_ref() };
        let event = self.core.finish_request(ended, jitter);
        if let Some(lease) = &self.setup.lease {
            let pace = &self.core.budget.ledger().pace;
            lease.pace.send_if_modified(|known| known.replace(pace.clone()).as_ref() != Some(pace));
        }
        if let Some(RequestFailure::Throttled { .. }) = failure {
            let ledger = self.core.budget.ledger();
            journal::log_throttling(&self.setup.profile, &ledger.pace, ledger.limit(), at.mono);
        }
        if let Some(id) = polled {
            self.replan(id, observed.map(|observed| *observed), has_changed || !is_stored).await?;
        }
        match event {
            Some(event) => self.record_event(event, at).await,
            None => Ok(()),
        }
    }

    /// Updates the plan and the duration statistics after an answer of this poller. If the feed changed the transaction
    /// since the send, or the answer couldn't be stored, the plan follows the store's present state. `observed` is `None`
    /// if the answer isn't stored.
    async fn replan(
        &mut self,
        id: RowId,
        observed: Option<AppliedObservation>,
        must_read: bool,
    ) -> Result<(), PollerError> {
        if let Some(AppliedObservation { samples, .. }) = &observed
            && !samples.is_empty()
        {
            let duration_stats = Arc::make_mut(&mut self.context.duration_stats);
            samples.iter().for_each(|sample| duration_stats.add(sample));
        }
        if must_read {
            // The change may be older or newer than the answer, so only the store's present state is right.
            let header = self.read(move |reader| reader.header(id)).await?;
            self.replan_from(id, header.as_ref());
        } else if let Some(observed) = observed {
            self.replan_from(id, observed.transaction.as_ref());
        }
        Ok(())
    }

    fn replan_from<R: RecordView>(&mut self, id: RowId, transaction: Option<&Transaction<R>>) {
        let now = self.setup.clock.now();
        match transaction.and_then(|transaction| self.context.plan(transaction)) {
            Some(plan) => {
                let is_requested = plan.is_requested;
                self.schedule(plan, now);
                // A person's request has no usable answer yet.
                if is_requested {
                    self.core.scheduler.request(id, now);
                }
            }
            None => self.forget(id),
        }
    }

    /// Handles a failed write. Only a permanent fault ends the poller.
    fn handle_write_error(&mut self, error: StoreError) -> Result<(), StoreError> {
        if error.is_permanent() {
            return Err(error);
        }
        tracing::error!(profile = self.setup.profile, "failed to store an answer: {error}");
        self.last_error = Some((error.to_string(), self.setup.clock.now().wall));
        Ok(())
    }

    /// Records an event of the whole profile.
    async fn record_event(&mut self, event: ProfileEvent, at: Now) -> Result<(), PollerError> {
        let has_recovered = event == ProfileEvent::Recovered;
        self.events.record(event, &self.setup, at).await;
        if has_recovered { self.confirm_overdue(at).await } else { Ok(()) }
    }

    /// Polls transactions soon that became overdue without an alert while no answers arrived.
    async fn confirm_overdue(&mut self, now: Now) -> Result<(), PollerError> {
        if self.setup.scope == PollScope::RequestsOnly {
            return Ok(());
        }
        let context = self.context.clone();
        for (id, poll_context) in self.read(move |reader| context.load_unconfirmed(reader, now)).await? {
            // A transaction that was just added comes with the feed.
            if self.targets.contains_key(&id) {
                self.core.scheduler.forgive_failures(id);
                self.core.scheduler.watch(id, poll_context, now);
            }
        }
        Ok(())
    }

    /// Raises or clears the alert that the budget is short. A poller that sends only requests of people needs no such
    /// alert.
    async fn update_shortage(&mut self, now: Now) -> Result<(), PollerError> {
        if self.setup.scope == PollScope::RequestsOnly {
            return Ok(());
        }
        let need = self.core.need();
        match self.shortage.update(&need, now.mono) {
            Some(true) => self.record_event(ProfileEvent::BudgetShort(need.sentence()), now).await,
            Some(false) => self.record_event(ProfileEvent::BudgetSufficient, now).await,
            None => Ok(()),
        }
    }

    /// Submits a report if one is due, or if the poller stops. Returns the task that saves it.
    fn report(&mut self, now: Now, is_stopping: bool) -> Option<SavingReport> {
        self.unrecorded.compare_clocks(now);
        if !is_stopping && !self.reporter.try_start_report(now.mono) {
            return None;
        }
        let RequestCounts { requests, throttled, failed, answered } = self.core.counts;
        let need = self.core.need();
        let (health, resting) = self.core.health(now.mono);
        let paused_until = self.core.paused_until(now.wall);
        let health = match health {
            _ if is_stopping => PollerHealth::Stopped,
            PollerHealth::Live if paused_until.is_some() => PollerHealth::Paused,
            health => health,
        };
        let fault = self.core.budget.fault().map(|fault| (fault.to_owned(), now.wall));
        let (last_error, last_error_at) = fault.or_else(|| self.last_error.clone()).unzip();
        let report = PollerReport {
            at: now.wall,
            valid_until: now.wall + self.setup.clock.to_wall_duration(PollerReport::VALIDITY),
            process: crate::process::run_id(),
            id: self.setup.shown_id.clone(),
            fingerprint: self.setup.report_id(),
            rps: self.core.budget.ledger().limit(),
            share: report::round(self.core.budget.ledger().pace.share()),
            need: (self.setup.scope == PollScope::Everything).then(|| Need {
                polls: report::round(need.polls),
                allowed: report::round(need.allowed),
                ..need
            }),
            used: report::round(self.core.used(now.mono)),
            requests,
            throttled,
            failed,
            running: now.mono.since(self.core.started),
            unsettled: self.core.scheduler.item_count() as u64,
            health,
            paused_until,
            resting_until: resting.and_then(|until| wall_time_of(now, until)),
            last_error,
            last_error_at,
            answered: Some(answered),
            // A team's machines have monotonic clocks of their own.
            unrecorded_at: self.unrecorded.last_at.map(|at| at.0).filter(|_| self.setup.lease.is_none()),
            uptime: self.setup.lease.is_none().then_some(now.mono.0),
        };
        let is_wanted = self.reporter.accept(&report, now.mono) || is_stopping;
        is_wanted.then(|| report::submit(&self.setup.store, &self.setup.clock, &self.setup.profile, report))
    }

    /// Waits for the requests in flight, for two seconds at most. The next run repeats requests without an answer by
    /// then.
    async fn drain(mut self) -> Result<Drain, PollerError> {
        let clock = self.setup.clock.clone();
        let give_up_at = clock.now().mono + DRAIN_TIMEOUT;
        // Returns unused slots at once, so that other processes need not wait for them.
        self.core.budget.close(clock.now().mono);
        let drain = self.finish_requests(give_up_at).await;
        let now = clock.now();
        if !matches!(drain, Ok(Drain::Complete)) {
            self.unrecorded.add(now.mono);
        }
        self.core.budget.close(now.mono);
        if let Some(saving) = self.report(now, true) {
            // A poller that takes over waits, unless the report says that this one has stopped.
            report::wait_until_saved(saving, &clock).await;
        }
        drain
    }

    async fn finish_requests(&mut self, give_up_at: MonotonicTime) -> Result<Drain, PollerError> {
        let clock = self.setup.clock.clone();
        loop {
            tokio::select! {
                biased;
                done = self.requests.join_next() => match done {
                    Some(done) => self.finish_request(done?).await?,
                    None => return Ok(Drain::Complete),
                },
                () = clock.sleep_until(give_up_at) => return Ok(Drain::Incomplete),
            }
        }
    }
}

/// Converts a monotonic moment to wall time. Returns `None` beyond the range of the calendar.
fn wall_time_of(now: Now, moment: MonotonicTime) -> Option<DateTime<Utc>> {
    now.wall.checked_add_signed(TimeDelta::from_std(moment.since(now.mono)).ok()?)
}
