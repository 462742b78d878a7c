//! The transfers that a strategy has to follow, out of a seed, and what it costs to learn late that one has settled.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Median durations of the eight routes, in seconds.
pub const MEDIANS: [f64; 8] = [60.0, 120.0, 180.0, 300.0, 420.0, 600.0, 900.0, 1_200.0];
/// The spread of the logarithm of a route's durations.
pub const SIGMA: f64 = 0.6;

/// A transfer. Moments are seconds.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub route: usize,
    pub submitted: f64,
    pub settles: f64,
    /// What the strategies are told that it takes.
    pub estimate: f64,
}

/// A load: how many transfers come when, and under which limit.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub name: &'static str,
    /// The limit of the ID, in requests a second.
    pub rps: f64,
    pub count: usize,
    pub arrivals: Arrivals,
    pub wrong_estimates: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// All at the start.
    AtOnce,
    /// So many a second, at random; what settles before `warm_up` seconds isn't counted.
    Steady { rate: f64, warm_up: f64 },
}

/// A request's way, in seconds: until the service sees it, and until its answer is here.
pub struct Network(Pcg64Mcg);

impl Network {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// 100 to 200 ms there and back; two in a hundred take ten times that.
    pub fn trip(&mut self) -> (f64, f64) {
        let tail = if self.0.random::<f64>() < 0.02 { 10.0 } else { 1.0 };
        let mut way = || tail * (0.05 + 0.05 * self.0.random::<f64>());
        (way(), way())
    }
}

/// The mean of a trip there and back, in seconds.
pub const MEAN_TRIP: f64 = 0.15 * (0.98 + 0.02 * 10.0);

impl Load {
    pub fn transfers(&self, seed: u64) -> Vec<Transfer> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut clock = 0.0;
        let transfer = |_| {
            if let Arrivals::Steady { rate, .. } = self.arrivals {
                clock -= (1.0 - random.random::<f64>()).ln() / rate;
            }
            let route = random.random_range(0..MEDIANS.len());
            let median = MEDIANS[route];
            let mut takes = median * (SIGMA * normal(&mut random)).exp();
            let mut estimate = median;
            if self.wrong_estimates {
                // 40 % off, to either side.
                estimate *= if random.random::<bool>() { 1.4 } else { 0.6 };
                if random.random::<f64>() < 0.03 {
                    takes *= 10.0;
                }
            }
            Transfer { route, submitted: clock, settles: clock + takes, estimate }
        };
        (0..self.count).map(transfer).collect()
    }
}

/// Box and Muller.
fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}
