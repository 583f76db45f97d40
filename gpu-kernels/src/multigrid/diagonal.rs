//! Inverse diagonal of a level's matrix, and its properties.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, GpuScalar, kernel};

use super::numbers::{bits_rounded_up, inverse_of, is_finite, magnitude_of};

/// One over the divisor of a row, and the row's bound, rounded up to 32 bits, as bits: the sum of the row's magnitudes
/// times that of the inverse. A row of zeros has 0 for both; none if there is no inverse.
#[inline(always)]
pub fn inverse_and_bound<W: GpuScalar>(diagonal: W, sum: f64, by_row_sum: bool) -> Option<(W, u32)> {
    if sum == 0.0 {
        return Some((W::ZERO, 0));
    }
    let magnitude = magnitude_of(diagonal);
    let inverse = inverse_of(match by_row_sum {
        true => W::from_wide_parts([sum / magnitude, 0.0]) * diagonal,
        false => diagonal,
    });
    let of_inverse = magnitude_of(inverse);
    let exists = magnitude > 0.0 && is_finite(inverse) && of_inverse > 0.0;
    exists.then(|| (inverse, bits_rounded_up(of_inverse * sum)))
}

/// Computes the inverse of the diagonal, or of the rows' sums of magnitudes in the direction of the diagonal element.
///
/// # Safety
/// The arrays are those of a valid matrix with `rows` rows, at most 2^32 - 2; `inverses`, `bounds` and `failures` have an
/// element for each row, and `has_signs` one, which is 0.
#[kernel(W: wide)]
pub unsafe fn inverse_diagonal<W: GpuScalar>(
    /// Number of rows.
    rows: u32,
    /// Whether rows are divided by their sums of magnitudes: 0 or 1.
    by_row_sum: u32,
    /// Where each row begins; rows + 1 offsets.
    offsets: Global<u64>,
    /// The column of each entry.
    columns: Global<u32>,
    /// The value of each entry.
    values: Global<W>,
    /// One over the divisor of each row; the diagonal element if there is no inverse.
    inverses: GlobalMut<W>,
    /// The bits of each row's bound, in 32 bits.
    bounds: GlobalMut<u32>,
    /// 0 if there is an inverse; otherwise a number that is larger for smaller row numbers.
    failures: GlobalMut<u32>,
    /// Becomes 1 if an inverse is negative or has an imaginary part.
    has_signs: GlobalMut<u32>,
) {
    let mut row = index_1d();
    while row < rows {
        let (mut diagonal, mut sum) = (W::ZERO, 0.0);
        let (mut entry, end) = (offsets.load(row), offsets.load(row + 1));
        while entry < end {
            let value = values.load(entry);
            sum += magnitude_of(value);
            if columns.load(entry) == row {
                diagonal = diagonal + value;
            }
            entry += 1;
        }
        let found = inverse_and_bound(diagonal, sum, by_row_sum != 0);
        let (inverse, bound) = found.unwrap_or((diagonal, 0));
        inverses.store(row, inverse);
        bounds.store(row, bound);
        failures.store(row, if found.is_some() { 0 } else { u32::MAX - row });
        let [re, im] = inverse.wide_parts();
        if !(re >= 0.0 && im == 0.0) {
            has_signs.set_flag(0u32);
        }
        row += grid_threads();
    }
}
