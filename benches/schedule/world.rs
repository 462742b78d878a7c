//! The simulated transfers, generated from a seed, and the delays of the simulated network.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The median durations of the eight routes, in seconds.
pub(crate) const MEDIANS: [f64; 8] = [60.0, 120.0, 180.0, 300.0, 420.0, 600.0, 900.0, 1_200.0];
/// The standard deviation of the logarithm of a route's durations.
pub(crate) const SIGMA: f64 = 0.6;

/// A transfer. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub route: usize,
    pub submitted: f64,
    pub settles: f64,
    /// The estimated duration in seconds that the strategies receive.
    pub estimate: f64,
}

/// A load: the number of transfers, their arrivals and the rate limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub name: &'static str,
    /// The limit of the integrator ID, in requests per second.
    pub rps: f64,
    pub count: usize,
    pub arrivals: Arrivals,
    pub has_wrong_estimates: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// All transfers arrive at the start.
    AtOnce,
    /// `rate` transfers per second arrive at random. Transfers that settle before `warm_up` seconds aren't counted.
    Steady { rate: f64, warm_up: f64 },
}

/// A source of random network delays.
pub(crate) struct Network(Pcg64Mcg);

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Returns the seconds to the service and the seconds back: 100 to 200 ms together; 2 % take ten times as long.
    pub(crate) fn round_trip(&mut self) -> (f64, f64) {
        let tail = if self.0.random::<f64>() < 0.02 { 10.0 } else { 1.0 };
        let mut way = || tail * (0.05 + 0.05 * self.0.random::<f64>());
        (way(), way())
    }
}

/// The mean round trip, in seconds.
pub(crate) const MEAN_ROUND_TRIP: f64 = 0.15 * (0.98 + 0.02 * 10.0);

impl Load {
    pub(crate) fn transfers(&self, seed: u64) -> Vec<Transfer> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut now = 0.0;
        let transfer = |_| {
            if let Arrivals::Steady { rate, .. } = self.arrivals {
                now -= (1.0 - random.random::<f64>()).ln() / rate;
            }
            let route = random.random_range(0..MEDIANS.len());
            let median = MEDIANS[route];
            let mut duration = median * (SIGMA * standard_normal(&mut random)).exp();
            let mut estimate = median;
            if self.has_wrong_estimates {
                // Estimates are 40 % too high or too low.
                estimate *= if random.random::<bool>() { 1.4 } else { 0.6 };
                if random.random::<f64>() < 0.03 {
                    duration *= 10.0;
                }
            }
            Transfer { route, submitted: now, settles: now + duration, estimate }
        };
        (0..self.count).map(transfer).collect()
    }
}

/// Returns a standard normal random number (Box-Muller transform).
fn standard_normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}
