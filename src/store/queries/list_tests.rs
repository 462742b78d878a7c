//! Tests that compare lists of the store with lists made in memory, and check the query plans of common lists.

use std::time::Duration;

use chrono::{TimeDelta, TimeZone};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{
    domain::{
        alert::SnoozeEnd,
        filter::{self, SortBy, testing::FilterInput},
        fixtures,
        ids::ChainId,
        observation::Observation,
        on_chain::{ChainReading, ChainVerdict, Mined, OnChainState},
        operation::Edit,
        poller::PollerReport,
        record::{ChainSide, StatusRecord},
        status::RouterStatus,
        transaction::NewTransaction,
    },
    store::{Reader, Store, testing},
};

fn at(seconds: i64) -> DateTime<Utc> {
    Utc.timestamp_opt(1_700_000_000 + seconds, 0).unwrap()
}

/// A generated transaction: its parameters, when it is added, its answers, and the handling of its alerts.
#[derive(Clone, Debug)]
struct GeneratedTransaction {
    ticket: Option<&'static str>,
    labels: Vec<String>,
    chains: (&'static str, &'static str),
    hash: u8,
    estimate: Option<u64>,
    added: i64,
    answers: Vec<(i64, RouterStatus)>,
    handling: Option<GeneratedHandling>,
}

/// The handling of the transaction's active alerts.
#[derive(Clone, Copy, Debug)]
enum GeneratedHandling {
    Acknowledged,
    Snoozed(SnoozeEnd),
}

fn handling() -> impl Strategy<Value = Option<GeneratedHandling>> {
    let snoozes =
        [SnoozeEnd::Change, SnoozeEnd::Until(at(2_999)), SnoozeEnd::Until(at(3_000)), SnoozeEnd::Until(at(4_000))];
    let handling = prop_oneof![
        Just(GeneratedHandling::Acknowledged),
        prop::sample::select(snoozes.to_vec()).prop_map(GeneratedHandling::Snoozed)
    ];
    prop::option::of(handling)
}

fn status() -> impl Strategy<Value = RouterStatus> {
    let mut all = RouterStatus::DOCUMENTED.to_vec();
    all.extend(["", "-", "settling"].map(|text| RouterStatus::Unknown(text.into())));
    prop::sample::select(all)
}

fn generated() -> impl Strategy<Value = GeneratedTransaction> {
    let chains = prop::sample::select(vec![("42161", "8453"), ("8453", "42161"), ("1", "osmosis-1"), ("99", "1")]);
    let labels = prop::collection::vec(prop::sample::select(vec!["vip", "VIP", "Ärger", "batch-17"]), 0..3);
    (
        prop::option::of(prop::sample::select(vec!["SUP-1", "sup-1", "Ä-2", "SUP-20"])),
        labels.prop_map(|labels| labels.into_iter().map(str::to_owned).collect()),
        chains,
        any::<u8>(),
        prop::option::of(0_u64..4_000),
        0_i64..2_000,
        prop::collection::vec((0_i64..4_000, status()), 0..4),
        handling(),
    )
        .prop_map(|(ticket, labels, chains, hash, estimate, added, mut answers, handling)| {
            answers.sort_by_key(|(second, _)| *second);
            GeneratedTransaction { ticket, labels, chains, hash, estimate, added, answers, handling }
        })
}

fn params(number: usize, generated: &GeneratedTransaction) -> NewTransaction {
    let mut new = fixtures::new(i64::try_from(number).unwrap() + 1);
    let prefix = if generated.hash.is_multiple_of(3) { "0xAB" } else { "Sol" };
    new.params.transaction_id = crate::domain::ids::TxHash::new(format!("{prefix}{:02x}{number:06x}", generated.hash));
    new.params.from_chain = ChainId::new(generated.chains.0);
    new.params.to_chain = ChainId::new(generated.chains.1);
    new.params.ticket = generated.ticket.map(str::to_owned);
    new.params.estimate = generated.estimate.map(Duration::from_secs);
    new.params.submitted_at = generated.hash.is_multiple_of(2).then(|| at(generated.added - 30));
    new.labels.clone_from(&generated.labels);
    new
}

fn answer_with_status(status: RouterStatus, from: &str) -> Observation {
    let mut record = StatusRecord::bare(status);
    let name = (from == "99").then(|| "Élysée".to_owned());
    record.from = ChainSide { chain_id: Some(ChainId::new(from)), chain_name: name, ..ChainSide::default() };
    Observation {
        body: Some("{}".into()),
        ..fixtures::answer(crate::domain::observation::StatusOutcome::Record(Box::new(record)))
    }
}

/// The people who track, edit and handle in generated stores.
const PEOPLE: [Option<&str>; 4] = [None, Some("Ana"), Some("Zoë via support"), Some("Bob")];

fn build_store(transactions: &[GeneratedTransaction]) -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    for (number, generated) in transactions.iter().enumerate() {
        let (store, first, second) = (store.clone(), generated.hash % 4, generated.hash / 4 % 4);
        let by = |index: u8| store.clone().with_author(PEOPLE[usize::from(index)].map(str::to_owned));
        let report = testing::track(&by(first), "default", vec![params(number, generated)], at(generated.added));
        if generated.hash.is_multiple_of(3) {
            let rows = vec![report.added.listed[0]];
            let labels =
                Edit::ChangeLabels { transactions: rows.clone(), add: vec!["late".into()], remove: Vec::new() };
            let note = Edit::AddNote { transactions: rows, text: "asked".into() };
            testing::edit(&by(second), "default", if generated.hash > 99 { labels } else { note }, at(generated.added));
        }
        for (second, status) in &generated.answers {
            let observation = answer_with_status(status.clone(), generated.chains.0);
            testing::observe(&store, report.added.listed[0], observation, at(generated.added + second));
        }
        if generated.hash.is_multiple_of(7) {
            let verdict = match generated.hash / 7 % 4 {
                0 => ChainVerdict::Pending,
                1 => ChainVerdict::Elsewhere(ChainId::new("10")),
                2 => ChainVerdict::Unknown(Vec::new()),
                _ => ChainVerdict::Reverted(Mined { block: 1, time: Some(at(generated.added - 90)), confirmations: 1 }),
            };
            let on_chain = OnChainState::after(None, ChainReading::without_node(verdict), None, at(2_400));
            testing::observe_chain(&store, report.added.listed[0], on_chain, at(2_400));
        }
        let active = store.reader().unwrap().alerts(AlertQuery::OfTransaction(report.added.listed[0])).unwrap();
        let mut alerts: Vec<i64> = active.iter().map(|alert| alert.id).collect();
        // For some transactions only the first alert is handled.
        alerts.truncate(if generated.hash.is_multiple_of(5) { 1 } else { alerts.len() });
        let edit = match generated.handling {
            None => continue,
            Some(GeneratedHandling::Acknowledged) => {
                let note = generated.hash.is_multiple_of(2).then(|| "Phoned them".to_owned());
                Edit::Acknowledge { alerts, note }
            }
            Some(GeneratedHandling::Snoozed(until)) => Edit::Snooze { alerts, until },
        };
        testing::edit(&by(second), "default", edit, at(2_500));
    }
    (folder, store)
}

fn in_memory(reader: &Reader, filter: &Filter, now: DateTime<Utc>) -> Vec<RowId> {
    let (transactions, alerts, _) = reader.load().unwrap();
    let (alerts, _) = fixtures::by_subject(alerts);
    let candidate = |tx| FilterInput { tx, alerts: alerts.get(&tx.id).map_or(&[], Vec::as_slice) };
    let mut passing: Vec<_> = transactions.iter().map(candidate).filter(|item| filter.matches(item, now)).collect();
    passing.sort_by(|a, b| filter::testing::compare(a, b, filter.sort(), now));
    passing.iter().map(|candidate| candidate.tx.id).collect()
}

const TERMS: &[&str] = &[
    "",
    "is:attention",
    "is:overdue",
    "is:unsettled",
    "is:settled",
    "is:acked",
    "is:snoozed",
    "is:firing",
    "-is:firing is:attention",
    "is:active",
    "is:parked",
    "is:reverted",
    "is:pending",
    "-is:pending",
    "is:wrong-chain or label:vip",
    "-is:overdue",
    "status:ongoing,not_found",
    "status:unknown",
    "status:none,refund",
    "-status:success",
    "chain:base",
    "phoned",
    "-phoned",
    "\"Phoned them\" or vip",
    "/Phoned.*/",
    "from:arbitrum",
    "to:osmosis-1",
    "from:élysée",
    "-chain:99",
    "age>30m",
    "age<=20m",
    "due<5m",
    "-due<5m",
    "checked>10m",
    "checked<1h",
    "label:vip",
    "label:ärger",
    "-label:batch-17",
    "ticket:sup-1",
    "ticket:ä-2",
    "profile:default",
    "by:ana",
    "by:zoë",
    "-by:bob",
    "mine",
    "ab0",
    "\"Sol\"",
    "/^0xAB.*1$/",
    "vip",
    "\"SUP\"",
    "élys",
    "ARB→BASE",
    "-1>osmosis-1",
    "is:overdue or label:vip",
    "ticket:sup-1 or ab0 or mine",
    "is:settled or status:none (chain:base or -label:vip)",
    "-(is:settled or status:none)",
    "-(ab0 or -(label:vip or is:acked))",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn store_listing_equals_in_memory_listing(
        transactions in prop::collection::vec(generated(), 1..14),
        second in prop::sample::select(SortBy::ALL),
        (reversed, length) in (any::<(bool, bool)>(), 1_usize..6),
    ) {
        let (_folder, store) = build_store(&transactions);
        let reader = store.reader().unwrap();
        let now = at(3_000);
        let sign = |reversed| if reversed { "-" } else { "" };
        // Each case tests every order.
        for (term, first) in TERMS.iter().zip(SortBy::ALL.iter().cycle()) {
            let sort = format!("sort:{}{},{}{}", sign(reversed.0), first.name(), sign(reversed.1), second.name());
            let filter = Filter::parse_for_person(&format!("{term} {sort}"), Some("Bob")).unwrap();
            let expected = in_memory(&reader, &filter, now);
            prop_assert_eq!(&reader.listing(&filter, now).all().unwrap(), &expected, "{} {}", term, &sort);
            prop_assert_eq!(reader.listing(&filter, now).count().unwrap() as usize, expected.len(), "{}", term);
            check_pages(&reader, &filter, now, &expected, length)?;
        }
    }
}

/// Reads the list page by page in both directions, and checks the position of each row.
fn check_pages(
    reader: &Reader,
    filter: &Filter,
    now: DateTime<Utc>,
    expected: &[RowId],
    length: usize,
) -> Result<(), TestCaseError> {
    let listing = reader.listing(filter, now);
    let rows = |page: &ListPage| page.rows.iter().map(|row| row.transaction.id).collect::<Vec<_>>();
    let first = listing.page(PagePosition::First, length, &LoadedRows::default()).unwrap();
    let last = listing.page(PagePosition::Last, length, &LoadedRows::default()).unwrap();
    prop_assert_eq!(rows(&first), &expected[..length.min(expected.len())]);
    prop_assert_eq!(rows(&last), &expected[expected.len().saturating_sub(length)..]);
    for (index, row) in expected.iter().enumerate() {
        let before = length / 2;
        let page =
            listing.page(PagePosition::Around { rows: vec![*row], before }, length, &LoadedRows::default()).unwrap();
        let (from, to) = (index.saturating_sub(before), (index + length - before).min(expected.len()));
        prop_assert_eq!(rows(&page), &expected[from..to]);
        prop_assert_eq!((page.has_more_before, page.has_more_behind), (from > 0, to < expected.len()));
        prop_assert_eq!(listing.count_before(*row).unwrap() as usize, index);
        let [next, previous] = [1, expected.len() - 1].map(|distance| expected[(index + distance) % expected.len()]);
        prop_assert_eq!(listing.next_around(*row, Direction::Forwards).unwrap(), Some(next));
        prop_assert_eq!(listing.next_around(*row, Direction::Backwards).unwrap(), Some(previous));
    }
    Ok(())
}

/// Returns a store with four transactions, sorted by ticket.
fn four_transactions() -> (TempDir, Store) {
    let with_ticket = |ticket| GeneratedTransaction {
        ticket: Some(ticket),
        labels: Vec::new(),
        chains: ("1", "8453"),
        hash: 1,
        estimate: None,
        added: 0,
        answers: Vec::new(),
        handling: None,
    };
    build_store(&["a", "b", "c", "d"].map(with_ticket))
}

#[test]
fn between_returns_the_same_rows_in_both_directions_up_to_its_limit() {
    let (_folder, store) = four_transactions();
    let reader = store.reader().unwrap();
    let filter = Filter::parse("-ticket:b sort:ticket").unwrap();
    let listing = reader.listing(&filter, at(0));
    let rows = |ids: &[i64]| Some(ids.iter().copied().map(RowId).collect::<Vec<_>>());
    let between = |from, to, limit| listing.between(RowId(from), RowId(to), limit).unwrap();
    assert_eq!([between(1, 4, 3), between(4, 1, 3)], [rows(&[1, 3, 4]), rows(&[1, 3, 4])]);
    assert_eq!([between(1, 4, 2), between(4, 1, 2), between(9, 1, 9)], [None, None, None]);
    assert_eq!([between(2, 1, 3), between(2, 3, 3)], [rows(&[1, 2]), rows(&[2, 3])], "it has left the list");
    assert_eq!([listing.at_most(3).unwrap(), listing.at_most(2).unwrap()], [rows(&[1, 3, 4]), None]);
}

#[test]
fn page_is_around_the_first_candidate_in_the_list() {
    let (_folder, store) = four_transactions();
    let reader = store.reader().unwrap();
    let filter = Filter::parse("-ticket:b sort:ticket").unwrap();
    let around = |rows: &[i64], before| {
        let position = PagePosition::Around { rows: rows.iter().copied().map(RowId).collect(), before };
        let page = reader.listing(&filter, at(0)).page(position, 2, &LoadedRows::default()).unwrap();
        page.rows.iter().map(|row| row.transaction.id.0).collect::<Vec<_>>()
    };
    assert_eq!(around(&[2, 3, 1], 1), [1, 3]);
    assert_eq!(around(&[9, 2], 1), [1, 3]);
    assert_eq!(around(&[4], 0), [4]);
}

/// Returns SQLite's query plans for the page after a row, in both directions.
fn plan(store: &Store, text: &str) -> String {
    let filter = Filter::parse(text).unwrap();
    let reader = store.reader().unwrap();
    let listing = reader.listing(&filter, at(0) + TimeDelta::hours(1));
    let mut plans = String::new();
    for direction in [Direction::Forwards, Direction::Backwards] {
        let row = listing.all().unwrap().first().copied().unwrap();
        let position = listing.position(row).unwrap();
        let segment = &listing.segments[position.as_ref().unwrap().segment];
        for (of, SqlCondition { sql, mut parameters, .. }) in listing.conditions(position.as_ref(), direction) {
            if !std::ptr::eq(of, segment) {
                continue;
            }
            let sql = format!("SELECT id FROM transactions WHERE {sql} ORDER BY {} LIMIT ?", segment.order(direction));
            parameters.push(Value::Integer(50));
            let mut statement = reader.db().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let lines = statement.query_map(params_from_iter(parameters), |row| row.get::<_, String>(3)).unwrap();
            plans += &format!("{}\n", lines.collect::<Result<Vec<_>, _>>().unwrap().join("; "));
        }
    }
    plans
}

#[test]
fn common_lists_use_an_index_and_no_sort() {
    let generate = |number: i64| GeneratedTransaction {
        ticket: Some("SUP-1"),
        labels: vec!["vip".into()],
        chains: ("1", "8453"),
        hash: u8::try_from(number).unwrap(),
        estimate: None,
        added: number,
        answers: vec![(5, if number % 2 == 0 { RouterStatus::Success } else { RouterStatus::Refund })],
        handling: (number % 3 == 0).then_some(GeneratedHandling::Snoozed(SnoozeEnd::Change)),
    };
    let (_folder, store) = build_store(&(0..20).map(generate).collect::<Vec<_>>());
    for (text, index) in [
        ("", "transactions_by_urgency"),
        ("is:attention", "transactions_by_urgency"),
        ("is:firing", "transactions_by_urgency"),
        ("is:snoozed", "transactions_by_urgency"),
        ("is:active", "transactions_active"),
        ("status:refund", "transactions_by_status"),
        ("status:refund is:unsettled", "transactions_by_status"),
        ("is:settled sort:settled", "transactions_settled"),
        ("sort:settled", "transactions_settled"),
        ("sort:changed", "transactions_changed"),
        ("sort:hash", "transactions_by_key"),
        ("sort:status", "transactions_by_status"),
        ("sort:-status", "transactions_by_status"),
        ("sort:ticket", "transactions_by_ticket"),
        ("sort:-ticket", "transactions_by_ticket"),
        ("sort:checked", "transactions_checked"),
        ("sort:-checked", "transactions_checked"),
        ("sort:sev", "transactions_by_urgency"),
    ] {
        let plan = plan(&store, text);
        assert!(plan.lines().all(|line| line.contains(&format!("INDEX {index} "))), "{text}:\n{plan}");
        assert!(!plan.contains("TEMP B-TREE FOR ORDER BY"), "{text}:\n{plan}");
    }
    // Orders without an index sort the rows that pass, but keep no more than a page of them.
    for text in ["sort:age", "sort:route", "is:active sort:age"] {
        assert!(plan(&store, text).contains("TEMP B-TREE FOR ORDER BY"), "{text}");
    }
    let plan_of_label = plan(&store, "label:vip");
    assert!(plan_of_label.contains("labels_by_label"), "{plan_of_label}");
    for (text, index) in [
        ("ticket:sup-1", "transactions_by_ticket"),
        ("ticket:sup-1 sort:changed", "transactions_by_ticket"),
        ("-is:settled ticket:sup-1 sort:status", "transactions_by_ticket"),
    ] {
        let plan = plan(&store, text);
        assert!(plan.lines().all(|line| line.contains(&format!("INDEX {index} "))), "{text}:\n{plan}");
    }
}

#[test]
fn known_row_is_read_again_after_any_change() {
    let (_folder, store) = four_transactions();
    let (reader, filter) = (store.reader().unwrap(), Filter::parse("sort:ticket").unwrap());
    let listing = reader.listing(&filter, at(0));
    let whole = || listing.page(PagePosition::First, 9, &LoadedRows::default()).unwrap();
    let (row, now) = (RowId(2), at(50));
    let edit = |edit| {
        testing::edit(&store, "default", edit, now);
    };
    let answer = |status: &str| {
        let observation = answer_with_status(RouterStatus::from(status.to_owned()), "1");
        testing::observe(&store, row, observation, now);
    };
    let import_ticket = |ticket: &str| {
        let mut new = fixtures::new(1);
        new.params = whole().rows.into_iter().find(|listed| listed.transaction.id == row).unwrap().transaction.params;
        new.params.ticket = Some(ticket.to_owned());
        testing::submit_track(&store, "default", vec![new], now).wait().map(drop).unwrap();
    };
    let active_alerts =
        || reader.alerts(AlertQuery::OfTransaction(row)).unwrap().iter().map(|alert| alert.id).collect();
    let writes: [&dyn Fn(); 15] = [
        &|| answer("ongoing"),
        &|| answer("ongoing"),
        &|| answer("needs_gas"),
        &|| edit(Edit::Acknowledge { alerts: active_alerts(), note: None }),
        &|| edit(Edit::Snooze { alerts: active_alerts(), until: SnoozeEnd::Until(at(60)) }),
        &|| testing::report(&store, "default", PollerReport { at: at(61), ..PollerReport::default() }),
        &|| edit(Edit::AddNote { transactions: vec![row], text: "said so".into() }),
        &|| edit(Edit::ChangeLabels { transactions: vec![row], add: vec!["vip".into()], remove: Vec::new() }),
        &|| edit(Edit::SetTicket { transactions: vec![row], ticket: Some("SUP-9".into()) }),
        &|| testing::request_poll(&store, vec![row], now),
        &|| edit(Edit::Untrack { transactions: vec![row] }),
        &|| drop(testing::undo(&store, "default", now)),
        &|| import_ticket("z"),
        &|| answer("success"),
        &|| assert_eq!(testing::delete(&store, vec![RowId(1)], now), 1),
    ];
    let mut cached = whole();
    for (number, write) in writes.iter().enumerate() {
        write();
        let known = LoadedRows { rows: cached.order.iter().copied().collect(), as_of: cached.as_of };
        let read = listing.page(PagePosition::First, 9, &known).unwrap();
        assert!(read.rows.iter().all(|listed| listed.transaction.id == row), "{number}: the others haven't changed");
        let fresh =
            |id: &RowId| read.rows.iter().chain(&cached.rows).find(|listed| listed.transaction.id == *id).unwrap();
        let merged: Vec<ListRow> = read.order.iter().map(fresh).cloned().collect();
        let expected = whole();
        assert_eq!((&merged, &read.order), (&expected.rows, &expected.order), "{number}");
        cached = expected;
    }
}

#[test]
fn the_longest_and_the_deepest_filter_are_within_the_limits_of_sqlite() {
    let (_folder, store) = four_transactions();
    let reader = store.reader().unwrap();
    let words = |joint: &str, count: usize| (0..count).map(|n| format!("w{n}")).collect::<Vec<_>>().join(joint);
    for text in
        [words(" ", 400), words(" or ", 200), format!("{}{}{}", "-(-a ".repeat(16), words(" or ", 160), ")".repeat(16))]
    {
        let filter = Filter::parse(&text).unwrap();
        assert!(reader.listing(&filter, at(3_000)).count().is_ok());
    }
    assert!(Filter::parse(&words(" ", 401)).unwrap_err().message.contains("at most 400"));
}
