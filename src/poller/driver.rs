//! The tokio driver: asks the core what to do, does it, and writes what came.
//!
//! It decides nothing by itself. Every request is a task of one set, so that a panic ends the poller with an error
//! instead of a slot that never comes back; when it is stopped it sends nothing more and waits for what is under way.

use std::{collections::BTreeMap, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::FutureExt;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet, spawn_blocking},
};

use super::{
    core::{Action, Core, Counts, Ended, Question},
    health::News,
    journal,
    outlook::{Eyes, Seen, Turn},
    report::{Reporter, SILENT},
    shortage::Shortage,
    takeover,
    wire::Wire,
};
use crate::{
    alerts,
    budget::{Budget, Ticket},
    clock::{Clock, Mono, Now},
    domain::{
        alert::{Alert, AlertStep, Rule, Subject},
        change::What,
        experience::Experience,
        ids::RowId,
        need::Need,
        observation::Failure,
        transaction::Transaction,
    },
    process::lock::{KernelLock, LockError},
    store::{self, Follower, Observed, PollerReport, ProfileEvent, Reader, Receipt, Store, StoreError},
};

/// How long a stopped poller waits for the answers that are under way.
const DRAIN: Duration = Duration::from_secs(2);

/// What a poller needs.
pub struct Setup<W> {
    /// Where it reads what to poll, and writes what it hears.
    pub store: Store,
    /// What it asks.
    pub wire: Arc<W>,
    /// Its time.
    pub clock: Clock,
    /// The profile whose transactions it polls.
    pub profile: String,
    /// The limit of the ID, in requests per second.
    pub rps: f64,
    /// What may be shown of the ID.
    pub shown_id: String,
    /// Of base URL and ID.
    pub fingerprint: String,
    /// The folder in which the ID's ledger lies; `None` if store and budget are nobody else's.
    pub shared: Option<PathBuf>,
    /// How much more a delay costs for transactions with these labels.
    pub weights: BTreeMap<String, f64>,
    /// What it sends of its own accord.
    pub scope: Scope,
    /// For the jitter.
    pub seed: u64,
}

/// What a poller sends of its own accord. What people ask for it sends in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// It polls whatever is unsettled.
    Everything,
    /// Nothing.
    RequestsOnly,
}

/// Why a poller ended before it was stopped.
#[derive(Debug, thiserror::Error)]
pub enum PollerError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the budget can't be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A task panicked.
    #[error("a task of the poller failed: {0}")]
    Task(#[from] JoinError),
}

/// What a request's task brings back.
struct Done {
    question: Question,
    ticket: Ticket,
    at: Now,
    failure: Option<Failure>,
    kept: Result<Option<Observed>, StoreError>,
}

/// Polls until `stop` resolves, then waits for what is under way. While another process polls this profile of this store it
/// waits for that one's end.
///
/// Once the store can't keep anything any more it sends nothing, and waits to be stopped: whoever shows the store goes on.
pub async fn run<W: Wire>(setup: Setup<W>, stop: impl Future<Output = ()>) -> Result<(), PollerError> {
    let (store, profile, stop) = (setup.store.clone(), setup.profile.clone(), stop.shared());
    match poll(setup, stop.clone()).await {
        Err(PollerError::Store(error)) if error.is_lasting() && !matches!(error, StoreError::Closed) => {
            store.note(&error);
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
                driver.ask_status(id, ticket).await?;
                continue;
            }
            Action::Send(Question::Route(id), ticket) => {
                driver.ask_route(id, ticket).await?;
                continue;
            }
            Action::WaitUntil(moment) => moment.min(driver.reporter.next(now.mono)),
            Action::WaitForNews => {
                // Who polls nothing of its own accord can't know that nothing is left to ask.
                if driver.setup.scope == Scope::Everything
                    && let Some(news) = driver.core.stand_down(now.mono)
                {
                    driver.tell(&news, now).await?;
                }
                driver.reporter.next(now.mono)
            }
        };
        let wake = driver.core.budget.sync(now.mono).map_or(wake, |sync| wake.min(sync));
        let clock = driver.setup.clock.clone();
        tokio::select! {
            () = &mut stop => break,
            Some(done) = driver.requests.join_next() => driver.ended(done?).await?,
            _ = driver.news.changed() => driver.follow().await?,
            () = clock.sleep_until(wake) => {}
        }
    }
    driver.drain().await
}

struct Driver<W> {
    setup: Setup<W>,
    core: Core,
    requests: JoinSet<Done>,
    news: watch::Receiver<u64>,
    /// To poll this profile of this store, unless that is nobody else's.
    _role: Option<KernelLock>,
    follower: Follower,
    /// What was learned of how long things take.
    experience: Arc<Experience>,
    shortage: Shortage,
    jitter: Pcg64Mcg,
    reporter: Reporter,
    last_error: Option<String>,
}

impl<W: Wire> Driver<W> {
    async fn start(setup: Setup<W>, role: Option<KernelLock>) -> Result<Self, PollerError> {
        // From here on news wake us: what is written between this and the first reading is read twice, never missed. What
        // our own answers say we take in with them.
        let news = setup.store.subscribe_but_for_answers()?;
        let follower = Follower::new(&setup.store)?;
        let now = setup.clock.now();
        let budget = match &setup.shared {
            None => Budget::own(setup.rps, now.mono),
            Some(folder) => Budget::shared(folder, &setup.fingerprint, setup.rps, now)?,
        };
        let mut driver = Self {
            core: Core::new(budget, now.mono),
            _role: role,
            requests: JoinSet::new(),
            news,
            follower,
            experience: Arc::default(),
            shortage: Shortage::default(),
            jitter: Pcg64Mcg::seed_from_u64(setup.seed),
            reporter: Reporter::default(),
            last_error: None,
            setup,
        };
        driver.follow().await?;
        let alerts = driver.read(Reader::profile_alerts).await?;
        if driver.of_profile(&alerts).any(|alert| alert.rule.is_outage()) {
            driver.core.expect_recovery();
        }
        let was_short = driver.of_profile(&alerts).any(|alert| alert.rule == Rule::BudgetShort);
        driver.shortage = Shortage::new(was_short);
        Ok(driver)
    }

    fn of_profile<'a>(&'a self, alerts: &'a [Alert]) -> impl Iterator<Item = &'a Alert> {
        let own = |alert: &&Alert| alert.subject == Subject::Profile && alert.profile == self.setup.profile;
        alerts.iter().filter(own)
    }

    fn carry_out(&mut self, turn: Turn, now: Now) {
        match turn.standing {
            None => self.core.scheduler.forget(turn.id),
            Some(standing) => self.core.scheduler.watch(turn.id, standing, now),
        }
        if turn.once {
            // It is asked about once, but not within five seconds of an earlier process's request.
            self.core.scheduler.forget(turn.id);
        }
    }

    fn eyes(&self) -> Eyes {
        Eyes {
            profile: self.setup.profile.clone(),
            scope: self.setup.scope,
            weights: self.setup.weights.clone(),
            experience: Arc::clone(&self.experience),
        }
    }

    /// Reads the store on the pool for blocking work: SQLite may wait for the disk.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, PollerError> {
        let follower = self.follower.clone();
        Ok(spawn_blocking(move || follower.read(work)).await??)
    }

    /// Takes in what changed in the store: new transactions, settled ones, what a person asked for.
    async fn follow(&mut self) -> Result<(), PollerError> {
        while self.look().await? {}
        Ok(())
    }

    /// Takes in a part of it; whether there is more.
    async fn look(&mut self) -> Result<bool, PollerError> {
        let (follower, eyes, now) = (self.follower.clone(), self.eyes(), self.setup.clock.now());
        let seen = spawn_blocking(move || Seen::look(&follower, eyes, now)).await??;
        let now = self.setup.clock.now();
        self.experience = seen.experience;
        self.core.scheduler.look_at(seen.open);
        self.core.pause(seen.paused_until);
        let anew = seen.news.anew;
        for turn in seen.turns {
            let (id, asked_for) = (turn.id, turn.asked_for);
            self.carry_out(turn, now);
            // What was asked for while nobody listened. Later on each request is an entry of its own.
            if anew && asked_for {
                self.core.scheduler.request(id, now);
            }
        }
        let own = || seen.news.changes.iter().filter(|change| change.profile == self.setup.profile);
        if anew || own().any(|change| matches!(change.what, What::QuoteAsked { .. })) {
            let profile = self.setup.profile.clone();
            let pending = self.read(move |reader| reader.pending_quotes(&profile, now.wall)).await?;
            pending.into_iter().for_each(|id| self.core.request_route(id));
        }
        for change in own() {
            if let (What::PollRequested, Some(id)) = (&change.what, change.transaction) {
                self.core.scheduler.request(id, now);
            }
        }
        Ok(seen.news.more)
    }

    async fn ask_status(&mut self, id: RowId, ticket: Ticket) -> Result<(), PollerError> {
        let question = Question::Status(id);
        let Some(transaction) = self.read(move |reader| reader.outline(id)).await? else {
            self.core.gone(question, ticket, self.setup.clock.now());
            return Ok(());
        };
        // What was learned since counts from here on.
        let now = self.setup.clock.now();
        let Some(turn) = self.eyes().turn(&transaction, now).filter(|turn| turn.standing.is_some()) else {
            // It settled, or a person stopped it, a moment ago.
            self.core.scheduler.forget(id);
            self.core.gone(question, ticket, now);
            return Ok(());
        };
        self.carry_out(turn, now);
        let (store, wire, clock) = (self.setup.store.clone(), Arc::clone(&self.setup.wire), self.setup.clock.clone());
        self.requests.spawn(async move {
            let observation = wire.status(&transaction.told).await;
            let at = clock.now();
            let failure = observation.outcome.failure().cloned();
            journal::answer(&transaction, &observation);
            let seen = store::Seen { transaction: id, observation, at: at.wall };
            let kept = keep(move || store.observe(seen, alerts::judge).wait().map(Some)).await;
            Done { question, ticket, at, failure, kept }
        });
        Ok(())
    }

    async fn ask_route(&mut self, id: i64, ticket: Ticket) -> Result<(), PollerError> {
        let question = Question::Route(id);
        let (store, now) = (self.setup.store.clone(), self.setup.clock.now());
        // Another process may have taken it on, or nobody waits for it any more.
        let claimed = spawn_blocking(move || store.claim_quote(id, now.wall).wait()).await?;
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
            let kept = keep(move || store.answer_quote(id, observation, at.wall).wait().map(|()| None)).await;
            Done { question, ticket, at, failure, kept }
        });
        Ok(())
    }

    async fn ended(&mut self, done: Done) -> Result<(), PollerError> {
        let Done { question, ticket, at, failure, kept } = done;
        // What concerns a route alone is told to whoever asked for it.
        if let (Some(failure), Question::Status(_)) = (&failure, question) {
            self.last_error = Some(failure.line());
        }
        // A status will be asked for again, and may be kept then. A route is lost, and whoever waits is told so.
        let observed = kept.or_else(|error| self.not_kept(error).map(|()| None))?;
        let jitter = self.jitter.random();
        let news = self
            .core
            .ended(Ended { question, ticket, at, now: self.setup.clock.now().mono, failure: failure.as_ref() }, jitter);
        if let Some(Failure::Throttled { .. }) = failure {
            let ledger = self.core.budget.ledger();
            journal::slowed(&self.setup.profile, (&ledger.pace, ledger.limit()), at.mono);
        }
        if let (Question::Status(id), Some(observed)) = (question, observed) {
            self.take_in(id, observed).await?;
        }
        match news {
            Some(news) => self.tell(&news, at).await,
            None => Ok(()),
        }
    }

    /// Goes by what an answer of our own has made of its transaction. What others have written meanwhile counts all the same:
    /// before it is asked about again it is read anew, and before it is forgotten.
    async fn take_in(&mut self, id: RowId, observed: Observed) -> Result<(), PollerError> {
        if observed.has_taught {
            let profile = self.setup.profile.clone();
            self.experience = Arc::new(self.read(move |reader| reader.experience(&profile)).await?);
        }
        let turn = |transaction: Option<Transaction>, now| self.eyes().turn(&transaction?, now);
        let mut now = self.setup.clock.now();
        let mut turn_of = turn(observed.transaction, now);
        if turn_of.as_ref().is_none_or(|turn| turn.standing.is_none()) {
            // Nobody looks again at what is forgotten: it is as it stands now that counts.
            let transaction = self.read(move |reader| reader.outline(id)).await?;
            now = self.setup.clock.now();
            turn_of = turn(transaction, now);
        }
        match turn_of {
            Some(turn) => self.carry_out(turn, now),
            None => self.core.scheduler.forget(id),
        }
        Ok(())
    }

    /// Something wasn't kept. That ends it only if nothing will be.
    fn not_kept(&mut self, error: StoreError) -> Result<(), StoreError> {
        if error.is_lasting() {
            return Err(error);
        }
        tracing::error!(profile = self.setup.profile, "an answer was not kept: {error}");
        self.last_error = Some(error.to_string());
        Ok(())
    }

    /// Writes what concerns the whole profile: an entry of the feed, and its alerts.
    async fn tell(&mut self, news: &News, at: Now) -> Result<(), PollerError> {
        journal::news(&self.setup.profile, news);
        let standing = self.read(Reader::profile_alerts).await?;
        let own: Vec<Alert> = self.of_profile(&standing).cloned().collect();
        let event = ProfileEvent {
            profile: self.setup.profile.clone(),
            at: at.wall,
            what: Some(news.what()),
            alerts: alerts::judge_profile(news.condition(), &own),
        };
        let store = self.setup.store.clone();
        if let Err(error) = spawn_blocking(move || store.profile_event(event).wait()).await? {
            tracing::error!(profile = self.setup.profile, "news of the profile was not kept: {error}");
        }
        if *news == News::Recovered { self.confirm_overdue(at).await } else { Ok(()) }
    }

    /// While the trouble stood no overdue alert was raised: what is overdue without one is asked about again soon.
    async fn confirm_overdue(&mut self, now: Now) -> Result<(), PollerError> {
        let eyes = self.eyes();
        for (id, standing) in self.read(move |reader| eyes.unconfirmed(reader, now)).await? {
            self.core.scheduler.watch(id, standing, now);
        }
        Ok(())
    }

    /// Raises or ends the alert that the budget is short. Who sends nothing of its own accord needs none.
    async fn weigh_need(&mut self, now: Now) -> Result<(), PollerError> {
        let need = self.core.need();
        if self.setup.scope == Scope::RequestsOnly {
            return Ok(());
        }
        let Some(short) = self.shortage.take_in(&need, now.mono) else { return Ok(()) };
        let standing = self.read(Reader::profile_alerts).await?;
        let standing = self.of_profile(&standing).find(|alert| alert.rule == Rule::BudgetShort).map(|alert| alert.id);
        let step = match (short, standing) {
            (true, None) => AlertStep::Raise { rule: Rule::BudgetShort, message: need.sentence() },
            (false, Some(id)) => AlertStep::Clear { id, rule: Rule::BudgetShort },
            _ => return Ok(()),
        };
        let event = ProfileEvent { profile: self.setup.profile.clone(), at: now.wall, what: None, alerts: vec![step] };
        let store = self.setup.store.clone();
        if let Err(error) = spawn_blocking(move || store.profile_event(event).wait()).await? {
            tracing::error!(profile = self.setup.profile, "that the budget is short was not kept: {error}");
        }
        Ok(())
    }

    /// Writes how it goes, if that is to be said now, and when it is `stopping`.
    fn report(&mut self, now: Now, stopping: bool) {
        let Counts { requests, throttled, failed } = self.core.counts();
        let need = self.core.need();
        let (word, resting) = self.core.health(now.mono);
        let paused_until = self.core.paused_until(now.wall);
        let word = if paused_until.is_some() && word == "live" { "paused" } else { word };
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
            health: if stopping { "stopped" } else { word }.to_owned(),
            paused_until,
            resting_until: resting.and_then(|until| on_the_wall(now, until)),
            last_error: self.core.budget.fault().map(str::to_owned).or_else(|| self.last_error.clone()),
        };
        if self.reporter.take(&report, now.mono) || stopping {
            keep_aside(self.setup.store.report(&self.setup.profile, report));
        }
    }

    /// Waits for what is under way, but not for a service that says nothing: what comes later is asked again next time.
    async fn drain(mut self) -> Result<(), PollerError> {
        let clock = self.setup.clock.clone();
        let patience = clock.now().mono + DRAIN;
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

/// To two places: what changes less is no news.
fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// A moment of the monotonic clock on the wall; `None` beyond the calendar.
fn on_the_wall(now: Now, moment: Mono) -> Option<DateTime<Utc>> {
    now.wall.checked_add_signed(TimeDelta::from_std(moment.since(now.mono)).ok()?)
}

/// Lets how the poller gets on be kept; if it isn't, it is said again soon. Nobody waits for it, but while it is written a clock
/// that is paused stands still.
pub(super) fn keep_aside(receipt: Receipt<()>) {
    drop(spawn_blocking(move || {
        if let Err(error) = receipt.wait() {
            tracing::debug!("how the poller gets on was not kept: {error}");
        }
    }));
}

/// Writes an answer on the pool for blocking work, and waits until it is kept.
async fn keep<T: Send + 'static>(
    write: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(write).await.unwrap_or(Err(StoreError::Closed))
}
