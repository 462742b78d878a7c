//! What hoptop stores and shows for each kind of answer that the service may send: one paragraph for each case.
//!
//! The answers are those of the shipped fault scenarios, sent over real HTTP on loopback. Each paragraph lists the
//! answers, then the contents of the store, the screen and `show --json`. The paragraphs are snapshots: review changes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    fmt::Write,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use chrono::{DateTime, Offset, TimeDelta, Utc};
use hoptop::internals::{
    api::{BaseUrl, Client, Timeouts},
    cli::{Context, ShowArgs, show},
    clock::{Clock, MonotonicTime, Now},
    domain::{
        Amount, ChainId, IntegratorId, NewTransaction, Observation, Operation, QuoteObservation, QuoteRequest, RowId,
        Tracking, Transaction, clean,
    },
    sim::{
        AnswerContent, CountsFrom, FaultyAnswer, PlannedAnswer, Scenario, ServiceLimits, SimulatedService,
        SimulatedWorld, Transfer, TransferStage, server,
    },
    store::{LoadedRows, Store},
    tui::{DashboardSettings, Model, Screen, Theme, view},
};
use ratatui::{Terminal, backend::TestBackend};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::net::TcpListener;

const FAULTS: &str = include_str!("../assets/scenarios/faults.toml");
const REFUSALS: &str = include_str!("../assets/scenarios/refusals.toml");
const ID: &str = "an-integrator-of-the-tests-7f3a";
/// The timeout for an answer that never becomes complete.
const SHORT_TIMEOUT: Duration = Duration::from_millis(400);

/// Returns a time in seconds after the first answer.
fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_184_767, 0).unwrap() + TimeDelta::seconds(seconds)
}

fn new_client(address: SocketAddr, total: Duration) -> Client {
    let base = BaseUrl::parse(&format!("http://{address}")).unwrap();
    let timeouts = Timeouts { total, ..Timeouts::default() };
    Client::new(base, IntegratorId::new(ID).unwrap(), timeouts).unwrap()
}

/// Serves a world over HTTP while `ask` runs. The clock of the service doesn't advance.
async fn with_service<T>(
    world: impl FnOnce(DateTime<Utc>) -> SimulatedWorld,
    ask: impl AsyncFnOnce(SocketAddr) -> T,
) -> T {
    let clock = Clock::accelerated(0.0);
    let limits = ServiceLimits { rps: 1e6, latency: Duration::ZERO, ..ServiceLimits::default() };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = Arc::new(Mutex::new(SimulatedService::new(world(clock.now().wall), limits)));
    let serving = tokio::spawn(server::serve(listener, service, clock));
    let answers = ask(address).await;
    serving.abort();
    answers
}

/// The observations of each transaction in order, by the key of its hash.
type Observations = BTreeMap<String, Vec<Observation>>;

fn parse_transfers(text: &str) -> Vec<Transfer> {
    let world = Scenario::parse(text).unwrap().world(at(0));
    let known = |new: &NewTransaction| world.find(new.params.transaction_id.as_str()).unwrap().clone();
    world.transfers().iter().map(known).collect()
}

/// Returns the transfers with their sound, unchanged records as the only answers.
fn without_faults(mut transfers: Vec<Transfer>) -> Vec<Transfer> {
    for transfer in &mut transfers {
        transfer.stages.retain(|stage| matches!(stage.answer, PlannedAnswer::Record { .. }));
        for stage in &mut transfer.stages {
            if let PlannedAnswer::Record { edits, .. } = &mut stage.answer {
                edits.clear();
            }
        }
    }
    transfers
}

/// Returns the timeout for an answer: short if it never becomes complete, else long enough for a busy machine.
fn answer_timeout(stage: &TransferStage) -> Duration {
    let is_never_complete = matches!(
        &stage.answer,
        PlannedAnswer::Http { content: AnswerContent::FaultyAnswer(FaultyAnswer::Silence | FaultyAnswer::Drip), .. }
    );
    if is_never_complete { SHORT_TIMEOUT } else { Timeouts::default().total }
}

/// Polls every answer of the transfers.
async fn poll_answers(transfers: &[Transfer]) -> Observations {
    let mut moments: Vec<_> = transfers.iter().flat_map(|transfer| &transfer.stages).map(|stage| stage.from).collect();
    moments.sort_unstable();
    moments.dedup();
    let mut observations = Observations::new();
    for moment in moments {
        let has_answer = |transfer: &&Transfer| transfer.stages.iter().any(|stage| stage.from == moment);
        let world = |now| {
            SimulatedWorld::scripted(transfers.to_vec(), now - TimeDelta::from_std(moment).unwrap(), CountsFrom::Start)
        };
        let answered: Vec<_> = transfers.iter().filter(has_answer).collect();
        let ask = async |address: SocketAddr| {
            let clock = Clock::system();
            let mut polled = Vec::new();
            for transfer in &answered {
                let stage = transfer.stages.iter().find(|stage| stage.from == moment).unwrap();
                polled.push(new_client(address, answer_timeout(stage)).status(&transfer.new.params, &clock).await);
            }
            polled
        };
        for (transfer, observation) in answered.iter().zip(with_service(world, ask).await) {
            observations.entry(transfer.new.params.transaction_id.key()).or_default().push(observation);
        }
    }
    observations
}

/// Formats the HTTP status and the start of the body.
fn format_answer(observation: &Observation) -> String {
    let status = observation.http_status.map_or_else(|| "nothing".to_owned(), |status| status.to_string());
    let body = clean(&observation.body.as_deref().unwrap_or_default().chars().take(100).collect::<String>());
    format!("{status} {body}")
}

/// Formats the stored state of a transaction.
fn format_state(tx: &Transaction) -> String {
    let tracking = match &tx.tracking {
        Tracking::Active if tx.is_settled() => "settled",
        Tracking::Active => "polled on",
        Tracking::Parked(_) => "parked",
        Tracking::Untracked => "untracked",
    };
    let status = tx.state.status.as_ref().map_or("no status", |status| status.raw());
    let failures = match tx.state.failures {
        0 => String::new(),
        failures => format!(", {failures} failed"),
    };
    let conflict = tx.state.conflict.as_ref().map_or_else(String::new, |conflict| format!(", conflict: {conflict}"));
    format!("`{status}`, {tracking}{failures}{conflict}")
}

/// Creates a dashboard that lists the store's transactions.
fn new_dashboard(store: &Store, now: Now) -> Model {
    let setting = DashboardSettings::of_profile("default", 7);
    let mut model = Model::new(setting, (98, 120));
    let request = model.list.next_request().unwrap();
    let page = store
        .reader()
        .unwrap()
        .listing(&request.filter, now.wall)
        .page(request.position.clone(), 1_000, &LoadedRows::default())
        .unwrap();
    model.apply_page(&request, page);
    model
}

/// Returns the labelled lines of a transaction's detail screen, each joined with its wrapped lines.
fn detail_lines(model: &mut Model, row: RowId, now: Now) -> Vec<String> {
    const LABELS: [&str; 11] =
        ["VERDICT", "SAY", "DO", "status", "service", "error", "last try", "timeSpent", "warning", "other", "id "];
    let place = model.list.part.rows.iter().position(|listed| *listed == row).unwrap();
    model.list.select(place);
    model.screen = Screen::Detail;
    let mut terminal = Terminal::new(TestBackend::new(98, 120)).unwrap();
    terminal.draw(|frame| view(model, &Theme::new(false, false), now, frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let rows = (0..120).map(|y| (0..98).map(|x| buffer[(x, y)].symbol()).collect::<String>());
    let (mut lines, mut within): (Vec<String>, bool) = (Vec::new(), false);
    for row in rows {
        let inner = row.trim();
        let wrapped = row.chars().skip(1).take(10).all(|letter| letter == ' ');
        let starts = !wrapped && LABELS.iter().any(|label| inner.starts_with(label));
        if starts {
            lines.push(inner.split_whitespace().collect::<Vec<_>>().join(" "));
        } else if let (true, true, Some(last)) = (within, wrapped && !inner.is_empty(), lines.last_mut()) {
            *last += &format!(" {}", inner.trim());
        }
        within = starts || (within && wrapped && !inner.is_empty());
    }
    lines
}

/// Returns the output of `show --json`.
fn show_json(store: &Store, hash: &str, now: Now) -> Map<String, Value> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut context = Context {
        store: store.clone(),
        profile: "default".into(),
        now,
        zone: Utc.fix(),
        out: &mut out,
        err: &mut err,
        ellipsis: "…",
        out_is_terminal: false,
        is_in_words: false,
    };
    show(&ShowArgs { transaction: hash.into(), json: true, raw: false, body: None }, &mut context).unwrap();
    assert_eq!(String::from_utf8(err).unwrap(), "");
    assert_inert(std::str::from_utf8(&out).unwrap().trim_end());
    let Value::Object(object) = serde_json::from_slice(&out).unwrap() else { panic!("no object") };
    object
}

/// Adds to `lines` what a fault changed in the JSON, compared with sound answers. Leaves out times, the history and
/// everything that the screen shows too.
fn add_changes(before: &Map<String, Value>, after: &Map<String, Value>, path: &str, lines: &mut Vec<String>) {
    const LEFT_OUT: [&str; 14] = [
        "polls",
        "lastCheckedAt",
        "lastChangedAt",
        "settledAt",
        "history",
        "verdict",
        "say",
        "do",
        "url",
        "status",
        "rawStatus",
        "settled",
        "firstSeenAt",
        // This also has chain data from other transactions.
        "chains",
    ];
    for (key, value) in after.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
        match (before.get(key), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => add_changes(old, new, &format!("{path}{key}."), lines),
            (_, Value::Array(steps)) if key == "steps" => {
                let step = |step: &Value| format!("{} {}", step["chainId"], step["status"]);
                lines.push(format!("steps {}", steps.iter().map(step).collect::<Vec<_>>().join(", ")));
            }
            (_, new) => lines.push(format!("{path}{key} {new}")),
        }
    }
}

/// Fails if a character could control a terminal or mislead a reader.
#[track_caller]
fn assert_inert(line: &str) {
    for letter in line.chars() {
        let alone = format!("x{letter}x");
        let fine = clean(&alone) == alone || unicode_width::UnicodeWidthChar::width(letter) == Some(0);
        assert!(fine && !letter.is_control(), "{letter:?} in {line}");
        assert!(!('\u{202a}'..='\u{202e}').contains(&letter) && !('\u{2060}'..='\u{206f}').contains(&letter), "{line}");
    }
}

/// Creates a store with the transfers and their observations.
fn fill_store(transfers: &[Transfer], observations: &Observations) -> (TempDir, Store, Vec<RowId>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    let batch = transfers.iter().map(|transfer| transfer.new.clone()).collect();
    let track = Operation::Track { profile: "default".into(), transactions: batch };
    let rows = store.apply(track, at(-60)).wait().unwrap().tracked().unwrap().added.listed;
    let keys = store.reader().unwrap().keys(&rows).unwrap();
    for (key, transfer) in keys.iter().zip(transfers) {
        let answers = observations.get(&transfer.new.params.transaction_id.key());
        for (second, observation) in (0..).map(|number| number * 40).zip(answers.into_iter().flatten()) {
            let (transaction, observation) = (key.clone(), Box::new(observation.clone()));
            let observed = store.apply(Operation::Observe { transaction, observation }, at(second)).wait();
            observed.unwrap().observed().unwrap();
        }
    }
    (folder, store, rows)
}

/// Returns the paragraphs of a scenario's cases.
async fn table(text: &str) -> String {
    let transfers = parse_transfers(text);
    let observations = poll_answers(&transfers).await;
    let (_folder, store, rows) = fill_store(&transfers, &observations);
    let (_sound_folder, sound, _) = fill_store(&transfers, &poll_answers(&without_faults(transfers.clone())).await);
    let now = Now { mono: MonotonicTime(Duration::from_secs(1_000)), wall: at(150) };
    let (mut model, mut sound_model) = (new_dashboard(&store, now), new_dashboard(&sound, now));
    let mut table = String::new();
    for (row, transfer) in rows.iter().zip(&transfers) {
        let hash = &transfer.new.params.transaction_id;
        let tx = store.reader().unwrap().list_row(*row).unwrap().unwrap().transaction;
        writeln!(table, "{}", tx.params.ticket.as_deref().unwrap_or_default()).unwrap();
        for observation in &observations[&hash.key()] {
            writeln!(table, "  said    {}", format_answer(observation)).unwrap();
        }
        writeln!(table, "  store   {}", format_state(&tx)).unwrap();
        let mut lines = Vec::new();
        add_changes(&show_json(&sound, hash.as_str(), now), &show_json(&store, hash.as_str(), now), "", &mut lines);
        // A transaction has the same row in both stores.
        let expected = detail_lines(&mut sound_model, *row, now);
        let mut shown = detail_lines(&mut model, *row, now);
        shown.retain(|line| line.starts_with("VERDICT") || !expected.contains(line));
        for (label, lines) in [("screen", shown), ("json", lines)] {
            for line in lines {
                assert_inert(&line);
                writeln!(table, "  {label:<7} {line}").unwrap();
            }
        }
        table.push('\n');
    }
    table
}

#[tokio::test]
async fn each_faulty_answer_is_decoded_as_far_as_possible() {
    insta::assert_snapshot!("faults", table(FAULTS).await);
}

#[tokio::test]
async fn refusal_of_the_id_changes_no_transaction() {
    insta::assert_snapshot!("refusals", table(REFUSALS).await);
}

fn quote_request(from_address: &str) -> QuoteRequest {
    QuoteRequest {
        from_address: from_address.into(),
        from_chain: ChainId::new("42161"),
        from_token: "0xaf88".into(),
        from_amount: Amount::parse("25000000").unwrap(),
        to_chain: ChainId::new("8453"),
        to_token: "0x8335".into(),
        to_address: from_address.into(),
        is_quote_only: true,
    }
}

/// Formats a route request's address and answer.
fn format_quote(request: &QuoteRequest, observation: &QuoteObservation) -> String {
    let status = observation.http_status.map_or_else(|| "nothing".to_owned(), |status| status.to_string());
    let body = observation.body.as_deref().unwrap_or_default();
    let resolution = observation.answer.resolution().unwrap_or("-");
    let excerpt = clean(&body.chars().take(110).collect::<String>());
    format!(
        "{}\n  said    {status} {excerpt}\n  heard   {:?}\n  do      {resolution}\n\n",
        request.from_address, observation.answer
    )
}

#[tokio::test]
async fn each_route_answer_is_decoded_as_far_as_possible() {
    let scenario = Scenario::parse(FAULTS).unwrap();
    let scripted = FAULTS.lines().filter_map(|line| line.strip_prefix("fromAddress = \"")?.strip_suffix('"'));
    // The wallets of case (31) request call data, except for the last one.
    let scripted_request = |address: &str| QuoteRequest {
        is_quote_only: !address.starts_with("0x31") || address.starts_with("0x3105"),
        ..quote_request(address)
    };
    let scripted: Vec<_> = scripted.map(scripted_request).collect();
    assert!(scripted.len() >= 20);
    let from = |change: fn(&mut QuoteRequest)| {
        let mut request = quote_request("0xabc0000000000000000000000000000000000abc");
        change(&mut request);
        request
    };
    let call_data = |request: &mut QuoteRequest| request.is_quote_only = false;
    let own = [
        from(|_| {}),
        from(call_data),
        from(call_data),
        from(|request| request.from_amount = Amount::parse("5").unwrap()),
        from(|request| request.from_amount = Amount::parse(&"9".repeat(40)).unwrap()),
        from(|request| request.to_chain = ChainId::new("424242")),
        from(|request| request.to_token = "0xdead".into()),
        from(|request| (request.to_chain, request.to_token) = (request.from_chain.clone(), request.from_token.clone())),
    ];
    let table = with_service(
        |now| scenario.world(now),
        async |address| {
            let clock = Clock::system();
            let mut table = String::new();
            for request in own.iter().chain(&scripted) {
                let is_silent = request.from_address.starts_with("0x2101");
                let client = new_client(address, if is_silent { SHORT_TIMEOUT } else { Timeouts::default().total });
                table += &format_quote(request, &client.quote(request, &clock).await);
            }
            table
        },
    );
    insta::assert_snapshot!("routes", table.await);
}
