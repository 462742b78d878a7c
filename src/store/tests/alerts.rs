//! Tests of alerts in the store: flapping, acknowledging, snoozing, undoing, clearing.

use super::*;
use crate::domain::{
    alert::{Alert, AlertState, SnoozeEnd},
    filter::Filter,
};

fn observe_status(store: &Store, row: RowId, status: RouterStatus, second: i64) {
    observe(store, row, fixtures::says(status), second);
}

/// Returns a store with one transaction that needs gas since second 10.
fn with_gas_alert() -> (TempDir, Store, RowId) {
    let (folder, store) = open();
    let row = import_one(&store);
    observe_status(&store, row, RouterStatus::NeedsGas, 10);
    (folder, store, row)
}

/// Returns the names of the alert events in the feed, without the prefix `alert_`.
fn alert_events(store: &Store) -> Vec<&'static str> {
    let names = names(store.reader().unwrap().changes_after(0, 1_000).unwrap());
    names.into_iter().filter_map(|name| name.strip_prefix("alert_")).collect()
}

fn only_alert(store: &Store) -> Alert {
    let active = store.reader().unwrap().alerts(AlertQuery::Active).unwrap();
    assert_eq!(active.len(), 1, "{active:?}");
    active.into_iter().next().unwrap()
}

/// Clears the alert by two answers from `second` on, and raises it again at `back`.
fn flip(store: &Store, row: RowId, second: i64, back: i64) {
    observe_status(store, row, RouterStatus::Ongoing, second);
    observe_status(store, row, RouterStatus::Ongoing, second + 1);
    observe_status(store, row, RouterStatus::NeedsGas, back);
}

#[test]
fn third_raise_in_ten_minutes_is_flapping_and_later_raises_are_flips() {
    let (_folder, store, row) = with_gas_alert();
    flip(&store, row, 20, 100);
    assert!(!only_alert(&store).is_flapping);
    flip(&store, row, 200, 300);
    assert!(only_alert(&store).is_flapping);
    let events = ["raised", "cleared", "raised", "cleared", "flapping"];
    assert_eq!(alert_events(&store), events);
    // While the alert flaps, each raise and clear is only a `flipped` event, however long it goes on.
    flip(&store, row, 310, 650);
    flip(&store, row, 660, 700);
    assert!(only_alert(&store).is_flapping);
    assert_eq!(alert_events(&store), [&events[..], &["flipped"; 4]].concat());
    // After ten quiet minutes the next raise is a normal one.
    flip(&store, row, 710, 1_300);
    assert!(!only_alert(&store).is_flapping);
    assert_eq!(alert_events(&store).last(), Some(&"raised"));
}

#[test]
fn raises_far_apart_or_of_another_transaction_do_not_flap() {
    let (_folder, store, row) = with_gas_alert();
    flip(&store, row, 20, 309);
    flip(&store, row, 320, 610);
    assert!(!only_alert(&store).is_flapping, "the first raise is ten minutes old");
    let other = testing::track(&store, "default", vec![fixtures::new(2)], at(0)).added.listed[0];
    observe_status(&store, other, RouterStatus::NeedsGas, 615);
    assert!(store.reader().unwrap().alerts(AlertQuery::Active).unwrap().iter().all(|alert| !alert.is_flapping));
    for _ in 0..3 {
        testing::record_event(&store, "default", ProfileEvent::Throttled(String::new()), at(620));
        assert_eq!(store.reader().unwrap().alerts(AlertQuery::OfProfiles).unwrap().len(), 1);
        testing::record_event(&store, "default", ProfileEvent::Recovered, at(620));
    }
    let cleared = store.reader().unwrap().alerts(AlertQuery::ClearedSince(at(620), 10)).unwrap();
    assert_eq!(cleared.iter().map(|alert| alert.is_flapping).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn expired_snooze_fires_and_the_next_report_or_answer_removes_it() {
    let (_folder, store, row) = with_gas_alert();
    let reader = store.reader().unwrap();
    let list = |filter: &str, second| reader.listing(&Filter::parse(filter).unwrap(), at(second)).all().unwrap();
    let polls = |second| testing::report(&store, "default", PollerReport { at: at(second), ..PollerReport::default() });
    testing::edit(&store, "default", Edit::Snooze { alerts: vec![1], until: SnoozeEnd::Until(at(60)) }, at(20));
    let states = |seconds: [i64; 2]| seconds.map(|second| only_alert(&store).state(at(second)));
    assert_eq!(states([59, 60]), [AlertState::Snoozed, AlertState::Firing]);
    assert_eq!((list("is:snoozed", 59), list("is:snoozed", 60)), (vec![row], vec![]));
    polls(59);
    assert!(only_alert(&store).handling.is_some());
    polls(60);
    assert_eq!(only_alert(&store).handling, None);
    assert_eq!(alert_events(&store), ["raised", "snoozed", "unsnoozed"]);
    // An answer also ends an expired snooze.
    testing::edit(&store, "default", Edit::Snooze { alerts: vec![1], until: SnoozeEnd::Until(at(90)) }, at(70));
    observe_status(&store, row, RouterStatus::NeedsGas, 91);
    assert_eq!(only_alert(&store).handling, None);
}

#[test]
fn handled_alerts_sort_after_firing_ones_and_before_transactions_without_alerts() {
    let (_folder, store) = open();
    let rows = testing::track(&store, "default", (1..=4).map(fixtures::new).collect(), at(0)).added.listed;
    let statuses = [RouterStatus::PartialSuccess, RouterStatus::NeedsGas, RouterStatus::Refund, RouterStatus::Ongoing];
    for (row, status) in rows.iter().zip(statuses) {
        observe_status(&store, *row, status, 10);
    }
    let reader = store.reader().unwrap();
    let order =
        || reader.listing(&Filter::everything(), at(30)).all().unwrap().iter().map(|row| row.0).collect::<Vec<_>>();
    let urgent = || reader.most_urgent().unwrap().map(|(alert, _)| alert.rule);
    let edits = [
        (None, [1, 2, 3, 4], Rule::PartialSuccess),
        (Some(Edit::Acknowledge { alerts: vec![1], note: None }), [2, 3, 1, 4], Rule::NeedsGas),
        (Some(Edit::Snooze { alerts: vec![2], until: SnoozeEnd::Change }), [3, 1, 2, 4], Rule::Refund),
        (Some(Edit::Snooze { alerts: vec![3], until: SnoozeEnd::Until(at(99)) }), [1, 2, 3, 4], Rule::PartialSuccess),
        (Some(Edit::Unacknowledge { alerts: vec![2] }), [2, 1, 3, 4], Rule::NeedsGas),
    ];
    for (edit, expected, rule) in edits {
        if let Some(edit) = &edit {
            assert_eq!(testing::edit(&store, "default", edit.clone(), at(20)), 1, "{edit:?}");
        }
        assert_eq!((order(), urgent()), (expected.to_vec(), Some(rule)), "{edit:?}");
        let first = reader.most_urgent().unwrap().map(|(_, tx)| tx.id.0);
        assert_eq!(first, order().first().copied(), "the most urgent alert is that of the first row in lists");
    }
    while testing::undo(&store, "default", at(40)).is_some_and(|back| back.summary != "track 4") {}
    assert_eq!(reader.alerts(AlertQuery::Active).unwrap(), [], "a transaction that isn't polled has no alerts");
}

#[test]
fn snooze_can_be_undone_and_redone_unless_it_has_ended() {
    let (_folder, store, row) = with_gas_alert();
    let snooze = |until| Edit::Snooze { alerts: vec![1], until };
    let acknowledge = Edit::Acknowledge { alerts: vec![1], note: Some("mine".into()) };
    let edits = [
        snooze(SnoozeEnd::Until(at(900))),
        snooze(SnoozeEnd::Change),
        acknowledge,
        Edit::Unacknowledge { alerts: vec![1] },
    ];
    let mut states = vec![only_alert(&store).handling];
    for edit in edits {
        assert_eq!(testing::edit(&store, "default", edit, at(20)), 1);
        states.push(only_alert(&store).handling);
    }
    for state in states.iter().rev().skip(1) {
        assert_eq!(testing::undo(&store, "default", at(30)).unwrap().done, 1);
        assert_eq!(only_alert(&store).handling, *state);
    }
    for state in states.iter().skip(1) {
        assert_eq!(testing::redo(&store, "default", at(40)).unwrap().done, 1);
        assert_eq!(only_alert(&store).handling, *state);
    }
    testing::edit(&store, "default", snooze(SnoozeEnd::Change), at(50));
    observe_status(&store, row, RouterStatus::Ongoing, 60);
    assert_eq!(only_alert(&store).handling, None);
    assert_eq!(testing::undo(&store, "default", at(70)).unwrap().left, 1);
}

#[test]
fn acknowledgement_recorded_by_an_earlier_version_can_be_undone() {
    let (_folder, store, _) = with_gas_alert();
    let db = Connection::open(store.path()).unwrap();
    let steps = r#"[{"acknowledged":{"alert":1,"before":null,"after":{"at":15000,"note":"mine"}}}]"#;
    db.execute("UPDATE alerts SET acknowledged_at = 15000, acknowledged_note = 'mine'", []).unwrap();
    let insert = "INSERT INTO edits (at, profile, summary, steps) VALUES (15000, 'default', 'acknowledge 1 alert', ?)";
    db.execute(insert, [steps]).unwrap();
    assert!(only_alert(&store).acknowledged().is_some());
    assert_eq!(testing::undo(&store, "default", at(20)).unwrap().done, 1);
    assert_eq!(only_alert(&store).handling, None);
    // The stored steps of an acknowledgement have the same format as in earlier versions.
    let edit = Edit::Acknowledge { alerts: vec![1], note: Some("mine".into()) };
    testing::edit(&store, "default", edit, at(15));
    let kept: String = db.query_row("SELECT steps FROM edits ORDER BY id DESC LIMIT 1", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, steps);
}

#[test]
fn cleared_alerts_are_listed_newest_first_by_index() {
    let (_folder, store, row) = with_gas_alert();
    testing::edit(&store, "default", Edit::Acknowledge { alerts: vec![1], note: None }, at(20));
    observe_status(&store, row, RouterStatus::Success, 30);
    let other = testing::track(&store, "default", vec![fixtures::new(2)], at(0)).added.listed[0];
    observe_status(&store, other, RouterStatus::NeedsGas, 40);
    observe_status(&store, other, RouterStatus::Success, 50);
    let reader = store.reader().unwrap();
    let cleared = |since, most| {
        let alerts = reader.alerts(AlertQuery::ClearedSince(at(since), most)).unwrap();
        alerts
            .iter()
            .map(|alert| (alert.id, alert.cleared_at.unwrap(), alert.acknowledged().is_some()))
            .collect::<Vec<_>>()
    };
    assert_eq!(cleared(0, 10), [(2, at(50), false), (1, at(30), true)]);
    assert_eq!((cleared(31, 10).len(), cleared(0, 1).len(), cleared(51, 10).len()), (1, 1, 0));
    let db = Connection::open(store.path()).unwrap();
    for (condition, index) in [
        ("cleared_at >= 5 ORDER BY cleared_at DESC, id DESC LIMIT 9", "alerts_cleared"),
        ("snoozed_until <= 5 AND cleared_at IS NULL ORDER BY snoozed_until", "alerts_snoozed"),
    ] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT * FROM alerts WHERE {condition}");
        let plan: String = db.query_row(&sql, [], |row| row.get(3)).unwrap();
        assert!(plan.contains(index), "{condition}: {plan}");
    }
}

#[test]
fn new_note_on_an_acknowledged_alert_is_kept_and_undo_names_the_transaction() {
    let (_folder, store, _) = with_gas_alert();
    let acknowledge = |note: Option<&str>, second| {
        let edit = Edit::Acknowledge { alerts: vec![only_alert(&store).id], note: note.map(str::to_owned) };
        testing::edit(&store, "default", edit, at(second))
    };
    let note = || only_alert(&store).handling.and_then(|handling| handling.note().map(str::to_owned));
    let changed = [None, Some("asked"), None, Some("asked")].map(|note| acknowledge(note, 20));
    assert_eq!((changed, note().as_deref()), ([1, 1, 0, 0], Some("asked")));
    let back = testing::undo(&store, "default", at(30)).unwrap();
    assert_eq!((back.about, note()), (Some(fixtures::params(1).transaction_id), None));
    let batch = (2..=3).map(fixtures::new).collect();
    testing::track(&store, "default", batch, at(40));
    assert_eq!(testing::undo(&store, "default", at(50)).unwrap().about, None);
}
