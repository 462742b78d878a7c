//! Tests of edits by several people: authors, and an undo of each person's own.

use std::collections::BTreeMap;

use proptest::{prelude::*, sample::select};

use super::{
    super::tables::{
        columns,
        undo_history::{EditStep, EditTarget},
    },
    *,
};
use crate::domain::alert::SnoozeEnd;

const PEOPLE: [Option<&str>; 3] = [None, Some("Ana"), Some("Bob")];

fn by(store: &Store, name: &str) -> Store {
    store.clone().with_author(Some(name.to_owned()))
}

/// Returns a store with two transactions that the person tracked, each with an alert.
fn open_tracked_by(author: Option<&str>) -> (TempDir, Store) {
    let (folder, store) = open();
    let tracker = store.clone().with_author(author.map(str::to_owned));
    testing::track(&tracker, "default", vec![fixtures::new(1), fixtures::new(2)], at(0));
    for row in [1, 2] {
        observe(&store, RowId(row), fixtures::says(RouterStatus::NeedsGas), 1);
    }
    (folder, store)
}

fn ticket(store: &Store, ticket: Option<&str>, second: i64) -> usize {
    let edit = Edit::SetTicket { transactions: vec![RowId(1)], ticket: ticket.map(str::to_owned) };
    testing::edit(store, "default", edit, at(second))
}

fn add_label(store: &Store, label: &str, second: i64) -> usize {
    let edit = Edit::ChangeLabels { transactions: vec![RowId(1)], add: vec![label.to_owned()], remove: Vec::new() };
    testing::edit(store, "default", edit, at(second))
}

fn transaction(store: &Store) -> crate::domain::transaction::Transaction {
    store.reader().unwrap().transaction(RowId(1)).unwrap().unwrap()
}

/// Returns the history's changes of people, each with its author.
fn history(store: &Store) -> Vec<(String, Option<String>)> {
    let lines = store.reader().unwrap().history(RowId(1)).unwrap();
    let change = |line| match line {
        HistoryLine::Change(change) => Some((change.kind.sentence_by(None), change.author)),
        HistoryLine::Observation(..) => None,
    };
    lines.into_iter().filter_map(change).filter(|(_, author)| author.is_some()).collect()
}

#[test]
fn authors_are_stored_with_writes_of_people_and_not_with_answers() {
    let (_folder, store) = open();
    let (ana, bob) = (by(&store, "Ana"), by(&store, "Bob"));
    let mut new = fixtures::new(1);
    (new.labels, new.notes) = (vec!["vip".into()], vec!["imported".into()]);
    new.params.ticket = Some("SUP-1".into());
    testing::track(&ana, "default", vec![new], at(0));
    testing::observe(&bob, RowId(1), fixtures::says(RouterStatus::NeedsGas), at(1));
    testing::edit(&bob, "default", Edit::AddNote { transactions: vec![RowId(1)], text: "asked".into() }, at(2));
    add_label(&bob, "late", 3);
    testing::edit(&bob, "default", Edit::Acknowledge { alerts: vec![1], note: None }, at(4));
    testing::request_poll(&bob, vec![RowId(1)], at(5));
    let authors = transaction(&store).authors;
    let name = |name: &str| Some(name.to_owned());
    assert_eq!((authors.tracked, authors.ticket), (name("Ana"), name("Ana")));
    // Labels are sorted: late, vip.
    assert_eq!((authors.labels, authors.notes), (vec![name("Bob"), name("Ana")], vec![name("Ana"), name("Bob")]));
    let reader = store.reader().unwrap();
    assert_eq!(reader.notes(RowId(1), 9).unwrap()[1].author, name("Bob"));
    let alert = || reader.alerts(AlertQuery::Active).unwrap().remove(0);
    assert_eq!(alert().handling.unwrap().author(), Some("Bob"));
    testing::edit(&ana, "default", Edit::Snooze { alerts: vec![1], until: SnoozeEnd::Change }, at(6));
    assert_eq!(alert().handling.unwrap().author(), Some("Ana"));
    let authors: Vec<_> = history(&store).into_iter().map(|(sentence, by)| (sentence, by.unwrap())).collect();
    let expected = [
        ("tracking started", "Ana"),
        ("edited: note", "Bob"),
        ("edited: label +late", "Bob"),
        ("alert acknowledged: needs gas", "Bob"),
        ("poll requested", "Bob"),
        ("alert snoozed until the status changes: needs gas", "Ana"),
    ];
    assert_eq!(authors, expected.map(|(sentence, by)| (sentence.to_owned(), by.to_owned())));
    // An answer that ends the snooze is nobody's.
    testing::observe(&ana, RowId(1), fixtures::says(RouterStatus::Ongoing), at(7));
    assert_eq!(history(&store).len(), expected.len());
}

#[test]
fn transaction_without_named_authors_has_none() {
    let (_folder, store) = open_tracked_by(None);
    add_label(&store, "vip", 2);
    testing::edit(&store, "default", Edit::AddNote { transactions: vec![RowId(1)], text: "asked".into() }, at(3));
    assert_eq!(transaction(&store).authors, crate::domain::people::Authors::default());
    assert_eq!(history(&store), []);
}

#[test]
fn names_of_people_are_completed() {
    let (_folder, store) = open_tracked_by(Some("Ana"));
    add_label(&by(&store, "anton"), "vip", 2);
    add_label(&by(&store, "Bob"), "late", 3);
    add_label(&store, "old", 4);
    let names =
        |beginning| store.reader().unwrap().names(crate::domain::filter::NameKind::Person, beginning, 9).unwrap();
    assert_eq!((names("an"), names("").len(), names("c").len()), (vec!["Ana".to_owned(), "anton".to_owned()], 3, 0));
}

#[test]
fn checksums_cover_authors_and_leave_out_local_data() {
    let stores = ["Ana", "Bob"].map(|name| open_tracked_by(Some(name)));
    let checksums = stores.each_ref().map(|(_, store)| store.reader().unwrap().checksums().unwrap());
    let [ana, bob] = &checksums;
    let differing = ana.iter().zip(bob).filter(|(ana, bob)| ana != bob).map(|(ana, _)| ana.table);
    assert_eq!(differing.collect::<Vec<_>>(), ["transactions", "changes", "edits"]);
    assert!(ana.iter().all(|table| !["heralds", "attention", "replica", "own_entries"].contains(&table.table)));
}

#[test]
fn each_person_undoes_their_own_newest_edit() {
    let (_folder, store) = open_tracked_by(Some("Ana"));
    let (ana, bob) = (by(&store, "Ana"), by(&store, "Bob"));
    add_label(&ana, "vip", 2);
    add_label(&bob, "late", 3);
    add_label(&store, "old", 4);
    assert_eq!(testing::undo(&ana, "default", at(5)).unwrap().summary, "labels +vip");
    assert_eq!(transaction(&store).labels, ["late", "old"]);
    assert_eq!(testing::undo(&bob, "default", at(6)).unwrap().summary, "labels +late");
    assert_eq!(testing::undo(&bob, "default", at(7)), None);
    assert_eq!(testing::redo(&ana, "default", at(8)).unwrap().summary, "labels +vip");
    assert_eq!(testing::undo(&store, "default", at(9)).unwrap().summary, "labels +old");
    assert_eq!(transaction(&store).labels, ["vip"]);
    assert_eq!(transaction(&store).authors.labels, [Some("Ana".to_owned())]);
}

#[test]
fn last_ticket_wins_and_both_are_in_the_history() {
    let (_folder, store) = open_tracked_by(None);
    let (ana, bob) = (by(&store, "Ana"), by(&store, "Bob"));
    ticket(&ana, Some("SUP-1"), 2);
    ticket(&bob, Some("SUP-2"), 3);
    let back = testing::undo(&ana, "default", at(4)).unwrap();
    assert_eq!((back.done, back.left), (0, 1));
    let current = |store: &Store| (transaction(store).params.ticket, transaction(store).authors.ticket);
    assert_eq!(current(&store), (Some("SUP-2".into()), Some("Bob".into())));
    let sentences: Vec<_> = history(&store).into_iter().map(|(sentence, _)| sentence).collect();
    assert_eq!(sentences, ["edited: ticket SUP-1", "edited: ticket SUP-2"]);
    // Undo restores the ticket of the other person, with its author.
    testing::undo(&bob, "default", at(5)).unwrap();
    assert_eq!(current(&store), (Some("SUP-1".into()), Some("Ana".into())));
    ticket(&bob, None, 6);
    assert_eq!(current(&store), (None, None));
}

#[test]
fn same_edit_of_two_people_stays_until_both_undo_it() {
    let (_folder, store) = open_tracked_by(None);
    let (ana, bob) = (by(&store, "Ana"), by(&store, "Bob"));
    for person in [&ana, &bob] {
        assert_eq!((add_label(person, "vip", 2), ticket(person, Some("SUP-1"), 3)), (1, 1));
    }
    // The same person's repetition changes nothing.
    assert_eq!((add_label(&ana, "vip", 4), ticket(&ana, Some("SUP-1"), 5)), (0, 0));
    let standing = || (transaction(&store).labels, transaction(&store).params.ticket);
    let both = (vec!["vip".to_owned()], Some("SUP-1".to_owned()));
    for _ in 0..2 {
        testing::undo(&ana, "default", at(6)).unwrap();
        assert_eq!(standing(), both);
    }
    for _ in 0..2 {
        testing::undo(&bob, "default", at(6)).unwrap();
    }
    assert_eq!(standing(), (Vec::new(), None));
    for _ in 0..2 {
        testing::redo(&bob, "default", at(6)).unwrap();
    }
    assert_eq!(standing(), both);
    let alert = || store.reader().unwrap().alerts(AlertQuery::Active).unwrap().remove(0).handling;
    let acknowledge = |person: &Store, note: Option<&str>| {
        let edit = Edit::Acknowledge { alerts: vec![1], note: note.map(str::to_owned) };
        testing::edit(person, "default", edit, at(7))
    };
    assert_eq!([acknowledge(&ana, None), acknowledge(&bob, None), acknowledge(&ana, None)], [1, 1, 0]);
    testing::undo(&ana, "default", at(8)).unwrap();
    assert_eq!(alert().unwrap().author(), Some("Ana"));
    // A note makes the acknowledgement the other person's.
    acknowledge(&bob, Some("asked"));
    assert_eq!(alert().unwrap().author(), Some("Bob"));
    testing::undo(&bob, "default", at(9)).unwrap();
    assert_eq!(alert().unwrap().author(), Some("Ana"));
}

#[test]
fn repetition_ends_only_what_nobody_holds_and_never_sets_another_value() {
    let (_folder, store) = open_tracked_by(None);
    let [ana, bob, carl] = ["Ana", "Bob", "Carl"].map(|name| by(&store, name));
    let labels = || transaction(&store).labels;
    let undo = |person: &Store| testing::undo(person, "default", at(9)).map(drop);
    for person in [&ana, &bob, &carl] {
        add_label(person, "vip", 2);
    }
    undo(&ana);
    undo(&carl);
    assert_eq!(labels(), ["vip"], "Bob's");
    undo(&bob);
    assert!(labels().is_empty());
    // What another person removed and added again in between.
    add_label(&ana, "vip", 3);
    let remove = Edit::ChangeLabels { transactions: vec![RowId(1)], add: Vec::new(), remove: vec!["vip".into()] };
    testing::edit(&carl, "default", remove, at(4));
    undo(&carl);
    add_label(&bob, "vip", 5);
    undo(&bob);
    testing::redo(&bob, "default", at(10));
    assert_eq!(labels(), ["vip"]);
    ticket(&carl, Some("SUP-2"), 6);
    undo(&carl);
    ticket(&ana, Some("SUP-1"), 7);
    ticket(&bob, Some("SUP-1"), 8);
    undo(&bob);
    testing::redo(&bob, "default", at(10));
    assert_eq!(transaction(&store).params.ticket.as_deref(), Some("SUP-1"));
}

#[test]
fn edit_that_was_reversed_before_a_repetition_says_nothing_about_it() {
    let (_folder, store) = open_tracked_by(None);
    let [ana, bob, carl] = ["Ana", "Bob", "Carl"].map(|name| by(&store, name));
    add_label(&carl, "vip", 2);
    let remove = Edit::ChangeLabels { transactions: vec![RowId(1)], add: Vec::new(), remove: vec!["vip".into()] };
    testing::edit(&ana, "default", remove.clone(), at(3));
    add_label(&ana, "vip", 4);
    for second in [5, 6] {
        testing::undo(&ana, "default", at(second));
    }
    add_label(&bob, "vip", 7);
    testing::undo(&bob, "default", at(8));
    assert_eq!(transaction(&store).labels, ["vip"], "Carl's");
    testing::undo(&carl, "default", at(9));
    assert!(transaction(&store).labels.is_empty());
    add_label(&ana, "vip", 10);
    testing::edit(&carl, "default", remove, at(11));
    testing::undo(&carl, "default", at(12));
    add_label(&bob, "vip", 13);
    for person in [&ana, &bob] {
        testing::undo(person, "default", at(14));
    }
    assert!(transaction(&store).labels.is_empty(), "nobody's");
}

#[test]
fn undone_import_keeps_polling_what_another_person_resumed() {
    let (_folder, store) = open_tracked_by(Some("Ana"));
    let bob = by(&store, "Bob");
    testing::edit(&bob, "default", Edit::Untrack { transactions: vec![RowId(1)] }, at(2));
    testing::track(&bob, "default", vec![fixtures::new(1)], at(3));
    let undone = testing::undo(&by(&store, "Ana"), "default", at(4)).unwrap();
    assert!(undone.has_stopped_import);
    let tracking = |row| store.reader().unwrap().transaction(RowId(row)).unwrap().unwrap().tracking;
    assert_eq!((tracking(1), tracking(2)), (Tracking::Active, Tracking::Untracked));
}

/// What a person does in the property test. All act on the first transaction or the first alert.
#[derive(Clone, Debug)]
enum PersonAction {
    Edit(Edit<RowId, i64>),
    Undo,
    Redo,
}

fn act() -> impl Strategy<Value = PersonAction> {
    let rows = || vec![RowId(1)];
    let edits = [
        Edit::SetTicket { transactions: rows(), ticket: Some("SUP-1".into()) },
        Edit::SetTicket { transactions: rows(), ticket: Some("SUP-2".into()) },
        Edit::SetTicket { transactions: rows(), ticket: None },
        Edit::ChangeLabels { transactions: rows(), add: vec!["vip".into()], remove: Vec::new() },
        Edit::ChangeLabels { transactions: rows(), add: vec!["late".into()], remove: vec!["vip".into()] },
        Edit::AddNote { transactions: rows(), text: "asked".into() },
        Edit::Acknowledge { alerts: vec![1], note: None },
        Edit::Acknowledge { alerts: vec![1], note: Some("asked".into()) },
        Edit::Snooze { alerts: vec![1], until: SnoozeEnd::Change },
        Edit::Unacknowledge { alerts: vec![1] },
        Edit::Untrack { transactions: rows() },
    ];
    prop_oneof![
        3 => select(edits.to_vec()).prop_map(PersonAction::Edit),
        2 => Just(PersonAction::Undo),
        1 => Just(PersonAction::Redo),
    ]
}

/// Returns the present value of each target.
fn values(store: &Store) -> BTreeMap<String, String> {
    let db = Connection::open(store.path()).unwrap();
    let queries = [
        "SELECT 'Ticket(1)', ifnull(ticket, '') || ' ' || ifnull(ticket_by, '') FROM transactions WHERE id = 1",
        "SELECT 'Tracking(1)', untracked FROM transactions WHERE id = 1",
        "SELECT 'Label(1, \"' || label || '\")', ifnull(author, '') FROM labels",
        "SELECT 'Note(' || id || ')', taken_back_at IS NULL FROM notes",
        "SELECT 'Handling(' || id || ')', quote(acknowledged_at) || quote(acknowledged_note) || quote(snoozed_at)
         || quote(handled_by) FROM alerts WHERE cleared_at IS NULL",
    ];
    let mut values = BTreeMap::new();
    for query in queries {
        let mut statement = db.prepare(query).unwrap();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, format!("{:?}", row.get_ref(1)?)));
        values.extend(statement.query_map([], read).unwrap().map(Result::unwrap));
    }
    values
}

/// An edit of the undo history: its author, its targets, and whether it is reversed.
type Recorded = (Option<String>, Vec<EditTarget>, bool);

fn recorded(store: &Store) -> BTreeMap<i64, Recorded> {
    let db = Connection::open(store.path()).unwrap();
    let mut statement = db.prepare("SELECT id, author, steps, taken_back_at IS NOT NULL FROM edits").unwrap();
    let read = |row: &rusqlite::Row<'_>| {
        let steps: Vec<EditStep> = columns::from_json(row, 2)?;
        Ok((row.get(0)?, (row.get(1)?, steps.iter().flat_map(|step| step.targets()).collect(), row.get(3)?)))
    };
    statement.query_map([], read).unwrap().map(Result::unwrap).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn undo_and_redo_touch_only_the_persons_own_values(acts in prop::collection::vec((0..PEOPLE.len(), act()), 1..24)) {
        let (_folder, store) = open_tracked_by(Some("Carla"));
        for (second, (person, act)) in (2..).zip(&acts) {
            let author = PEOPLE[*person].map(str::to_owned);
            let person = store.clone().with_author(author.clone());
            let (before, edits) = (values(&store), recorded(&store));
            match act {
                PersonAction::Edit(edit) => {
                    let count = testing::edit(&person, "default", edit.clone(), at(second));
                    let last = recorded(&store).into_iter().skip(edits.len()).map(|(_, edit)| edit.0).next();
                    prop_assert_eq!(last, (count > 0).then_some(author));
                    continue;
                }
                PersonAction::Undo => drop(testing::undo(&person, "default", at(second))),
                PersonAction::Redo => drop(testing::redo(&person, "default", at(second))),
            }
            let turned: Vec<_> =
                recorded(&store).into_iter().filter(|(id, (.., reversed))| edits[id].2 != *reversed).collect();
            prop_assert!(turned.len() <= 1);
            let own = |target: &EditTarget| turned.iter().any(|(id, (_, targets, _))| {
                let others = edits.range(id + 1..).filter(|(_, (by, _, reversed))| *by != author && !reversed);
                targets.contains(target) && !others.into_iter().any(|(_, (_, others, _))| others.contains(target))
            });
            prop_assert!(turned.iter().all(|(_, (by, ..))| *by == author));
            let own: Vec<String> =
                turned.iter().flat_map(|(_, (_, targets, _))| targets).filter(|target| own(target)).map(|target| format!("{target:?}")).collect();
            let after = values(&store);
            for target in before.keys().chain(after.keys()).filter(|target| !own.contains(target)) {
                // Stopping the polling clears the alert, and resuming it brings the alert back.
                let is_alert = target.starts_with("Handling") && own.iter().any(|own| own.starts_with("Tracking"));
                prop_assert!(is_alert || before.get(target) == after.get(target), "{:?} changed {}: {:#?}", act, target, acts);
            }
        }
    }
}
