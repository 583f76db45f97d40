//! What a matrix is like, as far as formats and kernels care.

use serde::{Deserialize, Serialize};

use super::fill::{BlockFill, fills};
use super::lengths::{Lengths, RowSums, pass};
use super::locality::Locality;
use super::sample::{Sampling, places, sample};
use crate::error::Error;
use crate::format::{BlockSize, Clusters, Csr, NarrowType, Widening, dia_bytes, narrow, occupied_diagonals};
use crate::memory::{reserve, with_capacity};
use crate::parallel;
use crate::real::Scalar;

/// Times the bytes of CSR from which on DIA is out of the question: it saves column indices, which are half of them at
/// the most, and reads its padding.
const DIA_TIMES_CSR: u128 = 2;

/// Rows whose diagonals are looked at first, and about how many entries of them: irregular rows have many more diagonals
/// than DIA can do with.
const ROWS_OF_DIAGONALS: usize = 64;
const ENTRIES_OF_DIAGONALS: usize = 1 << 13;

/// What is known of a matrix after one pass over its row offsets and a look at some of its entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of stored entries.
    pub nnz: usize,
    /// Bytes of a value: 4, 8 or 16.
    pub value_bytes: usize,
    /// Whether values are complex.
    #[serde(default)]
    pub complex: bool,
    /// Bytes of a row offset in CSR.
    pub offset_bytes: usize,
    /// How long rows are. Exact.
    pub lengths: Lengths,
    /// What neighbouring rows amount to. Exact.
    pub sums: RowSums,
    /// The occupied diagonals.
    pub diagonals: Diagonals,
    /// How full blocks of each size would be, in the order of [`BlockSize::ALL`].
    pub fills: Vec<BlockFill>,
    /// Where columns are.
    pub locality: Locality,
    /// How much wider slices of SELL-16 are than those of SELL-P; the most in a description that was read from a file
    /// without it.
    #[serde(default)]
    pub widening: Widening,
    /// What parts of rows that share columns are like; none where that is not known.
    #[serde(default)]
    pub clusters: Option<Clusters>,
    /// The narrowest type that keeps the bits of the values that were looked at; none where there is none, or it is not
    /// known. A plan looks at the others before it stores them so.
    #[serde(default)]
    pub narrow: Option<NarrowType>,
}

/// How many diagonals have entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagonals {
    /// The number, or less where it is not exact.
    pub count: usize,
    /// Whether all were counted. Where DIA is out of the question after a look at some rows, they are not.
    pub exact: bool,
}

impl Analysis {
    /// Looks at all row offsets and at about 1 % of the entries; at all of them to count diagonals where there are so
    /// few that DIA may be of use. In parallel.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new<T: Scalar>(matrix: &Csr<T>) -> Result<Self, Error> {
        Self::with_sampling(matrix, Sampling::Part)
    }

    /// [`new`](Self::new) with another sample.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn with_sampling<T: Scalar>(matrix: &Csr<T>, sampling: Sampling) -> Result<Self, Error> {
        let (passed, (diagonals, (fills, (locality, (widening, (clusters, narrow)))))) = parallel::join(
            || pass(matrix.row_offsets()),
            || {
                parallel::join(
                    || Diagonals::new(matrix, sampling),
                    || {
                        parallel::join(
                            || fills(matrix, sampling),
                            || {
                                parallel::join(
                                    || Locality::new(matrix, sampling),
                                    || {
                                        parallel::join(
                                            || Widening::new(matrix, sampling),
                                            || {
                                                parallel::join(
                                                    || Clusters::new(matrix, sampling),
                                                    || narrowest(matrix.values(), sampling),
                                                )
                                            },
                                        )
                                    },
                                )
                            },
                        )
                    },
                )
            },
        );
        let (lengths, sums) = passed?;
        Ok(Self {
            rows: matrix.rows(),
            columns: matrix.columns(),
            nnz: matrix.nnz(),
            value_bytes: size_of::<T>(),
            complex: T::COMPLEX,
            offset_bytes: matrix.row_offsets().width(),
            lengths,
            sums,
            diagonals: diagonals?,
            fills: fills?,
            locality: locality?,
            widening: widening?,
            clusters: clusters?,
            narrow: narrow?,
        })
    }

    /// How full blocks of this size would be; none only in a description that was read from a file without it.
    pub fn fill(&self, size: BlockSize) -> Option<&BlockFill> {
        self.fills.iter().find(|fill| (fill.block_height, fill.block_width) == (size.rows(), size.columns()))
    }

    /// The type by whose calibration times are predicted, "float32" or "float64": that of the values, or of the real ones
    /// that come nearest in bytes.
    pub fn precision(&self) -> &'static str {
        if self.value_bytes == size_of::<f32>() { f32::NAME } else { f64::NAME }
    }

    /// Mean number of entries of a row; 0 without rows.
    pub fn mean(&self) -> f64 {
        self.nnz as f64 / self.rows.max(1) as f64
    }
}

/// Neighbouring values that are looked at.
const RUN: usize = 16;

/// The narrowest type that keeps the bits of the values of a sample.
fn narrowest<T: Scalar>(values: &[T], sampling: Sampling) -> Result<Option<NarrowType>, Error> {
    let runs = sample(values.len().div_ceil(RUN), values.len(), sampling);
    let mut looked_at = with_capacity(runs.len() * RUN)?;
    for run in runs {
        looked_at.extend_from_slice(&values[run * RUN..values.len().min((run + 1) * RUN)]);
    }
    narrow::narrowest(&looked_at)
}

impl Diagonals {
    fn new<T: Scalar>(matrix: &Csr<T>, sampling: Sampling) -> Result<Self, Error> {
        let mut seen: Vec<i64> = Vec::new();
        let mean = matrix.nnz() / matrix.rows().max(1);
        let rows = (ENTRIES_OF_DIAGONALS / (mean + 1)).clamp(2, ROWS_OF_DIAGONALS);
        for row in places(matrix.rows(), rows) {
            let columns = &matrix.column_indices()[matrix.range(row)];
            reserve(&mut seen, columns.len())?;
            seen.extend(columns.iter().map(|&column| i64::from(column) - row as i64));
        }
        seen.sort_unstable();
        seen.dedup();
        let least = dia_bytes::<T>(matrix.rows(), seen.len());
        if sampling == Sampling::Part && least > DIA_TIMES_CSR * matrix.bytes() {
            return Ok(Self { count: seen.len(), exact: false });
        }
        Ok(Self { count: occupied_diagonals(matrix)?.len(), exact: true })
    }
}
