//! What one decision costs, from a thousand to a million transactions, beside a bare heap of the same size.

use std::{cmp::Reverse, collections::BinaryHeap, hint::black_box, time::Duration};

use hoptop::{
    clock::Clock,
    domain::{
        forecast::{Forecast, Lognormal},
        ids::RowId,
    },
    schedule::{Ending, Expectation, Next, PollContext, Scheduler},
};

use crate::{
    strategy::moment,
    world::{MEDIANS, SIGMA},
};

/// Seconds in which everything is asked about once.
const SWEEP: f64 = 300.0;
const MEASURED: usize = 50_000;

/// A decision: which one, that it is sent, that it is answered.
fn decide(scheduler: &mut Scheduler, seconds: f64) {
    let now = moment(seconds);
    if let Next::Poll(id) = scheduler.next(now) {
        scheduler.sent(id, now);
        scheduler.ended(id, Ending::Answered, moment(seconds + 0.15));
    }
}

fn scheduler(count: usize) -> Scheduler {
    let mut scheduler = Scheduler::default();
    scheduler.set_rate(count as f64 / SWEEP);
    for index in 0..count {
        // Submitted over the last twenty minutes, answered over the last sweep, in no order.
        let scattered = |span: f64, step: usize| span * ((index * step) % count) as f64 / count as f64;
        let forecast = Lognormal::new(Duration::from_secs_f64(MEDIANS[index % MEDIANS.len()]), SIGMA);
        let poll_context = PollContext {
            last_answer: Some(moment(5_000.0 - scattered(SWEEP, 7_919)).wall),
            deadline: None,
            expectation: Expectation {
                since: moment(5_000.0 - SWEEP - scattered(1_200.0, 104_729)).wall,
                forecast: Forecast::Lognormal(forecast),
                weight: 1.0,
            },
            young_until: None,
        };
        scheduler.watch(RowId(index as i64 + 1), poll_context, moment(5_000.0));
    }
    scheduler
}

fn heap(count: usize) -> BinaryHeap<Reverse<(u64, u64)>> {
    (0..count as u64).map(|index| Reverse((index.wrapping_mul(0x9e37_79b9_7f4a_7c15), index))).collect()
}

pub fn print(clock: &Clock) {
    println!(
        "| unsettled | one decision | a bare heap's pop and push | ratio | against 1,000 |\n| ---: | ---: | ---: | ---: | ---: |"
    );
    let timed = |work: &mut dyn FnMut()| {
        let start = clock.now().mono;
        (0..MEASURED).for_each(|_| work());
        clock.now().mono.since(start).as_secs_f64() * 1e6 / MEASURED as f64
    };
    let mut least = None;
    for count in [1_000, 10_000, 100_000, 1_000_000] {
        let mut scheduler = scheduler(count);
        let (mut seconds, step) = (5_000.0, SWEEP / count as f64);
        let mut turn = || {
            seconds += step;
            decide(&mut scheduler, seconds);
        };
        // Until the price is found: a whole sweep.
        (0..count).for_each(|_| turn());
        let cost = timed(&mut turn);
        let mut heap = heap(count);
        let bare = timed(&mut || {
            if let Some(Reverse((at, id))) = heap.pop() {
                heap.push(Reverse((black_box(at) | 1 << 63, id)));
            }
        });
        let base = *least.get_or_insert(cost);
        println!("| {count} | {cost:.2} µs | {bare:.2} µs | {:.1} | {:.2} |", cost / bare, cost / base);
    }
}
