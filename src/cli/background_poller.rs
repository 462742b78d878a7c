//! The poller as a background task of a command: started, suspended, stopped.

use std::{collections::BTreeMap, path::Path, pin::pin, sync::Arc};

use color_eyre::eyre::{Result, WrapErr};
use futures_util::{FutureExt, future::join_all};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
};

use super::signals::Suspension;
use crate::{
    api::{BaseUrl, Client, Timeouts},
    clock::Clock,
    config::Settings,
    domain::secret::IntegratorId,
    metrics::{Counted, Requests},
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
    /// Counts what it sends.
    pub requests: Requests,
}

impl Polling {
    /// Checks the base URL and sets the client up.
    pub fn new(base_url: &str, id: IntegratorId, rps: f64) -> Result<Self> {
        let base = BaseUrl::parse(base_url)?;
        let (fingerprint, shown_id) = (id.fingerprint(base.as_str()), id.last4());
        let client = Client::new(base, id, Timeouts::default())?;
        Ok(Self { client, rps, fingerprint, shown_id, requests: Requests::default() })
    }

    /// Whether another one has the same ID at the same service, and names another limit for it.
    pub fn contradicts(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.rps != other.rps
    }

    /// The limit of the ID, in requests a second.
    pub fn rps(&self) -> f64 {
        self.rps
    }

    /// What makes pollers of it, one after the other.
    fn setup(
        self,
        place: Place<'_>,
        (store, clock): (&Store, &Clock),
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

/// Pollers that run as a task.
pub struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), PollerError>>,
}

impl Running {
    /// Starts polling `profile`. `state_dir` holds the ID's ledger; without one store and budget are nobody else's.
    ///
    /// # Errors
    /// If signals can't be listened to.
    pub fn start(polling: Polling, store: Store, clock: Clock, place: Place<'_>) -> Result<Self> {
        Self::start_all(vec![(polling, place)], store, clock)
    }

    /// The same for several profiles, each with its own ID.
    pub fn start_all(pollings: Vec<(Polling, Place<'_>)>, store: Store, clock: Clock) -> Result<Self> {
        let begin = std::future::ready(());
        Ok(Self::start_under((pollings, begin, Suspension::listen()?), store, clock))
    }

    /// The same from when `begin` resolves, suspended as they are told.
    pub fn start_under(
        (pollings, begin, suspension): (
            Vec<(Polling, Place<'_>)>,
            impl Future<Output = ()> + Send + 'static,
            Suspension,
        ),
        store: Store,
        clock: Clock,
    ) -> Self {
        let setups: Vec<_> =
            pollings.into_iter().map(|(polling, place)| polling.setup(place, (&store, &clock))).collect();
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(polling_until((setups, store), begin, stopped, suspension)) }
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

/// Polls until it is stopped, or one of them fails. Before the process is suspended they give up what others may be waiting for,
/// and begin anew when it is continued.
async fn polling_until(
    (setups, store): (Vec<impl Fn() -> Setup<Counted<HttpWire>>>, Store),
    begin: impl Future<Output = ()>,
    mut stopped: oneshot::Receiver<()>,
    mut suspension: Suspension,
) -> Result<(), PollerError> {
    let begin = begin.shared();
    loop {
        let (halt, halted) = oneshot::channel::<()>();
        // Dropping the sender stops it too.
        let halted = async { halted.await.unwrap_or(()) }.shared();
        let mut pollers = pin!(async {
            tokio::select! {
                biased;
                () = halted.clone() => Ok(()),
                () = begin.clone() => {
                    let failed = Notify::new();
                    // When one fails the others end in order before that is said.
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
        let is_over = tokio::select! {
            ended = &mut pollers => return ended,
            _ = &mut stopped => true,
            () = suspension.wanted() => false,
        };
        drop(halt);
        pollers.await?;
        if is_over {
            return Ok(());
        }
        // Suspended in the middle of a write it would keep everybody else from writing.
        store.flush().await?;
        tokio::select! {
            () = suspension.carry_out() => {}
            _ = &mut stopped => return Ok(()),
        }
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
