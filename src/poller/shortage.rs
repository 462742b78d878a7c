//! Whether the budget has been short for so long that a person should know.
//!
//! Pure: shares and moments in, news out. One busy minute is no news, nor is one quiet moment.

use std::time::Duration;

use crate::{
    clock::Mono,
    domain::need::{Need, SHORT},
};

/// How long the need must stay over nine tenths of the budget.
const PATIENCE: Duration = Duration::from_secs(2 * 60);
/// How long it must stay under that again.
const RELIEF: Duration = Duration::from_secs(30);

/// The need of one profile over time.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    short: bool,
    /// Since when it is otherwise.
    otherwise_since: Option<Mono>,
}

impl Shortage {
    /// As an earlier run left it.
    pub(super) fn new(short: bool) -> Self {
        Self { short, otherwise_since: None }
    }

    /// Takes in the need of `now`; whether the budget is short, if that changes.
    pub(super) fn take_in(&mut self, need: &Need, now: Mono) -> Option<bool> {
        if (need.share() > SHORT) == self.short {
            self.otherwise_since = None;
            return None;
        }
        let since = *self.otherwise_since.get_or_insert(now);
        if now.since(since) < if self.short { RELIEF } else { PATIENCE } {
            return None;
        }
        (self.short, self.otherwise_since) = (!self.short, None);
        Some(self.short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(shares: &[(u64, f64)]) -> Vec<(u64, bool)> {
        let mut shortage = Shortage::default();
        let need = |share| Need { polls: share, allowed: 1.0, unsettled: 1 };
        let mut take = |(second, share): &(u64, f64)| {
            let at = Mono(Duration::from_secs(*second));
            shortage.take_in(&need(*share), at).map(|short| (*second, short))
        };
        shares.iter().filter_map(&mut take).collect()
    }

    #[test]
    fn two_minutes_over_nine_tenths_are_news_and_half_a_minute_under_it_ends_that() {
        let course = [(0, 0.95), (119, 2.0), (120, 2.0), (121, 3.0), (200, 0.5), (229, 0.5), (230, 0.5), (500, 0.1)];
        assert_eq!(news(&course), [(120, true), (230, false)]);
        assert_eq!(news(&[(0, 0.95), (100, 0.5), (120, 0.95), (239, 0.95)]), []);
        assert_eq!(news(&[(0, 0.9), (1_000, 0.9)]), []);
    }
}
