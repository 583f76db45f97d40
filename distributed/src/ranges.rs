//! The division of rows or columns among ranks.

use std::ops::Range;

use host::memory::{with_capacity, zeros};

use crate::communicator::Communicator;
use crate::error::Error;

/// Ranges begin at a multiple of this number where that moves few entries, so that no block of 2, 3, 4, 6 or 8 rows of a
/// matrix whose blocks begin at multiples of their size is divided: such a rank would store each of its blocks as two.
const ALIGNMENT: u64 = 24;

/// Aligning may move a range by its length over this number at most.
const MOST_MOVED: u64 = 100;

/// A range of numbers per rank: contiguous, in rank order, and together all numbers below a total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// The start of each rank's range, and the total.
    begins: Vec<u64>,
}

impl Ranges {
    /// Creates ranges with the given starts; the last number is the total.
    ///
    /// ```
    /// use warp_spmv_distributed::Ranges;
    ///
    /// # fn main() -> Result<(), warp_spmv_distributed::Error> {
    /// // Three ranks, the second without rows.
    /// let ranges = Ranges::try_new(vec![0, 4, 4, 10])?;
    /// assert_eq!(ranges.of(2), 4..10);
    /// assert_eq!(ranges.owner(4), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there is no range, the first does not start at 0, or one starts before the previous one.
    pub fn try_new(begins: Vec<u64>) -> Result<Self, Error> {
        let wrong = |reason: String| Err(Error::Ranges { what: "ranks", reason });
        if begins.len() < 2 {
            return wrong("there is no range".into());
        }
        if begins[0] != 0 {
            return wrong(format!("the first begins at {}, expected 0", begins[0]));
        }
        if let Some(rank) = (1..begins.len()).find(|&rank| begins[rank] < begins[rank - 1]) {
            return wrong(format!("the range of rank {} ends at {}, before it begins", rank - 1, begins[rank]));
        }
        Ok(Self { begins })
    }

    /// Creates ranges of the same length, up to one.
    ///
    /// # Errors
    /// When there are no ranks, or memory runs out.
    pub fn even(total: u64, ranks: usize) -> Result<Self, Error> {
        let mut begins = with_capacity(ranks + 1)?;
        let begin = |rank: u128| (u128::from(total) * rank / ranks.max(1) as u128) as u64;
        begins.extend((0..=ranks as u128).map(begin));
        Self::try_new(begins)
    }

    /// Creates ranges with about the same number of entries, where a row counts as one additional entry: `lengths` has the
    /// number of entries of each row of the whole matrix. If 24 rows are less than a hundredth of a range, ranges begin at
    /// multiples of 24, so that blocks of up to four, six or eight rows stay whole.
    ///
    /// # Errors
    /// When there are no ranks, or memory runs out.
    pub fn balanced(lengths: impl ExactSizeIterator<Item = usize>, ranks: usize) -> Result<Self, Error> {
        let mut weights = with_capacity(lengths.len())?;
        weights.extend(lengths);
        Self::from_parts(&Communicator::alone(), &weights, ranks)
    }

    /// Creates the ranges that [`balanced`](Self::balanced) makes for the ranks of a communicator. Each rank passes the
    /// lengths of some rows, which follow those of the ranks before it.
    ///
    /// # Errors
    /// When a rank fails, or memory runs out.
    pub fn balanced_together(communicator: &Communicator, lengths: &[usize]) -> Result<Self, Error> {
        Self::from_parts(communicator, lengths, communicator.ranks())
    }

    fn from_parts(communicator: &Communicator, lengths: &[usize], ranks: usize) -> Result<Self, Error> {
        let weight = |length: usize| length as u64 + 1;
        let weights = || lengths.iter().map(|&length| weight(length));
        let own = [lengths.len() as u64, weights().sum(), weights().max().unwrap_or(0)];
        let parts = communicator.all_gather(&own)?;
        let sum = |parts: &[Vec<u64>], place: usize| parts.iter().map(|part| part[place]).sum::<u64>();
        let before = &parts[..communicator.rank()];
        let (mut row, mut weight_before) = (sum(before, 0), sum(before, 1));
        let total = sum(&parts, 1);
        // Range k begins at the first row with at least k shares before it: one rank has that row.
        let share = |rank| Self::share(total, rank, ranks);
        let mut begins = zeros::<u64>(ranks + 1)?;
        let mut rank = (0..=ranks).find(|&rank| share(rank) >= weight_before).unwrap_or(ranks + 1);
        for &length in lengths {
            while rank <= ranks && share(rank) <= weight_before {
                begins[rank] = row;
                rank += 1;
            }
            row += 1;
            weight_before += weight(length);
        }
        // The start of the next rank's rows, or the end of the last one's.
        while rank <= ranks && share(rank) <= weight_before {
            begins[rank] = row;
            rank += 1;
        }
        communicator.reduce(&mut begins, u64::max)?;
        let heaviest = parts.iter().map(|part| part[2]).max().unwrap_or(0);
        Self::aligned(begins, total, heaviest)
    }

    /// Returns how many of `total` entries the ranks before this one have at least.
    pub(crate) fn share(total: u64, rank: usize, ranks: usize) -> u64 {
        (u128::from(total) * rank as u128).div_ceil(ranks.max(1) as u128) as u64
    }

    /// Creates ranges whose starts are moved to multiples of [`ALIGNMENT`] if that moves few of the `total` entries; a row
    /// has at most `heaviest`.
    pub(crate) fn aligned(mut begins: Vec<u64>, total: u64, heaviest: u64) -> Result<Self, Error> {
        let ranks = begins.len().saturating_sub(1);
        if heaviest.saturating_mul(ALIGNMENT * MOST_MOVED) <= total / ranks.max(1) as u64 {
            for begin in &mut begins[..ranks] {
                *begin = (*begin + ALIGNMENT / 2) / ALIGNMENT * ALIGNMENT;
            }
        }
        Self::try_new(begins)
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.begins.len() - 1
    }

    /// Returns the numbers of rank `rank`.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn of(&self, rank: usize) -> Range<u64> {
        self.begins[rank]..self.begins[rank + 1]
    }

    /// Returns the start of each range, and the total.
    pub fn begins(&self) -> &[u64] {
        &self.begins
    }

    /// Returns the count of all numbers.
    pub fn total(&self) -> u64 {
        self.begins[self.ranks()]
    }

    /// Returns the rank that owns a number below the total.
    pub fn owner(&self, number: u64) -> usize {
        self.begins.partition_point(|&begin| begin <= number).clamp(1, self.ranks()) - 1
    }

    /// Verifies that the length of a rank's data is that of its range.
    pub(crate) fn check_length(
        &self,
        communicator: &Communicator,
        what: &'static str,
        length: usize,
    ) -> Result<(), Error> {
        let own = self.of(communicator.rank());
        if length as u64 == own.end - own.start {
            return Ok(());
        }
        Err(Error::Ranges { what, reason: format!("{length} {what}, expected {}", own.end - own.start) })
    }

    /// Verifies that all ranks have the same ranges, one per rank.
    pub(crate) fn agree(&self, communicator: &Communicator, what: &'static str) -> Result<(), Error> {
        if self.ranks() != communicator.ranks() {
            let reason = format!("{} of them for {} ranks", self.ranks(), communicator.ranks());
            return Err(Error::Ranges { what, reason });
        }
        let differs = communicator.broadcast(0, &self.begins)? != self.begins;
        let mut first = [if differs { communicator.rank() as u64 } else { u64::MAX }];
        communicator.reduce(&mut first, u64::min)?;
        match first {
            [u64::MAX] => Ok(()),
            [rank] => Err(Error::Disagreement {
                rank: rank as usize,
                other: 0,
                what,
                found: "other ranges".into(),
                expected: "the same".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn ranges_are_checked() {
        for (begins, expected) in [
            (vec![], "ranges of ranks: there is no range"),
            (vec![0], "ranges of ranks: there is no range"),
            (vec![1, 2], "ranges of ranks: the first begins at 1, expected 0"),
            (vec![0, 5, 4], "ranges of ranks: the range of rank 1 ends at 4, before it begins"),
        ] {
            assert_eq!(Ranges::try_new(begins).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn blocks_of_a_few_rows_stay_with_one_rank() {
        for rows in [30_000, 30_001, 30_023] {
            for ranks in [1, 2, 3, 7] {
                let ranges = Ranges::balanced((0..rows).map(|row| row % 3), ranks).unwrap();
                assert_eq!((ranges.ranks(), ranges.total()), (ranks, rows as u64));
                assert!(ranges.begins()[..ranks].iter().all(|begin| begin.is_multiple_of(24)), "{ranges:?}");
                let even = Ranges::even(rows as u64, ranks).unwrap();
                assert!(ranges.begins().iter().zip(even.begins()).all(|(&begin, &even)| begin.abs_diff(even) <= 13));
            }
        }
        // A row that is long, or a range of a few rows, is not moved.
        let long = Ranges::balanced((0..30_000).map(|row| if row == 14_990 { 900 } else { 1 }), 2).unwrap();
        assert_eq!(long.begins(), [0, 14_991, 30_000]);
        assert_eq!(Ranges::balanced([1; 50].into_iter(), 2).unwrap().begins(), [0, 25, 50]);
    }

    #[test]
    fn every_number_has_the_owner_whose_range_it_is_in() {
        for ranges in [
            Ranges::even(10, 3).unwrap(),
            Ranges::even(2, 7).unwrap(),
            Ranges::try_new(vec![0, 0, 3, 3, 5, 5]).unwrap(),
        ] {
            for number in 0..ranges.total() {
                assert!(ranges.of(ranges.owner(number)).contains(&number), "{number} of {ranges:?}");
            }
        }
    }

    #[test]
    fn no_range_has_more_than_its_share_and_a_row() {
        for lengths in [vec![], vec![0; 5], vec![100, 0, 0, 1], vec![1, 0, 0, 100], vec![3; 50], vec![0, 50, 2, 2, 9]] {
            let weight = |range: Range<u64>| -> usize {
                lengths[range.start as usize..range.end as usize].iter().map(|length| length + 1).sum()
            };
            let (total, heaviest) =
                (weight(0..lengths.len() as u64), lengths.iter().max().map_or(0, |longest| longest + 1));
            for ranks in 1..9 {
                let ranges = Ranges::balanced(lengths.iter().copied(), ranks).unwrap();
                assert_eq!((ranges.ranks(), ranges.total()), (ranks, lengths.len() as u64));
                for rank in 0..ranks {
                    assert!(weight(ranges.of(rank)) <= total.div_ceil(ranks) + heaviest, "{lengths:?}: {ranges:?}");
                }
            }
        }
    }

    #[test]
    fn ranks_that_know_some_rows_each_find_the_same_ranges() {
        let lengths: Vec<usize> = (0..40).map(|row| row * row % 23).collect();
        for ranks in [1, 2, 3, 5] {
            let expected = Ranges::balanced(lengths.iter().copied(), ranks).unwrap();
            for known in [Ranges::even(40, ranks).unwrap(), Ranges::balanced([40, 0, 0].into_iter(), ranks).unwrap()] {
                let mut begins = known.begins().to_vec();
                begins[ranks] = 40;
                let known = Ranges::try_new(begins).unwrap();
                let found = threads::run(ranks, |communicator| {
                    let Range { start, end } = known.of(communicator.rank());
                    Ranges::balanced_together(communicator, &lengths[start as usize..end as usize])
                });
                assert_eq!(found.unwrap(), vec![expected.clone(); ranks]);
            }
        }
    }
}
