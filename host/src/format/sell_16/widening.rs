//! Growth of slices in width where the entries in one column of slots must be close to each other.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{ROWS as SLICE_ROWS, sell_16_width};
use crate::error::Error;
use crate::memory::collect;
use crate::parallel;
use crate::select::pattern::Pattern;
use crate::select::sample::{Sampling, sample};

/// Slices of SELL-16 compared with those of SELL-P with equally many rows, which are as wide as their longest row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Widening {
    /// Ratio of their total widths, at least 1.
    pub ratio: f64,
    /// Whether all slices were examined.
    pub exact: bool,
}

impl Default for Widening {
    /// Without any information: no row shares a column of slots with another.
    fn default() -> Self {
        Self { ratio: SLICE_ROWS as f64, exact: false }
    }
}

impl Widening {
    /// Examines a sample of the slices.
    ///
    /// # Errors
    /// When memory runs out.
    pub(crate) fn new(matrix: &impl Pattern, sampling: Sampling) -> Result<Self, Error> {
        let looked_at = collect(Self::slices_looked_at(matrix, sampling))?;
        let widths = |number: usize| {
            let slice = looked_at[number];
            let rows = Self::rows_of(slice).take_while(|&row| row < matrix.rows());
            let longest = rows.map(|row| matrix.range(row).len()).max().unwrap_or(0);
            (sell_16_width(matrix, slice), longest)
        };
        let add = |left: (usize, usize), right: (usize, usize)| (left.0 + right.0, left.1 + right.1);
        let (width, longest) = parallel::map(looked_at.len(), 1, &widths)?.into_iter().fold((0, 0), add);
        let ratio = if longest == 0 { 1.0 } else { width as f64 / longest as f64 };
        Ok(Self { ratio, exact: looked_at.len() == matrix.rows().div_ceil(SLICE_ROWS) })
    }

    /// The slices that are sampled.
    pub(crate) fn slices_looked_at<P: Pattern>(
        matrix: &P,
        sampling: Sampling,
    ) -> impl ExactSizeIterator<Item = usize> + use<P> {
        sample(matrix.rows().div_ceil(SLICE_ROWS), matrix.nnz(), sampling)
    }

    /// The rows of a slice; the last one may have fewer.
    pub(crate) fn rows_of(slice: usize) -> Range<usize> {
        slice * SLICE_ROWS..(slice + 1) * SLICE_ROWS
    }

    /// Returns the width of all slices, given that of unsorted SELL-P.
    pub(crate) fn width(self, slice_widths: usize) -> f64 {
        self.ratio * slice_widths as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Csr, FillLimit, Sell16};
    use crate::select::lengths::pass;

    /// Rows with entries in the columns `row * distance`.
    fn with_distances(rows: usize, distances: &[usize]) -> Csr<f32> {
        let entries = (0..rows).flat_map(|row| distances.iter().map(move |distance| (row, row * distance)));
        let (rows_of, columns): (Vec<u32>, Vec<u32>) = entries.map(|(row, column)| (row as u32, column as u32)).unzip();
        let values = vec![1.0; columns.len()];
        Csr::try_from_triplets(rows, 1 << 24, &rows_of, &columns, &values).unwrap()
    }

    #[test]
    fn the_width_of_all_slices_is_that_of_the_format() {
        for distances in [&[1, 3][..], &[1, 1000], &[2000, 4000, 4001], &[]] {
            let matrix = with_distances(if cfg!(miri) { 100 } else { 1000 }, distances);
            let widening = Widening::new(&matrix, Sampling::Everything).unwrap();
            let sell = Sell16::try_from_csr(&matrix, FillLimit { times_csr: f64::INFINITY }).unwrap();
            let (_, sums) = pass(matrix.row_offsets()).unwrap();
            assert!(widening.exact);
            assert_eq!(widening.width(sums.slice_widths).round() as usize, sell.bases().len(), "{distances:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "200,000 rows")]
    fn some_slices_stand_for_all() {
        let matrix = with_distances(8_000, &[1, 2, 5, 2000]);
        let widening = Widening::new(&matrix, Sampling::Part).unwrap();
        let exact = Widening::new(&matrix, Sampling::Everything).unwrap();
        assert!(exact.ratio > 1.2, "{exact:?}");
        assert!((widening.ratio / exact.ratio - 1.0).abs() < 0.1, "{widening:?}, {exact:?}");
        // Many rows, few of them examined.
        let near = with_distances(200_000, &[0]);
        assert_eq!(Widening::new(&near, Sampling::Part).unwrap(), Widening { ratio: 1.0, exact: false });
    }
}
