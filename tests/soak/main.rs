//! The whole program in virtual time: store, pollers, shared budget, alerts and notifiers of two to four processes.
//! Processes are killed and ended at random. The service, the disk, the webhook and the wall clock have faults.
//!
//! A day holds 24 virtual hours and a quiet end of 30 minutes. Each hour has about two kills, one graceful shutdown, one
//! change of the wall clock and one lock on the store. The disk is full once in 90 minutes, the service has a fault in
//! every second hour, and the webhook fails one post in six. People import transfers in batches and in one rush, and
//! add notes, tickets and labels, ask for polls and stop them. By its seed a day has a limit of 1 or 2 requests a
//! second, and 4 to 10 for an eighth of it (`load.rs`).
//!
//! After each virtual minute the test checks: no second has more requests than the limit, and two polls of one transfer
//! are five seconds apart. It also checks that every transfer is polled, that no acknowledged write is lost, that
//! alerts are raised and cleared, and that events are notified in order. Every six hours the test compares the whole
//! store with two others. One follows from the change feed, and one from the operations of all processes in the order
//! of their commits. At the end every event was notified, and the memory and the store are within bounds.
//!
//! Everything runs in one thread, in an order that the seed alone decides. The threads of the store are tasks, and
//! blocking reads take a seeded time. Not seeded are the port of the webhook, the random number of the run and the
//! names of folders: no request depends on them. A team's store isn't part of this test; `tests/team/faults.rs` has its
//! faults.
//!
//! `cargo test --release --test soak -- --ignored` runs 100 seeds for 24 virtual hours. `HOPTOP_SOAK_SEED=7` runs one seed
//! again, `HOPTOP_SOAK_SEED=7-20` some.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints its figures"
)]

mod load;
mod observer;
mod process;
mod replay;
mod service;
mod webhook;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::internals::{
    clock::{Clock, Now},
    domain::{Edit, Operation, TransactionKey},
    store::Store,
};
use load::DailyLoad;
use mimalloc::MiMalloc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use observer::Observer;
use process::{Machine, PROFILE, Process};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use replay::{KeptOperations, Replay};
use rusqlite::Connection;
use service::{ServiceBehavior, SoakService};
use tempfile::TempDir;
use tokio::signal::unix::SignalKind;
use webhook::WebhookServer;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The longest time without a poll of a transfer while polling is undisturbed. The schedule aims at two minutes, and at
/// some minutes for a transfer far from its expected end.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(15 * 60);
/// The quiet end of a run: overdue events are notified by then.
const QUIET_END: Duration = Duration::from_secs(30 * 60);
/// The minutes between two comparisons of the whole store.
const COMPARED_AFTER: u64 = 6 * 60;

/// What was acknowledged about a transfer.
struct AcknowledgedWrites {
    key: TransactionKey,
    notes: Vec<String>,
    ticket: Option<String>,
    labels: BTreeSet<String>,
    is_untracked: bool,
}

struct Simulation {
    seed: u64,
    random: Pcg64Mcg,
    load: DailyLoad,
    folder: TempDir,
    /// Keeps the store open beside the processes.
    store: Store,
    observer: Observer,
    replay: Replay,
    machine: Machine,
    webhook: WebhookServer,
    processes: Vec<Process>,
    rps: f64,
    /// What was acknowledged, by the hashes of the transfers.
    acknowledged: BTreeMap<String, AcknowledgedWrites>,
    /// The events that the webhook has accepted, and the greatest of them.
    notified: BTreeSet<i64>,
    /// Since when an alert of a transfer doesn't fit.
    wrong_since: BTreeMap<(String, &'static str), Duration>,
    /// Since when nothing disturbs the polling.
    undisturbed_since: Duration,
    mood_until: Duration,
    counts: Counts,
}

/// What a run consisted of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    kills: u64,
    ends: u64,
    starts: u64,
    refused_starts: u64,
    behaviors: u64,
    full_disks: u64,
    locks: u64,
    clock_steps: u64,
    limits: u64,
    edits: u64,
    refused_writes: u64,
}

/// What a run did, equal whenever the seed is.
#[derive(Debug, PartialEq, Eq)]
struct RunOutcome {
    requests: u64,
    /// The SHA-256 of all requests.
    digest: String,
    /// The checksums of the tables.
    checksums: Vec<String>,
    transfers: usize,
    events: Vec<i64>,
    operations: u64,
    counts: Counts,
}

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_750_000_000, 0).unwrap()
}

/// Returns a folder in memory, if the system has one: kills are of processes, and the machine keeps its memory.
fn folder_in_memory() -> TempDir {
    let shared_memory = Path::new("/dev/shm");
    if shared_memory.is_dir() { tempfile::tempdir_in(shared_memory) } else { tempfile::tempdir() }.unwrap()
}

impl Simulation {
    async fn new(seed: u64, minutes: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let folder = folder_in_memory();
        let clock = Clock::simulated(start(), random.random()).unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let webhook = WebhookServer::start(random.random());
        let kept = KeptOperations::default();
        let machine = Machine {
            service: SoakService::new(random.random(), clock.clone(), start()),
            clock,
            kept: kept.clone(),
            webhook_url: webhook.url.clone(),
            watchers: Default::default(),
        };
        Self {
            load: DailyLoad::seeded(seed, minutes),
            seed,
            random,
            observer: Observer::new(&store),
            replay: Replay::new(folder.path(), kept, start()),
            store,
            folder,
            machine,
            webhook,
            processes: Vec::new(),
            rps: 0.0,
            acknowledged: BTreeMap::new(),
            notified: BTreeSet::new(),
            wrong_since: BTreeMap::new(),
            undisturbed_since: Duration::ZERO,
            mood_until: Duration::ZERO,
            counts: Counts::default(),
        }
    }

    fn now(&self) -> Now {
        self.machine.clock.now()
    }

    async fn sleep(&self, time: Duration) {
        self.machine.clock.sleep_until(self.now().mono + time).await;
    }

    fn chance(&mut self, one_in: u32) -> bool {
        self.random.random_range(0..one_in) == 0
    }

    fn any_process(&mut self) -> Option<usize> {
        (!self.processes.is_empty()).then(|| self.random.random_range(0..self.processes.len()))
    }

    /// Records a disturbance of the polling until now.
    fn record_disturbance(&mut self, cause: &str) {
        println!("seed {} at {:?}: {cause}", self.seed, self.now().mono.0);
        self.undisturbed_since = self.now().mono.0;
    }

    async fn start_process(&mut self) {
        let seed = self.random.random();
        match Process::start(self.folder.path(), &self.machine, self.rps, seed).await {
            Some(process) => {
                self.processes.push(process);
                self.counts.starts += 1;
            }
            None => self.counts.refused_starts += 1,
        }
        self.record_disturbance("a process starts");
    }

    /// Kills a process, or ends it in order.
    async fn stop_process(&mut self, index: usize) {
        let process = self.processes.swap_remove(index);
        if self.chance(3) {
            self.counts.ends += 1;
            self.record_disturbance("a process ends");
            process.end().await;
        } else {
            self.counts.kills += 1;
            self.record_disturbance("a process is killed");
            process.kill().await;
        }
    }

    /// Starts the events at the beginning of a minute.
    async fn disturb(&mut self, minute: u64) {
        self.set_limit(self.load.rps(minute)).await;
        if let Some(ended) = self.processes.iter().position(Process::has_ended) {
            self.processes.remove(ended).end().await;
            self.record_disturbance("a process has ended by itself");
        }
        if self.processes.len() < 2 || (self.processes.len() < 4 && self.chance(30)) {
            self.start_process().await;
        }
        if self.chance(20)
            && let Some(index) = self.any_process()
        {
            // At any moment, so that some are in the middle of a read or before a commit.
            let moment = Duration::from_millis(self.random.random_range(0..3_000));
            self.sleep(moment).await;
            self.stop_process(index).await;
        }
        let now = self.now().mono.0;
        if now >= self.mood_until {
            let behaviors = [
                ServiceBehavior::Throttling,
                ServiceBehavior::Refusing,
                ServiceBehavior::Down,
                ServiceBehavior::Silent,
                ServiceBehavior::Failing,
            ];
            let is_bad = self.chance(4);
            let behavior: ServiceBehavior = if is_bad {
                behaviors[self.random.random_range(0..behaviors.len())]
            } else {
                ServiceBehavior::Answering
            };
            self.machine.service.set_behavior(behavior);
            self.record_disturbance(&format!("the service is {behavior:?}"));
            let minutes = if is_bad { 1..6 } else { 10..60 };
            self.mood_until = now + Duration::from_secs(60 * self.random.random_range(minutes));
            self.counts.behaviors += u64::from(is_bad);
        }
        if self.chance(60) {
            // A correction of some seconds, or a wrong time zone.
            let seconds = if self.chance(2) {
                self.random.random_range(-30..30)
            } else {
                self.random.random_range(-7_200..7_200)
            };
            self.machine.clock.set_wall_forward(TimeDelta::seconds(seconds));
            self.counts.clock_steps += 1;
            self.record_disturbance(&format!("the clock was set by {seconds} s"));
        }
        if self.chance(60) {
            self.write_while_locked(minute).await;
        }
    }

    /// Changes the limit of the ID: people set it in the settings, and restart all processes.
    async fn set_limit(&mut self, rps: f64) {
        if self.rps == rps {
            return;
        }
        while !self.processes.is_empty() {
            self.stop_process(0).await;
        }
        // The requests of killed processes arrive, and leave the window.
        self.sleep(Duration::from_secs(3)).await;
        self.rps = rps;
        self.machine.service.set_limit(rps);
        self.counts.limits += 1;
        self.record_disturbance(&format!("the limit is {rps} requests a second"));
    }

    /// Lets another program hold the write lock for a moment of real time, in which a process writes.
    async fn write_while_locked(&mut self, minute: u64) {
        self.counts.locks += 1;
        let path = self.folder.path().join("hoptop.db");
        let (locked, is_locked) = mpsc::channel();
        let holder = thread::spawn(move || {
            let db = Connection::open(path).unwrap();
            db.execute_batch("BEGIN IMMEDIATE").unwrap();
            locked.send(()).unwrap();
            thread::park_timeout(Duration::from_millis(20));
            db.execute_batch("ROLLBACK").unwrap();
        });
        is_locked.recv().unwrap();
        self.edit(minute).await;
        holder.join().unwrap();
    }

    /// What people do: import a batch, edit a transfer.
    async fn work(&mut self, minute: u64) {
        let count = self.load.imported(minute);
        if count > 0 {
            self.import(count).await;
        }
        if self.chance(15) {
            self.edit(minute).await;
        }
    }

    async fn import(&mut self, count: usize) {
        let Some(index) = self.any_process() else { return };
        let batch = self.machine.service.submit(self.random.random(), count);
        let keys: Vec<_> = batch
            .iter()
            .map(|new| TransactionKey {
                profile: PROFILE.into(),
                from_chain: new.params.from_chain.clone(),
                hash: new.params.transaction_id.clone(),
            })
            .collect();
        let operation = Operation::Track { profile: PROFILE.into(), transactions: batch };
        if !self.processes[index].apply(operation).await {
            self.counts.refused_writes += 1;
            return;
        }
        for key in keys {
            let hash = key.hash.key();
            let (notes, ticket, labels, is_untracked) = (Vec::new(), None, BTreeSet::new(), false);
            self.acknowledged.insert(hash, AcknowledgedWrites { key, notes, ticket, labels, is_untracked });
        }
    }

    async fn edit(&mut self, minute: u64) {
        let Some(index) = self.any_process().filter(|_| !self.acknowledged.is_empty()) else { return };
        let chosen = self.random.random_range(0..self.acknowledged.len());
        let known = self.acknowledged.values_mut().nth(chosen).unwrap();
        let (transactions, text) = (vec![known.key.clone()], format!("note of minute {minute}"));
        let edit = |edit| Operation::Edit { profile: PROFILE.into(), edit };
        let (operation, acknowledge): (_, fn(&mut AcknowledgedWrites, String)) = match self.random.random_range(0..10) {
            0 => (Operation::RequestPoll { transactions }, |_, _| ()),
            1 => (edit(Edit::Untrack { transactions }), |known, _| known.is_untracked = true),
            2 | 3 => (edit(Edit::SetTicket { transactions, ticket: Some(text.clone()) }), |known, text| {
                known.ticket = Some(text);
            }),
            4 | 5 => {
                (edit(Edit::ChangeLabels { transactions, add: vec!["vip".into()], remove: Vec::new() }), |known, _| {
                    known.labels.insert("vip".into());
                })
            }
            _ => (edit(Edit::AddNote { transactions, text: text.clone() }), |known, text| known.notes.push(text)),
        };
        if self.processes[index].apply(operation).await {
            acknowledge(known, text);
            self.counts.edits += 1;
        } else {
            self.counts.refused_writes += 1;
        }
    }

    /// Lets a minute pass; in some minutes the disk is full for a while.
    async fn pass_minute(&mut self, minute: u64) {
        let begins = self.now().mono;
        if self.chance(90) {
            self.counts.full_disks += 1;
            let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
            setrlimit(Resource::RLIMIT_FSIZE, 24 * 1024, hard).unwrap();
            self.edit(minute).await;
            self.machine.clock.sleep_until(begins + Duration::from_secs(20)).await;
            setrlimit(Resource::RLIMIT_FSIZE, soft, hard).unwrap();
            self.record_disturbance("the disk was full for 20 s");
        }
        self.machine.clock.sleep_until(begins + Duration::from_secs(60)).await;
    }

    fn check(&mut self) {
        let violations = self.machine.service.take_violations();
        assert!(violations.is_empty(), "{violations:?}");
        self.observer.catch_up(self.now().wall);
        self.replay.catch_up();
        for (hash, known) in &self.acknowledged {
            let found = self.observer.transfers.get(hash);
            let found = found.unwrap_or_else(|| panic!("{hash} was acknowledged and is lost"));
            let lost = known.notes.iter().find(|note| !found.notes.contains(note));
            assert_eq!(lost, None, "a note on {hash} was acknowledged and is lost");
            let has_ticket = known.ticket.is_none() || known.ticket == found.ticket;
            assert!(has_ticket, "the ticket {:?} on {hash} was acknowledged and is lost", known.ticket);
            let has_labels = known.labels.iter().all(|label| found.labels.contains(label));
            assert!(has_labels, "labels {:?} on {hash} were acknowledged and are lost", known.labels);
            assert!(!(known.is_untracked && found.is_polled), "{hash} is polled, although a person stopped that");
        }
        let now = self.now().mono.0;
        let undisturbed = now.saturating_sub(self.undisturbed_since);
        for (hash, _) in self.observer.transfers.iter().filter(|(_, transfer)| transfer.is_polled) {
            let last = self.machine.service.last_poll(hash).unwrap_or(self.undisturbed_since);
            let idle = now - last.max(self.undisturbed_since);
            assert!(idle < FORGOTTEN_AFTER, "{hash} wasn't polled for {idle:?}, {undisturbed:?} undisturbed");
        }
        // A second answer clears an alert, and during an outage none is raised; a settled transfer gets no second
        // answer.
        let wrong = self.observer.wrong_alerts();
        self.wrong_since.retain(|known, _| wrong.contains(known));
        for wrong in wrong {
            let since = (*self.wrong_since.entry(wrong.clone()).or_insert(now)).max(self.undisturbed_since);
            let transfer = &self.observer.transfers[&wrong.0];
            assert!(
                !transfer.is_settled && now - since < 2 * FORGOTTEN_AFTER,
                "wrong alert: {wrong:?} for {:?}, {transfer:?}",
                now - since
            );
        }
        for event in self.webhook.take_accepted() {
            let greatest = self.notified.last().copied().unwrap_or(i64::MIN);
            let is_in_order = event > greatest || self.notified.contains(&event);
            assert!(is_in_order, "event {event} was notified after {greatest}");
            self.notified.insert(event);
        }
    }

    /// Compares the whole store with the change feed and with the replayed operations. Returns the checksums.
    fn compare_all(&self) -> Vec<String> {
        self.observer.compare_all(self.now().wall);
        let checksums = replay::checksums(&self.store);
        assert_eq!(checksums, self.replay.checksums(), "the replayed operations give another store");
        checksums
    }

    /// Lets everything settle, and checks the conditions that hold only then.
    async fn finish(&mut self) -> RunOutcome {
        self.machine.service.set_behavior(ServiceBehavior::Answering);
        self.mood_until = Duration::MAX;
        if self.processes.is_empty() {
            self.start_process().await;
        }
        self.record_disturbance("the quiet end begins");
        self.sleep(QUIET_END).await;
        self.check();
        let missing: Vec<_> = self.observer.events.iter().filter(|event| !self.notified.contains(event)).collect();
        assert_eq!(missing, Vec::<&i64>::new(), "events that the webhook didn't get");
        for process in std::mem::take(&mut self.processes) {
            process.end().await;
        }
        self.check();
        RunOutcome {
            requests: self.machine.service.requests(),
            digest: self.machine.service.digest(),
            checksums: self.compare_all(),
            transfers: self.acknowledged.len(),
            events: std::mem::take(&mut self.observer.events),
            operations: self.replay.operations,
            counts: self.counts.clone(),
        }
    }

    fn file_size(&self) -> u64 {
        fs::metadata(self.folder.path().join("hoptop.db")).unwrap().len()
    }
}

/// Returns the resident memory of this process in bytes.
fn resident_memory() -> u64 {
    let pages: u64 = fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

/// Held by the running simulation: a full disk limits the whole process, and the measured memory is the whole
/// process's.
static RUNNING: Mutex<()> = Mutex::new(());

fn run_seed(seed: u64, hours: u64) -> RunOutcome {
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    println!("seed {seed}: HOPTOP_SOAK_SEED={seed} runs it again");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        // With a handler the kernel answers a write over the limit with an error.
        let _too_large = tokio::signal::unix::signal(SignalKind::from_raw(25)).unwrap();
        let mut simulation = Simulation::new(seed, hours * 60).await;
        let mut early_memory = 0;
        for minute in 0..hours * 60 {
            simulation.disturb(minute).await;
            simulation.work(minute).await;
            simulation.pass_minute(minute).await;
            simulation.check();
            if minute > 0 && minute.is_multiple_of(COMPARED_AFTER) {
                simulation.compare_all();
            }
            if minute == 120 {
                early_memory = resident_memory();
            }
        }
        let outcome = simulation.finish().await;
        let growth = if early_memory == 0 { 0 } else { resident_memory().saturating_sub(early_memory) };
        assert!(growth < 96 << 20, "the memory grew by {} MiB", growth >> 20);
        let size = simulation.file_size();
        let transfers = outcome.transfers as u64;
        assert!(size < (1 << 20) + transfers * 48 * 1024, "{size} bytes for {transfers} transfers");
        println!(
            "seed {seed}: {hours} h, {} requests, {transfers} transfers, {} events, {} operations, {} KiB, memory +{} MiB, {:?}, {}",
            outcome.requests,
            outcome.events.len(),
            outcome.operations,
            size / 1024,
            growth >> 20,
            outcome.counts,
            outcome.digest,
        );
        outcome
    })
}

/// Returns the seeds of the environment, or as many as the test wants.
fn seeds(count: u64) -> Vec<u64> {
    let Ok(chosen) = env::var("HOPTOP_SOAK_SEED") else { return (1..=count).collect() };
    let (first, last) = chosen.split_once('-').unwrap_or((&chosen, &chosen));
    (first.parse().unwrap()..=last.parse().unwrap()).collect()
}

#[test]
fn three_seeds_hold_for_an_hour() {
    for seed in seeds(3) {
        run_seed(seed, 1);
    }
}

#[test]
fn seed_gives_the_same_requests_and_the_same_store_again() {
    for seed in seeds(1) {
        assert_eq!(run_seed(seed, 2), run_seed(seed, 2));
    }
}

#[test]
#[ignore = "takes long: 100 seeds of 24 virtual hours"]
fn a_hundred_seeds_hold_for_a_day() {
    for seed in seeds(100) {
        run_seed(seed, 24);
    }
}
