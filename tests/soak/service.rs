//! The service as a function call: its answers, its faults, and the requests that it saw. Requests of a process that
//! was killed arrive, too.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::internals::{
    api::{self, HttpAnswer},
    clock::{Clock, MonotonicTime, Now},
    domain::{
        NewTransaction, Observation, QuoteAnswer, QuoteObservation, QuoteRequest, RequestFailure, StatusOutcome,
        TransactionParams,
    },
    poller::ServiceTransport,
    sim::{ServiceLimits, SimulatedRequest, SimulatedService, SimulatedWorld},
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sha2::{Digest, Sha256};

/// The time after which a request without an answer fails.
const TIMEOUT: Duration = Duration::from_secs(8);
const WINDOW: Duration = Duration::from_secs(1);
/// The shortest time between two polls of one transfer.
const MIN_GAP: Duration = Duration::from_secs(5);

/// How the service behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceBehavior {
    Answering,
    Throttling,
    Refusing,
    /// Connections fail.
    Down,
    /// Requests are accepted and never answered.
    Silent,
    /// Each request fails with HTTP 500.
    Failing,
}

struct ServiceState {
    random: Pcg64Mcg,
    behavior: ServiceBehavior,
    worlds: Vec<SimulatedService>,
    world_of: HashMap<String, usize>,
    /// The arrivals of the last window.
    arrivals: VecDeque<Duration>,
    last_polls: HashMap<String, Duration>,
    requests: u64,
    /// The limit of the integrator ID, in requests per second.
    rps: f64,
    violations: Vec<String>,
    /// Of each request: the moments when it was sent and arrived, and its transaction.
    digest: Sha256,
}

impl ServiceState {
    fn add_to_digest(&mut self, request: &str, at: Duration, hash: &str) {
        self.digest.update(format!("{request} {} {hash}\n", at.as_nanos()));
    }
}

/// A connection to the service, shared by all processes.
#[derive(Clone)]
pub(crate) struct SoakService {
    clock: Clock,
    start: DateTime<Utc>,
    state: Arc<Mutex<ServiceState>>,
}

impl SoakService {
    pub(crate) fn new(seed: u64, clock: Clock, start: DateTime<Utc>) -> Self {
        let state = ServiceState {
            random: Pcg64Mcg::seed_from_u64(seed),
            behavior: ServiceBehavior::Answering,
            worlds: Vec::new(),
            world_of: HashMap::new(),
            arrivals: VecDeque::new(),
            last_polls: HashMap::new(),
            requests: 0,
            rps: 1.0,
            violations: Vec::new(),
            digest: Sha256::new(),
        };
        Self { clock, start, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.state.lock().unwrap()
    }

    /// Returns the moment by the service's clock, which never jumps.
    fn now(&self) -> Now {
        let mono = self.clock.now().mono;
        Now { mono, wall: self.start + TimeDelta::from_std(mono.0).unwrap() }
    }

    /// Adds transfers that were submitted lately, and returns them as a person would import them.
    pub(crate) fn submit(&self, seed: u64, count: usize) -> Vec<NewTransaction> {
        let world = SimulatedWorld::seeded(seed, count, self.now().wall);
        let transfers = world.transfers();
        let mut state = self.state();
        let place = state.worlds.len();
        for transfer in &transfers {
            state.world_of.insert(transfer.params.transaction_id.key(), place);
        }
        // The limit is that of all worlds together, so this file counts the requests.
        let limits = ServiceLimits { rps: 1_000_000.0, ..ServiceLimits::default() };
        state.worlds.push(SimulatedService::new(world, limits));
        transfers
    }

    pub(crate) fn set_behavior(&self, behavior: ServiceBehavior) {
        self.state().behavior = behavior;
    }

    /// Sets the limit of the integrator ID. Nothing may be under way.
    pub(crate) fn set_limit(&self, rps: f64) {
        self.state().rps = rps;
    }

    /// Returns the SHA-256 of all requests until now: when each was sent and arrived, and its transaction.
    pub(crate) fn digest(&self) -> String {
        self.state().digest.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn requests(&self) -> u64 {
        self.state().requests
    }

    /// Returns when a transfer was polled last.
    pub(crate) fn last_poll(&self, hash: &str) -> Option<Duration> {
        self.state().last_polls.get(hash).copied()
    }

    /// Returns the faults of the requests since the last call.
    pub(crate) fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.state().violations)
    }

    /// Records a request when it is sent, and returns how long it takes to the service and back.
    fn send(&self, hash: &str) -> [Duration; 2] {
        let now = self.clock.now().mono.0;
        let mut state = self.state();
        state.add_to_digest("sent", now, hash);
        let before = state.last_polls.insert(hash.to_owned(), now);
        if let Some(before) = before.filter(|before| now - *before < MIN_GAP) {
            state.violations.push(format!("at {now:?} {hash} was polled again after {:?}", now - before));
        }
        [(); 2].map(|()| Duration::from_millis(state.random.random_range(5..400)))
    }

    /// Records a request when it arrives, and returns the answer of the service's mood; `Ok` with the service's reply.
    fn arrive(&self, params: &TransactionParams) -> Result<(u16, String), (RequestFailure, Duration)> {
        let now = self.now();
        let mut state = self.state();
        state.requests += 1;
        state.add_to_digest("arrived", now.mono.0, &params.transaction_id.key());
        while state.arrivals.front().is_some_and(|first| now.mono.0 - *first >= WINDOW) {
            state.arrivals.pop_front();
        }
        state.arrivals.push_back(now.mono.0);
        if state.arrivals.len() > state.rps as usize {
            let count = state.arrivals.len();
            state.violations.push(format!("at {:?} {count} requests had arrived within a second", now.mono.0));
        }
        let soon = Duration::from_millis(5);
        let retry_after = Duration::from_secs(state.random.random_range(1..40));
        match state.behavior {
            ServiceBehavior::Answering => {}
            ServiceBehavior::Throttling => {
                let throttled = RequestFailure::Throttled { message: None, retry_after: Some(retry_after) };
                return Err((throttled, soon));
            }
            ServiceBehavior::Refusing => {
                return Err((RequestFailure::Unauthorized("the ID was withdrawn".into()), soon));
            }
            ServiceBehavior::Down => return Err((RequestFailure::Transport("connection reset".into()), soon)),
            ServiceBehavior::Silent => return Err((RequestFailure::TimedOut(TIMEOUT), TIMEOUT)),
            ServiceBehavior::Failing => {
                return Err((RequestFailure::Server { status: 500, message: "internal error".into() }, soon));
            }
        }
        let place = state.world_of[&params.transaction_id.key()];
        let reply = state.worlds[place].handle(&SimulatedRequest::status(params, "soak-integrator-7f3a"), now);
        Ok((reply.status, reply.body))
    }

    async fn wait(&self, time: Duration) {
        self.clock.sleep_until(self.clock.now().mono + time).await;
    }

    async fn answer(self, params: TransactionParams) -> Observation {
        let begins = self.clock.now().mono;
        let [there, back] = self.send(&params.transaction_id.key());
        self.wait(there).await;
        let arrived = self.arrive(&params);
        self.wait(arrived.as_ref().map_or_else(|(_, after)| *after, |_| back)).await;
        let latency = self.latency_since(begins);
        match arrived {
            Err((failure, _)) => Observation {
                outcome: StatusOutcome::Failed(failure),
                http_status: None,
                latency,
                body: None,
                chains: Vec::new(),
                response_id: None,
            },
            Ok((status, body)) => {
                let reply = HttpAnswer { status, retry_after: None, body: body.as_bytes() };
                let answer = api::interpret(&reply, &params, self.clock.now().wall);
                Observation {
                    outcome: answer.outcome,
                    http_status: Some(status),
                    latency,
                    body: Some(body),
                    chains: answer.chains,
                    response_id: None,
                }
            }
        }
    }

    fn latency_since(&self, begins: MonotonicTime) -> Duration {
        self.clock.now().mono.since(begins)
    }
}

impl ServiceTransport for SoakService {
    async fn status(&self, params: &TransactionParams) -> Observation {
        // A task of its own: the request goes on if the process is killed.
        tokio::spawn(self.clone().answer(params.clone())).await.unwrap()
    }

    async fn quote(&self, _: &QuoteRequest) -> QuoteObservation {
        let answer = QuoteAnswer::Failed(RequestFailure::Transport("no quotes here".into()));
        QuoteObservation { answer, http_status: None, body: None }
    }
}
