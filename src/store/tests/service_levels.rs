//! Tests of the share of transfers that ended within their deadline, of which each depends on the stored answers.

use super::*;
use crate::domain::service_level::{DeadlineResult, ServiceLevel};

/// The deadline of every transaction here, in seconds after the submission.
const DEADLINE: i64 = 900;

/// Tracks transactions from this second on that were submitted at second 0, and returns the row of each.
fn track(store: &Store, second: i64, count: i64) -> Vec<RowId> {
    let new = |number| {
        let params = TransactionParams { submitted_at: Some(at(0)), ..fixtures::params(number) };
        NewTransaction::from(params)
    };
    testing::track(store, "default", (1..=count).map(new).collect(), at(second)).added.listed.clone()
}

/// Returns the results of rows, and checks that the statistics count the same.
fn results(store: &Store, rows: &[RowId]) -> Vec<Option<DeadlineResult>> {
    let reader = store.reader().unwrap();
    let result = |row: &RowId| reader.deadline_result(&reader.header(*row).unwrap().unwrap()).unwrap();
    let results: Vec<_> = rows.iter().map(result).collect();
    let mut counted = ServiceLevel::default();
    results.iter().flatten().for_each(|result| counted += *result);
    assert_eq!(reader.service_levels("default").unwrap().total(), counted);
    results
}

#[test]
fn a_transfer_counts_as_late_only_after_an_answer_past_its_deadline() {
    let (_folder, store) = open();
    let rows = track(&store, 1, 4);
    // The first is never answered, the second is rejected, the third fails.
    let rejected = fixtures::fails(RequestFailure::Rejected("no such quote".into()));
    observe(&store, rows[1], Observation { http_status: Some(400), ..rejected }, DEADLINE + 10);
    let failed = fixtures::fails(RequestFailure::Transport("refused".into()));
    observe(&store, rows[2], Observation { http_status: None, ..failed }, DEADLINE + 10);
    observe(&store, rows[3], fixtures::says(RouterStatus::Ongoing), DEADLINE - 1);
    assert_eq!(results(&store, &rows), [None; 4]);
    observe(&store, rows[3], fixtures::says(RouterStatus::Ongoing), DEADLINE);
    observe(&store, rows[2], fixtures::says(RouterStatus::NeedsGas), DEADLINE + 60);
    let missed = Some(DeadlineResult::Missed);
    assert_eq!(results(&store, &rows), [None, None, missed, missed]);
}

#[test]
fn an_end_that_may_have_come_in_time_is_unknown() {
    let (_folder, store) = open();
    let rows = track(&store, 1, 4);
    for (row, last_waiting) in rows.iter().zip([None, Some(10), Some(DEADLINE), Some(10)]) {
        if let Some(second) = last_waiting {
            observe(&store, *row, fixtures::says(RouterStatus::Ongoing), second);
        }
    }
    // A failure between the two answers shows nothing of the transfer.
    let failed = fixtures::fails(RequestFailure::Transport("refused".into()));
    observe(&store, rows[3], Observation { http_status: None, ..failed }, DEADLINE + 20);
    rows.iter().for_each(|row| observe(&store, *row, fixtures::says(RouterStatus::Success), 5_000));
    let (unknown, missed) = (Some(DeadlineResult::Unknown), Some(DeadlineResult::Missed));
    assert_eq!(results(&store, &rows), [unknown, unknown, missed, unknown]);
}

#[test]
fn a_refund_ends_when_it_is_first_seen() {
    let (_folder, store) = open();
    let rows = track(&store, 1, 1);
    observe(&store, rows[0], fixtures::says(RouterStatus::Ongoing), 30);
    observe(&store, rows[0], fixtures::says(RouterStatus::Refund), 60);
    let met = [Some(DeadlineResult::Met)];
    assert_eq!(results(&store, &rows), met);
    observe(&store, rows[0], fixtures::says(RouterStatus::Refund), 60 + 1_800);
    let tx = store.reader().unwrap().header(rows[0]).unwrap().unwrap();
    assert_eq!((tx.state.settled_at, tx.age(at(9_000))), (Some(at(1_860)), Duration::from_secs(60)));
    assert_eq!(results(&store, &rows), met);
}
