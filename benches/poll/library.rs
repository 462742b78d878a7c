//! Measures the library's poller and store inside the benchmark's own process.

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    path::Path,
    sync::Arc,
    time::Duration,
};

use hoptop::internals::{
    api::{BaseUrl, Client, Timeouts},
    clock::Clock,
    domain::IntegratorId,
    poller::{self, Heartbeat, HttpTransport, PollScope, PollerSetup},
    store::{FeedReader, Receipt, Store, WakeKind},
};
use tokio::{
    runtime::Runtime,
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
};

use crate::{
    ID, IN_FLIGHT,
    batch::TransferBatch,
    material::{self, TimedObservation},
    server::StatusServer,
};

const SEED: u64 = 11;

/// Returns the polls per second without a budget: request, decode, store, and read of the change feed.
pub(crate) fn polls_per_second(batch: &TransferBatch, server: &StatusServer, clock: &Clock) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let store = create_store(&folder.path().join("hoptop.db"), batch, clock);
    let (client, start) = (client(server), clock.now().mono);
    runtime().block_on(async {
        let mut reader = tokio::spawn(read_feed(store.clone()));
        let (in_flight, mut polls) = (Arc::new(Semaphore::new(IN_FLIGHT)), JoinSet::new());
        for new in &batch.transfers {
            let permit = Arc::clone(&in_flight).acquire_owned().await.unwrap();
            let (store, client, clock, params) = (store.clone(), client.clone(), clock.clone(), new.params.clone());
            polls.spawn(async move {
                let observation = client.status(&params, &clock).await;
                assert!(observation.outcome.failure().is_none(), "{:?}", observation.outcome);
                let transaction = material::key(&params);
                let timed = TimedObservation { transaction, observation, at: clock.now().wall };
                timed.submit(&store).await.unwrap();
                drop(permit);
            });
        }
        tokio::select! {
            () = async { while let Some(done) = polls.join_next().await { done.unwrap(); } } => {}
            ended = &mut reader => panic!("the feed ended: {ended:?}"),
        }
        reader.abort();
    });
    batch.transfers.len() as f64 / clock.now().mono.since(start).as_secs_f64()
}

/// Returns the polls per second of the poller itself, at a limit that no other process shares.
pub(crate) fn poller_rate(batch: &TransferBatch, server: &StatusServer, clock: &Clock, rps: f64) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let store = create_store(&folder.path().join("hoptop.db"), batch, clock);
    let setup = PollerSetup {
        store: store.clone(),
        transport: Arc::new(HttpTransport { client: client(server), clock: clock.clone() }),
        clock: clock.clone(),
        profile: material::PROFILE.to_owned(),
        rps,
        shown_id: "…mark".to_owned(),
        fingerprint: "aa".to_owned(),
        budget_folder: None,
        weights: BTreeMap::new(),
        scope: PollScope::Everything,
        seed: 1,
        lease: None,
        heartbeat: Heartbeat::default(),
        chain_nodes: None,
    };
    let start = clock.now().mono;
    runtime().block_on(async {
        let polling = poller::run(setup, pending());
        let all_answered = async {
            while server.answered_count() < batch.transfers.len() {
                clock.sleep_until(clock.now().mono + Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            ended = polling => panic!("the poller ended: {ended:?}"),
            () = all_answered => {}
        }
    });
    batch.transfers.len() as f64 / clock.now().mono.since(start).as_secs_f64()
}

/// Returns the observations that the store saves per second: three answers about each transaction, all with changes.
pub(crate) fn observations_per_second(clock: &Clock, transactions: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    let start = clock.now().wall;
    let world = material::world(SEED, transactions, start);
    let new = world.transfers();
    material::track(&store, new.clone(), start);
    let mut observations: Vec<TimedObservation> =
        new.iter().flat_map(|new| material::answers(&world, new, start)).collect();
    observations.sort_by_key(|observation| observation.at);
    let (count, start) = (observations.len(), clock.now().mono);
    let mut in_flight = VecDeque::new();
    for observation in observations {
        if in_flight.len() >= IN_FLIGHT {
            in_flight.pop_front().map(Receipt::wait).transpose().unwrap();
        }
        in_flight.push_back(observation.submit(&store));
    }
    in_flight.into_iter().for_each(|receipt| drop(receipt.wait().unwrap()));
    count as f64 / clock.now().mono.since(start).as_secs_f64()
}

/// Creates a store that tracks a batch.
fn create_store(path: &Path, batch: &TransferBatch, clock: &Clock) -> Store {
    let store = Store::open(path).unwrap();
    material::track(&store, batch.transfers.clone(), clock.now().wall);
    store
}

/// Reads the change feed in the same way as `watch`.
async fn read_feed(store: Store) {
    let (feed_reader, mut commits) =
        (FeedReader::new(store.reader().unwrap()), store.subscribe(WakeKind::AnyCommit).unwrap());
    loop {
        let reader = feed_reader.clone();
        let changes = spawn_blocking(move || reader.changes()).await.unwrap().unwrap();
        if !changes.has_more {
            commits.changed().await.unwrap();
        }
    }
}

fn client(server: &StatusServer) -> Client {
    let (base, id) = (BaseUrl::parse(&server.url()).unwrap(), IntegratorId::new(ID).unwrap());
    Client::new(base, id, Timeouts::default()).unwrap()
}

/// Returns a runtime like the program's own.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}
