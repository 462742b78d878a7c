//! Whether the budget has been short for long enough to raise an alert.
//!
//! The module is pure: needs and moments go in, changes come out. A single busy minute must not raise the alert, and a
//! single quiet moment must not clear it.

use std::time::Duration;

use crate::{
    clock::MonotonicTime,
    domain::need::{Need, SHORT},
};

/// How long the need must stay above nine tenths of the budget before the budget counts as short.
const SHORT_AFTER: Duration = Duration::from_secs(2 * 60);
/// How long the need must stay at or below nine tenths before the budget counts as sufficient again.
const SUFFICIENT_AFTER: Duration = Duration::from_secs(30);

/// The state of one profile's budget: short or sufficient.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    is_short: bool,
    /// Since when the need contradicts `is_short`.
    differs_since: Option<MonotonicTime>,
}

impl Shortage {
    /// Creates the state that an earlier run left.
    pub(super) fn new(is_short: bool) -> Self {
        Self { is_short, differs_since: None }
    }

    /// Applies the need at `now`. Returns whether the budget is short, if that changes.
    pub(super) fn update(&mut self, need: &Need, now: MonotonicTime) -> Option<bool> {
        if (need.share() > SHORT) == self.is_short {
            self.differs_since = None;
            return None;
        }
        let since = *self.differs_since.get_or_insert(now);
        if now.since(since) < if self.is_short { SUFFICIENT_AFTER } else { SHORT_AFTER } {
            return None;
        }
        (self.is_short, self.differs_since) = (!self.is_short, None);
        Some(self.is_short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(shares: &[(u64, f64)]) -> Vec<(u64, bool)> {
        let mut shortage = Shortage::default();
        let need = |share| Need { polls: share, allowed: 1.0, unsettled: 1 };
        let mut take = |(second, share): &(u64, f64)| {
            let at = MonotonicTime(Duration::from_secs(*second));
            shortage.update(&need(*share), at).map(|is_short| (*second, is_short))
        };
        shares.iter().filter_map(&mut take).collect()
    }

    #[test]
    fn budget_is_short_after_two_minutes_above_nine_tenths_and_sufficient_after_30_seconds_below() {
        let course = [(0, 0.95), (119, 2.0), (120, 2.0), (121, 3.0), (200, 0.5), (229, 0.5), (230, 0.5), (500, 0.1)];
        assert_eq!(changes(&course), [(120, true), (230, false)]);
        assert_eq!(changes(&[(0, 0.95), (100, 0.5), (120, 0.95), (239, 0.95)]), []);
        assert_eq!(changes(&[(0, 0.9), (1_000, 0.9)]), []);
    }
}
