//! The life of alerts in the store: flapping, what people say of them, what is cleared.

use super::*;
use crate::domain::{
    alert::{Alert, AlertState, Snooze},
    filter::Filter,
};

fn hear(store: &Store, row: RowId, status: RouterStatus, second: i64) {
    observe(store, row, fixtures::says(status), second);
}

/// One that needs gas since 10 s.
fn in_need() -> (TempDir, Store, RowId) {
    let (folder, store) = open();
    let row = import_one(&store);
    hear(&store, row, RouterStatus::NeedsGas, 10);
    (folder, store, row)
}

/// What the feed says of alerts, without `alert_`.
fn told(store: &Store) -> Vec<&'static str> {
    let names = names(store.reader().unwrap().changes_after(0, 1_000).unwrap());
    names.into_iter().filter_map(|name| name.strip_prefix("alert_")).collect()
}

fn only(store: &Store) -> Alert {
    let standing = store.reader().unwrap().alerts(AlertQuery::Active).unwrap();
    assert_eq!(standing.len(), 1, "{standing:?}");
    standing.into_iter().next().unwrap()
}

/// The condition goes at `second` and is back at `back`.
fn flip(store: &Store, row: RowId, second: i64, back: i64) {
    hear(store, row, RouterStatus::Ongoing, second);
    hear(store, row, RouterStatus::Ongoing, second + 1);
    hear(store, row, RouterStatus::NeedsGas, back);
}

#[test]
fn the_third_raise_in_ten_minutes_is_flapping_and_the_last_that_is_said() {
    let (_folder, store, row) = in_need();
    flip(&store, row, 20, 100);
    assert!(!only(&store).flapping);
    flip(&store, row, 200, 300);
    assert!(only(&store).flapping);
    let said = ["raised", "cleared", "raised", "cleared", "flapping"];
    assert_eq!(told(&store), said);
    // While it goes on nothing is said again, however long that is.
    flip(&store, row, 310, 650);
    flip(&store, row, 660, 700);
    assert!(only(&store).flapping);
    assert_eq!(told(&store), [&said[..], &["flipped"; 4]].concat());
    // After some quiet it is as it was.
    flip(&store, row, 710, 1_300);
    assert!(!only(&store).flapping);
    assert_eq!(told(&store).last(), Some(&"raised"));
}

#[test]
fn raises_that_lie_apart_or_are_another_s_do_not_flap() {
    let (_folder, store, row) = in_need();
    flip(&store, row, 20, 309);
    flip(&store, row, 320, 610);
    assert!(!only(&store).flapping, "the first lies ten minutes back");
    let other = testing::track(&store, "default", vec![fixtures::new(2)], at(0)).added.first[0];
    hear(&store, other, RouterStatus::NeedsGas, 615);
    assert!(store.reader().unwrap().alerts(AlertQuery::Active).unwrap().iter().all(|alert| !alert.flapping));
    for _ in 0..3 {
        testing::record_event(&store, "default", ProfileEvent::Throttled(String::new()), at(620));
        assert_eq!(store.reader().unwrap().alerts(AlertQuery::OfProfiles).unwrap().len(), 1);
        testing::record_event(&store, "default", ProfileEvent::Recovered, at(620));
    }
    let cleared = store.reader().unwrap().alerts(AlertQuery::ClearedSince(at(620), 10)).unwrap();
    assert_eq!(cleared.iter().map(|alert| alert.flapping).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn a_snooze_fires_again_by_itself_and_is_ended_by_who_polls() {
    let (_folder, store, row) = in_need();
    let reader = store.reader().unwrap();
    let list = |filter: &str, second| reader.listing(&Filter::parse(filter).unwrap(), at(second)).all().unwrap();
    let polls = |second| testing::report(&store, "default", PollerReport { at: at(second), ..PollerReport::default() });
    testing::edit(&store, "default", Edit::Snooze { alerts: vec![1], until: Snooze::Until(at(60)) }, at(20));
    let states = |seconds: [i64; 2]| seconds.map(|second| only(&store).state(at(second)));
    assert_eq!(states([59, 60]), [AlertState::Snoozed, AlertState::Firing]);
    assert_eq!((list("is:snoozed", 59), list("is:snoozed", 60)), (vec![row], vec![]));
    polls(59);
    assert!(only(&store).handling.is_some());
    polls(60);
    assert_eq!(only(&store).handling, None);
    assert_eq!(told(&store), ["raised", "snoozed", "unsnoozed"]);
    // An answer ends it as well.
    testing::edit(&store, "default", Edit::Snooze { alerts: vec![1], until: Snooze::Until(at(90)) }, at(70));
    hear(&store, row, RouterStatus::NeedsGas, 91);
    assert_eq!(only(&store).handling, None);
}

#[test]
fn what_is_set_aside_stands_behind_the_rest_and_before_what_is_calm() {
    let (_folder, store) = open();
    let rows = testing::track(&store, "default", (1..=4).map(fixtures::new).collect(), at(0)).added.first;
    let statuses = [RouterStatus::PartialSuccess, RouterStatus::NeedsGas, RouterStatus::Refund, RouterStatus::Ongoing];
    for (row, status) in rows.iter().zip(statuses) {
        hear(&store, *row, status, 10);
    }
    let reader = store.reader().unwrap();
    let order =
        || reader.listing(&Filter::everything(), at(30)).all().unwrap().iter().map(|row| row.0).collect::<Vec<_>>();
    let urgent = || reader.most_urgent().unwrap().map(|(alert, _)| alert.rule);
    let edits = [
        (None, [1, 2, 3, 4], Rule::PartialSuccess),
        (Some(Edit::Acknowledge { alerts: vec![1], note: None }), [2, 3, 1, 4], Rule::NeedsGas),
        (Some(Edit::Snooze { alerts: vec![2], until: Snooze::Change }), [3, 1, 2, 4], Rule::Refund),
        (Some(Edit::Snooze { alerts: vec![3], until: Snooze::Until(at(99)) }), [1, 2, 3, 4], Rule::PartialSuccess),
        (Some(Edit::Unacknowledge { alerts: vec![2] }), [2, 1, 3, 4], Rule::NeedsGas),
    ];
    for (edit, expected, rule) in edits {
        if let Some(edit) = &edit {
            assert_eq!(testing::edit(&store, "default", edit.clone(), at(20)), 1, "{edit:?}");
        }
        assert_eq!((order(), urgent()), (expected.to_vec(), Some(rule)), "{edit:?}");
        let first = reader.most_urgent().unwrap().map(|(_, tx)| tx.id.0);
        assert_eq!(first, order().first().copied(), "what lists show first");
    }
    while testing::undo(&store, "default", at(40)).is_some_and(|back| back.summary != "track 4") {}
    assert_eq!(reader.alerts(AlertQuery::Active).unwrap(), [], "what isn't polled has none");
}

#[test]
fn a_snooze_can_be_taken_back_and_done_again_unless_it_has_ended() {
    let (_folder, store, row) = in_need();
    let snooze = |until| Edit::Snooze { alerts: vec![1], until };
    let acknowledge = Edit::Acknowledge { alerts: vec![1], note: Some("mine".into()) };
    let edits =
        [snooze(Snooze::Until(at(900))), snooze(Snooze::Change), acknowledge, Edit::Unacknowledge { alerts: vec![1] }];
    let mut states = vec![only(&store).handling];
    for edit in edits {
        assert_eq!(testing::edit(&store, "default", edit, at(20)), 1);
        states.push(only(&store).handling);
    }
    for state in states.iter().rev().skip(1) {
        assert_eq!(testing::undo(&store, "default", at(30)).unwrap().done, 1);
        assert_eq!(only(&store).handling, *state);
    }
    for state in states.iter().skip(1) {
        assert_eq!(testing::redo(&store, "default", at(40)).unwrap().done, 1);
        assert_eq!(only(&store).handling, *state);
    }
    testing::edit(&store, "default", snooze(Snooze::Change), at(50));
    hear(&store, row, RouterStatus::Ongoing, 60);
    assert_eq!(only(&store).handling, None);
    assert_eq!(testing::undo(&store, "default", at(70)).unwrap().left, 1);
}

#[test]
fn an_acknowledgement_that_an_earlier_version_recorded_can_be_taken_back() {
    let (_folder, store, _) = in_need();
    let db = Connection::open(store.path()).unwrap();
    let steps = r#"[{"acknowledged":{"alert":1,"before":null,"after":{"at":15000,"note":"mine"}}}]"#;
    db.execute("UPDATE alerts SET acknowledged_at = 15000, acknowledged_note = 'mine'", []).unwrap();
    let insert = "INSERT INTO edits (at, profile, summary, steps) VALUES (15000, 'default', 'acknowledge 1 alert', ?)";
    db.execute(insert, [steps]).unwrap();
    assert!(only(&store).acknowledged().is_some());
    assert_eq!(testing::undo(&store, "default", at(20)).unwrap().done, 1);
    assert_eq!(only(&store).handling, None);
    // And what is recorded from here on of an acknowledgement is the same as ever.
    let edit = Edit::Acknowledge { alerts: vec![1], note: Some("mine".into()) };
    testing::edit(&store, "default", edit, at(15));
    let kept: String = db.query_row("SELECT steps FROM edits ORDER BY id DESC LIMIT 1", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, steps);
}

#[test]
fn what_was_cleared_is_there_for_a_while_the_newest_first_and_by_index() {
    let (_folder, store, row) = in_need();
    testing::edit(&store, "default", Edit::Acknowledge { alerts: vec![1], note: None }, at(20));
    hear(&store, row, RouterStatus::Success, 30);
    let other = testing::track(&store, "default", vec![fixtures::new(2)], at(0)).added.first[0];
    hear(&store, other, RouterStatus::NeedsGas, 40);
    hear(&store, other, RouterStatus::Success, 50);
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
fn another_note_on_what_is_taken_on_is_kept_and_taking_back_says_what_it_was_about() {
    let (_folder, store, _) = in_need();
    let acknowledge = |note: Option<&str>, second| {
        let edit = Edit::Acknowledge { alerts: vec![only(&store).id], note: note.map(str::to_owned) };
        testing::edit(&store, "default", edit, at(second))
    };
    let note = || only(&store).acknowledged().and_then(|taken| taken.note.clone());
    let changed = [None, Some("asked"), None, Some("asked")].map(|note| acknowledge(note, 20));
    assert_eq!((changed, note().as_deref()), ([1, 1, 0, 0], Some("asked")));
    let back = testing::undo(&store, "default", at(30)).unwrap();
    assert_eq!((back.about, note()), (Some(fixtures::params(1).transaction_id), None));
    let batch = (2..=3).map(fixtures::new).collect();
    testing::track(&store, "default", batch, at(40));
    assert_eq!(testing::undo(&store, "default", at(50)).unwrap().about, None);
}
