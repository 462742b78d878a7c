//! Runs pollers as one background task of a command: starts, suspends and stops them.
//!
//! The module must never decide what to poll or when.

use std::{collections::BTreeMap, path::Path, pin::pin, sync::Arc};

use color_eyre::eyre::{Result, WrapErr};
use futures_util::{FutureExt, future::join_all};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
};

use super::{signals::Suspension, stderr::print_line};
use crate::{
    api::{BaseUrl, Client, Timeouts},
    clock::Clock,
    config::{ConfigError, Settings},
    domain::{secret::IntegratorId, text},
    metrics::{Counted, Requests},
    poller::{self, HttpWire, PollerError, Scope, Setup},
    store::Store,
};

/// The HTTP client of one profile, created from checked settings.
pub(crate) struct ServiceClient {
    client: Client,
    rps: f64,
    /// The fingerprint of base URL and ID.
    pub fingerprint: String,
    /// The part of the ID that may be shown, such as `…7f3a`.
    pub shown_id: String,
    /// The counters of sent requests.
    pub requests: Requests,
}

impl ServiceClient {
    /// Checks the base URL and creates the client.
    pub(crate) fn new(base_url: &str, id: IntegratorId, rps: f64) -> Result<Self> {
        let base = BaseUrl::parse(base_url)?;
        let (fingerprint, shown_id) = (id.fingerprint(base.as_str()), id.last4());
        let client = Client::new(base, id, Timeouts::default())?;
        Ok(Self { client, rps, fingerprint, shown_id, requests: Requests::default() })
    }

    /// Creates the client from loaded settings, and prints their warnings on standard error.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid.
    pub(crate) fn checked(polling: Result<crate::config::PollingSettings, ConfigError>) -> Result<Self> {
        let polling = polling?;
        for warning in &polling.warnings {
            print_line(&format!("warning: {}", text::clean(warning)));
        }
        Self::new(&polling.base_url, polling.id, polling.rps)
    }

    /// Whether `other` has the same ID at the same service but another limit.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.rps != other.rps
    }

    /// Returns the limit of the ID in requests per second.
    pub(crate) fn rps(&self) -> f64 {
        self.rps
    }

    /// Returns a function that creates the setup of a poller. Each call is for a new poller, after the earlier one has
    /// stopped.
    fn setup_factory(
        self,
        place: PollerOptions<'_>,
        store: &Store,
        clock: &Clock,
    ) -> impl Fn() -> Setup<Counted<HttpWire>> + Send + 'static {
        let Self { client, rps, fingerprint, shown_id, requests } = self;
        let (store, clock) = (store.clone(), clock.clone());
        let wire = Arc::new(Counted {
            wire: HttpWire { client, clock: clock.clone() },
            profile: place.profile.to_owned(),
            requests,
        });
        let (profile, weights) = (place.profile.to_owned(), place.weights.clone());
        let (shared, scope) = (place.state_dir.map(Path::to_owned), place.scope);
        move || Setup {
            store: store.clone(),
            wire: Arc::clone(&wire),
            clock: clock.clone(),
            profile: profile.clone(),
            rps,
            shown_id: shown_id.clone(),
            fingerprint: fingerprint.clone(),
            shared: shared.clone(),
            weights: weights.clone(),
            scope,
            seed: u64::from(std::process::id()),
        }
    }
}

/// Pollers that run as one background task.
pub(crate) struct RunningPollers {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), PollerError>>,
}

impl RunningPollers {
    /// Starts a poller. Without a state folder in `place`, no other process may use the store or the ID.
    ///
    /// # Errors
    /// Returns an error if the process can't listen for signals.
    pub(crate) fn start(polling: ServiceClient, store: Store, clock: Clock, place: PollerOptions<'_>) -> Result<Self> {
        Self::start_all(vec![(polling, place)], store, clock)
    }

    /// Like `start`, for several profiles, each with its own ID.
    pub(crate) fn start_all(
        pollings: Vec<(ServiceClient, PollerOptions<'_>)>,
        store: Store,
        clock: Clock,
    ) -> Result<Self> {
        let begin = std::future::ready(());
        Ok(Self::start_under(pollings, begin, Suspension::listen()?, store, clock))
    }

    /// Like `start_all`, but polls only after `begin` resolves, and suspends the process as `suspension` requests.
    pub(crate) fn start_under(
        pollings: Vec<(ServiceClient, PollerOptions<'_>)>,
        begin: impl Future<Output = ()> + Send + 'static,
        suspension: Suspension,
        store: Store,
        clock: Clock,
    ) -> Self {
        let setups: Vec<_> =
            pollings.into_iter().map(|(polling, place)| polling.setup_factory(place, &store, &clock)).collect();
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(poll_until_stopped(setups, store, begin, stopped, suspension)) }
    }

    /// Waits until a poller ends by itself, which happens only after a fault, and returns the fault.
    pub(crate) async fn fault(&mut self) -> color_eyre::Report {
        match (&mut self.task).await {
            Ok(Ok(())) => color_eyre::eyre::eyre!("the poller ended unexpectedly"),
            Ok(Err(error)) => error.into(),
            Err(error) => color_eyre::eyre::eyre!("the poller failed: {error}"),
        }
    }

    /// Stops the pollers, and waits until the answers of open requests are stored.
    pub(crate) async fn stop(self) -> Result<()> {
        // Fails if the task has already ended by itself.
        self.stop.send(()).ok();
        Ok(self.task.await.wrap_err("the poller failed")??)
    }
}

/// Polls until `stopped` resolves or a poller fails. Before the process is suspended, all pollers stop and release the
/// locks that other processes may wait for. When the process continues, new pollers start.
async fn poll_until_stopped(
    setups: Vec<impl Fn() -> Setup<Counted<HttpWire>>>,
    store: Store,
    begin: impl Future<Output = ()>,
    mut stopped: oneshot::Receiver<()>,
    mut suspension: Suspension,
) -> Result<(), PollerError> {
    let begin = begin.shared();
    loop {
        let (halt, halted) = oneshot::channel::<()>();
        // Dropping the sender resolves this future too.
        let halted = async { halted.await.unwrap_or(()) }.shared();
        let mut pollers = pin!(async {
            tokio::select! {
                biased;
                () = halted.clone() => Ok(()),
                () = begin.clone() => {
                    let failed = Notify::new();
                    // If one poller fails, the other pollers end in order before the error is returned.
                    let end = async {
                        tokio::select! {
                            () = halted.clone() => {}
                            () = failed.notified() => {}
                        }
                    };
                    let end = end.shared();
                    let run = async |setup: Setup<Counted<HttpWire>>| {
                        poller::run(setup, end.clone()).await.inspect_err(|_| failed.notify_one())
                    };
                    join_all(setups.iter().map(|setup| run(setup()))).await.into_iter().collect()
                }
            }
        });
        let is_stopped = tokio::select! {
            ended = &mut pollers => return ended,
            _ = &mut stopped => true,
            () = suspension.wanted() => false,
        };
        drop(halt);
        pollers.await?;
        if is_stopped {
            return Ok(());
        }
        // A process that is suspended in the middle of a write would block every other writer.
        store.flush().await?;
        tokio::select! {
            () = suspension.carry_out() => {}
            _ = &mut stopped => return Ok(()),
        }
    }
}

/// The profile to poll, and the folder of the budget that processes share.
#[derive(Clone, Copy)]
pub(crate) struct PollerOptions<'a> {
    /// The name of the profile.
    pub profile: &'a str,
    /// By label: the factor by which a delay costs more.
    pub weights: &'a BTreeMap<String, f64>,
    /// The state folder, which holds the shared budget; `None` if no other process uses the ID.
    pub state_dir: Option<&'a Path>,
    /// The requests that the poller sends without being asked.
    pub scope: Scope,
}

impl<'a> PollerOptions<'a> {
    /// Returns the place that `settings` name.
    pub(crate) fn of(settings: &'a Settings, scope: Scope) -> Self {
        let Settings { profile, state_dir, weights, .. } = settings;
        Self { profile, weights, state_dir: Some(state_dir), scope }
    }
}
