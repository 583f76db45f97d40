//! Matrices whose rows are generated range by range, so that no rank holds all of them.

use std::ops::Range;

use host::memory::with_capacity;
use host::{Csr, Scalar, parallel};

use crate::error::Error;
use crate::ranges::Ranges;

/// The pattern of a matrix, by ranges of rows: in memory, or generated on demand.
pub trait RowSource: Sync {
    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns the number of columns.
    fn columns(&self) -> u64;

    /// Returns the number of rows to request at once, at least 1; each thread holds that many in memory. Ranges begin at
    /// multiples of it.
    fn rows_at_once(&self) -> u64;

    /// Calls `visit` with the columns of each row of a range, row by row. Must return the same columns every time, and
    /// supports concurrent calls from several threads.
    ///
    /// # Errors
    /// When the rows cannot be made, or memory runs out.
    fn visit(&self, rows: Range<u64>, visit: &mut dyn FnMut(&[u32])) -> Result<(), Error>;
}

/// A whole matrix in memory.
impl<T: Scalar> RowSource for Csr<T> {
    fn rows(&self) -> u64 {
        Csr::rows(self) as u64
    }

    fn columns(&self) -> u64 {
        Csr::columns(self) as u64
    }

    fn rows_at_once(&self) -> u64 {
        1 << 14
    }

    fn visit(&self, rows: Range<u64>, visit: &mut dyn FnMut(&[u32])) -> Result<(), Error> {
        for row in rows {
            visit(&self.column_indices()[self.range(row as usize)]);
        }
        Ok(())
    }
}

/// The ranges of rows that are requested at once.
pub(crate) struct Blocks {
    rows: u64,
    at_once: u64,
}

impl Blocks {
    pub fn new(source: &dyn RowSource) -> Self {
        Self { rows: source.rows(), at_once: source.rows_at_once().max(1) }
    }

    pub fn count(&self) -> usize {
        self.rows.div_ceil(self.at_once) as usize
    }

    pub fn of(&self, block: usize) -> Range<u64> {
        let begin = block as u64 * self.at_once;
        begin..self.rows.min(begin + self.at_once)
    }

    /// Returns the number of blocks that overlap a range.
    pub fn overlapping(&self, rows: &Range<u64>) -> u64 {
        if rows.is_empty() { 0 } else { (rows.end - 1) / self.at_once - rows.start / self.at_once + 1 }
    }
}

impl Ranges {
    /// Returns the ranges that [`balanced`](Self::balanced) makes from the lengths of all rows, for each number of ranks in
    /// `ranks`. Only some rows are in memory at a time; blocks in which a range begins are requested twice.
    ///
    /// ```
    /// use host::Csr;
    /// use warp_spmv_distributed::Ranges;
    ///
    /// # fn main() -> Result<(), warp_spmv_distributed::Error> {
    /// let matrix = Csr::try_from_triplets(4, 4, &[0, 0, 0, 1, 2, 3], &[0, 1, 2, 0, 1, 0], &[1.0; 6])?;
    /// let ranges = Ranges::balanced_from(&matrix, &[1, 2])?;
    /// assert_eq!((ranges[0].of(0), ranges[1].of(1)), (0..4, 2..4));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When one of the numbers is 0, the rows cannot be made, or memory runs out.
    pub fn balanced_from(source: &dyn RowSource, ranks: &[usize]) -> Result<Vec<Self>, Error> {
        let blocks = Blocks::new(source);
        // As in `balanced`, a row counts as one additional entry.
        let weight = |columns: &[u32]| columns.len() as u64 + 1;
        let weights = parallel::map(blocks.count(), 1, &|block| {
            let (mut sum, mut heaviest) = (0, 0);
            let mut add = |columns: &[u32]| {
                sum += weight(columns);
                heaviest = weight(columns).max(heaviest);
            };
            source.visit(blocks.of(block), &mut add).map(|()| (sum, heaviest))
        })?;
        let mut before = with_capacity(blocks.count() + 1)?;
        let (mut total, mut heaviest) = (0, 0);
        for of_block in weights {
            let (sum, heaviest_of_block) = of_block?;
            before.push(total);
            total += sum;
            heaviest = heaviest_of_block.max(heaviest);
        }
        before.push(total);
        let share = |rank, ranks| Self::share(total, rank, ranks);

        // A range begins at the first row with its share before it, which is in the block before the first one that reaches
        // the share.
        let mut shares: Vec<u64> = with_capacity(ranks.iter().map(|&ranks| ranks + 1).sum())?;
        shares.extend(ranks.iter().flat_map(|&ranks| (0..=ranks).map(move |rank| share(rank, ranks))));
        shares.sort_unstable();
        shares.dedup();
        let block_of = |share: u64| before.partition_point(|&before| before < share).saturating_sub(1);
        let mut within = with_capacity(shares.len())?;
        for of_block in shares.chunk_by(|&left, &right| block_of(left) == block_of(right)) {
            within.push(of_block);
        }
        let found = parallel::map(within.len(), 1, &|place| -> Result<Vec<u64>, Error> {
            let block = block_of(within[place][0]);
            let Range { start, end } = if block < blocks.count() { blocks.of(block) } else { 0..0 };
            let (mut row, mut weight_before) = (start, before[block]);
            let mut begins = with_capacity(within[place].len())?;
            let mut begin = |row: u64, weight_before: u64| {
                let reached = within[place][begins.len()..].partition_point(|&share| share <= weight_before);
                (0..reached).for_each(|_| begins.push(row));
            };
            begin(row, weight_before);
            source.visit(start..end, &mut |columns| {
                row += 1;
                weight_before += weight(columns);
                begin(row, weight_before);
            })?;
            Ok(begins)
        })?;
        let mut begins_of_shares = with_capacity(shares.len())?;
        for begins in found {
            begins_of_shares.extend(begins?);
        }
        let mut all = with_capacity(ranks.len())?;
        for &ranks in ranks {
            let mut begins = with_capacity(ranks + 1)?;
            for rank in 0..=ranks {
                // Every such share is included.
                begins.push(begins_of_shares[shares.partition_point(|&other| other < share(rank, ranks))]);
            }
            all.push(Self::aligned(begins, total, heaviest)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A matrix that returns a few rows at a time.
    pub(crate) struct Slowly<'a>(pub &'a Csr<f64>, pub u64);

    impl RowSource for Slowly<'_> {
        fn rows(&self) -> u64 {
            RowSource::rows(self.0)
        }

        fn columns(&self) -> u64 {
            RowSource::columns(self.0)
        }

        fn rows_at_once(&self) -> u64 {
            self.1
        }

        fn visit(&self, rows: Range<u64>, visit: &mut dyn FnMut(&[u32])) -> Result<(), Error> {
            assert!(rows.start.is_multiple_of(self.1) && rows.end - rows.start <= self.1, "{rows:?}");
            self.0.visit(rows, visit)
        }
    }

    /// Rows of these lengths.
    pub(crate) fn with_lengths(lengths: &[usize]) -> Csr<f64> {
        let rows: Vec<_> = lengths.iter().enumerate().flat_map(|(row, &length)| vec![row as u32; length]).collect();
        let columns: Vec<_> = lengths.iter().flat_map(|&length| 0..length as u32).collect();
        Csr::try_from_triplets(lengths.len(), 200, &rows, &columns, &vec![1.0; rows.len()]).unwrap()
    }

    #[test]
    fn ranges_are_those_of_all_lengths() {
        let uneven: Vec<usize> = (0..40).map(|row| row * row % 23).collect();
        // Long enough for ranges that begin at multiples of 24.
        let long: Vec<usize> = (0..30_001).map(|row| row % 3).collect();
        for lengths in [&[][..], &[0; 5], &[100, 0, 0, 1], &[1, 0, 0, 100], &[3; 50], &[0, 50, 2, 2, 9], &uneven, &long]
        {
            let matrix = with_lengths(lengths);
            let ranks = [7, 1, 2, 4, 3, 100];
            let expected = ranks.map(|ranks| Ranges::balanced(lengths.iter().copied(), ranks).unwrap());
            for at_once in [1, 2, 7, 1000] {
                let found = Ranges::balanced_from(&Slowly(&matrix, at_once), &ranks).unwrap();
                assert_eq!(found, expected, "{lengths:?}, {at_once} at once");
            }
        }
        let error = Ranges::balanced_from(&with_lengths(&[1]), &[1, 0]).unwrap_err();
        assert_eq!(error.to_string(), "ranges of ranks: there is no range");
    }
}
