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

use run::{Outcome, run};
use strategy::{HoptopStrategy, MostLikelyChanged, Rule, RuleStrategy, Strategy};
use world::{Arrivals, Load, MEAN_ROUND_TRIP};

const SEED: u64 = 7;
/// The polls per transfer under the steady load.
const POLLS_PER_TRANSFER: f64 = 3.6;

fn loads() -> [Load; 6] {
    let (rps, count) = (10.0, 40_000);
    let arrivals = Arrivals::Steady { rate: rps / (1.0 + MEAN_ROUND_TRIP) / POLLS_PER_TRANSFER, warm_up: 3_600.0 };
    let steady = Load { name: "steady, 10 RPS", rps, count, arrivals, has_wrong_estimates: false };
    let batch = |name, count, rps| Load { name, rps, count, arrivals: Arrivals::AtOnce, has_wrong_estimates: false };
    let batch_at_one_rps = batch("1,000 at once, 1 RPS", 1_000, 1.0);
    [
        steady,
        batch_at_one_rps,
        batch("1,000 at once, 10 RPS", 1_000, 10.0),
        batch("10,000 at once, 10 RPS", 10_000, 10.0),
        Load { name: "steady, wrong estimates", has_wrong_estimates: true, ..steady },
        Load { name: "1,000 at once, 1 RPS, wrong estimates", has_wrong_estimates: true, ..batch_at_one_rps },
    ]
}

fn strategies(load: &Load) -> [(&'static str, Box<dyn Strategy>); 7] {
    let by_rule = |rule| -> Box<dyn Strategy> { Box::new(RuleStrategy::new(rule)) };
    [
        ("round robin", by_rule(Rule::RoundRobin)),
        ("every 5 s", by_rule(Rule::Every5Seconds)),
        ("exponential backoff", by_rule(Rule::Backoff)),
        ("wait for the estimate", by_rule(Rule::WaitForEstimate)),
        ("P(changed)", Box::new(MostLikelyChanged::default())),
        ("**hoptop**", Box::new(HoptopStrategy::with_rate(load.rps / (1.0 + MEAN_ROUND_TRIP)))),
        ("oracle", by_rule(Rule::Oracle)),
    ]
}

fn print(load: &Load) {
    println!("\n{}\n", load.name);
    println!(
        "| strategy | mean | p95 | worst | mean | p95 | worst | polls |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    let mut base: Option<Outcome> = None;
    for (name, mut strategy) in strategies(load) {
        let outcome = run(load, SEED, strategy.as_mut());
        let base = base.get_or_insert_with(|| outcome.clone());
        let Outcome { mean, p95, worst, polls } = outcome;
        let ratios = [mean / base.mean, p95 / base.p95, worst / base.worst].map(|ratio| format!("{ratio:.2}"));
        println!("| {name} | {mean:.1} s | {p95:.0} s | {worst:.0} s | {} | {polls:.2} |", ratios.join(" | "));
        if name == "**hoptop**" && matches!(load.arrivals, Arrivals::Steady { .. }) && !load.has_wrong_estimates {
            // With every strategy the answer takes half a round trip to arrive.
            let least = bound::least_mean_delay(polls) + MEAN_ROUND_TRIP / 2.0;
            println!("| Lagrangian lower bound | {least:.1} s | | | {:.2} | | | {polls:.2} |", least / base.mean);
            println!("| hoptop against the bound | | | | {:.3} | | | |", mean / least);
        }
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
