//! Compares the schedule with other strategies, in virtual time and with fixed seeds: `cargo bench --bench schedule`.
//!
//! The benchmark drives the product's own scheduler, forecasts and slots. A word after `--` selects the loads whose
//! names contain it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends by panicking"
)]

mod bound;
mod cost;
mod run;
mod strategy;
mod world;

use hoptop::internals::clock::Clock;

use run::{RunOutcome, run};
use strategy::{FullComparison, HoptopStrategy, PollingRule, RankFormula, RuleStrategy, Strategy};
use world::{Arrivals, Durations, MEAN_ROUND_TRIP, SLOW_SHARE, StartState, Workload};

/// The first seed. A load with few transfers takes the means over several seeds.
const SEED: u64 = 7;
/// The transactions that a node answers for per second: 16 of them in two requests, at the usual 5 requests per second.
const NODE_RATE: f64 = 40.0;
/// The polls per transfer under the steady load.
const POLLS_PER_TRANSFER: f64 = 3.6;

fn loads() -> Vec<Workload> {
    let (rps, count) = (10.0, 40_000);
    let rate = rps / (1.0 + MEAN_ROUND_TRIP) / POLLS_PER_TRANSFER;
    let steady = Workload {
        name: "steady, 10 RPS",
        rps,
        count,
        seeds: 1,
        arrivals: Arrivals::Steady { rate, warm_up: 3_600.0 },
        beginning: StartState::UnderWay,
        durations: Durations::ByRoute,
        has_halts: false,
    };
    let batch = |name, count, rps, seeds| Workload { name, rps, count, seeds, arrivals: Arrivals::AtOnce, ..steady };
    let imported = |name, load: Workload| Workload { name, beginning: StartState::NeverAnswered, ..load };
    let wrong = |name, load: Workload| Workload { name, durations: Durations::WrongEstimates, ..load };
    let own_estimates = Workload {
        durations: Durations::ByTransfer(12.0, 72.0),
        beginning: StartState::NeverAnswered,
        ..batch("150 imported, own estimates, 5 RPS", 150, 5.0, 16)
    };
    let slow_batch = batch("1,000 at once, 1 RPS", 1_000, 1.0, 4);
    let batch_of_1000 = batch("1,000 at once, 10 RPS", 1_000, 10.0, 4);
    let batch_of_10000 = batch("10,000 at once, 10 RPS", 10_000, 10.0, 1);
    let rush = Workload { arrivals: Arrivals::Rush { rate: rate / 2.0, warm_up: 3_600.0 }, ..steady };
    vec![
        steady,
        wrong("steady, wrong estimates", steady),
        Workload { name: "steady, two kinds on each route", durations: Durations::TwoKinds, ..steady },
        Workload { name: "steady, routes that halt", has_halts: true, ..steady },
        imported("a day with a rush, imported", rush),
        own_estimates,
        Workload {
            name: "150 imported, submission unknown, 5 RPS",
            beginning: StartState::SubmissionUnknown,
            ..own_estimates
        },
        Workload {
            name: "150 imported, submission unknown, the chain asked, 5 RPS",
            beginning: StartState::SubmissionFromChain(NODE_RATE),
            ..own_estimates
        },
        Workload {
            name: "1,000 imported, submission unknown, 10 RPS",
            beginning: StartState::SubmissionUnknown,
            ..batch_of_1000
        },
        Workload {
            name: "1,000 imported, submission unknown, the chain asked, 10 RPS",
            beginning: StartState::SubmissionFromChain(NODE_RATE),
            ..batch_of_1000
        },
        slow_batch,
        wrong("1,000 at once, 1 RPS, wrong estimates", slow_batch),
        imported("1,000 imported, 1 RPS", slow_batch),
        batch_of_1000,
        imported("1,000 imported, 10 RPS", batch_of_1000),
        batch_of_10000,
        imported("10,000 imported, 10 RPS", batch_of_10000),
    ]
}

type MakeStrategy = Box<dyn Fn() -> Box<dyn Strategy>>;

fn strategies() -> [(&'static str, MakeStrategy); 10] {
    let by_rule = |rule| -> MakeStrategy { Box::new(move || Box::new(RuleStrategy::new(rule))) };
    let full = |rank| -> MakeStrategy { Box::new(move || Box::new(FullComparison::new(rank))) };
    [
        ("round robin", by_rule(PollingRule::RoundRobin)),
        ("every 5 s", by_rule(PollingRule::Every5Seconds)),
        ("exponential backoff", by_rule(PollingRule::Backoff)),
        ("wait for the estimate", by_rule(PollingRule::WaitForEstimate)),
        ("P(changed), true spread", full(RankFormula::Changed)),
        ("index, true spread", full(RankFormula::Index)),
        ("index, looking ahead", full(RankFormula::LookAhead)),
        ("hoptop, nothing learned", Box::new(|| Box::new(HoptopStrategy::without_learning()))),
        ("**hoptop**", Box::new(|| Box::new(HoptopStrategy::default()))),
        ("oracle", by_rule(PollingRule::Oracle)),
    ]
}

fn print(load: &Workload) {
    println!("\n{}\n", load.name);
    println!(
        "| strategy | mean | p95 | worst | mean | p95 | worst | polls |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    let mut base: Option<RunOutcome> = None;
    for (name, strategy) in strategies() {
        let outcome =
            RunOutcome::mean((0..load.seeds).map(|index| run(load, SEED + u64::from(index), strategy().as_mut())));
        let base = base.get_or_insert_with(|| outcome.clone());
        let RunOutcome { mean, p95, worst, polls } = outcome;
        let [mean_ratio, p95_ratio, worst_ratio] = [mean / base.mean, p95 / base.p95, worst / base.worst];
        println!(
            "| {name} | {mean:.1} s | {p95:.0} s | {worst:.0} s | {mean_ratio:.3} | {p95_ratio:.2} | {worst_ratio:.2} | {polls:.2} |"
        );
        if let ("**hoptop**", Some(slow_share)) = (name, slow_share_for_bound(load)) {
            // With every strategy the answer takes half a round trip to arrive.
            let least = bound::least_mean_delay(polls, slow_share) + MEAN_ROUND_TRIP / 2.0;
            println!("| Lagrangian lower bound | {least:.1} s | | | {:.3} | | | {polls:.2} |", least / base.mean);
            println!("| hoptop against the bound | | | | {:.3} | | | |", mean / least);
        }
    }
}

/// Returns the share of slow transfers, if the lower bound applies to the load: steady, and the law of every route is
/// the same at all times.
fn slow_share_for_bound(load: &Workload) -> Option<f64> {
    match (load.arrivals, load.durations) {
        (Arrivals::Steady { .. }, Durations::ByRoute) if !load.has_halts => Some(0.0),
        (Arrivals::Steady { .. }, Durations::WrongEstimates) => Some(SLOW_SHARE),
        _ => None,
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    println!("Delay from settling to knowing, and its ratio to round robin.");
    loads().iter().filter(|load| is_wanted(load.name)).for_each(print);
    if is_wanted("cost") {
        println!("\nThe cost of one decision (choose, send, answer).\n");
        cost::print(&Clock::system());
    }
}
