//! How urgent a poll is: what waiting longer costs, against what a request finds out.
//!
//! The optimality condition of inspection theory (Barlow, Hunter, Proschan, "Optimum Checking Procedures", 1963), with the
//! budget's price as the common level. Pure; it must never see a status.

use crate::domain::forecast::Forecast;

/// More expected events since the last answer than that say nothing more: the forecast is wrong, not the transfer late.
const MOST_EVENTS: f64 = 5.0;
/// A crossing that lies further ahead isn't looked for.
const HORIZON: f64 = 24.0 * 60.0 * 60.0;
/// It is looked for in steps that double from this one on, in seconds; the last step is then halved so many times.
const FIRST_STEP: f64 = 4.0;
const HALVINGS: u32 = 6;

/// What makes a transaction's next poll urgent. Moments are seconds of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Urgency {
    /// When what it waits for may happen.
    pub(super) forecast: Forecast,
    /// How much a second of delay costs; 1 for most.
    pub(super) weight: f64,
    /// When its age was 0; it may lie before the clock's beginning.
    pub(super) origin: f64,
    /// The last answer, or its origin if there was none.
    pub(super) last: f64,
}

impl Urgency {
    /// `weight · (e^ΔH − 1 − ΔH) / h`, in seconds squared; about ½ · weight · h · Δt² soon after an answer.
    pub(super) fn index(&self, at: f64) -> f64 {
        self.index_from(self.forecast.hazard(self.last - self.origin).cumulative, at)
    }

    fn index_from(&self, before: f64, at: f64) -> f64 {
        let hazard = self.forecast.hazard(at - self.origin);
        let events = (hazard.cumulative - before).clamp(0.0, MOST_EVENTS);
        // Below that the difference of nearly equal numbers would be noise.
        let cost = if events < 1e-4 { 0.5 * events * events } else { events.exp_m1() - events };
        if hazard.rate > 1e-12 { self.weight * cost / hazard.rate } else { 0.0 }
    }

    /// From when on its index is at least `price`; `after` if it is by then. About a dozen evaluations of the index.
    pub(super) fn crossing(&self, price: f64, after: f64) -> f64 {
        let before = self.forecast.hazard(self.last - self.origin).cumulative;
        let is_worth = |at| self.index_from(before, at) >= price;
        if is_worth(after) {
            return after;
        }
        let (mut low, mut step) = (after, FIRST_STEP);
        while !is_worth(low + step) {
            low += step;
            step *= 2.0;
            if low - after > HORIZON {
                return after + HORIZON;
            }
        }
        for _ in 0..HALVINGS {
            step /= 2.0;
            if !is_worth(low + step) {
                low += step;
            }
        }
        low + step
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::forecast::Lognormal;

    fn urgency(median: u64, last: f64) -> Urgency {
        let forecast = Forecast::Lognormal(Lognormal::new(Duration::from_secs(median), 0.6));
        Urgency { forecast, weight: 1.0, origin: 0.0, last }
    }

    #[test]
    fn soon_after_an_answer_it_grows_with_the_square_of_the_time() {
        let urgency = urgency(300, 300.0);
        let hazard = urgency.forecast.hazard(310.0).rate;
        assert!((urgency.index(310.0) / (0.5 * hazard * 100.0) - 1.0).abs() < 0.05);
    }

    #[test]
    fn what_is_likely_by_now_comes_before_what_is_not() {
        // Half of the quick ones are done after a minute, none of the slow ones.
        assert!(urgency(60, 0.0).index(60.0) > 100.0 * urgency(1_200, 0.0).index(60.0));
    }

    #[test]
    fn weight_counts() {
        let heavy = Urgency { weight: 4.0, ..urgency(300, 100.0) };
        assert!((heavy.index(200.0) / urgency(300, 100.0).index(200.0) - 4.0).abs() < 1e-9);
        assert!(heavy.crossing(500.0, 100.0) < urgency(300, 100.0).crossing(500.0, 100.0));
    }

    proptest! {
        #[test]
        fn a_crossing_is_where_the_index_reaches_the_price(
            median in 30_u64..3_000, last in 0.0_f64..5_000.0, price in 0.1_f64..1e5, rest in 0.0_f64..60.0,
        ) {
            let urgency = urgency(median, last);
            let after = last + rest;
            let crossing = urgency.crossing(price, after);
            prop_assert!(crossing >= after);
            if crossing > after && crossing < after + HORIZON {
                prop_assert!(urgency.index(crossing) >= price * 0.999);
                let earlier = after + 0.95 * (crossing - after);
                prop_assert!(urgency.index(earlier) < price * 1.001, "{} {price}", urgency.index(earlier));
            }
        }
    }
}
