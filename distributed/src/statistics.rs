//! What dividing a matrix among ranks means for each of them.

use host::memory::{with_capacity, zeros};
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

/// The parts of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// In the order of the ranks.
    pub parts: Vec<Part>,
}

impl Statistics {
    /// Those of a matrix that is there as a whole. O(nnz log(halo)), one rank after the other, each in as much memory as it has
    /// entries in columns of others.
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
        let mut parts = with_capacity(rows.ranks())?;
        for rank in 0..rows.ranks() {
            let (own_rows, own) = (rows.of(rank), columns.of(rank));
            let remote = |row: u64| {
                let columns = matrix.row(row as usize).map(|(column, _)| u64::from(column));
                columns.filter(|column| !own.contains(column))
            };
            let count = own_rows.clone().map(|row| remote(row).count()).sum();
            let mut needed = zeros::<u64>(count)?;
            needed.iter_mut().zip(own_rows.clone().flat_map(remote)).for_each(|(place, column)| *place = column);
            parallel::sort_unstable_by(&mut needed, u64::cmp);
            needed.dedup();
            let owners = needed.iter().map(|&column| columns.owner(column));
            let mut neighbours = 0;
            owners.fold(None, |before, owner| {
                neighbours += u64::from(before != Some(owner));
                Some(owner)
            });
            parts.push(Part {
                rows: own_rows.end - own_rows.start,
                nnz: own_rows.map(|row| matrix.range(row as usize).len() as u64).sum(),
                remote_nnz: count as u64,
                halo: needed.len() as u64,
                neighbours,
            });
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
