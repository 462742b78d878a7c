//! One hoptop process: its connection to the store, its poller and its notifier. It can be killed at any await.

use std::{path::Path, sync::Arc};

use chrono::{DateTime, Utc};
use hoptop::internals::{
    clock::Clock,
    domain::{
        alert::Alert, change::Change, notification::NotifiedEvent, operation::Operation, transaction::Transaction,
    },
    notify::{Channel, Notifier, NotifierSetup, Webhook, WebhookPosts},
    poller::{self, Heartbeat, PollerError, Scope, Setup},
    store::Store,
};
use tokio::{
    sync::oneshot,
    task::{JoinHandle, spawn_blocking},
};

use super::service::{RPS, SimulatedService};

pub(crate) const PROFILE: &str = "default";

/// The events that the webhook gets.
pub(crate) const TOLD: [NotifiedEvent; 3] =
    [NotifiedEvent::Settled, NotifiedEvent::AlertRaised, NotifiedEvent::AlertCleared];

/// A running process.
pub(crate) struct Process {
    store: Store,
    clock: Clock,
    poller: JoinHandle<Result<(), PollerError>>,
    stop: oneshot::Sender<()>,
    notifier: Notifier,
}

fn render(change: &Change, _: Option<(&Transaction, &[Alert])>, _: DateTime<Utc>) -> Result<String, serde_json::Error> {
    Ok(change.seq.to_string())
}

/// Runs blocking work while the virtual time stands still.
pub(crate) async fn blocking<T: Send + 'static>(clock: &Clock, work: impl FnOnce() -> T + Send + 'static) -> T {
    let _hold = clock.hold();
    spawn_blocking(work).await.unwrap()
}

impl Process {
    /// Starts a process; `None` if the store or the notifier can't be used now, as on a full disk.
    pub(crate) async fn start(
        folder: &Path,
        service: &SimulatedService,
        clock: &Clock,
        url: &str,
        seed: u64,
    ) -> Option<Self> {
        let (path, at) = (folder.join("hoptop.db"), clock.now().wall);
        let store = blocking(clock, move || Store::open_lasting(&path, at)).await.ok()?;
        store.commit_at_once();
        let setup = NotifierSetup {
            store: store.clone(),
            profile: PROFILE.to_owned(),
            clock: clock.clone(),
            render,
            events: TOLD.to_vec(),
            posts: WebhookPosts::default(),
        };
        let notifier = Notifier::start(&setup, vec![Channel::Webhook(Webhook::new(url).unwrap())]).await.ok()?;
        let setup = Setup {
            store: store.clone(),
            wire: Arc::new(service.clone()),
            clock: clock.clone(),
            profile: PROFILE.to_owned(),
            rps: RPS,
            shown_id: "…7f3a".to_owned(),
            fingerprint: "aa".to_owned(),
            shared: Some(folder.join("state")),
            weights: Default::default(),
            scope: Scope::Everything,
            seed,
            lease: None,
            chain_nodes: None,
            heartbeat: Heartbeat::default(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let poller =
            tokio::spawn(async move { poller::run(setup, async move { stopped.await.unwrap_or(()) }).await.map(drop) });
        Some(Self { store, clock: clock.clone(), poller, stop, notifier })
    }

    /// Whether the poller has ended by itself, with the reason.
    pub(crate) fn has_ended(&self) -> bool {
        self.poller.is_finished()
    }

    /// Writes an operation. Returns whether it was acknowledged.
    pub(crate) async fn apply(&self, operation: Operation) -> bool {
        let _hold = self.clock.hold();
        self.store.apply(operation, self.clock.now().wall).await.is_ok()
    }

    /// Kills the process: its tasks end where they are.
    pub(crate) async fn kill(self) {
        let Self { store, clock, poller, notifier, .. } = self;
        poller.abort();
        drop(notifier);
        poller.await.map(drop).unwrap_or_default();
        blocking(&clock, move || drop(store)).await;
    }

    /// Ends the process as a signal does.
    pub(crate) async fn end(self) {
        let Self { store, clock, poller, stop, notifier } = self;
        stop.send(()).unwrap_or_default();
        // A poller that fails has written why to the log.
        poller.await.map(drop).unwrap_or_default();
        notifier.finish(std::time::Duration::from_secs(12)).await;
        blocking(&clock, move || drop(store)).await;
    }
}
