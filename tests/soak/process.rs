//! One hoptop process: its connection to the store, its poller and its notifier. It can be killed at any await.
//!
//! The threads of its store are tasks here, which do their work after a seeded time.

use std::{
    path::Path,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use chrono::{DateTime, Utc};
use hoptop::internals::{
    clock::Clock,
    domain::{Alert, Change, NotifiedEvent, Operation, Transaction},
    notify::{Channel, Notifier, NotifierSetup, Webhook, WebhookPosts},
    poller::{self, Heartbeat, PollScope, PollerError, PollerSetup},
    store::{Store, WatcherSteps, WriterSteps},
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
};

use super::{replay::KeptOperations, service::SoakService};

pub(crate) const PROFILE: &str = "default";

/// The events that the webhook gets.
pub(crate) const NOTIFIED_EVENTS: [NotifiedEvent; 3] =
    [NotifiedEvent::Settled, NotifiedEvent::AlertRaised, NotifiedEvent::AlertCleared];

/// How often a process looks for commits of other processes.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);
/// A write waits for others for less than this, in milliseconds.
const GATHER_LIMIT_MILLIS: u64 = 40;

/// The surroundings of all processes. Clones share them.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) clock: Clock,
    pub(crate) service: SoakService,
    pub(crate) kept: KeptOperations,
    pub(crate) webhook_url: String,
    /// Wakes the watchers after a commit. A list, because the order in which a channel wakes its receivers is random.
    pub(crate) watchers: Arc<Mutex<Vec<Arc<Notify>>>>,
}

/// A running process.
pub(crate) struct Process {
    store: Store,
    clock: Clock,
    poller: JoinHandle<Result<(), PollerError>>,
    stop: oneshot::Sender<()>,
    notifier: Notifier,
    writer: JoinHandle<()>,
    stop_writer: oneshot::Sender<()>,
    watcher: JoinHandle<()>,
}

fn render(change: &Change, _: Option<(&Transaction, &[Alert])>, _: DateTime<Utc>) -> Result<String, serde_json::Error> {
    Ok(change.seq.to_string())
}

/// Runs the writer of a store until `stop` resolves.
async fn write(
    steps: Option<WriterSteps>,
    machine: Machine,
    mut random: Pcg64Mcg,
    stop: impl Future<Output = Result<(), oneshot::error::RecvError>>,
) {
    let mut stop = pin!(stop);
    // A store that can't be written has no writer.
    let Some(mut steps) = steps else { return stop.await.unwrap_or(()) };
    loop {
        tokio::select! {
            biased;
            _ = &mut stop => {
                steps.finish();
                return;
            }
            () = steps.wait_for_write() => {}
        }
        let gathers = Duration::from_millis(random.random_range(0..GATHER_LIMIT_MILLIS));
        machine.clock.sleep_until(machine.clock.now().mono + gathers).await;
        steps.write();
        machine.watchers.lock().unwrap().iter().for_each(|watcher| watcher.notify_one());
    }
}

/// Looks for commits of other processes at the next multiple of the interval after each commit: the moments at which a
/// watcher finds something.
async fn watch(mut steps: WatcherSteps, machine: Machine, phase: Duration) {
    let committed: Arc<Notify> = Arc::default();
    machine.watchers.lock().unwrap().push(Arc::clone(&committed));
    let _registered = WatcherEntry(machine.clone(), Arc::clone(&committed));
    loop {
        committed.notified().await;
        let now = machine.clock.now().mono;
        let since_last = (now.0 + phase).as_nanos() % WATCH_INTERVAL.as_nanos();
        let wait = WATCH_INTERVAL - Duration::from_nanos(since_last as u64);
        machine.clock.sleep_until(now + wait).await;
        steps.check();
    }
}

/// The entry of a watcher in the list.
struct WatcherEntry(Machine, Arc<Notify>);

impl Drop for WatcherEntry {
    fn drop(&mut self) {
        self.0.watchers.lock().unwrap().retain(|watcher| !Arc::ptr_eq(watcher, &self.1));
    }
}

impl Process {
    /// Starts a process; `None` if the store or the notifier can't be used now, as on a full disk.
    pub(crate) async fn start(folder: &Path, machine: &Machine, rps: f64, seed: u64) -> Option<Self> {
        let Machine { clock, service, kept, webhook_url, .. } = machine;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let opened = Store::open_in_steps(&folder.join("hoptop.db"), clock.now().wall, kept.recorder());
        let (store, writer, watcher) = opened.ok()?;
        let phase = Duration::from_millis(random.random_range(0..250));
        let watcher = tokio::spawn(watch(watcher, machine.clone(), phase));
        let (stop_writer, stopped) = oneshot::channel();
        let writer = tokio::spawn(write(writer, machine.clone(), Pcg64Mcg::seed_from_u64(random.random()), stopped));
        let setup = NotifierSetup {
            store: store.clone(),
            profile: PROFILE.to_owned(),
            clock: clock.clone(),
            render,
            events: NOTIFIED_EVENTS.to_vec(),
            posts: WebhookPosts::default(),
        };
        let notifier = match Notifier::start(&setup, vec![Channel::Webhook(Webhook::new(webhook_url).unwrap())]).await {
            Ok(notifier) => notifier,
            Err(_) => {
                end_task(writer).await;
                end_task(watcher).await;
                return None;
            }
        };
        let setup = PollerSetup {
            store: store.clone(),
            transport: Arc::new(service.clone()),
            clock: clock.clone(),
            profile: PROFILE.to_owned(),
            rps,
            shown_id: "…7f3a".to_owned(),
            fingerprint: "aa".to_owned(),
            budget_folder: Some(folder.join("state")),
            weights: Default::default(),
            scope: PollScope::Everything,
            seed: random.random(),
            lease: None,
            chain_nodes: None,
            heartbeat: Heartbeat::default(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let poller =
            tokio::spawn(async move { poller::run(setup, async move { stopped.await.unwrap_or(()) }).await.map(drop) });
        Some(Self { store, clock: clock.clone(), poller, stop, notifier, writer, stop_writer, watcher })
    }

    /// Whether the poller has ended by itself, with the reason.
    pub(crate) fn has_ended(&self) -> bool {
        self.poller.is_finished()
    }

    /// Writes an operation. Returns whether it was acknowledged.
    pub(crate) async fn apply(&self, operation: Operation) -> bool {
        self.store.apply(operation, self.clock.now().wall).await.is_ok()
    }

    /// Kills the process: its tasks end where they are, and submitted writes are lost.
    pub(crate) async fn kill(self) {
        let Self { poller, notifier, writer, watcher, .. } = self;
        writer.abort();
        poller.abort();
        drop(notifier);
        poller.await.map(drop).unwrap_or_default();
        end_task(writer).await;
        end_task(watcher).await;
    }

    /// Ends the process as a signal does.
    pub(crate) async fn end(self) {
        let Self { store, poller, stop, notifier, writer, stop_writer, watcher, .. } = self;
        stop.send(()).unwrap_or_default();
        // A poller that fails has written why to the log.
        poller.await.map(drop).unwrap_or_default();
        notifier.finish(Duration::from_secs(12)).await;
        drop(store);
        stop_writer.send(()).unwrap_or_default();
        writer.await.unwrap();
        end_task(watcher).await;
    }
}

async fn end_task(task: JoinHandle<()>) {
    task.abort();
    match task.await {
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        _ => {}
    }
}
