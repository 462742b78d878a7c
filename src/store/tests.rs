mod alerts;
mod backups;
mod bit_flips;
mod edits;
mod faults;
mod minutes;
mod on_chain;
mod operations;
mod people;
mod recovery;
mod replica;
mod restore;
mod service_levels;

use std::time::Duration;

use chrono::TimeDelta;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{
    file::paths,
    tables::{changes, search_index::SearchPlan},
    *,
};
use crate::{
    domain::{
        alert::Rule,
        chain_config::ChainConfig,
        difference::Difference,
        duration_stats::{DurationStats, RouteKey},
        filter::Filter,
        fixtures,
        ids::{ChainId, RowId, TxHash},
        observation::{Observation, RequestFailure, StatusOutcome},
        operation::{Edit, ProfileEvent},
        poller::{PollerHealth, PollerReport},
        quote::{Amount, FRESH, Quote, QuoteAnswer, QuoteObservation, QuoteRequest},
        record::{RouteStep, StatusRecord},
        status::RouterStatus,
        transaction::{NewTransaction, Tracking, TransactionParams},
    },
    intake::{Duplicate, ImportSpool},
};

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

fn open() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("deep/hoptop.db")).unwrap();
    (folder, store)
}

fn observe(store: &Store, row: RowId, observation: Observation, second: i64) {
    testing::observe(store, row, observation, at(second));
}

fn import_one(store: &Store) -> RowId {
    testing::track(store, "default", vec![fixtures::new(1)], at(0)).added.listed[0]
}

fn names(feed: Changes) -> Vec<&'static str> {
    feed.changes.iter().map(|change| change.kind.name()).collect()
}

fn line_name(line: &HistoryLine) -> &'static str {
    match line {
        HistoryLine::Change(change) => change.kind.name(),
        HistoryLine::Observation(..) => "answer",
    }
}

#[test]
fn imported_transactions_survive_a_restart() {
    let (folder, store) = open();
    let mut new = fixtures::new(1);
    new.labels = vec!["vip".into(), "batch".into()];
    new.notes = vec!["user asked".into()];
    new.params.estimate = Some(Duration::from_millis(1_500));
    new.params.submitted_at = Some(at(-60));
    let report = testing::track(&store, "default", vec![new.clone(), fixtures::new(2)], at(0));
    assert_eq!(report.added.count, 2);
    drop(store);
    let store = Store::open(&folder.path().join("deep/hoptop.db")).unwrap();
    let (transactions, alerts, seq) = store.reader().unwrap().load().unwrap();
    assert_eq!((transactions.len(), alerts.len(), seq), (2, 0, 2));
    assert_eq!(transactions[0].params, new.params);
    assert_eq!(transactions[0].labels, ["batch", "vip"]);
    assert_eq!(transactions[0].notes, ["user asked"]);
}

#[test]
fn second_import_updates_changed_fields_and_erases_none() {
    let (_folder, store) = open();
    let mut first = fixtures::new(1);
    first.params.ticket = Some("SUP-1".into());
    let row = testing::track(&store, "default", vec![first.clone()], at(0)).added.listed[0];
    let again = testing::track(&store, "default", vec![first.clone()], at(1));
    assert_eq!(again, ImportReport { unchanged: [row].into_iter().collect(), ..ImportReport::default() });
    let mut second = first.clone();
    second.params.ticket = None;
    second.params.estimate = Some(Duration::from_secs(60));
    second.params.transaction_id =
        TxHash::new(first.params.transaction_id.as_str().to_uppercase().replacen("0X", "0x", 1));
    second.labels = vec!["vip".into()];
    let changed = testing::track(&store, "default", vec![second], at(2));
    assert_eq!(changed.updated.listed, [(row, vec!["estimatedRouteDuration".to_owned(), "labels".to_owned()])]);
    let kept = store.reader().unwrap().transaction(row).unwrap().unwrap();
    assert_eq!(kept.params.ticket.as_deref(), Some("SUP-1"));
    assert_eq!(kept.params.transaction_id, first.params.transaction_id);
}

#[test]
fn import_reports_other_profiles_that_poll_the_same_transactions() {
    let (_folder, store) = open();
    let batch = |numbers: &[i64]| numbers.iter().map(|number| fixtures::new(*number)).collect::<Vec<_>>();
    let report = testing::track(&store, "prod", batch(&[1, 2]), at(0));
    assert_eq!(report.other_profiles_notice(), None);
    testing::track(&store, "test", batch(&[2]), at(1));
    let report = testing::track(&store, "default", batch(&[1, 2, 3]), at(2));
    assert_eq!(report.other_profiles_notice().as_deref(), Some("also tracked in other profiles: 2 in prod, 1 in test"));
    // Row numbers of the transactions that were already known may lie between the new ones.
    testing::track(&store, "prod", batch(&[4, 5, 6]), at(2));
    testing::track(&store, "default", batch(&[5]), at(2));
    let report = testing::track(&store, "default", batch(&[4, 5, 6]), at(2));
    assert_eq!(report.other_profiles_notice().as_deref(), Some("also tracked in other profiles: 2 in prod"));
    // Transactions that no profile polls any more cost no budget and aren't reported.
    let seven = testing::track(&store, "prod", batch(&[7]), at(2)).added.listed;
    testing::edit(&store, "prod", Edit::Untrack { transactions: seven }, at(2));
    assert_eq!(testing::track(&store, "default", batch(&[7]), at(2)).other_profiles_notice(), None);
    // Transactions that were known before aren't reported again.
    let report = testing::track(&store, "default", batch(&[1, 2]), at(3));
    assert_eq!(report.other_profiles_notice(), None);
}

/// Returns an answer with this status; its body contains the status, and a time that differs in each answer.
fn body(status: RouterStatus, clock: u32) -> Observation {
    let chain = r#"{"chainId":"42161","chainName":"Arbitrum","nativeCurrency":{"name":"Ether","decimals":18}}"#;
    let text = format!(
        r#"{{"id":"0x{:064x}","routerTransactionStatus":"{status}","fromChain":{{"chainData":{chain}}},"timeSpent":{{"total":{clock}}}}}"#,
        1
    );
    Observation { body: Some(text), ..fixtures::says(status) }
}

#[test]
fn spooled_import_keeps_its_order_and_applies_the_last_duplicate() {
    let (_folder, store) = open();
    let mut spool = ImportSpool::new().unwrap();
    let ticket = |number, ticket: &str| {
        let mut new = fixtures::new(number);
        new.params.ticket = Some(ticket.into());
        new
    };
    let rows = [ticket(3, "a"), ticket(1, "a"), ticket(2, "a"), ticket(1, "b"), ticket(2, "a"), ticket(1, "c")];
    for (line, new) in rows.iter().enumerate() {
        spool.put(format!("line {line}"), new.clone()).unwrap();
    }
    let mut pairs = Vec::new();
    let batch = spool.finish(&mut |Duplicate { earlier, later, is_same, .. }| pairs.push((earlier, later, is_same)));
    let batch = batch.unwrap();
    let pair = |earlier: u8, later: u8, same| (format!("line {earlier}"), format!("line {later}"), same);
    assert_eq!(pairs, [pair(1, 3, false), pair(2, 4, true), pair(3, 5, false)]);
    let reader = store.reader().unwrap();
    assert_eq!(
        reader.preview_import("default", batch.as_ref()).unwrap(),
        ImportPreview { new: 3, known: 0, changed: 0 }
    );
    let report = store.track_batch("default", batch, at(0)).wait().unwrap().tracked().unwrap();
    let (transactions, ..) = reader.load().unwrap();
    assert_eq!(report.added.listed, transactions.iter().map(|tx| tx.id).collect::<Vec<_>>());
    let kept: Vec<_> =
        transactions.iter().map(|tx| (tx.params.quote_id.as_str(), tx.params.ticket.as_deref())).collect();
    assert_eq!(kept, [("quote-3", Some("a")), ("quote-2", Some("a")), ("quote-1", Some("c"))]);
    assert_eq!(names(reader.changes_after(0, 10).unwrap()), ["imported"; 3]);
    let mut again = ImportSpool::new().unwrap();
    for new in [ticket(1, "c"), ticket(2, "d"), ticket(9, "a")] {
        again.put(String::new(), new).unwrap();
    }
    let again = again.finish(&mut |_| {}).unwrap();
    assert_eq!(
        reader.preview_import("default", again.as_ref()).unwrap(),
        ImportPreview { new: 1, known: 2, changed: 1 }
    );
}

#[test]
fn imported_first_seen_time_and_untracked_apply_only_to_new_transactions() {
    let (_folder, store) = open();
    let seen = |number, second| NewTransaction { first_seen_at: Some(at(second)), ..fixtures::new(number) };
    let mut batch = vec![seen(1, -60), seen(2, 60), seen(3, 0)];
    batch[2].is_untracked = true;
    testing::track(&store, "default", batch, at(0));
    let load = || store.reader().unwrap().load().unwrap().0;
    assert_eq!(load().iter().map(|tx| tx.first_seen_at).collect::<Vec<_>>(), [at(-60), at(0), at(0)]);
    assert_eq!((load()[1].tracking.clone(), load()[2].tracking.clone()), (Tracking::Active, Tracking::Untracked));
    // Known transactions keep their state. Tracking an untracked transaction again without `untracked` resumes polling.
    let mut batch = vec![seen(1, -90), seen(2, 0), seen(3, 0)];
    (batch[1].is_untracked, batch[2].is_untracked) = (true, true);
    assert_eq!(testing::track(&store, "default", batch, at(5)).unchanged.count, 3);
    let report = testing::track(&store, "default", vec![fixtures::new(3)], at(6));
    assert_eq!(report.updated.listed[0].1, ["tracking"]);
    assert_eq!((load()[0].first_seen_at, load()[1].tracking.clone()), (at(-60), Tracking::Active));
}

#[test]
fn repeated_answers_are_counted_and_the_last_body_is_kept() {
    let (_folder, store) = open();
    let row = import_one(&store);
    for (second, clock) in [(5, 1), (10, 1), (15, 2), (20, 3)] {
        observe(&store, row, body(RouterStatus::Ongoing, clock), second);
    }
    observe(&store, row, fixtures::fails(RequestFailure::Transport("refused".into())), 25);
    observe(&store, row, body(RouterStatus::Success, 9), 30);
    let reader = store.reader().unwrap();
    let kept = reader.answers(row).unwrap();
    let counted: Vec<_> = kept.iter().map(|kept| (kept.summary.as_str(), kept.times)).collect();
    assert_eq!(counted, [("ongoing", 4), ("refused", 1), ("success", 1)]);
    assert_eq!(reader.body(kept[0].id).unwrap().and_then(StoredBody::into_text), body(RouterStatus::Ongoing, 1).body);
    assert_eq!(reader.last_body(row).unwrap().and_then(StoredBody::into_text), body(RouterStatus::Success, 9).body);
    assert_eq!(reader.transaction(row).unwrap().unwrap().state.polls, 6);
}

#[test]
fn last_body_is_the_newest_even_without_a_change() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, body(RouterStatus::Ongoing, 1), 5);
    observe(&store, row, body(RouterStatus::Ongoing, 2), 10);
    let reader = store.reader().unwrap();
    assert_eq!(reader.last_body(row).unwrap().and_then(StoredBody::into_text), body(RouterStatus::Ongoing, 2).body);
    observe(&store, row, body(RouterStatus::Ongoing, 1), 15);
    assert_eq!(reader.last_body(row).unwrap().and_then(StoredBody::into_text), body(RouterStatus::Ongoing, 1).body);
}

#[test]
fn each_response_id_is_kept_and_of_a_repeated_answer_the_newest() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let answer =
        |status: RouterStatus, id: Option<&str>| Observation { response_id: id.map(str::to_owned), ..body(status, 1) };
    for (second, status, id) in [
        (5, RouterStatus::Ongoing, Some("req-1")),
        (10, RouterStatus::Ongoing, Some("req-2")),
        (15, RouterStatus::Ongoing, None),
        (20, RouterStatus::Success, Some("req-4")),
    ] {
        observe(&store, row, answer(status, id), second);
    }
    let reader = store.reader().unwrap();
    assert_eq!(reader.transaction(row).unwrap().unwrap().response_ids, ["req-1", "req-2", "req-4"]);
    assert!(reader.header(row).unwrap().unwrap().response_ids.is_empty());
}

#[test]
fn history_lists_changes_with_their_answers() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, body(RouterStatus::Ongoing, 1), 5);
    // A body of an error isn't compared with a body of a record.
    let failed = StatusOutcome::Failed(RequestFailure::Unreadable("no".into()));
    let body_of_error = Some(r#"{"message": "no"}"#.to_owned());
    observe(
        &store,
        row,
        Observation { outcome: failed, http_status: Some(500), body: body_of_error, ..body(RouterStatus::Ongoing, 1) },
        7,
    );
    observe(&store, row, body(RouterStatus::Success, 7), 9);
    let reader = store.reader().unwrap();
    let lines = reader.history(row).unwrap().into_iter().map(|line| match line {
        HistoryLine::Change(change) => format!("{:?} {}", change.observation, change.kind.name()),
        HistoryLine::Observation(answer, changed_fields) => {
            let changed_fields: Vec<_> = changed_fields.iter().map(Difference::sentence).collect();
            format!("{} {} {changed_fields:?}", answer.id, answer.summary)
        }
    });
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "None imported",
            "1 ongoing []",
            "Some(1) status_changed",
            "2 the answer can't be read: no []",
            "Some(2) poll_failed",
            r#"3 success ["routerTransactionStatus: \"ongoing\" > \"success\"", "timeSpent.total: 1 > 7"]"#,
            "Some(3) status_changed",
            "Some(3) settled",
        ]
    );
}

#[test]
fn feed_lists_changes_in_order() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::answer(StatusOutcome::NotFound(None)), 5);
    observe(&store, row, fixtures::says(RouterStatus::Success), 10);
    testing::request_poll(&store, vec![row], at(11));
    let reader = store.reader().unwrap();
    let events = names(reader.changes_after(0, 100).unwrap());
    let expected = ["imported", "polled", "status_changed", "polled", "status_changed", "settled", "poll_requested"];
    assert_eq!(events, expected);
    assert_eq!(names(reader.changes_after(5, 1).unwrap()), ["settled"]);
    assert_eq!(names(reader.changes_after(7, 100).unwrap()), [""; 0]);
}

#[test]
fn unreadable_entry_of_the_feed_is_passed_over() {
    let (_folder, store) = open();
    testing::track(&store, "default", (1..=3).map(fixtures::new).collect(), at(0));
    Connection::open(store.path()).unwrap().execute("UPDATE changes SET what = '{' WHERE seq = 1", []).unwrap();
    let page = store.reader().unwrap().changes_after(0, 1).unwrap();
    assert_eq!((page.changes.as_slice(), page.last, page.has_more), (&[][..], 1, true));
    let rest = store.reader().unwrap().changes_after(page.last, 100).unwrap();
    assert_eq!((rest.changes.len(), rest.last, rest.has_more), (2, 3, false));
}

#[test]
fn reader_with_an_old_position_misses_only_polls() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let feed_reader = FeedReader::new(store.reader().unwrap());
    assert!(feed_reader.changes().unwrap().needs_resync);
    for second in 1..=3 {
        observe(&store, row, fixtures::says(RouterStatus::Ongoing), second);
    }
    // Simulates pruning, as after many more entries.
    let db = Connection::open(store.path()).unwrap();
    db.execute_batch("DELETE FROM polls; UPDATE feed SET floor = 100").unwrap();
    let batch = (2..=6_001).map(fixtures::new).collect();
    testing::track(&store, "default", batch, at(9));
    let mut seen = Vec::new();
    loop {
        let read = feed_reader.changes().unwrap();
        assert!(!read.needs_resync);
        seen.extend(read.changes.iter().map(|change| change.kind.name()));
        if !read.has_more {
            break;
        }
        assert!(read.has_dropped_polls);
    }
    assert_eq!(seen.iter().filter(|name| **name == "imported").count(), 6_000);
    assert_eq!(seen[0], "status_changed");
}

#[test]
fn alerts_are_raised_once_counted_and_cleared() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::says(RouterStatus::NeedsGas), 10);
    observe(&store, row, fixtures::says(RouterStatus::NeedsGas), 12);
    observe(&store, row, fixtures::says(RouterStatus::Ongoing), 15);
    let reader = store.reader().unwrap();
    let active = reader.alerts(AlertQuery::Active).unwrap();
    assert_eq!((active[0].rule, active[0].transaction, active[0].clean), (Rule::NeedsGas, Some(row), 1));
    observe(&store, row, fixtures::says(RouterStatus::Ongoing), 25);
    assert_eq!(reader.alerts(AlertQuery::Active).unwrap(), []);
    let found = names(reader.changes_after(0, 100).unwrap());
    assert_eq!(
        found.iter().filter(|name| name.starts_with("alert")).collect::<Vec<_>>(),
        [&"alert_raised", &"alert_cleared"]
    );
}

#[test]
fn a_transaction_is_found_by_hash_part_and_url() {
    let (_folder, store) = open();
    let mut other = fixtures::new(2);
    other.params.transaction_id = TxHash::new("5UjQbSolanaSignature");
    let row = import_one(&store);
    testing::track(&store, "default", vec![other], at(0));
    let reader = store.reader().unwrap();
    let hash = fixtures::params(1).transaction_id;
    for text in [
        hash.as_str().to_owned(),
        hash.as_str().to_uppercase(),
        format!("https://scan.example/tx/{hash}?x=1"),
        "000001".into(),
    ] {
        assert!(matches!(reader.find(&text).unwrap().as_slice(), [found] if found.id == row), "{text}");
    }
    assert!(matches!(reader.find("solanasig").unwrap().as_slice(), [_]));
    for text in ["00001", "", "https://scan.example/tx/0xabcdef", "zzzzzz"] {
        assert_eq!(reader.find(text).unwrap(), [], "{text}");
    }
    testing::track(&store, "prod", vec![fixtures::new(1)], at(0));
    assert!(reader.find(hash.as_str()).unwrap().len() == 2);
    let shortened = hash.short("…");
    assert!(reader.find(&shortened).unwrap().len() == 2, "{shortened}");
}

#[test]
fn failing_write_does_not_affect_other_writes() {
    let (_folder, store) = open();
    // Holds the writer until all writes wait, so that they are committed together.
    let (go_on, held) = std::sync::mpsc::channel::<()>();
    let first = testing::with_writer(&store, move |_| {
        held.recv().unwrap_err();
        Ok(())
    });
    let failing = testing::with_writer(&store, |db| {
        db.execute("INSERT INTO pauses VALUES ('default', 1)", [])?;
        db.execute("INSERT INTO labels VALUES (99, 'orphan')", [])?;
        Ok(())
    });
    let fine = testing::submit_track(&store, "default", vec![fixtures::new(1)], at(0));
    drop(go_on);
    first.wait().unwrap();
    assert!(matches!(failing.wait(), Err(StoreError::Sql(_))));
    assert_eq!(fine.wait().unwrap().tracked().unwrap().added.count, 1);
    assert_eq!(store.reader().unwrap().polling("default", at(-1)).unwrap().paused_until, None);
    let commits = || changes::last_commit(&Connection::open(store.path()).unwrap()).unwrap();
    let before = commits();
    // A write that is alone in its transaction is rolled back with the whole transaction.
    let failing = testing::with_writer(&store, |db| {
        db.execute("UPDATE transactions SET ticket = 'lost'", [])?;
        db.execute("INSERT INTO labels VALUES (99, 'orphan')", [])?;
        Ok(())
    });
    assert!(matches!(failing.wait(), Err(StoreError::Sql(_))));
    store.flush().wait().unwrap();
    let reader = store.reader().unwrap();
    let tracked = reader.listing(&Filter::everything(), at(0)).all().unwrap();
    assert_eq!(reader.transaction(tracked[0]).unwrap().unwrap().params.ticket, fixtures::new(1).params.ticket);
    assert_eq!(commits(), before, "nothing was written");
}

#[test]
fn foreign_damaged_and_newer_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(Store::open(&foreign), Err(StoreError::Foreign { .. })));
    let garbage = folder.path().join("garbage.db");
    std::fs::write(
        &garbage,
        "not a database at all, but long enough to have a header of a hundred bytes or more, which SQLite reads",
    )
    .unwrap();
    assert!(matches!(Store::open(&garbage), Err(StoreError::Open { .. })));
    let newer = folder.path().join("newer.db");
    drop(Store::open(&newer).unwrap());
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(Store::open(&newer), Err(StoreError::Newer { found: 99, .. })));
    let below = folder.path().join("garbage.db/inside.db");
    assert!(matches!(Store::open(&below), Err(StoreError::Create { .. })));
}

#[test]
fn log_that_was_left_read_only_does_not_make_a_writable_store_read_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, store) = open();
    let path = store.path().to_owned();
    drop(store);
    // SQLite leaves such files when it reads a store that is read-only at that moment.
    let files = ["-wal", "-shm"].map(|ending| path.with_file_name(format!("hoptop.db{ending}")));
    for file in &files {
        std::fs::write(file, "").unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o400)).unwrap();
    }
    let store = Store::open(&path).unwrap();
    assert!(files.iter().all(|file| !file.metadata().unwrap().permissions().readonly()));
    testing::track(&store, "default", vec![fixtures::new(1)], at(0));
}

#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, store) = open();
    import_one(&store);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("deep")), 0o700);
    for entry in std::fs::read_dir(folder.path().join("deep")).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[tokio::test]
async fn a_commit_of_another_process_wakes_the_reader() {
    let (_folder, store) = open();
    let mut commits = store.subscribe(WakeKind::AnyCommit).unwrap();
    commits.mark_unchanged();
    // A second handle acts as the other process, with its own notifications.
    let other = Store::open(store.path()).unwrap();
    tokio::task::spawn_blocking(move || import_one(&other)).await.unwrap();
    commits.changed().await.unwrap();
    assert_eq!(store.reader().unwrap().last_change().unwrap(), 1);
}

#[test]
fn parked_transaction_resumes_when_it_is_tracked_with_new_parameters() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::fails(RequestFailure::Rejected("quoteId unknown".into())), 5);
    let reader = store.reader().unwrap();
    assert!(matches!(reader.transaction(row).unwrap().unwrap().tracking, Tracking::Parked(_)));
    let mut better = fixtures::new(1);
    better.params.quote_id = "the right one".into();
    testing::track(&store, "default", vec![better], at(9));
    assert_eq!(reader.transaction(row).unwrap().unwrap().tracking, Tracking::Active);
}

#[test]
fn poller_report_is_read_as_written() {
    let (_folder, store) = open();
    let report = PollerReport {
        at: at(3),
        id: "…7f3a".into(),
        rps: 10.0,
        health: PollerHealth::Live,
        ..PollerReport::default()
    };
    testing::report(&store, "default", report.clone());
    let reader = store.reader().unwrap();
    assert_eq!(reader.poller("default").unwrap(), Some(report));
    assert_eq!(reader.poller("other").unwrap(), None);
}

fn chain(name: Option<&str>) -> ChainConfig {
    ChainConfig { name: name.map(str::to_owned), ..ChainConfig::bare(ChainId::new("424242")) }
}

#[test]
fn chain_description_without_a_name_does_not_replace_a_named_one() {
    let (_folder, store) = open();
    let mut new = fixtures::new(1);
    new.params.to_chain = ChainId::new("424242");
    let row = testing::track(&store, "default", vec![new], at(0)).added.listed[0];
    let describes = |name| Observation { chains: vec![chain(name)], ..fixtures::says(RouterStatus::Ongoing) };
    observe(&store, row, describes(Some("Newly made")), 1);
    observe(&store, row, describes(None), 2);
    let reader = store.reader().unwrap();
    let state = reader.chain("default", &ChainId::new("424242")).unwrap().unwrap();
    assert_eq!(state.name.as_deref(), Some("Newly made"));
    assert_eq!(reader.transaction(row).unwrap().unwrap().to_name(), "Newly made");
    assert_eq!(reader.chain("other", &ChainId::new("424242")).unwrap(), None);
}

#[test]
fn requested_poll_is_cleared_by_the_next_answer() {
    let (_folder, store) = open();
    let row = import_one(&store);
    testing::request_poll(&store, vec![row], at(5));
    let requested_at = || store.reader().unwrap().transaction(row).unwrap().unwrap().poll_requested_at;
    assert_eq!(requested_at(), Some(at(5)));
    observe(&store, row, fixtures::fails(RequestFailure::Transport("reset".into())), 6);
    assert_eq!(requested_at(), None);
}

fn request(quote_only: bool, from_address: &str) -> QuoteRequest {
    QuoteRequest { is_quote_only: quote_only, ..fixtures::quote_request(from_address) }
}

/// Asks for a route at `second`, and wants the answer within 30 seconds.
fn ask_for(store: &Store, request: QuoteRequest, second: i64) -> QuoteSubmission {
    testing::ask_quote(store, "default", request, at(second + 30), at(second))
}

fn ask(store: &Store, quote_only: bool, from_address: &str, second: i64) -> QuoteSubmission {
    ask_for(store, request(quote_only, from_address), second)
}

fn pending_id(asked: QuoteSubmission) -> i64 {
    match asked {
        QuoteSubmission::Pending { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

fn quote_observation(answer: QuoteAnswer) -> QuoteObservation {
    QuoteObservation { answer, http_status: Some(200), body: Some("{}".into()) }
}

fn route(id: &str, seconds: u64) -> QuoteObservation {
    let (quote_id, estimate) = (Some(id.to_owned()), Some(Duration::from_secs(seconds)));
    quote_observation(QuoteAnswer::Route(Quote { quote_id, estimate, warnings: Vec::new() }))
}

#[test]
fn same_route_is_not_requested_twice_within_thirty_seconds() {
    let (_folder, store) = open();
    let id = pending_id(ask(&store, true, "0xAb", 0));
    let waiting = |second| store.reader().unwrap().poller_requests("default", at(second)).unwrap().quotes.len();
    assert_eq!((waiting(29), waiting(30)), (1, 0));
    assert!(claim(&store, id, 1));
    testing::answer_quote(&store, id, route("q", 900), at(2));
    assert_eq!(waiting(3), 0);
    let QuoteSubmission::Reused(kept) = ask(&store, true, "0xAb", 32) else { panic!("it was asked for again") };
    assert_eq!((kept.id, kept.answered_at), (id, Some(at(2))));
    pending_id(ask(&store, true, "0xAb", 33));
    pending_id(ask(&store, true, "0xAb", 1));
    pending_id(ask(&store, false, "0xAb", 3));
    assert_eq!(names(store.reader().unwrap().changes_after(0, 2).unwrap()), ["quote_asked", "quote_answered"]);
}

fn claim(store: &Store, id: i64, second: i64) -> bool {
    testing::claim_quote(store, id, at(second))
}

#[test]
fn quote_request_is_claimed_at_most_once() {
    let (_folder, store) = open();
    let id = pending_id(ask(&store, false, "0xAb", 0));
    // An equal request that is still waiting is the same request.
    assert_eq!(pending_id(ask(&store, false, "0xAb", 5)), id);
    assert!(claim(&store, id, 34));
    assert_eq!(
        (claim(&store, id, 34), store.reader().unwrap().poller_requests("default", at(34)).unwrap().quotes),
        (false, vec![])
    );
    // A later answer doesn't replace the first one.
    testing::answer_quote(&store, id, route("q", 900), at(35));
    let late = quote_observation(QuoteAnswer::WalletLimited { message: "Too many".into(), retry_after: FRESH });
    testing::answer_quote(&store, id, late, at(36));
    assert!(matches!(store.reader().unwrap().quote(id).unwrap().unwrap().answer, Some(QuoteAnswer::Route(_))));
    // A sent request whose poller died gets no answer: an equal one isn't the same then.
    let dead = pending_id(ask(&store, true, "0xDe", 40));
    assert!(claim(&store, dead, 41));
    assert_eq!(pending_id(ask(&store, true, "0xDe", 50)), dead);
    assert_ne!(pending_id(ask(&store, true, "0xDe", 57)), dead);
    let (gone, given_up) = (pending_id(ask(&store, true, "0xCd", 40)), pending_id(ask(&store, true, "0xEf", 40)));
    testing::withdraw_quote(&store, given_up, at(70), at(41));
    assert!(!claim(&store, gone, 70) && !claim(&store, given_up, 42));
}

#[test]
fn waiting_request_of_a_limited_wallet_is_answered_without_being_sent() {
    let (_folder, store) = open();
    let mut second = request(false, "0xAb");
    second.from_amount = Amount::parse("26").unwrap();
    let first = pending_id(ask(&store, false, "0xAb", 0));
    let second = pending_id(ask_for(&store, second, 0));
    assert!(claim(&store, first, 1));
    let limited = quote_observation(QuoteAnswer::WalletLimited { message: "Too many".into(), retry_after: FRESH });
    testing::answer_quote(&store, first, limited, at(2));
    assert!(!claim(&store, second, 12));
    let expected = QuoteAnswer::WalletLimited { message: "Too many".into(), retry_after: Duration::from_secs(20) };
    let answer = store.reader().unwrap().quote(second).unwrap().unwrap();
    assert_eq!((answer.answer, answer.http_status, answer.sent_at), (Some(expected), None, Some(at(12))));
}

#[test]
fn refused_quote_is_requested_again() {
    let (_folder, store) = open();
    let id = pending_id(ask(&store, true, "0xAb", 0));
    let refused = quote_observation(QuoteAnswer::Failed(RequestFailure::Rejected("No route found".into())));
    testing::answer_quote(&store, id, refused.clone(), at(1));
    assert_eq!(store.reader().unwrap().quote(id).unwrap().unwrap().answer, Some(refused.answer));
    pending_id(ask(&store, true, "0xAb", 2));
}

#[test]
fn wallet_limit_does_not_affect_other_wallets() {
    let (_folder, store) = open();
    let id = pending_id(ask(&store, false, "0xAb", 0));
    let retry_after = Duration::from_secs(60);
    let limited = quote_observation(QuoteAnswer::WalletLimited { message: "Too many".into(), retry_after });
    testing::answer_quote(&store, id, limited, at(1));
    assert_eq!(
        ask(&store, false, "0xaB", 60),
        QuoteSubmission::WalletLimited { until: at(61), message: "Too many".into() }
    );
    pending_id(ask(&store, true, "0xAb", 60));
    pending_id(ask(&store, false, "0xCd", 60));
    pending_id(ask(&store, false, "0xAb", 61));
}

#[test]
fn transaction_gets_missing_parameters_from_its_quote() {
    let (_folder, store) = open();
    let id = pending_id(ask(&store, true, "0xAb", 0));
    testing::answer_quote(&store, id, route("quote-1", 900), at(1));
    let report = testing::track(&store, "default", vec![fixtures::new(1), fixtures::new(2)], at(2));
    let row = report.added.listed[0];
    assert_eq!(report.completed.listed, [(row, vec!["estimatedRouteDuration", "fromAddress"])]);
    let params = store.reader().unwrap().transaction(row).unwrap().unwrap().params;
    assert_eq!((params.estimate, params.from_address.as_deref()), (Some(Duration::from_secs(900)), Some("0xAb")));
    let mut known = fixtures::new(3);
    (known.params.quote_id, known.params.estimate) = ("quote-1".into(), Some(Duration::from_secs(5)));
    let report = testing::track(&store, "default", vec![known], at(3));
    assert_eq!(report.completed.listed, [(report.added.listed[0], vec!["fromAddress"])]);
}

#[test]
fn store_of_the_first_schema_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    let first = Connection::open(&path).unwrap();
    first.execute_batch(include_str!("../../assets/migrations/0001_first.sql")).unwrap();
    first.execute_batch("PRAGMA application_id = 0x686f7074; PRAGMA user_version = 1").unwrap();
    let record = r#"{"status":"ongoing","bridge_status":"called","gas_status":"","is_gmp":true,"bridge_url":null,
        "from":{"chain_id":"1","chain_name":null,"transaction_id":null,"block_number":null,"call_event_status":null,"url":null},
        "to":{"chain_id":null,"chain_name":null,"transaction_id":null,"block_number":null,"call_event_status":null,"url":null},
        "steps":[],"time_spent":{"total":45},"error":null,"request_id":null,"warnings":[]}"#;
    let insert = "INSERT INTO transactions (profile, transaction_key, transaction_id, from_chain, to_chain, quote_id,
        first_seen_at, status, record) VALUES ('default', '0xaa', '0xaa', '1', '10', 'q', 0, 'ongoing', ?)";
    first.execute(insert, [record]).unwrap();
    drop(first);
    let store = Store::open(&path).unwrap();
    let (transactions, ..) = store.reader().unwrap().load().unwrap();
    let read = transactions[0].record.as_ref().unwrap();
    assert_eq!((read.is_gmp, read.time_spent_text().as_deref()), (Some(true), Some("total 45")));
}

/// Tracks a transaction that was submitted at 0, and observes these statuses at these seconds.
fn track_and_observe(store: &Store, number: i64, answers: &[(i64, RouterStatus)]) -> RowId {
    let mut new = fixtures::new(number);
    new.params.submitted_at = Some(at(0));
    let row = testing::track(store, "default", vec![new], at(0)).added.listed[0];
    for (second, status) in answers {
        observe(store, row, fixtures::says(status.clone()), *second);
    }
    row
}

#[test]
fn duration_stats_outlive_their_transactions() {
    use RouterStatus::{NotFound, Ongoing, Success};
    let (folder, store) = open();
    for number in 1..=30 {
        track_and_observe(
            &store,
            number,
            &[(4, NotFound), (8, Ongoing), (190 + number, Ongoing), (200 + number, Success)],
        );
    }
    let row = track_and_observe(&store, 31, &[(2, NotFound)]);
    let (transactions, ..) = store.reader().unwrap().load().unwrap();
    let route = RouteKey::of(&transactions[0]);
    drop(store);
    let path = folder.path().join("deep/hoptop.db");
    Connection::open(&path).unwrap().execute("DELETE FROM transactions WHERE id <> ?", [row.0]).unwrap();
    let reader = Store::open(&path).unwrap().reader().unwrap();
    let past = reader.route_durations("default", &route).unwrap();
    assert_eq!((past.durations.len(), past.evidence.route.durations.count), (30, 30));
    assert_eq!((past.durations[0], past.durations[29]), (Duration::from_secs(196), Duration::from_secs(225)));
    assert_eq!((past.settled_by(Duration::from_secs(205)), past.settled_by(Duration::from_secs(10))), (10, 0));
    let duration_stats = reader.duration_stats("default").unwrap();
    assert_eq!(duration_stats.evidence(&route), past.evidence);
    assert_eq!(duration_stats.pooled.durations.count, 30);
    assert_eq!(duration_stats.chains[&ChainId::new("42161")].count, 30);
    // A transaction tracked later gets the statistics of its source chain.
    let tx = reader.transaction(row).unwrap().unwrap();
    assert!((tx.indexing.mean.exp() - 6.0).abs() < 0.01, "{}", tx.indexing.mean.exp());
    assert_eq!(reader.duration_stats("another").unwrap(), DurationStats::default());
}

#[test]
fn unique_part_of_a_hash_names_its_transaction_wherever_else_it_occurs() {
    let (_folder, store) = open();
    let part = "aaa111";
    let named = |hash: &str, quote: &str, ticket: Option<&str>| {
        let mut new = fixtures::new(1);
        new.params = TransactionParams {
            transaction_id: TxHash::new(hash),
            quote_id: quote.into(),
            ticket: ticket.map(str::to_owned),
            ..new.params
        };
        new
    };
    let [hash, other] = ["a", "b"].map(|digit| format!("0x{}{part}", digit.repeat(20)));
    let elsewhere = named("0xcccccccccccc", &format!("qq-{part}"), None);
    let whole = named("0xeeeeeeeeeeee", part, None);
    testing::track(&store, "default", vec![elsewhere, named(&hash, "q", None)], at(0));
    let found = || store.reader().unwrap().find(part).unwrap().iter().map(|tx| tx.id.0).collect::<Vec<_>>();
    assert_eq!(found(), [2]);
    testing::track(&store, "default", vec![named("0xdddddddddddd", "q", Some(part))], at(1));
    assert_eq!(found(), [3, 1, 2], "a ticket is a name, too");
    testing::delete(&store, vec![RowId(3)], at(2));
    testing::track(&store, "default", vec![named(&other, "q", None)], at(3));
    assert_eq!(found(), [1, 2, 4]);
    testing::delete(&store, vec![RowId(4)], at(4));
    testing::track(&store, "default", vec![whole], at(5));
    assert_eq!(found(), [1, 2, 5], "a whole ID is a name, too");
}

#[test]
fn ticket_is_found_in_any_case() {
    let (_folder, store) = open();
    for (number, ticket) in [(1, "SUP-1"), (2, "Ärger-7")] {
        let params = TransactionParams { ticket: Some(ticket.into()), ..fixtures::params(number) };
        testing::track(&store, "default", vec![NewTransaction { params, ..fixtures::new(number) }], at(0));
    }
    let found = |text: &str| store.reader().unwrap().find(text).unwrap().iter().map(|tx| tx.id.0).collect::<Vec<_>>();
    assert_eq!(["sup-1", "ärger-7", "ÄRGER-7"].map(found), [[1], [2], [2]]);
}

#[test]
fn transaction_is_found_by_every_text_that_a_user_may_send() {
    let (folder, store) = open();
    let mut new = fixtures::new(1);
    new.params.request_id = Some("Request-77".into());
    new.params.from_address = Some("0xA11CE00000000000000000000000000000000001".into());
    new.params.ticket = Some("SUP-1".into());
    let row = testing::track(&store, "default", vec![new, fixtures::new(2)], at(0)).added.listed[0];
    let mut record = StatusRecord::bare(RouterStatus::Ongoing);
    record.to.transaction_id = Some(TxHash::new("0xDE57000000000000000000000000000000000000000000000000000000000001"));
    record.steps = vec![RouteStep {
        chain_id: None,
        transaction_id: Some(TxHash::new("5HopSolanaSignature7")),
        status: None,
        action: None,
    }];
    record.request_id = Some("7b1c2d-record".into());
    let quote = fixtures::params(1).quote_id;
    observe(&store, row, fixtures::answer(StatusOutcome::Record(Box::new(record))), 1);
    let texts = [
        "0xde57000000000000000000000000000000000000000000000000000000000001",
        "https://scan.example/tx/0xDE57000000000000000000000000000000000000000000000000000000000001",
        "5hopsolanasignature7",
        "7B1C2D-record",
        "request-77",
        "0xa11ce00000000000000000000000000000000001",
        "sup-1",
        &quote,
        // Parts.
        "0xde5700",
        "solanasig",
        "c2d-rec",
        "quest-77",
    ];
    let assert_found = |reader: &Reader| {
        for text in texts {
            assert!(matches!(reader.find(text).unwrap().as_slice(), [found] if found.id == row), "{text}");
        }
        // A filter finds whole identifiers of the record, and parts of what was given.
        for text in [texts[0], texts[2], "equest-77", "a11ce", "de57000000", "nasignature7"] {
            let filter = Filter::parse(text).unwrap();
            assert_eq!(reader.listing(&filter, at(1)).count().unwrap(), 1, "{text}");
        }
    };
    assert_found(&store.reader().unwrap());
    drop(store);
    // A store of an earlier version has records, but no table of their identifiers.
    let path = folder.path().join("deep/hoptop.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "DROP TRIGGER search_after_transaction; DROP TRIGGER search_after_label; DROP TRIGGER search_after_note;
             DROP TABLE search; DROP TABLE search_progress; DROP TABLE search_outdated;
             DROP TABLE identifiers; DROP TABLE unindexed_records; DROP TABLE on_chain; DROP TABLE status_requests;
             ALTER TABLE observations DROP COLUMN response_id; ALTER TABLE transactions DROP COLUMN checksum;
             ALTER TABLE observations DROP COLUMN checksum; ALTER TABLE notes DROP COLUMN checksum;
             ALTER TABLE alerts DROP COLUMN checksum; ALTER TABLE changes DROP COLUMN checksum;
             ALTER TABLE labels DROP COLUMN checksum; ALTER TABLE quotes DROP COLUMN checksum;
             ALTER TABLE chains DROP COLUMN checksum; ALTER TABLE forecasts DROP COLUMN checksum;
             ALTER TABLE transactions DROP COLUMN ended_unseen;
             PRAGMA user_version = 13",
        )
        .unwrap();
    let store = Store::open(&path).unwrap();
    let is_filled = || {
        let missing = "SELECT EXISTS (SELECT 1 FROM unindexed_records)";
        !Connection::open(&path).unwrap().query_row(missing, [], |row| row.get::<_, bool>(0)).unwrap()
    };
    // The writer fills the table while it has nothing else to do.
    while !is_filled() {
        std::thread::yield_now();
    }
    assert_found(&store.reader().unwrap());
}

/// Waits until the search index is complete.
fn wait_for_search_index(store: &Store, rows: i64) {
    let db = Connection::open(store.path()).unwrap();
    let count = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    while count("SELECT indexed_to FROM search_progress") < rows || count("SELECT count(*) FROM search_outdated") > 2 {
        std::thread::yield_now();
    }
}

#[test]
fn search_index_finds_what_a_scan_finds_after_every_change() {
    let (_folder, store) = open();
    let hash = |number: i64| format!("0x{:064x}", 0x1234_5678_9abc_i64 * (number + 7));
    let batch = (0..40).map(|number| {
        let mut new = fixtures::new(number);
        new.params.transaction_id = TxHash::new(hash(number));
        new.params.ticket = Some(format!("CASE-{number}"));
        new
    });
    let rows = testing::track(&store, "default", batch.collect(), at(0)).added.listed;
    let rows: Vec<RowId> = (0..40).map(|number| RowId(rows[0].0 + number)).collect();
    wait_for_search_index(&store, 38);
    let reader = store.reader().unwrap();
    let is_indexed = |text: &str| {
        let db = Connection::open(store.path()).unwrap();
        SearchPlan::for_parts(&db, &[text]).unwrap() != SearchPlan::Scan
    };
    let count = |text: &str| reader.listing(&Filter::parse(text).unwrap(), at(9)).count().unwrap();
    let part = hash(17)[50..].to_owned();
    assert!(is_indexed(&part) && !is_indexed("7f"));
    assert!(matches!(reader.find(&part).unwrap().as_slice(), [found] if found.id == rows[17]));
    let shortened = format!("{}…{}", &hash(17)[..6], &hash(17)[60..]);
    assert!(matches!(reader.find(&shortened).unwrap().as_slice(), [found] if found.id == rows[17]));
    assert_eq!((count(&part), count("case-3"), count("case-39"), count("-case-3")), (1, 11, 1, 29));
    // Labels, notes, tickets and answers after the row was added.
    let edit = |edit| testing::edit(&store, "default", edit, at(1));
    for row in &rows[..6] {
        let (transactions, ticket) = (vec![*row], Some("OTHER-9".to_owned()));
        edit(Edit::ChangeLabels { transactions: transactions.clone(), add: vec!["escalated".into()], remove: vec![] });
        edit(Edit::AddNote { transactions: transactions.clone(), text: "asked Bridgewater".into() });
        edit(Edit::SetTicket { transactions, ticket });
    }
    for row in &rows[..5] {
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.to.transaction_id = Some(TxHash::new(format!("0xdeed{:060x}", row.0)));
        observe(&store, *row, fixtures::answer(StatusOutcome::Record(Box::new(record))), 2);
    }
    wait_for_search_index(&store, 38);
    for (text, expected) in [("escalated", 6), ("bridgewater", 6), ("other-9", 6), ("case-3", 10), ("xdeed0000", 5)] {
        assert_eq!(count(text), expected, "{text}");
    }
    // A corrected source chain.
    observe(&store, rows[9], fixtures::answer(StatusOutcome::NotFound(None)), 2);
    let correct = Edit::CorrectSource { transactions: vec![rows[9]], chain: ChainId::new("98765") };
    edit(correct);
    assert_eq!((is_indexed("98765"), count("98765"), count("-98765")), (true, 1, 39));
    // A short part of an identifier is found, and is not among the others.
    assert_eq!((count("deed"), count("-deed")), (5, 35));
    // Nothing of a deleted transaction is found, and the other rows still are.
    testing::delete(&store, vec![rows[17], rows[2]], at(3));
    assert_eq!((reader.find(&part).unwrap(), count("escalated")), (Vec::new(), 5));
    let db = Connection::open(store.path()).unwrap();
    let in_index = |group: &str| -> Vec<i64> {
        let mut statement = db.prepare("SELECT rowid FROM search WHERE search MATCH ? ORDER BY 1").unwrap();
        let found = statement.query_map([format!("\"{group}\"")], |row| row.get(0)).unwrap();
        found.collect::<Result<_, _>>().unwrap()
    };
    wait_for_search_index(&store, 38);
    assert!(!in_index("0x0").contains(&rows[17].0) && in_index("0x0").contains(&rows[16].0));
    // Neither are the texts that it had when it was added first.
    assert!(!in_index("cas").contains(&rows[2].0) && in_index("cas").contains(&rows[9].0));
    assert_eq!(db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
}

#[test]
fn receiver_of_a_quote_that_hoptop_asked_for_is_found() {
    let (_folder, store) = open();
    let row = testing::track(&store, "default", vec![fixtures::new(1), fixtures::new(2)], at(0)).added.listed[0];
    let sql = "INSERT INTO quotes (profile, request, asked_at, wanted_until, quote_id) VALUES ('default', ?, 0, 0, ?)";
    let request = r#"{"toAddress":"0xBeef000000000000000000000000000000000b0b"}"#;
    Connection::open(store.path()).unwrap().execute(sql, [request, &fixtures::params(1).quote_id]).unwrap();
    let reader = store.reader().unwrap();
    assert!(
        matches!(reader.find("0xbeef000000000000000000000000000000000B0B").unwrap().as_slice(), [found] if found.id == row)
    );
    assert_eq!(reader.listing(&Filter::parse("beef0000").unwrap(), at(1)).count().unwrap(), 1);
}

#[test]
fn not_found_limit_depends_on_the_source_chain() {
    let (_folder, store) = open();
    for number in 1..=40 {
        track_and_observe(&store, number, &[(140, RouterStatus::NotFound), (150, RouterStatus::Ongoing)]);
    }
    let row = track_and_observe(&store, 41, &[]);
    let slow = store.reader().unwrap().transaction(row).unwrap().unwrap().not_found_limit();
    assert!((350..600).contains(&slow.as_secs()), "{slow:?}");
    assert_eq!(fixtures::transaction(1).not_found_limit(), Duration::from_secs(180));
}

#[test]
fn transaction_counts_as_open_until_its_marks_are_removed_or_expire() {
    let (_folder, store) = open();
    let rows = testing::track(&store, "default", vec![fixtures::new(1), fixtures::new(2)], at(0)).added.listed;
    let open = |second| store.reader().unwrap().poller_requests("default", at(second)).unwrap().open;
    let mark = |dashboard, open| testing::mark_open(&store, OpenMark { dashboard, open, at: at(5) });
    mark(7, Some((rows[1], at(60))));
    mark(8, Some((rows[1], at(90))));
    mark(9, Some((RowId(99), at(90))));
    assert_eq!((open(10), open(70), open(90)), (vec![rows[1]], vec![rows[1]], vec![]));
    mark(7, Some((rows[0], at(60))));
    assert_eq!(open(10), rows);
    mark(8, None);
    assert_eq!(open(10), [rows[0]]);
}

#[test]
fn stored_hash_key_equals_the_key_in_the_domain() {
    let (_folder, store) = open();
    let hashes = ["0xABcdef", "0X12ab34", "0x", "0xxyz123", "abcDEF", &"aB".repeat(32), &"zz".repeat(32), "SoLana1"];
    for (number, hash) in (1..).zip(hashes) {
        let params = TransactionParams { transaction_id: TxHash::new(hash), ..fixtures::params(number) };
        testing::track(&store, "default", vec![NewTransaction { params, ..fixtures::new(number) }], at(0));
    }
    let db = Connection::open(store.path()).unwrap();
    let mut statement = db.prepare("SELECT transaction_id, transaction_key FROM transactions").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    for (hash, key) in rows.map(Result::unwrap) {
        assert_eq!(TxHash::new(hash.clone()).key(), key, "{hash}");
    }
}

#[test]
fn short_answer_before_the_first_record_does_not_prevent_compression() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let long = |status: RouterStatus, clock| {
        let mut answer = body(status, clock);
        let filling: String =
            (0..200).map(|number| format!(r#""field{number}":"{}","#, number * 7919 % 1000)).collect();
        answer.body = answer.body.map(|text| text.replacen('{', &format!("{{{filling}"), 1));
        answer
    };
    let page = Observation {
        body: Some("<html>not found</html>".repeat(20)),
        ..fixtures::answer(StatusOutcome::NotFound(None))
    };
    observe(&store, row, page.clone(), 1);
    observe(&store, row, long(RouterStatus::Ongoing, 1), 2);
    observe(&store, row, long(RouterStatus::Success, 2), 3);
    let db = Connection::open(store.path()).unwrap();
    let length = |id: i64| -> i64 {
        db.query_row("SELECT length(body) FROM observations WHERE id = ?", [id], |row| row.get(0)).unwrap()
    };
    assert!(length(3) < 150, "{} after {}", length(3), length(2));
    let reader = store.reader().unwrap();
    assert_eq!(reader.body(1).unwrap().and_then(StoredBody::into_text), page.body);
    assert_eq!(reader.body(3).unwrap().and_then(StoredBody::into_text), long(RouterStatus::Success, 2).body);
}

#[test]
fn most_urgent_alerts_come_first_with_their_transactions() {
    let (_folder, store) = open();
    let rules = [Rule::Refund, Rule::Overdue, Rule::NeedsGas, Rule::Overdue];
    for (rule, number) in rules.into_iter().zip(1..) {
        let mut new = fixtures::new(number);
        let status = match rule {
            Rule::Refund => RouterStatus::Refund,
            Rule::NeedsGas => RouterStatus::NeedsGas,
            _ => {
                new.params.submitted_at = Some(at(-3_600));
                RouterStatus::Ongoing
            }
        };
        let row = testing::track(&store, "default", vec![new], at(0)).added.listed[0];
        observe(&store, row, fixtures::says(status), number);
    }
    testing::record_event(&store, "default", ProfileEvent::Throttled("too often".into()), at(9));
    let found = store.reader().unwrap().alerts_with_transactions(AlertQuery::MostUrgent(4)).unwrap();
    let found = found.into_iter().map(|(alert, tx)| (alert.rule, tx.map(|tx| tx.id.0)));
    let expected =
        [(Rule::Overdue, Some(2)), (Rule::Overdue, Some(4)), (Rule::Throttled, None), (Rule::NeedsGas, Some(3))];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
