//! DIA on the CPU: a few diagonals at a time, with the sums of neighbouring rows in registers.

use std::ops::Range;

use crate::format::Dia;
use crate::format::narrow::{HostValues, StoredAs};
use crate::real::Scalar;
use crate::spmv::HostOperands;
use crate::spmv::lanes::each_lane;
use crate::spmv::on_cpu::{READ_AHEAD_FROM, RowsVisitor, is_padding, prefetch_to_second_cache, share_out};

/// Rows whose sums stay in the L1 cache while a CPU thread goes through groups of diagonals.
const ROWS_AT_ONCE: usize = 2048;

/// The same where a diagonal begins or ends, and is then read alone.
const ROWS_AT_EDGES: usize = 256;

/// Diagonals that are read together: as many as the processor prefetches on its own.
const DIAGONALS_AT_ONCE: usize = 9;

/// Neighbouring rows whose sums are in registers.
const TILE: usize = 16;

/// Rows to read ahead, which is farther than a page: processors do not prefetch across pages on their own.
const READ_AHEAD: usize = 1024;

/// Adds a row's products sequentially, in the order of their columns.
pub(crate) fn multiply_on_cpu<V: StoredAs<T>, T: Scalar>(
    matrix: &Dia<T>,
    values: HostValues<'_, V, T>,
    operands: HostOperands<'_, T>,
) {
    let HostOperands { alpha, x, beta, y } = operands;
    let work = matrix.rows() * (matrix.diagonals() + 1);
    if size_of_val(values.stored) as u128 <= READ_AHEAD_FROM {
        share_out(y, ROWS_AT_ONCE, work, &Multiplication::<V, T, false> { matrix, values, x, alpha, beta });
    } else {
        share_out(y, ROWS_AT_ONCE, work, &Multiplication::<V, T, true> { matrix, values, x, alpha, beta });
    }
}

struct Multiplication<'a, V, T: Scalar, const READS_AHEAD: bool> {
    matrix: &'a Dia<T>,
    values: HostValues<'a, V, T>,
    x: &'a [T],
    alpha: T,
    beta: T,
}

impl<V: StoredAs<T>, T: Scalar, const READS_AHEAD: bool> RowsVisitor<T> for Multiplication<'_, V, T, READS_AHEAD> {
    const USES_AVX2: bool = true;

    #[inline(always)]
    fn visit<const AVX2: bool>(&self, first_row: usize, y: &mut [T]) {
        if self.beta == T::ZERO {
            self.multiply(first_row, y);
        } else {
            let mut products = [T::ZERO; ROWS_AT_ONCE];
            let products = &mut products[..y.len()];
            self.multiply(first_row, products);
            y.iter_mut().zip(products).for_each(|(y, &mut product)| *y = product + self.beta * *y);
        }
    }
}

impl<V: StoredAs<T>, T: Scalar, const READS_AHEAD: bool> Multiplication<'_, V, T, READS_AHEAD> {
    /// Sets `sums` to α A x for the rows from `first_row` on.
    #[inline(always)]
    fn multiply(&self, first_row: usize, sums: &mut [T]) {
        let (first, last) = (first_row as isize, (first_row + sums.len()) as isize);
        let mut offsets = self.matrix.offsets().iter();
        let is_inside = |&offset: &i32| (-first..=self.x.len() as isize - last).contains(&(offset as isize));
        let rows_at_once = if offsets.all(is_inside) { ROWS_AT_ONCE } else { ROWS_AT_EDGES };
        for (part, sums) in sums.chunks_mut(rows_at_once).enumerate() {
            self.multiply_part(first_row + part * rows_at_once, sums);
        }
    }

    /// Same as [`multiply`](Self::multiply) for few rows, where diagonals may begin or end.
    #[inline(always)]
    fn multiply_part(&self, first_row: usize, sums: &mut [T]) {
        let offsets = self.matrix.offsets().as_slice();
        // Diagonals that are inside the matrix in all of these rows, and the partial ones before and behind them.
        let (first, last) = (first_row as isize, (first_row + sums.len()) as isize);
        let begin = offsets.partition_point(|&offset| first + (offset as isize) < 0);
        let end = offsets.partition_point(|&offset| last + offset as isize <= self.x.len() as isize).max(begin);
        let (tiles, rest) = sums.as_chunks_mut::<TILE>();
        let row_of_rest = first_row + tiles.len() * TILE;
        let before = offsets[..begin].partition_point(|&offset| last + (offset as isize) <= 0);
        let behind = offsets[end..].partition_point(|&offset| first + (offset as isize) < self.x.len() as isize);
        let whole = begin..end;
        if before == begin && behind == 0 && !whole.is_empty() {
            let groups = whole.clone().step_by(DIAGONALS_AT_ONCE);
            for begin in groups {
                let end = whole.end.min(begin + DIAGONALS_AT_ONCE);
                self.add_tiles(first_row, begin..end, tiles, begin == whole.start, end == whole.end);
            }
        } else {
            tiles.fill([T::ZERO; TILE]);
            (before..begin).for_each(|diagonal| self.add_diagonal(first_row, diagonal, tiles.as_flattened_mut()));
            for begin in whole.clone().step_by(DIAGONALS_AT_ONCE) {
                let end = whole.end.min(begin + DIAGONALS_AT_ONCE);
                self.add_tiles(first_row, begin..end, tiles, false, false);
            }
            (end..end + behind).for_each(|diagonal| self.add_diagonal(first_row, diagonal, tiles.as_flattened_mut()));
            tiles.as_flattened_mut().iter_mut().for_each(|sum| *sum = self.alpha * *sum);
        }
        rest.fill(T::ZERO);
        (0..offsets.len()).for_each(|diagonal| self.add_diagonal(row_of_rest, diagonal, rest));
        rest.iter_mut().for_each(|sum| *sum = self.alpha * *sum);
    }

    /// Adds the products of at most [`DIAGONALS_AT_ONCE`] diagonals that are inside the matrix in all of these rows.
    /// The first group starts from zero sums; after the last one the sums are multiplied by α.
    #[inline(always)]
    fn add_tiles(
        &self,
        first_row: usize,
        diagonals: Range<usize>,
        sums: &mut [[T; TILE]],
        is_first: bool,
        is_last: bool,
    ) {
        type Tiles<'a, T> = &'a [[T; TILE]];
        let mut factors: [(Tiles<'_, V>, Tiles<'_, T>); DIAGONALS_AT_ONCE] = [(&[], &[]); DIAGONALS_AT_ONCE];
        let factors = &mut factors[..diagonals.len()];
        for (factors, diagonal) in factors.iter_mut().zip(diagonals) {
            let (values, elements) = self.factors(first_row, diagonal, sums.as_flattened());
            *factors = (values.as_chunks().0, elements.as_chunks().0);
        }
        for (number, tile) in sums.iter_mut().enumerate() {
            let mut sums = if is_first { [T::ZERO; TILE] } else { *tile };
            for (values, elements) in &*factors {
                let (values, elements) = (&values[number], &elements[number]);
                if READS_AHEAD {
                    let ahead = values.as_ptr().wrapping_add(READ_AHEAD);
                    (0..TILE).step_by(64 / size_of::<V>().max(1)).for_each(|line| {
                        prefetch_to_second_cache(ahead.wrapping_add(line));
                    });
                }
                // Indexed, without iterators, so the compiler keeps the sums in registers.
                sums = each_lane(|lane| self.add_present(sums[lane], values[lane], elements[lane]));
            }
            *tile = if is_last { each_lane(|lane| self.alpha * sums[lane]) } else { sums };
        }
    }

    /// Adds the products of the part of a diagonal inside the matrix.
    #[inline(always)]
    fn add_diagonal(&self, first_row: usize, diagonal: usize, sums: &mut [T]) {
        let offset = self.matrix.offsets()[diagonal] as isize;
        let inside = |column: usize| (column as isize - offset - first_row as isize).clamp(0, sums.len() as isize);
        let (begin, end) = (inside(0) as usize, inside(self.x.len()) as usize);
        if begin < end {
            let sums = &mut sums[begin..end];
            let (values, elements) = self.factors(first_row + begin, diagonal, sums);
            for ((sum, &value), &element) in sums.iter_mut().zip(values).zip(elements) {
                *sum = self.add_present(*sum, value, element);
            }
        }
    }

    /// Returns the values of a diagonal from a row on, one per sum, and the matching elements of x.
    #[inline(always)]
    fn factors(&self, first_row: usize, diagonal: usize, sums: &[T]) -> (&[V], &[T]) {
        let column = first_row.wrapping_add_signed(self.matrix.offsets()[diagonal] as isize);
        let place = diagonal * self.matrix.stride() + first_row;
        (&self.values.stored[place..][..sums.len()], &self.x[column..][..sums.len()])
    }

    /// Returns the sum, with the product added if there is an entry.
    #[inline(always)]
    fn add_present(&self, sum: T, value: V, element: T) -> T {
        if is_padding(value) { sum } else { sum + self.values.widen(value) * element }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Csr, FillLimit, Offsets};
    use crate::real::Real;

    /// Enough diagonals for several passes, some of which leave the matrix or have slots without an entry.
    fn matrix<T: Real>(rows: usize, columns: usize) -> Csr<T> {
        let diagonals = (-8..8).chain([-2500, 1000, 3000, -30]);
        let mut diagonals: Vec<isize> = diagonals.collect();
        diagonals.sort_unstable();
        let columns_of = |row: usize| {
            let column = move |&offset: &isize| row.checked_add_signed(offset).filter(|&column| column < columns);
            diagonals.iter().filter_map(column).filter(move |&column| !(row + column).is_multiple_of(11))
        };
        let offsets = Offsets::from_lengths((0..rows).map(|row| columns_of(row).count())).unwrap();
        let column_indices: Vec<u32> = (0..rows).flat_map(columns_of).map(|column| column as u32).collect();
        let value = |entry: usize| if entry == 500 { f64::INFINITY } else { (entry as f64).sin() };
        let values = (0..column_indices.len()).map(|entry| T::from_f64(value(entry))).collect();
        Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
    }

    fn check<T: Real, const READS_AHEAD: bool>(rows: usize, columns: usize, beta: f64) {
        let csr = matrix::<T>(rows, columns);
        let matrix = Dia::try_from_csr(&csr, FillLimit { times_csr: f64::INFINITY }).unwrap();
        let x: Vec<T> = (0..columns).map(|column| T::from_f64((column as f64).cos())).collect();
        let (alpha, beta) = (T::from_f64(1.5), T::from_f64(beta));
        let old = if beta == T::ZERO { T::from_f64(f64::NAN) } else { T::ONE };
        let mut y = vec![old; rows];
        let work = if cfg!(miri) { 0 } else { 1 << 20 };
        share_out(
            &mut y,
            ROWS_AT_ONCE,
            work,
            &Multiplication::<T, T, READS_AHEAD> {
                matrix: &matrix,
                values: HostValues::as_they_are(matrix.values()),
                x: &x,
                alpha,
                beta,
            },
        );
        for (row, &y) in y.iter().enumerate() {
            let sum = csr.row(row).fold(T::ZERO, |sum, (column, value)| sum + value * x[column as usize]);
            let expected = if beta == T::ZERO { alpha * sum } else { alpha * sum + beta * old };
            assert!(y == expected, "row {row}: {y}, expected {expected}");
        }
    }

    #[test]
    fn products_are_added_in_the_order_of_columns() {
        let rows = if cfg!(miri) { 40 } else { 3 * ROWS_AT_ONCE + 100 };
        let widths = [rows, rows / 2, rows + if cfg!(miri) { 15 } else { 4000 }];
        for (width, columns) in widths.into_iter().enumerate() {
            // Each takes long under Miri.
            let is_checked = |number| !cfg!(miri) || number == width;
            if is_checked(0) {
                check::<f32, false>(rows, columns, 0.0);
            }
            if is_checked(1) {
                check::<f64, false>(rows, columns, 2.0);
            }
            if is_checked(2) {
                check::<f64, true>(rows, columns, 0.0);
            }
        }
    }
}
