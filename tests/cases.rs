//! Whatever the service may answer, and what hoptop makes of it: one row a case.
//!
//! The answers are the shipped scenarios of faults, over real HTTP on loopback; on the right stands what the store, the
//! screen and `show --json` hold then. The rows are snapshots: read them when they change.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    fmt::Write,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use chrono::{DateTime, Offset, TimeDelta, Utc};
use hoptop::{
    api::{BaseUrl, Client, Timeouts},
    cli::{
        context::Context,
        show::{ShowArgs, show},
    },
    clock::{Clock, Mono, Now},
    domain::{
        answer::Templates,
        ids::{ChainId, RowId},
        observation::Observation,
        operation::Operation,
        quote::{Amount, QuoteObservation, QuoteRequest},
        secret::IntegratorId,
        text,
        transaction::{NewTransaction, Tracking, Transaction},
    },
    sim::{
        plan::{Answer, Content, Play, Stage, Transfer},
        scenario::Scenario,
        server,
        service::{Limits, Service},
        world::{CountsFrom, World},
    },
    store::{Known, Store},
    tui::{
        keys::Keys,
        model::{Model, Screen, Setting},
        theme::Theme,
        view::view,
    },
};
use ratatui::{Terminal, backend::TestBackend};
use serde_json::{Map, Value};
use tempfile::TempDir;

const FAULTS: &str = include_str!("../assets/scenarios/faults.toml");
const REFUSALS: &str = include_str!("../assets/scenarios/refusals.toml");
const ID: &str = "an-integrator-of-the-tests-7f3a";
/// After this an answer is given up that will never be whole.
const IMPATIENCE: Duration = Duration::from_millis(400);

/// When the first answer comes.
fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_184_767, 0).unwrap() + TimeDelta::seconds(seconds)
}

fn client(address: SocketAddr, total: Duration) -> Client {
    let base = BaseUrl::parse(&format!("http://{address}")).unwrap();
    let timeouts = Timeouts { total, ..Timeouts::default() };
    Client::new(base, IntegratorId::new(ID).unwrap(), timeouts).unwrap()
}

/// Serves a world, stopped at so long after its start, while `ask` runs.
async fn with_service<T>(world: impl FnOnce(DateTime<Utc>) -> World, ask: impl AsyncFnOnce(SocketAddr) -> T) -> T {
    let clock = Clock::accelerated(0.0);
    let limits = Limits { rps: 1e6, latency: Duration::ZERO, ..Limits::default() };
    let listener = server::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = Arc::new(Mutex::new(Service::new(world(clock.now().wall), limits)));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server::serve(listener, service, clock, async { stopped.await.unwrap_or(()) }));
    let heard = ask(address).await;
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
    heard
}

type Heard = BTreeMap<String, Vec<Observation>>;

fn transfers(text: &str) -> Vec<Transfer> {
    let world = Scenario::parse(text).unwrap().world(at(0));
    let known = |new: &NewTransaction| world.find(new.params.transaction_id.as_str()).unwrap().clone();
    world.transfers().iter().map(known).collect()
}

/// The same without anything odd: sound records only, unchanged.
fn plain(mut transfers: Vec<Transfer>) -> Vec<Transfer> {
    for transfer in &mut transfers {
        transfer.stages.retain(|stage| matches!(stage.answer, Answer::Record { .. }));
        for stage in &mut transfer.stages {
            if let Answer::Record { edits, .. } = &mut stage.answer {
                edits.clear();
            }
        }
    }
    transfers
}

/// How long to wait for an answer: short if it will never be whole, and else however busy the machine is.
fn patience(stage: &Stage) -> Duration {
    let never = matches!(&stage.answer, Answer::Http { content: Content::Play(Play::Silence | Play::Drip), .. });
    if never { IMPATIENCE } else { Timeouts::default().total }
}

/// Every answer, by transaction, in order.
async fn answers(transfers: &[Transfer]) -> Heard {
    let mut moments: Vec<_> = transfers.iter().flat_map(|transfer| &transfer.stages).map(|stage| stage.from).collect();
    moments.sort_unstable();
    moments.dedup();
    let mut heard = Heard::new();
    for moment in moments {
        let is_said = |transfer: &&Transfer| transfer.stages.iter().any(|stage| stage.from == moment);
        let world =
            |now| World::scripted(transfers.to_vec(), now - TimeDelta::from_std(moment).unwrap(), CountsFrom::Start);
        let now: Vec<_> = transfers.iter().filter(is_said).collect();
        let ask = async |address: SocketAddr| {
            let clock = Clock::system();
            let mut said = Vec::new();
            for transfer in &now {
                let stage = transfer.stages.iter().find(|stage| stage.from == moment).unwrap();
                said.push(client(address, patience(stage)).status(&transfer.new.params, &clock).await);
            }
            said
        };
        for (transfer, observation) in now.iter().zip(with_service(world, ask).await) {
            heard.entry(transfer.new.params.transaction_id.key()).or_default().push(observation);
        }
    }
    heard
}

/// What was heard, in short.
fn said(observation: &Observation) -> String {
    let status = observation.http_status.map_or_else(|| "nothing".to_owned(), |status| status.to_string());
    let body = text::clean(&observation.body.as_deref().unwrap_or_default().chars().take(100).collect::<String>());
    format!("{status} {body}")
}

fn stored(tx: &Transaction) -> String {
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

fn dashboard(store: &Store, now: Now) -> Model {
    let setting = Setting {
        profile: "default".into(),
        beside: Vec::new(),
        shown_id: None,
        demo: false,
        polls: true,
        process: 7,
        zone: Utc.fix(),
        any_chain: false,
        templates: Templates::default(),
        keys: Keys::default(),
        told_by: Vec::new(),
    };
    let mut model = Model::new(setting, (98, 120));
    let request = model.list.to_read().unwrap();
    let page = store
        .reader()
        .unwrap()
        .listing(&request.filter, now.wall)
        .page(request.place.clone(), 1_000, &Known::default())
        .unwrap();
    model.take_page(&request, page);
    model
}

/// What the opened transaction's screen says: its labelled lines, each with what is wrapped below it.
fn screen(model: &mut Model, row: RowId, now: Now) -> Vec<String> {
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

fn json(store: &Store, hash: &str, now: Now) -> Map<String, Value> {
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
        in_words: false,
    };
    show(&ShowArgs { transaction: hash.into(), json: true, raw: false, body: None }, &mut context).unwrap();
    assert_eq!(String::from_utf8(err).unwrap(), "");
    assert_inert(std::str::from_utf8(&out).unwrap().trim_end());
    let Value::Object(object) = serde_json::from_slice(&out).unwrap() else { panic!("no object") };
    object
}

/// What the fault changed in the JSON, compared with sound answers; but for times, what the screen has too, and the
/// history.
fn changed(before: &Map<String, Value>, after: &Map<String, Value>, path: &str, lines: &mut Vec<String>) {
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
        // What other transactions told of a chain stands there too.
        "chains",
    ];
    for (key, value) in after.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
        match (before.get(key), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => changed(old, new, &format!("{path}{key}."), lines),
            (_, Value::Array(steps)) if key == "steps" => {
                let step = |step: &Value| format!("{} {}", step["chainId"], step["status"]);
                lines.push(format!("steps {}", steps.iter().map(step).collect::<Vec<_>>().join(", ")));
            }
            (_, new) => lines.push(format!("{path}{key} {new}")),
        }
    }
}

/// Nothing in it may act on a terminal or deceive who reads it.
#[track_caller]
fn assert_inert(line: &str) {
    for letter in line.chars() {
        let alone = format!("x{letter}x");
        let fine = text::clean(&alone) == alone || unicode_width::UnicodeWidthChar::width(letter) == Some(0);
        assert!(fine && !letter.is_control(), "{letter:?} in {line}");
        assert!(!('\u{202a}'..='\u{202e}').contains(&letter) && !('\u{2060}'..='\u{206f}').contains(&letter), "{line}");
    }
}

/// A store that has heard all that.
fn store_of(transfers: &[Transfer], heard: &Heard) -> (TempDir, Store, Vec<RowId>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    let batch = transfers.iter().map(|transfer| transfer.new.clone()).collect();
    let track = Operation::Track { profile: "default".into(), transactions: batch };
    let rows = store.apply(track, at(-60)).wait().unwrap().tracked().unwrap().added.first;
    let keys = store.reader().unwrap().keys(&rows).unwrap();
    for (key, transfer) in keys.iter().zip(transfers) {
        let answers = heard.get(&transfer.new.params.transaction_id.key());
        for (second, observation) in (0..).map(|turn| turn * 40).zip(answers.into_iter().flatten()) {
            let (transaction, observation) = (key.clone(), Box::new(observation.clone()));
            let observed = store.apply(Operation::Observe { transaction, observation }, at(second)).wait();
            observed.unwrap().observed().unwrap();
        }
    }
    (folder, store, rows)
}

async fn table(text: &str) -> String {
    let transfers = transfers(text);
    let heard = answers(&transfers).await;
    let (_folder, store, rows) = store_of(&transfers, &heard);
    let (_other, sound, _) = store_of(&transfers, &answers(&plain(transfers.clone())).await);
    let now = Now { mono: Mono(Duration::from_secs(1_000)), wall: at(150) };
    let (mut model, mut plain_model) = (dashboard(&store, now), dashboard(&sound, now));
    let mut table = String::new();
    for (row, transfer) in rows.iter().zip(&transfers) {
        let hash = &transfer.new.params.transaction_id;
        let tx = store.reader().unwrap().listed(*row).unwrap().unwrap().transaction;
        writeln!(table, "{}", tx.params.ticket.as_deref().unwrap_or_default()).unwrap();
        for observation in &heard[&hash.key()] {
            writeln!(table, "  said    {}", said(observation)).unwrap();
        }
        writeln!(table, "  store   {}", stored(&tx)).unwrap();
        let mut lines = Vec::new();
        changed(&json(&sound, hash.as_str(), now), &json(&store, hash.as_str(), now), "", &mut lines);
        // Both stores have the same rows.
        let usual = screen(&mut plain_model, *row, now);
        let mut shown = screen(&mut model, *row, now);
        shown.retain(|line| line.starts_with("VERDICT") || !usual.contains(line));
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
async fn each_fault_is_read_as_far_as_it_can_be() {
    insta::assert_snapshot!("faults", table(FAULTS).await);
}

#[tokio::test]
async fn each_refusal_of_the_id_is_no_news_of_a_transaction() {
    insta::assert_snapshot!("refusals", table(REFUSALS).await);
}

fn wish(from_address: &str) -> QuoteRequest {
    QuoteRequest {
        from_address: from_address.into(),
        from_chain: ChainId::new("42161"),
        from_token: "0xaf88".into(),
        from_amount: Amount::parse("25000000").unwrap(),
        to_chain: ChainId::new("8453"),
        to_token: "0x8335".into(),
        to_address: from_address.into(),
        quote_only: true,
    }
}

fn quoted(wish: &QuoteRequest, observation: &QuoteObservation) -> String {
    let status = observation.http_status.map_or_else(|| "nothing".to_owned(), |status| status.to_string());
    let body = observation.body.as_deref().unwrap_or_default();
    let resolution = observation.answer.resolution().unwrap_or("-");
    let said = text::clean(&body.chars().take(110).collect::<String>());
    format!(
        "{}\n  said    {status} {said}\n  heard   {:?}\n  do      {resolution}\n\n",
        wish.from_address, observation.answer
    )
}

#[tokio::test]
async fn each_answer_about_a_route_is_read_as_far_as_it_can_be() {
    let scenario = Scenario::parse(FAULTS).unwrap();
    let scripted = FAULTS.lines().filter_map(|line| line.strip_prefix("fromAddress = \"")?.strip_suffix('"'));
    // Case (31) is about wallets that ask for call data, but for the last of them.
    let wish_of = |address: &str| QuoteRequest {
        quote_only: !address.starts_with("0x31") || address.starts_with("0x3105"),
        ..wish(address)
    };
    let scripted: Vec<_> = scripted.map(wish_of).collect();
    assert!(scripted.len() >= 20);
    let from = |change: fn(&mut QuoteRequest)| {
        let mut wish = wish("0xabc0000000000000000000000000000000000abc");
        change(&mut wish);
        wish
    };
    let call_data = |wish: &mut QuoteRequest| wish.quote_only = false;
    let own = [
        from(|_| {}),
        from(call_data),
        from(call_data),
        from(|wish| wish.from_amount = Amount::parse("5").unwrap()),
        from(|wish| wish.from_amount = Amount::parse(&"9".repeat(40)).unwrap()),
        from(|wish| wish.to_chain = ChainId::new("424242")),
        from(|wish| wish.to_token = "0xdead".into()),
        from(|wish| (wish.to_chain, wish.to_token) = (wish.from_chain.clone(), wish.from_token.clone())),
    ];
    let table = with_service(
        |now| scenario.world(now),
        async |address| {
            let clock = Clock::system();
            let mut table = String::new();
            for wish in own.iter().chain(&scripted) {
                let is_silent = wish.from_address.starts_with("0x2101");
                let client = client(address, if is_silent { IMPATIENCE } else { Timeouts::default().total });
                table += &quoted(wish, &client.quote(wish, &clock).await);
            }
            table
        },
    );
    insta::assert_snapshot!("routes", table.await);
}
