//! How long an ID rests after the service said that it asks too often (`service.md` 7.1, 8; `DESIGN.md`, Budget).
//!
//! It must never rest longer than ten minutes on the word of a header.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(600);

/// The rests of one integrator ID: what the service asks for, else a doubling second.
#[derive(Debug, Default)]
pub struct Resting {
    in_a_row: u32,
}

impl Resting {
    /// A 429 came. Returns how long the ID rests: `retry_after`, or 1, 2, 4 … s, and up to half of that on top by
    /// `jitter` (0 to 1), so that several clients don't come back together.
    #[allow(clippy::manual_clamp, reason = "clamp lets a NaN through")]
    pub fn throttled(&mut self, retry_after: Option<Duration>, jitter: f64) -> Duration {
        let doubled = FIRST.saturating_mul(1_u32.checked_shl(self.in_a_row).unwrap_or(u32::MAX));
        self.in_a_row = self.in_a_row.saturating_add(1).min(16);
        let rest = retry_after.unwrap_or(doubled).clamp(FIRST, LONGEST);
        // `max` first: it turns a NaN into 0.
        let share = jitter.max(0.0).min(1.0) / 2.0;
        rest.saturating_add(rest.mul_f64(share)).min(LONGEST)
    }

    /// An answer came that wasn't a 429.
    pub fn answered(&mut self) {
        self.in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_until_an_answer_comes() {
        let mut resting = Resting::default();
        let rests: Vec<_> = (0..3).map(|_| resting.throttled(None, 0.0).as_secs()).collect();
        assert_eq!(rests, [1, 2, 4]);
        resting.answered();
        assert_eq!(resting.throttled(None, 1.0), Duration::from_millis(1_500));
    }

    #[test]
    fn it_is_bounded_whatever_comes() {
        let mut resting = Resting::default();
        assert_eq!(resting.throttled(Some(Duration::from_secs(1_000_000_000_000)), 1.0), LONGEST);
        assert_eq!(resting.throttled(Some(Duration::ZERO), 0.0), FIRST);
        for _ in 0..100 {
            assert!(resting.throttled(None, 1.0) <= LONGEST);
        }
        assert_eq!(Resting::default().throttled(None, f64::NAN), FIRST);
    }
}
