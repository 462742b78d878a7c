//! Histograms of durations, in buckets that widen with the duration, and percentiles of durations.
//!
//! The buckets begin at durations that people say: `5m`, not `4m 51s`. A histogram must never store the durations.

use std::time::Duration;

use super::span;

/// The lower bounds of the buckets, in seconds. Each bound is about 1.5 times the previous bound.
const LOWER_BOUNDS: [u64; 31] = [
    1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 420, 600, 900, 1_200, 1_800, 2_700, 3_600, 5_400, 7_200,
    10_800, 18_000, 28_800, 43_200, 64_800, 86_400, 172_800,
];

/// The number of durations in each bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The counts below the first bound, between two neighbouring bounds, and from the last bound on.
    counts: [u64; LOWER_BOUNDS.len() + 1],
}

/// One bucket of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The lower bound.
    pub from: Duration,
    /// The number of durations.
    pub count: u64,
}

impl Histogram {
    /// Returns the histogram of these durations.
    pub fn of(durations: &[Duration]) -> Self {
        let mut histogram = Self::default();
        for duration in durations {
            if let Some(count) = histogram.counts.get_mut(bucket_index(*duration)) {
                *count += 1;
            }
        }
        histogram
    }

    /// Returns the number of durations.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the buckets from the first to the last that isn't empty; none if all are empty. Neighbouring buckets are
    /// merged until there are at most `most`.
    pub fn buckets(&self, most: usize) -> Vec<Bucket> {
        self.buckets_beside(self, most)
    }

    /// Returns the buckets over the range of another histogram, so that the two can be compared. Durations outside that
    /// range aren't counted.
    pub fn buckets_beside(&self, other: &Self, most: usize) -> Vec<Bucket> {
        let is_filled = |count: &u64| *count > 0;
        let first_and_last = other.counts.iter().position(is_filled).zip(other.counts.iter().rposition(is_filled));
        let Some((first, last)) = first_and_last else { return Vec::new() };
        let lower_bounds = [0].into_iter().chain(LOWER_BOUNDS).map(Duration::from_secs);
        let all = lower_bounds.zip(self.counts).map(|(from, count)| Bucket { from, count });
        let mut shown: Vec<Bucket> = all.take(last + 1).skip(first).collect();
        while shown.len() > most.max(1) {
            let merge = |pair: &[Bucket]| {
                let from = pair.first().map_or(Duration::ZERO, |first| first.from);
                Bucket { from, count: pair.iter().map(|bucket| bucket.count).sum() }
            };
            shown = shown.chunks(2).map(merge).collect();
        }
        shown
    }
}

impl Bucket {
    /// Returns the lower bound in its shortest form: `90s`, `5m`.
    pub fn label(&self) -> String {
        match self.from.as_secs() {
            90 => "90s".to_owned(),
            5_400 => "90m".to_owned(),
            _ => span::short(self.from),
        }
    }
}

/// Returns the index of the bucket that counts a duration.
fn bucket_index(duration: Duration) -> usize {
    LOWER_BOUNDS.partition_point(|bound| Duration::from_secs(*bound) <= duration)
}

/// Returns the smallest duration that `percent` of the durations don't exceed; `None` if there are no durations.
/// `sorted` must be in ascending order.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    sorted.get((sorted.len() * percent).div_ceil(100).checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(spans: &[u64]) -> Vec<Duration> {
        spans.iter().copied().map(Duration::from_secs).collect()
    }

    #[test]
    fn buckets_go_from_the_first_to_the_last_that_is_filled() {
        let shown = Histogram::of(&seconds(&[95, 100, 200, 700])).buckets(99);
        let labels: Vec<_> = shown.iter().map(|bucket| (bucket.label(), bucket.count)).collect();
        let expected = [("90s", 2), ("2m", 0), ("3m", 1), ("5m", 0), ("7m", 0), ("10m", 1)];
        assert_eq!(labels, expected.map(|(label, count)| (label.to_owned(), count)));
        assert_eq!(Histogram::default().buckets(9), []);
        assert_eq!(Histogram::of(&seconds(&[0])).buckets(9), [Bucket { from: Duration::ZERO, count: 1 }]);
    }

    #[test]
    fn bucket_labels_are_unique() {
        let labels: std::collections::BTreeSet<_> =
            LOWER_BOUNDS.map(|bound| Bucket { from: Duration::from_secs(bound), count: 0 }.label()).into();
        assert_eq!(labels.len(), LOWER_BOUNDS.len());
    }

    #[test]
    fn percentiles_of_few_durations_and_of_none() {
        let took = seconds(&[1, 2, 3]);
        let of = |percent| percentile(&took, percent).map(|took| took.as_secs());
        assert_eq!([of(50), of(90), of(99)], [Some(2), Some(3), Some(3)]);
        assert_eq!(percentile(&[], 50), None);
        assert_eq!(percentile(&seconds(&[7]), 50), Some(Duration::from_secs(7)));
    }

    proptest! {
        #[test]
        fn merging_buckets_keeps_every_count(spans in prop::collection::vec(0_u64..1 << 40, 0..60), most in 1_usize..40) {
            let histogram = Histogram::of(&seconds(&spans));
            let shown = histogram.buckets(most);
            prop_assert_eq!(shown.iter().map(|bucket| bucket.count).sum::<u64>(), spans.len() as u64);
            prop_assert_eq!(histogram.total(), spans.len() as u64);
            prop_assert!(shown.len() <= most);
            prop_assert!(shown.is_sorted_by_key(|bucket| bucket.from));
            prop_assert!(shown.first().is_none_or(|first| first.from <= Duration::from_secs(spans.iter().copied().min().unwrap())));
        }

        #[test]
        fn a_duration_lies_in_its_bucket(span in 0_u64..1 << 40) {
            let index = bucket_index(Duration::from_secs(span));
            prop_assert!(index == 0 || LOWER_BOUNDS[index - 1] <= span);
            prop_assert!(index == LOWER_BOUNDS.len() || span < LOWER_BOUNDS[index]);
        }

        #[test]
        fn at_least_this_percentage_is_within_the_percentile(mut spans in prop::collection::vec(0_u64..9_999, 1..60), percent in 1_usize..=100) {
            spans.sort_unstable();
            let limit = percentile(&seconds(&spans), percent).unwrap();
            let within = spans.iter().filter(|span| Duration::from_secs(**span) <= limit).count();
            prop_assert!(within * 100 >= percent * spans.len());
        }
    }
}
