//! A poll for one command that waits for answers of the service (`check`, `quote`).
//!
//! The store holds the request. The poller of the profile sends it within the budget; if no process polls the profile, a poller
//! of this process sends this request and nothing else. The module must never send a request by itself.

use std::time::Duration;

use chrono::{DateTime, Utc};
use color_eyre::eyre::{Result, eyre};
use tokio::task::spawn_blocking;

use super::{
    background_poller::{Place, Polling, Running},
    complain,
    exit::Exit,
    signals,
};
use crate::{
    clock::Clock,
    config::Settings,
    domain::{
        change::{Change, What},
        poller::{PollerHealth, PollerReport},
    },
    poller::Scope,
    store::{Feed, Reader, Store, StoreError, Wake},
};

/// How the wait for the answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneShotOutcome {
    /// With what was wanted.
    Done,
    /// Without, when it had waited for long enough.
    InVain,
    /// The service refuses the ID, or can't be reached: it won't come. With the code that says which.
    Obstructed(Exit),
    /// By a signal.
    Stopped(Exit),
}

/// Where an answer is waited for, and how long.
pub struct OneShotPoll<'a> {
    /// The profile, and where its budget lies.
    pub settings: &'a Settings,
    /// Where it stands what is wanted, and where the answer comes.
    pub store: &'a Store,
    /// How long.
    pub patience: Duration,
}

impl OneShotPoll<'_> {
    /// Waits until `done` finds what is wanted in the store.
    pub fn run(
        &self,
        polling: Polling,
        done: impl Fn(&Reader) -> Result<bool, StoreError> + Clone + Send + 'static,
    ) -> Result<OneShotOutcome> {
        let Self { settings, store, patience } = *self;
        let fingerprint = polling.fingerprint.clone();
        super::runtime()?.block_on(async {
            let clock = Clock::system();
            let signal = signals::listen()?;
            let place = Place::of(settings, Scope::RequestsOnly);
            let mut poller = Running::start(polling, store.clone(), clock.clone(), place)?;
            let over = clock.now().mono + patience;
            let ended = tokio::select! {
                ended = wait((store, &clock), (&settings.profile, &fingerprint), done) => ended,
                fault = poller.fault() => return Err(fault),
                exit = signal => Ok(OneShotOutcome::Stopped(exit)),
                () = clock.sleep_until(over) => Ok(OneShotOutcome::InVain),
            };
            poller.stop().await?;
            ended
        })
    }
}

async fn wait(
    (store, clock): (&Store, &Clock),
    (profile, fingerprint): (&str, &str),
    done: impl Fn(&Reader) -> Result<bool, StoreError> + Clone + Send + 'static,
) -> Result<OneShotOutcome> {
    let mut commits = store.subscribe(Wake::AnyCommit)?;
    let last = read(store, Reader::last_change).await?;
    let mut told = false;
    loop {
        let now = clock.now().wall;
        let since = Since { profile: profile.to_owned(), fingerprint: fingerprint.to_owned(), last, now };
        let done = done.clone();
        match read(store, move |reader| WaitState::read(reader, done, &since)).await? {
            WaitState::Done => return Ok(OneShotOutcome::Done),
            WaitState::Obstacle(exit) => return Ok(OneShotOutcome::Obstructed(exit)),
            WaitState::Waiting if !told => {
                complain("another hoptop polls this store but says nothing, it may be suspended; waiting for it");
                told = true;
            }
            WaitState::Waiting | WaitState::Nothing => {}
        }
        commits.changed().await.map_err(|_| eyre!("the store's watcher has ended"))?;
    }
}

async fn read<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
) -> Result<T> {
    let store = store.clone();
    Ok(spawn_blocking(move || work(&store.reader()?)).await??)
}

/// What is looked at to see whether something stands in the way.
struct Since {
    profile: String,
    /// Whose budget we would spend.
    fingerprint: String,
    /// The feed's last entry before.
    last: i64,
    now: DateTime<Utc>,
}

/// What a look into the store finds.
enum WaitState {
    /// What is wanted.
    Done,
    /// What keeps it from coming.
    Obstacle(Exit),
    /// Another process should poll and says nothing.
    Waiting,
    /// Nothing yet.
    Nothing,
}

impl WaitState {
    fn read(
        reader: &Reader,
        done: impl FnOnce(&Reader) -> Result<bool, StoreError>,
        since: &Since,
    ) -> Result<Self, StoreError> {
        if done(reader)? {
            return Ok(Self::Done);
        }
        let report = reader.poller(&since.profile)?.filter(|report| report.is_live(since.now));
        let waits = report.as_ref().is_some_and(|report| report.health == PollerHealth::Waiting);
        Ok(match obstructed(reader, report, since)? {
            Some(exit) => Self::Obstacle(exit),
            None if waits => Self::Waiting,
            None => Self::Nothing,
        })
    }
}

/// What stands in the way of the whole profile: by the news since, or else by the word of another process that spends the
/// same budget. One with another ID, or another base URL, has other troubles.
fn obstructed(reader: &Reader, report: Option<PollerReport>, since: &Since) -> Result<Option<Exit>, StoreError> {
    let Feed { changes, .. } = reader.changes_after(since.last, 10_000)?;
    let stands = |change: &Change| match change.what {
        What::Unauthorized { .. } => Some(Some(Exit::Unauthorized)),
        What::Unreachable { .. } => Some(Some(Exit::Unreachable)),
        What::Recovered => Some(None),
        _ => None,
    };
    let own = changes.iter().filter(|change| change.profile == since.profile);
    if let Some(stands) = own.filter_map(stands).next_back() {
        return Ok(stands);
    }
    let same_budget =
        |report: &PollerReport| report.process != std::process::id() && report.fingerprint == since.fingerprint;
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

/// Why nothing came, for a person.
pub fn why_in_vain(reader: &Reader, profile: &str, now: DateTime<Utc>) -> Result<String> {
    // Our own may have said that it stopped.
    let said = |report: &PollerReport| report.is_live(now) || report.process == std::process::id();
    let report = reader.poller(profile)?.filter(said);
    Ok(PollerReport::why_silent(report.as_ref(), now))
}
