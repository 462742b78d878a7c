//! The urgency index of a poll: the cost of waiting longer against the chance that a request finds a change.
//!
//! The index follows the optimality condition of inspection theory (Barlow, Hunter, Proschan, "Optimum Checking
//! Procedures", 1963), with the budget's price as the common level. The module is pure, and must never see a status.
//!
//! A transaction that the service doesn't know yet waits for its first answer as well. The index of that event would be
//! useless. After a minute the event has almost surely happened and e^ΔH is huge. A batch would begin with a sweep over
//! all its transactions, whatever their estimates say. Therefore the accrued delay counts, E\[(t − X)⁺\] for a first
//! answer possible from X on. Its weight is small: a person learns more from "it arrived" than from "it was seen". By
//! the `schedule` benchmark a weight of 0.02 instead of 0.005 brings the first answers of a batch up to 5 % sooner, and
//! costs up to 5 % of the delay of settlements.

use super::Expectation;
use crate::domain::forecast::{Forecast, Lognormal};

/// The upper bound of ΔH. More expected events since the last answer mean a wrong forecast, not a more urgent poll.
const MAX_EVENTS: f64 = 5.0;
/// The cost of a second for which the first answer is late, against a second for which a settlement is.
const FIRST_ANSWER_WEIGHT: f64 = 0.005;
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
    forecast: Forecast,
    /// The distribution of the time from `origin` until the service knows the transaction, while it doesn't.
    first_answer: Option<Lognormal>,
    /// The cost of a second of delay; 1 for most transactions.
    weight: f64,
    /// The moment from which the forecasts count; negative if it lies before the clock's beginning.
    pub(super) origin: f64,
    /// The moment of the last answer, or `origin` if there was none.
    pub(super) last_answer: f64,
    /// The cumulative hazard at the last answer.
    before: f64,
}

impl PollIndex {
    /// Creates the urgency of a transaction that was last answered at `last_answer`.
    pub(super) fn new(expectation: &Expectation, origin: f64, last_answer: f64) -> Self {
        let Expectation { forecast, first_answer, weight, since: _ } = *expectation;
        let before = forecast.hazard(last_answer - origin).cumulative;
        Self { forecast, first_answer, weight, origin, last_answer, before }
    }

    /// Sets the moment of the last answer.
    pub(super) fn set_last_answer(&mut self, at: f64) {
        self.last_answer = at;
        self.before = self.forecast.hazard(at - self.origin).cumulative;
    }

    /// Returns `weight · (e^ΔH − 1 − ΔH) / h`, in seconds; about ½ · weight · h · Δt² soon after an answer. For a
    /// transaction that the service doesn't know yet, the accrued delay of the first answer is added.
    pub(super) fn index(&self, at: f64) -> f64 {
        let hazard = self.forecast.hazard(at - self.origin);
        let events = (hazard.cumulative - self.before).clamp(0.0, MAX_EVENTS);
        // For fewer events, the difference of nearly equal numbers would be noise.
        let cost = if events < 1e-4 { 0.5 * events * events } else { events.exp_m1() - events };
        let settling = if hazard.rate > 1e-12 { cost / hazard.rate } else { 0.0 };
        let accrued = self
            .first_answer
            .map_or(0.0, |forecast| forecast.expected_delay(self.last_answer - self.origin, at - self.origin));
        self.weight * (settling + FIRST_ANSWER_WEIGHT * accrued)
    }

    /// Returns the first moment, from `after` on, at which the index is at least `price`. Evaluates the index about a
    /// dozen times.
    pub(super) fn crossing(&self, price: f64, after: f64) -> f64 {
        let is_worth = |at| self.index(at) >= price;
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

    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::forecast::Lognormal;

    fn urgency(median: u64, last_answer: f64) -> PollIndex {
        let forecast = Forecast::Lognormal(Lognormal::new(Duration::from_secs(median), 0.6));
        let expectation = Expectation { since: DateTime::UNIX_EPOCH, forecast, first_answer: None, weight: 1.0 };
        PollIndex::new(&expectation, 0.0, last_answer)
    }

    fn unseen(median: u64) -> PollIndex {
        PollIndex { first_answer: Some(Lognormal::new(Duration::from_secs(7), 0.5)), ..urgency(median, 0.0) }
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

    #[test]
    fn a_transaction_that_may_have_settled_comes_before_one_that_only_wasnt_seen() {
        assert!(unseen(3_600).index(60.0) > urgency(3_600, 0.0).index(60.0));
        assert!(unseen(3_600).index(60.0) < unseen(60).index(60.0) / 10.0);
        let late = unseen(3_600).index(600.0) - urgency(3_600, 0.0).index(600.0);
        assert!((late - 0.005 * 592.0).abs() < 0.025, "a first answer that is ten minutes late counts 3 s: {late}");
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
