//! The progress of a transfer: its age on a scale from submission to deadline. Once time alone no longer decides, its
//! outcome in words.
//!
//! Pure numbers and words. This module must never choose colours or cells.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::{
    forecast::{Lognormal, Quantile},
    on_chain::ChainVerdict,
    settled_duration, span,
    status::RouterStatus,
    transaction::{Tracking, Transaction},
};

/// The progress of a transfer, as its row shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TransferProgress {
    /// The transfer waits for time alone.
    Waiting(ProgressScale),
    /// The transfer settled, or waits for something else than time.
    Words(String),
}

/// The age of a transfer on the scale from its submission to its deadline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProgressScale {
    pub(crate) age: Duration,
    /// The time within which half of such transfers settle.
    pub(crate) median: Duration,
    /// The time within which nine in ten settle.
    pub(crate) nine_in_ten: Duration,
    /// The time from submission to the deadline.
    pub(crate) deadline: Duration,
    /// Whether the age begins when hoptop first saw the transfer, because the submission is unknown.
    pub(crate) is_from_first_seen: bool,
}

/// The part of the scale that the age has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressZone {
    /// Before the median.
    Early,
    /// Before nine in ten.
    Usual,
    /// After nine in ten.
    Slow,
    /// After the deadline.
    Overdue,
}

impl ProgressScale {
    /// Returns the scale of a transfer with this forecast.
    pub(crate) fn new(tx: &Transaction, forecast: &Lognormal, now: DateTime<Utc>) -> Self {
        let deadline = tx.deadline();
        Self {
            age: tx.age(now),
            median: forecast.quantile(Quantile::P50),
            nine_in_ten: forecast.quantile(Quantile::P90),
            deadline: deadline.wait,
            is_from_first_seen: deadline.is_from_first_seen,
        }
    }

    /// Returns the part of the scale that the age has reached.
    pub(crate) fn zone(&self) -> ProgressZone {
        match self.age {
            age if age >= self.deadline => ProgressZone::Overdue,
            age if age >= self.nine_in_ten => ProgressZone::Slow,
            age if age >= self.median => ProgressZone::Usual,
            _ => ProgressZone::Early,
        }
    }

    /// The position of the deadline on a bar. The rest of the bar is for the time after the deadline.
    pub(crate) const DEADLINE: f64 = 0.75;

    /// Returns the position of a time on a bar: 0 at the submission, [`DEADLINE`](Self::DEADLINE) at the deadline, more
    /// than 1 beyond the bar's end.
    pub(crate) fn position(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.deadline.as_secs_f64().max(1.0) * Self::DEADLINE
    }
}

/// Returns the progress of a transfer. `forecast` is called only while the transfer waits for time alone.
pub(crate) fn progress(tx: &Transaction, forecast: impl FnOnce() -> Lognormal, now: DateTime<Utc>) -> TransferProgress {
    let duration = || settled_duration::short_age(tx, now);
    // hoptop knows when it first saw the status: the status may be older.
    let since = || format!("{}+", span::short(tx.status_age(now)));
    let words = match (&tx.tracking, &tx.state.status) {
        (_, Some(RouterStatus::Success)) => format!("done in {}", duration()),
        (_, Some(RouterStatus::PartialSuccess)) => format!("ended in {}", duration()),
        (_, Some(RouterStatus::Refund)) if tx.is_settled() => format!("refunded {}", duration()),
        (Tracking::Untracked, _) => "not polled".to_owned(),
        (Tracking::Parked(_), _) => "rejected".to_owned(),
        (Tracking::Active, Some(RouterStatus::Refund)) => format!("refund {}", since()),
        (Tracking::Active, Some(RouterStatus::NeedsGas)) => format!("waits {}", since()),
        (Tracking::Active, _) if let Some(verdict) = tx.failure_on_source() => match verdict {
            ChainVerdict::Elsewhere(_) => "wrong chain".to_owned(),
            verdict => verdict.name().to_owned(),
        },
        (Tracking::Active, Some(RouterStatus::Ongoing | RouterStatus::NotFound | RouterStatus::Unknown(_)) | None) => {
            return TransferProgress::Waiting(ProgressScale::new(tx, &forecast(), now));
        }
    };
    TransferProgress::Words(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures::{self, at};

    fn forecast() -> Lognormal {
        Lognormal::new(Duration::from_secs(300), 0.5)
    }

    #[test]
    fn a_waiting_transfer_is_on_the_scale_and_passes_median_nine_in_ten_and_deadline() {
        let mut tx = fixtures::transaction(1);
        tx.params.submitted_at = Some(at(0));
        tx.apply(&fixtures::says(RouterStatus::Ongoing), at(10));
        let zone = |seconds| match progress(&tx, forecast, at(seconds)) {
            TransferProgress::Waiting(scale) => (scale.zone(), scale.position(scale.age)),
            TransferProgress::Words(words) => panic!("{words}"),
        };
        assert_eq!(zone(0), (ProgressZone::Early, 0.0));
        assert_eq!(zone(300).0, ProgressZone::Usual);
        assert_eq!(zone(580).0, ProgressZone::Slow);
        assert_eq!(zone(900), (ProgressZone::Overdue, 0.75));
        assert_eq!(zone(1_800), (ProgressZone::Overdue, 1.5));
    }

    #[test]
    fn other_transfers_show_their_outcome_or_the_awaited_event() {
        let words = |status: RouterStatus| {
            let mut tx = fixtures::transaction(1);
            tx.params.submitted_at = Some(at(0));
            tx.apply(&fixtures::says(RouterStatus::Ongoing), at(100));
            tx.apply(&fixtures::says(status), at(120));
            match progress(&tx, forecast, at(420)) {
                TransferProgress::Words(words) => words,
                TransferProgress::Waiting(scale) => format!("{scale:?}"),
            }
        };
        let settled =
            [RouterStatus::Success, RouterStatus::PartialSuccess, RouterStatus::NeedsGas, RouterStatus::Refund];
        assert_eq!(settled.map(words), ["done in 2m", "ended in 2m", "waits 5m+", "refund 5m+"]);
    }
}
