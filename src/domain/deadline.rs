//! The deadline: when contacting support becomes right (`service.md` 3, `ongoing`; `DESIGN.md`, Words).
//!
//! It must never hide a substitute: where the submission time or the estimate is unknown, it says which value replaces
//! it.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// The shortest wait before support is contacted.
const MIN_WAIT: Duration = Duration::from_secs(15 * 60);
/// The longest route estimate that is accepted; a longer estimate is taken for a mistake and clamped.
pub(crate) const MAX_ESTIMATE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The moment from which contacting support is right, and how it was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The submission time plus the wait.
    pub at: DateTime<Utc>,
    /// The wait: max(15 min, 2 × estimate).
    pub wait: Duration,
    /// The estimated route duration, if it is known.
    pub estimate: Option<Duration>,
    /// When the transaction was submitted, or else first seen by hoptop.
    pub submitted: DateTime<Utc>,
    /// Whether the time when hoptop first saw the transfer replaces an unknown submission time.
    pub is_from_first_seen: bool,
}

impl Deadline {
    /// Returns the deadline of a transaction submitted at `submitted`, or first seen at `first_seen` if that isn't
    /// known.
    pub fn new(submitted: Option<DateTime<Utc>>, first_seen: DateTime<Utc>, estimate: Option<Duration>) -> Self {
        let wait = estimate.map_or(MIN_WAIT, |estimate| MIN_WAIT.max(estimate.min(MAX_ESTIMATE) * 2));
        let start = submitted.unwrap_or(first_seen);
        let at = TimeDelta::from_std(wait)
            .ok()
            .and_then(|wait| start.checked_add_signed(wait))
            .unwrap_or(DateTime::<Utc>::MAX_UTC);
        Self { at, wait, estimate, submitted: start, is_from_first_seen: submitted.is_none() }
    }

    /// Returns how the wait was computed, in words: `30m = 2 x est. 15m`, `15m, the minimum; 2 x est. is 14m`.
    pub fn basis(&self) -> String {
        use super::span::long;
        match self.estimate {
            None => format!("{}; no estimate is known", long(self.wait)),
            Some(estimate) if self.wait == MIN_WAIT => {
                format!("{}, the minimum; 2 x est. is {}", long(self.wait), long(estimate * 2))
            }
            Some(estimate) => format!("{} = 2 x est. {}", long(self.wait), long(estimate)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(estimate: Option<u64>) -> u64 {
        Deadline::new(None, DateTime::UNIX_EPOCH, estimate.map(Duration::from_secs)).wait.as_secs()
    }

    #[test]
    fn the_wait_is_fifteen_minutes_or_twice_the_estimate_whichever_is_larger() {
        assert_eq!(wait(None), 900);
        assert_eq!(wait(Some(0)), 900);
        assert_eq!(wait(Some(450)), 900);
        assert_eq!(wait(Some(451)), 902);
        assert_eq!(wait(Some(900)), 1_800);
    }

    #[test]
    fn the_deadline_counts_from_submission_or_else_from_first_seen() {
        let (submitted, seen) = (DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH + TimeDelta::minutes(5));
        assert_eq!(Deadline::new(Some(submitted), seen, None).at, submitted + TimeDelta::minutes(15));
        let from_first_seen_only = Deadline::new(None, seen, None);
        assert_eq!(
            (from_first_seen_only.at, from_first_seen_only.is_from_first_seen),
            (seen + TimeDelta::minutes(15), true)
        );
    }

    #[test]
    fn absurd_estimates_and_times_stay_in_range() {
        let huge = Deadline::new(Some(DateTime::<Utc>::MAX_UTC), DateTime::UNIX_EPOCH, Some(Duration::MAX));
        assert_eq!(huge.at, DateTime::<Utc>::MAX_UTC);
        assert_eq!(huge.wait, MAX_ESTIMATE * 2);
    }
}
