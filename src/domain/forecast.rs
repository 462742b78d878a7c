//! Forecasts: how long an event that hasn't happened yet will take, as a distribution (`DESIGN.md`, Schedule).
//!
//! The distribution is lognormal, with the estimate as the prior and observed durations as evidence. It must never know
//! what the durations measure, and never trust a few observations.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The number of durations that are needed before they count against the estimate.
pub(crate) const LEAST_EVIDENCE: u64 = 20;
/// The standard deviation of the logarithm until enough durations are observed.
pub(crate) const PRIOR_SIGMA: f64 = 0.8;
/// The weight of an estimate, as a number of durations, once there are enough: it is made for this very transfer.
const ESTIMATE_STRENGTH: f64 = 20.0;
/// The weight of a prior that is common to all chains, as a number of durations.
const COMMON_STRENGTH: f64 = 5.0;
/// The largest number of durations that evidence counts for: older durations lose weight.
const MAX_COUNTED: u64 = 500;
/// The smallest standard deviation: a smaller value is an accident of few durations.
const LEAST_SIGMA: f64 = 0.15;
/// The shortest duration, in seconds: shorter durations count as this long.
const LEAST_SECONDS: f64 = 0.5;

/// The forecast of an event that hasn't happened yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forecast {
    /// The logarithm of the duration is normal: some durations are a multiple of the median, few are much shorter.
    Lognormal(Lognormal),
    /// The event is equally likely at any moment, and comes after this time on average.
    AnyTime(Duration),
}

/// A lognormal distribution of seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lognormal {
    /// The logarithm of the median, in seconds.
    log_median: f64,
    /// The standard deviation of the logarithm, above 0.
    sigma: f64,
}

/// Quantiles for [`Lognormal::quantile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// Half of all take less.
    P50,
    /// Nine in ten take less.
    P90,
    /// 95 in 100 take less.
    P95,
    /// 99 in 100 take less.
    P99,
}

impl Quantile {
    /// Returns the number of standard deviations above the median.
    fn deviations(self) -> f64 {
        match self {
            Self::P50 => 0.0,
            Self::P90 => 1.281_552,
            Self::P95 => 1.644_854,
            Self::P99 => 2.326_348,
        }
    }
}

/// The probability at some age that an event has happened, and that it happens now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hazard {
    /// −ln of the share of events that take longer than the age.
    pub cumulative: f64,
    /// The rate of the event per second, if it hasn't happened before the age.
    pub rate: f64,
}

impl Forecast {
    /// Returns the hazard at this age in seconds.
    pub fn hazard(&self, age: f64) -> Hazard {
        match self {
            _ if age <= 0.0 => Hazard::default(),
            Self::Lognormal(lognormal) => lognormal.hazard(age),
            Self::AnyTime(mean) => {
                let rate = 1.0 / mean.as_secs_f64().max(LEAST_SECONDS);
                Hazard { cumulative: age * rate, rate }
            }
        }
    }
}

impl Lognormal {
    /// Returns the distribution with this median and this standard deviation of the logarithm.
    pub fn new(median: Duration, sigma: f64) -> Self {
        Self { log_median: median.as_secs_f64().max(LEAST_SECONDS).ln(), sigma: sigma.max(LEAST_SIGMA) }
    }

    /// Returns the duration that this share of all events doesn't exceed.
    pub fn quantile(&self, quantile: Quantile) -> Duration {
        let seconds = (self.log_median + self.sigma * quantile.deviations()).exp();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Returns the standard deviation of the logarithm.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    fn hazard(&self, age: f64) -> Hazard {
        let deviations = self.deviations(age);
        let log_survival = log_survival(deviations);
        let log_density = -0.5 * deviations * deviations - HALF_LOG_TAU;
        Hazard { cumulative: -log_survival, rate: (log_density - log_survival).exp() / (self.sigma * age) }
    }

    fn deviations(&self, age: f64) -> f64 {
        (age.ln() - self.log_median) / self.sigma
    }
}

/// ½ ln 2π.
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

/// Returns the logarithm of the share of a normal distribution that lies more than `deviations` above its mean.
fn log_survival(deviations: f64) -> f64 {
    /// From here on the series below is exact to six digits, and further out `erfc` would be zero.
    const SERIES_START: f64 = 8.0;
    if deviations < SERIES_START {
        return (0.5 * libm::erfc(deviations * std::f64::consts::FRAC_1_SQRT_2)).ln();
    }
    // Abramowitz and Stegun, 26.2.12.
    let square = deviations * deviations;
    let series = 1.0 - 1.0 / square + 3.0 / (square * square) - 15.0 / (square * square * square);
    -0.5 * square - HALF_LOG_TAU - deviations.ln() + series.ln()
}

/// Observed durations: count, mean and sum of squares of their logarithms (Welford).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The number of durations; the newest 500 have weight.
    pub count: u64,
    /// The mean of the logarithms of the seconds.
    pub mean: f64,
    /// The sum of the squared distances from the mean.
    pub squares: f64,
}

impl Evidence {
    /// Adds a duration.
    pub fn add(&mut self, took: Duration) {
        let logarithm = took.as_secs_f64().max(LEAST_SECONDS).ln();
        if self.count >= MAX_COUNTED {
            self.squares *= (MAX_COUNTED - 1) as f64 / MAX_COUNTED as f64;
        }
        self.count = self.count.saturating_add(1);
        let counted = self.count.min(MAX_COUNTED) as f64;
        let distance = logarithm - self.mean;
        self.mean += distance / counted;
        self.squares += distance * (logarithm - self.mean);
    }

    /// Whether there are enough durations to count.
    pub fn is_enough(&self) -> bool {
        self.count >= LEAST_EVIDENCE
    }

    /// Returns `prior` until there is enough evidence, then both blended; `prior` weighs as much as `strength`
    /// durations.
    fn forecast(&self, prior: Lognormal, strength: f64) -> Lognormal {
        if !self.is_enough() || !self.mean.is_finite() || !self.squares.is_finite() {
            return prior;
        }
        let counted = self.count.min(MAX_COUNTED) as f64;
        let blend = |prior: f64, observed: f64| (strength * prior + counted * observed) / (strength + counted);
        let variance = self.squares.max(0.0) / (counted - 1.0);
        let sigma = blend(prior.sigma * prior.sigma, variance).sqrt().max(LEAST_SIGMA);
        Lognormal { log_median: blend(prior.log_median, self.mean), sigma }
    }
}

/// The median for a transfer without an estimate and without evidence.
const UNKNOWN_MEDIAN: Duration = Duration::from_secs(5 * 60);
/// Indexing commonly takes 5 to 10 seconds (`service.md` 3, `not_found`).
const INDEXING_MEDIAN: Duration = Duration::from_secs(7);
const INDEXING_SIGMA: f64 = 0.5;

/// Returns the forecast from submission to settling, by the estimated route duration and the evidence of the route.
pub fn settling(estimate: Option<Duration>, observed: &Evidence) -> Lognormal {
    let strength = if estimate.is_some() { ESTIMATE_STRENGTH } else { COMMON_STRENGTH };
    observed.forecast(Lognormal::new(estimate.unwrap_or(UNKNOWN_MEDIAN), PRIOR_SIGMA), strength)
}

/// Returns the forecast from submission to indexing, by the evidence of the source chain.
pub(crate) fn indexing(observed: &Evidence) -> Lognormal {
    observed.forecast(Lognormal::new(INDEXING_MEDIAN, INDEXING_SIGMA), COMMON_STRENGTH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(number: f64) -> Duration {
        Duration::from_secs_f64(number)
    }

    #[test]
    fn quantiles_match_the_cumulative_hazard() {
        let forecast = Lognormal::new(seconds(300.0), 0.6);
        let happened = |quantile| {
            let age = forecast.quantile(quantile).as_secs_f64();
            1.0 - (-Forecast::Lognormal(forecast).hazard(age).cumulative).exp()
        };
        let shares = [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99].map(happened);
        for (share, expected) in shares.into_iter().zip([0.5, 0.9, 0.95, 0.99]) {
            assert!((share - expected).abs() < 1e-5, "{share} {expected}");
        }
    }

    #[test]
    fn the_series_agrees_with_erfc_where_it_starts() {
        let (before, behind) = (log_survival(7.999_999), log_survival(8.000_001));
        assert!((before - behind).abs() < 1e-4 && behind < before, "{before} {behind}");
        assert!(log_survival(60.0).is_finite());
    }

    #[test]
    fn few_durations_change_nothing_and_many_outweigh_a_wrong_estimate() {
        let mut observed = Evidence::default();
        for _ in 0..LEAST_EVIDENCE - 1 {
            observed.add(seconds(600.0));
        }
        let median = |observed: &Evidence| settling(Some(seconds(60.0)), observed).quantile(Quantile::P50).as_secs();
        assert_eq!(median(&observed), 60);
        observed.add(seconds(600.0));
        assert_eq!(median(&observed), 189);
        for _ in 0..480 {
            observed.add(seconds(600.0));
        }
        assert!((500..600).contains(&median(&observed)), "{}", median(&observed));
        assert_eq!(settling(None, &Evidence::default()).quantile(Quantile::P50), UNKNOWN_MEDIAN);
    }

    #[test]
    fn old_durations_lose_weight() {
        let mut observed = Evidence::default();
        for _ in 0..5_000 {
            observed.add(seconds(600.0));
        }
        for _ in 0..2_000 {
            observed.add(seconds(60.0));
        }
        let median = observed.mean.exp();
        assert!((60.0..65.0).contains(&median), "{median}");
    }

    proptest! {
        #[test]
        fn cumulative_hazards_are_finite_and_never_decrease(
            median in 0.0_f64..1e6, sigma in 0.0_f64..3.0, ages in prop::collection::vec(0.0_f64..1e9, 2..20),
        ) {
            let forecast = Forecast::Lognormal(Lognormal::new(seconds(median), sigma));
            let mut ages = ages;
            ages.sort_by(f64::total_cmp);
            let mut last = 0.0_f64;
            for age in ages {
                let Hazard { cumulative, rate } = forecast.hazard(age);
                prop_assert!(rate.is_finite() && rate >= 0.0, "{rate} at {age}");
                prop_assert!(cumulative.is_finite() && cumulative >= last - 1e-4 * last.abs(), "{cumulative} at {age}");
                last = cumulative;
            }
        }

        #[test]
        fn evidence_is_the_mean_and_spread_of_its_durations(took in prop::collection::vec(1.0_f64..1e5, 2..400)) {
            let mut observed = Evidence::default();
            took.iter().for_each(|took| observed.add(seconds(*took)));
            let logarithms: Vec<f64> = took.iter().map(|took| took.ln()).collect();
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            let squares = logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            prop_assert!((observed.mean - mean).abs() < 1e-6, "{} {mean}", observed.mean);
            prop_assert!((observed.squares - squares).abs() < 1e-6 * squares.max(1.0), "{} {squares}", observed.squares);
        }
    }
}
