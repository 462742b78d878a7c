use std::time::Duration;

use chrono::TimeDelta;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::domain::{
    alert::{Rule, Subject},
    fixtures,
    observation::{Failure, Outcome},
    status::RouterStatus,
    transaction::Tracking,
};

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

fn open() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("deep/hoptop.db")).unwrap();
    (folder, store)
}

fn nothing(
    _: &crate::domain::transaction::Transaction,
    _: &[crate::domain::alert::Alert],
    _: DateTime<Utc>,
) -> Vec<AlertStep> {
    Vec::new()
}

fn observe(store: &Store, row: RowId, observation: Observation, second: i64) {
    store.observe(Seen { transaction: row, observation, at: at(second) }, nothing).wait().unwrap();
}

fn import_one(store: &Store) -> RowId {
    store.import("default", vec![fixtures::new(1)], at(0)).wait().unwrap().added[0]
}

fn names(feed: Feed) -> Vec<&'static str> {
    match feed {
        Feed::Changes(changes) => changes.iter().map(|change| change.what.name()).collect(),
        Feed::Behind(_) => vec!["behind"],
    }
}

#[test]
fn what_is_imported_is_there_after_a_restart() {
    let (folder, store) = open();
    let mut new = fixtures::new(1);
    new.labels = vec!["vip".into(), "batch".into()];
    new.note = Some("user asked".into());
    new.told.estimate = Some(Duration::from_millis(1_500));
    new.told.submitted_at = Some(at(-60));
    let report = store.import("default", vec![new.clone(), fixtures::new(2)], at(0)).wait().unwrap();
    assert_eq!(report.added.len(), 2);
    drop(store);
    let store = Store::open(&folder.path().join("deep/hoptop.db")).unwrap();
    let (transactions, alerts, seq) = store.reader().unwrap().load().unwrap();
    assert_eq!((transactions.len(), alerts.len(), seq), (2, 0, 2));
    assert_eq!(transactions[0].told, new.told);
    assert_eq!(transactions[0].labels, ["batch", "vip"]);
    assert_eq!(transactions[0].notes, ["user asked"]);
}

#[test]
fn a_second_import_updates_what_differs_and_erases_nothing() {
    let (_folder, store) = open();
    let mut first = fixtures::new(1);
    first.told.ticket = Some("SUP-1".into());
    let row = store.import("default", vec![first.clone()], at(0)).wait().unwrap().added[0];
    let again = store.import("default", vec![first.clone()], at(1)).wait().unwrap();
    assert_eq!(again, ImportReport { unchanged: vec![row], ..ImportReport::default() });
    let mut second = first.clone();
    second.told.ticket = None;
    second.told.estimate = Some(Duration::from_secs(60));
    second.told.transaction_id =
        crate::domain::ids::TxHash::new(first.told.transaction_id.as_str().to_uppercase().replacen("0X", "0x", 1));
    second.labels = vec!["vip".into()];
    let changed = store.import("default", vec![second], at(2)).wait().unwrap();
    assert_eq!(changed.updated, [(row, vec!["estimatedRouteDuration".to_owned(), "labels".to_owned()])]);
    let kept = store.reader().unwrap().transaction(row).unwrap().unwrap();
    assert_eq!(kept.told.ticket.as_deref(), Some("SUP-1"));
    assert_eq!(kept.told.transaction_id, first.told.transaction_id);
}

#[test]
fn equal_answers_are_counted_and_different_ones_kept() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let body = |text: &str| Observation { body: Some(text.into()), ..fixtures::says(RouterStatus::Ongoing) };
    for (second, text) in [(5, "a"), (10, "a"), (15, "b")] {
        observe(&store, row, body(text), second);
    }
    observe(&store, row, fixtures::fails(Failure::Transport("refused".into())), 20);
    let reader = store.reader().unwrap();
    let kept = observations::of_transaction(&Connection::open(store.path()).unwrap(), row).unwrap();
    let counted: Vec<_> = kept.iter().map(|kept| (kept.summary.as_str(), kept.times)).collect();
    assert_eq!(counted, [("ongoing", 2), ("ongoing", 1), ("refused", 1)]);
    assert_eq!(reader.last_body(row).unwrap().unwrap().body.as_deref(), Some("b"));
    assert_eq!(reader.transaction(row).unwrap().unwrap().learned.polls, 4);
}

#[test]
fn the_feed_tells_what_happened_in_order() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::answer(Outcome::NotFound(None)), 5);
    observe(&store, row, fixtures::says(RouterStatus::Success), 10);
    store.request_poll(vec![row], at(11)).wait().unwrap();
    let reader = store.reader().unwrap();
    let told = names(reader.changes_after(0, 100).unwrap());
    let expected = ["imported", "polled", "status_changed", "polled", "status_changed", "settled", "poll_requested"];
    assert_eq!(told, expected);
    assert_eq!(names(reader.changes_after(5, 1).unwrap()), ["settled"]);
    assert_eq!(names(reader.changes_after(7, 100).unwrap()), [""; 0]);
}

#[test]
fn a_reader_that_fell_behind_is_told_so() {
    let (_folder, store) = open();
    import_one(&store);
    Connection::open(store.path()).unwrap().execute("UPDATE feed SET floor = 1", []).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.changes_after(0, 10).unwrap(), Feed::Behind(1));
    assert_eq!(reader.changes_after(1, 10).unwrap(), Feed::Changes(Vec::new()));
}

#[test]
fn alerts_are_raised_once_counted_and_cleared() {
    let (_folder, store) = open();
    let row = import_one(&store);
    fn raise(
        _: &crate::domain::transaction::Transaction,
        standing: &[crate::domain::alert::Alert],
        at: DateTime<Utc>,
    ) -> Vec<AlertStep> {
        match standing.first() {
            Some(alert) if at.timestamp() > 20 => vec![AlertStep::Clear { id: alert.id, rule: alert.rule }],
            Some(alert) => vec![AlertStep::Count { id: alert.id, clean: 1 }],
            None => vec![AlertStep::Raise { rule: Rule::NeedsGas, message: "gas".into() }],
        }
    }
    let seen = |second| Seen { transaction: row, observation: fixtures::says(RouterStatus::NeedsGas), at: at(second) };
    store.observe(seen(10), raise).wait().unwrap();
    store.observe(seen(15), raise).wait().unwrap();
    let reader = store.reader().unwrap();
    let standing = reader.alerts().unwrap();
    assert_eq!(
        (standing[0].rule, standing[0].subject, standing[0].clean),
        (Rule::NeedsGas, Subject::Transaction(row), 1)
    );
    store.observe(seen(25), raise).wait().unwrap();
    assert_eq!(reader.alerts().unwrap(), []);
    let told = names(reader.changes_after(0, 100).unwrap());
    assert_eq!(
        told.iter().filter(|name| name.starts_with("alert")).collect::<Vec<_>>(),
        [&"alert_raised", &"alert_cleared"]
    );
}

#[test]
fn a_transaction_is_found_by_hash_part_and_url() {
    let (_folder, store) = open();
    let mut other = fixtures::new(2);
    other.told.transaction_id = crate::domain::ids::TxHash::new("5UjQbSolanaSignature");
    let row = import_one(&store);
    store.import("default", vec![other], at(0)).wait().unwrap();
    let reader = store.reader().unwrap();
    let hash = fixtures::told(1).transaction_id;
    for text in [
        hash.as_str().to_owned(),
        hash.as_str().to_uppercase(),
        format!("https://scan.example/tx/{hash}?x=1"),
        "000001".into(),
    ] {
        assert!(matches!(reader.find(&text).unwrap(), Lookup::One(found) if found.id == row), "{text}");
    }
    assert!(matches!(reader.find("solanasig").unwrap(), Lookup::One(_)));
    for text in ["00001", "", "https://scan.example/tx/0xabcdef", "zzzzzz"] {
        assert_eq!(reader.find(text).unwrap(), Lookup::None, "{text}");
    }
    store.import("prod", vec![fixtures::new(1)], at(0)).wait().unwrap();
    assert!(matches!(reader.find(hash.as_str()).unwrap(), Lookup::Many(found) if found.len() == 2));
}

#[test]
fn a_failing_write_is_undone_alone() {
    let (_folder, store) = open();
    let failing = store.writer.submit(|db| {
        db.execute("INSERT INTO labels VALUES (99, 'orphan')", [])?;
        Ok(())
    });
    let fine = store.import("default", vec![fixtures::new(1)], at(0));
    assert!(matches!(failing.wait(), Err(StoreError::Sql(_))));
    assert_eq!(fine.wait().unwrap().added.len(), 1);
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
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

#[cfg(unix)]
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
    let mut commits = store.subscribe().unwrap();
    commits.mark_unchanged();
    // A second handle stands in for the other process: its signal is its own.
    let other = Store::open(store.path()).unwrap();
    tokio::task::spawn_blocking(move || import_one(&other)).await.unwrap();
    commits.changed().await.unwrap();
    assert_eq!(store.reader().unwrap().last_change().unwrap(), 1);
}

#[test]
fn a_parked_transaction_resumes_when_it_is_told_anew() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::fails(Failure::Rejected("quoteId unknown".into())), 5);
    let reader = store.reader().unwrap();
    assert!(matches!(reader.transaction(row).unwrap().unwrap().tracking, Tracking::Parked(_)));
    let mut better = fixtures::new(1);
    better.told.quote_id = "the right one".into();
    store.import("default", vec![better], at(9)).wait().unwrap();
    assert_eq!(reader.transaction(row).unwrap().unwrap().tracking, Tracking::Active);
}

#[test]
fn a_poller_s_report_comes_back() {
    let (_folder, store) = open();
    let report =
        PollerReport { at: at(3), id: "…7f3a".into(), rps: 10.0, health: "live".into(), ..PollerReport::default() };
    store.report("default", report.clone()).wait().unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.poller("default").unwrap(), Some(report));
    assert_eq!(reader.poller("other").unwrap(), None);
}
