//! Sorts pairs of numbers in bounded memory: sorted runs in a temporary file, merged when they are read.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
};

/// The bytes of one pair in the file.
const PAIR_BYTES: usize = 16;
/// The pairs of a run that are read at a time.
const PAGE_PAIRS: usize = 1_024;

/// An external merge sort of pairs.
pub(super) struct PairSorter {
    /// The number of pairs in memory at which they are written to the file.
    max_pairs: usize,
    buffer: Vec<(u64, u64)>,
    /// The file with the sorted runs, if there were more pairs than fit into memory.
    file: Option<File>,
    runs: Vec<Range<u64>>,
}

impl PairSorter {
    pub(super) fn new(max_pairs: usize) -> Self {
        Self { max_pairs, buffer: Vec::new(), file: None, runs: Vec::new() }
    }

    pub(super) fn push(&mut self, pair: (u64, u64)) -> io::Result<()> {
        self.buffer.push(pair);
        if self.buffer.len() < self.max_pairs { Ok(()) } else { self.spill() }
    }

    /// Sorts the pairs in memory. Must be called once, after the last pair.
    pub(super) fn finish(&mut self) {
        self.buffer.sort_unstable();
    }

    fn spill(&mut self) -> io::Result<()> {
        self.buffer.sort_unstable();
        let mut file = match self.file.take() {
            Some(file) => file,
            None => tempfile::tempfile()?,
        };
        let start = file.seek(SeekFrom::End(0))?;
        let bytes: Vec<u8> =
            self.buffer.drain(..).flat_map(|(key, value)| [key.to_le_bytes(), value.to_le_bytes()]).flatten().collect();
        file.write_all(&bytes)?;
        self.runs.push(start..start + bytes.len() as u64);
        self.file = Some(file);
        Ok(())
    }

    /// Returns the pairs in ascending order.
    pub(super) fn iter(&self) -> io::Result<SortedPairs<'_>> {
        let in_memory = SortedRun { unread: 0..0, page: self.buffer.clone(), next: 0 };
        let in_file = self.runs.iter().map(|run| SortedRun { unread: run.clone(), page: Vec::new(), next: 0 });
        let mut sorted = SortedPairs {
            file: self.file.as_ref(),
            runs: in_file.chain([in_memory]).collect(),
            heads: BinaryHeap::new(),
        };
        for run in 0..sorted.runs.len() {
            sorted.push_next(run)?;
        }
        Ok(sorted)
    }
}

struct SortedRun {
    /// The byte range of the run that isn't read yet.
    unread: Range<u64>,
    page: Vec<(u64, u64)>,
    next: usize,
}

/// An iterator that merges the sorted runs.
pub(super) struct SortedPairs<'a> {
    file: Option<&'a File>,
    runs: Vec<SortedRun>,
    /// The next pair of each run that isn't exhausted, with the index of the run.
    heads: BinaryHeap<Reverse<((u64, u64), usize)>>,
}

impl SortedPairs<'_> {
    fn push_next(&mut self, index: usize) -> io::Result<()> {
        let Some(run) = self.runs.get_mut(index) else { return Ok(()) };
        if run.next == run.page.len()
            && !run.unread.is_empty()
            && let Some(mut file) = self.file
        {
            let length = (run.unread.end - run.unread.start).min((PAGE_PAIRS * PAIR_BYTES) as u64);
            let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            file.seek(SeekFrom::Start(run.unread.start))?;
            file.read_exact(&mut bytes)?;
            run.unread.start += length;
            run.page = bytes.as_chunks::<PAIR_BYTES>().0.iter().map(decode_pair).collect();
            run.next = 0;
        }
        if let Some(pair) = run.page.get(run.next) {
            run.next += 1;
            self.heads.push(Reverse((*pair, index)));
        }
        Ok(())
    }
}

fn decode_pair(bytes: &[u8; PAIR_BYTES]) -> (u64, u64) {
    let both = u128::from_le_bytes(*bytes);
    // The first eight bytes are the lower half.
    (both as u64, (both >> 64) as u64)
}

impl Iterator for SortedPairs<'_> {
    type Item = io::Result<(u64, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((pair, run)) = self.heads.pop()?;
        Some(self.push_next(run).map(|()| pair))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pairs_are_sorted_for_every_memory_limit(
            pairs in prop::collection::vec((0_u64..20, any::<u64>()), 0..200),
            max_pairs in 1_usize..50,
        ) {
            let mut sorter = PairSorter::new(max_pairs);
            pairs.iter().for_each(|pair| sorter.push(*pair).unwrap());
            sorter.finish();
            let mut expected = pairs;
            expected.sort_unstable();
            for _ in 0..2 {
                let sorted: Vec<_> = sorter.iter().unwrap().collect::<Result<_, _>>().unwrap();
                prop_assert_eq!(&sorted, &expected);
            }
        }
    }
}
