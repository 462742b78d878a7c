//! What the chain itself says, in the store: the submission time, the history, the alert and the corrected source
//! chain.

use super::*;
use crate::domain::{
    alert::Rule,
    ids::ChainId,
    on_chain::{ChainReading, ChainVerdict, Mined, OnChainState},
    transaction::TransactionHeader,
};

fn mined(block: u64, second: i64) -> Mined {
    Mined { block, time: Some(at(second)), confirmations: 1 }
}

fn says(store: &Store, row: RowId, verdict: ChainVerdict, second: i64) {
    let before = header(store, row).on_chain;
    let reading = ChainReading::without_node(verdict);
    testing::observe_chain(store, row, OnChainState::after(before.as_ref(), reading, None, at(second)), at(second));
}

fn header(store: &Store, row: RowId) -> TransactionHeader {
    store.reader().unwrap().header(row).unwrap().unwrap()
}

fn events(store: &Store) -> Vec<&'static str> {
    let feed = store.reader().unwrap().changes_after(0, 100).unwrap();
    feed.changes.iter().map(|change| change.kind.name()).filter(|name| name.starts_with("chain")).collect()
}

#[test]
fn the_blocks_time_is_the_submission_time_unless_one_was_given() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let first_seen = header(&store, row).first_seen_at;
    says(&store, row, ChainVerdict::Pending, 10);
    assert_eq!(header(&store, row).deadline().submitted, first_seen);
    says(&store, row, ChainVerdict::Succeeded(mined(7, -100)), 20);
    let known = header(&store, row);
    assert_eq!((known.params.submitted_at, known.is_submission_from_chain()), (Some(at(-100)), true));
    // A reorganisation moves the block, and takes the transaction out of the chain.
    says(&store, row, ChainVerdict::Succeeded(mined(8, -90)), 30);
    assert_eq!(header(&store, row).params.submitted_at, Some(at(-90)));
    says(&store, row, ChainVerdict::Pending, 40);
    assert_eq!(header(&store, row).params.submitted_at, None);
    // A given time stays.
    let mut given = fixtures::new(1);
    given.params.submitted_at = Some(at(-5));
    testing::track(&store, "default", vec![given], at(50));
    says(&store, row, ChainVerdict::Succeeded(mined(9, -80)), 60);
    let known = header(&store, row);
    assert_eq!((known.params.submitted_at, known.is_submission_from_chain()), (Some(at(-5)), false));
}

#[test]
fn a_given_time_stays_although_it_is_the_block_s_time() {
    let (_folder, store) = open();
    let mut given = fixtures::new(1);
    given.params.submitted_at = Some(at(-100));
    let row = testing::track(&store, "default", vec![given], at(0)).added.listed[0];
    says(&store, row, ChainVerdict::Succeeded(mined(7, -100)), 20);
    let known = header(&store, row);
    assert_eq!((known.params.submitted_at, known.is_submission_from_chain()), (Some(at(-100)), false));
    says(&store, row, ChainVerdict::Pending, 30);
    assert_eq!(header(&store, row).params.submitted_at, Some(at(-100)));
}

#[test]
fn a_machine_that_can_not_ask_erases_nothing() {
    let (_folder, store) = open();
    let row = import_one(&store);
    // The newest reason counts as long as no machine could ask.
    for (second, reason) in [(1, "no node is set"), (2, "the node can't be resolved")] {
        says(&store, row, ChainVerdict::CannotBeAsked(reason.into()), second);
        let verdict = header(&store, row).on_chain.map(|known| known.source.verdict);
        assert_eq!(verdict, Some(ChainVerdict::CannotBeAsked(reason.into())));
    }
    says(&store, row, ChainVerdict::Succeeded(mined(7, -100)), 10);
    says(&store, row, ChainVerdict::CannotBeAsked("no node is set".into()), 20);
    let known = header(&store, row);
    let verdict = known.on_chain.map(|known| known.source.verdict);
    assert_eq!((verdict, known.params.submitted_at), (Some(ChainVerdict::Succeeded(mined(7, -100))), Some(at(-100))));
}

#[test]
fn a_corrected_source_chain_keeps_the_row_s_checksum_right() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let edit = Edit::CorrectSource { transactions: vec![row], chain: ChainId::new("10") };
    assert_eq!(testing::edit(&store, "default", edit, at(10)), 1);
    assert_eq!(store.reader().unwrap().damaged_values(10).unwrap(), []);
}

#[test]
fn undo_of_a_corrected_source_chain_keeps_what_the_service_has_found() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let edit = Edit::CorrectSource { transactions: vec![row], chain: ChainId::new("10") };
    assert_eq!(testing::edit(&store, "default", edit, at(10)), 1);
    observe(&store, row, fixtures::says(RouterStatus::Success), 20);
    testing::undo(&store, "default", at(30));
    let known = header(&store, row);
    assert_eq!((known.params.from_chain.as_str(), known.state.status), ("10", Some(RouterStatus::Success)));
}

#[test]
fn changed_and_requested_readings_are_in_the_history_and_repetitions_are_not() {
    let (_folder, store) = open();
    let row = import_one(&store);
    says(&store, row, ChainVerdict::Pending, 10);
    says(&store, row, ChainVerdict::Pending, 20);
    assert_eq!(events(&store), ["chain_checked"]);
    let transactions = store.reader().unwrap().keys(&[row]).unwrap();
    testing::apply(&store, Operation::RequestChainCheck { transactions }, at(30)).unwrap();
    assert_eq!(store.reader().unwrap().requested_chain_checks("default").unwrap(), [row]);
    says(&store, row, ChainVerdict::Pending, 40);
    assert_eq!(events(&store), ["chain_checked", "chain_requested", "chain_checked"]);
    assert_eq!(store.reader().unwrap().requested_chain_checks("default").unwrap(), []);
}

#[test]
fn a_contradiction_is_an_alert_until_the_chain_agrees() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let active = || {
        let alerts = store.reader().unwrap().alerts(AlertQuery::OfTransaction(row)).unwrap();
        alerts.into_iter().map(|alert| alert.rule).collect::<Vec<_>>()
    };
    says(&store, row, ChainVerdict::Reverted(mined(7, 1)), 10);
    assert_eq!(active(), []);
    observe(&store, row, fixtures::says(RouterStatus::Success), 20);
    assert_eq!(active(), [Rule::ChainDisagrees]);
    says(&store, row, ChainVerdict::Succeeded(mined(8, 2)), 30);
    assert_eq!(active(), []);
}

#[test]
fn corrected_source_chain_resets_the_state_and_never_replaces_another_transaction() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let correct = |chain: &str| {
        let edit = Edit::CorrectSource { transactions: vec![row], chain: ChainId::new(chain) };
        testing::edit(&store, "default", edit, at(60))
    };
    observe(&store, row, fixtures::answer(StatusOutcome::NotFound(Some("no".into()))), 10);
    says(&store, row, ChainVerdict::Elsewhere(ChainId::new("10")), 20);
    assert_eq!(correct("10"), 1);
    let corrected = header(&store, row);
    assert_eq!((corrected.params.from_chain.as_str(), &corrected.state.status), ("10", &None));
    assert_eq!((&corrected.on_chain, corrected.state.message.as_deref()), (&None, None));
    assert_eq!(correct("10"), 0, "it is there already");
    // The hash is tracked on the old chain again.
    testing::track(&store, "default", vec![fixtures::new(1)], at(70));
    assert_eq!(correct("42161"), 0);
    // What the service has found is on the right chain.
    observe(&store, row, fixtures::says(RouterStatus::Ongoing), 80);
    assert_eq!(correct("1"), 0);
}

#[test]
fn undo_of_a_corrected_source_stops_the_polling_that_the_correction_resumed() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, fixtures::answer(StatusOutcome::NotFound(None)), 1);
    let edit = |edit| testing::edit(&store, "default", edit, at(2));
    edit(Edit::Untrack { transactions: vec![row] });
    edit(Edit::CorrectSource { transactions: vec![row], chain: ChainId::new("10") });
    assert_eq!(header(&store, row).tracking, Tracking::Active);
    testing::undo(&store, "default", at(3)).unwrap();
    assert_eq!(
        (header(&store, row).tracking, header(&store, row).params.from_chain),
        (Tracking::Untracked, fixtures::params(1).from_chain)
    );
    testing::redo(&store, "default", at(4)).unwrap();
    assert_eq!(
        (header(&store, row).tracking, header(&store, row).params.from_chain.as_str()),
        (Tracking::Active, "10")
    );
    // What somebody polls on another chain can't be corrected to it, and stays stopped.
    testing::edit(&store, "default", Edit::Untrack { transactions: vec![row] }, at(5));
    let mut there = fixtures::new(1);
    there.params.from_chain = ChainId::new("137");
    testing::track(&store, "default", vec![there], at(5));
    let refused = Edit::CorrectSource { transactions: vec![row], chain: ChainId::new("137") };
    assert_eq!(testing::edit(&store, "default", refused, at(5)), 0);
    assert_eq!(header(&store, row).tracking, Tracking::Untracked);
}
