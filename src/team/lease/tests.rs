//! Tests of the lease, with a simulation of a team: clocks of different rates, pauses, lost and late messages, restarts
//! and failovers of the database.

use std::{cmp::Reverse, collections::BinaryHeap};

use proptest::prelude::*;

use super::*;

fn at(seconds: f64) -> MonotonicTime {
    MonotonicTime(Duration::from_secs_f64(seconds))
}

const SERVER: ServerStart = ServerStart(1);
const OTHER: HolderId = HolderId(7);

fn row(epoch: u64, holder: LeaseHolder, beat: u64) -> LeaseRow {
    LeaseRow { epoch, holder, beat }
}

/// Sends the next request, which must be `expected`, and answers it at once.
#[track_caller]
fn exchange(lease: &mut Lease, now: MonotonicTime, expected: LeaseRequest, is_granted: bool, row: LeaseRow) {
    exchange_with(lease, now, expected, LeaseReply { is_granted, row, server: SERVER, in_recovery: false });
}

#[track_caller]
fn exchange_with(lease: &mut Lease, now: MonotonicTime, expected: LeaseRequest, reply: LeaseReply) {
    let step = lease.next(now);
    let LeaseStep::Send(number, request) = step else { panic!("{step:?}") };
    assert_eq!(request, expected);
    lease.on_reply(number, Some(reply), now);
}

/// A candidate that has just taken the lease at 5 s, in epoch 4.
fn holder() -> Lease {
    let mut lease = Lease::new(HolderId(1), Duration::ZERO);
    let seen = row(3, LeaseHolder::Held(OTHER), 9);
    for second in 0..5 {
        exchange(&mut lease, at(f64::from(second)), LeaseRequest::Read, true, seen);
    }
    let taken = row(4, LeaseHolder::Held(HolderId(1)), 0);
    exchange(&mut lease, at(5.0), LeaseRequest::Take { epoch: 3, beat: 9, server: SERVER }, true, taken);
    lease
}

fn beat(lease: &mut Lease, now: MonotonicTime, is_granted: bool, beat: u64) {
    let id = lease.id;
    exchange(lease, now, LeaseRequest::Beat { epoch: 4 }, is_granted, row(4, LeaseHolder::Held(id), beat));
}

#[test]
fn candidate_takes_the_lease_after_five_unchanged_seconds_and_sends_after_the_quarantine() {
    let mut lease = holder();
    assert_eq!((lease.epoch(), lease.permission(at(5.0))), (Some(4), SendPermission::From(at(8.5))));
    for second in 6_u32..9 {
        beat(&mut lease, at(f64::from(second)), true, u64::from(second));
    }
    let until = SendPermission::Until { begin: at(11.5), kill_at: at(12.0) };
    assert_eq!((lease.permission(at(8.4)), lease.permission(at(8.5))), (SendPermission::From(at(8.5)), until));
    assert_eq!(lease.permission(at(11.5)), SendPermission::No);
}

#[test]
fn changed_beat_or_another_server_restarts_the_observation() {
    let mut lease = Lease::new(HolderId(1), Duration::ZERO);
    let seen = |beat| row(3, LeaseHolder::Held(OTHER), beat);
    exchange(&mut lease, at(0.0), LeaseRequest::Read, true, seen(9));
    exchange(&mut lease, at(4.0), LeaseRequest::Read, true, seen(10));
    exchange(&mut lease, at(8.9), LeaseRequest::Read, true, seen(10));
    let promoted = LeaseReply { is_granted: true, row: seen(10), server: ServerStart(2), in_recovery: false };
    let LeaseStep::Send(number, LeaseRequest::Take { .. }) = lease.next(at(9.9)) else { panic!() };
    lease.on_reply(number, None, at(9.9));
    exchange_with(
        &mut lease,
        at(10.9),
        LeaseRequest::Take { epoch: 3, beat: 10, server: SERVER },
        LeaseReply { is_granted: false, ..promoted },
    );
    exchange_with(&mut lease, at(15.8), LeaseRequest::Read, promoted);
    assert!(matches!(lease.next(at(16.8)), LeaseStep::Send(_, LeaseRequest::Take { .. })));
}

#[test]
fn standby_counts_as_no_answer() {
    let mut lease = Lease::new(HolderId(1), Duration::ZERO);
    let seen = row(3, LeaseHolder::Held(OTHER), 9);
    let reply = LeaseReply { is_granted: true, row: seen, server: SERVER, in_recovery: true };
    for second in 0..20 {
        exchange_with(&mut lease, at(f64::from(second)), LeaseRequest::Read, reply);
    }
}

#[test]
fn failed_beats_end_the_permission_and_a_later_beat_of_the_same_epoch_restores_it() {
    let mut lease = holder();
    for second in 6_u32..10 {
        beat(&mut lease, at(f64::from(second)), true, u64::from(second));
    }
    for second in 10..40 {
        let LeaseStep::Send(number, _) = lease.next(at(f64::from(second))) else { panic!() };
        lease.on_reply(number, None, at(f64::from(second)));
    }
    assert_eq!(lease.permission(at(39.0)), SendPermission::No);
    beat(&mut lease, at(40.0), true, 10);
    assert_eq!(lease.permission(at(40.0)), SendPermission::Until { begin: at(43.5), kill_at: at(44.0) });
}

#[test]
fn holder_whose_epoch_is_gone_becomes_a_candidate() {
    let mut lease = holder();
    exchange(&mut lease, at(6.0), LeaseRequest::Beat { epoch: 4 }, false, row(5, LeaseHolder::Held(OTHER), 0));
    assert_eq!((lease.permission(at(6.0)), lease.epoch()), (SendPermission::No, None));
    assert!(matches!(lease.next(at(7.0)), LeaseStep::Send(_, LeaseRequest::Read)));
}

#[test]
fn holder_waits_on_a_promoted_server_because_a_takeover_may_be_lost() {
    let mut lease = holder();
    for second in 6_u32..10 {
        beat(&mut lease, at(f64::from(second)), true, u64::from(second));
    }
    let row = row(4, LeaseHolder::Held(HolderId(1)), 8);
    let promoted = LeaseReply { is_granted: true, row, server: ServerStart(2), in_recovery: false };
    exchange_with(&mut lease, at(10.0), LeaseRequest::Beat { epoch: 4 }, promoted);
    assert_eq!(lease.permission(at(10.0)), SendPermission::From(at(18.5)));
}

#[test]
fn lost_reply_to_a_takeover_is_found_out_by_a_beat() {
    let mut lease = Lease::new(HolderId(1), Duration::ZERO);
    let seen = row(3, LeaseHolder::Held(OTHER), 9);
    exchange(&mut lease, at(0.0), LeaseRequest::Read, true, seen);
    let LeaseStep::Send(number, LeaseRequest::Take { .. }) = lease.next(at(5.0)) else { panic!() };
    assert_eq!(lease.next(at(6.0)), LeaseStep::WaitUntil(at(7.0)));
    let LeaseStep::Send(again, LeaseRequest::Take { .. }) = lease.next(at(7.0)) else { panic!() };
    let taken = row(4, LeaseHolder::Held(HolderId(1)), 0);
    let late = LeaseReply { is_granted: true, row: taken, server: SERVER, in_recovery: false };
    lease.on_reply(number, Some(late), at(7.1));
    assert_eq!(lease.epoch(), None);
    lease.on_reply(again, Some(LeaseReply { is_granted: false, ..late }), at(7.2));
    beat(&mut lease, at(8.2), true, 1);
    assert_eq!(lease.permission(at(8.2)), SendPermission::From(at(16.7)));
}

#[test]
fn released_lease_is_taken_at_once_and_only_by_others() {
    let mut old = holder();
    beat(&mut old, at(8.0), true, 1);
    old.drain();
    assert_eq!(old.permission(at(8.6)), SendPermission::No);
    old.release(Drain::Complete, at(8.7));
    let released = row(4, LeaseHolder::Free(Some(SERVER)), 1);
    exchange(&mut old, at(8.7), LeaseRequest::Release { epoch: 4, server: Some(SERVER) }, true, released);
    exchange(&mut old, at(9.7), LeaseRequest::Read, true, released);

    let mut new = Lease::new(OTHER, Duration::ZERO);
    exchange(&mut new, at(9.0), LeaseRequest::Read, true, released);
    let taken = row(5, LeaseHolder::Held(OTHER), 0);
    exchange(&mut new, at(10.0), LeaseRequest::Take { epoch: 4, beat: 1, server: SERVER }, true, taken);
    assert_eq!(new.permission(at(10.0)), SendPermission::From(at(11.0)));
}

#[test]
fn release_that_another_server_remembers_is_not_trusted() {
    let mut lease = Lease::new(HolderId(1), Duration::ZERO);
    let released = row(4, LeaseHolder::Free(Some(ServerStart(0))), 1);
    exchange(&mut lease, at(0.0), LeaseRequest::Read, true, released);
    exchange(&mut lease, at(4.0), LeaseRequest::Read, true, released);
    let taken = row(5, LeaseHolder::Held(HolderId(1)), 0);
    exchange(&mut lease, at(5.0), LeaseRequest::Take { epoch: 4, beat: 1, server: SERVER }, true, taken);
    assert_eq!(lease.permission(at(5.0)), SendPermission::From(at(8.5)));
}

#[test]
fn holder_on_a_promoted_server_cannot_vouch_for_its_release() {
    let mut lease = holder();
    let own = row(4, LeaseHolder::Held(HolderId(1)), 8);
    let promoted = LeaseReply { is_granted: true, row: own, server: ServerStart(2), in_recovery: false };
    exchange_with(&mut lease, at(10.0), LeaseRequest::Beat { epoch: 4 }, promoted);
    lease.drain();
    lease.release(Drain::Complete, at(10.5));
    let LeaseStep::Send(_, request) = lease.next(at(10.5)) else { panic!("no release") };
    assert_eq!(request, LeaseRequest::Release { epoch: 4, server: None });
}

#[test]
fn holder_whose_requests_are_unanswered_makes_the_next_one_wait_as_after_its_death() {
    let mut old = holder();
    beat(&mut old, at(8.0), true, 1);
    old.drain();
    old.release(Drain::Incomplete, at(10.0));
    let released = row(4, LeaseHolder::Free(None), 1);
    exchange(&mut old, at(10.0), LeaseRequest::Release { epoch: 4, server: None }, true, released);

    let mut new = Lease::new(OTHER, Duration::ZERO);
    for second in 10..15 {
        exchange(&mut new, at(f64::from(second)), LeaseRequest::Read, true, released);
    }
    let taken = row(5, LeaseHolder::Held(OTHER), 0);
    exchange(&mut new, at(15.0), LeaseRequest::Take { epoch: 4, beat: 1, server: SERVER }, true, taken);
    assert_eq!(new.permission(at(15.0)), SendPermission::From(at(18.5)));
}

#[test]
fn patient_machine_takes_the_lease_later() {
    let mut lease = Lease::new(HolderId(1), Duration::from_secs(2));
    let seen = row(3, LeaseHolder::Held(OTHER), 9);
    for second in 0..7 {
        exchange(&mut lease, at(f64::from(second)), LeaseRequest::Read, true, seen);
    }
    assert!(matches!(lease.next(at(7.0)), LeaseStep::Send(_, LeaseRequest::Take { .. })));
}

/// A generator of random numbers (SplitMix64), so that a failure is repeated by its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    /// Returns a delay on the network in microseconds: a few milliseconds, or sometimes up to 3 s.
    fn delay(&mut self, can_be_slow: bool) -> u64 {
        if can_be_slow && self.chance(20) { self.below(3_000_000) } else { 1_000 + self.below(20_000) }
    }
}

/// A moment of the simulation in microseconds of real time.
type Time = u64;

const MILLISECOND: Time = 1_000;
const SECOND: Time = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SimulationEvent {
    Wake {
        machine: usize,
    },
    AtDatabase {
        machine: usize,
        number: u64,
        request: usize,
    },
    Reply {
        machine: usize,
        number: u64,
        reply: usize,
    },
    /// Bytes leave a machine after a stall, if the process that sends them still lives.
    Leave {
        machine: usize,
        poller: u64,
    },
    Fault,
    DatabaseUp,
}

/// The process that polls on a machine, and its kernel timer.
#[derive(Clone, Copy, Debug)]
struct FakePoller {
    number: u64,
    epoch: u64,
    /// The machine's own time at which the kernel kills the process.
    kill_at: MonotonicTime,
}

struct Machine {
    lease: Lease,
    /// The rate of this machine's clock, in parts of a million.
    rate: u64,
    offset: u64,
    paused_until: Time,
    cut_off_until: Time,
    poller: Option<FakePoller>,
    pollers: u64,
    /// The real time until which bytes of this machine may still arrive or wait for an answer.
    busy_until: Time,
    is_draining: bool,
}

impl Machine {
    fn local(&self, time: Time) -> MonotonicTime {
        let ticks = u128::from(time) * u128::from(self.rate) / 1_000_000;
        MonotonicTime(Duration::from_micros(self.offset + u64::try_from(ticks).unwrap()))
    }

    /// The poller, unless the kernel has killed it.
    fn living_poller(&self, time: Time) -> Option<FakePoller> {
        self.poller.filter(|poller| self.local(time) <= poller.kill_at + Duration::from_millis(50))
    }
}

struct FakeDatabase {
    row: LeaseRow,
    life: i64,
    is_up: bool,
    /// Each change of the row with its moment, for a standby that lags behind.
    history: Vec<(Time, LeaseRow)>,
}

impl FakeDatabase {
    fn carry_out(&mut self, id: HolderId, request: LeaseRequest, time: Time) -> LeaseReply {
        let server = ServerStart(self.life);
        let is_mine = |epoch| self.row.holder == LeaseHolder::Held(id) && self.row.epoch == epoch;
        let changed = match request {
            LeaseRequest::Read => None,
            LeaseRequest::Take { epoch, beat, server: watched } => (self.row.epoch == epoch
                && self.row.beat == beat
                && watched == server)
                .then_some(LeaseRow { epoch: epoch + 1, holder: LeaseHolder::Held(id), beat: 0 }),
            LeaseRequest::Beat { epoch } => is_mine(epoch).then_some(LeaseRow { beat: self.row.beat + 1, ..self.row }),
            LeaseRequest::Release { epoch, server } => {
                is_mine(epoch).then_some(LeaseRow { holder: LeaseHolder::Free(server), ..self.row })
            }
        };
        if let Some(row) = changed {
            self.row = row;
            self.history.push((time, row));
        }
        let is_granted = changed.is_some() || request == LeaseRequest::Read;
        LeaseReply { is_granted, row: self.row, server, in_recovery: false }
    }

    /// Another server takes over, without the writes of the last `lag`.
    fn fail_over(&mut self, time: Time, lag: Time) {
        let lost_from = time.saturating_sub(lag);
        self.history.retain(|(written, _)| *written < lost_from);
        self.row = self.history.last().map_or(NEW_ROW, |(_, row)| *row);
        self.life += 1;
    }
}

const NEW_ROW: LeaseRow = LeaseRow { epoch: 0, holder: LeaseHolder::Free(None), beat: 0 };

struct TeamSimulation {
    random: Random,
    machines: Vec<Machine>,
    database: FakeDatabase,
    queue: BinaryHeap<Reverse<(Time, u64, SimulationEvent)>>,
    events: u64,
    requests: Vec<LeaseRequest>,
    replies: Vec<Option<LeaseReply>>,
    /// The moments at which bytes arrived at the service, with the machine.
    arrivals: Vec<(Time, usize)>,
    has_faults: bool,
}

impl TeamSimulation {
    fn new(seed: u64, count: usize, has_faults: bool) -> Self {
        let mut random = Random(seed);
        let machines = (0..count).map(|index| Machine {
            lease: Lease::new(HolderId(index as u128), Duration::ZERO),
            rate: 999_000 + random.below(2_001),
            offset: random.below(1_000 * SECOND),
            paused_until: 0,
            cut_off_until: 0,
            poller: None,
            pollers: 0,
            busy_until: 0,
            is_draining: false,
        });
        let machines: Vec<Machine> = machines.collect();
        let database = FakeDatabase { row: NEW_ROW, life: 1, is_up: true, history: Vec::new() };
        let (queue, arrivals) = (BinaryHeap::new(), Vec::new());
        let mut team = Self {
            random,
            machines,
            database,
            queue,
            events: 0,
            requests: Vec::new(),
            replies: Vec::new(),
            arrivals,
            has_faults,
        };
        for machine in 0..count {
            team.push(machine as u64 * 137 * MILLISECOND, SimulationEvent::Wake { machine });
        }
        team.push(10 * SECOND, SimulationEvent::Fault);
        team
    }

    fn push(&mut self, time: Time, event: SimulationEvent) {
        self.events += 1;
        self.queue.push(Reverse((time, self.events, event)));
    }

    fn run(&mut self, until: Time) {
        while self.queue.peek().is_some_and(|Reverse((time, ..))| *time <= until) {
            let Some(Reverse((time, _, event))) = self.queue.pop() else { return };
            self.process(time, event);
        }
    }

    fn process(&mut self, time: Time, event: SimulationEvent) {
        match event {
            SimulationEvent::Wake { machine } => {
                let paused_until = self.machines[machine].paused_until;
                if time < paused_until {
                    return self.push(paused_until, event);
                }
                self.step(time, machine);
                self.push(time + 50 * MILLISECOND, event);
            }
            SimulationEvent::AtDatabase { machine, number, request } => {
                let is_lost =
                    self.has_faults && (self.random.chance(20) || time < self.machines[machine].cut_off_until);
                let reply = self.database.is_up.then(|| {
                    let id = self.machines[machine].lease.id;
                    self.database.carry_out(id, self.requests[request], time)
                });
                let reply = reply.filter(|_| !is_lost);
                self.replies.push(reply);
                let delay = self.random.delay(self.has_faults);
                self.push(time + delay, SimulationEvent::Reply { machine, number, reply: self.replies.len() - 1 });
            }
            SimulationEvent::Reply { machine, number, reply } => {
                let paused_until = self.machines[machine].paused_until;
                if time < paused_until {
                    return self.push(paused_until, event);
                }
                let machine = &mut self.machines[machine];
                machine.lease.on_reply(number, self.replies[reply], machine.local(time));
            }
            SimulationEvent::Leave { machine, poller } => {
                let delay = self.random.delay(self.has_faults);
                let machine_state = &mut self.machines[machine];
                if machine_state.living_poller(time).is_some_and(|living| living.number == poller) {
                    self.arrivals.push((time + delay, machine));
                    machine_state.busy_until = machine_state.busy_until.max(time + delay + 20 * MILLISECOND);
                }
            }
            SimulationEvent::Fault => {
                if self.has_faults {
                    self.strike(time);
                }
                let wait = 2 * SECOND + self.random.below(10 * SECOND);
                self.push(time + wait, SimulationEvent::Fault);
            }
            SimulationEvent::DatabaseUp => self.database.is_up = true,
        }
    }

    fn strike(&mut self, time: Time) {
        let machine = usize::try_from(self.random.below(self.machines.len() as u64)).unwrap();
        let holder = self.machines.iter().position(|machine| machine.lease.epoch().is_some()).unwrap_or(machine);
        let span = self.random.below(12 * SECOND);
        match self.random.below(7) {
            0 => self.machines[holder].paused_until = time + span,
            1 => self.machines[machine].paused_until = time + span,
            2 => self.machines[holder].cut_off_until = time + span,
            3 | 4 => {
                let lag = if self.random.chance(2) { 0 } else { self.random.below(6 * SECOND) };
                self.database.fail_over(time, lag);
                self.database.is_up = false;
                self.push(time + span / 4, SimulationEvent::DatabaseUp);
            }
            5 => {
                let killed = &mut self.machines[holder];
                killed.poller = None;
                killed.lease = Lease::new(HolderId(self.random.next().into()), Duration::ZERO);
                killed.is_draining = false;
            }
            _ => {
                self.machines[holder].lease.drain();
                self.machines[holder].is_draining = true;
            }
        }
    }

    /// What the driver of one machine does when it wakes.
    fn step(&mut self, time: Time, index: usize) {
        let local = self.machines[index].local(time);
        if let LeaseStep::Send(number, request) = self.machines[index].lease.next(local) {
            self.requests.push(request);
            let delay = self.random.delay(self.has_faults);
            let request = self.requests.len() - 1;
            let is_lost = self.has_faults && (self.random.chance(20) || time < self.machines[index].cut_off_until);
            if !is_lost {
                self.push(time + delay, SimulationEvent::AtDatabase { machine: index, number, request });
            }
        }
        let machine = &mut self.machines[index];
        machine.poller = machine.living_poller(time).filter(|poller| machine.lease.epoch() == Some(poller.epoch));
        let drain = if machine.busy_until < time { Drain::Complete } else { Drain::Incomplete };
        let gives_up = self.has_faults && self.random.chance(40);
        if machine.is_draining && (drain == Drain::Complete || gives_up) {
            (machine.poller, machine.is_draining) = (None, false);
            machine.lease.release(drain, local);
        }
        let SendPermission::Until { kill_at, .. } = machine.lease.permission(local) else { return };
        let epoch = machine.lease.epoch().unwrap();
        let number = machine.poller.map_or_else(
            || {
                machine.pollers += 1;
                machine.pollers
            },
            |poller| poller.number,
        );
        machine.poller = Some(FakePoller { number, epoch, kill_at });
        let stall = if self.has_faults && self.random.chance(50) { self.random.below(8 * SECOND) } else { 0 };
        machine.busy_until = machine.busy_until.max(time + stall + MILLISECOND);
        self.push(time + stall, SimulationEvent::Leave { machine: index, poller: number });
    }

    /// Returns the smallest time between arrivals of different machines.
    fn smallest_gap(&mut self) -> Option<Time> {
        self.arrivals.sort_unstable();
        let changes = self.arrivals.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        changes.map(|pair| pair[1].0 - pair[0].0).min()
    }
}

#[test]
fn team_without_faults_polls_from_one_machine() {
    let mut team = TeamSimulation::new(1, 5, false);
    team.run(120 * SECOND);
    assert_eq!(team.smallest_gap(), None);
    let first = team.arrivals[0].0;
    assert!(first < 10 * SECOND && team.arrivals.len() > 2_000, "{first} {}", team.arrivals.len());
}

#[test]
fn killed_holder_is_replaced_within_ten_seconds_and_one_that_releases_within_three() {
    for seed in 0..200 {
        let mut team = TeamSimulation::new(seed, 4, false);
        team.run(30 * SECOND);
        let holder = team.machines.iter().position(|machine| machine.lease.epoch().is_some()).unwrap();
        let killed = team.arrivals.last().unwrap().0;
        team.machines[holder].poller = None;
        team.machines[holder].lease = Lease::new(HolderId(99), Duration::ZERO);
        team.run(60 * SECOND);
        let next = team.arrivals.iter().find(|(time, _)| *time > killed + SECOND).unwrap().0;
        assert!(next < killed + 10 * SECOND, "seed {seed}: {}", next - killed);

        let holder = team.machines.iter().position(|machine| machine.lease.epoch().is_some()).unwrap();
        team.machines[holder].lease.drain();
        team.machines[holder].is_draining = true;
        team.run(90 * SECOND);
        let next = team.arrivals.iter().find(|(time, machine)| *time > 60 * SECOND && *machine != holder).unwrap().0;
        assert!(next < 63 * SECOND, "seed {seed}: {next}");
        assert!(team.smallest_gap().unwrap() >= SECOND, "seed {seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_second_at_the_service_has_bytes_of_two_machines(seed: u64, count in 2_usize..6) {
        let mut team = TeamSimulation::new(seed, count, true);
        team.run(600 * SECOND);
        prop_assert!(team.smallest_gap().is_none_or(|gap| gap >= SECOND), "{:?}", team.smallest_gap());
        prop_assert!(!team.arrivals.is_empty());
    }
}
