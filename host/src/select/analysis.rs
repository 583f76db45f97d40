//! The properties of a matrix that matter for formats and kernels.

use serde::{Deserialize, Serialize};

use super::fill::{BlockFill, fills};
use super::lengths::{Lengths, RowSums, pass};
use super::locality::Locality;
use super::pattern::Pattern;
use super::sample::{Sampling, places, sample};
use crate::error::Error;
use crate::format::{BlockSize, Clusters, Csr, NarrowType, Widening, dia_bytes, narrow, occupied_diagonals};
use crate::memory::{reserve, with_capacity};
use crate::parallel;
use crate::real::Scalar;

/// Multiple of CSR's bytes beyond which DIA is ruled out: it saves column indices, at most half of those bytes, but
/// reads its padding.
const DIA_TIMES_CSR: u128 = 2;

/// Rows whose diagonals are sampled first, and about how many of their entries: irregular rows have far more diagonals than
/// DIA can handle.
const ROWS_OF_DIAGONALS: usize = 64;
const ENTRIES_OF_DIAGONALS: usize = 1 << 13;

/// The properties of a matrix that follow from one pass over its row offsets and a sample of its entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of stored entries.
    pub nnz: usize,
    /// Bytes per value: 4, 8 or 16.
    pub value_bytes: usize,
    /// Whether values are complex.
    #[serde(default)]
    pub complex: bool,
    /// Bytes per row offset in CSR.
    pub offset_bytes: usize,
    /// Lengths of rows. Exact.
    pub lengths: Lengths,
    /// Sums over neighbouring rows. Exact.
    pub sums: RowSums,
    /// The occupied diagonals.
    pub diagonals: Diagonals,
    /// How full blocks of each size would be, in the order of [`BlockSize::ALL`].
    pub fills: Vec<BlockFill>,
    /// The locality of columns.
    pub locality: Locality,
    /// How much wider slices of SELL-16 are than those of SELL-P; the maximum in a description read from a file without
    /// it.
    #[serde(default)]
    pub widening: Widening,
    /// Properties of parts of rows that share columns; `None` if unknown.
    #[serde(default)]
    pub clusters: Option<Clusters>,
    /// The narrowest type that preserves the bits of the sampled values; `None` if there is none, or it is unknown. A
    /// plan checks the other values before it stores them in this type.
    #[serde(default)]
    pub narrow: Option<NarrowType>,
}

/// Number of occupied diagonals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagonals {
    /// The number, or a lower bound if it is not exact.
    pub count: usize,
    /// Whether all were counted, which is not done if DIA is ruled out by a sample of the rows.
    pub exact: bool,
}

impl Analysis {
    /// Reads all row offsets and about 1 % of the entries; reads all entries to count diagonals if there are so few
    /// that DIA may be of use. Runs in parallel.
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
        let (of_pattern, (clusters, narrow)) = parallel::join(
            || Self::of_pattern(matrix, sampling),
            || parallel::join(|| Clusters::new(matrix, sampling), || narrowest(matrix.values(), sampling)),
        );
        Ok(Self { clusters: clusters?, narrow: narrow?, ..of_pattern? })
    }

    /// What follows from the pattern, without parts of rows that share columns.
    pub(super) fn of_pattern<T: Scalar>(matrix: &Csr<T>, sampling: Sampling) -> Result<Self, Error> {
        let count = || Ok(occupied_diagonals(matrix)?.len());
        let (diagonals, others) = parallel::join(
            || Diagonals::new::<T>(matrix, sampling, count),
            || Self::without_diagonals::<T>(matrix, sampling),
        );
        Ok(Self { diagonals: diagonals?, ..others? })
    }

    /// [`of_pattern`](Self::of_pattern), but for the diagonals.
    pub(super) fn without_diagonals<T: Scalar>(matrix: &impl Pattern, sampling: Sampling) -> Result<Self, Error> {
        let (passed, (fills, (locality, widening))) = parallel::join(
            || pass(matrix.row_offsets()),
            || {
                parallel::join(
                    || fills(matrix, sampling),
                    || parallel::join(|| Locality::new::<T>(matrix, sampling), || Widening::new(matrix, sampling)),
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
            diagonals: Diagonals { count: 0, exact: false },
            fills: fills?,
            locality: locality?,
            widening: widening?,
            clusters: None,
            narrow: None,
        })
    }

    /// How full blocks of this size would be; `None` only in a description read from a file without it.
    pub fn fill(&self, size: BlockSize) -> Option<&BlockFill> {
        self.fills.iter().find(|fill| (fill.block_height, fill.block_width) == (size.rows(), size.columns()))
    }

    /// The type whose calibration predicts times, "float32" or "float64": that of the values, or the real type nearest in
    /// size.
    pub fn precision(&self) -> &'static str {
        if self.value_bytes == size_of::<f32>() { f32::NAME } else { f64::NAME }
    }

    /// Mean number of entries per row; 0 without rows.
    pub fn mean(&self) -> f64 {
        self.nnz as f64 / self.rows.max(1) as f64
    }
}

/// The bytes of the matrix in CSR.
fn csr_bytes<T>(matrix: &impl Pattern) -> u128 {
    matrix.row_offsets().bytes() + matrix.nnz() as u128 * (size_of::<u32>() + size_of::<T>()) as u128
}

/// Consecutive values per sample.
const RUN: usize = 16;

/// The narrowest type that preserves the bits of the values of a sample.
pub(super) fn narrowest<T: Scalar>(values: &[T], sampling: Sampling) -> Result<Option<NarrowType>, Error> {
    let runs = sample(values.len().div_ceil(RUN), values.len(), sampling);
    let mut looked_at = with_capacity(runs.len() * RUN)?;
    for run in runs {
        looked_at.extend_from_slice(&values[run * RUN..values.len().min((run + 1) * RUN)]);
    }
    narrow::narrowest(&looked_at)
}

impl Diagonals {
    /// Counts those of some rows and, unless they rule DIA out, all of them by `count`.
    pub(super) fn new<T: Scalar>(
        matrix: &impl Pattern,
        sampling: Sampling,
        count: impl FnOnce() -> Result<usize, Error>,
    ) -> Result<Self, Error> {
        let mut seen: Vec<i64> = Vec::new();
        for row in Self::rows_looked_at(matrix) {
            let columns = matrix.columns_of_row(row);
            reserve(&mut seen, columns.len())?;
            seen.extend(columns.iter().map(|&column| i64::from(column) - row as i64));
        }
        seen.sort_unstable();
        seen.dedup();
        let least = dia_bytes::<T>(matrix.rows(), seen.len());
        if sampling == Sampling::Part && least > DIA_TIMES_CSR * csr_bytes::<T>(matrix) {
            return Ok(Self { count: seen.len(), exact: false });
        }
        Ok(Self { count: count()?, exact: true })
    }

    /// The rows whose diagonals are sampled first.
    pub(super) fn rows_looked_at<P: Pattern>(matrix: &P) -> impl ExactSizeIterator<Item = usize> + use<P> {
        let mean = matrix.nnz() / matrix.rows().max(1);
        places(matrix.rows(), (ENTRIES_OF_DIAGONALS / (mean + 1)).clamp(2, ROWS_OF_DIAGONALS))
    }
}
