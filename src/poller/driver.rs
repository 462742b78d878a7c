//! The tokio driver: carries out the core's actions, and writes the answers.
//!
//! The driver decides nothing. It keeps the poll targets in memory and follows the store's feed, so that a request costs no
//! read. Every request is a task of one set, so that a panic ends the poller with an error instead of a lost slot. A stopped
//! driver sends no more requests and waits for those in flight. One more request may go out in the moments before the driver
//! reads that another process stopped the polling of a transaction.

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::FutureExt;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::{
    sync::watch,
    task::{JoinSet, spawn_blocking},
};

use super::{
    core::{Action, Core, Counts, Ended, Question},
    journal,
    poll_plan::{PlanContext, PollPlan, PollTarget, StoreChanges},
    report::{self, Reporter, SILENT},
    setup::{PollerError, Scope, Setup},
    shortage::Shortage,
    takeover,
    wire::Wire,
};
use crate::{
    budget::{Budget, Ticket},
    clock::{Clock, Mono, Now},
    domain::{
        alert::{Alert, Rule, Subject},
        change::What,
        ids::RowId,
        need::Need,
        observation::Failure,
        operation::{Operation, ProfileEvent, QuoteKey, TransactionKey},
        poller::{PollerHealth, PollerReport},
        record::RecordView,
        transaction::Transaction,
    },
    process::lock::KernelLock,
    store::{AlertQuery, FeedReader, Observed, Outcome, Reader, Store, StoreError, Wake},
};

/// How long a stopped poller waits for the answers that are in flight.
const DRAIN: Duration = Duration::from_secs(2);

/// The result of a request's task.
struct Done {
    question: Question,
    ticket: Ticket,
    at: Now,
    failure: Option<Failure>,
    /// The result of storing the answer; `None` for a route.
    kept: Result<Option<Box<Observed>>, StoreError>,
}

/// Polls until `stop` resolves, then waits for the requests in flight. While another process polls this profile of this store,
/// `run` waits for that process to end.
///
/// Once the store can't be written for good, `run` sends no more requests and waits for `stop`: the screen stays usable.
pub async fn run<W: Wire>(setup: Setup<W>, stop: impl Future<Output = ()>) -> Result<(), PollerError> {
    let (store, profile, stop) = (setup.store.clone(), setup.profile.clone(), stop.shared());
    match poll(setup, stop.clone()).await {
        Err(PollerError::Store(error)) if error.is_lasting() && !matches!(error, StoreError::Closed) => {
            store.report_fault(&error);
            tracing::error!(profile, "nothing is polled any more: {error}");
            stop.await;
            Ok(())
        }
        ended => ended,
    }
}

async fn poll<W: Wire>(setup: Setup<W>, stop: impl Future<Output = ()>) -> Result<(), PollerError> {
    let mut stop = pin!(stop);
    let role = tokio::select! {
        () = &mut stop => return Ok(()),
        role = takeover::take_role(&setup) => role?,
    };
    let mut driver = Driver::start(setup, role).await?;
    loop {
        let now = driver.setup.clock.now();
        driver.weigh_need(now).await?;
        driver.report(now, false);
        let wake = match driver.core.next(now) {
            Action::Send(Question::Status(id), ticket) => {
                driver.send_status(id, ticket, now);
                continue;
            }
            Action::Send(Question::Route(id), ticket) => {
                driver.send_route(id, ticket).await?;
                continue;
            }
            Action::WaitUntil(moment) => moment.min(driver.reporter.next(now.mono)),
            Action::WaitForNews => {
                // Who polls nothing of its own accord can't know that nothing is left to ask.
                if driver.setup.scope == Scope::Everything
                    && let Some(event) = driver.core.stand_down(now.mono)
                {
                    driver.record_event(event, now).await?;
                }
                driver.reporter.next(now.mono)
            }
        };
        let wake = driver.core.budget.sync(now.mono).map_or(wake, |sync| wake.min(sync));
        let clock = driver.setup.clock.clone();
        tokio::select! {
            () = &mut stop => break,
            Some(done) = driver.requests.join_next() => driver.ended(done?).await?,
            _ = driver.wakeups.changed() => driver.follow().await?,
            () = clock.sleep_until(wake) => {}
        }
    }
    driver.drain().await
}

struct Driver<W> {
    setup: Setup<W>,
    core: Core,
    requests: JoinSet<Done>,
    wakeups: watch::Receiver<u64>,
    /// The role of polling this profile of this store; `None` if no other process uses the store.
    _role: Option<KernelLock>,
    feed: FeedReader,
    /// What a request for each polled transaction needs.
    targets: HashMap<RowId, PollTarget>,
    /// The transactions of the requests that are in flight, each with whether the feed changed it meanwhile.
    in_flight: HashMap<RowId, bool>,
    /// Routes that are to be asked for.
    routes: HashMap<i64, QuoteKey>,
    /// What plans depend on.
    context: PlanContext,
    shortage: Shortage,
    jitter: Pcg64Mcg,
    reporter: Reporter,
    last_error: Option<String>,
}

impl<W: Wire> Driver<W> {
    async fn start(setup: Setup<W>, role: Option<KernelLock>) -> Result<Self, PollerError> {
        // From here on changes wake us: what is written between this and the first read is read twice, never missed. What our
        // own answers say comes with their receipts.
        let wakeups = setup.store.subscribe(Wake::NotAnswers)?;
        let feed = FeedReader::new(setup.store.reader()?);
        let now = setup.clock.now();
        let budget = match &setup.shared {
            None => Budget::own(setup.rps, now.mono),
            Some(folder) => Budget::shared(folder, &setup.fingerprint, setup.rps, now)?,
        };
        let mut driver = Self {
            core: Core::new(budget, now.mono),
            _role: role,
            requests: JoinSet::new(),
            wakeups,
            feed,
            targets: HashMap::new(),
            in_flight: HashMap::new(),
            routes: HashMap::new(),
            context: PlanContext {
                profile: setup.profile.clone(),
                scope: setup.scope,
                weights: setup.weights.clone(),
                duration_stats: Arc::default(),
            },
            shortage: Shortage::default(),
            jitter: Pcg64Mcg::seed_from_u64(setup.seed),
            reporter: Reporter::default(),
            last_error: None,
            setup,
        };
        driver.follow().await?;
        let alerts = driver.read(|reader| reader.alerts(AlertQuery::OfProfiles)).await?;
        let own = |alert: &&Alert| alert.subject == Subject::Profile && alert.profile == driver.setup.profile;
        let own: Vec<Rule> = alerts.iter().filter(own).map(|alert| alert.rule).collect();
        if own.iter().any(|rule| rule.is_outage()) {
            driver.core.expect_recovery();
        }
        driver.shortage = Shortage::new(own.contains(&Rule::BudgetShort));
        Ok(driver)
    }

    /// Applies a plan.
    fn schedule(&mut self, plan: PollPlan, now: Now) {
        match plan.polled {
            None => self.forget(plan.id),
            Some((poll_context, target)) => {
                self.core.scheduler.watch(plan.id, poll_context, now);
                self.targets.insert(plan.id, target);
            }
        }
        if plan.is_requested_only {
            // It is polled once, but not within five seconds of an earlier process's request.
            self.core.scheduler.forget(plan.id);
        }
    }

    fn forget(&mut self, id: RowId) {
        self.core.scheduler.forget(id);
        self.targets.remove(&id);
    }

    /// Reads the store on the blocking pool.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, PollerError> {
        let feed = self.feed.clone();
        Ok(spawn_blocking(move || feed.read(work)).await??)
    }

    /// Applies every change of the store: new transactions, settled ones, what a person asked for.
    async fn follow(&mut self) -> Result<(), PollerError> {
        while self.apply_changes().await? {}
        Ok(())
    }

    /// Applies one portion of changes. Returns `true` if more are waiting.
    async fn apply_changes(&mut self) -> Result<bool, PollerError> {
        let (feed, context, now) = (self.feed.clone(), self.context.clone(), self.setup.clock.now());
        let read = spawn_blocking(move || StoreChanges::read(&feed, context, now)).await??;
        let now = self.setup.clock.now();
        self.context.duration_stats = read.duration_stats;
        self.core.scheduler.look_at(read.requests.open);
        self.core.pause(read.requests.paused_until);
        let changes = read.changes;
        for plan in read.plans {
            let (id, is_requested) = (plan.id, plan.is_requested);
            self.in_flight.entry(id).and_modify(|has_changed| *has_changed = true);
            self.schedule(plan, now);
            // What was requested while nobody polled. Later on each request is an entry of its own.
            if changes.resync && is_requested {
                self.core.scheduler.request(id, now);
            }
        }
        for quote in read.requests.quotes {
            self.core.request_route(quote.id);
            self.routes.insert(quote.id, quote.key());
        }
        let own = changes.changes.iter().filter(|change| change.profile == self.setup.profile);
        for change in own {
            if let (What::PollRequested, Some(id)) = (&change.what, change.transaction) {
                self.core.scheduler.request(id, now);
            }
        }
        Ok(changes.more)
    }

    fn send_status(&mut self, id: RowId, ticket: Ticket, now: Now) {
        let question = Question::Status(id);
        let Some(PollTarget { params, status }) = self.targets.get(&id).cloned() else {
            self.core.gone(question, ticket, now);
            return;
        };
        self.in_flight.insert(id, false);
        let (store, wire, clock) = (self.setup.store.clone(), Arc::clone(&self.setup.wire), self.setup.clock.clone());
        let profile = self.setup.profile.clone();
        self.requests.spawn(async move {
            let observation = wire.status(&params).await;
            let at = clock.now();
            let failure = observation.outcome.failure().cloned();
            journal::answer(&profile, &params, status.as_ref(), &observation);
            let (from_chain, hash) = (params.from_chain.clone(), params.transaction_id.clone());
            let transaction = TransactionKey { profile, from_chain, hash };
            let operation = Operation::Observe { transaction, observation: Box::new(observation) };
            let kept = write(&store, &clock, operation, at).await.and_then(|outcome| outcome.observed().map(Some));
            Done { question, ticket, at, failure, kept }
        });
    }

    async fn send_route(&mut self, id: i64, ticket: Ticket) -> Result<(), PollerError> {
        let (question, now) = (Question::Route(id), self.setup.clock.now());
        let Some(quote) = self.routes.remove(&id) else {
            self.core.gone(question, ticket, now);
            return Ok(());
        };
        // Another process may have claimed it, or nobody waits for it any more.
        let operation = Operation::ClaimQuote { quote: quote.clone() };
        let written = write(&self.setup.store, &self.setup.clock, operation, now).await;
        let claimed = written.and_then(|outcome| outcome.claimed());
        let Some(request) = claimed.or_else(|error| self.not_kept(error).map(|()| None))? else {
            self.core.gone(question, ticket, now);
            return Ok(());
        };
        let (store, wire, clock) = (self.setup.store.clone(), Arc::clone(&self.setup.wire), self.setup.clock.clone());
        let profile = self.setup.profile.clone();
        self.requests.spawn(async move {
            let observation = wire.quote(&request).await;
            let at = clock.now();
            let failure = observation.answer.failure().cloned();
            if let Some(failure) = &failure {
                journal::failure(failure, observation.body.as_deref(), (&profile, "a route"));
            }
            let operation = Operation::AnswerQuote { quote, observation };
            let kept = write(&store, &clock, operation, at).await.map(|_| None);
            Done { question, ticket, at, failure, kept }
        });
        Ok(())
    }

    async fn ended(&mut self, done: Done) -> Result<(), PollerError> {
        let Done { question, ticket, at, failure, kept } = done;
        let has_changed = match question {
            Question::Status(id) => self.in_flight.remove(&id).unwrap_or(false),
            Question::Route(_) => false,
        };
        // A failure that concerns a route alone is for whoever asked for the route.
        if let (Some(failure), Question::Status(_)) = (&failure, question) {
            self.last_error = Some(failure.line());
        }
        // A status will be asked for again, and may be kept then. A route is lost, and whoever waits learns it.
        let observed = kept.or_else(|error| self.not_kept(error).map(|()| None))?;
        let jitter = self.jitter.random();
        let event = self
            .core
            .ended(Ended { question, ticket, at, now: self.setup.clock.now().mono, failure: failure.as_ref() }, jitter);
        if let Some(Failure::Throttled { .. }) = failure {
            let ledger = self.core.budget.ledger();
            journal::slowed(&self.setup.profile, (&ledger.pace, ledger.limit()), at.mono);
        }
        if let (Question::Status(id), Some(observed)) = (question, observed) {
            self.replan(id, *observed, has_changed).await?;
        }
        match event {
            Some(event) => self.record_event(event, at).await,
            None => Ok(()),
        }
    }

    /// Updates the plan and the duration statistics after an answer of this poller. If the feed changed the transaction
    /// meanwhile, the store's state counts.
    async fn replan(&mut self, id: RowId, observed: Observed, has_changed: bool) -> Result<(), PollerError> {
        if !observed.samples.is_empty() {
            let duration_stats = Arc::make_mut(&mut self.context.duration_stats);
            observed.samples.iter().for_each(|sample| duration_stats.add(sample));
        }
        if has_changed {
            // Before the answer was applied, or after: what the store holds now counts.
            let header = self.read(move |reader| reader.header(id)).await?;
            self.replan_as(id, header.as_ref());
        } else {
            self.replan_as(id, observed.transaction.as_ref());
        }
        Ok(())
    }

    fn replan_as<R: RecordView>(&mut self, id: RowId, transaction: Option<&Transaction<R>>) {
        let now = self.setup.clock.now();
        match transaction.and_then(|transaction| self.context.plan(transaction, now)) {
            Some(plan) => self.schedule(plan, now),
            None => self.forget(id),
        }
    }

    /// Handles a failed write. Only a lasting fault ends the poller.
    fn not_kept(&mut self, error: StoreError) -> Result<(), StoreError> {
        if error.is_lasting() {
            return Err(error);
        }
        tracing::error!(profile = self.setup.profile, "an answer was not kept: {error}");
        self.last_error = Some(error.to_string());
        Ok(())
    }

    /// Records an event of the whole profile.
    async fn record_event(&mut self, event: ProfileEvent, at: Now) -> Result<(), PollerError> {
        journal::event(&self.setup.profile, &event);
        let has_recovered = event == ProfileEvent::Recovered;
        let operation = Operation::RecordProfileEvent { profile: self.setup.profile.clone(), event };
        if let Err(error) = write(&self.setup.store, &self.setup.clock, operation, at).await {
            tracing::error!(profile = self.setup.profile, "an event of the profile was not kept: {error}");
        }
        if has_recovered { self.confirm_overdue(at).await } else { Ok(()) }
    }

    /// Polls transactions soon that became overdue without an alert while no answers arrived.
    async fn confirm_overdue(&mut self, now: Now) -> Result<(), PollerError> {
        if self.setup.scope == Scope::RequestsOnly {
            return Ok(());
        }
        let context = self.context.clone();
        for (id, poll_context) in self.read(move |reader| context.unconfirmed(reader, now)).await? {
            // One that was added just now comes with the feed.
            if self.targets.contains_key(&id) {
                self.core.scheduler.watch(id, poll_context, now);
            }
        }
        Ok(())
    }

    /// Raises or clears the alert that the budget is short. A poller that only sends requests of people needs no such alert.
    async fn weigh_need(&mut self, now: Now) -> Result<(), PollerError> {
        if self.setup.scope == Scope::RequestsOnly {
            return Ok(());
        }
        let need = self.core.need();
        match self.shortage.take_in(&need, now.mono) {
            Some(true) => self.record_event(ProfileEvent::BudgetShort(need.sentence()), now).await,
            Some(false) => self.record_event(ProfileEvent::BudgetSufficient, now).await,
            None => Ok(()),
        }
    }

    /// Submits a report if one is due, and when the poller is `stopping`.
    fn report(&mut self, now: Now, stopping: bool) {
        if !stopping && !self.reporter.is_worth_a_report(now.mono) {
            return;
        }
        let Counts { requests, throttled, failed } = self.core.counts();
        let need = self.core.need();
        let (health, resting) = self.core.health(now.mono);
        let paused_until = self.core.paused_until(now.wall);
        let health = match health {
            _ if stopping => PollerHealth::Stopped,
            PollerHealth::Live if paused_until.is_some() => PollerHealth::Paused,
            health => health,
        };
        let report = PollerReport {
            at: now.wall,
            valid_until: now.wall + self.setup.clock.on_the_wall(SILENT),
            process: std::process::id(),
            id: self.setup.shown_id.clone(),
            fingerprint: self.setup.fingerprint.clone(),
            rps: self.core.budget.ledger().limit(),
            share: round(self.core.budget.ledger().pace.share()),
            need: (self.setup.scope == Scope::Everything).then(|| Need {
                polls: round(need.polls),
                allowed: round(need.allowed),
                ..need
            }),
            used: round(self.core.used(now.mono)),
            requests,
            throttled,
            failed,
            running: self.core.running(now.mono),
            unsettled: self.core.scheduler.watched() as u64,
            health,
            paused_until,
            resting_until: resting.and_then(|until| on_the_wall(now, until)),
            last_error: self.core.budget.fault().map(str::to_owned).or_else(|| self.last_error.clone()),
        };
        if self.reporter.take(&report, now.mono) || stopping {
            report::submit(&self.setup.store, &self.setup.clock, &self.setup.profile, report);
        }
    }

    /// Waits for the requests in flight, for two seconds at most. The next run repeats what isn't answered by then.
    async fn drain(mut self) -> Result<(), PollerError> {
        let clock = self.setup.clock.clone();
        let patience = clock.now().mono + DRAIN;
        // Other processes need not wait for slots that nobody will use.
        self.core.budget.close(clock.now().mono);
        loop {
            tokio::select! {
                done = self.requests.join_next() => match done {
                    Some(done) => self.ended(done?).await?,
                    None => break,
                },
                () = clock.sleep_until(patience) => break,
            }
        }
        let now = clock.now();
        self.core.budget.close(now.mono);
        self.report(now, true);
        Ok(())
    }
}

/// Applies an operation, while a paused clock stands still.
async fn write(store: &Store, clock: &Clock, operation: Operation, at: Now) -> Result<Outcome, StoreError> {
    let _hold = clock.hold();
    store.apply(operation, at.wall).await
}

/// Rounds to two places: smaller changes aren't worth a report.
fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// A moment of the monotonic clock on the wall; `None` beyond the calendar.
fn on_the_wall(now: Now, moment: Mono) -> Option<DateTime<Utc>> {
    now.wall.checked_add_signed(TimeDelta::from_std(moment.since(now.mono)).ok()?)
}
