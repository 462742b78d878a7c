//! Sorting pairs of numbers in bounded memory: sorted runs in a temporary file, merged when they are read.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
};

/// The bytes of a pair in the file.
const PAIR: usize = 16;
/// So many pairs of a run are read at a time.
const PAGE: usize = 1_024;

/// Pairs to be sorted.
pub(super) struct PairSorter {
    /// The most pairs in memory.
    room: usize,
    held: Vec<(u64, u64)>,
    /// The sorted runs, if there were more pairs than fit.
    file: Option<File>,
    runs: Vec<Range<u64>>,
}

impl PairSorter {
    pub(super) fn new(room: usize) -> Self {
        Self { room, held: Vec::new(), file: None, runs: Vec::new() }
    }

    pub(super) fn push(&mut self, pair: (u64, u64)) -> io::Result<()> {
        self.held.push(pair);
        if self.held.len() < self.room { Ok(()) } else { self.spill() }
    }

    /// To be called once, after the last pair.
    pub(super) fn finish(&mut self) {
        self.held.sort_unstable();
    }

    fn spill(&mut self) -> io::Result<()> {
        self.held.sort_unstable();
        let mut file = match self.file.take() {
            Some(file) => file,
            None => tempfile::tempfile()?,
        };
        let start = file.seek(SeekFrom::End(0))?;
        let bytes: Vec<u8> =
            self.held.drain(..).flat_map(|(key, value)| [key.to_le_bytes(), value.to_le_bytes()]).flatten().collect();
        file.write_all(&bytes)?;
        self.runs.push(start..start + bytes.len() as u64);
        self.file = Some(file);
        Ok(())
    }

    /// The pairs in ascending order.
    pub(super) fn iter(&self) -> io::Result<SortedPairs<'_>> {
        let in_memory = Run { at: 0..0, page: self.held.clone(), next: 0 };
        let in_file = self.runs.iter().map(|run| Run { at: run.clone(), page: Vec::new(), next: 0 });
        let mut sorted = SortedPairs {
            file: self.file.as_ref(),
            runs: in_file.chain([in_memory]).collect(),
            heads: BinaryHeap::new(),
        };
        for run in 0..sorted.runs.len() {
            sorted.advance(run)?;
        }
        Ok(sorted)
    }
}

struct Run {
    /// What is left in the file.
    at: Range<u64>,
    page: Vec<(u64, u64)>,
    next: usize,
}

/// Merges sorted runs.
pub(super) struct SortedPairs<'a> {
    file: Option<&'a File>,
    runs: Vec<Run>,
    /// The first pair of each run that isn't through, and the run.
    heads: BinaryHeap<Reverse<((u64, u64), usize)>>,
}

impl SortedPairs<'_> {
    fn advance(&mut self, index: usize) -> io::Result<()> {
        let Some(run) = self.runs.get_mut(index) else { return Ok(()) };
        if run.next == run.page.len()
            && !run.at.is_empty()
            && let Some(mut file) = self.file
        {
            let length = (run.at.end - run.at.start).min((PAGE * PAIR) as u64);
            let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            file.seek(SeekFrom::Start(run.at.start))?;
            file.read_exact(&mut bytes)?;
            run.at.start += length;
            run.page = bytes.as_chunks::<PAIR>().0.iter().map(decode).collect();
            run.next = 0;
        }
        if let Some(pair) = run.page.get(run.next) {
            run.next += 1;
            self.heads.push(Reverse((*pair, index)));
        }
        Ok(())
    }
}

fn decode(bytes: &[u8; PAIR]) -> (u64, u64) {
    let both = u128::from_le_bytes(*bytes);
    // The first eight bytes are the lower half.
    (both as u64, (both >> 64) as u64)
}

impl Iterator for SortedPairs<'_> {
    type Item = io::Result<(u64, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((pair, run)) = self.heads.pop()?;
        Some(self.advance(run).map(|()| pair))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pairs_come_out_sorted_whatever_fits_into_memory(
            pairs in prop::collection::vec((0_u64..20, any::<u64>()), 0..200),
            room in 1_usize..50,
        ) {
            let mut sorter = PairSorter::new(room);
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
