//! How soon anybody could learn of it: the least mean delay for so many polls a transfer, whatever the strategy.
//!
//! Lagrangian: the best inspection times of each route by themselves, at a price for a poll that makes the average poll
//! count come out. Whoever shares one budget among all of them can't do better.

use crate::world::{MEDIANS, SIGMA};

/// Ages at which a route may be inspected; finer changes the bound by less than one in a thousand.
const AGES: usize = 1_500;
/// From where to where, in standard deviations around the median; beyond lies one in 10⁹.
const SPAN: (f64, f64) = (-4.0, 6.0);

struct Route {
    ages: Vec<f64>,
    /// How many settle later than each age.
    survival: Vec<f64>,
    /// The mean duration of those that settle by each age, times their share.
    mean_until: Vec<f64>,
}

impl Route {
    fn new(median: f64) -> Self {
        let step = (SPAN.1 - SPAN.0) / (AGES - 1) as f64;
        let deviations: Vec<f64> = (0..AGES).map(|index| SPAN.0 + step * index as f64).collect();
        let mean = median * (0.5 * SIGMA * SIGMA).exp();
        let from_start = |rest: Vec<f64>, first: f64| std::iter::once(first).chain(rest).collect::<Vec<_>>();
        Self {
            ages: from_start(deviations.iter().map(|z| median * (SIGMA * z).exp()).collect(), 0.0),
            survival: from_start(deviations.iter().map(|z| upper(*z)).collect(), 1.0),
            mean_until: from_start(deviations.iter().map(|z| mean * (1.0 - upper(z - SIGMA))).collect(), 0.0),
        }
    }

    /// The least mean delay plus `price` for each poll.
    fn cost(&self, price: f64) -> f64 {
        let last = self.ages.len() - 1;
        // From each age on, weighed by the share that is still under way; the very last inspection finds all settled.
        let mut cost = vec![0.0; self.ages.len()];
        for from in (0..last).rev() {
            let until = |to: usize| {
                let share = self.survival[from] - self.survival[to];
                let delay = self.ages[to] * share - (self.mean_until[to] - self.mean_until[from]);
                price * self.survival[from] + delay + cost[to]
            };
            cost[from] = (from + 1..=last).map(until).fold(f64::INFINITY, f64::min);
        }
        cost[0]
    }
}

/// The least mean delay in seconds that `polls` requests a transfer allow on average.
pub fn least_mean_delay(polls: f64) -> f64 {
    let routes: Vec<Route> = MEDIANS.iter().map(|median| Route::new(*median)).collect();
    let mean = |price: f64| routes.iter().map(|route| route.cost(price)).sum::<f64>() / routes.len() as f64;
    // Every price gives a bound; the best one is wanted, and it changes slowly with the price.
    let prices = (0..60).map(|step| 1.15_f64.powi(step));
    prices.map(|price| mean(price) - price * polls).fold(0.0, f64::max)
}

/// How many lie above so many standard deviations.
fn upper(deviations: f64) -> f64 {
    0.5 * libm::erfc(deviations * std::f64::consts::FRAC_1_SQRT_2)
}
