//! Estimates of the parts of rows that share columns.

use gpu_kernels::clustered::NO_ROW;
use serde::{Deserialize, Serialize};

use super::parts::{Kept, Parts};
use super::{PartSize, ROWS, bytes_of, slice_begins};
use crate::error::Error;
use crate::format::{Csr, clustered_symmetric};
use crate::memory::{copy, same_bits};
use crate::parallel;
use crate::real::Scalar;
use crate::select::Analysis;
use crate::select::locality::SECTOR_BYTES;
use crate::select::sample::{Sampling, places};

/// Parts that are grown as samples.
const SAMPLES: usize = 4;

/// Largest number of rows per part whose entries are searched for images.
const ROWS_FOR_PAIRS: usize = 256;

/// Largest number of entries of a row that are searched for an image.
const MOST_SEARCHED: usize = 1 << 10;

/// The parts of a clustered matrix of [`PartSize::DEFAULT`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// Bytes of the arrays.
    pub bytes: f64,
    /// Total number of columns of all parts.
    pub columns: f64,
    /// Sectors of x that hold these columns.
    pub sectors: f64,
    /// Total width of all slices.
    pub width: f64,
    /// Entries that have an equal one on the other side of the diagonal in the same part; both of a pair count.
    #[serde(default)]
    pub pairs: f64,
    /// Bytes of the arrays in which each pair is stored once, if all parts were examined.
    #[serde(default)]
    pub symmetric_bytes: Option<f64>,
    /// Whether all parts were examined.
    pub exact: bool,
}

impl Clusters {
    /// Grows some parts, or all; returns `None` if a row does not fit into a part, or if sampling a matrix that is not
    /// square, because that takes its transpose.
    ///
    /// # Errors
    /// When memory runs out.
    pub(crate) fn new<T: Scalar>(matrix: &Csr<T>, sampling: Sampling) -> Result<Option<Self>, Error> {
        let (size, value_bytes) = (PartSize::DEFAULT, size_of::<T>());
        let parts = match sampling {
            Sampling::Everything => Parts::new(matrix, size, value_bytes, Kept::Columns),
            Sampling::Part if matrix.rows() == matrix.columns() => {
                Parts::from_rows(matrix, size, value_bytes, places(matrix.rows(), SAMPLES))
            }
            Sampling::Part => return Ok(None),
        };
        let parts = match parts {
            Err(Error::TooLarge { .. }) => return Ok(None),
            parts => parts?,
        };
        let begins = slice_begins(matrix, &parts)?;
        let width = begins.last().copied().unwrap_or_default();
        let rows = parts.row_numbers.iter().filter(|&&row| row != NO_ROW);
        let seen: usize = rows.clone().map(|&row| matrix.range(row as usize).len()).sum();
        // Scales by entries, or by rows if the parts have no entries.
        let times = match (seen, rows.count()) {
            (0, 0) => 1.0,
            (0, seen) => matrix.rows() as f64 / seen as f64,
            (seen, _) => matrix.nnz() as f64 / seen as f64,
        };
        let in_sector = SECTOR_BYTES / value_bytes;
        let of_part = |columns: &[u32]| {
            columns.chunk_by(|&left, &right| left as usize / in_sector == right as usize / in_sector).count()
        };
        let sectors: usize = (0..parts.count()).map(|part| of_part(parts.of(part).1)).sum();
        let pairs = match matrix.rows() == matrix.columns() {
            true => {
                let most_rows = if sampling == Sampling::Everything { usize::MAX } else { ROWS_FOR_PAIRS };
                let of_parts = parallel::map(parts.count(), 1, &|part| pairs_of(matrix, parts.of(part).0, most_rows))?;
                of_parts.into_iter().sum::<Result<f64, _>>()?
            }
            false => 0.0,
        };
        // Grown from another row, several parts would differ.
        let exact = sampling == Sampling::Everything || parts.count() <= 1 && seen == matrix.nnz();
        Ok(Some(Self {
            bytes: bytes_of::<T>(&parts, width) as f64 * times,
            columns: parts.column_numbers.len() as f64 * times,
            sectors: sectors as f64 * times,
            width: width as f64 * times,
            pairs: pairs * times,
            symmetric_bytes: match sampling {
                Sampling::Everything => clustered_symmetric::bytes_if_possible(matrix)?.map(|bytes| bytes as f64),
                Sampling::Part => None,
            },
            exact,
        }))
    }

    /// Returns clusters that those of a square matrix cannot surpass: all entries in rows of the same columns, no padding, and
    /// each entry with an equal one across the diagonal.
    pub(crate) fn at_best(analysis: &Analysis) -> Self {
        let entries = analysis.nnz as f64;
        Self {
            bytes: entries * (2 + analysis.value_bytes) as f64,
            columns: 0.0,
            sectors: 0.0,
            width: entries / ROWS as f64,
            pairs: entries,
            symmetric_bytes: None,
            exact: false,
        }
    }

    /// Returns the number of slots for entries.
    pub(crate) fn places(self) -> f64 {
        self.width * ROWS as f64
    }
}

/// Estimates how many entries of the rows of a part have an image among these, by examining some or all of the rows;
/// images in rows too long to search do not count.
fn pairs_of<T: Scalar>(matrix: &Csr<T>, row_numbers: &[u32], most_rows: usize) -> Result<f64, Error> {
    let mut rows = copy(row_numbers)?;
    rows.retain(|&row| row != NO_ROW);
    rows.sort_unstable();
    let has_image = |row: u32, (column, value): (u32, T)| {
        column != row
            && rows.binary_search(&column).is_ok()
            && matrix.range(column as usize).len() <= MOST_SEARCHED
            && matrix.row(column as usize).any(|(other, image)| other == row && same_bits(&[image], &[value]))
    };
    let (mut pairs, mut looked_at) = (0, 0);
    for row in places(rows.len(), most_rows).map(|number| rows[number]) {
        pairs += matrix.row(row as usize).filter(|&entry| has_image(row, entry)).count();
        looked_at += matrix.range(row as usize).len();
    }
    let entries: usize = rows.iter().map(|&row| matrix.range(row as usize).len()).sum();
    Ok(if looked_at == 0 { 0.0 } else { pairs as f64 * (entries as f64 / looked_at as f64) })
}
