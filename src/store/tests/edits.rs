//! Tests of edits: applying, undoing, redoing, and deleting transactions for good.

use std::path::Path;

use super::*;
use crate::{
    domain::{filter::NameKind, transaction::Transaction},
    store::file::paths,
};

/// Returns the editable state of the first transaction: whether it is polled, its ticket, labels and notes.
fn editable_state(store: &Store) -> String {
    let tx = store.reader().unwrap().transaction(RowId(1)).unwrap().unwrap();
    format!("{:?} {:?} {:?} {:?}", tx.tracking, tx.params.ticket, tx.labels, tx.notes)
}

#[test]
fn every_edit_can_be_undone_and_redone_and_stays_in_the_history() {
    let (_folder, store) = open();
    let rows = vec![import_one(&store)];
    observe(&store, rows[0], fixtures::says(RouterStatus::Ongoing), 1);
    let edits = [
        Edit::SetTicket { transactions: rows.clone(), ticket: Some("SUP-1".into()) },
        Edit::ChangeLabels {
            transactions: rows.clone(),
            add: vec!["vip".into(), "late".into()],
            remove: vec!["none".into()],
        },
        Edit::AddNote { transactions: rows.clone(), text: "asked".into() },
        Edit::SetTicket { transactions: rows.clone(), ticket: None },
        Edit::ChangeLabels { transactions: rows.clone(), add: Vec::new(), remove: vec!["late".into()] },
        Edit::Untrack { transactions: rows.clone() },
    ];
    let mut states = vec![editable_state(&store)];
    for edit in &edits {
        assert!(testing::edit(&store, "default", edit.clone(), at(2)) > 0, "{edit:?}");
        states.push(editable_state(&store));
    }
    for state in states.iter().rev().skip(1) {
        let undone = testing::undo(&store, "default", at(3)).unwrap();
        assert_eq!((undone.left, &editable_state(&store)), (0, state));
    }
    for state in states.iter().skip(1) {
        assert_eq!(testing::redo(&store, "default", at(4)).unwrap().left, 0);
        assert_eq!(&editable_state(&store), state);
    }
    assert_eq!(testing::redo(&store, "default", at(5)), None);
    let history = store.reader().unwrap().history(rows[0]).unwrap();
    let sentences = history.iter().filter_map(|line| match line {
        HistoryLine::Change(change) => Some(change.kind.sentence_by(None)),
        HistoryLine::Observation(..) => None,
    });
    let sentences: Vec<_> = sentences.collect();
    // The first label edit adds two labels, so it has two entries. `Untrack` has an `edited` entry only for its undo.
    for (how, count) in [("edited: ", 6), ("edited (undo): ", 7), ("edited (redo): ", 6)] {
        assert_eq!(sentences.iter().filter(|sentence| sentence.starts_with(how)).count(), count, "{how}{sentences:?}");
    }
}

#[test]
fn edits_undone_before_a_new_edit_are_not_redone() {
    let (_folder, store) = open();
    let rows = vec![import_one(&store)];
    let ticket = |ticket: &str, when| {
        testing::edit(
            &store,
            "default",
            Edit::SetTicket { transactions: rows.clone(), ticket: Some(ticket.into()) },
            at(when),
        )
    };
    let back = |when| testing::undo(&store, "default", at(when)).map(|back| back.summary);
    let again = |when| testing::redo(&store, "default", at(when)).map(|again| again.summary);
    ticket("SUP-1", 1);
    back(2).unwrap();
    ticket("SUP-2", 3);
    ticket("SUP-3", 4);
    assert_eq!([back(5), back(6)], [Some("ticket SUP-3".into()), Some("ticket SUP-2".into())]);
    // Redo applies edits in their original order, and leaves out the edit undone before them.
    assert_eq!([again(7), again(8), again(9)], [Some("ticket SUP-2".into()), Some("ticket SUP-3".into()), None]);
    // The order doesn't depend on the clock.
    assert_eq!([back(900), back(5)], [Some("ticket SUP-3".into()), Some("ticket SUP-2".into())]);
    assert_eq!([again(4), again(3)], [Some("ticket SUP-2".into()), Some("ticket SUP-3".into())]);
    assert_eq!([back(2), back(1)], [Some("ticket SUP-3".into()), Some("ticket SUP-2".into())]);
    ticket("SUP-4", 0);
    assert_eq!([back(0), again(0), again(0)], [Some("ticket SUP-4".into()), Some("ticket SUP-4".into()), None]);
}

#[test]
fn undo_keeps_later_changes() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let ticket = |ticket: &str| Edit::SetTicket { transactions: vec![row], ticket: Some(ticket.into()) };
    testing::edit(&store, "default", ticket("SUP-1"), at(1));
    Connection::open(store.path())
        .unwrap()
        .execute("UPDATE transactions SET ticket = 'SUP-9' WHERE id = 1", [])
        .unwrap();
    let back = testing::undo(&store, "default", at(3)).unwrap();
    assert_eq!((back.done, back.left), (0, 1));
    let kept = store.reader().unwrap().transaction(row).unwrap().unwrap();
    assert_eq!(kept.params.ticket.as_deref(), Some("SUP-9"));
    // A new edit ends the possibility to redo.
    testing::edit(&store, "default", ticket("SUP-3"), at(4));
    assert_eq!(testing::redo(&store, "default", at(5)), None);
}

#[test]
fn deleted_transaction_leaves_no_data_and_is_reported_in_the_feed() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, body(RouterStatus::Ongoing, 1), 1);
    testing::edit(&store, "default", Edit::AddNote { transactions: vec![row], text: "asked".into() }, at(2));
    let before = store.reader().unwrap().last_change().unwrap();
    assert_eq!(testing::delete(&store, vec![row, RowId(9)], at(3)), 1);
    let reader = store.reader().unwrap();
    assert_eq!(reader.transaction(row).unwrap(), None);
    assert_eq!(names(reader.changes_after(before, 10).unwrap()), ["deleted"]);
    let db = Connection::open(store.path()).unwrap();
    for table in ["labels", "notes", "observations", "alerts", "records"] {
        let left: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
    let hash = fixtures::params(1).transaction_id;
    let kept: String =
        db.query_row("SELECT group_concat(content) FROM dictionaries", [], |row| row.get(0)).unwrap_or_default();
    assert!(!kept.contains(hash.as_str()));
    // Neither the write-ahead log nor the free space of the file contains the hash.
    store.flush().wait().unwrap();
    let path = store.path().to_owned();
    assert!(!contains(&paths::companion(&path, "-wal"), hash.as_str()));
    drop((reader, db, store));
    assert!(!contains(&path, hash.as_str()));
}

/// Whether a file contains a text, in any case.
fn contains(file: &Path, text: &str) -> bool {
    let (file, text) = (std::fs::read(file).unwrap(), text.as_bytes());
    file.windows(text.len()).any(|part| part.eq_ignore_ascii_case(text))
}

#[test]
fn deleted_data_leaves_the_log_after_the_read_that_needs_it() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let (log, hash) = (paths::companion(store.path(), "-wal"), fixtures::params(1).transaction_id);
    let db = Connection::open(store.path()).unwrap();
    db.execute_batch("BEGIN; SELECT count(*) FROM transactions").unwrap();
    testing::delete(&store, vec![row], at(1));
    store.flush().wait().unwrap();
    assert!(contains(&log, hash.as_str()));
    db.execute_batch("COMMIT").unwrap();
    testing::track(&store, "default", vec![fixtures::new(2)], at(2));
    (0..3).for_each(|_| drop(store.flush().wait().unwrap()));
    assert!(!contains(&log, hash.as_str()));
}

#[test]
fn undoing_a_correction_restores_the_parameters_and_nothing_else() {
    let (_folder, store) = open();
    testing::track(&store, "default", (1..=3).map(fixtures::new).collect(), at(0));
    let params = TransactionParams { quote_id: "right".into(), ticket: Some("SUP-1".into()), ..fixtures::params(1) };
    testing::track(&store, "default", vec![NewTransaction { params, ..fixtures::new(1) }], at(1));
    let back = testing::undo(&store, "default", at(2)).unwrap();
    assert_eq!((back.done, back.left), (1, 0));
    let reader = store.reader().unwrap();
    let kept = reader.transaction(RowId(1)).unwrap().unwrap();
    assert_eq!((kept.params.quote_id.as_str(), kept.params.ticket.as_deref()), ("quote-1", None));
    let polled = || reader.polling_load("default", at(9)).unwrap().polled;
    assert_eq!(polled(), 3);
    // The next undo reverses the whole import.
    assert_eq!(testing::undo(&store, "default", at(3)).unwrap().summary, "track 3");
    assert_eq!(polled(), 0);
    testing::redo(&store, "default", at(4));
    assert_eq!(polled(), 3);
}

#[test]
fn undoing_a_correction_keeps_what_changed_since() {
    let (_folder, store) = open();
    testing::track(&store, "default", vec![fixtures::new(1)], at(0));
    let params = TransactionParams { quote_id: "wrong".into(), ..fixtures::params(1) };
    testing::track(&store, "default", vec![NewTransaction { params, ..fixtures::new(1) }], at(1));
    let bob = store.clone().with_author(Some("Bob".into()));
    testing::edit(
        &bob,
        "default",
        Edit::SetTicket { transactions: vec![RowId(1)], ticket: Some("SUP-1".into()) },
        at(2),
    );
    let back = testing::undo(&store, "default", at(3)).unwrap();
    assert_eq!((back.done, back.left), (1, 0));
    let kept = store.reader().unwrap().transaction(RowId(1)).unwrap().unwrap();
    assert_eq!((kept.params.quote_id.as_str(), kept.params.ticket.as_deref()), ("quote-1", Some("SUP-1")));
    assert_eq!(kept.authors.ticket.as_deref(), Some("Bob"));
    testing::redo(&store, "default", at(4)).unwrap();
    let kept = store.reader().unwrap().transaction(RowId(1)).unwrap().unwrap();
    assert_eq!((kept.params.quote_id.as_str(), kept.params.ticket.as_deref()), ("wrong", Some("SUP-1")));
}

#[test]
fn undo_stops_at_an_import_whose_changes_were_too_many() {
    let (_folder, store) = open();
    let all = |quote: &str| {
        let params = (1..=10_001).map(fixtures::params);
        params.map(|params| TransactionParams { quote_id: quote.into(), ..params }.into()).collect::<Vec<_>>()
    };
    testing::track(&store, "default", all("q-1"), at(0));
    testing::edit(&store, "default", Edit::AddNote { transactions: vec![RowId(1)], text: "keep".into() }, at(1));
    testing::track(&store, "default", all("q-2"), at(2));
    let back = testing::undo(&store, "default", at(3)).unwrap();
    assert_eq!((back.done, back.left), (0, 1));
    assert!(back.summary.contains("can't be undone"), "{}", back.summary);
    let notes = || store.reader().unwrap().transaction(RowId(1)).unwrap().unwrap().notes;
    assert_eq!(notes(), ["keep"]);
    testing::undo(&store, "default", at(4)).unwrap();
    assert!(notes().is_empty());
}

#[test]
fn untracked_transaction_has_no_alerts() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::says(RouterStatus::NeedsGas), 1);
    let reader = store.reader().unwrap();
    let attention = Filter::parse("is:attention").unwrap();
    let count = || reader.listing(&attention, at(9)).count().unwrap();
    assert_eq!(count(), 1);
    testing::edit(&store, "default", Edit::Untrack { transactions: vec![row] }, at(2));
    let active = || reader.alerts(AlertQuery::Active).unwrap().iter().map(|alert| alert.rule).collect::<Vec<_>>();
    assert_eq!((count(), active()), (0, vec![]));
    // A request was under way. Its answer counts once the transaction is polled again.
    observe(&store, row, fixtures::says(RouterStatus::PartialSuccess), 3);
    assert_eq!((count(), active()), (0, vec![]));
    testing::undo(&store, "default", at(4));
    assert_eq!((count(), active()), (1, vec![Rule::PartialSuccess]));
    let alert = reader.alerts(AlertQuery::Active).unwrap().remove(0);
    assert_eq!(alert.profile, "default");
    let acknowledge = Edit::Acknowledge { alerts: vec![alert.id], note: None };
    assert_eq!(testing::edit(&store, "default", acknowledge, at(5)), 1);
}

#[test]
fn settled_transaction_that_is_tracked_again_has_its_alert_again() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::says(RouterStatus::PartialSuccess), 1);
    let active = || store.reader().unwrap().alerts(AlertQuery::OfTransaction(row)).unwrap().len();
    testing::edit(&store, "default", Edit::Untrack { transactions: vec![row] }, at(2));
    assert_eq!(active(), 0);
    let new = store.reader().unwrap().transaction(row).unwrap().unwrap().params;
    testing::track(&store, "default", vec![NewTransaction { params: new, ..fixtures::new(1) }], at(3));
    assert_eq!(active(), 1, "it is settled, so no later answer would raise the alert");
}

#[test]
fn answer_that_came_after_the_undo_of_an_import_counts_with_its_redo() {
    let (_folder, store) = open();
    let row = import_one(&store);
    testing::undo(&store, "default", at(1));
    observe(&store, row, fixtures::says(RouterStatus::PartialSuccess), 2);
    let active = || store.reader().unwrap().alerts(AlertQuery::OfTransaction(row)).unwrap().len();
    assert_eq!(active(), 0);
    testing::redo(&store, "default", at(3));
    assert_eq!(active(), 1, "it is settled, so no later answer would raise the alert");
}

#[test]
fn undoing_untrack_restores_the_alerts_that_it_cleared() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::says(RouterStatus::PartialSuccess), 1);
    let active = || store.reader().unwrap().alerts(AlertQuery::OfTransaction(row)).unwrap();
    let alerts = vec![active()[0].id];
    testing::edit(&store, "default", Edit::Acknowledge { alerts, note: Some("mine".into()) }, at(2));
    let before = active();
    testing::edit(&store, "default", Edit::Untrack { transactions: vec![row] }, at(3));
    assert_eq!(active(), []);
    testing::undo(&store, "default", at(4));
    assert_eq!(active(), before);
    let attention = Filter::parse("is:attention").unwrap();
    assert_eq!(store.reader().unwrap().listing(&attention, at(4)).count().unwrap(), 1);
    // Undoing an import has the same effect. An alert that was cleared before stays cleared.
    testing::redo(&store, "default", at(5));
    assert_eq!(active(), []);
    testing::undo(&store, "default", at(6));
    testing::undo(&store, "default", at(7));
    testing::undo(&store, "default", at(8));
    assert_eq!(active(), []);
    testing::redo(&store, "default", at(9));
    assert_eq!(active().len(), 1);
}

/// Reads all new changes of the feed: their names and transactions.
fn read_changes(feed_reader: &FeedReader) -> Vec<(&'static str, Option<RowId>)> {
    feed_reader.changes().unwrap().changes.iter().map(|change| (change.kind.name(), change.transaction)).collect()
}

#[test]
fn feed_reports_the_transactions_of_an_undone_and_redone_import() {
    let (_folder, store) = open();
    let rows = testing::track(&store, "default", (1..=2).map(fixtures::new).collect(), at(0)).added.listed;
    let feed_reader = FeedReader::new(store.reader().unwrap());
    feed_reader.changes().unwrap();
    // These polls use numbers of the feed.
    (1..9).for_each(|second| observe(&store, rows[0], fixtures::says(RouterStatus::Ongoing), second));
    read_changes(&feed_reader);
    testing::undo(&store, "default", at(10));
    let both = |name| [(name, Some(rows[0])), (name, Some(rows[1]))];
    assert_eq!(read_changes(&feed_reader), [&both("untracked")[..], &[("taken_back", None)]].concat());
    testing::redo(&store, "default", at(11));
    assert_eq!(read_changes(&feed_reader), [&both("edited")[..], &[("done_again", None)]].concat());
}

#[test]
fn feed_reader_continues_after_a_polled_transaction_is_deleted() {
    let (_folder, store) = open();
    let rows = testing::track(&store, "default", (1..=2).map(fixtures::new).collect(), at(0)).added.listed;
    let feed_reader = FeedReader::new(store.reader().unwrap());
    feed_reader.changes().unwrap();
    let polled = |row, second| observe(&store, row, fixtures::says(RouterStatus::Ongoing), second);
    rows.iter().for_each(|row| polled(*row, 1));
    read_changes(&feed_reader);
    rows.iter().for_each(|row| polled(*row, 2));
    testing::delete(&store, vec![rows[0]], at(3));
    assert_eq!(read_changes(&feed_reader), [("polled", Some(rows[1])), ("deleted", None)]);
    // Stores of earlier versions have such entries; recovered stores may have them too.
    let db = Connection::open(store.path()).unwrap();
    db.execute("INSERT INTO polls (seq, at, transaction_row) VALUES (99, 0, 1)", []).unwrap();
    polled(rows[1], 4);
    assert_eq!(read_changes(&feed_reader), [("polled", Some(rows[1]))]);
}

#[test]
fn import_of_new_and_known_transactions_is_one_step() {
    let (_folder, store) = open();
    testing::track(&store, "default", (1..=9).step_by(2).map(fixtures::new).collect(), at(0));
    let report = testing::track(&store, "default", (1..=10).map(fixtures::new).collect(), at(1));
    assert_eq!((report.added.count, report.unchanged.count), (5, 5));
    let db = Connection::open(store.path()).unwrap();
    let steps = "SELECT json_array_length(steps) FROM edits ORDER BY id DESC LIMIT 1";
    assert_eq!(db.query_row(steps, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    testing::undo(&store, "default", at(2));
    let reader = store.reader().unwrap();
    let stopped: Vec<_> =
        reader.load().unwrap().0.into_iter().filter(|tx| tx.tracking == Tracking::Untracked).collect();
    assert_eq!(stopped.iter().map(|tx| tx.id).collect::<Vec<_>>(), report.added.listed);
}

#[test]
fn redoing_an_import_polls_only_transactions_that_its_undo_stopped() {
    let (_folder, store) = open();
    let mut batch: Vec<_> = (1..=5).map(fixtures::new).collect();
    batch[4].is_untracked = true;
    let rows = testing::track(&store, "default", batch, at(0)).added.listed;
    let refusal = fixtures::answer(StatusOutcome::Failed(RequestFailure::Rejected("quoteId is wrong".into())));
    observe(&store, rows[0], refusal, 1);
    testing::edit(&store, "another", Edit::Untrack { transactions: vec![rows[1]] }, at(2));
    let tracking =
        || -> Vec<Tracking> { store.reader().unwrap().load().unwrap().0.into_iter().map(|tx| tx.tracking).collect() };
    let before = tracking();
    assert!(matches!(before[0], Tracking::Parked(_)), "{before:?}");
    testing::undo(&store, "default", at(3));
    assert_eq!(tracking(), [const { Tracking::Untracked }; 5]);
    testing::redo(&store, "default", at(4));
    assert_eq!(tracking(), before);
    // Redo still polls only the transactions that the undo stopped, even after another import.
    testing::undo(&store, "default", at(5));
    let resumed = testing::submit_track(&store, "another profile", vec![fixtures::new(9)], at(6)).wait();
    assert_eq!(resumed.unwrap().tracked().unwrap().added.count, 1);
    testing::redo(&store, "default", at(7));
    assert_eq!(tracking()[..5], before);
}

#[test]
fn undo_of_refused_parameters_polls_the_transaction_again_and_restores_an_earlier_refusal() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let right = store.reader().unwrap().header(row).unwrap().unwrap().params;
    let correct = |quote: &str, second| {
        let params = TransactionParams { quote_id: quote.into(), ..right.clone() };
        testing::track(&store, "default", vec![NewTransaction::from(params)], at(second));
    };
    let refuse = |reason: &str, second| {
        let refusal = fixtures::answer(StatusOutcome::Failed(RequestFailure::Rejected(reason.into())));
        observe(&store, row, refusal, second);
    };
    let state = || {
        let tx = store.reader().unwrap().header(row).unwrap().unwrap();
        (tx.params.quote_id, tx.tracking)
    };
    let parked = |reason: &str| Tracking::Parked(format!("the service rejected the request: {reason}"));
    correct("wrong", 1);
    refuse("wrong quote", 2);
    assert_eq!(state(), ("wrong".into(), parked("wrong quote")));
    testing::undo(&store, "default", at(3));
    assert_eq!(state(), (right.quote_id.clone(), Tracking::Active));
    // The service refused the parameters before the edit, too.
    refuse("right quote", 4);
    correct("other", 5);
    assert_eq!(state(), ("other".into(), Tracking::Active));
    refuse("other quote", 6);
    testing::undo(&store, "default", at(7));
    assert_eq!(state(), (right.quote_id.clone(), parked("right quote")));
    testing::redo(&store, "default", at(8));
    assert_eq!(state(), ("other".into(), Tracking::Active));
}

#[test]
fn imported_label_in_another_case_is_no_second_label() {
    let (_folder, store) = open();
    let labelled = |label: &str| NewTransaction { labels: vec![label.into()], ..fixtures::new(1) };
    testing::track(&store, "default", vec![labelled("VIP")], at(0));
    assert_eq!(testing::track(&store, "default", vec![labelled("vip")], at(1)).unchanged.count, 1);
    let tx = store.reader().unwrap().header(RowId(1)).unwrap().unwrap();
    assert_eq!(tx.labels, ["VIP"]);
}

#[test]
fn redo_changes_nothing_if_its_undo_changed_nothing() {
    let (_folder, store) = open();
    let rows = testing::track(&store, "default", (1..=2).map(fixtures::new).collect(), at(0)).added.listed;
    testing::edit(&store, "another", Edit::Untrack { transactions: rows }, at(1));
    assert_eq!(testing::undo(&store, "default", at(2)).unwrap().done, 0);
    assert_eq!(testing::redo(&store, "default", at(3)).unwrap().done, 0);
    let stopped = |tx: Transaction| tx.tracking == Tracking::Untracked;
    assert!(store.reader().unwrap().load().unwrap().0.into_iter().all(stopped));
}

#[test]
fn deleting_a_transaction_deletes_its_acknowledgement_notes() {
    let (_folder, store) = open();
    let rows = testing::track(&store, "default", (1..=2).map(fixtures::new).collect(), at(0)).added.listed;
    for row in &rows {
        observe(&store, *row, fixtures::says(RouterStatus::NeedsGas), 1);
    }
    let alerts: Vec<i64> =
        store.reader().unwrap().alerts(AlertQuery::Active).unwrap().iter().map(|alert| alert.id).collect();
    let note = |alert: i64, note: &str| Edit::Acknowledge { alerts: vec![alert], note: Some(note.into()) };
    testing::edit(&store, "default", note(alerts[0], "first words"), at(2));
    testing::edit(&store, "default", note(alerts[1], "other words"), at(2));
    testing::delete(&store, vec![rows[0]], at(3));
    let db = Connection::open(store.path()).unwrap();
    let kept: String = db.query_row("SELECT group_concat(steps) FROM edits", [], |row| row.get(0)).unwrap();
    assert!(!kept.contains("first words") && kept.contains("other words"), "{kept}");
}

#[test]
fn tickets_labels_and_profiles_are_found_by_prefix_once_each() {
    let (_folder, store) = open();
    for (number, ticket, labels) in [
        (1, Some("SUP-12"), vec!["vip", "batch"]),
        (2, Some("sup-1"), vec!["vip"]),
        (3, Some("SUP-12"), vec!["VIP"]),
        (4, Some("OPS-3"), vec![]),
        (5, None, vec!["võimalik"]),
    ] {
        let mut new = fixtures::new(number);
        new.params.ticket = ticket.map(str::to_owned);
        new.labels = labels.into_iter().map(str::to_owned).collect();
        testing::track(&store, "default", vec![new], at(0));
    }
    let reader = store.reader().unwrap();
    let names = |of, beginning, most| reader.names(of, beginning, most).unwrap();
    assert_eq!(names(NameKind::Ticket, "SUP", 9), ["sup-1", "SUP-12"]);
    assert_eq!(names(NameKind::Ticket, "", 2), ["OPS-3", "sup-1"]);
    assert_eq!(names(NameKind::Ticket, "z", 9), [""; 0]);
    // Names that differ only in case count as one, whichever is shown: the filter finds all of them.
    assert_eq!(names(NameKind::Label, "", 9).len(), 3);
    assert_eq!(names(NameKind::Label, "võ", 9), ["võimalik"]);
    for profile in ["prod", "Partner"] {
        testing::track(&store, profile, vec![fixtures::new(6), fixtures::new(7)], at(0));
    }
    assert_eq!(names(NameKind::Profile, "", 9), ["default", "Partner", "prod"]);
    assert_eq!(names(NameKind::Profile, "p", 1), ["Partner"]);
}

#[test]
fn the_size_of_the_import_that_undo_would_reverse_is_known() {
    let (_folder, store) = open();
    let size = || store.reader().unwrap().last_import("default", None).unwrap().map_or(0, |edit| edit.transactions);
    assert_eq!(size(), 0);
    let rows = testing::track(&store, "default", (1..=4).map(fixtures::new).collect(), at(0)).added.listed;
    assert_eq!((size(), store.reader().unwrap().last_import("other", None).unwrap()), (4, None));
    testing::edit(&store, "default", Edit::Untrack { transactions: vec![rows[0]] }, at(1));
    assert_eq!(size(), 0, "the last edit is no import");
    testing::undo(&store, "default", at(2));
    assert_eq!(size(), 4);
}

#[test]
fn nothing_says_which_ticket_and_label_a_deleted_transaction_had() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let edit = |edit| testing::edit(&store, "default", edit, at(1));
    edit(Edit::SetTicket { transactions: vec![row], ticket: Some("SECRET-1".into()) });
    edit(Edit::ChangeLabels { transactions: vec![row], add: vec!["secret-2".into()], remove: vec![] });
    testing::undo(&store, "default", at(2)).unwrap();
    testing::delete(&store, vec![row], at(3));
    let db = Connection::open(store.path()).unwrap();
    let texts = |sql: &str| db.query_row(sql, [], |row| row.get::<_, Option<String>>(0)).unwrap().unwrap_or_default();
    let left = texts("SELECT group_concat(summary || steps) FROM edits")
        + &texts("SELECT group_concat(ifnull(what, '')) FROM changes");
    assert!(!left.to_lowercase().contains("secret"), "{left}");
}

#[test]
fn damaged_dictionary_concerns_only_the_texts_that_were_packed_with_it() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let long =
        Observation { body: Some("several words of an answer ".repeat(40)), ..fixtures::says(RouterStatus::Ongoing) };
    observe(&store, row, long, 1);
    let db = Connection::open(store.path()).unwrap();
    assert!(db.execute("UPDATE dictionaries SET content = zeroblob(length(content))", []).unwrap() > 0);
    observe(&store, row, body(RouterStatus::Success, 2), 2);
    let known = store.reader().unwrap().transaction(row).unwrap().unwrap();
    assert_eq!(known.state.status, Some(RouterStatus::Success));
    assert!(known.record.is_some());
}
