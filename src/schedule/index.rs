//! The urgency index of a poll: the cost of waiting longer against the chance that a request finds a change.
//!
//! The index follows the optimality condition of inspection theory (Barlow, Hunter, Proschan, "Optimum Checking
//! Procedures", 1963), with the budget's price as the common level. The module is pure, and must never see a status.

use crate::domain::forecast::Forecast;

/// The upper bound of ΔH. More expected events since the last answer mean a wrong forecast, not a more urgent poll.
const MOST_EVENTS: f64 = 5.0;
/// The longest time ahead, in seconds, for which a crossing is computed.
const HORIZON: f64 = 24.0 * 60.0 * 60.0;
/// The search for a crossing takes steps that double from this one on, in seconds. The last step is then halved
/// [`HALVINGS`] times.
const FIRST_STEP: f64 = 4.0;
const HALVINGS: u32 = 6;

/// The urgency of a transaction's next poll. Moments are seconds of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PollIndex {
    /// The distribution of the time from `origin` to the awaited event.
    pub(super) forecast: Forecast,
    /// The cost of a second of delay; 1 for most transactions.
    pub(super) weight: f64,
    /// The moment from which the forecast counts; negative if it lies before the clock's beginning.
    pub(super) origin: f64,
    /// The moment of the last answer, or `origin` if there was none.
    pub(super) last_answer: f64,
}

impl PollIndex {
    /// Returns `weight · (e^ΔH − 1 − ΔH) / h`, in seconds squared; about ½ · weight · h · Δt² soon after an answer.
    pub(super) fn index(&self, at: f64) -> f64 {
        self.index_from(self.forecast.hazard(self.last_answer - self.origin).cumulative, at)
    }

    fn index_from(&self, before: f64, at: f64) -> f64 {
        let hazard = self.forecast.hazard(at - self.origin);
        let events = (hazard.cumulative - before).clamp(0.0, MOST_EVENTS);
        // For fewer events, the difference of nearly equal numbers would be noise.
        let cost = if events < 1e-4 { 0.5 * events * events } else { events.exp_m1() - events };
        if hazard.rate > 1e-12 { self.weight * cost / hazard.rate } else { 0.0 }
    }

    /// Returns the first moment, from `after` on, at which the index is at least `price`. Evaluates the index about a
    /// dozen times.
    pub(super) fn crossing(&self, price: f64, after: f64) -> f64 {
        let before = self.forecast.hazard(self.last_answer - self.origin).cumulative;
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

    fn urgency(median: u64, last_answer: f64) -> PollIndex {
        let forecast = Forecast::Lognormal(Lognormal::new(Duration::from_secs(median), 0.6));
        PollIndex { forecast, weight: 1.0, origin: 0.0, last_answer }
    }

    #[test]
    fn soon_after_an_answer_the_index_grows_with_the_square_of_the_time() {
        let urgency = urgency(300, 300.0);
        let hazard = urgency.forecast.hazard(310.0).rate;
        assert!((urgency.index(310.0) / (0.5 * hazard * 100.0) - 1.0).abs() < 0.05);
    }

    #[test]
    fn likely_event_has_a_higher_index_than_an_unlikely_one() {
        // Half of the transactions with the short median are done after a minute, and none of the others.
        assert!(urgency(60, 0.0).index(60.0) > 100.0 * urgency(1_200, 0.0).index(60.0));
    }

    #[test]
    fn index_is_proportional_to_the_weight() {
        let heavy = PollIndex { weight: 4.0, ..urgency(300, 100.0) };
        assert!((heavy.index(200.0) / urgency(300, 100.0).index(200.0) - 4.0).abs() < 1e-9);
        assert!(heavy.crossing(500.0, 100.0) < urgency(300, 100.0).crossing(500.0, 100.0));
    }

    proptest! {
        #[test]
        fn index_reaches_the_price_at_the_crossing(
            median in 30_u64..3_000, last_answer in 0.0_f64..5_000.0, price in 0.1_f64..1e5, rest in 0.0_f64..60.0,
        ) {
            let urgency = urgency(median, last_answer);
            let after = last_answer + rest;
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
