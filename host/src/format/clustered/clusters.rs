//! What parts of rows that share columns would be like.

use gpu_kernels::clustered::NO_ROW;
use serde::{Deserialize, Serialize};

use super::growth::Parts;
use super::{PartSize, ROWS, bytes_of, slice_begins};
use crate::error::Error;
use crate::format::Csr;
use crate::real::Scalar;
use crate::select::locality::SECTOR_BYTES;
use crate::select::sample::{Sampling, places};

/// Parts that are grown to see what they are like.
const SAMPLES: usize = 4;

/// The parts of a clustered matrix of [`PartSize::DEFAULT`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// Bytes of the arrays.
    pub bytes: f64,
    /// Columns of all parts, counted.
    pub columns: f64,
    /// Sectors of x that have them.
    pub sectors: f64,
    /// Widths of all slices.
    pub width: f64,
    /// Whether all parts were looked at.
    pub exact: bool,
}

impl Clusters {
    /// Grows some parts, or all; none where a row does not fit into one, or rows and columns of a matrix have nothing in
    /// common, because that takes its transpose.
    ///
    /// # Errors
    /// When memory runs out.
    pub(crate) fn new<T: Scalar>(matrix: &Csr<T>, sampling: Sampling) -> Result<Option<Self>, Error> {
        let (size, value_bytes) = (PartSize::DEFAULT, size_of::<T>());
        let parts = match sampling {
            Sampling::Everything => Parts::new(matrix, size, value_bytes),
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
        // By entries, or by rows where the parts have none.
        let times = match (seen, rows.count()) {
            (0, 0) => 1.0,
            (0, seen) => matrix.rows() as f64 / seen as f64,
            (seen, _) => matrix.nnz() as f64 / seen as f64,
        };
        let in_sector = SECTOR_BYTES / value_bytes;
        let of_part = |columns: &[u32]| {
            columns.chunk_by(|&left, &right| left as usize / in_sector == right as usize / in_sector).count()
        };
        let lists =
            parts.column_begins.windows(2).map(|ends| &parts.column_numbers[ends[0] as usize..ends[1] as usize]);
        let sectors: usize = lists.map(of_part).sum();
        // From another row on, several parts would be others.
        let exact = sampling == Sampling::Everything || parts.count() <= 1 && seen == matrix.nnz();
        Ok(Some(Self {
            bytes: bytes_of::<T>(&parts, width) as f64 * times,
            columns: parts.column_numbers.len() as f64 * times,
            sectors: sectors as f64 * times,
            width: width as f64 * times,
            exact,
        }))
    }

    /// Places for entries.
    pub(crate) fn places(self) -> f64 {
        self.width * ROWS as f64
    }
}
