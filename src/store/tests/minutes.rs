//! Tests of the minutes of the budget, which are counted from reports.

use super::*;

fn report(second: i64, requests: u64) -> PollerReport {
    PollerReport {
        at: at(second),
        process: 7,
        requests,
        running: Duration::from_secs(u64::try_from(second).unwrap()),
        rps: 10.0,
        health: PollerHealth::Live,
        ..PollerReport::default()
    }
}

fn store_with_reports(reports: impl IntoIterator<Item = PollerReport>) -> (TempDir, Store) {
    let (folder, store) = open();
    for report in reports {
        testing::report(&store, "default", report);
    }
    (folder, store)
}

fn minutes(store: &Store) -> Vec<MinuteStats> {
    store.reader().unwrap().minutes("default", at(0)).unwrap()
}

/// Returns the number of requests and the polled seconds of each minute.
fn counted(store: &Store) -> Vec<(u64, u64)> {
    minutes(store).iter().map(|minute| (minute.requests, minute.polled_for.as_secs())).collect()
}

#[test]
fn requests_between_two_reports_count_in_the_minute_of_the_later_report() {
    let fault = PollerReport { throttled: 2, failed: 3, ..report(65, 560) };
    let (_folder, store) = store_with_reports([report(1, 10), report(6, 60), report(56, 500), fault]);
    assert_eq!(counted(&store), [(500, 21), (60, 9)]);
    let second = &minutes(&store)[1];
    assert_eq!((second.at, second.throttled, second.failed), (at(60), 2, 3));
    assert!((second.rate() - 60.0 / 9.0).abs() < 1e-9 && second.limit == 10.0);
}

#[test]
fn new_poller_counts_from_its_start_and_ambiguous_reports_are_not_counted() {
    let started = PollerReport { process: 8, running: Duration::from_secs(2), ..report(70, 5) };
    let back = report(80, 900);
    let (_folder, store) = store_with_reports([report(1, 10), started, back, report(85, 910)]);
    assert_eq!(counted(&store), [(10, 1), (15, 7)]);
    let waiting = PollerReport { process: 9, health: PollerHealth::Waiting, ..report(4, 0) };
    let (_folder, store) = store_with_reports([report(1, 10), waiting, report(5, 30), report(6, 40)]);
    assert_eq!(counted(&store), [(50, 7)], "a poller that just started is counted from its start");
}

#[test]
fn minute_keeps_the_greatest_age_of_the_oldest_answer() {
    let (_folder, store) = open();
    let row = import_one(&store);
    testing::report(&store, "default", report(5, 1));
    testing::report(&store, "default", report(50, 9));
    observe(&store, row, fixtures::says(RouterStatus::Ongoing), 51);
    testing::report(&store, "default", report(55, 10));
    observe(&store, row, fixtures::says(RouterStatus::Success), 61);
    testing::report(&store, "default", report(62, 11));
    let oldest: Vec<_> = minutes(&store).iter().map(|minute| minute.oldest.map(|age| age.as_secs())).collect();
    assert_eq!(oldest, [Some(50), None]);
}

#[test]
fn minutes_are_kept_for_a_week() {
    let week = 7 * 24 * 60 * 60;
    let (_folder, store) = store_with_reports([report(5, 1), report(65, 2), report(week + 60, 3)]);
    let began: Vec<_> = minutes(&store).iter().map(|minute| minute.at).collect();
    assert_eq!(began, [at(60), at(week + 60)]);
    assert_eq!(store.reader().unwrap().minutes("other", at(0)).unwrap(), []);
}

#[test]
fn route_stats_count_settled_transactions() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let settled = || store.reader().unwrap().routes("default", None).unwrap()[0].settled;
    assert_eq!(settled(), 0);
    observe(&store, row, fixtures::says(RouterStatus::Success), 5);
    assert_eq!(settled(), 1);
}

#[test]
fn route_stats_time_settled_transactions_and_no_refunds() {
    let (_folder, store) = open();
    track_and_observe(&store, 1, &[(20, RouterStatus::Ongoing), (34, RouterStatus::Refund)]);
    let timed = || {
        let stats = store.reader().unwrap().routes("default", None).unwrap().remove(0);
        (stats.settled, stats.past.durations)
    };
    assert_eq!(timed(), (0, Vec::new()));
    track_and_observe(&store, 2, &[(80, RouterStatus::Ongoing), (100, RouterStatus::Success)]);
    assert_eq!(timed(), (1, vec![Duration::from_secs(90)]));
}
