//! Virtual time: a strategy follows a load's transfers through the product's own budget.

use std::{cmp::Reverse, collections::BinaryHeap};

use hoptop::budget::{Budget, Returned, Ticket};

use crate::{
    strategy::{Strategy, Turn, moment},
    world::{Arrivals, Load, Network},
};

/// How late it was learned that transfers had settled, in seconds.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub mean: f64,
    pub p95: f64,
    pub worst: f64,
    /// Requests for each transfer that came meanwhile.
    pub polls: f64,
}

pub fn run(load: &Load, seed: u64, strategy: &mut dyn Strategy) -> Outcome {
    let transfers = load.transfers(seed);
    let mut network = Network::new(seed + 1);
    let mut budget = Budget::own(load.rps, moment(0.0).mono);
    let mut under_way: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut tickets: Vec<Option<(Ticket, bool)>> = transfers.iter().map(|_| None).collect();
    let (mut delays, mut arrived, mut requests, mut now) = (Vec::new(), 0, 0_u64, 0.0_f64);
    // Under a steady load the beginning isn't counted, nor what is left when nothing new comes.
    let (from, until) = match load.arrivals {
        Arrivals::AtOnce => (0.0, f64::INFINITY),
        Arrivals::Steady { warm_up, .. } => (warm_up, transfers.last().map_or(0.0, |last| last.submitted)),
    };
    while delays.len() < transfers.len() {
        while arrived < transfers.len() && transfers[arrived].submitted <= now {
            strategy.add(arrived, &transfers[arrived]);
            arrived += 1;
        }
        while let Some(Reverse((at, id))) = under_way.peek().copied().filter(|Reverse((at, _))| *at as f64 <= now * 1e6)
        {
            under_way.pop();
            let (ticket, settled) = tickets[id].take().unwrap();
            let at = moment(at as f64 / 1e6).mono;
            budget.hand_back(ticket, Returned::Answered, (at, at));
            strategy.ended(id, settled, now);
            if settled {
                delays.push((transfers[id].settles, now - transfers[id].settles));
            }
        }
        let mut wake = f64::INFINITY;
        while let Some(ready) = budget.ledger().ready_at() {
            // Asking the strategy may be dear.
            if ready > moment(now).mono {
                wake = ready.0.as_secs_f64();
                break;
            }
            let id = match strategy.next(now) {
                Turn::Ask(id) => id,
                Turn::WaitUntil(moment) => {
                    wake = moment;
                    break;
                }
                Turn::Idle => break,
            };
            let ticket = budget.take(moment(now).mono).expect("a slot was ready");
            strategy.sent(id, now);
            let (there, back) = network.trip();
            tickets[id] = Some((ticket, now + there >= transfers[id].settles));
            under_way.push(Reverse((((now + there + back) * 1e6) as u64, id)));
            requests += u64::from((from..=until).contains(&now));
        }
        let arrival = transfers.get(arrived).map(|next| next.submitted);
        let answer = under_way.peek().map(|Reverse((at, _))| *at as f64 / 1e6);
        now = [Some(wake), arrival, answer].into_iter().flatten().fold(f64::INFINITY, f64::min).max(now + 1e-6);
    }
    let counted = |(settles, _): &&(f64, f64)| (from..=until).contains(settles);
    let late = delays.iter().filter(counted).map(|(_, delay)| *delay).collect();
    let came = transfers.iter().filter(|transfer| (from..=until).contains(&transfer.submitted)).count();
    Outcome::new(late, requests as f64 / came as f64)
}

impl Outcome {
    fn new(mut late: Vec<f64>, polls: f64) -> Self {
        late.sort_by(f64::total_cmp);
        Self {
            mean: late.iter().sum::<f64>() / late.len() as f64,
            p95: late[late.len() * 95 / 100],
            worst: *late.last().unwrap(),
            polls,
        }
    }
}
