use std::collections::{BTreeSet, HashMap};

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::{clock::Now, domain::forecast::Lognormal};

fn at(seconds: u64) -> Now {
    Now {
        mono: Mono(Duration::from_secs(1_000 + seconds)),
        wall: DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds as i64),
    }
}

const ANY_TIME: Forecast = Forecast::AnyTime(Duration::from_secs(300));
const OUTLOOK: Expectation = Expectation { since: DateTime::UNIX_EPOCH, forecast: ANY_TIME, weight: 1.0 };
const NEW: PollContext = PollContext { last_answer: None, deadline: None, expectation: OUTLOOK, young_until: None };

fn takes(median: u64) -> Forecast {
    Forecast::Lognormal(Lognormal::new(Duration::from_secs(median), 0.6))
}

fn watching(count: i64) -> Scheduler {
    let mut scheduler = Scheduler::default();
    for id in 1..=count {
        scheduler.watch(RowId(id), NEW, at(0));
    }
    scheduler
}

/// Sends what the scheduler asks for, answered at once.
fn poll(scheduler: &mut Scheduler, now: Now) -> Option<i64> {
    match scheduler.next(now) {
        Next::Poll(id) => {
            scheduler.sent(id, now);
            scheduler.ended(id, Ending::Answered, now);
            Some(id.0)
        }
        _ => None,
    }
}

#[test]
fn nothing_to_watch_is_idle() {
    assert_eq!(Scheduler::default().next(at(0)), Next::Idle);
}

#[test]
fn the_least_recently_polled_comes_first_and_none_within_five_seconds() {
    let mut scheduler = watching(3);
    let order: Vec<_> = (0..4).map(|second| poll(&mut scheduler, at(second))).collect();
    assert_eq!(order, [Some(1), Some(2), Some(3), None]);
    assert_eq!(scheduler.next(at(3)), Next::WaitUntil(at(5).mono));
    assert_eq!(poll(&mut scheduler, at(9)), Some(1));
}

#[test]
fn between_two_requests_no_more_is_looked_at_however_often_it_is_asked() {
    let mut scheduler = watching(2_000);
    for second in 0..60 {
        poll(&mut scheduler, at(second));
    }
    let first = scheduler.next(at(60));
    let state = format!("{scheduler:?}");
    assert!(state.contains("looks: 100,"), "there was more to look at");
    assert_eq!(scheduler.next(at(60)), first);
    assert!(format!("{scheduler:?}") == state);
    assert!(poll(&mut scheduler, at(60)).is_some() && format!("{scheduler:?}").contains("looks: 0,"));
}

#[test]
fn a_new_one_comes_before_those_that_wait_for_another_turn() {
    let mut scheduler = watching(3);
    for second in 0..3 {
        poll(&mut scheduler, at(second));
    }
    scheduler.watch(RowId(9), NEW, at(60));
    assert_eq!([poll(&mut scheduler, at(60)), poll(&mut scheduler, at(60))], [Some(9), Some(1)]);
}

#[test]
fn asking_twice_changes_nothing() {
    let mut scheduler = watching(2);
    assert_eq!(scheduler.next(at(0)), scheduler.next(at(0)));
    scheduler.sent(RowId(1), at(0));
    assert_eq!(scheduler.next(at(100)), Next::Poll(RowId(2)));
    scheduler.sent(RowId(2), at(100));
    assert_eq!(scheduler.next(at(100)), Next::Idle);
}

#[test]
fn an_earlier_run_s_answers_count() {
    let mut scheduler = Scheduler::default();
    let ago = |seconds: u64| PollContext { last_answer: Some(at(100 - seconds).wall), ..NEW };
    scheduler.watch(RowId(1), ago(2), at(100));
    scheduler.watch(RowId(2), ago(30), at(100));
    scheduler.watch(RowId(3), ago(60), at(100));
    assert_eq!([poll(&mut scheduler, at(100)), poll(&mut scheduler, at(100))], [Some(3), Some(2)]);
    assert_eq!(scheduler.next(at(100)), Next::WaitUntil(at(103).mono));
}

#[test]
fn a_clock_set_back_delays_nothing_by_more_than_the_interval() {
    let mut scheduler = Scheduler::default();
    let future = PollContext { last_answer: Some(at(1_000_000).wall), ..NEW };
    scheduler.watch(RowId(1), future, at(0));
    assert_eq!(scheduler.next(at(0)), Next::WaitUntil(at(5).mono));
}

#[test]
fn failures_back_off_and_an_answer_ends_that() {
    let mut scheduler = watching(1);
    let mut waits = Vec::new();
    let mut now = 0;
    for _ in 0..8 {
        scheduler.sent(RowId(1), at(now));
        scheduler.ended(RowId(1), Ending::Failed, at(now));
        let Next::WaitUntil(moment) = scheduler.next(at(now)) else { panic!("it should wait") };
        let wait = moment.since(at(now).mono).as_secs();
        waits.push(wait);
        now += wait;
    }
    assert_eq!(waits, [10, 20, 40, 60, 60, 60, 60, 60]);
    assert_eq!(poll(&mut scheduler, at(now)), Some(1));
    assert_eq!(scheduler.next(at(now)), Next::WaitUntil(at(now + 5).mono));
}

#[test]
fn a_person_s_request_does_not_wait_for_the_backoff() {
    let mut scheduler = watching(1);
    for now in [0, 10, 30] {
        scheduler.sent(RowId(1), at(now));
        scheduler.ended(RowId(1), Ending::Failed, at(now));
    }
    scheduler.request(RowId(1), at(31));
    assert_eq!(scheduler.next(at(31)), Next::WaitUntil(at(35).mono));
    assert_eq!(poll(&mut scheduler, at(35)), Some(1));
}

#[test]
fn a_person_s_request_goes_ahead_with_half_of_the_budget() {
    let mut scheduler = watching(8);
    for id in [8, 7, 6] {
        scheduler.request(RowId(id), at(0));
    }
    let order: Vec<_> = (0..6).map(|_| poll(&mut scheduler, at(0)).unwrap()).collect();
    assert_eq!(order, [8, 1, 7, 2, 6, 3]);
}

#[test]
fn a_request_waits_for_the_five_seconds_too() {
    let mut scheduler = watching(1);
    poll(&mut scheduler, at(0));
    scheduler.request(RowId(1), at(1));
    assert_eq!(scheduler.next(at(1)), Next::WaitUntil(at(5).mono));
}

#[test]
fn what_is_not_watched_is_asked_about_once_on_request() {
    let mut scheduler = Scheduler::default();
    scheduler.request(RowId(9), at(0));
    assert_eq!(poll(&mut scheduler, at(0)), Some(9));
    assert_eq!(scheduler.next(at(100)), Next::Idle);
}

#[test]
fn what_is_forgotten_is_not_polled_again() {
    let mut scheduler = watching(2);
    scheduler.forget(RowId(1));
    scheduler.sent(RowId(2), at(0));
    scheduler.forget(RowId(2));
    scheduler.ended(RowId(2), Ending::Answered, at(1));
    assert_eq!((scheduler.next(at(100)), scheduler.watched()), (Next::Idle, 0));
}

#[test]
fn what_is_forgotten_keeps_its_rest() {
    let mut scheduler = watching(1);
    assert_eq!(poll(&mut scheduler, at(0)), Some(1));
    scheduler.forget(RowId(1));
    scheduler.request(RowId(1), at(1));
    assert_eq!(scheduler.next(at(1)), Next::WaitUntil(at(5).mono));
}

#[test]
fn a_passed_deadline_is_confirmed_before_the_others_turn() {
    let mut scheduler = watching(3);
    scheduler.watch(RowId(3), PollContext { deadline: Some(at(10).wall), ..NEW }, at(0));
    for second in 0..3 {
        poll(&mut scheduler, at(second));
    }
    assert_eq!(poll(&mut scheduler, at(10)), Some(3));
    assert_eq!(poll(&mut scheduler, at(10)), Some(1));
    assert_eq!(poll(&mut scheduler, at(15)), Some(2));
}

#[test]
fn what_has_probably_happened_comes_first() {
    let mut scheduler = Scheduler::default();
    for (id, median) in [(1, 1_200), (2, 60), (3, 300)] {
        let expectation = Expectation { forecast: takes(median), ..OUTLOOK };
        scheduler.watch(RowId(id), PollContext { last_answer: Some(at(0).wall), expectation, ..NEW }, at(0));
    }
    // The first one sets the price.
    poll(&mut scheduler, at(60));
    assert_eq!(poll(&mut scheduler, at(61)), Some(2));
    assert_eq!(poll(&mut scheduler, at(62)), Some(3));
}

#[test]
fn what_matters_more_is_asked_about_more_often() {
    let mut scheduler = watching(20);
    let heavy = Expectation { weight: 9.0, ..OUTLOOK };
    scheduler.watch(RowId(20), PollContext { expectation: heavy, ..NEW }, at(0));
    let asked: Vec<i64> = (10..600).filter_map(|second| poll(&mut scheduler, at(second))).collect();
    let times = |id| asked.iter().filter(|asked| **asked == id).count();
    // The interval goes with the root of the weight.
    assert!((2..=4).contains(&(times(20) / times(1))), "{} {}", times(20), times(1));
}

#[test]
fn what_people_look_at_is_asked_about_as_often_as_may_be_with_half_of_the_budget() {
    let mut scheduler = watching(20);
    scheduler.look_at(vec![RowId(7), RowId(99)]);
    let asked: Vec<i64> = (10..70).filter_map(|second| poll(&mut scheduler, at(second))).collect();
    assert_eq!(asked.iter().filter(|asked| **asked == 7).count(), 12);
    scheduler.look_at(vec![RowId(7), RowId(8), RowId(9), RowId(10), RowId(11), RowId(12)]);
    let asked: Vec<i64> = (80..140).filter_map(|second| poll(&mut scheduler, at(second))).collect();
    let open = asked.iter().filter(|asked| (7..=12).contains(*asked)).count();
    assert!((30..=45).contains(&open), "{open}");
    scheduler.look_at(Vec::new());
    let asked: Vec<i64> = (150..170).filter_map(|second| poll(&mut scheduler, at(second))).collect();
    assert!(asked.iter().filter(|asked| **asked == 7).count() <= 1, "{asked:?}");
}

#[test]
fn nobody_waits_for_more_than_four_sweeps_whatever_the_forecast_says() {
    let mut scheduler = watching(50);
    scheduler.set_rate(1.0);
    let hopeless = Expectation { forecast: Forecast::AnyTime(Duration::from_secs(1_000_000_000)), ..OUTLOOK };
    scheduler.watch(RowId(50), PollContext { last_answer: Some(at(0).wall), expectation: hopeless, ..NEW }, at(0));
    let asked: Vec<u64> = (0..2_000).filter(|second| poll(&mut scheduler, at(*second)) == Some(50)).collect();
    let longest = asked.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!((200..=202).contains(&longest) && asked.len() >= 8, "{asked:?}");
}

#[test]
fn what_is_new_needs_more_for_a_minute() {
    let mut scheduler = watching(9);
    let young = PollContext { young_until: Some(at(60).wall), ..NEW };
    scheduler.watch(RowId(10), young, at(0));
    assert!((scheduler.need() - (9.0 / 90.0 + 0.2)).abs() < 1e-9, "{}", scheduler.need());
    scheduler.watch(RowId(10), young, at(30));
    scheduler.next(at(59));
    assert!((scheduler.need() - 0.3).abs() < 1e-9, "{}", scheduler.need());
    scheduler.next(at(60));
    assert!((scheduler.need() - 10.0 / 90.0).abs() < 1e-9, "{}", scheduler.need());
    scheduler.watch(RowId(11), PollContext { young_until: Some(at(99).wall), ..NEW }, at(61));
    (1..=11).for_each(|id| scheduler.forget(RowId(id)));
    scheduler.next(at(200));
    assert_eq!(scheduler.need(), 0.0);
}

#[test]
fn a_jump_of_the_wall_clock_changes_no_age() {
    let mut scheduler = watching(3);
    let jumped = |seconds: u64| Now { wall: at(seconds).wall + TimeDelta::days(365), ..at(seconds) };
    for second in 0..3 {
        poll(&mut scheduler, at(second));
    }
    for id in 1..=3 {
        scheduler.watch(RowId(id), NEW, jumped(3));
    }
    assert_eq!(scheduler.next(jumped(3)), Next::WaitUntil(at(5).mono));
    let order: Vec<_> = (10..13).map(|second| poll(&mut scheduler, jumped(second))).collect();
    assert_eq!(order, [Some(1), Some(2), Some(3)]);
}

proptest! {
    /// Whatever happens in whatever order, nothing is asked about twice within five seconds, and nothing is forgotten.
    #[test]
    fn any_course_of_events_keeps_the_interval(events in prop::collection::vec((0_u8..6, 1_i64..6, 0_u64..4), 1..300)) {
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
                    let ending = if wait == 1 { Ending::Failed } else { Ending::Answered };
                    scheduler.ended(id, ending, at(second));
                    last.insert(id, second);
                }
                _ => if let Next::Poll(id) = scheduler.next(at(second)) {
                    prop_assert!(!in_flight.contains(&id));
                    if let Some(last) = last.get(&id) {
                        prop_assert!(second - last >= 5, "{id:?} after {} s", second - last);
                    }
                    scheduler.sent(id, at(second));
                    in_flight.insert(id);
                },
            }
        }
        prop_assert_eq!(scheduler.watched(), watched.len());
        for id in in_flight {
            scheduler.ended(id, Ending::Answered, at(second));
        }
        let mut polled = BTreeSet::new();
        for later in 0..400 {
            while let Next::Poll(id) = scheduler.next(at(second + later)) {
                scheduler.sent(id, at(second + later));
                scheduler.ended(id, Ending::Answered, at(second + later));
                polled.insert(id);
            }
        }
        prop_assert!(watched.is_subset(&polled));
    }
}
