//! Tests of replaying a log: stores that apply the same operations have the same content, whatever their row numbers.

use std::{collections::BTreeSet, sync::mpsc};

use proptest::{prelude::*, sample::select, test_runner::TestCaseError};
use serde_json::{Number, Value};

use super::*;
use crate::domain::{
    alert::SnoozeEnd,
    ids::{ChainId, TransactionKey},
    need::Need,
    notification::NotificationCursor,
    on_chain::{ChainReading, ChainVerdict, Mined, OnChainState},
    operation::{AlertKey, QuoteKey, StatusRequestKey, SubjectKey},
    record::{ChainSide, RouteStep, StatusRecord},
    team::{LogEntry, LogPosition, Nonce},
};
use crate::store::{LogEntries, payload};

const PROFILES: [&str; 2] = ["default", "prod"];
/// A label that each store refuses ([`refuse_label`]).
const REFUSED: &str = "refused";
/// The number of transactions of each profile that operations name; the last one is never tracked.
const NUMBERS: i64 = 5;

/// An operation whose target may be known only when it is applied.
#[derive(Clone, Debug)]
enum OperationDraft {
    Ready(Box<Operation>),
    /// An edit of alerts. Each alert is given by its position among the active alerts.
    Handle(&'static str, Edit<TransactionKey, usize>),
    /// An operation on a quote request, which is given by its position among the pending requests so far.
    Quote(usize, GeneratedQuote),
    /// The answer to a status request, which is given by its position among the requests so far; `None` forgets the
    /// request.
    Status(usize, Option<Observation>),
}

#[derive(Clone, Debug)]
enum GeneratedQuote {
    Withdraw(DateTime<Utc>),
    Claim,
    Answer(QuoteObservation),
}

/// An operation, and the milliseconds since the previous one; negative if the clock was set back.
type TimedOperation = (OperationDraft, i64);

fn millis(milliseconds: i64) -> DateTime<Utc> {
    at(1_700_000_000) + TimeDelta::milliseconds(milliseconds)
}

fn profile() -> impl Strategy<Value = String> {
    select(&PROFILES[..]).prop_map(str::to_owned)
}

fn moment() -> impl Strategy<Value = DateTime<Utc>> {
    (-600_000_i64..9_000_000).prop_map(millis)
}

fn words(of: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(select(of).prop_map(str::to_owned), 0..=most)
}

fn maybe(of: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    prop::option::of(select(of).prop_map(str::to_owned))
}

fn params() -> impl Strategy<Value = TransactionParams> {
    (
        1..NUMBERS,
        (select(&["8453", "424242"][..]), select(&["", "-b"][..]), maybe(&["r1", "r2"])),
        prop::option::of(0_u64..3_000_000),
        prop::option::of(moment()),
        (maybe(&["0xAb", "0xCd"]), maybe(&["SUP-1", "SUP-2"])),
        any::<bool>(),
    )
        .prop_map(|(number, (to, quote, request_id), estimate, submitted_at, (from_address, ticket), upper)| {
            let of = fixtures::params(number);
            let hash = of.transaction_id.as_str();
            TransactionParams {
                transaction_id: if upper { TxHash::new(hash.replace("00", "0A0")) } else { of.transaction_id },
                to_chain: ChainId::new(to),
                quote_id: format!("{}{quote}", of.quote_id),
                estimate: estimate.map(Duration::from_millis),
                request_id,
                submitted_at,
                from_address,
                ticket,
                ..of
            }
        })
}

fn new_transaction() -> impl Strategy<Value = NewTransaction> {
    let labels = words(&["vip", "late", "VIP", "late", "vip", "batch", REFUSED], 2);
    (params(), labels, words(&["asked", "called"], 2), prop::option::of(moment()), prop::bool::weighted(0.1)).prop_map(
        |(params, labels, notes, first_seen_at, untracked)| NewTransaction {
            params,
            labels,
            notes,
            first_seen_at,
            is_untracked: untracked,
        },
    )
}

/// Generates the key of a transaction that may be tracked.
fn key() -> impl Strategy<Value = TransactionKey> {
    (profile(), 1..=NUMBERS).prop_map(|(profile, number)| {
        let params = fixtures::params(number);
        TransactionKey { profile, from_chain: params.from_chain, hash: params.transaction_id }
    })
}

fn keys() -> impl Strategy<Value = Vec<TransactionKey>> {
    prop::collection::vec(key(), 0..4)
}

fn chain() -> impl Strategy<Value = ChainConfig> {
    (select(&["42161", "424242"][..]), maybe(&["Newly made", "Élysée"]), prop::option::of(0.0..9.0)).prop_map(
        |(id, name, fee): (_, _, Option<f64>)| ChainConfig {
            name,
            bridge_fee_multiplier: fee.and_then(Number::from_f64),
            ..ChainConfig::bare(ChainId::new(id))
        },
    )
}

fn record() -> impl Strategy<Value = StatusRecord> {
    let mut statuses = RouterStatus::DOCUMENTED.to_vec();
    statuses.extend([RouterStatus::Ongoing, RouterStatus::NeedsGas, RouterStatus::Unknown("settling".into())]);
    (
        select(statuses),
        prop::option::of(any::<bool>()),
        (maybe(&["Arbitrum One"]), maybe(&["Newly made"]), select(&["8453", "424242"][..])),
        0_usize..3,
        prop::option::of(0.0..900.0),
        maybe(&["r1", "r3"]),
    )
        .prop_map(
            |(status, is_gmp, (from, to, to_chain), steps, total, request_id): (_, _, _, _, Option<f64>, _)| {
                let side =
                    |id, chain_name| ChainSide { chain_id: Some(ChainId::new(id)), chain_name, ..ChainSide::default() };
                let step = |index: usize| RouteStep { action: Some(format!("step {index}")), ..RouteStep::default() };
                StatusRecord {
                    is_gmp,
                    from: side("42161", from),
                    to: side(to_chain, to),
                    steps: (0..steps).map(step).collect(),
                    time_spent: total.map(|total| ("total".to_owned(), Value::from(total))).into_iter().collect(),
                    request_id,
                    ..StatusRecord::bare(status)
                }
            },
        )
}

/// Returns the body of a record: long, and mostly equal to other bodies.
fn body_of(record: &StatusRecord) -> String {
    let filling = "a route over some bridges ".repeat(20);
    let time = serde_json::to_string(&record.time_spent).unwrap();
    format!(r#"{{"routerTransactionStatus":"{}","words":"{filling}","timeSpent":{time}}}"#, record.status.raw())
}

fn failure() -> impl Strategy<Value = RequestFailure> {
    prop_oneof![
        Just(RequestFailure::Transport("reset".into())),
        Just(RequestFailure::TimedOut(Duration::from_secs(20))),
        Just(RequestFailure::Server { status: 502, message: "<html>".into() }),
        Just(RequestFailure::Unreadable("no".into())),
        Just(RequestFailure::OtherTransaction("0xab".into())),
        Just(RequestFailure::Unauthorized("who?".into())),
        Just(RequestFailure::Throttled { message: None, retry_after: Some(Duration::from_millis(1_500)) }),
        Just(RequestFailure::Rejected("quoteId is wrong".into())),
    ]
}

fn observation() -> impl Strategy<Value = Observation> {
    let outcome = prop_oneof![
        8 => record().prop_map(|record| StatusOutcome::Record(Box::new(record))),
        2 => maybe(&["not indexed", "wait"]).prop_map(StatusOutcome::NotFound),
        3 => failure().prop_map(StatusOutcome::Failed),
    ];
    let answer = (prop::bool::weighted(0.8), 0_u64..9_000_000, maybe(&["req-1", "req-2"]));
    (outcome, answer, prop::collection::vec(chain(), 0..2)).prop_map(
        |(outcome, (has_body, latency, response_id), chains)| {
            let (http_status, body) = match &outcome {
                StatusOutcome::Record(record) => (Some(200), Some(body_of(record))),
                StatusOutcome::NotFound(message) => (Some(404), Some(format!(r#"{{"message":{message:?}}}"#))),
                StatusOutcome::Failed(RequestFailure::Transport(_) | RequestFailure::TimedOut(_)) => (None, None),
                StatusOutcome::Failed(failure) => (Some(500), Some(failure.to_string())),
            };
            let body = body.filter(|_| has_body);
            Observation { outcome, http_status, latency: Duration::from_micros(latency), body, chains, response_id }
        },
    )
}

fn reading() -> impl Strategy<Value = ChainReading> {
    let mined = (1_u64..3, prop::option::of(-90_i64..90), 1_u64..99).prop_map(|(block, time, confirmations)| Mined {
        block,
        time: time.map(|time| millis(time * 1_000)),
        confirmations,
    });
    let verdict = prop_oneof![
        mined.clone().prop_map(ChainVerdict::Succeeded),
        mined.prop_map(ChainVerdict::Reverted),
        Just(ChainVerdict::Pending),
        Just(ChainVerdict::Dropped),
        Just(ChainVerdict::Elsewhere(ChainId::new("10"))),
        Just(ChainVerdict::Unknown(vec![ChainId::new("8453")])),
        Just(ChainVerdict::CannotBeAsked("no node".into())),
    ];
    (verdict, maybe(&["0xaa"]), prop::option::of(0_u64..9)).prop_map(|(verdict, from, nonce)| ChainReading {
        from,
        nonce,
        node: "node.example".into(),
        ..ChainReading::without_node(verdict)
    })
}

/// A transaction on the destination chain.
fn destination() -> (ChainId, TxHash) {
    (ChainId::new("8453"), TxHash::new("0xd"))
}

fn on_chain() -> impl Strategy<Value = OnChainState> {
    (reading(), prop::option::of(reading()), moment()).prop_map(|(source, second, at)| {
        OnChainState::after(None, source, second.map(|second| (destination(), second)), at)
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        2 => keys().prop_map(|transactions| Edit::Untrack { transactions }),
        1 => keys().prop_map(|transactions| Edit::AddNote { transactions, text: "seen".into() }),
        1 => keys().prop_map(|transactions| Edit::RemoveNote { transactions, text: "seen".into() }),
        1 => (keys(), select(&["10", "42161"][..]))
            .prop_map(|(transactions, chain)| Edit::CorrectSource { transactions, chain: ChainId::new(chain) }),
        1 => (keys(), maybe(&["SUP-1", "SUP-3"])).prop_map(|(transactions, ticket)| Edit::SetTicket { transactions, ticket }),
        1 => (keys(), words(&["vip", "late", "batch", "vip", "late", REFUSED], 2), words(&["vip", "late"], 2))
            .prop_map(|(transactions, add, remove)| Edit::ChangeLabels { transactions, add, remove }),
    ]
}

fn handling() -> impl Strategy<Value = Edit<TransactionKey, usize>> {
    let alerts = || prop::collection::vec(0_usize..9, 1..4);
    let until = prop_oneof![Just(SnoozeEnd::Change), moment().prop_map(SnoozeEnd::Until)];
    prop_oneof![
        (alerts(), maybe(&["mine", "yours"])).prop_map(|(alerts, note)| Edit::Acknowledge { alerts, note }),
        (alerts(), until).prop_map(|(alerts, until)| Edit::Snooze { alerts, until }),
        alerts().prop_map(|alerts| Edit::Unacknowledge { alerts }),
    ]
}

fn event() -> impl Strategy<Value = ProfileEvent> {
    let words = || "too much".to_owned();
    select(vec![
        ProfileEvent::Throttled(words()),
        ProfileEvent::Unauthorized(words()),
        ProfileEvent::Unreachable(words()),
        ProfileEvent::Recovered,
        ProfileEvent::BudgetShort(words()),
        ProfileEvent::BudgetSufficient,
    ])
}

fn poller_report() -> impl Strategy<Value = PollerReport> {
    let health = select(vec![PollerHealth::Live, PollerHealth::Waiting, PollerHealth::Throttled]);
    (0.1..50.0, 0.0..1.0, prop::option::of(0.0..90.0), 7_u32..9, 0_u64..90, 0_u64..30_000, health).prop_map(
        |(rps, share, polls, process, requests, running, health): (_, _, Option<f64>, _, _, _, _)| PollerReport {
            rps,
            share,
            need: polls.map(|polls| Need { polls, ..Need::default() }),
            process,
            requests,
            failed: requests / 3,
            running: Duration::from_millis(running),
            health,
            ..PollerReport::default()
        },
    )
}

fn quote_request() -> impl Strategy<Value = QuoteRequest> {
    (any::<bool>(), select(&["0xAb", "0xab", "0xCd"][..])).prop_map(|(quote_only, from)| request(quote_only, from))
}

fn quote_answer() -> impl Strategy<Value = QuoteObservation> {
    let quote_id = select(&["quote-1", "quote-2-b"][..]);
    let answer = prop_oneof![
        (quote_id, 1_u64..900_000).prop_map(|(id, estimate)| QuoteAnswer::Route(Quote {
            quote_id: Some(id.to_owned()),
            estimate: Some(Duration::from_millis(estimate)),
            warnings: Vec::new(),
        })),
        (1_u64..60).prop_map(|seconds| QuoteAnswer::WalletLimited {
            message: "Too many".into(),
            retry_after: Duration::from_secs(seconds)
        }),
        failure().prop_map(QuoteAnswer::Failed),
    ];
    answer.prop_map(quote_observation)
}

fn draft() -> impl Strategy<Value = OperationDraft> {
    use Operation::*;
    let batch = || prop::collection::vec(new_transaction(), 1..5);
    let quote = prop_oneof![
        moment().prop_map(GeneratedQuote::Withdraw),
        Just(GeneratedQuote::Claim),
        quote_answer().prop_map(GeneratedQuote::Answer),
        quote_answer().prop_map(GeneratedQuote::Answer),
    ];
    let ready = prop_oneof![
        5 => (profile(), batch()).prop_map(|(profile, transactions)| Track { profile, transactions }),
        20 => (key(), observation())
            .prop_map(|(transaction, observation)| Observe { transaction, observation: Box::new(observation) }),
        6 => (key(), on_chain())
            .prop_map(|(transaction, on_chain)| ObserveChain { transaction, on_chain: Box::new(on_chain) }),
        1 => keys().prop_map(|transactions| RequestChainCheck { transactions }),
        3 => (profile(), edit()).prop_map(|(profile, edit)| Edit { profile, edit }),
        4 => profile().prop_map(|profile| Undo { profile }),
        3 => profile().prop_map(|profile| Redo { profile }),
        1 => keys().prop_map(|transactions| Delete { transactions }),
        1 => keys().prop_map(|transactions| DropBodies { transactions }),
        1 => keys().prop_map(|transactions| RequestPoll { transactions }),
        1 => (profile(), prop::option::of(moment())).prop_map(|(profile, until)| Pause { profile, until }),
        3 => (profile(), quote_request(), moment())
            .prop_map(|(profile, request, wanted_until)| RequestQuote { profile, request, wanted_until }),
        2 => (profile(), params(), moment())
            .prop_map(|(profile, params, wanted_until)| RequestStatus { profile, params, wanted_until }),
        3 => (profile(), event()).prop_map(|(profile, event)| RecordProfileEvent { profile, event }),
        2 => (profile(), poller_report())
            .prop_map(|(profile, report)| ReportPolling { profile, report: Box::new(report) }),
        1 => (profile(), maybe(&["refused"]), 0_i64..99).prop_map(|(profile, error, seq)| {
            MoveNotificationCursor { profile, cursor: NotificationCursor { channel: "webhook".into(), seq, error } }
        }),
    ];
    prop_oneof![
        12 => ready.prop_map(|operation| OperationDraft::Ready(Box::new(operation))),
        2 => (select(&PROFILES[..]), handling()).prop_map(|(profile, edit)| OperationDraft::Handle(profile, edit)),
        1 => (0_usize..4, quote).prop_map(|(index, quote)| OperationDraft::Quote(index, quote)),
        1 => (0_usize..4, prop::option::of(observation())).prop_map(|(index, answer)| OperationDraft::Status(index, answer)),
    ]
}

fn drafts() -> impl Strategy<Value = Vec<TimedOperation>> {
    // Often at the same time as the previous operation, rarely before it.
    let pause = prop_oneof![2 => Just(0), 6 => 1_i64..30_000, 3 => 30_000_i64..400_000, 1 => -9_000_i64..0];
    let tracked = |profile: &str| {
        let transactions = (1..NUMBERS - 1).map(fixtures::new).collect();
        (OperationDraft::Ready(Box::new(Operation::Track { profile: profile.to_owned(), transactions })), 1)
    };
    prop::collection::vec((draft(), pause), 1..80)
        .prop_map(move |drafts| PROFILES.map(tracked).into_iter().chain(drafts).collect())
}

/// Makes a store refuse a label, so that an operation with the label fails after some of its writes.
pub(super) fn refuse_label(store: &Store) {
    let sql = format!(
        "CREATE TRIGGER refused BEFORE INSERT ON labels WHEN new.label = '{REFUSED}'
         BEGIN SELECT RAISE(ABORT, 'refused'); END"
    );
    Connection::open(store.path()).unwrap().execute_batch(&sql).unwrap();
}

/// Makes an empty store begin with other row numbers than a new store.
fn shift_row_ids(store: &Store) {
    let db = Connection::open(store.path()).unwrap();
    let tables = [
        "transactions",
        "notes",
        "observations",
        "alerts",
        "edits",
        "quotes",
        "durations",
        "dictionaries",
        "status_requests",
    ];
    for (table, skipped) in tables.iter().zip((1..).map(|index| index * 37)) {
        db.execute("DELETE FROM sqlite_sequence WHERE name = ?", [table]).unwrap();
        db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, skipped)).unwrap();
    }
}

/// Returns targets that no test's store contains.
fn absent_targets() -> Targets {
    let transaction = fixtures::transaction(99).key();
    let quote = QuoteKey { profile: "default".into(), request: request(true, "0x99"), asked_at: millis(1) };
    let status = StatusRequestKey { profile: "default".into(), params: fixtures::params(99), asked_at: millis(1) };
    let about = SubjectKey::Transaction(transaction.clone());
    Targets { alert: AlertKey { about, rule: Rule::NeedsGas, raised_at: millis(1) }, transaction, quote, status }
}

/// Applies drafts one by one. Returns the resulting operations with their times, and whether each one succeeded.
fn apply_each(store: &Store, drafts: &[TimedOperation]) -> Vec<(Operation, DateTime<Utc>, bool)> {
    let (mut applied, mut quotes, mut statuses, mut now) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (draft, pause) in drafts {
        now += pause;
        let reader = store.reader().unwrap();
        let operation = match draft {
            OperationDraft::Ready(operation) => Operation::clone(operation),
            OperationDraft::Handle(profile, edit) => {
                let active = reader.alerts(AlertQuery::Active).unwrap();
                let alert = |index: usize| {
                    let key = active.get(index % (active.len() + 1)).map(|alert| alert_key(&reader, alert.id));
                    Ok::<_, StoreError>(Some(key.unwrap_or_else(|| absent_targets().alert)))
                };
                let edit = edit.clone().resolve(|key| Ok(Some(key)), alert).unwrap();
                Operation::Edit { profile: (*profile).to_owned(), edit }
            }
            OperationDraft::Quote(index, draft) => {
                let quote = quotes.get(index % (quotes.len() + 1)).cloned().unwrap_or_else(|| absent_targets().quote);
                match draft.clone() {
                    GeneratedQuote::Withdraw(wanted_until) => Operation::WithdrawQuote { quote, wanted_until },
                    GeneratedQuote::Claim => Operation::ClaimQuote { quote },
                    GeneratedQuote::Answer(observation) => Operation::AnswerQuote { quote, observation },
                }
            }
            OperationDraft::Status(index, answer) => {
                let request =
                    statuses.get(index % (statuses.len() + 1)).cloned().unwrap_or_else(|| absent_targets().status);
                match answer.clone().map(Box::new) {
                    Some(observation) => Operation::AnswerStatus { request, observation },
                    None => Operation::ForgetStatus { request },
                }
            }
        };
        let outcome = testing::apply(&as_someone(store, millis(now)), operation.clone(), millis(now));
        if let Ok(OperationResult::Asked(QuoteSubmission::Pending { quote, .. })) = &outcome {
            quotes.push(QuoteKey::clone(quote));
        }
        if let (Operation::RequestStatus { profile, params, .. }, Ok(_)) = (&operation, &outcome) {
            let (profile, params) = (profile.clone(), params.clone());
            statuses.push(StatusRequestKey { profile, params, asked_at: millis(now) });
        }
        applied.push((operation, millis(now), outcome.is_ok()));
    }
    applied
}

fn request_status(store: &Store, number: i64, seconds: i64) -> StatusRequestKey {
    let (profile, params) = ("default".to_owned(), fixtures::params(number));
    let request = Operation::RequestStatus { profile: profile.clone(), params: params.clone(), wanted_until: at(60) };
    testing::apply(store, request, at(seconds)).unwrap();
    StatusRequestKey { profile, params, asked_at: at(seconds) }
}

fn alert_key(reader: &Reader, id: i64) -> AlertKey {
    let edit = Edit::Unacknowledge { alerts: vec![id] };
    match reader.resolve(edit).unwrap() {
        Edit::Unacknowledge { alerts } => alerts.into_iter().next().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Returns the batch without duplicate transactions; `None` if it has some.
fn distinct(transactions: &[NewTransaction]) -> Option<Vec<NewTransaction>> {
    let hashes: BTreeSet<String> = transactions.iter().map(|new| new.params.transaction_id.key()).collect();
    (hashes.len() == transactions.len()).then(|| transactions.to_vec())
}

/// Returns the store of the person who acts at a moment: one of two names, or none.
fn as_someone(store: &Store, at: DateTime<Utc>) -> Store {
    let author = match at.timestamp_millis().rem_euclid(3) {
        0 => None,
        1 => Some("Ana"),
        _ => Some("Bob"),
    };
    store.clone().with_author(author.map(str::to_owned))
}

/// Applies operations as read from a log, `batch_size` in one commit. Returns whether each one succeeded.
fn apply_together(store: &Store, operations: &[(Operation, DateTime<Utc>, bool)], batch_size: usize) -> Vec<bool> {
    let mut kept = Vec::new();
    for chunk in operations.chunks(batch_size) {
        // Holds the writer until all operations wait, so that they are committed together.
        let (go_on, held) = mpsc::channel::<()>();
        let holding = testing::with_writer(store, move |_| {
            held.recv().unwrap_err();
            Ok(())
        });
        let submit = |(operation, at, _): &(Operation, DateTime<Utc>, bool)| {
            let store = as_someone(store, *at);
            let envelope = Envelope::new(operation.clone(), Stamp::new(*at, store.author()));
            let read: Envelope = serde_json::from_str(&serde_json::to_string(&envelope).unwrap()).unwrap();
            match &read.operation {
                Operation::Track { profile, transactions } if let Some(rows) = distinct(transactions) => {
                    store.track_batch(profile, Box::new(rows), read.stamp.at)
                }
                _ => store.apply(read.operation, read.stamp.at),
            }
        };
        let receipts: Vec<Receipt> = chunk.iter().map(submit).collect();
        drop(go_on);
        holding.wait().unwrap();
        kept.extend(receipts.into_iter().map(|receipt| receipt.wait().is_ok()));
    }
    kept
}

/// Applies operations as a replica reads them from the log, `batch_size` in one entry, and the entries in two turns
/// that overlap. Returns whether each one succeeded.
fn apply_from_log(store: &Store, operations: &[(Operation, DateTime<Utc>, bool)], batch_size: usize) -> Vec<bool> {
    type Done = (Operation, DateTime<Utc>, bool);
    let entry = |(seq, chunk): (u64, &[Done])| {
        let envelope = |(operation, at, _): &Done| {
            Envelope::new(operation.clone(), Stamp::new(*at, as_someone(store, *at).author()))
        };
        let envelopes: Vec<Envelope> = chunk.iter().map(envelope).collect();
        let payload = payload::encode(&envelopes.iter().collect::<Vec<_>>()).unwrap();
        LogEntry { position: LogPosition { seq, nonce: Nonce(seq.into()) }, author: None, payload }
    };
    let entries: Vec<LogEntry> = (1..).zip(operations.chunks(batch_size)).map(entry).collect();
    let replicate = |entries: &[LogEntry]| {
        let entries = LogEntries { team: Nonce(7), entries: entries.to_vec(), own: Vec::new(), is_light: false };
        store.replicate(entries).wait().unwrap().replicated().unwrap().results
    };
    let middle = entries.len() / 2;
    let mut results = replicate(&entries[..middle]);
    results.extend(replicate(&entries[middle.saturating_sub(1)..]));
    assert!(results.iter().map(|(seq, _)| *seq).eq(1..=entries.len() as u64));
    results.into_iter().flat_map(|(_, results)| results).map(|result| result.is_ok()).collect()
}

fn checksums(store: &Store) -> Vec<TableChecksum> {
    store.reader().unwrap().checksums().unwrap()
}

/// Checks that the summary of each transaction agrees with its record, and with the listed transaction.
fn check_headers(store: &Store) -> Result<(), TestCaseError> {
    let reader = store.reader().unwrap();
    for whole in reader.load().unwrap().0 {
        let header = reader.header(whole.id).unwrap().unwrap();
        prop_assert_eq!((header.from_name(), header.to_name()), (whole.from_name(), whole.to_name()));
        prop_assert_eq!(RouteKey::of(&header), RouteKey::of(&whole));
        let listed = reader.list_row(whole.id).unwrap().unwrap();
        let response_ids = whole.response_ids.clone();
        let filled =
            crate::domain::transaction::Transaction { response_ids, ..header.with_record(whole.record.clone()) };
        prop_assert_eq!(&filled, &listed.transaction);
        prop_assert_eq!(&whole, &listed.transaction);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn stores_with_the_same_operations_are_equal_despite_other_row_numbers_and_commits(
        drafts in drafts(),
        batch_size in 2_usize..9,
    ) {
        let ((_first, first), (_second, second)) = (open(), open());
        refuse_label(&first);
        refuse_label(&second);
        shift_row_ids(&second);
        let operations = apply_each(&first, &drafts);
        let kept: Vec<bool> = operations.iter().map(|(.., is_kept)| *is_kept).collect();
        prop_assert_eq!(apply_together(&second, &operations, batch_size), kept.clone());
        let (_replica, replica) = open();
        refuse_label(&replica);
        prop_assert_eq!(apply_from_log(&replica, &operations, batch_size), kept);
        for other in [&second, &replica] {
            for (one, other) in checksums(&first).into_iter().zip(checksums(other)) {
                prop_assert_eq!(one, other, "{:#?}", operations);
            }
        }
        let rows = |store: &Store| -> BTreeSet<RowId> {
            store.reader().unwrap().load().unwrap().0.into_iter().map(|transaction| transaction.id).collect()
        };
        prop_assert!(rows(&first).is_disjoint(&rows(&second)));
        for store in [&first, &second, &replica] {
            prop_assert_eq!(store.reader().unwrap().damaged_values(9).unwrap(), [], "{:#?}", operations);
        }
        check_headers(&first)?;
        check_headers(&second)?;
    }
}

#[test]
fn batch_makes_the_same_store_as_the_track_operation() {
    let ((_first, first), (_second, second)) = (open(), open());
    shift_row_ids(&second);
    // Large enough that indexes are dropped during the import, and not a multiple of the number of rows per insert.
    let batch: Vec<NewTransaction> = (1..=4_117)
        .map(|number| {
            let words = vec![format!("of {number}")];
            NewTransaction { labels: words.clone(), notes: words, ..fixtures::new(number) }
        })
        .collect();
    for store in [&first, &second] {
        let id = pending_id(ask(store, true, "0xAb", 0));
        testing::answer_quote(store, id, route("quote-7", 900), at(1));
    }
    for (at, known) in [(at(2), 0), (at(3), 17)] {
        let mut batch = batch[..4_100 + known].to_vec();
        batch[5].params.ticket = Some(format!("SUP-{known}"));
        let rows = distinct(&batch).unwrap();
        let one = testing::track(&first, "default", batch, at);
        let other = second.track_batch("default", Box::new(rows), at).wait().unwrap().tracked().unwrap();
        let counts = |report: &ImportReport| {
            (report.added.count, report.updated.count, report.unchanged.count, report.completed.count)
        };
        assert_eq!(counts(&one), counts(&other));
        assert_eq!(checksums(&first), checksums(&second));
    }
    for store in [&first, &second] {
        testing::undo(store, "default", at(4)).unwrap();
        testing::undo(store, "default", at(5)).unwrap();
        testing::redo(store, "default", at(6)).unwrap();
    }
    assert_eq!(checksums(&first), checksums(&second));
}

#[test]
fn transaction_named_twice_is_deleted_once() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let key = testing::key(&store, row);
    let upper = TransactionKey { hash: TxHash::new(key.hash.as_str().replace("0x", "0X")), ..key.clone() };
    let deleted = testing::apply(&store, Operation::Delete { transactions: vec![key.clone(), upper, key] }, at(1));
    assert_eq!(deleted.unwrap().changed().unwrap(), 1);
    assert_eq!(names(store.reader().unwrap().changes_after(0, 9).unwrap()), ["deleted"]);
}

/// The targets of operations.
struct Targets {
    transaction: TransactionKey,
    alert: AlertKey,
    quote: QuoteKey,
    status: StatusRequestKey,
}

/// Returns an operation of each variant, and of each kind within a variant, on these targets.
fn operations_of_each_variant(Targets { transaction, alert, quote, status }: &Targets) -> Vec<Operation> {
    let (profile, transactions) = (transaction.profile.clone(), vec![transaction.clone()]);
    let alerts = || vec![alert.clone()];
    let record = StatusRecord {
        time_spent: [("total".to_owned(), Value::from(0.1 + 0.2))].into_iter().collect(),
        other: [("new".to_owned(), "{}".to_owned())].into_iter().collect(),
        ..StatusRecord::bare(RouterStatus::Unknown("settling".into()))
    };
    let failures = [
        RequestFailure::Rejected("no".into()),
        RequestFailure::Throttled { message: None, retry_after: Some(Duration::from_millis(1)) },
        RequestFailure::Server { status: 502, message: "<html>".into() },
        RequestFailure::TimedOut(Duration::from_millis(20_001)),
    ];
    let outcomes = failures.clone().into_iter().map(StatusOutcome::Failed);
    let outcomes =
        outcomes.chain([StatusOutcome::Record(Box::new(record)), StatusOutcome::NotFound(Some("wait".into()))]);
    let chains =
        vec![ChainConfig { bridge_fee_multiplier: Number::from_f64(1.1), ..ChainConfig::bare(ChainId::new("424242")) }];
    let observations = outcomes.map(|outcome| Operation::Observe {
        transaction: transaction.clone(),
        observation: Box::new(Observation {
            body: Some("{}".into()),
            chains: chains.clone(),
            ..fixtures::answer(outcome)
        }),
    });
    let edits = [
        Edit::Untrack { transactions: transactions.clone() },
        Edit::AddNote { transactions: transactions.clone(), text: "asked".into() },
        Edit::RemoveNote { transactions: transactions.clone(), text: "asked".into() },
        Edit::SetTicket { transactions: transactions.clone(), ticket: Some("SUP-1".into()) },
        Edit::SetTicket { transactions: transactions.clone(), ticket: None },
        Edit::ChangeLabels { transactions: transactions.clone(), add: vec!["vip".into()], remove: vec!["late".into()] },
        Edit::Acknowledge { alerts: alerts(), note: Some("mine".into()) },
        Edit::Snooze { alerts: alerts(), until: SnoozeEnd::Until(millis(1_234)) },
        Edit::Snooze { alerts: alerts(), until: SnoozeEnd::Change },
        Edit::Unacknowledge { alerts: alerts() },
        Edit::CorrectSource { transactions: transactions.clone(), chain: ChainId::new("10") },
    ];
    let edits = edits.map(|edit| Operation::Edit { profile: profile.clone(), edit });
    let events = [
        ProfileEvent::Throttled("a".into()),
        ProfileEvent::Unauthorized("b".into()),
        ProfileEvent::Unreachable("c".into()),
        ProfileEvent::Recovered,
        ProfileEvent::BudgetShort("d".into()),
        ProfileEvent::BudgetSufficient,
    ];
    let events = events.map(|event| Operation::RecordProfileEvent { profile: profile.clone(), event });
    let limited = QuoteAnswer::WalletLimited { message: "Too many".into(), retry_after: Duration::from_millis(1_500) };
    let answers = failures.into_iter().map(QuoteAnswer::Failed).map(quote_observation);
    let answers = answers.chain([quote_observation(limited), route("quote-1", 900)]);
    let answers = answers.map(|observation| Operation::AnswerQuote { quote: quote.clone(), observation });
    let new = NewTransaction {
        params: TransactionParams {
            submitted_at: Some(millis(1)),
            estimate: Some(Duration::from_millis(2)),
            ..fixtures::params(1)
        },
        labels: vec!["vip".into()],
        notes: vec!["asked".into()],
        first_seen_at: Some(millis(3)),
        is_untracked: true,
    };
    let report = PollerReport {
        valid_until: millis(9),
        rps: 1.0 / 3.0,
        need: Some(Need { polls: 0.1 + 0.7, ..Need::default() }),
        running: Duration::from_millis(77),
        health: PollerHealth::Live,
        paused_until: Some(millis(5)),
        ..PollerReport::default()
    };
    let mined = Mined { block: 7, time: Some(millis(6_000)), confirmations: 3 };
    let second = ChainReading::without_node(ChainVerdict::Unknown(vec![ChainId::new("1")]));
    let source = ChainReading::without_node(ChainVerdict::Reverted(mined));
    let on_chain = OnChainState::after(None, source, Some((destination(), second)), millis(1));
    let cursor = NotificationCursor { channel: "webhook".into(), seq: 7, error: Some("refused".into()) };
    let others = [
        Operation::Track { profile: profile.clone(), transactions: vec![new, fixtures::new(2)] },
        Operation::Undo { profile: profile.clone() },
        Operation::Redo { profile: profile.clone() },
        Operation::Delete { transactions: transactions.clone() },
        Operation::DropBodies { transactions: transactions.clone() },
        Operation::RequestPoll { transactions: transactions.clone() },
        Operation::RequestChainCheck { transactions },
        Operation::ObserveChain { transaction: transaction.clone(), on_chain: Box::new(on_chain) },
        Operation::Pause { profile: profile.clone(), until: Some(millis(4)) },
        Operation::Pause { profile: profile.clone(), until: None },
        Operation::RequestQuote { profile: profile.clone(), request: quote.request.clone(), wanted_until: millis(6) },
        Operation::WithdrawQuote { quote: quote.clone(), wanted_until: millis(60_000) },
        Operation::ClaimQuote { quote: quote.clone() },
        Operation::ReportPolling { profile: profile.clone(), report: Box::new(report) },
        Operation::MoveNotificationCursor { profile, cursor },
    ];
    let of_status = operations_on(status);
    observations.chain(edits).chain(events).chain(answers).chain(others).chain(of_status).collect()
}

fn operations_on(request: &StatusRequestKey) -> [Operation; 3] {
    let StatusRequestKey { profile, params, .. } = request.clone();
    let observation = Box::new(fixtures::answer(StatusOutcome::NotFound(None)));
    [
        Operation::RequestStatus { profile, params, wanted_until: millis(6) },
        Operation::AnswerStatus { request: request.clone(), observation },
        Operation::ForgetStatus { request: request.clone() },
    ]
}

/// Returns the name of an operation's variant, and whether it affects only targets named by keys. A new variant must be
/// added here.
fn describe_variant(operation: &Operation) -> (&'static str, bool) {
    match operation {
        Operation::Track { .. } => ("track", false),
        Operation::Observe { .. } => ("observe", true),
        Operation::ObserveChain { .. } => ("observe_chain", true),
        Operation::RequestChainCheck { .. } => ("request_chain", true),
        Operation::Edit { .. } => ("edit", true),
        Operation::Undo { .. } => ("undo", false),
        Operation::Redo { .. } => ("redo", false),
        Operation::Delete { .. } => ("delete", true),
        Operation::DropBodies { .. } => ("drop_bodies", true),
        Operation::RequestPoll { .. } => ("request_poll", true),
        Operation::Pause { .. } => ("pause", false),
        Operation::RequestQuote { .. } => ("ask_quote", false),
        Operation::WithdrawQuote { .. } => ("withdraw_quote", true),
        Operation::ClaimQuote { .. } => ("claim_quote", true),
        Operation::AnswerQuote { .. } => ("answer_quote", true),
        Operation::RequestStatus { .. } => ("request_status", false),
        Operation::AnswerStatus { .. } => ("answer_status", true),
        Operation::ForgetStatus { .. } => ("forget_status", true),
        Operation::RecordProfileEvent { .. } => ("record_profile_event", false),
        Operation::ReportPolling { .. } => ("report_polling", false),
        Operation::MoveNotificationCursor { .. } => ("move_notification_cursor", false),
    }
}

#[test]
fn every_operation_survives_a_json_round_trip() {
    let operations = operations_of_each_variant(&absent_targets());
    let names: BTreeSet<_> = operations.iter().map(|operation| describe_variant(operation).0).collect();
    assert_eq!(names.len(), 21, "{names:?}");
    for (number, operation) in (0..).zip(operations) {
        let author = (number % 2 == 0).then(|| "ann".to_owned());
        let envelope = Envelope::new(operation, Stamp::new(millis(number), author));
        let json = serde_json::to_string(&envelope).unwrap();
        assert!(json.contains(&format!(r#""operation":"{}""#, describe_variant(&envelope.operation).0)), "{json}");
        assert_eq!(serde_json::from_str::<Envelope>(&json).unwrap(), envelope, "{json}");
        assert_eq!(serde_json::from_value::<Envelope>(serde_json::from_str(&json).unwrap()).unwrap(), envelope);
    }
}

#[test]
fn status_request_lasts_until_it_is_read_or_nobody_waits_or_its_transaction_is_deleted() {
    let (_folder, store) = open();
    let pending = |seconds| store.reader().unwrap().poller_requests("default", at(seconds)).unwrap().status_requests;
    let count = || {
        let db = Connection::open(store.path()).unwrap();
        db.query_row("SELECT count(*) FROM status_requests", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let read = request_status(&store, 1, 8);
    assert_eq!((pending(60 + 299).len(), pending(60 + 300).len()), (1, 0), "the clocks of machines differ");
    let [_, answer, forget] = operations_on(&read);
    testing::apply(&store, answer, at(9)).unwrap();
    let (_, answered_at) = store.reader().unwrap().status_answer(&read).unwrap().unwrap();
    assert_eq!((answered_at, pending(10)), (at(9), vec![]));
    testing::apply(&store, forget, at(10)).unwrap();
    assert_eq!((count(), store.reader().unwrap().status_answer(&read).unwrap()), (0, None));
    // The process that asked was killed.
    let row = import_one(&store);
    for number in [1, 2] {
        request_status(&store, number, 11);
    }
    let deleted = Operation::Delete { transactions: vec![testing::key(&store, row)] };
    testing::apply(&store, deleted, at(12)).unwrap();
    assert_eq!(pending(13).iter().map(|request| request.params.clone()).collect::<Vec<_>>(), [fixtures::params(2)]);
    let report = || Operation::ReportPolling { profile: "default".into(), report: Box::new(PollerReport::default()) };
    testing::apply(&store, report(), at(60 + 300)).unwrap();
    assert_eq!(count(), 1, "the clocks of machines differ");
    testing::apply(&store, report(), at(60 + 301)).unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn damaged_request_hides_no_other_request() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let (_, second) = (request_status(&store, 1, 8), request_status(&store, 2, 8));
    pending_id(ask(&store, true, "0xAb", 8));
    let sound = pending_id(ask(&store, true, "0xCd", 8));
    let damage = "UPDATE status_requests SET params = '{' WHERE id = 1; UPDATE quotes SET request = CAST(x'ff' AS TEXT) WHERE id = 1";
    Connection::open(store.path()).unwrap().execute_batch(damage).unwrap();
    let wanted = store.reader().unwrap().poller_requests("default", at(9)).unwrap();
    assert_eq!(wanted.status_requests, std::slice::from_ref(&second));
    assert_eq!(wanted.quotes.iter().map(|quote| quote.id).collect::<Vec<_>>(), [sound]);
    testing::apply(&store, Operation::Delete { transactions: vec![testing::key(&store, row)] }, at(10)).unwrap();
}

#[test]
fn operation_on_an_absent_target_changes_nothing() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let key = testing::key(&store, row);
    observe(&store, row, body(RouterStatus::NeedsGas, 1), 5);
    testing::edit(&store, "default", Edit::SetTicket { transactions: vec![row], ticket: Some("SUP-1".into()) }, at(6));
    testing::undo(&store, "default", at(7)).unwrap();
    let reader = store.reader().unwrap();
    let alert = alert_key(&reader, reader.alerts(AlertQuery::Active).unwrap()[0].id);
    let quote = testing::quote_key(&store, pending_id(ask(&store, true, "0xAb", 8)));
    let status = request_status(&store, 1, 8);
    // Each of these keys differs from an existing key in one part only.
    let elsewhere = TransactionKey { profile: "prod".into(), ..key.clone() };
    let other_chain = TransactionKey { from_chain: ChainId::new("10"), ..key.clone() };
    let of_profile = AlertKey { about: SubjectKey::Profile("default".into()), ..alert.clone() };
    let other_rule = AlertKey { rule: Rule::Refund, ..alert.clone() };
    let earlier = AlertKey { raised_at: at(4), ..alert.clone() };
    let before = QuoteKey { asked_at: at(7), ..quote.clone() };
    let other_request = QuoteKey { request: request(false, "0xAb"), ..quote.clone() };
    let other_profile = QuoteKey { profile: "prod".into(), ..quote };
    let later = StatusRequestKey { asked_at: at(9), ..status.clone() };
    let of_another = StatusRequestKey { params: fixtures::params(2), ..status.clone() };
    let of_prod = StatusRequestKey { profile: "prod".into(), ..status };
    let named = [
        absent_targets(),
        Targets { transaction: elsewhere, alert: earlier, quote: before, status: later },
        Targets { transaction: other_chain.clone(), alert: other_rule, quote: other_request, status: of_another },
        Targets { transaction: other_chain, alert: of_profile, quote: other_profile, status: of_prod },
    ];
    let state = || {
        let reader = store.reader().unwrap();
        let db = Connection::open(store.path()).unwrap();
        (checksums(&store), reader.last_change().unwrap(), changes::last_commit(&db).unwrap())
    };
    let unchanged = state();
    for operation in named.iter().flat_map(operations_of_each_variant).filter(|operation| describe_variant(operation).1)
    {
        testing::apply(&store, operation.clone(), at(9)).unwrap();
        assert_eq!(state(), unchanged, "{operation:?}");
    }
    // The undone edit can still be redone.
    assert_eq!(testing::redo(&store, "default", at(10)).unwrap().done, 1);
    // The same operations on existing targets have an effect. Deletions come last, because no target exists afterwards.
    let mut targets = Targets { transaction: key, ..named.into_iter().next().unwrap() };
    let mut effective_variants = BTreeSet::new();
    let order =
        |number: &usize| matches!(operations_of_each_variant(&absent_targets())[*number], Operation::Delete { .. });
    let mut numbers: Vec<usize> = (0..operations_of_each_variant(&targets).len()).collect();
    numbers.sort_by_key(order);
    for number in numbers {
        let reader = store.reader().unwrap();
        if let Some(active) = reader.alerts(AlertQuery::Active).unwrap().first() {
            targets.alert = alert_key(&reader, active.id);
        }
        // An edit corrects the source chain.
        targets.transaction = testing::key(&store, row);
        targets.quote = testing::quote_key(&store, pending_id(ask(&store, true, &format!("0x{number}"), 11)));
        targets.status = request_status(&store, 1, 11);
        let operation = operations_of_each_variant(&targets).swap_remove(number);
        let before = state().0;
        testing::apply(&store, operation.clone(), at(12)).unwrap();
        if state().0 != before && describe_variant(&operation).1 {
            effective_variants.insert(describe_variant(&operation).0);
        }
    }
    assert_eq!(effective_variants.len(), 12, "{effective_variants:?}");
}
