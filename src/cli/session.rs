//! What the commands that poll share: the poller as a task that can be stopped.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use color_eyre::eyre::{Result, WrapErr};
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    api::{BaseUrl, Client, Timeouts},
    clock::Clock,
    config::Settings,
    domain::secret::IntegratorId,
    poller::{self, HttpWire, PollerError, Scope, Setup},
    store::Store,
};

/// What polling needs, checked.
pub struct Polling {
    client: Client,
    rps: f64,
    /// Of base URL and ID.
    pub fingerprint: String,
    /// What may be shown of the ID.
    pub shown_id: String,
}

impl Polling {
    /// Checks the base URL and sets the client up.
    pub fn new(base_url: &str, id: IntegratorId, rps: f64) -> Result<Self> {
        let base = BaseUrl::parse(base_url)?;
        let (fingerprint, shown_id) = (id.fingerprint(base.as_str()), id.last4());
        let client = Client::new(base, id, Timeouts::default())?;
        Ok(Self { client, rps, fingerprint, shown_id })
    }
}

/// A poller that runs as a task.
pub struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), PollerError>>,
}

impl Running {
    /// Starts polling `profile`. `state_dir` holds the ID's ledger; without one store and budget are nobody else's.
    pub fn start(polling: Polling, store: Store, clock: Clock, place: Place<'_>) -> Self {
        let Polling { client, rps, fingerprint, shown_id } = polling;
        let setup = Setup {
            store,
            wire: Arc::new(HttpWire { client, clock: clock.clone() }),
            clock,
            profile: place.profile.to_owned(),
            rps,
            shown_id,
            fingerprint,
            shared: place.state_dir.map(Path::to_owned),
            weights: place.weights.clone(),
            scope: place.scope,
            seed: u64::from(std::process::id()),
        };
        let (stop, stopped) = oneshot::channel();
        // Dropping the sender stops it too.
        let stopped = async move { stopped.await.unwrap_or(()) };
        Self { stop, task: tokio::spawn(poller::run(setup, stopped)) }
    }

    /// Resolves when the poller ended by itself, which it does only for a fault.
    pub async fn fault(&mut self) -> color_eyre::Report {
        match (&mut self.task).await {
            Ok(Ok(())) => color_eyre::eyre::eyre!("the poller ended"),
            Ok(Err(error)) => error.into(),
            Err(error) => color_eyre::eyre::eyre!("the poller failed: {error}"),
        }
    }

    /// Stops it, and waits until what was under way is kept.
    pub async fn stop(self) -> Result<()> {
        // It may have ended by itself.
        self.stop.send(()).ok();
        Ok(self.task.await.wrap_err("the poller failed")??)
    }
}

/// Whose transactions are polled, and where the ID's ledger lies.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The profile.
    pub profile: &'a str,
    /// How much more a delay costs for transactions with these labels.
    pub weights: &'a BTreeMap<String, f64>,
    /// The state folder.
    pub state_dir: Option<&'a Path>,
    /// What is sent without being asked for.
    pub scope: Scope,
}

impl<'a> Place<'a> {
    /// The place that the settings name.
    pub fn of(settings: &'a Settings, scope: Scope) -> Self {
        let Settings { profile, state_dir, weights, .. } = settings;
        Self { profile, weights, state_dir: Some(state_dir), scope }
    }
}
