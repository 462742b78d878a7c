//! Runs a strategy on the transfers of a load, in virtual time and through the product's own budget.

use std::{cmp::Reverse, collections::BinaryHeap};

use hoptop::internals::budget::{Budget, RequestEnd, SlotPermit};

use crate::{
    strategy::{Decision, Strategy, moment},
    world::{Arrivals, NetworkLatency, StatusResult, Workload},
};

/// The delays in seconds between settling and the answer that shows it.
#[derive(Clone, Debug)]
pub(crate) struct RunOutcome {
    pub mean: f64,
    pub p95: f64,
    pub worst: f64,
    /// The requests per counted transfer.
    pub polls: f64,
}

pub(crate) fn run(load: &Workload, seed: u64, strategy: &mut dyn Strategy) -> RunOutcome {
    let transfers = load.transfers(seed);
    let mut network = NetworkLatency::new(seed + 1);
    let mut budget = Budget::unshared(load.rps, moment(0.0).mono);
    let mut in_flight: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut permits: Vec<Option<(SlotPermit, StatusResult)>> = transfers.iter().map(|_| None).collect();
    let (mut detection_delays, mut arrived_count, mut requests, mut now) = (Vec::new(), 0, 0_u64, 0.0_f64);
    // Under a steady load neither the warm-up counts nor the time after the last arrival.
    let (from, until) = match load.arrivals {
        Arrivals::AtOnce => (0.0, f64::INFINITY),
        Arrivals::Steady { warm_up, .. } | Arrivals::Rush { warm_up, .. } => {
            (warm_up, transfers.last().map_or(0.0, |last| last.arrives))
        }
    };
    while detection_delays.len() < transfers.len() {
        while arrived_count < transfers.len() && transfers[arrived_count].arrives <= now {
            strategy.add(arrived_count, &transfers[arrived_count]);
            arrived_count += 1;
        }
        while let Some(Reverse((at, id))) = in_flight.peek().copied().filter(|Reverse((at, _))| *at as f64 <= now * 1e6)
        {
            in_flight.pop();
            let (permit, answer) = permits[id].take().unwrap();
            let at = moment(at as f64 / 1e6).mono;
            budget.release(permit, RequestEnd::Answered, at, at);
            strategy.on_answered(id, answer, now);
            if answer == StatusResult::Settled {
                let noticeable = transfers[id].settles.max(transfers[id].arrives);
                detection_delays.push((noticeable, now - noticeable));
            }
        }
        let mut wake = f64::INFINITY;
        while let Some(ready) = budget.ledger().ready_at() {
            // The budget is checked first because asking the strategy may be expensive.
            if ready > moment(now).mono {
                wake = ready.0.as_secs_f64();
                break;
            }
            let id = match strategy.next(now) {
                Decision::Poll(id) => id,
                Decision::WaitUntil(moment) => {
                    wake = moment;
                    break;
                }
                Decision::Idle => break,
            };
            let permit = budget.take(moment(now).mono).expect("a slot was ready");
            strategy.on_sent(id, now);
            let (there, back) = network.round_trip();
            permits[id] = Some((permit, transfers[id].answer_at(now + there)));
            in_flight.push(Reverse((((now + there + back) * 1e6) as u64, id)));
            requests += u64::from((from..=until).contains(&now));
        }
        let arrival = transfers.get(arrived_count).map(|next| next.arrives);
        let answer = in_flight.peek().map(|Reverse((at, _))| *at as f64 / 1e6);
        now = [Some(wake), arrival, answer].into_iter().flatten().fold(f64::INFINITY, f64::min).max(now + 1e-6);
    }
    let is_counted = |(settles, _): &&(f64, f64)| (from..=until).contains(settles);
    let counted_delays = detection_delays.iter().filter(is_counted).map(|(_, delay)| *delay).collect();
    let counted_transfers = transfers.iter().filter(|transfer| (from..=until).contains(&transfer.arrives)).count();
    RunOutcome::new(counted_delays, requests as f64 / counted_transfers as f64)
}

impl RunOutcome {
    /// Returns the means of several outcomes.
    pub(crate) fn mean(outcomes: impl ExactSizeIterator<Item = Self>) -> Self {
        let share = 1.0 / outcomes.len() as f64;
        let none = Self { mean: 0.0, p95: 0.0, worst: 0.0, polls: 0.0 };
        outcomes.fold(none, |sum, outcome| Self {
            mean: sum.mean + share * outcome.mean,
            p95: sum.p95 + share * outcome.p95,
            worst: sum.worst + share * outcome.worst,
            polls: sum.polls + share * outcome.polls,
        })
    }

    fn new(mut counted_delays: Vec<f64>, polls: f64) -> Self {
        counted_delays.sort_by(f64::total_cmp);
        Self {
            mean: counted_delays.iter().sum::<f64>() / counted_delays.len() as f64,
            p95: counted_delays[counted_delays.len() * 95 / 100],
            worst: *counted_delays.last().unwrap(),
            polls,
        }
    }
}
