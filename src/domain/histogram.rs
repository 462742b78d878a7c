//! How durations are spread: counted in buckets that widen with them, and the ones that so many in a hundred don't exceed.
//!
//! The buckets begin at spans that people say: `5m`, not `4m 51s`. It must never keep the durations themselves.

use std::time::Duration;

use super::span;

/// Where buckets begin, in seconds: each about half as much again as the one before.
const EDGES: [u64; 31] = [
    1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 420, 600, 900, 1_200, 1_800, 2_700, 3_600, 5_400, 7_200,
    10_800, 18_000, 28_800, 43_200, 64_800, 86_400, 172_800,
];

/// Durations, counted by how long they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Below the first edge, then between each and the next; behind the last edge all that is longer.
    counts: [u64; EDGES.len() + 1],
}

/// Those of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The shortest.
    pub from: Duration,
    /// How many.
    pub count: u64,
}

impl Histogram {
    /// Of these durations.
    pub fn of(durations: &[Duration]) -> Self {
        let mut histogram = Self::default();
        for duration in durations {
            if let Some(count) = histogram.counts.get_mut(bucket(*duration)) {
                *count += 1;
            }
        }
        histogram
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// From the first bucket that holds something to the last one; none if there is nothing. At most so many: neighbours are
    /// taken together until they are few enough.
    pub fn buckets(&self, most: usize) -> Vec<Bucket> {
        self.buckets_beside(self, most)
    }

    /// The same buckets as those of another histogram, so that the two can be compared. What lies beyond isn't counted.
    pub fn buckets_beside(&self, other: &Self, most: usize) -> Vec<Bucket> {
        let holds = |count: &u64| *count > 0;
        let first_and_last = other.counts.iter().position(holds).zip(other.counts.iter().rposition(holds));
        let Some((first, last)) = first_and_last else { return Vec::new() };
        let begins = [0].into_iter().chain(EDGES).map(Duration::from_secs);
        let all = begins.zip(self.counts).map(|(from, count)| Bucket { from, count });
        let mut shown: Vec<Bucket> = all.take(last + 1).skip(first).collect();
        while shown.len() > most.max(1) {
            let together = |pair: &[Bucket]| {
                let from = pair.first().map_or(Duration::ZERO, |first| first.from);
                Bucket { from, count: pair.iter().map(|bucket| bucket.count).sum() }
            };
            shown = shown.chunks(2).map(together).collect();
        }
        shown
    }
}

impl Bucket {
    /// The shortest in it, as short as it can be said: `90s`, `5m`.
    pub fn label(&self) -> String {
        match self.from.as_secs() {
            90 => "90s".to_owned(),
            5_400 => "90m".to_owned(),
            _ => span::short(self.from),
        }
    }
}

/// Which bucket a duration is counted in.
fn bucket(duration: Duration) -> usize {
    EDGES.partition_point(|edge| Duration::from_secs(*edge) <= duration)
}

/// The least of them that so many in a hundred don't exceed; nothing of none. They are in order, the shortest first.
pub fn percentile(sorted: &[Duration], share: usize) -> Option<Duration> {
    sorted.get((sorted.len() * share).div_ceil(100).checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(spans: &[u64]) -> Vec<Duration> {
        spans.iter().copied().map(Duration::from_secs).collect()
    }

    #[test]
    fn buckets_go_from_the_first_to_the_last_that_holds_something() {
        let shown = Histogram::of(&seconds(&[95, 100, 200, 700])).buckets(99);
        let labels: Vec<_> = shown.iter().map(|bucket| (bucket.label(), bucket.count)).collect();
        let expected = [("90s", 2), ("2m", 0), ("3m", 1), ("5m", 0), ("7m", 0), ("10m", 1)];
        assert_eq!(labels, expected.map(|(label, count)| (label.to_owned(), count)));
        assert_eq!(Histogram::default().buckets(9), []);
        assert_eq!(Histogram::of(&seconds(&[0])).buckets(9), [Bucket { from: Duration::ZERO, count: 1 }]);
    }

    #[test]
    fn every_label_is_another_one() {
        let labels: std::collections::BTreeSet<_> =
            EDGES.map(|edge| Bucket { from: Duration::from_secs(edge), count: 0 }.label()).into();
        assert_eq!(labels.len(), EDGES.len());
    }

    #[test]
    fn percentiles_of_few_and_of_none() {
        let took = seconds(&[1, 2, 3]);
        let of = |share| percentile(&took, share).map(|took| took.as_secs());
        assert_eq!([of(50), of(90), of(99)], [Some(2), Some(3), Some(3)]);
        assert_eq!(percentile(&[], 50), None);
        assert_eq!(percentile(&seconds(&[7]), 50), Some(Duration::from_secs(7)));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_in_however_few_buckets(spans in prop::collection::vec(0_u64..1 << 40, 0..60), most in 1_usize..40) {
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
            let place = bucket(Duration::from_secs(span));
            prop_assert!(place == 0 || EDGES[place - 1] <= span);
            prop_assert!(place == EDGES.len() || span < EDGES[place]);
        }

        #[test]
        fn so_many_do_not_exceed_the_percentile(mut spans in prop::collection::vec(0_u64..9_999, 1..60), share in 1_usize..=100) {
            spans.sort_unstable();
            let limit = percentile(&seconds(&spans), share).unwrap();
            let within = spans.iter().filter(|span| Duration::from_secs(**span) <= limit).count();
            prop_assert!(within * 100 >= share * spans.len());
        }
    }
}
