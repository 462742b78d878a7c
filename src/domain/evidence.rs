//! Evidence: what observed durations say about the next one, for forecasts (`DESIGN.md`, Schedule).
//!
//! It knows sums over logarithms of durations and of estimates. It must never know what a duration measures, nor trust
//! a few of them.
//!
//! # The model
//!
//! The logarithm of a duration is normal. Its mean and variance aren't known. A [`Belief`] holds a normal distribution
//! over the mean and a scaled inverse-χ² distribution over the variance. Durations update both (Gelman et al.,
//! "Bayesian Data Analysis", 3rd ed., 2.6 and 3.3). The two are independent: that a mean differs from the prior's says
//! nothing about the spread around it.
//!
//! For a transfer with an estimate, the learned quantity is y = ln(duration ÷ estimate). An estimate is made for one
//! transfer, and two kinds of transfer on one route may differ by a factor of ten. The belief has two levels. The prior
//! says that estimates are right, with the standard deviation [`PRIOR_SIGMA`]. The transfers of all routes update the
//! prior. The result, with a limited strength, is the prior of each route, which the route's own transfers update.
//!
//! Where estimates say nothing, y falls by one for each unit of x = ln(estimate), and where they are right, y doesn't
//! depend on x. So the slope of y over x is learned as well, within a route, by ridge regression towards zero (Hoerl
//! and Kennard, 1970). For a transfer without an estimate, the durations of the route themselves take the place of y.
//!
//! # What an answer says
//!
//! A transfer settled between two answers, and in a batch these are far apart. Its y is therefore the mean under the
//! present belief, given the interval. The remaining variance is added to the sum of squares (the expectation step of
//! Dempster, Laird and Rubin, 1977, once for each transfer). The middle of the interval would make the learned spread
//! too wide, which costs 2 to 7 % of the delay in the `schedule` benchmark. An interval that leaves
//! [`MAX_UNCERTAINTY`] of the variance is no evidence.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    forecast::{Lognormal, log_seconds},
    text,
};

/// From this number of durations on, they are shown as statistics.
pub(crate) const MIN_SHOWN: u64 = 20;
/// The standard deviation of the logarithm until it is learned.
const PRIOR_SIGMA: f64 = 0.8;
/// The largest number of durations that evidence counts for: older durations lose weight.
const MAX_COUNTED: u64 = 500;
/// The strengths of the prior, for the mean and the variance, as numbers of durations.
const PRIOR_STRENGTH: (f64, f64) = (10.0, 20.0);
/// The largest strengths of what all routes say, as the prior of one route.
const POOLED_STRENGTH: (f64, f64) = (10.0, 30.0);
/// The standard deviation, between routes, of the mean logarithm of duration ÷ estimate. So what one busy route says is
/// no certainty about another.
const BETWEEN_ROUTES_SIGMA: f64 = 0.4;
/// Like [`POOLED_STRENGTH`], for durations without an estimate: other routes say little about this one's durations.
const POOLED_DURATION_STRENGTH: (f64, f64) = (2.0, 5.0);
/// The strength of the prior slope, zero, as a sum of squared logarithms of estimates.
const SLOPE_STRENGTH: f64 = 10.0;
/// An interval that leaves more than this share of the variance says nearly nothing.
const MAX_UNCERTAINTY: f64 = 0.95;

/// A shorter estimate counts as none.
const MIN_ESTIMATE: Duration = Duration::from_secs(1);
/// The median for a transfer without an estimate and without evidence.
const UNKNOWN_MEDIAN: Duration = Duration::from_secs(5 * 60);
/// Indexing commonly takes 5 to 10 seconds (`service.md` 3, `not_found`).
const INDEXING_MEDIAN: Duration = Duration::from_secs(7);
const INDEXING_SIGMA: f64 = 0.5;
/// The strengths of the prior that is common to all chains.
const INDEXING_STRENGTH: (f64, f64) = (5.0, 5.0);

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
    pub fn add(&mut self, duration: Duration) {
        if self.count >= MAX_COUNTED {
            self.squares *= KEPT_SHARE;
        }
        self.count = self.count.saturating_add(1);
        let distance = log_seconds(duration) - self.mean;
        self.mean += distance / self.effective_count();
        self.squares += distance * (log_seconds(duration) - self.mean);
    }

    /// Whether there are enough durations to show them as statistics.
    pub fn is_enough(&self) -> bool {
        self.count >= MIN_SHOWN
    }

    fn effective_count(&self) -> f64 {
        self.count.min(MAX_COUNTED) as f64
    }
}

/// The share of older evidence that is kept when a duration is added to full evidence.
const KEPT_SHARE: f64 = (MAX_COUNTED - 1) as f64 / MAX_COUNTED as f64;

/// The transfers that had an estimate: sums of x, the logarithm of the estimate in seconds, and of y, the logarithm of
/// duration ÷ estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct RatioEvidence {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl RatioEvidence {
    /// Adds a transfer whose y has this mean and variance.
    fn add(&mut self, x: f64, y: f64, variance: f64) {
        let Self { count, x: sum_x, y: sum_y, xx, xy, yy } = self;
        let kept = if *count >= MAX_COUNTED as f64 { KEPT_SHARE } else { 1.0 };
        for (sum, added) in [(count, 1.0), (sum_x, x), (sum_y, y), (xx, x * x), (xy, x * y), (yy, y * y + variance)] {
            *sum = kept * *sum + added;
        }
    }

    /// Returns a sum of products less the product of the sums: the sum of products of distances from the means.
    fn centred(&self, products: f64, left: f64, right: f64) -> f64 {
        if self.count > 0.0 { products - left * right / self.count } else { 0.0 }
    }

    fn mean(&self, sum: f64) -> f64 {
        if self.count > 0.0 { sum / self.count } else { 0.0 }
    }

    /// Returns the slope of y over x within the evidence, and the squared distances of y that the slope leaves.
    fn slope(&self) -> (f64, f64) {
        let [xx, xy, yy] = [(self.xx, self.x, self.x), (self.xy, self.x, self.y), (self.yy, self.y, self.y)]
            .map(|(sum, left, right)| self.centred(sum, left, right));
        // From "estimates are right" to "estimates say nothing": outside of that, a forecast would leave all that was
        // seen.
        let slope = (xy / (xx.max(0.0) + SLOPE_STRENGTH)).clamp(-1.0, 0.0);
        (slope, yy - 2.0 * slope * xy + slope * slope * xx)
    }
}

/// The observed durations of transfers on one route, or on all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteEvidence {
    /// The durations that are known well, whether there was an estimate or not.
    #[serde(flatten)]
    pub durations: Evidence,
    /// The durations against the estimates.
    #[serde(default)]
    ratio: RatioEvidence,
}

impl RouteEvidence {
    /// Returns the number of transfers that were compared with their estimates; the newest 500 have weight.
    pub fn ratio_count(&self) -> u64 {
        self.ratio.count.round() as u64
    }
}

/// When a transfer settled, as time since its submission: after `after`, and not later than `by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledWithin {
    /// The age of the transfer at the last answer before it settled; zero without one.
    pub after: Duration,
    /// The age of the transfer at the first answer after it settled.
    pub by: Duration,
}

impl SettledWithin {
    /// Returns the duration, the middle of the interval, if the interval is short against it.
    pub fn duration(&self) -> Option<Duration> {
        self.duration_or_within(Duration::ZERO)
    }

    /// Returns the middle of the interval, if the interval is short against it or ends by the age `short`.
    pub(crate) fn duration_or_within(&self, short: Duration) -> Option<Duration> {
        let length = self.by.saturating_sub(self.after);
        (length * 2 <= self.by || self.by <= short).then(|| self.by.saturating_sub(length / 2))
    }
}

/// The evidence for a transfer's forecast: of its route, and of all routes of the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SettlingEvidence {
    /// The transfers of the same route.
    pub route: RouteEvidence,
    /// The transfers of all routes, this one included.
    pub pooled: RouteEvidence,
}

impl SettlingEvidence {
    /// Adds a settled transfer of this route.
    pub fn add(&mut self, settled: SettledWithin, estimate: Option<Duration>) {
        if let Some(estimate) = valid_estimate(estimate) {
            let moments = self.forecast(Some(estimate)).logarithm_between(settled.after, settled.by);
            if moments.uncertainty <= MAX_UNCERTAINTY {
                let x = log_seconds(estimate);
                for evidence in [&mut self.route, &mut self.pooled] {
                    evidence.ratio.add(x, moments.mean - x, moments.variance);
                }
            }
        }
        if let Some(duration) = settled.duration() {
            self.route.durations.add(duration);
            self.pooled.durations.add(duration);
        }
    }

    /// Returns the forecast from submission to settling, for a transfer with this estimated duration.
    pub fn forecast(&self, estimate: Option<Duration>) -> Lognormal {
        let Some(estimate) = valid_estimate(estimate) else {
            let prior = Belief::new(UNKNOWN_MEDIAN, PRIOR_SIGMA, PRIOR_STRENGTH);
            return prior
                .after(&self.pooled.durations)
                .limited(POOLED_DURATION_STRENGTH)
                .after(&self.route.durations)
                .forecast();
        };
        let (route, pooled) = (&self.route.ratio, &self.pooled.ratio);
        let prior = Belief::new(Duration::from_secs(1), PRIOR_SIGMA, PRIOR_STRENGTH);
        let all = prior.updated(pooled.count, pooled.mean(pooled.y), pooled.centred(pooled.yy, pooled.y, pooled.y));
        let (slope, squares) = route.slope();
        let prior = all.limited(POOLED_STRENGTH);
        let (prior_strength, _) = prior.strength;
        let mut belief = prior.updated(route.count, route.mean(route.y), squares);
        // The part of the mean that comes from other routes is as uncertain as routes differ. The prior of no route is
        // wide enough by itself.
        let (own_prior, _) = PRIOR_STRENGTH;
        let borrowed = prior_strength / (prior_strength + route.count) * pooled.count / (own_prior + pooled.count);
        belief.variance += (BETWEEN_ROUTES_SIGMA * borrowed).powi(2);
        let x = log_seconds(estimate);
        // Without evidence the slope is zero.
        let y = belief.mean + slope * (x - route.mean(route.x));
        Belief { mean: x + y, ..belief }.forecast()
    }

    /// Returns the basis of the forecast of a transfer with this estimate, in words.
    pub fn basis(&self, estimate: Option<Duration>) -> String {
        let transfers = |count: u64, scope| format!("{} {scope}", text::counted(count, "transfer"));
        let of = |evidence: &RouteEvidence| {
            if estimate.is_some() { evidence.ratio_count() } else { evidence.durations.count }
        };
        let observed = match (of(&self.route), of(&self.pooled)) {
            (0, 0) => None,
            (0, pooled) => Some(transfers(pooled, "on other routes")),
            (route, _) => Some(transfers(route, "on this route")),
        };
        match (estimate, observed) {
            (Some(_), Some(observed)) => format!("from the estimate and {observed}"),
            (Some(_), None) => "from the estimate".to_owned(),
            (None, Some(observed)) => format!("from {observed}; there is no estimate"),
            (None, None) => "a guess: there is no estimate".to_owned(),
        }
    }
}

/// Returns the estimate, unless it is so short that it can't be meant.
fn valid_estimate(estimate: Option<Duration>) -> Option<Duration> {
    estimate.filter(|estimate| *estimate >= MIN_ESTIMATE)
}

/// Returns the forecast from submission to indexing, by the evidence of the source chain.
pub fn indexing_forecast(observed: &Evidence) -> Lognormal {
    Belief::new(INDEXING_MEDIAN, INDEXING_SIGMA, INDEXING_STRENGTH).after(observed).forecast()
}

/// The probable mean and variance of a logarithm.
#[derive(Clone, Copy, Debug)]
struct Belief {
    mean: f64,
    variance: f64,
    /// The strengths of the mean and of the variance, as numbers of durations.
    strength: (f64, f64),
}

impl Belief {
    fn new(median: Duration, sigma: f64, strength: (f64, f64)) -> Self {
        Self { mean: log_seconds(median), variance: sigma * sigma, strength }
    }

    /// Returns the belief after these durations.
    fn after(self, evidence: &Evidence) -> Self {
        self.updated(evidence.effective_count(), evidence.mean, evidence.squares)
    }

    /// Returns the belief after `count` values with this mean and this sum of squared distances from it.
    fn updated(self, count: f64, mean: f64, squares: f64) -> Self {
        if !(count > 0.0 && mean.is_finite() && squares.is_finite()) {
            return self;
        }
        let (mean_strength, variance_strength) = self.strength;
        let strength = (mean_strength + count, variance_strength + count);
        let distance = mean - self.mean;
        Self {
            mean: self.mean + distance * count / strength.0,
            variance: (variance_strength * self.variance + squares.max(0.0)) / strength.1,
            strength,
        }
    }

    /// Returns the same belief, held with no more than these strengths.
    fn limited(self, (mean, variance): (f64, f64)) -> Self {
        Self { strength: (self.strength.0.min(mean), self.strength.1.min(variance)), ..self }
    }

    /// Returns the distribution of the next duration, as if the mean and the variance were known.
    fn forecast(self) -> Lognormal {
        Lognormal::from_logarithm(self.mean, self.variance)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::forecast::Quantile, *};

    fn seconds(number: f64) -> Duration {
        Duration::from_secs_f64(number)
    }

    /// Returns the interval of a transfer that was seen settle within a second of this duration.
    fn about(duration: f64) -> SettledWithin {
        SettledWithin { after: seconds((duration - 0.5).max(0.0)), by: seconds(duration + 0.5) }
    }

    fn median(evidence: &SettlingEvidence, estimate: Option<f64>) -> f64 {
        evidence.forecast(estimate.map(seconds)).quantile(Quantile::P50).as_secs_f64()
    }

    #[test]
    fn without_evidence_the_forecast_is_the_estimate_or_a_guess() {
        let none = SettlingEvidence::default();
        assert!((median(&none, Some(60.0)) - 60.0).abs() < 1e-6);
        assert!((median(&none, None) - UNKNOWN_MEDIAN.as_secs_f64()).abs() < 1e-6);
        assert_eq!(none.basis(Some(seconds(60.0))), "from the estimate");
        assert_eq!(none.basis(None), "a guess: there is no estimate");
    }

    #[test]
    fn a_few_transfers_change_little_and_many_outweigh_a_wrong_estimate() {
        let mut evidence = SettlingEvidence::default();
        let mut medians = Vec::new();
        for _ in 0..500 {
            medians.push(median(&evidence, Some(60.0)));
            evidence.add(about(600.0), Some(seconds(60.0)));
        }
        assert!(medians.is_sorted(), "each transfer moves the forecast a little");
        assert!(medians[1] < 90.0 && medians[20] > 200.0, "{} {}", medians[1], medians[20]);
        assert!(medians[499] > 550.0, "{}", medians[499]);
        assert_eq!(evidence.basis(Some(seconds(60.0))), "from the estimate and 500 transfers on this route");
    }

    #[test]
    fn two_kinds_of_transfer_on_one_route_keep_their_estimates() {
        let mut evidence = SettlingEvidence::default();
        for _ in 0..200 {
            evidence.add(about(20.0), Some(seconds(10.0)));
            evidence.add(about(2_000.0), Some(seconds(1_000.0)));
        }
        let [short, long] = [10.0, 1_000.0].map(|estimate| median(&evidence, Some(estimate)));
        assert!((17.0..21.0).contains(&short) && (1_800.0..2_100.0).contains(&long), "{short} {long}");
        let sigma = evidence.forecast(Some(seconds(10.0))).sigma();
        assert!(sigma < 0.4, "the two kinds don't widen the forecast of either: {sigma}");
    }

    #[test]
    fn estimates_that_say_nothing_lose_their_influence() {
        let mut evidence = SettlingEvidence::default();
        for index in 0..400 {
            // The estimates differ by a factor of four; the durations don't.
            evidence.add(about(300.0), Some(seconds(if index % 2 == 0 { 150.0 } else { 600.0 })));
        }
        let [low, high] = [150.0, 600.0].map(|estimate| median(&evidence, Some(estimate)));
        assert!(high / low < 1.1 && (270.0..330.0).contains(&low), "{low} {high}");
    }

    #[test]
    fn a_route_without_transfers_learns_from_the_others() {
        let mut others = SettlingEvidence::default();
        for _ in 0..100 {
            others.add(about(150.0), Some(seconds(300.0)));
        }
        let new = SettlingEvidence { route: RouteEvidence::default(), pooled: others.pooled };
        let learned = median(&new, Some(1_000.0));
        assert!((500.0..600.0).contains(&learned), "{learned}");
        assert_eq!(new.basis(Some(seconds(1.0))), "from the estimate and 100 transfers on other routes");
        assert_eq!(new.basis(None), "from 100 transfers on other routes; there is no estimate");
    }

    #[test]
    fn one_busy_route_is_no_certainty_about_another() {
        let mut busy = SettlingEvidence::default();
        for _ in 0..500 {
            busy.add(about(180.0), Some(seconds(60.0)));
        }
        let mut other = SettlingEvidence { route: RouteEvidence::default(), pooled: busy.pooled };
        let forecast = other.forecast(Some(seconds(60.0)));
        assert!(forecast.sigma() > 0.4, "{forecast:?}");
        for _ in 0..20 {
            other.add(about(60.0), Some(seconds(60.0)));
        }
        assert!((60.0..90.0).contains(&median(&other, Some(60.0))), "{}", median(&other, Some(60.0)));
    }

    #[test]
    fn absurd_estimates_change_no_other_forecast() {
        let mut evidence = SettlingEvidence::default();
        for _ in 0..200 {
            evidence.add(about(600.0), Some(seconds(600.0)));
        }
        let before = median(&evidence, Some(60.0));
        (0..3).for_each(|_| evidence.add(about(600.0), Some(Duration::ZERO)));
        assert!((median(&evidence, Some(60.0)) / before - 1.0).abs() < 0.01);
        for _ in 0..100 {
            evidence.add(about(30.0), Some(seconds(60.0)));
            evidence.add(about(6_000.0), Some(seconds(600.0)));
        }
        assert!(median(&evidence, Some(86_400.0)) < 200_000.0, "{}", median(&evidence, Some(86_400.0)));
    }

    #[test]
    fn interval_that_says_nothing_is_no_evidence() {
        let mut evidence = SettlingEvidence::default();
        evidence.add(SettledWithin { after: Duration::ZERO, by: seconds(100_000.0) }, Some(seconds(60.0)));
        assert_eq!(evidence, SettlingEvidence::default());
    }

    #[test]
    fn wide_intervals_teach_the_spread_without_widening_it() {
        let quantiles = [-1.5_f64, -1.0, -0.6, -0.3, 0.0, 0.3, 0.6, 1.0, 1.5];
        let mut evidence = SettlingEvidence::default();
        for index in 0..450 {
            // Durations with a spread of 0.63, seen by answers every 100 s.
            let duration = 300.0 * (0.7 * quantiles[index % 9]).exp();
            let after = (duration / 100.0).floor() * 100.0;
            evidence.add(SettledWithin { after: seconds(after), by: seconds(after + 100.0) }, Some(seconds(300.0)));
        }
        let forecast = evidence.forecast(Some(seconds(300.0)));
        assert!((0.6..0.68).contains(&forecast.sigma()), "{}", forecast.sigma());
        assert!((270.0..330.0).contains(&forecast.quantile(Quantile::P50).as_secs_f64()), "{forecast:?}");
    }

    #[test]
    fn old_durations_lose_weight() {
        let mut evidence = SettlingEvidence::default();
        for duration in [600.0; 5_000].into_iter().chain([60.0; 2_000]) {
            evidence.add(about(duration), Some(seconds(60.0)));
        }
        let [estimated, plain] = [Some(60.0), None].map(|estimate| median(&evidence, estimate));
        assert!((58.0..75.0).contains(&estimated) && (58.0..75.0).contains(&plain), "{estimated} {plain}");
    }

    #[test]
    fn evidence_of_an_earlier_version_is_read() {
        let old = r#"{"count":30,"mean":5.0,"squares":2.5}"#;
        let read: RouteEvidence = serde_json::from_str(old).unwrap();
        assert_eq!((read.durations, read.ratio_count()), (Evidence { count: 30, mean: 5.0, squares: 2.5 }, 0));
        let again: RouteEvidence = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
    }

    proptest! {
        #[test]
        fn evidence_is_the_mean_and_spread_of_its_durations(durations in prop::collection::vec(1.0_f64..1e5, 2..400)) {
            let mut observed = Evidence::default();
            durations.iter().for_each(|duration| observed.add(seconds(*duration)));
            let logarithms: Vec<f64> = durations.iter().map(|duration| duration.ln()).collect();
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            let squares = logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            prop_assert!((observed.mean - mean).abs() < 1e-6, "{} {mean}", observed.mean);
            prop_assert!((observed.squares - squares).abs() < 1e-6 * squares.max(1.0), "{} {squares}", observed.squares);
        }

        #[test]
        fn forecasts_stay_finite_whatever_was_observed(
            transfers in prop::collection::vec((0.0_f64..1e7, 0.0_f64..1e7, 0.0_f64..1e6), 0..60), estimate in 0.0_f64..1e7,
        ) {
            let mut evidence = SettlingEvidence::default();
            for (after, length, estimate) in transfers {
                evidence.add(SettledWithin { after: seconds(after), by: seconds(after + length) }, Some(seconds(estimate)));
            }
            for estimate in [None, Some(seconds(estimate))] {
                let forecast = evidence.forecast(estimate);
                prop_assert!(forecast.sigma().is_finite() && forecast.sigma() > 0.0, "{forecast:?}");
                // No more than a hundred times what was seen or estimated.
                let median = forecast.quantile(Quantile::P50).as_secs_f64();
                prop_assert!((0.001..1e9).contains(&median), "{median}");
            }
        }
    }
}
