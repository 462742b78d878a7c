//! Lists of the store against the same done in memory, and the plans of those that people keep open.

use std::time::Duration;

use chrono::{TimeDelta, TimeZone};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{
    domain::{
        alert::Snooze,
        filter::{self, Candidate, SortBy},
        fixtures,
        ids::ChainId,
        observation::Observation,
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

/// A transaction of a generated world: its parameters, when it is added, and the answers.
#[derive(Clone, Debug)]
struct Generated {
    ticket: Option<&'static str>,
    labels: Vec<String>,
    chains: (&'static str, &'static str),
    hash: u8,
    estimate: Option<u64>,
    added: i64,
    answers: Vec<(i64, RouterStatus)>,
    said: Option<Said>,
}

/// What is said of all that stands for a transaction then.
#[derive(Clone, Copy, Debug)]
enum Said {
    Acknowledged,
    Snoozed(Snooze),
}

fn said() -> impl Strategy<Value = Option<Said>> {
    let snoozes = [Snooze::Change, Snooze::Until(at(2_999)), Snooze::Until(at(3_000)), Snooze::Until(at(4_000))];
    let said = prop_oneof![Just(Said::Acknowledged), prop::sample::select(snoozes.to_vec()).prop_map(Said::Snoozed)];
    prop::option::of(said)
}

fn status() -> impl Strategy<Value = RouterStatus> {
    let mut all = RouterStatus::DOCUMENTED.to_vec();
    all.extend(["", "-", "settling"].map(|text| RouterStatus::Unknown(text.into())));
    prop::sample::select(all)
}

fn generated() -> impl Strategy<Value = Generated> {
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
        said(),
    )
        .prop_map(|(ticket, labels, chains, hash, estimate, added, mut answers, said)| {
            answers.sort_by_key(|(second, _)| *second);
            Generated { ticket, labels, chains, hash, estimate, added, answers, said }
        })
}

fn params(number: usize, of: &Generated) -> NewTransaction {
    let mut new = fixtures::new(i64::try_from(number).unwrap() + 1);
    let prefix = if of.hash.is_multiple_of(3) { "0xAB" } else { "Sol" };
    new.params.transaction_id = crate::domain::ids::TxHash::new(format!("{prefix}{:02x}{number:06x}", of.hash));
    new.params.from_chain = ChainId::new(of.chains.0);
    new.params.to_chain = ChainId::new(of.chains.1);
    new.params.ticket = of.ticket.map(str::to_owned);
    new.params.estimate = of.estimate.map(Duration::from_secs);
    new.params.submitted_at = of.hash.is_multiple_of(2).then(|| at(of.added - 30));
    new.labels.clone_from(&of.labels);
    new
}

fn says(status: RouterStatus, from: &str) -> Observation {
    let mut record = StatusRecord::bare(status);
    let name = (from == "99").then(|| "Élysée".to_owned());
    record.from = ChainSide { chain_id: Some(ChainId::new(from)), chain_name: name, ..ChainSide::default() };
    Observation {
        body: Some("{}".into()),
        ..fixtures::answer(crate::domain::observation::Outcome::Record(Box::new(record)))
    }
}

fn world(of: &[Generated]) -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    for (number, generated) in of.iter().enumerate() {
        let report = testing::track(&store, "default", vec![params(number, generated)], at(generated.added));
        for (second, status) in &generated.answers {
            let observation = says(status.clone(), generated.chains.0);
            testing::observe(&store, report.added.first[0], observation, at(generated.added + second));
        }
        let standing = store.reader().unwrap().alerts(AlertQuery::OfTransaction(report.added.first[0])).unwrap();
        let mut alerts: Vec<i64> = standing.iter().map(|alert| alert.id).collect();
        // Of some not of all that stands for them.
        alerts.truncate(if generated.hash.is_multiple_of(5) { 1 } else { alerts.len() });
        let edit = match generated.said {
            None => continue,
            Some(Said::Acknowledged) => Edit::Acknowledge { alerts, note: None },
            Some(Said::Snoozed(until)) => Edit::Snooze { alerts, until },
        };
        testing::edit(&store, "default", edit, at(2_500));
    }
    (folder, store)
}

fn in_memory(reader: &Reader, filter: &Filter, now: DateTime<Utc>) -> Vec<RowId> {
    let (transactions, alerts, _) = reader.load().unwrap();
    let (alerts, _) = fixtures::by_subject(alerts);
    let candidate = |tx| Candidate { tx, alerts: alerts.get(&tx.id).map_or(&[], Vec::as_slice) };
    let mut passing: Vec<_> = transactions.iter().map(candidate).filter(|one| filter.matches(one, now)).collect();
    passing.sort_by(|a, b| filter::compare(a, b, filter.sort(), now));
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
    "-is:overdue",
    "status:ongoing,not_found",
    "status:unknown",
    "status:none,refund",
    "-status:success",
    "chain:base",
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
    "ab0",
    "\"Sol\"",
    "/^0xAB.*1$/",
    "vip",
    "\"SUP\"",
    "élys",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_store_lists_what_memory_lists(
        of in prop::collection::vec(generated(), 1..14),
        second in prop::sample::select(SortBy::ALL),
        (turned, length) in (any::<(bool, bool)>(), 1_usize..6),
    ) {
        let (_folder, store) = world(&of);
        let reader = store.reader().unwrap();
        let now = at(3_000);
        let sign = |turned| if turned { "-" } else { "" };
        // Each order has its turn in each case.
        for (term, first) in TERMS.iter().zip(SortBy::ALL.iter().cycle()) {
            let sort = format!("sort:{}{},{}{}", sign(turned.0), first.name(), sign(turned.1), second.name());
            let filter = Filter::parse(&format!("{term} {sort}")).unwrap();
            let expected = in_memory(&reader, &filter, now);
            prop_assert_eq!(&reader.listing(&filter, now).all().unwrap(), &expected, "{} {}", term, &sort);
            prop_assert_eq!(reader.listing(&filter, now).count().unwrap() as usize, expected.len(), "{}", term);
            pages(&reader, &filter, now, (&expected, length))?;
        }
    }
}

/// Goes through the list page by page, both ways, and asks for each row where it stands.
fn pages(
    reader: &Reader,
    filter: &Filter,
    now: DateTime<Utc>,
    (expected, length): (&[RowId], usize),
) -> Result<(), TestCaseError> {
    let listing = reader.listing(filter, now);
    let rows = |page: &Page| page.rows.iter().map(|row| row.transaction.id).collect::<Vec<_>>();
    let first = listing.page(Place::First, length, &Known::default()).unwrap();
    let last = listing.page(Place::Last, length, &Known::default()).unwrap();
    prop_assert_eq!(rows(&first), &expected[..length.min(expected.len())]);
    prop_assert_eq!(rows(&last), &expected[expected.len().saturating_sub(length)..]);
    for (place, row) in expected.iter().enumerate() {
        let before = length / 2;
        let page = listing.page(Place::Around { rows: vec![*row], before }, length, &Known::default()).unwrap();
        let (from, to) = (place.saturating_sub(before), (place + length - before).min(expected.len()));
        prop_assert_eq!(rows(&page), &expected[from..to]);
        prop_assert_eq!((page.more_before, page.more_behind), (from > 0, to < expected.len()));
        prop_assert_eq!(listing.count_before(*row).unwrap() as usize, place);
        prop_assert_eq!(listing.next(*row, true).unwrap(), expected.get(place + 1).copied());
        let previous = place.checked_sub(1).and_then(|place| expected.get(place)).copied();
        prop_assert_eq!(listing.next(*row, false).unwrap(), previous);
        let ends = [true, false].map(|first| listing.outermost(first).unwrap());
        prop_assert_eq!(ends, [expected.first().copied(), expected.last().copied()]);
    }
    Ok(())
}

/// Four transactions in the order of their tickets.
fn four() -> (TempDir, Store) {
    let of = |ticket| Generated {
        ticket: Some(ticket),
        labels: Vec::new(),
        chains: ("1", "8453"),
        hash: 1,
        estimate: None,
        added: 0,
        answers: Vec::new(),
        said: None,
    };
    world(&["a", "b", "c", "d"].map(of))
}

#[test]
fn the_rows_between_two_are_the_same_from_either_end_and_no_more_than_asked_for() {
    let (_folder, store) = four();
    let reader = store.reader().unwrap();
    let filter = Filter::parse("-ticket:b sort:ticket").unwrap();
    let listing = reader.listing(&filter, at(0));
    let rows = |ids: &[i64]| Some(ids.iter().copied().map(RowId).collect::<Vec<_>>());
    let between = |one, other, most| listing.between(RowId(one), RowId(other), most).unwrap();
    assert_eq!([between(1, 4, 3), between(4, 1, 3)], [rows(&[1, 3, 4]), rows(&[1, 3, 4])]);
    assert_eq!([between(1, 4, 2), between(4, 1, 2), between(9, 1, 9)], [None, None, None]);
    assert_eq!([between(2, 1, 3), between(2, 3, 3)], [rows(&[1, 2]), rows(&[2, 3])], "it has left the list");
    assert_eq!([listing.at_most(3).unwrap(), listing.at_most(2).unwrap()], [rows(&[1, 3, 4]), None]);
}

#[test]
fn where_the_wanted_row_has_left_the_list_the_next_one_counts() {
    let (_folder, store) = four();
    let reader = store.reader().unwrap();
    let filter = Filter::parse("-ticket:b sort:ticket").unwrap();
    let around = |rows: &[i64], before| {
        let place = Place::Around { rows: rows.iter().copied().map(RowId).collect(), before };
        let page = reader.listing(&filter, at(0)).page(place, 2, &Known::default()).unwrap();
        page.rows.iter().map(|row| row.transaction.id.0).collect::<Vec<_>>()
    };
    assert_eq!(around(&[2, 3, 1], 1), [1, 3]);
    assert_eq!(around(&[9, 2], 1), [1, 3]);
    assert_eq!(around(&[4], 0), [4]);
}

/// How SQLite goes about the page behind a row, in both ways.
fn plan(store: &Store, text: &str) -> String {
    let filter = Filter::parse(text).unwrap();
    let connection = connection::open_for_reading(store.path()).unwrap();
    let listing = Listing::new(&connection, &filter, at(0) + TimeDelta::hours(1));
    let mut params = String::new();
    for way in [Direction::Forwards, Direction::Backwards] {
        let row = listing.all().unwrap().first().copied().unwrap();
        let standing = listing.standing(row).unwrap();
        let stretch = &listing.stretches[standing.as_ref().unwrap().stretch];
        for (sql, mut parameters) in listing.queries(stretch, standing.as_ref(), way) {
            parameters.push(Value::Integer(50));
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let lines = statement.query_map(params_from_iter(parameters), |row| row.get::<_, String>(3)).unwrap();
            params += &format!("{}\n", lines.collect::<Result<Vec<_>, _>>().unwrap().join("; "));
        }
    }
    params
}

#[test]
fn what_people_keep_open_is_read_by_index_and_never_sorted() {
    let of = |number: i64| Generated {
        ticket: Some("SUP-1"),
        labels: vec!["vip".into()],
        chains: ("1", "8453"),
        hash: u8::try_from(number).unwrap(),
        estimate: None,
        added: number,
        answers: vec![(5, if number % 2 == 0 { RouterStatus::Success } else { RouterStatus::Refund })],
        said: (number % 3 == 0).then_some(Said::Snoozed(Snooze::Change)),
    };
    let (_folder, store) = world(&(0..20).map(of).collect::<Vec<_>>());
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
    // What has no index keeps no more than a page of what passes.
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
fn what_is_known_is_read_again_after_anything_that_changes_it() {
    let (_folder, store) = four();
    let (reader, filter) = (store.reader().unwrap(), Filter::parse("sort:ticket").unwrap());
    let listing = reader.listing(&filter, at(0));
    let whole = || listing.page(Place::First, 9, &Known::default()).unwrap();
    let (row, now) = (RowId(2), at(50));
    let edit = |edit| {
        testing::edit(&store, "default", edit, now);
    };
    let answer = |status: &str| {
        let observation = says(RouterStatus::from(status.to_owned()), "1");
        testing::observe(&store, row, observation, now);
    };
    let params = |ticket: &str| {
        let mut new = fixtures::new(1);
        new.params = whole().rows.into_iter().find(|listed| listed.transaction.id == row).unwrap().transaction.params;
        new.params.ticket = Some(ticket.to_owned());
        testing::submit_track(&store, "default", vec![new], now).wait().map(drop).unwrap();
    };
    let standing = || reader.alerts(AlertQuery::OfTransaction(row)).unwrap().iter().map(|alert| alert.id).collect();
    let writes: [&dyn Fn(); 15] = [
        &|| answer("ongoing"),
        &|| answer("ongoing"),
        &|| answer("needs_gas"),
        &|| edit(Edit::Acknowledge { alerts: standing(), note: None }),
        &|| edit(Edit::Snooze { alerts: standing(), until: Snooze::Until(at(60)) }),
        &|| testing::report(&store, "default", PollerReport { at: at(61), ..PollerReport::default() }),
        &|| edit(Edit::AddNote { transactions: vec![row], text: "said so".into() }),
        &|| edit(Edit::ChangeLabels { transactions: vec![row], add: vec!["vip".into()], remove: Vec::new() }),
        &|| edit(Edit::SetTicket { transactions: vec![row], ticket: Some("SUP-9".into()) }),
        &|| testing::request_poll(&store, vec![row], now),
        &|| edit(Edit::Untrack { transactions: vec![row] }),
        &|| drop(testing::undo(&store, "default", now)),
        &|| params("z"),
        &|| answer("success"),
        &|| assert_eq!(testing::delete(&store, vec![RowId(1)], now), 1),
    ];
    let mut held = whole();
    for (number, write) in writes.iter().enumerate() {
        write();
        let known = Known { rows: held.order.iter().copied().collect(), as_of: held.as_of };
        let read = listing.page(Place::First, 9, &known).unwrap();
        assert!(read.rows.iter().all(|listed| listed.transaction.id == row), "{number}: the others haven't changed");
        let fresh =
            |id: &RowId| read.rows.iter().chain(&held.rows).find(|listed| listed.transaction.id == *id).unwrap();
        let merged: Vec<Listed> = read.order.iter().map(fresh).cloned().collect();
        let expected = whole();
        assert_eq!((&merged, &read.order), (&expected.rows, &expected.order), "{number}");
        held = expected;
    }
}
