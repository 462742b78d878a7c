//! Measures the cost of one scheduling decision for a thousand to a million transactions, beside a bare heap of the
//! same size.

use std::{cmp::Reverse, collections::BinaryHeap, hint::black_box, time::Duration};

use hoptop::internals::{
    clock::Clock,
    domain::{Forecast, Lognormal, RowId},
    schedule::{Expectation, NextPoll, PollContext, PollResult, Scheduler},
};

use crate::{
    strategy::moment,
    world::{MEDIANS, SIGMA},
};

/// The seconds in which every transaction is polled once.
const SWEEP_SECONDS: f64 = 300.0;
const DECISIONS: usize = 50_000;

/// Makes one decision: chooses a transaction, and reports its request as sent and answered.
fn decide(scheduler: &mut Scheduler, seconds: f64) {
    let now = moment(seconds);
    if let NextPoll::Poll(id) = scheduler.next_poll(now) {
        scheduler.record_sent(id, now);
        scheduler.record_result(id, PollResult::Answered, moment(seconds + 0.15));
    }
}

fn fill_scheduler(count: usize) -> Scheduler {
    let mut scheduler = Scheduler::default();
    for index in 0..count {
        // Submission times spread over twenty minutes, and last answers over the last sweep, in mixed order.
        let spread = |span: f64, step: usize| span * ((index * step) % count) as f64 / count as f64;
        let forecast = Lognormal::new(Duration::from_secs_f64(MEDIANS[index % MEDIANS.len()]), SIGMA);
        let poll_context = PollContext {
            last_answer: Some(moment(5_000.0 - spread(SWEEP_SECONDS, 7_919)).wall),
            deadline: None,
            expectation: Expectation {
                since: moment(5_000.0 - SWEEP_SECONDS - spread(1_200.0, 104_729)).wall,
                forecast: Forecast::Lognormal(forecast),
                first_answer: None,
                weight: 1.0,
            },
            young_until: None,
        };
        scheduler.watch(RowId(index as i64 + 1), poll_context, moment(5_000.0));
    }
    scheduler
}

fn fill_heap(count: usize) -> BinaryHeap<Reverse<(u64, u64)>> {
    (0..count as u64).map(|index| Reverse((index.wrapping_mul(0x9e37_79b9_7f4a_7c15), index))).collect()
}

pub(crate) fn print(clock: &Clock) {
    println!(
        "| unsettled | one decision | a bare heap's pop and push | ratio | against 1,000 |\n| ---: | ---: | ---: | ---: | ---: |"
    );
    let timed = |work: &mut dyn FnMut()| {
        let start = clock.now().mono;
        (0..DECISIONS).for_each(|_| work());
        clock.now().mono.since(start).as_secs_f64() * 1e6 / DECISIONS as f64
    };
    let mut cost_of_smallest = None;
    for count in [1_000, 10_000, 100_000, 1_000_000] {
        let mut scheduler = fill_scheduler(count);
        let (mut seconds, step) = (5_000.0, SWEEP_SECONDS / count as f64);
        let mut decide_next = || {
            seconds += step;
            decide(&mut scheduler, seconds);
        };
        // One sweep of warm-up, after which the scheduler has found its price.
        (0..count).for_each(|_| decide_next());
        let cost = timed(&mut decide_next);
        let mut heap = fill_heap(count);
        let bare = timed(&mut || {
            if let Some(Reverse((at, id))) = heap.pop() {
                heap.push(Reverse((black_box(at) | 1 << 63, id)));
            }
        });
        let base = *cost_of_smallest.get_or_insert(cost);
        println!("| {count} | {cost:.2} µs | {bare:.2} µs | {:.1} | {:.2} |", cost / bare, cost / base);
    }
}
