//! Statistics of dividing a matrix among ranks.

use std::ops::Range;
use std::slice;

use host::memory::with_capacity;
use host::{Csr, Scalar, parallel};

use crate::division::{Division, count};
use crate::error::Error;
use crate::matrix::Distribution;
use crate::remote::are_few;
use crate::source::{Blocks, RowSource};

/// A rank's part of a matrix, and the elements that it receives and sends for a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Number of rows.
    pub rows: u64,
    /// Number of entries.
    pub nnz: u64,
    /// Entries in columns of other ranks.
    pub remote_nnz: u64,
    /// Rows with such an entry.
    pub remote_rows: u64,
    /// Elements of x received from other ranks for a product.
    pub halo: u64,
    /// Number of ranks that they are received from.
    pub neighbours: u64,
    /// Largest number of elements received from one rank.
    pub largest_message: u64,
    /// Elements of x sent to other ranks: one that is sent to two counts twice.
    pub sent: u64,
    /// Number of ranks that they are sent to.
    pub receivers: u64,
}

impl Part {
    /// Whether the product with received elements runs beside the local one, because few rows need them.
    pub fn multiplies_beside(&self) -> bool {
        are_few(self.remote_rows, self.rows)
    }
}

/// Elements of x sent from one rank to another for a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank that owns them.
    pub from: u32,
    /// The rank that needs them.
    pub to: u32,
    /// Number of elements, at least 1.
    pub elements: u64,
}

/// The parts of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// In rank order.
    pub parts: Vec<Part>,
    /// Ordered by receiving rank, then by sending rank.
    pub messages: Vec<Message>,
}

impl Statistics {
    /// Computes the statistics of a whole matrix in memory. O(nnz), in parallel; see [`of_rows`](Self::of_rows).
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
    /// When the distribution does not match the shape, or memory runs out.
    pub fn new<T: Scalar>(matrix: &Csr<T>, distribution: &Distribution) -> Result<Self, Error> {
        Ok(Self::of_rows(matrix, slice::from_ref(distribution))?.remove(0))
    }

    /// Computes the statistics of a matrix whose rows are generated range by range, for each of some distributions; all
    /// rows are requested once. In parallel; each thread holds the rows that the source returns at once and, for each
    /// distribution, the columns that one rank or a few need from others, at most a bit per column of the matrix.
    ///
    /// # Errors
    /// When a distribution does not match the shape, the rows cannot be generated, a row has an entry past the last column,
    /// or memory runs out.
    pub fn of_rows(source: &dyn RowSource, distributions: &[Distribution]) -> Result<Vec<Self>, Error> {
        let blocks = Blocks::new(source);
        let mut divisions = with_capacity(distributions.len())?;
        for distribution in distributions {
            divisions.push(Division::new(source, &blocks, distribution)?);
        }
        let failure =
            |mut range: Range<usize>| range.find_map(|block| count(source, blocks.of(block), &divisions).err());
        if let Some(error) = parallel::first(blocks.count(), 1, &failure) {
            return Err(error);
        }
        divisions.into_iter().map(Division::finish).collect()
    }

    /// Returns the total number of elements of x sent between ranks for a product.
    pub fn volume(&self) -> u64 {
        self.parts.iter().map(|part| part.halo).sum()
    }

    /// Returns the largest number of elements received by one rank.
    pub fn largest_halo(&self) -> u64 {
        self.parts.iter().map(|part| part.halo).max().unwrap_or(0)
    }

    /// Returns the ratio of the largest number of entries of a rank to the mean: 1 if all are equal, or without entries.
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::ranges::Ranges;
    use crate::source::tests::Slowly;

    #[test]
    fn each_column_counts_once_for_each_rank_that_needs_it() {
        // Rows 0 and 1 | 2 | 3; columns 0 | none | 1, 2, 3 and 4.
        let rows = [0, 0, 1, 1, 2, 2, 2, 3];
        let columns = [0, 3, 3, 4, 0, 1, 1, 4];
        let matrix = Csr::try_from_triplets(4, 5, &rows, &columns, &[1.0; 8]).unwrap();
        let distribution = Distribution {
            rows: Ranges::try_new(vec![0, 2, 3, 4]).unwrap(),
            columns: Ranges::try_new(vec![0, 1, 1, 5]).unwrap(),
        };
        let statistics = Statistics::new(&matrix, &distribution).unwrap();
        // Duplicate entries count once.
        let received = [(2, 4, 3, 2, 2, 1, 2), (1, 2, 2, 1, 2, 2, 1), (1, 1, 0, 0, 0, 0, 0)];
        let parts = received.map(|(rows, nnz, remote_nnz, remote_rows, halo, neighbours, largest_message)| Part {
            rows,
            nnz,
            remote_nnz,
            remote_rows,
            halo,
            neighbours,
            largest_message,
            ..Part::default()
        });
        let sent = [(1, 1), (0, 0), (3, 2)];
        let expected: Vec<_> =
            parts.into_iter().zip(sent).map(|(part, (sent, receivers))| Part { sent, receivers, ..part }).collect();
        assert_eq!(statistics.parts, expected);
        let messages = [(2, 0, 2), (0, 1, 1), (2, 1, 1)];
        assert_eq!(statistics.messages, messages.map(|(from, to, elements)| Message { from, to, elements }));
        assert_eq!((statistics.volume(), statistics.largest_halo()), (4, 2));
        assert!((statistics.imbalance() - 12.0 / 7.0).abs() < 1e-15);
        let other = Distribution::square(Ranges::even(4, 3).unwrap());
        let error = Statistics::new(&matrix, &other).unwrap_err().to_string();
        assert_eq!(error, "ranges of columns: 4 columns for 3 ranks, of 5");
    }

    /// The same statistics from the sets of columns that the ranks need from each other.
    fn naive(matrix: &Csr<f64>, distribution: &Distribution) -> Statistics {
        let ranks = distribution.rows.ranks();
        let mut parts = vec![Part::default(); ranks];
        let mut needed = vec![vec![BTreeSet::new(); ranks]; ranks];
        for (rank, part) in parts.iter_mut().enumerate() {
            for row in distribution.rows.of(rank) {
                let owners: Vec<_> = matrix
                    .row(row as usize)
                    .map(|(column, _)| (column, distribution.columns.owner(column.into())))
                    .collect();
                let remote: Vec<_> = owners.iter().filter(|&&(_, owner)| owner != rank).collect();
                part.rows += 1;
                part.nnz += owners.len() as u64;
                part.remote_nnz += remote.len() as u64;
                part.remote_rows += u64::from(!remote.is_empty());
                remote.iter().for_each(|&&(column, owner)| {
                    needed[rank][owner].insert(column);
                });
            }
        }
        let mut messages = Vec::new();
        for (to, of_rank) in needed.iter().enumerate() {
            for (from, columns) in of_rank.iter().enumerate() {
                let elements = columns.len() as u64;
                if elements > 0 {
                    messages.push(Message { from: from as u32, to: to as u32, elements });
                    parts[to].halo += elements;
                    parts[to].neighbours += 1;
                    parts[to].largest_message = parts[to].largest_message.max(elements);
                    parts[from].sent += elements;
                    parts[from].receivers += 1;
                }
            }
        }
        Statistics { parts, messages }
    }

    /// A matrix with empty rows, long ones and bands, by a scrambled counter.
    fn scattered(rows: usize, columns: usize) -> Csr<f64> {
        let (mut triplets, mut state) = (Vec::new(), 1_u64);
        for row in 0..rows {
            let length = if row.is_multiple_of(7) {
                0
            } else if row % 31 == 5 {
                40
            } else {
                row % 5
            };
            for place in 0..length {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let column = match place % 2 {
                    0 => (state >> 33) as usize % columns,
                    _ => (row * columns / rows + place).min(columns - 1),
                };
                triplets.push((row as u32, column as u32));
            }
        }
        let (rows_of, columns_of): (Vec<_>, Vec<_>) = triplets.into_iter().unzip();
        Csr::try_from_triplets(rows, columns, &rows_of, &columns_of, &vec![1.0; rows_of.len()]).unwrap()
    }

    #[test]
    fn rows_that_come_range_by_range_are_counted_as_those_of_the_whole() {
        for (rows, columns) in [(300, 300), (100, 70_000), (90, 13)] {
            let matrix = scattered(rows, columns);
            // Some are nested, some are not, one has ranks without rows.
            let divided = |ranks: usize| {
                let rows = Ranges::balanced(matrix.row_lengths(), ranks).unwrap();
                match RowSource::rows(&matrix) == RowSource::columns(&matrix) {
                    true => Distribution::square(rows),
                    false => Distribution { rows, columns: Ranges::even(columns as u64, ranks).unwrap() },
                }
            };
            let distributions = [1, 2, 3, 4, 8, 64, 500].map(divided);
            let expected: Vec<_> = distributions.iter().map(|distribution| naive(&matrix, distribution)).collect();
            for at_once in [1, 3, 64, 1000] {
                let found = Statistics::of_rows(&Slowly(&matrix, at_once), &distributions).unwrap();
                assert!(found == expected, "{rows} x {columns}, {at_once} rows at once");
            }
            assert_eq!(expected[0].volume(), 0);
            for (distribution, expected) in distributions.iter().zip(&expected) {
                assert_eq!(Statistics::new(&matrix, distribution).unwrap(), *expected);
            }
        }
        let nothing = Csr::<f64>::try_from_triplets(0, 5, &[], &[], &[]).unwrap();
        let distribution = Distribution { rows: Ranges::even(0, 2).unwrap(), columns: Ranges::even(5, 2).unwrap() };
        assert_eq!(Statistics::new(&nothing, &distribution).unwrap().parts, [Part::default(); 2]);
        assert!(Statistics::of_rows(&nothing, &[]).unwrap().is_empty());
    }

    /// A source that misstates its number of columns, and fails in a late row.
    struct Wrong {
        fails: bool,
    }

    impl RowSource for Wrong {
        fn rows(&self) -> u64 {
            10
        }

        fn columns(&self) -> u64 {
            10
        }

        fn rows_at_once(&self) -> u64 {
            4
        }

        fn visit(&self, rows: Range<u64>, visit: &mut dyn FnMut(&[u32])) -> Result<(), Error> {
            for row in rows {
                if self.fails && row == 9 {
                    return Err(Error::Rows { row, reason: "is not there".into() });
                }
                visit(if row == 6 && !self.fails { &[2, 10] } else { &[3] });
            }
            Ok(())
        }
    }

    #[test]
    fn sources_that_fail_or_are_wrong() {
        let distribution = [Distribution::square(Ranges::even(10, 2).unwrap())];
        for (fails, expected) in [(true, "row 9: is not there"), (false, "row 6: column 10 of 10")] {
            let error = Statistics::of_rows(&Wrong { fails }, &distribution).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let error = Ranges::balanced_from(&Wrong { fails: true }, &[2]).unwrap_err();
        assert_eq!(error.to_string(), "row 9: is not there");
    }
}
