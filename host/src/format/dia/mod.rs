//! The diagonal format (Bell & Garland 2009, §3.1).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
#[allow(unsafe_code, reason = "each use says why it holds")]
mod cpu;
mod fused;
mod multivector;
pub(crate) mod product;
pub(crate) mod strategy;

use crate::error::{Error, check_length};
use crate::format::check::count_parts;
use crate::format::diagonals::occupied_diagonals;
use crate::format::rows::collect_rows;
use crate::format::storage::storage;
use crate::format::{Csr, FillLimit, check_shape};
use crate::memory::{same_bits, with_capacity};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

pub(crate) use strategy::Strategy;

/// The stride is a multiple of this, so each diagonal is aligned to full cache lines.
const STRIDE_MULTIPLE: usize = 32;

storage! {
    /// A sparse matrix in diagonal format: each diagonal that holds an entry is stored whole, with a slot for every
    /// row, [`stride`](Self::stride) slots from one diagonal to the next. There are no row or column indices.
    ///
    /// A slot without an entry, inside the matrix or outside, holds [`ABSENT`](gpu_kernels::absent::Absent::ABSENT), a
    /// NaN with all bits set; so a stored zero stays an entry. An entry with exactly those bits becomes another NaN. A
    /// slot holds one entry, so the conversion sums duplicates, and a row's entries are in the order of their columns.
    pub struct Dia {
        parameters {
            /// Slots from one diagonal to the next: the number of rows, rounded up.
            stride: usize,
            /// Number of stored diagonals.
            diagonals: usize,
        }
        offsets {}
        arrays {
            /// Column minus row of each diagonal, ascending.
            offsets: i32,
            /// Value of each slot, or the mark for padding; by row within a diagonal.
            values: T,
        }
    }
}

/// Returns the number of slots from one diagonal to the next, for `rows` rows.
pub(crate) fn dia_stride(rows: usize) -> usize {
    rows.next_multiple_of(STRIDE_MULTIPLE)
}

/// Returns the bytes of the DIA arrays for this number of rows and diagonals. Cannot overflow.
pub(crate) fn dia_bytes<T>(rows: usize, diagonals: usize) -> u128 {
    let places = dia_stride(rows) as u128 * diagonals as u128;
    places * size_of::<T>() as u128 + diagonals as u128 * 4
}

/// Returns the bytes that the DIA arrays of `matrix` take with values of `V`. O(nnz + rows + columns).
///
/// # Errors
/// When memory runs out.
pub(super) fn predicted_bytes<T: Scalar, V>(matrix: &Csr<T>) -> Result<u128, Error> {
    Ok(dia_bytes::<V>(matrix.rows(), occupied_diagonals(matrix)?.len()))
}

impl<T: Scalar> Dia<T> {
    /// Builds a matrix from its arrays. Runs in parallel over the diagonals in O(rows · diagonals).
    ///
    /// # Errors
    /// When the stride is not the number of rows rounded up to a multiple of 32, there are not `stride` values per
    /// offset, the offsets do not ascend, a diagonal is empty or has an entry outside the matrix, or padding is not the
    /// mark.
    pub fn try_new(
        rows: usize,
        columns: usize,
        stride: usize,
        offsets: Vec<i32>,
        values: Vec<T>,
    ) -> Result<Self, Error> {
        check_shape(rows, columns)?;
        let fail = |reason| Err(Error::structure("DIA", reason));
        let expected = rows.next_multiple_of(STRIDE_MULTIPLE);
        if stride != expected {
            return fail(format!("a stride of {stride} for {rows} rows, expected {expected}"));
        }
        let diagonals = offsets.len();
        check_length("values", values.len(), stride.saturating_mul(diagonals))?;
        if let Some(place) = offsets.windows(2).position(|pair| pair[1] <= pair[0]) {
            return fail(format!("offset {} of the diagonals is not above the one before it", place + 1));
        }
        let stored = count_parts("DIA", diagonals, |diagonal| {
            let offset = i64::from(offsets[diagonal]);
            let inside = (-offset).max(0)..(columns as i64 - offset).min(rows as i64);
            let mut entries = 0;
            for (row, value) in (0..).zip(&values[diagonal * stride..][..stride]) {
                if !value.is_absent() && !inside.contains(&row) {
                    return Err(format!("row {row} of diagonal {offset} is outside the matrix, but has a value"));
                }
                if value.is_absent() && !same_bits(&[*value], &[T::ABSENT]) {
                    return Err(format!("row {row} of diagonal {offset} is a NaN that is reserved for the mark"));
                }
                entries += usize::from(!value.is_absent());
            }
            if entries == 0 { Err(format!("diagonal {offset} has no entry")) } else { Ok(entries) }
        })?;
        Ok(Self { rows, columns, stored, stride, diagonals, offsets, values })
    }

    /// Converts `matrix` to DIA. Duplicates are summed, in their order. Runs in parallel in O(nnz log(diagonals) + rows
    /// · diagonals), or O(nnz + rows · diagonals) if rows are sorted and neighbours alike.
    ///
    /// # Errors
    /// When the arrays would exceed `limit`, or cannot be allocated; nothing is then allocated.
    pub fn try_from_csr(matrix: &Csr<T>, limit: FillLimit) -> Result<Self, Error> {
        let rows = matrix.rows();
        let offsets = occupied_diagonals(matrix)?;
        let bytes = dia_bytes::<T>(rows, offsets.len());
        limit.check("DIA", bytes, matrix.bytes())?;
        let out_of_memory = || Error::OutOfMemory { what: "a DIA matrix", bytes };
        let stride = dia_stride(rows);
        let places = stride.checked_mul(offsets.len()).ok_or_else(out_of_memory)?;
        let mut values = Vec::new();
        values.try_reserve_exact(places).map_err(|_| out_of_memory())?;
        values.resize(places, T::ABSENT);
        let chunks = split_by_rows(&mut values, stride, rows)?;
        let stored = parallel::map_items(chunks, &|(chunk, mut diagonals)| {
            let first_row = chunk * ROWS_AT_ONCE;
            (first_row..rows.min(first_row + ROWS_AT_ONCE))
                .map(|row| fill_row(matrix, row, &offsets, row - first_row, &mut diagonals))
                .sum::<usize>()
        })?;
        let stored = stored.into_iter().sum();
        Ok(Self { rows, columns: matrix.columns(), stored, stride, diagonals: offsets.len(), offsets, values })
    }

    /// Returns the entries of a row, as column and value, in the order of their columns.
    ///
    /// # Panics
    /// When `row` is not below [`rows`](Self::rows).
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, T)> + '_ {
        // Beyond the last row are slots of another diagonal.
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let places = self.offsets.iter().enumerate();
        places
            .map(move |(diagonal, &offset)| (offset, self.values[diagonal * self.stride + row]))
            .filter(|(_, value)| !value.is_absent())
            // An entry lies inside the matrix, so this does not wrap.
            .map(move |(offset, value)| ((row as u32).wrapping_add_signed(offset), value))
    }

    /// Converts the matrix to CSR. Runs in parallel in O(rows · diagonals).
    ///
    /// # Errors
    /// When memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        collect_rows(self.rows, self.columns, |row| self.row(row))
    }
}

/// Returns, for every [`ROWS_AT_ONCE`] rows, their slots on each diagonal.
///
/// # Errors
/// When memory runs out.
fn split_by_rows<T>(values: &mut [T], stride: usize, rows: usize) -> Result<Vec<Vec<&mut [T]>>, Error> {
    let diagonals = values.len() / stride.max(1);
    let mut chunks = with_capacity(rows.div_ceil(ROWS_AT_ONCE))?;
    for _ in 0..chunks.capacity() {
        chunks.push(with_capacity(diagonals)?);
    }
    for diagonal in values.chunks_mut(stride.max(1)) {
        for (chunk, part) in chunks.iter_mut().zip(diagonal.chunks_mut(ROWS_AT_ONCE)) {
            chunk.push(part);
        }
    }
    Ok(chunks)
}

/// Writes the entries of a row to their diagonals, at `place`, and returns the number of slots that it fills.
fn fill_row<T: Scalar>(
    matrix: &Csr<T>,
    row: usize,
    offsets: &[i32],
    place: usize,
    diagonals: &mut [&mut [T]],
) -> usize {
    let mut filled = 0;
    let mut expected = 0;
    for (column, value) in matrix.row(row) {
        let offset = column as i32 - row as i32;
        // In a sorted row, the next entry is usually on the next diagonal.
        let diagonal = match offsets.get(expected) {
            Some(&next) if next == offset => expected,
            _ => offsets.partition_point(|&known| known < offset),
        };
        let old = &mut diagonals[diagonal][place];
        filled += usize::from(old.is_absent());
        *old = if old.is_absent() { value.present() } else { (*old + value).present() };
        expected = diagonal + 1;
    }
    filled
}

#[cfg(test)]
mod tests {
    use gpu_kernels::absent::Absent;

    use super::*;
    use crate::real::Real;

    #[test]
    fn diagonals_are_stored_by_row_with_padding_marked() {
        let matrix =
            Csr::try_from_triplets(3, 4, &[0, 0, 1, 2, 2], &[0, 3, 1, 0, 2], &[1.0, 2.0, 3.0, 4.0, 0.0]).unwrap();
        let dia = Dia::try_from_csr(&matrix, FillLimit::default()).unwrap();
        assert_eq!(dia.offsets(), &[-2, 0, 3]);
        assert_eq!((dia.stride(), dia.nnz(), dia.bytes()), (32, 5, 3 * 32 * 8 + 3 * 4));
        let stored = |place: usize| Some(dia.values()[place]).filter(|value| !value.is_absent());
        let places = |diagonal: usize| [0, 1, 2].map(|row| stored(32 * diagonal + row));
        assert_eq!(places(0), [None, None, Some(4.0)]);
        assert_eq!(places(1), [Some(1.0), Some(3.0), Some(0.0)]);
        assert_eq!(places(2), [Some(2.0), None, None]);
        assert!((0..3).all(|diagonal| (3..32).all(|row| stored(32 * diagonal + row).is_none())));
    }

    #[test]
    fn duplicates_are_summed_in_their_order() {
        // 2^60 + 1 rounds to 2^60, so the other order would give 1.
        let large = (1u64 << 60) as f64;
        let matrix = Csr::try_new(1, 3, vec![0u32, 4], vec![2, 0, 2, 2], vec![1.0, 5.0, large, -large]).unwrap();
        let dia = Dia::try_from_csr(&matrix, FillLimit::default()).unwrap();
        assert_eq!((dia.nnz(), dia.row(0).collect::<Vec<_>>()), (2, vec![(0, 5.0), (2, 0.0)]));
    }

    #[test]
    fn a_nan_with_the_bits_of_the_mark_stays_an_entry() {
        fn check<T: Real>() {
            let matrix = Csr::try_new(2, 2, vec![0u32, 1, 3], vec![1, 0, 0], vec![T::ABSENT; 3]).unwrap();
            let dia = Dia::try_from_csr(&matrix, FillLimit::default()).unwrap();
            assert_eq!(dia.nnz(), 2);
            let back = dia.to_csr().unwrap();
            assert_eq!(back.column_indices(), &[1, 0]);
            assert!(back.values().iter().all(|value| value.to_f64().is_nan() && !value.is_absent()));
        }
        check::<f32>();
        check::<f64>();
    }
}
