//! Forecasts: how long an event that hasn't happened yet will take, as a distribution (`DESIGN.md`, Schedule).
//!
//! Most distributions are lognormal. Their parameters are learned elsewhere (`evidence`). This file must never know
//! what the durations measure.

use std::{f64::consts::FRAC_1_SQRT_2, time::Duration};

use super::span;

/// The smallest standard deviation: a smaller value is an accident of few durations.
const MIN_SIGMA: f64 = 0.15;
/// The shortest duration, in seconds: shorter durations count as this long.
const MIN_SECONDS: f64 = 0.5;
/// A part of a distribution with a smaller probability than this isn't integrated: rounding would decide.
const MIN_MASS: f64 = 1e-9;

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
                let rate = 1.0 / mean.as_secs_f64().max(MIN_SECONDS);
                Hazard { cumulative: age * rate, rate }
            }
        }
    }
}

impl Lognormal {
    /// Returns the distribution of a duration whose logarithm has this mean and this variance.
    pub(super) fn from_logarithm(mean: f64, variance: f64) -> Self {
        Self { log_median: mean, sigma: variance.sqrt().max(MIN_SIGMA) }
    }

    /// Returns the distribution with this median and this standard deviation of the logarithm.
    pub fn new(median: Duration, sigma: f64) -> Self {
        Self { log_median: log_seconds(median), sigma: sigma.max(MIN_SIGMA) }
    }

    /// Returns the duration that this share of all events doesn't exceed.
    pub fn quantile(&self, quantile: Quantile) -> Duration {
        let seconds = (self.log_median + self.sigma * quantile.deviations()).exp();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Returns a quantile for a person, rounded to one unit: a forecast is no more exact than that.
    pub fn in_words(&self, quantile: Quantile) -> String {
        span::nearest(self.quantile(quantile))
    }

    /// Returns the standard deviation of the logarithm.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Returns the expected time in seconds from the event to the age `to`, given that the event hasn't happened by the
    /// age `from`. An event after `to` counts as zero.
    pub(crate) fn expected_delay(&self, from: f64, to: f64) -> f64 {
        if to <= from.max(0.0) {
            return 0.0;
        }
        if from <= 0.0 {
            // The expected value of (to − X)⁺ in closed form.
            let mean = (self.log_median + 0.5 * self.sigma * self.sigma).exp();
            let deviations = self.deviations(to);
            return to * below(deviations) - mean * below(deviations - self.sigma);
        }
        // Far out, the closed form would be a difference of nearly equal numbers. The rate changes slowly there.
        let (rate, elapsed) = (self.hazard(from).rate.max(1e-9), to - from);
        elapsed + (-rate * elapsed).exp_m1() / rate
    }

    /// Returns the mean and the variance of the logarithm of a duration that is longer than `from` and at most `to`.
    pub(super) fn logarithm_between(&self, from: Duration, to: Duration) -> LogMoments {
        let [lower, upper] = [from, to].map(log_seconds);
        let [from_deviations, to_deviations] = [lower, upper].map(|bound| (bound - self.log_median) / self.sigma);
        let from_deviations = if from.is_zero() { f64::NEG_INFINITY } else { from_deviations };
        match truncated_normal(from_deviations, to_deviations) {
            Some((mean, variance)) => LogMoments {
                mean: self.log_median + self.sigma * mean,
                variance: self.sigma * self.sigma * variance,
                uncertainty: variance,
            },
            // The duration is far from the expected one: the nearest value in the interval.
            None => {
                LogMoments { mean: self.log_median.clamp(lower.min(upper), upper), variance: 0.0, uncertainty: 0.0 }
            }
        }
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

/// The mean and variance of the logarithm of a duration that lies in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogMoments {
    pub(super) mean: f64,
    pub(super) variance: f64,
    /// The variance as a share of the variance without the interval, from 0 (known exactly) to 1 (nothing is known).
    pub(super) uncertainty: f64,
}

/// Returns the logarithm of the seconds. Very short durations count as [`MIN_SECONDS`].
pub(super) fn log_seconds(duration: Duration) -> f64 {
    // Of `libm`, so that every machine of a team derives the same evidence.
    libm::log(duration.as_secs_f64().max(MIN_SECONDS))
}

/// Returns the probability that a standard normal variable is at most this value.
fn below(deviations: f64) -> f64 {
    0.5 * libm::erfc(-deviations * FRAC_1_SQRT_2)
}

/// Returns the mean and variance of a standard normal variable between two bounds; `None` if nearly nothing lies
/// between them. See Johnson, Kotz, Balakrishnan, "Continuous Univariate Distributions 1", 1994, 10.1. The lower bound
/// may be −∞.
fn truncated_normal(lower: f64, upper: f64) -> Option<(f64, f64)> {
    let mass = if lower > 0.0 { below(-lower) - below(-upper) } else { below(upper) - below(lower) };
    if mass < MIN_MASS {
        return None;
    }
    let density = |z: f64| libm::exp(-0.5 * z * z - HALF_LOG_TAU);
    let moment = |z: f64| if z.is_finite() { z * density(z) } else { 0.0 };
    let mean = (density(lower) - density(upper)) / mass;
    let variance = 1.0 + (moment(lower) - moment(upper)) / mass - mean * mean;
    Some((mean, variance.clamp(0.0, 1.0)))
}

/// ½ ln 2π.
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

/// Returns the logarithm of the share of a normal distribution that lies more than `deviations` above its mean.
fn log_survival(deviations: f64) -> f64 {
    /// From here on the series below is exact to six digits, and further out `erfc` would be zero.
    const SERIES_START: f64 = 8.0;
    if deviations < SERIES_START {
        return below(-deviations).ln();
    }
    // Abramowitz and Stegun, 26.2.12.
    let square = deviations * deviations;
    let series = 1.0 - 1.0 / square + 3.0 / (square * square) - 15.0 / (square * square * square);
    -0.5 * square - HALF_LOG_TAU - deviations.ln() + series.ln()
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
    fn expected_delay_is_the_integral_of_the_probability_so_far() {
        let forecast = Lognormal::new(seconds(7.0), 0.5);
        let sum = |from: f64, to: f64, step: f64| {
            let before = Forecast::Lognormal(forecast).hazard(from).cumulative;
            let count = ((to - from) / step) as usize;
            let happened = |index| {
                let age = from + (index as f64 + 0.5) * step;
                1.0 - (before - Forecast::Lognormal(forecast).hazard(age).cumulative).exp()
            };
            (0..count).map(happened).sum::<f64>() * step
        };
        for to in [1.0, 5.0, 7.0, 30.0, 600.0] {
            let (exact, numeric) = (forecast.expected_delay(0.0, to), sum(0.0, to, 0.01));
            assert!((exact - numeric).abs() < 0.01 * numeric + 1e-3, "{exact} {numeric} at {to}");
        }
        // After an answer the rate counts as constant, which is right within a third.
        let (rough, numeric) = (forecast.expected_delay(60.0, 90.0), sum(60.0, 90.0, 0.01));
        assert!((rough / numeric - 1.0).abs() < 0.34, "{rough} {numeric}");
        assert_eq!(forecast.expected_delay(9.0, 9.0), 0.0);
    }

    #[test]
    fn logarithm_between_bounds_lies_between_them() {
        let forecast = Lognormal::new(seconds(300.0), 0.6);
        let between = |from: f64, to: f64| forecast.logarithm_between(seconds(from), seconds(to));
        let near = between(290.0, 310.0);
        assert!((near.mean.exp() - 300.0).abs() < 1.0 && near.uncertainty < 0.01, "{near:?}");
        let open = between(0.0, 1e9);
        assert!((open.mean.exp() - 300.0).abs() < 0.1 && open.uncertainty > 0.99, "{open:?}");
        let far = between(90_000.0, 100_000.0);
        assert_eq!((far.mean.exp().round(), far.variance), (90_000.0, 0.0));
        // Half of a normal distribution has the mean √(2/π) and the variance 1 − 2/π.
        let half = between(0.0, 300.0);
        assert!((half.mean - (300.0_f64.ln() - 0.6 * 0.797_885)).abs() < 1e-4, "{half:?}");
        assert!((half.uncertainty - 0.363_380).abs() < 1e-4, "{half:?}");
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
        fn moments_between_bounds_are_in_range(
            median in 1.0_f64..1e5, sigma in 0.15_f64..3.0, from in 0.0_f64..1e6, length in 0.0_f64..1e6,
        ) {
            let (from, to) = (seconds(from), seconds(from + length));
            let LogMoments { mean, variance, uncertainty } =
                Lognormal::new(seconds(median), sigma).logarithm_between(from, to);
            let lower = if from.is_zero() { f64::NEG_INFINITY } else { log_seconds(from) };
            prop_assert!((lower - 1e-6..=log_seconds(to) + 1e-6).contains(&mean), "{mean}");
            prop_assert!(variance >= 0.0 && (0.0..=1.0).contains(&uncertainty), "{variance} {uncertainty}");
        }
    }
}
