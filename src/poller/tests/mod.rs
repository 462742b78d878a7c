//! Tests of the real driver with a real store and the simulated service, under paused time.

mod chains;
mod day;
mod need;
mod pause;
mod routes;
mod sharing;
mod snooze;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use tempfile::TempDir;
use tokio::{
    sync::{oneshot, watch},
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

use super::*;
use crate::{
    api,
    chain_rpc::ChainNodes,
    clock::{Clock, MonotonicTime},
    domain::{
        alert::Rule,
        change::{Change, ChangeKind},
        fixtures,
        ids::RowId,
        observation::{Observation, RequestFailure, StatusOutcome},
        operation::{LocalEdit, Operation},
        poller::PollerHealth,
        quote::{Quote, QuoteAnswer, QuoteObservation, QuoteRequest},
        status::RouterStatus,
        team::Drain,
        transaction::{NewTransaction, Tracking, Transaction, TransactionParams},
    },
    sim::{
        scenario::Scenario,
        service::{ServiceReport, SimulatedRequest, SimulatedService},
    },
    store::{AlertQuery, Changes, OpenMark, OperationResult, QuoteSubmission, Reader, Store, WakeKind, testing},
};

/// The longest wait for a condition, in simulated time.
const TEST_TIMEOUT: Duration = Duration::from_secs(6 * 60 * 60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionBehavior {
    Fine,
    /// The service has withdrawn the ID.
    Withdrawn,
    Refused,
    /// The service accepts the request, and never answers.
    Silent,
    Panics,
}

/// A connection to the simulated service in this process.
struct SimulatedTransport {
    service: Arc<Mutex<SimulatedService>>,
    clock: Clock,
    behavior: fn(u64) -> ConnectionBehavior,
    requests: watch::Sender<Vec<(MonotonicTime, TransactionParams)>>,
    /// The `from_address` of each route request.
    routes: watch::Sender<Vec<String>>,
}

impl SimulatedTransport {
    async fn fail(&self, failure: RequestFailure, after: Duration) -> Observation {
        self.clock.sleep_until(self.clock.now().mono + after).await;
        Observation::failed(failure, after)
    }
}

impl ServiceTransport for SimulatedTransport {
    async fn status(&self, params: &TransactionParams) -> Observation {
        let now = self.clock.now();
        self.requests.send_modify(|requests| requests.push((now.mono, params.clone())));
        let id = match (self.behavior)(now.mono.0.as_secs()) {
            ConnectionBehavior::Fine => "an-integrator-7f3a",
            ConnectionBehavior::Withdrawn => "revoked-integrator-7f3a",
            ConnectionBehavior::Refused => {
                return self.fail(RequestFailure::Transport("refused".to_owned()), Duration::from_millis(30)).await;
            }
            ConnectionBehavior::Silent => return self.fail(RequestFailure::TimedOut(TIMEOUT), TIMEOUT).await,
            ConnectionBehavior::Panics => panic!("panic of the simulated client"),
        };
        let response = lock(&self.service).handle(&SimulatedRequest::status(params, id), now);
        self.clock.sleep_until(now.mono + response.delay).await;
        let seen = api::HttpAnswer {
            status: response.status,
            retry_after: response.header("retry-after"),
            body: response.body.as_bytes(),
        };
        let api::StatusAnswer { outcome, chains } = api::interpret(&seen, params, self.clock.now().wall);
        Observation {
            outcome,
            http_status: Some(response.status),
            latency: response.delay,
            body: Some(response.body),
            chains,
            response_id: None,
        }
    }

    async fn quote(&self, request: &QuoteRequest) -> QuoteObservation {
        self.routes.send_modify(|routes| routes.push(request.from_address.clone()));
        self.clock.sleep_until(self.clock.now().mono + Duration::from_secs(2)).await;
        let quote_id = Some(format!("quote-of-{}", request.from_address));
        let quote = Quote { quote_id, estimate: Some(Duration::from_secs(900)), warnings: Vec::new() };
        QuoteObservation { answer: QuoteAnswer::Route(quote), http_status: Some(200), body: None }
    }
}

const TIMEOUT: Duration = Duration::from_secs(10);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_750_000_000, 0).unwrap()
}

/// A store in a temporary folder, a simulated service, and a clock.
struct PollerFixture {
    folder: TempDir,
    store: Store,
    clock: Clock,
    scenario: Scenario,
    service: Arc<Mutex<SimulatedService>>,
    rps: f64,
    weights: BTreeMap<String, f64>,
    chain_nodes: Option<Arc<ChainNodes>>,
}

impl PollerFixture {
    /// Creates a service that plays `scenario`, and a store that tracks all transactions of the scenario.
    async fn new(scenario: &str, rps: f64) -> Self {
        let fixture = Self::empty(scenario, rps);
        fixture.import(fixture.scenario.world(start()).transfers()).await;
        fixture
    }

    fn empty(scenario: &str, rps: f64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scenario = Scenario::parse(scenario).unwrap();
        Self {
            store: Store::open(&folder.path().join("hoptop.db")).unwrap(),
            clock: Clock::starting_at(start()),
            service: Arc::new(Mutex::new(scenario.service(start()))),
            folder,
            scenario,
            rps,
            weights: BTreeMap::new(),
            chain_nodes: None,
        }
    }

    async fn apply(&self, operation: Operation) -> OperationResult {
        let (store, at) = (self.store.clone(), self.clock.now().wall);
        spawn_blocking(move || testing::apply(&store, operation, at)).await.unwrap().unwrap()
    }

    async fn import(&self, batch: Vec<NewTransaction>) {
        let (store, at) = (self.store.clone(), self.clock.now().wall);
        spawn_blocking(move || testing::track(&store, "default", batch, at)).await.unwrap();
    }

    async fn request_poll(&self, row: RowId) {
        let (store, at) = (self.store.clone(), self.clock.now().wall);
        spawn_blocking(move || testing::request_poll(&store, vec![row], at)).await.unwrap();
    }

    fn start(&self, behavior: fn(u64) -> ConnectionBehavior) -> RunningPoller {
        self.start_with(behavior, None)
    }

    fn start_with(&self, behavior: fn(u64) -> ConnectionBehavior, budget_folder: Option<PathBuf>) -> RunningPoller {
        self.start_in(PollScope::Everything, behavior, budget_folder)
    }

    fn start_in(
        &self,
        scope: PollScope,
        behavior: fn(u64) -> ConnectionBehavior,
        budget_folder: Option<PathBuf>,
    ) -> RunningPoller {
        let transport = Arc::new(SimulatedTransport {
            service: Arc::clone(&self.service),
            clock: self.clock.clone(),
            behavior,
            requests: watch::Sender::default(),
            routes: watch::Sender::default(),
        });
        let setup = PollerSetup {
            store: self.store.clone(),
            transport: Arc::clone(&transport),
            clock: self.clock.clone(),
            profile: "default".to_owned(),
            rps: self.rps,
            shown_id: "…7f3a".to_owned(),
            fingerprint: "aa".to_owned(),
            budget_folder,
            weights: self.weights.clone(),
            scope,
            seed: 7,
            lease: None,
            heartbeat: Heartbeat::default(),
            chain_nodes: self.chain_nodes.clone(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(run(setup, async move { stopped.await.unwrap_or(()) }));
        RunningPoller { transport, stop, task }
    }

    async fn read<T: Send + 'static>(&self, work: impl FnOnce(&Reader) -> T + Send + 'static) -> T {
        let store = self.store.clone();
        spawn_blocking(move || work(&store.reader().unwrap())).await.unwrap()
    }

    async fn transactions(&self) -> Vec<Transaction> {
        self.read(testing::load_transactions).await
    }

    async fn alerts(&self) -> Vec<Rule> {
        self.read(|reader| reader.alerts(AlertQuery::Active).unwrap().into_iter().map(|alert| alert.rule).collect())
            .await
    }

    /// Returns the feed without entries that only record a poll or an import.
    async fn notable_changes(&self) -> Vec<Change> {
        let changes = |reader: &Reader| reader.changes_after(0, 1_000_000).unwrap();
        let Changes { changes, has_dropped_polls: false, .. } = self.read(changes).await else {
            panic!("the feed is incomplete")
        };
        changes.into_iter().filter(|change| !matches!(change.kind, ChangeKind::Polled | ChangeKind::Imported)).collect()
    }

    async fn count(&self, name: &str) -> usize {
        self.notable_changes().await.iter().filter(|change| change.kind.name() == name).count()
    }

    /// Waits until every transaction satisfies `wanted`.
    async fn wait_until_all(&self, wanted: fn(&Transaction) -> bool) {
        self.wait_until(move |reader| testing::load_transactions(reader).iter().all(wanted)).await;
    }

    /// Waits until the feed has an entry of this name.
    async fn wait_for_event(&self, name: &'static str) {
        self.wait_until(move |reader| {
            let Changes { changes, .. } = reader.changes_after(0, 1_000_000).unwrap();
            changes.iter().any(|change| change.kind.name() == name)
        })
        .await;
    }

    async fn wait_until(&self, condition: impl Fn(&Reader) -> bool + Clone + Send + 'static) {
        let mut commits = self.store.subscribe(WakeKind::AnyCommit).unwrap();
        let wait = async {
            while !self.read(condition.clone()).await {
                commits.changed().await.unwrap();
            }
        };
        timeout(TEST_TIMEOUT, wait).await.expect("the condition never held");
    }

    /// Waits for this span of simulated time.
    async fn advance(&self, span: Duration) {
        self.clock.sleep_until(self.clock.now().mono + span).await;
    }

    fn report(&self) -> ServiceReport {
        lock(&self.service).report()
    }

    /// Asserts that the service saw no window over the limit.
    fn assert_within_budget(&self) {
        let ServiceReport { throttled, worst_window, windows_over, .. } = self.report();
        assert_eq!((throttled, windows_over), (0, 0));
        assert!(worst_window <= self.scenario.limits().rps as usize, "{worst_window}");
    }
}

struct RunningPoller {
    transport: Arc<SimulatedTransport>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Drain, PollerError>>,
}

impl RunningPoller {
    /// Returns the requests so far: the moment and the parameters of each.
    fn requests(&self) -> Vec<(MonotonicTime, TransactionParams)> {
        self.transport.requests.borrow().clone()
    }

    /// Returns the seconds between successive requests.
    fn gaps(&self) -> Vec<f64> {
        let requests = self.requests();
        requests.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_secs_f64()).collect()
    }

    async fn wait_for_requests(&self, count: usize) {
        let mut requests = self.transport.requests.subscribe();
        let sent = requests.wait_for(|requests| requests.len() >= count);
        timeout(TEST_TIMEOUT, sent).await.expect("too few requests were sent").unwrap();
    }

    async fn stop(self) -> Result<(), PollerError> {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().map(drop)
    }

    /// Returns the moments of the requests by transaction. Asserts that two requests about one transaction are five
    /// seconds apart.
    fn by_transaction(&self) -> BTreeMap<String, Vec<MonotonicTime>> {
        let mut asked: BTreeMap<_, Vec<MonotonicTime>> = BTreeMap::new();
        for (at, params) in self.requests() {
            asked.entry(params.transaction_id.key()).or_default().push(at);
        }
        for (hash, times) in &asked {
            let close = times.windows(2).find(|pair| pair[1].since(pair[0]) < Duration::from_secs(5));
            assert_eq!(close, None, "{hash} was polled twice within five seconds");
        }
        asked
    }
}

/// Returns a scenario of `count` transactions that all have these answers.
fn scenario(count: usize, service: &str, answers: &str) -> String {
    let transaction = |number| {
        format!(
            "[[transaction]]\ntransactionId = \"0x{number:064x}\"\nfromChainId = \"42161\"\ntoChainId = \"8453\"\n\
             quoteId = \"q-{number}\"\nanswers = [{answers}]\n"
        )
    };
    format!("[service]\nrps = 10.0\ncounts_from = \"first_request\"\n{service}\n")
        + &(1..=count).map(transaction).collect::<String>()
}

const ONGOING: &str = r#"{ from = 0, status = "ongoing", steps = 1 }"#;
const SUCCESS: &str = r#"{ from = 0, status = "success", steps = 3 }"#;

fn has_status(tx: &Transaction, status: &RouterStatus) -> bool {
    tx.state.status.as_ref() == Some(status)
}

#[tokio::test(start_paused = true)]
async fn batch_of_200_settles_as_in_its_scenario_within_the_budget() {
    let fixture = PollerFixture::new(include_str!("../../../assets/scenarios/batch-200.toml"), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    // The scenario's length, and one sweep.
    fixture.advance(Duration::from_secs(150 + 25)).await;
    let sent = poller.requests().len();
    fixture.advance(Duration::from_secs(10 * 60)).await;
    assert_eq!(poller.requests().len(), sent, "settled transactions were polled again");
    fixture.assert_within_budget();
    assert_eq!(fixture.report().requests, sent as u64);

    let asked = poller.by_transaction();
    let transactions = fixture.transactions().await;
    assert_eq!(transactions.len(), 200);
    for tx in &transactions {
        let hash = &tx.params.transaction_id;
        let status = tx.state.status.as_ref().map(RouterStatus::raw);
        assert_eq!(status, fixture.scenario.final_status(hash.as_str()), "{hash}");
        assert_eq!(tx.state.polls, asked[&hash.key()].len() as u64, "{hash}");
        // A sweep takes 20 s, because the rate is 10 a second, plus the rests of slots; the longest wait is four
        // sweeps.
        let late = asked[&hash.key()].windows(2).find(|pair| pair[1].since(pair[0]) > Duration::from_secs(4 * 24));
        assert_eq!(late, None, "{hash} waited too long");
    }
    assert!(transactions.iter().all(Transaction::is_settled));
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn refused_id_is_probed_once_a_minute_until_it_is_accepted() {
    let fixture = PollerFixture::new(&scenario(20, "", ONGOING), 10.0).await;
    let poller =
        fixture.start(|second| if second < 200 { ConnectionBehavior::Withdrawn } else { ConnectionBehavior::Fine });
    fixture.wait_for_event("unauthorized").await;
    assert_eq!(fixture.alerts().await, [Rule::Unauthorized]);
    fixture.wait_for_event("recovered").await;
    let before: Vec<_> = poller.gaps();
    assert_eq!(before.len(), 4, "{before:?}");
    assert!(before.iter().all(|gap| (60.0..61.0).contains(gap)), "{before:?}");

    fixture.wait_until_all(|tx| has_status(tx, &RouterStatus::Ongoing)).await;
    assert_eq!((fixture.count("unauthorized").await, fixture.count("recovered").await), (1, 1));
    assert_eq!(fixture.count("poll_failed").await, 0, "a transaction failed because of the ID");
    assert_eq!(fixture.alerts().await, []);
    poller.by_transaction();
    fixture.assert_within_budget();
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_429_nothing_is_sent_for_the_time_that_the_service_asks_for() {
    for (header, least, most) in [(r#", retry_after = "7""#, 7.0, 10.6), ("", 1.0, 1.6)] {
        let answers = format!(r#"{{ from = 0, http = 429{header} }}, {{ from = 0.5, status = "ongoing" }}"#);
        let fixture = PollerFixture::new(&scenario(5, "", &answers), 10.0).await;
        let poller = fixture.start(|_| ConnectionBehavior::Fine);
        fixture.wait_for_event("throttled").await;
        assert_eq!(fixture.alerts().await, [Rule::Throttled]);
        fixture.wait_for_event("recovered").await;
        let rest = poller.gaps()[0];
        assert!((least..most).contains(&rest), "{rest}");
        fixture.wait_until_all(|tx| has_status(tx, &RouterStatus::Ongoing)).await;
        assert_eq!((fixture.count("throttled").await, fixture.count("recovered").await), (1, 1));
        assert_eq!((fixture.alerts().await, fixture.report().throttled), (vec![], 1));
        poller.stop().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn unreachable_service_is_reported_once_and_probed_at_growing_intervals() {
    let fixture = PollerFixture::new(&scenario(10, "", ONGOING), 10.0).await;
    let poller =
        fixture.start(|second| if second < 100 { ConnectionBehavior::Refused } else { ConnectionBehavior::Fine });
    fixture.wait_for_event("unreachable").await;
    assert_eq!(poller.requests().len(), 5);
    assert_eq!(fixture.alerts().await, [Rule::Unreachable]);
    fixture.wait_for_event("recovered").await;
    let probes = poller.gaps().split_off(4);
    assert_eq!(probes.len(), 5, "{probes:?}");
    for (probe, wait) in probes.iter().zip([5.0, 10.0, 20.0, 40.0, 60.0]) {
        assert!((wait..wait + 0.2).contains(probe), "{probes:?}");
    }
    fixture.wait_until_all(|tx| has_status(tx, &RouterStatus::Ongoing)).await;
    assert_eq!((fixture.count("unreachable").await, fixture.count("recovered").await), (1, 1));
    assert_eq!(fixture.alerts().await, []);
    poller.by_transaction();
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn slot_of_a_lost_request_rests_for_its_timeout_and_a_window() {
    let fixture = PollerFixture::new(&scenario(2, "", ONGOING), 1.0).await;
    let poller =
        fixture.start(|second| if second == 0 { ConnectionBehavior::Silent } else { ConnectionBehavior::Fine });
    poller.wait_for_requests(2).await;
    let gap = poller.gaps()[0];
    assert!((21.0..21.1).contains(&gap), "{gap}");
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn rejected_parameters_park_only_their_transaction() {
    let text = scenario(3, "", SUCCESS)
        + "[[transaction]]\ntransactionId = \"0xbad\"\nfromChainId = \"1\"\ntoChainId = \"10\"\nquoteId = \"q\"\n\
           answers = [{ from = 0, http = 400, body = '{\"message\":\"quoteId is not valid\"}' }]\n";
    let fixture = PollerFixture::new(&text, 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_until_all(|tx| !tx.needs_polling()).await;
    fixture.advance(Duration::from_secs(600)).await;
    let asked = poller.by_transaction();
    for tx in fixture.transactions().await {
        assert_eq!(asked[&tx.params.transaction_id.key()].len(), 1);
        match &tx.tracking {
            Tracking::Parked(reason) => assert!(reason.contains("quoteId is not valid"), "{reason}"),
            tracking => assert_eq!((tracking, tx.is_settled()), (&Tracking::Active, true)),
        }
    }
    assert_eq!((fixture.count("rejected").await, fixture.alerts().await), (1, vec![Rule::Rejected]));
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn answer_without_a_record_keeps_the_last_state_and_undocumented_status_is_polled_further() {
    let answers = r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 4, http = 200, body = "<html>" },
        { from = 12, status = "SUCCESS" }, { from = 40, status = "success" }"#;
    let fixture = PollerFixture::new(&scenario(1, "", answers), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_for_event("poll_failed").await;
    let tx = fixture.transactions().await.remove(0);
    assert!(has_status(&tx, &RouterStatus::Ongoing) && tx.state.last_error.unwrap().contains("HTML"));
    fixture.wait_for_event("alert_raised").await;
    let tx = fixture.transactions().await.remove(0);
    assert!(has_status(&tx, &RouterStatus::Unknown("SUCCESS".to_owned())) && tx.needs_polling());
    assert_eq!(fixture.alerts().await, [Rule::Regressed]);
    fixture.wait_until_all(Transaction::is_settled).await;
    assert_eq!(fixture.alerts().await, []);
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn overdue_is_raised_once_by_a_fresh_answer_and_cleared_by_settling() {
    let answers = r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 400, status = "success", steps = 3 }"#;
    let fixture = PollerFixture::empty(&scenario(1, "", answers), 1.0);
    let mut new = fixture.scenario.world(start()).transfers().remove(0);
    // The deadline, 15 minutes after this moment, is the 120th second: in the middle of the outage.
    new.params.submitted_at = Some(start() - TimeDelta::seconds(900 - 120));
    fixture.import(vec![new]).await;
    let poller = fixture.start(|second| {
        if (110..128).contains(&second) { ConnectionBehavior::Refused } else { ConnectionBehavior::Fine }
    });
    fixture.wait_for_event("alert_raised").await;
    let tx = fixture.transactions().await.remove(0);
    let answered_after = (fixture.clock.now().wall - start()).as_seconds_f64();
    assert!((128.0..220.0).contains(&answered_after) && tx.is_overdue(), "{answered_after}");
    assert_eq!(fixture.alerts().await, [Rule::Overdue]);

    fixture.wait_until_all(Transaction::is_settled).await;
    let of_overdue = |change: &Change| match change.kind {
        ChangeKind::AlertRaised { rule: Rule::Overdue, .. } => Some("raised"),
        ChangeKind::AlertCleared { rule: Rule::Overdue, .. } => Some("cleared"),
        _ => None,
    };
    let steps: Vec<_> = fixture.notable_changes().await.iter().filter_map(of_overdue).collect();
    assert_eq!((steps, fixture.alerts().await), (vec!["raised", "cleared"], vec![]));
    assert!(poller.requests().len() > 40, "too few polls between raise and clear");
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requested_poll_of_a_settled_transaction_is_sent_once() {
    let fixture = PollerFixture::new(&scenario(2, "", SUCCESS), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_until_all(Transaction::is_settled).await;
    let tx = fixture.transactions().await.remove(0);
    fixture.request_poll(tx.id).await;
    fixture.request_poll(tx.id).await;
    poller.wait_for_requests(3).await;
    fixture.advance(Duration::from_secs(600)).await;
    assert_eq!(poller.by_transaction()[&tx.params.transaction_id.key()].len(), 2);
    assert_eq!(poller.requests().len(), 3);
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requested_poll_is_sent_again_if_its_answer_can_not_be_stored() {
    let fixture = PollerFixture::new(&scenario(1, "", SUCCESS), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.wait_until_all(Transaction::is_settled).await;
    let db = rusqlite::Connection::open(fixture.store.path()).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON polls BEGIN SELECT RAISE(ABORT, 'no room'); END";
    db.execute_batch(refuse).unwrap();
    fixture.request_poll(fixture.transactions().await[0].id).await;
    poller.wait_for_requests(3).await;
    db.execute_batch("DROP TRIGGER refuse").unwrap();
    fixture.wait_until_all(|tx| tx.poll_requested_at.is_none()).await;
    let sent = poller.requests().len();
    fixture.advance(Duration::from_secs(600)).await;
    assert_eq!(poller.requests().len(), sent, "the stored answer was the last");
    poller.by_transaction();
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn transactions_imported_while_the_poller_runs_are_polled() {
    let fixture = PollerFixture::empty(&scenario(2, "", SUCCESS), 10.0);
    let mut batch = fixture.scenario.world(start()).transfers();
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    fixture.import(vec![batch.remove(0)]).await;
    fixture
        .wait_until(|reader| testing::load_transactions(reader).iter().filter(|tx| tx.is_settled()).count() == 1)
        .await;
    fixture.import(batch).await;
    fixture
        .wait_until(|reader| testing::load_transactions(reader).iter().filter(|tx| tx.is_settled()).count() == 2)
        .await;
    assert_eq!(poller.requests().len(), 2);
    poller.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn stopped_poller_stores_answers_in_flight_and_sends_nothing_more() {
    let fixture = PollerFixture::new(&scenario(5, "latency_ms = 1000", ONGOING), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Fine);
    poller.wait_for_requests(3).await;
    poller.stop().await.unwrap();
    assert_eq!(fixture.report().requests, 3);
    let answered = fixture.transactions().await.iter().filter(|tx| has_status(tx, &RouterStatus::Ongoing)).count();
    assert_eq!(answered, 3);
    // The store writes in order: after this write the poller's last report is stored.
    fixture.import(Vec::new()).await;
    let report = fixture.read(|reader| reader.poller("default").unwrap()).await.unwrap();
    assert_eq!((report.health.name(), report.requests), ("stopped", 3));
}

#[tokio::test(start_paused = true)]
async fn silent_service_does_not_delay_the_stop() {
    let fixture = PollerFixture::new(&scenario(1, "", ONGOING), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Silent);
    poller.wait_for_requests(1).await;
    let stopped = fixture.clock.now().mono;
    poller.stop().await.unwrap();
    let took = fixture.clock.now().mono.since(stopped);
    assert!(took <= Duration::from_secs(3), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn panic_of_a_request_ends_the_poller_with_an_error() {
    let fixture = PollerFixture::new(&scenario(2, "", ONGOING), 10.0).await;
    let poller = fixture.start(|_| ConnectionBehavior::Panics);
    let error = timeout(TEST_TIMEOUT, poller.task).await.expect("the poller did not end").unwrap().unwrap_err();
    assert!(matches!(&error, PollerError::Task(task) if task.is_panic()), "{error}");
}
