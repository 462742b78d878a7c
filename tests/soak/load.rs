//! What a day of a seed holds: the limits of the integrator ID, and the transfers that people import.
//!
//! One ID has 1 request a second and a trickle of transfers, another has 10 for a part of the day. Each has a rush.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The load of a day, by its minutes.
pub(crate) struct DailyLoad {
    usual_rps: f64,
    peak_rps: f64,
    /// The minutes with the limit of the peak.
    peak: Range<u64>,
    /// The minutes between two batches, and the transfers in a batch.
    batch: (u64, usize),
    /// The minute of the rush, and its transfers.
    rush: (u64, usize),
}

impl DailyLoad {
    /// Returns the load of a seed for a day of this many minutes.
    pub(crate) fn seeded(seed: u64, minutes: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let (usual_rps, peak_rps, batch, rush) = match seed % 4 {
            0 => (1.0, 1.0, (120, 6), 24),
            1 => (2.0, 4.0, (60, 6), 30),
            2 => (1.0, 5.0, (60, 4), 30),
            _ => (1.0, 10.0, (90, 6), 60),
        };
        let begin = random.random_range(minutes / 4..minutes / 2);
        let peak = begin..begin + minutes / 8;
        Self { usual_rps, peak_rps, rush: (random.random_range(peak.clone()), rush), peak, batch }
    }

    /// Returns the limit of the ID.
    pub(crate) fn rps(&self, minute: u64) -> f64 {
        if self.peak.contains(&minute) { self.peak_rps } else { self.usual_rps }
    }

    /// Returns how many transfers are imported.
    pub(crate) fn imported(&self, minute: u64) -> usize {
        let (interval, size) = self.batch;
        let batch = if minute.is_multiple_of(interval) { size } else { 0 };
        batch + if minute == self.rush.0 { self.rush.1 } else { 0 }
    }
}
