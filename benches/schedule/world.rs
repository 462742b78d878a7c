//! The simulated transfers, generated from a seed, and the delays of the simulated network.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The median durations of the eight routes, in seconds.
pub(crate) const MEDIANS: [f64; 8] = [60.0, 120.0, 180.0, 300.0, 420.0, 600.0, 900.0, 1_200.0];
/// The standard deviation of the logarithm of durations, around their median.
pub(crate) const SIGMA: f64 = 0.6;
/// The median, in seconds, of the time until the service knows a new transfer, and the standard deviation of its
/// logarithm.
const INDEXING: (f64, f64) = (7.0, 0.5);
/// A rush begins after this many seconds, lasts this long, and multiplies the arrival rate by this factor.
const RUSH: (f64, f64, f64) = (7_200.0, 1_200.0, 10.0);
/// On every second route nothing settles for this long, from each of these moments on. Then what is under way goes on.
const HALT_SECONDS: f64 = 600.0;
const HALT_INTERVAL: f64 = 3_600.0;

/// Where estimates are wrong, this share of the transfers takes this many times as long.
pub(crate) const SLOW_SHARE: f64 = 0.03;
pub(crate) const SLOW_FACTOR: f64 = 10.0;

/// The shortest time between two polls of a transfer, in seconds, for every strategy.
pub(crate) const MIN_INTERVAL: f64 = 5.0;

/// A transfer. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BenchTransfer {
    pub route: usize,
    pub submitted: f64,
    /// When the strategies receive the transfer.
    pub arrives: f64,
    /// Whether the strategies know when the transfer was submitted.
    pub is_submission_known: bool,
    /// When the source chain says when the transfer was submitted, if it is asked.
    pub chain_says_at: Option<f64>,
    /// When the service begins to know the transfer, if the transfer begins unknown.
    pub indexed: Option<f64>,
    /// When an answer first says that the transfer is settled.
    pub settles: f64,
    /// The estimated duration in seconds that the strategies receive.
    pub estimate: f64,
}

impl BenchTransfer {
    /// Returns the submission time, or the arrival if the submission time is unknown.
    pub(crate) fn since(&self) -> f64 {
        if self.is_submission_known { self.submitted } else { self.arrives }
    }

    /// Returns the moment that counts as the end of the last request. A transfer that was never answered may be polled
    /// at once.
    pub(crate) fn last_rest(&self) -> f64 {
        if self.indexed.is_some() { self.arrives - MIN_INTERVAL } else { self.arrives }
    }

    /// Returns the answer of a request that the service sees at `at`.
    pub(crate) fn answer_at(&self, at: f64) -> StatusResult {
        match self.indexed {
            _ if at >= self.settles => StatusResult::Settled,
            Some(indexed) if at < indexed => StatusResult::NotFound,
            _ => StatusResult::UnderWay,
        }
    }
}

/// The answer of the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StatusResult {
    NotFound,
    UnderWay,
    Settled,
}

/// A load: the number of transfers, their arrivals and the rate limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub name: &'static str,
    /// The limit of the integrator ID, in requests per second.
    pub rps: f64,
    pub count: usize,
    /// The number of seeds of which the means are taken.
    pub seeds: u32,
    pub arrivals: Arrivals,
    pub beginning: StartState,
    pub durations: Durations,
    /// Whether every second route stands still for ten minutes of each hour.
    pub has_halts: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// All transfers arrive at the start.
    AtOnce,
    /// `rate` transfers per second arrive at random. Transfers that settle before `warm_up` seconds aren't counted.
    Steady { rate: f64, warm_up: f64 },
    /// As under a steady load, with a rush in the middle.
    Rush { rate: f64, warm_up: f64 },
}

/// What is known of a transfer when it arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StartState {
    /// The transfer was just submitted, and seen under way.
    UnderWay,
    /// The transfer was just submitted, and no answer is known yet.
    NeverAnswered,
    /// The transfer was submitted at an unknown moment of the last minute, and no answer is known yet.
    SubmissionUnknown,
    /// The same, but the source chains are asked: the node answers so many questions per second, one after another.
    SubmissionFromChain(f64),
}

/// The durations of transfers, and the estimates that the strategies receive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Durations {
    /// Every route has a median of its own, which is the estimate.
    ByRoute,
    /// As `ByRoute`, but estimates are 40 % too high or too low, and 3 in 100 transfers take ten times as long.
    WrongEstimates,
    /// Every transfer has a median of its own, between these seconds, which is the estimate. There is one route.
    ByTransfer(f64, f64),
    /// Half of each route's transfers have the route's median, the others a tenth of it. The estimate is the median.
    TwoKinds,
}

/// A source of random network delays.
pub(crate) struct NetworkLatency(Pcg64Mcg);

impl NetworkLatency {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Returns the seconds to the service and the seconds back: 100 to 200 ms together; 2 % take ten times as long.
    pub(crate) fn round_trip(&mut self) -> (f64, f64) {
        let tail = if self.0.random::<f64>() < 0.02 { 10.0 } else { 1.0 };
        let mut draw = || tail * (0.05 + 0.05 * self.0.random::<f64>());
        (draw(), draw())
    }
}

/// The mean round trip, in seconds.
pub(crate) const MEAN_ROUND_TRIP: f64 = 0.15 * (0.98 + 0.02 * 10.0);

impl Workload {
    pub(crate) fn transfers(&self, seed: u64) -> Vec<BenchTransfer> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut now = 0.0;
        let mut node_free_at = 0.0_f64;
        (0..self.count)
            .map(|_| {
                now += self.interval(now, &mut random);
                let mut transfer = self.transfer(now, &mut random);
                if let StartState::SubmissionFromChain(per_second) = self.beginning {
                    node_free_at = node_free_at.max(now) + 1.0 / per_second;
                    transfer.chain_says_at = Some(node_free_at);
                }
                transfer
            })
            .collect()
    }

    /// Returns the seconds from `now` to the next arrival.
    fn interval(&self, now: f64, random: &mut Pcg64Mcg) -> f64 {
        let rate = match self.arrivals {
            Arrivals::AtOnce => return 0.0,
            Arrivals::Rush { rate, .. } if (RUSH.0..RUSH.0 + RUSH.1).contains(&now) => rate * RUSH.2,
            Arrivals::Steady { rate, .. } | Arrivals::Rush { rate, .. } => rate,
        };
        -(1.0 - random.random::<f64>()).ln() / rate
    }

    fn transfer(&self, arrives: f64, random: &mut Pcg64Mcg) -> BenchTransfer {
        let mut route = random.random_range(0..MEDIANS.len());
        let median = match self.durations {
            Durations::ByRoute | Durations::WrongEstimates => MEDIANS[route],
            Durations::ByTransfer(least, most) => {
                route = 0;
                least + (most - least) * random.random::<f64>()
            }
            Durations::TwoKinds if random.random::<bool>() => MEDIANS[route],
            Durations::TwoKinds => MEDIANS[route] / 10.0,
        };
        let mut duration = median * (SIGMA * standard_normal(random)).exp();
        let mut estimate = median;
        if self.durations == Durations::WrongEstimates {
            estimate *= if random.random::<bool>() { 1.4 } else { 0.6 };
            if random.random::<f64>() < SLOW_SHARE {
                duration *= SLOW_FACTOR;
            }
        }
        let (submitted, indexed) = match self.beginning {
            StartState::UnderWay => (arrives, None),
            StartState::NeverAnswered => (arrives, Some(INDEXING)),
            StartState::SubmissionUnknown | StartState::SubmissionFromChain(_) => {
                (arrives - 60.0 * random.random::<f64>(), Some(INDEXING))
            }
        };
        let indexed = indexed.map(|(median, sigma)| submitted + median * (sigma * standard_normal(random)).exp());
        let mut settles = submitted + duration;
        if self.has_halts && route % 2 == 0 {
            // The transfer stands still from the halt's beginning on, if it is under way then.
            let halt = (submitted / HALT_INTERVAL).ceil() * HALT_INTERVAL;
            settles += if settles > halt { HALT_SECONDS } else { 0.0 };
        }
        let is_submission_known = matches!(self.beginning, StartState::UnderWay | StartState::NeverAnswered);
        let settles = settles.max(indexed.unwrap_or(settles));
        BenchTransfer {
            route,
            submitted,
            arrives,
            is_submission_known,
            chain_says_at: None,
            indexed,
            settles,
            estimate,
        }
    }
}

/// Returns a standard normal random number (Box-Muller transform).
fn standard_normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}
