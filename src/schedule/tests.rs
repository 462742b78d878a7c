use std::collections::{BTreeSet, HashMap};

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::{clock::Now, domain::forecast::Lognormal};

fn at(seconds: u64) -> Now {
    Now {
        mono: MonotonicTime(Duration::from_secs(1_000 + seconds)),
        wall: DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds as i64),
    }
}

const ANY_TIME: Forecast = Forecast::AnyTime(Duration::from_secs(300));
const EXPECTATION: Expectation =
    Expectation { since: DateTime::UNIX_EPOCH, forecast: ANY_TIME, first_answer: None, weight: 1.0 };
const NEW: PollContext = PollContext { last_answer: None, deadline: None, expectation: EXPECTATION, young_until: None };

fn forecast_of(median: u64) -> Forecast {
    Forecast::Lognormal(Lognormal::new(Duration::from_secs(median), 0.6))
}

fn scheduler_with(count: i64) -> Scheduler {
    let mut scheduler = Scheduler::default();
    for id in 1..=count {
        scheduler.watch(RowId(id), NEW, at(0));
    }
    scheduler
}

/// Sends the poll that the scheduler chooses, and answers it at once.
fn poll(scheduler: &mut Scheduler, now: Now) -> Option<i64> {
    match scheduler.next_poll(now) {
        NextPoll::Poll(id) => {
            scheduler.record_sent(id, now);
            scheduler.record_result(id, PollResult::Answered, now);
            Some(id.0)
        }
        _ => None,
    }
}

#[test]
fn scheduler_without_transactions_is_idle() {
    assert_eq!(Scheduler::default().next_poll(at(0)), NextPoll::Idle);
}

#[test]
fn least_recently_polled_is_next_and_none_is_polled_twice_within_five_seconds() {
    let mut scheduler = scheduler_with(3);
    let order: Vec<_> = (0..4).map(|second| poll(&mut scheduler, at(second))).collect();
    assert_eq!(order, [Some(1), Some(2), Some(3), None]);
    assert_eq!(scheduler.next_poll(at(3)), NextPoll::WaitUntil(at(5).mono));
    assert_eq!(poll(&mut scheduler, at(9)), Some(1));
}

#[test]
fn repeated_decisions_between_two_requests_recheck_at_most_100_items() {
    let mut scheduler = scheduler_with(2_000);
    // The first poll sets the price, so that no crossing is known yet.
    for second in 0..5 {
        poll(&mut scheduler, at(second));
    }
    let first = scheduler.next_poll(at(5));
    assert_eq!(scheduler.rechecks, 100, "all rechecks are used");
    assert_eq!(scheduler.next_poll(at(5)), first);
    assert_eq!(scheduler.rechecks, 100);
    assert!(poll(&mut scheduler, at(5)).is_some());
    assert_eq!(scheduler.rechecks, 0);
}

#[test]
fn new_transaction_is_polled_before_answered_ones() {
    let mut scheduler = scheduler_with(3);
    for second in 0..3 {
        poll(&mut scheduler, at(second));
    }
    scheduler.watch(RowId(9), NEW, at(60));
    assert_eq!([poll(&mut scheduler, at(60)), poll(&mut scheduler, at(60))], [Some(9), Some(1)]);
}

#[test]
fn next_without_a_send_changes_nothing() {
    let mut scheduler = scheduler_with(2);
    assert_eq!(scheduler.next_poll(at(0)), scheduler.next_poll(at(0)));
    scheduler.record_sent(RowId(1), at(0));
    assert_eq!(scheduler.next_poll(at(100)), NextPoll::Poll(RowId(2)));
    scheduler.record_sent(RowId(2), at(100));
    assert_eq!(scheduler.next_poll(at(100)), NextPoll::Idle);
}

#[test]
fn answers_of_an_earlier_run_count() {
    let mut scheduler = Scheduler::default();
    let ago = |seconds: u64| PollContext { last_answer: Some(at(100 - seconds).wall), ..NEW };
    scheduler.watch(RowId(1), ago(2), at(100));
    scheduler.watch(RowId(2), ago(30), at(100));
    scheduler.watch(RowId(3), ago(60), at(100));
    assert_eq!([poll(&mut scheduler, at(100)), poll(&mut scheduler, at(100))], [Some(3), Some(2)]);
    assert_eq!(scheduler.next_poll(at(100)), NextPoll::WaitUntil(at(103).mono));
}

#[test]
fn wall_clock_set_back_delays_a_poll_by_at_most_the_interval() {
    let mut scheduler = Scheduler::default();
    let future = PollContext { last_answer: Some(at(1_000_000).wall), ..NEW };
    scheduler.watch(RowId(1), future, at(0));
    assert_eq!(scheduler.next_poll(at(0)), NextPoll::WaitUntil(at(5).mono));
}

#[test]
fn failures_back_off_until_an_answer() {
    let mut scheduler = scheduler_with(1);
    let mut waits = Vec::new();
    let mut now = 0;
    for _ in 0..8 {
        scheduler.record_sent(RowId(1), at(now));
        scheduler.record_result(RowId(1), PollResult::Failed, at(now));
        let NextPoll::WaitUntil(moment) = scheduler.next_poll(at(now)) else { panic!("the scheduler does not wait") };
        let wait = moment.since(at(now).mono).as_secs();
        waits.push(wait);
        now += wait;
    }
    assert_eq!(waits, [10, 20, 40, 60, 60, 60, 60, 60]);
    assert_eq!(poll(&mut scheduler, at(now)), Some(1));
    assert_eq!(scheduler.next_poll(at(now)), NextPoll::WaitUntil(at(now + 5).mono));
}

#[test]
fn requested_poll_does_not_wait_for_the_backoff() {
    let mut scheduler = scheduler_with(1);
    for now in [0, 10, 30] {
        scheduler.record_sent(RowId(1), at(now));
        scheduler.record_result(RowId(1), PollResult::Failed, at(now));
    }
    scheduler.request(RowId(1), at(31));
    assert_eq!(scheduler.next_poll(at(31)), NextPoll::WaitUntil(at(35).mono));
    assert_eq!(poll(&mut scheduler, at(35)), Some(1));
}

#[test]
fn requested_polls_go_ahead_with_half_of_the_budget() {
    let mut scheduler = scheduler_with(8);
    for id in [8, 7, 6] {
        scheduler.request(RowId(id), at(0));
    }
    let order: Vec<_> = (0..6).map(|_| poll(&mut scheduler, at(0)).unwrap()).collect();
    assert_eq!(order, [8, 1, 7, 2, 6, 3]);
}

#[test]
fn requested_poll_waits_for_the_five_seconds() {
    let mut scheduler = scheduler_with(1);
    poll(&mut scheduler, at(0));
    scheduler.request(RowId(1), at(1));
    assert_eq!(scheduler.next_poll(at(1)), NextPoll::WaitUntil(at(5).mono));
}

#[test]
fn unwatched_transaction_is_polled_once_on_request() {
    let mut scheduler = Scheduler::default();
    scheduler.request(RowId(9), at(0));
    assert_eq!(poll(&mut scheduler, at(0)), Some(9));
    assert_eq!(scheduler.next_poll(at(100)), NextPoll::Idle);
}

#[test]
fn forgotten_transaction_is_not_polled_again() {
    let mut scheduler = scheduler_with(2);
    scheduler.forget(RowId(1));
    scheduler.record_sent(RowId(2), at(0));
    scheduler.forget(RowId(2));
    scheduler.record_result(RowId(2), PollResult::Answered, at(1));
    assert_eq!((scheduler.next_poll(at(100)), scheduler.item_count()), (NextPoll::Idle, 0));
}

#[test]
fn forgotten_transaction_keeps_its_rest() {
    let mut scheduler = scheduler_with(1);
    assert_eq!(poll(&mut scheduler, at(0)), Some(1));
    scheduler.forget(RowId(1));
    scheduler.request(RowId(1), at(1));
    assert_eq!(scheduler.next_poll(at(1)), NextPoll::WaitUntil(at(5).mono));
}

#[test]
fn passed_deadline_is_confirmed_before_other_polls() {
    let mut scheduler = scheduler_with(3);
    scheduler.watch(RowId(3), PollContext { deadline: Some(at(10).wall), ..NEW }, at(0));
    for second in 0..3 {
        poll(&mut scheduler, at(second));
    }
    assert_eq!(poll(&mut scheduler, at(10)), Some(3));
    assert_eq!(poll(&mut scheduler, at(10)), Some(1));
    assert_eq!(poll(&mut scheduler, at(15)), Some(2));
}

#[test]
fn transaction_that_keeps_failing_after_its_deadline_does_not_go_ahead_of_others() {
    let mut scheduler = scheduler_with(40);
    for id in 1..=20 {
        scheduler.watch(RowId(id), PollContext { deadline: Some(at(10).wall), ..NEW }, at(0));
    }
    let mut failed = 0;
    for second in 20..620 {
        let NextPoll::Poll(id) = scheduler.next_poll(at(second)) else { continue };
        let ending = if id.0 <= 20 { PollResult::Failed } else { PollResult::Answered };
        failed += usize::from(ending == PollResult::Failed && second >= 120);
        scheduler.record_sent(id, at(second));
        scheduler.record_result(id, ending, at(second));
        // The driver plans each transaction again after its answer.
        let deadline = (id.0 <= 20).then_some(at(10).wall);
        scheduler.watch(id, PollContext { deadline, ..NEW }, at(second));
    }
    assert!((20..200).contains(&failed), "{failed} of 500 polls");
    // The service recovers: the deadline is confirmed at once.
    scheduler.forgive_failures(RowId(7));
    scheduler.watch(RowId(7), PollContext { deadline: Some(at(10).wall), ..NEW }, at(700));
    assert_eq!(scheduler.next_poll(at(700)), NextPoll::Poll(RowId(7)));
}

#[test]
fn transaction_that_has_probably_settled_is_polled_first() {
    let mut scheduler = Scheduler::default();
    for (id, median) in [(1, 1_200), (2, 60), (3, 300)] {
        let expectation = Expectation { forecast: forecast_of(median), ..EXPECTATION };
        scheduler.watch(RowId(id), PollContext { last_answer: Some(at(0).wall), expectation, ..NEW }, at(0));
    }
    let order: Vec<_> = (60..63).map(|second| poll(&mut scheduler, at(second))).collect();
    assert_eq!(order, [Some(2), Some(3), Some(1)]);
}

#[test]
fn transaction_with_a_higher_weight_is_polled_more_often() {
    let mut scheduler = scheduler_with(20);
    let heavy = Expectation { weight: 9.0, ..EXPECTATION };
    scheduler.watch(RowId(20), PollContext { expectation: heavy, ..NEW }, at(0));
    let asked: Vec<i64> = (10..600).filter_map(|second| poll(&mut scheduler, at(second))).collect();
    let times = |id| asked.iter().filter(|asked| **asked == id).count();
    // The poll rate grows with the square root of the weight.
    assert!((2..=4).contains(&(times(20) / times(1))), "{} {}", times(20), times(1));
}

#[test]
fn open_transactions_are_polled_every_five_seconds_with_at_most_half_of_the_budget() {
    let mut scheduler = scheduler_with(20);
    scheduler.set_open(vec![RowId(7), RowId(99)]);
    let asked: Vec<i64> = (10..70).filter_map(|second| poll(&mut scheduler, at(second))).collect();
    assert_eq!(asked.iter().filter(|asked| **asked == 7).count(), 12);
    scheduler.set_open(vec![RowId(7), RowId(8), RowId(9), RowId(10), RowId(11), RowId(12)]);
    let asked: Vec<i64> = (80..140).filter_map(|second| poll(&mut scheduler, at(second))).collect();
    let open = asked.iter().filter(|asked| (7..=12).contains(*asked)).count();
    assert!((30..=45).contains(&open), "{open}");
    scheduler.set_open(Vec::new());
    let asked: Vec<i64> = (150..170).filter_map(|second| poll(&mut scheduler, at(second))).collect();
    assert!(asked.iter().filter(|asked| **asked == 7).count() <= 1, "{asked:?}");
}

#[test]
fn no_transaction_waits_for_more_than_four_sweeps_whatever_its_forecast() {
    let mut scheduler = scheduler_with(50);
    let hopeless = Expectation { forecast: Forecast::AnyTime(Duration::from_secs(1_000_000_000)), ..EXPECTATION };
    scheduler.watch(RowId(50), PollContext { last_answer: Some(at(0).wall), expectation: hopeless, ..NEW }, at(0));
    let asked: Vec<u64> = (0..2_000).filter(|second| poll(&mut scheduler, at(*second)) == Some(50)).collect();
    let longest = asked.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!((200..=202).contains(&longest) && asked.len() >= 8, "{asked:?}");
}

#[test]
fn transaction_that_rests_after_failures_does_not_delay_others_that_wait_for_too_long() {
    let mut scheduler = scheduler_with(11);
    // The first one rests for a minute, and its wait begins just before that of the twelfth.
    for failed_at in [0, 100, 200, 300] {
        scheduler.record_sent(RowId(1), at(failed_at));
        scheduler.record_result(RowId(1), PollResult::Failed, at(failed_at));
    }
    let hopeless = Expectation { forecast: Forecast::AnyTime(Duration::from_secs(1_000_000_000)), ..EXPECTATION };
    let context = PollContext { last_answer: Some(at(301).wall), expectation: hopeless, ..NEW };
    scheduler.watch(RowId(12), context, at(301));
    let first = (301..400).find(|second| poll(&mut scheduler, at(*second)) == Some(12)).unwrap();
    assert!((349..=352).contains(&first), "{first}");
}

#[test]
fn young_transaction_raises_the_need_for_a_minute() {
    let mut scheduler = scheduler_with(9);
    let young = PollContext { young_until: Some(at(60).wall), ..NEW };
    scheduler.watch(RowId(10), young, at(0));
    assert!((scheduler.need() - (9.0 / 90.0 + 0.2)).abs() < 1e-9, "{}", scheduler.need());
    scheduler.watch(RowId(10), young, at(30));
    scheduler.next_poll(at(59));
    assert!((scheduler.need() - 0.3).abs() < 1e-9, "{}", scheduler.need());
    scheduler.next_poll(at(60));
    assert!((scheduler.need() - 10.0 / 90.0).abs() < 1e-9, "{}", scheduler.need());
    scheduler.watch(RowId(11), PollContext { young_until: Some(at(99).wall), ..NEW }, at(61));
    (1..=11).for_each(|id| scheduler.forget(RowId(id)));
    scheduler.next_poll(at(200));
    assert_eq!(scheduler.need(), 0.0);
}

#[test]
fn jump_of_the_wall_clock_changes_no_age() {
    let mut scheduler = scheduler_with(3);
    let jumped = |seconds: u64| Now { wall: at(seconds).wall + TimeDelta::days(365), ..at(seconds) };
    for second in 0..3 {
        poll(&mut scheduler, at(second));
    }
    for id in 1..=3 {
        scheduler.watch(RowId(id), NEW, jumped(3));
    }
    assert_eq!(scheduler.next_poll(jumped(3)), NextPoll::WaitUntil(at(5).mono));
    let order: Vec<_> = (10..13).map(|second| poll(&mut scheduler, jumped(second))).collect();
    assert_eq!(order, [Some(1), Some(2), Some(3)]);
}

proptest! {
    /// In any order of events, no transaction is polled twice within five seconds, and every watched transaction is
    /// polled.
    #[test]
    fn no_order_of_events_breaks_the_interval(events in prop::collection::vec((0_u8..6, 1_i64..6, 0_u64..4), 1..300)) {
        let mut scheduler = Scheduler::default();
        let mut last: HashMap<RowId, u64> = HashMap::new();
        let mut watched = BTreeSet::new();
        let mut in_flight = BTreeSet::new();
        let mut second = 0;
        for (kind, id, wait) in events {
            second += wait;
            let id = RowId(id);
            match kind {
                0 => {
                    scheduler.watch(id, NEW, at(second));
                    watched.insert(id);
                }
                1 => {
                    scheduler.forget(id);
                    watched.remove(&id);
                }
                2 => scheduler.request(id, at(second)),
                3 if in_flight.remove(&id) => {
                    let ending = if wait == 1 { PollResult::Failed } else { PollResult::Answered };
                    scheduler.record_result(id, ending, at(second));
                    last.insert(id, second);
                }
                _ => if let NextPoll::Poll(id) = scheduler.next_poll(at(second)) {
                    prop_assert!(!in_flight.contains(&id));
                    if let Some(last) = last.get(&id) {
                        prop_assert!(second - last >= 5, "{id:?} after {} s", second - last);
                    }
                    scheduler.record_sent(id, at(second));
                    in_flight.insert(id);
                },
            }
        }
        prop_assert_eq!(scheduler.item_count(), watched.len());
        for id in in_flight {
            scheduler.record_result(id, PollResult::Answered, at(second));
        }
        let mut polled = BTreeSet::new();
        for later in 0..400 {
            while let NextPoll::Poll(id) = scheduler.next_poll(at(second + later)) {
                scheduler.record_sent(id, at(second + later));
                scheduler.record_result(id, PollResult::Answered, at(second + later));
                polled.insert(id);
            }
        }
        prop_assert!(watched.is_subset(&polled));
    }
}
