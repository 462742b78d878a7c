//! Tests with adversarial networks, with processes that die or stop during a request, and with damage to the file.

use std::{fs, path::Path, time::Duration};

use chrono::DateTime;
use proptest::prelude::*;

use super::{file::with_checksum, *};
use crate::{
    clock::{MonotonicTime, Now},
    process::lock,
};

fn at(milliseconds: u64) -> MonotonicTime {
    MonotonicTime(Duration::from_millis(milliseconds))
}

fn now(milliseconds: u64) -> Now {
    Now { mono: at(milliseconds), wall: DateTime::UNIX_EPOCH }
}

/// Sets the limit, as a process does when it joins.
fn set_limit(budget: &mut Budget, limit: f64, now: MonotonicTime) {
    budget.update(now, |ledger, member| ledger.set_limit(limit, member)).unwrap();
}

fn answered(budget: &mut Budget, permit: SlotPermit, milliseconds: u64) {
    let at = at(milliseconds);
    budget.release(permit, RequestEnd::Answered, at, at);
}

#[test]
fn a_slot_is_free_a_second_after_its_response() {
    let mut budget = Budget::unshared(1.0, at(0));
    let permit = budget.take(at(0)).unwrap();
    assert_eq!(budget.take(at(5_000)), Err(SlotRefusal::UntilAnswered));
    answered(&mut budget, permit, 5_000);
    assert_eq!(budget.take(at(5_999)), Err(SlotRefusal::Until(at(6_000))));
    assert!(budget.take(at(6_000)).is_ok());
}

#[test]
fn sends_are_spaced_evenly() {
    let mut budget = Budget::unshared(10.0, at(0));
    let _first = budget.take(at(0)).unwrap();
    assert_eq!(budget.take(at(99)), Err(SlotRefusal::Until(at(100))));
    assert!(budget.take(at(100)).is_ok());
}

#[test]
fn limit_below_one_a_second_has_a_longer_window() {
    let mut budget = Budget::unshared(0.25, at(0));
    let permit = budget.take(at(0)).unwrap();
    answered(&mut budget, permit, 100);
    assert_eq!(budget.take(at(200)), Err(SlotRefusal::Until(at(4_100))));
}

#[test]
fn slot_of_a_lost_request_rests_for_the_timeout_and_a_window() {
    let mut budget = Budget::unshared(1.0, at(0));
    let permit = budget.take(at(0)).unwrap();
    budget.release(permit, RequestEnd::TimedOut(Duration::from_secs(10)), at(10_000), at(10_000));
    assert_eq!(budget.take(at(10_001)), Err(SlotRefusal::Until(at(21_000))));
}

#[test]
fn new_limit_applies_at_once() {
    let mut budget = Budget::unshared(10.0, at(0));
    for turn in 0..10 {
        let permit = budget.take(at(turn * 100)).unwrap();
        answered(&mut budget, permit, turn * 100 + 50);
    }
    set_limit(&mut budget, 1.0, at(1_000));
    // The service saw the last request by 950: one request in that window is enough.
    assert_eq!(budget.take(at(1_000)), Err(SlotRefusal::Until(at(1_950))));
    let permit = budget.take(at(1_950)).unwrap();
    answered(&mut budget, permit, 2_000);
    assert_eq!(budget.take(at(2_001)), Err(SlotRefusal::Until(at(3_000))));
    set_limit(&mut budget, 10.0, at(2_100));
    assert!(budget.take(at(2_950)).is_ok());
    assert!(budget.take(at(3_050)).is_ok());
}

#[test]
fn after_429_the_id_rests_and_then_has_a_lower_rate() {
    let mut budget = Budget::unshared(10.0, at(0));
    let permit = budget.take(at(0)).unwrap();
    let retry_after = Some(Duration::from_secs(7));
    budget.release(permit, RequestEnd::Throttled { retry_after, jitter: 0.0 }, at(100), at(100));
    assert_eq!(budget.take(at(101)), Err(SlotRefusal::Until(at(7_100))));
    assert!((budget.ledger().rate() - 7.0).abs() < 1e-9);
    let sent = (7_100..17_100).filter(|millis| {
        budget.take(at(*millis)).is_ok_and(|permit| {
            answered(&mut budget, permit, *millis);
            true
        })
    });
    // A little more than 7 a second, because the rate grows.
    assert!((68..=80).contains(&sent.count()));
}

/// One request of an adversarial network: the milliseconds to the service, the milliseconds back, and whether the
/// response is lost.
type Trip = (u64, u64, bool);

const TIMEOUT: u64 = 8_000;

/// Several budgets that send as soon as they may, and the moments at which the service sees each request.
struct Race {
    budgets: Vec<Budget>,
    /// The end of each request, the index of its budget, whether its response is lost, and its slot.
    under_way: Vec<(u64, usize, bool, SlotPermit)>,
    seen: Vec<u64>,
    millis: u64,
}

impl Race {
    fn of(budgets: Vec<Budget>) -> Self {
        Self { budgets, under_way: Vec::new(), seen: Vec::new(), millis: 0 }
    }

    /// Hands back the slots of requests that have ended.
    fn finish_requests(&mut self) {
        while let Some(index) = self.under_way.iter().position(|(end, ..)| *end <= self.millis) {
            let (end, member, lost, permit) = self.under_way.swap_remove(index);
            let timeout = Duration::from_millis(TIMEOUT);
            let returned = if lost { RequestEnd::TimedOut(timeout) } else { RequestEnd::Answered };
            self.budgets[member].release(permit, returned, at(end), at(self.millis));
        }
    }

    /// Sends a request of `member` as soon as its budget allows.
    fn send(&mut self, member: usize, (there, back, lost): Trip) {
        let permit = loop {
            self.finish_requests();
            let ready = match self.budgets[member].take(at(self.millis)) {
                Ok(permit) => break permit,
                Err(SlotRefusal::Until(ready)) => Some(ready.0.as_nanos().div_ceil(1_000_000) as u64),
                Err(SlotRefusal::UntilAnswered) => None,
            };
            let answer = self.under_way.iter().map(|(end, ..)| *end).min();
            self.millis = ready.into_iter().chain(answer).min().unwrap().max(self.millis + 1);
        };
        self.seen.push(self.millis + there);
        let end = if lost { self.millis + TIMEOUT } else { self.millis + there + back };
        self.under_way.push((end, member, lost, permit));
    }

    /// Kills `member` during its requests, and starts another process in its place.
    fn kill(&mut self, member: usize, fresh: impl FnOnce(Now) -> Budget) {
        self.under_way.retain(|(_, owner, ..)| *owner != member);
        self.budgets[member] = Budget::unshared(1.0, at(0));
        self.budgets[member] = fresh(now(self.millis));
    }

    /// Returns the highest number of requests that the service saw within `window` milliseconds.
    fn most_in_window(mut self, window: u64) -> usize {
        self.seen.sort_unstable();
        let seen = &self.seen;
        let within = |first: usize| seen[first..].iter().take_while(|seen| **seen < self.seen[first] + window).count();
        (0..seen.len()).map(within).max().unwrap_or(0)
    }
}

fn trip() -> impl Strategy<Value = Trip> {
    (0_u64..3_000, 0_u64..3_000, prop::bool::weighted(0.05))
}

proptest! {
    #[test]
    fn no_window_at_the_service_holds_more_than_the_limit(
        rps in 1_u32..=12, trips in prop::collection::vec(trip(), 1..200),
    ) {
        let mut race = Race::of(vec![Budget::unshared(f64::from(rps), at(0))]);
        trips.into_iter().for_each(|trip| race.send(0, trip));
        prop_assert!(race.most_in_window(1_000) <= rps as usize);
    }

    #[test]
    fn requests_of_a_slow_id_stay_apart(trips in prop::collection::vec(trip(), 1..50)) {
        let mut race = Race::of(vec![Budget::unshared(0.2, at(0))]);
        trips.into_iter().for_each(|trip| race.send(0, trip));
        prop_assert_eq!(race.most_in_window(5_000), 1);
    }

    #[test]
    fn changed_limit_is_kept_from_the_change_on(
        first in 1_u32..=12, second in 1_u32..=12, trips in prop::collection::vec(trip(), 2..120),
    ) {
        let mut race = Race::of(vec![Budget::unshared(f64::from(first), at(0))]);
        let (before, after) = trips.split_at(trips.len() / 2);
        before.iter().for_each(|trip| race.send(0, *trip));
        let millis = race.millis;
        set_limit(&mut race.budgets[0], f64::from(second), at(millis));
        let sent = race.seen.len();
        after.iter().for_each(|trip| race.send(0, *trip));
        // Check every window that ends with a later request.
        let later = race.seen[sent..].to_vec();
        let seen = &race.seen;
        for last in later {
            // The first requests were sent under the old limit, although the service may see them later.
            let within = seen[..sent].iter().filter(|at| **at + 1_000 > last && **at <= last).count();
            let own = seen[sent..].iter().filter(|at| **at + 1_000 > last && **at <= last).count();
            prop_assert!(own <= second as usize);
            prop_assert!(within + own <= first.max(second) as usize);
        }
    }

    /// At any reduced rate, no window holds more than the limit.
    #[test]
    fn rate_after_429_never_exceeds_the_limit(
        rps in 1_u32..=12, trips in prop::collection::vec((trip(), prop::bool::weighted(0.1)), 1..150),
    ) {
        let mut race = Race::of(vec![Budget::unshared(f64::from(rps), at(0))]);
        for (trip, throttled) in trips {
            race.send(0, trip);
            if throttled {
                let millis = race.millis;
                race.budgets[0].update(at(millis), |ledger, _| ledger.pace.apply_throttled(None, 0.5, at(millis))).unwrap();
            }
        }
        prop_assert!(race.most_in_window(1_000) <= rps as usize);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Four processes on one file; at times one dies during a request and another starts in its place.
    #[test]
    fn four_processes_keep_within_one_limit_when_some_die(
        rps in 1_u32..=12,
        turns in prop::collection::vec((0_usize..4, trip(), 0_u8..30), 1..120),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let open = |now| Budget::shared(folder.path(), "aa", f64::from(rps), now).unwrap();
        let mut race = Race::of((0..4).map(|_| open(now(0))).collect());
        for (member, trip, event) in turns {
            race.send(member, trip);
            if event == 0 {
                race.kill(member, open);
            }
        }
        prop_assert!(race.most_in_window(1_000) <= rps as usize);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Three processes on one file, which is deleted or damaged at times. The service answers 429 at times, and some
    /// answers are handed back late.
    #[test]
    fn three_processes_keep_within_one_limit_whatever_happens_to_the_file(
        rps in 1_u32..=6,
        turns in prop::collection::vec((0_usize..3, trip(), 0_u8..40), 1..80),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget-aa.json");
        let open = |_| Budget::shared(folder.path(), "aa", f64::from(rps), now(0)).unwrap();
        let mut race = Race::of((0..3).map(open).collect());
        for (member, trip, event) in turns {
            race.send(member, trip);
            let millis = race.millis;
            match event {
                0 => fs::remove_file(&path).unwrap(),
                1 => fs::write(&path, b"{\"boot\": rubbish").unwrap(),
                2 | 3 => {
                    let throttle = |ledger: &mut Ledger, _| ledger.pace.apply_throttled(None, 0.5, at(millis));
                    race.budgets[member].update(at(millis), throttle).unwrap();
                }
                // The process was busy, and hands back late.
                4 => race.millis += 400,
                _ => continue,
            }
            // Each member confirms its requests under way well within the window.
            for budget in &mut race.budgets {
                budget.update(at(millis), |_, _| ()).unwrap();
            }
        }
        prop_assert!(race.most_in_window(1_000) <= rps as usize);
    }
}

#[test]
fn repeated_429_on_a_shared_budget_cut_the_rate_and_double_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let mut budget = Budget::shared(folder.path(), "aa", 1.0, now(0)).unwrap();
    let mut millis = 1_000;
    let mut rests = Vec::new();
    for _ in 0..6 {
        let permit = loop {
            match budget.take(at(millis)) {
                Ok(permit) => break permit,
                Err(SlotRefusal::Until(ready)) => millis = ready.0.as_nanos().div_ceil(1_000_000) as u64,
                Err(SlotRefusal::UntilAnswered) => panic!("no request is under way"),
            }
        };
        millis += 50;
        let throttled = RequestEnd::Throttled { retry_after: None, jitter: 0.0 };
        budget.release(permit, throttled, at(millis), at(millis));
        rests.push(budget.ledger().pace.resting_until().since(at(millis)).as_secs());
        budget.sync(at(millis + 1));
    }
    assert_eq!(rests, [1, 2, 4, 8, 16, 32]);
    assert!((budget.ledger().pace.share() - 0.7_f64.powi(6)).abs() < 1e-9, "{}", budget.ledger().pace.share());
}

#[test]
fn late_release_does_not_undo_changes_of_other_members() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Budget::shared(folder.path(), "aa", 2.0, now(0)).unwrap();
    let (mut late, mut other) = (open(), open());
    let permit = late.take(at(1_000)).unwrap();
    let throttled = other.take(at(60_000)).unwrap();
    let retry_after = Some(Duration::from_secs(300));
    let (arrived, kept) = (at(60_100), at(60_100));
    other.release(throttled, RequestEnd::Throttled { retry_after, jitter: 0.0 }, arrived, kept);
    late.release(permit, RequestEnd::Answered, at(1_100), at(60_200));
    assert_eq!(other.take(at(60_300)), Err(SlotRefusal::Until(at(360_100))));
    // A process that read its clock long before must not undo the change either.
    late.update(at(1_200), |_, _| ()).unwrap();
    assert_eq!(other.take(at(60_400)), Err(SlotRefusal::Until(at(360_100))));
}

#[test]
fn member_that_joins_during_a_write_sets_its_limit_and_releases_the_dead_at_its_first_update() {
    let folder = tempfile::tempdir().unwrap();
    let open = |limit, millis| Budget::shared(folder.path(), "aa", limit, now(millis)).unwrap();
    let mut dead = open(10.0, 0);
    let _under_way = dead.take(at(1_000)).unwrap();
    drop(dead);
    let file = lock::open(&folder.path().join("budget-aa.json")).unwrap();
    assert!(lock::try_lock(&file).unwrap());
    let mut next = open(1.0, 2_000);
    assert!(matches!(next.take(at(2_100)), Err(SlotRefusal::Until(at)) if at < self::at(2_200)));
    file.unlock().unwrap();
    assert_eq!(next.take(at(2_300)), Err(SlotRefusal::Until(at(11_300))));
    assert_eq!((next.ledger().limit(), next.ledger().under_way()), (1.0, 0));
}

#[test]
fn limit_of_a_member_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let open = |limit, millis| Budget::shared(folder.path(), "aa", limit, now(millis)).unwrap();
    let mut watch = open(10.0, 0);
    let _under_way = watch.take(at(1_100)).unwrap();
    let check = open(1.0, 2_000);
    watch.update(at(2_100), |_, _| ()).unwrap();
    assert_eq!(watch.ledger().limit(), 1.0, "the last one that began to poll");
    drop(check);
    watch.update(at(3_000), |_, _| ()).unwrap();
    assert_eq!(watch.ledger().limit(), 10.0);
}

#[test]
fn limit_of_an_earlier_build_ends_with_its_member() {
    let folder = tempfile::tempdir().unwrap();
    let mut watch = Budget::shared(folder.path(), "aa", 1.0, now(0)).unwrap();
    let path = folder.path().join("budget-aa.json");
    let mut content: serde_json::Value =
        serde_json::from_str(fs::read_to_string(&path).unwrap().rsplit_once(' ').unwrap().0).unwrap();
    let ledger = content["ledger"].as_object_mut().unwrap();
    assert!(ledger.remove("earlier_limits").is_some());
    ledger.insert("limit".into(), 10.into());
    ledger.insert("limit_owner".into(), 7.into());
    fs::write(&path, with_checksum(serde_json::to_vec(&content).unwrap())).unwrap();
    watch.update(at(1_000), |_, _| ()).unwrap();
    assert_eq!(watch.ledger().limit(), 1.0);
}

#[test]
fn process_keeps_its_own_limit_when_all_join_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let open = |limit, millis| Budget::shared(folder.path(), "aa", limit, now(millis)).unwrap();
    let (mut slow, mut fast) = (open(1.0, 0), open(10.0, 1_000));
    slow.update(at(1_100), |_, _| ()).unwrap();
    for file in fs::read_dir(folder.path()).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    fast.update(at(2_000), |_, _| ()).unwrap();
    slow.update(at(2_100), |_, _| ()).unwrap();
    assert_eq!((slow.ledger().limit(), fast.ledger().limit()), (10.0, 10.0), "the limit that was set last");
    drop(fast);
    slow.update(at(3_000), |_, _| ()).unwrap();
    assert_eq!(slow.ledger().limit(), 1.0);
}

#[test]
fn limit_that_was_set_before_holds_again_when_the_last_one_ends() {
    let folder = tempfile::tempdir().unwrap();
    let open = |limit, millis| Budget::shared(folder.path(), "aa", limit, now(millis)).unwrap();
    let mut first = open(10.0, 0);
    let second = open(2.0, 1_000);
    let third = open(1.0, 2_000);
    drop(third);
    // The first one to notice is the member with another limit.
    first.update(at(3_000), |_, _| ()).unwrap();
    assert_eq!(first.ledger().limit(), 2.0);
    drop(second);
    first.update(at(4_000), |_, _| ()).unwrap();
    assert_eq!(first.ledger().limit(), 10.0);
}

#[test]
fn refusal_counts_until_its_moment_without_a_read_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut budget = Budget::shared(folder.path(), "aa", 10.0, now(0)).unwrap();
    let permit = budget.take(at(1_000)).unwrap();
    let refused = Err(SlotRefusal::Until(at(1_100)));
    assert_eq!(budget.take(at(1_010)), refused);
    let file = lock::open(&folder.path().join("budget-aa.json")).unwrap();
    assert!(lock::try_lock(&file).unwrap());
    // An update would fail, because the lock is held.
    assert_eq!(budget.take(at(1_099)), refused);
    assert!(matches!(budget.take(at(1_100)), Err(SlotRefusal::Until(again)) if again > at(1_100)));
    file.unlock().unwrap();
    answered(&mut budget, permit, 1_101);
    assert!(budget.take(at(1_102)).is_ok());
}

#[test]
fn only_member_knows_after_a_release_when_the_next_slot_is_free_without_a_read() {
    let folder = tempfile::tempdir().unwrap();
    let open = |from| Budget::shared(folder.path(), "aa", 1.0, now(from)).unwrap();
    let mut budget = open(0);
    let permit = budget.take(at(1_000)).unwrap();
    answered(&mut budget, permit, 1_200);
    assert_eq!(budget.refusal(at(1_201)), Some(SlotRefusal::Until(at(2_200))));
    assert_eq!(budget.refusal(at(2_200)), None);
    let permit = budget.take(at(2_200)).unwrap();
    // While another member waits, the queue in the file decides which member is next.
    assert!(open(2_300).take(at(2_300)).is_err());
    answered(&mut budget, permit, 2_400);
    assert_eq!(budget.refusal(at(2_401)), None);
    assert_eq!(budget.take(at(2_401)), Err(SlotRefusal::Until(at(3_400))));
}

#[test]
fn own_place_in_the_queue_does_not_count_as_another_member() {
    let folder = tempfile::tempdir().unwrap();
    let mut budget = Budget::shared(folder.path(), "aa", 2.0, now(0)).unwrap();
    let first = budget.take(at(1_000)).unwrap();
    let _second = budget.take(at(1_500)).unwrap();
    assert_eq!(budget.take(at(1_510)), Err(SlotRefusal::UntilAnswered));
    answered(&mut budget, first, 1_600);
    assert_eq!(budget.refusal(at(1_601)), Some(SlotRefusal::Until(at(2_600))));
}

#[test]
fn first_in_the_queue_sends_even_if_another_member_always_asks_first() {
    for trip in [5, 150, 1_700] {
        let folder = tempfile::tempdir().unwrap();
        let mut budgets = [(); 2].map(|()| Budget::shared(folder.path(), "aa", 1.0, now(0)).unwrap());
        let (mut under_way, mut sent) = ([None, None], [0_i32; 2]);
        // Each member asks again at the moment that its refusal named, up to a few milliseconds late.
        for millis in (1_000..61_000).step_by(3) {
            for (index, budget) in budgets.iter_mut().enumerate() {
                if let Some((permit, _)) = under_way[index].take_if(|(_, back)| *back <= millis) {
                    answered(budget, permit, millis);
                }
                if under_way[index].is_none()
                    && let Ok(permit) = budget.take(at(millis))
                {
                    under_way[index] = Some((permit, millis + trip));
                    sent[index] += 1;
                }
            }
        }
        assert!((sent[0] - sent[1]).abs() <= 1 && sent[0] > 10, "a trip of {trip} ms: {sent:?}");
    }
}

#[test]
fn file_is_not_read_while_every_slot_waits_for_this_process_s_own_response() {
    let folder = tempfile::tempdir().unwrap();
    let mut budget = Budget::shared(folder.path(), "aa", 1.0, now(0)).unwrap();
    let permit = budget.take(at(1_000)).unwrap();
    let file = lock::open(&folder.path().join("budget-aa.json")).unwrap();
    assert!(lock::try_lock(&file).unwrap());
    assert_eq!(budget.take(at(1_999)), Err(SlotRefusal::UntilAnswered), "a read would have to wait for the lock");
    assert!(
        matches!(budget.take(at(2_000)), Err(SlotRefusal::Until(_))),
        "the ledger is read again, because another process may have raised the limit"
    );
    file.unlock().unwrap();
    answered(&mut budget, permit, 2_020);
    assert_eq!(budget.take(at(2_030)), Err(SlotRefusal::Until(at(3_020))));
}

#[test]
fn new_limit_ends_a_kept_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let mut budget = Budget::shared(folder.path(), "aa", 1.0, now(0)).unwrap();
    let permit = budget.take(at(1_000)).unwrap();
    answered(&mut budget, permit, 1_500);
    assert_eq!(budget.take(at(1_600)), Err(SlotRefusal::Until(at(2_500))));
    set_limit(&mut budget, 10.0, at(1_700));
    // The spacing of the former limit still holds, but its rest does not.
    assert_eq!(budget.take(at(1_800)), Err(SlotRefusal::Until(at(2_000))));
    assert!(budget.take(at(2_000)).is_ok());
}

#[test]
fn process_that_is_stopped_while_it_writes_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut budget = Budget::shared(folder.path(), "aa", 1.0, now(0)).unwrap();
    let file = lock::open(&folder.path().join("budget-aa.json")).unwrap();
    assert!(lock::try_lock(&file).unwrap());
    let mut millis = 1_000;
    let mut asked = 0;
    while millis < 10_000 {
        let Err(SlotRefusal::Until(again)) = budget.take(at(millis)) else {
            panic!("a slot was given while another process holds the lock")
        };
        millis = again.0.as_nanos().div_ceil(1_000_000) as u64;
        asked += 1;
    }
    assert!(asked < 100 && budget.fault().is_some_and(|fault| fault.contains("suspended")), "{asked}");
    file.unlock().unwrap();
    assert!(budget.take(at(millis)).is_ok() && budget.fault().is_none());
}

/// Applies `damage` to the file of two processes. Returns when the second process may send, in milliseconds, if the
/// first one gets its response at 2 s.
fn wait_after(damage: impl FnOnce(&Path)) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let open = |millis| Budget::shared(folder.path(), "aa", 1.0, now(millis)).unwrap();
    let (mut first, mut second) = (open(0), open(0));
    let permit = first.take(at(1_000)).unwrap();
    damage(&folder.path().join("budget-aa.json"));
    first.sync(at(1_100));
    let mut millis = 1_200;
    while millis < 2_000 {
        assert!(second.take(at(millis)).is_err(), "a slot was given at {millis} while another request was under way");
        first.sync(at(millis));
        millis += 10;
    }
    answered(&mut first, permit, 2_000);
    loop {
        match second.take(at(millis)) {
            Ok(_) => return millis,
            Err(SlotRefusal::Until(ready)) => millis = (ready.0.as_nanos().div_ceil(1_000_000) as u64).max(millis + 1),
            Err(SlotRefusal::UntilAnswered) => panic!("no request is under way"),
        }
    }
}

#[test]
fn requests_under_way_count_whatever_happens_to_the_file() {
    let fine = wait_after(|_| {});
    assert!((3_000..3_100).contains(&fine), "{fine}");
    let rubbish: [&[u8]; 4] = [b"", b"\xff\0 rubbish", b"{\"boot\":\"\"}", &[b'9'; 4_000_000]];
    for rubbish in rubbish {
        let waited = wait_after(|path| fs::write(path, rubbish).unwrap());
        assert!((3_000..3_200).contains(&waited), "{waited}");
    }
    let gone = wait_after(|path| fs::remove_file(path).unwrap());
    assert!((3_000..3_200).contains(&gone), "{gone}");
    let folder_gone = wait_after(|path| fs::remove_dir_all(path.parent().unwrap()).unwrap());
    assert!((3_000..3_200).contains(&folder_gone), "{folder_gone}");
}

#[test]
fn new_file_or_file_of_another_boot_delays_the_first_send_by_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let open = |millis| Budget::shared(folder.path(), "aa", 1.0, now(millis)).unwrap();
    assert_eq!(open(500).take(at(500)), Err(SlotRefusal::Until(at(1_500))));
    let path = folder.path().join("budget-aa.json");
    // As if the machine had run for ten minutes and then restarted.
    let permit = open(600_000).take(at(600_000)).unwrap();
    drop(permit);
    edit(&path, |content| content["boot"] = "another".into());
    assert_eq!(open(2_000).take(at(2_000)), Err(SlotRefusal::Until(at(3_000))));
    // Without boot IDs, a moment in the far future shows that the file is of another boot.
    edit(&path, |content| content["ledger"]["next_send"] = 9_000_000_000_u64.into());
    assert_eq!(open(4_000).take(at(4_000)), Err(SlotRefusal::Until(at(5_000))));
    // A later hoptop wrote the file.
    edit(&path, |content| content["version"] = 3.into());
    assert_eq!(open(6_000).take(at(6_000)), Err(SlotRefusal::Until(at(7_000))));
}

/// Changes the content of the file, as a process that writes it does.
fn edit(path: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let line = fs::read_to_string(path).unwrap();
    let mut content = serde_json::Deserializer::from_str(&line).into_iter().next().unwrap().unwrap();
    change(&mut content);
    fs::write(path, with_checksum(serde_json::to_vec(&content).unwrap())).unwrap();
}

#[test]
fn altered_file_counts_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget-aa.json");
    let open = |millis| Budget::shared(folder.path(), "aa", 5.0, now(millis)).unwrap();
    drop(open(0));
    let sound = fs::read(&path).unwrap();
    for offset in 0..sound.len() {
        for bit in 0..8 {
            let mut altered = sound.clone();
            altered[offset] ^= 1 << bit;
            fs::write(&path, &altered).unwrap();
            assert_eq!(read_for_display(folder.path(), "aa"), None, "{}", String::from_utf8_lossy(&altered));
            assert!(is_lost(folder.path(), "aa"));
        }
    }
    // One letter that would have raised the limit for good.
    let raised = String::from_utf8(sound).unwrap().replace("\"limit\":5.0", "\"limit\":9.0");
    fs::write(&path, raised).unwrap();
    let mut budget = open(60_000);
    assert_eq!((budget.take(at(60_000)), budget.ledger().limit()), (Err(SlotRefusal::Until(at(61_000))), 5.0));
}

#[test]
fn folder_that_all_users_can_write_and_link_in_place_of_the_file_are_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let open = || Budget::shared(folder.path(), "aa", 5.0, now(0)).map(drop);
    let set_mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    for mode in [0o777, 0o1777] {
        set_mode(mode);
        let error = open().unwrap_err().to_string();
        assert!(error.contains("all users can write to it") && error.contains("--state-dir"), "{error}");
    }
    set_mode(0o700);
    let target = folder.path().join("elsewhere");
    fs::write(&target, "theirs").unwrap();
    symlink(&target, folder.path().join("budget-aa.json")).unwrap();
    let error = open().unwrap_err().to_string();
    assert!(error.contains("it is a symbolic link"), "{error}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "theirs");
}

#[test]
fn limit_that_was_set_last_holds_for_all_members() {
    let folder = tempfile::tempdir().unwrap();
    let open = |limit, millis| Budget::shared(folder.path(), "aa", limit, now(millis)).unwrap();
    let mut first = open(10.0, 0);
    let permit = first.take(at(1_000)).unwrap();
    answered(&mut first, permit, 1_000);
    let _second = open(1.0, 1_050);
    assert_eq!(first.take(at(1_200)), Err(SlotRefusal::Until(at(2_000))));
    assert_eq!(first.ledger().limit(), 1.0);
}

#[test]
fn recreated_file_has_the_limit_that_was_set_last() {
    let folder = tempfile::tempdir().unwrap();
    let open = |limit, millis| Budget::shared(folder.path(), "aa", limit, now(millis)).unwrap();
    let (mut first, mut last) = (open(2.0, 0), open(10.0, 100));
    first.update(at(200), |_, _| ()).unwrap();
    fs::remove_file(folder.path().join("budget-aa.json")).unwrap();
    first.update(at(300), |_, _| ()).unwrap();
    last.update(at(400), |_, _| ()).unwrap();
    assert_eq!((first.ledger().limit(), last.ledger().limit()), (10.0, 10.0));
}

#[test]
fn two_processes_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Budget::shared(folder.path(), "aa", 2.0, now(0)).unwrap();
    let mut race = Race::of(vec![open(), open()]);
    let mut taken = [0_u32; 2];
    for millis in 1_000..61_000 {
        race.millis = millis;
        race.finish_requests();
        for member in [0, 1] {
            if let Ok(permit) = race.budgets[member].take(at(millis)) {
                taken[member] += 1;
                race.under_way.push((millis + 100, member, false, permit));
            }
        }
    }
    // Each process knows that half of the budget belongs to the other process.
    let allowed = race.budgets[0].throughput(Duration::from_millis(100));
    assert!((0.8..1.1).contains(&allowed), "{allowed}");
    assert!(taken[0].abs_diff(taken[1]) <= 2 && taken[0] + taken[1] >= 105, "{taken:?}");
}

#[test]
fn a_stopped_process_keeps_its_slot_and_a_dead_one_loses_it() {
    let folder = tempfile::tempdir().unwrap();
    let open = |millis| Budget::shared(folder.path(), "aa", 1.0, now(millis)).unwrap();
    let (mut stopped, mut other) = (open(0), open(0));
    let permit = stopped.take(at(1_000)).unwrap();
    assert!(
        other.take(at(60_000)).is_err_and(|refused| matches!(refused, SlotRefusal::Until(at) if at < self::at(61_000)))
    );
    drop((stopped, permit));
    assert_eq!(other.take(at(60_100)), Err(SlotRefusal::Until(at(69_100))));
    assert!(other.take(at(69_100)).is_ok());
}

#[test]
fn error_names_the_folder_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Budget::shared(&file, "aa", 1.0, now(0)).unwrap_err();
    assert!(error.to_string().contains("--state-dir"), "{error}");
}

/// Returns a member that has sent at 200 a second from 2,000 ms to `until`, and the moment of its next send.
fn member_with_block(folder: &Path, until: u64) -> (Budget, u64) {
    let mut budget = Budget::shared(folder, "aa", 200.0, now(0)).unwrap();
    let mut millis = 2_000;
    while millis < until {
        let permit = budget.take(at(millis)).unwrap();
        answered(&mut budget, permit, millis + 2);
        millis += 5;
    }
    (budget, millis)
}

/// Returns how many slots the member takes at 200 a second while another process holds the lock of the file.
fn taken_without_an_update(budget: &mut Budget, folder: &Path, from: u64) -> usize {
    let file = lock::open(&folder.join("budget-aa.json")).unwrap();
    assert!(lock::try_lock(&file).unwrap());
    let taken = (from..from + 200).step_by(5).take_while(|millis| budget.take(at(*millis)).is_ok()).count();
    file.unlock().unwrap();
    taken
}

#[test]
fn blocks_grow_while_requests_follow_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let (mut budget, _) = member_with_block(folder.path(), 2_000);
    // The blocks have 1, 2, 4, 8, 16 and 20 slots.
    for (millis, more) in [(2_000, 0), (2_005, 1), (2_015, 3), (2_035, 7), (2_075, 15), (2_155, 19)] {
        let _first = budget.take(at(millis)).unwrap();
        assert_eq!(taken_without_an_update(&mut budget, folder.path(), millis + 5), more);
        // The wait after the failed update is over.
        budget.sync(at(millis + 5 * more as u64 + 4));
    }
}

#[test]
fn file_is_not_updated_for_requests_within_a_block() {
    let folder = tempfile::tempdir().unwrap();
    let (mut budget, millis) = member_with_block(folder.path(), 2_160);
    let before = fs::read(folder.path().join("budget-aa.json")).unwrap();
    for millis in (millis..millis + 50).step_by(5) {
        let permit = budget.take(at(millis)).unwrap();
        answered(&mut budget, permit, millis + 2);
    }
    assert!(fs::read(folder.path().join("budget-aa.json")).unwrap() == before);
}

#[test]
fn new_lower_limit_ends_the_blocks_of_other_members_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut budget, millis) = member_with_block(folder.path(), 2_160);
    let _other = Budget::shared(folder.path(), "aa", 1.0, now(millis)).unwrap();
    assert!(matches!(budget.take(at(millis)), Err(SlotRefusal::Until(ready)) if ready > at(millis + 900)));
    assert_eq!(budget.ledger().limit(), 1.0);
}

#[test]
fn throttled_answer_ends_the_blocks_of_other_members_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut budget, millis) = member_with_block(folder.path(), 2_160);
    let mut other = Budget::shared(folder.path(), "aa", 200.0, now(millis)).unwrap();
    let rest = |ledger: &mut Ledger, _| ledger.pace.apply_throttled(Some(Duration::from_secs(7)), 0.0, at(millis));
    other.update(at(millis), rest).unwrap();
    assert_eq!(budget.take(at(millis)), Err(SlotRefusal::Until(at(millis + 7_000))));
}

#[test]
fn own_throttled_answer_ends_the_block_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut budget, millis) = member_with_block(folder.path(), 2_160);
    let permit = budget.take(at(millis)).unwrap();
    let throttled = RequestEnd::Throttled { retry_after: Some(Duration::from_secs(7)), jitter: 0.0 };
    budget.release(permit, throttled, at(millis + 1), at(millis + 1));
    assert_eq!(budget.take(at(millis + 5)), Err(SlotRefusal::Until(at(millis + 7_001))));
    assert_eq!(read_for_display(folder.path(), "aa").unwrap().pace.resting_until(), at(millis + 7_001));
}

#[test]
fn idle_member_returns_the_rest_of_its_block() {
    let folder = tempfile::tempdir().unwrap();
    let (mut budget, millis) = member_with_block(folder.path(), 2_160);
    let under_way = || read_for_display(folder.path(), "aa").unwrap().under_way();
    assert!(under_way() > 10, "a block is taken");
    let due = budget.sync(at(millis)).unwrap();
    assert!(due <= at(millis + 105), "{due:?}");
    assert_eq!((budget.sync(due), under_way()), (None, 0));
    let mut other = Budget::shared(folder.path(), "aa", 200.0, now(millis)).unwrap();
    assert!(other.take(due).is_ok());
}

#[test]
fn idle_member_returns_the_rest_of_its_block_after_another_process_has_written() {
    let folder = tempfile::tempdir().unwrap();
    let (mut budget, millis) = member_with_block(folder.path(), 2_160);
    let due = budget.sync(at(millis)).unwrap();
    let file = fs::File::open(folder.path().join("budget-aa.json")).unwrap();
    assert!(lock::try_lock(&file).unwrap());
    let retry = budget.sync(due).unwrap();
    assert!(retry > due && retry <= due + Duration::from_secs(1), "{retry:?}");
    file.unlock().unwrap();
    assert_eq!(budget.sync(retry), None);
    assert_eq!(read_for_display(folder.path(), "aa").unwrap().under_way(), 0);
}

#[test]
fn closed_budget_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (mut budget, millis) = member_with_block(folder.path(), 2_160);
    budget.close(at(millis));
    drop(budget);
    let mut other = Budget::shared(folder.path(), "aa", 200.0, now(millis)).unwrap();
    assert!(other.take(at(millis)).is_ok());
    assert_eq!(read_for_display(folder.path(), "aa").unwrap().under_way(), 1);
}

#[test]
fn slots_in_the_block_of_a_dead_member_rest_like_requests_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let (budget, millis) = member_with_block(folder.path(), 2_160);
    let taken = read_for_display(folder.path(), "aa").unwrap().under_way();
    drop(budget);
    let mut other = Budget::shared(folder.path(), "aa", 200.0, now(millis)).unwrap();
    let sent =
        |other: &mut Budget, from: u64, to: u64| (from..to).filter(|millis| other.take(at(*millis)).is_ok()).count();
    let before = sent(&mut other, millis + 1_200, millis + 8_900);
    assert_eq!(before, 200 - taken);
    assert_eq!(sent(&mut other, millis + 8_900, millis + 12_000), taken);
}

#[test]
fn member_that_was_stopped_does_not_use_a_block_of_a_lost_file() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stopped, millis) = member_with_block(folder.path(), 2_160);
    fs::remove_file(folder.path().join("budget-aa.json")).unwrap();
    let mut other = Budget::shared(folder.path(), "aa", 200.0, now(millis)).unwrap();
    let sent = (millis..millis + 3_000).filter(|millis| other.take(at(*millis)).is_ok()).count();
    assert_eq!(sent, 200, "every slot is in use");
    assert!(stopped.take(at(millis + 3_000)).is_err());
}

#[test]
fn slots_in_a_block_rest_a_second_after_their_responses() {
    let folder = tempfile::tempdir().unwrap();
    let mut budget = Budget::shared(folder.path(), "aa", 200.0, now(0)).unwrap();
    let mut permits: Vec<_> = (2_000..3_000).step_by(5).map(|millis| budget.take(at(millis)).unwrap()).collect();
    // Five responses arrive at 3 s, all others 90 ms later.
    permits.drain(..5).for_each(|permit| answered(&mut budget, permit, 3_000));
    permits.into_iter().for_each(|permit| answered(&mut budget, permit, 3_090));
    let sent: Vec<u64> = (3_091..4_100).filter(|millis| budget.take(at(*millis)).is_ok()).collect();
    assert_eq!(sent, [4_000, 4_005, 4_010, 4_015, 4_020, 4_090, 4_095]);
}

#[test]
fn block_is_not_used_if_the_ledger_lost_its_slots() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget-aa.json");
    let _first = Budget::shared(folder.path(), "aa", 200.0, now(0)).unwrap();
    let empty = fs::read(&path).unwrap();
    let (mut budget, millis) = member_with_block(folder.path(), 2_160);
    fs::write(&path, empty).unwrap();
    assert_eq!(taken_without_an_update(&mut budget, folder.path(), millis), 0);
}

#[test]
fn release_that_could_not_be_written_is_retried_soon() {
    let folder = tempfile::tempdir().unwrap();
    for rps in [1.0, 200.0] {
        let mut budget = Budget::shared(folder.path(), "aa", rps, now(0)).unwrap();
        let permit = budget.take(at(60_000)).unwrap();
        let file = lock::open(&folder.path().join("budget-aa.json")).unwrap();
        assert!(lock::try_lock(&file).unwrap());
        let throttled = RequestEnd::Throttled { retry_after: None, jitter: 0.0 };
        budget.release(permit, throttled, at(60_010), at(60_010));
        let again = budget.sync(at(60_010)).unwrap();
        assert!(again <= at(60_020), "{again:?}");
        file.unlock().unwrap();
        assert_eq!(budget.sync(again), None);
        assert_eq!(read_for_display(folder.path(), "aa").unwrap().pace.resting_until(), at(61_010));
        fs::remove_file(folder.path().join("budget-aa.json")).unwrap();
    }
}

/// Members on one file at a high rate, in microseconds. Each sends as soon as its budget allows, or a little later.
struct Rush {
    members: Vec<RushMember>,
    sent: Vec<u64>,
    seen: Vec<u64>,
    micros: u64,
}

struct RushMember {
    budget: Budget,
    /// The end of each request, whether its response is lost, and its slot.
    under_way: Vec<(u64, bool, SlotPermit)>,
    wakes: u64,
}

impl Rush {
    fn of(budgets: Vec<Budget>) -> Self {
        let member = |budget| RushMember { budget, under_way: Vec::new(), wakes: 0 };
        Self { members: budgets.into_iter().map(member).collect(), sent: Vec::new(), seen: Vec::new(), micros: 0 }
    }

    /// Runs the member that is due next, up to `late` microseconds late.
    fn step(&mut self, late: u64, (there, back, lost): Trip) {
        let due = |member: &RushMember| member.under_way.iter().map(|(end, ..)| *end).chain([member.wakes]).min();
        let (index, due) = self.members.iter().map(due).enumerate().min_by_key(|(_, due)| *due).unwrap();
        self.micros = self.micros.max(due.unwrap() + late);
        let (micros, member) = (self.micros, &mut self.members[index]);
        let now = MonotonicTime(Duration::from_micros(micros));
        while let Some(ended) = member.under_way.iter().position(|(end, ..)| *end <= micros) {
            let (end, lost, permit) = member.under_way.swap_remove(ended);
            let timeout = RequestEnd::TimedOut(Duration::from_millis(TIMEOUT));
            let returned = if lost { timeout } else { RequestEnd::Answered };
            member.budget.release(permit, returned, MonotonicTime(Duration::from_micros(end)), now);
        }
        let ready = match member.budget.take(now) {
            Ok(permit) => {
                self.sent.push(micros);
                self.seen.push(micros + there * 1_000);
                let takes = if lost { TIMEOUT } else { there + back };
                member.under_way.push((micros + takes * 1_000, lost, permit));
                Some(now)
            }
            Err(SlotRefusal::Until(ready)) => Some(ready),
            Err(SlotRefusal::UntilAnswered) => None,
        };
        let wakes = ready.into_iter().chain(member.budget.sync(now)).min();
        member.wakes = wakes.map_or(u64::MAX, |wakes| (wakes.0.as_nanos().div_ceil(1_000) as u64).max(micros + 1));
    }

    /// Returns the highest number of requests that the service saw within a second.
    fn most_within_a_second(&mut self) -> usize {
        self.seen.sort_unstable();
        let first = |index: usize| self.seen.partition_point(|seen| *seen + 1_000_000 <= self.seen[index]);
        (0..self.seen.len()).map(|index| index + 1 - first(index)).max().unwrap_or(0)
    }

    fn shortest_spacing(&self) -> u64 {
        self.sent.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(u64::MAX)
    }
}

fn short_trip() -> impl Strategy<Value = Trip> {
    let way = || prop_oneof![9 => 0_u64..200, 1 => 0_u64..3_000];
    (way(), way(), prop::bool::weighted(0.01))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// One to four members; one of them is killed or stopped at times, and each acts a little late.
    #[test]
    fn members_with_blocks_keep_within_one_limit_and_apart_when_some_die_or_stop(
        rps in 20_u32..=200, count in 1_usize..=4,
        steps in prop::collection::vec((short_trip(), prop_oneof![4 => Just(0), 1 => 0_u64..9_000], 0_u8..200), 200..1_500),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let open = |micros: u64| Budget::shared(folder.path(), "aa", f64::from(rps), now(micros / 1_000)).unwrap();
        let mut rush = Rush::of((0..count).map(|_| open(0)).collect());
        for (turn, (trip, late, event)) in steps.into_iter().enumerate() {
            rush.step(late, trip);
            let (micros, member) = (rush.micros, &mut rush.members[turn % count]);
            match event {
                0 => {
                    // The lock of the dead process is free before the next process joins.
                    member.budget = Budget::unshared(1.0, at(0));
                    *member = RushMember { budget: open(micros), under_way: Vec::new(), wakes: micros };
                }
                // A process that resumes finds responses that arrived earlier.
                1 => {
                    let until = micros + 3_000_000;
                    member.wakes = until;
                    member.under_way.iter_mut().for_each(|(end, ..)| *end = until.max(*end));
                }
                _ => {}
            }
        }
        prop_assert!(rush.most_within_a_second() <= rps as usize);
        prop_assert!(rush.shortest_spacing() >= 1_000_000 / u64::from(rps), "{}", rush.shortest_spacing());
    }

    /// The file is deleted or damaged at times, and another member gets a 429.
    #[test]
    fn members_with_blocks_keep_within_one_limit_whatever_happens_to_the_file(
        rps in 20_u32..=200,
        steps in prop::collection::vec((short_trip(), 0_u64..2_000, 0_u8..200), 200..1_500),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget-aa.json");
        let open = |_| Budget::shared(folder.path(), "aa", f64::from(rps), now(0)).unwrap();
        let mut rush = Rush::of((0..3).map(open).collect());
        for (turn, (trip, late, event)) in steps.into_iter().enumerate() {
            rush.step(late, trip);
            let now = MonotonicTime(Duration::from_micros(rush.micros));
            match event {
                0 if path.exists() => fs::remove_file(&path).unwrap(),
                1 => fs::write(&path, b"{\"boot\": rubbish").unwrap(),
                2 => {
                    let throttle = |ledger: &mut Ledger, _| ledger.pace.apply_throttled(None, 0.5, now);
                    rush.members[turn % 3].budget.update(now, throttle).ok();
                }
                _ => {}
            }
        }
        prop_assert!(rush.most_within_a_second() <= rps as usize);
    }
}
