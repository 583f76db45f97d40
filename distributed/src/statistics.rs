//! What dividing a matrix among ranks means for each of them.

use std::ops::Range;

use host::memory::{reserve, with_capacity};
use host::{Csr, Scalar, parallel};

use crate::error::Error;
use crate::matrix::Distribution;

/// A rank's part of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its rows.
    pub rows: u64,
    /// Their entries.
    pub nnz: u64,
    /// Those of them in columns of other ranks.
    pub remote_nnz: u64,
    /// Elements of x that come from other ranks for a product.
    pub halo: u64,
    /// The ranks that they come from.
    pub neighbours: u64,
}

/// Columns that room is made for at a time.
const AT_ONCE: usize = 1 << 16;

/// Leaves one of each.
fn distinct(columns: &mut Vec<u32>) {
    parallel::sort_unstable_by(columns, u32::cmp);
    columns.dedup();
}

/// The parts of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// In the order of the ranks.
    pub parts: Vec<Part>,
}

impl Statistics {
    /// Those of a matrix that is there as a whole. O(nnz log(halo)), one rank after the other, each in memory for a few
    /// times the columns of others that it has entries in.
    ///
    /// ```
    /// use host::Csr;
    /// use warp_spmv_distributed::{Distribution, Ranges, Statistics};
    ///
    /// # fn main() -> Result<(), warp_spmv_distributed::Error> {
    /// let matrix = Csr::try_from_triplets(4, 4, &[0, 1, 2, 3], &[0, 0, 1, 0], &[1.0; 4])?;
    /// let distribution = Distribution::square(Ranges::even(4, 2)?);
    /// let statistics = Statistics::new(&matrix, &distribution)?;
    /// assert_eq!((statistics.parts[1].remote_nnz, statistics.volume()), (2, 2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the distribution is that of another shape, or memory runs out.
    pub fn new<T: Scalar>(matrix: &Csr<T>, distribution: &Distribution) -> Result<Self, Error> {
        let Distribution { rows, columns } = distribution;
        for (what, ranges, length) in [("rows", rows, matrix.rows()), ("columns", columns, matrix.columns())] {
            if ranges.total() != length as u64 || ranges.ranks() != rows.ranks() {
                let reason = format!("{} {what} for {} ranks, of {length}", ranges.total(), ranges.ranks());
                return Err(Error::Ranges { what, reason });
            }
        }
        Self::of_rows(distribution, |rows, visit| {
            rows.for_each(|row| visit(&mut matrix.row(row as usize).map(|(column, _)| column)));
            Ok(())
        })
    }

    /// Those of a matrix of which some rows can be had at a time, with all its columns: `part` gets their numbers. One rank
    /// after the other, each in as much memory as [`new`](Self::new) takes and that of so many rows at a time.
    ///
    /// ```
    /// use synthetic::Generator;
    /// use warp_spmv_distributed::{Distribution, Ranges, Statistics};
    ///
    /// # fn main() -> Result<(), warp_spmv_distributed::Error> {
    /// let generator: Generator = "stencil:7:20".parse().expect("it is one");
    /// let distribution = Distribution::square(Ranges::even(8000, 4)?);
    /// let statistics = Statistics::by_ranges(&distribution, 100, |rows| {
    ///     let rows = rows.start as usize..rows.end as usize;
    ///     Ok(generator.generate_rows::<f32>(rows).expect("it is small"))
    /// })?;
    /// // Each of the ranks in the middle has five of the layers, and needs one on each side.
    /// assert_eq!((statistics.parts[1].nnz, statistics.parts[1].halo), (5 * (7 * 400 - 4 * 20), 800));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the rows have another shape than they should, `part` fails, or memory runs out.
    pub fn by_ranges<T: Scalar>(
        distribution: &Distribution,
        rows_at_once: u64,
        mut part: impl FnMut(Range<u64>) -> Result<Csr<T>, Error>,
    ) -> Result<Self, Error> {
        let columns = distribution.columns.total();
        Self::of_rows(distribution, |rows, visit| {
            let mut begin = rows.start;
            while begin < rows.end {
                let end = rows.end.min(begin.saturating_add(rows_at_once.max(1)));
                let matrix = part(begin..end)?;
                if (matrix.rows() as u64, matrix.columns() as u64) != (end - begin, columns) {
                    let reason =
                        format!("{} x {}, expected {} x {columns}", matrix.rows(), matrix.columns(), end - begin);
                    return Err(Error::Ranges { what: "rows", reason });
                }
                (0..matrix.rows()).for_each(|row| visit(&mut matrix.row(row).map(|(column, _)| column)));
                begin = end;
            }
            Ok(())
        })
    }

    /// Those of a matrix of which `each_row` shows the columns of each of some rows.
    fn of_rows(
        Distribution { rows, columns }: &Distribution,
        mut each_row: impl FnMut(Range<u64>, &mut dyn FnMut(&mut dyn Iterator<Item = u32>)) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut parts = with_capacity(rows.ranks())?;
        for rank in 0..rows.ranks() {
            let (own_rows, own) = (rows.of(rank), columns.of(rank));
            let mut part = Part { rows: own_rows.end - own_rows.start, ..Part::default() };
            let (mut needed, mut failed) = (Vec::<u32>::new(), Ok(()));
            let mut sorted = 0;
            each_row(own_rows, &mut |row| {
                for column in row {
                    part.nnz += 1;
                    if own.contains(&u64::from(column)) {
                        continue;
                    }
                    part.remote_nnz += 1;
                    // Those that come again and again do not pile up.
                    if needed.len() == needed.capacity() {
                        if needed.len() >= 2 * sorted.max(AT_ONCE) {
                            distinct(&mut needed);
                            sorted = needed.len();
                        }
                        if let Err(error) = reserve(&mut needed, AT_ONCE) {
                            failed = Err(error);
                            return;
                        }
                    }
                    needed.push(column);
                }
            })?;
            failed?;
            distinct(&mut needed);
            let owners = needed.iter().map(|&column| columns.owner(column.into()));
            owners.fold(None, |before, owner| {
                part.neighbours += u64::from(before != Some(owner));
                Some(owner)
            });
            part.halo = needed.len() as u64;
            parts.push(part);
        }
        Ok(Self { parts })
    }

    /// Elements of x that go from a rank to another for a product.
    pub fn volume(&self) -> u64 {
        self.parts.iter().map(|part| part.halo).sum()
    }

    /// The most elements that come to one rank.
    pub fn largest_halo(&self) -> u64 {
        self.parts.iter().map(|part| part.halo).max().unwrap_or(0)
    }

    /// The most entries of a rank over their mean: 1 where all have the same, and where there are none.
    pub fn imbalance(&self) -> f64 {
        let (most, all) =
            (self.parts.iter().map(|part| part.nnz).max(), self.parts.iter().map(|part| part.nnz).sum::<u64>());
        match most {
            Some(most) if all > 0 => most as f64 * self.parts.len() as f64 / all as f64,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::Ranges;

    #[test]
    fn each_column_counts_once_for_each_rank_that_needs_it() {
        // Rows 0 and 1 | 2 | 3; columns 0 | nothing | 1, 2, 3 and 4.
        let rows = [0, 0, 1, 1, 2, 2, 2, 3];
        let columns = [0, 3, 3, 4, 0, 1, 1, 4];
        let matrix = Csr::try_from_triplets(4, 5, &rows, &columns, &[1.0; 8]).unwrap();
        let distribution = Distribution {
            rows: Ranges::try_new(vec![0, 2, 3, 4]).unwrap(),
            columns: Ranges::try_new(vec![0, 1, 1, 5]).unwrap(),
        };
        let statistics = Statistics::new(&matrix, &distribution).unwrap();
        // Entries that come twice are one.
        let expected = [
            Part { rows: 2, nnz: 4, remote_nnz: 3, halo: 2, neighbours: 1 },
            Part { rows: 1, nnz: 2, remote_nnz: 2, halo: 2, neighbours: 2 },
            Part { rows: 1, nnz: 1, remote_nnz: 0, halo: 0, neighbours: 0 },
        ];
        assert_eq!(statistics.parts, expected);
        assert_eq!((statistics.volume(), statistics.largest_halo()), (4, 2));
        assert!((statistics.imbalance() - 12.0 / 7.0).abs() < 1e-15);
        let other = Distribution::square(Ranges::even(4, 3).unwrap());
        let error = Statistics::new(&matrix, &other).unwrap_err().to_string();
        assert_eq!(error, "ranges of columns: 4 columns for 3 ranks, of 5");
    }
}
