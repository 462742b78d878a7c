//! Computes the least mean detection delay that any strategy reaches with a number of polls per transfer.
//!
//! The bound is Lagrangian: it uses the best inspection times of each route alone. The price per poll is chosen to give
//! the average number of polls. No strategy that shares one budget among all transfers can have a lower delay.

use crate::world::{MEDIANS, SIGMA, SLOW_FACTOR};

/// The number of ages at which a route may be inspected. More ages change the bound by less than one in a thousand.
const AGE_COUNT: usize = 1_500;
/// The range of ages in standard deviations around the median; slow transfers extend it. One in 10⁹ durations is outside.
const DEVIATION_RANGE: (f64, f64) = (-4.0, 6.0);

struct RouteSurvival {
    ages: Vec<f64>,
    /// The share of transfers that settle after each age.
    survival: Vec<f64>,
    /// The mean duration of the transfers that settle by each age, times their share.
    mean_until: Vec<f64>,
}

impl RouteSurvival {
    /// `slow_share` of the transfers take [`SLOW_FACTOR`] times as long as the others.
    fn new(median: f64, slow_share: f64) -> Self {
        let slow_deviations = SLOW_FACTOR.ln() / SIGMA;
        let most = if slow_share > 0.0 { DEVIATION_RANGE.1 + slow_deviations } else { DEVIATION_RANGE.1 };
        let step = (most - DEVIATION_RANGE.0) / (AGE_COUNT - 1) as f64;
        let deviations: Vec<f64> = (0..AGE_COUNT).map(|index| DEVIATION_RANGE.0 + step * index as f64).collect();
        let mean = median * (0.5 * SIGMA * SIGMA).exp();
        let survival = |z: f64| (1.0 - slow_share) * upper_tail(z) + slow_share * upper_tail(z - slow_deviations);
        let until = |z: f64| mean * (1.0 - upper_tail(z - SIGMA));
        let mean_until = |z: f64| (1.0 - slow_share) * until(z) + slow_share * SLOW_FACTOR * until(z - slow_deviations);
        let from_start = |rest: Vec<f64>, first: f64| std::iter::once(first).chain(rest).collect::<Vec<_>>();
        Self {
            ages: from_start(deviations.iter().map(|z| median * (SIGMA * z).exp()).collect(), 0.0),
            survival: from_start(deviations.iter().copied().map(survival).collect(), 1.0),
            mean_until: from_start(deviations.iter().copied().map(mean_until).collect(), 0.0),
        }
    }

    /// Returns the least mean delay plus `price` for each poll.
    fn cost(&self, price: f64) -> f64 {
        let last = self.ages.len() - 1;
        // The cost from each age on, weighted by the share still in progress. At the last age all transfers have
        // settled.
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

/// Returns the least mean delay in seconds for an average of `polls` requests per transfer, if every duration's law is
/// known. `slow_share` of the transfers are slow.
pub(crate) fn least_mean_delay(polls: f64, slow_share: f64) -> f64 {
    let routes: Vec<RouteSurvival> = MEDIANS.iter().map(|median| RouteSurvival::new(*median, slow_share)).collect();
    let mean = |price: f64| routes.iter().map(|route| route.cost(price)).sum::<f64>() / routes.len() as f64;
    // Every price gives a valid lower bound. The highest is returned; it changes slowly with the price.
    let prices = (0..60).map(|step| 1.15_f64.powi(step));
    prices.map(|price| mean(price) - price * polls).fold(0.0, f64::max)
}

/// Returns the probability that a standard normal variable exceeds this value.
fn upper_tail(deviations: f64) -> f64 {
    0.5 * libm::erfc(deviations * std::f64::consts::FRAC_1_SQRT_2)
}
